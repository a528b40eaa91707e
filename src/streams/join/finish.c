/* Settling: a transaction as delivered against what its client said of it.
 *
 * Final writes are compared. Equal, and closed: finished at once. Different: only once no row can
 * be added to it. Without a record it is foreign, once no record can arrive for it; in cdc mode it
 * is judged by itself.
 */
#include <assert.h>

#include "join/join_private.h"
#include "verdict/unjudged.h"

/* ---- comparing ---- */

/* The rows that count, the final one of each key: `state->row` of those whose `state->mark` is what
 * this returns. */
uint32_t join_mark_finals(struct iso_join *join, const struct join_transaction *transaction)
{
    uint32_t mark = ++join->counters.marks;
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next) {
        struct join_key *state = &join->keys.list[join->rows.list[r].key];
        if ((join->rows.list[r].flags & JOIN_ROW_WITHOUT) ||
            (state->mark == mark && join->rows.list[state->row].rank > join->rows.list[r].rank))
            continue;
        state->mark = mark;
        state->row = r;
    }
    return mark;
}

bool join_is_final(const struct iso_join *join, uint32_t row, uint32_t mark)
{
    const struct join_key *state = &join->keys.list[join->rows.list[row].key];
    return state->mark == mark && state->row == row;
}

/* Whole rows of other columns: the client saw the table before or after a change of its schema. */
static bool cannot_compare(const struct iso_join *join, const struct join_row *row,
                           const struct join_row *write)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!join->options.is_whole_row || row->after == write->after)
        return false;
    const char *key = iso_atom_text(&join->keys.names.atoms, join->keys.names.keys.atom[row->key],
                                    buffer, &length);
    return join->options.is_whole_row(join->options.context, key, length) &&
           iso_rows_cannot_compare(&join->texts.atoms, row->after, &join->texts.atoms,
                                   write->after);
}

bool join_agrees(const struct iso_join *join, const struct join_row *row,
                 const struct join_row *write)
{
    return !(row->flags & JOIN_ROW_AFTER) || row->after == write->after ||
           cannot_compare(join, row, write);
}

/* Whether the last row of a key left what the first one found. */
static bool changed_nothing(const struct iso_join *join, const struct join_transaction *transaction,
                            uint32_t last)
{
    assert(last < join->rows.count);
    const struct join_row *final = &join->rows.list[last];
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next) {
        const struct join_row *row = &join->rows.list[r];
        if (row->key == final->key)
            return (row->flags & JOIN_ROW_BEFORE) && (final->flags & JOIN_ROW_AFTER) &&
                   row->before == final->after;
    }
    return false;
}

/* A cell without a row: all that the client did to its row arrived without it, so that it kept its
 * value. */
static bool is_unchanged(struct iso_join *join, const struct join_row *write, uint32_t mark)
{
    const struct join_key *state = &join->keys.list[write->key];
    if (state->part != JOIN_PART_CELL || join->keys.list[state->of_row].mark != mark ||
        join->capability->closing != JOIN_CLOSES_WITH_RECORD)
        return false;
    const struct join_tally *row = join_tally_of(join, state->of_row);
    return row->changes >= row->writes;
}

/* Whether a final row is nothing that the client should have listed: the stream knows the cells of
 * rows that it wrote. */
static bool is_left_to_stream(const struct iso_join *join, const struct join_record *record,
                              const struct join_row *row, uint32_t mark)
{
    return row->flags & (JOIN_ROW_CLAIMED | JOIN_ROW_DROPPED | JOIN_ROW_UNREPORTED) ||
           record->flags & JOIN_RECORD_TAKES ||
           (record->flags & JOIN_RECORD_ROWS && join_is_of_claimed(join, row->key, mark));
}

/* The client wrote the row, whose columns are cells, more often than it has come. */
static bool has_more_to_come(struct iso_join *join, const struct join_record *record,
                             const struct join_row *write)
{
    const struct join_tally *tally = join_tally_of(join, write->key);
    return record->flags & JOIN_RECORD_ROWS &&
           join->capability->closing == JOIN_CLOSES_WITH_RECORD &&
           join->keys.list[write->key].part == JOIN_PART_ROW && tally->changes < tally->writes;
}

/* Whether something that the client wrote is not there, whatever it is. */
static bool lacks_writes(struct iso_join *join, const struct join_record *record, uint32_t mark)
{
    for (uint32_t i = 0, w = record->writes.first; i < record->writes.count;
         i++, w = join->rows.list[w].next) {
        const struct join_row *write = &join->rows.list[w];
        if (!(write->flags & JOIN_ROW_WITHOUT) && join->keys.list[write->key].mark != mark &&
            !is_unchanged(join, write, mark))
            return true;
    }
    return false;
}

/* Whether anything that the client wrote is not there, or in another way, or something is there
 * that it did not write.
 */
static bool differs(struct iso_join *join, struct join_transaction *transaction,
                    const struct join_record *record)
{
    uint32_t mark = join_mark_finals(join, transaction);
    join_spell_writes(join, record);
    if (record->flags & JOIN_RECORD_ROWS && join->capability->closing == JOIN_CLOSES_WITH_RECORD)
        join_tally(join, record, transaction);
    if (transaction->flags & JOIN_UNWEIGHED) {
        if (lacks_writes(join, record, mark))
            return true;
        join_weigh_images(join, transaction);
        mark = join_mark_finals(join, transaction);
    }
    for (uint32_t i = 0, w = record->writes.first; i < record->writes.count;
         i++, w = join->rows.list[w].next) {
        const struct join_row *write = &join->rows.list[w];
        const struct join_key *state = &join->keys.list[write->key];
        if (write->flags & JOIN_ROW_WITHOUT)
            continue;
        if (state->mark != mark ? !is_unchanged(join, write, mark)
                                : !join_agrees(join, &join->rows.list[state->row], write) ||
                                      has_more_to_come(join, record, write))
            return true;
        if (state->mark == mark)
            join->rows.list[state->row].flags |= JOIN_ROW_CLAIMED;
    }
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next)
        if (join_is_final(join, r, mark) &&
            !is_left_to_stream(join, record, &join->rows.list[r], mark))
            return true;
    return false;
}

/* ---- reporting ---- */

/* One comparison of a record with what was delivered. */
struct comparison {
    struct iso_join *join;
    const struct join_record *record;
    const struct join_transaction *transaction; /* NULL: nothing was delivered */
    uint64_t cts;
    bool has_cts;
    uint32_t mark; /* of the final rows */
};

static struct iso_join_finding *finding_of(const struct comparison *comparison,
                                           enum iso_violation_kind kind, uint32_t key)
{
    struct iso_join_finding *finding =
        join_find(comparison->join, kind, comparison->record->tid, key);
    finding->client = comparison->record->origin;
    finding->sts = comparison->record->sts;
    finding->cts = comparison->cts;
    return finding;
}

/* Whether writes to the key's table may stand in the log as another transaction: tables without
 * transactions. */
static bool is_unreported(const struct iso_join *join, uint32_t key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!join->options.is_unreported)
        return false;
    const char *text =
        iso_atom_text(&join->keys.names.atoms, join->keys.names.keys.atom[key], buffer, &length);
    return join->options.is_unreported(join->options.context, text, length);
}

bool join_may_have_moved(const struct iso_join *join, const struct join_chain *rows, uint32_t key)
{
    uint32_t table = join->keys.list[key].of_table;
    for (uint32_t i = 0, r = rows->first; join->capability->net && i < rows->count;
         i++, r = join->rows.list[r].next) {
        const struct join_row *row = &join->rows.list[r];
        if (row->operation == ISO_ROW_UPDATE && !(row->flags & JOIN_ROW_BEFORE) &&
            join->keys.list[row->key].of_table == table)
            return true;
    }
    return false;
}

/* The client deleted a row that may have moved away. */
static bool may_be_gone(const struct comparison *comparison, const struct join_row *write)
{
    return comparison->transaction && write->after == ISO_ABSENT &&
           join_may_have_moved(comparison->join, &comparison->transaction->rows, write->key);
}

/* A write without a row. It may have changed nothing, and then some sources send none: whether it
 * did, the engine knows. */
static void report_missing(const struct comparison *comparison, const struct join_row *write)
{
    struct iso_join *join = comparison->join;
    bool sure = join->capability->sends_unchanged && write->after != ISO_ABSENT;
    if (is_unreported(join, write->key) || join_is_lacking(join, write->key))
        return;
    if (!join_is_judged(join, write->key)) { /* its table was covered when the record arrived */
        join_leave_out(join, write->key);
        return;
    }
    if (may_be_gone(comparison, write)) {
        join->stats.lost++;
        if (join->keys.list[write->key].part ==
            JOIN_PART_ROW) /* what adopt.c does not take for written */
            join_emit_table_version(join, write->key,
                                    iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_LOSSY),
                                    comparison->cts, comparison->record->origin);
    } else if (!sure && comparison->has_cts) {
        join_note_asked(join, write->key); /* what nobody delivered may have been there */
        join_emit_probe(join, ISO_MISSING, comparison->record->tid, write->key, write->after,
                        comparison->cts, comparison->record->origin);
    } else if (write->after != ISO_ABSENT) {
        finding_of(comparison, ISO_MISSING, write->key)->expected = join_out(join, write->after);
    }
}

static void report_value(const struct comparison *comparison, const struct join_row *write,
                         const struct join_row *row)
{
    struct iso_join_finding *finding = finding_of(comparison, ISO_OTHER_VALUE, write->key);
    finding->expected = join_out(comparison->join, write->after);
    finding->actual = join_out(comparison->join, row->after);
    finding->delivered = row->origin;
}

/* A cell of a row that the transaction deleted in the end. */
static bool is_gone(const struct comparison *comparison, const struct join_row *write)
{
    const struct iso_join *join = comparison->join;
    const struct join_key *state = &join->keys.list[write->key];
    if (state->part != JOIN_PART_CELL || !comparison->transaction)
        return false;
    const struct join_key *row = &join->keys.list[state->of_row];
    return row->mark == comparison->mark && join->rows.list[row->row].after == ISO_ABSENT;
}

/* Its encoder lost the value: nothing says whether it is the client's. */
static bool is_lost(const struct iso_join *join, const struct join_row *row)
{
    return !(row->flags & JOIN_ROW_AFTER) &&
           iso_value_unjudged(&join->texts.atoms, row->after) == ISO_UNJUDGED_LOSSY;
}

/* The transaction changed the row once more, in a statement of which its record says nothing. */
static bool is_written_again(const struct comparison *comparison, const struct join_row *write)
{
    const struct iso_join *join = comparison->join;
    const struct join_chain *rows = &comparison->transaction->rows,
                            *writes = &comparison->record->writes;
    uint32_t changes = 0, listed = 0;
    if (!(comparison->record->flags & JOIN_RECORD_TAKES))
        return false;
    for (uint32_t i = 0, r = rows->first; i < rows->count; i++, r = join->rows.list[r].next)
        changes += join->rows.list[r].key == write->key;
    for (uint32_t i = 0, w = writes->first; i < writes->count; i++, w = join->rows.list[w].next)
        listed += join->rows.list[w].key == write->key;
    return changes > listed;
}

/* Reports writes of the client; rows of its keys become its own. */
static void report_writes(const struct comparison *comparison)
{
    struct iso_join *join = comparison->join;
    const struct join_chain *writes = &comparison->record->writes;
    for (uint32_t i = 0, w = writes->first; i < writes->count; i++, w = join->rows.list[w].next) {
        const struct join_row *write = &join->rows.list[w];
        const struct join_key *state = &join->keys.list[write->key];
        if (write->flags & JOIN_ROW_WITHOUT)
            continue;
        if (!comparison->transaction || state->mark != comparison->mark) {
            if (!is_gone(comparison, write))
                report_missing(comparison, write);
            continue;
        }
        join->rows.list[state->row].flags |= JOIN_ROW_CLAIMED;
        join->stats.incomparable += cannot_compare(join, &join->rows.list[state->row], write);
        join->stats.lost += is_lost(join, &join->rows.list[state->row]);
        if (!join_is_lacking(join, write->key) &&
            !join_agrees(join, &join->rows.list[state->row], write) &&
            !is_written_again(comparison, write))
            report_value(comparison, write, &join->rows.list[state->row]);
    }
}

/* A cell of a row that is reported itself, since it came into being. */
static bool is_of_reported_row(const struct comparison *comparison, const struct join_row *cell)
{
    const struct iso_join *join = comparison->join;
    const struct join_key *state = &join->keys.list[cell->key];
    if (state->part != JOIN_PART_CELL || join->keys.list[state->of_row].mark != comparison->mark)
        return false;
    const struct join_row *row = &join->rows.list[join->keys.list[state->of_row].row];
    return !(row->flags & JOIN_ROW_UNREPORTED) &&
           !changed_nothing(join, comparison->transaction, join->keys.list[state->of_row].row);
}

/* Final rows that nobody claims; all of them, if its client says that it aborted. */
static void report_rows(const struct comparison *comparison, enum iso_violation_kind kind)
{
    struct iso_join *join = comparison->join;
    const struct join_chain *rows = &comparison->transaction->rows;
    for (uint32_t i = 0, r = rows->first; i < rows->count; i++, r = join->rows.list[r].next) {
        const struct join_row *row = &join->rows.list[r];
        if (!join_is_final(join, r, comparison->mark) ||
            (kind == ISO_ABORTED_ROW
                 ? row->flags & (JOIN_ROW_DROPPED | JOIN_ROW_UNREPORTED)
                 : is_left_to_stream(join, comparison->record, row, comparison->mark)) ||
            changed_nothing(join, comparison->transaction, r) ||
            is_of_reported_row(comparison, row))
            continue;
        struct iso_join_finding *finding = finding_of(comparison, kind, row->key);
        finding->actual = join_out(join, row->after);
        finding->delivered = row->origin;
    }
}

/* The first row of a key must have the version that it replaced (a probe), every later one what the
 * row before it left.
 */
static void check_before_image(const struct comparison *comparison, const struct join_row *row,
                               const struct join_row *before)
{
    struct iso_join *join = comparison->join;
    if (!(row->flags & JOIN_ROW_BEFORE))
        return;
    if (!before) {
        if (row->before != ISO_ABSENT) { /* it shows that something was there */
            join_note_asked(join, row->key);
            if (!join->capability->positions)
                join_ask_initial(join, row->key);
        }
        join_emit_probe(join, ISO_BEFORE_IMAGE, comparison->record->tid, row->key, row->before,
                        comparison->cts, row->origin);
    } else if ((before->flags & JOIN_ROW_AFTER) && before->after != row->before) {
        struct iso_join_finding *finding = finding_of(comparison, ISO_BEFORE_IMAGE, row->key);
        finding->expected = join_out(join, before->after);
        finding->actual = join_out(join, row->before);
        finding->delivered = row->origin;
    }
}

/* `own`: only of keys that the record wrote. */
static void check_before_images(const struct comparison *comparison, bool own)
{
    struct iso_join *join = comparison->join;
    const struct join_chain *rows = &comparison->transaction->rows,
                            *writes = &comparison->record->writes;
    uint32_t wanted = join->counters.marks + 1, seen = join->counters.marks + 2;
    join->counters.marks += 2;
    for (uint32_t i = 0, w = writes->first; own && i < writes->count;
         i++, w = join->rows.list[w].next)
        join->keys.list[join->rows.list[w].key].mark = wanted;
    for (uint32_t i = 0, r = rows->first; i < join_turns(join, rows);
         i++, r = join_next_turn(join, rows, r)) {
        struct join_key *state = &join->keys.list[join->rows.list[r].key];
        if (!join_is_turn(join, rows, i, r) ||
            (own && state->mark != wanted && state->mark != seen) ||
            join_is_lacking(join, join->rows.list[r].key))
            continue;
        check_before_image(comparison, &join->rows.list[r],
                           state->mark == seen ? &join->rows.list[state->row] : NULL);
        state->mark = seen;
        state->row = r;
    }
}

/* ---- outcomes ---- */

bool join_commit_timestamp(const struct join_transaction *transaction, uint64_t *cts)
{
    if (transaction->flags & JOIN_HAS_CTS)
        *cts = transaction->cts;
    else if (transaction->flags & JOIN_HAS_POSITION)
        *cts = transaction->position;
    return transaction->flags & (JOIN_HAS_CTS | JOIN_HAS_POSITION);
}

void join_resolve(struct iso_join *join, uint32_t number, bool committed, uint64_t cts)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    if (committed)
        join->stats.resolved_committed++;
    else
        join->stats.resolved_aborted++;
    record->status = committed ? ISO_COMMITTED : ISO_ABORTED;
    if (record->kept != ISO_NONE) {
        struct iso_history *kept = &join->records.kept;
        kept->txns.flags[record->kept] =
            (uint8_t)((kept->txns.flags[record->kept] & ~ISO_STATUS_MASK) | record->status);
        if (committed && !(record->flags & JOIN_RECORD_PLACED)) {
            kept->txns.flags[record->kept] |= ISO_HAS_CTS;
            kept->txns.cts[record->kept] = cts;
        }
    }
    if (!(record->flags & JOIN_RECORD_GIVEN))
        return;
    join_emit_resolution(join, record->tid, committed, cts);
    if (record->kept != ISO_NONE)
        join_emit_joined(join, &join->records.kept, record->kept,
                         join->records.kept.txns.sno[record->kept]);
}

/* A record that waited for its commit timestamp. */
static void emit_with_cts(struct iso_join *join, uint32_t number, uint64_t cts)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    join->records.kept.txns.flags[record->kept] |= ISO_HAS_CTS;
    join->records.kept.txns.cts[record->kept] = cts;
    record->cts = cts;
    record->flags |= JOIN_RECORD_CTS | JOIN_RECORD_GIVEN;
    join_emit_kept(join, number);
}

/* ---- one record and its transaction ---- */

/* Keys that went with their table, and those of tables of which clients do not say what they write:
 * versions beside its own.
 */
static void emit_unlisted(struct iso_join *join, struct join_transaction *transaction, uint64_t cts)
{
    uint32_t mark = join_mark_finals(join, transaction);
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next) {
        struct join_row *row = &join->rows.list[r];
        bool unlisted = row->flags & (JOIN_ROW_DROPPED | JOIN_ROW_UNREPORTED);
        if (!join_is_final(join, r, mark) || !unlisted || (row->flags & JOIN_ROW_CLAIMED))
            row->flags |= JOIN_ROW_WITHOUT;
    }
    join_emit_foreign(join, transaction, cts);
}

static bool shares_timestamps(const struct iso_join *join,
                              const struct join_transaction *transaction)
{
    return (transaction->flags & JOIN_SHARED) ||
           (transaction->identity.tag == JOIN_BY_CTS && !join->capability->unique_cts);
}

static void compare(struct iso_join *join, uint32_t number, struct join_transaction *transaction,
                    uint64_t cts, bool has_cts)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    struct comparison comparison = {join, record,  transaction,
                                    cts,  has_cts, join_mark_finals(join, transaction)};
    bool shared = shares_timestamps(join, transaction);
    join_spell_writes(join, record);
    join->stats.joined++;
    if (record->flags & JOIN_RECORD_LISTS)
        return;
    if (record->status == ISO_ABORTED) {
        report_rows(&comparison, ISO_ABORTED_ROW);
        return;
    }
    report_writes(&comparison);
    if (!shared)
        report_rows(&comparison, ISO_UNWRITTEN);
    if (has_cts)
        check_before_images(&comparison, shared);
    if (has_cts && (transaction->dropped || transaction->unreported) && !shared)
        emit_unlisted(join, transaction, cts);
}

/* The record left its writes to the stream, which has none: the transaction only read, at its
 * start. */
static void emit_reader(struct iso_join *join, uint32_t number)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    const struct iso_history *kept = &join->records.kept;
    if (!(record->flags & (JOIN_RECORD_STS | JOIN_RECORD_CTS))) {
        /* it was taken for a writer */
        join->stats.without_start -= join_reads_at_start(kept, record->kept);
        join_emit_joined(join, kept, record->kept, kept->txns.sno[record->kept]);
        join_note_timeless(join, number);
        return;
    }
    record->flags |= JOIN_RECORD_GIVEN;
    join_emit_kept(join, number);
}

static void emit_undelivered(struct iso_join *join, uint32_t number)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    if (record->flags & JOIN_RECORD_ROWS && record->flags & JOIN_RECORD_CTS &&
        !(record->flags & JOIN_RECORD_PLACED)) {
        join_adopt(join, number, ISO_NONE);
        emit_with_cts(join, number, record->cts);
    } else if (record->flags & JOIN_RECORD_TAKES && !record->writes.count &&
               !(record->flags & JOIN_RECORD_PLACED) && record->kept != ISO_NONE)
        emit_reader(join, number);
    else
        join->stats.unplaced++;
}

/* A record that the engine got before its outcome was known: writes that it does not list become
 * versions beside it. */
static void leave_unlisted(struct iso_join *join, const struct join_record *record,
                           struct join_transaction *transaction)
{
    bool takes = record->flags & JOIN_RECORD_TAKES;
    if (record->status != ISO_UNKNOWN || !(record->flags & JOIN_RECORD_GIVEN) ||
        !(record->flags & (JOIN_RECORD_ROWS | JOIN_RECORD_TAKES)))
        return;
    if (takes)
        join_tally(join, record, transaction);
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next) {
        struct join_row *row = &join->rows.list[r];
        bool unlisted = join->keys.list[row->key].part == JOIN_PART_CELL ||
                        (takes && !join_tally_of(join, row->key)->writes);
        bool is_new = unlisted && !(row->flags & JOIN_ROW_UNREPORTED);
        transaction->unreported += is_new;
        row->flags |= is_new ? JOIN_ROW_UNREPORTED : 0;
    }
}

static void finish_claim(struct iso_join *join, uint32_t number,
                         struct join_transaction *transaction)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    uint64_t cts = 0;
    bool has_cts = join_commit_timestamp(transaction, &cts);
    leave_unlisted(join, record, transaction);
    join_mark_lacking(join, transaction);
    bool wrote =
        join_adopt(join, number, (uint32_t)(transaction - join->open.list)) || record->writes.count;
    if (record->flags & JOIN_RECORD_CTS) {
        join->source.domains_differ |=
            !(transaction->flags & JOIN_HAS_CTS) && has_cts && cts != record->cts;
        cts = record->cts;
        has_cts = true;
    }
    if (record->status == ISO_UNKNOWN)
        join_resolve(join, number, true, cts);
    else if (!(record->flags & JOIN_RECORD_GIVEN) && record->flags & JOIN_RECORD_TAKES && !wrote)
        emit_reader(join, number);
    else if (!(record->flags & JOIN_RECORD_GIVEN) && has_cts)
        emit_with_cts(join, number, cts);
    else if (!(record->flags & JOIN_RECORD_GIVEN))
        join->stats.unplaced++;
    compare(join, number, transaction, cts, has_cts);
}

static void report_undelivered(struct iso_join *join, const struct join_record *record)
{
    struct comparison comparison = {.join = join,
                                    .record = record,
                                    .cts = record->cts,
                                    .has_cts = record->flags & JOIN_RECORD_CTS};
    join->counters.lacks++;
    join_spell_writes(join, record);
    if (record->status == ISO_COMMITTED &&
        !(record->flags & (JOIN_RECORD_LISTS | JOIN_RECORD_BEFORE)))
        report_writes(&comparison);
}

/* Its position is known. */
void join_finish_placed(struct iso_join *join, uint32_t record, uint32_t transaction, uint64_t cts)
{
    assert(record < join->records.count);
    if (transaction == ISO_NONE) {
        join_adopt(join, record, ISO_NONE);
        if (join->records.list[record].writes.count &&
            !(join->records.list[record].flags & JOIN_RECORD_BEFORE))
            join_lose_whole(join, record, cts);
        return;
    }
    join_mark_lacking(join, &join->open.list[transaction]);
    join_adopt(join, record, transaction);
    join->records.list[record].flags |= JOIN_RECORD_DELIVERED;
    compare(join, record, &join->open.list[transaction], cts, true);
}

/* ---- a transaction ---- */

/* The first record of the chain, from this one on, that may be the transaction's: among records of
 * one commit timestamp the one that started when the rows say. */
static uint32_t fitting_claim(const struct iso_join *join,
                              const struct join_transaction *transaction, uint32_t record)
{
    bool has_start = transaction->identity.tag == JOIN_BY_STS;
    while (record != ISO_NONE && has_start && join->records.list[record].flags & JOIN_RECORD_STS &&
           join->records.list[record].sts != transaction->identity.number)
        record = join->records.list[record].next_equal;
    return record;
}

static uint32_t next_claim(const struct iso_join *join, const struct join_transaction *transaction,
                           uint32_t record)
{
    return fitting_claim(join, transaction, join->records.list[record].next_equal);
}

static uint32_t claim_of(const struct iso_join *join, const struct join_transaction *transaction)
{
    uint32_t record = join_map_get(&join->records.by_claim, transaction->identity);
    if (record == ISO_NONE && (transaction->flags & JOIN_HAS_CTS) &&
        transaction->identity.tag != JOIN_BY_CTS)
        record = join_map_get(&join->records.by_claim,
                              (struct join_identity){transaction->cts, JOIN_BY_CTS});
    return fitting_claim(join, transaction, record);
}

static void finish(struct iso_join *join, uint32_t number, uint32_t record, uint64_t cts,
                   enum iso_row_class class)
{
    iso_atom tid = record == ISO_NONE ? ISO_ABSENT : join->records.list[record].tid;
    if (join->options.clients && !(join->open.list[number].flags & JOIN_HAS_CTS) &&
        !join_is_empty(&join->open.list[number]))
        join_note_uncounted(join, &join->open.list[number]);
    join_lose(join, number, record, cts);
    join_dedup_add(join, &join->open.list[number], tid, cts);
    join_finish_markers(join, &join->open.list[number], cts);
    join_leave_open(join, number);
    join_note_newest(join, &join->open.list[number], cts);
    join_emit_altered(join, &join->open.list[number], cts);
    join_forget_transaction(join, number, class);
}

/* Notes the record, so that a repeat is recognised where the transaction's identity does not
 * tell. */
static void note_record(struct iso_join *join, const struct join_record *record,
                        const struct join_transaction *transaction, uint64_t cts)
{
    if (join->options.markers || shares_timestamps(join, transaction))
        join_dedup_note(join, (struct join_identity){record->tid, JOIN_BY_MARKER}, record->tid,
                        cts);
}

/* Its rows wait for a position, and are compared when it is known. */
static void start_placing(struct iso_join *join, uint32_t number, uint32_t record)
{
    join_dedup_add(join, &join->open.list[number],
                   record == ISO_NONE ? ISO_ABSENT : join->records.list[record].tid, 0);
    if (record != ISO_NONE) {
        leave_unlisted(join, &join->records.list[record], &join->open.list[number]);
        note_record(join, &join->records.list[record], &join->open.list[number], 0);
    }
    join_finish_markers(join, &join->open.list[number], 0);
    join_leave_open(join, number);
    join->open.list[number].flags |= JOIN_PLACING;
    join_place_commit(join, record, number);
}

static void finish_alone(struct iso_join *join, uint32_t number, uint32_t final)
{
    assert(number < join->open.count);
    struct join_transaction *transaction = &join->open.list[number];
    bool clients = join->options.clients || join->source.in_band;
    bool sure = !clients || (join->options.records_first && !join->log.waiting) ||
                join->source.in_band || (final & JOIN_RECORDS_FINAL);
    uint64_t cts = 0;
    /* the first record shows how positions are counted */
    bool undecided = join->source.expects_in_band && !join->source.in_band;
    if (!(final & JOIN_ROWS_FINAL) || !sure || (undecided && !(final & JOIN_RECORDS_FINAL)))
        return;
    join_weigh_images(join, transaction);
    join->stats.foreign += clients && transaction->rows.count;
    if (clients && join_is_counted(join, transaction)) {
        start_placing(join, number, ISO_NONE);
        return;
    }
    bool placed = join_commit_timestamp(transaction, &cts);
    if (clients && !(transaction->flags & JOIN_HAS_CTS) && join->source.domains_differ)
        placed = false;
    join_mark_lacking(join, transaction); /* what its rows found may be what did not come */
    if (placed)
        join_emit_respelt(join, transaction);
    if (!placed) {
        join->stats.unplaced += transaction->rows.count > 0;
        join_extent_misplace(join, transaction);
    } else if (clients)
        join_emit_foreign(join, transaction, cts);
    else
        join_emit_changes(join, transaction, cts);
    finish(join, number, ISO_NONE, cts,
           !placed   ? ISO_ROWS_UNPLACED
           : clients ? ISO_ROWS_FOREIGN
                     : ISO_ROWS_JUDGED);
}

/* Rows of a shared timestamp that nobody claims are another transaction's. */
static void emit_rest(struct iso_join *join, struct join_transaction *transaction, uint64_t cts)
{
    uint32_t mark = join_mark_finals(join, transaction), rest = 0;
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next) {
        const struct join_key *state = &join->keys.list[join->rows.list[r].key];
        if (state->mark == mark && (join->rows.list[state->row].flags & JOIN_ROW_CLAIMED))
            join->rows.list[r].flags |= JOIN_ROW_WITHOUT;
        else
            rest++;
    }
    join->stats.foreign += rest > 0;
    join_emit_foreign(join, transaction, cts);
}

/* Whether the record's transaction stands among counted positions: it has a snapshot, or is, with
 * no time of its own, between others that have. */
static bool is_counted(const struct iso_join *join, const struct join_transaction *transaction,
                       const struct join_record *record)
{
    bool has_time = record->flags & JOIN_RECORD_CTS || join->source.in_band;
    return record->flags & JOIN_RECORD_PLACED ||
           (join_is_counted(join, transaction) && !has_time && record->status != ISO_ABORTED &&
            (transaction->rows.count || transaction->expected) &&
            !shares_timestamps(join, transaction));
}

static void finish_claimed(struct iso_join *join, uint32_t number, uint32_t first)
{
    assert(number < join->open.count);
    struct join_transaction *transaction = &join->open.list[number];
    uint64_t cts = 0;
    bool shared = shares_timestamps(join, transaction);
    join_weigh_images(join, transaction);
    if (is_counted(join, transaction, &join->records.list[first])) {
        start_placing(join, number, first);
        return;
    }
    join_emit_respelt(join, transaction);
    for (uint32_t record = first; record != ISO_NONE;
         record = next_claim(join, transaction, record)) {
        if (join->source.in_band && transaction->flags & JOIN_COMPLETE)
            join_extent_pass_end(join, join->records.list[record].cts);
        finish_claim(join, record, transaction);
        note_record(join, &join->records.list[record], transaction, cts);
    }
    if (join_commit_timestamp(transaction, &cts) && shared)
        emit_rest(join, transaction, cts);
    struct join_transaction over = *transaction;
    if (join->source.in_band) /* the engine's moments are the records' */
        cts = join->records.list[first].cts;
    finish(join, number, first, cts, ISO_ROWS_JUDGED);
    for (uint32_t record = first, next; record != ISO_NONE; record = next) {
        next = next_claim(join, &over, record);
        join_forget_record(join, record);
    }
}

void join_finish(struct iso_join *join, uint32_t number, uint32_t final)
{
    assert(number < join->open.count);
    struct join_transaction *transaction = &join->open.list[number];
    uint32_t record = claim_of(join, transaction);
    bool shared = shares_timestamps(join, transaction), rows_final = final & JOIN_ROWS_FINAL;
    if (record == ISO_NONE ||
        join->records.list[record].flags & JOIN_RECORD_BEYOND) /* versions, as far as they came */
        finish_alone(join, number, final);
    else if (!(final & JOIN_RECORDS_FINAL) && !join_has_all_records(join, transaction, record))
        return;
    else if (rows_final || (!shared && !differs(join, transaction, &join->records.list[record])))
        finish_claimed(join, number, record);
}

/* ---- a record without any row ---- */

/* Whether a row of it would have been known: by its write set, or by an id that the stream has. A
 * stream without start timestamps does not have that of a record that has nothing else. */
static bool outcome_shows(const struct iso_join *join, const struct join_record *record)
{
    if (!record->identity_count)
        return join->capability->unique_cts;
    if (record->identity[record->identity_count - 1].tag == JOIN_BY_MARKER)
        return join->stats.markers && join_leaves_marker(join, record);
    bool start_only = record->identity_count == 1 && record->identity[0].tag == JOIN_BY_STS;
    return !start_only || join->source.has_starts;
}

static void stay_unknown(struct iso_join *join, const struct join_record *record)
{
    join->stats.unresolved++;
    if (record->kept != ISO_NONE)
        join_emit_joined(join, &join->records.kept, record->kept,
                         join->records.kept.txns.sno[record->kept]);
}

/* A prepared transaction commits elsewhere in the log, by another GTID and without its rows. The
 * last group of the log may be one. */
static bool may_be_prepared(const struct iso_join *join, const struct join_record *record)
{
    bool is_open = join->begun.open && join->begun.identity.tag == JOIN_BY_TEXT;
    return record->status == ISO_COMMITTED && record->writes.count &&
           (join->stats.aborted_in_log || is_open);
}

void join_finish_undelivered(struct iso_join *join, uint32_t number)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    if (may_be_prepared(join, record)) {
        join_forget_without_position(join, number, 0);
        return;
    }
    if (record->status == ISO_UNKNOWN && !outcome_shows(join, record))
        stay_unknown(join, record);
    else if (record->status == ISO_UNKNOWN)
        join_resolve(join, number, false, 0);
    else if (record->status == ISO_COMMITTED && !(record->flags & JOIN_RECORD_GIVEN))
        emit_undelivered(join, number);
    if (!join->stats.stray_markers)
        report_undelivered(join, record);
    else
        join->stats.unplaced++;
    if (record->flags & JOIN_RECORD_PLACED)
        join_place_forget(join, number);
    join_forget_record(join, number);
}
