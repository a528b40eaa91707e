/* Rows with their cells and queries, in the native format: src/native/cells.c reads what is written here. */
#include <string.h>

#include "base/cell_key.h"
#include "formats/write_history_private.h"

/* The name of operation `o`'s key. */
static struct iso_json_text key_of(const struct iso_history *history, uint32_t o, char buffer[ISO_ATOM_TEXT_MAX])
{
    struct iso_json_text text;
    text.at = iso_atom_text(&history->atoms, history->key_atom[history->key[o]], buffer, &text.length);
    return text;
}

static void write_column(struct iso_output *output, struct iso_json_text column)
{
    struct iso_text name = {0};
    iso_cell_key_decode(&name, column);
    iso_output_string(output, name.bytes, name.used);
    iso_text_release(&name);
}

/* {"balance":150,..} : the cells from operation `o` on, up to `end` or the next row. Returns what comes behind them. */
static uint32_t write_cells(struct iso_output *output, const struct iso_history *history, uint32_t o, uint32_t end)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text row, column;
    uint32_t first = o;
    iso_output_char(output, '{');
    for (; o < end && iso_cell_key_split(key_of(history, o, buffer), &row, &column); o++) {
        if (o > first)
            iso_output_char(output, ',');
        write_column(output, column);
        iso_output_char(output, ':');
        iso_output_atom(output, &history->atoms, history->value[o]);
    }
    iso_output_char(output, '}');
    return o;
}

static void write_row(struct iso_output *output, const struct iso_history *history, uint32_t first, uint32_t count)
{
    bool writes = iso_kind_of(history, first) == ISO_WRITE;
    iso_output_text(output, writes ? "{\"t\":\"w\",\"row\":" : "{\"t\":\"r\",\"row\":");
    iso_output_atom_string(output, &history->atoms, history->key_atom[history->key[first]]);
    if (writes && count == 1)
        return;
    iso_output_text(output, ",\"cells\":");
    write_cells(output, history, first + 1, first + count);
}

static void write_rows(struct iso_output *output, const struct iso_history *history, const struct iso_range *set,
                       uint32_t first)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    uint32_t end = first + set->rows;
    size_t table = key_of(history, first, buffer).length; /* `TABLE#`, and rows' keys begin with `TABLE/` */
    iso_output_text(output, ",\"rows\":{");
    for (uint32_t o = first + 1; o < end;) {
        struct iso_json_text key = key_of(history, o, buffer);
        if (o > first + 1)
            iso_output_char(output, ',');
        iso_output_string(output, key.at + table, key.length - table);
        iso_output_char(output, ':');
        o = write_cells(output, history, o + 1, end);
    }
    iso_output_char(output, '}');
}

/* What it returned instead of rows with keys: {"count":3}, or {"columns":..,"bag":..}. */
static void write_returned(struct iso_output *output, const struct iso_history *history, iso_atom returned)
{
    static const char bag[] = "{\"columns\":";
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&history->atoms, returned, buffer, &length);
    bool is_bag = length >= strlen(bag) && !memcmp(text, bag, strlen(bag));
    iso_output_text(output, is_bag ? "," : ",\"agg\":");
    iso_output_bytes(output, text + is_bag, length - 2 * (size_t)is_bag);
}

static void write_member(struct iso_output *output, const struct iso_history *history, const char *member,
                         iso_atom text)
{
    if (text == ISO_ABSENT)
        return;
    iso_output_text(output, member);
    iso_output_atom_string(output, &history->atoms, text);
}

static void write_query(struct iso_output *output, const struct iso_history *history, const struct iso_range *set,
                        uint32_t first)
{
    write_member(output, history, "{\"t\":\"q\",\"table\":", set->table);
    write_member(output, history, ",\"from\":", set->from);
    write_member(output, history, ",\"to\":", set->to);
    write_member(output, history, ",\"where\":", set->where);
    if (set->returned == ISO_ABSENT)
        write_rows(output, history, set, first);
    else
        write_returned(output, history, set->returned);
    if (set->is_partial)
        iso_output_text(output, ",\"partial\":true");
}

bool can_write_set(const struct iso_history *history, const struct iso_range *set, uint32_t first)
{
    if (set->form == ISO_SET_RANGE)
        return false;
    for (uint32_t o = first; o < first + set->rows; o++)
        if (iso_atom_is_unknown(&history->atoms, history->value[o]))
            return false;
    return true;
}

void write_set(struct iso_output *output, const struct iso_history *history, const struct iso_range *set,
               uint32_t first)
{
    if (set->form == ISO_SET_ROW)
        write_row(output, history, first, set->rows);
    else
        write_query(output, history, set, first);
}
