/* Random numbers that are the same for a seed on every machine: xoshiro256** (Blackman and Vigna,
 * 2018), seeded by splitmix64. Integers only, so that no floating point unit has a say. Not for
 * secrets. Threads: one each.
 */
#pragma once

#include <stdint.h>

struct iso_rng {
    uint64_t state[4];
};

static inline void iso_rng_seed(struct iso_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t mixed = seed += 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
        rng->state[i] = mixed ^ mixed >> 31;
    }
}

static inline uint64_t iso_rng_rotate(uint64_t bits, int by)
{
    return bits << by | bits >> (64 - by);
}

static inline uint64_t iso_rng_next(struct iso_rng *rng)
{
    uint64_t *s = rng->state, result = iso_rng_rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = iso_rng_rotate(s[3], 45);
    return result;
}

/* 0 to bound - 1, bound at least 1; without bias (Lemire: multiply, reject the short remainder). */
static inline uint64_t iso_rng_below(struct iso_rng *rng, uint64_t bound)
{
    unsigned __int128 product = (unsigned __int128)iso_rng_next(rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t least = (0 - bound) % bound;
        while ((uint64_t)product < least)
            product = (unsigned __int128)iso_rng_next(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

/* True in `share` of 2^32 cases. */
static inline int iso_rng_chance(struct iso_rng *rng, uint64_t share)
{
    return (iso_rng_next(rng) >> 32) < share;
}
