/* A Confluent schema registry, read over HTTP: schemas by id, each asked for once.
 *
 * Ids are immutable, so what was found stays found. User and password may stand in the URL. Errors name the registry,
 * the schema and the registry's own words; a registry that cannot be reached is ISO_FAILED after a few tries, an id
 * that it does not know is ISO_FAILED too, since the same record may be decodable once the schema is there. Refused
 * connections and answers of 500 and above are tried three times; one that does not answer within 8 s is not asked
 * again. Ownership: the registry owns the schemas' texts. Threads: one at a time.
 */
#ifndef ISO_REGISTRY_H
#define ISO_REGISTRY_H

#include "iso/source.h"

struct iso_registry;

struct iso_registry *iso_registry_new(const char *url, struct iso_error *error); /* NULL on error */
/* How long an answer may take, in place of 8 s. */
void iso_registry_patience(struct iso_registry *registry, long milliseconds);
void iso_registry_free(struct iso_registry *registry);

/* For decoders; lives as long as the registry. */
const struct iso_schema_provider *iso_registry_provider(struct iso_registry *registry);

#endif
