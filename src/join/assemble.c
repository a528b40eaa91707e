/* Rows to transactions.
 *
 * A row is known by its key and its ordinal within its transaction: its position in the log; where keys change once a
 * transaction, what was done; where the source has nothing (Dgraph), how often the key was changed before in the same
 * *run*, a stretch of one transaction's messages in one partition. So a sender that starts again from an earlier place,
 * or from the middle of a transaction, repeats rows that are known, whatever it interleaves them with; and a
 * transaction that writes a, b, a keeps all three. A repeat of equal content is ignored, one of other content is a
 * violation.
 */
#include "base/memory.h"
#include "join/join_private.h"

/* ---- identities ---- */

static bool is_number(const struct iso_atoms *atoms, iso_atom atom, uint64_t *number)
{
    if (!(atom & ISO_ATOM_TABLE)) {
        *number = atom;
        return true;
    }
    uint32_t entry = atom & ~ISO_ATOM_TABLE;
    if (atom == ISO_ABSENT || atoms->form[entry] != ISO_FORM_UNSIGNED)
        return false;
    *number = atoms->payload[entry];
    return true;
}

bool join_identity_of(struct iso_join *join, const struct iso_history *block, const struct iso_event *event,
                      struct join_identity *identity)
{
    uint64_t number;
    if (join->capability->by_id && (event->flags & ISO_EVENT_HAS_ID) && event->transaction_id != ISO_ABSENT) {
        bool xid = join->capability->positions && is_number(&block->atoms, event->transaction_id, &number);
        *identity = xid ? (struct join_identity){(uint32_t)number, JOIN_BY_XID}
                        : (struct join_identity){join_text(join, block, event->transaction_id), JOIN_BY_TEXT};
        return true;
    }
    if (event->flags & ISO_EVENT_HAS_STS)
        *identity = (struct join_identity){event->sts.physical, JOIN_BY_STS};
    else if (event->flags & ISO_EVENT_HAS_CTS)
        *identity = (struct join_identity){event->cts.physical, JOIN_BY_CTS};
    else
        return false;
    return true;
}

/* ---- lanes and runs ---- */

struct join_lane *join_lane(struct iso_join *join, uint32_t input)
{
    if (input >= join->lane_count) {
        uint32_t count = (uint32_t)iso_column_capacity(join->lane_count, input + 1);
        join->lanes = iso_reallocate(join->lanes, count * sizeof *join->lanes);
        for (uint32_t i = join->lane_count; i < count; i++)
            join->lanes[i] = (struct join_lane){.used = false};
        join->lane_count = count;
    }
    return &join->lanes[input];
}

static struct join_lane *lane_of(struct iso_join *join, uint64_t origin)
{
    struct join_lane *lane = join_lane(join, iso_origin_input(origin));
    lane->used = true;
    return lane;
}

static bool same(struct join_identity left, struct join_identity right)
{
    return left.number == right.number && left.tag == right.tag;
}

/* A larger commit timestamp closes the transaction before. A smaller one means that the sender went back (then what
 * stood open may have been cut) or that another group's messages are interleaved: it closes nothing. */
static void follow_run(struct iso_join *join, struct join_lane *lane, struct join_identity identity, uint64_t cts)
{
    if (same(lane->current, identity))
        return;
    uint32_t before = lane->current.tag ? join_map_get(&join->by_identity, lane->current) : ISO_NONE;
    uint64_t cts_before = lane->cts;
    bool larger = cts > cts_before;
    lane->current = identity;
    lane->cts = cts;
    lane->run = ++join->runs;
    if (larger && cts_before > join->closed)
        join->closed = cts_before;
    if (before != ISO_NONE && larger) {
        join->transactions[before].flags |= JOIN_CLOSED;
        join_settle(join, before, 0);
    }
}

/* ---- opening and closing ---- */

/* Where in the log a row's transaction commits, as far as the row tells: PostgreSQL's rows say where the commit before
 * ended, a binlog's rows stand in front of their commit. */
static uint64_t commit_place(struct join_identity identity, const struct iso_event *event)
{
    enum { BINLOG_OFFSET_BITS = 40, BINLOG_ROW_BITS = 24 };
    if (identity.tag == JOIN_BY_XID)
        return event->position[0] + 1;
    return (event->position[0] << BINLOG_OFFSET_BITS | event->position[1] >> BINLOG_ROW_BITS) + 1;
}

static void note_position(struct join_transaction *transaction, const struct iso_event *event)
{
    if (event->type == ISO_EVENT_END) {
        transaction->position = event->position[1];
        transaction->flags |= JOIN_COMMIT_SAID | JOIN_HAS_POSITION;
    } else if ((event->type == ISO_EVENT_ROW || event->type == ISO_EVENT_DROP) &&
               !(transaction->flags & JOIN_COMMIT_SAID)) {
        uint64_t place = commit_place(transaction->identity, event);
        transaction->position = place > transaction->position ? place : transaction->position;
        transaction->flags |= JOIN_HAS_POSITION;
    }
}

static void note_times(struct iso_join *join, struct join_transaction *transaction, const struct iso_event *event)
{
    if (event->flags & ISO_EVENT_HAS_STS) {
        transaction->sts = event->sts.physical;
        transaction->flags |= JOIN_HAS_STS;
        join->starts_come = true;
    }
    if (event->flags & ISO_EVENT_HAS_CTS) {
        transaction->cts = event->cts.physical;
        transaction->flags |= JOIN_HAS_CTS;
        join->largest = event->cts.physical > join->largest ? event->cts.physical : join->largest;
    }
    if ((event->flags & ISO_EVENT_HAS_POSITION) && join->capability->positions)
        note_position(transaction, event);
}

uint32_t join_open(struct iso_join *join, struct join_identity identity, const struct iso_event *event)
{
    uint32_t number = join_map_get(&join->by_identity, identity);
    if (number == ISO_NONE) {
        number = join_new_transaction(join, identity);
        join->transactions[number].origin = event->origin;
        join->stats.transactions++;
    }
    note_times(join, &join->transactions[number], event);
    return number;
}

void join_check_complete(struct iso_join *join, uint32_t number)
{
    struct join_transaction *transaction = &join->transactions[number];
    uint64_t have = (uint64_t)transaction->rows.count - transaction->dropped + transaction->others;
    bool ended = (transaction->flags & JOIN_ENDED) && have >= transaction->expected;
    if (join->capability->closing == JOIN_CLOSES_WITH_RECORD) {
        if (!transaction->markers.count || ended) /* other markers may still come */
            transaction->flags |= JOIN_CLOSED;
        if (transaction->flags & JOIN_CLOSED)
            join_settle(join, number, 0);
    } else if (ended) {
        join->stats.hints_wrong += have > transaction->expected;
        transaction->flags |= JOIN_CLOSED | JOIN_COMPLETE;
        join_settle(join, number, JOIN_ROWS_FINAL);
    }
}

void join_take_end(struct iso_join *join, const struct iso_history *block, const struct iso_event *event)
{
    struct join_identity identity;
    join->ends_come = true;
    if ((event->flags & ISO_EVENT_HAS_POSITION) && event->position[1] > join->last_end)
        join->last_end = event->position[1];
    if (join->capability->closing != JOIN_CLOSES_AT_END || !join_identity_of(join, block, event, &identity))
        return;
    bool known = join_map_get(&join->by_identity, identity) != ISO_NONE;
    bool empty =
        (event->flags & ISO_EVENT_HAS_COUNT) && !event->count && !join->options.clients; /* nobody waits for it */
    if (!known && (empty || join_settled_find(join, identity)))
        return;
    uint32_t number = join_open(join, identity, event);
    struct join_transaction *transaction = &join->transactions[number];
    uint32_t count = event->flags & ISO_EVENT_HAS_COUNT ? event->count : 0;
    /* After a restart END may come again, and counts what was sent since: the largest count is of the whole. */
    if (!(transaction->flags & JOIN_ENDED) || count > transaction->expected)
        transaction->expected = count;
    transaction->flags |= JOIN_ENDED;
    join_check_complete(join, number);
}

/* Places rise within a partition; what does not rise was sent again. */
static bool count_other(struct iso_join *join, uint32_t number, const struct iso_event *event)
{
    struct join_transaction *transaction = &join->transactions[number];
    uint32_t input = iso_origin_input(event->origin), row = transaction->others_seen.first;
    for (uint32_t i = 0; i < transaction->others_seen.count && join->rows[row].key != input; i++)
        row = join->rows[row].next;
    if (row == ISO_NONE) {
        row = join_new_row(join, &transaction->others_seen);
        join->rows[row].key = input;
    } else if (event->order && event->order <= join->rows[row].ordinal) {
        return false;
    }
    join->rows[row].ordinal = event->order;
    transaction->others++;
    return true;
}

/* An event that END counts and that is no row: a logical message, a row of a table that is not looked at, a marker. */
void join_take_other(struct iso_join *join, const struct iso_history *block, const struct iso_event *event)
{
    struct join_identity identity;
    bool counts = join->capability->by_id && (event->flags & ISO_EVENT_HAS_ID);
    if ((!counts && !(event->flags & ISO_EVENT_HAS_MARKER)) || !join_identity_of(join, block, event, &identity) ||
        (join_map_get(&join->by_identity, identity) == ISO_NONE && join_settled_find(join, identity)))
        return;
    if (join->capability->runs)
        follow_run(join, lane_of(join, event->origin), identity, event->cts.physical);
    uint32_t number = join_open(join, identity, event);
    if (event->flags & ISO_EVENT_HAS_MARKER)
        join_note_marker(join, number, join_text(join, block, event->marker));
    if (counts)
        count_other(join, number, event);
    join_check_complete(join, number);
}

/* Without END: once every partition has gone on to later positions. */
void join_close_passed(struct iso_join *join)
{
    uint64_t reached = UINT64_MAX;
    if (join->capability->closing != JOIN_CLOSES_AT_END || join->ends_come)
        return;
    for (uint32_t i = 0; i < join->lane_count; i++) {
        const struct join_lane *lane = &join->lanes[i];
        if (lane->used && !lane->declared)
            return;
        if (lane->declared && lane->reached < reached)
            reached = lane->reached;
    }
    for (uint32_t number = join->oldest; number != ISO_NONE;) {
        struct join_transaction *transaction = &join->transactions[number];
        uint32_t next = transaction->newer;
        if (!(transaction->flags & JOIN_HAS_POSITION) || transaction->position > reached)
            break;
        transaction->flags |= JOIN_CLOSED | JOIN_COMPLETE;
        join_settle(join, number, JOIN_ROWS_FINAL);
        number = next;
    }
}

/* ENDs come in the order of commits, in a partition of their own: whatever commits up to the last one has shown at
 * least its END, and is open or settled. */
void join_promise(struct iso_join *join)
{
    uint64_t promise = join->last_end;
    if (!promise || join->options.clients || join->expects_in_band || join->in_band || !join->capability->positions)
        return;
    for (uint32_t i = join->oldest; i != ISO_NONE; i = join->transactions[i].newer)
        if ((join->transactions[i].flags & JOIN_HAS_POSITION) && join->transactions[i].position <= promise)
            promise = join->transactions[i].position - 1;
    if (promise <= join->promised)
        return;
    join->promised = promise;
    join_give_watermark(join, promise - 1); /* initial rows may still come, at `promised` */
}

/* All before it has come in this partition. */
static void note_reached(struct join_lane *lane, struct join_identity identity, const struct iso_event *event)
{
    uint64_t place = commit_place(identity, event) - 1;
    lane->reached = place > lane->reached ? place : lane->reached;
}

/* ---- one row ---- */

struct arrival {
    const struct iso_history *block;
    const struct iso_event *event;
    uint32_t key;
    uint64_t ordinal;
    uint32_t content;
    bool conditional;
};

static uint64_t ordinal_of(struct iso_join *join, const struct arrival *arrival, const struct join_lane *lane)
{
    const struct iso_event *event = arrival->event;
    struct join_key *state = &join->key_states[arrival->key];
    if (join->capability->runs) {
        state->occurrences = state->run == lane->run ? state->occurrences + 1 : 1;
        state->run = lane->run;
        return state->occurrences;
    }
    if (event->flags & ISO_EVENT_HAS_POSITION)
        return join->capability->positions ? event->position[1]
                                           : event->position[0] * 0x9e3779b97f4a7c15u + event->position[1];
    return event->operation == ISO_ROW_DELETE ? 0 : 1;
}

static uint32_t content_of(const struct arrival *arrival)
{
    const struct iso_event *event = arrival->event;
    const struct iso_atoms *atoms = &arrival->block->atoms;
    uint64_t digest = event->flags & (ISO_EVENT_HAS_BEFORE | ISO_EVENT_HAS_AFTER);
    digest += (uint64_t)event->type << 8 | (uint64_t)(event->operation == ISO_ROW_DELETE) << 16;
    if ((event->flags & ISO_EVENT_HAS_BEFORE) || arrival->conditional)
        digest = (digest + join_digest(atoms, event->before)) * 0x9e3779b97f4a7c15u;
    if (event->flags & ISO_EVENT_HAS_AFTER)
        digest = (digest + join_digest(atoms, event->after)) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(digest >> 32 ^ digest);
}

/* What the row before it left, as it is told: what a conditional delete depends on, and a drop. */
static void note_value(struct iso_join *join, const struct iso_history *block, iso_atom table, uint32_t key,
                       iso_atom value)
{
    struct join_key *state = &join->key_states[key];
    if (state->table == ISO_ABSENT && table != ISO_ABSENT)
        state->table = iso_atoms_copy(&join->keys.atoms, &block->atoms, table);
    state->value = value == ISO_ABSENT || join->capability->runs ? value : 0;
}

/* Whether ordinals say which row of a key came last. Where they do not, the one that was told last did, also when it
 * was told again: a sender that starts over ends with what was last. */
static bool is_ranked(const struct iso_join *join, const struct iso_event *event)
{
    return !join->capability->runs && (join->capability->positions || !(event->flags & ISO_EVENT_HAS_POSITION));
}

static void append(struct iso_join *join, uint32_t number, const struct arrival *arrival)
{
    const struct iso_event *event = arrival->event;
    uint32_t row = join_new_row(join, &join->transactions[number].rows);
    struct join_row *it = &join->rows[row];
    it->key = arrival->key;
    it->ordinal = arrival->ordinal;
    it->rank = is_ranked(join, event) ? arrival->ordinal : ++join->tellings;
    it->content = arrival->content;
    it->origin = event->origin;
    it->operation = arrival->conditional ? ISO_ROW_DELETE : event->operation;
    if (it->operation == ISO_ROW_DELETE) {
        it->flags |= JOIN_ROW_AFTER;
    } else if (event->flags & ISO_EVENT_HAS_AFTER) {
        it->after = join_text(join, arrival->block, event->after);
        it->flags |= JOIN_ROW_AFTER;
    } else {
        join->stats.unknown_values++;
    }
    if (arrival->conditional && join->key_states[arrival->key].value != join_text(join, arrival->block, event->before))
        it->flags |= JOIN_ROW_WITHOUT;
    if ((event->flags & ISO_EVENT_HAS_BEFORE) && !arrival->conditional) {
        it->before = join_text(join, arrival->block, event->before);
        it->flags |= JOIN_ROW_BEFORE;
    }
    if (!(it->flags & JOIN_ROW_WITHOUT))
        note_value(join, arrival->block, event->table, arrival->key,
                   it->flags & JOIN_ROW_AFTER || join->capability->runs ? it->after : 0);
    join->stats.rows++;
}

/* The row of that key and ordinal. In runs counts are shifted where a sender started over within one transaction: there
 * it is a row of that key and content, and one of new content is what was cut off before. */
static uint32_t find_row(const struct iso_join *join, const struct join_transaction *transaction,
                         const struct arrival *arrival)
{
    uint32_t row = transaction->cursor == ISO_NONE ? transaction->rows.first : transaction->cursor;
    for (uint32_t i = 0; i < transaction->rows.count; i++) {
        const struct join_row *it = &join->rows[row];
        if (it->key == arrival->key &&
            (join->capability->runs ? it->content == arrival->content : it->ordinal == arrival->ordinal))
            return row;
        row = it->next == ISO_NONE || row == transaction->rows.last ? transaction->rows.first : it->next;
    }
    return ISO_NONE;
}

/* A row of the transaction that says the same key and ordinal, or ISO_NONE. Most need no search: their key was not
 * touched since the transaction began, or its last row in it stood before. */
static uint32_t known_row(struct iso_join *join, uint32_t number, const struct arrival *arrival)
{
    struct join_key *state = &join->key_states[arrival->key];
    struct join_transaction *transaction = &join->transactions[number];
    bool later =
        state->stamp < transaction->stamp || (state->stamp == transaction->stamp && arrival->ordinal > state->ordinal);
    if (later) {
        state->stamp = transaction->stamp;
        state->ordinal = arrival->ordinal;
        return ISO_NONE;
    }
    uint32_t row = find_row(join, transaction, arrival);
    if (row != ISO_NONE)
        transaction->cursor = join->rows[row].next;
    return row;
}

static void find_content(struct iso_join *join, const struct arrival *arrival, enum iso_violation_kind kind,
                         iso_atom tid, iso_atom expected, uint64_t earlier, uint64_t cts)
{
    const struct iso_event *event = arrival->event;
    struct iso_join_finding *finding = join_find(join, kind, tid, arrival->key);
    finding->expected = join_out(join, expected);
    finding->actual =
        event->operation == ISO_ROW_DELETE ? ISO_ABSENT : join_out(join, join_text(join, arrival->block, event->after));
    finding->client = earlier;
    finding->delivered = event->origin;
    finding->cts = cts;
}

/* A row of what was settled before. */
static void take_late(struct iso_join *join, struct join_settled_entry *entry, const struct arrival *arrival)
{
    enum join_sight sight = join_settled_look(join, entry, arrival->key, arrival->ordinal, arrival->content);
    iso_atom tid = entry->tid == ISO_ABSENT ? join_name_of(join, entry->identity) : entry->tid;
    if (sight == JOIN_REPEAT) {
        join->stats.repeats++;
        return;
    }
    bool unwritten = sight == JOIN_NEW && entry->tid != ISO_ABSENT;
    find_content(join, arrival, unwritten ? ISO_UNWRITTEN : ISO_OTHER_CONTENT, tid, ISO_ABSENT, UINT64_MAX, entry->cts);
}

static void take_again(struct iso_join *join, uint32_t number, uint32_t row, const struct arrival *arrival)
{
    struct join_row *known = &join->rows[row];
    struct join_transaction *transaction = &join->transactions[number];
    uint64_t cts = 0;
    if (known->content == arrival->content) {
        join->stats.repeats++;
        if (!is_ranked(join, arrival->event))
            known->rank = ++join->tellings;
        return;
    }
    uint32_t record = join_map_get(&join->by_claim, transaction->identity);
    iso_atom tid = record == ISO_NONE ? join_name(join, transaction) : join->records[record].tid;
    join_commit_timestamp(transaction, &cts);
    find_content(join, arrival, ISO_OTHER_CONTENT, tid, known->after, known->origin, cts);
}

/* What a connector's snapshot found: there before everything else. Read again, or after the stream has told of the key,
 * it is nothing new. */
static void take_initial(struct iso_join *join, const struct iso_history *block, const struct iso_event *event,
                         uint32_t key)
{
    struct join_identity identity = {key, JOIN_BY_CTS};
    if (join->key_states[key].stamp || join_map_get(&join->snapshot_rows, identity) != ISO_NONE) {
        join->stats.repeats++;
        return;
    }
    join_map_put(&join->snapshot_rows, identity, 0);
    if (!(event->flags & ISO_EVENT_HAS_AFTER)) {
        join->stats.unknown_values++;
        return;
    }
    join->stats.snapshot_rows++;
    note_value(join, block, event->table, key, join_text(join, block, event->after));
    join_give_initial(join, key, join_text(join, block, event->after), event->origin);
}

enum iso_status join_take_row(struct iso_join *join, const struct iso_history *block, const struct iso_event *event,
                              struct iso_error *error)
{
    struct join_identity identity;
    struct arrival arrival = {.block = block, .event = event, .conditional = event->type == ISO_EVENT_DELETE_IF};
    arrival.key = join_key_number(join, block, event->key);
    if (event->type == ISO_EVENT_ROW && event->operation == ISO_ROW_SNAPSHOT) {
        take_initial(join, block, event, arrival.key);
        return ISO_OK;
    }
    if (!join_identity_of(join, block, event, &identity))
        return iso_error_set(error, ISO_BAD_INPUT, "a row of no transaction: neither an id nor a timestamp");
    struct join_lane *lane = lane_of(join, event->origin);
    if (join->capability->runs)
        follow_run(join, lane, identity, event->cts.physical);
    if (event->flags & ISO_EVENT_HAS_POSITION)
        note_reached(lane, identity, event);
    arrival.ordinal = ordinal_of(join, &arrival, lane);
    arrival.content = content_of(&arrival);
    struct join_settled_entry *settled =
        join_map_get(&join->by_identity, identity) == ISO_NONE ? join_settled_find(join, identity) : NULL;
    if (settled) {
        take_late(join, settled, &arrival);
        return ISO_OK;
    }
    uint32_t number = join_open(join, identity, event);
    if (event->flags & ISO_EVENT_HAS_MARKER)
        join_note_marker(join, number, join_text(join, block, event->marker));
    uint32_t row = known_row(join, number, &arrival);
    if (row != ISO_NONE) {
        take_again(join, number, row, &arrival);
    } else {
        append(join, number, &arrival);
        join_check_complete(join, number);
    }
    return ISO_OK;
}

/* Of one key that the drop takes with it. */
static void drop_key(struct iso_join *join, uint32_t number, const struct iso_history *block,
                     const struct iso_event *event, uint32_t key)
{
    struct iso_event row = *event;
    row.type = ISO_EVENT_ROW;
    row.operation = ISO_ROW_DELETE;
    bool placed = join->capability->positions && (event->flags & ISO_EVENT_HAS_POSITION);
    struct arrival arrival = {.block = block, .event = &row, .key = key, .ordinal = placed ? event->position[1] : 1};
    arrival.content = content_of(&arrival);
    append(join, number, &arrival);
    join->rows[join->transactions[number].rows.last].flags |= JOIN_ROW_DROPPED;
    join->transactions[number].dropped++;
}

/* A drop, or a truncate, deletes every key of its table that holds something. It is one event to END; or all of its
 * transaction, and then it is whole. */
void join_take_drop(struct iso_join *join, const struct iso_history *block, const struct iso_event *event)
{
    struct join_identity identity;
    iso_atom table = ISO_ABSENT;
    bool alone = event->flags & ISO_EVENT_ALONE;
    bool counts = join->capability->by_id && (event->flags & ISO_EVENT_HAS_ID) && !alone;
    if (!join_identity_of(join, block, event, &identity))
        return;
    bool known = join_map_get(&join->by_identity, identity) != ISO_NONE;
    if ((known && !counts) || (!known && join_settled_find(join, identity))) {
        join->stats.repeats++;
        return;
    }
    if (join->capability->runs)
        follow_run(join, lane_of(join, event->origin), identity, event->cts.physical);
    if (event->flags & ISO_EVENT_HAS_POSITION)
        note_reached(lane_of(join, event->origin), identity, event);
    if (event->table != ISO_ABSENT)
        table = iso_atoms_copy(&join->keys.atoms, &block->atoms, event->table);
    uint32_t number = join_open(join, identity, event);
    if (counts && !count_other(join, number, event)) {
        join->stats.repeats++;
        return;
    }
    for (uint32_t key = 0; key < join->keys.key_count; key++) {
        const struct join_key *state = &join->key_states[key];
        if (state->value != ISO_ABSENT && state->table != ISO_ABSENT && (table == ISO_ABSENT || state->table == table))
            drop_key(join, number, block, event, key);
    }
    if (counts)
        join_check_complete(join, number);
    if (!alone)
        return;
    join->transactions[number].flags |= JOIN_CLOSED | JOIN_COMPLETE;
    join_settle(join, number, JOIN_ROWS_FINAL);
}
