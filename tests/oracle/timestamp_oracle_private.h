/* What the files of the timestamp oracle share. */
#ifndef TESTS_TIMESTAMP_ORACLE_PRIVATE_H
#define TESTS_TIMESTAMP_ORACLE_PRIVATE_H

#include "tests/oracle/plain_times.h"
#include "tests/oracle/timestamp_oracle.h"

struct oracle {
    const struct plain_history *history;
    enum iso_level level;
    struct plain_times times;
    struct instances *instances;
    bool reads_externally[PLAIN_TRANSACTIONS][PLAIN_OPERATIONS]; /* judged by EXT, whatever came out */
};

static inline bool is_committed(const struct oracle *oracle, uint32_t t)
{
    return oracle->history->transactions[t].status == ISO_COMMITTED;
}

/* T's first or last operation that writes the key, or NONE. */
uint32_t first_write(const struct oracle *oracle, uint32_t t, const struct plain_text *key);
uint32_t final_write(const struct oracle *oracle, uint32_t t, const struct plain_text *key);

/* Judges all reads of committed transactions: INT and EXT. */
void judge_reads(struct oracle *oracle);

/* ---- what judge_reads is made of ---- */

/* A read of a key, and the moment at which it is judged. */
struct external_read {
    uint32_t t, operation;
    const struct plain_text *key;
};

/* Committed, not the reader, and writes the key: at its cts there is a version of the key. */
bool has_version(const struct oracle *oracle, const struct external_read *read, uint32_t w);
bool is_visible(const struct oracle *oracle, const struct external_read *read, uint32_t w);
/* Version order: cts, ots of the first write of the key, tid. */
bool version_below(const struct oracle *oracle, const struct plain_text *key, uint32_t left, uint32_t right);
/* The writer of the newest visible version; ISO_NONE: the initial one. */
uint32_t expected_writer(const struct oracle *oracle, const struct external_read *read);
/* True if U, of unknown outcome, may have committed before the read's moment. */
bool may_be_visible(const struct oracle *oracle, const struct external_read *read, uint32_t u);
/* Of two candidates the one with the smaller tid; `left` may be ISO_NONE. */
uint32_t smaller_tid(const struct oracle *oracle, uint32_t left, uint32_t right);
uint32_t operation_number(const struct oracle *oracle, uint32_t t, uint32_t operation);

enum read_verdict { READ_GOOD, READ_WRONG, READ_UNJUDGED };

/* Compares an external read with what it should have seen; READ_WRONG: `wrong` says how. */
enum read_verdict judge_register(const struct oracle *oracle, const struct external_read *read, struct instance *wrong);

/* The same for a list read, of which the first `prefix` elements are others'. */
enum read_verdict judge_list(const struct oracle *oracle, const struct external_read *read, uint32_t prefix,
                             struct instance *wrong);

#endif
