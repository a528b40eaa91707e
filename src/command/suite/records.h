/* Records of the command's sessions on their way into the capture.
 *
 * One that rolled back becomes one that only reads, and says that it was: what it wrote is left
 * out, and what it may have read of that. So what it read of others is judged, and it is no version
 * and no part of an order.
 *
 * The recorder says which tables statements meant by OIDs, "public.a~16385/1": each becomes the
 * label of the table that this surely was while the statement ran. Where none was, the operation is
 * left out, and what the transaction wrote is the stream's to say.
 *
 * The test that a transaction belongs to becomes a part of its id, so that whatever names it says
 * so: "run-17/0/3.4 tests/test_cart.py::test_total".
 *
 * Memory: 4 bytes a transaction that wrote. Threads: one at a time.
 */
#pragma once

#include "base/json.h"
#include "base/text.h"
#include "suite/tables.h"

struct suite_records {
    struct iso_json json;
    uint32_t *xids; /* of those that committed */
    uint32_t xid_count, xid_capacity;
    const char *line; /* at hand */
    size_t length;
    struct iso_text name, test;
    int64_t ended;     /* when its end was answered, of one that wrote and committed; else 0 */
    uint64_t left_out; /* reads of tables that nobody is sure of */
};

void suite_records_release(struct suite_records *records);

/* Of a line, which ISO_JSON_PADDING readable bytes follow, what the capture is to have in its
 * place. The catalog was read behind its end. */
void suite_records_take(struct suite_records *records, struct suite_tables *tables,
                        const char *line, size_t length, struct iso_text *put);
