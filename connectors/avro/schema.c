#include "connectors/avro/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/names.h"
#include "base/payload.h"

enum { NAME_MAX_BYTES = 1024, NO_TYPE = -1 };

struct parser {
    struct iso_avro_schema *schema;
    struct iso_json *json;
    struct iso_error *error;
    struct iso_names names; /* of types */
    int depth;
};

/* An object's attributes: where the values of those stand that are looked at once the name is
 * known. */
struct attributes {
    struct iso_json_text name, space, logical, connect, parameters;
    const char *type, *fields, *symbols, *items, *values;
    uint64_t scale, size;
};

static int64_t parse_type(struct parser *parser, const char *space);

static int64_t wrong(struct parser *parser, const char *text)
{
    iso_error_set(parser->error, ISO_BAD_INPUT, "not an Avro schema: %s", text);
    return NO_TYPE;
}

static uint32_t add_type(struct iso_avro_schema *schema, enum iso_avro_shape shape)
{
    ISO_GROW(schema->types, schema->type_count, schema->type_capacity);
    schema->types[schema->type_count] = (struct iso_avro_type){.shape = (uint8_t)shape};
    return schema->type_count++;
}

static void add_field(struct iso_avro_schema *schema, struct iso_json_text name, uint32_t type)
{
    ISO_GROW(schema->fields, schema->field_count, schema->field_capacity);
    struct iso_avro_field *field = &schema->fields[schema->field_count++];
    *field = (struct iso_avro_field){.name = iso_copy_text(name.at, name.length),
                                     .length = (uint32_t)name.length,
                                     .number = type};
}

static void add_branch(struct iso_avro_schema *schema, uint32_t type)
{
    ISO_GROW(schema->branches, schema->branch_count, schema->branch_capacity);
    schema->branches[schema->branch_count++] = type;
}

/* ---- names ---- */

static void full_name(struct iso_json_text name, const char *space, char full[NAME_MAX_BYTES])
{
    bool dotted = name.length && memchr(name.at, '.', name.length);
    snprintf(full, NAME_MAX_BYTES, "%s%s%.*s", dotted ? "" : space, dotted || !*space ? "" : ".",
             (int)name.length, name.at);
}

static int primitive(struct iso_json_text name)
{
    static const char *const names[] = {"null",  "boolean", "int",   "long",
                                        "float", "double",  "bytes", "string"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strlen(names[i]) == name.length && !memcmp(names[i], name.at, name.length))
            return i;
    return NO_TYPE;
}

static int64_t type_of_name(struct parser *parser, struct iso_json_text name, const char *space)
{
    char full[NAME_MAX_BYTES];
    int shape = primitive(name);
    if (shape != NO_TYPE)
        return add_type(parser->schema, (enum iso_avro_shape)shape);
    full_name(name, space, full);
    int64_t type = iso_names_find(&parser->names, full);
    if (type == NO_TYPE)
        iso_error_set(parser->error, ISO_BAD_INPUT, "not an Avro schema: no type is named %s",
                      full);
    return type;
}

/* ---- objects ---- */

static void note_value(struct iso_json *json, const char **place)
{
    iso_json_space(json);
    *place = json->at;
    iso_json_skip(json);
}

static void read_string(struct iso_json *json, struct iso_json_text *text)
{
    if (iso_json_peek(json) == ISO_JSON_STRING)
        iso_json_string(json, text);
    else
        iso_json_skip(json);
}

static void read_object(struct iso_json *json, struct iso_json_text *text)
{
    bool is_object = iso_json_peek(json) == ISO_JSON_OBJECT;
    const char *from = json->at;
    if (iso_json_skip(json) && is_object)
        *text = (struct iso_json_text){from, (size_t)(json->at - from)};
}

static void read_number(struct iso_json *json, uint64_t *number)
{
    struct iso_json_number read;
    if (iso_json_peek(json) != ISO_JSON_DIGITS)
        iso_json_skip(json);
    else if (iso_json_integer(json, &read))
        *number = read.negative ? UINT64_MAX : read.bits;
}

static void read_attributes(struct iso_json *json, struct attributes *attributes)
{
    struct iso_json_text name;
    *attributes = (struct attributes){.name = {"", 0}};
    iso_json_enter_object(json);
    while (iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "type"))
            note_value(json, &attributes->type);
        else if (ISO_PAYLOAD_IS(name, "fields"))
            note_value(json, &attributes->fields);
        else if (ISO_PAYLOAD_IS(name, "symbols"))
            note_value(json, &attributes->symbols);
        else if (ISO_PAYLOAD_IS(name, "items"))
            note_value(json, &attributes->items);
        else if (ISO_PAYLOAD_IS(name, "values"))
            note_value(json, &attributes->values);
        else if (ISO_PAYLOAD_IS(name, "name"))
            read_string(json, &attributes->name);
        else if (ISO_PAYLOAD_IS(name, "namespace"))
            read_string(json, &attributes->space);
        else if (ISO_PAYLOAD_IS(name, "logicalType"))
            read_string(json, &attributes->logical);
        else if (ISO_PAYLOAD_IS(name, "connect.name"))
            read_string(json, &attributes->connect);
        else if (ISO_PAYLOAD_IS(name, "connect.parameters"))
            read_object(json, &attributes->parameters);
        else if (ISO_PAYLOAD_IS(name, "scale"))
            read_number(json, &attributes->scale);
        else if (ISO_PAYLOAD_IS(name, "size"))
            read_number(json, &attributes->size);
        else
            iso_json_skip(json);
    }
}

/* Reads what stands at a place that was noted, and comes back. */
static int64_t parse_at(struct parser *parser, const char *place, const char *space)
{
    struct iso_json *json = parser->json;
    const char *back = json->at;
    unsigned depth = json->depth;
    if (!place)
        return wrong(parser, "an attribute of a type is missing");
    json->at = place;
    json->fresh = false;
    int64_t type = parse_type(parser, space);
    if (json->code == ISO_JSON_FINE) {
        json->at = back;
        json->depth = depth;
        json->fresh = false;
    }
    return type;
}

static bool start_list(struct parser *parser, const char *place)
{
    struct iso_json *json = parser->json;
    if (!place)
        return wrong(parser, "fields or symbols are missing") != NO_TYPE;
    json->at = place;
    json->fresh = false;
    return iso_json_enter_array(json);
}

/* Fields stand together, so those of nested records must be parsed before the first one is
 * added. */
static void take_fields(struct parser *parser, uint32_t type, const char *place, const char *space)
{
    struct iso_json *json = parser->json;
    struct attributes attributes;
    struct pending {
        struct iso_json_text name;
        uint32_t type;
    } *pending = NULL;
    uint32_t count = 0, capacity = 0;
    if (!start_list(parser, place))
        return;
    while (parser->error->status == ISO_OK && iso_json_element(json)) {
        read_attributes(json, &attributes);
        int64_t inner =
            json->code == ISO_JSON_FINE ? parse_at(parser, attributes.type, space) : NO_TYPE;
        if (inner == NO_TYPE)
            break;
        ISO_GROW(pending, count, capacity);
        pending[count++] = (struct pending){attributes.name, (uint32_t)inner};
    }
    parser->schema->types[type].first = parser->schema->field_count;
    parser->schema->types[type].count = count;
    for (uint32_t i = 0; i < count; i++)
        add_field(parser->schema, pending[i].name, pending[i].type);
    iso_free(pending);
}

static void take_symbols(struct parser *parser, uint32_t type, const char *place)
{
    struct iso_json_text symbol;
    if (!start_list(parser, place))
        return;
    parser->schema->types[type].first = parser->schema->field_count;
    while (iso_json_element(parser->json) && iso_json_string(parser->json, &symbol))
        add_field(parser->schema, symbol, 0);
    parser->schema->types[type].count =
        parser->schema->field_count - parser->schema->types[type].first;
}

static char *copy(char *known, struct iso_json_text text)
{
    return known || !text.length ? known : iso_copy_text(text.at, text.length);
}

static void give_meaning(struct parser *parser, struct iso_avro_type *type,
                         const struct attributes *attributes)
{
    bool is_bytes = type->shape == ISO_AVRO_BYTES || type->shape == ISO_AVRO_FIXED;
    if (is_bytes && ISO_PAYLOAD_IS(attributes->logical, "decimal")) {
        type->is_decimal = true;
        type->scale = (int32_t)attributes->scale;
        if (attributes->scale > ISO_AVRO_SCALE_MAX)
            wrong(parser, "a decimal's scale is above 1000");
    }
    type->connect_name = copy(type->connect_name, attributes->connect);
    type->parameters = copy(type->parameters, attributes->parameters);
}

/* record, enum, fixed: `at` is behind the object, to which the cursor returns. */
static int64_t parse_named(struct parser *parser, enum iso_avro_shape shape,
                           const struct attributes *attributes, const char *space)
{
    char full[NAME_MAX_BYTES], own[NAME_MAX_BYTES];
    struct iso_json *json = parser->json;
    const char *back = json->at;
    unsigned depth = json->depth;
    if (!attributes->name.length)
        return wrong(parser, "a record, an enumeration or a fixed without a name");
    if (attributes->name.length + attributes->space.length + strlen(space) + 2 > NAME_MAX_BYTES)
        return wrong(parser, "a name is too long");
    snprintf(own, sizeof own, "%.*s",
             attributes->space.at ? (int)attributes->space.length : (int)strlen(space),
             attributes->space.at ? attributes->space.at : space);
    full_name(attributes->name, own, full);
    if (iso_names_find(&parser->names, full) != ISO_NAMES_NONE)
        return wrong(parser, "a name is defined as two types");
    char *dot = strrchr(full, '.');
    snprintf(own, sizeof own, "%.*s", dot ? (int)(dot - full) : 0, full);
    uint32_t type = add_type(parser->schema, shape);
    parser->schema->types[type].name = iso_copy_text(full, strlen(full));
    iso_names_add(&parser->names, parser->schema->types[type].name, (uint32_t)type);
    if (shape == ISO_AVRO_RECORD)
        take_fields(parser, type, attributes->fields, own);
    else if (shape == ISO_AVRO_ENUM)
        take_symbols(parser, type, attributes->symbols);
    else
        parser->schema->types[type].count =
            attributes->size > UINT32_MAX ? UINT32_MAX : (uint32_t)attributes->size;
    if (json->code == ISO_JSON_FINE) {
        json->at = back;
        json->depth = depth;
        json->fresh = false;
    }
    return type;
}

static int64_t parse_object(struct parser *parser, const char *space)
{
    struct iso_json *json = parser->json;
    struct attributes attributes;
    struct iso_json_text kind = {"", 0};
    int64_t type, item;
    read_attributes(json, &attributes);
    if (json->code != ISO_JSON_FINE || !attributes.type)
        return wrong(parser, "an object without a type");
    if (*attributes.type != '"') {
        type = parse_at(parser, attributes.type, space);
    } else {
        const char *back = json->at;
        json->at = attributes.type;
        iso_json_string(json, &kind);
        json->at = back;
        if (ISO_PAYLOAD_IS(kind, "record") || ISO_PAYLOAD_IS(kind, "error"))
            type = parse_named(parser, ISO_AVRO_RECORD, &attributes, space);
        else if (ISO_PAYLOAD_IS(kind, "enum"))
            type = parse_named(parser, ISO_AVRO_ENUM, &attributes, space);
        else if (ISO_PAYLOAD_IS(kind, "fixed"))
            type = parse_named(parser, ISO_AVRO_FIXED, &attributes, space);
        else if (ISO_PAYLOAD_IS(kind, "array") || ISO_PAYLOAD_IS(kind, "map")) {
            bool is_array = ISO_PAYLOAD_IS(kind, "array");
            item = parse_at(parser, is_array ? attributes.items : attributes.values, space);
            type = item == NO_TYPE ? NO_TYPE
                                   : (int64_t)add_type(parser->schema,
                                                       is_array ? ISO_AVRO_ARRAY : ISO_AVRO_MAP);
            if (type != NO_TYPE)
                parser->schema->types[type].item = (uint32_t)item;
        } else {
            type = type_of_name(parser, kind, space);
        }
    }
    if (type != NO_TYPE && parser->error->status == ISO_OK)
        give_meaning(parser, &parser->schema->types[type], &attributes);
    return type;
}

static int64_t parse_union(struct parser *parser, const char *space)
{
    struct iso_json *json = parser->json;
    uint32_t types[64], count = 0;
    iso_json_enter_array(json);
    while (parser->error->status == ISO_OK && iso_json_element(json)) {
        int64_t type =
            count < 64 ? parse_type(parser, space) : wrong(parser, "a union of more than 64");
        if (type == NO_TYPE)
            return NO_TYPE;
        types[count++] = (uint32_t)type;
    }
    if (!count)
        return wrong(parser, "an empty union");
    uint32_t type = add_type(parser->schema, ISO_AVRO_UNION);
    parser->schema->types[type].first = parser->schema->branch_count;
    parser->schema->types[type].count = count;
    for (uint32_t i = 0; i < count; i++)
        add_branch(parser->schema, types[i]);
    return type;
}

static int64_t parse_type(struct parser *parser, const char *space)
{
    struct iso_json_text name;
    int64_t type = NO_TYPE;
    if (parser->error->status != ISO_OK || ++parser->depth == ISO_AVRO_DEPTH_MAX)
        return wrong(parser, "nested too deep");
    switch (iso_json_peek(parser->json)) {
    case ISO_JSON_STRING:
        if (iso_json_string(parser->json, &name))
            type = type_of_name(parser, name, space);
        break;
    case ISO_JSON_OBJECT:
        type = parse_object(parser, space);
        break;
    case ISO_JSON_ARRAY:
        type = parse_union(parser, space);
        break;
    default:
        wrong(parser, "expected a type's name, an object or an array");
    }
    parser->depth--;
    return type;
}

/* ---- whole schemas ---- */

/* The tables do not move any more: numbers become pointers. */
static void settle(struct iso_avro_schema *schema, uint32_t root)
{
    schema->root = &schema->types[root];
    schema->branch_types = iso_allocate((schema->branch_count + 1u) * sizeof *schema->branch_types);
    for (uint32_t i = 0; i < schema->branch_count; i++)
        schema->branch_types[i] = &schema->types[schema->branches[i]];
    for (uint32_t i = 0; i < schema->type_count; i++) {
        struct iso_avro_type *type = &schema->types[i];
        if (type->shape == ISO_AVRO_RECORD || type->shape == ISO_AVRO_ENUM)
            type->fields = schema->fields ? &schema->fields[type->first] : NULL;
        else if (type->shape == ISO_AVRO_UNION)
            type->branches = &schema->branch_types[type->first];
        else if (type->shape == ISO_AVRO_ARRAY || type->shape == ISO_AVRO_MAP)
            type->items = &schema->types[type->item];
        for (uint32_t f = 0; type->shape == ISO_AVRO_RECORD && f < type->count; f++)
            type->fields[f].type = &schema->types[type->fields[f].number];
    }
}

struct iso_avro_schema *iso_avro_schema_read(struct iso_json *json, struct iso_error *error)
{
    struct iso_avro_schema *schema = iso_allocate_zeroed(1, sizeof *schema);
    struct parser parser = {.schema = schema, .json = json, .error = error};
    int64_t root = parse_type(&parser, "");
    iso_names_release(&parser.names);
    if (json->code != ISO_JSON_FINE) { /* what followed from that does not matter */
        *error = (struct iso_error){.status = ISO_OK};
        iso_payload_fault(json, error);
    }
    if (error->status != ISO_OK) {
        iso_avro_schema_free(schema);
        return NULL;
    }
    settle(schema, (uint32_t)root);
    return schema;
}

struct iso_avro_schema *iso_avro_schema_parse(const char *text, size_t length,
                                              struct iso_error *error)
{
    struct iso_payload padded = {0};
    struct iso_json json;
    iso_json_init(&json);
    iso_json_start(&json, iso_payload_copy(&padded, text, length), length);
    struct iso_avro_schema *schema = iso_avro_schema_read(&json, error);
    if (schema && !iso_json_finish(&json)) {
        iso_payload_fault(&json, error);
        iso_avro_schema_free(schema);
        schema = NULL;
    }
    iso_json_release(&json);
    iso_payload_release(&padded);
    return schema;
}

void iso_avro_schema_free(void *freed)
{
    struct iso_avro_schema *schema = freed;
    if (!schema)
        return;
    for (uint32_t i = 0; i < schema->type_count; i++)
        ISO_FREE_ALL(schema->types[i].name, schema->types[i].connect_name,
                     schema->types[i].parameters);
    for (uint32_t i = 0; i < schema->field_count; i++)
        iso_free(schema->fields[i].name);
    ISO_FREE_ALL(schema->types, schema->fields, schema->branches, schema->branch_types, schema);
}
