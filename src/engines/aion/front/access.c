/* The operations of one transaction: INT, and what they mean for the shards.
 *
 * Two passes. The first goes over the operations in their order, with a *touch* for each key: which
 * reads are external, which are internal and wrong. The second goes over the accesses and reports
 * what was written. A transaction with a few keys finds its touches by looking at all of them, one
 * with many by a small hash table.
 *
 * A plain transaction, which is nearly every one, needs no touches: INT says nothing of it, and
 * each operation is one step.
 */
#include <assert.h>
#include <string.h>

#include "aion/front/taking_private.h"
#include "base/memory.h"

#ifdef ISO_VALIDATE
enum { FEW_TOUCHES = 1 }; /* so that small histories have many, too */
#else
enum { FEW_TOUCHES = 16 };
#endif

/* ---- times ---- */

static inline bool is_lock(uint8_t kind)
{
    return (kind & (ISO_OPERATION_LOCK | ISO_OPERATION_OTS)) == ISO_OPERATION_LOCK;
}

static inline uint64_t ots_of(const struct iso_history *history, const struct aion_times *times,
                              uint32_t operation)
{
    return history->ops.kind[operation] & ISO_OPERATION_OTS ? history->ops.ots[operation]
                                                            : times->sts;
}

/* At SER, and below a lock. */
static inline uint64_t visible_below_of_commit(const struct aion_times *times)
{
    return times->point ? aion_above(times->cts) : times->cts;
}

/* The operation's ots as an exclusive bound: what lies below it is visible. */
static inline uint64_t visible_below_of(const struct iso_history *history,
                                        const struct aion_times *times, uint32_t operation)
{
    assert(!(history->ops.kind[operation] & ISO_OPERATION_SNAPSHOT));
    return is_lock(history->ops.kind[operation]) ? visible_below_of_commit(times)
                                                 : aion_above(ots_of(history, times, operation));
}

/* The last timestamp that a read sees: tells apart those at the last two of all too, whose bound is
 * the same. */
static inline uint64_t moment_of(const struct iso_boundaries *boundaries,
                                 const struct iso_history *history, const struct aion_times *times,
                                 uint32_t operation)
{
    bool exclusive = is_lock(history->ops.kind[operation]) && !times->point;
    uint64_t time =
        is_lock(history->ops.kind[operation]) ? times->cts : ots_of(history, times, operation);
    if (boundaries->is_on)
        return exclusive ? iso_boundaries_commit(boundaries, time) - 1
                         : iso_boundaries_snapshot(boundaries, time);
    return time - exclusive;
}

/* ---- steps ---- */

static struct aion_part *new_part(const struct aion_taking *taking, uint8_t shard)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    struct aion_batch *batch = &engine->shards.batch[shard];
    uint32_t t = taking->transaction;
    struct aion_part *part = aion_batch_part(batch);
    const struct aion_times *times = &taking->times;
    bool ser = engine->options.level == ISO_SER;
    *part = (struct aion_part){
        .sts = times->sts,
        .cts = times->cts,
        .origin = engine->options.host.origin_is_index ? t : history->txns.origin[t],
        .arrival = taking->arrival,
        .visible_below = ser ? visible_below_of_commit(times) : aion_above(times->sts),
        .before = ser ? times->cts : times->sts,
        .start_bound = aion_above(times->sts),
        .first_step = batch->step_count,
        .tid = history->txns.tid[t],
        .flags = taking->flags};
    batch->atoms = &history->atoms;
    engine->shards.part_of[shard] = batch->part_count;
    return part;
}

static inline struct aion_step *new_step(const struct aion_taking *taking,
                                         const struct aion_cached_key *key)
{
    assert(key->number);
    struct iso_aion *engine = taking->engine;
    struct aion_batch *batch = &engine->shards.batch[key->shard];
    uint32_t part = engine->shards.part_of[key->shard];
    (part ? &batch->parts[part - 1] : new_part(taking, key->shard))->step_count++;
    aion_batch_reserve(batch, 1);
    struct aion_step *step = &batch->steps[batch->step_count++];
    *step = (struct aion_step){.key = key->number - 1};
    return step;
}

/* ---- touches ---- */

static struct aion_access *add_access(struct iso_aion *engine, uint32_t key, bool list)
{
    ISO_GROW(engine->accesses.list, engine->accesses.count, engine->accesses.capacity);
    struct aion_access *access = &engine->accesses.list[engine->accesses.count++];
    memset(access, 0, sizeof *access);
    access->key = key;
    access->list = list;
    return access;
}

static void start_slots(struct iso_aion *engine, uint32_t operations)
{
    uint64_t slots = 64;
    while (slots < 2 * (uint64_t)operations)
        slots *= 2;
    if (slots > engine->accesses.mask + (uint64_t)1 || !engine->accesses.slots ||
        ++engine->accesses.stamp == 0) {
        slots = slots > engine->accesses.mask + (uint64_t)1 ? slots
                                                            : engine->accesses.mask + (uint64_t)1;
        iso_free(engine->accesses.slots);
        engine->accesses.slots = iso_allocate_zeroed(slots, sizeof *engine->accesses.slots);
        engine->accesses.mask = (uint32_t)(slots - 1);
        engine->accesses.stamp = 1;
    }
}

static struct aion_access *find_among_many(struct iso_aion *engine, uint32_t key, bool list)
{
    uint32_t slot = (uint32_t)iso_hash_number(key) & engine->accesses.mask;
    for (; engine->accesses.slots[slot] >> 32 == engine->accesses.stamp;
         slot = (slot + 1) & engine->accesses.mask) {
        struct aion_access *access = &engine->accesses.list[(uint32_t)engine->accesses.slots[slot]];
        if (access->key == key)
            return access;
    }
    engine->accesses.slots[slot] = (uint64_t)engine->accesses.stamp << 32 | engine->accesses.count;
    return add_access(engine, key, list);
}

static inline struct aion_access *find_access(struct iso_aion *engine, uint32_t key, bool list,
                                              bool many)
{
    if (many)
        return find_among_many(engine, key, list);
    for (uint32_t i = 0; i < engine->accesses.count; i++) {
        if (engine->accesses.list[i].key == key)
            return &engine->accesses.list[i];
    }
    return add_access(engine, key, list);
}

/* By which an operation is reported. Those of queries are named by their row, as long as that is
 * one. */
static uint32_t number_of(const struct aion_taking *taking, uint32_t operation)
{
    const struct iso_history *history = taking->history;
    if (!taking->engine->options.host.counts_steps || !history->ranges.count)
        return operation - history->txns.first_op[taking->transaction];
    const struct iso_range *set = iso_history_set_of(history, operation);
    return iso_history_step(history, taking->transaction, operation) |
           (set && set->form == ISO_SET_QUERY ? ISO_AION_OF_QUERY : 0) |
           (set && set->form == ISO_SET_RANGE ? ISO_AION_OF_RANGE : 0);
}

/* ---- INT ---- */

/* INT of a held transaction is judged at once, but where moments depend on snapshots that are still
 * to come. */
static bool judges_int(const struct aion_taking *taking)
{
    return taking->engine->deferred.boundaries.is_on == (taking->what == AION_TAKE_READS);
}

static void emit_int(const struct aion_taking *taking, struct aion_access *access,
                     uint32_t operation, struct iso_aion_value expected,
                     struct iso_aion_value actual)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    if (access->int_emitted || !judges_int(taking))
        return;
    access->int_emitted = true;
    struct iso_aion_event event = aion_event_of(engine, ISO_INT);
    event.transaction = aion_party_in(engine, taking->cache, taking->transaction);
    event.transaction.cts = taking->times.cts;
    event.key_atoms = &history->atoms;
    event.key = history->keys.atom[history->ops.key[operation]];
    event.operation = number_of(taking, operation);
    event.expected = expected;
    event.actual = actual;
    engine->stats.counts[ISO_INT]++;
    aion_emit(engine, &event);
}

/* ---- reads ---- */

/* Below SI: it is judged later (deferred.h), and then it is one of those that its transaction
 * has. */
static void hold_read(const struct aion_taking *taking, const struct aion_access *access,
                      uint32_t operation, uint32_t prefix)
{
    struct iso_aion *engine = taking->engine;
    struct aion_deferred_reads *reads = &engine->deferred.reads;
    if (taking->what != AION_TAKE_READS)
        return;
    ISO_APPEND(*reads,
               (struct aion_deferred_read){.operation = operation,
                                           .key = access->key,
                                           .access = (uint32_t)(access - engine->accesses.list),
                                           .prefix = prefix});
}

/* At rc each statement reads by itself: INT is about own writes alone. */
static bool is_at_new_moment(const struct aion_taking *taking, const struct aion_access *access,
                             uint64_t moment)
{
    return !access->read || moment != access->moment || taking->engine->options.level == ISO_RC;
}

/* A read that the shard judges. `touch->external` counts them: several of one key are one
 * instance. */
static struct aion_step *external_read(const struct aion_taking *taking, struct aion_access *access,
                                       uint32_t operation)
{
    const struct aion_cached_key *key = &taking->cache->keys[access->key];
    struct aion_batch *batch = &taking->engine->shards.batch[key->shard];
    struct aion_step *step = new_step(taking, key);
    struct aion_detail *detail = aion_batch_detail(batch, step);
    const struct aion_times *times = &taking->times;
    bool exclusive =
        taking->engine->options.level == ISO_SER || is_lock(taking->history->ops.kind[operation]);
    if (taking->engine->options.level == ISO_SER)
        detail->time = visible_below_of_commit(times);
    else
        detail->time = visible_below_of(taking->history, times, operation);
    detail->before = exclusive ? times->cts : ots_of(taking->history, times, operation);
    step->operation = number_of(taking, operation);
    if (access->external++)
        step->flags |= AION_GROUP;
    if (access->external == 1)
        access->first_step = batch->step_count - 1;
    else
        batch->steps[access->first_step].flags |= AION_GROUP;
    return step;
}

static void read_register(const struct aion_taking *taking, struct aion_access *access,
                          uint32_t operation)
{
    const struct iso_history *history = taking->history;
    uint32_t value = history->ops.value[operation];
    uint64_t moment =
        moment_of(&taking->engine->deferred.boundaries, history, &taking->times, operation);
    bool external = !access->writes && is_at_new_moment(taking, access, moment);
    if (external && taking->what != AION_TAKE_ALL) {
        hold_read(taking, access, operation, ISO_NONE);
    } else if (external) {
        struct aion_step *step = external_read(taking, access, operation);
        step->kind = AION_READ;
        step->value = value;
    } else if (value != access->last) {
        emit_int(taking, access, operation,
                 (struct iso_aion_value){&history->atoms, &access->last, 1, false},
                 (struct iso_aion_value){&history->atoms, &value, 1, false});
    }
    access->read = true;
    access->last = value;
    access->moment = moment;
}

/* Walks back over the transaction's own appends, which must end the list. */
static bool ends_with_own(const struct aion_taking *taking, const struct aion_access *access,
                          uint32_t operation, const iso_atom *elements, uint32_t *count)
{
    const struct iso_history *history = taking->history;
    for (uint32_t o = operation, left = access->writes; left; left--) {
        do
            o--;
        while (history->ops.key[o] != access->key || iso_kind_of(history, o) != ISO_APPEND);
        if (!*count || elements[*count - 1] != history->ops.value[o])
            return false;
        --*count;
    }
    return true;
}

/* A list read should have returned a prefix and the transaction's own appends. */
static void emit_list_int(const struct aion_taking *taking, struct aion_access *access,
                          uint32_t operation, uint32_t prefix_count, const iso_atom *elements,
                          uint32_t count)
{
    const struct iso_history *history = taking->history;
    if (access->int_emitted || !judges_int(taking))
        return;
    iso_atom *expected =
        iso_allocate(((size_t)prefix_count + access->writes + 1) * sizeof *expected);
    uint32_t length = prefix_count;
    if (prefix_count)
        memcpy(expected, history->lists.element + access->before, prefix_count * sizeof *expected);
    for (uint32_t o = access->first_write; access->writes && o < operation; o++) {
        if (history->ops.key[o] == access->key && iso_kind_of(history, o) == ISO_APPEND)
            expected[length++] = history->ops.value[o];
    }
    emit_int(taking, access, operation,
             (struct iso_aion_value){&history->atoms, expected, length, true},
             (struct iso_aion_value){&history->atoms, elements, count, true});
    iso_free(expected);
}

static void read_list(const struct aion_taking *taking, struct aion_access *access,
                      uint32_t operation)
{
    const struct iso_history *history = taking->history;
    bool null = iso_kind_of(history, operation) ==
                ISO_READ; /* not finished: null stands for the empty list */
    uint64_t first = null ? 0 : history->lists.first[history->ops.value[operation]];
    uint32_t count =
        null ? 0 : (uint32_t)(history->lists.first[history->ops.value[operation] + 1] - first);
    /* a block may have no elements at all */
    const iso_atom *elements = count ? history->lists.element + first : NULL;
    uint64_t moment =
        moment_of(&taking->engine->deferred.boundaries, history, &taking->times, operation);
    uint32_t prefix = count;
    bool ends_right = ends_with_own(taking, access, operation, elements, &prefix);
    bool external = ends_right && is_at_new_moment(taking, access, moment);
    if (external && taking->what != AION_TAKE_ALL) {
        hold_read(taking, access, operation, prefix);
    } else if (external) {
        struct aion_step *step = external_read(taking, access, operation);
        struct aion_batch *batch =
            &taking->engine->shards.batch[taking->cache->keys[access->key].shard];
        step->kind = AION_READ_LIST;
        batch->details[step->detail - 1].count = prefix;
        batch->details[step->detail - 1].tail = count - prefix;
        step->value = aion_batch_elements(batch, elements, count);
    } else if (!ends_right || prefix != access->before_count ||
               (prefix && memcmp(elements, history->lists.element + access->before,
                                 prefix * sizeof *elements) != 0)) {
        emit_list_int(taking, access, operation, ends_right ? access->before_count : 0, elements,
                      count);
    }
    if (!ends_right)
        return;
    access->read = true;
    access->before = first;
    access->before_count = prefix;
    access->moment = moment;
}

/* ---- writes ---- */

static void note_write(const struct aion_taking *taking, struct aion_access *access,
                       uint32_t operation)
{
    if (!access->writes++) {
        access->first_write = operation;
        if ((taking->flags & ISO_STATUS_MASK) ==
            ISO_COMMITTED) /* an aborted one may have an unplaced snapshot */
            access->start_bound = visible_below_of(taking->history, &taking->times, operation);
        access->locked = is_lock(taking->history->ops.kind[operation]);
    }
    access->last_write = operation;
    access->last = taking->history->ops.value[operation];
}

static void write_nonversion(const struct aion_taking *taking, const struct aion_access *access,
                             uint32_t operation, uint8_t flags)
{
    struct aion_step *step = new_step(taking, &taking->cache->keys[access->key]);
    step->kind = AION_NONVERSION;
    step->flags = flags;
    step->value = taking->history->ops.value[operation];
    step->operation = number_of(taking, operation);
}

/* Writes that are no version: all of a transaction that did not commit, else those that a later one
 * replaced.
 */
static void write_nonversions(const struct aion_taking *taking, const struct aion_access *access)
{
    const struct iso_history *history = taking->history;
    bool committed = (taking->flags & ISO_STATUS_MASK) == ISO_COMMITTED;
    for (uint32_t o = access->first_write; o <= access->last_write; o++) {
        if (history->ops.key[o] != access->key || !iso_kind_writes(history->ops.kind[o]))
            continue;
        bool final =
            access->list || history->ops.value[o] == history->ops.value[access->last_write];
        if (!committed)
            write_nonversion(taking, access, o, final ? AION_FINAL_VALUE : 0);
        else if (!final)
            write_nonversion(taking, access, o, AION_INTERMEDIATE);
    }
}

static void add_version(const struct aion_taking *taking, const struct aion_access *access)
{
    const struct iso_history *history = taking->history;
    const struct aion_cached_key *key = &taking->cache->keys[access->key];
    bool foreign = aion_is_foreign(taking->engine, history->txns.flags[taking->transaction]);
    struct aion_batch *batch = &taking->engine->shards.batch[key->shard];
    struct aion_step *step = new_step(taking, key);
    struct aion_detail *detail = aion_batch_detail(batch, step);
    detail->time = foreign && !(history->ops.kind[access->first_write] & ISO_OPERATION_OTS)
                       ? taking->times.cts
                       : access->start_bound;
    bool overlaps = taking->engine->options.overlaps;
    step->flags = access->locked || foreign || overlaps ? AION_UNJUDGED : 0;
    step->operation = number_of(taking, access->first_write);
    taking->engine->stats.writes_unjudged +=
        access->locked && !overlaps && taking->engine->options.level != ISO_SER;
    if (!access->list) {
        step->kind = AION_VERSION;
        step->value = history->ops.value[access->last_write];
        return;
    }
    step->kind = AION_VERSION_LIST;
    detail->count = access->writes;
    step->value = batch->element_count;
    for (uint32_t o = access->first_write; o <= access->last_write; o++) {
        if (history->ops.key[o] == access->key && iso_kind_of(history, o) == ISO_APPEND)
            aion_batch_elements(batch, &history->ops.value[o], 1);
    }
}

/* A read above the transaction's own version must not see it. */
static void mark_own(const struct aion_taking *taking, const struct aion_access *access)
{
    assert(access->external);
    struct aion_batch *batch =
        &taking->engine->shards.batch[taking->cache->keys[access->key].shard];
    for (uint32_t i = access->first_step, left = access->external; left; i++) {
        struct aion_step *step = &batch->steps[i];
        assert(i < batch->step_count);
        if (step->key != taking->cache->keys[access->key].number - 1 || step->kind > AION_READ_LIST)
            continue;
        if (batch->details[step->detail - 1].time > taking->times.cts)
            step->flags |= AION_OWN;
        left--;
    }
}

static void finish_accesses(const struct aion_taking *taking)
{
    struct iso_aion *engine = taking->engine;
    bool committed = (taking->flags & ISO_STATUS_MASK) == ISO_COMMITTED;
    for (uint32_t i = 0; i < engine->accesses.count; i++) {
        const struct aion_access *access = &engine->accesses.list[i];
        if (!access->writes)
            continue;
        if (committed && access->external)
            mark_own(taking, access);
        if (!committed || (access->writes > 1 && !access->list))
            write_nonversions(taking, access);
        if (committed)
            add_version(taking, access);
    }
}

/* ---- all of them ---- */

static void walk_operations(const struct aion_taking *taking)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    uint32_t first = history->txns.first_op[taking->transaction];
    uint32_t end = history->txns.first_op[taking->transaction + 1];
    bool committed = (taking->flags & ISO_STATUS_MASK) == ISO_COMMITTED,
         many = end - first > FEW_TOUCHES;
    bool foreign = aion_is_foreign(taking->engine, history->txns.flags[taking->transaction]);
    engine->accesses.count = 0;
    if (many)
        start_slots(engine, end - first);
    for (uint32_t o = first; o < end; o++) {
        bool writes = iso_kind_writes(history->ops.kind[o]);
        if (!writes && !committed)
            continue;
        if (!writes && foreign &&
            !(history->ops.kind[o] & (ISO_OPERATION_OTS | ISO_OPERATION_LOCK)))
            continue; /* no time to judge it at */
        bool list = taking->cache->keys[history->ops.key[o]].use & ISO_KEY_LIST;
        struct aion_access *access = find_access(engine, history->ops.key[o], list, many);
        if (writes) {
            note_write(taking, access, o);
            continue;
        }
        engine->stats.reads_judged += taking->what != AION_TAKE_READS;
        if (access->list)
            read_list(taking, access, o);
        else
            read_register(taking, access, o);
    }
}

/* Each operation becomes one step at the part's times. Returns how many are reads. */
static uint32_t plain_steps(const struct aion_taking *taking, uint32_t first, uint32_t end)
{
    const struct iso_history *history = taking->history;
    uint32_t reads = 0;
    for (uint32_t o = first; o < end; o++) {
        struct aion_step *step = new_step(taking, &taking->cache->keys[history->ops.key[o]]);
        step->kind = history->ops.kind[o] == ISO_WRITE ? AION_VERSION : AION_READ;
        step->value = history->ops.value[o];
        step->operation = o - first;
        reads += step->kind == AION_READ;
    }
    return reads;
}

/* Steps of a plain transaction where there is one shard: one part, one stretch of steps. */
static uint32_t plain_steps_alone(const struct aion_taking *taking, uint32_t first, uint32_t end)
{
    const struct iso_history *history = taking->history;
    struct aion_batch *batch = &taking->engine->shards.batch[0];
    const struct aion_cached_key *keys = taking->cache->keys;
    const uint8_t *kind = history->ops.kind;
    const uint32_t *key = history->ops.key,
                   *value = history->ops.value; /* steps are written: no reloading of these */
    uint32_t writes = 0;
    if (first == end)
        return 0;
    aion_batch_reserve(batch, end - first);
    new_part(taking, 0)->step_count = end - first;
    struct aion_step *steps = batch->steps + batch->step_count;
    for (uint32_t o = first; o < end; o++) {
        uint8_t write = kind[o] == ISO_WRITE;
        steps[o - first] = (struct aion_step){.key = keys[key[o]].number - 1,
                                              .value = value[o],
                                              .operation = o - first,
                                              .kind = write ? AION_VERSION : AION_READ};
        writes += write;
    }
    batch->step_count += end - first;
    return end - first - writes;
}

void aion_access_operations(const struct aion_taking *taking)
{
    assert(taking->what != AION_TAKE_READS);
    struct iso_aion *engine = taking->engine;
    uint32_t first = taking->history->txns.first_op[taking->transaction];
    uint32_t end = taking->history->txns.first_op[taking->transaction + 1];
    if (taking->plain && engine->shards.count == 1 && taking->what == AION_TAKE_ALL) {
        engine->stats.reads_judged += plain_steps_alone(taking, first, end);
        return;
    }
    memset(engine->shards.part_of, 0, engine->shards.count * sizeof *engine->shards.part_of);
    if (taking->plain && taking->what == AION_TAKE_ALL) {
        engine->stats.reads_judged += plain_steps(taking, first, end);
        return;
    }
    walk_operations(taking);
    finish_accesses(taking);
}

void aion_access_reads(const struct aion_taking *taking)
{
    struct aion_deferred_reads *reads = &taking->engine->deferred.reads;
    assert(taking->what == AION_TAKE_READS);
    walk_operations(taking);
    for (uint32_t i = 0; i < reads->count; i++)
        reads->list[i].has_own = taking->engine->accesses.list[reads->list[i].access].writes;
}

void aion_access_flagged(const struct aion_taking *taking, const struct aion_deferred_read *read,
                         bool is_group)
{
    assert(read->outcome == AION_DEFERRED_WRONG);
    const struct aion_cached_key *key = &taking->cache->keys[read->key];
    const struct iso_history *history = taking->history;
    struct aion_step *step = new_step(taking, key);
    struct aion_batch *batch = &taking->engine->shards.batch[key->shard];
    struct aion_detail *detail = aion_batch_detail(batch, step);
    detail->time = read->moment;
    detail->before = read->before;
    step->operation = number_of(taking, read->operation);
    step->flags = (is_group ? AION_GROUP : 0) | (read->has_own ? AION_OWN : 0);
    step->newer = read->newer;
    step->kind = AION_READ;
    step->value = history->ops.value[read->operation];
    if (read->prefix == ISO_NONE)
        return;
    bool null = iso_kind_of(history, read->operation) == ISO_READ;
    uint64_t first = null ? 0 : history->lists.first[history->ops.value[read->operation]];
    uint32_t count =
        null ? 0
             : (uint32_t)(history->lists.first[history->ops.value[read->operation] + 1] - first);
    step->kind = AION_READ_LIST;
    detail->count = read->prefix;
    detail->tail = count - read->prefix;
    step->value = aion_batch_elements(batch, count ? history->lists.element + first : NULL, count);
}
