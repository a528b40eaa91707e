/* Transactions that are open: under which identity, in which span of an input's messages, and when
 * they have come whole: by BEGIN and END with its counts, by a later position, or by a larger
 * commit timestamp.
 */
#include <assert.h>
#include <inttypes.h>

#include "base/memory.h"
#include "history/gtid.h"
#include "join/join_private.h"

/* ---- identities ---- */

static bool is_number(const struct iso_atoms *atoms, iso_atom atom, uint64_t *number)
{
    if (!(atom & ISO_ATOM_TABLE)) {
        *number = atom;
        return true;
    }
    uint32_t entry = atom & ~ISO_ATOM_TABLE;
    if (atom == ISO_ABSENT || atoms->entries[entry].form != ISO_FORM_UNSIGNED)
        return false;
    *number = atoms->entries[entry].payload;
    return true;
}

bool join_identity_of(struct iso_join *join, const struct iso_history *block,
                      const struct iso_event *event, struct join_identity *identity)
{
    uint64_t number;
    if (join->capability->by_id && (event->flags & ISO_EVENT_HAS_ID) &&
        event->transaction_id != ISO_ABSENT) {
        bool xid =
            join->capability->positions && is_number(&block->atoms, event->transaction_id, &number);
        *identity = xid ? (struct join_identity){(uint32_t)number, JOIN_BY_XID}
                        : (struct join_identity){join_text(join, block, event->transaction_id),
                                                 JOIN_BY_TEXT};
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

/* ---- partitions and spans ---- */

struct join_input *join_input(struct iso_join *join, uint32_t input)
{
    if (input >= join->partitions.count) {
        uint32_t count = (uint32_t)iso_column_capacity(join->partitions.count, input + 1);
        join->partitions.list =
            iso_reallocate(join->partitions.list, count * sizeof *join->partitions.list);
        for (uint32_t i = join->partitions.count; i < count; i++)
            join->partitions.list[i] = (struct join_input){.used = false};
        join->partitions.count = count;
    }
    return &join->partitions.list[input];
}

struct join_input *join_input_of(struct iso_join *join, uint64_t origin)
{
    struct join_input *partition = join_input(join, iso_origin_input(origin));
    partition->used = true;
    return partition;
}

static bool are_equal(struct join_identity left, struct join_identity right)
{
    return left.number == right.number && left.tag == right.tag;
}

/* A larger commit timestamp closes the transaction before. A smaller one means that the sender went
 * back (then what stood open may have been cut) or that another group's messages are interleaved:
 * it closes nothing. */
void join_follow_span(struct iso_join *join, struct join_input *partition,
                      struct join_identity identity, uint64_t cts)
{
    if (are_equal(partition->current, identity))
        return;
    uint32_t before = partition->current.tag
                          ? join_map_get(&join->open.by_identity, partition->current)
                          : ISO_NONE;
    uint64_t cts_before = partition->cts;
    bool larger = cts > cts_before;
    partition->current = identity;
    partition->cts = cts;
    partition->span = ++join->counters.spans;
    if (larger && cts_before > join->progress.closed)
        join->progress.closed = cts_before;
    if (before != ISO_NONE && larger) {
        join->open.list[before].flags |= JOIN_CLOSED;
        join_finish(join, before, 0);
    }
}

/* ---- opening and closing ---- */

/* Where in the log a row's transaction commits, as far as the row says: PostgreSQL's rows say where
 * the commit before ended, a binlog's rows stand in front of their commit. Commits that are
 * numbered go by that: after a failover the log is another server's, and its files say nothing. */
uint64_t join_commit_position(struct join_identity identity, const struct iso_event *event)
{
    enum { BINLOG_ROW_BITS = 24 };
    if (event->commit)
        return iso_gtid_commit(event->commit);
    if (identity.tag ==
        JOIN_BY_XID) /* of a connector's first transaction nobody says what was before */
        return event->position[0] ? event->position[0] + 1 : event->position[1];
    return iso_binlog_position(event->position[0], event->position[1] >> BINLOG_ROW_BITS) + 1;
}

static void note_position(struct join_transaction *transaction, const struct iso_event *event)
{
    bool marks = event->type == ISO_EVENT_IGNORED && transaction->identity.tag == JOIN_BY_TEXT;
    if (event->commit) {
        transaction->position = join_commit_position(transaction->identity, event);
        transaction->flags |= JOIN_COMMIT_GIVEN | JOIN_HAS_POSITION;
    } else if (event->type == ISO_EVENT_END) {
        transaction->position = event->position[1];
        transaction->committed = event->time;
        transaction->flags |= JOIN_COMMIT_GIVEN | JOIN_HAS_POSITION;
    } else if ((event->type == ISO_EVENT_ROW || event->type == ISO_EVENT_DROP || marks) &&
               !(transaction->flags & JOIN_COMMIT_GIVEN)) {
        uint64_t position = join_commit_position(transaction->identity, event);
        transaction->position = position > transaction->position ? position : transaction->position;
        transaction->flags |= JOIN_HAS_POSITION;
    }
}

void join_note_times(struct iso_join *join, struct join_transaction *transaction,
                     const struct iso_event *event)
{
    if (event->flags & ISO_EVENT_HAS_STS) {
        transaction->sts = event->sts.physical;
        transaction->flags |= JOIN_HAS_STS;
        join->source.has_starts = true;
    }
    if (event->flags & ISO_EVENT_HAS_CTS) {
        transaction->cts = event->cts.physical;
        transaction->flags |= JOIN_HAS_CTS;
        join->progress.largest = event->cts.physical > join->progress.largest
                                     ? event->cts.physical
                                     : join->progress.largest;
    }
    if (((event->flags & ISO_EVENT_HAS_POSITION) || event->commit) && join->capability->positions)
        note_position(transaction, event);
}

uint32_t join_open(struct iso_join *join, struct join_identity identity,
                   const struct iso_event *event)
{
    uint32_t number = join_map_get(&join->open.by_identity, identity);
    if (number == ISO_NONE) {
        number = join_new_transaction(join, identity);
        join->open.list[number].origin = event->origin;
        JOIN_LOG(join, identity, "its first row arrived");
        join->stats.transactions++;
    }
    join_note_times(join, &join->open.list[number], event);
    return number;
}

/* Number of events that have arrived among those that END counts. */
uint64_t join_events_of(const struct join_transaction *transaction)
{
    uint32_t messages = join_messages_of(transaction);
    if (!(transaction->flags & JOIN_COLLECTED))
        return (uint64_t)messages + transaction->others;
    assert(messages >= transaction->uncovered);
    return (uint64_t)messages - transaction->uncovered + transaction->covered_others;
}

void join_check_complete(struct iso_join *join, uint32_t number)
{
    assert(number < join->open.count);
    struct join_transaction *transaction = &join->open.list[number];
    uint64_t have = join_events_of(transaction);
    JOIN_LOG(join, transaction->identity, "%" PRIu64 " of its rows arrived", have);
    bool ended = (transaction->flags & JOIN_ENDED) && have >= transaction->expected;
    if (ended && transaction->flags & JOIN_HAS_POSITION && !join->source.expects_in_band)
        join_extent_pass_end(join, transaction->position);
    if (join->capability->closing == JOIN_CLOSES_WITH_RECORD) {
        if (!transaction->markers.count || ended) /* other markers may still arrive */
            transaction->flags |= JOIN_CLOSED;
        if (transaction->flags & JOIN_CLOSED)
            join_finish(join, number, 0);
    } else if (ended) {
        join->stats.hints_wrong += have > transaction->expected;
        transaction->flags |= JOIN_CLOSED | JOIN_COMPLETE;
        join_finish(join, number, JOIN_ROWS_FINAL);
    }
}

/* PostgreSQL shows older snapshots an empty table (pipeline/altered.c). */
void join_note_altered(struct iso_join *join, uint32_t number, uint32_t table, uint32_t column)
{
    if (join->open.list[number].identity.tag != JOIN_BY_XID)
        return;
    uint32_t row = join_new_row(join, &join->open.list[number].altered);
    join->rows.list[row].key = column == ISO_NONE ? table : column;
    join->rows.list[row].content = table;
}

uint32_t join_table_in(struct iso_join *join, const struct iso_history *block, iso_atom name)
{
    return (uint32_t)(join_table_named(join, &block->atoms, name) - join->tables.list);
}

/* Whether the sources bring what END counts of an event's table; of no table are logical
 * messages. */
static bool comes(struct iso_join *join, const struct iso_history *block,
                  const struct iso_event *event)
{
    return event->table == ISO_ABSENT
               ? join->source.expects_in_band
               : join_is_covered(join, join_table_named(join, &block->atoms, event->table));
}

/* Takes END's count of a collection; collections that no source covers are left out. */
void join_take_collection(struct iso_join *join, const struct iso_history *block,
                          const struct iso_event *event)
{
    struct join_identity identity;
    if (!join_identity_of(join, block, event, &identity))
        return;
    if (!join->end.collected || !are_equal(join->end.of, identity))
        join->end.count = join->end.counted_count = 0;
    join->end.collected = true;
    join->end.of = identity;
    join->tables.collections = true;
    if (event->table != ISO_ABSENT)
        join_table_named(join, &block->atoms, event->table)->collected = true;
    if (!comes(join, block, event))
        return;
    join->end.count += event->count;
    if (event->table != ISO_ABSENT)
        join_count_collection(join, join_table_named(join, &block->atoms, event->table),
                              event->count);
}

/* Rows of a table have other columns from here on. */
void join_take_schema(struct iso_join *join, const struct iso_history *block,
                      const struct iso_event *event)
{
    struct join_identity identity;
    if (event->flags & ISO_EVENT_ALONE && event->operation != ISO_TABLE_SAME)
        join_take_table_change(join, block, event);
    if (!(event->flags & ISO_EVENT_EPOCH) || event->table == ISO_ABSENT)
        return;
    uint32_t column = event->key == ISO_ABSENT ? ISO_NONE : join_table_in(join, block, event->key);
    join->stats.epochs += column == ISO_NONE;
    if (column != ISO_NONE)
        join->tables.list[column].is_column = true;
    if (!join_identity_of(join, block, event, &identity) ||
        (join_map_get(&join->open.by_identity, identity) == ISO_NONE &&
         join_dedup_find(join, identity)))
        return;
    uint32_t number = join_open(join, identity, event);
    join_note_altered(join, number, join_table_in(join, block, event->table), column);
}

/* A group of the binlog of which the connector made no event: it changed nothing that is captured,
 * or its rows are not logged as rows. It is noted, so that it is counted once. */
static void note_empty(struct iso_join *join, struct join_identity identity,
                       const struct iso_event *event, bool known)
{
    bool empty =
        (event->flags & ISO_EVENT_HAS_COUNT) && !event->count && identity.tag == JOIN_BY_TEXT;
    if (!empty || known || join_dedup_find(join, identity))
        return;
    join->stats.empty_ends++;
    if (!join->options.clients)
        join_dedup_note(join, identity, ISO_ABSENT, 0);
}

void join_take_end(struct iso_join *join, const struct iso_history *block,
                   const struct iso_event *event)
{
    struct join_identity identity;
    join->source.has_ends = true;
    if ((event->flags & ISO_EVENT_HAS_POSITION) && event->position[1] > join->end.last)
        join->end.last = event->position[1];
    if (join->capability->closing != JOIN_CLOSES_AT_END ||
        !join_identity_of(join, block, event, &identity))
        return;
    join_note_ended(join, identity, event);
    if (identity.tag == JOIN_BY_XID)
        join_extent_note_end(join, join_xid_of(join, identity.number), event->time);
    if (event->commit)
        join_extent_pass_end(join, join_commit_position(identity, event));
    bool known = join_map_get(&join->open.by_identity, identity) != ISO_NONE;
    note_empty(join, identity, event, known);
    bool empty = (event->flags & ISO_EVENT_HAS_COUNT) && !event->count &&
                 !join->options.clients; /* nobody waits for it */
    if (!known && (empty || join_dedup_find(join, identity)))
        return;
    uint32_t number = join_open(join, identity, event);
    struct join_transaction *transaction = &join->open.list[number];
    uint32_t count = event->flags & ISO_EVENT_HAS_COUNT ? event->count : 0;
    bool collected = join->end.collected && are_equal(join->end.of, identity);
    if (collected) {
        transaction->flags |= JOIN_COLLECTED;
        count = join->end.count;
        join_note_collections(join, number);
        transaction = &join->open.list[number];
    }
    join->end.collected = false;
    /* After a restart END may arrive again, and counts what was sent since: the largest count is of
     * the whole. */
    if (!(transaction->flags & JOIN_ENDED) || count > transaction->expected)
        transaction->expected = count;
    transaction->ended = event->origin;
    transaction->flags |= JOIN_ENDED;
    join_check_complete(join, number);
}

/* Positions rise within a partition; what does not rise was sent again. */
bool join_counts_other(struct iso_join *join, uint32_t number, const struct iso_history *block,
                       const struct iso_event *event)
{
    assert(number < join->open.count);
    bool is_of_covered = comes(join, block, event);
    struct join_transaction *transaction = &join->open.list[number];
    uint32_t input = iso_origin_input(event->origin), row = transaction->last_others.first;
    for (uint32_t i = 0; i < transaction->last_others.count && join->rows.list[row].key != input;
         i++)
        row = join->rows.list[row].next;
    if (row == ISO_NONE) {
        row = join_new_row(join, &transaction->last_others);
        join->rows.list[row].key = input;
    } else if (event->order && event->order <= join->rows.list[row].ordinal) {
        return false;
    }
    join->rows.list[row].ordinal = event->order;
    transaction->others++;
    transaction->covered_others += is_of_covered;
    if (is_of_covered && event->table != ISO_ABSENT)
        join_count_other(join, number, join_table_named(join, &block->atoms, event->table));
    return true;
}

static bool is_finished(struct iso_join *join, struct join_identity identity,
                        const struct iso_history *block, const struct iso_event *event)
{
    const struct join_dedup_entry *dedup =
        join_map_get(&join->open.by_identity, identity) == ISO_NONE
            ? join_dedup_find(join, identity)
            : NULL;
    if (dedup && dedup->aborted_in_log && event->flags & ISO_EVENT_HAS_MARKER)
        join_undo_marker(join, join_text(join, block, event->marker));
    return dedup;
}

/* An event that END counts and that is no row: a logical message, a row of a table that is not
 * checked, a marker. */
void join_take_other(struct iso_join *join, const struct iso_history *block,
                     const struct iso_event *event)
{
    struct join_identity identity;
    bool counts = join->capability->by_id && (event->flags & ISO_EVENT_HAS_ID);
    if ((!counts && !(event->flags & ISO_EVENT_HAS_MARKER)) ||
        !join_identity_of(join, block, event, &identity) ||
        is_finished(join, identity, block, event))
        return;
    if (join->capability->spans)
        join_follow_span(join, join_input_of(join, event->origin), identity, event->cts.physical);
    uint32_t number = join_open(join, identity, event);
    if (event->flags & ISO_EVENT_HAS_MARKER)
        join_note_marker(join, number, join_text(join, block, event->marker));
    if (counts)
        join_counts_other(join, number, block, event);
    join_check_complete(join, number);
}

/* Without END: once every partition has gone on to later positions. */
bool iso_join_waits_for_positions(const struct iso_join *join)
{
    return join->capability->closing == JOIN_CLOSES_AT_END && !join->source.has_ends;
}

void iso_join_left_behind(struct iso_join *join, uint32_t input, bool left_behind)
{
    join_input(join, input)->left_behind = left_behind;
}

/* The least of the partitions that are waited for; if all are left behind, what the furthest has
 * passed. */
uint64_t join_all_have_passed(const struct iso_join *join)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < join->partitions.count; i++) {
        const struct join_input *partition = &join->partitions.list[i];
        if (partition->used && !partition->declared)
            return 0;
        most = partition->reached > most ? partition->reached : most;
        if (partition->declared && !partition->left_behind && partition->reached < least)
            least = partition->reached;
    }
    return least == UINT64_MAX ? most : least;
}

bool iso_join_delays_others(const struct iso_join *join, uint32_t input)
{
    if (!iso_join_waits_for_positions(join) || join->open.oldest == ISO_NONE ||
        input >= join->partitions.count)
        return false;
    const struct join_input *partition = &join->partitions.list[input];
    return partition->declared && !partition->left_behind &&
           partition->reached <= join_all_have_passed(join);
}

void join_close_passed(struct iso_join *join)
{
    if (!iso_join_waits_for_positions(join))
        return;
    uint64_t reached = join_all_have_passed(join);
    for (uint32_t number = join->open.oldest; number != ISO_NONE;) {
        struct join_transaction *transaction = &join->open.list[number];
        uint32_t next = transaction->newer;
        if (!(transaction->flags & JOIN_HAS_POSITION) || transaction->position > reached)
            break;
        transaction->flags |= JOIN_CLOSED | JOIN_COMPLETE;
        join_finish(join, number, JOIN_ROWS_FINAL);
        number = next;
    }
}

/* ENDs arrive in the order of commits, in a partition of their own: whatever commits up to the last
 * one has shown at least its END, and is open or finished. */
void join_promise(struct iso_join *join)
{
    uint64_t promise = join->end.last;
    if (!promise || join->options.clients || join->source.expects_in_band || join->source.in_band ||
        !join->capability->positions)
        return;
    for (uint32_t i = join->open.oldest; i != ISO_NONE; i = join->open.list[i].newer)
        if ((join->open.list[i].flags & JOIN_HAS_POSITION) &&
            join->open.list[i].position <= promise)
            promise = join->open.list[i].position - 1;
    if (promise <= join->progress.promised)
        return;
    join->progress.promised = promise;
    join_emit_watermark(join, promise);
}

/* All before it has arrived in this partition. */
void join_note_reached(struct join_input *partition, struct join_identity identity,
                       const struct iso_event *event)
{
    uint64_t position = join_commit_position(identity, event) - 1;
    partition->reached = position > partition->reached ? position : partition->reached;
}
