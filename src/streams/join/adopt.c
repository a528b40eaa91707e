/* What a client wrote without listing it: its transaction's rows become its writes.
 *
 * A record with an id of the stream and no writes at all, or one that says "writes":"cdc", leaves
 * all of them to the stream. One that writes rows whose columns are cells leaves to it those that
 * it does not list: what triggers wrote, defaults, or all of them. And what it says it did to a row
 * of which the stream has no change is none: it found what it would have written.
 *
 * Where a record writes a row as often as the stream changed it, what it does not list stands where
 * it wrote the row. Else it stands in front of the first statement that shows it (own.h), or behind
 * all operations. Where not even the order of a row's changes is known, a read that shows one of
 * the transaction's own values is not judged.
 */
#include <assert.h>

#include "history/copy.h"
#include "join/own.h"

bool join_takes_writes(const struct iso_history *block, uint32_t transaction)
{
    assert(transaction < block->txns.count);
    bool leaves_writes = block->txns.marks && block->txns.marks[transaction] & ISO_MARK_CDC_WRITES;
    bool has_id = block->txns.xid && block->txns.xid[transaction];
    return leaves_writes || (has_id && !(block->txns.flags[transaction] & ISO_WRITES));
}

struct adoption {
    struct iso_join *join;
    const struct join_chain *rows; /* of the transaction that the stream has */
    uint32_t record;
    uint32_t mark;     /* of its final rows */
    bool in_place;     /* snapshots of operations, by their number, still wait for a position */
    bool takes;        /* all that it does not list */
    bool is_any_loose; /* a row whose changes have no place in the record */
    uint32_t added;
};

/* Whether a read shows what the transaction itself wrote, as far as the stream says, or may show
 * it: in another spelling. */
static bool shows_own(const struct adoption *adoption, uint32_t key, iso_atom value)
{
    const struct join_row *rows = adoption->join->rows.list;
    for (uint32_t i = 0, r = adoption->rows->first; i < adoption->rows->count;
         i++, r = rows[r].next)
        if (rows[r].key == key && (!(rows[r].flags & JOIN_ROW_AFTER) ||
                                   join_may_equal(adoption->join, key, rows[r].after, value)))
            return true;
    return false;
}

/* The row that the key is, or is a cell of; ISO_NONE: its columns are no cells. */
static uint32_t row_of(const struct iso_join *join, uint32_t key)
{
    const struct join_key *state = &join->keys.list[key];
    return state->part == JOIN_PART_CELL  ? state->of_row
           : state->part == JOIN_PART_ROW ? key
                                          : ISO_NONE;
}

/* Whether the stream has as many changes of the row as the record: then each has its place. */
static bool is_in_order(const struct adoption *adoption, uint32_t row)
{
    const struct join_tally *tally = join_tally_of(adoption->join, row);
    return !adoption->in_place && tally->writes && tally->writes == tally->changes;
}

/* ---- what the record does not list ---- */

static void add_write(struct adoption *adoption, uint32_t number)
{
    struct iso_join *join = adoption->join;
    assert(number < join->rows.count);
    struct iso_history *into = &join->records.kept;
    struct join_row *row = &join->rows.list[number];
    bool deletes = row->flags & JOIN_ROW_AFTER && row->after == ISO_ABSENT;
    iso_atom key =
        iso_atoms_copy(&into->atoms, &join->keys.names.atoms, join->keys.names.keys.atom[row->key]);
    iso_history_operation(into, deletes ? ISO_DELETE : ISO_WRITE, key,
                          iso_atoms_copy(&into->atoms, &join->texts.atoms, row->after));
    uint32_t of = row_of(join, row->key),
             wrote = of == ISO_NONE ? 0 : join_tally_of(join, of)->wrote;
    if (wrote && !adoption->in_place) /* its row has been held since then */
        iso_history_copy_moment(into, &join->records.kept, wrote - 1);
    join_tally_of(join, row->key)->is_unknown =
        !deletes && iso_atom_is_unknown(&join->texts.atoms, row->after);
    row->flags |= JOIN_ROW_CLAIMED;
    adoption->added++;
}

static bool is_left_to_others(const struct join_row *row)
{
    return row->flags & (JOIN_ROW_DROPPED | JOIN_ROW_UNREPORTED);
}

/* The cells that operation `o`, which writes a row, lists: those behind it. */
static void note_listed(const struct adoption *adoption, uint32_t o, uint32_t row)
{
    const struct iso_join *join = adoption->join;
    uint32_t end = join->records.kept.txns.first_op[join->records.list[adoption->record].kept + 1];
    for (uint32_t i = o + 1; i < end; i++) {
        uint32_t key = join_key_kept(adoption->join, i);
        if (join->keys.list[key].of_row != row)
            break;
        join_tally_of(adoption->join, key)->listed = o + 1;
    }
}

/* The cells of the change that operation `o` made of the row, so far as it does not list them. They
 * follow the change, and the row's next change stands behind them. */
static void add_cells(struct adoption *adoption, uint32_t o, uint32_t row)
{
    struct iso_join *join = adoption->join;
    struct join_tally *tally = join_tally_of(join, row);
    uint32_t at = tally->change, last = adoption->rows->last;
    uint64_t ordinal = join->rows.list[at].ordinal;
    bool is_done = ++tally->done == tally->writes;
    note_listed(adoption, o, row);
    while (at != last) {
        uint32_t next = join->rows.list[at].next;
        const struct join_row *cell = &join->rows.list[next];
        if (join->keys.list[cell->key].of_row != row || cell->ordinal != ordinal)
            break;
        if (!is_left_to_others(cell) && join_tally_of(join, cell->key)->listed != o + 1)
            add_write(adoption, next);
        at = next;
    }
    while (!is_done && join->rows.list[at = join->rows.list[at].next].key != row)
        ;
    join_tally_of(join, row)->change = at;
}

/* The changes of a row without a place, up to this state. */
static void place_changes(struct adoption *adoption, uint32_t unit, uint32_t state)
{
    struct iso_join *join = adoption->join;
    const struct join_own_change *changes = join->scratch.own.changes;
    uint32_t next = join_tally_of(join, unit)->next;
    for (; next && changes[next - 1].state <= state; next = changes[next - 1].next)
        if (!(join->rows.list[changes[next - 1].row].flags & JOIN_ROW_UNTOUCHED))
            add_write(adoption, changes[next - 1].row);
    struct join_tally *tally = join_tally_of(join, unit);
    tally->next = next;
    tally->placed = state > tally->placed ? state : tally->placed;
}

/* Places the rows without a position that a statement shows. */
static void place_shown(struct adoption *adoption, uint32_t first, uint32_t end)
{
    struct iso_join *join = adoption->join;
    for (uint32_t o = first; o < end; o++) {
        uint32_t unit = join_own_unit(join, join_key_kept(adoption->join, o));
        if (join_own_is_loose(join, unit) && iso_kind_of(&join->records.kept, o) == ISO_READ)
            place_changes(adoption, unit,
                          join_own_seen(join, &join->records.list[adoption->record], o));
    }
}

/* Whether the record leaves the final row to the stream, and no operation of it has brought it. */
static bool is_wanted(const struct adoption *adoption, uint32_t i, const struct join_row *row)
{
    struct iso_join *join = adoption->join;
    uint32_t of = join->keys.list[row->key].of_row, unit = join_own_unit(join, row->key);
    if (join_own_is_loose(join, unit))
        return join->scratch.own.changes[i].state > join_tally_of(join, unit)->placed &&
               !(row->flags & JOIN_ROW_UNTOUCHED);
    if (is_left_to_others(row) || join_tally_of(join, row->key)->writes)
        return false;
    if (of != ISO_NONE && join_tally_of(join, of)->writes)
        return !is_in_order(adoption, of);
    return adoption->takes && !(row->flags & JOIN_ROW_UNTOUCHED);
}

/* ---- the record's own operations ---- */

/* A row of which the stream has no change, or, of the row itself, none but of its columns, was not
 * written. Nor, of net changes, was a cell that it has no change of, in a row that is there and
 * that the record wrote once more without it: it has what was found. */
static bool was_not_written(const struct adoption *adoption, uint32_t key)
{
    struct iso_join *join = adoption->join;
    uint32_t row = row_of(join, key);
    if (row == ISO_NONE || adoption->in_place || join_is_lacking(join, row))
        return false;
    const struct join_key *state = &join->keys.list[row];
    if (state->mark != adoption->mark)
        return true;
    const struct join_row *final = &join->rows.list[state->row];
    return row == key
               ? final->flags & JOIN_ROW_UNTOUCHED
               : join->capability->net && final->after != ISO_ABSENT &&
                     join->keys.list[key].mark != state->mark && !join_tally_of(join, key)->writes;
}

/* Whether the record has written the row and will again: net changes do not tell what stood there
 * meanwhile. */
static bool is_between(const struct adoption *adoption, uint32_t row)
{
    struct iso_join *join = adoption->join;
    const struct join_tally *tally = join_tally_of(join, row);
    return join->capability->net && tally->done && tally->done < tally->writes;
}

/* Whether it may have come after what the record does not list. */
static bool may_show_own(const struct adoption *adoption, uint32_t key)
{
    uint32_t row = row_of(adoption->join, key);
    if (adoption->in_place || join_own_is_loose(adoption->join, join_own_unit(adoption->join, key)))
        return false;
    if (row == ISO_NONE || !join_tally_of(adoption->join, row)->writes)
        return adoption->takes;
    return row != key && join_tally_of(adoption->join, row)->done && !is_in_order(adoption, row);
}

/* Whether something of the table is added behind all operations: then nobody knows which of it a
 * query found. */
static bool is_added_behind(const struct adoption *adoption, uint32_t table)
{
    struct iso_join *join = adoption->join;
    const struct join_row *rows = join->rows.list;
    for (uint32_t i = 0, r = adoption->rows->first; i < adoption->rows->count;
         i++, r = rows[r].next)
        if (join->keys.list[rows[r].key].of_table == table &&
            join_is_final(join, r, adoption->mark) &&
            (is_wanted(adoption, i, &rows[r]) ||
             join_own_is_loose(join, join_own_unit(join, rows[r].key))))
            return true;
    return false;
}

static bool keeps_read(struct adoption *adoption, uint32_t o, uint32_t key)
{
    struct iso_join *join = adoption->join;
    if (join_is_lacking(join, key)) { /* it may show what did not come */
        join->stats.reads_gone[ISO_READS_INCOMPLETE]++;
        join->records.list[adoption->record].reads--;
        return false;
    }
    if (join->keys.list[key]
            .is_header) { /* where all writes are left to the stream, the query's judge knows it */
        bool keeps = adoption->takes || !is_added_behind(adoption, join->keys.list[key].of_table);
        join->stats.reads_gone[ISO_READS_OWN_ORDER] += !keeps;
        join->records.list[adoption->record].reads -= !keeps;
        return keeps;
    }
    const struct iso_history *kept = &join->records.kept;
    iso_atom value = iso_atoms_copy(&join->texts.atoms, &kept->atoms, kept->ops.value[o]);
    uint32_t row = row_of(join, key);
    bool between = row != ISO_NONE && is_between(adoption, row) &&
                   (row != key || was_not_written(adoption, row));
    if (!between && !join_tally_of(join, key)->is_unknown &&
        (!may_show_own(adoption, key) || !shows_own(adoption, key, value)))
        return true;
    join->stats.reads_gone[ISO_READS_OWN_ORDER]++;
    join->records.list[adoption->record].reads--;
    return false;
}

static bool keeps_write(struct adoption *adoption, uint32_t o, uint32_t key)
{
    struct iso_join *join = adoption->join;
    if (join->keys.list[key].part == JOIN_PART_ROW)
        join_tally_of(join, key)->wrote = o + 1;
    if (join_own_is_loose(join, join_own_unit(join, key)))
        return false; /* its changes are given a place of their own */
    if (join->keys.list[key].part == JOIN_PART_ROW) { /* before it: its own cells follow it */
        if (is_in_order(adoption, key))
            add_cells(adoption, o, key);
        else
            join_tally_of(join, key)->done++;
    }
    if (!was_not_written(adoption, key))
        return true;
    if (join->records.kept.ops.value[o] == ISO_ABSENT &&
        join_may_have_moved(join, adoption->rows, key))
        join_tally_of(join, key)->is_unknown = true;
    return false;
}

static void copy_operations(struct adoption *adoption)
{
    struct iso_join *join = adoption->join;
    struct iso_history *kept = &join->records.kept;
    uint32_t t = join->records.list[adoption->record].kept, origin = kept->txns.first_op[t], sets;
    uint32_t next = iso_history_sets_of(kept, t, &sets), end = origin; /* of the statement */
    for (uint32_t o = origin; o < kept->txns.first_op[t + 1]; o++) {
        if (o == end) {
            while (next < sets &&
                   origin + kept->ranges.list[next].first + kept->ranges.list[next].count <= o)
                next++;
            bool is_set = next < sets && origin + kept->ranges.list[next].first == o;
            end = is_set ? o + kept->ranges.list[next].count : o + 1;
            if (adoption->is_any_loose)
                place_shown(adoption, o, end);
        }
        uint32_t key = join_key_kept(adoption->join, o);
        if (iso_kind_of(kept, o) == ISO_READ ? keeps_read(adoption, o, key)
                                             : keeps_write(adoption, o, key))
            iso_history_copy_operation(kept, kept, o, true);
    }
}

uint32_t join_adopt(struct iso_join *join, uint32_t number, uint32_t delivered)
{
    static const struct join_transaction nothing = {.rows = {ISO_NONE, ISO_NONE, 0}};
    struct join_record *record = &join->records.list[number];
    if (!(record->flags & (JOIN_RECORD_TAKES | JOIN_RECORD_ROWS)) || record->kept == ISO_NONE)
        return 0;
    const struct join_transaction *transaction =
        delivered == ISO_NONE ? &nothing : &join->open.list[delivered];
    struct adoption adoption = {.join = join,
                                .rows = &transaction->rows,
                                .record = number,
                                .mark = join_mark_finals(join, transaction),
                                .in_place = record->unplaced > 1,
                                .takes = record->flags & JOIN_RECORD_TAKES};
    join_spell_kept(join, record);
    if (!adoption.takes && !transaction->rows.count &&
        !(join->records.kept.txns.flags[record->kept] & ISO_WRITES))
        return 0; /* nothing was written, so that nothing of it is added or doubtful */
    join_tally(join, record, transaction);
    adoption.is_any_loose =
        !adoption.in_place && join_own_find(join, record, &transaction->rows, adoption.takes);
    uint32_t adopted = join_copy_head(&join->records.kept, &join->records.kept, record->kept);
    copy_operations(&adoption);
    for (uint32_t i = 0, r = adoption.rows->first; i < adoption.rows->count;
         i++, r = join->rows.list[r].next)
        if (join_is_final(join, r, adoption.mark) && is_wanted(&adoption, i, &join->rows.list[r]))
            add_write(&adoption, r);
    record->kept = adopted;
    join->stats.adopted += adoption.added > 0;
    return adoption.added;
}
