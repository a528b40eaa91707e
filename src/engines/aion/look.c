#include "aion/look.h"

#include <string.h>

#include "aion/shard_private.h"
#include "base/sorted.h"

/* ---- moments ---- */

static uint64_t snapshots_below(const struct aion_gaps *gaps, uint64_t time)
{
    uint32_t low = 0, high = gaps->count;
    ISO_BISECT(low, high, middle, gaps->list[middle] < time);
    return low;
}

/* Snapshots are even, the gaps below them odd. */
uint64_t aion_moment_of_snapshot(const struct aion_gaps *gaps, uint64_t time)
{
    return gaps->is_on ? 2 * snapshots_below(gaps, time) + 2 : time;
}

uint64_t aion_moment_of_commit(const struct aion_gaps *gaps, uint64_t time)
{
    return gaps->is_on ? 2 * snapshots_below(gaps, time) + 1 : time;
}

uint64_t aion_time_of_moment(const struct aion_gaps *gaps, uint64_t bound)
{
    uint64_t shown = bound / 2;
    if (!gaps->is_on || bound == UINT64_MAX)
        return bound;
    if (!shown)
        return 0;
    return shown <= gaps->count ? aion_above(gaps->list[shown - 1]) : UINT64_MAX;
}

/* ---- a read ---- */

static const struct aion_key *key_of(const struct aion_asked *look)
{
    return &look->shard->keys.list[look->key];
}

static struct aion_entry *version_at(const struct aion_asked *look, struct aion_place place)
{
    return aion_run_get(&look->shard->pool, &key_of(look)->versions, place);
}

static bool version_before(const struct aion_asked *look, struct aion_place *place)
{
    return aion_run_before(&look->shard->pool, &key_of(look)->versions, place);
}

static void version_next(const struct aion_asked *look, struct aion_place *place)
{
    aion_run_next(&look->shard->pool, &key_of(look)->versions, place);
}

static struct aion_place place_of(const struct aion_asked *look, uint64_t time)
{
    return aion_run_lower(&look->shard->pool, &key_of(look)->versions, time);
}

static uint64_t moment_of(const struct aion_asked *look, const struct aion_entry *version)
{
    return aion_moment_of_commit(look->gaps, version->time);
}

static uint32_t find_own(const struct aion_asked *look, const struct aion_looker *reader)
{
    const struct aion_entry *version;
    if (!reader->has_own)
        return ISO_NONE;
    for (struct aion_place place = place_of(look, reader->cts);
         (version = version_at(look, place)) && version->time == reader->cts; version_next(look, &place)) {
        if (aion_atoms_same(&look->shard->values.atoms, look->shard->transactions.list[version->transaction].tid,
                            reader->atoms, reader->tid))
            return version->transaction;
    }
    return ISO_NONE;
}

static bool takes_front(const struct aion_asked *look, uint32_t value, const uint32_t **elements, uint32_t *count)
{
    const struct aion_list *list = value == ISO_ABSENT ? NULL : aion_pool_at(&look->shard->pool, value);
    if (!list)
        return true;
    if (list->count > *count || memcmp(list->elements, *elements, list->count * sizeof **elements) != 0)
        return false;
    *elements += list->count;
    *count -= list->count;
    return true;
}

/* Versions only append: at most one of them is the list that was read. */
static void match_list(struct aion_asked *look)
{
    const struct aion_key *key = key_of(look);
    const struct aion_list *read = look->value == ISO_ABSENT ? NULL : aion_pool_at(&look->shard->pool, look->value);
    const uint32_t *elements = read ? read->elements : NULL;
    uint32_t count = read ? read->count : 0;
    const struct aion_entry *version;
    uint32_t base = key->cold ? look->shard->cold.list[key->cold].base : ISO_ABSENT;
    look->list_is = AION_ON_NOTHING;
    if (!takes_front(look, base, &elements, &count)) {
        const struct aion_list *all = aion_pool_at(&look->shard->pool, base);
        bool is_part = count < all->count && (!count || memcmp(all->elements, elements, count * sizeof *elements) == 0);
        look->list_is = is_part && look->is_dropped ? AION_ON_DROPPED : AION_ON_NOTHING;
        return;
    }
    if (!count) {
        look->list_is = look->is_dropped ? AION_ON_DROPPED : AION_ON_INITIAL;
        return;
    }
    for (struct aion_place place = aion_run_begin(); (version = version_at(look, place)); version_next(look, &place)) {
        if (!takes_front(look, version->value, &elements, &count))
            return;
        if (count)
            continue;
        look->list_is = AION_ON_VERSION;
        look->match = version->transaction;
        return;
    }
}

void aion_look_begin(struct aion_asked *look, struct iso_aion_shard *shard, uint32_t key,
                     const struct aion_looker *reader, const struct iso_atoms *atoms, const iso_atom *elements,
                     uint32_t count)
{
    struct aion_key *entry = &shard->keys.list[key];
    look->shard = shard;
    look->key = key;
    if (entry->flags & AION_KEY_PAGED)
        aion_page_in_all(shard, entry);
    look->is_list = aion_key_is_list(entry);
    look->is_dropped = entry->flags & AION_KEY_DROPPED;
    look->value = look->is_list ? aion_list_new(shard, atoms, elements, count, 0)
                                : aion_values_take(&shard->values, atoms, *elements);
    look->own = find_own(look, reader);
    if (look->is_list)
        match_list(look);
}

void aion_look_end(struct aion_asked *look)
{
    aion_value_drop(look->shard, key_of(look), look->value);
}

static bool has_value(const struct aion_asked *look, const struct aion_entry *version)
{
    if (look->is_list)
        return look->list_is == AION_ON_VERSION && version->transaction == look->match;
    return version->value == look->value;
}

static uint32_t initial_value(const struct aion_asked *look)
{
    const struct aion_key *key = key_of(look);
    return key->cold ? look->shard->cold.list[key->cold].initial : look->shard->keys.initial;
}

static bool is_initial(const struct aion_asked *look)
{
    return look->is_list ? look->list_is == AION_ON_INITIAL : look->value == initial_value(look);
}

/* ---- moments at which it was right ---- */

enum aion_found aion_right_at(const struct aion_asked *look, uint64_t bound)
{
    struct aion_place place = place_of(look, aion_time_of_moment(look->gaps, bound));
    bool may_precede = look->are_positions, any = version_before(look, &place);
    while (any) {
        uint64_t group = moment_of(look, version_at(look, place));
        bool others = false, found = false;
        for (; any && moment_of(look, version_at(look, place)) == group; any = version_before(look, &place)) {
            const struct aion_entry *version = version_at(look, place);
            others |= version->transaction != look->own;
            found |= version->transaction != look->own && has_value(look, version);
        }
        if (found)
            return AION_FOUND;
        if (others && (!may_precede || group != bound - 1))
            return !any && look->is_dropped ? AION_LOST : AION_NOT; /* one of the same moment may have been dropped */
        may_precede &= !others;
    }
    if (look->is_dropped)
        return AION_LOST;
    return is_initial(look) ? AION_FOUND : AION_NOT;
}

enum aion_found aion_first_right(const struct aion_asked *look, uint64_t low, uint64_t high, uint64_t *found)
{
    enum aion_found at_low = aion_right_at(look, low);
    const struct aion_entry *version;
    *found = low;
    if (at_low == AION_FOUND)
        return AION_FOUND;
    for (struct aion_place place = place_of(look, aion_time_of_moment(look->gaps, low));
         (version = version_at(look, place)) && moment_of(look, version) < high; version_next(look, &place)) {
        look->shard->stats.steps++;
        if (version->transaction == look->own || !has_value(look, version))
            continue;
        *found = moment_of(look, version) + 1;
        return at_low == AION_LOST ? AION_LOST : AION_FOUND;
    }
    return at_low;
}

/* The first version from `place` on that is not the reader's. */
static const struct aion_entry *next_of_others(const struct aion_asked *look, struct aion_place place)
{
    const struct aion_entry *version = version_at(look, place);
    for (; version && version->transaction == look->own; version = version_at(look, place))
        version_next(look, &place);
    return version;
}

enum aion_found aion_last_right(const struct aion_asked *look, uint64_t high, uint64_t *found)
{
    enum aion_found at_high = aion_right_at(look, high);
    *found = high;
    if (at_high != AION_NOT)
        return at_high;
    struct aion_place place = place_of(look, aion_time_of_moment(look->gaps, high)), behind = aion_run_begin();
    const struct aion_entry *version = NULL, *next;
    bool any = version_before(look, &place);
    for (; any; any = version_before(look, &place)) {
        look->shard->stats.steps++;
        version = version_at(look, place);
        if (version->transaction != look->own && has_value(look, version))
            break;
    }
    if (any) {
        uint64_t group = moment_of(look, version);
        for (behind = place; (next = version_at(look, behind)) && moment_of(look, next) == group;)
            version_next(look, &behind);
    } else if (look->is_dropped || !is_initial(look)) {
        return look->is_dropped && (!look->is_list || look->list_is == AION_ON_DROPPED) ? AION_LOST : AION_NOT;
    }
    next = next_of_others(look, behind);
    *found = next ? moment_of(look, next) + look->are_positions : high;
    return *found ? AION_FOUND : AION_NOT;
}

bool aion_first_unsure(const struct aion_asked *look, uint64_t low, uint64_t high, uint64_t *found,
                       enum iso_unjudged *reason)
{
    const struct aion_key *key = key_of(look);
    struct aion_observed observed = {.bound = aion_time_of_moment(look->gaps, low), .value = look->value};
    struct aion_place place = place_of(look, observed.bound);
    const struct aion_entry *version;
    bool waits;
    *found = low;
    if (look->is_list)
        return false;
    if (aion_is_unknown_value(look->shard, key, &observed, look->own, reason, &waits))
        return true;
    for (; (version = version_at(look, place)) && moment_of(look, version) < high; version_next(look, &place)) {
        observed.bound = aion_above(version->time);
        *found = moment_of(look, version) + 1;
        if (version->transaction != look->own &&
            aion_is_unknown_value(look->shard, key, &observed, ISO_NONE, reason, &waits))
            return true;
    }
    return false;
}

/* ---- versions of which it may be ---- */

void aion_find_source(const struct aion_asked *look, uint64_t start, uint64_t limit, struct aion_source *source)
{
    struct aion_place place = place_of(look, aion_above(limit));
    *source = (struct aion_source){.newest = ISO_NONE, .shown = ISO_NONE, .oldest = ISO_NONE};
    if (limit == UINT64_MAX)
        place = aion_run_end(&look->shard->pool, &key_of(look)->versions);
    start = start < limit ? start : limit;
    while (version_before(look, &place)) {
        const struct aion_entry *version = version_at(look, place);
        look->shard->stats.steps++;
        if (version->transaction == look->own || !has_value(look, version))
            continue;
        if (!source->count++) {
            source->newest = version->transaction;
            source->newest_cts = aion_above(version->time);
        }
        if (source->shown == ISO_NONE && version->time < start) {
            source->shown = version->transaction;
            source->shown_cts = aion_above(version->time);
        }
        source->oldest = version->transaction;
        source->oldest_cts = aion_above(version->time);
    }
    const struct aion_entry *first = version_at(look, aion_run_begin());
    source->kept_from = first ? aion_above(first->time) : 0;
    source->is_lost = look->is_dropped;
    source->is_initial = !look->is_dropped && is_initial(look);
    source->count += source->is_initial;
}

uint64_t aion_newest_known(const struct aion_asked *look, uint64_t than, uint64_t horizon, uint64_t floor,
                           aion_knows *knows, void *context, bool *lost, uint16_t *newer)
{
    struct aion_place place = place_of(look, aion_above(horizon));
    uint64_t time = 0;
    *newer = 0;
    while (version_before(look, &place)) {
        const struct aion_entry *version = version_at(look, place);
        look->shard->stats.steps++;
        if (aion_above(version->time) <= than)
            break;
        if (version->time < floor) {
            *lost = true;
            break;
        }
        *newer = version->time == time ? *newer : 0;
        time = version->time;
        if (version->transaction != look->own &&
            knows(context, &look->shard->values.atoms, look->shard->transactions.list[version->transaction].tid,
                  version->time))
            return aion_above(version->time);
        *newer += version->transaction != look->own && *newer < UINT16_MAX;
    }
    return 0;
}

bool aion_list_is_tied(const struct aion_asked *look)
{
    const struct aion_entry *version;
    uint64_t before = UINT64_MAX;
    for (struct aion_place place = aion_run_begin(); look->is_list && (version = version_at(look, place));
         version_next(look, &place)) {
        if (version->time == before)
            return true;
        before = version->time;
    }
    return false;
}

iso_atom aion_look_tid(const struct aion_asked *look, uint32_t transaction)
{
    return look->shard->transactions.list[transaction].tid;
}
