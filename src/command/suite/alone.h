/* What records say without the changes beside them: of two reads that saw the same transactions,
 * of one column of one row, the values are equal.
 *
 * Which transactions a read saw is said by its transaction's snapshot; at READ COMMITTED by the
 * server's snapshots, if the last before the statement and the first behind it are equal. What a
 * transaction may have written itself is left out, and so is that a row was not there, since
 * TRUNCATE takes rows from snapshots of before it, too. Nobody knows here what was written, so a
 * read that no other one agrees or disagrees with is not judged.
 *
 * Memory: 40 bytes a column that was read. Threads: one at a time.
 */
#pragma once

#include "suite/told.h"

struct suite_alone_read {
    uint64_t cell, snapshot; /* hashes; 0: of nothing that can be compared */
    uint64_t sent, answered;
    uint32_t tid, row, column, value; /* of `texts`, as JSON has them; the column without quotes */
    enum suite_level level;
    bool is_compared; /* with another one */
};

struct suite_alone {
    struct suite_snapshots snapshots; /* the server's */
    ISO_LIST(struct suite_alone_read) reads;
    struct iso_number_map texts_by_hash;
    struct iso_text texts;  /* each once, with a zero byte behind it */
    ISO_LIST(uint64_t) own; /* hashes of rows that the transaction at hand wrote */
    struct suite_snapshots scratch;
    struct iso_json json, cells;
};

/* Two reads that differ, by their numbers. */
struct suite_alone_wrong {
    uint32_t one, other;
};

struct suite_alone_verdict {
    uint64_t judged[SUITE_LEVELS], unjudged[SUITE_LEVELS], wrong[SUITE_LEVELS];
    ISO_LIST(struct suite_alone_wrong) wrongs; /* the caller's to free */
};

enum iso_status suite_alone_read(struct suite_alone *alone, const char *path,
                                 struct iso_error *error);
void suite_alone_judge(struct suite_alone *alone, struct suite_alone_verdict *verdict);
void suite_alone_release(struct suite_alone *alone);
