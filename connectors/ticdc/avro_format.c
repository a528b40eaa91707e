/* The Avro protocol with TiDB's extension: Confluent's frame around one record, one table a topic.
 *
 *     key    00 | schema id | the key's columns
 *     value  00 | schema id | columns | _tidb_op | _tidb_commit_ts | .. | _ticdc_before (with
 *            avro-include-before-value)
 *
 * A delete is a key with a null value and has no commit timestamp: it is refused, since it cannot
 * be placed. With avro-include-before-value it is a record with _tidb_op "d". The switch
 * avro-enable-watermark adds values that are no frames: 01 and JSON is a DDL, 02 and 8 bytes a
 * watermark, 03 and 8 bytes a delete's commit timestamp.
 *
 * The table is the record's name, its database the last part of the namespace; characters that
 * Avro's names do not have are `_` in both, and in columns' names.
 */
#include "base/memory.h"
#include "connectors/avro/cursor.h"
#include "connectors/registry/schemas.h"
#include "connectors/ticdc/avro_schema.h"
#include "connectors/ticdc/tables.h"
#include "connectors/cdc_common/framing.h"

enum { MAGIC_FRAME = 0, MAGIC_DDL = 1, MAGIC_WATERMARK = 2, MAGIC_DELETE = 3, WORD = 8 };

struct avro_state {
    struct iso_schemas schemas;
    struct ticdc_avro *value, *key; /* from a file: everybody's; NULL: the registry has them */
};

/* The members of the TiDB extension in a row. */
struct extension {
    struct iso_json_text operation;
    uint64_t commit_ts;
    bool has_operation, has_commit, has_before;
};

/* The schema of one part of the message, and its bytes. */
static enum iso_status open_part(struct ticdc *ticdc, enum iso_frame_part part,
                                 const struct ticdc_avro **schema, struct iso_avro_cursor *cursor,
                                 struct iso_error *error)
{
    struct avro_state *state = ticdc->state;
    struct iso_frame frame;
    const char *expected;
    if (!iso_frame_open(ticdc->message, part, false, &frame, &expected))
        return iso_error_set(error, ISO_BAD_INPUT, "%s: expected %s",
                             part == ISO_FRAME_KEY ? "key" : "payload", expected);
    *schema = part == ISO_FRAME_KEY ? state->key : state->value;
    if (!*schema && !(*schema = iso_schemas_find(&state->schemas, frame.schema_id, error)))
        return error->status;
    iso_avro_start(cursor, frame.bytes, frame.size);
    return ISO_OK;
}

/* ---- values ---- */

/* Up to 8 bytes, high ones first. */
static void set_bit(struct iso_cell *cell, struct iso_json_text run)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < run.length; i++)
        bits = bits << 8 | (uint8_t)run.at[i];
    ticdc_set_integer(cell, bits, false);
}

static void read_binary(struct iso_avro_cursor *cursor, const struct iso_avro_type *type,
                        struct iso_cell *cell)
{
    struct iso_json_text run = iso_avro_run(cursor);
    if (type->use == AVRO_BIT && !type->is_decimal && run.length <= 8) {
        set_bit(cell, run);
        return;
    }
    ticdc_set_bytes(cell, run.at, run.length);
    if (!type->is_decimal)
        return;
    cell->kind = ISO_CELL_DECIMAL;
    cell->scale = type->scale;
    if (!run.length || run.length > ISO_CELL_DECIMAL_BYTES)
        iso_avro_fail(cursor, "a decimal of 1 to 64 bytes");
}

/* A column's value, which is no record. */
__attribute__((always_inline)) static inline void
read_cell(struct iso_avro_cursor *cursor, const struct iso_avro_type *type, struct iso_cell *cell)
{
    struct iso_json_text run;
    int64_t number;
    switch ((enum iso_avro_shape)type->shape) {
    case ISO_AVRO_BOOLEAN:
        cell->kind = ISO_CELL_BOOLEAN;
        cell->bits = iso_avro_boolean(cursor);
        break;
    case ISO_AVRO_INT:
    case ISO_AVRO_LONG:
        number = type->shape == ISO_AVRO_INT ? iso_avro_int(cursor) : iso_avro_long(cursor);
        ticdc_set_integer(cell, (uint64_t)number, number < 0 && type->use != AVRO_UNSIGNED);
        break;
    case ISO_AVRO_FLOAT:
        cell->kind = ISO_CELL_FLOAT;
        cell->bits = iso_avro_word(cursor, 4);
        break;
    case ISO_AVRO_DOUBLE:
        cell->kind = ISO_CELL_DOUBLE;
        cell->bits = iso_avro_word(cursor, 8);
        break;
    case ISO_AVRO_STRING:
        run = iso_avro_string(cursor);
        cell->kind = ISO_CELL_TEXT;
        cell->text = run.at;
        cell->length = (uint32_t)run.length;
        break;
    case ISO_AVRO_BYTES:
        read_binary(cursor, type, cell);
        break;
    default:
        cell->kind = ISO_CELL_NULL;
    }
}

/* Takes a column of the extension. */
static void take_extension(struct iso_avro_cursor *cursor, unsigned role,
                           const struct iso_avro_type *type, struct extension *extension)
{
    struct iso_cell cell = {.kind = ISO_CELL_NULL};
    read_cell(cursor, type, &cell);
    if (cell.kind == ISO_CELL_NULL || !extension)
        return;
    if (role == AVRO_OPERATION) {
        extension->has_operation = cell.kind == ISO_CELL_TEXT;
        if (extension->has_operation)
            extension->operation = (struct iso_json_text){cell.text, cell.length};
    } else if (role == AVRO_COMMIT) {
        if (cell.kind != ISO_CELL_INTEGER || cell.negative)
            iso_avro_fail(cursor, "a commit timestamp that is an unsigned number");
        extension->has_commit = true;
        extension->commit_ts = cell.bits;
    }
}

/* A record's columns to `row`; `extension` NULL: there is to be none. */
static void read_row(struct ticdc *ticdc, const struct ticdc_avro *schema,
                     const struct iso_avro_type *record, struct iso_avro_cursor *cursor,
                     struct iso_row *row, struct extension *extension)
{
    iso_row_clear(row);
    for (uint32_t i = 0; i < record->count && !cursor->expected; i++) {
        const struct iso_avro_field *field = &record->fields[i];
        const struct iso_avro_type *type = iso_avro_inside(field->type, cursor);
        unsigned role = field->use[0];
        if (role == AVRO_COLUMN && type->shape != ISO_AVRO_RECORD) {
            struct iso_cell *cell = iso_row_add(row, field->name, field->length);
            read_cell(cursor, type, cell);
            cell->value = type->value;
            if (type->digest && type->value.kind == ISO_VALUE_LABEL) {
                const char *allowed = schema->labels.bytes + type->digest - 1;
                iso_labels_add(&ticdc->typed.labels, &cell->value,
                               (struct iso_json_text){allowed, strlen(allowed)},
                               iso_labels_of_allowed);
            }
        } else if (type->shape == ISO_AVRO_RECORD) {
            read_row(ticdc, schema, type, cursor, extension ? &ticdc->old : &ticdc->types, NULL);
            if (extension && role == AVRO_BEFORE)
                extension->has_before = true;
        } else if (role == AVRO_EXTENSION) {
            iso_avro_skip(type, cursor);
        } else {
            take_extension(cursor, role, type, extension);
        }
    }
}

/* ---- messages ---- */

static enum iso_status check_end(struct iso_avro_cursor *cursor, const char *part,
                                 struct iso_error *error)
{
    return iso_avro_finish(cursor)
               ? ISO_OK
               : iso_error_set(error, ISO_BAD_INPUT, "%s, byte %zu of the record: expected %s",
                               part, cursor->position + 1, cursor->expected);
}

/* Reads the key into `row`, whose columns are the key's. */
static enum iso_status read_key(struct ticdc *ticdc, struct iso_row *row,
                                const struct ticdc_avro **schema, struct iso_error *error)
{
    struct iso_avro_cursor cursor;
    if (!ticdc->message->key.data)
        return iso_error_set(error, ISO_BAD_INPUT, "a row without a key");
    if (open_part(ticdc, ISO_FRAME_KEY, schema, &cursor, error) != ISO_OK)
        return error->status;
    read_row(ticdc, *schema, (*schema)->schema->root, &cursor, row, NULL);
    if (check_end(&cursor, "key", error) != ISO_OK)
        return error->status;
    for (uint32_t i = 0; i < row->count; i++)
        if (!ticdc_add_key(ticdc,
                           (struct iso_json_text){row->cells[i].name, row->cells[i].name_length}))
            return ticdc_too_many_keys(error);
    return ISO_OK;
}

static void name_table(struct ticdc_change *change, const struct ticdc_avro *schema)
{
    change->database = schema->database;
    change->table = schema->table;
}

static enum iso_status take_operation(struct ticdc *ticdc, const struct extension *extension,
                                      struct ticdc_change *change, struct iso_error *error)
{
    if (!extension->has_operation || !extension->has_commit)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "a row without _tidb_op or _tidb_commit_ts: expected "
                             "enable-tidb-extension=true");
    change->commit_ts = extension->commit_ts;
    change->has_commit = true;
    change->has_now = true;
    change->has_old = extension->has_before;
    if (ISO_PAYLOAD_IS(extension->operation, "c")) {
        change->created = true;
        change->has_old = false;
    } else if (ISO_PAYLOAD_IS(extension->operation,
                              "d")) { /* its columns are those of the row that is gone */
        iso_row_swap(&ticdc->old, &ticdc->now);
        change->has_now = false;
        change->has_old = true;
    } else if (!ISO_PAYLOAD_IS(extension->operation, "u")) {
        return ticdc_refuse(error, "_tidb_op", extension->operation, "c, u or d");
    }
    return ISO_OK;
}

static enum iso_status decode_row(struct ticdc *ticdc, struct iso_error *error)
{
    const struct ticdc_avro *schema, *key;
    struct iso_avro_cursor cursor;
    struct extension extension = {.operation = {"", 0}};
    struct ticdc_change change = {.has_now = true};
    if (open_part(ticdc, ISO_FRAME_PAYLOAD, &schema, &cursor, error) != ISO_OK)
        return error->status;
    name_table(&change, schema);
    if (ticdc_pass_over(ticdc, change.database, change.table))
        return ISO_OK;
    read_row(ticdc, schema, schema->schema->root, &cursor, &ticdc->now, &extension);
    if (check_end(&cursor, "payload", error) != ISO_OK ||
        read_key(ticdc, &ticdc->types, &key, error) != ISO_OK ||
        take_operation(ticdc, &extension, &change, error) != ISO_OK)
        return error->status;
    return ticdc_add_row(ticdc, &change, error);
}

static uint64_t word(const uint8_t *at)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < WORD; i++)
        number = number << 8 | at[i];
    return number;
}

/* A delete of which only the key and the commit timestamp are known. */
static enum iso_status decode_delete(struct ticdc *ticdc, uint64_t commit_ts,
                                     struct iso_error *error)
{
    const struct ticdc_avro *schema;
    struct ticdc_change change = {
        .commit_ts = commit_ts, .has_commit = true, .has_old = true, .keys_only = true};
    if (read_key(ticdc, &ticdc->old, &schema, error) != ISO_OK)
        return error->status;
    name_table(&change, schema);
    if (ticdc_pass_over(ticdc, change.database, change.table))
        return ISO_OK;
    return ticdc_add_row(ticdc, &change, error);
}

/* {"query":"..","type":"..","schema":"..","table":"..","commitTs":..} */
static enum iso_status decode_ddl(struct ticdc *ticdc, struct iso_error *error)
{
    struct statement {
        struct iso_json_text database, table, query;
        struct ticdc_number commit_ts;
    } said = {.database = {"", 0}, .table = {"", 0}, .query = {"", 0}};
    static const struct ticdc_member members[] = {
        {"schema", NULL, offsetof(struct statement, database)},
        {"table", NULL, offsetof(struct statement, table)},
        {"query", NULL, offsetof(struct statement, query)},
        {"commitTs", ticdc_member_number, offsetof(struct statement, commit_ts)},
        {NULL, NULL, 0}};
    struct iso_json *json = &ticdc->json;
    size_t size = ticdc->message->payload.size - 1;
    iso_json_start(json, iso_payload_copy(&ticdc->payload, ticdc->message->payload.data + 1, size),
                   size);
    ticdc_read_members(json, members, &said);
    if (!iso_json_finish(json))
        return iso_payload_fault(json, error);
    if (!said.commit_ts.has)
        return iso_error_set(error, ISO_BAD_INPUT, "a DDL: expected commitTs");
    struct ticdc_ddl ddl = {.database = said.database,
                            .table = said.table,
                            .sql = said.query,
                            .commit_ts = said.commit_ts.is};
    ticdc_take_ddl(ticdc, &ddl);
    return ISO_OK;
}

static enum iso_status decode(struct ticdc *ticdc, struct iso_error *error)
{
    const uint8_t *data = ticdc->message->payload.data;
    size_t size = ticdc->message->payload.size;
    if (!data && !ticdc->message->key.data) {
        ticdc_add_ignored(ticdc, "tombstone");
        return ISO_OK;
    }
    if (!data)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "a delete without a commit timestamp: expected avro-include-before-value=true");
    if (size > 1 && data[0] == MAGIC_DDL && data[1] == '{')
        return decode_ddl(ticdc, error);
    if (size == 1 + WORD && data[0] == MAGIC_WATERMARK) {
        ticdc_add_watermark(ticdc, word(data + 1));
        return ISO_OK;
    }
    if (size == 1 + WORD && data[0] == MAGIC_DELETE)
        return decode_delete(ticdc, word(data + 1), error);
    return decode_row(ticdc, error);
}

/* The payload's schema, then the key's. */
static enum iso_status take_file(struct ticdc *ticdc, const char *text, struct iso_error *error)
{
    struct avro_state *state = ticdc->state;
    struct iso_json *json = &ticdc->key_json;
    size_t length = strlen(text);
    iso_json_start(json, iso_payload_copy(&ticdc->key, text, length), length);
    state->value = ticdc_avro_read(json, error);
    if (state->value)
        state->key = ticdc_avro_read(json, error);
    return state->key && !iso_json_finish(json) ? iso_payload_fault(json, error) : error->status;
}

static enum iso_status create(struct ticdc *ticdc, const struct iso_decoder_options *options,
                              struct iso_error *error)
{
    struct avro_state *state = iso_allocate_zeroed(1, sizeof *state);
    ticdc->state = state;
    state->schemas.registry = options->registry;
    state->schemas.type = ISO_SCHEMA_AVRO;
    state->schemas.parse = ticdc_avro_parse;
    state->schemas.forget = ticdc_avro_forget;
    if (options->schema)
        return take_file(ticdc, options->schema, error);
    if (!options->registry)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "format=avro of a ticdc source: expected registry=URL, or schema=FILE "
                             "with the payload's and the key's schema");
    return ISO_OK;
}

static void destroy(struct ticdc *ticdc)
{
    struct avro_state *state = ticdc->state;
    if (!state)
        return;
    iso_schemas_release(&state->schemas);
    ticdc_avro_forget(state->value);
    ticdc_avro_forget(state->key);
    iso_free(state);
}

const struct ticdc_protocol ticdc_avro = {
    .format = "avro", .create = create, .decode = decode, .destroy = destroy};
