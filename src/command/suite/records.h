/* Records of the command's sessions on their way into the capture: what is said of the level of
 * each, and when its statements were sent and answered, is kept beside them.
 *
 * One that rolled back becomes one that only reads: what it wrote is left out, and what it may have
 * read of that. So what it read of others is judged, and it is no version and no part of an order.
 *
 * The recorder says which tables statements meant by OIDs, "public.a~16385/1": each becomes the label
 * of the table that this surely was while the statement ran. Where none was, the operation is left
 * out, and what the transaction wrote is the stream's to say.
 *
 * The test that a transaction belongs to becomes a part of its id, so that whatever names it says
 * so: "run-17/0/3.4 tests/test_cart.py::test_total".
 *
 * Memory: 40 bytes an operation. Threads: one at a time.
 */
#pragma once

#include "base/json.h"
#include "base/number_map.h"
#include "base/text.h"
#include "history/history.h"
#include "suite/snapshots.h"
#include "suite/tables.h"

enum suite_level {
    SUITE_READ_COMMITTED, /* also where the level is not known, and there is no snapshot */
    SUITE_REPEATABLE_READ,
    SUITE_SERIALIZABLE,
    SUITE_LEVELS
};
extern const char *const suite_level_names[SUITE_LEVELS];

struct suite_record {
    uint64_t sent, answered; /* its COMMIT, by nanoseconds; 0: not known */
    uint32_t first, count;   /* of `reads` */
    uint32_t first_statement, statement_count;
    enum suite_level level;
    bool is_known, has_rolled_back; /* is_known: its level */
};

/* A row or query that was read. */
struct suite_read {
    uint64_t key; /* the hash of its name */
    uint64_t sent, answered;
};

/* The statement that meant a row, or was a query of a table. */
struct suite_statement {
    uint64_t key; /* as a read's */
    uint32_t text;
};

struct suite_records {
    struct iso_json json;
    struct iso_number_map by_tid; /* hashes */
    uint32_t *xids;               /* of those that committed */
    uint32_t xid_count, xid_capacity;
    uint32_t count, capacity, read_count, read_capacity, statement_count, statement_capacity;
    struct suite_record *list;
    struct suite_read *reads;
    struct suite_statement *statements;
    struct iso_number_map by_text;
    struct iso_text texts; /* of statements, each once, with a zero byte behind it */
    struct suite_snapshots snapshots;
    const char *line; /* at hand */
    size_t length;
    uint32_t text; /* of the statement at hand */
    uint64_t sent; /* the same */
    struct iso_text name, test;
    uint64_t left_out; /* reads of tables that nobody is sure of */
};

void suite_records_release(struct suite_records *records);

/* Notes a line, which ISO_JSON_PADDING readable bytes follow; `put` gets what the capture is to
 * have in its place. The catalog was read behind its end. */
void suite_records_take(struct suite_records *records, struct suite_tables *tables,
                        const char *line, size_t length, struct iso_text *put);
/* Of a transaction of a history that these records are a part of; NULL: nobody recorded it. */
const struct suite_record *suite_records_find(const struct suite_records *records,
                                              const struct iso_history *history,
                                              uint32_t transaction);
/* When its last answer came; 0: that is not known. */
uint64_t suite_records_end(const struct suite_records *records, const struct suite_record *record);

/* As struct iso_history_told has it; `context`: these records. */
void suite_records_put_statements(const void *context, const struct iso_history *history,
                                  uint32_t transaction, uint32_t key, struct iso_text *text);

/* When the messages of a finished history went, as far as is known: `history->messages`. */
void suite_records_tell(const struct suite_records *records, struct iso_history *history,
                        struct iso_history_messages *messages);
void suite_messages_release(struct iso_history_messages *messages);
