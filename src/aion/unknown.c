/* Transactions of unknown outcome, kept whole in a history of their own until the outcome is told. */
#include <string.h>

#include "aion/engine_private.h"
#include "base/memory.h"
#include "history/copy.h"

enum { REBUILD_FROM = 1024 };

static uint32_t copy_transaction(struct iso_history *into, const struct iso_history *from, uint32_t t, uint64_t origin,
                                 uint64_t sno)
{
    bool alone = from->session[t] == ISO_NONE;
    iso_atom session = alone ? 0 : iso_atoms_copy(&into->atoms, &from->atoms, from->session_atom[from->session[t]]);
    uint32_t copy = iso_history_begin(into, iso_atoms_copy(&into->atoms, &from->atoms, from->tid[t]), session,
                                      iso_status_of(from, t), origin);
    if (alone)
        into->session[copy] = ISO_NONE;
    if (from->flags[t] & ISO_HAS_STS)
        iso_history_set_sts(into, (struct iso_stamp){.physical = from->sts[t]});
    if (from->flags[t] & ISO_HAS_CTS)
        iso_history_set_cts(into, (struct iso_stamp){.physical = from->cts[t]});
    iso_history_set_sno(into, sno);
    iso_history_copy_operations(into, from, t, true);
    return copy;
}

/* Once most of what is kept was told, the others move to a new history. */
static void rebuild(struct iso_aion *engine)
{
    struct iso_history kept;
    uint32_t count = 0;
    iso_history_init(&kept);
    for (uint32_t i = 0; i < engine->open_count; i++) {
        struct aion_held *held = &engine->open[i];
        uint32_t t = held->transaction;
        if (!held->open)
            continue;
        held->transaction = copy_transaction(&kept, &engine->held_history, t, engine->held_history.origin[t],
                                             engine->held_history.sno[t]);
        engine->open[count++] = *held;
    }
    engine->open_count = count;
    iso_history_release(&engine->held_history);
    engine->held_history = kept;
    aion_block_set(&engine->held, &engine->held_history);
}

void aion_hold(struct iso_aion *engine, const struct aion_block *block, uint32_t t, uint64_t sno)
{
    const struct iso_history *history = block->history;
    if (engine->open_count >= REBUILD_FROM && engine->held_open < engine->open_count / 4)
        rebuild(engine);
    if (engine->open_count == engine->open_capacity) {
        engine->open_capacity = engine->open_capacity ? engine->open_capacity * 2 : 16;
        engine->open = iso_reallocate(engine->open, engine->open_capacity * sizeof *engine->open);
    }
    uint64_t origin = engine->options.origin_is_index ? t : history->origin[t];
    engine->open[engine->open_count++] =
        (struct aion_held){.tid = aion_tid_digest(history, t),
                           .transaction = copy_transaction(&engine->held_history, history, t, origin, sno),
                           .open = true};
    engine->held_open++;
}

static bool same_tid(const struct iso_aion *engine, const struct aion_held *held, const struct iso_atoms *atoms,
                     iso_atom tid)
{
    const struct iso_history *history = &engine->held_history;
    char left[ISO_ATOM_TEXT_MAX], right[ISO_ATOM_TEXT_MAX];
    size_t left_length, right_length;
    const char *one = iso_atom_text(&history->atoms, history->tid[held->transaction], left, &left_length);
    const char *other = iso_atom_text(atoms, tid, right, &right_length);
    return left_length == right_length && memcmp(one, other, left_length) == 0;
}

static struct aion_held *find(struct iso_aion *engine, const struct iso_atoms *atoms, iso_atom tid)
{
    uint64_t digest = aion_atom_digest(atoms, tid);
    for (uint32_t i = 0; i < engine->open_count; i++) {
        struct aion_held *held = &engine->open[i];
        if (held->open && held->tid == (digest ? digest : 1) && same_tid(engine, held, atoms, tid))
            return held;
    }
    return NULL;
}

/* That they are known would be a trace of the past that no archive has. */
static void forget_keys_of(struct iso_aion *engine, uint32_t t)
{
    const struct iso_history *history = &engine->held_history;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        if (history->key[o] < engine->held.key_count)
            engine->held.keys[history->key[o]] = (struct aion_block_key){0};
    }
}

bool iso_aion_resolve(struct iso_aion *engine, const struct iso_atoms *atoms, iso_atom tid, bool committed,
                      uint64_t cts, uint64_t now)
{
    struct iso_history *history = &engine->held_history;
    struct aion_held *held = find(engine, atoms, tid);
    struct iso_error error = {.status = ISO_OK};
    if (!held)
        return false;
    uint32_t t = held->transaction;
    bool old_index = engine->options.origin_is_index;
    engine->now = now > engine->now ? now : engine->now;
    held->open = false;
    engine->held_open--;
    history->flags[t] = (uint8_t)((history->flags[t] & ~ISO_STATUS_MASK) | (committed ? ISO_COMMITTED : ISO_ABORTED));
    if (committed) {
        history->flags[t] |= ISO_HAS_CTS;
        history->cts[t] = cts;
    }
    engine->options.origin_is_index = false; /* the copy's origin already is what events are to carry */
    struct aion_accepted accepted;
    enum iso_status status = aion_accept(engine, &engine->held, t, true, &accepted, &error);
    if (status == ISO_OK)
        aion_take(engine, &engine->held, &accepted, engine->now);
    aion_forget_unknown(engine, &engine->held, t, engine->now);
    forget_keys_of(engine, t);
    engine->stats.unknown--;
    aion_run_batches(engine, true);
    engine->options.origin_is_index = old_index;
    aion_spill(engine);
    return status == ISO_OK;
}

void aion_held_release(struct iso_aion *engine)
{
    aion_block_release(&engine->held);
    iso_history_release(&engine->held_history);
    iso_free(engine->open);
}
