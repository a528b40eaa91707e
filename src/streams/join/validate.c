/* What is always true of a join between two batches. */
#include <assert.h>

#include "join/join_private.h"

#ifdef ISO_VALIDATE

static uint32_t chained_rows(const struct iso_join *join)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; i < join->open.count; i++) {
        const struct join_transaction *transaction = &join->open.list[i];
        if (transaction->identity.tag)
            rows += transaction->rows.count + transaction->markers.count +
                    transaction->last_others.count + transaction->altered.count +
                    transaction->counted.count;
    }
    for (uint32_t i = 0; i < join->records.count; i++)
        if (!(join->records.list[i].flags & JOIN_RECORD_FREE))
            rows += join->records.list[i].writes.count;
    return rows;
}

/* Every row is in a chain of somebody's, or free. */
static void validate_rows(const struct iso_join *join)
{
    const struct join_rows *rows = &join->rows;
    uint32_t free = 0;
    assert(rows->in_use <= rows->count && rows->count <= rows->capacity);
    for (uint32_t row = rows->free; row != ISO_NONE; row = rows->list[row].next) {
        assert(row < rows->count);
        free++;
    }
    assert(free == rows->count - rows->in_use);
    assert(chained_rows(join) == rows->in_use);
}

/* Transactions that wait are chained by arrival in both directions, and found by their identity. */
static void validate_open(const struct iso_join *join)
{
    const struct join_open *open = &join->open;
    uint32_t waiting = 0, before = ISO_NONE;
    assert(open->count <= open->capacity);
    for (uint32_t i = open->oldest; i != ISO_NONE; i = open->list[i].newer) {
        const struct join_transaction *transaction = &open->list[i];
        assert(i < open->count && transaction->older == before);
        assert(transaction->identity.tag && !(transaction->flags & JOIN_PLACING));
        assert(join_map_get(&open->by_identity, transaction->identity) == i);
        before = i;
        waiting++;
    }
    assert(open->newest == before);
    assert(open->waiting == waiting);
    assert(open->by_identity.used >= waiting); /* markers stand there, too */
}

static void validate_records(const struct iso_join *join)
{
    const struct join_records *records = &join->records;
    uint32_t waiting = 0, before = ISO_NONE;
    assert(records->count <= records->capacity);
    for (uint32_t i = records->oldest; i != ISO_NONE; i = records->list[i].newer) {
        const struct join_record *record = &records->list[i];
        assert(i < records->count && record->older == before &&
               !(record->flags & JOIN_RECORD_FREE));
        assert(record->kept == ISO_NONE || record->kept < records->kept.txns.count);
        before = i;
        waiting++;
    }
    assert(records->newest == before && records->waiting == waiting);
}

/* Commits without a position are sorted by xid; snapshots without a position belong to records that
 * wait. */
static void validate_positions(const struct iso_join *join)
{
    const struct join_positions *positions = &join->positions;
    assert(positions->commit_first <= positions->commit_count &&
           positions->commit_count <= positions->commit_capacity);
    for (uint32_t i = positions->commit_first + 1; i < positions->commit_count; i++)
        assert(positions->commits[i - 1].xid <= positions->commits[i].xid);
    for (uint32_t i = 0; i < positions->link_count; i++) {
        assert(positions->links[i].record < join->records.count);
        assert(!(join->records.list[positions->links[i].record].flags & JOIN_RECORD_FREE));
        assert(join->records.list[positions->links[i].record].unplaced);
    }
}

static void validate_log(const struct join_log *log)
{
    for (uint32_t i = 1; i < log->count; i++)
        assert(log->list[i - 1].number < log->list[i].number &&
               (log->broken || log->list[i - 1].position <= log->list[i].position));
    for (uint32_t i = 1; i < log->alone_count; i++)
        assert(log->alone[i - 1] < log->alone[i]);
}

/* Counts of keys in a state are those of the keys; each key has the table that its name begins
 * with. */
static void validate_keys(const struct iso_join *join)
{
    uint32_t of[JOIN_INITIAL_DELIVERED + 1] = {0}, count = join->keys.names.keys.count;
    assert(count <= join->keys.capacity);
    for (uint32_t key = 0; key < count; key++) {
        const struct join_key *state = &join->keys.list[key];
        assert(state->initial <= JOIN_INITIAL_DELIVERED);
        assert(state->of_table == ISO_NONE || state->of_table < join->tables.count);
        of[state->initial]++;
    }
    assert(join->start.asked == of[JOIN_INITIAL_ASKED] &&
           join->start.learned == of[JOIN_INITIAL_LEARNED]);
    assert(!join->start.complete || !join->start.asked);
}

/* As far as the rings reach back, each entry's digests stand behind those of the entry before. */
static void validate_dedup(const struct join_dedup *dedup)
{
    assert(!dedup->next_entry || dedup->entries);
    assert(!dedup->next_digest || dedup->digests);
    if (!dedup->next_entry)
        return;
    const struct join_dedup_entry *last =
        &dedup->entries[(dedup->next_entry - 1) % JOIN_DEDUP_ENTRIES];
    assert(last->identity.tag && last->first + last->count <= dedup->next_digest);
}

void join_validate(const struct iso_join *join)
{
    assert(!join->out.count || join->out.steps);
    validate_keys(join);
    validate_dedup(&join->dedup);
    validate_rows(join);
    validate_open(join);
    validate_records(join);
    validate_positions(join);
    iso_stairs_validate(&join->extent.over);
    validate_log(&join->log);
}

#else

void join_validate(const struct iso_join *join)
{
    (void)join;
}

#endif
