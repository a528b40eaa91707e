/* From a row's columns to events. */
#include <string.h>

#include "connectors/ticdc/decoder_private.h"
#include "verdict/verdict.h"

bool ticdc_start_json(struct ticdc *ticdc)
{
    const struct iso_bytes *payload = &ticdc->message->payload;
    if (payload->data)
        iso_json_start(&ticdc->json,
                       iso_payload_copy(&ticdc->payload, payload->data, payload->size),
                       payload->size);
    else
        ticdc_add_ignored(ticdc, "tombstone");
    return payload->data != NULL;
}

void ticdc_add_watermark(struct ticdc *ticdc, uint64_t timestamp)
{
    struct iso_event event = iso_event_of(ticdc->message, ISO_EVENT_WATERMARK);
    event.flags = ISO_EVENT_HAS_CTS;
    event.cts.physical = timestamp;
    iso_events_add(ticdc->events, &event);
}

void ticdc_add_ignored(struct ticdc *ticdc, const char *reason)
{
    struct iso_event event = iso_event_of(ticdc->message, ISO_EVENT_IGNORED);
    event.reason = reason;
    iso_events_add(ticdc->events, &event);
}

static bool is_marker(const struct ticdc *ticdc, const struct iso_row_name *table)
{
    return ticdc->marker.table &&
           iso_marker_is_table(&ticdc->marker, table->name.at, table->name.length);
}

bool ticdc_pass_over(struct ticdc *ticdc, struct iso_json_text database, struct iso_json_text table)
{
    if (!ticdc->tables)
        return false;
    const struct iso_row_name *name =
        iso_row_names_find(&ticdc->names, &ticdc->events->block.atoms, database, table);
    if (iso_table_listed(ticdc->tables, name->name.at, name->name.length) || is_marker(ticdc, name))
        return false;
    ticdc_add_ignored(ticdc, "a table that is not in tables=");
    return true;
}

bool ticdc_add_key(struct ticdc *ticdc, struct iso_json_text name)
{
    if (ticdc->key_count == TICDC_KEYS_MAX)
        return false;
    ticdc->key_names[ticdc->key_count++] = name;
    return true;
}

enum iso_status ticdc_too_many_keys(struct iso_error *error)
{
    return iso_error_set(error, ISO_BAD_INPUT, "a key of more than %d columns", TICDC_KEYS_MAX);
}

enum iso_status ticdc_refuse(struct iso_error *error, const char *what, struct iso_json_text found,
                             const char *expected)
{
    int shown = found.length < 100 ? (int)found.length : 100;
    return iso_error_set(error, ISO_BAD_INPUT, "%s \"%.*s\": expected %s", what, shown,
                         shown ? found.at : "", expected);
}

/* ---- rows ---- */

static enum iso_status refuse_row(struct iso_error *error, const struct ticdc_change *change,
                                  const char *what, struct iso_json_text column)
{
    int shown = column.length < 100 ? (int)column.length : 100;
    return iso_error_set(error, ISO_BAD_INPUT, "%.*s.%.*s: %s \"%.*s\"",
                         change->database.length < 100 ? (int)change->database.length : 100,
                         change->database.at,
                         change->table.length < 100 ? (int)change->table.length : 100,
                         change->table.at, what, shown, shown ? column.at : "");
}

static bool is_named(const struct iso_cell *cell, struct iso_json_text name)
{
    return cell->name_length == name.length && iso_bytes_equal(cell->name, name.at, name.length);
}

/* The cell of this name; mostly it stands where it stood in the other row. */
static inline struct iso_cell *find_cell(struct iso_row *row, struct iso_json_text name,
                                         uint32_t guess)
{
    if (guess < row->count && is_named(&row->cells[guess], name))
        return &row->cells[guess];
    for (uint32_t i = 0; i < row->count; i++)
        if (is_named(&row->cells[i], name))
            return &row->cells[i];
    return NULL;
}

/* Marks the key's columns, and gives the identity that they make. */
static enum iso_status take_key(struct ticdc *ticdc, const struct ticdc_change *change,
                                const struct iso_row_name *table, struct iso_row *row,
                                struct iso_atoms *atoms, iso_atom *key, struct iso_error *error)
{
    iso_row_clear(&ticdc->keys);
    for (uint32_t i = 0; i < ticdc->key_count; i++) {
        struct iso_cell *cell = find_cell(row, ticdc->key_names[i], i);
        if (!cell)
            return refuse_row(error, change, "the row lacks its key's column", ticdc->key_names[i]);
        if (cell->kind == ISO_CELL_NULL || cell->kind == ISO_CELL_UNKNOWN)
            return refuse_row(error, change, "NULL in the key's column", ticdc->key_names[i]);
        cell->is_key = true; /* as all of `keys`: a part of them alone would be the key */
        *iso_row_add(&ticdc->keys, NULL, 0) = *cell;
    }
    *key = iso_row_key(&ticdc->keys, atoms, table);
    return ISO_OK;
}

static bool is_same(const struct iso_cell *left, const struct iso_cell *right)
{
    if (left->kind != right->kind)
        return false;
    if (left->kind == ISO_CELL_INTEGER)
        return left->bits == right->bits && left->negative == right->negative;
    return left->kind == ISO_CELL_TEXT && left->length == right->length &&
           !memcmp(left->text, right->text, left->length);
}

/* Whether the row has the key that was taken last, as most old rows have that of the new one. Marks
 * its columns. */
static bool has_last_key(struct ticdc *ticdc, struct iso_row *row)
{
    for (uint32_t i = 0; i < ticdc->keys.count; i++) {
        struct iso_cell *cell = find_cell(row, ticdc->key_names[i], i);
        if (!cell || !is_same(cell, &ticdc->keys.cells[i]))
            return false;
        cell->is_key = true;
    }
    return true;
}

/* Completes the old row of an update: the changed columns' old values over the unchanged ones. */
static void complete_old(struct ticdc *ticdc)
{
    for (uint32_t i = 0; i < ticdc->now.count; i++) {
        const struct iso_cell *cell = &ticdc->now.cells[i];
        if (!find_cell(&ticdc->old, (struct iso_json_text){cell->name, cell->name_length}, i))
            *iso_row_add(&ticdc->old, NULL, 0) = *cell;
    }
}

static enum iso_status take_after(struct ticdc *ticdc, const struct ticdc_change *change,
                                  struct iso_atoms *atoms, struct iso_event *event,
                                  struct iso_error *error)
{
    if (change->keys_only)
        return ISO_OK;
    enum iso_row_value is = iso_row_value(&ticdc->now, atoms, ticdc->value, &event->after);
    event->flags |= is == ISO_ROW_KNOWN ? ISO_EVENT_HAS_AFTER : 0;
    struct iso_json_text column = {ticdc->value, ticdc->value ? strlen(ticdc->value) : 0};
    return is == ISO_ROW_TWICE
               ? refuse_row(error, change, "a column occurs twice in the row", column)
               : ISO_OK;
}

/* The old row's value, if the message has the old row and not only its key. */
static void take_before(struct ticdc *ticdc, const struct ticdc_change *change,
                        struct iso_atoms *atoms, struct iso_event *event)
{
    if (!change->has_old || change->keys_only || ticdc->identity == ISO_IDENTITY_DEFAULT)
        return;
    if (!ticdc->value && (!iso_row_has_values(&ticdc->old) ||
                          (change->has_now && ticdc->old.count < ticdc->now.count)))
        return;
    if (iso_row_value(&ticdc->old, atoms, ticdc->value, &event->before) == ISO_ROW_KNOWN)
        event->flags |= ISO_EVENT_HAS_BEFORE;
}

static struct iso_event *start_row(struct ticdc *ticdc, const struct ticdc_change *change,
                                   iso_atom table, iso_atom key)
{
    struct iso_event *event = iso_events_start(ticdc->events, ticdc->message, ISO_EVENT_ROW);
    event->operation = !change->has_now  ? ISO_ROW_DELETE
                       : change->created ? ISO_ROW_INSERT
                                         : ISO_ROW_UPDATE;
    event->table = table;
    event->key = key;
    event->unknown = change->is_lossy ? ISO_UNJUDGED_LOSSY : 0;
    if (change->has_commit) {
        event->flags |= ISO_EVENT_HAS_CTS;
        event->cts.physical = change->commit_ts;
    }
    if (change->has_start) {
        event->flags |= ISO_EVENT_HAS_STS;
        event->sts.physical = change->start_ts;
    }
    return event;
}

/* The last event's key changed: the old row is gone, the new one was not there. */
static void split_move(struct ticdc *ticdc, iso_atom old_key)
{
    struct iso_event *gone = &ticdc->events->list[ticdc->events->count - 1], come = *gone;
    gone->operation = ISO_ROW_DELETE;
    gone->key = old_key;
    gone->flags |= ISO_EVENT_HAS_AFTER;
    gone->after = ISO_ABSENT;
    come.operation = ISO_ROW_INSERT;
    /* another row may have been there, which moved as well */
    come.flags &= (uint16_t)~ISO_EVENT_HAS_BEFORE;
    come.before = ISO_ABSENT;
    iso_events_add(ticdc->events, &come);
}

/* The last event, whose row's columns are cells: it, and what else there is to be said. A key that
 * changed is two rows. */
static enum iso_status add_with_cells(struct ticdc *ticdc, const struct ticdc_change *change,
                                      iso_atom old_key, struct iso_error *error)
{
    struct iso_event row = ticdc->events->list[--ticdc->events->count];
    struct iso_atoms *atoms = &ticdc->events->block.atoms;
    bool moved = change->has_now && change->has_old && row.key != old_key;
    bool known = change->has_old && !moved && ticdc->identity != ISO_IDENTITY_DEFAULT;
    if (change->has_now &&
        iso_cells_note(&ticdc->cells, &ticdc->now, &row, ticdc->events, error) != ISO_OK)
        return error->status;
    if (moved) {
        struct iso_event gone = row;
        gone.operation = ISO_ROW_DELETE;
        gone.key = old_key;
        iso_cells_exist(&ticdc->cells, atoms, &gone, true);
        iso_events_add(ticdc->events, &gone);
        row.operation = ISO_ROW_INSERT;
    }
    iso_cells_exist(&ticdc->cells, atoms, &row, change->has_old && row.operation != ISO_ROW_INSERT);
    iso_events_add(ticdc->events, &row);
    if (change->has_now)
        iso_cells_add(&ticdc->cells, known ? &ticdc->old : NULL, &ticdc->now, ticdc->events);
    return ISO_OK;
}

/* The change of a row whose key is known; `change` is the caller's own. */
static enum iso_status add_row(struct ticdc *ticdc, struct ticdc_change *change,
                               const struct iso_row_name *table, struct iso_error *error)
{
    struct iso_atoms *atoms = &ticdc->events->block.atoms;
    iso_atom key = ISO_ABSENT, old_key = ISO_ABSENT;
    if (change->has_now &&
        take_key(ticdc, change, table, &ticdc->now, atoms, &key, error) != ISO_OK)
        return error->status;
    if (change->has_now && change->has_old && has_last_key(ticdc, &ticdc->old))
        old_key = key;
    else if (change->has_old &&
             take_key(ticdc, change, table, &ticdc->old, atoms, &old_key, error) != ISO_OK)
        return error->status;
    change->is_lossy |= ticdc_lose_zones(ticdc, change);
    if (ticdc->cells.on && change->keys_only && change->has_now) { /* what it has is not known */
        iso_shown_complete(&ticdc->cells.shown, table->name, &ticdc->now);
        change->is_lossy = true;
    }
    ticdc_note_types(ticdc, table->name, change->has_now ? &ticdc->now : &ticdc->old);
    if (change->is_lossy && change->has_now)
        ticdc_tell_lost(ticdc, change, table);
    struct iso_event *event =
        start_row(ticdc, change, table->atom, change->has_now ? key : old_key);
    if (is_marker(ticdc, table)) {
        iso_marker_take_row(&ticdc->marker, change->has_now ? &ticdc->now : NULL, atoms, event);
        return ISO_OK;
    }
    if (change->has_old)
        iso_marker_hide(&ticdc->marker, &ticdc->old);
    if (change->has_now)
        iso_marker_take(&ticdc->marker, &ticdc->now, atoms, event);
    if (change->created)
        event->flags |= ISO_EVENT_HAS_BEFORE;
    if (ticdc->cells.on)
        return add_with_cells(ticdc, change, old_key, error);
    take_before(ticdc, change, atoms, event);
    if (!change->has_now)
        event->flags |= ISO_EVENT_HAS_AFTER;
    else if (take_after(ticdc, change, atoms, event, error) != ISO_OK)
        return error->status;
    if (change->has_now && change->has_old && key != old_key)
        split_move(ticdc, old_key);
    return ISO_OK;
}

static bool lacks_value(const struct ticdc *ticdc, const struct ticdc_change *change)
{
    return ticdc->value && !ticdc->cells.on && change->has_now && !change->keys_only &&
           !iso_row_find(&ticdc->now, ticdc->value, strlen(ticdc->value));
}

enum iso_status ticdc_add_row(struct ticdc *ticdc, const struct ticdc_change *change,
                              struct iso_error *error)
{
    struct ticdc_change own = *change;
    if (!change->table.length || (!change->has_now && !change->has_old))
        return refuse_row(error, change, "a row without its table or its columns", change->table);
    const struct iso_row_name *table = iso_row_names_find(
        &ticdc->names, &ticdc->events->block.atoms, change->database, change->table);
    if (change->has_now && change->has_old && change->old_is_partial)
        complete_old(ticdc);
    ticdc_settle_labels(ticdc, change);
    const char *unknown =
        is_marker(ticdc, table) ? NULL : ticdc_settle_key(ticdc, change, table->name);
    if (!unknown)
        unknown = ticdc_key_is_doubted(ticdc, change->has_now ? &ticdc->now : &ticdc->old);
    if (!unknown && !is_marker(ticdc, table) && lacks_value(ticdc, change))
        unknown = "its rows do not have the column of value=COLUMN of its source";
    if (!unknown)
        return add_row(ticdc, &own, table, error);
    ticdc_leave_out(ticdc, table, unknown);
    return ISO_OK;
}
