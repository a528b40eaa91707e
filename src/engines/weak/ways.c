#include "weak/ways.h"

void ways_init(struct ways *ways, const struct weak *weak)
{
    uint32_t n = weak->history->transaction_count, keys = weak->history->key_count;
    *ways = (struct ways){.weak = weak};
    ways->searched = iso_numbers_zero(n);
    ways->cost = iso_numbers(n);
    ways->to = iso_numbers(n);
    ways->why = iso_numbers(n);
    ways->kind = iso_allocate_zeroed((size_t)n + 1, 1);
    ways->done = iso_allocate_zeroed((size_t)n + 1, 1);
    ways->key_searched = iso_numbers_zero(keys);
    ways->key_done = iso_numbers(keys);
    ways->bond_first = iso_numbers((size_t)n + 1);
}

void ways_release(struct ways *ways)
{
    uint32_t *columns[] = {ways->searched, ways->cost,       ways->to,      ways->why, ways->key_searched,
                           ways->key_done, ways->bond_first, ways->bond_of, ways->now, ways->later};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        iso_free(columns[i]);
    iso_free(ways->kind);
    iso_free(ways->done);
    iso_free(ways->step);
}

void ways_renew(struct ways *ways, uint32_t bonds)
{
    const struct weak *weak = ways->weak;
    uint32_t n = weak->history->transaction_count, *first = ways->bond_first;
    iso_free(ways->bond_of);
    ways->bonds = bonds;
    ways->bond_of = iso_numbers(bonds);
    memset(first, 0, ((size_t)n + 1) * sizeof *first);
    for (uint32_t i = 0; i < bonds; i++)
        first[weak->bonds[i].to]++;
    for (uint32_t t = 0, sum = 0; t <= n; t++) {
        sum += first[t];
        first[t] = sum; /* the end, until they are dealt out */
    }
    for (uint32_t i = bonds; i-- > 0;)
        ways->bond_of[--first[weak->bonds[i].to]] = i;
}

struct target {
    uint32_t from, position; /* nothing that stands before it is on a way */
    enum way_rule rule;
};

static void reach(struct ways *ways, const struct target *target, struct way_step step, uint32_t cost)
{
    const struct weak *weak = ways->weak;
    if (weak->position[step.from] < target->position || (cost && target->rule == WAYS_CERTAIN))
        return;
    cost += ways->cost[step.to];
    if (ways->searched[step.from] == ways->search && ways->cost[step.from] <= cost)
        return;
    ways->searched[step.from] = ways->search;
    ways->cost[step.from] = cost;
    ways->to[step.from] = step.to;
    ways->kind[step.from] = (uint8_t)step.kind;
    ways->why[step.from] = step.why;
    ways->done[step.from] = 0;
    if (cost == ways->cost[step.to]) {
        ISO_GROW(ways->now, ways->now_count, ways->now_capacity);
        ways->now[ways->now_count++] = step.from;
    } else {
        ISO_GROW(ways->later, ways->later_count, ways->later_capacity);
        ways->later[ways->later_count++] = step.from;
    }
}

/* Those whose version of a key the transaction overwrites. What an earlier one, no dearer, has reached need not be again. */
static void reach_overwritten(struct ways *ways, const struct target *target, uint32_t t, uint32_t write)
{
    const struct weak *weak = ways->weak;
    uint32_t key = weak->write_key[write], done = 0;
    const uint32_t *version = &weak->version[weak->key_first[key]];
    if (ways->key_searched[key] == ways->search)
        done = ways->key_done[key];
    for (uint32_t slot = weak->slot[write]; slot-- > done;) {
        uint32_t before = weak->write_owner[version[slot]];
        if (weak->position[before] < target->position)
            break;
        ways->steps++;
        reach(ways, target, (struct way_step){before, t, WAY_ORDER, key}, 1);
    }
    if (weak->slot[write] > done) {
        ways->key_searched[key] = ways->search;
        ways->key_done[key] = weak->slot[write];
    }
}

static void go_on(struct ways *ways, const struct target *target, uint32_t t)
{
    const struct weak *weak = ways->weak;
    ways->steps++;
    if (weak->before[t] != ISO_NONE)
        reach(ways, target, (struct way_step){weak->before[t], t, WAY_SESSION, ISO_NONE}, 0);
    for (uint32_t read = weak->read_first[t]; read < weak->read_first[t + 1]; read++) {
        uint32_t source = read_source(weak, read);
        bool is_choice = weak->read_set && weak->read_set[read] != ISO_NONE;
        if (source != ISO_NONE)
            reach(ways, target, (struct way_step){source, t, WAY_READ, read}, is_choice);
    }
    for (uint32_t i = ways->bond_first[t]; i < ways->bond_first[t + 1]; i++) {
        const struct bond *bond = &weak->bonds[ways->bond_of[i]];
        bool tried = bond->kind == BOND_TRIED;
        if (bond->kind == BOND_SIDE ||
            (tried && (target->rule != WAYS_TRIED || weak->position[bond->from] > weak->position[t])))
            continue;
        reach(ways, target, (struct way_step){bond->from, t, WAY_BOND, ways->bond_of[i]}, tried);
    }
    for (uint32_t write = weak->write_first[t]; write < weak->write_first[t + 1] && target->rule == WAYS_ORDERED;
         write++)
        reach_overwritten(ways, target, t, write);
}

bool ways_find(struct ways *ways, uint32_t from, uint32_t to, enum way_rule rule)
{
    const struct weak *weak = ways->weak;
    struct target target = {from, weak->position[from], rule};
    bool found = false;
    ways->search++;
    ways->step_count = ways->now_count = ways->later_count = 0;
    ways->searched[to] = ways->search;
    ways->cost[to] = 0;
    ways->done[to] = 0;
    ISO_GROW(ways->now, ways->now_count, ways->now_capacity);
    ways->now[ways->now_count++] = to;
    while (!found && ways->now_count) {
        while (!found && ways->now_count) {
            uint32_t t = ways->now[--ways->now_count];
            found = t == from;
            if (found || ways->done[t])
                continue;
            ways->done[t] = 1;
            go_on(ways, &target, t);
        }
        uint32_t *swapped = ways->now, capacity = ways->now_capacity;
        ways->now = ways->later;
        ways->now_capacity = ways->later_capacity;
        ways->now_count = ways->later_count;
        ways->later = swapped;
        ways->later_capacity = capacity;
        ways->later_count = 0;
    }
    for (uint32_t t = from; found && t != to; t = ways->to[t]) {
        ISO_GROW(ways->step, ways->step_count, ways->step_capacity);
        ways->step[ways->step_count++] = (struct way_step){t, ways->to[t], (enum way_kind)ways->kind[t], ways->why[t]};
    }
    return found;
}
