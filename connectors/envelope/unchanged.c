#include "connectors/envelope/unchanged.h"

#include <string.h>

#define PLAIN "__debezium_unavailable_value"
#define BASE64 "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
#define HEX "5f5f646562657a69756d5f756e617661696c61626c655f76616c7565"

enum { SHORTEST = sizeof PLAIN - 1, LONGEST = 200 };

static const char *const texts[] = {PLAIN, BASE64, HEX, "{\"" PLAIN "\":\"" PLAIN "\"}"};

/* Arrays of text, bytes, integers (the text's bytes) and UUIDs (of version 3, of the text); maps of
 * hstore. */
static const char *const nested[] = {
    "[\"" PLAIN "\"]",
    "[\"" BASE64 "\"]",
    "[\"" HEX "\"]",
    "[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]",
    "[\"b68a35a7-17ad-35b3-af2a-ae46edb4545a\"]",
    "{\"" PLAIN "\":\"" PLAIN "\"}"};

static bool is_one_of(const char *const *list, size_t count, const char *text, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && !memcmp(list[i], text, length))
            return true;
    return false;
}

static bool is_nested(const struct iso_cell *cell)
{
    char text[LONGEST];
    size_t length = 0;
    for (uint32_t i = 0; i < cell->length; i++)
        if (!strchr(" \t\r\n", cell->text[i]) || !cell->text[i])
            text[length++] = cell->text[i];
    return is_one_of(nested, sizeof nested / sizeof *nested, text, length);
}

void iso_row_mark_unchanged(struct iso_row *row)
{
    for (uint32_t i = 0; i < row->count; i++) {
        struct iso_cell *cell = &row->cells[i];
        bool is_text = cell->kind == ISO_CELL_TEXT || cell->kind == ISO_CELL_BYTES;
        if (cell->length < SHORTEST || cell->length > LONGEST ||
            (!is_text && cell->kind != ISO_CELL_JSON))
            continue;
        if (is_text ? is_one_of(texts, sizeof texts / sizeof *texts, cell->text, cell->length)
                    : is_nested(cell))
            cell->kind = ISO_CELL_UNKNOWN;
    }
}
