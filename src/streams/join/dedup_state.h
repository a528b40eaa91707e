/* What was finished, so that repeats are known (dedup.c). */
#pragma once

#include "history/history.h"
#include "join/map.h"

enum { JOIN_DEDUP_ENTRIES = 1 << 20, JOIN_DEDUP_DIGESTS = 1 << 22 };

struct join_dedup_entry {
    struct join_identity identity;
    iso_atom tid;   /* of `texts`; ISO_ABSENT: foreign */
    uint64_t first; /* into the ring of digests, counted from the beginning */
    uint32_t count, cursor;
    uint64_t cts;
    bool aborted_in_log; /* it did not commit (aborted.c) */
};

struct join_dedup {
    struct join_map map;              /* identity to entry */
    struct join_dedup_entry *entries; /* a ring, once it has grown to its full size */
    uint64_t *digests;                /* another: identity of the row << 32 | content */
    uint64_t next_entry, next_digest; /* counted from the beginning */
    uint64_t entry_capacity, digest_capacity;
    bool has_texts; /* an entry refers to `texts` */
};
