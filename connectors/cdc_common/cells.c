#include "connectors/cdc_common/cells.h"

#include "base/bytes.h"
#include "base/cell_key.h"
#include "base/memory.h"
#include "base/payload.h"

void iso_cells_init(struct iso_cells *cells, const char *option)
{
    *cells = (struct iso_cells){.on = option != NULL, .present = ISO_ABSENT};
    if (option && strcmp(option, "true"))
        cells->columns = iso_copy_text(option, strlen(option));
}

void iso_cells_release(struct iso_cells *cells)
{
    iso_free(cells->columns);
    iso_text_release(&cells->key);
    iso_shown_release(&cells->shown);
    *cells = (struct iso_cells){0};
}

void iso_cells_archive(struct iso_archive *archive, struct iso_cells *cells)
{
    iso_shown_archive(archive, &cells->shown);
}

static bool is_listed(const struct iso_cells *cells, const char *column, size_t length)
{
    return iso_table_listed(cells->columns, column, length);
}

enum iso_column_coverage iso_cells_cover(const struct iso_cells *cells, struct iso_json_text table,
                                         struct iso_json_text column)
{
    return is_listed(cells, column.at, column.length) ? iso_shown_find(&cells->shown, table, column)
                                                      : ISO_COLUMN_UNLISTED;
}

/* ---- existence ---- */

static iso_atom present(struct iso_cells *cells, struct iso_atoms *atoms)
{
    static const char text[] = "true";
    if (!iso_atom_is_still(atoms, cells->present, text, sizeof text - 1))
        cells->present = iso_atoms_text(atoms, text, sizeof text - 1);
    return cells->present;
}

void iso_cells_exist(struct iso_cells *cells, struct iso_atoms *atoms, struct iso_event *event,
                     bool existed)
{
    event->flags |= ISO_EVENT_HAS_AFTER | (existed ? ISO_EVENT_HAS_BEFORE : 0);
    event->after = event->operation == ISO_ROW_DELETE ? ISO_ABSENT : present(cells, atoms);
    event->before = existed ? present(cells, atoms) : ISO_ABSENT;
}

/* ---- columns that come and go ---- */

struct noting {
    struct iso_cells *cells;
    const struct iso_event *row;
    struct iso_events *events;
};

static iso_atom add_key(struct iso_cells *cells, struct iso_atoms *atoms, size_t prefix,
                        const char *column, size_t length)
{
    cells->key.used = prefix;
    iso_cell_key_put(&cells->key, column, length);
    return iso_atoms_add_string(atoms, cells->key.bytes, cells->key.used);
}

/* Lets the key begin with the atom's text; its length. */
static size_t start_key(struct iso_cells *cells, const struct iso_atoms *atoms, iso_atom name)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(atoms, name, buffer, &length);
    cells->key.used = 0;
    iso_text_put_bytes(&cells->key, text, length);
    return length;
}

iso_atom iso_cells_column(struct iso_cells *cells, struct iso_atoms *atoms, iso_atom table,
                          const char *name, size_t length)
{
    return add_key(cells, atoms, start_key(cells, atoms, table), name, length);
}

static void add_column(void *context, const char *name, size_t length)
{
    const struct noting *noting = context;
    struct iso_event event = *noting->row;
    struct iso_atoms *atoms = &noting->events->block.atoms;
    if (!is_listed(noting->cells, name, length))
        return;
    event.type = ISO_EVENT_COLUMN;
    event.flags = 0;
    event.order = 0;
    event.key = iso_cells_column(noting->cells, atoms, event.table, name, length);
    iso_events_add(noting->events, &event);
}

enum iso_status iso_cells_note(struct iso_cells *cells, const struct iso_row *row,
                               const struct iso_event *event, struct iso_events *events,
                               struct iso_error *error)
{
    struct noting noting = {cells, event, events};
    struct iso_json_text table;
    char buffer[ISO_ATOM_TEXT_MAX];
    table.at = iso_atom_text(&events->block.atoms, event->table, buffer, &table.length);
    struct iso_text name = {0}; /* adding an atom may move the text */
    iso_text_put_bytes(&name, table.at, table.length);
    table.at = name.bytes;
    if (!iso_shown_take(&cells->shown, table, row, add_column, &noting))
        iso_error_set(error, ISO_BAD_INPUT, "two columns of one name");
    iso_text_release(&name);
    return error->status;
}

/* ---- cells ---- */

static const struct iso_cell *find_cell(const struct iso_row *row, const struct iso_cell *like,
                                        uint32_t guess)
{
    if (!row)
        return NULL;
    if (guess < row->count && row->cells[guess].name_length == like->name_length &&
        iso_bytes_equal(row->cells[guess].name, like->name, like->name_length))
        return &row->cells[guess];
    return iso_row_find(row, like->name, like->name_length);
}

/* Whether two cells have the same spelling: most columns of an update did not change. */
static bool is_same(const struct iso_cell *one, const struct iso_cell *other)
{
    bool has_text = one->kind >= ISO_CELL_TEXT && one->kind <= ISO_CELL_DECIMAL;
    if (one->kind != other->kind || one->scale != other->scale)
        return false;
    if (has_text)
        return one->length == other->length && iso_bytes_equal(one->text, other->text, one->length);
    return one->kind == ISO_CELL_NULL ||
           (one->bits == other->bits && one->negative == other->negative);
}

static uint64_t mix(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
    return digest ^ digest >> 29;
}

static uint64_t mix_text(uint64_t digest, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i += 8)
        digest = mix(digest, iso_bytes_load_short(text + i, length - i));
    return mix(digest, length);
}

static uint64_t mix_atom(uint64_t digest, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT)
        return mix(digest, ISO_ABSENT);
    const char *text = iso_atom_text(atoms, atom, buffer, &length);
    return mix_text(digest, text, length);
}

struct adding {
    struct iso_cells *cells;
    struct iso_events *events;
    struct iso_event event; /* as the row's */
    const struct iso_row *before;
    struct iso_row *after;
    size_t prefix; /* of the row's key */
    uint64_t digest;
    uint32_t count;
};

/* False: the column did not change. */
static bool take_values(struct adding *adding, const struct iso_cell *cell,
                        const struct iso_cell *old)
{
    struct iso_event *event = &adding->event;
    struct iso_atoms *atoms = &adding->events->block.atoms;
    bool is_update = event->operation == ISO_ROW_UPDATE, known = cell->kind != ISO_CELL_UNKNOWN;
    bool had = is_update && old && old->kind != ISO_CELL_UNKNOWN;
    if (is_update && !known && !cell->is_doubted)
        return false;
    if (had && known && is_same(cell, old))
        return false;
    event->before = had ? iso_row_cell(adding->after, atoms, old) : ISO_ABSENT;
    event->after = known ? iso_row_cell(adding->after, atoms, cell) : ISO_ABSENT;
    event->flags = (uint16_t)((event->flags & ~(ISO_EVENT_HAS_BEFORE | ISO_EVENT_HAS_AFTER)) |
                              (had ? ISO_EVENT_HAS_BEFORE : 0) | (known ? ISO_EVENT_HAS_AFTER : 0));
    return !had || !known || event->before != event->after;
}

static void add_cell(struct adding *adding, uint32_t column)
{
    const struct iso_cell *cell = &adding->after->cells[column];
    struct iso_atoms *atoms = &adding->events->block.atoms;
    if (cell->is_key || !is_listed(adding->cells, cell->name, cell->name_length) ||
        !take_values(adding, cell, find_cell(adding->before, cell, column)))
        return;
    adding->event.key =
        add_key(adding->cells, atoms, adding->prefix, cell->name, cell->name_length);
    adding->digest = mix_text(adding->digest, cell->name, cell->name_length);
    adding->digest =
        mix(adding->digest, adding->event.flags & (ISO_EVENT_HAS_BEFORE | ISO_EVENT_HAS_AFTER));
    adding->digest =
        mix_atom(mix_atom(adding->digest, atoms, adding->event.before), atoms, adding->event.after);
    adding->count++;
    iso_events_add(adding->events, &adding->event);
}

void iso_cells_add(struct iso_cells *cells, const struct iso_row *before, struct iso_row *after,
                   struct iso_events *events)
{
    uint32_t row = events->count - 1;
    struct adding adding = {.cells = cells,
                            .events = events,
                            .event = events->list[row],
                            .before = before,
                            .after = after};
    if (adding.event.operation == ISO_ROW_DELETE)
        return;
    adding.event.type = ISO_EVENT_CELL;
    adding.event.flags &=
        (uint16_t) ~(ISO_EVENT_HAS_MARKER | ISO_EVENT_SNAPSHOT_ENDS | ISO_EVENT_TABLE_ENDS |
                     ISO_EVENT_SNAPSHOT_XID | ISO_EVENT_WRITTEN);
    adding.prefix = start_key(cells, &events->block.atoms, adding.event.key);
    for (uint32_t i = 0; i < after->count; i++)
        add_cell(&adding, i);
    events->list[row].count = adding.count;
    events->list[row].first = (uint32_t)(adding.digest >> 32 ^ adding.digest);
}
