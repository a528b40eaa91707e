/* A change stream from its messages to its verdicts: decoder, assembler, join, engine, and nothing
 * else.
 *
 * usage: joined cdc|joined ROWS [ROWS_A_TRANSACTION [KEYS]]
 *
 * Makes Debezium's messages for PostgreSQL (JSON without schemas, the table's topic and the
 * transactions'), as the real connector writes them: transactions one after the other, each of a
 * few updates of random keys with whole before images. `joined`: clients' records with xid and
 * snapshot come too, each a little after its rows, with promises. Every million rows it prints rows
 * a second of processor time and the memory that the process holds; a run is to keep both.
 * Instructions: valgrind --tool=callgrind --toggle-collect=iso_pipeline_feed.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "connectors/debezium/debezium.h"
#include "connectors/history/record.h"
#include "pipeline/pipeline.h"

enum {
    BATCH = 1024,
    MESSAGE = 1200,
    REPORT = 1000000,
    TABLE = 0,
    TRANSACTIONS = 1,
    CLIENTS = 2,
    TOPICS = 3
};

static const char *const topics[TOPICS] = {"dbz.public.kv", "dbz.transaction", "clients"};

struct run {
    struct iso_pipeline *pipeline;
    struct iso_rng rng;
    struct iso_message batch[BATCH];
    char text[BATCH][MESSAGE];
    uint32_t count;
    int64_t offsets[TOPICS];
    uint64_t *values, keys, lsn, previous, xid, rows;
    uint64_t written[64];
    double seconds;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t resident_mb(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
}

static void check(const struct iso_error *error)
{
    if (error->status == ISO_OK)
        return;
    fprintf(stderr, "joined: %s\n", error->text);
    exit(2);
}

static void flush(struct run *run)
{
    struct iso_error error = {.status = ISO_OK};
    double before = seconds();
    iso_pipeline_feed(run->pipeline, run->batch, run->count, 0, &error);
    run->seconds += seconds() - before;
    run->count = 0;
    check(&error);
}

/* Room for one message's payload, and for its key behind it. */
static char *start(struct run *run)
{
    if (run->count == BATCH)
        flush(run);
    return run->text[run->count];
}

static void add(struct run *run, int topic, int payload, int key)
{
    const uint8_t *text = (const uint8_t *)run->text[run->count];
    run->batch[run->count++] =
        (struct iso_message){.topic = topics[topic],
                             .input = (uint32_t)topic,
                             .offset = run->offsets[topic]++,
                             .key = {key ? text + payload : NULL, (uint32_t)key},
                             .payload = {text, (uint32_t)payload}};
}

static void send_row(struct run *run, uint64_t key, uint64_t order)
{
    char *text = start(run);
    run->lsn += 120;
    int payload = snprintf(
        text, MESSAGE,
        "{\"before\":{\"k\":%" PRIu64 ",\"v\":%" PRIu64
        ",\"note\":\"w\",\"upd\":\"2026-11-21T09:06:47.623561Z\"},"
        "\"after\":{\"k\":%" PRIu64 ",\"v\":%" PRIu64
        ",\"note\":\"w\",\"upd\":\"2026-11-21T09:06:48.623561Z\"},"
        "\"source\":{\"version\":\"3.7.0.Final\",\"connector\":\"postgresql\",\"name\":\"dbz\",\"ts_ms\":1795252007639,"
        "\"snapshot\":\"false\",\"db\":\"bank\",\"sequence\":\"[\\\"%" PRIu64 "\\\",\\\"%" PRIu64
        "\\\"]\",\"ts_us\":1795252007639374,"
        "\"ts_ns\":1795252007639374000,\"schema\":\"public\",\"table\":\"kv\",\"txId\":%" PRIu64
        ",\"lsn\":%" PRIu64
        ",\"xmin\":null,\"origin\":null,\"origin_lsn\":null},\"transaction\":{\"id\":\"%" PRIu64
        ":%" PRIu64 "\",\"total_order\":%" PRIu64 ",\"data_collection_order\":%" PRIu64
        "},\"op\":\"u\",\"ts_ms\":1795252008977,\"ts_us\":1795252008977751,\"ts_ns\":1795252008977751470}",
        key, run->values[key], key, run->rows + 1, run->previous, run->lsn, run->xid, run->lsn,
        run->xid, run->lsn, order, order);
    int size = snprintf(text + payload, MESSAGE - (size_t)payload, "{\"k\":%" PRIu64 "}", key);
    run->values[key] = ++run->rows;
    add(run, TABLE, payload, size);
}

static void send_metadata(struct run *run, uint64_t count)
{
    char *text = start(run);
    int payload =
        count
            ? snprintf(
                  text, MESSAGE,
                  "{\"status\":\"END\",\"id\":\"%" PRIu64 ":%" PRIu64 "\",\"event_count\":%" PRIu64
                  ",\"data_collections\":[{\"data_collection\":\"public.kv\",\"event_count\":%" PRIu64
                  "}],\"ts_ms\":1795252007678}",
                  run->xid, run->lsn, count, count)
            : snprintf(text, MESSAGE,
                       "{\"status\":\"BEGIN\",\"id\":\"%" PRIu64 ":%" PRIu64
                       "\",\"event_count\":null,\"data_collections\":null,\"ts_ms\":1795252007678}",
                       run->xid, run->lsn + 120);
    add(run, TRANSACTIONS, payload, 0);
}

static void send_record(struct run *run, uint64_t rows, const uint64_t *before)
{
    char *text = start(run);
    int used = snprintf(text, MESSAGE,
                        "{\"tid\":%" PRIu64 ",\"sid\":%" PRIu64 ",\"xid\":%" PRIu64
                        ",\"snapshot\":\"%" PRIu64 ":%" PRIu64 ":\",\"ops\":[",
                        run->xid, run->xid % 8, run->xid, run->xid, run->xid);
    for (uint64_t i = 0; i < rows; i++)
        used += snprintf(text + used, MESSAGE - (size_t)used,
                         "%s{\"t\":\"r\",\"k\":\"public.kv/%" PRIu64 "\",\"v\":%" PRIu64
                         "},{\"t\":\"w\",\"k\":\"public.kv/%" PRIu64 "\",\"v\":%" PRIu64 "}",
                         i ? "," : "", run->written[i], before[i], run->written[i],
                         run->values[run->written[i]]);
    used += snprintf(text + used, MESSAGE - (size_t)used, "]}");
    add(run, CLIENTS, used, 0);
    if (run->xid % 64)
        return;
    text = start(run);
    add(run, CLIENTS, snprintf(text, MESSAGE, "{\"watermark\":\"%" PRIu64 "\"}", run->xid + 1), 0);
}

static void send_transaction(struct run *run, uint64_t rows, bool clients)
{
    uint64_t before[64];
    run->xid++;
    send_metadata(run, 0);
    for (uint64_t i = 0; i < rows; i++) { /* each key once */
        run->written[i] = (iso_rng_next(&run->rng) % (run->keys / rows)) * rows + i;
        before[i] = run->values[run->written[i]];
        send_row(run, run->written[i], i + 1);
    }
    run->lsn += 48;
    send_metadata(run, rows);
    run->previous = run->lsn;
    if (clients)
        send_record(run, rows, before);
}

static void open_pipeline(struct run *run, bool clients)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    iso_pipeline_options_init(&options);
    options.join.kind = "debezium";
    options.join.clients = clients;
    options.engine.retention = 100000;
    run->pipeline = iso_pipeline_new(&options);
    for (int i = 0; i < TOPICS; i++) {
        iso_inputs_number(iso_pipeline_inputs(run->pipeline), topics[i], strlen(topics[i]), 0);
        iso_pipeline_route(
            run->pipeline, topics[i],
            i == CLIENTS
                ? iso_record_decoder.create(&(struct iso_decoder_options){0}, &error)
                : iso_debezium_decoder.create(&(struct iso_decoder_options){.value = "v"}, &error),
            false);
        iso_pipeline_declare(run->pipeline, (uint32_t)i, 0);
    }
    check(&error);
    struct iso_history initial;
    iso_history_init(&initial);
    initial.initial.other_value = 0;
    iso_pipeline_initial(run->pipeline, &initial);
    iso_history_release(&initial);
}

static void report(struct run *run)
{
    struct iso_pipeline_stats stats;
    iso_pipeline_stats(run->pipeline, &stats);
    printf("%" PRIu64 " rows: %.0f rows/s, %" PRIu64 " MB; %" PRIu64 " reads judged, %" PRIu64
           " violations, %" PRIu64 " rows wait\n",
           run->rows, REPORT / run->seconds, resident_mb(), stats.engine.reads_judged,
           stats.engine.counts[ISO_EXT] + stats.engine.counts[ISO_CDC], stats.join.waiting_rows);
    fflush(stdout);
    run->seconds = 0;
}

int main(int argc, char **argv)
{
    struct iso_error error = {.status = ISO_OK};
    bool clients = argc > 1 && !strcmp(argv[1], "joined");
    uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
             each = argc > 3 ? strtoull(argv[3], NULL, 10) : 4;
    struct run *run = calloc(1, sizeof *run);
    if (!rows || !each || each > 8 || !run || (!clients && strcmp(argv[1], "cdc"))) {
        fputs("usage: joined cdc|joined ROWS [ROWS_A_TRANSACTION [KEYS]]\n", stderr);
        return 2;
    }
    run->keys = argc > 4 ? strtoull(argv[4], NULL, 10) : 10000;
    run->values = calloc(run->keys, sizeof *run->values);
    run->xid = 1000;
    run->lsn = run->previous = 26746984;
    iso_rng_seed(&run->rng, 1);
    open_pipeline(run, clients);
    for (uint64_t next = REPORT; run->rows < rows;) {
        send_transaction(run, each, clients);
        if (run->rows < next)
            continue;
        flush(run);
        report(run);
        next += REPORT;
    }
    if (run->count)
        flush(run);
    iso_pipeline_end(run->pipeline, 0, &error);
    check(&error);
    const char *reason;
    enum iso_status outcome = iso_pipeline_outcome(run->pipeline, false, &reason);
    printf("%s%s%s\n",
           outcome == ISO_OK         ? "holds"
           : outcome == ISO_VIOLATED ? "violated"
                                     : "undecided",
           reason ? ": " : "", reason ? reason : "");
    iso_pipeline_free(run->pipeline);
    free(run->values);
    free(run);
    return (int)outcome;
}
