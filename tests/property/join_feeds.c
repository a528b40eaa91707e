/* Change streams against files: random histories are written as the feeds of databases
 * (tests/support/feed_*.h), and the pipeline must find in feed and client records what chronos
 * finds in the history itself, as (axiom, transactions, key).
 *
 * What happens on the way: senders restart and repeat, cut transactions, interleave groups, topics
 *   and partitions;
 * records come before, between and after rows, from a topic or a file; some clients publish nothing
 * (their transactions are versions and nothing else), some do not know their outcome. Some feeds
 * tell something else than the clients wrote: a write left out, altered, or one too many. What the
 * join must make of all that is worked out here from the rules alone, by looking at everything.
 * Between batches the pipeline is saved and restored at times, as a restart does; and after each it
 * is asked what it would say if the run were cut off there: its books must balance, and it may not
 * say that all holds of what it has not judged, or of what it finds fault with later.
 *
 * join_feeds [--histories N] [--seed S] [--format F] [--restores PERCENT]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chronos/chronos.h"
#include "connectors/debezium/debezium.h"
#include "connectors/dgraph/dgraph.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "pipeline/pipeline.h"
#include "tests/support/arguments.h"
#include "tests/support/carriage.h"
#include "tests/support/feed_debezium.h"
#include "tests/support/feed_dgraph.h"
#include "tests/support/feed_ticdc.h"
#include "tests/support/feed_yugabyte.h"
#include "tests/support/random.h"
#include "tests/support/random_history.h"
#include "tests/support/restored.h"

enum {
    DEFAULT_HISTORIES = 400,
    DEFAULT_RESTORES = 5,
    MAX_REPORTS = 3,
    CLIENT_INPUTS = 1,
    LINE = 4096
};

#define DGRAPH "dgraph", "p%u/0x%x"
#define DEBEZIUM "debezium", "public.t%u/%u"
#define TICDC "ticdc", "test.t%u/%u"
#define COMPOSITE "ticdc", "test.t%u/%u,7,x"
#define YUGABYTE "yugabyte", "public.t%u/%u"

static const struct format formats[] = {
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
};

/* ---- what was found ---- */

static int compare_found(const void *left, const void *right)
{
    return strcmp(left, right);
}

static void sort_found(struct found *found)
{
    qsort(found->list, found->count, FOUND_TEXT, compare_found);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < found->count; i++)
        if (!kept || strcmp(found->list[kept - 1], found->list[i]))
            memmove(found->list[kept++], found->list[i], FOUND_TEXT);
    found->count = kept;
}

/* Both are sorted. Reads that differ beyond what surely came wait: so many of the expected may
 * lack; all of them, where records wait whose own outcome lies there. */
static bool same_found(const struct found *expected, const struct found *found, uint64_t beyond)
{
    uint64_t lacking = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < expected->count; i++) {
        bool is_there = next < found->count && !strcmp(expected->list[i], found->list[next]);
        next += is_there;
        lacking += !is_there;
        bool of_read =
            !strncmp(expected->list[i], "EXT ", 4) || !strncmp(expected->list[i], "INT ", 4);
        if (!is_there && !of_read && beyond != UINT64_MAX)
            return false;
    }
    return next == found->count && lacking <= beyond;
}

static void print_found(const char *name, const struct found *found)
{
    printf("# %s:", name);
    for (uint32_t i = 0; i < found->count; i++)
        printf(" [%s]", found->list[i]);
    printf("\n");
}

static void chronos_found(struct carriage *carriage, const struct plain_history *plain,
                          struct found *found)
{
    struct iso_check_options options = {
        .level = carriage->level, .session_order = true, .threads = 1};
    struct iso_history history;
    struct iso_verdict verdict;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    if (plain_history_build(plain, &history, &error) != ISO_OK)
        abort();
    iso_verdict_init(&verdict, &history, carriage->level, 0);
    if (iso_chronos_check(&history, &options, &verdict, &error) != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    for (uint32_t i = 0; i < verdict.violation_count; i++) {
        const struct iso_violation *violation = &verdict.violations[i];
        char text[FOUND_TEXT];
        snprintf(text, sizeof text, "%s ", iso_axiom_name(violation->axiom));
        carriage_put_atom(text, sizeof text, &history, history.tid[violation->transaction]);
        if (violation->axiom == ISO_NOCONFLICT) {
            strcat(text, ",");
            carriage_put_atom(text, sizeof text, &history, history.tid[violation->other]);
        }
        strcat(text, " ");
        if (violation->key != ISO_NONE)
            carriage_put_atom(text, sizeof text, &history, history.key_atom[violation->key]);
        const char *rest = strchr(text, ' ');
        char change[FOUND_TEXT];
        snprintf(change, sizeof change, "CDC%s", rest);
        /* reads are its */
        carriage_add_found(found, carriage->format->mode == BY_BEFORE_IMAGES ? change : text);
    }
    iso_verdict_release(&verdict);
    iso_history_release(&history);
}

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
    if ((!strcmp(axiom, "EXT") || !strcmp(axiom, "INT")) && carriage_was_judged(carriage, tid))
        snprintf(carriage->failure, sizeof carriage->failure, "%s of %s was said to hold before",
                 axiom, tid);
    return ISO_OK;
}

/* ---- the run ---- */

struct client_lines {
    char *text;
    size_t size;
    uint32_t count;
    const char *start[PLAIN_TRANSACTIONS * 2];
    uint32_t length[PLAIN_TRANSACTIONS * 2];
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
        lines->start[lines->count] = at;
        lines->length[lines->count++] = (uint32_t)(end - at);
        at = end + 1;
    }
}

static struct iso_pipeline *open_pipeline(struct carriage *carriage, bool file)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    bool clients =
        carriage->format->mode == BY_TIMESTAMPS || carriage->format->mode == BY_SNAPSHOTS;
    iso_pipeline_options_init(&options);
    options.join.initial_known = true; /* the feed tells it, or nothing was there */
    options.engine.level = carriage->level;
    options.join.kind = carriage->format->changes;
    options.join.clients = clients;
    options.join.records_first = file;
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

struct opening {
    struct carriage *carriage;
    bool file;
};

static struct iso_pipeline *open_again(void *context)
{
    const struct opening *opening = context;
    return open_pipeline(opening->carriage, opening->file);
}

/* A new pipeline with the state of this one. */
static void restore(struct carriage *carriage, struct iso_pipeline **pipeline, bool file,
                    struct iso_error *error)
{
    struct opening opening = {carriage, file};
    *pipeline = test_restored(*pipeline, open_again, &opening, error);
    carriage->statistics->restored++;
}

/* Readers of whom nobody knows when they read: whatever they read, nothing is found in it, and
 * nothing is changed by it. */
struct strangers {
    struct random random;
    bool come;
    uint32_t count;
    char text[512]; /* of the last one */
};

static void strangers_init(struct strangers *strangers, const struct carriage *carriage)
{
    strangers->random = (struct random){carriage->random.state + 2};
    strangers->count = 0;
    strangers->come = !carriage->format->marker && random_percent(&strangers->random, 20);
}

static void give_stranger(struct strangers *strangers, struct carriage *carriage,
                          struct iso_pipeline *pipeline, struct iso_message *message,
                          struct iso_error *error)
{
    struct random *random = &strangers->random;
    uint32_t t = random_below(random, carriage->client.transaction_count + 1);
    const struct plain_transaction *like = &carriage->client.transactions[t];
    if (!strangers->come || t == carriage->client.transaction_count || !like->operation_count ||
        !random_percent(random, 30))
        return;
    const struct plain_operation *operation =
        &like->operations[random_below(random, like->operation_count)];
    int length =
        snprintf(strangers->text, sizeof strangers->text,
                 "{\"tid\":\"s%u\",\"sid\":\"s%u\",\"ops\":[{\"t\":\"r\",\"k\":\"%s\",\"v\":%s}]}",
                 strangers->count, random_below(random, 3), operation->key.text,
                 random_percent(random, 50) ? "null" : "\"z\"");
    message->payload = (struct iso_bytes){(const uint8_t *)strangers->text, (uint32_t)length};
    message->offset += strangers->count++;
    carriage->statistics->timeless++;
    carriage_count_line(carriage, strangers->text, (uint32_t)length);
    iso_pipeline_feed(pipeline, message, 1, 0, error);
}

/* Feed and records, each in its own order, mixed; in batches of a few. */
static void give_messages(struct carriage *carriage, struct iso_pipeline **place, struct feed *feed,
                          const struct client_lines *lines, bool file, struct iso_error *error)
{
    struct iso_pipeline *pipeline = *place;
    struct random saves = {carriage->random.state + 1};
    struct strangers strangers;
    strangers_init(&strangers, carriage);
    struct iso_message batch[8];
    uint32_t row = 0, record = 0, count = 0, lines_count = lines ? lines->count : 0;
    uint32_t bias = random_below(&carriage->random, 101);
    for (uint32_t i = 0; i < feed->count; i++) {
        struct iso_message *message = &feed->list[i];
        message->input = iso_inputs_number(iso_pipeline_inputs(pipeline), message->topic,
                                           strlen(message->topic), message->partition);
        iso_pipeline_declare(pipeline, message->input, 0);
    }
    for (uint32_t i = 0; getenv("SHOW_FEED") && i < feed->count; i++)
        printf("# %s %.*s\n", feed->list[i].topic, (int)feed->list[i].payload.size,
               (const char *)feed->list[i].payload.data);
    uint32_t client = iso_inputs_number(iso_pipeline_inputs(pipeline), "clients", 7, 0);
    if (lines_count)
        iso_pipeline_declare(pipeline, client, 0);
    while ((row < feed->count || record < lines_count) && error->status == ISO_OK) {
        bool is_row =
            row < feed->count && (record == lines_count || random_percent(&carriage->random, bias));
        if (is_row)
            batch[count++] = feed->list[row++];
        else {
            batch[count++] = (struct iso_message){
                .topic = "clients",
                .input = client,
                .offset = record + strangers.count,
                .payload = {(const uint8_t *)lines->start[record], lines->length[record]}};
            carriage_count_line(carriage, lines->start[record], lines->length[record]);
            record++;
        }
        if (count == 8 || random_percent(&carriage->random, 25) ||
            (row == feed->count && record == lines_count)) {
            iso_pipeline_feed(*place, batch, count, 0, error);
            count = 0;
            if (lines && error->status == ISO_OK)
                give_stranger(
                    &strangers, carriage, *place,
                    &(struct iso_message){.topic = "clients", .input = client, .offset = record},
                    error);
            carriage_check_books(carriage, *place);
            if (error->status == ISO_OK && random_percent(&saves, carriage->restores))
                restore(carriage, place, file, error);
        }
    }
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

static void run(struct carriage *carriage)
{
    struct feed feed;
    struct client_lines lines = {0};
    struct iso_error error = {.status = ISO_OK};
    bool clients =
        carriage->format->mode == BY_TIMESTAMPS || carriage->format->mode == BY_SNAPSHOTS;
    bool file = clients && random_percent(&carriage->random, 30);
    struct iso_pipeline_stats stats;
    feed_init(&feed);
    if (!write_feed(carriage, &feed))
        snprintf(carriage->failure, sizeof carriage->failure, "the feed cannot carry it");
    struct iso_pipeline *pipeline = open_pipeline(carriage, file);
    set_initial(carriage, pipeline);
    print_records(carriage, &lines);
    carriage->came.from_file = file;
    if (file)
        give_file(carriage, pipeline, &error);
    give_messages(carriage, &pipeline, &feed, clients && !file ? &lines : NULL, file, &error);
    if (error.status == ISO_OK)
        iso_pipeline_end(pipeline, 0, &error);
    if (error.status != ISO_OK)
        snprintf(carriage->failure, sizeof carriage->failure, "%s", error.text);
    if (error.status == ISO_OK)
        carriage_check_books(carriage, pipeline);
    const char *reason;
    carriage->outcome = iso_pipeline_outcome(pipeline, true, &reason);
    iso_pipeline_stats(pipeline, &stats);
    carriage->statistics->repeats += stats.join.repeats;
    bool waits =
        stats.join.waiting_rows || stats.join.waiting_records || stats.join.waiting_transactions;
    carriage->beyond = waits ? UINT64_MAX : stats.beyond;
    if (error.status == ISO_OK && waits &&
        (carriage->format->mode != BY_SNAPSHOTS || carriage->outcome == ISO_OK))
        snprintf(carriage->failure, sizeof carriage->failure, "something still waits at the end");
    iso_pipeline_free(pipeline);
    feed_release(&feed);
    free(lines.text);
}

/* ---- one history ---- */

static bool prepare_by_timestamps(struct carriage *carriage)
{
    uint32_t added = 0;
    carriage_spread_times(&carriage->client);
    carriage_spread_places(carriage);
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        struct plain_transaction *transaction = &carriage->client.transactions[t];
        transaction->xid =
            plain_transaction_writes(transaction) && carriage->format->identity == BY_XID
                ? carriage->first_xid + t
                : 0;
        transaction->snapshot.given = false;
        added += transaction->status == ISO_UNKNOWN;
        if (carriage->format->marker && transaction->status == ISO_UNKNOWN &&
            !transaction->sts.given)
            return false; /* chronos asks a committed one for it */
    }
    if (carriage->client.transaction_count + added > PLAIN_TRANSACTIONS)
        return false;
    carriage_draw_outcomes(carriage);
    if (random_percent(&carriage->random, 20) && carriage->client.transaction_count)
        carriage_alter(carriage);
    carriage_expect_by_timestamps(carriage);
    return true;
}

/* Initial values that a connector's snapshot may hold: one row a key. */
static bool has_snapshot(const struct plain_history *history)
{
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (history->initials[i].value.absent)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (plain_equal(&history->initials[i].key, &history->initials[j].key))
                return false;
    }
    return history->initial_value.absent;
}

static bool (*const prepare[])(struct carriage *carriage) = {
    [BY_TIMESTAMPS] = prepare_by_timestamps,
    [BY_SNAPSHOTS] = carriage_by_snapshots,
    [IN_BAND] = carriage_in_band,
    [BY_BEFORE_IMAGES] = carriage_by_before_images,
};

/* Of isolation a stream alone says nothing. */
static bool tells_of_changes_only(const struct found *found)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (strncmp(found->list[i], "CDC ", 4))
            return false;
    return true;
}

static bool carry(struct carriage *carriage, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    options.complete = true;
    /* Debezium's source is known to have no unsigned integers by its first message: what is found
     * before is unclear. */
    options.unsigned_streams = !carriage_is_of(carriage->format, "yugabyte") &&
                               !carriage_is_of(carriage->format, "dgraph");
    carriage->random = (struct random){seed * 7919 + 17};
    carriage->expected.count = carriage->found.count = 0;
    carriage->failure[0] = 0;
    carriage->came = (struct came){.from_file = false};
    carriage->first_xid = random_percent(&carriage->random, 20) ? 0xfffffffa : 700;
    carriage->online = carriage->lost = false;
    carriage->beyond = 0;
    carriage->places_left_out =
        carriage->format->mode != IN_BAND && random_percent(&carriage->random, 50);
    carriage->drops =
        random_percent(&carriage->random, 50) && carriage->format->marker != MARKER_COLUMN;
    random_history(seed, &options, &carriage->client);
    if (!carriage_can_carry(carriage, &carriage->client))
        return true;
    carriage_rename_keys(carriage, &carriage->client);
    carriage->snapshot_rows = carriage_is_of(carriage->format, "debezium") &&
                              has_snapshot(&carriage->client) &&
                              random_percent(&carriage->random, 50);
    if (!prepare[carriage->format->mode](carriage))
        return true;
    chronos_found(carriage, &carriage->told, &carriage->expected);
    carriage_strip(carriage);
    run(carriage);
    if (carriage->lost) {
        carriage->statistics->carried++;
        carriage->statistics->altered++;
        return !carriage->failure[0] && carriage->outcome != ISO_OK &&
               tells_of_changes_only(&carriage->found);
    }
    sort_found(&carriage->expected);
    sort_found(&carriage->found);
    carriage->statistics->carried++;
    carriage->statistics->violated += carriage->expected.count > 0;
    return !carriage->failure[0] &&
           same_found(&carriage->expected, &carriage->found, carriage->beyond);
}

static void report(const struct carriage *carriage, uint64_t seed)
{
    printf("not ok - %s, seed %" PRIu64 ", %s: %s\n", carriage->format->name, seed,
           iso_level_name(carriage->level), carriage->failure);
    print_found("expected", &carriage->expected);
    print_found("found", &carriage->found);
    printf("# clients:\n");
    plain_history_print(&carriage->client, stdout, "#   ");
    printf("# source (commits:");
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        printf(" %" PRIu64 "%s", carriage->commits[t], carriage->withheld[t] ? "w" : "");
    printf("):\n");
    plain_history_print(&carriage->source, stdout, "#   ");
    printf("# told:\n");
    plain_history_print(&carriage->told, stdout, "#   ");
}

static bool run_format(const struct format *format, uint64_t histories, uint64_t seed,
                       uint32_t restores, struct statistics *all)
{
    struct statistics statistics = {0};
    struct carriage *carriage = iso_allocate_zeroed(1, sizeof *carriage);
    uint32_t failed = 0;
    uint64_t tried = 0;
    carriage->format = format;
    carriage->restores = restores;
    carriage->statistics = &statistics;
    for (; statistics.carried < histories && failed < MAX_REPORTS && tried < histories * 100;
         tried++) {
        carriage->level = tried % 3 ? ISO_SI : ISO_SER;
        if (carry(carriage, seed + tried))
            continue;
        report(carriage, seed + tried);
        failed++;
    }
    printf("# %s: %" PRIu64 " carried of %" PRIu64 ", %" PRIu64 " violated, %" PRIu64
           " altered, %" PRIu64 " foreign, %" PRIu64 " committed, %" PRIu64 " aborted and %" PRIu64
           " unresolved of unknown outcome, %" PRIu64 " repeats, said to hold %" PRIu64 " times\n",
           format->name, statistics.carried, tried, statistics.violated, statistics.altered,
           statistics.foreign, statistics.committed, statistics.aborted, statistics.unresolved,
           statistics.repeats, statistics.held);
    if (!failed)
        printf("ok - %s: what chronos finds in %" PRIu64 " histories\n", format->name,
               statistics.carried);
    iso_free(carriage);
    const uint64_t *own = (const uint64_t *)&statistics;
    for (size_t i = 0; i < sizeof *all / sizeof *own; i++)
        ((uint64_t *)all)[i] += own[i];
    return !failed && statistics.carried == histories;
}

static bool covers(const struct statistics *all)
{
    bool covered = all->foreign && all->committed && all->aborted && all->unresolved &&
                   all->altered && all->repeats && all->violated && all->online && all->restored &&
                   all->held && all->timeless;
    printf("%s - everything occurred\n", covered ? "ok" : "not ok");
    return covered;
}

int main(int argc, char **argv)
{
    uint64_t histories = DEFAULT_HISTORIES, seed = 1;
    const char *only = NULL;
    uint64_t restores = DEFAULT_RESTORES; /* per cent */
    bool good = true;
    struct statistics all = {0};
    const struct argument known[] = {{"--histories", .number = &histories},
                                     {"--seed", .number = &seed},
                                     {"--format", .text = &only},
                                     {"--restores", .number = &restores},
                                     {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!only || !strcmp(only, formats[i].name))
            good &= run_format(&formats[i], histories, seed, (uint32_t)restores, &all);
    if (!only)
        good &= covers(&all);
    return good ? 0 : 1;
}
