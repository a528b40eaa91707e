/* What the clients' clocks say: U had ended when T began, so U's commit comes before T's begin
 * (gsi: before T's commit, since T may read from an older snapshot).
 *
 * That would be an edge for nearly every pair. So committed transactions are sorted by when they
 * ended, and a node of time stands behind each, one after another: U's commit comes before its own
 * node, and T after the node of the last one that had ended before T began. Nodes of time have
 * clocks, which pass on what comes before them, but no stamp: nobody asks what they come before.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/order.h"
#include "polygraph/engine_private.h"

struct ending {
    uint64_t ended;
    uint32_t transaction; /* local */
};

/* One of unknown outcome may take effect long after its client gave up. */
static bool has_end(const struct engine *engine, uint32_t t)
{
    uint32_t transaction = engine->transactions.in_history[t];
    return engine->history->txns.ended[transaction] &&
           iso_status_of(engine->history, transaction) == ISO_COMMITTED;
}

uint32_t times_count(const struct engine *engine)
{
    uint32_t count = 0;
    if (!iso_level_needs_times(engine->options->level) || !engine->history->txns.begun ||
        !engine->history->txns.ended)
        return 0;
    for (uint32_t t = 0; t < engine->transactions.count; t++)
        count += has_end(engine, t);
    return count;
}

ISO_ORDER_BY_TWO(compare_endings, struct ending, ended, transaction)

static void add_edge(struct engine *engine, uint32_t from, uint32_t to)
{
    graph_append(engine, (struct fact){.kind = FACT_TIME, .from = from, .to = to});
}

/* How many of `count` endings come before a transaction began. */
static uint32_t count_before(const struct engine *engine, const struct ending *endings,
                             uint32_t count, uint32_t t)
{
    uint32_t low = 0;
    ISO_BISECT(low, count, middle,
               iso_history_ended_before(
                   engine->history, engine->transactions.in_history[endings[middle].transaction],
                   engine->transactions.in_history[t], engine->options->drift));
    return low;
}

void times_add(struct engine *engine)
{
    uint32_t count = engine->graph.node_count - engine->graph.event_count, end = 0,
             first = engine->graph.event_count;
    if (!count)
        return;
    struct ending *endings = iso_allocate(count * sizeof *endings);
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        if (has_end(engine, t))
            endings[end++] =
                (struct ending){engine->history->txns.ended[engine->transactions.in_history[t]], t};
    }
    assert(end == count);
    qsort(endings, count, sizeof *endings, compare_endings);
    for (uint32_t i = 0; i < count; i++) {
        add_edge(engine, node_commit(engine, endings[i].transaction), first + i);
        if (i)
            add_edge(engine, first + i - 1, first + i);
    }
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        uint32_t before = count_before(engine, endings, count, t);
        bool older_snapshot = engine->options->level == ISO_GSI;
        if (before)
            add_edge(engine, first + before - 1,
                     older_snapshot ? node_commit(engine, t) : node_begin(engine, t));
    }
    iso_free(endings);
}
