/* Reasons to suppress contradictions: tables that were altered (altered.c), values in two spellings
 * (spelling.c). */
#pragma once

#include "pipeline/options.h"

enum { ISO_ALTERED_TIMES = 256 };

/* Tables that were truncated or rewritten, and verdicts that wait for word whether theirs was. */
struct altered {
    struct altered_table {
        char *name;
        size_t length;
        uint64_t times[ISO_ALTERED_TIMES]; /* the latest, in order */
        uint32_t time_count;
    } * tables;
    uint32_t table_count;
    struct absent { /* EXT, absent, final */
        uint64_t bound, id;
        uint64_t origin; /* of its transaction */
        uint8_t doubt;   /* enum pipeline_doubt */
        bool unlisted;   /* its line is not written */
        char *tid, *key, *line;
        size_t tid_length, key_length, length, start;
    } * deferred_missing;
    uint32_t absent_count, absent_capacity;
};

void altered_release(struct altered *altered);

/* Columns whose values' spellings are not clear. */
struct spellings {
    struct iso_pipeline_spelling *list;
    uint32_t count;
    struct iso_text column; /* of the key at hand */
};

void spellings_release(struct spellings *spellings);
