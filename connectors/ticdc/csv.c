/* csv, as TiCDC's storage sinks write it: any number of lines a message.
 *
 *     "I","t","test",435661838416609281,"a",123          operation, table, database, commit
 *                                                        timestamp, columns
 *     "D","t","test",435661838416609281,true,"a",123     with output-old-value: whether it is half
 *                                                        of an update
 *
 * Columns have no names here: they and the key come from the table's schema file (options->schema).
 * Needs include-commit-ts=true. Between quotes a quote is doubled; with quote="" a backslash
 * escapes CR, LF, itself and the delimiter. A field without quotes that is the text of NULL is
 * NULL. An update with its old value is a D and an I. {"checkpoint-ts":N}, the sink's metadata
 * file, is a watermark.
 */
#include "base/memory.h"
#include "base/utf8.h"
#include "connectors/ticdc/tables.h"

enum { FIELDS_FIXED = 4 };

struct csv_state {
    char *delimiter, *quote, *null;
    size_t delimiter_length, quote_length, null_length;
    struct csv_field {
        struct iso_json_text text;
        bool is_null;
    } * fields;
    uint32_t count, capacity;
    bool told; /* what schema files say happened to tables */
};

/* The lines that are still to be read. */
struct lines {
    const char *at, *end;
    unsigned line;
};

static bool starts_with(const struct lines *lines, const char *text, size_t length)
{
    return length && (size_t)(lines->end - lines->at) >= length && *lines->at == *text &&
           (length == 1 || !memcmp(lines->at, text, length));
}

static bool at_line_end(const struct lines *lines)
{
    return lines->at == lines->end || *lines->at == '\n' ||
           (*lines->at == '\r' && lines->end - lines->at > 1 && lines->at[1] == '\n');
}

/* ---- fields ---- */

/* Between quotes; the text is put together in `room`. NULL, or what is wrong. */
static const char *read_quoted(const struct csv_state *state, struct lines *lines,
                               struct iso_json_text *text, char *room)
{
    size_t size = 0;
    lines->at += state->quote_length;
    for (;;) {
        size_t left = (size_t)(lines->end - lines->at);
        const char *found = left ? memchr(lines->at, *state->quote, left) : NULL;
        if (!found)
            return "a quote that is not closed";
        size_t plain = (size_t)(found - lines->at);
        memcpy(room + size, lines->at, plain);
        size += plain;
        lines->at = found;
        if (!starts_with(lines, state->quote,
                         state->quote_length)) { /* the first byte of a longer one */
            room[size++] = *lines->at++;
            continue;
        }
        lines->at += state->quote_length;
        if (!starts_with(lines, state->quote, state->quote_length))
            break;
        memcpy(room + size, state->quote, state->quote_length);
        size += state->quote_length;
        lines->at += state->quote_length;
    }
    *text = (struct iso_json_text){room, size};
    return at_line_end(lines) || starts_with(lines, state->delimiter, state->delimiter_length)
               ? NULL
               : "something behind a closing quote";
}

static const char *read_escaped(const struct csv_state *state, struct lines *lines,
                                struct iso_json_text *text, char *room)
{
    size_t size = 0;
    while (!at_line_end(lines) && !starts_with(lines, state->delimiter, state->delimiter_length)) {
        if (*lines->at == '\\' && !state->quote_length) {
            if (++lines->at == lines->end)
                return "an escape that is cut off";
            char letter = *lines->at++;
            room[size++] = letter == 'n' ? '\n' : letter == 'r' ? '\r' : letter;
        } else {
            room[size++] = *lines->at++;
        }
    }
    *text = (struct iso_json_text){room, size};
    return NULL;
}

static const char *read_field(struct ticdc *ticdc, struct lines *lines)
{
    struct csv_state *state = ticdc->state;
    const char *start = lines->at;
    char *room = ticdc->room.bytes.bytes + ticdc->room.bytes.used;
    ISO_GROW(state->fields, state->count, state->capacity);
    struct csv_field *field = &state->fields[state->count++];
    bool quoted = starts_with(lines, state->quote, state->quote_length);
    const char *wrong = quoted ? read_quoted(state, lines, &field->text, room)
                               : read_escaped(state, lines, &field->text, room);
    field->is_null = !wrong && !quoted &&
                     iso_payload_is((struct iso_json_text){start, (size_t)(lines->at - start)},
                                    state->null, state->null_length);
    ticdc->room.bytes.used += wrong ? 0 : field->text.length;
    return wrong;
}

/* A line's fields, and past its end. */
static const char *read_line(struct ticdc *ticdc, struct lines *lines)
{
    struct csv_state *state = ticdc->state;
    const char *wrong;
    state->count = 0;
    for (;;) {
        if ((wrong = read_field(ticdc, lines)))
            return wrong;
        if (at_line_end(lines))
            break;
        lines->at += state->delimiter_length;
    }
    while (lines->at < lines->end && *lines->at == '\r')
        lines->at++;
    lines->at += lines->at < lines->end;
    lines->line++;
    return NULL;
}

/* ---- rows ---- */

/* What is base64, else. */
static bool may_be_hexadecimal(struct iso_json_text text)
{
    bool may = text.length && text.length % 2 == 0;
    for (size_t i = 0; may && i < text.length; i++)
        may = (text.at[i] >= '0' && text.at[i] <= '9') || (text.at[i] >= 'a' && text.at[i] <= 'f');
    return may;
}

static enum iso_status fill_row(struct ticdc *ticdc, struct iso_row *row,
                                const struct ticdc_table *table, uint32_t first,
                                struct iso_error *error)
{
    const struct csv_state *state = ticdc->state;
    iso_row_clear(row);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct csv_field *field = &state->fields[first + i];
        struct iso_cell *cell = iso_row_add(row, table->columns[i].name, table->columns[i].length);
        const char *type = table->columns[i].type;
        cell->value = ticdc_value_of((struct iso_json_text){type, strlen(type)});
        if (cell->value.kind == ISO_VALUE_LABEL)
            cell->value.detail |= ISO_LABELS_NAMED;
        if (cell->value.kind == ISO_VALUE_BYTES) { /* no message says which of both it is */
            cell->value.kind = ISO_VALUE_ANY;
            cell->is_doubted = may_be_hexadecimal(field->text);
        }
        if (field->is_null)
            continue;
        if (!iso_utf8_valid((const uint8_t *)field->text.at, field->text.length))
            return ticdc_refuse(error, "column",
                                (struct iso_json_text){cell->name, cell->name_length}, "UTF-8");
        ticdc_set_text(cell, table->columns[i].class, field->text);
    }
    return ISO_OK;
}

static bool take_number(struct iso_json_text text, uint64_t *number)
{
    struct iso_cell cell = {0};
    ticdc_set_text(&cell, TICDC_INTEGER, text);
    *number = cell.bits;
    return cell.kind == ISO_CELL_INTEGER && !cell.negative;
}

/* The columns' names are the schema's, so that their number tells whether there is a field that
 * says "is update". */
static enum iso_status check_fields(const struct csv_state *state, const struct ticdc_table *table,
                                    uint32_t *first, struct iso_error *error)
{
    *first = state->count - table->column_count;
    if (state->count == FIELDS_FIXED + table->column_count)
        return ISO_OK;
    const struct csv_field *flag = &state->fields[FIELDS_FIXED];
    if (state->count == FIELDS_FIXED + 1 + table->column_count &&
        (ISO_PAYLOAD_IS(flag->text, "true") || ISO_PAYLOAD_IS(flag->text, "false")))
        return ISO_OK;
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "%u fields, expected 4, maybe is-update, and the %u columns of the table's "
        "schema: set include-commit-ts=true and output-handle-key=false in "
        "[sink.csv], or give schema= the table's file of that time",
        state->count, table->column_count);
}

static enum iso_status decode_fields(struct ticdc *ticdc, struct iso_error *error)
{
    struct csv_state *state = ticdc->state;
    const struct csv_field *fields = state->fields;
    struct ticdc_change change = {.has_commit = true};
    uint32_t first;
    if (ISO_PAYLOAD_IS(fields[0].text, "ticdc-meta$operation")) {
        ticdc_add_ignored(ticdc, "a header");
        return ISO_OK;
    }
    if (state->count <= FIELDS_FIXED || !take_number(fields[3].text, &change.commit_ts))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "expected operation, table, database, commit timestamp "
                             "(include-commit-ts=true) and columns");
    char operation = fields[0].text.length == 1 ? *fields[0].text.at : 0;
    if (operation != 'I' && operation != 'U' && operation != 'D')
        return ticdc_refuse(error, "operation", fields[0].text, "I, U or D");
    change.table = fields[1].text;
    change.database = fields[2].text;
    if (!iso_utf8_valid((const uint8_t *)change.table.at, change.table.length) ||
        !iso_utf8_valid((const uint8_t *)change.database.at, change.database.length))
        return iso_error_set(error, ISO_BAD_INPUT, "a table's name that is not UTF-8");
    if (ticdc_pass_over(ticdc, change.database, change.table))
        return ISO_OK;
    const struct ticdc_table *table =
        ticdc_tables_at(&ticdc->known, change.database, change.table, change.commit_ts);
    if (!table)
        return ticdc_refuse(error, "table", change.table, "one whose schema schema=FILE has");
    if (check_fields(state, table, &first, error) != ISO_OK)
        return error->status;
    bool updates = first > FIELDS_FIXED && ISO_PAYLOAD_IS(fields[FIELDS_FIXED].text, "true");
    /* else what an update left, behind what it found */
    change.created = operation == 'I' && !updates;
    change.has_now = operation != 'D';
    change.has_old = !change.has_now;
    const struct ticdc_index *key = ticdc_table_key(table, NULL);
    ticdc->key_count = 0;
    if (key && !ticdc_take_index(ticdc, key))
        return ticdc_too_many_keys(error);
    if (fill_row(ticdc, change.has_now ? &ticdc->now : &ticdc->old, table, first, error) != ISO_OK)
        return error->status;
    return ticdc_add_row(ticdc, &change, error);
}

/* ---- statements ---- */

static bool has_same_columns(const struct ticdc_table *one, const struct ticdc_table *other)
{
    bool same = one->column_count == other->column_count;
    for (uint32_t i = 0; same && i < one->column_count; i++)
        same = !strcmp(one->columns[i].name, other->columns[i].name) &&
               !strcmp(one->columns[i].type, other->columns[i].type);
    return same;
}

/* The column that is a row's value, as it was. */
static bool has_same_value(const struct ticdc *ticdc, const struct ticdc_table *one,
                           const struct ticdc_table *other)
{
    struct iso_cell cell = {.name = ticdc->value,
                            .name_length = (uint32_t)(ticdc->value ? strlen(ticdc->value) : 0)};
    const struct ticdc_column *left = ticdc->value ? ticdc_table_column(one, &cell, 0) : NULL;
    const struct ticdc_column *right = left ? ticdc_table_column(other, &cell, 0) : NULL;
    return right && !strcmp(left->type, right->type);
}

/* What a new version of a table's schema means for its rows: nobody sends the statement. With other
 * columns it was an ALTER TABLE; a first version may be another name, one with the same columns a
 * TRUNCATE, an exchange, or nothing. */
static enum iso_table_change change_of(const struct ticdc *ticdc, const struct ticdc_table *table)
{
    struct iso_json_text database = {table->database, strlen(table->database)},
                         name = {table->table, strlen(table->table)};
    const struct ticdc_table *before =
        ticdc_tables_at(&ticdc->known, database, name, table->version - 1);
    if (!before || before->version >= table->version || has_same_columns(before, table) ||
        ticdc_table_has_other_key(before, table))
        return ISO_TABLE_REPLACED;
    return has_same_value(ticdc, before, table) ? ISO_TABLE_SAME : ISO_TABLE_RESPELT;
}

static void tell_statements(struct ticdc *ticdc)
{
    for (uint32_t i = 0; i < ticdc->known.count; i++) {
        const struct ticdc_table *table = ticdc->known.list[i];
        struct iso_event event = iso_event_of(ticdc->message, ISO_EVENT_SCHEMA);
        if (!table->version ||
            (event.operation = (uint8_t)change_of(ticdc, table)) == ISO_TABLE_SAME)
            continue;
        const struct iso_row_name *name =
            iso_row_names_find(&ticdc->names, &ticdc->events->block.atoms,
                               (struct iso_json_text){table->database, strlen(table->database)},
                               (struct iso_json_text){table->table, strlen(table->table)});
        if (!iso_table_listed(ticdc->tables, name->name.at, name->name.length))
            continue;
        event.table = name->atom;
        event.flags = ISO_EVENT_HAS_CTS | ISO_EVENT_ALONE;
        event.cts.physical = table->version;
        iso_events_add(ticdc->events, &event);
    }
}

static enum iso_status decode_checkpoint(struct ticdc *ticdc, struct iso_error *error)
{
    static const struct ticdc_member members[] = {{"checkpoint-ts", ticdc_member_number, 0},
                                                  {NULL, NULL, 0}};
    struct iso_json *json = &ticdc->json;
    struct ticdc_number timestamp = {0};
    ticdc_start_json(ticdc);
    ticdc_read_members(json, members, &timestamp);
    if (!iso_json_finish(json))
        return iso_payload_fault(json, error);
    if (!timestamp.has)
        return iso_error_set(error, ISO_BAD_INPUT, "expected the member checkpoint-ts");
    ticdc_add_watermark(ticdc, timestamp.is);
    return ISO_OK;
}

static enum iso_status decode(struct ticdc *ticdc, struct iso_error *error)
{
    const char *text = (const char *)ticdc->message->payload.data;
    if (!text) {
        ticdc_add_ignored(ticdc, "tombstone");
        return ISO_OK;
    }
    struct lines lines = {text, text + ticdc->message->payload.size, 1};
    struct csv_state *state = ticdc->state;
    if (!state->told)
        tell_statements(ticdc);
    if (ticdc->message->payload.size && *text == '{')
        return decode_checkpoint(ticdc, error);
    if (!ticdc->message->payload.size)
        return iso_error_set(error, ISO_BAD_INPUT, "line 1: no fields");
    while (lines.at < lines.end) {
        struct iso_error wrong = {.status = ISO_OK};
        unsigned line = lines.line;
        const char *expected = read_line(ticdc, &lines);
        if (expected)
            return iso_error_set(error, ISO_BAD_INPUT, "line %u: %s", line, expected);
        if (decode_fields(ticdc, &wrong) != ISO_OK)
            return iso_error_set(error, wrong.status, "line %u: %.900s", line, wrong.text);
    }
    state->told = true;
    return ISO_OK;
}

static char *copy_option(const char *given, const char *standard, size_t *length)
{
    const char *text = given ? given : standard;
    *length = strlen(text);
    return iso_copy_text(text, *length);
}

static enum iso_status create(struct ticdc *ticdc, const struct iso_decoder_options *options,
                              struct iso_error *error)
{
    struct csv_state *state = iso_allocate_zeroed(1, sizeof *state);
    ticdc->state = state;
    state->delimiter = copy_option(options->delimiter, ",", &state->delimiter_length);
    state->quote = copy_option(options->quote, "\"", &state->quote_length);
    state->null = copy_option(options->null, "\\N", &state->null_length);
    if (!state->delimiter_length || strpbrk(state->delimiter, "\r\n"))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "delimiter of csv: expected one, without line ends");
    if (!options->schema)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "format=csv of a ticdc source: expected schema=FILE, since csv does not "
            "name columns");
    return ticdc_tables_read(ticdc, &ticdc->known, options->schema, ticdc_table_read_storage,
                             error);
}

static void destroy(struct ticdc *ticdc)
{
    struct csv_state *state = ticdc->state;
    if (!state)
        return;
    ISO_FREE_ALL(state->delimiter, state->quote, state->null, state->fields, state);
}

const struct ticdc_protocol ticdc_csv = {
    .format = "csv", .create = create, .decode = decode, .destroy = destroy};
