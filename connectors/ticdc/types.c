/* What a MySQL type holds: how its texts are read, and which spellings of its values are one. */
#include <string.h>

#include "base/archive.h"
#include "base/hash.h"
#include "base/memory.h"
#include "connectors/cdc_common/ddl_words.h"
#include "connectors/ticdc/tables.h"
#include "values/labels.h"

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

bool ticdc_is_unsigned(struct iso_json_text mysql_type)
{
    struct iso_ddl_words words = iso_ddl_words_of(mysql_type);
    while (iso_ddl_next(&words))
        if (iso_ddl_is(&words, "unsigned"))
            return true;
    return false;
}

struct iso_value_type ticdc_value_of(struct iso_json_text mysql_type)
{
    const struct type *type = find_type(mysql_type);
    uint8_t kind = type ? type->value : ISO_VALUE_ANY;
    if (type && type->class == TICDC_INTEGER && kind == ISO_VALUE_ANY && is_padded(mysql_type))
        kind = ISO_VALUE_INTEGER; /* servers print it with zeros before it */
    bool is_set = kind == ISO_VALUE_LABEL && type->word[0] == 's';
    return (struct iso_value_type){kind, false, is_set ? ISO_LABELS_SET : 0};
}

/* ---- labels ---- */

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text, strlen(text)};
}

struct iso_value_type ticdc_value_listed(struct ticdc *ticdc, struct iso_json_text mysql_type)
{
    struct iso_value_type value = ticdc_value_of(mysql_type);
    if (value.kind == ISO_VALUE_LABEL)
        iso_labels_add(&ticdc->typed.labels, &value, mysql_type, iso_labels_of_sql);
    return value;
}

/* A list that the message has goes before the statement's. */
static void settle_labels(struct ticdc *ticdc, const struct ticdc_change *change,
                          struct iso_row *row)
{
    struct iso_labels *labels = &ticdc->typed.labels;
    const struct ticdc_table *schema = NULL;
    for (uint32_t i = 0; i < row->count; i++) {
        struct iso_cell *cell = &row->cells[i];
        uint64_t number;
        if (cell->value.kind != ISO_VALUE_LABEL)
            continue;
        if (!iso_labels_of(labels, cell->value)) {
            schema = schema ? schema
                            : ticdc_tables_at(&ticdc->known, change->database, change->table,
                                              change->has_commit ? change->commit_ts : UINT64_MAX);
            const struct ticdc_column *column = schema ? ticdc_table_column(schema, cell, i) : NULL;
            if (column)
                iso_labels_add(labels, &cell->value, text_of(column->type), iso_labels_of_sql);
        }
        if (cell->kind == ISO_CELL_TEXT &&
            iso_labels_number(labels, cell->value, (struct iso_json_text){cell->text, cell->length},
                              &number))
            ticdc_set_integer(cell, number, false);
    }
}

void ticdc_settle_labels(struct ticdc *ticdc, const struct ticdc_change *change)
{
    if (change->has_now)
        settle_labels(ticdc, change, &ticdc->now);
    if (change->has_old)
        settle_labels(ticdc, change, &ticdc->old);
}

/* ---- what rows have shown ---- */

static bool is_table(const struct ticdc_typed *typed, const char *table, size_t length)
{
    return typed->table_length == length && !memcmp(typed->table, table, length);
}

static struct ticdc_typed *find_typed(const struct ticdc *ticdc, const char *table, size_t length)
{
    const struct ticdc_types *types = &ticdc->typed;
    uint32_t number = iso_number_map_get(&types->by_name, iso_hash_text(table, length));
    while (number != ISO_NUMBER_NONE && !is_table(&types->list[number], table, length))
        number = types->list[number].next;
    return number == ISO_NUMBER_NONE ? NULL : &types->list[number];
}

static struct ticdc_typed *typed_of(struct ticdc *ticdc, struct iso_json_text table)
{
    struct ticdc_types *types = &ticdc->typed;
    if (types->last < types->count && is_table(&types->list[types->last], table.at, table.length))
        return &types->list[types->last];
    struct ticdc_typed *typed = find_typed(ticdc, table.at, table.length);
    if (!typed) {
        ISO_GROW(types->list, types->count, types->capacity);
        typed = &types->list[types->count++];
        *typed = (struct ticdc_typed){
            .table = iso_copy_text(table.at, table.length),
            .table_length = (uint32_t)table.length,
            .next = iso_number_map_put(&types->by_name, iso_hash_text(table.at, table.length),
                                       types->count - 1)};
        types->known++;
    }
    types->last = (uint32_t)(typed - types->list);
    return typed;
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

/* A column of another type than before: nothing says which one a client's text is of. */
static struct iso_value_type join_types(const struct ticdc *ticdc, struct iso_value_type known,
                                        struct iso_value_type said)
{
    bool was = known.kind == ISO_VALUE_LABEL, is = said.kind == ISO_VALUE_LABEL,
         may_be = known.kind == ISO_VALUE_ANY && known.detail == ISO_MAY_BE_LABEL;
    if (was && is)
        return iso_labels_join(&ticdc->typed.labels, known, said);
    return (struct iso_value_type){ISO_VALUE_ANY, false,
                                   was || is || may_be ? ISO_MAY_BE_LABEL : 0};
}

/* What a null is says a column's first value as well. */
static void note_type(struct ticdc *ticdc, struct ticdc_typed *typed, const struct iso_cell *cell,
                      uint32_t guess)
{
    struct ticdc_typed_column *column =
        find_typed_column(typed, cell->name, cell->name_length, guess);
    struct iso_value_type value = cell->value;
    bool is_there = cell->kind != ISO_CELL_NULL && cell->kind != ISO_CELL_UNKNOWN;
    if (column)
        value = is_there && !iso_value_type_equal(column->value, value)
                    ? join_types(ticdc, column->value, value)
                    : column->value;
    if (column && iso_value_type_equal(column->value, value))
        return;
    ticdc->typed.known++;
    if (column) {
        column->value = value;
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
    struct ticdc_typed *typed = typed_of(ticdc, table);
    uint32_t known = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        if (row->cells[i].value.kind <= ISO_VALUE_ROW)
            continue;
        note_type(ticdc, typed, &row->cells[i], known++);
    }
}

void ticdc_note_schema(struct ticdc *ticdc, struct iso_json_text table,
                       const struct ticdc_table *schema)
{
    struct ticdc_typed *typed = typed_of(ticdc, table);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct ticdc_column *column = &schema->columns[i];
        const struct ticdc_typed_column *known =
            find_typed_column(typed, column->name, column->length, i);
        struct iso_cell cell = {.name = column->name,
                                .name_length = column->length,
                                .kind = ISO_CELL_TEXT,
                                .value = ticdc_value_listed(ticdc, text_of(column->type))};
        if (cell.value.kind == ISO_VALUE_LABEL || cell.value.kind == ISO_VALUE_INTEGER ||
            (known && known->value.kind == ISO_VALUE_LABEL))
            note_type(ticdc, typed, &cell, i);
    }
}

void ticdc_copy_types(struct ticdc *ticdc, struct iso_json_text from, struct iso_json_text to)
{
    struct ticdc_typed *copy = typed_of(ticdc, to);
    const struct ticdc_typed *typed = find_typed(ticdc, from.at, from.length);
    for (uint32_t i = 0; typed && i < typed->count; i++)
        note_type(ticdc, copy,
                  &(struct iso_cell){.name = typed->columns[i].name,
                                     .name_length = typed->columns[i].length,
                                     .kind = ISO_CELL_TEXT,
                                     .value = typed->columns[i].value},
                  i);
}

struct iso_value_type ticdc_value_type(const struct iso_decoder *decoder, const char *table,
                                       size_t length, const char *column, size_t column_length)
{
    const struct ticdc *ticdc = (const struct ticdc *)decoder;
    const struct ticdc_typed *typed = find_typed(ticdc, table, length);
    if (!typed)
        return (struct iso_value_type){.detail = ISO_MAY_BE_LABEL};
    if (!typed->count || (!column && ticdc->cells.on))
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
    iso_number_map_release(&ticdc->typed.by_name);
    iso_labels_release(&ticdc->typed.labels);
    ticdc->typed = (struct ticdc_types){.known = ticdc->typed.known};
}

/* In their order: types refer to them by number. */
static void archive_labels(struct iso_labels *labels, struct iso_archive *archive)
{
    uint32_t count = labels->count;
    ISO_ARCHIVE_AS(archive, "labels", count);
    for (uint32_t i = 0; i < count && archive->error->status == ISO_OK; i++) {
        char *list =
            ticdc_archive_text(archive, "list", i < labels->count ? labels->list[i] : NULL);
        if (!archive->restoring || !list)
            continue;
        ISO_GROW(labels->list, labels->count, labels->capacity);
        labels->list[labels->count++] = list;
    }
}

/* As text, a line a column: they are few. `known` goes on: who kept a type knows by it whether that
 * is still so. */
void ticdc_types_archive(struct ticdc *ticdc, struct iso_archive *archive)
{
    uint32_t tables = ticdc->typed.count, known = ticdc->typed.known;
    if (archive->restoring)
        ticdc_types_release(ticdc);
    archive_labels(&ticdc->typed.labels, archive);
    ISO_ARCHIVE_AS(archive, "known", known);
    iso_archive_value(archive, "typed", &tables, sizeof tables);
    iso_archive_expect(archive, tables <= UINT16_MAX);
    for (uint32_t i = 0; i < tables && archive->error->status == ISO_OK; i++) {
        char *table = ticdc_archive_text(archive, "table",
                                         archive->restoring ? NULL : ticdc->typed.list[i].table);
        uint32_t count = archive->restoring ? 0 : ticdc->typed.list[i].count;
        if (archive->restoring && table)
            typed_of(ticdc, text_of(table));
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
                note_type(ticdc, &ticdc->typed.list[ticdc->typed.last], &cell, c);
            iso_free(name);
        }
        if (archive->restoring)
            iso_free(table);
    }
    ticdc->typed.known = known;
}
