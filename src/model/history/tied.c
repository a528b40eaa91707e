#include "history/tied.h"

#include "base/components.h"
#include "base/numbers.h"

/* Of each key the two writers of the smallest tids: one of them is the other of any third. */
static void find_sharers(const struct iso_tied_use *uses, uint32_t count, uint32_t keys,
                         uint32_t *other)
{
    uint32_t *smallest = iso_numbers_none(2 * (size_t)keys);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *two = smallest + 2 * (size_t)uses[i].key, member = uses[i].member;
        if (!uses[i].writes || member == two[0])
            continue;
        if (member < two[0]) {
            two[1] = two[0];
            two[0] = member;
        } else if (member < two[1]) {
            two[1] = member;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *two = smallest + 2 * (size_t)uses[i].key, member = uses[i].member;
        uint32_t found = two[0] == member ? two[1] : two[0];
        if (uses[i].writes && found < other[member])
            other[member] = found;
    }
    iso_free(smallest);
}

static void find_cycles(const struct iso_tied_use *uses, uint32_t count, uint32_t members,
                        uint32_t keys, bool *on_cycle)
{
    uint32_t nodes = members + keys;
    uint32_t *first = iso_numbers_zero((size_t)nodes + 1), *to = iso_numbers(2 * (size_t)count),
             *component = iso_numbers(nodes);
    for (uint32_t i = 0; i < count; i++) {
        first[uses[i].member + 2] += uses[i].reads;
        first[members + uses[i].key + 2] += uses[i].writes;
    }
    iso_running_sums(first + 1, (size_t)nodes + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = members + uses[i].key;
        if (uses[i].reads)
            to[first[uses[i].member + 1]++] = key;
        if (uses[i].writes)
            to[first[key + 1]++] = uses[i].member;
    }
    uint32_t *of =
        iso_numbers_zero(iso_components(nodes, first, to, component)); /* members of each */
    for (uint32_t member = 0; member < members; member++)
        of[component[member]]++;
    for (uint32_t member = 0; member < members; member++)
        on_cycle[member] = of[component[member]] > 1;
    ISO_FREE_ALL(first, to, component, of);
}

void iso_tied_judge(const struct iso_tied_use *uses, uint32_t count, uint32_t members,
                    uint32_t keys, uint32_t *other, bool *on_cycle)
{
    memset(other, 0xff, members * sizeof *other); /* ISO_NONE */
    find_sharers(uses, count, keys, other);
    find_cycles(uses, count, members, keys, on_cycle);
}
