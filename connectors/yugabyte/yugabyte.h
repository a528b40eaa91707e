/* YugabyteDB's two connectors: their messages to events.
 *
 * Kind "yugabyte"; formats json (the default), avro, protobuf. Which connector a message is from,
 * it says itself:
 *
 *     gRPC          `source.connector` "yugabytedb": rows have the distributed transaction's UUID
 *                   (none outside of one), cts = commit_time, position {commit_time, record_time},
 *                   and the number of the write as their order
 *     logical       "postgresql", the fork of Debezium's: rows have the slot's own transaction
 *                   number and PostgreSQL's replication position; cts where the slot's LSNs are
 *                   HybridTimes (slot.lsn.type=HYBRID_TIME)
 *
 * A HybridTime is microseconds since 1970 << 12 | a logical counter; it is taken as one number.
 * Several transactions may have the same one. State: as of debezium. Threads: one at a time for
 * each decoder.
 */
#pragma once

#include "values/source.h"

extern const struct iso_decoder_class iso_yugabyte_decoder;
