/* Schemas by their registry's id, taken apart once; of their texts nothing is kept. At most
 * ISO_SCHEMAS_MAX, made of ISO_SCHEMAS_BYTES of text, stay; the oldest make room, and are asked for
 * again if they are needed again. One that cannot be taken apart is kept as such, with the reason:
 * its records are as many as their sender likes. Found by a hash of the id. Ownership: owns what
 * `parse` makes. Threads: one at a time.
 */
#pragma once

#include "base/number_map.h"
#include "values/source.h"

/* KEPT: however long their texts are. */
enum { ISO_SCHEMAS_MAX = 4096, ISO_SCHEMAS_BYTES = 8 << 20, ISO_SCHEMAS_KEPT = 4 };

/* Parses a schema's text, which is freed afterwards, into a format's own form; NULL with an
 * error. */
typedef void *iso_schema_parse(const char *text, size_t length, struct iso_error *error);
typedef void iso_schema_forget(void *schema);

struct iso_schemas {
    const struct iso_schema_provider *registry; /* borrowed */
    enum iso_schema_type type;
    iso_schema_parse *parse;
    iso_schema_forget *forget;
    struct iso_schema_entry {
        uint32_t id;
        size_t length; /* of its text */
        void *schema;  /* NULL: it cannot be taken apart */
        char *refusal; /* why not; else NULL */
    } * ring;          /* of ISO_SCHEMAS_MAX; NULL: none was ever asked for */
    uint32_t count, oldest;
    size_t bytes;                /* of texts */
    uint32_t last;               /* the place of the one asked for last */
    struct iso_number_map by_id; /* places in the ring */
};

void iso_schemas_release(struct iso_schemas *schemas);

void *iso_schemas_find_slow(struct iso_schemas *schemas, uint32_t id, struct iso_error *error);

/* Valid until two others were asked for; NULL with an error. */
static inline void *iso_schemas_find(struct iso_schemas *schemas, uint32_t id,
                                     struct iso_error *error)
{
    if (schemas->count && schemas->ring[schemas->last].id == id &&
        schemas->ring[schemas->last].schema)
        return schemas->ring[schemas->last].schema;
    return iso_schemas_find_slow(schemas, id, error);
}
