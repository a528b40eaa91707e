/* NOCONFLICT: two writers of a key whose intervals (o, cts] overlap, o the ots of the first write.
 *
 * A key's *open* writers are those whose first write lies behind the sweep and whose commit ahead. A writer meets, when
 * it opens, exactly the open ones: any two intervals that overlap are open together when the later one opens, so each
 * pair is found once and nothing else is looked at. A writer that commits before it opens (a TIMESTAMP violation)
 * overlaps those that were open all the way from its cts to its first write; it meets the open ones too, but counts
 * only those that opened below its cts, and never opens itself. All intervals in `open` overlap pairwise, so that
 * finding the one to close costs no more than the pairs that were reported.
 */
#include "chronos/chronos_private.h"

uint32_t chronos_first_write(const struct iso_history *history, uint32_t transaction, uint32_t key)
{
    uint32_t o = history->first_operation[transaction];
    while (history->key[o] != key || !iso_kind_writes(history->kind[o]))
        o++;
    return o;
}

static uint64_t opened(const struct iso_history *history, uint32_t transaction, uint32_t key)
{
    if (!(history->flags[transaction] & ISO_OWN_TIMES))
        return history->sts[transaction] + 1;
    return chronos_bound(history, transaction, chronos_first_write(history, transaction, key));
}

int chronos_compare_versions(const struct iso_history *history, uint32_t left, uint32_t right, uint32_t key)
{
    if (history->cts[left] != history->cts[right])
        return history->cts[left] < history->cts[right] ? -1 : 1;
    uint64_t left_opened = opened(history, left, key), right_opened = opened(history, right, key);
    if (left_opened != right_opened)
        return left_opened < right_opened ? -1 : 1;
    return iso_atom_compare(&history->atoms, history->tid[left], history->tid[right]);
}

static void report(struct chronos_shard *shard, uint32_t transaction, uint32_t other, uint32_t key)
{
    const struct iso_history *history = shard->history;
    bool later = chronos_compare_versions(history, transaction, other, key) > 0;
    struct iso_violation violation = {.axiom = ISO_NOCONFLICT,
                                      .transaction = later ? transaction : other,
                                      .other = later ? other : transaction,
                                      .key = key,
                                      .operation = ISO_NONE,
                                      .writer_expected = ISO_NONE,
                                      .writer_actual = ISO_NONE,
                                      .breach = ISO_NONE};
    if (iso_verdict_keeps(shard->verdict, &violation))
        violation.operation = chronos_first_write(history, violation.transaction, key);
    iso_verdict_add(shard->verdict, &violation);
}

static void meet(struct chronos_shard *shard, uint32_t transaction, uint32_t other, uint32_t key, bool inverted)
{
    const struct iso_history *history = shard->history;
    if (!inverted || history->cts[transaction] >= opened(history, other, key))
        report(shard, transaction, other, key);
}

static uint32_t take_node(struct chronos_shard *shard)
{
    uint32_t node = shard->open_free;
    if (node != ISO_NONE) {
        shard->open_free = shard->open[node].next;
        return node;
    }
    if (shard->open_count == shard->open_capacity) {
        shard->open_capacity = shard->open_capacity ? shard->open_capacity * 2 : 64;
        shard->open = iso_reallocate(shard->open, shard->open_capacity * sizeof *shard->open);
    }
    return shard->open_count++;
}

static void drop_node(struct chronos_shard *shard, uint32_t node)
{
    shard->open[node].next = shard->open_free;
    shard->open_free = node;
}

void chronos_add_open(struct chronos_shard *shard, uint32_t transaction, struct chronos_key *state)
{
    if (state->open_first != ISO_NONE) {
        uint32_t node = take_node(shard);
        shard->open[node] = (struct chronos_open){state->open_first, state->open_more};
        state->open_more = node;
    }
    state->open_first = transaction;
}

void chronos_open_writer(struct chronos_shard *shard, uint32_t transaction, uint32_t operation)
{
    const struct iso_history *history = shard->history;
    uint32_t key = history->key[operation];
    struct chronos_key *state = &shard->keys[key];
    if (chronos_is_lock(history->kind[operation])) {
        shard->verdict->writes_unjudged++;
        return;
    }
    bool inverted = history->cts[transaction] < chronos_bound(history, transaction, operation);
    if (state->open_first != ISO_NONE)
        meet(shard, transaction, state->open_first, key, inverted);
    for (uint32_t node = state->open_more; node != ISO_NONE; node = shard->open[node].next)
        meet(shard, transaction, shard->open[node].transaction, key, inverted);
    if (!inverted)
        chronos_add_open(shard, transaction, state);
}

void chronos_close_writer(struct chronos_shard *shard, uint32_t transaction, struct chronos_key *state)
{
    uint32_t *link = &state->open_more, node = *link;
    if (state->open_first == transaction) {
        state->open_first = node == ISO_NONE ? ISO_NONE : shard->open[node].transaction;
    } else {
        for (; node != ISO_NONE && shard->open[node].transaction != transaction; node = *link)
            link = &shard->open[node].next;
    }
    if (node == ISO_NONE)
        return;
    *link = shard->open[node].next;
    drop_node(shard, node);
}
