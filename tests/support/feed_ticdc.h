/* A history as TiCDC would send it, in any of its protocols: one row for each key that a
 * transaction changed, with the row before, over several partitions that are read at different
 * paces, with watermarks, and with repeats after restarts.
 *
 * Keys must be `db.table/pk` with one column `id`, or `db.table/Z,A,M` with a key of the columns z,
 * a and m, which the table has in another order (canal-json, open-protocol, simple, debezium); the
 * value is the column `v`, a text (options->value "v" reads it). Lists and timestamp pairs cannot
 * be carried.
 */
#ifndef TESTS_SUPPORT_FEED_TICDC_H
#define TESTS_SUPPORT_FEED_TICDC_H

#include "values/source.h"
#include "tests/support/feed.h"

struct feed_ticdc_options {
    uint64_t seed;
    const char *format; /* as the decoder's option */
    const char *topic;
    uint32_t partitions; /* at least 1; all rows of a key are in one */
    uint32_t restarts; /* how often what was sent since some earlier point is sent again, at most */
    uint32_t every;    /* a watermark after so many transactions, and one at the end; 0: none */
    bool start_ts;     /* simple, debezium: rows say it, where the history has it */
    bool drops_unchanged;    /* writes of the value that was there have no row */
    const char *compression; /* NULL, "lz4", "snappy" */
    bool marker_column;      /* canal-json: the column `m` of each row is its transaction's tid */
    bool cells; /* values are "V|W" of the columns v and w, `~` is null; not avro, simple-avro, csv
                 */
    bool marker_rows; /* each transaction inserts a row into test.tx whose column `v` is its tid */
    const uint64_t *commits; /* a transaction's cts, 0 if it is not to be sent; NULL: of the
                                committed ones, their own */
};

/* The formats, NULL at the end: all but csv and avro carry several tables. */
extern const char *const feed_ticdc_formats[];

/* What a decoder of the feed needs: options->schema or registry, and value. */
void feed_ticdc_decoder_options(const char *format, struct iso_decoder_options *options);

/* Key `index` as "test.tN/K", over `*(uint32_t *)context` tables. */
iso_atom feed_ticdc_name(void *context, struct iso_history *history, uint32_t index);

/* Adds the messages; false if the history has what cannot be carried. */
bool feed_ticdc_write(struct feed *feed, const struct iso_history *history,
                      const struct feed_ticdc_options *options);

/* ---- one message (feed_ticdc_format.c) ---- */

struct feed_ticdc_row {
    struct iso_bytes database, table, id, before, after; /* null: no row */
    struct iso_bytes marker;                             /* null: rows have no such column */
    bool cells;
    uint64_t sts, cts; /* sts 0: not said */
};

struct feed_ticdc_message {
    struct iso_text key, payload;
    bool has_key;
};

/* A row, the watermark `cts` if `row` is NULL, or what says what the table is: its bootstrap
 * (simple), or the statement that made it (canal-json, open-protocol, debezium). */
bool feed_ticdc_encode(const char *format, const char *compression,
                       const struct feed_ticdc_row *row, uint64_t cts, bool bootstrap,
                       struct feed_ticdc_message *message);

#endif
