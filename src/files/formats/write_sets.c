/* Rows with cells, queries and ranges as the operations that they were read from. */
#include "formats/write_sets.h"

#include <string.h>

#include "base/cell_key.h"

#define LITERAL(output, text) iso_output_bytes(output, text, sizeof text - 1)

static struct iso_json_text key_text(const struct iso_history *history, uint32_t operation,
                                     char buffer[ISO_ATOM_TEXT_MAX])
{
    struct iso_json_text text;
    text.at = iso_atom_text(&history->atoms, history->keys.atom[history->ops.key[operation]],
                            buffer, &text.length);
    return text;
}

static bool is_cell(const struct iso_history *history, uint32_t operation)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text row, column;
    return iso_cell_key_split(key_text(history, operation, buffer), &row, &column);
}

/* {"balance":150} of operations from `o` on, as long as they are cells; returns the first that is
 * none. */
static uint32_t write_cells(struct iso_output *output, const struct iso_history *history,
                            uint32_t o, uint32_t end)
{
    iso_output_char(output, '{');
    for (uint32_t first = o; o < end && is_cell(history, o); o++) {
        char buffer[ISO_ATOM_TEXT_MAX];
        struct iso_json_text row, column;
        struct iso_text name = {0};
        iso_cell_key_split(key_text(history, o, buffer), &row, &column);
        iso_cell_key_decode(&name, column);
        if (o > first)
            iso_output_char(output, ',');
        iso_output_string(output, name.bytes, name.used);
        iso_output_char(output, ':');
        iso_output_atom(output, &history->atoms, history->ops.value[o]);
        iso_text_release(&name);
    }
    iso_output_char(output, '}');
    return o;
}

static void write_row(struct iso_output *output, const struct iso_history *history, uint32_t o,
                      uint32_t end)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text row = key_text(history, o, buffer);
    iso_output_text(output, iso_kind_writes(history->ops.kind[o]) ? "{\"t\":\"w\",\"row\":"
                                                                  : "{\"t\":\"r\",\"row\":");
    iso_output_string(output, row.at, row.length);
    if (o + 1 == end && iso_kind_writes(history->ops.kind[o]))
        return;
    LITERAL(output, ",\"cells\":");
    write_cells(output, history, o + 1, end);
}

static void write_bound(struct iso_output *output, const struct iso_history *history,
                        const char *member, iso_atom value)
{
    if (value == ISO_ABSENT)
        return;
    iso_output_text(output, member);
    iso_output_atom(output, &history->atoms, value);
}

/* The rows of a table, by what stands behind `table/`. */
static void write_rows(struct iso_output *output, const struct iso_history *history,
                       const struct iso_range *set, uint32_t o, uint32_t end)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t table;
    iso_atom_text(&history->atoms, set->table, buffer, &table);
    LITERAL(output, ",\"rows\":{");
    for (uint32_t first = o; o < end;) {
        struct iso_json_text key = key_text(history, o, buffer);
        if (o > first)
            iso_output_char(output, ',');
        iso_output_string(output, key.at + table + 1, key.length - table - 1);
        iso_output_char(output, ':');
        o = write_cells(output, history, o + 1, end);
    }
    iso_output_char(output, '}');
}

/* Writes the result of a query without keys: the text that was given, or a bag's two members. */
static void write_returned(struct iso_output *output, const struct iso_history *history,
                           const struct iso_range *set)
{
    static const char bag[] = "{\"columns\":";
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&history->atoms, set->returned, buffer, &length);
    if (length > sizeof bag && !memcmp(text, bag, sizeof bag - 1)) {
        iso_output_char(output, ',');
        iso_output_bytes(output, text + 1, length - 2);
        return;
    }
    LITERAL(output, ",\"agg\":");
    iso_output_bytes(output, text, length);
}

static void write_query(struct iso_output *output, const struct iso_history *history,
                        const struct iso_range *set, uint32_t o, uint32_t end)
{
    LITERAL(output, "{\"t\":\"q\",\"table\":");
    iso_output_atom(output, &history->atoms, set->table);
    write_bound(output, history, ",\"from\":", set->from);
    write_bound(output, history, ",\"to\":", set->to);
    write_bound(output, history, ",\"where\":", set->where);
    if (set->returned != ISO_ABSENT)
        write_returned(output, history, set);
    else
        write_rows(output, history, set, o + 1, end);
}

static void write_range(struct iso_output *output, const struct iso_history *history,
                        const struct iso_range *set, uint32_t o, uint32_t end)
{
    LITERAL(output, "{\"t\":\"q\"");
    write_bound(output, history, ",\"from\":", set->from);
    write_bound(output, history, ",\"to\":", set->to);
    LITERAL(output, ",\"rows\":{");
    for (uint32_t first = o; o < end; o++) {
        char buffer[ISO_ATOM_TEXT_MAX];
        struct iso_json_text key = key_text(history, o, buffer);
        if (o > first)
            iso_output_char(output, ',');
        iso_output_string(output, key.at, key.length);
        iso_output_char(output, ':');
        formats_write_value(output, history, o);
    }
    iso_output_char(output, '}');
}

/* Whether the set can be written as it was recorded: a finished range is written by its reads,
 * parts of a row as plain operations, and only a plain operation can say why a value is not
 * known. */
static bool can_write(const struct iso_history *history, const struct iso_range *set,
                      uint32_t operation)
{
    if (set->form == ISO_SET_RANGE)
        return !history->finished;
    if (!set->count || (set->form == ISO_SET_ROW && is_cell(history, operation)))
        return false;
    for (uint32_t o = operation; o < operation + set->count; o++)
        if (iso_atom_is_unknown(&history->atoms, history->ops.value[o]))
            return false;
    return true;
}

const struct iso_range *formats_set_at(const struct iso_history *history, uint32_t transaction,
                                       uint32_t operation, uint32_t *next)
{
    const struct iso_ranges *sets = &history->ranges;
    uint32_t at = operation - history->txns.first_op[transaction];
    while (*next < sets->count &&
           (sets->list[*next].transaction < transaction ||
            (sets->list[*next].transaction == transaction && sets->list[*next].first <= at))) {
        const struct iso_range *set = &sets->list[(*next)++];
        if (set->transaction == transaction && set->first == at &&
            can_write(history, set, operation))
            return set;
    }
    return NULL;
}

void formats_write_set(struct iso_output *output, const struct iso_history *history,
                       const struct iso_range *set)
{
    uint32_t o = history->txns.first_op[set->transaction] + set->first;
    if (set->form == ISO_SET_ROW)
        write_row(output, history, o, o + set->count);
    else if (set->form == ISO_SET_QUERY)
        write_query(output, history, set, o, o + set->count);
    else
        write_range(output, history, set, o, o + set->rows);
    if (set->is_partial)
        LITERAL(output, ",\"partial\":true");
}
