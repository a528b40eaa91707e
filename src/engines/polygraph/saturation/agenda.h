/* A set of nodes to look at, taken in the order of their ranks, round and round. */
#pragma once

#include <assert.h>
#include <stdint.h>

/* Bits by rank, and bits of the words that have any. */
struct agenda {
    uint64_t *bits, *words;
    uint32_t word_count, cursor; /* of `words`; the rank to look from */
    uint32_t count;
};

void agenda_init(struct agenda *agenda, uint32_t count);
void agenda_release(struct agenda *agenda);
void agenda_clear(struct agenda *agenda);
uint32_t agenda_take(struct agenda *agenda); /* a rank; ISO_NONE: it is empty */

static inline void agenda_add(struct agenda *agenda, uint32_t rank)
{
    assert(rank / 4096 < agenda->word_count);
    uint64_t bit = (uint64_t)1 << rank % 64;
    agenda->count += !(agenda->bits[rank / 64] & bit);
    agenda->bits[rank / 64] |= bit;
    agenda->words[rank / 4096] |= (uint64_t)1 << rank / 64 % 64;
}
