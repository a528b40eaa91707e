/* Transactions of unknown outcome, kept whole in a history of their own until the outcome is
 * reported. */
#include <assert.h>
#include <string.h>

#include "aion/state_private.h"
#include "base/hash.h"
#include "base/memory.h"
#include "history/copy.h"

/* STEPS: of the hand, for one that is kept. */
#ifdef ISO_VALIDATE
enum { REBUILD_FROM = 4, STEPS = 2, AGE_BATCH = 2 }; /* so that small histories do it, too */
#else
enum { REBUILD_FROM = 1024, STEPS = 2, AGE_BATCH = 256 };
#endif

/* ---- by tid ---- */

/* Transactions whose outcome was reported stay in the index until it is made anew. */
static void index_open(struct iso_aion *engine, uint32_t index)
{
    iso_index_add(&engine->unknown.by_tid, iso_hash_number(engine->unknown.list[index].tid), index);
    engine->stats.steps++;
}

void aion_unknown_index(struct iso_aion *engine)
{
    iso_index_release(&engine->unknown.by_tid);
    for (uint32_t i = 0; i < engine->unknown.count; i++)
        index_open(engine, i);
}

/* ---- keeping them ---- */

uint32_t aion_copy_transaction(struct iso_history *into, const struct iso_history *from, uint32_t t,
                               uint64_t origin, uint64_t sno)
{
    assert(into != from);
    uint32_t copy = iso_history_copy_begin(into, from, t, origin);
    if (from->txns.flags[t] & ISO_HAS_STS)
        iso_history_set_sts(into, (struct iso_stamp){.physical = from->txns.sts[t]});
    if (from->txns.flags[t] & ISO_HAS_CTS)
        iso_history_set_cts(into, (struct iso_stamp){.physical = from->txns.cts[t]});
    iso_history_set_sno(into, sno);
    iso_history_copy_operations(into, from, t, true);
    return copy;
}

/* Once most of what is kept was reported, the others move to a new history. */
static void rebuild_history(struct iso_aion *engine)
{
    struct iso_history kept;
    uint32_t count = 0;
    iso_history_init(&kept);
    for (uint32_t i = 0; i < engine->unknown.count; i++) {
        struct aion_unknown *unknown = &engine->unknown.list[i];
        uint32_t t = unknown->transaction;
        if (!unknown->open)
            continue;
        unknown->transaction = aion_copy_transaction(&kept, &engine->unknown.history, t,
                                                     engine->unknown.history.txns.origin[t],
                                                     engine->unknown.history.txns.sno[t]);
        engine->unknown.list[count++] = *unknown;
    }
    assert(count == engine->unknown.open);
    engine->unknown.count = count;
    iso_history_release(&engine->unknown.history);
    engine->unknown.history = kept;
    aion_key_cache_set(&engine->unknown.cache, &engine->unknown.history);
    aion_unknown_index(engine);
}

void aion_unknown_add(struct iso_aion *engine, const struct aion_key_cache *cache, uint32_t t,
                      uint64_t sno)
{
    assert(iso_status_of(cache->history, t) == ISO_UNKNOWN);
    const struct iso_history *history = cache->history;
    if (engine->unknown.count >= REBUILD_FROM && engine->unknown.open < engine->unknown.count / 4)
        rebuild_history(engine);
    ISO_GROW(engine->unknown.list, engine->unknown.count, engine->unknown.capacity);
    uint64_t origin = engine->options.host.origin_is_index ? t : history->txns.origin[t];
    uint64_t time =
        history->txns.flags[t] & ISO_HAS_STS ? history->txns.sts[t] : aion_recent(engine);
    engine->unknown.list[engine->unknown.count++] = (struct aion_unknown){
        .tid = aion_tid_digest(history, t),
        .time = time,
        .transaction = aion_copy_transaction(&engine->unknown.history, history, t, origin, sno),
        .open = true};
    index_open(engine, engine->unknown.count - 1);
    engine->unknown.open++;
    engine->unknown.due += STEPS;
}

static bool same_tid(const struct iso_aion *engine, const struct aion_unknown *unknown,
                     const struct iso_atoms *atoms, iso_atom tid)
{
    const struct iso_history *history = &engine->unknown.history;
    char left[ISO_ATOM_TEXT_MAX], right[ISO_ATOM_TEXT_MAX];
    size_t left_length, right_length;
    const char *one =
        iso_atom_text(&history->atoms, history->txns.tid[unknown->transaction], left, &left_length);
    const char *other = iso_atom_text(atoms, tid, right, &right_length);
    return left_length == right_length && memcmp(one, other, left_length) == 0;
}

/* Where several of the tid are open, the one that came first. */
static struct aion_unknown *find_open(struct iso_aion *engine, const struct iso_atoms *atoms,
                                      iso_atom tid)
{
    uint64_t digest = aion_atom_digest(atoms, tid);
    digest = digest ? digest : 1;
    uint64_t hash = iso_hash_number(digest);
    uint32_t at = iso_index_home(hash), index, first = UINT32_MAX;
    for (; iso_index_next(&engine->unknown.by_tid, &at, hash, &index); at++) {
        const struct aion_unknown *unknown = &engine->unknown.list[index];
        engine->stats.steps++;
        if (index < first && unknown->open && unknown->tid == digest &&
            same_tid(engine, unknown, atoms, tid))
            first = index;
    }
    return first == UINT32_MAX ? NULL : &engine->unknown.list[first];
}

/* Archives do not have the cached keys, so an engine that was not restored must not, either. */
static void forget_keys_of(struct iso_aion *engine, uint32_t t)
{
    const struct iso_history *history = &engine->unknown.history;
    ISO_EACH(o, history->txns.first_op, t) {
        if (history->ops.key[o] < engine->unknown.cache.key_count)
            engine->unknown.cache.keys[history->ops.key[o]] = (struct aion_cached_key){0};
    }
}

bool iso_aion_resolve(struct iso_aion *engine, const struct iso_atoms *atoms, iso_atom tid,
                      bool committed, uint64_t cts, uint64_t now)
{
    struct iso_history *history = &engine->unknown.history;
    struct aion_unknown *unknown = find_open(engine, atoms, tid);
    struct iso_error error = {.status = ISO_OK};
    if (!unknown) {
        engine->stats.outcomes_lost += engine->stats.aged_unknown && committed;
        return false;
    }
    uint32_t t = unknown->transaction;
    bool old_index = engine->options.host.origin_is_index;
    engine->time.now = now > engine->time.now ? now : engine->time.now;
    unknown->open = false;
    engine->unknown.open--;
    history->txns.flags[t] = (uint8_t)((history->txns.flags[t] & ~ISO_STATUS_MASK) |
                                       (committed ? ISO_COMMITTED : ISO_ABORTED));
    if (committed) {
        history->txns.flags[t] |= ISO_HAS_CTS;
        history->txns.cts[t] = cts;
    }
    /* the copy's origin already is what events are to carry */
    engine->options.host.origin_is_index = false;
    struct aion_accepted accepted;
    enum iso_status status =
        aion_accept(engine, &engine->unknown.cache, t, true, &accepted, &error);
    if (status == ISO_OK)
        aion_take(engine, &engine->unknown.cache, &accepted, engine->time.now);
    aion_forget_unknown(engine, &engine->unknown.cache, t);
    forget_keys_of(engine, t);
    engine->stats.unknown--;
    aion_run_task(engine, (struct aion_task){.what = AION_APPLY, .emit = true});
    engine->options.host.origin_is_index = old_index;
    aion_spill(engine);
    aion_engine_validate(engine);
    return status == ISO_OK;
}

/* ---- those whose outcome nobody reported ---- */

/* Nothing that is still to come starts so far back, so the transaction has ended. Its keys may have
 * what it wrote: that alone is kept. */
static void age_unknown(struct iso_aion *engine, struct aion_unknown *unknown, uint64_t until)
{
    assert(unknown->open && engine->unknown.open);
    const struct iso_history *history = &engine->unknown.history;
    uint32_t t = unknown->transaction;
    unknown->open = false;
    engine->unknown.open--;
    engine->stats.aged_unknown++;
    ISO_EACH(o, history->txns.first_op, t)
        aion_cached_key(engine, &engine->unknown.cache, history->ops.key[o]);
    aion_age_unknown(engine, &engine->unknown.cache, t,
                     history->txns.flags[t] & ISO_HAS_STS ? until : UINT64_MAX);
    forget_keys_of(engine, t);
}

/* When a transaction of unknown outcome had ended that started below the floor: by now, or soon. */
static uint64_t ended_by(const struct iso_aion *engine)
{
    uint64_t reached = engine->time.limit > engine->time.expired ? engine->time.limit
                                                                 : engine->time.expired,
             last = aion_recent(engine);
    assert(engine->time.floor <= reached);
    uint64_t kept = reached - engine->time.floor;
    reached = last > reached ? last : reached;
    return reached > UINT64_MAX - kept ? UINT64_MAX : reached + kept;
}

/* Up to `count` of them are looked at, and those that started below `floor` go. */
static void age_some(struct iso_aion *engine, uint64_t floor, uint64_t until, uint64_t count)
{
    uint32_t aged = 0;
    for (; count; count--) {
        engine->unknown.clock_hand = engine->unknown.clock_hand + 1 < engine->unknown.count
                                         ? engine->unknown.clock_hand + 1
                                         : 0;
        struct aion_unknown *unknown = &engine->unknown.list[engine->unknown.clock_hand];
        if (!unknown->open || unknown->time >= floor)
            continue;
        age_unknown(engine, unknown, until);
        if (++aged % AGE_BATCH == 0)
            aion_run_task(engine, (struct aion_task){.what = AION_APPLY});
    }
    if (aged)
        aion_run_task(engine, (struct aion_task){.what = AION_APPLY, .emit = true});
    if (engine->unknown.count >= REBUILD_FROM && engine->unknown.open < engine->unknown.count / 4)
        rebuild_history(engine);
}

void aion_unknown_sweep(struct iso_aion *engine)
{
    uint64_t steps =
        engine->unknown.due < engine->unknown.count ? engine->unknown.due : engine->unknown.count;
    engine->unknown.due = 0;
    if (engine->time.floor)
        age_some(engine, engine->time.floor, ended_by(engine), steps);
}

void aion_unknown_trim(struct iso_aion *engine, uint64_t floor)
{
    age_some(engine, floor, ended_by(engine), engine->unknown.count);
}

void aion_unknown_release(struct iso_aion *engine)
{
    aion_key_cache_release(&engine->unknown.cache);
    iso_history_release(&engine->unknown.history);
    iso_free(engine->unknown.list);
    iso_index_release(&engine->unknown.by_tid);
}
