/* A Confluent schema registry, read over HTTP: schemas by id.
 *
 * Ids are immutable. A schema's text is kept until the next one is asked for, and no longer: who
 * asks keeps what it makes of it (schemas.h). An answer has 1 MiB at most.
 *
 * Errors name the registry, the schema and the registry's own words.
 *
 *     ISO_BAD_INPUT   what no patience mends: an id that the registry does not have, a schema that
 *                     refers to others, an answer that is too long. Remembered for 30 s: the same
 *                     id is not asked for before.
 *     ISO_FAILED      a registry that cannot be reached, does not answer in time, or answers with
 *                     something else: the same record may be decodable later
 *
 * Refused connections, answers of 500 and above, and ids that are not there are tried three times
 * in three quarters of a second; one that does not answer within 8 s is not asked again. After an
 * id that was not there others are asked for once only, for 10 s, so that many of them do not hold
 * up what is in order. Threads: one at a time.
 */
#pragma once

#include "values/source.h"

struct iso_registry;

/* `credentials`: a file with USER:PASSWORD, or NULL; in the URL they are refused. NULL on error. */
struct iso_registry *iso_registry_new(const char *url, const char *credentials,
                                      struct iso_error *error);
/* How long an answer may take, in place of 8 s. */
void iso_registry_patience(struct iso_registry *registry, long milliseconds);
/* For how long an id that was refused is not asked for again, in place of 30 s. */
void iso_registry_missing(struct iso_registry *registry, long milliseconds);
void iso_registry_free(struct iso_registry *registry);

/* For decoders; lives as long as the registry. */
const struct iso_schema_provider *iso_registry_provider(struct iso_registry *registry);
