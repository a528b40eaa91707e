/* History topics: clients publish whole transactions, one a message, as JSON, Avro or Protobuf.
 *
 * JSON is the native format of one transaction (native/native.h). Avro and Protobuf carry the same
 * members in the schemas of deploy/schemas; an Avro writer's schema may differ as Avro's resolution
 * allows. In every format a record may be a watermark instead: `{"watermark":"123"}` (its first
 * member) says that no later record in this partition has a cts up to 123. A null payload is
 * ignored. Threads: one at a time for each decoder.
 */
#pragma once

#include "values/source.h"

/* Kind "history"; options->format chooses. */
extern const struct iso_decoder_class iso_record_decoder;
