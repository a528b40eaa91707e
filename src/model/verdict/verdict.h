/* A verdict: what was judged, how much of it, and every violation with its evidence.
 *
 * Counts are exact; the list of violations keeps the first `limit` in the order of reports
 * (tids[0], axiom, key, tids[1]), in whatever order they arrive, so that equal verdicts are equal
 * lists. Shards fill verdicts of their own, which iso_verdict_merge joins. Ownership: a verdict
 * owns its lists; it borrows the history. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "history/history.h"
#include "verdict/level.h"
#include "verdict/unjudged.h"

/* In the order of reports. */
enum iso_axiom {
    ISO_TIMESTAMP,
    ISO_SESSION,
    ISO_INT,
    ISO_EXT,
    ISO_NOCONFLICT,
    ISO_CDC,
    ISO_AXIOMS
};

/* Kinds of violations (docs/semantics.md). Where several fit, the first of uncommitted,
 * intermediate, future, absent, stale. */
enum iso_violation_kind {
    ISO_KIND_NONE,
    ISO_UNCOMMITTED,
    ISO_INTERMEDIATE,
    ISO_FUTURE,
    ISO_ABSENT_READ,
    ISO_STALE,
    ISO_SNAPSHOT_ORDER, /* TIMESTAMP: a snapshot that does not contain the one before it */
    ISO_INTERVAL,       /* TIMESTAMP at SI: sts <= ots <= cts, or sts < cts, is not true */
    ISO_SHARED_CTS,   /* TIMESTAMP at SER: another writer of a common key, `other`, has the same cts
                       */
    ISO_CTS_CYCLE,    /* TIMESTAMP at SER: equal cts, and each must come before another */
    ISO_MISSING,      /* CDC: the client wrote it, and no row arrived */
    ISO_UNWRITTEN,    /* CDC: a row arrived that the client did not write */
    ISO_OTHER_VALUE,  /* CDC: a row arrived with another value */
    ISO_ABORTED_ROW,  /* CDC: a row of a transaction that aborted */
    ISO_BEFORE_IMAGE, /* CDC: a before image is not the version that the row replaced */
    ISO_OTHER_CONTENT, /* CDC: the same row arrived again with other content */
    ISO_GAP, /* CDC: a row of a snapshot, or a before image where changes are known to be missing,
              * is not what was left
              */
    ISO_MISSING_ROW, /* EXT: a row set lacks a row that was there */
    ISO_EXTRA_ROW,   /* EXT: a row set has a row that was not there, or that does not match */
    ISO_AGGREGATE, /* EXT: a count, a sum, a least or a greatest value of a table's rows is another
                    */
    ISO_VIOLATION_KINDS
};

/* A value in a report: an atom, or a list. */
struct iso_value {
    bool is_list;
    iso_atom atom;                 /* if not a list; ISO_ABSENT: null */
    const struct iso_atoms *atoms; /* whose atom it is; NULL: the history's */
    uint64_t first;                /* if a list: elements `elements[first]` ... */
    uint32_t count;
    const iso_atom *const *elements; /* ... of this column (the history's, or the verdict's own) */
};

struct iso_violation {
    enum iso_axiom axiom;
    enum iso_violation_kind kind;
    uint32_t transaction; /* the one that is blamed (NOCONFLICT: the later committer) */
    /* NOCONFLICT: the other writer. SESSION: the earlier transaction of the session with the
     * largest position. SHARED_CTS: another writer. ISO_NONE if there is none */
    uint32_t other;
    uint32_t key;                      /* ISO_NONE where the axiom has none */
    uint32_t operation;                /* the operation at fault, or ISO_NONE */
    struct iso_value expected, actual; /* INT and EXT */
    uint32_t writer_expected,
        writer_actual;                  /* INT and EXT; ISO_NONE: the initial value, or nobody */
    bool has_moments;                   /* EXT at rc and stale: a read had a choice of moments, */
    uint64_t first_moment, last_moment; /* from the first one left to it (stale: that was the last
                                         * one left) to the last; UINT64_MAX: without an end */
    uint32_t snapshot_violation; /* SNAPSHOT_ORDER: index into the history's `snapshot_violations`,
                                    else ISO_NONE */
};

/* A violation of an axiom by a transaction, alone. */
static inline struct iso_violation iso_violation_of(enum iso_axiom axiom, uint32_t transaction)
{
    return (struct iso_violation){.axiom = axiom,
                                  .transaction = transaction,
                                  .other = ISO_NONE,
                                  .key = ISO_NONE,
                                  .operation = ISO_NONE,
                                  .writer_expected = ISO_NONE,
                                  .writer_actual = ISO_NONE,
                                  .snapshot_violation = ISO_NONE};
}

struct iso_verdict {
    const struct iso_history *history;
    enum iso_level level;
    bool versions_by_commit; /* ser was asked for, whose order of transactions is sought; what was
                              * judged is what is true at si too, and the report says so: all but
                              * overlapping writers */
    const char *engine;      /* "chronos", ... */
    const char *reason; /* of an undecided verdict: "nothing-judged", or why reads were not judged;
                           NULL otherwise */
    enum iso_outcome outcome; /* set by iso_verdict_conclude */
    const char *any_order; /* what polygraph says of all orders, if it was asked; NULL: not asked */
    uint64_t reads_judged,
        reads_unjudged; /* external and internal reads; unjudged: (transaction, key) */
    uint64_t unjudged[ISO_UNJUDGED_REASONS]; /* of these, by reason */
    uint64_t repeats; /* transactions that stood in the input again, and were ignored */
    /* (transaction, key): written under a lock only, NOCONFLICT not judged */
    uint64_t writes_unjudged;
    bool per_operation;
    uint64_t counts[ISO_AXIOMS];

    uint32_t limit; /* how many violations are kept; 0: all */
    uint32_t violation_count, violation_capacity;
    struct iso_violation *violations; /* a heap, the last of the order at its root, until sorted */
    iso_atom *elements;               /* of expected lists */
    uint64_t element_count, element_capacity;
    uint64_t elements_unused; /* of violations that are kept no more */
    struct iso_atoms texts;   /* values that the history does not have: aggregates */
    bool sorted;

    double seconds_load, seconds_sort, seconds_check, seconds_total;
};

void iso_verdict_init(struct iso_verdict *verdict, const struct iso_history *history,
                      enum iso_level level, uint32_t limit);
void iso_verdict_release(struct iso_verdict *verdict);

/* Counts a violation and keeps it if it is among the first `limit`. */
void iso_verdict_add(struct iso_verdict *verdict, const struct iso_violation *violation);

/* Keeps it likewise, where the caller has counted it. */
void iso_verdict_keep(struct iso_verdict *verdict, const struct iso_violation *violation);

/* Whether iso_verdict_add would keep it: evidence that costs something need not be gathered
 * otherwise. */
bool iso_verdict_keeps(const struct iso_verdict *verdict, const struct iso_violation *violation);

/* Moves what `from` has into `verdict`; `from` is empty then. Same history, level and limit. */
void iso_verdict_merge(struct iso_verdict *verdict, struct iso_verdict *from);

/* A list value made of `count` elements that are copied into the verdict. */
struct iso_value iso_verdict_list(struct iso_verdict *verdict, const iso_atom *elements,
                                  uint32_t count);

/* A value that the history does not have; NULL: null. */
struct iso_value iso_verdict_text(struct iso_verdict *verdict, const char *text, size_t length);

static inline struct iso_value iso_value_atom(iso_atom atom)
{
    return (struct iso_value){.atom = atom};
}

/* The list that a list read returned. */
struct iso_value iso_value_of_list(const struct iso_history *history, uint32_t list);

/* Sorts the list and says the outcome: violated if anything was found, undecided if nothing was
 * judged or if reads stayed unjudged (unless `allow_unjudged`), else holds. */
void iso_verdict_conclude(struct iso_verdict *verdict, bool allow_unjudged);

/* After that: no more than so many of a key, and of a session, stay in the list; 0: all. */
void iso_verdict_cut(struct iso_verdict *verdict, uint32_t per_key);

/* Order of reports. */
int iso_violation_compare(const struct iso_history *history, const struct iso_violation *left,
                          const struct iso_violation *right);

static inline iso_atom iso_value_element(const struct iso_value *value, uint32_t i)
{
    return (*value->elements)[value->first + i];
}

/* Names as they stand in JSON: "EXT", "stale", "si", "holds". NULL for ISO_KIND_NONE. */
const char *iso_axiom_name(enum iso_axiom axiom);
const char *iso_violation_kind_name(enum iso_violation_kind kind);
const char *iso_outcome_name(enum iso_outcome outcome);
enum iso_status iso_outcome_status(enum iso_outcome outcome);

/* Options of a check, common to the engines that judge by timestamps. */
struct iso_check_options {
    enum iso_level level;
    bool session_order;      /* check SESSION; on by default */
    bool overlaps;           /* SI: writers of a key may overlap, NOCONFLICT is not checked */
    unsigned threads;        /* at least 1 */
    uint32_t max_violations; /* 0: all */
    uint32_t max_per_key;    /* listed of a key, and of a session; 0: all */
};
