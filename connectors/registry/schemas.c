#include "connectors/registry/schemas.h"

void iso_schemas_release(struct iso_schemas *schemas)
{
    for (uint32_t i = 0; i < schemas->count; i++)
        schemas->forget(schemas->list[i].schema);
    schemas->count = 0;
}

static void *add(struct iso_schemas *schemas, uint32_t id, struct iso_error *error)
{
    struct iso_schema text;
    struct iso_error wrong = {.status = ISO_OK};
    if (schemas->registry->find(schemas->registry->context, id, &text, error) != ISO_OK)
        return NULL;
    if (text.type != schemas->type) {
        iso_error_set(error, ISO_BAD_INPUT, "schema %u is of another format, expected %s", id,
                      schemas->type == ISO_SCHEMA_AVRO ? "Avro" : "Protobuf");
        return NULL;
    }
    void *schema = schemas->parse(text.text, text.length, &wrong);
    if (!schema) {
        iso_error_set(error, wrong.status, "schema %u: %s", id, wrong.text);
        return NULL;
    }
    uint32_t place = schemas->count < ISO_SCHEMAS_MAX ? schemas->count++ : schemas->oldest++ % ISO_SCHEMAS_MAX;
    if (schemas->list[place].schema)
        schemas->forget(schemas->list[place].schema);
    schemas->list[place].id = id;
    schemas->list[place].schema = schema;
    return schema;
}

void *iso_schemas_find_slow(struct iso_schemas *schemas, uint32_t id, struct iso_error *error)
{
    for (uint32_t i = 0; i < schemas->count; i++)
        if (schemas->list[i].id == id) {
            schemas->last = i;
            return schemas->list[i].schema;
        }
    return add(schemas, id, error);
}
