/* Books: what became of all that arrived.
 *
 * Of each unit every thing that arrived is in exactly one class, whatever ended the run. Both sides
 * are counted where they happen, by different code: what arrives as messages are decoded, what
 * becomes of it in the join and in the engine. The sums are checked each time that the books are
 * opened; books that do not balance are a defect of the program, and what it says of the database
 * is not to be trusted then.
 *
 * Cost: goes over all that waits in the join, and over the engine's keys.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct iso_pipeline;

enum iso_unit {
    ISO_UNIT_MESSAGES,
    ISO_UNIT_ROWS,         /* of change streams */
    ISO_UNIT_RECORDS,      /* of clients, one a transaction */
    ISO_UNIT_TRANSACTIONS, /* that the engine was given: clients', and those that only a stream has
                            */
    ISO_UNIT_READS,        /* of clients' records; where there are no clients, before images */
    ISO_UNITS
};

enum iso_accounted_class {
    ISO_ACCOUNTED_JUDGED,
    /* harmless by definition */
    ISO_ACCOUNTED_REPEATED,
    ISO_ACCOUNTED_FOREIGN,   /* versions of transactions that no client recorded */
    ISO_ACCOUNTED_ABORTED,   /* and their reads */
    ISO_ACCOUNTED_UNKNOWN,   /* of unknown outcome; reads that may see them are unjudged */
    ISO_ACCOUNTED_UNCOVERED, /* of tables without a source */
    ISO_ACCOUNTED_INITIAL,   /* state from before the stream */
    ISO_ACCOUNTED_BEFORE,    /* ended before the stream begins */
    ISO_ACCOUNTED_PROTOCOL,  /* watermarks, heartbeats, beginnings and ends of transactions */
    ISO_ACCOUNTED_IGNORED,   /* by rule: tombstones and the like */
    /* each of these makes a verdict without violations undecided */
    ISO_ACCOUNTED_WAITING,
    ISO_ACCOUNTED_LATE,
    ISO_ACCOUNTED_BAD,
    ISO_ACCOUNTED_UNROUTED,
    ISO_ACCOUNTED_UNPLACED,
    ISO_ACCOUNTED_UNJUDGED,
    ISO_ACCOUNTED_DOUBTFUL,
    ISO_ACCOUNTED_FORGOTTEN, /* needs what went with the retention */
    ISO_ACCOUNTED_CLASSES
};

struct iso_accounting {
    uint64_t came[ISO_UNITS];
    uint64_t of[ISO_UNITS][ISO_ACCOUNTED_CLASSES];
    bool balanced;
    /* Waiting work by its class; classes above contain the same. */
    struct iso_accounting_waiting {
        uint64_t records, rows; /* in the join, for their other half */
        uint64_t overtaken;     /* transactions, for those that they overtook */
        uint64_t reads;         /* for a watermark */
        /* reads, for that of a transaction that may have written what they saw */
        uint64_t for_outcome;
        uint64_t for_snapshot; /* reads, for the end of the connector's first snapshot */
        uint64_t for_order;    /* transactions, for the search for an order of all */
        uint64_t for_schema;   /* reads of nothing, for word that their table was not truncated */
        uint64_t queries;      /* for a watermark, or for such an outcome */
        uint64_t tables; /* for the rest of the first snapshot: its sender marks the end of each */
        uint64_t beyond; /* reads that differ from what came, for what did not (missing_rows.c) */
        uint64_t of_records, total; /* reads of those records; all of these */
        uint64_t lines; /* of verdicts, for who takes them; the caller adds it, to the total, too */
        struct iso_accounting_oldest {
            uint64_t ms, origin; /* for how long, and where it stands; UINT64_MAX: not known, or
                                    none waits; the oldest of these */
        } record, row, read, outcome, snapshot, overtaking, query;
        /* The first of those for word on their table, of those beyond, and of those for an order:
         * `ms` is not known. */
        struct iso_accounting_oldest absent, differing, first;
        char table[120]; /* one of `tables` */
    } waiting;
};

const char *iso_unit_name(enum iso_unit unit);
const char *iso_accounted_class_name(enum iso_accounted_class accounted_class);

/* Sum over all classes. */
uint64_t iso_accounting_sum(const struct iso_accounting *accounting, enum iso_unit unit);

void iso_pipeline_accounting(const struct iso_pipeline *pipeline,
                             struct iso_accounting *accounting);

/* "5,864 records for their rows in the change stream, 12 reads for a watermark"; nothing if nothing
 * waits. */
void iso_accounting_waiting_text(const struct iso_accounting *accounting, struct iso_text *text);

/* The sums that do not add up: "rows: 12 arrived, 11 are accounted for". */
void iso_accounting_imbalance_text(const struct iso_accounting *accounting, struct iso_text *text);

/* ,"books":{"message":{"came":9,"judged":7,...},...}: classes that are not empty. */
void iso_accounting_json(const struct iso_accounting *accounting, struct iso_text *text);
