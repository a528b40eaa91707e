#include "weak/visibility_paths.h"

#include <assert.h>

void visibility_paths_init(struct visibility_paths *visibility_paths, const struct weak *weak)
{
    uint32_t n = weak->history->txns.count, keys = weak->history->keys.count;
    *visibility_paths = (struct visibility_paths){.weak = weak};
    visibility_paths->searched = iso_numbers_zero(n);
    visibility_paths->cost = iso_numbers(n);
    visibility_paths->to = iso_numbers(n);
    visibility_paths->why = iso_numbers(n);
    visibility_paths->kind = iso_allocate_zeroed((size_t)n + 1, 1);
    visibility_paths->done = iso_allocate_zeroed((size_t)n + 1, 1);
    visibility_paths->key_searched = iso_numbers_zero(keys);
    visibility_paths->key_done = iso_numbers(keys);
    visibility_paths->bond_first = iso_numbers((size_t)n + 1);
}

void visibility_paths_release(struct visibility_paths *visibility_paths)
{
    ISO_FREE_ALL(visibility_paths->searched, visibility_paths->cost, visibility_paths->to,
                 visibility_paths->why, visibility_paths->key_searched, visibility_paths->key_done,
                 visibility_paths->bond_first, visibility_paths->bond_of, visibility_paths->now,
                 visibility_paths->later, visibility_paths->kind, visibility_paths->done,
                 visibility_paths->step);
}

void visibility_paths_renew(struct visibility_paths *visibility_paths, uint32_t ww_pairs)
{
    const struct weak *weak = visibility_paths->weak;
    assert(ww_pairs <= weak->order.bond_count);
    uint32_t n = weak->history->txns.count, *first = visibility_paths->bond_first;
    iso_free(visibility_paths->bond_of);
    visibility_paths->ww_pairs = ww_pairs;
    visibility_paths->bond_of = iso_numbers(ww_pairs);
    memset(first, 0, ((size_t)n + 1) * sizeof *first);
    for (uint32_t i = 0; i < ww_pairs; i++)
        first[weak->order.bonds[i].to]++;
    for (uint32_t t = 0, sum = 0; t <= n; t++) {
        sum += first[t];
        first[t] = sum; /* the end, until they are dealt out */
    }
    for (uint32_t i = ww_pairs; i-- > 0;)
        visibility_paths->bond_of[--first[weak->order.bonds[i].to]] = i;
}

struct target {
    uint32_t from, position; /* nothing that stands before it is on a way */
    enum way_rule rule;
};

static void reach(struct visibility_paths *visibility_paths, const struct target *target,
                  struct way_step step, uint32_t cost)
{
    const struct weak *weak = visibility_paths->weak;
    if (weak->order.position[step.from] < target->position ||
        (cost && target->rule == VISIBILITY_PATHS_CERTAIN))
        return;
    cost += visibility_paths->cost[step.to];
    if (visibility_paths->searched[step.from] == visibility_paths->search &&
        visibility_paths->cost[step.from] <= cost)
        return;
    visibility_paths->searched[step.from] = visibility_paths->search;
    visibility_paths->cost[step.from] = cost;
    visibility_paths->to[step.from] = step.to;
    visibility_paths->kind[step.from] = (uint8_t)step.kind;
    visibility_paths->why[step.from] = step.why;
    visibility_paths->done[step.from] = 0;
    if (cost == visibility_paths->cost[step.to]) {
        ISO_PUSH(visibility_paths->now, visibility_paths->now_count, visibility_paths->now_capacity,
                 step.from);
    } else {
        ISO_PUSH(visibility_paths->later, visibility_paths->later_count,
                 visibility_paths->later_capacity, step.from);
    }
}

/* Reaches the writers of the key's versions that the transaction overwrites. What an earlier
 * transaction has reached at no higher cost is not reached again. */
static void reach_overwritten(struct visibility_paths *visibility_paths,
                              const struct target *target, uint32_t t, uint32_t write)
{
    const struct weak *weak = visibility_paths->weak;
    uint32_t key = weak->problem.writes.key[write], done = 0;
    const uint32_t *version = &weak->versions.list[weak->versions.key_first[key]];
    if (visibility_paths->key_searched[key] == visibility_paths->search)
        done = visibility_paths->key_done[key];
    for (uint32_t slot = weak->versions.slot[write]; slot-- > done;) {
        uint32_t before = weak->problem.writes.transaction[version[slot]];
        if (weak->order.position[before] < target->position)
            break;
        visibility_paths->steps++;
        reach(visibility_paths, target, (struct way_step){before, t, WAY_ORDER, key}, 1);
    }
    if (weak->versions.slot[write] > done) {
        visibility_paths->key_searched[key] = visibility_paths->search;
        visibility_paths->key_done[key] = weak->versions.slot[write];
    }
}

static void go_on(struct visibility_paths *visibility_paths, const struct target *target,
                  uint32_t t)
{
    const struct weak *weak = visibility_paths->weak;
    visibility_paths->steps++;
    if (weak->chains.before[t] != ISO_NONE)
        reach(visibility_paths, target,
              (struct way_step){weak->chains.before[t], t, WAY_SESSION, ISO_NONE}, 0);
    ISO_EACH(read, weak->problem.reads.first, t) {
        uint32_t source = read_source(weak, read);
        bool is_choice = weak->problem.reads.set[read] != ISO_NONE;
        if (source != ISO_NONE)
            reach(visibility_paths, target, (struct way_step){source, t, WAY_READ, read},
                  is_choice);
    }
    ISO_EACH(i, visibility_paths->bond_first, t) {
        const struct bond *bond = &weak->order.bonds[visibility_paths->bond_of[i]];
        bool tried = bond->kind == BOND_TRIED;
        if (bond->kind == BOND_SIDE ||
            (tried && (target->rule != VISIBILITY_PATHS_TRIED ||
                       weak->order.position[bond->from] > weak->order.position[t])))
            continue;
        reach(visibility_paths, target,
              (struct way_step){bond->from, t, WAY_BOND, visibility_paths->bond_of[i]}, tried);
    }
    for (uint32_t write = weak->problem.writes.first[t];
         write < weak->problem.writes.first[t + 1] && target->rule == VISIBILITY_PATHS_ORDERED;
         write++)
        reach_overwritten(visibility_paths, target, t, write);
}

bool visibility_paths_find(struct visibility_paths *visibility_paths, uint32_t from, uint32_t to,
                           enum way_rule rule)
{
    const struct weak *weak = visibility_paths->weak;
    struct target target = {from, weak->order.position[from], rule};
    bool found = false;
    visibility_paths->search++;
    visibility_paths->step_count = visibility_paths->now_count = visibility_paths->later_count = 0;
    visibility_paths->searched[to] = visibility_paths->search;
    visibility_paths->cost[to] = 0;
    visibility_paths->done[to] = 0;
    ISO_PUSH(visibility_paths->now, visibility_paths->now_count, visibility_paths->now_capacity,
             to);
    while (!found && visibility_paths->now_count) {
        while (!found && visibility_paths->now_count) {
            uint32_t t = visibility_paths->now[--visibility_paths->now_count];
            found = t == from;
            if (found || visibility_paths->done[t])
                continue;
            visibility_paths->done[t] = 1;
            go_on(visibility_paths, &target, t);
        }
        uint32_t *swapped = visibility_paths->now, capacity = visibility_paths->now_capacity;
        visibility_paths->now = visibility_paths->later;
        visibility_paths->now_capacity = visibility_paths->later_capacity;
        visibility_paths->now_count = visibility_paths->later_count;
        visibility_paths->later = swapped;
        visibility_paths->later_capacity = capacity;
        visibility_paths->later_count = 0;
    }
    for (uint32_t t = from; found && t != to; t = visibility_paths->to[t]) {
        ISO_PUSH(
            visibility_paths->step, visibility_paths->step_count, visibility_paths->step_capacity,
            (struct way_step){t, visibility_paths->to[t], (enum way_kind)visibility_paths->kind[t],
                              visibility_paths->why[t]});
    }
    return found;
}
