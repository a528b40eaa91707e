/* Debezium's connectors for PostgreSQL, MySQL and MariaDB: their messages to events.
 *
 * Kind "debezium"; formats json (the default), avro, protobuf. One decoder takes every topic of a
 * connector: tables, transaction metadata, logical messages, heartbeats, schema changes. See
 * README.md here for what a source gives.
 *
 * Rows have the transaction's id (PostgreSQL: the xid's low 32 bits as a number; MySQL and MariaDB:
 * GTID, or file and position), their place in it, and their position: PostgreSQL {LSN of the
 * previous END, own LSN}, MySQL {number of the binlog file, offset << 24 | row}. There is no
 * timestamp that orders transactions, so events have none.
 *
 * State: what tables have shown of their columns and before images, at most some thousand of them
 * (envelope/tables.h). Threads: one at a time for each decoder.
 */
#pragma once

#include "values/source.h"

extern const struct iso_decoder_class iso_debezium_decoder;
