/* What a pipeline counts. */
#pragma once

#include "aion/aion.h"
#include "join/join.h"

struct iso_pipeline_stats {
    uint64_t messages, bytes;
    struct iso_pipeline_intake { /* one side of the books (pipeline/accounting.h) */
        uint64_t messages; /* all of them; of those: with rows or records, only what is protocol,
                              nothing: */
        uint64_t with_content, protocol, empty, undecodable;
        uint64_t rows, records, reads;       /* in them; reads: of records */
        uint64_t first_record;               /* where it stands */
        uint64_t given, given_reads;         /* transactions to the engine */
        uint64_t refused, refused_reads;     /* of these, by it */
        uint64_t elsewhere, elsewhere_reads; /* records that on_transactions took */
    } intake;
    uint64_t watermarks; /* records */
    uint64_t ignored;    /* tombstones and the like */
    uint64_t unrouted;   /* of topics that no source names */
    uint64_t bad_records;
    uint64_t contradictions;   /* records that contradict another, both of them judged
                                  (pipeline/doubt.c) */
    struct iso_pipeline_lost { /* clients' records that were counted and never came
                                  (pipeline/counted.h) */
        uint64_t records, sessions;
        uint64_t origin; /* of what stands behind the first of them */
        uint64_t silent; /* recorders that ended without a word, the first one `since` when, while
                            others spoke until `latest` */
        uint64_t since, latest; /* milliseconds since 1970 */
        const char *name;       /* the first one's */
        uint64_t open;          /* recorders that have not ended: nothing is known to be lost */
        struct iso_history_lost file;
    } lost;
    uint64_t far_ahead;    /* transactions and watermarks a year or more above the watermark; wall
                              clocks only */
    uint64_t before_start; /* final EXT and CDC verdicts that what was there before the streams
                              begin may explain */
    uint64_t doubted[ISO_AXIOMS]; /* final verdicts that are doubtful, for whatever reason */
    uint64_t absent_altered; /* reads of nothing, unjudged since their table was altered after their
                                snapshot */
    uint64_t unjudged[ISO_UNJUDGED_REASONS];   /* reads, by reason, whoever found it */
    uint64_t suppressed[ISO_UNJUDGED_REASONS]; /* contradictions that were not reported, by why
                                                (pipeline/suppress.c) */
    uint64_t suppressed_reads;                 /* of them, the engine's that are not probes */
    uint64_t beyond; /* reads that differ beyond what surely came, at the end (missing_rows.c) */
    uint64_t probes_beyond;        /* the same of what the join asked */
    uint64_t left_out[ISO_AXIOMS]; /* found by the engine and not reported: these, and of tables
                                      that are not covered */
    uint64_t left_out_reads;       /* of those tables */
    uint64_t went_idle;            /* times that an input was left behind */
    uint64_t final, tentative, retracted; /* lines reported */
    uint64_t final_doubtful;              /* of those final */
    uint64_t watermark;                   /* the pipeline's */
    bool has_watermark;
    /* without what the join asked of it; CDC violations among its counts */
    struct iso_aion_stats engine;
    struct iso_join_stats join;
    bool has_join;
};
