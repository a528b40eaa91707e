/* What is asked of the engines that judge without timestamps, polygraph and weak, and what they
 * answer: one form, so that reports and explanations serve both.
 */
#pragma once

#include "verdict/evidence.h"
#include "verdict/verdict.h"

struct iso_polygraph_options {
    enum iso_level level;
    uint64_t drift;  /* how far the clients' clocks may differ, in nanoseconds */
    double timeout;  /* seconds; 0: none */
    uint64_t memory; /* bytes that the program may take; 0: 16 GiB */
    /* bytes that it takes now; NULL: only what a step is about to take counts */
    uint64_t (*memory_in_use)(void);
    uint32_t max_findings;   /* of the list, never of the counts; 0: all */
    bool versions_by_commit; /* ser: the order of versions is that of commit timestamps, and only
                              * the order of transactions is sought
                              * (src/engines/polygraph/graph/commit_order.h); without advice */
    bool keys_by_commit;     /* versions of one key have that order, and no more is said: who read
                              * it and wrote it read the version before its own; without evidence */
    bool neighbours;         /* beside that: of transactions that say their start alone; an edge
                              * stands between neighbours of a key's versions that both do */
    bool no_advice, no_saturation, no_meet, no_join, no_windows, no_search,
        no_solver;                  /* steps switched off */
    bool no_schedule, no_lookahead; /* of the windows: either order that is proposed */
};

struct iso_polygraph_counters {
    uint64_t transactions, reads, writes, chains, known_edges;
    uint64_t open_reads_first,
        open_reads_after;      /* with several possible writers: at first, after saturation */
    uint64_t open_pairs_after; /* pairs of writers without an order, after saturation */
    uint64_t by_advice;        /* 1: the order of the input explains the history */
    uint64_t passes, edges_version, edges_anti, edges_meet, edges_join, candidates_pruned;
    uint64_t sccs, windows, windows_grown, window_rounds, window_cycles;
    uint64_t search_free, search_decisions, search_dead_ends;
    uint64_t solver_calls, solver_variables, solver_cycles;
    double seconds_prepare, seconds_saturate, seconds_windows, seconds_search, seconds_solve,
        seconds_explain, seconds_total;
};

struct iso_polygraph_result {
    enum iso_outcome outcome;
    const char *reason;            /* of "undecided": "timeout", "memory", "nothing-judged",
                                      "steps-switched-off", "foreign-cycle", ... */
    uint64_t counts[ISO_FINDINGS]; /* of findings before the graph */
    uint64_t cycles;               /* 0 or 1 */
    uint64_t reads_left_out; /* of keys that a write gave an unknown value; versions_by_commit:
                                      of another value than their moment says */
    struct iso_finding *findings;
    uint32_t finding_count, finding_capacity;
    /* of the evidence: the lemma whose cycle is to be shown; ISO_NONE: none */
    uint32_t cycle_lemma;
    struct iso_evidence evidence;
    struct iso_polygraph_counters counters;
};

void iso_polygraph_options_init(struct iso_polygraph_options *options);
void iso_polygraph_result_init(struct iso_polygraph_result *result);
void iso_polygraph_result_release(struct iso_polygraph_result *result);

/* The history lacks records, which may explain whatever rests on who wrote a value: only what a
 * transaction did with its own is certain. */
void iso_polygraph_leave_to_lost(struct iso_polygraph_result *result);
