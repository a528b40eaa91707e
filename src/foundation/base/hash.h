/* Hashes for tables in memory whose keys others choose. They depend on a seed that the process
 * draws when it starts, so that nobody can send keys that all want one slot. What lasts, or another
 * process sees (ids of verdicts, digests in archives and stores), is never made of them: a table
 * that is read from an archive is filled anew.
 *
 * ISOCHRON_HASH_SEED=N makes the seed N, for tests.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct iso_hash_seed {
    uint64_t text, number, factor; /* `factor` is odd */
};
extern struct iso_hash_seed iso_hash_seed; /* set before main, and never again */

/* A number's: multiplied by a secret number, and again. The first product alone strings numbers in
 * a row into long clusters for one seed in twenty. All bits of the second count, so that any of the
 * hash will do. */
static inline uint64_t iso_hash_number(uint64_t number)
{
    unsigned __int128 product =
        (unsigned __int128)(number ^ iso_hash_seed.number) * iso_hash_seed.factor;
    uint64_t hash = ((uint64_t)product ^ (uint64_t)(product >> 64)) * iso_hash_seed.factor;
    return hash ^ hash >> 32;
}

/* Hashes a pair of numbers. */
static inline uint64_t iso_hash_pair(uint32_t one, uint32_t other)
{
    return iso_hash_number((uint64_t)one << 32 | other);
}

uint64_t iso_hash_text(const char *text, size_t length); /* keyed XXH3 */
