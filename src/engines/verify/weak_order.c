/* Accept at the weak levels: the order is walked through once, and of each external read it is
 * asked whether a writer of its key that is visible to the reader stands behind the one that was
 * read.
 *
 * Which writers are visible is found from what each session has done so far: of each session's
 * writers of the key, the last visible one is enough, since those of a session keep their order.
 */
#include <assert.h>
#include <string.h>

#include "base/number_map.h"
#include "base/sorted.h"
#include "verify/verify_private.h"

/* By session and key, what stands last of something: a list from the newest on. */
struct last {
    uint32_t chain_index, position,
        before; /* index in the session, position in the order; before: an older one, or ISO_NONE */
};

/* Sessions as chains, and each transaction of unknown outcome as one of its own. */
struct walk_chains {
    uint32_t *of, *chain_index; /* by transaction: its chain, and where it stands there, from 1 */
    uint32_t *before; /* by transaction: the last committed one before it in its session */
    uint32_t count;
};

/* The part of the order that the walk has passed. */
struct walk_passed {
    uint32_t *newest;                  /* by key: the position of its last writer so far */
    uint32_t *writers_first, *writers; /* by key: the chains that write it, ascending */
    uint32_t *written; /* beside them: the newest of `lasts` among the chain's writers of the key */
    struct iso_number_map seen;   /* by chain and key: the newest of `lasts` among what its
                                     transactions read from */
    struct iso_number_map saw;    /* by chain and transaction: that is done */
    struct iso_number_map writes; /* by transaction with many operations, and key */
    struct last *lasts;
    uint32_t last_count, last_capacity;
};

/* Which transactions are visible: of each chain the last visible index. */
struct walk_rows {
    uint32_t **list;   /* cc, psi: by transaction; pram: by chain */
    uint32_t *left;    /* cc, psi: by transaction, who still asks for its row */
    uint32_t *here;    /* of the reader at hand */
    uint32_t *writing; /* by key: 1 + who was last asked what it overwrites */
};

/* The sources of a reader: transactions that it read from, and the operations that say so. */
struct walk_sources {
    uint32_t *list, *read_at; /* of the reader at hand */
    uint32_t count, capacity, read_capacity;
    uint32_t *kept_first, *kept, *kept_at; /* cc, psi: those of each transaction; else NULL */
    uint32_t kept_count;
    uint32_t *touched; /* by key: 1 + the last operation on it by the transaction at hand */
};

struct walk_lists {
    iso_atom **elements; /* by key: all elements, in the order of their writers */
    uint32_t *length, *room;
    uint32_t **end_of; /* by key: by index in it, 1 + who ends there */
};

struct walk {
    const struct iso_history *history;
    const struct iso_evidence *evidence;
    struct iso_error *error;
    enum iso_level level;
    bool sessions, each_read;
    struct finals finals;
    uint32_t *position; /* by transaction: 1 + where it stands in the order; 0: nowhere */
    struct walk_chains chains;
    struct walk_passed passed;
    struct walk_rows rows;
    struct walk_sources sources;
    struct own_list *own; /* by key: of the transaction at hand */
    struct walk_lists lists;
};

static enum iso_verification refuse(struct walk *walk, uint32_t t, const char *what)
{
    assert(t < walk->history->txns.count);
    char location[512];
    iso_history_location_text(walk->history, t, location, sizeof location);
    return VERIFY_REFUSE(walk->error, "%s: in the order that is given, %s", location, what);
}

static bool is_unknown(const struct walk *walk, uint32_t t)
{
    return iso_status_of(walk->history, t) == ISO_UNKNOWN;
}

/* ---- who stands where ---- */

static void number_sessions(struct walk *walk)
{
    const struct iso_history *history = walk->history;
    walk->chains.count = history->sessions.count;
    for (uint32_t s = 0; s < history->sessions.count; s++) {
        uint32_t last = ISO_NONE, chain_index = 0;
        ISO_EACH(i, history->sessions.first, s) {
            uint32_t t = history->sessions.order[i];
            walk->chains.before[t] = walk->sessions ? last : ISO_NONE;
            walk->chains.of[t] = is_unknown(walk, t) ? walk->chains.count++ : s;
            walk->chains.chain_index[t] = is_unknown(walk, t) ? 1 : ++chain_index;
            if (iso_status_of(history, t) == ISO_COMMITTED)
                last = t;
        }
    }
}

static enum iso_verification take_positions(struct walk *walk)
{
    const struct iso_history *history = walk->history;
    for (uint32_t i = 0; i < walk->evidence->event_count; i++) {
        uint32_t event = walk->evidence->events[i], t = event / 2;
        if (t >= history->txns.count || (event & 1))
            return VERIFY_REFUSE(walk->error, "event %u is not one of this history", event);
        if (iso_status_of(history, t) == ISO_ABORTED)
            return refuse(walk, t, "an aborted transaction takes part");
        if (walk->position[t])
            return refuse(walk, t, "a transaction stands twice");
        walk->position[t] = i + 1;
    }
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (!walk->position[t] && iso_status_of(history, t) == ISO_COMMITTED)
            return refuse(walk, t, "this transaction is missing");
        if (walk->position[t] && walk->chains.before[t] != ISO_NONE &&
            walk->position[walk->chains.before[t]] > walk->position[t])
            return refuse(walk, t, "a transaction stands before its session's previous one");
    }
    return ISO_CONFIRMED;
}

/* ---- lists: the whole of each, as the order makes it ---- */

static void append_all(struct walk *walk, uint32_t key, iso_atom element)
{
    if (walk->lists.length[key] == walk->lists.room[key]) {
        uint32_t room = 2 * walk->lists.room[key] + 4;
        walk->lists.elements[key] =
            iso_reallocate(walk->lists.elements[key], room * sizeof **walk->lists.elements);
        walk->lists.end_of[key] =
            iso_reallocate(walk->lists.end_of[key], (room + 1) * sizeof **walk->lists.end_of);
        memset(walk->lists.end_of[key] + walk->lists.room[key] + (walk->lists.room[key] > 0), 0,
               (room - walk->lists.room[key] + !walk->lists.room[key]) *
                   sizeof **walk->lists.end_of);
        walk->lists.room[key] = room;
    }
    walk->lists.elements[key][walk->lists.length[key]++] = element;
}

static void build_lists(struct walk *walk)
{
    const struct iso_history *history = walk->history;
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (history->initial.is_append[i])
            append_all(walk, history->initial.key[i], history->initial.value[i]);
    }
    for (uint32_t i = 0; i < walk->evidence->event_count; i++) {
        uint32_t t = walk->evidence->events[i] / 2;
        ISO_EACH(o, history->txns.first_op, t) {
            if (iso_kind_of(history, o) == ISO_APPEND)
                append_all(walk, history->ops.key[o], history->ops.value[o]);
        }
        ISO_EACH(o, history->txns.first_op, t) {
            if (iso_kind_of(history, o) == ISO_APPEND)
                walk->lists.end_of[history->ops.key[o]][walk->lists.length[history->ops.key[o]]] =
                    t + 1;
        }
    }
}

/* ---- who wrote what was read ---- */

enum { NOBODY = ISO_NONE - 1 };

/* The writer of a list read: the elements before it are all those of the key's writers up to it. */
static uint32_t list_writer(const struct walk *walk, uint32_t reader, uint32_t operation,
                            uint32_t prefix)
{
    const struct iso_history *history = walk->history;
    uint32_t key = history->ops.key[operation];
    const iso_atom *elements =
        history->lists.element + history->lists.first[history->ops.value[operation]];
    if (prefix < walk->finals.initial_length[key] || prefix > walk->lists.length[key] ||
        (prefix && memcmp(elements, walk->lists.elements[key], prefix * sizeof *elements)))
        return NOBODY;
    if (prefix == walk->finals.initial_length[key])
        return ISO_NONE;
    uint32_t writer = walk->lists.end_of[key][prefix];
    return writer && writer - 1 != reader ? writer - 1 : NOBODY;
}

/* The one of a value; where there are several, the evidence says which. */
static uint32_t register_writer(const struct walk *walk, uint32_t reader, uint32_t operation)
{
    const struct iso_history *history = walk->history;
    uint32_t key = history->ops.key[operation], value = history->ops.value[operation], end,
             count = 0, writer = NOBODY;
    uint32_t chosen = iso_evidence_choice(walk->evidence, operation);
    if (walk->finals.initial_value[key] == value) {
        if (chosen == ISO_NONE)
            return ISO_NONE;
        writer = ISO_NONE;
        count++;
    }
    uint32_t before = reader;
    for (uint32_t i = finals_find(&walk->finals, key, value, &end); i < end; i++) {
        uint32_t t = walk->finals.items[i].transaction;
        if (t == before || t == reader) /* it wrote the value twice */
            continue;
        before = t;
        if (chosen == t)
            return t;
        writer = t;
        count++;
    }
    return count == 1 ? writer : NOBODY;
}

/* ---- what is visible ---- */

static uint32_t add_last(struct walk *walk, uint32_t before, uint32_t chain_index,
                         uint32_t position)
{
    ISO_GROW(walk->passed.lasts, walk->passed.last_count, walk->passed.last_capacity);
    walk->passed.lasts[walk->passed.last_count] = (struct last){chain_index, position, before};
    return walk->passed.last_count++;
}

/* Whether one of them up to an index of the chain stands behind a position. Older ones stand before
 * newer ones. */
static bool is_behind(const struct walk *walk, uint32_t newest, uint32_t chain_index,
                      uint32_t position)
{
    for (uint32_t at = newest; at != ISO_NONE && walk->passed.lasts[at].position > position;
         at = walk->passed.lasts[at].before) {
        if (walk->passed.lasts[at].chain_index <= chain_index)
            return true;
    }
    return false;
}

/* Whether a transaction of the chain, up to `chain_index`, read a version of the key that stands
 * behind `position`. */
static bool seen_behind(const struct walk *walk, uint32_t chain, uint32_t key, uint32_t chain_index,
                        uint32_t position)
{
    uint32_t newest = iso_number_map_get(&walk->passed.seen, iso_number_pair(chain, key));
    return is_behind(walk, newest == ISO_NUMBER_NONE ? ISO_NONE : newest, chain_index, position);
}

/* Where the chain stands among those that write the key, or ISO_NONE. */
static uint32_t writer_index(const struct walk *walk, uint32_t chain, uint32_t key)
{
    uint32_t low = walk->passed.writers_first[key], high = walk->passed.writers_first[key + 1],
             end = high;
    ISO_BISECT(low, high, middle, walk->passed.writers[middle] < chain);
    return low < end && walk->passed.writers[low] == chain ? low : ISO_NONE;
}

static bool own_behind(const struct walk *walk, uint32_t t, uint32_t key, uint32_t position)
{
    uint32_t at = writer_index(walk, walk->chains.of[t], key);
    return at != ISO_NONE &&
           is_behind(walk, walk->passed.written[at], walk->chains.chain_index[t] - 1, position);
}

static bool writes_key(const struct walk *walk, uint32_t t, uint32_t key)
{
    enum { MANY = 32 };
    uint32_t value;
    if (walk->history->txns.first_op[t + 1] - walk->history->txns.first_op[t] > MANY)
        return iso_number_map_get(&walk->passed.writes, iso_number_pair(t, key)) != ISO_NUMBER_NONE;
    return verify_final_write(walk->history, t, key, &value);
}

/* By rows: of each chain that writes the key. */
static bool row_fits(const struct walk *walk, uint32_t key, uint32_t position)
{
    ISO_EACH(i, walk->passed.writers_first, key) {
        uint32_t chain = walk->passed.writers[i];
        if (walk->rows.here[chain] &&
            is_behind(walk, walk->passed.written[i], walk->rows.here[chain], position))
            return false;
    }
    return true;
}

static bool sources_fit(const struct walk *walk, uint32_t key, uint32_t operation,
                        uint32_t position)
{
    for (uint32_t i = 0; i < walk->sources.count; i++) {
        uint32_t source = walk->sources.list[i];
        if (source == ISO_NONE || (walk->each_read && walk->sources.read_at[i] >= operation))
            continue;
        if (walk->position[source] > position && writes_key(walk, source, key))
            return false;
    }
    return true;
}

/* Whether no visible writer of the key stands behind that position. */
static bool reads_last_visible(const struct walk *walk, uint32_t t, uint32_t operation,
                               uint32_t position)
{
    assert(t < walk->history->txns.count);
    uint32_t key = walk->history->ops.key[operation];
    if (walk->passed.newest[key] <= position) /* there is none at all */
        return true;
    switch (walk->level) {
    case ISO_ADYA_RC:
        return true;
    case ISO_RC:
        return sources_fit(walk, key, operation, position);
    case ISO_RA:
        return sources_fit(walk, key, operation, position) && !own_behind(walk, t, key, position);
    case ISO_RYW:
        return !own_behind(walk, t, key, position);
    case ISO_MR:
        return !seen_behind(walk, walk->chains.of[t], key, walk->chains.chain_index[t] - 1,
                            position);
    case ISO_WFR:
        for (uint32_t i = 0; i < walk->sources.count; i++) {
            uint32_t source = walk->sources.list[i];
            uint32_t last = source != ISO_NONE && is_unknown(walk, source)
                                ? walk->chains.before[source]
                                : source;
            if (last != ISO_NONE && seen_behind(walk, walk->chains.of[last], key,
                                                walk->chains.chain_index[last], position))
                return false;
        }
        return true;
    default:
        return row_fits(walk, key, position);
    }
}

/* ---- rows ---- */

static void raise_to(uint32_t *number, uint32_t least)
{
    *number = *number < least ? least : *number;
}

static void raise_by_source(const struct walk *walk, uint32_t *row, uint32_t source, bool itself)
{
    if (walk->chains.before[source] != ISO_NONE)
        raise_to(&row[walk->chains.of[walk->chains.before[source]]],
                 walk->chains.chain_index[walk->chains.before[source]]);
    if (itself)
        raise_to(&row[walk->chains.of[source]], walk->chains.chain_index[source]);
}

static void let_go(struct walk *walk, uint32_t t)
{
    assert(t < walk->history->txns.count);
    if (--walk->rows.left[t])
        return;
    iso_free(walk->rows.list[t]);
    walk->rows.list[t] = NULL;
}

static void join_from(struct walk *walk, uint32_t from)
{
    const uint32_t *other = walk->rows.list[from];
    if (walk->rows.here[walk->chains.of[from]] < walk->chains.chain_index[from]) {
        for (uint32_t chain = 0; chain < walk->chains.count; chain++)
            raise_to(&walk->rows.here[chain], other[chain]);
        raise_to(&walk->rows.here[walk->chains.of[from]], walk->chains.chain_index[from]);
    }
    let_go(walk, from);
}

/* A transaction's row is its own, until nobody asks for it. */
static bool has_row_each(const struct walk *walk)
{
    return walk->level == ISO_CC || walk->level == ISO_PSI;
}

/* psi: who wrote last, in the order, what the transaction writes, of each key. One that writes it
 * several times counts once. */
static void for_overwritten(struct walk *walk, uint32_t t,
                            void (*what)(struct walk *walk, uint32_t before))
{
    assert(t < walk->history->txns.count);
    const struct iso_history *history = walk->history;
    ISO_EACH(o, history->txns.first_op, t) {
        uint32_t key = history->ops.key[o], position = walk->passed.newest[key];
        if (!iso_kind_writes(history->ops.kind[o]) || walk->rows.writing[key] == t + 1)
            continue;
        walk->rows.writing[key] = t + 1;
        if (position)
            what(walk, walk->evidence->events[position - 1] / 2);
    }
}

static void ask_for(struct walk *walk, uint32_t before)
{
    walk->rows.left[before]++;
}

/* Finds which transactions are visible to the reader, whose sources are known. */
static void make_row(struct walk *walk, uint32_t t)
{
    assert(t < walk->history->txns.count);
    size_t bytes = walk->chains.count * sizeof *walk->rows.here;
    if (has_row_each(walk)) {
        walk->rows.here = walk->rows.list[t] =
            iso_allocate_zeroed((size_t)walk->chains.count + 1, sizeof *walk->rows.here);
        if (walk->chains.before[t] != ISO_NONE)
            join_from(walk, walk->chains.before[t]);
        for (uint32_t i = 0; i < walk->sources.count; i++) {
            if (walk->sources.list[i] != ISO_NONE)
                join_from(walk, walk->sources.list[i]);
        }
        if (walk->level == ISO_PSI)
            for_overwritten(walk, t, join_from);
        return;
    }
    if (walk->level == ISO_PRAM)
        memcpy(walk->rows.here, walk->rows.list[walk->chains.of[t]], bytes);
    else if (walk->level == ISO_MW)
        memset(walk->rows.here, 0, bytes);
    else
        return;
    for (uint32_t i = 0; i < walk->sources.count; i++) {
        if (walk->sources.list[i] != ISO_NONE)
            raise_by_source(walk, walk->rows.here, walk->sources.list[i], false);
    }
}

static void leave_row(struct walk *walk, uint32_t t)
{
    assert(t < walk->history->txns.count);
    if (walk->level == ISO_PRAM && !is_unknown(walk, t)) {
        uint32_t *row = walk->rows.list[walk->chains.of[t]];
        raise_to(&row[walk->chains.of[t]], walk->chains.chain_index[t]);
        for (uint32_t i = 0; i < walk->sources.count; i++) {
            if (walk->sources.list[i] != ISO_NONE)
                raise_by_source(walk, row, walk->sources.list[i], true);
        }
    }
    if (has_row_each(walk) && !walk->rows.left[t]) {
        iso_free(walk->rows.list[t]);
        walk->rows.list[t] = NULL;
    }
}

/* ---- one transaction after another ---- */

static void forget_own(struct walk *walk, uint32_t t)
{
    assert(t < walk->history->txns.count);
    const struct iso_history *history = walk->history;
    ISO_EACH(o, history->txns.first_op, t) {
        struct own_list *own = &walk->own[history->ops.key[o]];
        walk->sources.touched[history->ops.key[o]] = 0;
        own->count = 0;
        own->has_read = false;
        own->each_read = walk->each_read;
    }
}

static void add_source(struct walk *walk, uint32_t source, uint32_t operation)
{
    ISO_RESERVE(walk->sources.read_at, (size_t)walk->sources.count + 1,
                walk->sources.read_capacity);
    ISO_GROW(walk->sources.list, walk->sources.count, walk->sources.capacity);
    walk->sources.read_at[walk->sources.count] = operation;
    walk->sources.list[walk->sources.count++] = source;
}

/* The external reads of the transaction with their writers; internal ones must agree. */
static enum iso_verification find_sources(struct walk *walk, uint32_t t)
{
    assert(t < walk->history->txns.count);
    const struct iso_history *history = walk->history;
    walk->sources.count = 0;
    forget_own(walk, t);
    ISO_EACH(o, history->txns.first_op, t) {
        uint32_t key = history->ops.key[o], last = walk->sources.touched[key], writer;
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_APPEND) {
            own_list_append(&walk->own[key], history->ops.value[o]);
            continue;
        }
        if (kind == ISO_READ_LIST) {
            struct read_shape shape = own_list_read(&walk->own[key], history, o);
            if (!shape.consistent)
                return refuse(walk, t, "a list read disagrees with its own transaction");
            if (shape.internal)
                continue;
            writer = list_writer(walk, t, o, shape.prefix);
        } else {
            bool wrote = last && iso_kind_writes(history->ops.kind[last - 1]);
            /* where each read is one of its own, reads keep what the last write was */
            if (iso_kind_writes(kind) || !walk->each_read || !last)
                walk->sources.touched[key] = o + 1;
            if (iso_kind_writes(kind))
                continue;
            if (last && (wrote || !walk->each_read)) {
                if (history->ops.value[last - 1] != history->ops.value[o])
                    return refuse(walk, t, "a read disagrees with its own transaction");
                continue;
            }
            writer = register_writer(walk, t, o);
        }
        if (writer == NOBODY)
            return refuse(walk, t, "it is not known whose version a read saw");
        if (writer != ISO_NONE &&
            (!walk->position[writer] || walk->position[writer] > walk->position[t]))
            return refuse(walk, t, "a read saw what comes later");
        add_source(walk, writer, o);
    }
    return ISO_CONFIRMED;
}

static void note_writes(struct walk *walk, uint32_t t)
{
    const struct iso_history *history = walk->history;
    ISO_EACH(o, history->txns.first_op, t) {
        uint32_t key = history->ops.key[o];
        if (!iso_kind_writes(history->ops.kind[o]) || walk->passed.newest[key] == walk->position[t])
            continue;
        walk->passed.newest[key] = walk->position[t];
        if (walk->passed.written) {
            uint32_t *last = &walk->passed.written[writer_index(walk, walk->chains.of[t], key)];
            *last = add_last(walk, *last, walk->chains.chain_index[t], walk->position[t]);
        }
    }
}

static void note_seen(struct walk *walk, uint32_t t)
{
    assert(t < walk->history->txns.count);
    const struct iso_history *history = walk->history;
    if (walk->level != ISO_MR && walk->level != ISO_WFR)
        return;
    for (uint32_t i = 0; i < walk->sources.count; i++) {
        uint32_t source = walk->sources.list[i], chain = walk->chains.of[t];
        if (source == ISO_NONE ||
            iso_number_map_put(&walk->passed.saw, iso_number_pair(chain, source), 1) !=
                ISO_NUMBER_NONE)
            continue;
        ISO_EACH(o, history->txns.first_op, source) {
            uint64_t name = iso_number_pair(chain, history->ops.key[o]);
            if (!iso_kind_writes(history->ops.kind[o]))
                continue;
            uint32_t newest = iso_number_map_get(&walk->passed.seen, name);
            newest = newest == ISO_NUMBER_NONE ? ISO_NONE : newest;
            if (newest == ISO_NONE || walk->passed.lasts[newest].position < walk->position[source])
                iso_number_map_put(
                    &walk->passed.seen, name,
                    add_last(walk, newest, walk->chains.chain_index[t], walk->position[source]));
        }
    }
}

static void take_kept(struct walk *walk, uint32_t t)
{
    assert(t < walk->history->txns.count);
    ISO_EACH(i, walk->sources.kept_first, t)
        add_source(walk, walk->sources.kept[i], walk->sources.kept_at[i]);
}

static enum iso_verification check_transaction(struct walk *walk, uint32_t t)
{
    assert(t < walk->history->txns.count);
    walk->sources.count = 0;
    if (walk->sources.kept_first)
        take_kept(walk, t);
    else if (!is_unknown(walk, t) && find_sources(walk, t) != ISO_CONFIRMED)
        return ISO_REFUSED;
    make_row(walk, t);
    note_seen(walk, t);
    for (uint32_t i = 0; i < walk->sources.count; i++) {
        uint32_t source = walk->sources.list[i];
        if (!reads_last_visible(walk, t, walk->sources.read_at[i],
                                source == ISO_NONE ? 0 : walk->position[source]))
            return refuse(walk, t, "a read did not see the last visible version");
    }
    note_writes(walk, t);
    leave_row(walk, t);
    return ISO_CONFIRMED;
}

/* ---- the whole ---- */

/* By chain. Transactions without a position are left out. */
static uint32_t *sort_by_chain(const struct walk *walk, uint32_t *count)
{
    uint32_t n = walk->history->txns.count;
    uint32_t *at = iso_allocate_zeroed((size_t)walk->chains.count + 2, sizeof *at);
    uint32_t *sorted = iso_allocate(((size_t)n + 1) * sizeof *sorted);
    for (uint32_t t = 0; t < n; t++) {
        if (walk->position[t])
            at[walk->chains.of[t] + 1]++;
    }
    for (uint32_t chain = 0; chain < walk->chains.count; chain++)
        at[chain + 1] += at[chain];
    *count = at[walk->chains.count];
    for (uint32_t t = 0; t < n; t++) {
        if (walk->position[t])
            sorted[at[walk->chains.of[t]]++] = t;
    }
    iso_free(at);
    return sorted;
}

/* Chains that write each key, for levels that ask what a chain wrote last. */
static void find_writers(struct walk *walk)
{
    const struct iso_history *history = walk->history;
    uint32_t keys = history->keys.count, count, *sorted;
    if (walk->level == ISO_RC || walk->level == ISO_ADYA_RC || walk->level == ISO_MR ||
        walk->level == ISO_WFR)
        return;
    sorted = sort_by_chain(walk, &count);
    walk->passed.writers_first =
        iso_allocate_zeroed((size_t)keys + 2, sizeof *walk->passed.writers_first);
    uint32_t *done = iso_allocate(((size_t)keys + 1) * sizeof *done); /* by key: the chain */
    for (int pass = 0; pass < 2; pass++) {
        memset(done, 0xff, ((size_t)keys + 1) * sizeof *done);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t t = sorted[i], chain = walk->chains.of[t];
            ISO_EACH(o, history->txns.first_op, t) {
                uint32_t key = history->ops.key[o];
                if (!iso_kind_writes(history->ops.kind[o]) || done[key] == chain)
                    continue;
                done[key] = chain;
                if (pass)
                    walk->passed.writers[walk->passed.writers_first[key + 1]++] = chain;
                else
                    walk->passed.writers_first[key + 2]++;
            }
        }
        for (uint32_t key = 0; key < keys && !pass; key++)
            walk->passed.writers_first[key + 2] += walk->passed.writers_first[key + 1];
        if (!pass) {
            size_t total = (size_t)walk->passed.writers_first[keys + 1] + 1;
            walk->passed.writers = iso_allocate(total * sizeof *walk->passed.writers);
            walk->passed.written = memset(iso_allocate(total * sizeof *walk->passed.written), 0xff,
                                          total * sizeof *walk->passed.written);
        }
    }
    ISO_FREE_ALL(done, sorted);
}

/* Keeps the writer of each read, since rows have to know their readers first. */
static enum iso_verification keep_sources(struct walk *walk)
{
    const struct iso_history *history = walk->history;
    uint32_t n = history->txns.count, source_capacity = 0, at_capacity = 0;
    walk->sources.kept_first = iso_allocate_zeroed((size_t)n + 1, sizeof *walk->sources.kept_first);
    for (uint32_t t = 0; t < n; t++) {
        walk->sources.kept_first[t] = walk->sources.kept_first[t + 1] = walk->sources.kept_count;
        if (!walk->position[t])
            continue;
        if (walk->chains.before[t] != ISO_NONE)
            walk->rows.left[walk->chains.before[t]]++;
        if (is_unknown(walk, t))
            continue;
        if (find_sources(walk, t) != ISO_CONFIRMED)
            return ISO_REFUSED;
        ISO_RESERVE(walk->sources.kept, (size_t)walk->sources.kept_count + walk->sources.count,
                    source_capacity);
        ISO_RESERVE(walk->sources.kept_at, (size_t)walk->sources.kept_count + walk->sources.count,
                    at_capacity);
        for (uint32_t i = 0; i < walk->sources.count; i++) {
            walk->sources.kept[walk->sources.kept_count] = walk->sources.list[i];
            walk->sources.kept_at[walk->sources.kept_count++] = walk->sources.read_at[i];
            if (walk->sources.list[i] != ISO_NONE)
                walk->rows.left[walk->sources.list[i]]++;
        }
        walk->sources.kept_first[t + 1] = walk->sources.kept_count;
    }
    return ISO_CONFIRMED;
}

static void ask_for_overwritten(struct walk *walk)
{
    const struct iso_history *history = walk->history;
    for (uint32_t i = 0; i < walk->evidence->event_count; i++) {
        uint32_t t = walk->evidence->events[i] / 2;
        for_overwritten(walk, t, ask_for);
        ISO_EACH(o, history->txns.first_op, t) {
            if (iso_kind_writes(history->ops.kind[o]))
                walk->passed.newest[history->ops.key[o]] = i + 1;
        }
    }
    memset(walk->passed.newest, 0, ((size_t)history->keys.count + 1) * sizeof *walk->passed.newest);
    memset(walk->rows.writing, 0, ((size_t)history->keys.count + 1) * sizeof *walk->rows.writing);
}

static enum iso_verification walk_order(struct walk *walk)
{
    const struct iso_history *history = walk->history;
    uint32_t n = history->txns.count;
    find_writers(walk);
    if (walk->level == ISO_PRAM || walk->level == ISO_MW)
        walk->rows.here =
            iso_allocate_zeroed((size_t)walk->chains.count + 1, sizeof *walk->rows.here);
    if (walk->level == ISO_PRAM) {
        walk->rows.list =
            iso_allocate_zeroed((size_t)n + walk->chains.count + 1, sizeof *walk->rows.list);
        for (uint32_t chain = 0; chain < walk->chains.count; chain++)
            walk->rows.list[chain] =
                iso_allocate_zeroed((size_t)walk->chains.count + 1, sizeof **walk->rows.list);
    }
    if (has_row_each(walk)) {
        walk->rows.list =
            iso_allocate_zeroed((size_t)n + walk->chains.count + 1, sizeof *walk->rows.list);
        if (keep_sources(walk) != ISO_CONFIRMED)
            return ISO_REFUSED;
    }
    if (walk->level == ISO_PSI)
        ask_for_overwritten(walk);
    for (uint32_t i = 0; i < walk->evidence->event_count; i++) {
        if (check_transaction(walk, walk->evidence->events[i] / 2) != ISO_CONFIRMED)
            return ISO_REFUSED;
    }
    return ISO_CONFIRMED;
}

static void walk_init(struct walk *walk)
{
    const struct iso_history *history = walk->history;
    size_t n = (size_t)history->txns.count + 1, keys = (size_t)history->keys.count + 1;
    uint32_t **columns[] = {&walk->position, &walk->chains.of, &walk->chains.chain_index,
                            &walk->chains.before, &walk->rows.left};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        *columns[i] = iso_allocate_zeroed(n, sizeof(uint32_t));
    walk->passed.newest = iso_allocate_zeroed(keys, sizeof *walk->passed.newest);
    walk->sources.touched = iso_allocate_zeroed(keys, sizeof *walk->sources.touched);
    walk->rows.writing = iso_allocate_zeroed(keys, sizeof *walk->rows.writing);
    walk->lists.length = iso_allocate_zeroed(keys, sizeof *walk->lists.length);
    walk->lists.room = iso_allocate_zeroed(keys, sizeof *walk->lists.room);
    walk->own = iso_allocate_zeroed(keys, sizeof *walk->own);
    walk->lists.elements = iso_allocate_zeroed(keys, sizeof *walk->lists.elements);
    walk->lists.end_of = iso_allocate_zeroed(keys, sizeof *walk->lists.end_of);
    finals_init(&walk->finals, history);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        ISO_EACH(o, history->txns.first_op, t) {
            if (history->txns.first_op[t + 1] - history->txns.first_op[t] > 32 &&
                iso_kind_writes(history->ops.kind[o]))
                iso_number_map_put(&walk->passed.writes, iso_number_pair(t, history->ops.key[o]),
                                   1);
        }
    }
}

static void walk_release(struct walk *walk)
{
    const struct iso_history *history = walk->history;
    uint32_t rows = has_row_each(walk) ? history->txns.count : walk->chains.count;
    for (uint32_t i = 0; walk->rows.list && i < rows; i++)
        iso_free(walk->rows.list[i]);
    if (!has_row_each(walk))
        iso_free(walk->rows.here);
    for (uint32_t key = 0; key < history->keys.count; key++)
        ISO_FREE_ALL(walk->own[key].elements, walk->lists.elements[key], walk->lists.end_of[key]);
    ISO_FREE_ALL(walk->position, walk->chains.of, walk->chains.chain_index, walk->chains.before,
                 walk->rows.left, walk->passed.newest, walk->sources.touched, walk->lists.length,
                 walk->lists.room, walk->sources.list, walk->sources.read_at, walk->passed.writers,
                 walk->passed.writers_first, walk->rows.writing, walk->passed.written,
                 walk->sources.kept_first, walk->sources.kept, walk->sources.kept_at,
                 walk->rows.list, walk->own, walk->lists.elements, walk->lists.end_of,
                 walk->passed.lasts);
    iso_number_map_release(&walk->passed.seen);
    iso_number_map_release(&walk->passed.saw);
    iso_number_map_release(&walk->passed.writes);
    finals_release(&walk->finals);
}

enum iso_verification verify_weak_order(const struct iso_history *history,
                                        const struct iso_evidence *evidence,
                                        struct iso_error *error)
{
    struct walk walk = {.history = history,
                        .evidence = evidence,
                        .error = error,
                        .level = evidence->level,
                        .sessions = iso_level_keeps_sessions(evidence->level),
                        .each_read = iso_level_has_each_read(evidence->level)};
    walk_init(&walk);
    number_sessions(&walk);
    enum iso_verification status = take_positions(&walk);
    if (status == ISO_CONFIRMED) {
        build_lists(&walk);
        status = walk_order(&walk);
    }
    walk_release(&walk);
    return status;
}
