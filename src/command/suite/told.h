/* What a capture's records tell, beside what the pipeline takes of them: the level of each, when
 * its statements were sent and answered, and their texts; and the server's snapshots beside them.
 *
 * Memory: 40 bytes an operation. Threads: one at a time.
 */
#pragma once

#include "base/error.h"
#include "base/json.h"
#include "base/number_map.h"
#include "base/text.h"
#include "history/history.h"
#include "suite/snapshots.h"

#define SUITE_ROLLED_BACK "rolled_back" /* a member of records in captures */

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

struct suite_told {
    struct iso_json json;
    struct iso_number_map by_tid; /* hashes */
    uint32_t count, capacity, read_count, read_capacity, statement_count, statement_capacity;
    struct suite_record *list;
    struct suite_read *reads;
    struct suite_statement *statements;
    struct iso_number_map by_text;
    struct iso_text texts; /* of statements, each once, with a zero byte behind it */
    struct suite_snapshots snapshots;
    uint32_t text; /* of the statement at hand */
    uint64_t sent; /* the same */
};

void suite_told_release(struct suite_told *told);
/* Of a capture. */
enum iso_status suite_told_read(struct suite_told *told, const char *path, struct iso_error *error);
/* The level of a record's member, if it is one. */
void suite_take_level(struct iso_json *json, struct suite_record *record);
/* Notes a record of it, which ISO_JSON_PADDING readable bytes follow. */
void suite_told_take(struct suite_told *told, const char *line, size_t length);
/* Of a transaction of a history that these records are a part of; NULL: nobody recorded it. */
const struct suite_record *suite_told_find(const struct suite_told *told,
                                           const struct iso_history *history, uint32_t transaction);
/* When its last answer came; 0: that is not known. */
uint64_t suite_told_end(const struct suite_told *told, const struct suite_record *record);

/* As struct iso_history_told has it; `context`: these records. */
void suite_told_put_statements(const void *context, const struct iso_history *history,
                               uint32_t transaction, uint32_t key, struct iso_text *text);

/* When the messages of a finished history went, as far as is known: `history->messages`. */
void suite_told_tell(const struct suite_told *told, struct iso_history *history,
                     struct iso_history_messages *messages);
void suite_messages_release(struct iso_history_messages *messages);
