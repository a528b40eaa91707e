/* The bytes of a journal: a head, then records one behind the other.
 *
 *   head:   magic (16 bytes), format, 0, generation, checksum           40 bytes
 *   record: size, type, number, checksum; then `size` bytes             24 bytes and those
 *
 * A record's checksum covers its head and content and depends on the journal's generation, so that
 * no record of another journal, or of another position, passes for it. All in the machine's byte
 * order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal_head {
    char magic[16];
    uint32_t format, zero;
    uint64_t generation;
    uint64_t checksum;
};

struct journal_record {
    uint32_t size, type;
    uint64_t number; /* from 0 */
    uint64_t checksum;
};

/* The record by which a journal ends and the next takes over. */
#define JOURNAL_ROLL 0xffffffffu

struct journal_head journal_head_of(uint64_t generation);
struct journal_record journal_record_of(uint64_t generation, uint32_t type, uint64_t number,
                                        const void *bytes, uint32_t size);

/* A journal being read: all of its bytes, in memory. */
struct journal_in {
    uint8_t *bytes;
    size_t size, at;
    uint64_t generation, number;
    bool rolled; /* its last record was JOURNAL_ROLL */
};

enum journal_step {
    JOURNAL_RECORD,
    JOURNAL_END,    /* nothing behind the last record */
    JOURNAL_TORN,   /* what is behind it is no record, and nothing there is: a crash cut it short */
    JOURNAL_DAMAGED /* whole records stand behind what is no record, or the head is another */
};

/* Begins behind the head; TORN if that is not whole. */
enum journal_step journal_open(struct journal_in *in, uint8_t *bytes, size_t size,
                               uint64_t generation);
enum journal_step journal_next(struct journal_in *in, struct journal_record *record,
                               const uint8_t **bytes);

/* After JOURNAL_TORN: what stands there is no beginning of a record, as a process that dies leaves
 * it, nor one with a hole, as a machine does, but a whole one that was altered. */
bool journal_is_altered(const struct journal_in *in);
