/* The Avro protocol with TiDB's extension: Confluent's frame around one record, one table a topic.
 *
 *     key    00 | schema id | the key's columns
 *     value  00 | schema id | columns | _tidb_op | _tidb_commit_ts | .. | _ticdc_before (with
 * avro-include-before-value)
 *
 * A delete is a key with a null value and has no commit timestamp: it is refused, since it cannot be placed. With
 * avro-include-before-value it is a record with _tidb_op "d". The switch avro-enable-watermark adds values that are no
 * frames: 01 and JSON is a DDL, 02 and 8 bytes a watermark, 03 and 8 bytes a delete's commit timestamp.
 *
 * The table is the record's name, its database the last part of the namespace; characters that Avro's names do not have
 * are `_` in both, and in columns' names.
 */
#include "base/memory.h"
#include "connectors/ticdc/avro_schema.h"
#include "io/framing.h"

enum { MAGIC_FRAME = 0, MAGIC_DDL = 1, MAGIC_WATERMARK = 2, MAGIC_DELETE = 3, WORD = 8, SCHEMAS_MAX = 256 };

struct avro_writer {
    uint32_t id;
    struct avro_record *record;
};

struct avro_state {
    const struct iso_schema_provider *registry; /* NULL: the two below are everybody's */
    struct avro_record *value, *key;
    uint32_t count, next; /* of `writers`; the one that makes room */
    struct avro_writer writers[SCHEMAS_MAX];
};

/* What the extension says of the row. */
struct extension {
    struct iso_json_text operation;
    uint64_t commit_ts;
    bool has_operation, has_commit, has_before;
};

/* ---- schemas ---- */

static enum iso_status parse(struct ticdc *ticdc, const char *text, size_t length, struct avro_record **first,
                             struct avro_record **second, struct iso_error *error)
{
    struct iso_json *json = &ticdc->key_json;
    iso_json_start(json, iso_payload_copy(&ticdc->key, text, length), length);
    *first = ticdc_avro_record_read(json);
    if (second && json->code == ISO_JSON_FINE)
        *second = ticdc_avro_record_read(json);
    if (iso_json_finish(json))
        return ISO_OK;
    char described[256];
    iso_json_describe(json, described, sizeof described);
    return iso_error_set(error, ISO_BAD_INPUT, "Avro schema, byte %zu: %s", json->position + 1, described);
}

static enum iso_status find(struct ticdc *ticdc, uint32_t id, const struct avro_record **record,
                            struct iso_error *error)
{
    struct avro_state *state = ticdc->state;
    struct iso_schema schema;
    struct avro_record *read;
    for (uint32_t i = 0; i < state->count; i++)
        if (state->writers[i].id == id) {
            *record = state->writers[i].record;
            return ISO_OK;
        }
    if (state->registry->find(state->registry->context, id, &schema, error) != ISO_OK)
        return error->status;
    if (schema.type != ISO_SCHEMA_AVRO)
        return iso_error_set(error, ISO_BAD_INPUT, "schema %u is not an Avro schema", id);
    if (parse(ticdc, schema.text, schema.length, &read, NULL, error) != ISO_OK) {
        ticdc_avro_record_free(read);
        return error->status;
    }
    uint32_t place = state->count < SCHEMAS_MAX ? state->count++ : state->next++ % SCHEMAS_MAX;
    ticdc_avro_record_free(state->writers[place].record);
    state->writers[place] = (struct avro_writer){id, read};
    *record = read;
    return ISO_OK;
}

/* The record that one part of the message is, and its bytes. */
static enum iso_status open_part(struct ticdc *ticdc, const struct iso_message *message, enum iso_frame_part part,
                                 const struct avro_record **record, struct avro_bytes *bytes, struct iso_error *error)
{
    struct avro_state *state = ticdc->state;
    struct iso_frame frame;
    const char *expected;
    if (!iso_frame_open(message, part, false, &frame, &expected))
        return iso_error_set(error, ISO_BAD_INPUT, "%s: expected %s", part == ISO_FRAME_KEY ? "key" : "payload",
                             expected);
    *record = part == ISO_FRAME_KEY ? state->key : state->value;
    if (state->registry && find(ticdc, frame.schema_id, record, error) != ISO_OK)
        return error->status;
    avro_start(bytes, frame.bytes, frame.size);
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

static void read_cell(struct avro_bytes *bytes, const struct avro_type *type, struct iso_cell *cell)
{
    struct iso_json_text run;
    int64_t number;
    switch (type->kind) {
    case AVRO_BOOLEAN:
        cell->kind = ISO_CELL_BOOLEAN;
        cell->bits = avro_boolean(bytes);
        break;
    case AVRO_LONG:
        number = avro_long(bytes);
        ticdc_set_integer(cell, (uint64_t)number, number < 0 && !type->is_unsigned);
        break;
    case AVRO_FLOAT:
        cell->kind = ISO_CELL_FLOAT;
        cell->bits = avro_word(bytes, 4);
        break;
    case AVRO_DOUBLE:
        cell->kind = ISO_CELL_DOUBLE;
        cell->bits = avro_word(bytes, 8);
        break;
    case AVRO_STRING:
        ticdc_set_text(cell, TICDC_TEXT, avro_string(bytes));
        break;
    case AVRO_BYTES:
        run = avro_run(bytes);
        if (type->is_bit && run.length <= 8)
            set_bit(cell, run);
        else
            ticdc_set_bytes(cell, run.at, run.length);
        break;
    case AVRO_DECIMAL:
        run = avro_run(bytes);
        if (!run.length || run.length > ISO_CELL_DECIMAL_BYTES)
            avro_fail(bytes, "a decimal of no bytes or too many");
        ticdc_set_bytes(cell, run.at, run.length);
        cell->kind = ISO_CELL_DECIMAL;
        cell->scale = type->scale;
        break;
    default:
        cell->kind = ISO_CELL_NULL;
    }
}

static void take_extension(struct avro_bytes *bytes, const struct avro_field *field, const struct iso_cell *cell,
                           struct extension *extension)
{
    if (cell->kind == ISO_CELL_NULL || !extension)
        return;
    if (field->role == AVRO_OPERATION) {
        extension->has_operation = cell->kind == ISO_CELL_TEXT;
        if (extension->has_operation)
            extension->operation = (struct iso_json_text){cell->text, cell->length};
    } else if (field->role == AVRO_COMMIT) {
        if (cell->kind != ISO_CELL_INTEGER || cell->negative)
            avro_fail(bytes, "a commit timestamp that is no unsigned number");
        extension->has_commit = true;
        extension->commit_ts = cell->bits;
    }
}

/* A record's columns to `row`; `extension` NULL: there is to be none. */
static void read_row(struct ticdc *ticdc, struct avro_bytes *bytes, const struct avro_record *record,
                     struct iso_row *row, struct extension *extension)
{
    iso_row_clear(row);
    for (uint32_t i = 0; i < record->count && !bytes->wrong; i++) {
        const struct avro_field *field = &record->fields[i];
        const struct avro_type *type = &field->branches[field->is_union ? avro_choice(bytes, field->branch_count) : 0];
        struct iso_cell beside = {.name = field->name, .name_length = field->length};
        if (type->kind == AVRO_ROW) {
            read_row(ticdc, bytes, field->record, extension ? &ticdc->old : &ticdc->types, NULL);
            if (extension && field->role == AVRO_BEFORE)
                extension->has_before = true;
            continue;
        }
        bool is_column = field->role == AVRO_COLUMN;
        struct iso_cell *cell = is_column ? iso_row_add(row, field->name, field->length) : &beside;
        read_cell(bytes, type, cell);
        if (!is_column)
            take_extension(bytes, field, cell, extension);
    }
}

/* ---- messages ---- */

static enum iso_status check_end(struct avro_bytes *bytes, const char *part, struct iso_error *error)
{
    if (!bytes->wrong && bytes->at != bytes->end)
        avro_fail(bytes, "bytes behind the record");
    if (bytes->wrong)
        return iso_error_set(error, ISO_BAD_INPUT, "%s, byte %zu of the record: %s", part, bytes->position + 1,
                             bytes->wrong);
    return ISO_OK;
}

/* Reads the key into `row`, whose columns are the key's. */
static enum iso_status read_key(struct ticdc *ticdc, const struct iso_message *message, struct iso_row *row,
                                const struct avro_record **record, struct iso_error *error)
{
    struct avro_bytes bytes;
    if (!message->key.data)
        return iso_error_set(error, ISO_BAD_INPUT, "a row without a key");
    if (open_part(ticdc, message, ISO_FRAME_KEY, record, &bytes, error) != ISO_OK)
        return error->status;
    read_row(ticdc, &bytes, *record, row, NULL);
    if (check_end(&bytes, "key", error) != ISO_OK)
        return error->status;
    for (uint32_t i = 0; i < row->count; i++)
        if (!ticdc_add_key(ticdc, (struct iso_json_text){row->cells[i].name, row->cells[i].name_length}))
            return ticdc_too_many_keys(error);
    return ISO_OK;
}

static void name_table(struct ticdc_change *change, const struct avro_record *record)
{
    const char *dot = strrchr(record->space, '.');
    const char *database = dot ? dot + 1 : record->space;
    change->database = (struct iso_json_text){database, strlen(database)};
    change->table = (struct iso_json_text){record->name, strlen(record->name)};
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
    } else if (ISO_PAYLOAD_IS(extension->operation, "d")) { /* its columns are those of the row that is gone */
        struct iso_row row = ticdc->old;
        ticdc->old = ticdc->now;
        ticdc->now = row;
        change->has_now = false;
        change->has_old = true;
    } else if (!ISO_PAYLOAD_IS(extension->operation, "u")) {
        return ticdc_refuse(error, "_tidb_op", extension->operation, "c, u or d");
    }
    return ISO_OK;
}

static enum iso_status decode_row(struct ticdc *ticdc, const struct iso_message *message, struct iso_events *events,
                                  struct iso_error *error)
{
    const struct avro_record *record, *key;
    struct avro_bytes bytes;
    struct extension extension = {.operation = {"", 0}};
    struct ticdc_change change = {.has_now = true};
    if (open_part(ticdc, message, ISO_FRAME_PAYLOAD, &record, &bytes, error) != ISO_OK)
        return error->status;
    name_table(&change, record);
    if (ticdc_pass_over(ticdc, message, change.database, change.table, events))
        return ISO_OK;
    read_row(ticdc, &bytes, record, &ticdc->now, &extension);
    if (check_end(&bytes, "payload", error) != ISO_OK ||
        read_key(ticdc, message, &ticdc->types, &key, error) != ISO_OK ||
        take_operation(ticdc, &extension, &change, error) != ISO_OK)
        return error->status;
    return ticdc_add_row(ticdc, message, &change, events, error);
}

static uint64_t word(const uint8_t *at)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < WORD; i++)
        number = number << 8 | at[i];
    return number;
}

/* A delete of which only the key and the commit timestamp are known. */
static enum iso_status decode_delete(struct ticdc *ticdc, const struct iso_message *message, uint64_t commit_ts,
                                     struct iso_events *events, struct iso_error *error)
{
    const struct avro_record *record;
    struct ticdc_change change = {.commit_ts = commit_ts, .has_commit = true, .has_old = true, .keys_only = true};
    if (read_key(ticdc, message, &ticdc->old, &record, error) != ISO_OK)
        return error->status;
    name_table(&change, record);
    if (ticdc_pass_over(ticdc, message, change.database, change.table, events))
        return ISO_OK;
    return ticdc_add_row(ticdc, message, &change, events, error);
}

/* {"query":"..","type":"..","schema":"..","table":"..","commitTs":..} */
static enum iso_status decode_ddl(struct ticdc *ticdc, const struct iso_message *message, struct iso_events *events,
                                  struct iso_error *error)
{
    struct iso_json *json = &ticdc->json;
    struct iso_json_text name, database = {"", 0}, table = {"", 0}, query = {"", 0};
    uint64_t commit_ts = 0;
    bool has_commit = false;
    size_t size = message->payload.size - 1;
    iso_json_start(json, iso_payload_copy(&ticdc->payload, message->payload.data + 1, size), size);
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "schema"))
            ticdc_read_text(json, &database);
        else if (ISO_PAYLOAD_IS(name, "table"))
            ticdc_read_text(json, &table);
        else if (ISO_PAYLOAD_IS(name, "query"))
            ticdc_read_text(json, &query);
        else if (ISO_PAYLOAD_IS(name, "commitTs"))
            has_commit = ticdc_read_unsigned(json, &commit_ts);
        else
            iso_json_skip(json);
    }
    if (!iso_json_finish(json))
        return iso_payload_fault(json, error);
    if (!has_commit)
        return iso_error_set(error, ISO_BAD_INPUT, "a DDL: expected commitTs");
    ticdc_add_ddl(ticdc, message, database, table, commit_ts, table.length && ticdc_drops_rows(query), events);
    return ISO_OK;
}

static enum iso_status decode(struct ticdc *ticdc, const struct iso_message *message, struct iso_events *events,
                              struct iso_error *error)
{
    const uint8_t *data = message->payload.data;
    size_t size = message->payload.size;
    if (!data && !message->key.data) {
        ticdc_add_ignored(events, message, "tombstone");
        return ISO_OK;
    }
    if (!data)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "a delete without a commit timestamp: expected avro-include-before-value=true");
    if (size > 1 && data[0] == MAGIC_DDL && data[1] == '{')
        return decode_ddl(ticdc, message, events, error);
    if (size == 1 + WORD && data[0] == MAGIC_WATERMARK) {
        ticdc_add_watermark(events, message, word(data + 1));
        return ISO_OK;
    }
    if (size == 1 + WORD && data[0] == MAGIC_DELETE)
        return decode_delete(ticdc, message, word(data + 1), events, error);
    return decode_row(ticdc, message, events, error);
}

static enum iso_status create(struct ticdc *ticdc, const struct iso_decoder_options *options, struct iso_error *error)
{
    struct avro_state *state = iso_allocate_zeroed(1, sizeof *state);
    ticdc->state = state;
    state->registry = options->schema ? NULL : options->registry;
    if (options->schema)
        return parse(ticdc, options->schema, strlen(options->schema), &state->value, &state->key, error);
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
    for (uint32_t i = 0; i < state->count; i++)
        ticdc_avro_record_free(state->writers[i].record);
    ticdc_avro_record_free(state->value);
    ticdc_avro_record_free(state->key);
    iso_free(state);
}

const struct ticdc_protocol ticdc_avro = {.format = "avro", .create = create, .decode = decode, .destroy = destroy};
