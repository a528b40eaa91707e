/* A verdict read back: what it says is wrong, as references into the history that it judges.
 *
 * Taken are the object that `check --json` and `replay --json` print, the lines that `watch` and
 * `replay` print, and any sequence of both; other objects, and lines of text that begin with no
 * brace, are passed over if there is any of those. Of the lines with one id the last counts; what
 * was retracted is left out and counted. Members that are not known are passed over. A claim that
 * names a transaction, key or operation that the history lacks is an error: the verdict is another
 * history's. (Rows of change streams may have no transaction there.)
 *
 * Ownership: claims own their columns and borrow the history, whose table of atoms they add to.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "explain/names.h"
#include "history/index.h"
#include "history/history.h"

/* A transaction that a verdict names. */
struct iso_party {
    iso_atom tid;
    uint32_t transaction; /* ISO_NONE: not in the history */
};

/* Elements first to first + count - 1 of the claims' column; one of a value that is no list. */
struct iso_claim_value {
    bool given, is_list;
    uint32_t first, count;
};

struct iso_claim_edge {
    uint32_t from, to; /* transactions */
    char type[8];      /* "wr", "ww", "rw", "so", "rt", "implied" */
    uint32_t key;      /* ISO_NONE: the type has none */
};

struct iso_claim {
    const struct iso_wrong *wrong;
    bool is_serial; /* its level is one of the serializable ones */
    const char
        *knowledge; /* its level, if that says which writers a read has to know of; else NULL */
    const char *visibility; /* a cycle's: its level, if an order is no order of what was seen there;
                               else NULL */
    bool has_moments,
        is_past; /* a read with a choice of moments; at `stale` those up to the first one */
    uint64_t first_moment, last_moment; /* UINT64_MAX: without an end */
    bool is_tentative;                  /* may still be retracted */
    const char
        *doubt;  /* why it may be wrong though final, as a sentence; NULL: no reason is known */
    uint64_t id; /* of a line; 0: none */
    uint32_t first_party, party_count; /* tids: the blamed one first; a cycle's in its order */
    struct iso_party writer_expected, writer_actual; /* tid ISO_ABSENT: none */
    iso_atom key_atom;                               /* ISO_ABSENT: none */
    uint32_t key;                                    /* of the history; ISO_NONE: none */
    uint32_t operation;                              /* of the history; ISO_NONE: none */
    struct iso_claim_value expected, actual;
    uint32_t first_edge, edge_count, lemmas; /* of a cycle */
    uint32_t first_location, location_count; /* records, as texts */
};

struct iso_claims {
    struct iso_history *history;
    struct iso_atom_index *by_tid; /* transaction of a tid */
    uint32_t count, capacity;
    struct iso_claim *list;
    uint32_t party_count, party_capacity;
    struct iso_party *parties;
    uint32_t element_count, element_capacity;
    iso_atom *elements;
    uint32_t edge_count, edge_capacity;
    struct iso_claim_edge *edges;
    uint32_t location_count, location_capacity;
    uint32_t *locations; /* where each starts in `location_text`, NUL-terminated */
    struct iso_text location_text;
    uint64_t retracted; /* lines' verdicts that were taken back */
    char outcome[12];   /* "holds", "violated", "undecided" as the object says; "": there was no
                           object */
    char level[12];     /* the last one that was named */
    char engine[12];    /* "": not said */
    uint64_t found;     /* the sum of the object's counts */
    uint64_t doubtful;  /* of found, or of the list where there are no counts */
    bool has_counts;
};

void iso_claims_init(struct iso_claims *claims, struct iso_history *finished);
void iso_claims_release(struct iso_claims *claims);

/* Adds what a text says, which is followed by ISO_JSON_PADDING readable bytes; `name` is for
 * errors. */
enum iso_status iso_claims_read(struct iso_claims *claims, const char *text, size_t length,
                                const char *name, struct iso_error *error);

static inline const struct iso_party *iso_claim_party(const struct iso_claims *claims,
                                                      const struct iso_claim *claim, uint32_t index)
{
    return &claims->parties[claim->first_party + index];
}

static inline const char *iso_claim_location(const struct iso_claims *claims,
                                             const struct iso_claim *claim, uint32_t index)
{
    return claims->location_text.bytes + claims->locations[claim->first_location + index];
}

static inline const iso_atom *iso_claim_elements(const struct iso_claims *claims,
                                                 const struct iso_claim_value *value)
{
    return value->count ? &claims->elements[value->first] : NULL;
}

/* How many of the claims are of a kind. */
uint32_t iso_claims_count_of(const struct iso_claims *claims, const struct iso_wrong *wrong);
