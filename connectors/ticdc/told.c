/* What cannot be judged of a table, told once: tables whose rows cannot be told apart, and columns
 * whose values an encoder loses.
 *
 * A TIMESTAMP is text in the changefeed's time zone, and clients read it in their session's. The
 * simple protocol names the zone, debezium writes UTC; elsewhere nothing says whether two texts are
 * one moment, unless zone=same does.
 */
#include <string.h>

#include "connectors/ticdc/decoder_private.h"

static const char *const of_zone =
    "its TIMESTAMP is text in the changefeed's time zone, which nothing says: set "
    "zone=same of its source if the clients' sessions have that zone, too";
static const char *const of_size =
    "it was left out of a large row's message: set large-message-handle-option=none, and the "
    "topic's largest message to what the rows need";
static const char *const of_key =
    "its key has a value that clients may have other words for (in debezium a date, a time, a "
    "decimal or a float; in csv bytes, which may be hexadecimal): other formats have theirs";
static const char *const of_label =
    "its key has an ENUM or SET by name, and of its number the message says nothing: formats "
    "other than csv have the number";
static const char *const of_format =
    "its value may stand for another (a default for NULL, null or 1970 for dates of "
    "zeros, a rounded decimal): formats other than debezium say it";

bool ticdc_is_left_out(const struct ticdc *ticdc, const char *table, size_t length)
{
    const struct iso_text *names = &ticdc->told;
    for (size_t at = 0; at < names->used;) {
        size_t end = at + strlen(names->bytes + at);
        if (end - at == length && !memcmp(names->bytes + at, table, length))
            return true;
        at = end + 1;
    }
    return false;
}

/* False: it was told before. */
static bool tell(struct ticdc *ticdc, const char *name, size_t length)
{
    if (ticdc_is_left_out(ticdc, name, length))
        return false;
    iso_text_put_bytes(&ticdc->told, name, length);
    iso_text_put_bytes(&ticdc->told, "", 1);
    return true;
}

void ticdc_leave_out(struct ticdc *ticdc, const struct iso_row_name *table, const char *reason)
{
    struct iso_event event = iso_event_of(ticdc->message, ISO_EVENT_IGNORED);
    event.reason = reason;
    event.table = table->atom;
    event.flags = tell(ticdc, table->name.at, table->name.length) ? ISO_EVENT_EPOCH : 0;
    iso_events_add(ticdc->events, &event);
}

/* ---- time zones ---- */

static bool is_in_zone(const struct iso_cell *cell)
{
    static const char zeros[] = "0000-00-00"; /* in every zone */
    bool zoned = cell->length && cell->text[cell->length - 1] == 'Z';
    return cell->value.kind == ISO_VALUE_INSTANT && cell->kind == ISO_CELL_TEXT && !zoned &&
           (cell->length < sizeof zeros - 1 || memcmp(cell->text, zeros, sizeof zeros - 1) != 0);
}

/* Why the cell's text may not be the server's, by which clients name the row; NULL: it is. */
static const char *doubt(const struct ticdc *ticdc, const struct iso_cell *cell)
{
    bool counts = ticdc->protocol == &ticdc_debezium;
    switch (cell->value.kind) {
    case ISO_VALUE_LABEL:
        return cell->kind == ISO_CELL_TEXT || (cell->value.detail & ISO_LABELS_NAMED) ? of_label
                                                                                      : NULL;
    case ISO_VALUE_INSTANT:
        return counts ? of_key : ticdc->one_zone ? NULL : of_zone;
    case ISO_VALUE_DATE:
    case ISO_VALUE_TIMESTAMP:
    case ISO_VALUE_TIME:
    case ISO_VALUE_NUMERIC:
    case ISO_VALUE_DOUBLE:
    case ISO_VALUE_FLOAT:
        return counts ? of_key : NULL;
    default:
        return cell->is_doubted ? of_key : NULL;
    }
}

const char *ticdc_key_is_doubted(const struct ticdc *ticdc, const struct iso_row *row)
{
    const char *why = NULL;
    for (uint32_t i = 0; !why && i < ticdc->key_count; i++) {
        const struct iso_cell *cell =
            iso_row_find(row, ticdc->key_names[i].at, ticdc->key_names[i].length);
        why = cell ? doubt(ticdc, cell) : NULL;
    }
    return why;
}

static bool lose_zones(const struct ticdc *ticdc, struct iso_row *row, const struct iso_row *before)
{
    bool lost = false;
    for (uint32_t i = 0; i < row->count; i++) {
        struct iso_cell *cell = &row->cells[i];
        if (!is_in_zone(cell))
            continue;
        if (ticdc->one_zone) {
            cell->value.kind = ISO_VALUE_ANY;
            continue;
        }
        const struct iso_cell *old =
            before ? iso_row_find(before, cell->name, cell->name_length) : NULL;
        bool same = old && is_in_zone(old) && old->length == cell->length &&
                    !memcmp(old->text, cell->text,
                            cell->length); /* then it did not change, whatever it is */
        cell->kind = ISO_CELL_UNKNOWN;
        cell->is_doubted = !same;
        lost = true;
    }
    return lost;
}

bool ticdc_lose_zones(struct ticdc *ticdc, const struct ticdc_change *change)
{
    bool lost =
        change->has_now && lose_zones(ticdc, &ticdc->now, change->has_old ? &ticdc->old : NULL);
    if (change->has_old)
        lose_zones(ticdc, &ticdc->old, NULL);
    return lost;
}

void ticdc_tell_lost(struct ticdc *ticdc, const struct ticdc_change *change,
                     const struct iso_row_name *table)
{
    for (uint32_t i = 0; i < ticdc->now.count; i++) {
        const struct iso_cell *cell = &ticdc->now.cells[i];
        struct iso_event event;
        char buffer[ISO_ATOM_TEXT_MAX];
        size_t length;
        bool counts = ticdc->cells.on
                          ? iso_table_listed(ticdc->cells.columns, cell->name, cell->name_length)
                      : ticdc->value ? strlen(ticdc->value) == cell->name_length &&
                                           !memcmp(ticdc->value, cell->name, cell->name_length)
                                     : true;
        if (cell->kind != ISO_CELL_UNKNOWN || !counts)
            continue;
        event = iso_event_of(ticdc->message, ISO_EVENT_IGNORED);
        event.table = table->atom;
        event.key = iso_cells_column(&ticdc->cells, &ticdc->events->block.atoms, table->atom,
                                     cell->name, cell->name_length);
        event.flags = ISO_EVENT_EPOCH;
        event.reason = change->keys_only ? of_size
                       : cell->value.kind == ISO_VALUE_INSTANT && ticdc->protocol != &ticdc_debezium
                           ? of_zone
                           : of_format;
        const char *name = iso_atom_text(&ticdc->events->block.atoms, event.key, buffer, &length);
        if (tell(ticdc, name, length))
            iso_events_add(ticdc->events, &event);
    }
}
