/* Transactions that stand in the log and, as far as it says, did not commit there.
 *
 * MariaDB's binlog has a group that was rolled back when it used something that cannot be (a
 * temporary table), and the rows of an XA transaction, which commits elsewhere, or never, at its
 * PREPARE. Debezium sends the rows of both; they differ from others in that their BEGIN has no END
 * before the next BEGIN or END, which stands later in the log. (One that does not is a connector
 * that started over.) So it looks where an END was lost, too. Their rows are versions of unknown
 * outcome; where the source says that XA is used (`xa`), they and their records are unjudged. A
 * client's record that such a transaction committed has no position: nothing says when it did, and
 * what it wrote is of unknown value from its BEGIN on. So has any record of a commit of which
 * nothing came, once there was such a group: what is prepared commits by another GTID. A statement
 * that commits by itself has a BEGIN without an END, too, and no rows.
 *
 * PostgreSQL's stream has what committed, and nothing else: there an END that does not come was
 * lost, and all rows may be with it (join_open_begun).
 */
#include "history/gtid.h"
#include "join/join_private.h"

static bool is_same(struct join_identity left, struct join_identity right)
{
    return left.number == right.number && left.tag == right.tag;
}

/* Whether the log continues at `event`, which begins or ends another transaction than the one that
 * is open. */
static bool goes_on(struct iso_join *join, struct join_identity identity,
                    const struct iso_event *event)
{
    const struct join_begun *begun = &join->begun;
    if (!begun->open || begun->input != iso_origin_input(event->origin) ||
        is_same(begun->identity, identity))
        return false;
    if (begun->commit && event->commit)
        return event->commit > begun->commit;
    return !join_dedup_find(join, identity);
}

void join_forget_without_position(struct iso_join *join, uint32_t record, uint64_t from)
{
    if (!join->options.xa)
        join_lose_moment(join, record, from);
    bool given = join->records.list[record].flags & JOIN_RECORD_GIVEN;
    join->stats.unplaced += !join->options.xa;
    join_forget_record_as(join, record,
                          given              ? ISO_RECORDS_GIVEN
                          : join->options.xa ? ISO_RECORDS_XA
                                             : ISO_RECORDS_UNPLACED);
}

/* Finishes clients' records of the transaction: it changed what it wrote, if at all, behind
 * `from` in the log. */
static void finish_claims(struct iso_join *join, struct join_identity identity, uint64_t from)
{
    uint32_t record = join_map_get(&join->records.by_claim, identity);
    for (uint32_t next; record != ISO_NONE; record = next) {
        next = join->records.list[record].next_equal;
        if (join->records.list[record].status == ISO_UNKNOWN) {
            join_resolve(join, record, false, 0);
        } else if (join->records.list[record].status == ISO_COMMITTED) {
            join_forget_without_position(join, record, from);
            continue;
        }
        join_forget_record(join, record);
    }
}

static void note_aborted(struct iso_join *join, struct join_identity identity, uint64_t from)
{
    if (!join_dedup_find(join, identity))
        join_dedup_note(join, identity, ISO_ABSENT, from);
    join_dedup_find(join, identity)->aborted_in_log = true;
}

void join_undo_marker(struct iso_join *join, iso_atom tid)
{
    struct join_identity marker = {tid, JOIN_BY_MARKER};
    if (tid == ISO_ABSENT)
        return;
    finish_claims(join, marker, 0);
    note_aborted(join, marker, 0);
}

static void undo(struct iso_join *join, struct join_identity identity)
{
    uint64_t from = join->begun.of_domain ? iso_gtid_commit(join->begun.commit) : 0;
    uint32_t number = join_map_get(&join->open.by_identity, identity);
    if (number == ISO_NONE) {
        if (join->begun.of_domain)
            join_log_note_begun(join, join->begun.commit, true);
        if (!join_dedup_find(join, identity)) {
            if (join_map_get(&join->records.by_claim, identity) != ISO_NONE) /* no DDL */
                join_extent_interrupt(join, from);
            finish_claims(join, identity, from);
            note_aborted(join, identity, from);
        }
        return;
    }
    struct join_transaction *transaction = &join->open.list[number];
    join->stats.aborted_in_log += transaction->rows.count > 0;
    join_extent_interrupt(join, from);
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         /* what was delivered last says nothing of what is there */
         i++, r = join->rows.list[r].next)
        join->keys.list[join->rows.list[r].key].content = 0;
    finish_claims(join, identity, from);
    join_emit_unknown(join, transaction);
    join_dedup_add(join, transaction, ISO_ABSENT, from);
    join_dedup_find(join, identity)->aborted_in_log = true;
    for (uint32_t i = 0, r = transaction->markers.first; i < transaction->markers.count;
         i++, r = join->rows.list[r].next)
        note_aborted(join, (struct join_identity){join->rows.list[r].after, JOIN_BY_MARKER}, from);
    join_leave_open(join, number);
    join_forget_transaction(join, number, join->options.xa ? ISO_ROWS_XA : ISO_ROWS_ABORTED);
}

void join_open_begun(struct iso_join *join)
{
    const struct join_begun *begun = &join->begun;
    if (!begun->open || begun->identity.tag != JOIN_BY_XID ||
        join_map_get(&join->open.by_identity, begun->identity) != ISO_NONE ||
        join_dedup_find(join, begun->identity))
        return;
    uint32_t number = join_new_transaction(join, begun->identity);
    join->open.list[number].origin = begun->origin;
    join->open.list[number].position = join->end.last + 1;
    join->open.list[number].flags |= JOIN_HAS_POSITION;
    join->stats.transactions++;
}

static void pass_begun(struct iso_join *join, struct join_identity identity,
                       const struct iso_event *event)
{
    if (!goes_on(join, identity, event))
        return;
    if (identity.tag == JOIN_BY_XID)
        join_open_begun(join);
    else
        undo(join, join->begun.identity);
    join->begun.open = false;
}

void join_take_begin(struct iso_join *join, const struct iso_history *block,
                     const struct iso_event *event)
{
    struct join_identity identity;
    join->source.has_ends = true;
    if (join->capability->closing != JOIN_CLOSES_AT_END ||
        !join_identity_of(join, block, event, &identity))
        return;
    pass_begun(join, identity, event);
    if (identity.tag == JOIN_BY_TEXT && join_is_of_domain(join, event))
        join_log_note_begun(join, event->commit, false);
    join->begun = (struct join_begun){identity,      event->commit,
                                      event->origin, iso_origin_input(event->origin),
                                      true,          join_is_of_domain(join, event)};
}

void join_note_ended(struct iso_join *join, struct join_identity identity,
                     const struct iso_event *event)
{
    pass_begun(join, identity, event);
    if (is_same(join->begun.identity, identity))
        join->begun.open = false;
}
