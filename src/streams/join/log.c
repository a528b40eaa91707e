/* Snapshots that are known by a position in MariaDB's binlog.
 *
 * A record whose `snapshot` is FILE.NUMBER:OFFSET sees what the log has up to there. Commits are
 * ordered by their GTIDs, which continue over servers, and positions do not; so the join notes at
 * which position each GTID stands, and a record waits until it is known which is the last one in
 * front of its own. That is known once the commit behind it has arrived, and all between the two:
 * what the transaction topic gives up to there is whole. At the end of the input all is known.
 *
 * Where a replica has taken over, one position may be of two logs: as soon as positions do not rise
 * with GTIDs no record has one. What a snapshot from before the connector's own saw nobody says.
 */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/sorted.h"
#include "history/gtid.h"
#include "join/join_private.h"

enum { POSITIONS_MOST = 1 << 20 };

/* The first entry whose number, or position, is not below this one. */
static uint32_t find_not_below(const struct join_log *log, uint64_t number, uint64_t position)
{
    if (!log->count)
        return 0;
    const uint64_t *first = position ? &log->list->position : &log->list->number;
    return iso_sorted_below(&(struct iso_sorted){first, sizeof *log->list, log->count},
                            position ? position : number);
}

/* The first of the statements without a position whose number is not below this one. */
static uint32_t find_alone(const struct join_log *log, uint64_t number)
{
    return iso_sorted_below(&(struct iso_sorted){log->alone, sizeof *log->alone, log->alone_count},
                            number);
}

static void forget_oldest(struct join_log *log)
{
    assert(log->count > 1);
    uint32_t half = log->count / 2, gone = find_alone(log, log->list[half].number);
    memmove(log->list, log->list + half, (log->count - half) * sizeof *log->list);
    if (gone)
        memmove(log->alone, log->alone + gone, (log->alone_count - gone) * sizeof *log->alone);
    log->count -= half;
    log->alone_count -= gone;
    log->forgot = true;
}

static void leave_alone(struct join_log *log, uint64_t number)
{
    uint32_t at = find_alone(log, number);
    if (at == log->alone_count || log->alone[at] != number)
        return;
    log->alone_count--;
    memmove(log->alone + at, log->alone + at + 1, (log->alone_count - at) * sizeof *log->alone);
}

/* Positions have to rise with numbers. */
static void enter(struct join_log *log, uint64_t number, uint64_t position)
{
    uint32_t at = find_not_below(log, number, 0);
    if ((at < log->count && log->list[at].number == number) || (log->forgot && !at))
        return;
    assert(at == log->count || log->list[at].number > number);
    ISO_GROW(log->list, log->count, log->capacity);
    memmove(log->list + at + 1, log->list + at, (log->count - at) * sizeof *log->list);
    log->list[at] = (struct join_log_position){number, position};
    log->count++;
    log->broken |= (at && log->list[at - 1].position >= position) ||
                   (at + 1 < log->count && log->list[at + 1].position <= position);
    leave_alone(log, number);
    if (log->count == POSITIONS_MOST)
        forget_oldest(log);
}

void join_log_note(struct iso_join *join, const struct iso_event *event)
{
    enum { ROW_BITS = 24 };
    struct join_log *log = &join->log;
    uint64_t position = iso_binlog_position(event->position[0], event->position[1] >> ROW_BITS);
    bool is_initial = event->type == ISO_EVENT_ROW && event->operation == ISO_ROW_SNAPSHOT;
    if (is_initial)
        log->start = !log->start || position < log->start ? position : log->start;
    else if (event->commit && !(log->count && log->list[log->count - 1].number == event->commit))
        enter(log, event->commit, position);
}

void join_log_note_begun(struct iso_join *join, uint64_t number, bool without_end)
{
    struct join_log *log = &join->log;
    log->begun = number > log->begun ? number : log->begun;
    log->first = log->first && log->first < number ? log->first : number;
    uint32_t at = find_not_below(log, number, 0), alone = find_alone(log, number);
    bool known = (at < log->count && log->list[at].number == number) ||
                 (alone < log->alone_count && log->alone[alone] == number);
    if (!without_end || !number || known || log->alone_count == POSITIONS_MOST)
        return;
    assert(alone == log->alone_count || log->alone[alone] > number);
    ISO_GROW(log->alone, log->alone_count, log->alone_capacity);
    memmove(log->alone + alone + 1, log->alone + alone,
            (log->alone_count - alone) * sizeof *log->alone);
    log->alone[alone] = number;
    log->alone_count++;
}

bool join_log_lacks_statement(const struct iso_join *join, uint64_t position)
{
    return join->log.alone_count && join->log.alone[0] < position >> ISO_GTID_BITS;
}

void join_log_note_told(struct iso_join *join, const struct iso_event *event)
{
    struct join_input *partition = join_input(join, iso_origin_input(event->origin));
    struct join_log *log = &join->log;
    partition->tells |= event->type == ISO_EVENT_SCHEMA && !(event->flags & ISO_EVENT_EPOCH);
    if (!partition->tells)
        return;
    if (join_is_of_domain(join, event) && event->commit > log->told)
        log->told = event->commit;
}

/* Up to where BEGINs came, and what followed them. */
static uint64_t begun(const struct iso_join *join)
{
    const struct join_begun *last = &join->begun;
    return join->log.begun - (join->log.begun && last->open && last->commit == join->log.begun);
}

static bool has_each(const struct join_log *log, uint64_t from, uint64_t last)
{
    return from > last ||
           find_not_below(log, last + 1, 0) - find_not_below(log, from, 0) == last - from + 1;
}

bool join_log_may_lack(const struct iso_join *join, uint64_t after, uint64_t position)
{
    const struct join_log *log = &join->log;
    uint64_t last = position >> ISO_GTID_BITS, since = after >> ISO_GTID_BITS,
             from = (log->told > since ? log->told : since) + 1;
    if (!join->source.numbered || !join->source.expects_statements || from > last)
        return false;
    uint32_t alone = find_alone(log, from);
    if (alone < log->alone_count && log->alone[alone] <= last)
        return true;
    if (!log->first)
        return !has_each(log, from, last);
    if (log->count && log->list[0].number > from)
        from = log->list[0].number < log->first ? log->list[0].number : log->first;
    uint64_t before = last < log->first ? last : log->first - 1, behind = begun(join) + 1;
    return !has_each(log, from, before) || !has_each(log, from > behind ? from : behind, last);
}

/* The last number up to which everything has arrived. */
static uint64_t whole(const struct iso_join *join)
{
    uint64_t number = join->source.has_ends || join->source.expects_ends
                          ? begun(join)
                          : join_all_have_passed(join) >> ISO_GTID_BITS;
    for (uint32_t i = join->open.oldest; i != ISO_NONE; i = join->open.list[i].newer) {
        const struct join_transaction *transaction = &join->open.list[i];
        uint64_t own = transaction->position >> ISO_GTID_BITS;
        if (!(transaction->flags & JOIN_COMPLETE) && (transaction->flags & JOIN_HAS_POSITION) &&
            own <= number)
            number = own - 1;
    }
    return number;
}

/* Whether nothing that stands in front of this position, behind the last entry that does, may still
 * arrive. */
static bool is_known(const struct join_log *log, uint64_t position, uint64_t known)
{
    uint32_t behind = find_not_below(log, 0, position);
    if (behind == log->count || log->list[behind].number > known)
        return false;
    uint64_t before = behind ? log->list[behind - 1].number : 0;
    uint32_t alone = find_alone(log, before);
    return alone == log->alone_count || log->alone[alone] > log->list[behind].number;
}

/* ---- records that wait ---- */

static uint64_t reads_of(const struct iso_history *block, uint32_t t)
{
    uint64_t reads = 0;
    ISO_EACH(o, block->txns.first_op, t)
        reads += !iso_kind_writes(block->ops.kind[o]);
    return reads;
}

bool join_log_keep(struct iso_join *join, const struct iso_history *block, uint32_t t)
{
    struct join_log *log = &join->log;
    if (!(iso_marks_of(block, t) & ISO_MARK_LOG_START))
        return false;
    log->records.clock = ISO_CLOCK_SCALAR;
    join_copy_whole(&log->records, block, t);
    log->waiting++;
    log->reads += reads_of(block, t);
    join->stats.records++;
    join->stats.reads += reads_of(block, t);
    return true;
}

/* The record leaves the join as any other does, or is counted as not judged. Where commits in front
 * of its position may not have come, reads of it that contradict them wait. */
static void release(struct iso_join *join, uint32_t t, bool known)
{
    struct join_log *log = &join->log;
    struct iso_history *records = &log->records;
    uint64_t position = records->txns.sts[t], reads = reads_of(records, t), start = position;
    uint32_t before = find_not_below(log, 0, position);
    enum iso_record_class class = ISO_RECORDS_GIVEN;
    if (before)
        start = iso_gtid_snapshot(log->list[before - 1].number);
    else if (log->count)
        start = iso_gtid_snapshot(log->list[0].number - 1);
    if (log->broken || (!before && log->forgot))
        class = ISO_RECORDS_UNPLACED;
    else if (position < log->start)
        class = ISO_RECORDS_BEFORE;
    records->txns.marks[t] &= (uint8_t)~ISO_MARK_LOG_START;
    assert(log->waiting && log->reads >= reads);
    log->waiting--;
    log->reads -= reads;
    if (class != ISO_RECORDS_GIVEN) {
        join->stats.unplaced += class == ISO_RECORDS_UNPLACED;
        join->stats.records_gone[class]++;
        join->stats.reads_gone[class] += reads;
        return;
    }
    join->stats.records--;
    join->stats.reads -= reads;
    records->txns.sts[t] = start;
    if (!known)
        join_emit_beyond(join, join_text(join, records, records->txns.tid[t]));
    join_take_record(join, records, t, NULL);
}

static void forget_released(struct join_log *log)
{
    struct iso_history kept;
    if (log->waiting > log->records.txns.count / 2)
        return;
    iso_history_init(&kept);
    kept.clock = ISO_CLOCK_SCALAR;
    for (uint32_t t = 0; t < log->records.txns.count; t++)
        if (iso_marks_of(&log->records, t) & ISO_MARK_LOG_START)
            join_copy_whole(&kept, &log->records, t);
    iso_history_release(&log->records);
    log->records = kept;
}

void join_log_release(struct iso_join *join, bool ended)
{
    struct join_log *log = &join->log;
    if (!log->waiting)
        return;
    uint64_t last = whole(join);
    for (uint32_t t = 0; t < log->records.txns.count; t++) {
        bool waits = iso_marks_of(&log->records, t) & ISO_MARK_LOG_START,
             known = is_known(log, log->records.txns.sts[t], last);
        if (waits && (ended || log->broken || known))
            release(join, t, known);
    }
    forget_released(log);
    join->scratch.cache.block = NULL; /* its texts may be gone */
}
