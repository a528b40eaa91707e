/* Keys of cells: a row's columns as registers of their own (connectors/cdc_common/cells.h,
 * base/cell_key.h).
 *
 * A row's key says whether the row is there, a cell's what its column holds. Rows of both kinds are
 * in one chain of their transaction; a cell is no message, so nothing counts it. A column is known
 * as a table is, by the name "table#column": whether its changes arrive, what its values are, how
 * much of it was left out.
 */
#include <assert.h>

#include "base/cell_key.h"
#include "base/memory.h"
#include "join/join_private.h"
#include "verdict/unjudged.h"

bool join_has_cells(struct iso_join *join, struct join_table *table)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!join->options.has_cells)
        return false;
    if (table->cells == JOIN_NOT_ASKED) {
        const char *text = iso_atom_text(&join->keys.names.atoms, table->name, buffer, &length);
        table->cells = join->options.has_cells(join->options.context, text, length)
                           ? JOIN_COVERED
                           : JOIN_UNCOVERED;
    }
    return table->cells == JOIN_COVERED;
}

/* The number of "table#column". */
static uint32_t add_column(struct iso_join *join, struct iso_json_text table,
                           struct iso_json_text column)
{
    struct iso_text name = {0};
    iso_text_put_bytes(&name, table.at, table.length);
    iso_text_put_bytes(&name, "#", 1);
    iso_text_put_bytes(&name, column.at, column.length);
    uint32_t number =
        join_add_table(join, iso_atoms_add_string(&join->keys.names.atoms, name.bytes, name.used));
    join->tables.list[number].is_column = true;
    iso_text_release(&name);
    return number;
}

void join_note_part(struct iso_join *join, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text text, row, column;
    struct iso_text copy = {0}; /* adding atoms may move the text */
    if (join->keys.list[key].is_header ||
        !join_has_cells(join, &join->tables.list[join->keys.list[key].of_table]))
        return;
    text.at = iso_atom_text(&join->keys.names.atoms, join->keys.names.keys.atom[key], buffer,
                            &text.length);
    iso_text_put_bytes(&copy, text.at, text.length);
    text.at = copy.bytes;
    if (iso_cell_key_split(text, &row, &column)) {
        const char *slash = memchr(row.at, '/', row.length);
        struct iso_json_text table = {row.at, slash ? (size_t)(slash - row.at) : row.length};
        uint32_t of_column = add_column(join, table, column);
        uint32_t of_row =
            join_key_of(join, iso_atoms_add_string(&join->keys.names.atoms, row.at, row.length));
        struct join_key *state = &join->keys.list[key];
        state->part = JOIN_PART_CELL;
        state->of_column = of_column;
        state->of_row = of_row;
    } else {
        join->keys.list[key].part = JOIN_PART_ROW;
    }
    iso_text_release(&copy);
}

void join_split_column(struct iso_join *join, const struct join_table *column,
                       char buffer[ISO_ATOM_TEXT_MAX], struct iso_json_text *table,
                       struct iso_json_text *name)
{
    struct iso_json_text text, encoded;
    text.at = iso_atom_text(&join->keys.names.atoms, column->name, buffer, &text.length);
    iso_cell_key_split(text, table, &encoded);
    join->scratch.column.used = 0;
    iso_cell_key_decode(&join->scratch.column, encoded);
    *name = (struct iso_json_text){join->scratch.column.used ? join->scratch.column.bytes : "",
                                   join->scratch.column.used};
}

/* Whether a column arrives is known once a row with it has. */
bool join_column_is_covered(struct iso_join *join, struct join_table *column)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text table, name;
    if (column->coverage != JOIN_NOT_ASKED || !join->options.covers_column)
        return column->coverage != JOIN_UNCOVERED;
    join_split_column(join, column, buffer, &table, &name);
    enum iso_column_coverage coverage = join->options.covers_column(
        join->options.context, table.at, table.length, name.at, name.length);
    if (coverage == ISO_COLUMN_SHOWN)
        column->coverage = JOIN_COVERED;
    else if (coverage == ISO_COLUMN_UNLISTED)
        column->coverage = JOIN_UNCOVERED;
    return coverage == ISO_COLUMN_SHOWN || coverage == ISO_COLUMN_UNSEEN;
}

void join_note_unseen(struct iso_join *join, uint32_t key)
{
    const struct join_key *state = &join->keys.list[key];
    if (state->part == JOIN_PART_CELL &&
        join->tables.list[state->of_column].coverage == JOIN_NOT_ASKED)
        join->tables.list[state->of_column].unseen++;
}

/* Ends the columns that were given initial values: they meet a value that nobody knows, in the
 * joined history too. */
void join_end_columns(struct iso_join *join)
{
    iso_atom unknown = iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_UNKNOWN_VALUE);
    for (uint32_t key = 0; join->options.has_cells && key < join->keys.names.keys.count; key++) {
        const struct join_key *state = &join->keys.list[key];
        if (state->part != JOIN_PART_CELL || join_is_judged(join, key))
            continue;
        struct join_table *column = &join->tables.list[state->of_column];
        column->left_out += column->unseen;
        column->unseen = 0;
        join_emit_start(join, key, unknown);
    }
}

void join_take_column(struct iso_join *join, const struct iso_history *block,
                      const struct iso_event *event)
{
    struct join_table *column = join_table_named(join, &block->atoms, event->key);
    uint32_t number = (uint32_t)(column - join->tables.list);
    column->is_column = event->key != event->table;
    column->varies = join->tables.varies = true;
    for (uint32_t key = 0; key < join->keys.names.keys.count; key++) {
        struct join_key *state = &join->keys.list[key];
        if ((state->of_column != number && state->of_table != number) || state->is_header ||
            state->initial == JOIN_INITIAL_ASKED || state->was_changed)
            continue; /* those that wait are answered with it */
        join_emit_start(join, key, iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_SCHEMA));
    }
}

/* ---- records and rows, key by key ---- */

struct join_tally *join_tally_of(struct iso_join *join, uint32_t key)
{
    struct join_scratch *scratch = &join->scratch;
    uint32_t before = scratch->place_capacity, *place;
    if (key >= before) {
        scratch->place_capacity = join->keys.capacity;
        ISO_COLUMN_RESIZE(scratch->places, before, scratch->place_capacity);
        memset(scratch->places + before, 0,
               (scratch->place_capacity - before) * sizeof *scratch->places);
    }
    if (scratch->tally_mark != join->counters.tallies)
        scratch->tally_count = 0;
    scratch->tally_mark = join->counters.tallies;
    place = &scratch->places[key];
    if (*place < scratch->tally_count && scratch->tallies[*place].key == key)
        return &scratch->tallies[*place];
    *place = scratch->tally_count;
    ISO_PUSH(scratch->tallies, scratch->tally_count, scratch->tally_capacity,
             (struct join_tally){.key = key, .change = ISO_NONE, .last = ISO_NONE});
    return &scratch->tallies[*place];
}

/* A row that arrived of a key, in their order. */
static void tally_row(struct iso_join *join, uint32_t row)
{
    assert(row < join->rows.count);
    struct join_tally *tally = join_tally_of(join, join->rows.list[row].key);
    bool is_back =
        tally->last != ISO_NONE && join->rows.list[row].rank < join->rows.list[tally->last].rank;
    tally->change = tally->change == ISO_NONE ? row : tally->change;
    tally->last = row;
    if (tally->changes != UINT32_MAX)
        tally->changes = is_back ? UINT32_MAX : tally->changes + 1;
}

void join_tally(struct iso_join *join, const struct join_record *record,
                const struct join_transaction *transaction)
{
    const struct join_chain *writes = &record->writes, *rows = &transaction->rows;
    join->counters.tallies++;
    for (uint32_t i = 0, w = writes->first; i < writes->count; i++, w = join->rows.list[w].next)
        if (!(join->rows.list[w].flags & JOIN_ROW_WITHOUT))
            join_tally_of(join, join->rows.list[w].key)->writes = join->rows.list[w].content;
    for (uint32_t i = 0, r = rows->first; i < rows->count; i++, r = join->rows.list[r].next)
        tally_row(join, r);
}

/* A transaction of unknown outcome goes to the engine before the stream can say what else it
 * wrote. */
bool join_hides_own(const struct iso_join *join, const struct iso_history *block,
                    uint32_t transaction)
{
    bool is_placed = block->txns.snapshot && block->txns.snapshot[transaction] != ISO_NONE;
    return join->options.has_cells && iso_status_of(block, transaction) == ISO_UNKNOWN &&
           !is_placed;
}

bool join_may_be_own(struct iso_join *join, uint32_t key, bool is_write)
{
    assert(key < join->keys.names.keys.count);
    const struct join_key *state = &join->keys.list[key];
    if (is_write)
        join_tally_of(join, key)->done++;
    return !is_write && state->part == JOIN_PART_CELL && join_tally_of(join, state->of_row)->done &&
           !join_tally_of(join, key)->done;
}

bool join_is_of_claimed(const struct iso_join *join, uint32_t key, uint32_t mark)
{
    assert(key < join->keys.names.keys.count);
    const struct join_key *state = &join->keys.list[key];
    if (state->part != JOIN_PART_CELL)
        return false;
    const struct join_key *row = &join->keys.list[state->of_row];
    return row->mark == mark && join->rows.list[row->row].flags & JOIN_ROW_CLAIMED;
}
