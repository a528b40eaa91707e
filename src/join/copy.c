/* One transaction from one history into another that is building, with all that belongs to it. */
#include "history/snapshot.h"
#include "join/join_private.h"

static uint32_t copy_list(struct iso_history *into, const struct iso_history *from, uint32_t list)
{
    uint32_t copy = iso_history_list(into);
    for (uint64_t i = from->list_first[list]; i < from->list_first[list + 1]; i++)
        iso_history_element(into, iso_atoms_copy(&into->atoms, &from->atoms, from->element[i]));
    return copy;
}

static void copy_operation(struct iso_history *into, const struct iso_history *from, uint32_t operation)
{
    enum iso_operation_kind kind = iso_kind_of(from, operation);
    uint32_t value = from->value[operation];
    value = kind == ISO_READ_LIST ? copy_list(into, from, value) : iso_atoms_copy(&into->atoms, &from->atoms, value);
    iso_history_operation(into, kind, iso_atoms_copy(&into->atoms, &from->atoms, from->key_atom[from->key[operation]]),
                          value);
    if (from->kind[operation] & ISO_OPERATION_SNAPSHOT)
        iso_history_set_operation_snapshot(into, iso_snapshot_copy(into, from, (uint32_t)from->ots[operation]));
    else if (from->kind[operation] & ISO_OPERATION_OTS)
        iso_history_set_ots(into, (struct iso_stamp){.physical = from->ots[operation]});
    else if (from->kind[operation] & ISO_OPERATION_LOCK)
        iso_history_set_lock(into);
}

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
    for (uint32_t o = from->first_operation[t]; o < from->first_operation[t + 1]; o++)
        copy_operation(into, from, o);
    return copy;
}
