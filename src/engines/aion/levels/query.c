#include "aion/levels/query.h"

#include <assert.h>
#include <string.h>

#include "aion/shard/shard_private.h"

/* ---- moments ---- */

uint64_t aion_time_of_moment(const struct iso_boundaries *boundaries, uint64_t visible_below)
{
    uint64_t shown = visible_below / 2;
    if (!boundaries->is_on || visible_below == UINT64_MAX)
        return visible_below;
    if (!shown)
        return 0;
    return shown <= boundaries->count ? aion_above(boundaries->list[shown - 1]) : UINT64_MAX;
}

/* ---- a read ---- */

static const struct aion_key *key_of(const struct aion_query *query)
{
    return &query->shard->keys.list[query->key];
}

static struct aion_entry *version_at(const struct aion_query *query, struct aion_cursor cursor)
{
    return aion_chunks_get(&query->shard->pool, &key_of(query)->versions, cursor);
}

static bool version_before(const struct aion_query *query, struct aion_cursor *cursor)
{
    return aion_chunks_before(&query->shard->pool, &key_of(query)->versions, cursor);
}

static void version_next(const struct aion_query *query, struct aion_cursor *cursor)
{
    aion_chunks_next(&query->shard->pool, &key_of(query)->versions, cursor);
}

static struct aion_cursor cursor_of(const struct aion_query *query, uint64_t time)
{
    return aion_chunks_lower(&query->shard->pool, &key_of(query)->versions, time);
}

static uint64_t moment_of(const struct aion_query *query, const struct aion_entry *version)
{
    return iso_boundaries_commit(query->boundaries, version->time);
}

static uint32_t find_own(const struct aion_query *query, const struct aion_looker *reader)
{
    const struct aion_entry *version;
    if (!reader->has_own)
        return ISO_NONE;
    for (struct aion_cursor cursor = cursor_of(query, reader->cts);
         (version = version_at(query, cursor)) && version->time == reader->cts;
         version_next(query, &cursor)) {
        if (aion_atoms_same(&query->shard->values.atoms,
                            query->shard->transactions.list[version->transaction].tid,
                            reader->atoms, reader->tid))
            return version->transaction;
    }
    return ISO_NONE;
}

static bool takes_front(const struct aion_query *query, uint32_t value, const uint32_t **elements,
                        uint32_t *count)
{
    const struct aion_list *list =
        value == ISO_ABSENT ? NULL : aion_pool_at(&query->shard->pool, value);
    if (!list)
        return true;
    if (list->count > *count ||
        memcmp(list->elements, *elements, list->count * sizeof **elements) != 0)
        return false;
    *elements += list->count;
    *count -= list->count;
    return true;
}

/* Versions only append: at most one of them is the list that was read. */
static void match_list(struct aion_query *query)
{
    const struct aion_key *key = key_of(query);
    const struct aion_list *read =
        query->value == ISO_ABSENT ? NULL : aion_pool_at(&query->shard->pool, query->value);
    const uint32_t *elements = read ? read->elements : NULL;
    uint32_t count = read ? read->count : 0;
    const struct aion_entry *version;
    uint32_t base = key->cold ? query->shard->cold.list[key->cold].base : ISO_ABSENT;
    query->list_is = AION_ON_NOTHING;
    if (!takes_front(query, base, &elements, &count)) {
        const struct aion_list *all = aion_pool_at(&query->shard->pool, base);
        bool is_part = count < all->count &&
                       (!count || memcmp(all->elements, elements, count * sizeof *elements) == 0);
        query->list_is = is_part && query->is_dropped ? AION_ON_DROPPED : AION_ON_NOTHING;
        return;
    }
    if (!count) {
        query->list_is = query->is_dropped ? AION_ON_DROPPED : AION_ON_INITIAL;
        return;
    }
    for (struct aion_cursor cursor = aion_chunks_begin(); (version = version_at(query, cursor));
         version_next(query, &cursor)) {
        if (!takes_front(query, version->value, &elements, &count))
            return;
        if (count)
            continue;
        query->list_is = AION_ON_VERSION;
        query->match = version->transaction;
        return;
    }
}

void aion_query_begin(struct aion_query *query, struct iso_aion_shard *shard, uint32_t key,
                      const struct aion_looker *reader, const struct iso_atoms *atoms,
                      const iso_atom *elements, uint32_t count)
{
    assert(key < shard->keys.count);
    struct aion_key *entry = &shard->keys.list[key];
    query->shard = shard;
    query->key = key;
    if (entry->flags & AION_KEY_PAGED)
        aion_page_in_all(shard, entry);
    query->is_list = aion_key_is_list(entry);
    assert(query->is_list || count == 1);
    query->is_dropped = entry->flags & AION_KEY_DROPPED;
    query->value = query->is_list ? aion_list_new(shard, atoms, elements, count, 0)
                                  : aion_values_take(&shard->values, atoms, *elements);
    query->own = find_own(query, reader);
    if (query->is_list)
        match_list(query);
}

void aion_query_end(struct aion_query *query)
{
    aion_value_drop(query->shard, key_of(query), query->value);
}

static bool has_value(const struct aion_query *query, const struct aion_entry *version)
{
    if (query->is_list)
        return query->list_is == AION_ON_VERSION && version->transaction == query->match;
    return version->value == query->value;
}

static uint32_t initial_value(const struct aion_query *query)
{
    const struct aion_key *key = key_of(query);
    return key->cold ? query->shard->cold.list[key->cold].initial : query->shard->keys.initial;
}

static bool is_initial(const struct aion_query *query)
{
    return query->is_list ? query->list_is == AION_ON_INITIAL
                          : query->value == initial_value(query);
}

/* ---- moments at which it was right ---- */

enum aion_found aion_right_at(const struct aion_query *query, uint64_t visible_below)
{
    struct aion_cursor cursor =
        cursor_of(query, aion_time_of_moment(query->boundaries, visible_below));
    bool may_precede = query->are_positions, any = version_before(query, &cursor);
    while (any) {
        uint64_t group = moment_of(query, version_at(query, cursor));
        bool others = false, found = false;
        for (; any && moment_of(query, version_at(query, cursor)) == group;
             any = version_before(query, &cursor)) {
            const struct aion_entry *version = version_at(query, cursor);
            others |= version->transaction != query->own;
            found |= version->transaction != query->own && has_value(query, version);
        }
        if (found)
            return AION_FOUND;
        if (others && (!may_precede || group != visible_below - 1))
            return !any && query->is_dropped
                       ? AION_LOST
                       : AION_NOT; /* one of the same moment may have been dropped */
        may_precede &= !others;
    }
    if (query->is_dropped)
        return AION_LOST;
    return is_initial(query) ? AION_FOUND : AION_NOT;
}

enum aion_found aion_first_right(const struct aion_query *query, uint64_t low, uint64_t high,
                                 uint64_t *found)
{
    enum aion_found at_low = aion_right_at(query, low);
    const struct aion_entry *version;
    *found = low;
    if (at_low == AION_FOUND)
        return AION_FOUND;
    for (struct aion_cursor cursor = cursor_of(query, aion_time_of_moment(query->boundaries, low));
         (version = version_at(query, cursor)) && moment_of(query, version) < high;
         version_next(query, &cursor)) {
        query->shard->stats.steps++;
        if (version->transaction == query->own || !has_value(query, version))
            continue;
        *found = moment_of(query, version) + 1;
        return at_low == AION_LOST ? AION_LOST : AION_FOUND;
    }
    return at_low;
}

/* The first version from `cursor` on that is not the reader's. */
static const struct aion_entry *next_of_others(const struct aion_query *query,
                                               struct aion_cursor cursor)
{
    const struct aion_entry *version = version_at(query, cursor);
    for (; version && version->transaction == query->own; version = version_at(query, cursor))
        version_next(query, &cursor);
    return version;
}

enum aion_found aion_last_right(const struct aion_query *query, uint64_t high, uint64_t *found)
{
    enum aion_found at_high = aion_right_at(query, high);
    *found = high;
    if (at_high != AION_NOT)
        return at_high;
    struct aion_cursor cursor = cursor_of(query, aion_time_of_moment(query->boundaries, high)),
                       behind = aion_chunks_begin();
    const struct aion_entry *version = NULL, *next;
    bool any = version_before(query, &cursor);
    for (; any; any = version_before(query, &cursor)) {
        query->shard->stats.steps++;
        version = version_at(query, cursor);
        if (version->transaction != query->own && has_value(query, version))
            break;
    }
    if (any) {
        uint64_t group = moment_of(query, version);
        for (behind = cursor;
             (next = version_at(query, behind)) && moment_of(query, next) == group;)
            version_next(query, &behind);
    } else if (query->is_dropped || !is_initial(query)) {
        return query->is_dropped && (!query->is_list || query->list_is == AION_ON_DROPPED)
                   ? AION_LOST
                   : AION_NOT;
    }
    next = next_of_others(query, behind);
    *found = next ? moment_of(query, next) + query->are_positions : high;
    return *found ? AION_FOUND : AION_NOT;
}

bool aion_first_unsure(const struct aion_query *query, uint64_t low, uint64_t high, uint64_t *found,
                       enum iso_unjudged *reason)
{
    const struct aion_key *key = key_of(query);
    uint64_t from = low - query->are_positions; /* as aion_right_at: it may precede a group */
    struct aion_observed observed = {.visible_below = aion_time_of_moment(query->boundaries, from),
                                     .value = query->value};
    struct aion_cursor cursor = cursor_of(query, observed.visible_below);
    const struct aion_entry *version;
    bool waits;
    *found = low;
    if (query->is_list)
        return false;
    if (aion_is_unknown_value(query->shard, key, &observed, query->own, reason, &waits))
        return true;
    for (; (version = version_at(query, cursor)) && moment_of(query, version) < high;
         version_next(query, &cursor)) {
        observed.visible_below = aion_above(version->time);
        *found = moment_of(query, version) + 1 > low ? moment_of(query, version) + 1 : low;
        if (version->transaction != query->own &&
            aion_is_unknown_value(query->shard, key, &observed, ISO_NONE, reason, &waits))
            return true;
    }
    return false;
}

/* ---- versions of which it may be ---- */

void aion_find_source(const struct aion_query *query, uint64_t start, uint64_t limit,
                      struct aion_source *source)
{
    struct aion_cursor cursor = cursor_of(query, aion_above(limit));
    *source = (struct aion_source){.newest = ISO_NONE, .shown = ISO_NONE, .oldest = ISO_NONE};
    if (limit == UINT64_MAX)
        cursor = aion_chunks_end(&query->shard->pool, &key_of(query)->versions);
    start = start < limit ? start : limit;
    while (version_before(query, &cursor)) {
        const struct aion_entry *version = version_at(query, cursor);
        query->shard->stats.steps++;
        if (version->transaction == query->own || !has_value(query, version))
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
    const struct aion_entry *first = version_at(query, aion_chunks_begin());
    source->kept_from = first ? aion_above(first->time) : 0;
    source->is_lost = query->is_dropped;
    source->is_initial = !query->is_dropped && is_initial(query);
    source->count += source->is_initial;
}

uint64_t aion_newest_known(const struct aion_query *query, uint64_t than, uint64_t horizon,
                           uint64_t floor, aion_knows *knows, void *context, bool *lost,
                           uint16_t *newer)
{
    assert(horizon >= floor);
    struct aion_cursor cursor = cursor_of(query, aion_above(horizon));
    uint64_t time = 0;
    *newer = 0;
    while (version_before(query, &cursor)) {
        const struct aion_entry *version = version_at(query, cursor);
        query->shard->stats.steps++;
        if (aion_above(version->time) <= than)
            break;
        if (version->time < floor) {
            *lost = true;
            break;
        }
        *newer = version->time == time ? *newer : 0;
        time = version->time;
        if (version->transaction != query->own &&
            knows(context, &query->shard->values.atoms,
                  query->shard->transactions.list[version->transaction].tid, version->time))
            return aion_above(version->time);
        *newer += version->transaction != query->own && *newer < UINT16_MAX;
    }
    return 0;
}

bool aion_list_is_tied(const struct aion_query *query)
{
    const struct aion_entry *version;
    uint64_t before = UINT64_MAX;
    for (struct aion_cursor cursor = aion_chunks_begin();
         query->is_list && (version = version_at(query, cursor)); version_next(query, &cursor)) {
        if (version->time == before)
            return true;
        before = version->time;
    }
    return false;
}

iso_atom aion_query_tid(const struct aion_query *query, uint32_t transaction)
{
    return query->shard->transactions.list[transaction].tid;
}
