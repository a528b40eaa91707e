/* Why an external read is wrong: its kind and its writers, told when the verdict is final.
 *
 * The first that fits of uncommitted, intermediate, future, absent, stale, among everything that is kept of
 * what other transactions wrote to the key. Where older versions were dropped and nothing kept has the value,
 * no kind is told: it may have been a version.
 */
#include "aion/shard_private.h"
#include "base/memory.h"

struct writers {
    uint32_t aborted, intermediate; /* smallest tid, or ISO_NONE */
    uint32_t future;                /* the first such version */
    uint32_t visible;               /* the last such version */
    uint32_t unknown;               /* smallest tid */
    bool initial;
};

static uint32_t smaller(const struct iso_aion_shard *shard, uint32_t left, uint32_t right)
{
    if (left == ISO_NONE)
        return right;
    const struct aion_transaction *transactions = shard->transactions;
    int order = iso_atom_compare(&shard->values.atoms, transactions[left].tid, transactions[right].tid);
    return order <= 0 ? left : right;
}

static void look_at_spares(const struct iso_aion_shard *shard, const struct aion_key *key, uint32_t reader,
                           uint32_t value, struct writers *writers)
{
    if (!key->rare)
        return;
    const struct aion_run *spares = &shard->rares[key->rare].spares;
    struct aion_place place = aion_run_begin();
    const struct aion_entry *spare;
    for (; (spare = aion_run_get(&shard->pool, spares, place)); aion_run_next(&shard->pool, spares, &place)) {
        if (spare->value != value || spare->transaction == reader)
            continue;
        if (spare->detail == AION_SPARE_ABORTED)
            writers->aborted = smaller(shard, writers->aborted, spare->transaction);
        else if (spare->detail == AION_SPARE_INTERMEDIATE)
            writers->intermediate = smaller(shard, writers->intermediate, spare->transaction);
        else
            writers->unknown = smaller(shard, writers->unknown, spare->transaction);
    }
}

static void look_at_versions(const struct iso_aion_shard *shard, const struct aion_key *key, uint32_t reader,
                             const struct aion_look *look, struct writers *writers)
{
    struct aion_place place = aion_run_begin();
    const struct aion_entry *version;
    for (; (version = aion_run_get(&shard->pool, &key->versions, place));
         aion_run_next(&shard->pool, &key->versions, &place)) {
        if (version->value != look->value || version->transaction == reader)
            continue;
        if (version->time < look->bound)
            writers->visible = version->transaction;
        else if (writers->future == ISO_NONE)
            writers->future = version->transaction;
    }
}

static enum iso_violation_kind kind_of_register(const struct aion_key *key, const struct aion_look *look,
                                                const struct writers *writers, uint32_t *actual)
{
    bool nobody = writers->intermediate == ISO_NONE && writers->future == ISO_NONE && writers->visible == ISO_NONE &&
                  !writers->initial && look->value != ISO_ABSENT;
    *actual = writers->aborted;
    if (writers->aborted != ISO_NONE)
        return ISO_UNCOMMITTED;
    *actual = writers->unknown;
    if (nobody)
        return writers->unknown == ISO_NONE && key->flags & AION_KEY_DROPPED ? ISO_KIND_NONE : ISO_UNCOMMITTED;
    *actual = writers->intermediate;
    if (writers->intermediate != ISO_NONE)
        return ISO_INTERMEDIATE;
    *actual = writers->future;
    if (writers->future != ISO_NONE)
        return ISO_FUTURE;
    *actual = writers->visible;
    return look->value == ISO_ABSENT ? ISO_ABSENT_READ : ISO_STALE;
}

static enum iso_violation_kind explain_register(const struct iso_aion_shard *shard, const struct aion_key *key,
                                                uint32_t reader, const struct aion_look *look, uint32_t *actual)
{
    struct writers writers = {ISO_NONE, ISO_NONE, ISO_NONE, ISO_NONE, ISO_NONE, false};
    uint32_t initial = key->rare ? shard->rares[key->rare].initial : shard->initial;
    writers.initial = look->value == initial;
    look_at_spares(shard, key, reader, look->value, &writers);
    look_at_versions(shard, key, reader, look, &writers);
    return kind_of_register(key, look, &writers, actual);
}

/* ---- lists ---- */

/* Where elements of a key come from: open addressing, first come first found. */
struct source {
    uint32_t element, writer;
    uint8_t class;
};
enum source_class { NOWHERE, INITIAL, ABORTED, UNKNOWN, FUTURE, VISIBLE };

struct sources {
    struct source *slots;
    uint32_t mask;
};

static struct source *find_source(const struct sources *sources, uint32_t element)
{
    uint32_t slot = (uint32_t)aion_mix(element) & sources->mask;
    while (sources->slots[slot].class != NOWHERE && sources->slots[slot].element != element)
        slot = (slot + 1) & sources->mask;
    return &sources->slots[slot];
}

/* An element appended by several: the class that comes first in the order of kinds, then the smallest tid. */
static void add_source(const struct iso_aion_shard *shard, struct sources *sources, uint32_t element, uint32_t writer,
                       enum source_class class)
{
    static const uint8_t rank[] = {
        [NOWHERE] = 9, [ABORTED] = 0, [FUTURE] = 1, [VISIBLE] = 2, [INITIAL] = 3, [UNKNOWN] = 4};
    struct source *source = find_source(sources, element);
    if (rank[class] < rank[source->class])
        *source = (struct source){element, writer, (uint8_t) class};
    else if (class == source->class && writer != ISO_NONE)
        source->writer = smaller(shard, source->writer, writer);
}

static const struct aion_list *list_of(const struct iso_aion_shard *shard, uint32_t value)
{
    return value == ISO_ABSENT ? NULL : aion_pool_at(&shard->pool, value);
}

static uint32_t count_elements(const struct iso_aion_shard *shard, const struct aion_key *key)
{
    uint32_t base = key->rare ? shard->rares[key->rare].base : ISO_ABSENT;
    uint32_t count = key->rare ? shard->rares[key->rare].spares.count : 0;
    count += base == ISO_ABSENT ? 0 : list_of(shard, base)->count;
    struct aion_place place = aion_run_begin();
    const struct aion_entry *version;
    for (; (version = aion_run_get(&shard->pool, &key->versions, place));
         aion_run_next(&shard->pool, &key->versions, &place))
        count += version->value == ISO_ABSENT ? 0 : list_of(shard, version->value)->count;
    return count;
}

static void gather_rare(const struct iso_aion_shard *shard, const struct aion_key *key, uint32_t reader,
                        struct sources *sources)
{
    if (!key->rare)
        return;
    const struct aion_rare *rare = &shard->rares[key->rare];
    const struct aion_list *base = list_of(shard, rare->base);
    for (uint32_t i = 0; base && i < base->count; i++)
        add_source(shard, sources, base->elements[i], ISO_NONE, INITIAL);
    struct aion_place place = aion_run_begin();
    const struct aion_entry *spare;
    for (; (spare = aion_run_get(&shard->pool, &rare->spares, place));
         aion_run_next(&shard->pool, &rare->spares, &place)) {
        if (spare->transaction != reader && spare->detail != AION_SPARE_INTERMEDIATE)
            add_source(shard, sources, spare->value, spare->transaction,
                       spare->detail == AION_SPARE_ABORTED ? ABORTED : UNKNOWN);
    }
}

static void gather(const struct iso_aion_shard *shard, const struct aion_key *key, uint32_t reader, uint64_t bound,
                   struct sources *sources)
{
    uint32_t slots = 16;
    while (slots < 2 * count_elements(shard, key))
        slots *= 2;
    *sources = (struct sources){iso_allocate_zeroed(slots, sizeof *sources->slots), slots - 1};
    gather_rare(shard, key, reader, sources);
    struct aion_place place = aion_run_begin();
    const struct aion_entry *version;
    for (; (version = aion_run_get(&shard->pool, &key->versions, place));
         aion_run_next(&shard->pool, &key->versions, &place)) {
        const struct aion_list *list = list_of(shard, version->value);
        for (uint32_t i = 0; list && version->transaction != reader && i < list->count; i++)
            add_source(shard, sources, list->elements[i], version->transaction,
                       version->time < bound ? VISIBLE : FUTURE);
    }
    /* an element that only the reader appended was appended by nobody else */
}

static bool contains(const struct aion_list *list, uint32_t element)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->elements[i] == element)
            return true;
    }
    return false;
}

/* True if `read` has some but not all of what the version appended. */
static bool is_cut(const struct aion_list *read, const struct aion_list *appended)
{
    bool some = false, all = true;
    for (uint32_t i = 0; i < appended->count; i++) {
        bool here = contains(read, appended->elements[i]);
        some |= here;
        all &= here;
    }
    return some && !all;
}

/* The writer of the first element of the prefix that comes from a version read in part. */
static uint32_t find_intermediate(const struct iso_aion_shard *shard, const struct aion_key *key, uint32_t reader,
                                  const struct aion_list *read)
{
    uint32_t found = ISO_NONE, found_at = UINT32_MAX;
    struct aion_place place = aion_run_begin();
    const struct aion_entry *version;
    for (; (version = aion_run_get(&shard->pool, &key->versions, place));
         aion_run_next(&shard->pool, &key->versions, &place)) {
        const struct aion_list *appended = list_of(shard, version->value);
        if (!appended || appended->count < 2 || version->transaction == reader || !is_cut(read, appended))
            continue;
        uint32_t at = 0;
        while (!contains(appended, read->elements[at]))
            at++;
        if (at < found_at || (at == found_at && smaller(shard, found, version->transaction) != found)) {
            found = version->transaction;
            found_at = at;
        }
    }
    return found;
}

static enum iso_violation_kind explain_list(const struct iso_aion_shard *shard, const struct aion_key *key,
                                            uint32_t reader, const struct aion_look *look, uint32_t *actual)
{
    const struct aion_list *read = list_of(shard, look->value);
    struct sources sources;
    enum iso_violation_kind kind = ISO_STALE;
    *actual = ISO_NONE;
    if (!read || !read->count)
        return ISO_ABSENT_READ;
    gather(shard, key, reader, look->bound, &sources);
    for (uint32_t i = 0; i < read->count && kind == ISO_STALE; i++) {
        const struct source *source = find_source(&sources, read->elements[i]);
        if (source->class == ABORTED || source->class == UNKNOWN || source->class == NOWHERE) {
            kind = ISO_UNCOMMITTED;
            *actual = source->class == NOWHERE ? ISO_NONE : source->writer;
        }
    }
    if (kind == ISO_STALE && (*actual = find_intermediate(shard, key, reader, read)) != ISO_NONE)
        kind = ISO_INTERMEDIATE;
    for (uint32_t i = 0; i < read->count && kind == ISO_STALE; i++) {
        const struct source *source = find_source(&sources, read->elements[i]);
        if (source->class == FUTURE) {
            kind = ISO_FUTURE;
            *actual = source->writer;
        }
    }
    if (kind == ISO_STALE) {
        const struct source *last = find_source(&sources, read->elements[read->count - 1]);
        *actual = last->class == VISIBLE ? last->writer : ISO_NONE;
    }
    iso_free(sources.slots);
    return kind;
}

void aion_explain(struct iso_aion_shard *shard, const struct aion_case *subject, const struct aion_look *look,
                  struct aion_finding *finding)
{
    const struct aion_key *key = &shard->keys[subject->key];
    uint32_t reader = subject->transaction, actual = ISO_NONE;
    const struct aion_entry *expected = aion_visible(shard, key, look->bound, look->own ? reader : ISO_NONE);
    finding->kind = aion_key_is_list(key) ? explain_list(shard, key, reader, look, &actual)
                                          : explain_register(shard, key, reader, look, &actual);
    finding->writer_expected = aion_party_of(shard, expected ? expected->transaction : ISO_NONE);
    finding->writer_actual = aion_party_of(shard, actual);
}
