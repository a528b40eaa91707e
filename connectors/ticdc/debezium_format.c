/* The debezium protocol: Debezium's envelope as TiCDC writes it, always inside `payload`, with or
 * without `schema` beside.
 *
 *     key    {"payload":{"id":1}}
 *     value
 * {"payload":{"source":{"connector":"TiCDC","db":"test","table":"t","commit_ts":..,"start_ts":..,..},
 *             "op":"u","before":{"id":1,"v":10},"after":{"id":1,"v":11},"transaction":null,"ts_ms":..}}
 *
 * `op` m is a watermark at source.commit_ts, none at all a DDL. What values lost on their way into
 * JSON: debezium_schema.h.
 */
#include "base/memory.h"
#include "connectors/ticdc/debezium_schema.h"

enum { SCHEMAS = 8 };

/* Schemas of messages, by some of the table's name; a message's is `schema`. */
struct debezium_state {
    struct debezium_schema schemas[SCHEMAS + 1]; /* the last one stays empty */
    const struct debezium_schema *schema;
};

struct envelope {
    struct ticdc *ticdc;
    struct iso_json_text operation, database, table, ddl;
    struct ticdc_number commit_ts, start_ts;
    bool has_before, has_after;
};

/* ---- members ---- */

static void read_connector(struct iso_json *json, void *into)
{
    struct iso_json_text connector;
    (void)into;
    iso_json_space(json);
    const char *start = json->at;
    if (ticdc_read_text(json, &connector) && !ISO_PAYLOAD_IS(connector, "TiCDC"))
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start,
                      "\"TiCDC\" (for other connectors: --source debezium:)");
}

static void read_source(struct iso_json *json, void *into)
{
    static const struct ticdc_member members[] = {
        {"commit_ts", ticdc_member_number, offsetof(struct envelope, commit_ts)},
        {"start_ts", ticdc_member_number, offsetof(struct envelope, start_ts)},
        {"db", NULL, offsetof(struct envelope, database)},
        {"table", NULL, offsetof(struct envelope, table)},
        {"connector", read_connector, 0},
        {NULL, NULL, 0}};
    struct envelope *envelope = into;
    ticdc_read_shaped(json, &envelope->ticdc->shapes[TICDC_INSIDE], members, envelope);
}

static void read_before(struct iso_json *json, void *into)
{
    struct envelope *envelope = into;
    envelope->has_before = ticdc_read_row(json, &envelope->ticdc->old);
}

static void read_after(struct iso_json *json, void *into)
{
    struct envelope *envelope = into;
    envelope->has_after = ticdc_read_row(json, &envelope->ticdc->now);
}

static void read_payload(struct iso_json *json, void *into)
{
    static const struct ticdc_member members[] = {
        {"op", ticdc_member_string, offsetof(struct envelope, operation)},
        {"source", read_source, 0},
        {"before", read_before, 0},
        {"after", read_after, 0},
        {"ddl", NULL, offsetof(struct envelope, ddl)},
        {NULL, NULL, 0}};
    struct envelope *envelope = into;
    ticdc_read_shaped(json, &envelope->ticdc->shapes[TICDC_MESSAGE], members, envelope);
}

/* Where the payload stands before it, that of the table's own messages is known already. */
static void take_schema(struct iso_json *json, void *into)
{
    struct envelope *envelope = into;
    struct debezium_state *state = envelope->ticdc->state;
    size_t length = envelope->table.length;
    struct debezium_schema *schema =
        &state->schemas[length ? (length ^ (unsigned char)envelope->table.at[length - 1]) % SCHEMAS
                               : 0];
    state->schema = schema;
    debezium_schema_take(schema, json);
}

static void read_key_row(struct iso_json *json, void *into)
{
    iso_row_read_json(into, json);
}

/* The names of the key's columns. */
static enum iso_status read_key(struct ticdc *ticdc, struct iso_error *error)
{
    static const struct ticdc_member members[] = {{"payload", read_key_row, 0}, {NULL, NULL, 0}};
    struct iso_json *json = &ticdc->key_json;
    if (!ticdc->message->key.data)
        return iso_error_set(error, ISO_BAD_INPUT, "a row without a key");
    iso_json_start(
        json, iso_payload_copy(&ticdc->key, ticdc->message->key.data, ticdc->message->key.size),
        ticdc->message->key.size);
    iso_row_clear(&ticdc->types);
    ticdc_read_members(json, members, &ticdc->types);
    if (!iso_json_finish(json)) {
        char described[256];
        iso_json_describe(json, described, sizeof described);
        return iso_error_set(error, ISO_BAD_INPUT, "key, byte %zu: %s", json->position + 1,
                             described);
    }
    for (uint32_t i = 0; i < ticdc->types.count; i++)
        if (!ticdc_add_key(ticdc, (struct iso_json_text){ticdc->types.cells[i].name,
                                                         ticdc->types.cells[i].name_length}))
            return ticdc_too_many_keys(error);
    return ISO_OK;
}

/* ---- messages ---- */

static enum iso_status decode_row(struct ticdc *ticdc, const struct envelope *envelope,
                                  struct iso_error *error)
{
    struct ticdc_change change = {.database = envelope->database,
                                  .table = envelope->table,
                                  .commit_ts = envelope->commit_ts.is,
                                  .has_commit = true,
                                  .start_ts = envelope->start_ts.is,
                                  .has_start = envelope->start_ts.has};
    char operation = envelope->operation.length == 1 ? *envelope->operation.at : 0;
    if (operation != 'c' && operation != 'u' && operation != 'd')
        return ticdc_refuse(error, "op", envelope->operation, "c, u, d or m");
    if (ticdc_pass_over(ticdc, envelope->database, envelope->table))
        return ISO_OK;
    change.created = operation == 'c';
    change.has_now = operation != 'd';
    change.has_old = operation != 'c' && envelope->has_before;
    if (change.has_now ? !envelope->has_after : !envelope->has_before)
        return ticdc_refuse(error, "op", envelope->operation, "a row in after (d: in before)");
    if (read_key(ticdc, error) != ISO_OK)
        return error->status;
    const struct debezium_state *state = ticdc->state;
    const struct ticdc_table *table =
        ticdc_tables_at(&ticdc->known, envelope->database, envelope->table, envelope->commit_ts.is);
    change.old_is_partial = change.has_now && change.has_old && ticdc->old.count < ticdc->now.count;
    if (change.has_now)
        change.is_lossy = debezium_schema_apply(state->schema, table, ticdc, &ticdc->now);
    if (change.has_old)
        debezium_schema_apply(state->schema, table, ticdc, &ticdc->old);
    return ticdc_add_row(ticdc, &change, error);
}

static void take_ddl(struct ticdc *ticdc, const struct envelope *envelope)
{
    struct ticdc_ddl ddl = {.database = envelope->database,
                            .table = envelope->table,
                            .sql = envelope->ddl,
                            .commit_ts = envelope->commit_ts.is};
    ticdc_take_ddl(ticdc, &ddl);
}

static enum iso_status take_envelope(struct ticdc *ticdc, const struct envelope *envelope,
                                     struct iso_error *error)
{
    if (!envelope->commit_ts.has)
        return iso_error_set(error, ISO_BAD_INPUT, "expected payload.source.commit_ts");
    if (ISO_PAYLOAD_IS(envelope->operation, "m"))
        ticdc_add_watermark(ticdc, envelope->commit_ts.is);
    else if (envelope->operation.at)
        return decode_row(ticdc, envelope, error);
    else if (envelope->ddl.at)
        take_ddl(ticdc, envelope);
    else
        return iso_error_set(error, ISO_BAD_INPUT, "expected payload.op, or payload.ddl");
    return ISO_OK;
}

static enum iso_status decode(struct ticdc *ticdc, struct iso_error *error)
{
    static const struct ticdc_member members[] = {
        {"payload", read_payload, 0}, {"schema", take_schema, 0}, {NULL, NULL, 0}};
    struct envelope envelope = {.ticdc = ticdc, .database = {"", 0}, .table = {"", 0}};
    struct iso_json *json = &ticdc->json;
    if (!ticdc_start_json(ticdc))
        return ISO_OK;
    ((struct debezium_state *)ticdc->state)->schema =
        &((struct debezium_state *)ticdc->state)->schemas[SCHEMAS];
    ticdc_read_members(json, members, &envelope);
    return iso_json_finish(json) ? take_envelope(ticdc, &envelope, error)
                                 : iso_payload_fault(json, error);
}

static enum iso_status create(struct ticdc *ticdc, const struct iso_decoder_options *options,
                              struct iso_error *error)
{
    (void)options;
    ticdc->state = iso_allocate_zeroed(1, sizeof(struct debezium_state));
    return error->status;
}

static void destroy(struct ticdc *ticdc)
{
    struct debezium_state *state = ticdc->state;
    for (int i = 0; state && i < SCHEMAS; i++)
        debezium_schema_release(&state->schemas[i]);
    iso_free(state);
}

const struct ticdc_protocol ticdc_debezium = {
    .format = "debezium", .create = create, .decode = decode, .destroy = destroy};
