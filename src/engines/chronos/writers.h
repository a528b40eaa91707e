/* Who wrote what: an index of all writes of the (key, value) pairs that suspects read, and of
 * nothing else.
 *
 * Built by one pass over all operations when a shard's sweep has found suspects. The writers of a
 * pair stand in classes, each class in the order in which reports want it.
 */
#pragma once

#include "base/number_map.h"
#include "chronos/chronos_private.h"

enum writer_class {
    WRITER_ABORTED,      /* by tid */
    WRITER_INTERMEDIATE, /* committed, and wrote something else later (registers only); by tid */
    WRITER_FINAL,        /* committed; in the order of versions */
    WRITER_UNKNOWN, /* unknown outcome, its final value; the one that started first comes first */
    WRITER_UNKNOWN_LOST, /* unknown outcome, and wrote something else later (registers only); by tid
                          */
    WRITER_CLASSES
};

struct writers {
    const struct iso_history *history;
    struct iso_number_map pairs; /* of key and value: numbers of them */
    uint64_t *key_bits;          /* keys with a pair */
    uint32_t *first;             /* by pair and class: into `transactions`; one more at the end */
    uint32_t *transactions;
};

/* The writers of one pair in one class. */
struct writer_span {
    const uint32_t *transactions;
    uint32_t count;
};

void writers_init(struct writers *writers, const struct iso_history *history);
void writers_release(struct writers *writers);
void writers_need(struct writers *writers, uint32_t key, iso_atom value);
void writers_find(struct writers *writers,
                  struct chronos_shard *shard); /* after the last writers_need */
struct writer_span writers_of(const struct writers *writers, uint32_t key, iso_atom value,
                              enum writer_class class);
