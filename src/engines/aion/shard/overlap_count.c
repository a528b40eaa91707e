/* Keys whose writers overlap in crowds: all pairs are violations, but only so many are listed. From
 * then on the others are counted by sets of intervals (overlap.h), a few looks for each writer that
 * comes, however many it overlaps. So it is, too, where writers had to walk past many others to
 * find that they overlap few: then those who overlap none need not walk.
 *
 * What a caller would say of each pair, had it been reported, is counted with them. A pair is
 * excused where the key's table was emptied between the two commits, which leaves a window of
 * commits round each. It is doubtful where the tid of either is contradicted: of those there is a
 * set of their own. When a tid that a key's crowd names is contradicted later, its pairs that were
 * certain move (iso_aion_shard_doubt), found by a table of tids that is made when that first
 * happens.
 *
 * The sets are made of the versions when they are first needed, and again after some of these went.
 * They are of this process only. A key with pairs that were only counted stays in memory while it
 * has versions that may be contradicted.
 */
#include <assert.h>

#include "aion/shard/overlap.h"
#include "aion/shard/shard_private.h"
#include "base/hash.h"
#include "base/memory.h"

enum { WASTED = 256, LEAST_SLOTS = 256 };

struct aion_overlap_count {
    struct aion_overlaps *all, *doubted;
};

bool aion_is_crowded(const struct iso_aion_shard *shard, const struct aion_key *key)
{
    return key->cold && (shard->cold.list[key->cold].crowded || aion_list_is_full(shard, key));
}

bool aion_keeps_overlap_count(const struct iso_aion_shard *shard, const struct aion_key *key)
{
    return shard->options.host.is_doubted && key->cold && shard->cold.list[key->cold].unlisted &&
           key->versions.count > 1;
}

void aion_note_overlap_count(struct iso_aion_shard *shard, struct aion_key *key, uint32_t wasted)
{
    if (wasted > (shard->options.forced.throttles_soon ? 0 : WASTED))
        aion_cold_of(shard, key)->crowded = true;
}

/* ---- what would be said of each pair ---- */

struct aion_commits aion_window_of(const struct iso_aion_shard *shard, const struct aion_key *key,
                                   uint64_t cts)
{
    struct aion_commits window = {0, UINT64_MAX};
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (shard->options.host.conflict_window) {
        const char *name = iso_atom_text(&shard->values.atoms, key->atom, buffer, &length);
        shard->options.host.conflict_window(shard->options.host.context, name, length, cts,
                                            &window.from, &window.to);
    }
    return window;
}

bool aion_is_doubted(const struct iso_aion_shard *shard, const struct aion_entry *version)
{
    uint32_t tid = shard->transactions.list[version->transaction].tid;
    return shard->options.host.is_doubted &&
           shard->options.host.is_doubted(shard->options.host.context, &shard->values.atoms, tid);
}

static bool is_judged(const struct aion_entry *version)
{
    return !(version->detail & AION_VERSION_UNJUDGED);
}

/* ---- the table of tids ---- */

static uint64_t tid_of(const struct iso_aion_shard *shard, uint32_t transaction)
{
    assert(transaction < shard->transactions.count);
    uint64_t digest =
        aion_atom_digest(&shard->values.atoms, shard->transactions.list[transaction].tid);
    return digest ? digest : 1;
}

/* The version, if it is still there. */
static const struct aion_entry *version_of(const struct iso_aion_shard *shard,
                                           const struct aion_overlap_count_writer *writer)
{
    const struct aion_key *key = &shard->keys.list[writer->key];
    struct aion_entry version = {
        .time = writer->time, .start = writer->start, .transaction = writer->transaction};
    if (key->flags & AION_KEY_FREE || !key->versions.count ||
        !shard->transactions.list[writer->transaction].references ||
        tid_of(shard, writer->transaction) != writer->tid)
        return NULL;
    struct aion_cursor cursor = aion_cursor_of_version(shard, key, &version);
    if (!aion_chunks_before(&shard->pool, &key->versions, &cursor))
        return NULL;
    const struct aion_entry *found = aion_chunks_get(&shard->pool, &key->versions, cursor);
    return found->transaction == writer->transaction ? found : NULL;
}

static bool is_same(const struct aion_overlap_count_writer *one,
                    const struct aion_overlap_count_writer *other)
{
    return one->tid == other->tid && one->time == other->time && one->start == other->start &&
           one->key == other->key && one->transaction == other->transaction;
}

/* Where it stands, or may. */
static struct aion_overlap_count_writer *
slot_of_writer(const struct aion_overlap_count_writers *writers,
               const struct aion_overlap_count_writer *writer)
{
    uint32_t slot = (uint32_t)iso_hash_number(writer->tid) & writers->mask;
    while (writers->slots[slot].tid && !is_same(&writers->slots[slot], writer))
        slot = (slot + 1) & writers->mask;
    return &writers->slots[slot];
}

/* Room for twice as many as there are; those whose version went stay behind. */
static void rebuild_writers(struct iso_aion_shard *shard)
{
    struct aion_overlap_count_writers *writers = &shard->overlap_count_writers, old = *writers;
    uint32_t left = 0, slots = LEAST_SLOTS;
    for (uint32_t i = 0; old.slots && i <= old.mask; i++) {
        if (old.slots[i].tid && !version_of(shard, &old.slots[i]))
            old.slots[i].tid = 0;
        left += old.slots[i].tid != 0;
    }
    while (slots < 4 * left)
        slots *= 2;
    writers->slots = iso_allocate_zeroed(slots, sizeof *writers->slots);
    writers->mask = slots - 1;
    writers->used = left;
    for (uint32_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].tid)
            *slot_of_writer(writers, &old.slots[i]) = old.slots[i];
    iso_free(old.slots);
}

static void add_writer(struct iso_aion_shard *shard, const struct aion_key *key,
                       const struct aion_entry *version)
{
    struct aion_overlap_count_writers *writers = &shard->overlap_count_writers;
    struct aion_overlap_count_writer writer = {.tid = tid_of(shard, version->transaction),
                                               .time = version->time,
                                               .start = version->start,
                                               .key = (uint32_t)(key - shard->keys.list),
                                               .transaction = version->transaction};
    if (!writers->slots || writers->used >= writers->mask / 4 * 3)
        rebuild_writers(shard);
    struct aion_overlap_count_writer *slot = slot_of_writer(writers, &writer);
    writers->used += !slot->tid;
    *slot = writer;
    shard->stats.steps++;
}

/* ---- the sets ---- */

void aion_overlap_count_free(struct aion_overlap_count *overlap_count)
{
    if (!overlap_count)
        return;
    aion_overlaps_free(overlap_count->all);
    aion_overlaps_free(overlap_count->doubted);
    iso_free(overlap_count);
}

static uint64_t steps_of(const struct aion_overlap_count *overlap_count)
{
    return aion_overlaps_steps(overlap_count->all) + aion_overlaps_steps(overlap_count->doubted);
}

static void add_to_overlap_count(struct iso_aion_shard *shard, const struct aion_key *key,
                                 struct aion_overlap_count *overlap_count,
                                 const struct aion_entry *version)
{
    uint64_t before = steps_of(overlap_count);
    aion_overlaps_add(overlap_count->all, version->start, version->time, is_judged(version));
    if (is_judged(version) && aion_is_doubted(shard, version))
        aion_overlaps_add(overlap_count->doubted, version->start, version->time, true);
    if (shard->overlap_count_writers.ready)
        add_writer(shard, key, version);
    shard->stats.steps += steps_of(overlap_count) - before + 1;
}

/* Whose sets are as the versions are. */
static struct aion_overlap_count *overlap_count_of(struct iso_aion_shard *shard,
                                                   const struct aion_key *key)
{
    assert(key->cold && !(key->flags & AION_KEY_FREE));
    struct aion_cold *cold = &shard->cold.list[key->cold];
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *version;
    if (cold->overlap_count && aion_overlaps_size(cold->overlap_count->all) == key->versions.count)
        return cold->overlap_count;
    aion_overlap_count_free(cold->overlap_count);
    cold->overlap_count = iso_allocate_zeroed(1, sizeof *cold->overlap_count);
    cold->overlap_count->all = aion_overlaps_new();
    cold->overlap_count->doubted = aion_overlaps_new();
    for (; (version = aion_chunks_get(&shard->pool, &key->versions, cursor));
         aion_chunks_next(&shard->pool, &key->versions, &cursor))
        add_to_overlap_count(shard, key, cold->overlap_count, version);
    return cold->overlap_count;
}

struct aion_pairs aion_count_pairs(struct iso_aion_shard *shard, struct aion_key *key,
                                   const struct aion_entry *version)
{
    struct aion_overlap_count *overlap_count = overlap_count_of(shard, key);
    struct aion_commits window = aion_window_of(shard, key, version->time);
    uint64_t before = steps_of(overlap_count), start = version->start, time = version->time;
    struct aion_pairs pairs = {
        .count = aion_overlaps_count(overlap_count->all, start, time, 0, UINT64_MAX)};
    uint64_t left = pairs.count;
    if (left && shard->options.host.conflict_window)
        left = aion_overlaps_count(overlap_count->all, start, time, window.from, window.to);
    pairs.excused = pairs.count - left;
    if (left && shard->options.host.is_doubted)
        pairs.doubtful =
            aion_is_doubted(shard, version)
                ? left
                : aion_overlaps_count(overlap_count->doubted, start, time, window.from, window.to);
    shard->stats.steps += steps_of(overlap_count) - before;
    return pairs;
}

void aion_overlap_count_add(struct iso_aion_shard *shard, const struct aion_key *key,
                            const struct aion_entry *version)
{
    struct aion_overlap_count *overlap_count =
        key->cold ? shard->cold.list[key->cold].overlap_count : NULL;
    if (overlap_count)
        add_to_overlap_count(shard, key, overlap_count, version);
}

/* Its versions stand in the table of tids from now on. */
static void index_key(struct iso_aion_shard *shard, const struct aion_key *key)
{
    struct aion_cold *cold = &shard->cold.list[key->cold];
    aion_overlap_count_free(cold->overlap_count);
    cold->overlap_count = NULL;
    overlap_count_of(shard, key);
}

/* Some pairs of the key's writers were counted, and not reported. */
void aion_note_unlisted(struct iso_aion_shard *shard, struct aion_key *key)
{
    struct aion_cold *cold = aion_cold_of(shard, key);
    if (cold->unlisted)
        return;
    cold->unlisted = true;
    if (shard->overlap_count_writers.ready)
        overlap_count_of(shard, key);
}

/* ---- contradictions ---- */

static void index_writers(struct iso_aion_shard *shard)
{
    shard->overlap_count_writers.ready = true;
    for (uint32_t i = 0; i < shard->keys.count; i++) {
        const struct aion_key *key = &shard->keys.list[i];
        const struct aion_cold *cold =
            key->flags & AION_KEY_FREE || !key->cold ? NULL : &shard->cold.list[key->cold];
        if (cold && (cold->unlisted || cold->overlap_count))
            index_key(shard, key);
    }
}

/* Number of the key's pairs that become doubtful by one of its versions. */
static uint64_t doubt_version(struct iso_aion_shard *shard, const struct aion_key *key,
                              const struct aion_entry *version)
{
    struct aion_overlap_count *overlap_count = overlap_count_of(shard, key);
    struct aion_commits window = aion_window_of(shard, key, version->time);
    uint64_t before = steps_of(overlap_count), start = version->start, time = version->time;
    uint64_t certain =
        aion_overlaps_count(overlap_count->all, start, time, window.from, window.to) -
        aion_overlaps_count(overlap_count->doubted, start, time, window.from, window.to);
    aion_overlaps_add(overlap_count->doubted, start, time, true);
    shard->stats.steps += steps_of(overlap_count) - before;
    return certain - (time >= start); /* itself */
}

/* Those of the tid, in a list of their own: the table may move while their pairs are counted. */
static struct aion_overlap_count_writer *writers_of(struct iso_aion_shard *shard, uint64_t tid,
                                                    uint32_t *count)
{
    const struct aion_overlap_count_writers *writers = &shard->overlap_count_writers;
    struct aion_overlap_count_writer *list = NULL;
    uint32_t capacity = 0;
    *count = 0;
    if (!writers->slots)
        return NULL;
    for (uint32_t slot = (uint32_t)iso_hash_number(tid) & writers->mask; writers->slots[slot].tid;
         slot = (slot + 1) & writers->mask) {
        shard->stats.steps++;
        if (writers->slots[slot].tid != tid)
            continue;
        ISO_PUSH(list, *count, capacity, writers->slots[slot]);
    }
    return list;
}

void iso_aion_shard_doubt(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom tid,
                          aion_doubted_pairs report, void *context)
{
    uint64_t digest = aion_atom_digest(atoms, tid);
    uint32_t count;
    if (!shard->options.host.is_doubted ||
        shard->options.host.is_doubted(shard->options.host.context, atoms, tid))
        return; /* its pairs have moved */
    if (!shard->overlap_count_writers.ready)
        index_writers(shard);
    struct aion_overlap_count_writer *list = writers_of(shard, digest ? digest : 1, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct aion_key *key = &shard->keys.list[list[i].key];
        const struct aion_entry *version = version_of(shard, &list[i]);
        uint64_t pairs = version && is_judged(version) ? doubt_version(shard, key, version) : 0;
        if (pairs)
            report(context, &shard->values.atoms, key->atom, pairs);
    }
    iso_free(list);
}

void aion_overlap_counts_release(struct iso_aion_shard *shard)
{
    for (uint32_t i = 1; shard->cold.list && i < shard->cold.count; i++) {
        aion_overlap_count_free(shard->cold.list[i].overlap_count);
        shard->cold.list[i].overlap_count = NULL;
    }
    iso_free(shard->overlap_count_writers.slots);
    shard->overlap_count_writers = (struct aion_overlap_count_writers){0};
}
