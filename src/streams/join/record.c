/* Client records: what is expected of the stream, and what the engine may have at once.
 *
 * A record with all its timestamps goes to the engine as it arrives; what stays is what it wrote.
 * One that lacks its commit timestamp waits until the stream gives it, one with a snapshot until
 * its position is known.
 */
#include "base/memory.h"
#include "join/join_private.h"

enum {
    /* aborted records that are remembered, in case rows of them arrive */
    ABORTED_MOST = 1 << 17
};

struct taking {
    struct iso_join *join;
    const struct iso_history *block;
    uint32_t transaction, record;
    uint8_t flags, status; /* flags: ISO_WRITES if it writes, or may write, what is judged */
};

static bool same_identity(struct join_identity left, struct join_identity right)
{
    return left.number == right.number && left.tag == right.tag;
}

/* ---- under which identities rows will find it ---- */

static void add_identity(struct join_record *record, uint64_t number, enum join_tag tag)
{
    record->identity[record->identity_count++] = (struct join_identity){number, tag};
}

static void set_identities(const struct taking *taking, const struct join_identity *in_band)
{
    struct iso_join *join = taking->join;
    const struct iso_history *block = taking->block;
    struct join_record *record = &join->records.list[taking->record];
    uint64_t xid = block->txns.xid ? block->txns.xid[taking->transaction] : 0;
    if (in_band) {
        add_identity(record, in_band->number, (enum join_tag)in_band->tag);
    } else if (join->capability->by_id) {
        if (xid)
            add_identity(record, (uint32_t)xid, JOIN_BY_XID);
        else
            add_identity(record, record->tid, JOIN_BY_TEXT);
        if (!join->capability->positions && (record->flags & JOIN_RECORD_CTS))
            add_identity(record, record->cts, JOIN_BY_CTS);
    } else {
        if (!join->capability->unique_cts && (record->flags & JOIN_RECORD_STS))
            add_identity(record, record->sts, JOIN_BY_STS);
        if (record->flags & JOIN_RECORD_CTS)
            add_identity(record, record->cts, JOIN_BY_CTS);
    }
    if (join->options.markers && !in_band)
        join_await_marker(join, taking->record);
}

/* ---- its final writes ---- */

/* --uncovered judge: what the stream does not deliver is not compared with it. */
static bool is_compared(struct iso_join *join, uint32_t key)
{
    return !join->options.judge_uncovered || join_is_key_covered(join, key);
}

static void add_write(const struct taking *taking, uint32_t operation)
{
    struct iso_join *join = taking->join;
    const struct iso_history *block = taking->block;
    uint32_t key = join_key_number(join, block, block->keys.atom[block->ops.key[operation]]);
    if (!join_is_judged(join, key) || !is_compared(join, key))
        return;
    struct join_key *state = &join->keys.list[key];
    uint8_t kind = iso_kind_of(block, operation);
    if (kind == ISO_APPEND) {
        join->records.list[taking->record].flags |= JOIN_RECORD_LISTS;
        return;
    }
    if (state->mark != join->counters.marks) {
        state->mark = join->counters.marks;
        state->row = join_new_row(join, &join->records.list[taking->record].writes);
        join->rows.list[state->row].key = key;
    }
    struct join_row *row = &join->rows.list[state->row];
    row->content++;
    row->after =
        kind == ISO_DELETE ? ISO_ABSENT : join_text(join, block, block->ops.value[operation]);
    row->ordinal = operation - block->txns.first_op[taking->transaction];
}

/* Cells of rows that it deleted afterwards, or wrote once more without listing them: what they have
 * in the end, the stream knows. */
static void leave_overwritten(const struct taking *taking)
{
    struct iso_join *join = taking->join;
    const struct join_chain *writes = &join->records.list[taking->record].writes;
    for (uint32_t i = 0, w = writes->first; i < writes->count; i++, w = join->rows.list[w].next) {
        const struct join_key *state = &join->keys.list[join->rows.list[w].key];
        if (state->part != JOIN_PART_CELL ||
            join->keys.list[state->of_row].mark != join->counters.marks)
            continue;
        if (join->rows.list[join->keys.list[state->of_row].row].ordinal >
            join->rows.list[w].ordinal)
            join->rows.list[w].flags |= JOIN_ROW_WITHOUT;
    }
}

static void collect_writes(const struct taking *taking)
{
    const struct iso_history *block = taking->block;
    uint32_t end = block->txns.first_op[taking->transaction + 1];
    taking->join->counters.marks++;
    for (uint32_t o = block->txns.first_op[taking->transaction]; o < end; o++)
        if (iso_kind_writes(block->ops.kind[o]))
            add_write(taking, o);
    if (taking->join->records.list[taking->record].flags & JOIN_RECORD_ROWS)
        leave_overwritten(taking);
}

/* ---- taking it ---- */

static bool has_snapshot(const struct taking *taking)
{
    const struct iso_history *block = taking->block;
    return block->txns.snapshot && block->txns.snapshot[taking->transaction] != ISO_NONE;
}

/* Its timestamps are positions among snapshots: explicit ones win. */
static bool is_placed(const struct taking *taking)
{
    bool explicit = (taking->flags & ISO_HAS_STS) &&
                    ((taking->flags & ISO_HAS_CTS) || !(taking->flags & ISO_WRITES));
    return taking->join->capability->positions && has_snapshot(taking) && !explicit;
}

static void keep_record(const struct taking *taking)
{
    struct iso_join *join = taking->join;
    struct join_record *record = &join->records.list[taking->record];
    record->kept =
        join_copy_transaction(join, &join->records.kept, taking->block, taking->transaction);
    join_set_position(&join->records.kept,
                      join_position_of(join, taking->block, taking->transaction));
    join->records.kept_open++;
}

static void note_largest(struct iso_join *join, const struct join_record *record)
{
    if ((record->flags & JOIN_RECORD_STS) && record->sts > join->progress.largest)
        join->progress.largest = record->sts;
    if ((record->flags & JOIN_RECORD_CTS) && record->cts > join->progress.largest)
        join->progress.largest = record->cts;
}

static void fill_record(const struct taking *taking)
{
    struct iso_join *join = taking->join;
    const struct iso_history *block = taking->block;
    uint32_t t = taking->transaction;
    struct join_record *record = &join->records.list[taking->record];
    record->tid = join_text(join, block, block->txns.tid[t]);
    record->status = taking->status;
    record->flags = (uint16_t)((taking->flags & ISO_HAS_STS ? JOIN_RECORD_STS : 0) |
                               (taking->flags & ISO_HAS_CTS ? JOIN_RECORD_CTS : 0) |
                               (join_takes_writes(block, t) ? JOIN_RECORD_TAKES : 0));
    record->sts = taking->flags & ISO_HAS_STS ? block->txns.sts[t] : 0;
    record->cts = taking->flags & ISO_HAS_CTS ? block->txns.cts[t] : 0;
    record->xid = block->txns.xid ? block->txns.xid[t] : 0;
    record->origin = block->txns.origin[t];
    note_largest(join, record);
    record->horizon = join->progress.largest; /* no less than its own start */
}

static bool is_same_record(const struct join_record *left, const struct join_record *right)
{
    return left->tid == right->tid && (same_identity(left->identity[0], right->identity[0]) ||
                                       (left->sts == right->sts && left->cts == right->cts));
}

/* A producer sends again what it does not know to have arrived. */
static bool arrived_before(const struct taking *taking)
{
    struct iso_join *join = taking->join;
    const struct join_record *record = &join->records.list[taking->record];
    if (record->identity_count &&
        join_dedup_find(join, (struct join_identity){record->tid, JOIN_BY_MARKER}) &&
        join_dedup_find(join, (struct join_identity){record->tid, JOIN_BY_MARKER})->tid ==
            record->tid)
        return true;
    for (uint32_t i = 0; i < record->identity_count; i++) {
        uint32_t other = join_map_get(&join->records.by_claim, record->identity[i]);
        const struct join_dedup_entry *dedup = join_dedup_find(join, record->identity[i]);
        for (; other != ISO_NONE; other = join->records.list[other].next_equal)
            if (other != taking->record && is_same_record(&join->records.list[other], record))
                return true;
        if (dedup && dedup->tid == record->tid)
            return true;
    }
    return false;
}

/* Its transaction was finished without it: patience had ended, or somebody broke a promise. */
static bool arrived_late(const struct taking *taking)
{
    struct iso_join *join = taking->join;
    const struct join_record *record = &join->records.list[taking->record];
    for (uint32_t i = 0; i < record->identity_count; i++) {
        const struct join_dedup_entry *dedup = join_dedup_find(join, record->identity[i]);
        bool shared = record->identity[i].tag == JOIN_BY_CTS && !join->capability->unique_cts;
        if (dedup && dedup->aborted_in_log)
            continue;
        if (dedup && (dedup->tid == ISO_ABSENT || shared))
            return true;
    }
    return false;
}

/* The entry of an abort that contradicts a record which says that it committed (aborted.c), or
 * NULL. */
static const struct join_dedup_entry *aborted_of(const struct taking *taking)
{
    struct iso_join *join = taking->join;
    const struct join_record *record = &join->records.list[taking->record];
    for (uint32_t i = 0; record->status == ISO_COMMITTED && i < record->identity_count; i++) {
        const struct join_dedup_entry *dedup = join_dedup_find(join, record->identity[i]);
        if (dedup && dedup->aborted_in_log)
            return dedup;
    }
    return NULL;
}

/* One of its snapshots is older than clients promised that any would be: what arrived after it has
 * its position already. */
static bool is_below_promise(const struct taking *taking)
{
    const struct iso_history *block = taking->block;
    uint32_t t = taking->transaction;
    uint64_t promise = taking->join->positions.clients;
    if (!promise || !is_placed(taking) || taking->status == ISO_ABORTED)
        return false;
    bool below = block->snapshots.list[block->txns.snapshot[t]].xmin < promise;
    ISO_EACH(o, block->txns.first_op, t)
        below |= block->ops.kind[o] & ISO_OPERATION_SNAPSHOT &&
                 block->snapshots.list[block->ops.ots[o]].xmin < promise;
    return below;
}

/* A reader that has no position of its own, where the log may have its marker. */
static bool waits_for_marker(const struct taking *taking)
{
    const struct iso_join *join = taking->join;
    return join->options.markers && join->capability->positions &&
           taking->status == ISO_COMMITTED &&
           !(taking->flags & (ISO_WRITES | ISO_HAS_STS | ISO_HAS_CTS)) && !has_snapshot(taking);
}

/* Gives it to the engine, or says what it waits for. */
static void pass_on(const struct taking *taking)
{
    struct iso_join *join = taking->join;
    struct join_record *record = &join->records.list[taking->record];
    bool takes = record->flags & (JOIN_RECORD_TAKES | JOIN_RECORD_ROWS);
    bool lacks_cts = (taking->flags & ISO_WRITES) && (takes || !(taking->flags & ISO_HAS_CTS));
    if (is_placed(taking) && taking->status != ISO_ABORTED) {
        record->flags |= JOIN_RECORD_PLACED;
        keep_record(taking);
        join_place_record(join, taking->record);
        return;
    }
    if (taking->status == ISO_COMMITTED && (lacks_cts || waits_for_marker(taking))) {
        keep_record(taking);
        return;
    }
    record->flags |= JOIN_RECORD_GIVEN;
    join_emit_reads(join, record);
    join_emit_block(join, taking->block, taking->transaction);
    if (taking->status == ISO_UNKNOWN && join->options.keep_joined)
        keep_record(taking);
}

bool join_reads_at_start(const struct iso_history *history, uint32_t transaction)
{
    ISO_EACH(o, history->txns.first_op, transaction)
        if (!iso_kind_writes(history->ops.kind[o]) &&
            !(history->ops.kind[o] & (ISO_OPERATION_OTS | ISO_OPERATION_LOCK)))
            return true;
    return false;
}

/* A reader without a start timestamp is refused by the engine; a writer is a version to it. */
static bool lacks_start(const struct taking *taking)
{
    const struct iso_history *block = taking->block;
    bool has_position = (taking->flags & ISO_WRITES) || waits_for_marker(taking);
    bool needs = taking->status != ISO_ABORTED && has_position && !(taking->flags & ISO_HAS_STS);
    return needs && !is_placed(taking) && join_reads_at_start(block, taking->transaction);
}

void join_note_timeless(struct iso_join *join, uint32_t number)
{
    struct join_record *record = &join->records.list[number];
    join->stats.readers_without_start += record->reads > 0;
    join->stats.reads_without_start += record->reads;
    record->flags |= record->reads ? 0 : JOIN_RECORD_GIVEN; /* nothing to judge */
}

/* Whether the transaction only reads, at a moment that nothing tells: a statement outside of
 * transactions, or a transaction of READ COMMITTED. */
static bool is_timeless(const struct taking *taking)
{
    return taking->status == ISO_COMMITTED &&
           !(taking->flags & (ISO_WRITES | ISO_HAS_STS | ISO_HAS_CTS)) && !is_placed(taking) &&
           !waits_for_marker(taking);
}

/* The engine judges by timestamps, and does not get it; the joined history has it, where an order
 * may be sought. */
static void take_timeless(const struct taking *taking)
{
    struct iso_join *join = taking->join;
    join_emit_joined(join, taking->block, taking->transaction,
                     join_position_of(join, taking->block, taking->transaction));
    join_note_timeless(join, taking->record);
    join_forget_record(join, taking->record);
}

/* Nothing will be compared with it. */
static bool is_done(const struct taking *taking)
{
    const struct join_record *record = &taking->join->records.list[taking->record];
    if (!(record->flags & JOIN_RECORD_GIVEN))
        return false;
    return !(taking->flags & ISO_WRITES) ||
           (taking->status != ISO_UNKNOWN && !record->identity_count);
}

/* Counts operations on tables without a source, and leaves them out. */
static void survey(struct taking *taking)
{
    struct iso_join *join = taking->join;
    const struct iso_history *block = taking->block;
    struct join_record *record = &join->records.list[taking->record];
    bool writes = record->flags & JOIN_RECORD_TAKES,
         hides_own = join_hides_own(join, block, taking->transaction);
    join->counters.tallies += hides_own;
    ISO_EACH(o, block->txns.first_op, taking->transaction) {
        uint32_t key = join_key_number(join, block, block->keys.atom[block->ops.key[o]]);
        bool is_write = iso_kind_writes(block->ops.kind[o]), judged = join_is_judged(join, key);
        join->stats.reads += !is_write;
        writes |= is_write && judged;
        if (is_write && judged && join->keys.list[key].part != JOIN_PART_ALL)
            record->flags |= JOIN_RECORD_ROWS;
        bool own = judged && hides_own && join_may_be_own(join, key, is_write);
        join->stats.reads_gone[ISO_READS_OWN_ORDER] += own;
        record->reads += !is_write && judged && !own;
        if (!is_write && join->changes.count)
            join_note_asked(join, key);
        if (judged) {
            join_note_unseen(join, key);
            continue;
        }
        join_leave_out(join, key);
        join->stats.reads_gone[ISO_READS_UNCOVERED] += !is_write;
        /* Its table may get a topic with this very row, which is the record's. */
        if (is_write && join->tables.grow && record->xid)
            record->flags |= JOIN_RECORD_TAKES;
    }
    writes |= record->flags & JOIN_RECORD_TAKES;
    taking->flags = (uint8_t)((taking->flags & ~ISO_WRITES) | (writes ? ISO_WRITES : 0));
}

static void forget_aborted(struct iso_join *join)
{
    uint32_t number = join->records.oldest, checked = 0;
    while (number != ISO_NONE && checked++ < ABORTED_MOST / 2) {
        uint32_t next = join->records.list[number].newer;
        if (join->records.list[number].status == ISO_ABORTED) {
            join_forget_record(join, number);
            join->records.aborted--;
        }
        number = next;
    }
}

static void find_rows(struct iso_join *join, uint32_t number)
{
    for (uint32_t i = 0; i < join->records.list[number].identity_count; i++) {
        uint32_t transaction =
            join_map_get(&join->open.by_identity, join->records.list[number].identity[i]);
        if (transaction == ISO_NONE)
            continue;
        uint32_t flags = join->open.list[transaction].flags;
        if (flags & JOIN_CLOSED)
            join_finish(join, transaction, flags & JOIN_COMPLETE ? JOIN_ROWS_FINAL : 0);
        return;
    }
}

void join_take_record(struct iso_join *join, const struct iso_history *block, uint32_t transaction,
                      const struct join_identity *in_band)
{
    struct taking taking = {join,
                            block,
                            transaction,
                            join_new_record(join),
                            block->txns.flags[transaction],
                            iso_status_of(block, transaction)};
    uint32_t number = taking.record;
    join->records.list[number].taken = join->counters.taken++;
    join->stats.records++;
    fill_record(&taking);
    survey(&taking);
    if ((taking.flags & ISO_WRITES) || join->records.list[number].xid || in_band ||
        waits_for_marker(&taking))
        set_identities(&taking, in_band);
    if (arrived_before(&taking)) {
        join->stats.record_repeats++;
        join_forget_record_as(join, number, ISO_RECORDS_REPEATED);
        return;
    }
    if (arrived_late(&taking) || is_below_promise(&taking)) {
        join->stats.late_records++;
        join_forget_record_as(join, number, ISO_RECORDS_LATE);
        return;
    }
    const struct join_dedup_entry *aborted = aborted_of(&taking);
    if (aborted) {
        uint64_t from = aborted->cts;
        collect_writes(&taking);
        join_forget_without_position(join, number, from);
        return;
    }
    if (is_timeless(&taking)) {
        take_timeless(&taking);
        return;
    }
    join->stats.without_start += lacks_start(&taking);
    pass_on(&taking);
    if (is_done(&taking)) {
        join_forget_record(join, number);
        return;
    }
    collect_writes(&taking);
    join_enter_claim(join, number);
    if (taking.status == ISO_ABORTED && ++join->records.aborted > ABORTED_MOST)
        forget_aborted(join);
    if (taking.status == ISO_UNKNOWN && !join->records.list[number].identity_count)
        join->records.unknown++;
    find_rows(join, number);
}
