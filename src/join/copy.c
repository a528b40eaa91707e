/* One transaction from one history into another that is building, with all that belongs to it. */
#include "history/copy.h"
#include "history/snapshot.h"
#include "join/join_private.h"

static void copy_members(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    if (from->flags[t] & ISO_HAS_STS)
        iso_history_set_sts(into, (struct iso_stamp){.physical = from->sts[t]});
    if (from->flags[t] & ISO_HAS_CTS)
        iso_history_set_cts(into, (struct iso_stamp){.physical = from->cts[t]});
    if (from->flags[t] & ISO_HAS_SNO)
        iso_history_set_sno(into, from->sno[t]);
    if (from->xid && from->xid[t])
        iso_history_set_xid(into, from->xid[t]);
    if (from->snapshot && from->snapshot[t] != ISO_NONE)
        iso_history_set_snapshot(into, iso_snapshot_copy(into, from, from->snapshot[t]));
}

uint32_t join_copy_transaction(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    bool alone = from->session[t] == ISO_NONE;
    iso_atom session = alone ? 0 : iso_atoms_copy(&into->atoms, &from->atoms, from->session_atom[from->session[t]]);
    uint32_t copy = iso_history_begin(into, iso_atoms_copy(&into->atoms, &from->atoms, from->tid[t]), session,
                                      iso_status_of(from, t), from->origin[t]);
    if (alone)
        into->session[copy] = ISO_NONE;
    copy_members(into, from, t);
    iso_history_copy_operations(into, from, t, true);
    return copy;
}
