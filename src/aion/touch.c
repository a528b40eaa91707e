/* The operations of one transaction: INT, and what they mean for the shards.
 *
 * Two passes. The first goes over the operations in their order, with a *touch* for each key: which reads are
 * external, which are internal and wrong. The second goes over the touches and tells what was written. A
 * transaction with a few keys finds its touches by looking at all of them, one with many by a small hash
 * table.
 *
 * A plain transaction, which is nearly every one, needs no touches: INT says nothing of it, and each
 * operation is one step.
 */
#include <assert.h>
#include <string.h>

#include "aion/front_private.h"
#include "base/memory.h"

enum { FEW_TOUCHES = 16 };

/* ---- times ---- */

static inline bool is_lock(uint8_t kind)
{
    return (kind & (ISO_OPERATION_LOCK | ISO_OPERATION_OTS)) == ISO_OPERATION_LOCK;
}

static inline uint64_t ots_of(const struct iso_history *history, const struct aion_times *times, uint32_t operation)
{
    return history->kind[operation] & ISO_OPERATION_OTS ? history->ots[operation] : times->sts;
}

/* At SER, and below a lock. */
static inline uint64_t bound_of_commit(const struct aion_times *times)
{
    return times->point ? aion_above(times->cts) : times->cts;
}

/* The operation's ots as an exclusive bound: what lies below it is visible. */
static inline uint64_t bound_of(const struct iso_history *history, const struct aion_times *times, uint32_t operation)
{
    assert(!(history->kind[operation] & ISO_OPERATION_SNAPSHOT));
    return is_lock(history->kind[operation]) ? bound_of_commit(times) : aion_above(ots_of(history, times, operation));
}

/* The last timestamp that a read sees: tells apart those at the last two of all too, whose bound is the same. */
static inline uint64_t moment_of(const struct iso_history *history, const struct aion_times *times, uint32_t operation)
{
    bool exclusive = is_lock(history->kind[operation]) && !times->point;
    uint64_t time = is_lock(history->kind[operation]) ? times->cts : ots_of(history, times, operation);
    return time - exclusive;
}

/* ---- steps ---- */

static struct aion_part *new_part(const struct aion_taking *taking, uint8_t shard)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    struct aion_batch *batch = &engine->batch[shard];
    uint32_t t = taking->transaction;
    struct aion_part *part = aion_batch_part(batch);
    const struct aion_times *times = &taking->times;
    bool ser = engine->options.level == ISO_SER;
    *part = (struct aion_part){.sts = times->sts,
                               .cts = times->cts,
                               .origin = engine->options.origin_is_index ? t : history->origin[t],
                               .arrival = taking->arrival,
                               .bound = ser ? bound_of_commit(times) : aion_above(times->sts),
                               .before = ser ? times->cts : times->sts,
                               .opened = aion_above(times->sts),
                               .first_step = batch->step_count,
                               .tid = history->tid[t],
                               .flags = taking->flags};
    batch->atoms = &history->atoms;
    engine->part_of[shard] = batch->part_count;
    return part;
}

static inline struct aion_step *new_step(const struct aion_taking *taking, const struct aion_block_key *key)
{
    struct iso_aion *engine = taking->engine;
    struct aion_batch *batch = &engine->batch[key->shard];
    uint32_t part = engine->part_of[key->shard];
    (part ? &batch->parts[part - 1] : new_part(taking, key->shard))->step_count++;
    aion_batch_reserve(batch, 1);
    struct aion_step *step = &batch->steps[batch->step_count++];
    *step = (struct aion_step){.key = key->number - 1};
    return step;
}

/* ---- touches ---- */

static struct aion_touch *add_touch(struct iso_aion *engine, uint32_t key, bool list)
{
    if (engine->touch_count == engine->touch_capacity) {
        engine->touch_capacity = engine->touch_capacity ? engine->touch_capacity * 2 : 64;
        engine->touches = iso_reallocate(engine->touches, engine->touch_capacity * sizeof *engine->touches);
    }
    struct aion_touch *touch = &engine->touches[engine->touch_count++];
    memset(touch, 0, sizeof *touch);
    touch->key = key;
    touch->list = list;
    return touch;
}

static void start_slots(struct iso_aion *engine, uint32_t operations)
{
    uint64_t slots = 64;
    while (slots < 2 * (uint64_t)operations)
        slots *= 2;
    if (slots > engine->touch_mask + (uint64_t)1 || !engine->touch_slots || ++engine->touch_stamp == 0) {
        slots = slots > engine->touch_mask + (uint64_t)1 ? slots : engine->touch_mask + (uint64_t)1;
        iso_free(engine->touch_slots);
        engine->touch_slots = iso_allocate_zeroed(slots, sizeof *engine->touch_slots);
        engine->touch_mask = (uint32_t)(slots - 1);
        engine->touch_stamp = 1;
    }
}

static struct aion_touch *find_among_many(struct iso_aion *engine, uint32_t key, bool list)
{
    uint32_t slot = (uint32_t)aion_mix(key) & engine->touch_mask;
    for (; engine->touch_slots[slot] >> 32 == engine->touch_stamp; slot = (slot + 1) & engine->touch_mask) {
        struct aion_touch *touch = &engine->touches[(uint32_t)engine->touch_slots[slot]];
        if (touch->key == key)
            return touch;
    }
    engine->touch_slots[slot] = (uint64_t)engine->touch_stamp << 32 | engine->touch_count;
    return add_touch(engine, key, list);
}

static inline struct aion_touch *find_touch(struct iso_aion *engine, uint32_t key, bool list, bool many)
{
    if (many)
        return find_among_many(engine, key, list);
    for (uint32_t i = 0; i < engine->touch_count; i++) {
        if (engine->touches[i].key == key)
            return &engine->touches[i];
    }
    return add_touch(engine, key, list);
}

/* ---- INT ---- */

static void tell_int(const struct aion_taking *taking, struct aion_touch *touch, uint32_t operation,
                     struct iso_aion_value expected, struct iso_aion_value actual)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    if (touch->int_told)
        return;
    touch->int_told = true;
    struct iso_aion_event event = aion_event_of(engine, ISO_INT);
    event.transaction = aion_party_in(engine, taking->block, taking->transaction);
    event.transaction.cts = taking->times.cts;
    event.key_atoms = &history->atoms;
    event.key = history->key_atom[history->key[operation]];
    event.operation = operation - history->first_operation[taking->transaction];
    event.expected = expected;
    event.actual = actual;
    engine->stats.counts[ISO_INT]++;
    aion_emit(engine, &event);
}

/* ---- reads ---- */

/* A read that the shard judges. `touch->external` counts them: several of one key are one instance. */
static struct aion_step *external_read(const struct aion_taking *taking, struct aion_touch *touch, uint32_t operation)
{
    const struct aion_block_key *key = &taking->block->keys[touch->key];
    struct aion_batch *batch = &taking->engine->batch[key->shard];
    struct aion_step *step = new_step(taking, key);
    struct aion_detail *detail = aion_batch_detail(batch, step);
    const struct aion_times *times = &taking->times;
    bool exclusive = taking->engine->options.level == ISO_SER || is_lock(taking->history->kind[operation]);
    if (taking->engine->options.level == ISO_SER)
        detail->time = bound_of_commit(times);
    else
        detail->time = bound_of(taking->history, times, operation);
    detail->before = exclusive ? times->cts : ots_of(taking->history, times, operation);
    step->operation = operation - taking->history->first_operation[taking->transaction];
    if (touch->external++)
        step->flags |= AION_GROUP;
    if (touch->external == 1)
        touch->first_step = batch->step_count - 1;
    else
        batch->steps[touch->first_step].flags |= AION_GROUP;
    return step;
}

static void read_register(const struct aion_taking *taking, struct aion_touch *touch, uint32_t operation)
{
    const struct iso_history *history = taking->history;
    uint32_t value = history->value[operation];
    uint64_t moment = moment_of(history, &taking->times, operation);
    if (!touch->writes && (!touch->read || moment != touch->moment)) {
        struct aion_step *step = external_read(taking, touch, operation);
        step->kind = AION_READ;
        step->value = value;
    } else if (value != touch->last) {
        tell_int(taking, touch, operation, (struct iso_aion_value){&history->atoms, &touch->last, 1, false},
                 (struct iso_aion_value){&history->atoms, &value, 1, false});
    }
    touch->read = true;
    touch->last = value;
    touch->moment = moment;
}

/* Walks back over the transaction's own appends, which must end the list. */
static bool ends_with_own(const struct aion_taking *taking, const struct aion_touch *touch, uint32_t operation,
                          const iso_atom *elements, uint32_t *count)
{
    const struct iso_history *history = taking->history;
    for (uint32_t o = operation, left = touch->writes; left; left--) {
        do
            o--;
        while (history->key[o] != touch->key || iso_kind_of(history, o) != ISO_APPEND);
        if (!*count || elements[*count - 1] != history->value[o])
            return false;
        --*count;
    }
    return true;
}

/* What a list read should have returned: a prefix and the transaction's own appends. */
static void tell_list_int(const struct aion_taking *taking, struct aion_touch *touch, uint32_t operation,
                          uint32_t prefix_count, const iso_atom *elements, uint32_t count)
{
    const struct iso_history *history = taking->history;
    if (touch->int_told)
        return;
    iso_atom *expected = iso_allocate(((size_t)prefix_count + touch->writes + 1) * sizeof *expected);
    uint32_t length = prefix_count;
    if (prefix_count)
        memcpy(expected, history->element + touch->before, prefix_count * sizeof *expected);
    for (uint32_t o = touch->first_write; touch->writes && o < operation; o++) {
        if (history->key[o] == touch->key && iso_kind_of(history, o) == ISO_APPEND)
            expected[length++] = history->value[o];
    }
    tell_int(taking, touch, operation, (struct iso_aion_value){&history->atoms, expected, length, true},
             (struct iso_aion_value){&history->atoms, elements, count, true});
    iso_free(expected);
}

static void read_list(const struct aion_taking *taking, struct aion_touch *touch, uint32_t operation)
{
    const struct iso_history *history = taking->history;
    bool null = iso_kind_of(history, operation) == ISO_READ; /* not finished: null stands for the empty list */
    uint64_t first = null ? 0 : history->list_first[history->value[operation]];
    uint32_t count = null ? 0 : (uint32_t)(history->list_first[history->value[operation] + 1] - first);
    const iso_atom *elements = count ? history->element + first : NULL; /* a block may have no elements at all */
    uint64_t moment = moment_of(history, &taking->times, operation);
    uint32_t prefix = count;
    bool ends_right = ends_with_own(taking, touch, operation, elements, &prefix);
    if (ends_right && (!touch->read || moment != touch->moment)) {
        struct aion_step *step = external_read(taking, touch, operation);
        struct aion_batch *batch = &taking->engine->batch[taking->block->keys[touch->key].shard];
        step->kind = AION_READ_LIST;
        batch->details[step->detail - 1].count = prefix;
        batch->details[step->detail - 1].tail = count - prefix;
        step->value = aion_batch_elements(batch, elements, count);
    } else if (!ends_right || prefix != touch->before_count ||
               (prefix && memcmp(elements, history->element + touch->before, prefix * sizeof *elements) != 0)) {
        tell_list_int(taking, touch, operation, ends_right ? touch->before_count : 0, elements, count);
    }
    if (!ends_right)
        return;
    touch->read = true;
    touch->before = first;
    touch->before_count = prefix;
    touch->moment = moment;
}

/* ---- writes ---- */

static void note_write(const struct aion_taking *taking, struct aion_touch *touch, uint32_t operation)
{
    if (!touch->writes++) {
        touch->first_write = operation;
        if ((taking->flags & ISO_STATUS_MASK) == ISO_COMMITTED) /* an aborted one may have an unplaced snapshot */
            touch->opened = bound_of(taking->history, &taking->times, operation);
        touch->locked = is_lock(taking->history->kind[operation]);
    }
    touch->last_write = operation;
    touch->last = taking->history->value[operation];
}

static void spare_write(const struct aion_taking *taking, const struct aion_touch *touch, uint32_t operation,
                        uint8_t flags)
{
    struct aion_step *step = new_step(taking, &taking->block->keys[touch->key]);
    step->kind = AION_SPARE;
    step->flags = flags;
    step->value = taking->history->value[operation];
    step->operation = operation - taking->history->first_operation[taking->transaction];
}

/* Writes that are no version: all of a transaction that did not commit, else those that a later one replaced.
 */
static void spare_writes(const struct aion_taking *taking, const struct aion_touch *touch)
{
    const struct iso_history *history = taking->history;
    bool committed = (taking->flags & ISO_STATUS_MASK) == ISO_COMMITTED;
    for (uint32_t o = touch->first_write; o <= touch->last_write; o++) {
        if (history->key[o] != touch->key || !iso_kind_writes(history->kind[o]))
            continue;
        bool final = touch->list || history->value[o] == history->value[touch->last_write];
        if (!committed)
            spare_write(taking, touch, o, final ? AION_FINAL_VALUE : 0);
        else if (!final)
            spare_write(taking, touch, o, AION_INTERMEDIATE);
    }
}

static void version(const struct aion_taking *taking, const struct aion_touch *touch)
{
    const struct iso_history *history = taking->history;
    const struct aion_block_key *key = &taking->block->keys[touch->key];
    bool foreign = aion_is_foreign(taking->engine, history->flags[taking->transaction]);
    struct aion_batch *batch = &taking->engine->batch[key->shard];
    struct aion_step *step = new_step(taking, key);
    struct aion_detail *detail = aion_batch_detail(batch, step);
    detail->time =
        foreign && !(history->kind[touch->first_write] & ISO_OPERATION_OTS) ? taking->times.cts : touch->opened;
    step->flags = touch->locked || foreign ? AION_UNJUDGED : 0;
    step->operation = touch->first_write - history->first_operation[taking->transaction];
    taking->engine->stats.writes_unjudged += touch->locked && taking->engine->options.level == ISO_SI;
    if (!touch->list) {
        step->kind = AION_VERSION;
        step->value = history->value[touch->last_write];
        return;
    }
    step->kind = AION_VERSION_LIST;
    detail->count = touch->writes;
    step->value = batch->element_count;
    for (uint32_t o = touch->first_write; o <= touch->last_write; o++) {
        if (history->key[o] == touch->key && iso_kind_of(history, o) == ISO_APPEND)
            aion_batch_elements(batch, &history->value[o], 1);
    }
}

/* A read above the transaction's own version must not see it. */
static void mark_own(const struct aion_taking *taking, const struct aion_touch *touch)
{
    struct aion_batch *batch = &taking->engine->batch[taking->block->keys[touch->key].shard];
    for (uint32_t i = touch->first_step, left = touch->external; left; i++) {
        struct aion_step *step = &batch->steps[i];
        if (step->key != taking->block->keys[touch->key].number - 1 || step->kind > AION_READ_LIST)
            continue;
        if (batch->details[step->detail - 1].time > taking->times.cts)
            step->flags |= AION_OWN;
        left--;
    }
}

static void finish_touches(const struct aion_taking *taking)
{
    struct iso_aion *engine = taking->engine;
    bool committed = (taking->flags & ISO_STATUS_MASK) == ISO_COMMITTED;
    for (uint32_t i = 0; i < engine->touch_count; i++) {
        const struct aion_touch *touch = &engine->touches[i];
        if (!touch->writes)
            continue;
        if (committed && touch->external)
            mark_own(taking, touch);
        if (!committed || (touch->writes > 1 && !touch->list))
            spare_writes(taking, touch);
        if (committed)
            version(taking, touch);
    }
}

/* ---- all of them ---- */

static void walk_operations(const struct aion_taking *taking)
{
    struct iso_aion *engine = taking->engine;
    const struct iso_history *history = taking->history;
    uint32_t first = history->first_operation[taking->transaction];
    uint32_t end = history->first_operation[taking->transaction + 1];
    bool committed = (taking->flags & ISO_STATUS_MASK) == ISO_COMMITTED, many = end - first > FEW_TOUCHES;
    bool foreign = aion_is_foreign(taking->engine, history->flags[taking->transaction]);
    engine->touch_count = 0;
    if (many)
        start_slots(engine, end - first);
    for (uint32_t o = first; o < end; o++) {
        bool writes = iso_kind_writes(history->kind[o]);
        if (!writes && !committed)
            continue;
        if (!writes && foreign && !(history->kind[o] & (ISO_OPERATION_OTS | ISO_OPERATION_LOCK)))
            continue; /* no time to judge it at */
        bool list = taking->block->keys[history->key[o]].use & ISO_KEY_LIST;
        struct aion_touch *touch = find_touch(engine, history->key[o], list, many);
        if (writes) {
            note_write(taking, touch, o);
            continue;
        }
        engine->stats.reads_judged++;
        if (touch->list)
            read_list(taking, touch, o);
        else
            read_register(taking, touch, o);
    }
}

/* Each operation becomes one step at the part's times. Returns how many are reads. */
static uint32_t plain_steps(const struct aion_taking *taking, uint32_t first, uint32_t end)
{
    const struct iso_history *history = taking->history;
    uint32_t reads = 0;
    for (uint32_t o = first; o < end; o++) {
        struct aion_step *step = new_step(taking, &taking->block->keys[history->key[o]]);
        step->kind = history->kind[o] == ISO_WRITE ? AION_VERSION : AION_READ;
        step->value = history->value[o];
        step->operation = o - first;
        reads += step->kind == AION_READ;
    }
    return reads;
}

/* The same where there is one shard: one part, one stretch of steps. */
static uint32_t plain_steps_alone(const struct aion_taking *taking, uint32_t first, uint32_t end)
{
    const struct iso_history *history = taking->history;
    struct aion_batch *batch = &taking->engine->batch[0];
    const struct aion_block_key *keys = taking->block->keys;
    const uint8_t *kind = history->kind;
    const uint32_t *key = history->key, *value = history->value; /* steps are written: no reloading of these */
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

void aion_touch_operations(const struct aion_taking *taking)
{
    struct iso_aion *engine = taking->engine;
    uint32_t first = taking->history->first_operation[taking->transaction];
    uint32_t end = taking->history->first_operation[taking->transaction + 1];
    if (taking->plain && engine->shards == 1) {
        engine->stats.reads_judged += plain_steps_alone(taking, first, end);
        return;
    }
    memset(engine->part_of, 0, engine->shards * sizeof *engine->part_of);
    if (taking->plain) {
        engine->stats.reads_judged += plain_steps(taking, first, end);
        return;
    }
    walk_operations(taking);
    finish_touches(taking);
}
