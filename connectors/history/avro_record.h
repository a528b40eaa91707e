/* A client's record in Avro's encoding to an event: a transaction or a watermark.
 *
 * Operations that stand last in their record, as in the published schema, are read as they come; operations before
 * other members are passed over first and read when those are known. Threads: as the events'. */
#ifndef ISO_AVRO_RECORD_H
#define ISO_AVRO_RECORD_H

#include "connectors/history/avro_plan.h"
#include "iso/source.h"

/* What is wrong with the record (static text), and then the events are as they were; or NULL. */
const char *record_avro_read(const struct plan *plan, const uint8_t *bytes, size_t size,
                             const struct iso_message *message, struct iso_events *events);

#endif
