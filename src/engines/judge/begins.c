/* Where the reads of each transaction may stand, if the order of the input is that of the
 * commits. */
#include <assert.h>

#include "judge/split.h"

#include "base/memory.h"
#include "base/numbers.h"

/* A version of a key: what one transaction left there. */
struct version {
    uint32_t value, owner; /* owner: ISO_NONE at the start */
    uint32_t replaced;     /* by which transaction; ISO_NONE: not yet */
    uint32_t older;
};

struct begins {
    const struct iso_history *history;
    struct version *versions;
    uint32_t count, capacity;
    uint32_t *newest;         /* by key: its newest version; ISO_NONE: none */
    uint32_t *accessed;       /* by key: 1 + the last transaction that accessed it */
    ISO_LIST(uint32_t) reads; /* external ones of the transaction at hand: operations */
    uint64_t patience;
};

static void add_version(struct begins *begins, uint32_t key, uint32_t value, uint32_t owner)
{
    ISO_GROW(begins->versions, begins->count, begins->capacity);
    uint32_t older = begins->newest[key];
    assert(older == ISO_NONE || begins->versions[older].replaced == ISO_NONE);
    assert(older == ISO_NONE || begins->versions[older].owner == ISO_NONE ||
           begins->versions[older].owner < owner);
    if (older != ISO_NONE && owner != ISO_NONE)
        begins->versions[older].replaced = owner;
    begins->versions[begins->count] = (struct version){value, owner, ISO_NONE, older};
    begins->newest[key] = begins->count++;
}

static void find_reads(struct begins *begins, uint32_t t)
{
    const struct iso_history *history = begins->history;
    begins->reads.count = 0;
    ISO_EACH(o, history->txns.first_op, t) {
        uint32_t key = history->ops.key[o];
        if (!iso_kind_writes(history->ops.kind[o]) && begins->accessed[key] != t + 1) {
            ISO_APPEND(begins->reads, o);
        }
        begins->accessed[key] = t + 1;
    }
}

/* The last position from `low` up to `begin` at which a read's value was there; ISO_NONE: none. */
static uint32_t last_position(struct begins *begins, uint32_t operation, uint32_t low,
                              uint32_t begin)
{
    assert(low <= begin);
    const struct iso_history *history = begins->history;
    uint32_t wanted = history->ops.value[operation];
    for (uint32_t i = begins->newest[history->ops.key[operation]];
         i != ISO_NONE && begins->patience; begins->patience--) {
        const struct version *version = &begins->versions[i];
        if (version->replaced < low)
            return ISO_NONE;
        if (version->value == wanted && (version->owner == ISO_NONE || version->owner < begin))
            return version->replaced < begin ? version->replaced : begin;
        i = version->older;
    }
    return ISO_NONE;
}

static uint32_t place_reads(struct begins *begins, uint32_t t, uint32_t low)
{
    uint32_t begin = t;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < begins->reads.count; i++) {
            uint32_t last = last_position(begins, begins->reads.list[i], low, begin);
            if (last == ISO_NONE)
                return ISO_NONE;
            moved |= last < begin;
            begin = last;
        }
    }
    return begin;
}

/* Takes the last write of each key: the operations backwards, each key once. */
static void add_writes(struct begins *begins, uint32_t t)
{
    const struct iso_history *history = begins->history;
    for (uint32_t o = history->txns.first_op[t + 1]; o-- > history->txns.first_op[t];) {
        uint32_t key = history->ops.key[o];
        if (!iso_kind_writes(history->ops.kind[o]))
            continue;
        if (begins->newest[key] == ISO_NONE || begins->versions[begins->newest[key]].owner != t)
            add_version(begins, key, history->ops.value[o], t);
    }
}

static bool has_lists(const struct iso_history *history)
{
    for (uint32_t key = 0; key < history->keys.count; key++) {
        if (iso_key_is_list(history, key))
            return true;
    }
    return false;
}

static void add_initial(struct begins *begins)
{
    const struct iso_history *history = begins->history;
    uint32_t *initial = iso_history_initial_values(history, true);
    for (uint32_t key = 0; key < history->keys.count; key++)
        add_version(begins, key, initial[key], ISO_NONE);
    iso_free(initial);
}

/* False: it has no position. */
static bool place_transaction(struct begins *begins, uint32_t t, uint32_t low, uint32_t *begin)
{
    uint8_t status = iso_status_of(begins->history, t);
    begin[t] = t;
    if (status == ISO_ABORTED)
        return true;
    if (status == ISO_COMMITTED) {
        find_reads(begins, t);
        begin[t] = low > t ? ISO_NONE : place_reads(begins, t, low);
    }
    add_writes(begins, t);
    return begin[t] != ISO_NONE;
}

uint32_t *judge_begins(const struct iso_history *history)
{
    assert(history->finished);
    enum { STEPS_AN_OPERATION = 64 };
    uint32_t n = history->txns.count;
    if (has_lists(history))
        return NULL;
    struct begins begins = {.history = history,
                            .newest = iso_numbers_none(history->keys.count),
                            .accessed = iso_numbers_zero(history->keys.count),
                            .patience = STEPS_AN_OPERATION * ((uint64_t)history->ops.count + 1024)};
    uint32_t *begin = iso_numbers(n), *last = iso_numbers_zero(history->sessions.count);
    bool placed = true;
    add_initial(&begins);
    for (uint32_t t = 0; t < n && placed; t++) {
        uint32_t session = history->txns.session[t];
        placed = place_transaction(&begins, t, last[session], begin);
        if (iso_status_of(history, t) == ISO_COMMITTED)
            last[session] = t + 1;
    }
    /* a session whose transactions stand in another order in the input */
    for (uint32_t i = 1; i < n && placed; i++) {
        uint32_t t = history->sessions.order[i], before = history->sessions.order[i - 1];
        placed = history->txns.session[t] != history->txns.session[before] || before < t;
    }
    ISO_FREE_ALL(begins.versions, begins.newest, begins.accessed, begins.reads.list, last);
    if (!placed) {
        iso_free(begin);
        begin = NULL;
    }
    return begin;
}
