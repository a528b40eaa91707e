/* TiCDC's change streams: seven protocols, one way of looking at them.
 *
 * options->format says which: canal-json (default), open-protocol, simple, simple-avro, avro,
 * debezium, csv. A key is `db.table/pk`, the parts of a composite one in the order of its index
 * (identity.c). A row's value is options->value or
 * canonical JSON (values/row.h): integers, bits, enums and sets as numbers, floating point as
 * numbers, binary columns as base64, everything else as text.
 *
 *     a row          ROW: cts; sts where the changefeed is set to send it; before and after where
 *                    the message has them
 *     an update of the key, unsplit
 *                    two ROWs, a delete and an insert
 *     a row whose values were left out (handle-key-only, claim-check)
 *                    ROW without ISO_EVENT_HAS_AFTER: that it was written is all that is known
 *     a watermark    WATERMARK; a DDL: DROP if it drops or truncates a table, else SCHEMA
 *     a bootstrap    IGNORED; the schema is remembered
 *
 * canal-json without the TiDB extension has no commit timestamp: its rows come without
 * ISO_EVENT_HAS_CTS. Commit timestamps are not unique (async commit, 1PC): (key, cts) identifies a
 * row, cts alone no transaction.
 *
 * options->schema: simple: table schemas, as bootstraps have them, one after the other; csv:
 *   schema_*.json likewise;
 * avro: a writer's schema for every id. options->compression: none, lz4, snappy, TiCDC's
 * large-message-handle-compression.
 *
 * Memory: what the largest message needs, and the schemas of the tables seen. Threads: one at a
 * time for each decoder.
 */
#pragma once

#include "values/source.h"

/* Kind "ticdc". */
extern const struct iso_decoder_class iso_ticdc_decoder;
