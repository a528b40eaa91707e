#include "history/copy.h"

#include <assert.h>

#include "history/history_private.h"
#include "history/snapshot.h"

static uint32_t copy_list(struct iso_history *into, const struct iso_history *from, uint32_t list)
{
    uint32_t copy = iso_history_list(into);
    for (uint64_t i = from->lists.first[list]; i < from->lists.first[list + 1]; i++)
        iso_history_element(into,
                            iso_atoms_copy(&into->atoms, &from->atoms, from->lists.element[i]));
    return copy;
}

void iso_history_copy_moment(struct iso_history *into, const struct iso_history *from, uint32_t o)
{
    if (from->ops.kind[o] & ISO_OPERATION_SNAPSHOT)
        iso_history_set_operation_snapshot(
            into, iso_snapshot_copy(into, from, (uint32_t)from->ops.ots[o]));
    else if (from->ops.kind[o] & ISO_OPERATION_OTS)
        iso_history_set_ots(into, (struct iso_stamp){.physical = from->ops.ots[o]});
    if (from->ops.kind[o] & ISO_OPERATION_LOCK)
        iso_history_set_lock(into);
}

/* A range keeps its time: reads are made of it once all keys are known. */
static void copy_range_moment(struct iso_history *into, const struct iso_history *from,
                              struct iso_range *range, bool timed)
{
    range->kind = timed && range->form == ISO_SET_RANGE ? range->kind : 0;
    if (range->kind & ISO_OPERATION_SNAPSHOT)
        range->ots = iso_snapshot_copy(into, from, (uint32_t)range->ots);
}

static struct iso_range *add_set(struct iso_history *into, const struct iso_history *from,
                                 const struct iso_range *set, bool timed)
{
    struct iso_range copy = *set;
    copy.from = iso_atoms_copy(&into->atoms, &from->atoms, set->from);
    copy.to = iso_atoms_copy(&into->atoms, &from->atoms, set->to);
    copy.table = iso_atoms_copy(&into->atoms, &from->atoms, set->table);
    copy.where = iso_atoms_copy(&into->atoms, &from->atoms, set->where);
    copy.returned = iso_atoms_copy(&into->atoms, &from->atoms, set->returned);
    copy_range_moment(into, from, &copy, timed);
    iso_history_range(into, &copy, 0);
    return &into->ranges.list[into->ranges.count - 1];
}

/* The set that the operation belongs to goes with it: whole, if all of its operations are copied
 * one after the other. */
static void copy_set(struct iso_history *into, const struct iso_history *from, uint32_t o,
                     bool timed)
{
    const struct iso_range *found = iso_history_set_of(from, o);
    uint32_t transaction = into->txns.count - 1,
             at = into->ops.count - into->txns.first_op[transaction];
    if (!found)
        return;
    struct iso_range set = *found,
                     *last = into->ranges.count ? &into->ranges.list[into->ranges.count - 1] : NULL;
    uint32_t inside = o - from->txns.first_op[set.transaction] - set.first;
    if (inside && last && last->transaction == transaction && last->first + last->count == at) {
        last->rows += inside < set.rows;
        last->count++;
    } else if (!inside || set.form == ISO_SET_ROW) {
        struct iso_range *added = add_set(into, from, &set, timed);
        added->count = 1;
        added->rows = set.form != ISO_SET_RANGE || set.rows;
    }
}

/* Without the set that it belongs to; `in_set`: with it. */
static void copy_operation(struct iso_history *into, const struct iso_history *from, uint32_t o,
                           bool in_set, bool timed)
{
    enum iso_operation_kind kind = (enum iso_operation_kind)iso_kind_of(from, o);
    iso_atom key = iso_atoms_copy(&into->atoms, &from->atoms, from->keys.atom[from->ops.key[o]]);
    uint32_t value = kind == ISO_READ_LIST
                         ? copy_list(into, from, from->ops.value[o])
                         : iso_atoms_copy(&into->atoms, &from->atoms, from->ops.value[o]);
    if (in_set)
        copy_set(into, from, o, timed);
    iso_history_operation(into, kind, key, value);
    if (timed)
        iso_history_copy_moment(into, from, o);
}

uint32_t iso_history_copy_begin(struct iso_history *into, const struct iso_history *from,
                                uint32_t t, uint64_t origin)
{
    bool alone = from->txns.session[t] == ISO_NONE;
    iso_atom session = alone ? 0
                             : iso_atoms_copy(&into->atoms, &from->atoms,
                                              from->sessions.atom[from->txns.session[t]]);
    uint32_t copy =
        iso_history_begin(into, iso_atoms_copy(&into->atoms, &from->atoms, from->txns.tid[t]),
                          session, iso_status_of(from, t), origin);
    if (alone)
        into->txns.session[copy] = ISO_NONE;
    return copy;
}

void iso_history_copy_operation(struct iso_history *into, const struct iso_history *from,
                                uint32_t o, bool timed)
{
    copy_operation(into, from, o, true, timed);
}

/* Sets go before the operation at their place, also those that found nothing. */
static uint32_t copy_sets(struct iso_history *into, const struct iso_history *from, uint32_t next,
                          uint32_t t, uint32_t position, bool timed)
{
    const struct iso_range *sets = from->ranges.list;
    for (; next < from->ranges.count && sets[next].transaction == t && sets[next].first <= position;
         next++) {
        struct iso_range *copy = add_set(into, from, &sets[next], timed);
        copy->count = sets[next].count;
        copy->rows = sets[next].rows;
    }
    return next;
}

void iso_history_copy_operations(struct iso_history *into, const struct iso_history *from,
                                 uint32_t t, bool timed)
{
    uint32_t first = from->txns.first_op[t], end = from->txns.first_op[t + 1];
    uint32_t next = history_ranges_of(from, t, 0, from->ranges.count).first;
    for (uint32_t o = first; o < end; o++) {
        next = copy_sets(into, from, next, t, o - first, timed);
        copy_operation(into, from, o, false, timed);
    }
    copy_sets(into, from, next, t, end - first, timed);
}

void iso_history_copy_initial(struct iso_history *into, const struct iso_history *from)
{
    into->initial.other_value =
        iso_atoms_copy(&into->atoms, &from->atoms, from->initial.other_value);
    for (uint32_t i = 0; i < from->initial.count; i++)
        iso_history_initial(
            into, iso_atoms_copy(&into->atoms, &from->atoms, from->keys.atom[from->initial.key[i]]),
            iso_atoms_copy(&into->atoms, &from->atoms, from->initial.value[i]),
            from->initial.is_append[i]);
}

void history_copy_head(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    iso_atom tid = iso_atoms_copy(&into->atoms, &from->atoms, from->txns.tid[t]);
    iso_atom session =
        iso_atoms_copy(&into->atoms, &from->atoms, from->sessions.atom[from->txns.session[t]]);
    iso_history_begin(into, tid, session, iso_status_of(from, t), from->txns.origin[t]);
    if (from->txns.begun && from->txns.begun[t])
        iso_history_set_begun(into, from->txns.begun[t] - 1);
    if (from->txns.ended && from->txns.ended[t])
        iso_history_set_ended(into, from->txns.ended[t] - 1);
    if (iso_marks_of(from, t))
        iso_history_set_marks(into, from->txns.marks[t]);
    into->whole_rows |= from->whole_rows;
}

/* All but the operations. */
static void copy_head(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    assert(!from->finished && !into->finished);
    while (into->inputs.count < from->inputs.count)
        iso_history_input(into, from->inputs.names[into->inputs.count]);
    history_copy_head(into, from, t);
    if (from->txns.flags[t] & ISO_HAS_SNO)
        iso_history_set_sno(into, from->txns.sno[t]);
}

void iso_history_copy(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    copy_head(into, from, t);
    iso_history_copy_operations(into, from, t, false);
}

static struct iso_stamp stamp_of(const uint64_t *physical, const uint64_t *logical, uint32_t t)
{
    return (struct iso_stamp){physical[t], logical ? logical[t] : 0};
}

void iso_history_copy_timed(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    if (from->clock != ISO_CLOCK_NONE)
        into->clock = from->clock;
    copy_head(into, from, t);
    if (from->txns.flags[t] & ISO_HAS_STS)
        iso_history_set_sts(into, stamp_of(from->txns.sts, from->txns.sts_logical, t));
    if (from->txns.flags[t] & ISO_HAS_CTS)
        iso_history_set_cts(into, stamp_of(from->txns.cts, from->txns.cts_logical, t));
    if (from->txns.xid && from->txns.xid[t])
        iso_history_set_xid(into, from->txns.xid[t]);
    if (from->txns.snapshot && from->txns.snapshot[t] != ISO_NONE)
        iso_history_set_snapshot(into, iso_snapshot_copy(into, from, from->txns.snapshot[t]));
    iso_history_copy_operations(into, from, t, true);
}

void iso_history_copy_versions(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    bool has_cts = from->txns.flags[t] & ISO_HAS_CTS;
    into->clock = from->clock != ISO_CLOCK_NONE ? from->clock : into->clock;
    copy_head(into, from, t);
    if (has_cts) {
        struct iso_stamp at = stamp_of(from->txns.cts, from->txns.cts_logical, t);
        iso_history_set_cts(into, at);
        at.physical -= at.physical > 0; /* under locks that say when it wrote */
        iso_history_set_sts(into, at);
    }
    ISO_EACH(o, from->txns.first_op, t) {
        if (!iso_kind_writes(from->ops.kind[o]))
            continue;
        iso_history_copy_operation(into, from, o, false);
        if (has_cts)
            iso_history_set_lock(into);
    }
}

uint64_t iso_history_size(const struct iso_history *history)
{
    enum {
        TRANSACTION = 42,
        OPERATION = 9,
        KEY = 13,
        ATOM = 20
    }; /* bytes; see history/history.h */
    return TRANSACTION * (uint64_t)history->txns.count + OPERATION * (uint64_t)history->ops.count +
           sizeof(iso_atom) * history->lists.element_count + KEY * (uint64_t)history->keys.count +
           ATOM * (uint64_t)history->atoms.count + history->atoms.text_size;
}
