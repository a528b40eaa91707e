/* Evidence for a polygraph verdict: what other code needs to confirm it.
 *
 * Transactions are indices of the history's, in the order of its input. An *event* is the begin (2
 * * transaction) or the commit (2 * transaction + 1) of a transaction; at the serialisable levels a
 * transaction is one event, its begin.
 *
 * Accept: all events in an order.
 *
 * Reject: either a finding that needs no graph (an internal read, an aborted read, ...), or lemmas.
 * A lemma is a clause of literals, of which at least one is true in every order that explains the
 * history; the last lemma is empty, so there is no such order. A clause is justified by
 *   - a cycle: were all its literals false, these edges would close a cycle; every edge follows
 *     from the history, from the literals' negations, or from earlier lemmas, by unit propagation;
 *   - a list read: one that contains a's elements, and b's after them or not at all, so a's version
 *     comes first; or it says where a transaction's elements may stand, where elements repeat;
 *   - commit timestamps, where they give the order of versions: one order of two versions of a key;
 *   - at the weak levels (rc, ra, cc, psi, pram, ryw, mr, mw, wfr, adya-rc), where an order of the
 *     transactions is no order of what they saw, a cycle of sessions, reads and orders of versions
 *     (no rw), or one with exactly one rw whose other edges make what they begin with visible to
 *     the reader, as the level says: at cc sessions and reads, at psi orders of versions too, at ra
 *     one of either, at rc one read at an earlier operation than the rw's;
 *   - nothing: then unit propagation alone, over the lemmas so far and each read's choice of
 *     writers, refutes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "history/history.h"
#include "verdict/level.h"

static inline uint32_t iso_event_begin(uint32_t transaction)
{
    return 2 * transaction;
}
static inline uint32_t iso_event_commit(enum iso_level level, uint32_t transaction)
{
    return iso_level_is_one_event(level) ? 2 * transaction : 2 * transaction + 1;
}

enum iso_literal_kind {
    ISO_LITERAL_ORDER, /* the version of `key` that transaction a wrote comes before b's; negated:
                          b's before a's */
    ISO_LITERAL_READS, /* transaction a reads `key` from transaction b (ISO_NONE: the initial value)
                        */
    ISO_LITERAL_NOT_READS,
    ISO_LITERAL_BEFORE, /* event a comes before event b; negated: b before a */
    ISO_LITERAL_PLACED, /* what transaction a appends to list `key` begins at index b of it, from 0
                         */
    ISO_LITERAL_NOT_PLACED
};

struct iso_literal {
    enum iso_literal_kind kind;
    uint32_t a, b, key; /* key: ISO_NONE where the kind has none */
    /* READS, NOT_READS: 1 + the operation, where each read is one of its own; else 0 */
    uint32_t read;
};

enum iso_edge_kind {
    ISO_EDGE_OWN,     /* begin before commit, of one transaction */
    ISO_EDGE_SESSION, /* commit before begin, of two transactions of a session */
    ISO_EDGE_TIME,    /* the client saw the one end before it began the other */
    ISO_EDGE_WR,      /* commit of the writer before begin of the reader of `key` */
    ISO_EDGE_WW,      /* commit before begin, of two writers of `key` in version order */
    ISO_EDGE_RW, /* begin of a reader of `key` before commit of the writer of a later version than
                    `via`'s */
    ISO_EDGE_BEFORE /* by a literal of kind BEFORE */
};

struct iso_edge {
    enum iso_edge_kind kind;
    uint32_t from, to; /* events */
    uint32_t key, via; /* RW: whose version was read, ISO_NONE: the initial one */
    /* WR, RW: 1 + the operation that read, where each read is one of its own; else 0 */
    uint32_t read;
};

enum iso_lemma_kind { ISO_LEMMA_CYCLE, ISO_LEMMA_LIST, ISO_LEMMA_PROPAGATION, ISO_LEMMA_VERSIONS };

struct iso_lemma {
    enum iso_lemma_kind kind;
    uint32_t first_literal, literal_count;
    uint32_t first_edge, edge_count; /* CYCLE: in order, each edge's `to` the next one's `from` */
    uint32_t operation;              /* LIST: the list read */
};

/* Findings before any graph. */
enum iso_finding_kind {
    ISO_FINDING_NONE,
    ISO_FINDING_INT,
    ISO_FINDING_G1A,
    ISO_FINDING_G1B,
    ISO_FINDING_THINAIR,
    ISO_FINDING_INCOMPATIBLE,
    ISO_FINDING_LOSTUPDATE,
    ISO_FINDINGS
};

const char *iso_finding_name(enum iso_finding_kind kind);

struct iso_finding {
    enum iso_finding_kind kind;
    uint32_t transaction, operation; /* the read at fault */
    uint32_t other; /* G1a, G1b: who wrote it; INCOMPATIBLE: another list read, or ISO_NONE: the
                     * list does not begin with its initial elements, or has one more often than it
                     * was appended; else ISO_NONE */
};

/* Accept at a weak level: which of several writers of one value a read saw. */
struct iso_choice {
    uint32_t operation; /* the read */
    uint32_t writer;    /* ISO_NONE: the initial value */
};
#define ISO_NO_CHOICE 0xfffffffeu

struct iso_evidence {
    enum iso_level level;
    uint64_t drift;          /* how far the clients' clocks may differ, in nanoseconds */
    bool versions_by_commit; /* versions of a key have the order of their commit timestamps, and
                              * reads that say when they looked saw the newest of then: facts of the
                              * history that verify looks up too */
    bool accepts;
    uint32_t *events; /* accept */
    uint32_t event_count, event_capacity;
    struct iso_choice *choices; /* by operation, ascending */
    uint32_t choice_count, choice_capacity;
    struct iso_finding finding; /* reject without a graph */
    struct iso_lemma *lemmas;   /* reject by lemmas */
    uint32_t lemma_count, lemma_capacity;
    struct iso_literal *literals;
    uint32_t literal_count, literal_capacity;
    struct iso_edge *edges;
    uint32_t edge_count, edge_capacity;
};

void iso_evidence_init(struct iso_evidence *evidence);
void iso_evidence_release(struct iso_evidence *evidence);

/* Starts a lemma; literals and edges that are added next are its own. */
void iso_evidence_lemma(struct iso_evidence *evidence, enum iso_lemma_kind kind,
                        uint32_t operation);
void iso_evidence_literal(struct iso_evidence *evidence, struct iso_literal literal);
void iso_evidence_edge(struct iso_evidence *evidence, struct iso_edge edge);
void iso_evidence_event(struct iso_evidence *evidence, uint32_t event);
void iso_evidence_add_choice(struct iso_evidence *evidence, struct iso_choice choice);

/* The choice about the writer of the operation's value; ISO_NO_CHOICE: there is none. */
uint32_t iso_evidence_choice(const struct iso_evidence *evidence, uint32_t operation);

/* Names of cycles: Adya's, and those of well-known special cases. */
enum iso_anomaly {
    ISO_G0,
    ISO_G1C,
    ISO_G_SINGLE,
    ISO_G_SIB,
    ISO_G2_ITEM,
    ISO_LOST_UPDATE,
    ISO_WRITE_SKEW,
    ISO_LONG_FORK,
    ISO_ANOMALIES
};

/* "G0", "G1c", "G-single", "G-SIb", "G2-item", "lost-update", "write-skew", "long-fork". */
const char *iso_anomaly_name(enum iso_anomaly anomaly);

/* The name of the anomaly that the cycle of a lemma is. NULL: the lemma has no cycle. Edges of
 * sessions and of time count as reads of what was written. */
const char *iso_cycle_anomaly(const struct iso_evidence *evidence, uint32_t lemma);

/* At the weak levels, of a cycle with one rw: the session guarantee that alone is broken,
 * "monotonic-reads"; NULL: none is. Such a cycle is Adya's G-single, whatever else it is called. */
const char *iso_cycle_guarantee(const struct iso_evidence *evidence, uint32_t lemma);
