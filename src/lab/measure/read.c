/* Reading figures back: the baseline of a comparison. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "bytes/whole_file.h"
#include "measure/figures.h"

static bool read_text(struct iso_json *json, char **copy)
{
    struct iso_json_text text;
    if (!iso_json_string(json, &text))
        return false;
    iso_free(*copy);
    *copy = iso_copy_text(text.at, text.length);
    return true;
}

/* A member that is a column's: any JSON number. Others are passed over. */
static void read_number(struct iso_json *json, const struct iso_figures *figures,
                        struct iso_json_text name, double numbers[ISO_FIGURE_COLUMNS])
{
    bool is_number = iso_json_peek(json) == ISO_JSON_DIGITS;
    const char *at = json->at;
    if (!iso_json_skip(json) || !is_number)
        return;
    for (size_t c = 0; c < figures->column_count; c++) {
        if (iso_json_is(&name, figures->columns[c].name))
            numbers[c] = strtod(at, NULL);
    }
}

static void read_row(struct iso_json *json, struct iso_figures *figures)
{
    struct iso_figure_row *row = iso_figures_add(figures, "", "", "");
    struct iso_json_text name;
    if (!iso_json_enter_object(json))
        return;
    while (iso_json_member(json, &name)) {
        /* the name must outlive the value, which may use the scanner's memory */
        char copy[64];
        struct iso_json_text kept = {copy, name.length < sizeof copy ? name.length : sizeof copy};
        memcpy(copy, name.at, kept.length);
        if (iso_json_is(&kept, "experiment"))
            read_text(json, &row->experiment);
        else if (iso_json_is(&kept, "parameter"))
            read_text(json, &row->parameter);
        else if (iso_json_is(&kept, "value"))
            read_text(json, &row->value);
        else
            read_number(json, figures, kept, row->numbers);
    }
}

static bool read_figures(struct iso_json *json, struct iso_figures *figures)
{
    struct iso_json_text name;
    bool seen = false;
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        if (iso_json_is(&name, "settings")) {
            read_text(json, &figures->settings);
            continue;
        }
        if (!iso_json_is(&name, "rows")) {
            iso_json_skip(json);
            continue;
        }
        seen = true;
        if (iso_json_enter_array(json)) {
            while (iso_json_element(json))
                read_row(json, figures);
        }
    }
    return iso_json_finish(json) && seen;
}

enum iso_status iso_figures_read(struct iso_figures *figures, const char *path,
                                 struct iso_error *error)
{
    struct iso_whole_file file;
    struct iso_json json;
    if (iso_whole_file_read(&file, path, error) != ISO_OK)
        return error->status;
    iso_json_init(&json);
    iso_json_start(&json, file.bytes, file.length);
    if (!read_figures(&json, figures)) {
        char what[256] = "no member \"rows\"";
        if (json.code != ISO_JSON_FINE)
            iso_json_describe(&json, what, sizeof what);
        iso_error_set(error, ISO_BAD_INPUT,
                      "%s: byte %zu: %s; expected what `isochron bench --format json` writes", path,
                      json.position, what);
    }
    iso_json_release(&json);
    iso_whole_file_release(&file);
    return error->status;
}
