#include "connectors/registry/schemas.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

/* The oldest becomes the newest. */
static void renew_oldest(struct iso_schemas *schemas)
{
    assert(schemas->count > 1);
    struct iso_schema_entry entry = schemas->ring[schemas->oldest];
    schemas->ring[schemas->oldest] = (struct iso_schema_entry){0};
    schemas->oldest = (schemas->oldest + 1) % ISO_SCHEMAS_MAX;
    schemas->last = (schemas->oldest + schemas->count - 1) % ISO_SCHEMAS_MAX;
    schemas->ring[schemas->last] = entry;
    iso_number_map_put(&schemas->by_id, entry.id, schemas->last);
}

/* The oldest makes room. */
static void drop_oldest(struct iso_schemas *schemas)
{
    struct iso_schema_entry *entry = &schemas->ring[schemas->oldest];
    assert(schemas->count && schemas->bytes >= entry->length);
    iso_number_map_remove(&schemas->by_id, entry->id);
    if (entry->schema)
        schemas->forget(entry->schema);
    iso_free(entry->refusal);
    schemas->bytes -= entry->length;
    *entry = (struct iso_schema_entry){0};
    schemas->oldest = (schemas->oldest + 1) % ISO_SCHEMAS_MAX;
    schemas->count--;
}

void iso_schemas_release(struct iso_schemas *schemas)
{
    while (schemas->count)
        drop_oldest(schemas);
    iso_number_map_release(&schemas->by_id);
    iso_free(schemas->ring);
    schemas->ring = NULL;
}

static void *parse_text(struct iso_schemas *schemas, uint32_t id, const struct iso_schema *text,
                        struct iso_error *error)
{
    struct iso_error wrong = {.status = ISO_OK};
    if (text->type != schemas->type) {
        iso_error_set(error, ISO_BAD_INPUT, "schema %u is of another format, expected %s", id,
                      schemas->type == ISO_SCHEMA_AVRO ? "Avro" : "Protobuf");
        return NULL;
    }
    void *schema = schemas->parse(text->text, text->length, &wrong);
    if (!schema)
        iso_error_set(error, wrong.status, "schema %u: %s", id, wrong.text);
    return schema;
}

#ifdef ISO_VALIDATE
/* Those between the oldest and the newest are found by their ids; no others are. */
static void validate_schemas(const struct iso_schemas *schemas)
{
    size_t bytes = 0;
    assert(schemas->count <= ISO_SCHEMAS_MAX && schemas->oldest < ISO_SCHEMAS_MAX &&
           schemas->last < ISO_SCHEMAS_MAX);
    assert((schemas->last + ISO_SCHEMAS_MAX - schemas->oldest) % ISO_SCHEMAS_MAX < schemas->count);
    for (uint32_t i = 0; i < schemas->count; i++) {
        uint32_t place = (schemas->oldest + i) % ISO_SCHEMAS_MAX;
        const struct iso_schema_entry *entry = &schemas->ring[place];
        assert(!entry->schema != !entry->refusal);
        assert(iso_number_map_get(&schemas->by_id, entry->id) == place);
        bytes += entry->length;
    }
    assert(bytes == schemas->bytes);
}
#else
static void validate_schemas(const struct iso_schemas *schemas)
{
    (void)schemas;
}
#endif

static bool is_full(const struct iso_schemas *schemas, size_t length)
{
    return schemas->count == ISO_SCHEMAS_MAX ||
           (schemas->count > ISO_SCHEMAS_KEPT && schemas->bytes + length > ISO_SCHEMAS_BYTES);
}

static struct iso_schema_entry *add_entry(struct iso_schemas *schemas, uint32_t id, size_t length)
{
    if (!schemas->ring)
        schemas->ring = iso_allocate_zeroed(ISO_SCHEMAS_MAX, sizeof *schemas->ring);
    while (is_full(schemas, length)) {
        if (schemas->oldest == schemas->last) /* a message's payload is still read beside its key */
            renew_oldest(schemas);
        drop_oldest(schemas);
    }
    assert(iso_number_map_get(&schemas->by_id, id) == ISO_NUMBER_NONE);
    uint32_t place = (schemas->oldest + schemas->count++) % ISO_SCHEMAS_MAX;
    schemas->bytes += length;
    schemas->last = place;
    iso_number_map_put(&schemas->by_id, id, place);
    schemas->ring[place] = (struct iso_schema_entry){.id = id, .length = length};
    return &schemas->ring[place];
}

static void *add_schema(struct iso_schemas *schemas, uint32_t id, struct iso_error *error)
{
    struct iso_schema text;
    if (schemas->registry->find(schemas->registry->context, id, &text, error) != ISO_OK)
        return NULL;
    void *schema = parse_text(schemas, id, &text, error);
    if (!schema && error->status != ISO_BAD_INPUT)
        return NULL;
    struct iso_schema_entry *entry = add_entry(schemas, id, text.length);
    entry->schema = schema;
    entry->refusal = schema ? NULL : iso_copy_text(error->text, strlen(error->text));
    validate_schemas(schemas);
    return schema;
}

void *iso_schemas_find_slow(struct iso_schemas *schemas, uint32_t id, struct iso_error *error)
{
    uint32_t place = iso_number_map_get(&schemas->by_id, id);
    if (place == ISO_NUMBER_NONE)
        return add_schema(schemas, id, error);
    const struct iso_schema_entry *entry = &schemas->ring[place];
    schemas->last = place;
    if (!entry->schema)
        iso_error_set(error, ISO_BAD_INPUT, "%s", entry->refusal);
    return entry->schema;
}
