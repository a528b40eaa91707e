/* Markers: the client's own id of a transaction, written by the transaction itself
 * (connectors/cdc_common/marker.h).
 *
 * A marker teaches a record the identity that its transaction has in the stream; from then on both
 * meet as if the client had known it. Until the record arrives, the transaction is found under its
 * markers as well.
 *
 * A row that is changed without setting the column keeps the marker of the change before. So a
 * marker that belongs to another transaction already is *stray*: it is counted and says nothing,
 * and what no stream delivered under its own marker may have arrived under none.
 */
#include <assert.h>

#include "join/join_private.h"

static struct join_identity marker_of(iso_atom tid)
{
    return (struct join_identity){tid, JOIN_BY_MARKER};
}

static void bind(struct iso_join *join, struct join_record *record, struct join_identity identity)
{
    record->identity[0] = identity;
    record->identity[1] = marker_of(record->tid);
    record->identity_count = 2;
    record->flags |= JOIN_RECORD_BOUND;
    record->next_equal = ISO_NONE;
    if (identity.tag == JOIN_BY_XID && !record->xid)
        record->xid = join_xid_of(join, identity.number);
}

/* Whether one identity of the stream may be several transactions: those of one commit timestamp,
 * and of YugabyteDB's logical connector, which makes up an id for all of one commit time. */
static bool may_share(const struct iso_join *join)
{
    return !join->capability->positions && !join->capability->unique_cts;
}

void join_note_marker(struct iso_join *join, uint32_t number, iso_atom tid)
{
    assert(number < join->open.count);
    struct join_identity marker = marker_of(tid);
    struct join_transaction *transaction = &join->open.list[number];
    uint32_t known = join_map_get(&join->open.by_identity, marker);
    if (known == number || tid == ISO_ABSENT)
        return;
    if (known != ISO_NONE || join_dedup_find(join, marker) ||
        (transaction->markers.count && !may_share(join))) {
        join->stats.stray_markers++;
        return;
    }
    uint32_t row = join_new_row(join, &transaction->markers);
    join->rows.list[row].after = tid;
    if (transaction->markers.count > 1)
        transaction->flags |= JOIN_SHARED;
    join_map_put(&join->open.by_identity, marker, number);
    join->stats.markers++;
    uint32_t record = join_map_get(&join->records.by_claim, marker);
    if (record == ISO_NONE)
        return;
    join_leave_claim(join, record);
    bind(join, &join->records.list[record], transaction->identity);
    join_enter_claim(join, record);
}

void join_forget_markers(struct iso_join *join, struct join_transaction *transaction)
{
    const struct join_chain *markers = &transaction->markers;
    for (uint32_t i = 0, r = markers->first; i < markers->count; i++, r = join->rows.list[r].next)
        join_map_remove(&join->open.by_identity, marker_of(join->rows.list[r].after));
}

void join_enter_markers(struct iso_join *join, uint32_t number)
{
    const struct join_chain *markers = &join->open.list[number].markers;
    for (uint32_t i = 0, r = markers->first; i < markers->count; i++, r = join->rows.list[r].next)
        join_map_put(&join->open.by_identity, marker_of(join->rows.list[r].after), number);
}

void join_finish_markers(struct iso_join *join, const struct join_transaction *transaction,
                         uint64_t cts)
{
    const struct join_chain *markers = &transaction->markers;
    for (uint32_t i = 0, r = markers->first; i < markers->count; i++, r = join->rows.list[r].next)
        if (!join_dedup_find(join, marker_of(join->rows.list[r].after)))
            join_dedup_note(join, marker_of(join->rows.list[r].after), ISO_ABSENT, cts);
}

void join_await_marker(struct iso_join *join, uint32_t number)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    struct join_identity marker = marker_of(record->tid);
    uint32_t transaction = join_map_get(&join->open.by_identity, marker);
    if (transaction != ISO_NONE)
        bind(join, record, join->open.list[transaction].identity);
    else
        record->identity[record->identity_count++] = marker;
}

bool join_has_all_records(const struct iso_join *join, const struct join_transaction *transaction,
                          uint32_t first)
{
    uint32_t claims = 0;
    for (uint32_t record = first; record != ISO_NONE;
         record = join->records.list[record].next_equal)
        claims++;
    return claims >= transaction->markers.count;
}

bool join_leaves_marker(const struct iso_join *join, const struct join_record *record)
{
    if (join->options.markers == ISO_JOIN_MARKER_ROWS)
        return true;
    for (uint32_t i = 0, w = record->writes.first; i < record->writes.count;
         i++, w = join->rows.list[w].next)
        if (join->rows.list[w].after != ISO_ABSENT)
            return true;
    return false;
}
