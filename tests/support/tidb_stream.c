/* What happened in a TiDB as messages of one of TiCDC's protocols. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tests/support/tidb_world.h"

enum { PARTITIONS = 3 };

struct message {
    struct iso_text key, payload;
    bool has_key, is_empty;
};

/* One side of a row. */
struct side {
    struct tidb_cell cells[TIDB_KEYS + TIDB_COLUMNS];
    uint32_t count;
};

static struct side side_of(const struct tidb_world *world, const struct tidb_event *event,
                           bool before)
{
    struct side side;
    side.count = tidb_cells(world, &world->schemas[event->schema],
                            world->tables[event->table].keys[before ? event->old_row : event->row],
                            before ? &event->before : &event->after, side.cells);
    return side;
}

static const struct tidb_schema *schema_of(const struct tidb_world *world,
                                           const struct tidb_event *event)
{
    return &world->schemas[event->schema];
}

static const char *operation_of(const struct tidb_event *event, const char *insert,
                                const char *update, const char *delete)
{
    return !event->has_before ? insert : event->has_after ? update : delete;
}

/* `"z":VALUE,"v0":VALUE` */
static void put_members(struct iso_text *text, const struct side *side,
                        void put(struct iso_text *text, const struct tidb_cell *cell))
{
    for (uint32_t i = 0; i < side->count; i++) {
        iso_text_format(text, "%s\"%s\":", i ? "," : "", side->cells[i].name);
        put(text, &side->cells[i]);
    }
}

static void put_sql(struct iso_text *text, const struct tidb_event *event)
{
    iso_text_put_string(text, event->sql, strlen(event->sql));
}

/* ---- canal-json ---- */

static void canal(const struct tidb_world *world, const struct tidb_event *event,
                  struct message *message)
{
    struct iso_text *text = &message->payload;
    if (event->kind == TIDB_WATERMARK) {
        iso_text_format(
            text,
            "{\"id\":0,\"database\":\"\",\"table\":\"\",\"pkNames\":null,\"isDdl\":false,\"type\":"
            "\"TIDB_WATERMARK\",\"sql\":\"\",\"data\":null,\"old\":null,\"_tidb\":{\"watermarkTs\":%" PRIu64
            "}}",
            event->cts);
        return;
    }
    const struct tidb_schema *schema = schema_of(world, event);
    iso_text_format(text,
                    "{\"id\":0,\"database\":\"shop\",\"table\":\"%s\",\"pkNames\":", schema->name);
    if (event->kind == TIDB_DDL) {
        iso_text_format(text, "null,\"isDdl\":true,\"type\":\"%s\",\"sql\":", event->type);
        put_sql(text, event);
        iso_text_format(
            text,
            ",\"mysqlType\":null,\"data\":null,\"old\":null,\"_tidb\":{\"commitTs\":%" PRIu64 "}}",
            event->cts);
        return;
    }
    struct side now = side_of(world, event, false), old = side_of(world, event, true), *data = &now;
    if (!event->has_after)
        data = &old;
    iso_text_put(text, "[");
    for (uint32_t i = 0; i < data->count && !schema->is_unique; i++)
        if (data->cells[i].is_key)
            iso_text_format(text, "%s\"%s\"", i ? "," : "", data->cells[i].name);
    iso_text_format(text, "],\"isDdl\":false,\"type\":\"%s\",\"sql\":\"\",\"mysqlType\":{",
                    operation_of(event, "INSERT", "UPDATE", "DELETE"));
    for (uint32_t i = data->count; i-- > 0;)
        iso_text_format(text, "\"%s\":\"%s\"%s", data->cells[i].name, data->cells[i].type->mysql,
                        i ? "," : "");
    iso_text_put(text, "},\"old\":");
    if (event->has_before && event->has_after) {
        iso_text_put(text, "[{");
        put_members(text, &old, tidb_put_canal);
        iso_text_put(text, "}]");
    } else {
        iso_text_put(text, "null");
    }
    iso_text_put(text, ",\"data\":[{");
    put_members(text, data, tidb_put_canal);
    iso_text_format(text, "}],\"_tidb\":{\"commitTs\":%" PRIu64 "}}", event->cts);
}

/* ---- open-protocol ---- */

static void put_word(struct iso_text *text, uint64_t word)
{
    uint64_t bytes = __builtin_bswap64(word);
    iso_text_put_bytes(text, &bytes, sizeof bytes);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct tidb_cell *)left)->name, ((const struct tidb_cell *)right)->name);
}

static void put_open_side(struct iso_text *text, const char *name, struct side side)
{
    qsort(side.cells, side.count, sizeof *side.cells, by_name);
    iso_text_format(text, "\"%s\":{", name);
    for (uint32_t i = 0; i < side.count; i++) {
        iso_text_put(text, i ? "," : "");
        tidb_put_open(text, &side.cells[i]);
    }
    iso_text_put(text, "}");
}

static void open(const struct tidb_world *world, const struct tidb_event *event,
                 struct message *message)
{
    struct iso_text key = {0}, value = {0};
    iso_text_format(&key, "{\"ts\":%" PRIu64, event->cts);
    if (event->kind != TIDB_WATERMARK)
        iso_text_format(&key, ",\"scm\":\"shop\",\"tbl\":\"%s\"", schema_of(world, event)->name);
    iso_text_format(&key, ",\"t\":%d}",
                    event->kind == TIDB_ROW   ? 1
                    : event->kind == TIDB_DDL ? 2
                                              : 3);
    if (event->kind == TIDB_DDL) {
        iso_text_put(&value, "{\"q\":");
        put_sql(&value, event);
        iso_text_format(&value, ",\"t\":%u}", event->open_type);
    } else if (event->kind == TIDB_ROW) {
        iso_text_put(&value, "{");
        if (event->has_after)
            put_open_side(&value, "u", side_of(world, event, false));
        iso_text_put(&value, event->has_after && event->has_before ? "," : "");
        if (event->has_before)
            put_open_side(&value, event->has_after ? "p" : "d", side_of(world, event, true));
        iso_text_put(&value, "}");
    }
    message->has_key = true;
    put_word(&message->key, 1);
    put_word(&message->key, key.used);
    iso_text_put_bytes(&message->key, key.bytes, key.used);
    put_word(&message->payload, value.used);
    if (value.used)
        iso_text_put_bytes(&message->payload, value.bytes, value.used);
    iso_text_release(&key);
    iso_text_release(&value);
}

/* ---- simple ---- */

static void put_table(struct iso_text *text, const struct tidb_world *world,
                      const struct tidb_schema *schema)
{
    struct tidb_values none = {{0}};
    struct side side;
    side.count = tidb_cells(world, schema, world->tables[0].keys[0], &none, side.cells);
    iso_text_format(text,
                    "{\"schema\":\"shop\",\"table\":\"%s\",\"tableID\":%u,\"version\":%" PRIu64
                    ",\"columns\":[",
                    schema->name, schema->id, schema->version);
    for (uint32_t i = 0; i < side.count; i++) {
        const struct tidb_cell *cell = &side.cells[i];
        iso_text_format(
            text, "%s{\"name\":\"%s\",\"dataType\":{\"mysqlType\":\"%.*s\"%s%s},\"nullable\":%s}",
            i ? "," : "", cell->name, (int)strcspn(cell->type->mysql, " "), cell->type->mysql,
            cell->type->form == TIDB_UNSIGNED ? ",\"unsigned\":true" : "",
            cell->type->form == TIDB_ENUM  ? ",\"elements\":[\"a\",\"b\",\"c,d\"]"
            : cell->type->form == TIDB_SET ? ",\"elements\":[\"a\",\"b\",\"c\"]"
                                           : "",
            cell->is_key ? "false" : "true");
    }
    iso_text_format(
        text,
        "],\"indexes\":[{\"name\":\"x\",\"unique\":true,\"primary\":%s,\"nullable\":false,\"columns\":[",
        schema->is_unique ? "false" : "true");
    for (uint32_t i = 0; i < schema->key_count; i++)
        iso_text_format(text, "%s\"%s\"", i ? "," : "", tidb_key_name(i));
    iso_text_put(text, "]}]}");
}

static void put_old_table(struct iso_text *text, const struct tidb_world *world,
                          const struct tidb_event *event)
{
    if (event->before_schema != ISO_NONE) {
        iso_text_put(text, ",\"preTableSchema\":");
        put_table(text, world, &world->schemas[event->before_schema]);
    }
}

static void simple(const struct tidb_world *world, const struct tidb_event *event,
                   struct message *message)
{
    struct iso_text *text = &message->payload;
    if (event->kind == TIDB_WATERMARK) {
        iso_text_format(
            text, "{\"version\":1,\"type\":\"WATERMARK\",\"commitTs\":%" PRIu64 ",\"buildTs\":1}",
            event->cts);
        return;
    }
    const struct tidb_schema *schema = schema_of(world, event);
    if (event->kind == TIDB_DDL) {
        iso_text_format(text, "{\"version\":1,\"type\":\"%s\",\"sql\":", event->type);
        put_sql(text, event);
        iso_text_format(text,
                        ",\"commitTs\":%" PRIu64 ",\"buildTs\":1,\"tableSchema\":", event->cts);
        put_table(text, world, schema);
        put_old_table(text, world, event);
        iso_text_put(text, "}");
        return;
    }
    iso_text_format(
        text,
        "{\"version\":1,\"database\":\"shop\",\"table\":\"%s\",\"tableID\":%u,\"type\":\"%s\","
        "\"commitTs\":%" PRIu64 ",",
        schema->name, schema->id, operation_of(event, "INSERT", "UPDATE", "DELETE"), event->cts);
    if (world->says_start)
        iso_text_format(text, "\"startTs\":%" PRIu64 ",", event->sts);
    iso_text_format(text, "\"buildTs\":1,\"schemaVersion\":%" PRIu64, schema->version);
    for (int before = 0; before < 2; before++) {
        struct side side = side_of(world, event, before);
        if (before ? !event->has_before : !event->has_after)
            continue;
        iso_text_put(text, before ? ",\"old\":{" : ",\"data\":{");
        put_members(text, &side, tidb_put_simple);
        iso_text_put(text, "}");
    }
    iso_text_put(text, "}");
}

/* ---- simple, as Avro ---- */

static void put_run(struct iso_text *text, const char *string)
{
    tidb_put_run(text, string, strlen(string));
}

/* The labels' names. */
static void put_elements(struct iso_text *text, enum tidb_form form)
{
    static const char *const names[] = {"a", "b", "c,d", "c"};
    if (form != TIDB_ENUM && form != TIDB_SET) {
        tidb_put_long(text, 0);
        return;
    }
    tidb_put_long(text, 1);
    tidb_put_long(text, 3);
    for (uint32_t i = 0; i < 3; i++)
        put_run(text, names[i + (i == 2 && form == TIDB_SET)]);
    tidb_put_long(text, 0);
}

static void put_avro_table(struct iso_text *text, const struct tidb_world *world,
                           const struct tidb_schema *schema)
{
    struct tidb_values none = {{0}};
    struct side side;
    side.count = tidb_cells(world, schema, world->tables[0].keys[0], &none, side.cells);
    put_run(text, "shop");
    put_run(text, schema->name);
    tidb_put_long(text, schema->id);
    tidb_put_long(text, schema->version);
    tidb_put_long(text, side.count);
    for (uint32_t i = 0; i < side.count; i++) {
        put_run(text, side.cells[i].name);
        tidb_put_run(text, side.cells[i].type->mysql, strcspn(side.cells[i].type->mysql, " "));
        put_run(text, "binary");
        put_run(text, "binary");
        tidb_put_long(text, 11);
        iso_text_put_bytes(text, "\0", 1); /* decimal */
        put_elements(text, side.cells[i].type->form);
        iso_text_put_bytes(text, "\0\0", 2); /* unsigned, zerofill */
        iso_text_put_bytes(text, side.cells[i].is_key ? "\0" : "\1", 1);
        iso_text_put_bytes(text, "\0", 1); /* default */
    }
    tidb_put_long(text, 0);
    tidb_put_long(text, 1);
    put_run(text, "x");
    iso_text_put_bytes(text, schema->is_unique ? "\1\0\0" : "\1\1\0", 3);
    tidb_put_long(text, schema->key_count);
    for (uint32_t i = 0; i < schema->key_count; i++)
        put_run(text, tidb_key_name(i));
    tidb_put_long(text, 0);
    tidb_put_long(text, 0);
}

static unsigned avro_ddl_type(const char *type)
{
    static const char *const types[] = {"CREATE",   "RENAME", "ERASE", "?",
                                        "TRUNCATE", "ALTER",  "QUERY"};
    unsigned number = 0;
    while (strcmp(types[number], type) != 0)
        number++;
    return number;
}

static void simple_avro(const struct tidb_world *world, const struct tidb_event *event,
                        struct message *message)
{
    struct iso_text *text = &message->payload;
    uint64_t kind = event->kind == TIDB_WATERMARK ? 0 : event->kind == TIDB_DDL ? 2 : 3;
    tidb_put_long(text, 11);
    tidb_put_long(text, kind);
    tidb_put_long(text, kind);
    tidb_put_long(text, 1);
    if (event->kind == TIDB_WATERMARK) {
        tidb_put_long(text, event->cts);
        tidb_put_long(text, 1);
        return;
    }
    const struct tidb_schema *schema = schema_of(world, event);
    if (event->kind == TIDB_DDL) {
        tidb_put_long(text, avro_ddl_type(event->type));
        put_run(text, event->sql);
        tidb_put_long(text, event->cts);
        tidb_put_long(text, 1);
        tidb_put_long(text, 1);
        put_avro_table(text, world, schema);
        tidb_put_long(text, event->before_schema != ISO_NONE);
        if (event->before_schema != ISO_NONE)
            put_avro_table(text, world, &world->schemas[event->before_schema]);
        return;
    }
    put_run(text, "shop");
    put_run(text, schema->name);
    tidb_put_long(text, schema->id);
    tidb_put_long(text, !event->has_before ? 0 : event->has_after ? 1 : 2);
    tidb_put_long(text, event->cts);
    tidb_put_long(text, 1);
    tidb_put_long(text, schema->version);
    iso_text_put_bytes(text, "\0\0\0", 3); /* claimCheckLocation, handleKeyOnly, checksum */
    for (int before = 0; before < 2; before++) {
        struct side side = side_of(world, event, before);
        bool has = before ? event->has_before : event->has_after;
        tidb_put_long(text, has);
        for (uint32_t i = 0; has && i < side.count; i++) {
            if (!i)
                tidb_put_long(text, side.count);
            put_run(text, side.cells[i].name);
            tidb_put_simple_avro(text, &side.cells[i]);
        }
        if (has)
            tidb_put_long(text, 0);
    }
}

/* ---- avro ---- */

static void put_avro_fields(struct iso_text *text, const struct side *side, bool keys)
{
    const char *between = "";
    for (uint32_t i = 0; i < side->count; i++) {
        const struct tidb_cell *cell = &side->cells[i];
        if (keys && !cell->is_key)
            continue;
        iso_text_format(text,
                        cell->is_key ? "%s{\"name\":\"%s\",\"type\":%s}"
                                     : "%s{\"name\":\"%s\",\"type\":[\"null\",%s]}",
                        between, cell->name, cell->type->avro);
        between = ",";
    }
}

/* The value's, and the key's. */
static void put_avro_schemas(struct tidb_world *world)
{
    for (uint32_t s = 0; s < world->schema_count; s++) {
        struct tidb_values none = {{0}};
        struct side side;
        struct iso_text *text = &world->texts;
        side.count =
            tidb_cells(world, &world->schemas[s], world->tables[0].keys[0], &none, side.cells);
        for (int key = 0; key < 2; key++) {
            const char *name = world->schemas[s].name;
            world->schema_place[s * 2 + (uint32_t)key] = text->used;
            iso_text_format(
                text,
                "{\"type\":\"record\",\"name\":\"%s\",\"namespace\":\"default.shop\",\"fields\":[",
                name);
            put_avro_fields(text, &side, key);
            if (!key) {
                iso_text_format(
                    text,
                    ",{\"name\":\"_tidb_op\",\"type\":\"string\"},{\"name\":\"_tidb_commit_ts\",\"type\":\"long\"},"
                    "{\"name\":\"_tidb_commit_physical_time\",\"type\":\"long\"},{\"name\":\"_ticdc_before\",\"type\":"
                    "[\"null\",{\"type\":\"record\",\"name\":\"%s_before\",\"fields\":[",
                    name);
                put_avro_fields(text, &side, false);
                iso_text_put(text, "]}]}");
            }
            iso_text_put(text, "]}");
            iso_text_put_bytes(text, "", 1);
        }
    }
}

static enum iso_status find_schema(void *context, uint32_t id, struct iso_schema *schema,
                                   struct iso_error *error)
{
    const struct tidb_world *world = context;
    if (!id || id > world->schema_count * 2)
        return iso_error_set(error, ISO_BAD_INPUT, "schema %u is not there", id);
    const char *text = world->texts.bytes + world->schema_place[id - 1];
    *schema = (struct iso_schema){ISO_SCHEMA_AVRO, text, strlen(text)};
    return ISO_OK;
}

static void put_frame(struct iso_text *text, uint32_t id)
{
    const uint8_t head[] = {0, 0, 0, 0, (uint8_t)id};
    iso_text_put_bytes(text, head, sizeof head);
}

static void avro(const struct tidb_world *world, const struct tidb_event *event,
                 struct message *message)
{
    struct iso_text *text = &message->payload;
    if (event->kind == TIDB_WATERMARK) {
        iso_text_put_bytes(text, "\2", 1);
        put_word(text, event->cts);
        return;
    }
    const struct tidb_schema *schema = schema_of(world, event);
    if (event->kind == TIDB_DDL) {
        iso_text_put(text, "\1{\"query\":");
        put_sql(text, event);
        iso_text_format(
            text, ",\"type\":%u,\"schema\":\"shop\",\"table\":\"%s\",\"commitTs\":%" PRIu64 "}",
            event->open_type, schema->name, event->cts);
        return;
    }
    struct side now = side_of(world, event, !event->has_after), old = side_of(world, event, true);
    message->has_key = true;
    put_frame(&message->key, event->schema * 2 + 2);
    put_frame(text, event->schema * 2 + 1);
    for (uint32_t i = 0; i < now.count; i++) {
        if (now.cells[i].is_key)
            tidb_put_avro(&message->key, &now.cells[i]);
        tidb_put_avro(text, &now.cells[i]);
    }
    put_run(text, operation_of(event, "c", "u", "d"));
    tidb_put_long(text, event->cts);
    tidb_put_long(text, event->cts >> 18);
    tidb_put_long(text, event->has_before && event->has_after);
    for (uint32_t i = 0; event->has_before && event->has_after && i < old.count; i++)
        tidb_put_avro(text, &old.cells[i]);
}

/* ---- debezium ---- */

static const struct tidb_column *column_of(const struct tidb_schema *schema,
                                           const struct tidb_cell *cell)
{
    for (uint32_t c = 0; c < schema->column_count && !cell->is_key; c++)
        if (!strcmp(schema->columns[c].name, cell->name))
            return &schema->columns[c];
    return NULL;
}

static void put_debezium_side(struct iso_text *text, const struct tidb_schema *schema,
                              const struct side *side)
{
    for (uint32_t i = 0; i < side->count; i++) {
        const struct tidb_column *column = column_of(schema, &side->cells[i]);
        iso_text_format(text, "%s\"%s\":", i ? "," : "{", side->cells[i].name);
        tidb_put_debezium(text, &side->cells[i], column && column->has_default);
    }
    iso_text_put(text, "}");
}

static void put_debezium_schema(struct iso_text *text, const struct tidb_schema *schema,
                                const struct side *side)
{
    iso_text_put(text, ",\"schema\":{\"type\":\"struct\",\"fields\":[");
    for (int part = 0; part < 2; part++) {
        iso_text_format(text, "%s{\"type\":\"struct\",\"field\":\"%s\",\"fields\":[",
                        part ? "," : "", part ? "after" : "before");
        for (uint32_t i = 0; i < side->count; i++) {
            const struct tidb_cell *cell = &side->cells[i];
            const struct tidb_column *column = column_of(schema, cell);
            iso_text_format(text, "%s{%s,\"optional\":%s", i ? "," : "", cell->type->debezium,
                            cell->is_key ? "false" : "true");
            if (column && column->has_default)
                iso_text_format(text, ",\"default\":%s", column->type->pool[2]);
            iso_text_format(text, ",\"field\":\"%s\"}", cell->name);
        }
        iso_text_put(text, "]}");
    }
    iso_text_put(text, "]}");
}

static void debezium(const struct tidb_world *world, const struct tidb_event *event,
                     struct message *message)
{
    struct iso_text *text = &message->payload;
    const struct tidb_schema *schema =
        event->kind == TIDB_WATERMARK ? NULL : schema_of(world, event);
    message->has_key = true;
    iso_text_format(
        text,
        "{\"payload\":{\"source\":{\"connector\":\"TiCDC\",\"db\":\"shop\",\"table\":\"%s\",\"commit_ts\":%" PRIu64,
        schema ? schema->name : "", event->cts);
    if (world->says_start && event->kind == TIDB_ROW)
        iso_text_format(text, ",\"start_ts\":%" PRIu64, event->sts);
    iso_text_put(text, "},\"ts_ms\":1");
    if (event->kind != TIDB_ROW)
        iso_text_put(&message->key, "{\"payload\":{}}");
    if (event->kind == TIDB_WATERMARK) {
        iso_text_put(text, ",\"op\":\"m\"}}");
        return;
    }
    if (event->kind == TIDB_DDL) {
        iso_text_put(text, ",\"ddl\":");
        put_sql(text, event);
        iso_text_put(text, "}}");
        return;
    }
    struct side now = side_of(world, event, !event->has_after), old = side_of(world, event, true);
    iso_text_put(&message->key, "{\"payload\":{");
    for (uint32_t i = 0; i < now.count && now.cells[i].is_key; i++) {
        iso_text_format(&message->key, "%s\"%s\":", i ? "," : "", now.cells[i].name);
        tidb_put_debezium(&message->key, &now.cells[i], false);
    }
    iso_text_put(&message->key, "}}");
    iso_text_format(text, ",\"transaction\":null,\"op\":\"%s\",\"before\":",
                    operation_of(event, "c", "u", "d"));
    if (event->has_before)
        put_debezium_side(text, schema, &old);
    else
        iso_text_put(text, "null");
    iso_text_put(text, ",\"after\":");
    if (event->has_after)
        put_debezium_side(text, schema, &now);
    else
        iso_text_put(text, "null");
    iso_text_put(text, "}");
    put_debezium_schema(text, schema, &now);
    iso_text_put(text, "}");
}

/* ---- csv ---- */

static void csv(const struct tidb_world *world, const struct tidb_event *event,
                struct message *message)
{
    struct iso_text *text = &message->payload;
    if (event->kind == TIDB_WATERMARK)
        iso_text_format(text, "{\"checkpoint-ts\":%" PRIu64 "}", event->cts);
    message->is_empty = event->kind == TIDB_DDL;
    for (int now = 0; event->kind == TIDB_ROW && now < 2; now++) {
        struct side side = side_of(world, event, !now);
        if (now ? !event->has_after : !event->has_before)
            continue;
        iso_text_format(text, "\"%s\",\"%s\",\"shop\",%" PRIu64 ",%s", now ? "I" : "D",
                        schema_of(world, event)->name, event->cts,
                        event->has_before && event->has_after ? "true" : "false");
        for (uint32_t i = 0; i < side.count; i++) {
            iso_text_put(text, ",");
            tidb_put_csv(text, &side.cells[i]);
        }
        iso_text_put(text, "\n");
    }
}

/* A file for each version of each table that has rows. */
static void put_csv_schemas(struct tidb_world *world)
{
    struct iso_text *text = &world->texts;
    for (uint32_t s = 0; s < world->schema_count; s++) {
        const struct tidb_schema *schema = &world->schemas[s];
        struct tidb_values none = {{0}};
        struct side side;
        if (schema->is_gone)
            continue;
        side.count = tidb_cells(world, schema, world->tables[0].keys[0], &none, side.cells);
        iso_text_format(
            text,
            "{\"Table\":\"%s\",\"Schema\":\"shop\",\"Version\":1,\"TableVersion\":%" PRIu64
            ",\"TableColumns\":[",
            schema->name, schema->version);
        for (uint32_t i = 0; i < side.count; i++)
            iso_text_format(text, "%s{\"ColumnName\":\"%s\",\"ColumnType\":\"%.*s%s\"%s}",
                            i ? "," : "", side.cells[i].name,
                            (int)strcspn(side.cells[i].type->sql, "( "), side.cells[i].type->sql,
                            side.cells[i].type->form == TIDB_UNSIGNED ? " UNSIGNED" : "",
                            side.cells[i].is_key
                                ? ",\"ColumnIsPk\":\"true\",\"ColumnNullable\":\"false\""
                                : "");
        iso_text_put(text, "]}\n");
    }
    iso_text_put_bytes(text, "", 1);
}

/* ---- the feed ---- */

static const struct protocol {
    const char *format;
    void (*encode)(const struct tidb_world *world, const struct tidb_event *event,
                   struct message *message);
} protocols[] = {{"canal-json", canal}, {"open-protocol", open},
                 {"simple", simple},    {"simple-avro", simple_avro},
                 {"avro", avro},        {"debezium", debezium},
                 {"csv", csv}};

static void send(const struct tidb_world *world, struct feed *feed, uint32_t partition,
                 const struct tidb_event *event)
{
    const struct protocol *protocol = protocols;
    struct message message = {.has_key = false};
    while (strcmp(protocol->format, world->format) != 0)
        protocol++;
    protocol->encode(world, event, &message);
    if (!message.is_empty)
        feed_add(feed, "ticdc", (int32_t)partition,
                 (struct iso_bytes){message.has_key ? (const uint8_t *)message.key.bytes : NULL,
                                    (uint32_t)message.key.used},
                 (struct iso_bytes){(const uint8_t *)message.payload.bytes,
                                    (uint32_t)message.payload.used});
    iso_text_release(&message.key);
    iso_text_release(&message.payload);
}

/* Rows that moved to other keys as one update each, in place of the two that they are split
 * into. */
static void join_moves(struct tidb_world *world)
{
    for (uint32_t i = 0; i < world->event_count; i++) {
        struct tidb_event *gone = &world->events[i];
        for (uint32_t j = i + 1;
             gone->kind == TIDB_ROW && !gone->has_after && j < world->event_count; j++) {
            struct tidb_event *come = &world->events[j];
            if (come->kind != TIDB_ROW || come->sts != gone->sts || come->table != gone->table ||
                come->has_before)
                continue;
            come->old_row = gone->row;
            come->before = gone->before;
            come->has_before = true;
            memmove(gone, gone + 1, (--world->event_count - i) * sizeof *gone);
            i--;
            break;
        }
    }
}

/* Whether a row was there, or was not, or held something else: in a column of plain text or
 * numbers that the next change changes. (What one leaves as it is, is compared with nothing.) */
static bool differs(const struct tidb_world *world, const struct tidb_event *lost,
                    const struct tidb_event *next)
{
    const struct tidb_schema *schema = &world->schemas[next->schema];
    bool differ = lost->has_before != next->has_before;
    for (uint32_t c = 0; c < schema->column_count && lost->has_before && next->has_before; c++) {
        const struct tidb_type *type = schema->columns[c].type;
        int was = lost->before.of[c], is = next->before.of[c];
        bool changes = !next->has_after || next->after.of[c] != is,
             plain = type->form == TIDB_INTEGER || type->form == TIDB_VARCHAR;
        differ |= plain && changes && !schema->columns[c].is_dropped &&
                  !schema->columns[c].has_default && was >= 0 && is >= 0 &&
                  strcmp(type->pool[was], type->pool[is]) != 0;
    }
    return differ;
}

/* Whether the row's next change tells that one before it is missing. */
static bool is_revealed(const struct tidb_world *world, uint32_t lost)
{
    const struct tidb_event *event = &world->events[lost];
    for (uint32_t i = 0; i < world->event_count; i++) {
        const struct tidb_event *next = &world->events[i];
        if (next->cts <= event->cts)
            continue;
        if (next->kind == TIDB_DDL)
            return false;
        if (next->kind == TIDB_ROW && next->table == event->table &&
            (next->row == event->row || next->old_row == event->row))
            return next->row == next->old_row && event->row == event->old_row &&
                   differs(world, event, next);
    }
    return false;
}

static void lose_row(struct tidb_world *world)
{
    uint32_t first = world->event_count ? random_below(&world->random, world->event_count) : 0;
    for (uint32_t i = 0; i < world->event_count; i++) {
        struct tidb_event *event = &world->events[(first + i) % world->event_count];
        if (event->kind != TIDB_ROW)
            continue;
        world->reveals = is_revealed(world, (first + i) % world->event_count);
        event->kind = TIDB_WATERMARK; /* below all that follows */
        event->cts = 1;
        world->was_lost = true;
        return;
    }
}

/* Partitions are sent at their own paces; now and then one is sent again from an earlier place. */
void tidb_write(struct tidb_world *world, struct feed *feed)
{
    struct random *random = &world->random;
    uint32_t partitions = 1 + random_below(random, PARTITIONS), next[PARTITIONS] = {0},
             open = partitions;
    uint32_t restarts = random_below(random, 3);
    if (world->was_raw)
        join_moves(world);
    if (world->loses)
        lose_row(world);
    while (open) {
        uint32_t p = random_below(random, partitions);
        if (next[p] == world->event_count)
            continue;
        const struct tidb_event *event = &world->events[next[p]++];
        if (event->kind != TIDB_ROW || (event->table * 7 + event->row) % partitions == p)
            send(world, feed, p, event);
        if (restarts && random_percent(random, 5)) {
            restarts--;
            next[p] -= random_below(random, next[p] + 1);
        }
        open -= next[p] == world->event_count;
    }
    feed_finish(feed);
}

void tidb_decoder_options(struct tidb_world *world, struct iso_decoder_options *options)
{
    static struct iso_schema_provider registry = {find_schema, NULL};
    static const char *const keys[] = {NULL, "z", "z;a", "z;a;m", "z;a;m;b"};
    world->texts.used = 0;
    *options = (struct iso_decoder_options){.format = world->format,
                                            .cells = "true",
                                            .identity = ISO_IDENTITY_FULL,
                                            .one_zone = world->one_zone};
    if (!strcmp(world->format, "csv")) {
        put_csv_schemas(world);
        options->schema = world->texts.bytes;
        options->key = keys[world->schemas[0].key_count];
    }
    if (!strcmp(world->format, "avro")) {
        put_avro_schemas(world);
        registry.context = world;
        options->registry = &registry;
        options->framed = true;
    }
}
