/* The simple protocol. Rows do not say what their columns are; schemas come before them, in
 * BOOTSTRAP and DDL messages of their partition, and are kept by database, table and version.
 *
 *     {"version":1,"database":"test","table":"t","tableID":148,"type":"UPDATE","commitTs":..,"startTs":..,"buildTs":..,
 *      "schemaVersion":..,"data":{"id":"1","v":"11"},"old":{"id":"1","v":"10"}}
 *
 * As JSON every column is text, null, or {"location":"Asia/Shanghai","value":"2024-01-01 00:00:00"}
 * for a timestamp.
 */
#include "connectors/ticdc/simple.h"

/* ---- what a message means ---- */

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text ? text : "", text ? strlen(text) : 0};
}

static enum iso_status convert_row(struct ticdc *ticdc, struct iso_row *row,
                                   const struct ticdc_table *table, simple_convert *convert,
                                   struct iso_error *error)
{
    for (uint32_t i = 0; i < row->count; i++) {
        const struct ticdc_column *column = ticdc_table_column(table, &row->cells[i], i);
        if (!column)
            return ticdc_refuse(
                error, "column",
                (struct iso_json_text){row->cells[i].name, row->cells[i].name_length},
                "one that the table's schema has");
        row->cells[i].value = ticdc_value_of(text_of(column->type));
        if (row->cells[i].kind != ISO_CELL_NULL &&
            convert(ticdc, &row->cells[i], column->class, error) != ISO_OK)
            return error->status;
    }
    return ISO_OK;
}

static enum iso_status finish_row(struct ticdc *ticdc, const struct simple *simple,
                                  simple_convert *convert, struct iso_error *error)
{
    struct ticdc_change change = {.database = simple->database,
                                  .table = simple->table,
                                  .commit_ts = simple->commit_ts.is,
                                  .start_ts = simple->start_ts.is,
                                  .has_commit = true,
                                  .has_start = simple->start_ts.has,
                                  .has_now = simple->type != SIMPLE_DELETE,
                                  .has_old = simple->type != SIMPLE_INSERT && simple->has_old,
                                  .created = simple->type == SIMPLE_INSERT,
                                  .is_ordered = true,
                                  .keys_only = simple->keys_only};
    if (ticdc_pass_over(ticdc, simple->database, simple->table))
        return ISO_OK;
    if ((change.has_now && !simple->has_data) || (!change.has_now && !simple->has_old))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "a row: expected data, for an update also old, for a delete old alone");
    if (!simple->schema_version.has)
        return iso_error_set(error, ISO_BAD_INPUT, "a row: expected schemaVersion");
    const struct ticdc_table *table = ticdc_tables_find(&ticdc->known, simple->database,
                                                        simple->table, simple->schema_version.is);
    if (!table)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "no schema of %.*s.%.*s, version %llu: expected a BOOTSTRAP or DDL "
                             "message before, or schema=FILE",
                             simple->database.length < 100 ? (int)simple->database.length : 100,
                             simple->database.at,
                             simple->table.length < 100 ? (int)simple->table.length : 100,
                             simple->table.at, (unsigned long long)simple->schema_version.is);
    const struct ticdc_index *key =
        ticdc_table_key(table, change.has_now ? &ticdc->now : &ticdc->old);
    if (key && !ticdc_take_index(ticdc, key))
        return ticdc_too_many_keys(error);
    if ((change.has_now && convert_row(ticdc, &ticdc->now, table, convert, error) != ISO_OK) ||
        (change.has_old && convert_row(ticdc, &ticdc->old, table, convert, error) != ISO_OK))
        return error->status;
    return ticdc_add_row(ticdc, &change, error);
}

/* Keeps the schema. */
static void note_schema(struct ticdc *ticdc, struct simple *simple)
{
    if (simple->schema)
        ticdc_tables_put(&ticdc->known, simple->schema);
    simple->schema = NULL;
}

/* A table of that name and another id, whose statement did not come: the changefeed's filter leaves
 * it out, or it stood before the first message. */
static void finish_bootstrap(struct ticdc *ticdc, struct simple *simple)
{
    const struct ticdc_table *schema = simple->schema;
    struct iso_json_text database = text_of(schema->database), name = text_of(schema->table);
    const struct ticdc_table *before =
        ticdc_tables_at(&ticdc->known, database, name, schema->version);
    bool is_other = before && before->id && schema->id && before->id != schema->id;
    struct iso_event event = iso_event_of(ticdc->message, ISO_EVENT_SCHEMA);
    if (is_other && !ticdc_pass_over(ticdc, database, name)) {
        event.operation = ISO_TABLE_REPLACED;
        event.table =
            iso_row_names_find(&ticdc->names, &ticdc->events->block.atoms, database, name)->atom;
        event.flags = ISO_EVENT_HAS_CTS | ISO_EVENT_ALONE;
        event.cts.physical = schema->version;
        iso_events_add(ticdc->events, &event);
    } else if (!is_other) {
        ticdc_add_ignored(ticdc, "a bootstrap: the table's schema");
    }
    note_schema(ticdc, simple);
}

static enum iso_status finish_ddl(struct ticdc *ticdc, struct simple *simple,
                                  struct iso_error *error)
{
    const struct ticdc_table *table = simple->schema ? simple->schema : simple->previous_schema;
    bool drops = simple->type == SIMPLE_ERASE;
    if (drops && !table)
        return iso_error_set(error, ISO_BAD_INPUT, "a table that is dropped: expected tableSchema");
    struct ticdc_ddl ddl = {.database = text_of(table ? table->database : NULL),
                            .table = text_of(table ? table->table : NULL),
                            .sql = simple->sql,
                            .commit_ts = simple->commit_ts.is,
                            .empties = drops,
                            .before = simple->previous_schema,
                            .after = simple->schema};
    ticdc_add_ddl(ticdc, &ddl);
    note_schema(ticdc, simple);
    return ISO_OK;
}

static enum iso_status finish(struct ticdc *ticdc, struct simple *simple, simple_convert *convert,
                              struct iso_error *error)
{
    if (!simple->version.has || simple->version.is != SIMPLE_VERSION)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "version %llu of the simple protocol, expected %d",
                             (unsigned long long)simple->version.is, SIMPLE_VERSION);
    if (simple->type == SIMPLE_NONE)
        return iso_error_set(error, ISO_BAD_INPUT, "expected the member type");
    if (simple->type == SIMPLE_BOOTSTRAP && !simple->schema)
        return iso_error_set(error, ISO_BAD_INPUT, "a bootstrap: expected tableSchema");
    if (simple->type != SIMPLE_BOOTSTRAP && !simple->commit_ts.has)
        return iso_error_set(error, ISO_BAD_INPUT, "expected the member commitTs");
    if (simple->type == SIMPLE_WATERMARK) {
        ticdc_add_watermark(ticdc, simple->commit_ts.is);
    } else if (simple->type == SIMPLE_BOOTSTRAP) {
        finish_bootstrap(ticdc, simple);
    } else if (simple->type == SIMPLE_DDL || simple->type == SIMPLE_ERASE) {
        return finish_ddl(ticdc, simple, error);
    } else {
        return finish_row(ticdc, simple, convert, error);
    }
    return ISO_OK;
}

enum iso_status simple_finish(struct ticdc *ticdc, struct simple *simple, simple_convert *convert,
                              struct iso_error *error)
{
    enum iso_status status =
        error->status == ISO_OK ? finish(ticdc, simple, convert, error) : error->status;
    ticdc_table_free(simple->schema);
    ticdc_table_free(simple->previous_schema);
    return status;
}

enum iso_status simple_create(struct ticdc *ticdc, const struct iso_decoder_options *options,
                              struct iso_error *error)
{
    return options->schema ? ticdc_tables_read(ticdc, &ticdc->known, options->schema,
                                               ticdc_table_read_simple, error)
                           : ISO_OK;
}

/* ---- JSON ---- */

static bool take_type(struct simple *simple, struct iso_json_text text)
{
    static const struct {
        const char *name;
        enum simple_type type;
    } types[] = {
        {"INSERT", SIMPLE_INSERT},       {"UPDATE", SIMPLE_UPDATE},       {"DELETE", SIMPLE_DELETE},
        {"WATERMARK", SIMPLE_WATERMARK}, {"BOOTSTRAP", SIMPLE_BOOTSTRAP}, {"CREATE", SIMPLE_DDL},
        {"RENAME", SIMPLE_DDL},          {"CINDEX", SIMPLE_DDL},          {"DINDEX", SIMPLE_DDL},
        {"ALTER", SIMPLE_DDL},           {"QUERY", SIMPLE_DDL},           {"ERASE", SIMPLE_ERASE},
        {"TRUNCATE", SIMPLE_ERASE}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (iso_payload_is(text, types[i].name, strlen(types[i].name))) {
            simple->type = types[i].type;
            return true;
        }
    return false;
}

static void read_schema(struct iso_json *json, void *into)
{
    struct ticdc_table **schema = into;
    if (!iso_json_take_null(json))
        *schema = ticdc_table_read_simple(json);
}

static void read_type(struct iso_json *json, void *into)
{
    struct iso_json_text text;
    const char *start = json->at;
    if (iso_json_string(json, &text) && !take_type(into, text))
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start,
                      "a type: INSERT, UPDATE, DELETE, WATERMARK, BOOTSTRAP or a DDL's");
}

static void read_data(struct iso_json *json, void *into)
{
    struct simple *simple = into;
    simple->has_data = ticdc_read_row(json, &simple->ticdc->now);
}

static void read_old(struct iso_json *json, void *into)
{
    struct simple *simple = into;
    simple->has_old = ticdc_read_row(json, &simple->ticdc->old);
}

static const struct ticdc_member message_members[] = {
    {"version", ticdc_member_number, offsetof(struct simple, version)},
    {"database", NULL, offsetof(struct simple, database)},
    {"table", NULL, offsetof(struct simple, table)},
    {"type", read_type, 0},
    {"commitTs", ticdc_member_number, offsetof(struct simple, commit_ts)},
    {"startTs", ticdc_member_number, offsetof(struct simple, start_ts)},
    {"schemaVersion", ticdc_member_number, offsetof(struct simple, schema_version)},
    {"handleKeyOnly", ticdc_member_flag, offsetof(struct simple, keys_only)},
    {"claimCheckLocation", ticdc_member_location, offsetof(struct simple, keys_only)},
    {"data", read_data, 0},
    {"old", read_old, 0},
    {"tableSchema", read_schema, offsetof(struct simple, schema)},
    {"preTableSchema", read_schema, offsetof(struct simple, previous_schema)},
    {"sql", NULL, offsetof(struct simple, sql)},
    {NULL, NULL, 0}};

/* The text of {"location":..,"value":".."}, which is known to be JSON. */
static bool take_timestamp(struct ticdc *ticdc, struct iso_cell *cell)
{
    struct iso_json *json = &ticdc->key_json;
    struct iso_json_text name, value = {NULL, 0}, zone = {"", 0};
    char *at = ticdc_room(ticdc, cell->length);
    iso_json_start(json, cell->text,
                   cell->length); /* inside the payload, so that padding follows */
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        struct iso_json_text *into = ISO_PAYLOAD_IS(name, "value")      ? &value
                                     : ISO_PAYLOAD_IS(name, "location") ? &zone
                                                                        : NULL;
        if (!into) {
            iso_json_skip(json);
        } else if (iso_json_string(
                       json, into)) { /* the scanner's text may be its own, until the next one */
            memcpy(at, into->at, into->length);
            into->at = at;
            at += into->length;
        }
    }
    if (json->code != ISO_JSON_FINE || !value.at)
        return false;
    ticdc_set_moment(ticdc, cell, zone, value);
    return true;
}

static enum iso_status convert(struct ticdc *ticdc, struct iso_cell *cell, enum ticdc_class class,
                               struct iso_error *error)
{
    struct iso_json_text name = {cell->name, cell->name_length}, text = {cell->text, cell->length};
    if (cell->kind == ISO_CELL_JSON && take_timestamp(ticdc, cell))
        return ISO_OK;
    if (cell->kind != ISO_CELL_TEXT)
        return ticdc_refuse(error, "column", name,
                            "a string, null or a timestamp's location and value");
    if (class != TICDC_BYTES)
        ticdc_set_text(cell, class, text);
    else if (!ticdc_set_base64(ticdc, cell, text, false))
        return ticdc_refuse(error, "column", name, "base64");
    return ISO_OK;
}

static enum iso_status decode(struct ticdc *ticdc, struct iso_error *error)
{
    struct simple simple = {.ticdc = ticdc, .database = {"", 0}, .table = {"", 0}, .sql = {"", 0}};
    struct iso_json *json = &ticdc->json;
    if (!ticdc_start_json(ticdc))
        return ISO_OK;
    ticdc_read_shaped(json, &ticdc->shapes[TICDC_MESSAGE], message_members, &simple);
    if (!iso_json_finish(json))
        iso_payload_fault(json, error);
    return simple_finish(ticdc, &simple, convert, error);
}

const struct ticdc_protocol ticdc_simple = {
    .format = "simple", .create = simple_create, .decode = decode};
