/* The frontier of a key, and values that are lists. */
#include <assert.h>
#include <string.h>

#include "aion/shard/shard_private.h"
#include "base/memory.h"

static struct aion_list *list_at(const struct iso_aion_shard *shard, uint32_t value)
{
    return aion_pool_at(&shard->pool, value);
}

static uint32_t take_list(struct iso_aion_shard *shard, uint32_t count)
{
    unsigned size = aion_pool_size(sizeof(struct aion_list) + (size_t)count * sizeof(uint32_t));
    uint32_t value = aion_pool_take(&shard->pool, size);
    struct aion_list *list = list_at(shard, value);
    list->references = 1;
    list->count = list->tail = 0;
    list->size = size;
    return value;
}

uint32_t aion_list_new(struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                       const iso_atom *elements, uint32_t count, uint32_t tail)
{
    if (!count && !tail)
        return ISO_ABSENT;
    uint32_t value = take_list(shard, count + tail);
    struct aion_list *list = list_at(shard, value);
    for (uint32_t i = 0; i < count + tail; i++)
        list->elements[i] = aion_values_take(&shard->values, atoms, elements[i]);
    list->count = count;
    list->tail = tail;
    return value;
}

uint32_t aion_value_reference(struct iso_aion_shard *shard, const struct aion_key *key,
                              uint32_t value)
{
    if (!aion_key_is_list(key))
        return aion_values_reference(&shard->values, value);
    if (value != ISO_ABSENT)
        list_at(shard, value)->references++;
    return value;
}

void aion_value_drop(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t value)
{
    if (!aion_key_is_list(key)) {
        aion_values_drop(&shard->values, value);
        return;
    }
    if (value == ISO_ABSENT)
        return;
    struct aion_list *list = list_at(shard, value);
    if (--list->references)
        return;
    for (uint32_t i = 0; i < list->count + list->tail; i++)
        aion_values_drop(&shard->values, list->elements[i]);
    aion_pool_give(&shard->pool, value, list->size);
}

/* A base with room for `more` elements. */
static uint32_t widen_base(struct iso_aion_shard *shard, uint32_t base, uint32_t more)
{
    uint32_t count = base == ISO_ABSENT ? 0 : list_at(shard, base)->count;
    size_t need = sizeof(struct aion_list) + ((size_t)count + more) * sizeof(uint32_t);
    if (base != ISO_ABSENT && need <= (size_t)AION_UNIT << list_at(shard, base)->size)
        return base;
    uint32_t wider = take_list(shard, count + more);
    if (base == ISO_ABSENT)
        return wider;
    struct aion_list *from = list_at(shard, base), *to = list_at(shard, wider);
    memcpy(to->elements, from->elements, count * sizeof *to->elements);
    to->count = count;
    aion_pool_give(&shard->pool, base, from->size);
    return wider;
}

/* Moves a version's elements to the end of the key's base. */
void aion_list_fold(struct iso_aion_shard *shard, struct aion_key *key, struct aion_entry *version)
{
    uint32_t value = version->value;
    if (value == ISO_ABSENT)
        return;
    struct aion_cold *cold = aion_cold_of(shard, key);
    cold->base = widen_base(shard, cold->base, list_at(shard, value)->count);
    struct aion_list *base = list_at(shard, cold->base), *from = list_at(shard, value);
    assert(from->references == 1);
    memcpy(base->elements + base->count, from->elements, from->count * sizeof *base->elements);
    base->count += from->count;
    aion_pool_give(&shard->pool, value, from->size);
}

/* ---- the frontier ---- */

/* The newest version below `bound` that is not `own`'s. */
struct aion_entry *aion_visible(const struct iso_aion_shard *shard, const struct aion_key *key,
                                uint64_t visible_below, uint32_t own)
{
    struct aion_near near;
    if (!key->versions.count)
        return NULL;
    if (aion_chunks_near(&shard->pool, &key->versions, visible_below, &near) && near.index &&
        near.entries[near.index - 1].transaction != own)
        return &near.entries[near.index - 1];
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, &key->versions, visible_below);
    while (aion_chunks_before(&shard->pool, &key->versions, &cursor)) {
        struct aion_entry *version = aion_chunks_get(&shard->pool, &key->versions, cursor);
        if (version->transaction != own)
            return version;
    }
    return NULL;
}

/* The version that a read had to see; `own`: not that transaction's. */
const struct aion_entry *aion_required(const struct iso_aion_shard *shard,
                                       const struct aion_key *key,
                                       const struct aion_observed *observed, uint32_t own)
{
    struct aion_cursor cursor;
    const struct aion_entry *version = aion_visible(shard, key, observed->visible_below, own);
    if (!shard->defers || !observed->newer)
        return version;
    cursor = aion_chunks_lower(&shard->pool, &key->versions, observed->visible_below);
    for (uint32_t left = observed->newer + 1u;
         left && aion_chunks_before(&shard->pool, &key->versions, &cursor);) {
        version = aion_chunks_get(&shard->pool, &key->versions, cursor);
        left -= version->transaction != own;
    }
    return version;
}

/* Takes the elements of one list off the front of another; false if they differ. */
static bool take_prefix(const struct iso_aion_shard *shard, uint32_t value,
                        const uint32_t **elements, uint32_t *count)
{
    if (value == ISO_ABSENT)
        return true;
    const struct aion_list *list = list_at(shard, value);
    if (list->count > *count ||
        memcmp(list->elements, *elements, list->count * sizeof **elements) != 0)
        return false;
    *elements += list->count;
    *count -= list->count;
    return true;
}

/* Steps through the versions that make up a list as a read sees it: those below its bound, but
 * where the newest of them are its own transaction's, only those up to the newest of another. */
struct layers {
    const struct iso_aion_shard *shard;
    const struct aion_key *key;
    struct aion_cursor cursor;
    uint64_t visible_below;
    const struct aion_entry *last; /* NULL: the bound decides */
    bool done;
};

static struct layers layers_of(const struct iso_aion_shard *shard, const struct aion_key *key,
                               const struct aion_observed *observed, uint32_t own)
{
    struct layers layers = {shard, key, aion_chunks_begin(), observed->visible_below, NULL, false};
    if (own != ISO_NONE || observed->newer) {
        layers.last = aion_required(shard, key, observed, own);
        layers.done = !layers.last;
    }
    return layers;
}

static const struct aion_entry *next_layer(struct layers *layers)
{
    const struct aion_sorted_chunks *versions = &layers->key->versions;
    const struct aion_entry *version =
        aion_chunks_get(&layers->shard->pool, versions, layers->cursor);
    if (layers->done || !version || version->time >= layers->visible_below)
        return NULL;
    layers->done = version == layers->last;
    aion_chunks_next(&layers->shard->pool, versions, &layers->cursor);
    return version;
}

static enum aion_state compare_list(const struct iso_aion_shard *shard, const struct aion_key *key,
                                    const struct aion_observed *observed, uint32_t own)
{
    const struct aion_list *read =
        observed->value == ISO_ABSENT ? NULL : list_at(shard, observed->value);
    const uint32_t *elements = read ? read->elements : NULL;
    uint32_t count = read ? read->count : 0;
    struct layers layers = layers_of(shard, key, observed, own);
    const struct aion_entry *version =
        aion_chunks_get(&shard->pool, &key->versions, aion_chunks_begin());
    if ((key->flags & AION_KEY_DROPPED) && (!version || version->time >= observed->visible_below))
        return AION_UNDECIDED;
    if (key->cold && !take_prefix(shard, shard->cold.list[key->cold].base, &elements, &count))
        return AION_WRONG;
    while ((version = next_layer(&layers))) {
        if (!take_prefix(shard, version->value, &elements, &count))
            return AION_WRONG;
    }
    return count ? AION_WRONG : AION_RIGHT;
}

static uint32_t initial_of(const struct iso_aion_shard *shard, const struct aion_key *key)
{
    return key->cold ? shard->cold.list[key->cold].initial : shard->keys.initial;
}

uint32_t aion_expected(const struct iso_aion_shard *shard, const struct aion_key *key,
                       const struct aion_observed *observed, uint32_t transaction)
{
    if (!key->versions.count ||
        (key->newest_time < observed->visible_below && !observed->own && !observed->newer))
        return key->newest_value;
    const struct aion_entry *version =
        aion_required(shard, key, observed, observed->own ? transaction : ISO_NONE);
    return version ? version->value : initial_of(shard, key);
}

/* Does the read agree with the frontier? */
enum aion_state aion_compare(struct iso_aion_shard *shard, const struct aion_key *key,
                             const struct aion_observed *observed, uint32_t transaction)
{
    if (aion_key_is_list(key))
        return compare_list(shard, key, observed, observed->own ? transaction : ISO_NONE);
    uint32_t expected = key->newest_value;
    if (key->versions.count &&
        (key->newest_time >= observed->visible_below || observed->own || observed->newer)) {
        const struct aion_entry *version =
            aion_required(shard, key, observed, observed->own ? transaction : ISO_NONE);
        if (!version && (key->flags & AION_KEY_DROPPED))
            return AION_UNDECIDED;
        expected = version ? version->value : initial_of(shard, key);
    }
    return observed->value == expected ? AION_RIGHT : AION_WRONG;
}

/* ---- values for reports ---- */

static void add_words(struct iso_aion_shard *shard, struct aion_words *words,
                      const uint32_t *elements, uint32_t count)
{
    words->elements =
        iso_reallocate(words->elements, ((size_t)words->count + count) * sizeof *words->elements);
    for (uint32_t i = 0; i < count; i++)
        words->elements[words->count++] = aion_values_reference(&shard->values, elements[i]);
}

static void add_list(struct iso_aion_shard *shard, struct aion_words *words, uint32_t value)
{
    if (value != ISO_ABSENT)
        add_words(shard, words, list_at(shard, value)->elements, list_at(shard, value)->count);
}

static void add_tail(struct iso_aion_shard *shard, struct aion_words *words, uint32_t value)
{
    if (value != ISO_ABSENT)
        add_words(shard, words, list_at(shard, value)->elements + list_at(shard, value)->count,
                  list_at(shard, value)->tail);
}

struct aion_words aion_value_words(struct iso_aion_shard *shard, const struct aion_key *key,
                                   uint32_t value)
{
    if (!aion_key_is_list(key))
        return (struct aion_words){.count = 1,
                                   .atom = aion_values_reference(&shard->values, value)};
    struct aion_words words = {.is_list = true};
    add_list(shard, &words, value);
    add_tail(shard, &words, value);
    return words;
}

/* The read should have returned this: the frontier, and behind it the reader's own appends. */
struct aion_words aion_expected_words(struct iso_aion_shard *shard, const struct aion_key *key,
                                      const struct aion_observed *observed, uint32_t own)
{
    if (!aion_key_is_list(key)) {
        const struct aion_entry *version = aion_required(shard, key, observed, own);
        return aion_value_words(shard, key, version ? version->value : initial_of(shard, key));
    }
    struct aion_words words = {.is_list = true};
    struct layers layers = layers_of(shard, key, observed, own);
    const struct aion_entry *version;
    if (key->cold)
        add_list(shard, &words, shard->cold.list[key->cold].base);
    while ((version = next_layer(&layers)))
        add_list(shard, &words, version->value);
    add_tail(shard, &words, observed->value);
    return words;
}

uint64_t aion_count_elements(const struct iso_aion_shard *shard, const struct aion_key *key,
                             const struct aion_observed *observed)
{
    const struct aion_list *read =
        observed->value == ISO_ABSENT ? NULL : list_at(shard, observed->value);
    uint32_t base = key->cold ? shard->cold.list[key->cold].base : ISO_ABSENT;
    return (read ? read->count + read->tail : 0) +
           (base == ISO_ABSENT ? 0 : list_at(shard, base)->count) + (uint64_t)key->versions.count;
}
