/* A client's record in Avro's encoding to an event: a transaction or a watermark.
 *
 * Operations that stand last in their record, as in the published schema, are read as they come;
 * operations before other members are passed over first and read when those are known. Threads: as
 * the events'. */
#pragma once

#include "connectors/avro/schema.h"
#include "values/source.h"

/* ISO_BAD_INPUT: the events are as they were. */
enum iso_status record_avro_read(const struct iso_avro_type *root, const uint8_t *bytes,
                                 size_t size, const struct iso_message *message,
                                 struct iso_events *events, struct iso_error *error);
