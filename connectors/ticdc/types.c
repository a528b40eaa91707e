/* What a MySQL type holds: how its texts are read, and which spellings of its values are one. */
#include <string.h>

#include "base/archive.h"
#include "base/memory.h"
#include "connectors/cdc_common/ddl_words.h"
#include "connectors/ticdc/decoder_private.h"

struct type {
    char word[12];
    uint8_t class; /* enum ticdc_class */
    uint8_t value; /* enum iso_value_kind */
};

static const struct type types[] = {
    {"int", TICDC_INTEGER, ISO_VALUE_ANY},        {"bigint", TICDC_INTEGER, ISO_VALUE_ANY},
    {"tinyint", TICDC_INTEGER, ISO_VALUE_ANY},    {"smallint", TICDC_INTEGER, ISO_VALUE_ANY},
    {"integer", TICDC_INTEGER, ISO_VALUE_ANY},    {"mediumint", TICDC_INTEGER, ISO_VALUE_ANY},
    {"year", TICDC_INTEGER, ISO_VALUE_INTEGER},   {"bit", TICDC_INTEGER, ISO_VALUE_ANY},
    {"enum", TICDC_INTEGER, ISO_VALUE_LABEL},     {"set", TICDC_INTEGER, ISO_VALUE_LABEL},
    {"float", TICDC_FLOAT, ISO_VALUE_FLOAT},      {"double", TICDC_DOUBLE, ISO_VALUE_DOUBLE},
    {"real", TICDC_DOUBLE, ISO_VALUE_DOUBLE},     {"binary", TICDC_BYTES, ISO_VALUE_BYTES},
    {"varbinary", TICDC_BYTES, ISO_VALUE_BYTES},  {"blob", TICDC_BYTES, ISO_VALUE_BYTES},
    {"tinyblob", TICDC_BYTES, ISO_VALUE_BYTES},   {"longblob", TICDC_BYTES, ISO_VALUE_BYTES},
    {"mediumblob", TICDC_BYTES, ISO_VALUE_BYTES}, {"timestamp", TICDC_TEXT, ISO_VALUE_INSTANT},
    {"json", TICDC_TEXT, ISO_VALUE_JSON},         {"decimal", TICDC_TEXT, ISO_VALUE_NUMERIC},
    {"numeric", TICDC_TEXT, ISO_VALUE_NUMERIC},
};

static const struct type *find_type(struct iso_json_text type)
{
    char word[12];
    size_t length = 0;
    word[0] = 0;
    if (type.length > 3 &&
        !memcmp(type.at, "varc", 4)) /* the most frequent one of those that stay text */
        return NULL;
    for (; length < type.length && length < sizeof word && (type.at[length] | 0x20) >= 'a' &&
           (type.at[length] | 0x20) <= 'z';
         length++)
        word[length] = (char)(type.at[length] | 0x20);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].word[0] == word[0] && !strncmp(types[i].word, word, length) &&
            !types[i].word[length])
            return &types[i];
    return NULL;
}

enum ticdc_class ticdc_class_of(struct iso_json_text mysql_type)
{
    const struct type *type = find_type(mysql_type);
    return type ? (enum ticdc_class)type->class : TICDC_TEXT;
}

static bool is_padded(struct iso_json_text type)
{
    static const char word[] = "zerofill";
    size_t length = sizeof word - 1;
    return type.length > length &&
           iso_ddl_same_name((struct iso_json_text){type.at + type.length - length, length},
                             (struct iso_json_text){word, length});
}

struct iso_value_type ticdc_value_of(struct iso_json_text mysql_type)
{
    const struct type *type = find_type(mysql_type);
    uint8_t kind = type ? type->value : ISO_VALUE_ANY;
    if (type && type->class == TICDC_INTEGER && kind == ISO_VALUE_ANY && is_padded(mysql_type))
        kind = ISO_VALUE_INTEGER; /* servers print it with zeros before it */
    return (struct iso_value_type){kind, false, 0};
}

/* ---- what rows have shown ---- */

static bool is_table(const struct ticdc_typed *typed, const char *table, size_t length)
{
    return typed->table_length == length && !memcmp(typed->table, table, length);
}

static const struct ticdc_typed *find_typed(const struct ticdc *ticdc, const char *table,
                                            size_t length)
{
    for (uint32_t i = 0; i < ticdc->typed.count; i++)
        if (is_table(&ticdc->typed.list[i], table, length))
            return &ticdc->typed.list[i];
    return NULL;
}

static struct ticdc_typed *typed_of(struct ticdc *ticdc, struct iso_json_text table)
{
    const struct ticdc_typed *found = NULL;
    if (ticdc->typed.last < ticdc->typed.count &&
        is_table(&ticdc->typed.list[ticdc->typed.last], table.at, table.length))
        return &ticdc->typed.list[ticdc->typed.last];
    found = find_typed(ticdc, table.at, table.length);
    if (!found) {
        ticdc->typed.list =
            iso_reallocate(ticdc->typed.list, (ticdc->typed.count + 1) * sizeof *ticdc->typed.list);
        struct ticdc_typed *typed = &ticdc->typed.list[ticdc->typed.count++];
        *typed = (struct ticdc_typed){.table = iso_copy_text(table.at, table.length),
                                      .table_length = (uint32_t)table.length};
        found = typed;
    }
    ticdc->typed.last = (uint32_t)(found - ticdc->typed.list);
    return &ticdc->typed.list[ticdc->typed.last];
}

static struct ticdc_typed_column *find_typed_column(const struct ticdc_typed *typed,
                                                    const char *name, size_t length, uint32_t guess)
{
    for (uint32_t i = 0; i < typed->count; i++) {
        struct ticdc_typed_column *column = &typed->columns[(guess + i) % typed->count];
        if (column->length == length && iso_bytes_equal(column->name, name, length))
            return column;
    }
    return NULL;
}

static void note_type(struct ticdc *ticdc, struct ticdc_typed *typed, const struct iso_cell *cell,
                      uint32_t guess)
{
    struct ticdc_typed_column *column =
        find_typed_column(typed, cell->name, cell->name_length, guess);
    if (column && iso_value_type_equal(column->value, cell->value))
        return;
    ticdc->typed.known++;
    if (column) {
        column->value = cell->value;
        return;
    }
    typed->columns = iso_reallocate(typed->columns, (typed->count + 1) * sizeof *typed->columns);
    typed->columns[typed->count++] =
        (struct ticdc_typed_column){.name = iso_copy_text(cell->name, cell->name_length),
                                    .length = cell->name_length,
                                    .value = cell->value};
}

void ticdc_note_types(struct ticdc *ticdc, struct iso_json_text table, const struct iso_row *row)
{
    struct ticdc_typed *typed = NULL;
    uint32_t known = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        if (row->cells[i].value.kind <= ISO_VALUE_ROW)
            continue;
        typed = typed ? typed : typed_of(ticdc, table);
        note_type(ticdc, typed, &row->cells[i], known++);
    }
}

struct iso_value_type ticdc_value_type(const struct iso_decoder *decoder, const char *table,
                                       size_t length, const char *column, size_t column_length)
{
    const struct ticdc *ticdc = (const struct ticdc *)decoder;
    const struct ticdc_typed *typed = find_typed(ticdc, table, length);
    if (!typed || (!column && ticdc->cells.on))
        return (struct iso_value_type){0};
    if (!column && !ticdc->value)
        return (struct iso_value_type){ISO_VALUE_ROW, false, 0};
    const char *name = column ? column : ticdc->value;
    const struct ticdc_typed_column *found =
        find_typed_column(typed, name, column ? column_length : strlen(name), 0);
    return found ? found->value : (struct iso_value_type){ISO_VALUE_ANY, false, 0};
}

uint32_t ticdc_types_known(const struct iso_decoder *decoder)
{
    return ((const struct ticdc *)decoder)->typed.known;
}

void ticdc_types_release(struct ticdc *ticdc)
{
    for (uint32_t i = 0; i < ticdc->typed.count; i++) {
        for (uint32_t c = 0; c < ticdc->typed.list[i].count; c++)
            iso_free(ticdc->typed.list[i].columns[c].name);
        iso_free(ticdc->typed.list[i].columns);
        iso_free(ticdc->typed.list[i].table);
    }
    iso_free(ticdc->typed.list);
    ticdc->typed.list = NULL;
    ticdc->typed.count = 0;
}

/* As text, a line a column: they are few, and known again with the first row of each table. */
void ticdc_types_archive(struct ticdc *ticdc, struct iso_archive *archive)
{
    uint32_t tables = ticdc->typed.count;
    if (archive->restoring)
        ticdc_types_release(ticdc);
    iso_archive_value(archive, "typed", &tables, sizeof tables);
    iso_archive_expect(archive, tables <= UINT16_MAX);
    for (uint32_t i = 0; i < tables && archive->error->status == ISO_OK; i++) {
        char *table = ticdc_archive_text(archive, "table",
                                         archive->restoring ? NULL : ticdc->typed.list[i].table);
        uint32_t count = archive->restoring ? 0 : ticdc->typed.list[i].count;
        iso_archive_value(archive, "columns", &count, sizeof count);
        iso_archive_expect(archive, count <= UINT16_MAX);
        for (uint32_t c = 0; c < count && archive->error->status == ISO_OK; c++) {
            struct iso_cell cell = {0};
            if (!archive->restoring)
                cell.value = ticdc->typed.list[i].columns[c].value;
            char *name = ticdc_archive_text(
                archive, "column",
                archive->restoring ? NULL : ticdc->typed.list[i].columns[c].name);
            ISO_ARCHIVE_AS(archive, "kind", cell.value.kind);
            ISO_ARCHIVE_AS(archive, "detail", cell.value.detail);
            iso_archive_expect(archive, cell.value.kind < ISO_VALUE_KINDS);
            if (!archive->restoring)
                continue;
            cell.name = name;
            cell.name_length = name ? (uint32_t)strlen(name) : 0;
            if (archive->error->status == ISO_OK)
                note_type(ticdc, typed_of(ticdc, (struct iso_json_text){table, strlen(table)}),
                          &cell, c);
            iso_free(name);
        }
        if (archive->restoring)
            iso_free(table);
    }
}
