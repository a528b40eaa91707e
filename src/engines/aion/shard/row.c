/* Rows and their cells: where a transaction read wrongly that a row is there, what it read of the
 * row's cells at the same moment is no finding of its own.
 *
 * Keys of a row and of its cells are in one shard (key_cache.c). Pending verdicts of one
 * transaction on them know each other: that of the row, and a chain of those of cells. A cell's
 * read notes whether the row's is wrong at its bound, and is held, not wrong, as long as that is
 * so; when the row's changes, they are judged again. What is made final comes in this order: the
 * row, then its cells (pending.c).
 */
#include <assert.h>

#include "aion/shard/shard_private.h"
#include "base/hash.h"
#include "base/memory.h"

static struct aion_pending *pending_at(struct iso_aion_shard *shard, uint32_t number)
{
    assert(number < shard->pending.count && shard->pending.list[number].observed_count);
    return &shard->pending.list[number];
}

static struct aion_observed *observed_of(struct aion_pending *subject)
{
    return subject->more ? subject->more : &subject->observed;
}

/* ---- who belongs together ---- */

bool aion_is_cell(const struct iso_atoms *atoms, iso_atom key, struct iso_json_text *row,
                  char buffer[ISO_ATOM_TEXT_MAX])
{
    struct iso_json_text text;
    text.at = iso_atom_text(atoms, key, buffer, &text.length);
    bool is_cell = iso_cell_key_row(text, row);
    *row = is_cell ? *row : text;
    return is_cell;
}

static bool row_name(const struct iso_aion_shard *shard, uint32_t number,
                     struct iso_json_text *name, char buffer[ISO_ATOM_TEXT_MAX])
{
    uint32_t key = shard->pending.list[number].key;
    return aion_is_cell(&shard->values.atoms, shard->keys.list[key].atom, name, buffer);
}

/* Below SI a transaction may have two numbers (aion_is_same). */
static uint64_t hash_of(const struct iso_aion_shard *shard, uint32_t transaction,
                        struct iso_json_text name)
{
    bool by_number = !shard->defers;
    uint64_t who = by_number ? transaction : shard->transactions.list[transaction].cts;
    return iso_hash_number(iso_hash_text(name.at, name.length) + who);
}

static bool is_of(const struct iso_aion_shard *shard, const struct aion_row *row,
                  uint32_t transaction, struct iso_json_text name)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text own;
    uint32_t member = (row->itself ? row->itself : row->cells) - 1;
    if (!aion_is_same(shard, shard->pending.list[member].transaction, transaction))
        return false;
    row_name(shard, member, &own, buffer);
    return own.length == name.length && !memcmp(own.at, name.at, name.length);
}

static uint32_t add_row(struct aion_rows *rows)
{
    uint32_t number = rows->free - 1;
    if (rows->free) {
        rows->free = rows->list[number].cells;
    } else {
        ISO_GROW(rows->list, rows->count, rows->capacity);
        number = rows->count++;
    }
    rows->list[number] = (struct aion_row){.itself = 0};
    return number;
}

/* The row of the transaction, new or known. */
static uint32_t find_row(struct iso_aion_shard *shard, uint32_t transaction,
                         struct iso_json_text name)
{
    struct aion_rows *rows = &shard->pending.rows;
    uint64_t hash = hash_of(shard, transaction, name);
    uint32_t at = iso_index_home(hash), number;
    iso_index_reserve(&rows->index, 1);
    for (; iso_index_next(&rows->index, &at, hash, &number); at++) {
        shard->stats.steps++;
        if (is_of(shard, &rows->list[number], transaction, name))
            return number;
    }
    number = add_row(rows);
    iso_index_fill(&rows->index, at, hash, number);
    return number;
}

/* The pending verdict of the row itself, or ISO_NONE: of a cell's. */
static uint32_t row_itself(const struct iso_aion_shard *shard, const struct aion_pending *subject)
{
    return subject->row && subject->is_cell ? shard->pending.rows.list[subject->row - 1].itself - 1
                                            : ISO_NONE;
}

/* ---- what is wrong ---- */

/* Whether a read of the row at this bound is in one of two states. Below SI a read has no moment
 * that is said beforehand: all of a transaction count as one. */
static bool row_is(struct iso_aion_shard *shard, uint32_t itself, uint64_t visible_below,
                   enum aion_state state, enum aion_state other)
{
    if (itself == ISO_NONE)
        return false;
    struct aion_pending *row = pending_at(shard, itself);
    for (uint32_t i = 0; i < row->observed_count; i++, shard->stats.steps++)
        if ((observed_of(row)[i].visible_below == visible_below || shard->defers) &&
            (observed_of(row)[i].state == state || observed_of(row)[i].state == other))
            return true;
    return false;
}

/* Or it needed what has been forgotten, so that nobody knows. */
static bool row_is_wrong(struct iso_aion_shard *shard, uint32_t itself, uint64_t visible_below)
{
    return row_is(shard, itself, visible_below, AION_WRONG, AION_UNDECIDED);
}

void aion_row_note(struct iso_aion_shard *shard, uint32_t number, struct aion_observed *observed)
{
    struct aion_pending *subject = &shard->pending.list[number];
    observed->row_is_wrong =
        row_is_wrong(shard, row_itself(shard, subject), observed->visible_below);
    if (observed->row_is_wrong && observed->state == AION_WRONG)
        observed->state = AION_DEFERRED;
}

void aion_row_join(struct iso_aion_shard *shard, uint32_t number)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text name;
    if (!shard->keys.have_cells)
        return;
    bool is_cell = row_name(shard, number, &name, buffer);
    uint32_t at = find_row(shard, shard->pending.list[number].transaction, name);
    struct aion_row *row = &shard->pending.rows.list[at];
    struct aion_pending *subject = &shard->pending.list[number];
    if (!is_cell && row->itself)
        return; /* below SI, of another content under the same tid */
    subject->row = at + 1;
    subject->is_cell = is_cell;
    if (!is_cell) {
        row->itself = number + 1;
        return;
    }
    subject->row_next = row->cells;
    if (row->cells)
        shard->pending.list[row->cells - 1].row_previous = number + 1;
    row->cells = number + 1;
    aion_row_note(shard, number, &subject->observed);
}

static void free_row(struct iso_aion_shard *shard, uint32_t at, uint32_t transaction,
                     struct iso_json_text name)
{
    assert(transaction < shard->transactions.count);
    struct aion_rows *rows = &shard->pending.rows;
    iso_index_remove(&rows->index, hash_of(shard, transaction, name), at);
    rows->list[at] = (struct aion_row){.cells = rows->free};
    rows->free = at + 1;
}

bool aion_row_leave(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_pending *subject = &shard->pending.list[number];
    if (!subject->row)
        return false;
    struct aion_row *row = &shard->pending.rows.list[subject->row - 1];
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text name;
    row_name(shard, number, &name, buffer);
    if (subject->is_cell) {
        if (subject->row_next)
            shard->pending.list[subject->row_next - 1].row_previous = subject->row_previous;
        if (subject->row_previous)
            shard->pending.list[subject->row_previous - 1].row_next = subject->row_next;
        else
            row->cells = subject->row_next;
    } else {
        row->itself = 0;
    }
    bool has_cells = row->cells;
    if (!row->itself && !has_cells)
        free_row(shard, subject->row - 1, subject->transaction, name);
    return !subject->is_cell && has_cells;
}

/* ---- the row has changed ---- */

/* The cells at hand: the chain changes while they are judged. */
struct cells {
    uint32_t *list; /* number and generation, in turn */
    uint32_t count, capacity;
};

static struct cells cells_of(struct iso_aion_shard *shard, uint32_t row)
{
    struct cells cells = {NULL, 0, 0};
    for (uint32_t at = shard->pending.rows.list[row].cells; at;
         at = shard->pending.list[at - 1].row_next) {
        ISO_GROW(cells.list, cells.count + 1, cells.capacity);
        cells.list[cells.count++] = at - 1;
        cells.list[cells.count++] = shard->pending.list[at - 1].generation;
    }
    return cells;
}

static bool is_there(const struct iso_aion_shard *shard, const uint32_t *cell)
{
    const struct aion_pending *subject = &shard->pending.list[cell[0]];
    return subject->observed_count && subject->generation == cell[1];
}

void aion_row_changed(struct iso_aion_shard *shard, uint32_t number, uint32_t cause)
{
    const struct aion_pending *subject = &shard->pending.list[number];
    if (!subject->row || subject->is_cell)
        return;
    struct cells cells = cells_of(shard, subject->row - 1);
    for (uint32_t i = 0; i < cells.count; i += 2) {
        if (!is_there(shard, cells.list + i))
            continue;
        struct aion_pending *cell = pending_at(shard, cells.list[i]);
        for (uint32_t o = 0; o < cell->observed_count; o++) {
            struct aion_observed *observed = &observed_of(cell)[o];
            bool is_wrong = row_is_wrong(shard, row_itself(shard, cell), observed->visible_below);
            shard->stats.steps++;
            if (is_wrong != observed->row_is_wrong)
                aion_pending_excuse(shard, cells.list[i], observed, is_wrong, cause);
        }
        aion_pending_settle(shard, cells.list[i]);
    }
    iso_free(cells.list);
}

void aion_row_doubt(struct iso_aion_shard *shard, uint32_t number)
{
    const struct aion_pending *subject = &shard->pending.list[number];
    if (!subject->row || subject->is_cell)
        return;
    for (uint32_t at = shard->pending.rows.list[subject->row - 1].cells; at;
         at = shard->pending.list[at - 1].row_next) {
        struct aion_pending *cell = pending_at(shard, at - 1);
        for (uint32_t o = 0; o < cell->observed_count; o++)
            if (row_is(shard, number, observed_of(cell)[o].visible_below, AION_DEFERRED,
                       AION_DEFERRED))
                aion_pending_excuse(shard, at - 1, &observed_of(cell)[o], true, ISO_NONE);
    }
}

void aion_row_gone(struct iso_aion_shard *shard, uint32_t row)
{
    struct cells cells = cells_of(shard, row);
    for (uint32_t i = 0; i < cells.count; i += 2)
        if (is_there(shard, cells.list + i))
            aion_pending_settle(shard, cells.list[i]);
    iso_free(cells.list);
}

/* ---- what a cell's verdict waits for ---- */

uint32_t aion_row_before(const struct iso_aion_shard *shard, uint32_t number)
{
    return row_itself(shard, &shard->pending.list[number]);
}

bool aion_row_waits(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_pending *subject = &shard->pending.list[number];
    uint32_t itself = row_itself(shard, subject);
    for (uint32_t i = 0; itself != ISO_NONE && i < subject->observed_count; i++)
        if (observed_of(subject)[i].state == AION_WRONG &&
            row_is(shard, itself, observed_of(subject)[i].visible_below, AION_DEFERRED,
                   AION_DEFERRED))
            return true;
    return false;
}

/* ---- archive ---- */

void aion_rows_archive(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    struct aion_rows *rows = &shard->pending.rows;
    char buffer[ISO_ATOM_TEXT_MAX];
    ISO_ARCHIVE_VALUE(archive, shard->keys.have_cells);
    ISO_ARCHIVE_LIST(archive, "rows", ISO_ARCHIVE_HEAP, *rows);
    ISO_ARCHIVE_VALUE(archive, rows->free);
    if (!archive->restoring || archive->error->status != ISO_OK)
        return;
    iso_index_clear(&rows->index); /* its hashes are of another process */
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t member = rows->list[i].itself ? rows->list[i].itself : rows->list[i].cells;
        const struct aion_pending *first = shard->pending.list + (member ? member - 1 : 0);
        struct iso_json_text name;
        if (!member || member > shard->pending.count || !first->observed_count ||
            first->row != i + 1)
            continue; /* a free one: what it names by chance has gone, or is another's */
        row_name(shard, member - 1, &name, buffer);
        iso_index_add(&rows->index, hash_of(shard, first->transaction, name), i);
    }
}

void aion_rows_validate(const struct iso_aion_shard *shard)
{
    uint32_t members = 0, free = 0;
    for (uint32_t at = shard->pending.rows.free; at;
         at = shard->pending.rows.list[at - 1].cells, free++)
        assert(at <= shard->pending.rows.count && !shard->pending.rows.list[at - 1].itself);
    for (uint32_t i = 0; i < shard->pending.count; i++) {
        const struct aion_pending *subject = &shard->pending.list[i];
        if (!subject->observed_count || !subject->row)
            continue;
        const struct aion_row *row = &shard->pending.rows.list[subject->row - 1];
        bool is_first =
            subject->is_cell ? row->cells == i + 1 && !row->itself : row->itself == i + 1;
        assert(subject->row <= shard->pending.rows.count);
        assert(subject->is_cell || row->itself == i + 1);
        assert(!subject->is_cell || subject->row_previous || row->cells == i + 1);
        members += is_first;
    }
    assert(members + free == shard->pending.rows.count);
    assert(shard->pending.rows.index.used == members);
}
