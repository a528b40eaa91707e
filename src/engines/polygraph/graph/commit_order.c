#include "polygraph/graph/commit_order.h"

#include <assert.h>
#include <stdlib.h>

#include "base/order.h"
#include "history/moment.h"

/* ---- versions ---- */

static bool has_position(const struct engine *engine, uint32_t t)
{
    uint8_t flags = engine->history->txns.flags[engine->transactions.in_history[t]];
    return (flags & ISO_STATUS_MASK) == ISO_COMMITTED && (flags & ISO_HAS_CTS);
}

struct stamped {
    uint64_t cts;
    uint32_t transaction; /* local */
};

ISO_ORDER_BY_TWO(compare_stamped, struct stamped, cts, transaction)

/* Transactions that write and have a position, by cts. The caller frees them. */
static struct stamped *sort_writers(const struct engine *engine, uint32_t *count)
{
    struct stamped *writers =
        iso_allocate(((size_t)engine->transactions.count + 1) * sizeof *writers);
    bool sorted = true;
    *count = 0;
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        if (!has_position(engine, t) || engine->writes.first[t] == engine->writes.first[t + 1])
            continue;
        writers[*count] =
            (struct stamped){engine->history->txns.cts[engine->transactions.in_history[t]], t};
        sorted &= !*count || writers[*count - 1].cts <= writers[*count].cts;
        ++*count;
    }
    if (!sorted)
        qsort(writers, *count, sizeof *writers, compare_stamped);
    return writers;
}

static void order_writes(struct engine *engine)
{
    struct commit_order *commit_order = engine->commit_order;
    uint32_t keys = engine->history->keys.count, count;
    struct stamped *writers = sort_writers(engine, &count);
    uint32_t *next = iso_allocate_zeroed((size_t)keys + 2, sizeof *next);
    commit_order->order = iso_numbers(engine->writes.count);
    commit_order->position = iso_numbers_none(engine->writes.count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = writers[i].transaction;
        ISO_EACH(write, engine->writes.first, t)
            next[engine->writes.key[write] + 2]++;
    }
    iso_running_sums(next + 1, (size_t)keys + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = writers[i].transaction;
        ISO_EACH(write, engine->writes.first, t) {
            uint32_t position = next[engine->writes.key[write] + 1]++;
            commit_order->order[position] = write;
            commit_order->position[write] = position;
        }
    }
    commit_order->first = next;
    iso_free(writers);
}

static bool shares_cts(const struct engine *engine, uint32_t position, uint32_t other)
{
    const struct commit_order *commit_order = engine->commit_order;
    return given_cts(engine, commit_order->order[position]) ==
           given_cts(engine, commit_order->order[other]);
}

/* A position, and the value that was written there. */
struct valued {
    uint32_t value, position;
};

ISO_ORDER_BY_TWO(compare_values, struct valued, value, position)

static void sort_tie(struct engine *engine, uint32_t from, uint32_t end, struct valued *sorted)
{
    struct commit_order *commit_order = engine->commit_order;
    for (uint32_t position = from; position < end; position++) {
        commit_order->tie[position] = from;
        commit_order->tie_end[position] = end;
        sorted[position - from] =
            (struct valued){engine->writes.value[commit_order->order[position]], position};
    }
    qsort(sorted, end - from, sizeof *sorted, compare_values);
    for (uint32_t position = from; position < end; position++)
        commit_order->by_value[position] = sorted[position - from].position;
}

/* Where the versions end that share a cts with the one at `position`. */
static uint32_t end_of_tie(const struct engine *engine, uint32_t position, uint32_t end)
{
    uint32_t at = position + 1;
    while (at < end && shares_cts(engine, at, position))
        at++;
    return at;
}

static void find_ties(struct engine *engine)
{
    struct commit_order *commit_order = engine->commit_order;
    uint32_t keys = engine->history->keys.count, count = commit_order->first[keys];
    for (uint32_t key = 0; key < keys; key++)
        for (uint32_t position = commit_order->first[key] + 1;
             position < commit_order->first[key + 1]; position++)
            commit_order->ties |= shares_cts(engine, position - 1, position);
    if (!commit_order->ties)
        return;
    commit_order->tie = iso_numbers(count);
    commit_order->tie_end = iso_numbers(count);
    commit_order->by_value = iso_numbers(count);
    struct valued *sorted = iso_allocate(((size_t)count + 1) * sizeof *sorted);
    for (uint32_t key = 0; key < keys; key++)
        for (uint32_t from = commit_order->first[key], next; from < commit_order->first[key + 1];
             from = next) {
            next = end_of_tie(engine, from, commit_order->first[key + 1]);
            sort_tie(engine, from, next, sorted);
        }
    iso_free(sorted);
}

/* ---- reads ---- */

static bool has_moment(const struct iso_history *history, uint32_t transaction, uint32_t operation)
{
    uint8_t kind = history->ops.kind[operation], flags = history->txns.flags[transaction];
    if (kind & ISO_OPERATION_OTS)
        return true;
    return flags & (kind & ISO_OPERATION_LOCK ? ISO_HAS_CTS : ISO_HAS_STS);
}

/* How many versions of a key a moment sees. */
static uint32_t count_visible(const struct engine *engine, uint32_t key,
                              const struct iso_moment *moment)
{
    const struct commit_order *commit_order = engine->commit_order;
    uint32_t low = commit_order->first[key], high = commit_order->first[key + 1];
    ISO_BISECT(low, high, middle,
               iso_moment_sees(moment, given_cts(engine, commit_order->order[middle])));
    return low - commit_order->first[key];
}

/* Whether one of the versions of one cts that end at `position` has the value; `*alone`: there is
 * only one. */
static bool newest_has(const struct engine *engine, uint32_t position, uint32_t value, bool *alone)
{
    const struct commit_order *commit_order = engine->commit_order;
    uint32_t low = commit_order->ties ? commit_order->tie[position] : position;
    *alone = low == position;
    assert(!commit_order->ties || (low <= position && position < commit_order->tie_end[position]));
    if (*alone)
        return engine->writes.value[commit_order->order[position]] == value;
    /* the first of the value, or of a larger one */
    uint32_t high = commit_order->tie_end[position];
    ISO_BISECT(low, high, middle,
               engine->writes.value[commit_order->order[commit_order->by_value[middle]]] < value);
    return low < commit_order->tie_end[position] && commit_order->by_value[low] <= position &&
           engine->writes.value[commit_order->order[commit_order->by_value[low]]] == value;
}

/* The version that a read saw; false: it saw another value than it had to. */
static bool find_seen(const struct engine *engine, uint32_t read, const uint32_t *initial,
                      uint32_t *seen)
{
    assert(read < engine->reads.count);
    const struct iso_history *history = engine->history;
    const struct commit_order *commit_order = engine->commit_order;
    uint32_t t = engine->reads.transaction[read], key = engine->reads.key[read],
             o = engine->reads.operation[read];
    *seen = OPEN;
    if (iso_key_is_list(history, key) ||
        !has_moment(history, engine->transactions.in_history[t], o))
        return true;
    struct iso_moment moment = iso_moment_of(history, engine->transactions.in_history[t], o, false);
    uint32_t visible = count_visible(engine, key, &moment),
             position = commit_order->first[key] + visible - 1;
    if (visible && engine->writes.transaction[commit_order->order[position]] == t) {
        visible--; /* it read before it wrote */
        position--;
    }
    if (!visible) {
        *seen = INITIAL;
        return engine->reads.value[read] == initial[key];
    }
    bool alone, found = newest_has(engine, position, engine->reads.value[read], &alone);
    if (alone)
        *seen = commit_order->order[position];
    return found;
}

static void move_read(struct engine *engine, uint32_t from, uint32_t to)
{
    assert(to <= from);
    engine->reads.transaction[to] = engine->reads.transaction[from];
    engine->reads.key[to] = engine->reads.key[from];
    engine->reads.value[to] = engine->reads.value[from];
    engine->reads.operation[to] = engine->reads.operation[from];
    engine->reads.prefix[to] = engine->reads.prefix[from];
}

static void see_reads(struct engine *engine)
{
    struct commit_order *commit_order = engine->commit_order;
    uint32_t *initial = iso_history_initial_values(engine->history, true), kept = 0;
    commit_order->seen = iso_numbers(engine->reads.count);
    for (uint32_t t = 0, read = 0; t < engine->transactions.count; t++) {
        uint32_t end = engine->reads.first[t + 1];
        engine->reads.first[t] = kept;
        for (; read < end; read++) {
            if (!find_seen(engine, read, initial, &commit_order->seen[kept]))
                continue;
            move_read(engine, read, kept++);
        }
    }
    engine->result->reads_left_out = engine->reads.count - kept;
    engine->reads.first[engine->transactions.count] = engine->reads.count = kept;
    iso_free(initial);
}

void commit_order_build(struct engine *engine)
{
    assert(!engine->commit_order);
    const struct iso_history *history = engine->history;
    struct commit_order *commit_order = engine->commit_order =
        iso_allocate_zeroed(1, sizeof *commit_order);
    commit_order->foreign = iso_allocate((size_t)engine->transactions.count + 1);
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        uint32_t of = engine->transactions.in_history[t];
        commit_order->foreign[t] =
            iso_tid_is_foreign(&history->atoms, history->txns.tid[of]) ||
            (engine->options->neighbours && !(history->txns.flags[of] & ISO_HAS_STS));
    }
    order_writes(engine);
    find_ties(engine);
    see_reads(engine);
}

void commit_order_release(struct engine *engine)
{
    struct commit_order *commit_order = engine->commit_order;
    if (!commit_order)
        return;
    ISO_FREE_ALL(commit_order->order, commit_order->first, commit_order->position,
                 commit_order->seen, commit_order->foreign, commit_order->tie,
                 commit_order->tie_end, commit_order->by_value, commit_order);
    engine->commit_order = NULL;
}

/* ---- for the search ---- */

static void add_fact(struct engine *engine, uint32_t earlier, uint32_t later)
{
    assert(given_cts(engine, earlier) < given_cts(engine, later));
    uint32_t a = engine->writes.version[earlier], b = engine->writes.version[later];
    graph_append(engine, (struct fact){.kind = FACT_COMMIT_ORDER,
                                       .other = a,
                                       .version = b,
                                       .from = version_commit(engine, a),
                                       .to = version_begin(engine, b)});
}

uint64_t commit_order_facts(struct engine *engine, bool adds)
{
    const struct commit_order *commit_order = engine->commit_order;
    uint64_t count = 0;
    for (uint32_t key = 0; commit_order && key < engine->history->keys.count; key++) {
        uint32_t end = commit_order->first[key + 1];
        for (uint32_t from = commit_order->first[key], next, after; from < end; from = next) {
            next = end_of_tie(engine, from, end);
            after = next < end ? end_of_tie(engine, next, end) : end;
            count += (uint64_t)(next - from) * (after - next);
            for (uint32_t a = from; a < next && adds; a++)
                for (uint32_t b = next; b < after; b++)
                    add_fact(engine, commit_order->order[a], commit_order->order[b]);
        }
    }
    return count;
}

bool commit_order_is_doubtful(const struct engine *engine)
{
    const struct iso_evidence *evidence = &engine->result->evidence;
    for (uint32_t i = 0; i < evidence->edge_count; i++) {
        uint32_t from = engine->transactions.local[evidence->edges[i].from / 2];
        if (from != ISO_NONE && engine->commit_order->foreign[from])
            return true;
    }
    return false;
}
