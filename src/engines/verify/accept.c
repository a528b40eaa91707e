/* Accept: the events replayed, one after another, against the values of the keys. */
#include <string.h>

#include "verify/verify_private.h"

enum { NOT_BEGUN, BEGUN, DONE };

struct replay {
    const struct iso_history *history;
    const struct iso_evidence *evidence;
    struct iso_error *error;
    uint8_t *state;    /* by transaction */
    uint32_t *value;   /* by key: registers */
    uint32_t *busy;    /* by key: the open transaction that writes it, or ISO_NONE */
    uint32_t *touched; /* by key: the last operation of the transaction at hand, or ISO_NONE */
    struct {
        iso_atom *elements;
        uint32_t count, capacity;
    } * lists;            /* by key */
    struct own_list *own; /* by key: of the transaction at hand */
    /* by key: the latest cts that a committed writer had; NULL: that does not matter */
    uint64_t *newest;
    uint32_t *before; /* by transaction: the committed one before it in its session, or ISO_NONE */
};

static enum iso_verification refuse_order(struct replay *replay, uint32_t transaction,
                                          const char *what)
{
    char location[512];
    iso_history_location_text(replay->history, transaction, location, sizeof location);
    return VERIFY_REFUSE(replay->error, "%s: in the order that is given, %s", location, what);
}

static void append_to_list(struct replay *replay, uint32_t key, iso_atom element)
{
    if (replay->lists[key].count == replay->lists[key].capacity) {
        replay->lists[key].capacity = 2 * replay->lists[key].capacity + 4;
        replay->lists[key].elements = iso_reallocate(
            replay->lists[key].elements, replay->lists[key].capacity * sizeof(iso_atom));
    }
    replay->lists[key].elements[replay->lists[key].count++] = element;
}

static void set_initial(struct replay *replay)
{
    const struct iso_history *history = replay->history;
    for (uint32_t key = 0; key < history->keys.count; key++)
        replay->value[key] = history->initial.other_value;
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (history->initial.is_append[i])
            append_to_list(replay, history->initial.key[i], history->initial.value[i]);
        else
            replay->value[history->initial.key[i]] = history->initial.value[i];
    }
}

static void find_predecessors(struct replay *replay)
{
    const struct iso_history *history = replay->history;
    for (uint32_t s = 0; s < history->sessions.count; s++) {
        uint32_t last = ISO_NONE;
        ISO_EACH(i, history->sessions.first, s) {
            uint32_t t = history->sessions.order[i];
            replay->before[t] = last;
            if (iso_status_of(history, t) == ISO_COMMITTED)
                last = t;
        }
    }
}

static bool list_fits(struct replay *replay, uint32_t operation)
{
    const struct iso_history *history = replay->history;
    uint32_t key = history->ops.key[operation], count = replay->lists[key].count;
    struct read_shape shape = own_list_read(&replay->own[key], history, operation);
    const iso_atom *elements =
        history->lists.element + history->lists.first[history->ops.value[operation]];
    return shape.consistent && shape.prefix == count &&
           (!count || memcmp(elements, replay->lists[key].elements, count * sizeof *elements) == 0);
}

static enum iso_verification check_operations(struct replay *replay, uint32_t t)
{
    const struct iso_history *history = replay->history;
    uint32_t first = history->txns.first_op[t], end = history->txns.first_op[t + 1];
    for (uint32_t o = first; o < end; o++) {
        struct own_list *own = &replay->own[history->ops.key[o]];
        replay->touched[history->ops.key[o]] = ISO_NONE;
        own->count = 0;
        own->has_read = false;
    }
    for (uint32_t o = first; o < end; o++) {
        uint32_t key = history->ops.key[o], last = replay->touched[key];
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_READ_LIST && !list_fits(replay, o))
            return refuse_order(replay, t, "a list read does not return the list");
        if (kind == ISO_READ &&
            history->ops.value[o] !=
                (last == ISO_NONE ? replay->value[key] : history->ops.value[last]))
            return refuse_order(replay, t, "a read does not return the newest value");
        if (kind == ISO_APPEND)
            own_list_append(&replay->own[key], history->ops.value[o]);
        replay->touched[key] = o;
    }
    return ISO_CONFIRMED;
}

static enum iso_verification replay_begin(struct replay *replay, uint32_t t)
{
    const struct iso_history *history = replay->history;
    if (iso_status_of(history, t) == ISO_ABORTED)
        return refuse_order(replay, t, "an aborted transaction takes part");
    if (replay->state[t] != NOT_BEGUN)
        return refuse_order(replay, t, "a transaction begins twice");
    replay->state[t] = BEGUN;
    if (iso_level_keeps_sessions(replay->evidence->level) && replay->before[t] != ISO_NONE &&
        replay->state[replay->before[t]] != DONE)
        return refuse_order(replay, t,
                            "a transaction begins before its session's previous one has committed");
    if (iso_status_of(history, t) == ISO_COMMITTED && check_operations(replay, t) != ISO_CONFIRMED)
        return ISO_REFUSED;
    ISO_EACH(o, history->txns.first_op, t) {
        uint32_t key = history->ops.key[o];
        if (!iso_kind_writes(history->ops.kind[o]))
            continue;
        if (replay->busy[key] != ISO_NONE && replay->busy[key] != t &&
            replay->evidence->level != ISO_PC)
            return refuse_order(replay, t, "two writers of a key overlap");
        replay->busy[key] = t;
    }
    return ISO_CONFIRMED;
}

/* Where versions have the order of their commit timestamps; false: a later one stands already. */
static bool comes_newest(struct replay *replay, uint32_t t, uint32_t key)
{
    const struct iso_history *history = replay->history;
    if (!replay->newest || iso_status_of(history, t) != ISO_COMMITTED ||
        !(history->txns.flags[t] & ISO_HAS_CTS))
        return true;
    bool fine = history->txns.cts[t] >= replay->newest[key];
    replay->newest[key] = history->txns.cts[t];
    return fine;
}

static enum iso_verification replay_commit(struct replay *replay, uint32_t t)
{
    const struct iso_history *history = replay->history;
    if (replay->state[t] != BEGUN)
        return refuse_order(replay, t, "a transaction commits that has not begun, or twice");
    replay->state[t] = DONE;
    ISO_EACH(o, history->txns.first_op, t) {
        uint32_t key = history->ops.key[o];
        if (!iso_kind_writes(history->ops.kind[o]))
            continue;
        replay->busy[key] = ISO_NONE;
        if (!comes_newest(replay, t, key))
            return refuse_order(replay, t,
                                "a version comes behind one of a later commit timestamp");
        if (iso_kind_of(history, o) == ISO_APPEND)
            append_to_list(replay, key, history->ops.value[o]);
        else
            replay->value[key] = history->ops.value[o];
    }
    return ISO_CONFIRMED;
}

static enum iso_verification replay_events(struct replay *replay)
{
    const struct iso_history *history = replay->history;
    bool serial = iso_level_is_serial(replay->evidence->level);
    for (uint32_t i = 0; i < replay->evidence->event_count; i++) {
        uint32_t event = replay->evidence->events[i], t = event / 2;
        if (t >= history->txns.count || (serial && (event & 1)))
            return VERIFY_REFUSE(replay->error, "event %u is not one of this history", event);
        enum iso_verification status =
            event & 1 ? replay_commit(replay, t) : replay_begin(replay, t);
        if (status == ISO_CONFIRMED && serial)
            status = replay_commit(replay, t);
        if (status != ISO_CONFIRMED)
            return status;
    }
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (replay->state[t] != DONE &&
            (iso_status_of(history, t) == ISO_COMMITTED || replay->state[t] == BEGUN))
            return refuse_order(replay, t, "this transaction is missing");
    }
    return ISO_CONFIRMED;
}

/* By the clients' clocks, from the last event to the first: nothing that commits later may have
 * ended when this one began. Of those, the one that ended first is enough. */
static enum iso_verification check_times(struct replay *replay)
{
    const struct iso_history *history = replay->history;
    const struct iso_evidence *evidence = replay->evidence;
    uint32_t first = ISO_NONE; /* of those that commit later, the one that ended first */
    if (!iso_level_needs_times(evidence->level) || !history->txns.ended)
        return ISO_CONFIRMED;
    for (uint32_t i = evidence->event_count; i-- > 0;) {
        uint32_t event = evidence->events[i], t = event / 2;
        bool commits = event == iso_event_commit(evidence->level, t);
        bool judged = evidence->level == ISO_GSI ? commits : event == iso_event_begin(t);
        if (judged && first != ISO_NONE &&
            iso_history_ended_before(history, first, t, evidence->drift))
            return refuse_order(replay, t,
                                "a transaction comes before one that had ended when it began");
        if (commits && iso_status_of(history, t) == ISO_COMMITTED && history->txns.ended[t] &&
            (first == ISO_NONE || history->txns.ended[t] < history->txns.ended[first]))
            first = t;
    }
    return ISO_CONFIRMED;
}

enum iso_verification verify_order(const struct iso_history *history,
                                   const struct iso_evidence *evidence, struct iso_error *error)
{
    size_t keys = (size_t)history->keys.count + 1, transactions = (size_t)history->txns.count + 1;
    struct replay replay = {.history = history, .evidence = evidence, .error = error};
    replay.state = iso_allocate_zeroed(transactions, 1);
    replay.before = iso_allocate(transactions * sizeof *replay.before);
    replay.value = iso_allocate(keys * sizeof *replay.value);
    replay.touched = iso_allocate(keys * sizeof *replay.touched);
    replay.busy = iso_allocate(keys * sizeof *replay.busy);
    memset(replay.busy, 0xff, keys * sizeof *replay.busy);
    replay.lists = iso_allocate_zeroed(keys, sizeof *replay.lists);
    replay.own = iso_allocate_zeroed(keys, sizeof *replay.own);
    if (evidence->versions_by_commit)
        replay.newest = iso_allocate_zeroed(keys, sizeof *replay.newest);
    set_initial(&replay);
    find_predecessors(&replay);
    enum iso_verification status = replay_events(&replay);
    if (status == ISO_CONFIRMED)
        status = check_times(&replay);
    for (uint32_t key = 0; key < history->keys.count; key++) {
        ISO_FREE_ALL(replay.lists[key].elements, replay.own[key].elements);
    }
    ISO_FREE_ALL(replay.lists, replay.own, replay.newest, replay.busy, replay.touched, replay.value,
                 replay.before, replay.state);
    return status;
}
