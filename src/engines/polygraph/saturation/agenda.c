/* Nodes to look at, in the order of their ranks: an edge leads forward in that order as a rule, so
 * a node is looked at once all that comes before it has been. Taking goes on from the last one and
 * starts again at the end. */
#include "polygraph/saturation/agenda.h"

#include <assert.h>

#include "base/memory.h"
#include "history/history.h"

void agenda_init(struct agenda *agenda, uint32_t count)
{
    agenda->word_count = count / 4096 + 1;
    agenda->words = iso_allocate_zeroed(agenda->word_count, sizeof *agenda->words);
    agenda->bits = iso_allocate_zeroed((size_t)agenda->word_count * 64, sizeof *agenda->bits);
    agenda->cursor = agenda->count = 0;
}

void agenda_release(struct agenda *agenda)
{
    ISO_FREE_ALL(agenda->bits, agenda->words);
}

/* The lowest rank in the set from the cursor on. */
static uint32_t find_next_rank(const struct agenda *agenda)
{
    uint32_t word = agenda->cursor / 64;
    uint64_t bits = agenda->bits[word] & ~(uint64_t)0 << agenda->cursor % 64;
    if (bits)
        return word * 64 + (uint32_t)__builtin_ctzll(bits);
    uint32_t group = word / 64;
    uint64_t words = word % 64 == 63 ? 0 : agenda->words[group] & ~(uint64_t)0 << (word % 64 + 1);
    while (!words && ++group < agenda->word_count)
        words = agenda->words[group];
    if (!words)
        return ISO_NONE;
    word = group * 64 + (uint32_t)__builtin_ctzll(words);
    return word * 64 + (uint32_t)__builtin_ctzll(agenda->bits[word]);
}

uint32_t agenda_take(struct agenda *agenda)
{
    if (!agenda->count)
        return ISO_NONE;
    uint32_t rank = find_next_rank(agenda);
    if (rank == ISO_NONE) {
        agenda->cursor = 0;
        rank = find_next_rank(agenda);
        assert(rank != ISO_NONE); /* `count` says that there is one */
    }
    agenda->bits[rank / 64] &= ~((uint64_t)1 << rank % 64);
    if (!agenda->bits[rank / 64])
        agenda->words[rank / 4096] &= ~((uint64_t)1 << rank / 64 % 64);
    agenda->count--;
    agenda->cursor = (rank + 1) % (agenda->word_count * 4096);
    return rank;
}

void agenda_clear(struct agenda *agenda)
{
    while (agenda_take(agenda) != ISO_NONE)
        continue;
    agenda->cursor = 0;
}
