/* Why an external read is wrong: its kind and its writers, reported when the verdict is final.
 *
 * The first that fits of uncommitted, intermediate, future, absent, stale, among everything that is
 * kept of what other transactions wrote to the key. Where older versions were dropped and nothing
 * kept has the value, no kind is reported: it may have been a version.
 */
#include <assert.h>

#include "aion/shard/shard_private.h"
#include "base/number_map.h"
#include "base/memory.h"

static uint32_t smaller(const struct iso_aion_shard *shard, uint32_t left, uint32_t right)
{
    assert(right != ISO_NONE);
    if (left == ISO_NONE)
        return right;
    const struct aion_transaction *transactions = shard->transactions.list;
    int order =
        iso_atom_compare(&shard->values.atoms, transactions[left].tid, transactions[right].tid);
    return order <= 0 ? left : right;
}

static void find_nonversion_writers(struct iso_aion_shard *shard, const struct aion_key *key,
                                    uint32_t reader, uint32_t value,
                                    struct aion_value_writers *writers)
{
    if (!key->cold)
        return;
    const struct aion_sorted_chunks *nonversions = &shard->cold.list[key->cold].nonversions;
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *nonversion;
    for (; (nonversion = aion_chunks_get(&shard->pool, nonversions, cursor));
         aion_chunks_next(&shard->pool, nonversions, &cursor)) {
        shard->stats.steps++;
        if (nonversion->value != value || aion_is_same(shard, nonversion->transaction, reader))
            continue;
        if (nonversion->detail == AION_NONVERSION_ABORTED)
            writers->aborted = smaller(shard, writers->aborted, nonversion->transaction);
        else if (nonversion->detail == AION_NONVERSION_INTERMEDIATE)
            writers->intermediate = smaller(shard, writers->intermediate, nonversion->transaction);
        else
            writers->unknown = smaller(shard, writers->unknown, nonversion->transaction);
    }
}

static void find_version_writers(struct iso_aion_shard *shard, const struct aion_key *key,
                                 uint32_t reader, const struct aion_observed *observed,
                                 struct aion_value_writers *writers)
{
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *version;
    for (; (version = aion_chunks_get(&shard->pool, &key->versions, cursor));
         aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        shard->stats.steps++;
        if (version->value != observed->value || aion_is_same(shard, version->transaction, reader))
            continue;
        if (version->time < aion_last_visible_below(shard, observed))
            writers->visible = version->transaction;
        else if (writers->future == ISO_NONE)
            writers->future = version->transaction;
    }
}

static enum iso_violation_kind kind_of_register(const struct aion_key *key,
                                                const struct aion_observed *observed,
                                                const struct aion_value_writers *writers,
                                                uint32_t *actual)
{
    bool nobody = writers->intermediate == ISO_NONE && writers->future == ISO_NONE &&
                  writers->visible == ISO_NONE && !writers->initial &&
                  observed->value != ISO_ABSENT;
    *actual = writers->aborted;
    if (writers->aborted != ISO_NONE)
        return ISO_UNCOMMITTED;
    *actual = writers->unknown;
    if (nobody)
        return writers->unknown == ISO_NONE && key->flags & AION_KEY_DROPPED ? ISO_KIND_NONE
                                                                             : ISO_UNCOMMITTED;
    *actual = writers->intermediate;
    if (writers->intermediate != ISO_NONE)
        return ISO_INTERMEDIATE;
    *actual = writers->future;
    if (writers->future != ISO_NONE)
        return ISO_FUTURE;
    *actual = writers->visible;
    return observed->value == ISO_ABSENT ? ISO_ABSENT_READ : ISO_STALE;
}

static bool is_initial(const struct iso_aion_shard *shard, const struct aion_key *key,
                       const struct aion_observed *observed)
{
    return observed->value ==
           (key->cold ? shard->cold.list[key->cold].initial : shard->keys.initial);
}

static enum iso_violation_kind explain_register(struct iso_aion_shard *shard,
                                                const struct aion_key *key, uint32_t reader,
                                                const struct aion_observed *observed,
                                                uint32_t *actual)
{
    struct aion_value_writers writers = {ISO_NONE, ISO_NONE, ISO_NONE,
                                         ISO_NONE, ISO_NONE, is_initial(shard, key, observed)};
    find_nonversion_writers(shard, key, reader, observed->value, &writers);
    find_version_writers(shard, key, reader, observed, &writers);
    return kind_of_register(key, observed, &writers, actual);
}

/* ---- lists ---- */

/* Where elements of a key come from. */
struct source {
    uint32_t writer;
    uint8_t class;
};
enum source_class { NOWHERE, INITIAL, ABORTED, UNKNOWN, FUTURE, VISIBLE };

struct sources {
    struct iso_number_map by_element;
    struct source *list;
    uint32_t count, capacity;
};

static struct source find_source(const struct sources *sources, uint32_t element)
{
    uint32_t number = iso_number_map_get(&sources->by_element, element);
    return number == ISO_NUMBER_NONE ? (struct source){ISO_NONE, NOWHERE} : sources->list[number];
}

/* An element appended by several: the class that comes first in the order of kinds, then the
 * smallest tid. */
static void add_source(const struct iso_aion_shard *shard, struct sources *sources,
                       uint32_t element, uint32_t writer, enum source_class class)
{
    static const uint8_t rank[] = {
        [ABORTED] = 0, [FUTURE] = 1, [VISIBLE] = 2, [INITIAL] = 3, [UNKNOWN] = 4};
    uint32_t number = iso_number_map_add(&sources->by_element, element, sources->count);
    if (number == sources->count) {
        ISO_APPEND(*sources, (struct source){writer, (uint8_t) class});
        return;
    }
    struct source *source = &sources->list[number];
    if (rank[class] < rank[source->class])
        *source = (struct source){writer, (uint8_t) class};
    else if (class == source->class && writer != ISO_NONE)
        source->writer = smaller(shard, source->writer, writer);
}

static const struct aion_list *list_of(const struct iso_aion_shard *shard, uint32_t value)
{
    return value == ISO_ABSENT ? NULL : aion_pool_at(&shard->pool, value);
}

static void gather_cold(const struct iso_aion_shard *shard, const struct aion_key *key,
                        uint32_t reader, struct sources *sources)
{
    if (!key->cold)
        return;
    const struct aion_cold *cold = &shard->cold.list[key->cold];
    const struct aion_list *base = list_of(shard, cold->base);
    for (uint32_t i = 0; base && i < base->count; i++)
        add_source(shard, sources, base->elements[i], ISO_NONE, INITIAL);
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *nonversion;
    for (; (nonversion = aion_chunks_get(&shard->pool, &cold->nonversions, cursor));
         aion_chunks_next(&shard->pool, &cold->nonversions, &cursor)) {
        if (!aion_is_same(shard, nonversion->transaction, reader) &&
            nonversion->detail != AION_NONVERSION_INTERMEDIATE)
            add_source(shard, sources, nonversion->value, nonversion->transaction,
                       nonversion->detail == AION_NONVERSION_ABORTED ? ABORTED : UNKNOWN);
    }
}

static void gather_sources(const struct iso_aion_shard *shard, const struct aion_key *key,
                           uint32_t reader, uint64_t visible_below, struct sources *sources)
{
    gather_cold(shard, key, reader, sources);
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *version;
    for (; (version = aion_chunks_get(&shard->pool, &key->versions, cursor));
         aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        const struct aion_list *list = list_of(shard, version->value);
        for (uint32_t i = 0;
             list && !aion_is_same(shard, version->transaction, reader) && i < list->count; i++)
            add_source(shard, sources, list->elements[i], version->transaction,
                       version->time < visible_below ? VISIBLE : FUTURE);
    }
    /* an element that only the reader appended was appended by nobody else */
}

static bool list_contains(const struct aion_list *list, uint32_t element)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->elements[i] == element)
            return true;
    }
    return false;
}

/* True if `read` has some but not all of what the version appended. */
static bool is_read_in_part(const struct aion_list *read, const struct aion_list *appended)
{
    bool some = false, all = true;
    for (uint32_t i = 0; i < appended->count; i++) {
        bool here = list_contains(read, appended->elements[i]);
        some |= here;
        all &= here;
    }
    return some && !all;
}

/* The writer of the first element of the prefix that comes from a version read in part. */
static uint32_t find_intermediate(const struct iso_aion_shard *shard, const struct aion_key *key,
                                  uint32_t reader, const struct aion_list *read)
{
    uint32_t found = ISO_NONE, found_at = UINT32_MAX;
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *version;
    for (; (version = aion_chunks_get(&shard->pool, &key->versions, cursor));
         aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        const struct aion_list *appended = list_of(shard, version->value);
        if (!appended || appended->count < 2 || aion_is_same(shard, version->transaction, reader) ||
            !is_read_in_part(read, appended))
            continue;
        uint32_t at = 0;
        while (!list_contains(appended, read->elements[at])) {
            at++;
            assert(at < read->count);
        }
        if (at < found_at ||
            (at == found_at && smaller(shard, found, version->transaction) != found)) {
            found = version->transaction;
            found_at = at;
        }
    }
    return found;
}

static enum iso_violation_kind explain_list(const struct iso_aion_shard *shard,
                                            const struct aion_key *key, uint32_t reader,
                                            const struct aion_observed *observed, uint32_t *actual)
{
    const struct aion_list *read = list_of(shard, observed->value);
    struct sources sources = {0};
    enum iso_violation_kind kind = ISO_STALE;
    *actual = ISO_NONE;
    if (!read || !read->count)
        return ISO_ABSENT_READ;
    gather_sources(shard, key, reader, aion_last_visible_below(shard, observed), &sources);
    for (uint32_t i = 0; i < read->count && kind == ISO_STALE; i++) {
        struct source source = find_source(&sources, read->elements[i]);
        if (source.class == ABORTED || source.class == UNKNOWN || source.class == NOWHERE) {
            kind = ISO_UNCOMMITTED;
            *actual = source.class == NOWHERE ? ISO_NONE : source.writer;
        }
    }
    if (kind == ISO_STALE && (*actual = find_intermediate(shard, key, reader, read)) != ISO_NONE)
        kind = ISO_INTERMEDIATE;
    for (uint32_t i = 0; i < read->count && kind == ISO_STALE; i++) {
        struct source source = find_source(&sources, read->elements[i]);
        if (source.class == FUTURE) {
            kind = ISO_FUTURE;
            *actual = source.writer;
        }
    }
    if (kind == ISO_STALE) {
        struct source last = find_source(&sources, read->elements[read->count - 1]);
        *actual = last.class == VISIBLE ? last.writer : ISO_NONE;
    }
    iso_number_map_release(&sources.by_element);
    iso_free(sources.list);
    return kind;
}

static void set_writers(struct iso_aion_shard *shard, const struct aion_pending *subject,
                        const struct aion_observed *observed, uint32_t actual,
                        struct aion_finding *finding)
{
    const struct aion_entry *expected =
        aion_required(shard, &shard->keys.list[subject->key], observed,
                      observed->own ? subject->transaction : ISO_NONE);
    finding->writer_expected = aion_party_of(shard, expected ? expected->transaction : ISO_NONE);
    finding->writer_actual = aion_party_of(shard, actual);
}

void aion_explain(struct iso_aion_shard *shard, const struct aion_pending *subject,
                  const struct aion_observed *observed, struct aion_finding *finding)
{
    const struct aion_key *key = &shard->keys.list[subject->key];
    uint32_t reader = subject->transaction, actual = ISO_NONE;
    finding->kind = aion_key_is_list(key) ? explain_list(shard, key, reader, observed, &actual)
                                          : explain_register(shard, key, reader, observed, &actual);
    set_writers(shard, subject, observed, actual, finding);
}

void aion_explain_unlisted(struct iso_aion_shard *shard, const struct aion_pending *subject,
                           const struct aion_observed *observed, struct aion_finding *finding)
{
    struct aion_key *key = &shard->keys.list[subject->key];
    assert(!aion_key_is_list(key));
    struct aion_value_writers writers = {.initial = is_initial(shard, key, observed)};
    uint32_t actual;
    aion_find_value_writers(shard, key, subject->transaction, observed, &writers);
    finding->kind = kind_of_register(key, observed, &writers, &actual);
    set_writers(shard, subject, observed, actual, finding);
}
