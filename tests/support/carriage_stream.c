/* What clients and the feed of a carriage say, as messages, and the pipeline that they go through.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/debezium/debezium.h"
#include "connectors/dgraph/dgraph.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "tests/support/carriage.h"
#include "tests/support/feed_dgraph.h"
#include "tests/support/feed_ticdc.h"
#include "tests/support/feed_yugabyte.h"

enum { LINE = 4096 };

#define DGRAPH "dgraph", "p%u/0x%x"
#define DEBEZIUM "debezium", "public.t%u/%u"
#define TICDC "ticdc", "test.t%u/%u"
#define COMPOSITE "ticdc", "test.t%u/%u,7,x"
#define YUGABYTE "yugabyte", "public.t%u/%u"

const struct format carriage_formats[] = {
    {"dgraph", DGRAPH, BY_TIMESTAMPS, BY_COMMIT_TIMESTAMP, FEED_JSON, false, false, NULL, NO_MARKER,
     false},
    {"dgraph-one-group", DGRAPH, BY_TIMESTAMPS, BY_COMMIT_TIMESTAMP, FEED_JSON, false, false, NULL,
     NO_MARKER, true},
    {"dgraph-marker", DGRAPH, BY_TIMESTAMPS, BY_COMMIT_TIMESTAMP, FEED_JSON, false, false, NULL,
     MARKER_ROWS, false},
    {"debezium-marker", DEBEZIUM, BY_TIMESTAMPS, BY_XID, FEED_JSON, false, false, NULL,
     MARKER_COLUMN, false},
    {"debezium-snapshots-marker", DEBEZIUM, BY_SNAPSHOTS, BY_XID, FEED_JSON, false, false, NULL,
     MARKER_COLUMN, false},
    {"ticdc-marker", TICDC, BY_TIMESTAMPS, BY_SHARED_COMMIT_TIMESTAMP, FEED_JSON, false, false,
     "canal-json", MARKER_COLUMN, false},
    {"ticdc-marker-rows", TICDC, BY_TIMESTAMPS, BY_SHARED_COMMIT_TIMESTAMP, FEED_JSON, false, false,
     "open-protocol", MARKER_ROWS, false},
    {"debezium", DEBEZIUM, BY_TIMESTAMPS, BY_XID, FEED_JSON, false, false, NULL, NO_MARKER, false},
    {"debezium-snapshots", DEBEZIUM, BY_SNAPSHOTS, BY_XID, FEED_JSON, false, false, NULL, NO_MARKER,
     false},
    {"debezium-default-identity", DEBEZIUM, BY_SNAPSHOTS, BY_XID, FEED_JSON_SCHEMAS, false, true,
     NULL, NO_MARKER, false},
    {"debezium-in-band", DEBEZIUM, IN_BAND, BY_XID, FEED_JSON, false, false, NULL, NO_MARKER,
     false},
    {"debezium-alone", DEBEZIUM, BY_BEFORE_IMAGES, BY_XID, FEED_JSON, false, false, NULL, NO_MARKER,
     false},
    {"debezium-avro", DEBEZIUM, BY_SNAPSHOTS, BY_XID, FEED_AVRO, false, false, NULL, NO_MARKER,
     false},
    {"debezium-protobuf", DEBEZIUM, BY_BEFORE_IMAGES, BY_XID, FEED_PROTOBUF, false, false, NULL,
     NO_MARKER, false},
    {"binlog-alone", DEBEZIUM, BY_BEFORE_IMAGES, BY_XID, FEED_JSON, true, false, NULL, NO_MARKER,
     false},
    {"ticdc-canal-json", TICDC, BY_TIMESTAMPS, BY_SHARED_COMMIT_TIMESTAMP, FEED_JSON, false, false,
     "canal-json", NO_MARKER, false},
    {"ticdc-open-protocol", TICDC, BY_TIMESTAMPS, BY_SHARED_COMMIT_TIMESTAMP, FEED_JSON, false,
     false, "open-protocol", NO_MARKER, false},
    {"ticdc-simple", TICDC, BY_TIMESTAMPS, BY_START_TIMESTAMP, FEED_JSON, false, false, "simple",
     NO_MARKER, false},
    {"ticdc-debezium", TICDC, BY_TIMESTAMPS, BY_START_TIMESTAMP, FEED_JSON, false, false,
     "debezium", NO_MARKER, false},
    {"ticdc-canal-json-composite", COMPOSITE, BY_TIMESTAMPS, BY_SHARED_COMMIT_TIMESTAMP, FEED_JSON,
     false, false, "canal-json", NO_MARKER, false},
    {"ticdc-open-protocol-composite", COMPOSITE, BY_TIMESTAMPS, BY_SHARED_COMMIT_TIMESTAMP,
     FEED_JSON, false, false, "open-protocol", NO_MARKER, false},
    {"ticdc-simple-composite", COMPOSITE, BY_TIMESTAMPS, BY_START_TIMESTAMP, FEED_JSON, false,
     false, "simple", NO_MARKER, false},
    {"ticdc-debezium-composite", COMPOSITE, BY_TIMESTAMPS, BY_START_TIMESTAMP, FEED_JSON, false,
     false, "debezium", NO_MARKER, false},
    {"ticdc-alone", TICDC, BY_BEFORE_IMAGES, BY_SHARED_COMMIT_TIMESTAMP, FEED_JSON, false, false,
     "canal-json", NO_MARKER, false},
    {"yugabyte-alone", YUGABYTE, BY_BEFORE_IMAGES, BY_COMMIT_TIMESTAMP, FEED_JSON, false, false,
     NULL, NO_MARKER, false},
    {0}};

/* The text of a string member of a verdict line; *at moves behind it. */
static bool next_string(const char **at, const char *before, char *text, size_t size)
{
    const char *start = strstr(*at, before);
    if (!start)
        return false;
    start += strlen(before);
    const char *end = strchr(start, '"');
    snprintf(text, size, "%.*s", (int)(end - start), start);
    *at = end;
    return true;
}

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct carriage *carriage = context;
    char copy[LINE], axiom[32], tid[64], other[64], key[64] = "", text[FOUND_TEXT * 2];
    const char *at = copy;
    (void)error;
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    if (getenv("SHOW_LINES"))
        printf("# %s", copy);
    iso_text_put_bytes(&carriage->feeder.said, line, length);
    if (!strstr(copy, "\"state\":\"final\""))
        return ISO_OK;
    next_string(&at, "\"axiom\":\"", axiom, sizeof axiom);
    next_string(&at, "\"tids\":[\"", tid, sizeof tid);
    bool pair = !strcmp(axiom, "NOCONFLICT") && next_string(&at, ",\"", other, sizeof other);
    at = copy;
    next_string(&at, "\"key\":\"", key, sizeof key);
    snprintf(text, sizeof text, pair ? "%s %s,%s %s" : "%s %s%.0s %s", axiom, tid,
             pair ? other : "", key);
    carriage_add_found(&carriage->found, text);
    if ((!strcmp(axiom, "EXT") || !strcmp(axiom, "INT")) &&
        feeder_was_judged(&carriage->feeder, tid))
        snprintf(carriage->failure, sizeof carriage->failure, "%s of %s was said to hold before",
                 axiom, tid);
    return ISO_OK;
}

struct client_lines {
    char *text;
    size_t size;
    uint32_t count;
    struct iso_bytes list[PLAIN_TRANSACTIONS * 2];
};

/* The least xmin of the snapshots of transactions from `first` on: what clients can promise before
 * them. */
static uint64_t least_xmin(const struct plain_history *history, uint32_t first)
{
    uint64_t least = UINT64_MAX / 2;
    for (uint32_t t = first; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        if (transaction->snapshot.given && transaction->snapshot.xmin < least)
            least = transaction->snapshot.xmin;
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            if (transaction->operations[i].snapshot.given &&
                transaction->operations[i].snapshot.xmin < least)
                least = transaction->operations[i].snapshot.xmin;
    }
    return least;
}

/* Below everything that records from `first` on will say. */
static uint64_t least_timestamp(const struct plain_history *history, uint32_t first)
{
    uint64_t least = UINT64_MAX / 2;
    for (uint32_t t = first; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        if (transaction->sts.given && transaction->sts.physical < least)
            least = transaction->sts.physical;
        if (transaction->cts.given && transaction->cts.physical < least)
            least = transaction->cts.physical;
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            if (transaction->operations[i].ots.given &&
                transaction->operations[i].ots.physical < least)
                least = transaction->operations[i].ots.physical;
    }
    return least - 1;
}

/* Where rows have watermarks, clients may promise, too: by what records say, so not where one does
 * not say when it starts, or commits before that; nor where one of unknown outcome commits after
 * all, which may come too late for it.
 */
static bool promises(const struct carriage *carriage)
{
    bool rows =
        carriage_is_of(carriage->format, "ticdc") && carriage->format->mode == BY_TIMESTAMPS;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        const struct plain_transaction *record = &carriage->client.transactions[t];
        rows &= record->sts.given && (!carriage->commits[t] || record->status != ISO_UNKNOWN) &&
                (!carriage->commits[t] || carriage->commits[t] >= record->sts.physical);
    }
    return rows || carriage->format->one_group;
}

static void print_records(struct carriage *carriage, struct client_lines *lines)
{
    struct plain_history records = carriage->client;
    records.transaction_count = 0;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (!carriage->withheld[t])
            records.transactions[records.transaction_count++] = carriage->client.transactions[t];
    records.initial_count = 0;
    records.initial_value = plain_text(NULL);
    FILE *file = open_memstream(&lines->text, &lines->size);
    for (uint32_t t = 0; t < records.transaction_count; t++) {
        struct plain_history one = records;
        one.transaction_count = 1;
        one.transactions[0] = records.transactions[t];
        plain_history_print(&one, file, "");
        uint64_t promise = carriage->online     ? least_xmin(&records, t + 1)
                           : promises(carriage) ? least_timestamp(&records, t + 1)
                                                : 0;
        if (promise && random_percent(&carriage->random, 40)) {
            fprintf(file, "{\"watermark\":%" PRIu64 "}\n", promise);
            carriage->statistics->online++;
        }
    }
    fclose(file);
    lines->count = 0;
    for (char *at = lines->text; *at && lines->count < PLAIN_TRANSACTIONS * 2;) {
        char *end = strchr(at, '\n');
        lines->list[lines->count++] = (struct iso_bytes){(const uint8_t *)at, (uint32_t)(end - at)};
        at = end + 1;
    }
}

static struct iso_pipeline *open_pipeline(void *context)
{
    struct carriage *carriage = context;
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    bool clients =
        carriage->format->mode == BY_TIMESTAMPS || carriage->format->mode == BY_SNAPSHOTS;
    iso_pipeline_options_init(&options);
    options.join.initial_known = true; /* the feed tells it, or nothing was there */
    options.engine.level = carriage->level;
    options.join.kind = carriage->format->changes;
    options.join.clients = clients;
    options.join.records_first = carriage->from_file;
    options.join.one_group = carriage->format->one_group;
    options.join.markers = (enum iso_join_markers)carriage->format->marker;
    options.sink = sink;
    options.sink_context = options.context = carriage;
    options.final_only = true;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    static const char *const topics[] = {"dbz.public.t0", "dbz.public.t1",   "dbz.public.t2",
                                         "dbz.public.t3", "dbz.transaction", "dbz.message"};
    struct iso_decoder_options decoding = feed_debezium_decoding(carriage->format->encoding);
    decoding.identity = carriage->format->default_identity ? ISO_IDENTITY_LEARN : ISO_IDENTITY_FULL;
    struct iso_decoder_options ticdc = {.format = carriage->format->protocol, .value = "v"};
    if (carriage->format->marker == MARKER_COLUMN)
        decoding.marker = "m";
    static const char *const yugabyte[] = {"yb.public.t0", "yb.public.t1", "yb.public.t2",
                                           "yb.public.t3", "yb.transaction"};
    if (carriage_is_of(carriage->format, "debezium"))
        for (size_t i = 0; i < sizeof topics / sizeof *topics - (carriage->format->mode != IN_BAND);
             i++)
            iso_pipeline_route(pipeline, topics[i], iso_debezium_decoder.create(&decoding, &error),
                               false);
    if (carriage_is_of(carriage->format, "yugabyte"))
        for (size_t i = 0; i < sizeof yugabyte / sizeof *yugabyte; i++)
            iso_pipeline_route(
                pipeline, yugabyte[i],
                iso_yugabyte_decoder.create(
                    &(struct iso_decoder_options){.value = "v", .identity = ISO_IDENTITY_FULL},
                    &error),
                false);
    if (carriage_is_of(carriage->format, "ticdc")) {
        feed_ticdc_decoder_options(carriage->format->protocol, &ticdc);
        ticdc.format = carriage->format->protocol;
        if (carriage->format->marker)
            ticdc.marker = carriage->format->marker == MARKER_COLUMN ? "m" : "test.tx.v";
        iso_pipeline_route(pipeline, "ticdc", iso_ticdc_decoder.create(&ticdc, &error), false);
    }
    if (carriage_is_of(carriage->format, "dgraph"))
        iso_pipeline_route(
            pipeline, "dgraph-cdc",
            iso_dgraph_decoder.create(&(struct iso_decoder_options){.marker = "tx"}, &error),
            false);
    iso_pipeline_route(
        pipeline, "clients",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error), false);
    if (error.status != ISO_OK)
        abort();
    return pipeline;
}

static void set_initial(struct carriage *carriage, struct iso_pipeline *pipeline)
{
    struct iso_history history;
    struct plain_history plain = carriage->client;
    plain.transaction_count = 0;
    if (carriage->snapshot_rows)
        plain.initial_count = 0;
    iso_history_init(&history);
    plain_history_fill(&plain, &history);
    iso_pipeline_initial(pipeline, &history);
    iso_history_release(&history);
}

static void give_file(struct carriage *carriage, struct iso_pipeline *pipeline,
                      struct iso_error *error)
{
    struct plain_history records = carriage->client;
    struct iso_history history;
    records.transaction_count = 0;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (!carriage->withheld[t])
            records.transactions[records.transaction_count++] = carriage->client.transactions[t];
    iso_history_init(&history);
    plain_history_fill(&records, &history);
    iso_pipeline_records(pipeline, &history, 0, error);
    iso_history_release(&history);
}

/* Readers of whom nobody knows when they read: whatever they read, nothing is found in it, and
 * nothing is changed by it. */
static void give_stranger(struct feeder *feeder, struct iso_error *error)
{
    struct carriage *carriage = feeder->context;
    struct random *random = &carriage->strangers;
    uint32_t t = random_below(random, carriage->client.transaction_count + 1);
    const struct plain_transaction *like = &carriage->client.transactions[t];
    if (t == carriage->client.transaction_count || !like->operation_count ||
        !random_percent(random, 30))
        return;
    const struct plain_operation *operation =
        &like->operations[random_below(random, like->operation_count)];
    char text[512];
    uint32_t number = carriage->stranger_count++;
    int length =
        snprintf(text, sizeof text,
                 "{\"tid\":\"s%u\",\"sid\":\"s%u\",\"ops\":[{\"t\":\"r\",\"k\":\"%s\",\"v\":%s}]}",
                 number, random_below(random, 3), operation->key.text,
                 random_percent(random, 50) ? "null" : "\"z\"");
    carriage->statistics->timeless++;
    feeder_give_record(feeder, (struct iso_bytes){(const uint8_t *)text, (uint32_t)length}, error);
}

/* They draw for themselves, so that others are the same without them. */
static bool strangers_come(struct carriage *carriage)
{
    carriage->strangers = (struct random){carriage->random.state + 2};
    carriage->stranger_count = 0;
    return !carriage->format->marker && random_percent(&carriage->strangers, 20);
}

static bool same_bytes(struct iso_bytes left, struct iso_bytes right)
{
    return left.size == right.size && !memcmp(left.data, right.data, left.size);
}

/* One row that comes once is left out. */
static void lose_row(struct carriage *carriage, struct feed *feed)
{
    uint32_t rows[4096], count = 0;
    for (uint32_t i = 0; i < feed->count && count < 4096; i++) {
        const struct iso_message *message = &feed->list[i];
        uint32_t copies = 0;
        if (strncmp(message->topic, "dbz.public", 10) || !message->payload.data ||
            memmem(message->payload.data, message->payload.size, "\"op\":\"r\"", 8))
            continue;
        for (uint32_t j = 0; j < feed->count; j++)
            copies +=
                feed->list[j].payload.data && same_bytes(feed->list[j].payload, message->payload);
        if (copies == 1)
            rows[count++] = i;
    }
    carriage->lost = count > 0;
    if (!count)
        return;
    uint32_t gone = rows[random_below(&carriage->random, count)];
    memmove(feed->list + gone, feed->list + gone + 1, (--feed->count - gone) * sizeof *feed->list);
}

static bool write_feed(struct carriage *carriage, struct feed *feed)
{
    struct iso_history history;
    bool fits;
    iso_history_init(&history);
    plain_history_fill(&carriage->source, &history);
    if (carriage_is_of(carriage->format, "debezium"))
        fits = feed_debezium_write(
            feed, &history,
            &(struct feed_debezium_options){.seed = random_bits(&carriage->random),
                                            .format = carriage->format->encoding,
                                            .binlog = carriage->format->binlog,
                                            .default_identity = carriage->format->default_identity,
                                            .metadata = true,
                                            .in_band = carriage->format->mode == IN_BAND,
                                            .marker = carriage->format->marker == MARKER_COLUMN,
                                            .snapshot = carriage->snapshot_rows,
                                            .partitions = 1 + random_below(&carriage->random, 3),
                                            .restarts = random_below(&carriage->random, 3),
                                            .first_xid = carriage->first_xid,
                                            .commits = carriage->commits});
    else if (carriage_is_of(carriage->format, "ticdc"))
        fits = feed_ticdc_write(feed, &history,
                                &(struct feed_ticdc_options){
                                    .seed = random_bits(&carriage->random),
                                    .format = carriage->format->protocol,
                                    .topic = "ticdc",
                                    .partitions = 1 + random_below(&carriage->random, 3),
                                    .restarts = random_below(&carriage->random, 3),
                                    .every = 1 + random_below(&carriage->random, 4),
                                    .start_ts = carriage->format->identity == BY_START_TIMESTAMP,
                                    .drops_unchanged = carriage->drops,
                                    .marker_column = carriage->format->marker == MARKER_COLUMN,
                                    .marker_rows = carriage->format->marker == MARKER_ROWS,
                                    .commits = carriage->commits});
    else if (carriage_is_of(carriage->format, "yugabyte"))
        fits = feed_yugabyte_write(
            feed, &history,
            &(struct feed_yugabyte_options){.seed = random_bits(&carriage->random),
                                            .tablets = 1 + random_below(&carriage->random, 3),
                                            .early = random_percent(&carriage->random, 50),
                                            .metadata = random_percent(&carriage->random, 50),
                                            .fast_path = random_percent(&carriage->random, 50),
                                            .restarts = random_below(&carriage->random, 3),
                                            .commits = carriage->commits});
    else
        fits = feed_dgraph_write(
            feed, &history,
            &(struct feed_dgraph_options){
                .seed = random_bits(&carriage->random),
                .topic = "dgraph-cdc",
                .groups = carriage->format->one_group ? 1 : 1 + random_below(&carriage->random, 2),
                .marker = carriage->format->marker ? "tx" : NULL,
                .restarts = random_below(&carriage->random, 4),
                .commits = carriage->commits});
    feed_finish(feed);
    if (carriage->lost)
        lose_row(carriage, feed);
    iso_history_release(&history);
    return fits;
}

/* Reads of clients whose two texts might be a label's number and its name: nothing of their table
 * had come. */
static uint64_t unclear_reads(const struct iso_pipeline *pipeline)
{
    uint64_t reads = 0;
    uint32_t count;
    const struct iso_pipeline_spelling *list = iso_pipeline_spellings(pipeline, &count);
    for (uint32_t i = 0; i < count; i++)
        reads += list[i].kind == ISO_VALUE_UNKNOWN ? list[i].count : 0;
    return reads;
}

void carriage_run(struct carriage *carriage)
{
    struct feed feed;
    struct client_lines lines = {0};
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline_stats stats;
    struct feeder *feeder = &carriage->feeder;
    bool clients =
        carriage->format->mode == BY_TIMESTAMPS || carriage->format->mode == BY_SNAPSHOTS;
    carriage->from_file = clients && random_percent(&carriage->random, 30);
    bool records = clients && !carriage->from_file;
    *feeder = (struct feeder){.open = open_pipeline,
                              .context = carriage,
                              .restores = carriage->restores,
                              .counts_records = records};
    feed_init(&feed);
    if (!write_feed(carriage, &feed))
        snprintf(carriage->failure, sizeof carriage->failure, "the feed cannot carry it");
    feeder_open(feeder);
    set_initial(carriage, feeder->pipeline);
    print_records(carriage, &lines);
    if (carriage->from_file)
        give_file(carriage, feeder->pipeline, &error);
    feeder->after_batch = records && strangers_come(carriage) ? give_stranger : NULL;
    feeder_give(feeder, &carriage->random, &feed, lines.list, records ? lines.count : 0, &error);
    if (error.status == ISO_OK)
        feeder_end(feeder, &error);
    const char *failure = error.status == ISO_OK ? feeder->failure : error.text;
    if (*failure)
        snprintf(carriage->failure, sizeof carriage->failure, "%s", failure);
    const char *reason;
    carriage->outcome = iso_pipeline_outcome(feeder->pipeline, true, &reason);
    iso_pipeline_stats(feeder->pipeline, &stats);
    carriage->statistics->repeats += stats.join.repeats;
    carriage->statistics->restored += feeder->restored;
    carriage->statistics->held += feeder->held;
    bool waits =
        stats.join.waiting_rows || stats.join.waiting_records || stats.join.waiting_transactions;
    carriage->beyond = waits ? UINT64_MAX : stats.beyond + unclear_reads(feeder->pipeline);
    if (error.status == ISO_OK && waits &&
        (carriage->format->mode != BY_SNAPSHOTS || carriage->outcome == ISO_OK))
        snprintf(carriage->failure, sizeof carriage->failure, "something still waits at the end");
    feed_release(&feed);
    free(lines.text);
}
