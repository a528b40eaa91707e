/* Who wrote a value of a key, by search: for what wrong reads beyond those that are listed rest on.
 *
 * A listed violation is explained by a walk over all that is kept of its key (kind.c). Of those
 * that are only counted there may be as many as there are versions, so that their key gets a run of
 * its versions and of its writes that are none by value: time = value and class, start = the time
 * of the version or the write. It is made when the first of them comes, and kept as versions come
 * and go. Of several aborted or intermediate writers the latest is named, not the one of the
 * smallest tid, and of versions at one cts any. Registers only.
 */
#include <assert.h>

#include "aion/shard/shard_private.h"

enum class { VERSION, ABORTED, INTERMEDIATE, CLASS_BITS = 2 };

static uint64_t cursor_in_order(uint32_t value, enum class class)
{
    return (uint64_t)value << CLASS_BITS | class;
}

static bool stands_before(const void *context, const struct aion_entry *other)
{
    const struct aion_entry *entry = context;
    return other->start != entry->start ? other->start < entry->start
                                        : other->transaction < entry->transaction;
}

static struct aion_entry entry_of(const struct aion_entry *from, enum class class)
{
    return (struct aion_entry){.time = cursor_in_order(from->value, class),
                               .start = from->time,
                               .transaction = from->transaction,
                               .value = from->value};
}

static enum class class_of(const struct aion_entry *nonversion) {
    return nonversion->detail == AION_NONVERSION_ABORTED ? ABORTED : INTERMEDIATE;
}

static struct aion_sorted_chunks *value_writers_of(struct iso_aion_shard *shard,
                                                   const struct aion_key *key)
{
    struct aion_sorted_chunks *writers =
        key->cold ? &shard->cold.list[key->cold].value_writers : NULL;
    return writers && writers->at ? writers : NULL;
}

static void add_writer(struct iso_aion_shard *shard, struct aion_sorted_chunks *writers,
                       const struct aion_entry *entry)
{
    struct aion_cursor cursor =
        aion_chunks_among(&shard->pool, writers, entry->time, stands_before, entry);
    aion_chunks_insert(&shard->pool, writers, cursor, entry);
    shard->stats.steps++;
}

static void remove_writer(struct iso_aion_shard *shard, struct aion_sorted_chunks *writers,
                          const struct aion_entry *entry)
{
    struct aion_cursor cursor =
        aion_chunks_among(&shard->pool, writers, entry->time, stands_before, entry);
    const struct aion_entry *found = aion_chunks_get(&shard->pool, writers, cursor);
    assert(found && found->time == entry->time && found->start == entry->start &&
           found->transaction == entry->transaction);
    if (found)
        aion_chunks_remove(&shard->pool, writers, cursor);
    shard->stats.steps++;
}

void aion_value_writers_add(struct iso_aion_shard *shard, const struct aion_key *key,
                            const struct aion_entry *write, bool is_version)
{
    struct aion_sorted_chunks *writers = value_writers_of(shard, key);
    struct aion_entry entry = entry_of(write, is_version ? VERSION : class_of(write));
    if (writers && (is_version || !aion_is_unknown(write)))
        add_writer(shard, writers, &entry);
}

void aion_value_writers_drop(struct iso_aion_shard *shard, const struct aion_key *key,
                             const struct aion_entry *write, bool is_version)
{
    struct aion_sorted_chunks *writers = value_writers_of(shard, key);
    struct aion_entry entry = entry_of(write, is_version ? VERSION : class_of(write));
    if (writers && (is_version || !aion_is_unknown(write)))
        remove_writer(shard, writers, &entry);
}

/* All versions are in memory, and stay there. */
static struct aion_sorted_chunks *make_value_writers(struct iso_aion_shard *shard,
                                                     struct aion_key *key)
{
    struct aion_sorted_chunks *writers = &aion_cold_of(shard, key)->value_writers;
    const struct aion_sorted_chunks *nonversions = &shard->cold.list[key->cold].nonversions;
    const struct aion_entry *entry;
    struct aion_cursor cursor = aion_chunks_begin();
    assert(!(key->flags & AION_KEY_PAGED) && !aion_key_is_list(key));
    for (; (entry = aion_chunks_get(&shard->pool, &key->versions, cursor));
         aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        struct aion_entry version = entry_of(entry, VERSION);
        add_writer(shard, writers, &version);
    }
    for (cursor = aion_chunks_begin();
         (entry = aion_chunks_get(&shard->pool, nonversions, cursor)) && !aion_is_unknown(entry);
         aion_chunks_next(&shard->pool, nonversions, &cursor)) {
        struct aion_entry nonversion = entry_of(entry, class_of(entry));
        add_writer(shard, writers, &nonversion);
    }
    return writers;
}

/* The last of a class before `cursor` that is not the reader's own; ISO_NONE: there is none. */
static uint32_t last_before(const struct iso_aion_shard *shard,
                            const struct aion_sorted_chunks *writers, struct aion_cursor cursor,
                            uint64_t order, uint32_t reader)
{
    while (writers->count && aion_chunks_before(&shard->pool, writers, &cursor)) {
        const struct aion_entry *entry = aion_chunks_get(&shard->pool, writers, cursor);
        if (entry->time != order)
            break;
        if (!aion_is_same(shard, entry->transaction, reader))
            return entry->transaction;
    }
    return ISO_NONE;
}

static uint32_t last_of(const struct iso_aion_shard *shard,
                        const struct aion_sorted_chunks *writers, uint64_t order, uint32_t reader)
{
    return last_before(shard, writers, aion_chunks_lower(&shard->pool, writers, order + 1), order,
                       reader);
}

static uint32_t first_from(const struct iso_aion_shard *shard,
                           const struct aion_sorted_chunks *writers, struct aion_cursor cursor,
                           uint64_t order, uint32_t reader)
{
    for (;; aion_chunks_next(&shard->pool, writers, &cursor)) {
        const struct aion_entry *entry = aion_chunks_get(&shard->pool, writers, cursor);
        if (!entry || entry->time != order)
            return ISO_NONE;
        if (!aion_is_same(shard, entry->transaction, reader))
            return entry->transaction;
    }
}

static uint32_t unknown_of(const struct iso_aion_shard *shard, const struct aion_key *key,
                           uint32_t value)
{
    const struct aion_sorted_chunks *nonversions = &shard->cold.list[key->cold].nonversions;
    const struct aion_entry *nonversion =
        aion_chunks_get(&shard->pool, nonversions,
                        aion_chunks_lower(&shard->pool, nonversions, aion_unknown_time(value)));
    return nonversion && nonversion->time == aion_unknown_time(value) ? nonversion->transaction
                                                                      : ISO_NONE;
}

void aion_find_value_writers(struct iso_aion_shard *shard, struct aion_key *key, uint32_t reader,
                             const struct aion_observed *observed, struct aion_value_writers *found)
{
    struct aion_sorted_chunks *writers = value_writers_of(shard, key);
    struct aion_entry visible_below = {.time = cursor_in_order(observed->value, VERSION),
                                       .start = aion_last_visible_below(shard, observed)};
    writers = writers ? writers : make_value_writers(shard, key);
    struct aion_cursor cursor =
        aion_chunks_among(&shard->pool, writers, visible_below.time, stands_before, &visible_below);
    found->visible = last_before(shard, writers, cursor, visible_below.time, reader);
    found->future = first_from(shard, writers, cursor, visible_below.time, reader);
    found->aborted = last_of(shard, writers, cursor_in_order(observed->value, ABORTED), reader);
    found->intermediate =
        last_of(shard, writers, cursor_in_order(observed->value, INTERMEDIATE), reader);
    found->unknown = unknown_of(shard, key, observed->value);
    shard->stats.steps += 5;
}
