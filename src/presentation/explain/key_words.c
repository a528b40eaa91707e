#include "explain/key_words.h"

#include "base/cell_key.h"

static bool split(struct iso_json_text key, struct iso_json_text *row, struct iso_json_text *column)
{
    return iso_cell_key_split(key, row, column) && column->length &&
           memchr(row->at, '/', row->length);
}

bool explain_is_cell(struct iso_json_text key)
{
    struct iso_json_text row, column;
    return split(key, &row, &column);
}

void explain_put_key(struct iso_text *text, struct iso_json_text key,
                     void (*put)(struct iso_text *text, const char *bytes, size_t length))
{
    struct iso_json_text row, column;
    struct iso_text name = {0};
    bool is_cell = split(key, &row, &column);
    iso_text_put(text, is_cell ? "column " : "key ");
    if (is_cell) {
        iso_cell_key_decode(&name, column);
        put(text, name.bytes, name.used);
        iso_text_put(text, " of row ");
    }
    put(text, row.at, is_cell ? row.length : key.length);
    iso_text_release(&name);
}
