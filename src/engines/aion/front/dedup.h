/* Which tids came, and with what content (dedup.c). */
#pragma once

#include "base/fetch.h"
#include "base/hash.h"

struct aion_dedup_entry {
    uint64_t tid, content; /* digests; tid 0: free */
    uint64_t stamp;        /* cts, or what there is; forgotten below the floor */
    uint64_t origin;
};

struct aion_dedup {
    struct aion_dedup_entry *slots;
    uint64_t mask, used;
    uint64_t contradicted; /* origin of the entry that had other content, the last time */
};

/* AION_CONTRADICTION: other content, and taken. */
enum aion_dedup_result { AION_NEW, AION_REPEAT, AION_OTHER_CONTENT, AION_CONTRADICTION };
enum { AION_CONTENTS = 8 };

/* A tid may have as many `contents`. */
enum aion_dedup_result aion_dedup_note(struct aion_dedup *dedup,
                                       const struct aion_dedup_entry *entry, uint64_t floor,
                                       uint32_t contents);
void aion_dedup_rebuild(struct aion_dedup *dedup,
                        uint64_t floor);          /* only what is not below the floor */
void aion_dedup_refill(struct aion_dedup *dedup); /* after slots of another process were read */
void aion_dedup_release(struct aion_dedup *dedup);
ISO_FETCH aion_dedup_fetch(const struct aion_dedup *dedup, uint64_t tid)
{
    if (dedup->slots)
        __builtin_prefetch(&dedup->slots[iso_hash_number(tid) & dedup->mask], 1);
}
