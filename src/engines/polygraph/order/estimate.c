/* Where each event probably stands in an order that explains the history.
 *
 * Of all linear extensions of a partial order, an element with b elements before it and a after it
 * has, to a good approximation, the mean position (b + 1) / (b + a + 2), as if those it is not
 * ordered with fell evenly around it. Both counts lie in the clocks: what comes before a node is
 * the sum of its clock, and what comes after a node of a chain is how many clocks have at least its
 * stamp there. If x comes before y, b grows and a shrinks, so the order of these figures is itself
 * a linear extension.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/order.h"
#include "polygraph/order/windows.h"

struct estimated {
    double share; /* of the order that stands before it */
    uint32_t node;
};

ISO_ORDER_BY_TWO(compare_estimates, struct estimated, share, node)

static uint32_t nodes_a_transaction(const struct engine *engine)
{
    return engine->serial ? 1 : 2;
}

/* Where the counts of a chain start: one for each of its stamps, and one for none. */
static size_t counts_of(const struct engine *engine, uint32_t chain)
{
    return (size_t)nodes_a_transaction(engine) * engine->chains.first[chain] + chain;
}

/* By chain and stamp: how many clocks have at least that stamp. */
static uint32_t *count_after(const struct engine *engine)
{
    uint32_t chains = engine->chains.count;
    uint32_t *after = iso_allocate_zeroed(counts_of(engine, chains) + 1, sizeof *after);
    for (uint32_t node = 0; node < engine->graph.event_count; node++) {
        const stamp *clock = clock_of(engine, node);
        for (uint32_t chain = 0; chain < chains; chain++)
            after[counts_of(engine, chain) + clock[chain]]++;
    }
    for (uint32_t chain = 0; chain < chains; chain++) {
        uint32_t *first = after + counts_of(engine, chain);
        for (size_t s = counts_of(engine, chain + 1) - counts_of(engine, chain) - 1; s-- > 0;)
            first[s] += first[s + 1];
    }
    return after;
}

static uint32_t count_before(const struct engine *engine, uint32_t node)
{
    const stamp *clock = clock_of(engine, node);
    uint32_t sum = 0;
    for (uint32_t chain = 0; chain < engine->chains.count; chain++)
        sum += clock[chain];
    return sum;
}

void estimate_order(const struct engine *engine, uint32_t *likely)
{
    struct estimated *sorted =
        iso_allocate(((size_t)engine->graph.event_count + 1) * sizeof *sorted);
    uint32_t *after = count_after(engine);
    for (uint32_t node = 0; node < engine->graph.event_count; node++) {
        uint32_t chain = engine->chains.of[node_transaction(engine, node)],
                 before = count_before(engine, node);
        double all = (double)before + after[counts_of(engine, chain) + node_stamp(engine, node)];
        assert(before && all >= before); /* a node is among those that reach it */
        sorted[node] = (struct estimated){before / all, node};
    }
    qsort(sorted, engine->graph.event_count, sizeof *sorted, compare_estimates);
    for (uint32_t i = 0; i < engine->graph.event_count; i++)
        likely[i] = sorted[i].node;
    ISO_FREE_ALL(after, sorted);
}
