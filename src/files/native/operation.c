/* One operation of the native format, members in any order. */
#include "native/native_private.h"

enum {
    SEEN_KIND = 1,
    SEEN_KEY = 2,
    SEEN_VALUE = 4,
    SEEN_OTS = 8,
    SEEN_LOCK = 16,
    SEEN_SNAPSHOT = 32,
    SEEN_UNKNOWN = 64,
    SEEN_FROM = 128,
    SEEN_TO = 256,
    SEEN_ROWS = 512,
    SEEN_PARTIAL = 1024,
    SEEN_TABLE = 2048,
    SEEN_WHERE = 4096,
    SEEN_AGGREGATES = 8192,
    SEEN_COLUMNS = 16384,
    SEEN_BAG = 32768,
    SEEN_ROW = 65536,
    SEEN_CELLS = 131072,
    SEEN_OF_QUERY = SEEN_WHERE | SEEN_AGGREGATES | SEEN_COLUMNS | SEEN_BAG,
    SEEN_OF_SET = SEEN_FROM | SEEN_TO | SEEN_ROWS | SEEN_PARTIAL | SEEN_TABLE | SEEN_OF_QUERY,
    REASON_BYTES = 32 /* the most of why a value is not known */
};

static const char shape[] = "{\"t\":..,\"k\":..,\"v\":..}";

static bool equals_in_any_case(const struct iso_json_text *text, const char *word)
{
    if (text->length != strlen(word))
        return false;
    for (size_t i = 0; i < text->length; i++) {
        if ((text->at[i] | 0x20) != word[i])
            return false;
    }
    return true;
}

static bool read_kind(struct iso_native *native, struct native_operation *operation)
{
    static const struct {
        const char *letter, *word;
        enum iso_operation_kind kind;
    } kinds[] = {{"r", "read", ISO_READ},
                 {"w", "write", ISO_WRITE},
                 {"a", "append", ISO_APPEND},
                 {"d", "delete", ISO_DELETE}};
    static const char expected[] = "\"r\", \"w\", \"a\", \"d\" or \"q\"";
    struct iso_json_text text;
    const char *at = native_read_word(native, "t", expected, &text);
    if (!at)
        return false;
    operation->is_set = equals_in_any_case(&text, "q") || equals_in_any_case(&text, "query");
    if (operation->is_set)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        operation->kind = kinds[i].kind;
        if (equals_in_any_case(&text, kinds[i].letter) || equals_in_any_case(&text, kinds[i].word))
            return true;
    }
    return native_refuse(native, at, "t is \"%.*s\", expected %s", native_shown(&text), text.at,
                         expected);
}

/* A boolean is its text, as change streams have it. */
static bool read_boolean(struct iso_native *native, const char *what, iso_atom *value)
{
    bool yes;
    if (!native_read_boolean(native, what, &yes))
        return false;
    *value = iso_atoms_text(&native->history->atoms, yes ? "true" : "false", yes ? 4 : 5);
    return true;
}

static bool read_known(struct iso_native *native, const char *what, iso_atom *value)
{
    iso_json_space(&native->json);
    const char *at = native->json.at;
    if (iso_json_peek(&native->json) == ISO_JSON_TRUE ||
        iso_json_peek(&native->json) == ISO_JSON_FALSE)
        return read_boolean(native, what, value);
    if (!native_read_atom(native, what, value))
        return false;
    return !iso_atom_is_unknown(&native->history->atoms, *value) ||
           native_refuse(native, at, "%s begins with U+0002, which is reserved", what);
}

static bool read_list(struct iso_native *native, uint32_t *list)
{
    iso_atom element;
    *list = iso_history_list(native->history);
    if (!iso_json_enter_array(&native->json))
        return native_scanner_fault(native);
    while (iso_json_element(&native->json)) {
        if (!read_known(native, "an element of v", &element))
            return false;
        iso_history_element(native->history, element);
    }
    return native->json.code == ISO_JSON_FINE || native_scanner_fault(native);
}

bool native_read_value(struct iso_native *native, struct native_operation *operation)
{
    enum iso_json_type type = iso_json_peek(&native->json);
    if (type == ISO_JSON_NULL)
        return iso_json_null(&native->json) || native_scanner_fault(native);
    operation->has_value = true;
    operation->is_list = type == ISO_JSON_ARRAY;
    if (operation->is_list)
        return read_list(native, &operation->value);
    return read_known(native, "v", &operation->value);
}

static bool is_reason(const struct iso_json_text *text)
{
    for (size_t i = 0; i < text->length; i++)
        if ((text->at[i] < 'a' || text->at[i] > 'z') && text->at[i] != '-')
            return false;
    return text->length && text->length <= REASON_BYTES;
}

/* In place of a value: why nobody knows it. */
static bool read_unknown(struct iso_native *native, struct native_operation *operation)
{
    char value[1 + REASON_BYTES] = {ISO_ATOM_UNKNOWN};
    struct iso_json_text text;
    const char *at = native_read_word(native, "unknown", "a word of a to z and -", &text);
    if (!at)
        return false;
    if (!native->of_file)
        return native_refuse(native, at, "unknown stands in joined histories only, expected \"v\"");
    if (!is_reason(&text))
        return native_refuse(native, at, "unknown is \"%.*s\", expected a word of a to z and -",
                             native_shown(&text), text.at);
    memcpy(value + 1, text.at, text.length);
    operation->value = iso_atoms_add_string(&native->history->atoms, value, 1 + text.length);
    operation->is_unknown = true;
    return true;
}

static unsigned known_member(const struct iso_json_text *name)
{
    if (name->length == 1)
        return name->at[0] == 't'   ? SEEN_KIND
               : name->at[0] == 'k' ? SEEN_KEY
               : name->at[0] == 'v' ? SEEN_VALUE
                                    : 0;
    if (iso_json_is(name, "ots"))
        return SEEN_OTS;
    return iso_json_is(name, "lock")       ? SEEN_LOCK
           : iso_json_is(name, "snapshot") ? SEEN_SNAPSHOT
           : iso_json_is(name, "unknown")  ? SEEN_UNKNOWN
           : iso_json_is(name, "from")     ? SEEN_FROM
           : iso_json_is(name, "to")       ? SEEN_TO
           : iso_json_is(name, "rows")     ? SEEN_ROWS
           : iso_json_is(name, "partial")  ? SEEN_PARTIAL
           : iso_json_is(name, "row")      ? SEEN_ROW
           : iso_json_is(name, "cells")    ? SEEN_CELLS
           : iso_json_is(name, "table")    ? SEEN_TABLE
           : iso_json_is(name, "where")    ? SEEN_WHERE
           : iso_json_is(name, "agg")      ? SEEN_AGGREGATES
           : iso_json_is(name, "columns")  ? SEEN_COLUMNS
           : iso_json_is(name, "bag")      ? SEEN_BAG
                                           : 0;
}

/* Members of rows with cells, and of queries. */
static bool read_member_of_rows(struct iso_native *native, unsigned member,
                                struct native_operation *operation)
{
    switch (member) {
    case SEEN_ROW:
        return native_read_atom(native, "row", &operation->row);
    case SEEN_CELLS:
        operation->has_cells = true;
        return native_read_cells(native, operation);
    case SEEN_TABLE:
        return native_read_atom(native, "table", &operation->range.table);
    case SEEN_WHERE:
        return native_read_where(native, &operation->range.where);
    case SEEN_AGGREGATES:
        return native_read_aggregates(native, operation);
    case SEEN_COLUMNS:
        return native_read_columns(native, &operation->columns, &operation->column_count);
    case SEEN_BAG:
        return native_read_bag(native, &operation->bag, &operation->width);
    default:
        return iso_json_skip(&native->json) || native_scanner_fault(native);
    }
}

static bool read_member(struct iso_native *native, unsigned member,
                        struct native_operation *operation)
{
    if (member >= SEEN_OTS && native_is_null(native))
        return true;
    switch (member) {
    case SEEN_KIND:
        return read_kind(native, operation);
    case SEEN_KEY:
        return native_read_atom(native, "k", &operation->key);
    case SEEN_VALUE:
        return native_read_value(native, operation);
    case SEEN_OTS:
        operation->has_ots = true;
        return native_read_stamp(native, "ots", &operation->ots, &operation->clock);
    case SEEN_LOCK:
        return native_read_boolean(native, "lock", &operation->lock);
    case SEEN_SNAPSHOT:
        operation->has_snapshot = true;
        return native_read_snapshot(native, &operation->snapshot);
    case SEEN_UNKNOWN:
        return read_unknown(native, operation);
    case SEEN_FROM:
        return native_read_bound(native, "from", &operation->range.from);
    case SEEN_TO:
        return native_read_bound(native, "to", &operation->range.to);
    case SEEN_ROWS:
        return native_read_rows(native, operation);
    case SEEN_PARTIAL:
        return native_read_boolean(native, "partial", &operation->range.is_partial);
    default:
        return read_member_of_rows(native, member, operation);
    }
}
static bool check_range_shape(struct iso_native *native, const char *at, unsigned seen,
                              const struct native_operation *operation)
{
    static const char set[] = "{\"t\":\"q\",\"from\":..,\"to\":..,\"rows\":{..}}";
    if (seen & SEEN_OF_QUERY)
        return native_refuse(native, at,
                             "a row set with a condition, aggregates or a bag lacks \"table\"");
    if (!(seen & SEEN_ROWS))
        return native_refuse(native, at, "a row set lacks \"rows\", expected %s", set);
    if (native_has_query_rows(native->history, operation->rows))
        return native_refuse(native, at, "a row set of rows with cells lacks \"table\"");
    return native->of_file || native->takes_ranges ||
           native_refuse(
               native, at,
               "a row set without \"table\", expected ranges=true on its source, which keeps all keys "
               "from the start");
}

static bool check_query_shape(struct iso_native *native, const char *at, unsigned seen,
                              const struct native_operation *operation)
{
    static const char query[] = "{\"t\":\"q\",\"table\":..,\"where\":..,\"rows\":{..}}";
    bool rows = seen & SEEN_ROWS, aggregates = seen & SEEN_AGGREGATES, bag = seen & SEEN_BAG;
    if (rows + aggregates + bag != 1)
        return native_refuse(
            native, at, "a query with %s of \"rows\", \"agg\" and \"bag\", expected one, as in %s",
            (rows + aggregates + bag) ? "several" : "none", query);
    if (!bag != !(seen & SEEN_COLUMNS))
        return native_refuse(native, at,
                             "a query with \"%s\" alone, expected \"columns\" and \"bag\"",
                             bag ? "bag" : "columns");
    if (bag && operation->width && operation->width != operation->column_count)
        return native_refuse(native, at, "a bag whose rows have %u values, of %u columns",
                             (unsigned)operation->width, (unsigned)operation->column_count);
    return !operation->rows || native_has_query_rows(native->history, operation->rows) ||
           native_refuse(
               native, at,
               "a query of a table whose rows are values, expected cells: {\"7\":{\"c\":1}}");
}

static bool check_set_shape(struct iso_native *native, const char *at, unsigned seen,
                            const struct native_operation *operation)
{
    static const char set[] = "{\"t\":\"q\",\"from\":..,\"to\":..,\"rows\":{..}}";
    if (seen & (SEEN_KEY | SEEN_VALUE | SEEN_UNKNOWN | SEEN_ROW | SEEN_CELLS))
        return native_refuse(native, at, "a row set with \"%s\", expected %s",
                             seen & SEEN_KEY     ? "k"
                             : seen & SEEN_ROW   ? "row"
                             : seen & SEEN_CELLS ? "cells"
                                                 : "v",
                             set);
    return seen & SEEN_TABLE ? check_query_shape(native, at, seen, operation)
                             : check_range_shape(native, at, seen, operation);
}

static bool check_row_shape(struct iso_native *native, const char *at, unsigned seen,
                            const struct native_operation *operation)
{
    static const char row[] = "{\"t\":\"r\",\"row\":..,\"cells\":{..}}";
    if (!(seen & SEEN_KIND) || !(seen & SEEN_ROW))
        return native_refuse(native, at, "an operation lacks \"%s\", expected %s",
                             seen & SEEN_KIND ? "row" : "t", row);
    if (seen & (SEEN_KEY | SEEN_UNKNOWN) || operation->kind == ISO_APPEND)
        return native_refuse(native, at, "%s of a row, expected %s",
                             operation->kind == ISO_APPEND ? "an append" : "k or unknown", row);
    if (operation->kind == ISO_DELETE)
        return !(seen & (SEEN_CELLS | SEEN_VALUE)) ||
               native_refuse(native, at, "a delete of a row with what it had");
    if (seen & SEEN_VALUE &&
        (operation->kind != ISO_READ || operation->has_value || operation->has_cells))
        return native_refuse(
            native, at,
            "a row with \"v\", expected \"cells\", or \"v\":null of a row that was not there");
    return operation->kind == ISO_WRITE || seen & (SEEN_VALUE | SEEN_CELLS) ||
           native_refuse(native, at,
                         "a read of a row lacks \"cells\", or \"v\":null where there was no row");
}

static bool check_shape(struct iso_native *native, const char *at, unsigned seen,
                        const struct native_operation *operation)
{
    if (operation->is_set)
        return check_set_shape(native, at, seen, operation);
    if (seen & (SEEN_ROW | SEEN_CELLS) && !(seen & SEEN_OF_SET))
        return check_row_shape(native, at, seen, operation);
    if (seen & SEEN_OF_SET)
        return native_refuse(
            native, at, "an operation on one key with members of a row set, expected \"t\":\"q\"");
    if (!(seen & SEEN_KIND) || !(seen & SEEN_KEY))
        return native_refuse(native, at, "an operation lacks \"%s\", expected %s",
                             seen & SEEN_KIND ? "k" : "t", shape);
    if (operation->is_unknown && (operation->kind != ISO_WRITE || seen & SEEN_VALUE))
        return native_refuse(native, at,
                             "%s of a value that nobody knows, expected a write without \"v\"",
                             operation->kind == ISO_WRITE ? "a write with \"v\"" : "an operation");
    if (operation->kind == ISO_DELETE && operation->has_value)
        return native_refuse(native, at, "a delete with a value, expected none");
    if (operation->kind == ISO_APPEND && (!operation->has_value || operation->is_list))
        return native_refuse(native, at, "an append of %s, expected one element",
                             operation->is_list ? "a list" : "nothing");
    return true;
}

static const struct native_operation no_operation = {.value = ISO_ABSENT,
                                                     .range = {.from = ISO_ABSENT,
                                                               .to = ISO_ABSENT,
                                                               .table = ISO_ABSENT,
                                                               .where = ISO_ABSENT,
                                                               .returned = ISO_ABSENT}};

/* Operations of what was recorded as one, whose parts have been read. */
static bool take_several(struct iso_native *native, const char *at, unsigned seen,
                         struct native_operation *operation)
{
    bool is_row = !operation->is_set && seen & SEEN_ROW;
    native->leaves_cells |=
        is_row && operation->kind == ISO_WRITE && operation->has_cells && !operation->rows;
    if (is_row)
        native_take_row(native->history, operation);
    else if (operation->is_set && seen & SEEN_BAG)
        native_take_bag(native->history, operation);
    if (operation->is_set && seen & SEEN_TABLE)
        native_take_query(native->history, operation);
    return !operation->is_set || native_check_set(native, at, operation);
}

bool native_read_operation(struct iso_native *native, struct native_operation *operation)
{
    struct iso_json_text name;
    unsigned seen = 0, nulls = 0;
    enum iso_clock clock = operation->clock;
    if (iso_json_peek(&native->json) != ISO_JSON_OBJECT)
        return native_wrong_type(native, "an operation", shape);
    const char *at = native->json.at;
    *operation = no_operation;
    operation->clock = clock;
    if (!iso_json_enter_object(&native->json))
        return native_scanner_fault(native);
    while (iso_json_member(&native->json, &name)) {
        unsigned member = known_member(&name);
        if (member && !native_once(native, &seen, member, &name))
            return false;
        nulls |= member >= SEEN_FROM && iso_json_peek(&native->json) == ISO_JSON_NULL ? member : 0;
        if (!read_member(native, member, operation))
            return false;
    }
    if (native->json.code != ISO_JSON_FINE)
        return native_scanner_fault(native);
    seen &= ~nulls;
    return check_shape(native, at, seen, operation) && take_several(native, at, seen, operation);
}
