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

enum member {
    OTHER,
    OP,
    SOURCE,
    BEFORE,
    AFTER,
    DDL,
    COMMIT,
    START,
    DATABASE,
    TABLE,
    CONNECTOR,
    PAYLOAD
};

static uint8_t find_member(const char *name, size_t length)
{
    static const char *const names[] = {"", "op", "source", "before", "after", "ddl", NULL};
    return ticdc_find_name(names, name, length);
}

static uint8_t find_in_source(const char *name, size_t length)
{
    static const char *const names[] = {"",      "commit_ts", "start_ts", "db",
                                        "table", "connector", NULL};
    uint8_t found = ticdc_find_name(names, name, length);
    return found ? (uint8_t)(found + DDL) : (uint8_t)OTHER;
}

enum { SCHEMAS = 8 };

/* Schemas of messages, by some of the table's name; a message's is `schema`. */
struct debezium_state {
    struct debezium_schema schemas[SCHEMAS + 1]; /* the last one stays empty */
    const struct debezium_schema *schema;
};

struct envelope {
    uint32_t seen; /* bits of members */
    struct iso_json_text operation, database, table, ddl;
    uint64_t commit_ts, start_ts;
    bool has_before, has_after;
};

/* ---- members ---- */

static void read_connector(struct iso_json *json)
{
    struct iso_json_text connector;
    iso_json_space(json);
    const char *start = json->at;
    if (ticdc_read_text(json, &connector) && !ISO_PAYLOAD_IS(connector, "TiCDC"))
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start,
                      "\"TiCDC\" (for other connectors: --source debezium:)");
}

static void read_in_source(struct iso_json *json, struct envelope *envelope, enum member member)
{
    if (member == OTHER)
        iso_json_skip(json);
    else if (!ticdc_see(json, &envelope->seen, member))
        return;
    else if (member == COMMIT)
        ticdc_read_unsigned(json, &envelope->commit_ts);
    else if (member == START)
        ticdc_read_unsigned(json, &envelope->start_ts);
    else if (member == CONNECTOR)
        read_connector(json);
    else
        ticdc_read_text(json, member == DATABASE ? &envelope->database : &envelope->table);
}

static void read_source(struct ticdc *ticdc, struct envelope *envelope)
{
    struct iso_json *json = &ticdc->json;
    struct iso_json_shape *shape = &ticdc->shapes[TICDC_INSIDE];
    uint8_t member;
    iso_json_shape_enter(json, shape);
    while (iso_json_shape_member(json, shape, find_in_source, NULL, &member))
        read_in_source(json, envelope, (enum member)member);
}

static void read_member(struct ticdc *ticdc, struct envelope *envelope, enum member member)
{
    struct iso_json *json = &ticdc->json;
    if (member == OTHER)
        iso_json_skip(json);
    else if (!ticdc_see(json, &envelope->seen, member))
        return;
    else if (member == OP)
        iso_json_string(json, &envelope->operation);
    else if (member == SOURCE)
        read_source(ticdc, envelope);
    else if (member == BEFORE)
        envelope->has_before = ticdc_read_row(json, &ticdc->old);
    else if (member == AFTER)
        envelope->has_after = ticdc_read_row(json, &ticdc->now);
    else
        ticdc_read_text(json, &envelope->ddl);
}

static void read_payload(struct ticdc *ticdc, struct envelope *envelope)
{
    struct iso_json *json = &ticdc->json;
    struct iso_json_shape *shape = &ticdc->shapes[TICDC_MESSAGE];
    uint8_t member;
    iso_json_shape_enter(json, shape);
    while (iso_json_shape_member(json, shape, find_member, NULL, &member))
        read_member(ticdc, envelope, (enum member)member);
}

/* The names of the key's columns. */
static enum iso_status read_key(struct ticdc *ticdc, struct iso_error *error)
{
    struct iso_json *json = &ticdc->key_json;
    struct iso_json_text name;
    bool found = false;
    if (!ticdc->message->key.data)
        return iso_error_set(error, ISO_BAD_INPUT, "a row without a key");
    iso_json_start(
        json, iso_payload_copy(&ticdc->key, ticdc->message->key.data, ticdc->message->key.size),
        ticdc->message->key.size);
    iso_row_clear(&ticdc->types);
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "payload") && !found)
            found = iso_row_read_json(&ticdc->types, json);
        else
            iso_json_skip(json);
    }
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
                                  .commit_ts = envelope->commit_ts,
                                  .has_commit = true,
                                  .start_ts = envelope->start_ts,
                                  .has_start = ticdc_saw(envelope->seen, START)};
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
        ticdc_tables_at(&ticdc->known, envelope->database, envelope->table, envelope->commit_ts);
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
                            .commit_ts = envelope->commit_ts};
    ticdc_tables_take_ddl(&ticdc->known, ddl.sql, ddl.database, ddl.commit_ts);
    ticdc_add_ddl(ticdc, &ddl);
}

static enum iso_status take_envelope(struct ticdc *ticdc, const struct envelope *envelope,
                                     struct iso_error *error)
{
    if (!ticdc_saw(envelope->seen, PAYLOAD) || !ticdc_saw(envelope->seen, SOURCE) ||
        !ticdc_saw(envelope->seen, COMMIT))
        return iso_error_set(error, ISO_BAD_INPUT, "expected payload.source.commit_ts");
    if (ISO_PAYLOAD_IS(envelope->operation, "m"))
        ticdc_add_watermark(ticdc, envelope->commit_ts);
    else if (ticdc_saw(envelope->seen, OP))
        return decode_row(ticdc, envelope, error);
    else if (ticdc_saw(envelope->seen, DDL))
        take_ddl(ticdc, envelope);
    else
        return iso_error_set(error, ISO_BAD_INPUT, "expected payload.op, or payload.ddl");
    return ISO_OK;
}

/* Where the payload stands before it, that of the table's own messages is known already. */
static void take_schema(struct ticdc *ticdc, const struct envelope *envelope)
{
    struct debezium_state *state = ticdc->state;
    size_t length = envelope->table.length;
    struct debezium_schema *schema =
        &state->schemas[length ? (length ^ (unsigned char)envelope->table.at[length - 1]) % SCHEMAS
                               : 0];
    state->schema = schema;
    debezium_schema_take(schema, &ticdc->json);
}

static enum iso_status decode(struct ticdc *ticdc, struct iso_error *error)
{
    struct envelope envelope = {
        .operation = {"", 0}, .database = {"", 0}, .table = {"", 0}, .ddl = {"", 0}};
    struct iso_json *json = &ticdc->json;
    struct iso_json_text name;
    if (!ticdc_start_json(ticdc))
        return ISO_OK;
    ((struct debezium_state *)ticdc->state)->schema =
        &((struct debezium_state *)ticdc->state)->schemas[SCHEMAS];
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "payload") && ticdc_see(json, &envelope.seen, PAYLOAD))
            read_payload(ticdc, &envelope);
        else if (ISO_PAYLOAD_IS(name, "schema"))
            take_schema(ticdc, &envelope);
        else
            iso_json_skip(json);
    }
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
