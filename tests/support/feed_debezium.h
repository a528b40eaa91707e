/* A history as Debezium would send it: a message a change, transaction metadata, snapshot rows, and
 * what goes wrong on the way: connectors that restart and send again, partitions and topics that a
 * consumer sees interleaved.
 *
 * PostgreSQL's logical positions are as on a real server: rows of concurrent transactions
 * interleave in the log, so that a row's LSN may be below the END of the transaction before it.
 * Keys must be "public.tN/K" (feed_debezium_name makes them so), transactions committed in the
 * order of their cts; lists cannot be carried. Topics are dbz.public.tN, dbz.transaction,
 * dbz.message.
 */
#ifndef TESTS_SUPPORT_FEED_DEBEZIUM_H
#define TESTS_SUPPORT_FEED_DEBEZIUM_H

#include "values/source.h"
#include "tests/support/feed.h"

enum { FEED_DEBEZIUM_TABLES = 4 };

enum feed_debezium_format {
    FEED_JSON,
    FEED_JSON_SCHEMAS,
    FEED_AVRO,
    FEED_PROTOBUF,
    FEED_TEST_DECODING
};

struct feed_debezium_options {
    uint64_t seed;
    enum feed_debezium_format format;
    bool binlog; /* MySQL: `public` is the database, ids are GTIDs "0-1-CTS", without `commits`
                    "0-1-XID" */
    bool default_identity; /* before images are null or the key alone */
    bool cells; /* values are "V|A" of the columns v and amt, A in hundredths below 128; `~` is null
                 */
    bool metadata;       /* the transaction topic */
    bool in_band;        /* each transaction that writes holds its record, as a logical message */
    bool marker;         /* JSON: the column `m` of each row is its transaction's tid */
    bool snapshot;       /* initial values come as snapshot rows */
    uint32_t partitions; /* of each table's topic, at least 1 */
    uint32_t restarts;   /* of the connector, at most */
    uint64_t first_xid;  /* transaction t has this + t; on the wire the low 32 bits */
    const uint64_t *commits; /* a transaction's cts, 0 if it is not to be sent; NULL: of the
                                committed ones, their own */
};

/* Key `index` as "public.tN/K", over `*(uint32_t *)context` tables. */
iso_atom feed_debezium_name(void *context, struct iso_history *history, uint32_t index);

/* Adds the messages of all writers; false if the history has what Debezium cannot carry. */
bool feed_debezium_write(struct feed *feed, const struct iso_history *history,
                         const struct feed_debezium_options *options);

/* The schemas of Avro's and Protobuf's messages. */
extern const struct iso_schema_provider feed_debezium_avro, feed_debezium_protobuf;

/* What a decoder of the feed needs: format, registry, and the column of the values. */
struct iso_decoder_options feed_debezium_decoding(enum feed_debezium_format format);

#endif
