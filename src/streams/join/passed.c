/* How far a stream is whole in timestamps and in places of its log (extent.h). */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "history/gtid.h"
#include "join/join_private.h"

enum { PARTIAL_MOST = 1 << 12 }; /* interrupted: the oldest goes */
void join_extent_release(struct join_extent *extent)
{
    iso_history_release(&extent->reached);
    iso_free(extent->over.list);
    join_map_release(&extent->by_channel);
    iso_free(extent->missing);
    iso_free(extent->partial);
    iso_free(extent->channels);
}

/* ---- while it arrives ---- */

static bool has_channels(const struct iso_join *join)
{
    return join->capability->closing == JOIN_CLOSES_BY_LARGER ||
           join->capability->closing == JOIN_CLOSES_WITH_RECORD;
}

/* Dgraph's groups send in order, each a predicate of its own. */
static bool is_by_table(const struct iso_join *join)
{
    return join->capability->closing == JOIN_CLOSES_BY_LARGER && !join->options.one_group;
}

static struct join_channel *channel_of(struct join_extent *extent, uint32_t input, uint32_t part)
{
    struct join_identity place = {(uint64_t)input << 32 | part, JOIN_BY_CTS};
    uint32_t number = join_map_get(&extent->by_channel, place);
    if (number == ISO_NONE) {
        number = extent->channel_count;
        ISO_GROW(extent->channels, extent->channel_count, extent->channel_capacity);
        extent->channels[extent->channel_count++] = (struct join_channel){input, part, 0};
        join_map_put(&extent->by_channel, place, number);
    }
    return &extent->channels[number];
}

void join_extent_pass(struct iso_join *join, const struct iso_event *event, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    if (!has_channels(join) || !(event->flags & ISO_EVENT_HAS_CTS))
        return;
    struct join_channel *channel = channel_of(&join->extent, iso_origin_input(event->origin),
                                              is_by_table(join) ? state->of_table : event->domain);
    channel->largest =
        event->cts.physical > channel->largest ? event->cts.physical : channel->largest;
    state->channel = (uint32_t)(channel - join->extent.channels) + 1;
}

void join_extent_pass_end(struct iso_join *join, uint64_t position)
{
    join->extent.sure = position > join->extent.sure ? position : join->extent.sure;
}

void join_extent_misplace(struct iso_join *join, const struct join_transaction *transaction)
{
    if (join_mark_lacking(join, transaction))
        for (uint32_t table = 0; table < join->tables.count; table++)
            join->tables.list[table].is_misplaced |= join_is_table_lacking(join, table);
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next)
        join->keys.list[join->rows.list[r].key].is_misplaced = true;
}

/* ---- how far ---- */

/* The least position of all partitions: of a key without rows it is not known which partition it
 * is in. */
static uint64_t least_passed(const struct iso_join *join, uint32_t table)
{
    const struct join_extent *extent = &join->extent;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < extent->channel_count; i++)
        if ((table == ISO_NONE || extent->channels[i].part == table) &&
            extent->channels[i].largest < least)
            least = extent->channels[i].largest;
    for (uint32_t i = 0; table == ISO_NONE && i < join->partitions.count; i++)
        if (join->partitions.list[i].declared && !join->partitions.list[i].begun)
            least = 0;
    return least == UINT64_MAX ? 0 : least;
}

/* Without ENDs a binlog's partitions are all there is to go by. */
static bool goes_by_partitions(const struct iso_join *join)
{
    return join->capability->closing == JOIN_CLOSES_AT_END && !join->source.has_ends &&
           !join->source.expects_ends && !join->source.in_band;
}

/* How far the key's own partition has come in the log. */
static uint64_t passed_by(const struct iso_join *join, uint32_t key)
{
    return key != ISO_NONE && join->keys.list[key].was_changed
               ? join->partitions.list[join->keys.list[key].partition].reached
               : join_all_have_passed(join);
}

static uint64_t sure_of(const struct iso_join *join, uint32_t key)
{
    if (goes_by_partitions(join))
        return passed_by(join, key);
    if (!has_channels(join))
        return join->extent.sure;
    uint32_t channel = key == ISO_NONE ? 0 : join->keys.list[key].channel;
    bool by_table = is_by_table(join) && key != ISO_NONE;
    uint64_t largest =
        channel ? join->extent.channels[channel - 1].largest
                : least_passed(join, by_table ? join->keys.list[key].of_table : ISO_NONE);
    return largest ? largest - 1 : 0;
}

static bool is_misplaced(const struct iso_join *join, uint32_t key)
{
    return key != ISO_NONE && (join->keys.list[key].is_misplaced ||
                               join->tables.list[join->keys.list[key].of_table].is_misplaced);
}

/* How many of those that are partial come at `cts` or before. */
static uint32_t partial_up_to(const struct join_extent *extent, uint64_t cts)
{
    uint32_t low = 0, high = extent->partial_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (extent->partial[middle].cts <= cts)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Keeps both rising: what comes no earlier and reaches no farther than another says nothing. */
static void add_partial(struct join_extent *extent, uint64_t cts, uint64_t position)
{
    uint32_t at = partial_up_to(extent, cts), behind = at;
    if (at && extent->partial[at - 1].position >= position)
        return;
    at -= at && extent->partial[at - 1].cts == cts;
    while (behind < extent->partial_count && extent->partial[behind].position <= position)
        behind++;
    ISO_GROW(extent->partial, extent->partial_count, extent->partial_capacity);
    memmove(extent->partial + at + 1, extent->partial + behind,
            (extent->partial_count - behind) * sizeof *extent->partial);
    extent->partial[at] = (struct join_partial){cts, position};
    extent->partial_count += at + 1 - behind;
}

void join_extent_place(struct iso_join *join, const struct join_transaction *transaction,
                       uint32_t record, uint64_t cts)
{
    struct join_extent *extent = &join->extent;
    bool lists = record != ISO_NONE && !(join->records.list[record].flags & JOIN_RECORD_TAKES);
    if (!extent->closed || lists || transaction->flags & JOIN_COMPLETE)
        return;
    if (record != ISO_NONE) /* it may have read its own */
        join_emit_beyond(join, join->records.list[record].tid);
    add_partial(extent, cts, transaction->position);
}

void join_extent_look(struct iso_join *join, uint64_t sts)
{
    const struct join_positions *positions = &join->positions;
    struct join_extent *extent = &join->extent;
    uint32_t at = positions->commit_first;
    if (!extent->closed)
        return;
    while (at < positions->commit_count && positions->commits[at].transaction == ISO_NONE)
        at++;
    if (at < positions->commit_count)
        add_partial(extent, sts, positions->commits[at].position - 1);
}

void join_extent_interrupt(struct iso_join *join, uint64_t position)
{
    struct join_extent *extent = &join->extent;
    uint64_t passed = join_all_have_passed(join);
    uint32_t kept = 0;
    for (uint32_t i = extent->partial_count == PARTIAL_MOST; i < extent->partial_count; i++)
        if (extent->partial[i].position > passed)
            extent->partial[kept++] = extent->partial[i];
    extent->partial_count = kept;
    add_partial(extent, position, position);
}

/* Whether no commit up to the position may lack a row of the key. */
static bool is_whole_at(const struct iso_join *join, uint32_t key, uint64_t position)
{
    uint32_t count = partial_up_to(&join->extent, position);
    return !count || join->extent.partial[count - 1].position <= passed_by(join, key);
}

/* Whether all that concerns the key up to the position came, as long as nothing says that it did
 * not. */
static bool join_extent_is_sure(const struct iso_join *join, uint32_t key, uint64_t position)
{
    if (is_misplaced(join, key))
        return false;
    bool by_place = !join->positions.active;
    return (by_place && !join->extent.closed) ||
           (is_whole_at(join, key, position) && (!by_place || position <= sure_of(join, key)));
}

/* ---- the end ---- */

static uint32_t transaction_of(const struct iso_join *join, const struct join_record *record)
{
    uint32_t number = ISO_NONE;
    for (uint32_t i = 0; i < record->identity_count && number == ISO_NONE; i++)
        number = join_map_get(&join->open.by_identity, record->identity[i]);
    return number;
}

/* Commits have numbers: rows say so, or BEGINs where there is no row. */
static bool is_numbered(const struct iso_join *join)
{
    return join->source.numbered || join->begun.commit;
}

/* Where the record's transaction commits, as far as anybody says it; UINT64_MAX: nobody does. */
static uint64_t commit_of(const struct iso_join *join, const struct join_record *record)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_gtid gtid;
    size_t length;
    uint32_t number = transaction_of(join, record);
    uint64_t commit = record->cts;
    if (record->flags & JOIN_RECORD_CTS ||
        (number != ISO_NONE && join_commit_timestamp(&join->open.list[number], &commit)))
        return commit;
    const char *text = iso_atom_text(&join->texts.atoms, record->tid, buffer, &length);
    return is_numbered(join) && iso_gtid_read(text, length, &gtid) ? iso_gtid_commit(gtid.number)
                                                                   : UINT64_MAX;
}

/* Whether the record only reads: a writer has an id, or a marker, in a log; a record that has
 * none, and leaves its writes to the stream, wrote nothing. */
static bool only_reads(const struct iso_join *join, const struct join_record *record,
                       uint64_t commit)
{
    return join->capability->closing == JOIN_CLOSES_AT_END && !join->options.markers &&
           commit == UINT64_MAX && !record->xid && !record->writes.count &&
           record->flags & JOIN_RECORD_TAKES;
}

/* Whether all that the record did to the row of its write came; `mark`: that of final rows.
 * PostgreSQL sends a row for each write, others may leave out those that changed nothing: the only
 * write of it, or the last where the record says what that left; but of a binlog each change of a
 * row is one. */
static bool has_come(struct iso_join *join, const struct join_record *record,
                     const struct join_row *write, uint32_t mark)
{
    const struct join_key *state = &join->keys.list[write->key];
    uint32_t row = state->part == JOIN_PART_CELL ? state->of_row : write->key;
    const struct join_tally *tally = join_tally_of(join, row);
    bool all = tally->writes && tally->changes >= tally->writes;
    bool is_said = state->part != JOIN_PART_ROW && !goes_by_partitions(join);
    bool may_be_all = !record->xid && (tally->writes <= 1 || is_said);
    return all || (may_be_all && state->mark == mark &&
                   join_agrees(join, &join->rows.list[state->row], write));
}

/* Whether a row that it wrote, and that did not come, may be on its way. */
static bool waits_for_rows(struct iso_join *join, const struct join_record *record)
{
    uint32_t number = transaction_of(join, record), row = record->writes.first;
    uint64_t commit = commit_of(join, record);
    const struct join_transaction *transaction =
        number == ISO_NONE ? NULL : &join->open.list[number];
    uint32_t mark = transaction ? join_mark_finals(join, transaction) : 0;
    if (transaction)
        join_tally(join, record, transaction);
    for (uint32_t i = 0; i < record->writes.count; i++, row = join->rows.list[row].next) {
        const struct join_row *write = &join->rows.list[row];
        bool is_left_out = write->flags & JOIN_ROW_WITHOUT || !join_is_judged(join, write->key);
        if (!is_left_out && commit > sure_of(join, write->key) &&
            !(transaction && has_come(join, record, write, mark)))
            return true;
    }
    return !transaction && record->flags & JOIN_RECORD_TAKES && commit > sure_of(join, ISO_NONE);
}

/* Nothing more than a marker says where in the log it is. Where as many transactions ended without
 * a row as there are such records, they are those. */
static bool is_lost_on_its_way(const struct iso_join *join)
{
    uint64_t records = 0;
    for (uint32_t i = join->records.oldest; i != ISO_NONE; i = join->records.list[i].newer)
        records += join->records.list[i].status == ISO_COMMITTED;
    return records <= join->stats.empty_ends;
}

/* A record that came inside its transaction, whose END may be on its way. */
static bool waits_for_end(const struct iso_join *join, const struct join_record *record)
{
    uint32_t number = transaction_of(join, record);
    return number == ISO_NONE ||
           (!(join->open.list[number].flags & (JOIN_ENDED | JOIN_COMPLETE)) &&
            (!join->source.has_ends || join_extent_is_beyond(join, &join->open.list[number])));
}

static bool is_beyond(struct iso_join *join, const struct join_record *record, uint64_t commit,
                      bool empty)
{
    if (join->source.in_band)
        return waits_for_end(join, record);
    if (has_channels(join) || goes_by_partitions(join))
        return waits_for_rows(join, record);
    return commit > join->extent.sure && !(commit == UINT64_MAX && empty);
}

static void mark_beyond(struct iso_join *join)
{
    bool empty = is_lost_on_its_way(join);
    for (uint32_t i = join->records.oldest; i != ISO_NONE; i = join->records.list[i].newer) {
        struct join_record *record = &join->records.list[i];
        bool is_given = record->kept == ISO_NONE; /* and it is its writes that wait */
        uint64_t commit = commit_of(join, record);
        if (record->status != ISO_COMMITTED || (!is_given && !join_may_write(join, record)) ||
            only_reads(join, record, commit) || (join->positions.active && commit == UINT64_MAX))
            continue;
        if (is_beyond(join, record, commit, empty))
            record->flags |= JOIN_RECORD_BEYOND;
    }
}

void join_extent_close_at(struct iso_join *join, uint64_t whole)
{
    join->extent.closed = true;
    join->extent.sure = whole;
    mark_beyond(join);
}

void join_extent_close(struct iso_join *join)
{
    struct join_extent *extent = &join->extent;
    bool records = join->options.clients || join->source.in_band;
    if (!records || join->capability->closing == JOIN_CLOSES_AT_WATERMARK ||
        (join->positions.active && !goes_by_partitions(join)))
        return;
    extent->closed = true;
    if (is_numbered(join)) /* up to the next commit */
        extent->sure |= (1u << ISO_GTID_BITS) - 1;
    mark_beyond(join);
}

bool join_extent_is_beyond(const struct iso_join *join, const struct join_transaction *transaction)
{
    const struct join_extent *extent = &join->extent;
    if (join->capability->closing == JOIN_CLOSES_AT_WATERMARK)
        return extent->closed && transaction->cts > extent->sure;
    if (join->capability->closing != JOIN_CLOSES_AT_END ||
        transaction->flags & (JOIN_ENDED | JOIN_COMPLETE))
        return false;
    bool by_xid = transaction->identity.tag == JOIN_BY_XID;
    bool ends = join->source.has_ends || join->source.expects_ends;
    return ends && (by_xid || extent->closed) &&
           (!(transaction->flags & JOIN_HAS_POSITION) ||
            transaction->position > (by_xid ? join->end.last : extent->sure));
}

bool iso_join_may_lack_statement(const struct iso_join *join, uint64_t after, uint64_t position)
{
    return join->extent.ended && join_log_may_lack(join, after, position);
}

bool iso_join_is_sure(struct iso_join *join, const struct iso_atoms *atoms, iso_atom key,
                      uint64_t position)
{
    return join_extent_is_sure(join, key == ISO_ABSENT ? ISO_NONE : join_key_find(join, atoms, key),
                               position);
}
