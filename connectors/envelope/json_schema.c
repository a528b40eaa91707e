#include "connectors/envelope/json_schema.h"

#include <string.h>

#include "base/memory.h"
#include "base/payload.h"
#include "values/value_type.h"

enum { LEVEL_MAX = 32 };

/* One node: what it says of itself, its members coming in any order. */
struct node {
    struct iso_connect_type said;
    struct iso_json_text field;
    bool is_optional, has_default;
    enum json_meaning inner; /* of its own field `value`, if it has one */
    int32_t inner_scale;
    uint32_t inner_type;
    struct iso_value_type inner_value;
};

static void forget(struct json_schema *schema, uint32_t count)
{
    while (schema->count > count)
        iso_free(schema->columns[--schema->count].name);
}

static void release(struct json_schema *schema)
{
    forget(schema, 0);
    iso_free(schema->columns);
    iso_free(schema->text);
    *schema = (struct json_schema){0};
}

void json_schemas_release(struct json_schemas *schemas)
{
    for (uint32_t i = 0; i < schemas->count; i++)
        release(&schemas->list[i]);
    *schemas = (struct json_schemas){0};
}

static void read_text(struct iso_json *json, struct iso_json_text *text)
{
    if (iso_json_peek(json) == ISO_JSON_STRING)
        iso_json_string(json, text);
    else
        iso_json_skip(json);
}

static enum json_meaning meaning_of(const struct node *node)
{
    if (ISO_PAYLOAD_IS(node->said.name, "org.apache.kafka.connect.data.Decimal") &&
        node->said.is_scaled)
        return JSON_DECIMAL;
    return ISO_PAYLOAD_IS(node->said.name, "io.debezium.data.VariableScaleDecimal")
               ? JSON_VARIABLE_DECIMAL
               : JSON_PLAIN;
}

static uint32_t type_of(const struct node *node)
{
    switch (meaning_of(node)) {
    case JSON_DECIMAL:
        return ISO_TYPE_DECIMAL | (uint32_t)(node->said.scale + ISO_CELL_SCALE_MAX);
    case JSON_VARIABLE_DECIMAL:
        return ISO_TYPE_STRING;
    default:
        return ISO_PAYLOAD_IS(node->said.type, "string") && !node->said.name.length
                   ? ISO_TYPE_STRING
                   : iso_type_digest(node->said.type.at, node->said.type.length, node->said.name.at,
                                     node->said.name.length);
    }
}

static void add_column(struct json_schema *schema, const struct node *node)
{
    enum json_meaning meaning = meaning_of(node);
    int32_t scale = node->said.scale;
    bool is_cell = meaning == JSON_PLAIN && !node->said.name.length && node->inner_type;
    if (meaning == JSON_PLAIN && node->inner == JSON_DECIMAL) {
        meaning = JSON_DECIMAL;
        scale = node->inner_scale;
    }
    ISO_GROW(schema->columns, schema->count, schema->capacity);
    schema->columns[schema->count++] =
        (struct json_column){.name = iso_copy_text(node->field.at, node->field.length),
                             .length = node->field.length,
                             .meaning = meaning,
                             .scale = scale,
                             .type = is_cell ? node->inner_type : type_of(node),
                             .value = is_cell ? node->inner_value : iso_value_type_of(&node->said),
                             .is_nullable = node->is_optional && !node->has_default && !is_cell};
}

static bool read_node(struct iso_json *json, struct json_schema *schema, int level,
                      struct node *node);

static void read_fields(struct iso_json *json, struct json_schema *schema, int level,
                        struct node *node)
{
    struct node field;
    iso_json_enter_array(json);
    while (iso_json_element(json)) {
        uint32_t before = schema->count;
        if (!read_node(json, schema, level + 1, &field))
            return;
        if (level == 0) {
            add_column(schema, &field);
        } else if (level == -1 && !ISO_PAYLOAD_IS(field.field, "after")) {
            forget(schema, before);
        } else if (level == 1 && ISO_PAYLOAD_IS(field.field, "value")) {
            node->inner = meaning_of(&field);
            node->inner_scale = field.said.scale;
            node->inner_type = type_of(&field);
            node->inner_value = iso_value_type_of(&field.said);
        }
    }
}

/* What an array's elements are; their own fields are no columns. */
static void read_items(struct iso_json *json, struct json_schema *schema, int level,
                       struct node *node)
{
    struct node items;
    if (read_node(json, schema, level + 2, &items))
        node->said.items = iso_value_type_of(&items.said);
}

/* Level 0 is the struct that has the columns, below it they are; an envelope's own level is -1. */
static bool read_node(struct iso_json *json, struct json_schema *schema, int level,
                      struct node *node)
{
    struct iso_json_text name;
    *node = (struct node){.said = {.type = {"", 0}, .name = {"", 0}}, .field = {"", 0}};
    if (level >= LEVEL_MAX)
        return iso_json_fail(json, ISO_JSON_DEEP, json->at, "less");
    if (iso_json_peek(json) != ISO_JSON_OBJECT)
        return iso_json_skip(json);
    iso_json_enter_object(json);
    while (iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "field")) {
            read_text(json, &node->field);
        } else if (ISO_PAYLOAD_IS(name, "name")) {
            read_text(json, &node->said.name);
        } else if (ISO_PAYLOAD_IS(name, "type")) {
            read_text(json, &node->said.type);
        } else if (ISO_PAYLOAD_IS(name, "optional")) {
            node->is_optional = iso_json_peek(json) == ISO_JSON_TRUE;
            iso_json_skip(json);
        } else if (ISO_PAYLOAD_IS(name, "default")) {
            node->has_default = true;
            iso_json_skip(json);
        } else if (ISO_PAYLOAD_IS(name, "parameters")) {
            iso_connect_parameters(&node->said, json);
        } else if (ISO_PAYLOAD_IS(name, "items") && level >= 0) {
            read_items(json, schema, level, node);
        } else if (ISO_PAYLOAD_IS(name, "fields") && iso_json_peek(json) == ISO_JSON_ARRAY) {
            read_fields(json, schema, level, node);
        } else {
            iso_json_skip(json);
        }
    }
    return json->code == ISO_JSON_FINE;
}

static const struct json_schema *find_schema(const struct json_schemas *schemas,
                                             const struct iso_json *json, bool is_key)
{
    for (uint32_t i = 0; i < schemas->count; i++) {
        const struct json_schema *schema = &schemas->list[i];
        if (schema->is_key == is_key && schema->length <= (size_t)(json->end - json->at) &&
            !memcmp(schema->text, json->at, schema->length))
            return schema;
    }
    return NULL;
}

const struct json_schema *json_schemas_take(struct json_schemas *schemas, struct iso_json *json,
                                            bool is_key)
{
    struct node node;
    iso_json_space(json);
    const char *from = json->at;
    const struct json_schema *known = find_schema(schemas, json, is_key);
    if (known) {
        json->at += known->length;
        return known;
    }
    if (iso_json_take_null(json))
        return NULL;
    struct json_schema schema = {.is_key = is_key};
    if (iso_json_peek(json) != ISO_JSON_OBJECT) {
        iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "a schema or null");
        return NULL;
    }
    if (!read_node(json, &schema, is_key ? 0 : -1, &node)) {
        release(&schema);
        return NULL;
    }
    schema.length = (size_t)(json->at - from);
    schema.text = iso_copy_text(from, schema.length);
    uint32_t place =
        schemas->count < JSON_SCHEMAS ? schemas->count++ : schemas->oldest++ % JSON_SCHEMAS;
    release(&schemas->list[place]);
    schemas->list[place] = schema;
    return &schemas->list[place];
}
