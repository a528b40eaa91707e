#include "tests/oracle/schedule_oracle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 16, ELEMENTS = 64, TRANSACTIONS = 16 };

/* Everything that decides what may follow. Compared byte by byte, so it is always zeroed first. */
struct state {
    uint32_t begun, done; /* sets of transactions */
    uint32_t value[KEYS];
    uint32_t length[KEYS];
    uint32_t list[KEYS][ELEMENTS];
};

struct oracle {
    const struct iso_history *history;
    enum iso_model model;
    uint64_t drift;
    uint32_t committed; /* the set that must be done in the end */
    struct state *seen;
    uint32_t seen_count, seen_capacity;
    uint32_t *slots, slot_mask;
};

static void apply(const struct iso_history *history, uint32_t o, struct state *state)
{
    uint32_t key = history->key[o];
    if (iso_kind_of(history, o) == ISO_APPEND) {
        assert(state->length[key] < ELEMENTS);
        state->list[key][state->length[key]++] = history->value[o];
    } else if (iso_kind_writes(history->kind[o])) {
        state->value[key] = history->value[o];
    }
}

/* Runs the transaction alone, on a copy of what it sees at its begin. */
static bool reads_fit(const struct iso_history *history, uint32_t t, const struct state *state)
{
    struct state view = *state;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        uint32_t key = history->key[o], value = history->value[o];
        if (iso_kind_of(history, o) == ISO_READ && view.value[key] != value)
            return false;
        if (iso_kind_of(history, o) == ISO_READ_LIST) {
            uint64_t first = history->list_first[value], length = history->list_first[value + 1] - first;
            if (length != view.length[key])
                return false;
            for (uint64_t i = 0; i < length; i++) {
                if (history->element[first + i] != view.list[key][i])
                    return false;
            }
        }
        apply(history, o, &view);
    }
    return true;
}

static bool share_a_written_key(const struct iso_history *history, uint32_t t, uint32_t u)
{
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        for (uint32_t p = history->first_operation[u]; p < history->first_operation[u + 1]; p++) {
            if (history->key[o] == history->key[p] && iso_kind_writes(history->kind[o]) &&
                iso_kind_writes(history->kind[p]))
                return true;
        }
    }
    return false;
}

static bool times_allow(const struct oracle *oracle, uint32_t t, const struct state *state)
{
    const struct iso_history *history = oracle->history;
    for (uint32_t u = 0; u < history->transaction_count; u++) {
        if (iso_status_of(history, u) == ISO_COMMITTED && !(state->done >> u & 1) && history->ended[u] &&
            history->begun[t] > history->ended[u] && history->begun[t] - history->ended[u] > oracle->drift)
            return false;
    }
    return true;
}

static bool may_begin(const struct oracle *oracle, uint32_t t, const struct state *state)
{
    const struct iso_history *history = oracle->history;
    if (iso_status_of(history, t) == ISO_ABORTED || (state->begun >> t & 1))
        return false;
    uint32_t session = history->session[t];
    for (uint32_t i = history->session_first[session]; history->session_order[i] != t; i++) {
        uint32_t earlier = history->session_order[i];
        if (iso_model_keeps_sessions(oracle->model) && iso_status_of(history, earlier) == ISO_COMMITTED &&
            !(state->done >> earlier & 1))
            return false;
    }
    for (uint32_t u = 0; u < history->transaction_count; u++) {
        bool open = (state->begun >> u & 1) && !(state->done >> u & 1);
        if (open && share_a_written_key(history, t, u))
            return false;
    }
    if ((oracle->model == ISO_MODEL_STRONG_SI || oracle->model == ISO_MODEL_STRICT_SER) &&
        !times_allow(oracle, t, state))
        return false;
    return iso_status_of(history, t) != ISO_COMMITTED || reads_fit(history, t, state);
}

static uint64_t hash_state(const struct state *state)
{
    const uint32_t *words = (const uint32_t *)(const void *)state;
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof *state / sizeof *words; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    return hash;
}

/* True if the state is new. */
static bool remember(struct oracle *oracle, const struct state *state)
{
    if (oracle->seen_count == oracle->seen_capacity) {
        oracle->seen_capacity = oracle->seen_capacity ? 2 * oracle->seen_capacity : 64;
        oracle->seen = realloc(oracle->seen, oracle->seen_capacity * sizeof *oracle->seen);
        oracle->slot_mask = 4 * oracle->seen_capacity - 1;
        free(oracle->slots);
        oracle->slots = calloc(oracle->slot_mask + 1, sizeof *oracle->slots);
        assert(oracle->seen && oracle->slots);
        for (uint32_t i = 0; i < oracle->seen_count; i++) {
            uint32_t slot = (uint32_t)hash_state(&oracle->seen[i]) & oracle->slot_mask;
            while (oracle->slots[slot])
                slot = (slot + 1) & oracle->slot_mask;
            oracle->slots[slot] = i + 1;
        }
    }
    uint32_t slot = (uint32_t)hash_state(state) & oracle->slot_mask;
    for (; oracle->slots[slot]; slot = (slot + 1) & oracle->slot_mask) {
        if (memcmp(&oracle->seen[oracle->slots[slot] - 1], state, sizeof *state) == 0)
            return false;
    }
    oracle->seen[oracle->seen_count++] = *state;
    oracle->slots[slot] = oracle->seen_count;
    return true;
}

static bool search(struct oracle *oracle, const struct state *state)
{
    const struct iso_history *history = oracle->history;
    if ((state->done & oracle->committed) == oracle->committed)
        return true;
    if (!remember(oracle, state))
        return false;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        struct state next = *state;
        bool open = (state->begun >> t & 1) && !(state->done >> t & 1);
        if (open ? oracle->model == ISO_MODEL_GSI && !times_allow(oracle, t, state) : !may_begin(oracle, t, state))
            continue;
        next.begun |= (uint32_t)1 << t;
        if (open || iso_model_is_serial(oracle->model)) {
            next.done |= (uint32_t)1 << t;
            for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++)
                apply(history, o, &next);
        }
        if (search(oracle, &next))
            return true;
    }
    return false;
}

bool schedule_oracle_holds(const struct iso_history *history, enum iso_model model, uint64_t drift)
{
    assert(history->transaction_count <= TRANSACTIONS && history->key_count <= KEYS);
    struct oracle oracle = {.history = history, .model = model, .drift = drift};
    struct state start;
    memset(&start, 0, sizeof start);
    for (uint32_t key = 0; key < history->key_count; key++)
        start.value[key] = history->initial_value;
    for (uint32_t i = 0; i < history->initial_count; i++) {
        uint32_t key = history->initial_key[i];
        if (history->initial_is_append[i])
            start.list[key][start.length[key]++] = history->initial_of_key[i];
        else
            start.value[key] = history->initial_of_key[i];
    }
    for (uint32_t t = 0; t < history->transaction_count; t++)
        oracle.committed |= (uint32_t)(iso_status_of(history, t) == ISO_COMMITTED) << t;
    bool holds = search(&oracle, &start);
    free(oracle.seen);
    free(oracle.slots);
    return holds;
}
