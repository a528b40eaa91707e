/* One transaction from one history into another that is building, with all that belongs to it. */
#include "history/copy.h"
#include "history/snapshot.h"
#include "join/join_private.h"

static void copy_members(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    if (from->txns.flags[t] & ISO_HAS_STS)
        iso_history_set_sts(into, (struct iso_stamp){.physical = from->txns.sts[t]});
    if (from->txns.flags[t] & ISO_HAS_CTS)
        iso_history_set_cts(into, (struct iso_stamp){.physical = from->txns.cts[t]});
    if (from->txns.flags[t] & ISO_HAS_SNO || (from->txns.are_numbered && from->txns.sno))
        iso_history_set_sno(into, from->txns.sno[t]);
    if (!(from->txns.flags[t] & ISO_HAS_SNO))
        into->txns.flags[into->txns.count - 1] &= (uint8_t)~ISO_HAS_SNO;
    if (from->txns.xid && from->txns.xid[t])
        iso_history_set_xid(into, from->txns.xid[t]);
    if (from->txns.snapshot && from->txns.snapshot[t] != ISO_NONE)
        iso_history_set_snapshot(into, iso_snapshot_copy(into, from, from->txns.snapshot[t]));
    if (iso_marks_of(from, t))
        iso_history_set_marks(into, from->txns.marks[t]);
    into->whole_rows |= from->whole_rows;
}

uint32_t join_copy_head(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    uint32_t copy = iso_history_copy_begin(into, from, t, from->txns.origin[t]);
    copy_members(into, from, t);
    return copy;
}

uint32_t join_copy_whole(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    uint32_t copy = join_copy_head(into, from, t);
    iso_history_copy_operations(into, from, t, true);
    return copy;
}

uint32_t join_copy_transaction(struct iso_join *join, struct iso_history *into,
                               const struct iso_history *from, uint32_t t)
{
    uint32_t copy = join_copy_head(into, from, t);
    bool hides_own = join_hides_own(join, from, t);
    join->counters.tallies += hides_own;
    ISO_EACH(o, from->txns.first_op, t) {
        iso_atom key = from->keys.atom[from->ops.key[o]];
        uint32_t number = join_key_number(join, from, key);
        if (!join_is_judged(join, number) ||
            (hides_own && join_may_be_own(join, number, iso_kind_writes(from->ops.kind[o]))))
            continue;
        iso_history_copy_operation(into, from, o, true);
        if (join_is_caseless(join, &from->atoms, key))
            into->ops.key[into->ops.count - 1] =
                iso_history_key(into, iso_atoms_copy(&into->atoms, &join->keys.names.atoms,
                                                     join->keys.names.keys.atom[number]));
    }
    return copy;
}

void join_set_position(struct iso_history *into, uint64_t position)
{
    uint32_t last = into->txns.count - 1;
    bool given = into->txns.flags[last] & ISO_HAS_SNO;
    if (given || into->txns.session[last] == ISO_NONE)
        return;
    iso_history_set_sno(into, position);
    into->txns.flags[last] &= (uint8_t)~ISO_HAS_SNO;
}
