/* What the files of the timestamp oracle share. */
#ifndef TESTS_TIMESTAMP_ORACLE_PRIVATE_H
#define TESTS_TIMESTAMP_ORACLE_PRIVATE_H

#include "tests/oracle/plain_times.h"
#include "tests/oracle/timestamp_oracle.h"

/* A read of a key, and the moment at which it is judged. */
struct external_read {
    uint32_t t, operation;
    const struct plain_text *key;
};

struct oracle {
    const struct plain_history *history;
    enum iso_level level;
    bool session_order;
    bool positions,
        has_log; /* commits of one number have no order; but versions of a key, by the log */
    struct plain_times times;
    struct instances *instances;
    /* judged by EXT, whatever came out */
    bool reads_externally[PLAIN_TRANSACTIONS][PLAIN_OPERATIONS];

    /* rc and stale: the transaction that is being judged, and the read that is wrong */
    uint64_t left_low, left_high; /* rc: the moments that are left */
    uint32_t past_count;          /* stale: reads that have a moment in common */
    struct external_read past[PLAIN_OPERATIONS];
    uint32_t past_prefix[PLAIN_OPERATIONS];

    /* ryw, mr, ra, cc and psi: by certain reads, and by guesses too */
    bool read_by[2][PLAIN_TRANSACTIONS][PLAIN_TRANSACTIONS]; /* [writer][reader] */
    bool known[2][PLAIN_TRANSACTIONS][PLAIN_TRANSACTIONS];   /* [who][to whom] */
    uint32_t expected_writer;
    void (*visit)(struct oracle *oracle, const struct external_read *read,
                  uint32_t prefix); /* instead of judging */

    uint64_t expected_at,
        limit; /* where a wrong read looked, and the last moment that it might have had */
};

/* Levels at which a read is right at some moment, not at one. */
static inline bool has_moments(const struct oracle *oracle)
{
    return oracle->level == ISO_RC || oracle->level == ISO_STALE_READS;
}

static inline bool is_committed(const struct oracle *oracle, uint32_t t)
{
    return oracle->history->transactions[t].status == ISO_COMMITTED;
}

/* T's first or last operation that writes the key, or NONE. */
uint32_t first_write(const struct oracle *oracle, uint32_t t, const struct plain_text *key);
uint32_t final_write(const struct oracle *oracle, uint32_t t, const struct plain_text *key);

/* Judges all reads of committed transactions: INT and EXT. */
void judge_reads(struct oracle *oracle);

/* True if U stands before T in their session. */
bool session_precedes(const struct oracle *oracle, uint32_t u, uint32_t t);

/* ---- what judge_reads is made of ---- */

/* Committed, not the reader, and writes the key: at its cts there is a version of the key. */
bool has_version(const struct oracle *oracle, const struct external_read *read, uint32_t w);
bool is_visible(const struct oracle *oracle, const struct external_read *read, uint32_t w);
/* Version order: cts, ots of the first write of the key, tid. */
bool version_below(const struct oracle *oracle, const struct plain_text *key, uint32_t left,
                   uint32_t right);
/* The writer of the newest visible version; ISO_NONE: the initial one. */
uint32_t expected_writer(const struct oracle *oracle, const struct external_read *read);
/* True if U, of unknown outcome, may have committed before the read's moment. */
bool may_be_visible(const struct oracle *oracle, const struct external_read *read, uint32_t u);
/* Of two candidates the one with the smaller tid; `left` may be ISO_NONE. */
uint32_t smaller_tid(const struct oracle *oracle, uint32_t left, uint32_t right);
uint32_t operation_number(const struct oracle *oracle, uint32_t t, uint32_t operation);

enum read_verdict { READ_GOOD, READ_WRONG, READ_UNJUDGED };

/* Compares an external read with what it should have seen; READ_WRONG: `wrong` says how. */
enum read_verdict judge_register(const struct oracle *oracle, const struct external_read *read,
                                 struct instance *wrong);

/* The same for a list read, of which the first `prefix` elements are others'. */
enum read_verdict judge_list(const struct oracle *oracle, const struct external_read *read,
                             uint32_t prefix, struct instance *wrong);

/* rc and stale. A register has no prefix: ISO_NONE. */
void begin_moments(struct oracle *oracle, uint32_t t);
enum read_verdict judge_by_moments(struct oracle *oracle, const struct external_read *read,
                                   uint32_t prefix, struct instance *wrong);

/* Whether the read returned the version that `writer` made; ISO_NONE: the initial one. */
bool is_register_version(const struct oracle *oracle, const struct external_read *read,
                         uint32_t writer);

/* ryw, mr, ra, cc and psi. */
static inline bool has_knowledge(const struct oracle *oracle)
{
    return oracle->level == ISO_RYW || oracle->level == ISO_MR || oracle->level == ISO_RA ||
           oracle->level == ISO_CC || oracle->level == ISO_PSI;
}
void judge_back(struct oracle *oracle, uint32_t t); /* SESSION */
void find_knowledge(struct oracle *oracle);
enum read_verdict judge_by_knowledge(struct oracle *oracle, const struct external_read *read,
                                     uint32_t prefix, struct instance *wrong);

/* All reads that are judged by EXT. */
void for_each_external_read(struct oracle *oracle,
                            void (*visit)(struct oracle *oracle, const struct external_read *read,
                                          uint32_t prefix));
bool is_list_version(const struct oracle *oracle, const struct external_read *read, uint32_t prefix,
                     uint32_t writer);

/* Two writers of the list committed at one position among snapshots: their order is not known. */
bool list_is_tied(const struct oracle *oracle, const struct plain_text *key);

#endif
