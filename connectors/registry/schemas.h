/* Schemas by their registry's id, taken apart once. At most ISO_SCHEMAS_MAX are kept; the oldest makes room, and is
 * asked for again if it is needed again. Ownership: owns what `parse` makes. Threads: one at a time.
 */
#ifndef ISO_REGISTRY_SCHEMAS_H
#define ISO_REGISTRY_SCHEMAS_H

#include "iso/source.h"

enum { ISO_SCHEMAS_MAX = 256 };

/* What a format makes of a schema's text; NULL with an error. */
typedef void *iso_schema_parse(const char *text, size_t length, struct iso_error *error);
typedef void iso_schema_forget(void *schema);

struct iso_schemas {
    const struct iso_schema_provider *registry; /* borrowed */
    enum iso_schema_type type;
    iso_schema_parse *parse;
    iso_schema_forget *forget;
    uint32_t count, oldest, last; /* last: where the one asked for last may be */
    struct {
        uint32_t id;
        void *schema;
    } list[ISO_SCHEMAS_MAX];
};

void iso_schemas_release(struct iso_schemas *schemas);

void *iso_schemas_find_slow(struct iso_schemas *schemas, uint32_t id, struct iso_error *error);

/* Valid until the next but ISO_SCHEMAS_MAX - 1; NULL with an error. */
static inline void *iso_schemas_find(struct iso_schemas *schemas, uint32_t id, struct iso_error *error)
{
    if (schemas->last < schemas->count && schemas->list[schemas->last].id == id)
        return schemas->list[schemas->last].schema;
    return iso_schemas_find_slow(schemas, id, error);
}

#endif
