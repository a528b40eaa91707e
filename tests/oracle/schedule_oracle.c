#include "tests/oracle/schedule_oracle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 16, ELEMENTS = 64, TRANSACTIONS = 16 };

struct key {
    uint32_t value, length;
    uint32_t list[ELEMENTS];
};

/* Everything that decides what may follow. Of its keys there are as many as the history has, and of
 * a list's elements as many as it is long: the others are not copied, compared or even zeroed,
 * since millions of states are. */
struct state {
    uint32_t begun, done; /* sets of transactions */
    struct key key[KEYS];
};

struct oracle {
    const struct iso_history *history;
    enum iso_level level;
    uint64_t drift;
    uint32_t committed; /* the set that must be done in the end */
    uint32_t width;     /* words of a state that is remembered */
    uint32_t *seen;
    uint32_t seen_count, seen_capacity;
    uint32_t *slots, slot_mask;
};

static void copy_state(const struct iso_history *history, const struct state *from,
                       struct state *to)
{
    to->begun = from->begun;
    to->done = from->done;
    for (uint32_t k = 0; k < history->keys.count; k++) {
        to->key[k].value = from->key[k].value;
        to->key[k].length = from->key[k].length;
        memcpy(to->key[k].list, from->key[k].list, from->key[k].length * sizeof *from->key[k].list);
    }
}

static void append(struct key *key, uint32_t element)
{
    assert(key->length < ELEMENTS);
    key->list[key->length++] = element;
}

static void apply(const struct iso_history *history, uint32_t o, struct state *state)
{
    struct key *key = &state->key[history->ops.key[o]];
    if (iso_kind_of(history, o) == ISO_APPEND)
        append(key, history->ops.value[o]);
    else if (iso_kind_writes(history->ops.kind[o]))
        key->value = history->ops.value[o];
}

/* Runs the transaction alone, on a copy of what it sees at its begin. */
static bool reads_fit(const struct iso_history *history, uint32_t t, const struct state *state)
{
    struct state view;
    copy_state(history, state, &view);
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
        const struct key *key = &view.key[history->ops.key[o]];
        uint32_t value = history->ops.value[o];
        if (iso_kind_of(history, o) == ISO_READ && key->value != value)
            return false;
        if (iso_kind_of(history, o) == ISO_READ_LIST) {
            uint64_t first = history->lists.first[value],
                     length = history->lists.first[value + 1] - first;
            if (length != key->length)
                return false;
            for (uint64_t i = 0; i < length; i++) {
                if (history->lists.element[first + i] != key->list[i])
                    return false;
            }
        }
        apply(history, o, &view);
    }
    return true;
}

static bool share_a_written_key(const struct iso_history *history, uint32_t t, uint32_t u)
{
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
        for (uint32_t p = history->txns.first_op[u]; p < history->txns.first_op[u + 1]; p++) {
            if (history->ops.key[o] == history->ops.key[p] &&
                iso_kind_writes(history->ops.kind[o]) && iso_kind_writes(history->ops.kind[p]))
                return true;
        }
    }
    return false;
}

static bool times_allow(const struct oracle *oracle, uint32_t t, const struct state *state)
{
    const struct iso_history *history = oracle->history;
    for (uint32_t u = 0; u < history->txns.count; u++) {
        if (iso_status_of(history, u) == ISO_COMMITTED && !(state->done >> u & 1) &&
            history->txns.ended[u] && history->txns.begun[t] > history->txns.ended[u] &&
            history->txns.begun[t] - history->txns.ended[u] > oracle->drift)
            return false;
    }
    return true;
}

static bool may_begin(const struct oracle *oracle, uint32_t t, const struct state *state)
{
    const struct iso_history *history = oracle->history;
    if (iso_status_of(history, t) == ISO_ABORTED || (state->begun >> t & 1))
        return false;
    uint32_t session = history->txns.session[t];
    for (uint32_t i = history->sessions.first[session]; history->sessions.order[i] != t; i++) {
        uint32_t earlier = history->sessions.order[i];
        if (iso_level_keeps_sessions(oracle->level) &&
            iso_status_of(history, earlier) == ISO_COMMITTED && !(state->done >> earlier & 1))
            return false;
    }
    for (uint32_t u = 0; u < history->txns.count; u++) {
        bool open = (state->begun >> u & 1) && !(state->done >> u & 1);
        if (open && share_a_written_key(history, t, u))
            return false;
    }
    if ((oracle->level == ISO_STRONG_SI || oracle->level == ISO_STRICT_SER) &&
        !times_allow(oracle, t, state))
        return false;
    return iso_status_of(history, t) != ISO_COMMITTED || reads_fit(history, t, state);
}

/* The words that tell it from others; the rest of them is zero. */
static void pack(const struct oracle *oracle, const struct state *state, uint32_t *words)
{
    uint32_t used = 0;
    words[used++] = state->begun;
    words[used++] = state->done;
    for (uint32_t k = 0; k < oracle->history->keys.count; k++) {
        const struct key *key = &state->key[k];
        words[used++] = key->value;
        words[used++] = key->length;
        memcpy(words + used, key->list, key->length * sizeof *words);
        used += key->length;
    }
    assert(used <= oracle->width);
    memset(words + used, 0, (oracle->width - used) * sizeof *words);
}

static uint64_t hash_words(const uint32_t *words, uint32_t count)
{
    uint64_t hash = 1;
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    return hash;
}

/* The slot of those words, or the free one in which they may go. */
static uint32_t *slot_of(const struct oracle *oracle, const uint32_t *words)
{
    uint32_t slot = (uint32_t)hash_words(words, oracle->width) & oracle->slot_mask;
    for (; oracle->slots[slot]; slot = (slot + 1) & oracle->slot_mask) {
        const uint32_t *other = oracle->seen + (size_t)(oracle->slots[slot] - 1) * oracle->width;
        if (memcmp(other, words, oracle->width * sizeof *words) == 0)
            break;
    }
    return &oracle->slots[slot];
}

static void make_room(struct oracle *oracle)
{
    oracle->seen_capacity = oracle->seen_capacity ? 2 * oracle->seen_capacity : 64;
    oracle->seen =
        realloc(oracle->seen, oracle->seen_capacity * oracle->width * sizeof *oracle->seen);
    oracle->slot_mask = 4 * oracle->seen_capacity - 1;
    free(oracle->slots);
    oracle->slots = calloc(oracle->slot_mask + 1, sizeof *oracle->slots);
    assert(oracle->seen && oracle->slots);
    for (uint32_t i = 0; i < oracle->seen_count; i++)
        *slot_of(oracle, oracle->seen + (size_t)i * oracle->width) = i + 1;
}

/* True if the state is new. */
static bool remember(struct oracle *oracle, const struct state *state)
{
    if (oracle->seen_count == oracle->seen_capacity)
        make_room(oracle);
    uint32_t *words = oracle->seen + (size_t)oracle->seen_count * oracle->width;
    pack(oracle, state, words);
    uint32_t *slot = slot_of(oracle, words);
    if (*slot)
        return false;
    *slot = ++oracle->seen_count;
    return true;
}

static bool search(struct oracle *oracle, const struct state *state)
{
    const struct iso_history *history = oracle->history;
    if ((state->done & oracle->committed) == oracle->committed)
        return true;
    if (!remember(oracle, state))
        return false;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        struct state next;
        bool open = (state->begun >> t & 1) && !(state->done >> t & 1);
        if (open ? oracle->level == ISO_GSI && !times_allow(oracle, t, state)
                 : !may_begin(oracle, t, state))
            continue;
        copy_state(history, state, &next);
        next.begun |= (uint32_t)1 << t;
        if (open || iso_level_is_serial(oracle->level)) {
            next.done |= (uint32_t)1 << t;
            for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
                apply(history, o, &next);
        }
        if (search(oracle, &next))
            return true;
    }
    return false;
}

/* As many words as a state of it can have. */
static uint32_t width_of(const struct iso_history *history)
{
    uint32_t width = 2 + 2 * history->keys.count + history->initial.count;
    for (uint32_t o = 0; o < history->ops.count; o++)
        width += iso_kind_of(history, o) == ISO_APPEND;
    return width;
}

bool schedule_oracle_holds(const struct iso_history *history, enum iso_level level, uint64_t drift)
{
    assert(history->txns.count <= TRANSACTIONS && history->keys.count <= KEYS);
    struct oracle oracle = {
        .history = history, .level = level, .drift = drift, .width = width_of(history)};
    struct state start = {0};
    for (uint32_t key = 0; key < history->keys.count; key++)
        start.key[key].value = history->initial.other_value;
    for (uint32_t i = 0; i < history->initial.count; i++) {
        struct key *key = &start.key[history->initial.key[i]];
        if (history->initial.is_append[i])
            append(key, history->initial.value[i]);
        else
            key->value = history->initial.value[i];
    }
    for (uint32_t t = 0; t < history->txns.count; t++)
        oracle.committed |= (uint32_t)(iso_status_of(history, t) == ISO_COMMITTED) << t;
    bool holds = search(&oracle, &start);
    free(oracle.seen);
    free(oracle.slots);
    return holds;
}
