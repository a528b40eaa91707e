/* Writing a transaction as a record of a history topic: Avro or Protobuf, in the schemas of
 * deploy/schemas, without framing. (As JSON a record is a line of the native format,
 * formats/write_history.h.)
 *
 * The encodings are written out by hand: both are short. Threads: one at a time for each text.
 */
#pragma once

#include "base/text.h"
#include "history/history.h"

/* Append the record of a transaction of a history with scalar timestamps, built or finished,
 * without snapshots. For Avro timestamps are below 2^63, since its long is signed, and nothing is
 * marked, since the published schema has no place for that; else false, and the text is as it
 * was. */
bool iso_record_write_avro(const struct iso_history *history, uint32_t transaction,
                           struct iso_text *text);
void iso_record_write_protobuf(const struct iso_history *history, uint32_t transaction,
                               struct iso_text *text);
