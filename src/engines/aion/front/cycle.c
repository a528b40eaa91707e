/* TIMESTAMP at SER, once the watermark has passed a cts that several transactions share.
 *
 * The shards reported who reads and who writes each key at which that matters (tie.c); what follows
 * is history/tied.h's to say.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aion/state_private.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/order.h"
#include "history/tied.h"

void aion_tie_add(struct iso_aion *engine, const struct aion_tie *tie,
                  const struct iso_atoms *atoms, iso_atom tid)
{
    assert(tie->what == AION_FOUND_READER || tie->what == AION_FOUND_WRITER ||
           tie->what == AION_TIE_SNAPSHOT_ORDER);
    ISO_GROW(engine->ties.list, engine->ties.count, engine->ties.capacity);
    engine->ties.list[engine->ties.count] = *tie;
    engine->ties.list[engine->ties.count++].tid = aion_values_take(&engine->values, atoms, tid);
}

/* The ties of one cts. */
struct group {
    struct iso_aion *engine;
    const struct aion_tie *ties;
    uint32_t count;
    struct iso_tied_use *uses; /* by tie, but for those of the snapshots' order */
    uint32_t *member;          /* by tie: its transaction's number */
    uint32_t *first_tie;       /* by member: a tie of it */
    uint32_t *other;           /* by member */
    uint32_t members, keys, use_count;
    bool *on_cycle;
};

/* ---- nodes ---- */

static int compare_by_tid(const void *left, const void *right, void *context)
{
    const struct group *group = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint32_t x = group->ties[a].tid, y = group->ties[b].tid;
    int order = x == y ? 0 : iso_atom_compare(&group->engine->values.atoms, x, y);
    return order ? order : a < b ? -1 : a > b;
}

static int compare_by_key(const void *left, const void *right, void *context)
{
    const struct group *group = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct aion_tie *x = &group->ties[a], *y = &group->ties[b];
    if ((x->what == AION_TIE_SNAPSHOT_ORDER) != (y->what == AION_TIE_SNAPSHOT_ORDER))
        return x->what == AION_TIE_SNAPSHOT_ORDER ? 1 : -1;
    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Members in the order of their tids. */
static void number_members(struct group *group, uint32_t *order)
{
    for (uint32_t i = 0; i < group->count; i++)
        order[i] = i;
    qsort_r(order, group->count, sizeof *order, compare_by_tid, group);
    for (uint32_t i = 0; i < group->count; i++) {
        if (!i || group->ties[order[i]].tid != group->ties[order[i - 1]].tid)
            group->first_tie[group->members++] = order[i];
        group->member[order[i]] = group->members - 1;
    }
}

/* Lists the ties by key; ties of the snapshots' order have none and come last. */
static void list_uses(struct group *group, uint32_t *order)
{
    const struct aion_tie *before = NULL;
    qsort_r(order, group->count, sizeof *order, compare_by_key, group);
    for (uint32_t i = 0; i < group->count; i++) {
        const struct aion_tie *tie = &group->ties[order[i]];
        if (tie->what == AION_TIE_SNAPSHOT_ORDER)
            break;
        group->keys += !before || before->key != tie->key || before->shard != tie->shard;
        group->uses[group->use_count++] =
            (struct iso_tied_use){.member = group->member[order[i]],
                                  .key = group->keys - 1,
                                  .reads = tie->what == AION_FOUND_READER,
                                  .writes = tie->what == AION_FOUND_WRITER};
        before = tie;
    }
}

/* ---- reporting ---- */

static struct iso_aion_party party_of(const struct group *group, uint32_t member)
{
    const struct aion_tie *tie = &group->ties[group->first_tie[member]];
    return (struct iso_aion_party){&group->engine->values.atoms, tie->tid, tie->origin, tie->sts,
                                   tie->cts};
}

static void emit_tie_violation(struct group *group, uint32_t member, uint32_t snapshot_violation)
{
    struct iso_aion_event event = aion_event_of(group->engine, ISO_TIMESTAMP);
    bool shared = group->other[member] != ISO_NONE;
    if (!shared && !group->on_cycle[member] && snapshot_violation == ISO_NONE)
        return;
    event.transaction = party_of(group, member);
    if (shared) {
        event.kind = ISO_SHARED_CTS;
        event.other = party_of(group, group->other[member]);
    } else if (group->on_cycle[member]) {
        event.kind = ISO_CTS_CYCLE;
    } else {
        event.kind = ISO_SNAPSHOT_ORDER;
        event.snapshot_violation = snapshot_violation;
    }
    group->engine->stats.counts[ISO_TIMESTAMP]++;
    aion_emit(group->engine, &event);
}

static void emit_group(struct group *group)
{
    uint32_t *snapshot_violation = iso_numbers_none(group->members);
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->ties[i].what == AION_TIE_SNAPSHOT_ORDER)
            snapshot_violation[group->member[i]] = group->ties[i].snapshot_violation;
    }
    for (uint32_t member = 0; member < group->members; member++)
        emit_tie_violation(group, member, snapshot_violation[member]);
    iso_free(snapshot_violation);
}

static void resolve_group(struct iso_aion *engine, const struct aion_tie *ties, uint32_t count)
{
    struct group group = {.engine = engine,
                          .ties = ties,
                          .count = count,
                          .uses = iso_allocate(count * sizeof *group.uses),
                          .member = iso_numbers(count),
                          .first_tie = iso_numbers(count),
                          .other = iso_numbers(count),
                          .on_cycle = iso_allocate_zeroed(count, sizeof *group.on_cycle)};
    uint32_t *order = iso_numbers(count);
    number_members(&group, order);
    list_uses(&group, order);
    assert(group.members <= count && group.keys <= group.use_count);
    iso_tied_judge(group.uses, group.use_count, group.members, group.keys, group.other,
                   group.on_cycle);
    emit_group(&group);
    ISO_FREE_ALL(order, group.uses, group.member, group.first_tie, group.other, group.on_cycle);
}

ISO_ORDER_BY(compare_by_cts, struct aion_tie, cts)

/* The shards have reported all of every cts below `passed`; of the last timestamp that there is, at
 * the end. */
void aion_ties_resolve(struct iso_aion *engine)
{
    uint32_t first = 0, end;
    if (!engine->ties.count)
        return;
    qsort(engine->ties.list, engine->ties.count, sizeof *engine->ties.list, compare_by_cts);
    for (; first < engine->ties.count && (engine->ties.list[first].cts < engine->time.passed ||
                                          engine->time.passed == UINT64_MAX);
         first = end) {
        for (end = first + 1; end < engine->ties.count &&
                              engine->ties.list[end].cts == engine->ties.list[first].cts;)
            end++;
        resolve_group(engine, engine->ties.list + first, end - first);
        for (uint32_t i = first; i < end; i++)
            aion_values_drop(&engine->values, engine->ties.list[i].tid);
    }
    memmove(engine->ties.list, engine->ties.list + first,
            (engine->ties.count - first) * sizeof *engine->ties.list);
    engine->ties.count -= first;
}
