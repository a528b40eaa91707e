/* Schemas by their registry's id, taken apart once. At most ISO_ENVELOPE_SCHEMAS are kept; the oldest makes room, and
 * is asked for again if it is needed again.
 */
#ifndef ISO_ENVELOPE_SCHEMAS_H
#define ISO_ENVELOPE_SCHEMAS_H

#include "connectors/envelope/envelope.h"

/* What a format makes of a schema's text; NULL with an error. */
typedef void *envelope_parse(const char *text, size_t length, struct iso_error *error);
typedef void envelope_forget(void *schema);

struct envelope_schemas {
    const struct iso_schema_provider *registry; /* borrowed */
    enum iso_schema_type type;
    envelope_parse *parse;
    envelope_forget *forget;
    uint32_t count, oldest;
    struct {
        uint32_t id;
        void *schema;
    } list[ISO_ENVELOPE_SCHEMAS];
};

void envelope_schemas_release(struct envelope_schemas *schemas);

/* Valid until the next but ISO_ENVELOPE_SCHEMAS - 1; NULL with an error. */
void *envelope_schemas_find(struct envelope_schemas *schemas, uint32_t id, struct iso_error *error);

#endif
