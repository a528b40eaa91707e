#include "tests/support/history.h"

#include "history/snapshot.h"
#include "tests/support/test.h"

iso_atom test_atom(struct iso_history *history, const char *text)
{
    return iso_atoms_text(&history->atoms, text, strlen(text));
}

#define SAME(field)                                                                                \
    do {                                                                                           \
        if (left->field != right->field)                                                           \
            fail_msg("%s: %s differs: %llu, %llu", what, #field, (unsigned long long)left->field,  \
                     (unsigned long long)right->field);                                            \
    } while (0)

static void same_atoms(const struct iso_history *left, const struct iso_history *right,
                       const char *what)
{
    SAME(atoms.count);
    for (uint32_t i = 0; i < left->atoms.count; i++) {
        char one[ISO_ATOM_TEXT_MAX], other[ISO_ATOM_TEXT_MAX];
        size_t length, other_length;
        const char *text = iso_atom_text(&left->atoms, i | ISO_ATOM_TABLE, one, &length);
        const char *other_text =
            iso_atom_text(&right->atoms, i | ISO_ATOM_TABLE, other, &other_length);
        if (length != other_length || memcmp(text, other_text, length))
            fail_msg("%s: atom %u differs", what, i);
    }
    SAME(keys.count);
    for (uint32_t k = 0; k < left->keys.count; k++) {
        SAME(keys.atom[k]);
        SAME(keys.use[k]);
    }
    SAME(sessions.count);
    for (uint32_t s = 0; s < left->sessions.count; s++)
        SAME(sessions.atom[s]);
}

static void same_snapshots(const struct iso_history *left, const struct iso_history *right,
                           const char *what)
{
    SAME(snapshots.count);
    for (uint32_t s = 0; s < left->snapshots.count; s++) {
        char one[200], other[200];
        iso_snapshot_text(left, &left->snapshots.list[s], one, sizeof one);
        iso_snapshot_text(right, &right->snapshots.list[s], other, sizeof other);
        if (strcmp(one, other))
            fail_msg("%s: snapshot %u differs: %s, %s", what, s, one, other);
    }
}

static uint64_t xid_of(const struct iso_history *history, uint32_t transaction)
{
    return history->txns.xid ? history->txns.xid[transaction] : 0;
}

static uint32_t snapshot_of(const struct iso_history *history, uint32_t transaction)
{
    return history->txns.snapshot ? history->txns.snapshot[transaction] : ISO_NONE;
}

static void same_transaction(const struct iso_history *left, const struct iso_history *right,
                             uint32_t t, const char *what)
{
    bool pairs = left->clock == ISO_CLOCK_PAIR && !left->finished;
    SAME(txns.flags[t]);
    SAME(txns.tid[t]);
    SAME(txns.session[t]);
    SAME(txns.origin[t]);
    SAME(txns.first_op[t + 1]);
    if (left->txns.flags[t] & ISO_HAS_STS)
        SAME(txns.sts[t]);
    if (left->txns.flags[t] & ISO_HAS_CTS)
        SAME(txns.cts[t]);
    if (pairs && (left->txns.flags[t] & ISO_HAS_STS))
        SAME(txns.sts_logical[t]);
    if (pairs && (left->txns.flags[t] & ISO_HAS_CTS))
        SAME(txns.cts_logical[t]);
    if (left->txns.flags[t] & ISO_HAS_SNO)
        SAME(txns.sno[t]);
    if (iso_marks_of(left, t) != iso_marks_of(right, t))
        fail_msg("%s: marks of transaction %u differ", what, t);
    if (xid_of(left, t) != xid_of(right, t) || snapshot_of(left, t) != snapshot_of(right, t))
        fail_msg("%s: xid or snapshot of transaction %u differs", what, t);
}

static void same_operation(const struct iso_history *left, const struct iso_history *right,
                           uint32_t o, const char *what)
{
    SAME(ops.kind[o]);
    SAME(ops.key[o]);
    SAME(ops.value[o]);
    if (left->ops.kind[o] & (ISO_OPERATION_OTS | ISO_OPERATION_SNAPSHOT))
        SAME(ops.ots[o]);
    if ((left->ops.kind[o] & ISO_OPERATION_OTS) && left->clock == ISO_CLOCK_PAIR && !left->finished)
        SAME(ops.ots_logical[o]);
}

void test_same_history(const struct iso_history *left, const struct iso_history *right,
                       const char *what)
{
    SAME(txns.count);
    SAME(ops.count);
    SAME(clock);
    SAME(whole_rows);
    SAME(finished);
    same_atoms(left, right, what);
    same_snapshots(left, right, what);
    for (uint32_t t = 0; t < left->txns.count; t++)
        same_transaction(left, right, t, what);
    for (uint32_t o = 0; o < left->ops.count; o++)
        same_operation(left, right, o, what);
    SAME(lists.count);
    SAME(lists.element_count);
    for (uint32_t l = 0; l < left->lists.count; l++)
        SAME(lists.first[l + 1]);
    for (uint64_t e = 0; e < left->lists.element_count; e++)
        SAME(lists.element[e]);
}
