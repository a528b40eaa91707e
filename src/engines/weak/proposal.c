/* An order of the transactions that keeps what is known, as near as possible to the one before: of
 * those that could come next, the one that came first there.
 */
#include <assert.h>

#include "weak/weak_private.h"

void weak_order_add_bond(struct weak *weak, struct bond bond)
{
    assert(bond.from < weak->history->txns.count && bond.to < weak->history->txns.count);
    ISO_PUSH(weak->order.bonds, weak->order.bond_count, weak->order.bond_capacity, bond);
}

void weak_order_forget(struct weak *weak)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < weak->order.bond_count; i++) {
        if (weak->order.bonds[i].kind != BOND_NOTE)
            weak->order.bonds[kept++] = weak->order.bonds[i];
    }
    weak->order.bond_count = kept;
}

void weak_order_readers(struct weak *weak)
{
    uint32_t n = weak->history->txns.count;
    uint32_t *first =
        weak->order.reader_first ? weak->order.reader_first : iso_numbers((size_t)n + 2);
    memset(first, 0, ((size_t)n + 2) * sizeof *first);
    for (uint32_t read = 0; read < weak->problem.reads.count; read++) {
        uint32_t source = read_source(weak, read);
        if (source != ISO_NONE)
            first[source + 2]++;
    }
    iso_running_sums(first + 1, (size_t)n + 1);
    if (!weak->order.reader)
        weak->order.reader = iso_numbers(weak->problem.reads.count);
    /* the reader, not the read: what an order needs; weak_order_cycle looks the read up */
    for (uint32_t t = 0; t < n; t++) {
        ISO_EACH(read, weak->problem.reads.first, t) {
            uint32_t source = read_source(weak, read);
            if (source != ISO_NONE)
                weak->order.reader[first[source + 1]++] = t;
        }
    }
    weak->order.reader_first = first;
}

/* ---- numbers of which the least is taken: bits, and above each 64 of them one that says whether
 * any is set ---- */

enum { STAGES = 6 };
struct least {
    uint64_t *bits[STAGES];
    uint32_t stages;
};

static void least_init(struct least *least, uint32_t count)
{
    size_t words = (size_t)count / 64 + 1;
    for (least->stages = 0;; words = words / 64 + 1) {
        least->bits[least->stages++] = iso_allocate_zeroed(words, sizeof(uint64_t));
        if (words == 1)
            break;
    }
}

static void least_put(struct least *least, uint32_t number)
{
    for (uint32_t stage = 0; stage < least->stages; stage++, number /= 64) {
        uint64_t *word = &least->bits[stage][number / 64], before = *word;
        *word |= (uint64_t)1 << number % 64;
        if (before)
            return;
    }
}

/* ISO_NONE: there is none. */
static uint32_t least_take(struct least *least)
{
    uint32_t number = 0;
    if (!least->bits[least->stages - 1][0])
        return ISO_NONE;
    for (uint32_t stage = least->stages; stage-- > 0;)
        number = number * 64 + (uint32_t)__builtin_ctzll(least->bits[stage][number]);
    for (uint32_t stage = 0, rest = number; stage < least->stages; stage++, rest /= 64) {
        if (least->bits[stage][rest / 64] &= ~((uint64_t)1 << rest % 64))
            break;
    }
    return number;
}

static void least_release(struct least *least)
{
    for (uint32_t stage = 0; stage < least->stages; stage++)
        iso_free(least->bits[stage]);
}

/* ---- sorting ---- */

/* By transaction: the bonds that begin there, as indices. */
static uint32_t *ww_pairs_by_start(const struct weak *weak, uint32_t **first)
{
    uint32_t n = weak->history->txns.count, *item = iso_numbers(weak->order.bond_count);
    uint32_t *starts = *first = iso_numbers_zero((size_t)n + 1);
    for (uint32_t i = 0; i < weak->order.bond_count; i++)
        starts[weak->order.bonds[i].from + 1]++;
    iso_running_sums(starts, (size_t)n + 1);
    for (uint32_t i = weak->order.bond_count; i-- > 0;)
        item[--starts[weak->order.bonds[i].from + 1]] = i;
    for (uint32_t t = 0; t < n; t++) /* they have moved to the front of their successors */
        starts[t] = starts[t + 1];
    starts[n] = weak->order.bond_count;
    return item;
}

struct sorting {
    struct weak *weak;
    uint32_t *waits; /* by transaction: how many come before it */
    uint32_t *bond_first, *bond_of;
    struct least ready; /* positions in the order before */
    uint32_t *tried;    /* by force: of those that come before it, by how many bonds that are tried;
                           NULL: not by force */
    struct least spare; /* by force: positions of those that wait for these alone, and of some that
                           came since */
};

static void note_if_free(struct sorting *sorting, uint32_t t)
{
    if (!sorting->waits[t])
        least_put(&sorting->ready, sorting->weak->order.position[t]);
    else if (sorting->tried && sorting->waits[t] == sorting->tried[t])
        least_put(&sorting->spare, sorting->weak->order.position[t]);
}

enum { PLACED = 1u << 31 }; /* by force, with bonds that still wait */

static void release_one(struct sorting *sorting, uint32_t t, bool tried)
{
    assert(sorting->waits[t] & ~PLACED);
    sorting->waits[t]--;
    if (sorting->tried)
        sorting->tried[t] -= tried;
    if (!(sorting->waits[t] & PLACED))
        note_if_free(sorting, t);
}

/* Whom to place next; ISO_NONE: nobody. */
static uint32_t next_position(struct sorting *sorting)
{
    uint32_t position = least_take(&sorting->ready);
    while (position == ISO_NONE && sorting->tried &&
           (position = least_take(&sorting->spare)) != ISO_NONE) {
        uint32_t *waits = &sorting->waits[sorting->weak->order.list[position]];
        if (*waits && !(*waits & PLACED))
            *waits |= PLACED;
        else /* it has its position already */
            position = least_take(&sorting->ready);
    }
    return position;
}

static void count_waits(struct sorting *sorting)
{
    struct weak *weak = sorting->weak;
    uint32_t n = weak->history->txns.count;
    for (uint32_t t = 0; t < n; t++) {
        if (!weak->chains.part[t])
            continue;
        uint32_t waits = weak->chains.before[t] != ISO_NONE && !is_unknown(weak, t);
        ISO_EACH(read, weak->problem.reads.first, t)
            waits += has_source(weak, read);
        sorting->waits[t] = waits;
    }
    for (uint32_t i = 0; i < weak->order.bond_count; i++) {
        sorting->waits[weak->order.bonds[i].to]++;
        if (sorting->tried)
            sorting->tried[weak->order.bonds[i].to] += weak->order.bonds[i].kind == BOND_TRIED;
    }
    for (uint32_t t = 0; t < n; t++) {
        if (weak->chains.part[t])
            note_if_free(sorting, t);
    }
}

/* `order` and `position` say what came first before. By force: bonds that are tried are broken
 * where nothing else helps. */
static bool sort(struct weak *weak, bool by_force)
{
    uint32_t n = weak->history->txns.count, count = 0;
    uint32_t *sorted = iso_numbers(n);
    struct sorting sorting = {.weak = weak, .waits = iso_numbers_zero(n)};
    sorting.bond_of = ww_pairs_by_start(weak, &sorting.bond_first);
    least_init(&sorting.ready, n);
    if (by_force) {
        sorting.tried = iso_numbers_zero(n);
        least_init(&sorting.spare, n);
    }
    count_waits(&sorting);
    for (uint32_t position; (position = next_position(&sorting)) != ISO_NONE;) {
        assert(position < weak->chains.part_count);
        uint32_t t = sorted[count++] = weak->order.list[position];
        if (weak->chains.next[t] != ISO_NONE)
            release_one(&sorting, weak->chains.next[t], false);
        ISO_EACH(i, weak->order.reader_first, t)
            release_one(&sorting, weak->order.reader[i], false);
        ISO_EACH(i, sorting.bond_first, t)
            release_one(&sorting, weak->order.bonds[sorting.bond_of[i]].to,
                        weak->order.bonds[sorting.bond_of[i]].kind == BOND_TRIED);
    }
    bool whole = count == weak->chains.part_count;
    assert(count <= weak->chains.part_count);
    if (whole) {
        iso_free(weak->order.list);
        weak->order.list = sorted;
        for (uint32_t i = 0; i < count; i++)
            weak->order.position[sorted[i]] = i;
    } else {
        /* weak_order_cycle starts from what is left: those that still wait have no position */
        for (uint32_t i = 0; i < count; i++)
            sorting.waits[sorted[i]] = 0;
        for (uint32_t t = 0; t < n; t++)
            weak->order.position[t] = weak->chains.part[t] && sorting.waits[t] ? ISO_NONE : 0;
        iso_free(sorted);
    }
    least_release(&sorting.ready);
    if (by_force)
        least_release(&sorting.spare);
    ISO_FREE_ALL(sorting.tried, sorting.waits, sorting.bond_first, sorting.bond_of);
    return whole;
}

bool weak_order_sort(struct weak *weak)
{
    return sort(weak, false);
}

bool weak_order_force(struct weak *weak)
{
    return sort(weak, true);
}

/* The input's order keeps sessions and reads. */
static bool input_order_fits(const struct weak *weak)
{
    uint32_t n = weak->history->txns.count;
    for (uint32_t t = 0; t < n; t++) {
        if (weak->chains.before[t] != ISO_NONE && weak->chains.before[t] > t)
            return false;
        ISO_EACH(read, weak->problem.reads.first, t) {
            uint32_t source = read_source(weak, read);
            if (source != ISO_NONE && source > t)
                return false;
        }
    }
    for (uint32_t i = 0; i < weak->order.bond_count; i++) {
        if (weak->order.bonds[i].from > weak->order.bonds[i].to)
            return false;
    }
    return true;
}

/* By position in their session. */
static void order_by_position(struct weak *weak)
{
    uint32_t n = weak->history->txns.count;
    uint32_t *first = iso_numbers_zero((size_t)n + 1);
    for (uint32_t t = 0; t < n; t++) {
        if (weak->chains.part[t])
            first[weak->chains.position[t] + 1]++;
    }
    iso_running_sums(first, (size_t)n + 1);
    for (uint32_t t = 0; t < n; t++) {
        if (!weak->chains.part[t])
            continue;
        uint32_t at = first[weak->chains.position[t]]++;
        weak->order.list[at] = t;
        weak->order.position[t] = at;
    }
    iso_free(first);
}

bool weak_order_propose(struct weak *weak)
{
    uint32_t n = weak->history->txns.count, count = 0;
    if (!weak->order.list) {
        weak->order.list = iso_numbers(n);
        weak->order.position = iso_numbers(n);
    }
    if (!input_order_fits(weak)) {
        order_by_position(weak);
        return weak_order_sort(weak);
    }
    for (uint32_t t = 0; t < n; t++) {
        if (!weak->chains.part[t])
            continue;
        weak->order.list[count] = t;
        weak->order.position[t] = count++;
    }
    return true;
}

/* ---- cycles ---- */

/* Search among transactions without a position: which waits for which. */
struct search {
    const struct weak *weak;
    uint32_t *bond_first, *bond_of;
    uint32_t *from, *bond; /* by transaction, once it is reached: from where, and by which bond
                              (ISO_NONE: none) */
    uint32_t *queue, queued;
    uint32_t goal;
    bool found;
};

static void reach(struct search *search, uint32_t from, uint32_t to, uint32_t bond)
{
    if (search->found || search->weak->order.position[to] != ISO_NONE)
        return;
    if (search->from[to] != ISO_NONE)
        return;
    search->from[to] = from;
    search->bond[to] = bond;
    search->queue[search->queued++] = to;
    search->found = to == search->goal;
}

/* The shortest way from the goal back to itself. */
static void search_round(struct search *search)
{
    const struct weak *weak = search->weak;
    uint32_t next = 0, t = search->goal;
    for (bool first = true; !search->found && (first || next < search->queued); first = false) {
        t = first ? search->goal : search->queue[next++];
        ISO_EACH(i, search->bond_first, t)
            reach(search, t, weak->order.bonds[search->bond_of[i]].to, search->bond_of[i]);
        ISO_EACH(i, weak->order.reader_first, t)
            reach(search, t, weak->order.reader[i], ISO_NONE);
        if (weak->chains.next[t] != ISO_NONE)
            reach(search, t, weak->chains.next[t], ISO_NONE);
    }
}

/* One of those without a position that stands on a cycle: back from any of them until one comes
 * again. */
static uint32_t find_on_cycle(const struct weak *weak)
{
    uint32_t n = weak->history->txns.count, t = 0;
    uint32_t *waits_for = iso_numbers_none(n);
    uint8_t *seen = iso_allocate_zeroed((size_t)n + 1, 1);
    for (uint32_t i = 0; i < weak->order.bond_count; i++) {
        if (weak->order.position[weak->order.bonds[i].from] == ISO_NONE)
            waits_for[weak->order.bonds[i].to] = weak->order.bonds[i].from;
    }
    for (uint32_t u = 0; u < n; u++) {
        if (weak->order.position[u] != ISO_NONE || waits_for[u] != ISO_NONE)
            continue;
        if (weak->chains.before[u] != ISO_NONE && !is_unknown(weak, u) &&
            weak->order.position[weak->chains.before[u]] == ISO_NONE)
            waits_for[u] = weak->chains.before[u];
        ISO_EACH(read, weak->problem.reads.first, u) {
            uint32_t source = read_source(weak, read);
            if (source != ISO_NONE && weak->order.position[source] == ISO_NONE)
                waits_for[u] = source;
        }
    }
    while (weak->order.position[t] != ISO_NONE)
        t++;
    for (; !seen[t]; t = waits_for[t])
        seen[t] = 1;
    ISO_FREE_ALL(seen, waits_for);
    assert(weak->order.position[t] == ISO_NONE);
    return t;
}

/* A read by which `to` saw what `from` wrote, or ISO_NONE. */
static uint32_t read_between(const struct weak *weak, uint32_t from, uint32_t to)
{
    ISO_EACH(read, weak->problem.reads.first, to) {
        if (read_source(weak, read) == from)
            return read;
    }
    return ISO_NONE;
}

struct step *weak_order_cycle(const struct weak *weak, uint32_t *count)
{
    uint32_t n = weak->history->txns.count, length = 0;
    struct search search = {.weak = weak,
                            .from = iso_numbers_none(n),
                            .bond = iso_numbers_none(n),
                            .queue = iso_numbers(n),
                            .goal = find_on_cycle(weak)};
    search.bond_of = ww_pairs_by_start(weak, &search.bond_first);
    search_round(&search);
    assert(search.found);
    uint32_t t = search.goal;
    do {
        length++;
        t = search.from[t];
    } while (t != search.goal);
    struct step *steps = iso_allocate(((size_t)length + 1) * sizeof *steps);
    *count = length;
    for (uint32_t i = length; i-- > 0; t = search.from[t]) {
        uint32_t from = search.from[t];
        uint32_t read = search.bond[t] == ISO_NONE ? read_between(weak, from, t) : ISO_NONE;
        steps[i] = (struct step){from, t, search.bond[t], read};
    }
    ISO_FREE_ALL(search.from, search.bond, search.queue, search.bond_first, search.bond_of);
    return steps;
}
