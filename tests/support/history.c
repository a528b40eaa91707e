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
    SAME(key_count);
    for (uint32_t k = 0; k < left->key_count; k++) {
        SAME(key_atom[k]);
        SAME(key_use[k]);
    }
    SAME(session_count);
    for (uint32_t s = 0; s < left->session_count; s++)
        SAME(session_atom[s]);
}

static void same_snapshots(const struct iso_history *left, const struct iso_history *right,
                           const char *what)
{
    SAME(snapshot_count);
    for (uint32_t s = 0; s < left->snapshot_count; s++) {
        char one[200], other[200];
        iso_snapshot_text(left, &left->snapshots[s], one, sizeof one);
        iso_snapshot_text(right, &right->snapshots[s], other, sizeof other);
        if (strcmp(one, other))
            fail_msg("%s: snapshot %u differs: %s, %s", what, s, one, other);
    }
}

static uint64_t xid_of(const struct iso_history *history, uint32_t transaction)
{
    return history->xid ? history->xid[transaction] : 0;
}

static uint32_t snapshot_of(const struct iso_history *history, uint32_t transaction)
{
    return history->snapshot ? history->snapshot[transaction] : ISO_NONE;
}

static void same_transaction(const struct iso_history *left, const struct iso_history *right,
                             uint32_t t, const char *what)
{
    bool pairs = left->clock == ISO_CLOCK_PAIR && !left->finished;
    SAME(flags[t]);
    SAME(tid[t]);
    SAME(session[t]);
    SAME(origin[t]);
    SAME(first_operation[t + 1]);
    if (left->flags[t] & ISO_HAS_STS)
        SAME(sts[t]);
    if (left->flags[t] & ISO_HAS_CTS)
        SAME(cts[t]);
    if (pairs && (left->flags[t] & ISO_HAS_STS))
        SAME(sts_logical[t]);
    if (pairs && (left->flags[t] & ISO_HAS_CTS))
        SAME(cts_logical[t]);
    if (left->flags[t] & ISO_HAS_SNO)
        SAME(sno[t]);
    if (iso_marks_of(left, t) != iso_marks_of(right, t))
        fail_msg("%s: marks of transaction %u differ", what, t);
    if (xid_of(left, t) != xid_of(right, t) || snapshot_of(left, t) != snapshot_of(right, t))
        fail_msg("%s: xid or snapshot of transaction %u differs", what, t);
}

static void same_operation(const struct iso_history *left, const struct iso_history *right,
                           uint32_t o, const char *what)
{
    SAME(kind[o]);
    SAME(key[o]);
    SAME(value[o]);
    if (left->kind[o] & (ISO_OPERATION_OTS | ISO_OPERATION_SNAPSHOT))
        SAME(ots[o]);
    if ((left->kind[o] & ISO_OPERATION_OTS) && left->clock == ISO_CLOCK_PAIR && !left->finished)
        SAME(ots_logical[o]);
}

void test_same_history(const struct iso_history *left, const struct iso_history *right,
                       const char *what)
{
    SAME(transaction_count);
    SAME(operation_count);
    SAME(clock);
    SAME(whole_rows);
    SAME(finished);
    same_atoms(left, right, what);
    same_snapshots(left, right, what);
    for (uint32_t t = 0; t < left->transaction_count; t++)
        same_transaction(left, right, t, what);
    for (uint32_t o = 0; o < left->operation_count; o++)
        same_operation(left, right, o, what);
    SAME(list_count);
    SAME(element_count);
    for (uint32_t l = 0; l < left->list_count; l++)
        SAME(list_first[l + 1]);
    for (uint64_t e = 0; e < left->element_count; e++)
        SAME(element[e]);
}
