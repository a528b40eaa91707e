/* The end of building: what only the whole history can tell. */
#include <string.h>

#include "base/hash.h"
#include "base/numbers.h"
#include "history/history_private.h"
#include "history/moment.h"

/* ---- a tid names one transaction ---- */

static enum iso_status repeated_tid(const struct iso_history *history, uint32_t transaction,
                                    struct iso_error *error)
{
    char here[512], there[512], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    uint32_t first = 0;
    while (history->txns.tid[first] != history->txns.tid[transaction])
        first++;
    const char *tid =
        iso_atom_text(&history->atoms, history->txns.tid[transaction], buffer, &length);
    iso_history_location_text(history, transaction, here, sizeof here);
    iso_history_location_text(history, first, there, sizeof there);
    return iso_error_set(error, ISO_BAD_INPUT,
                         "%s: tid %.*s occurs here and at %s; a tid must be unique", here,
                         (int)(length < 100 ? length : 100), tid, there);
}

/* One bit a tid: integer tids are dense as a rule, so this is 20 times smaller than a hash set. */
static uint32_t find_repeated_dense(const struct iso_history *history, uint32_t limit)
{
    uint64_t *seen = iso_allocate_zeroed((size_t)limit / 64 + 1, sizeof *seen);
    uint32_t found = ISO_NONE;
    for (uint32_t t = 0; t < history->txns.count && found == ISO_NONE; t++) {
        uint64_t bit = (uint64_t)1 << (history->txns.tid[t] & 63),
                 *word = &seen[history->txns.tid[t] >> 6];
        if (*word & bit)
            found = t;
        *word |= bit;
    }
    iso_free(seen);
    return found;
}

static uint32_t find_repeated_sparse(const struct iso_history *history)
{
    size_t slots = 64;
    while (slots < (size_t)history->txns.count * 2)
        slots *= 2;
    uint32_t *seen = iso_allocate(slots * sizeof *seen), found = ISO_NONE;
    memset(seen, 0xff, slots * sizeof *seen); /* ISO_ABSENT is no tid */
    for (uint32_t t = 0; t < history->txns.count && found == ISO_NONE; t++) {
        size_t slot = iso_hash_number(history->txns.tid[t]) & (slots - 1);
        while (seen[slot] != ISO_ABSENT && seen[slot] != history->txns.tid[t])
            slot = (slot + 1) & (slots - 1);
        if (seen[slot] == history->txns.tid[t])
            found = t;
        seen[slot] = history->txns.tid[t];
    }
    iso_free(seen);
    return found;
}

static enum iso_status check_tids(const struct iso_history *history, struct iso_error *error)
{
    iso_atom largest = 0;
    for (uint32_t t = 0; t < history->txns.count; t++)
        largest = history->txns.tid[t] > largest ? history->txns.tid[t] : largest;
    bool dense = largest / 32 <= history->txns.count && !(largest & ISO_ATOM_TABLE);
    uint32_t found = dense ? find_repeated_dense(history, largest) : find_repeated_sparse(history);
    return found == ISO_NONE ? ISO_OK : repeated_tid(history, found, error);
}

/* ---- a key is a list or a register ---- */

/* The first transaction that uses the key as `use`. */
static uint32_t first_user(const struct iso_history *history, uint32_t key, uint8_t use)
{
    for (uint32_t t = 0; t < history->txns.count; t++) {
        ISO_EACH(o, history->txns.first_op, t) {
            if (history->ops.key[o] == key &&
                history_key_use(iso_kind_of(history, o), history->ops.value[o]) == use)
                return t;
        }
    }
    return ISO_NONE;
}

static enum iso_status mixed_key(const struct iso_history *history, uint32_t key,
                                 struct iso_error *error)
{
    char list[512] = "the initial transaction", scalar[512] = "the initial transaction",
         buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *name = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &length);
    uint32_t as_list = first_user(history, key, ISO_KEY_LIST),
             as_scalar = first_user(history, key, ISO_KEY_SCALAR);
    if (as_list != ISO_NONE)
        iso_history_location_text(history, as_list, list, sizeof list);
    if (as_scalar != ISO_NONE)
        iso_history_location_text(history, as_scalar, scalar, sizeof scalar);
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "%s: key %.*s is used as a list here and as a single value at %s; a key is one or the other",
        list, (int)(length < 100 ? length : 100), name, scalar);
}

/* Null reads of lists are reads of the empty list. */
static void turn_null_reads(struct iso_history *history)
{
    uint32_t empty = ISO_NONE;
    for (uint32_t o = 0; o < history->ops.count; o++) {
        if (iso_kind_of(history, o) != ISO_READ || !iso_key_is_list(history, history->ops.key[o]))
            continue;
        if (empty == ISO_NONE)
            empty = iso_history_list(history);
        history->ops.kind[o] = (uint8_t)((history->ops.kind[o] & ~ISO_KIND_MASK) | ISO_READ_LIST);
        history->ops.value[o] = empty;
    }
}

static enum iso_status check_keys(struct iso_history *history, struct iso_error *error)
{
    bool lists = false;
    for (uint32_t key = 0; key < history->keys.count; key++) {
        if ((history->keys.use[key] & (ISO_KEY_SCALAR | ISO_KEY_LIST)) ==
            (ISO_KEY_SCALAR | ISO_KEY_LIST))
            return mixed_key(history, key, error);
        lists |= history->keys.use[key] & ISO_KEY_LIST;
    }
    if (lists)
        turn_null_reads(history);
    return ISO_OK;
}

/* ---- points, and what timestamps lack ---- */

static void finish_transaction(struct iso_history *history, uint32_t t)
{
    uint8_t flags = history->txns.flags[t];
    if ((flags & ISO_STATUS_MASK) != ISO_COMMITTED) {
        history->totals.aborted += (flags & ISO_STATUS_MASK) == ISO_ABORTED;
        history->totals.unknown += (flags & ISO_STATUS_MASK) == ISO_UNKNOWN;
        return;
    }
    history->totals.committed++;
    if (!(flags & ISO_HAS_STS) && history->totals.without_sts == ISO_NONE)
        history->totals.without_sts = t;
    if (flags & ISO_WRITES) {
        if (!(flags & ISO_HAS_CTS) && history->totals.without_cts == ISO_NONE)
            history->totals.without_cts = t;
    } else if (!(flags & ISO_HAS_CTS)) {
        history->txns.cts[t] = iso_history_latest_time(history, t);
        flags |= ISO_POINT | (flags & ISO_HAS_STS ? ISO_HAS_CTS : 0);
    } else if ((flags & ISO_HAS_STS) && history->txns.cts[t] == history->txns.sts[t]) {
        flags |= ISO_POINT;
    }
    history->txns.flags[t] = flags;
}

/* ---- sessions ---- */

static uint64_t sno_of(const struct iso_history *history, uint32_t transaction)
{
    return history->txns.sno ? history->txns.sno[transaction] : 0;
}

/* Where no sno was given it is the position in the input, from 0. */
static void default_snos(struct iso_history *history, uint32_t session)
{
    ISO_EACH(i, history->sessions.first, session) {
        uint32_t t = history->sessions.order[i];
        if (!(history->txns.flags[t] & ISO_HAS_SNO))
            history->txns.sno[t] = i - history->sessions.first[session];
    }
}

struct by_sno {
    uint64_t sno;
    uint32_t transaction;
};

/* Bottom-up merge sort: stable, and one pass where a session is nearly in order is not needed: that
 * case never gets here. */
static void merge_sort(struct by_sno *items, struct by_sno *other, uint32_t count)
{
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t low = 0; low < count; low += 2 * width) {
            uint32_t middle = low + width < count ? low + width : count;
            uint32_t high = middle + width < count ? middle + width : count;
            uint32_t left = low, right = middle;
            for (uint32_t at = low; at < high; at++) {
                bool take_left =
                    left < middle && (right >= high || items[left].sno <= items[right].sno);
                other[at] = take_left ? items[left++] : items[right++];
            }
        }
        memcpy(items, other, count * sizeof *items);
    }
}

static void sort_session(struct iso_history *history, uint32_t session)
{
    uint32_t *order = history->sessions.order + history->sessions.first[session];
    uint32_t count = history->sessions.first[session + 1] - history->sessions.first[session];
    bool sorted = true;
    for (uint32_t i = 1; i < count && sorted; i++)
        sorted = sno_of(history, order[i - 1]) <= sno_of(history, order[i]);
    if (sorted)
        return;
    struct by_sno *items = iso_allocate(2 * (size_t)count * sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (struct by_sno){history->txns.sno[order[i]], order[i]};
    merge_sort(items, items + count, count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = items[i].transaction;
    iso_free(items);
}

static void order_sessions(struct iso_history *history)
{
    uint32_t *first = iso_allocate_zeroed((size_t)history->sessions.count + 2, sizeof *first);
    uint32_t *order = iso_allocate(((size_t)history->txns.count + 1) * sizeof *order);
    for (uint32_t t = 0; t < history->txns.count; t++)
        first[history->txns.session[t] + 2]++;
    iso_running_sums(first + 1, (size_t)history->sessions.count + 1);
    for (uint32_t t = 0; t < history->txns.count; t++)
        order[first[history->txns.session[t] + 1]++] = t;
    history->sessions.first = first;
    history->sessions.order = order;
    for (uint32_t s = 0; history->txns.sno && s < history->sessions.count; s++) {
        default_snos(history, s);
        sort_session(history, s);
    }
}

enum iso_status iso_history_finish(struct iso_history *history, struct iso_error *error)
{
    enum iso_status status = check_tids(history, error);
    /* Readers may take the address of what an empty column would hold next. */
    iso_history_reserve_operations(history, 1);
    history_reserve_elements(history, 1);
    if (history->snapshots.count)
        history_reserve_snapshots(history, 0, 1);
    history_expand_ranges(history);
    if (status == ISO_OK)
        status = check_keys(history, error);
    if (status == ISO_OK && history->clock == ISO_CLOCK_NONE &&
        (history->snapshots.count || history->txns.xid))
        status = history_place_snapshots(history, error);
    if (status != ISO_OK)
        return status;
    history_rank_timestamps(history);
    for (uint32_t t = 0; t < history->txns.count; t++)
        finish_transaction(history, t);
    order_sessions(history);
    history->finished = true;
    return ISO_OK;
}
