/* How fast decoders are by themselves: messages in memory, decoded again and again.
 *
 * usage: decoders KIND[,FORMAT[,VALUE]] MEGABYTES [CAPTURE...]
 *
 *     history   json, avro, protobuf
 *     debezium  json, json-schemas, avro, protobuf
 *     yugabyte  grpc, logical
 *     ticdc     canal-json, open-protocol, simple, simple-avro, avro, debezium, csv
 *     dgraph
 *
 * Without a capture: a small history as the test encoders write it as KIND's feed. VALUE "-" means
 * the whole row. Prints megabytes a second (keys and payloads), and instructions a byte where the
 * kernel counts them.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "connectors/debezium/debezium.h"
#include "connectors/dgraph/dgraph.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "capture/capture.h"
#include "formats/write_history.h"
#include "connectors/history/write_record.h"
#include "tests/support/feed_debezium.h"
#include "tests/support/feed_dgraph.h"
#include "tests/support/feed_ticdc.h"
#include "tests/support/feed_yugabyte.h"

enum { BATCH = 1000, TRANSACTIONS = 2000, KEYS = 1000 };

static void fail(const char *text)
{
    fprintf(stderr, "decoders: %s\n", text);
    exit(2);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Counts instructions of this process; -1: it cannot. */
static int open_counter(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_HW_INSTRUCTIONS,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static uint64_t read_counter(int counter)
{
    uint64_t count = 0;
    return counter >= 0 && read(counter, &count, sizeof count) == sizeof count ? count : 0;
}

/* Transactions of four operations each. */
static void make_history(struct iso_history *history, bool with_reads)
{
    uint64_t state = 88172645463325252u;
    iso_history_init(history);
    history->clock = ISO_CLOCK_SCALAR;
    for (uint32_t t = 0; t < TRANSACTIONS; t++) {
        iso_history_begin(history, t, t % 24, ISO_COMMITTED, t);
        if (with_reads)
            iso_history_set_sts(history, (struct iso_stamp){447984099186180000u + t, 0});
        iso_history_set_cts(history, (struct iso_stamp){447984099186180098u + t, 0});
        for (uint32_t o = 0; o < 4; o++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            enum iso_operation_kind kind = with_reads && state % 2 ? ISO_READ
                                           : state % 20            ? ISO_WRITE
                                                                   : ISO_DELETE;
            iso_history_operation(history, kind, (iso_atom)(state >> 8) % KEYS,
                                  kind == ISO_DELETE ? ISO_ABSENT : (iso_atom)(state >> 40));
        }
    }
}

/* ---- a feed of each kind; false: there is no such format ---- */

static void add_record(struct feed *feed, const char *bytes, size_t size)
{
    feed_add(feed, "t", 0, (struct iso_bytes){NULL, 0},
             (struct iso_bytes){(const uint8_t *)bytes, (uint32_t)size});
}

/* The native format, a message a line. */
static bool generate_lines(struct feed *feed, const struct iso_history *history)
{
    struct iso_output output;
    struct iso_history_writer writer;
    struct iso_error error = {0};
    int file = memfd_create("history", 0);
    FILE *lines = file < 0 ? NULL : fdopen(file, "r+");
    char *line = NULL;
    size_t room = 0;
    if (!lines)
        fail("no memory file");
    iso_output_to(&output, file, "history");
    iso_history_writer_init(&writer, &output, ISO_FORMAT_NATIVE);
    iso_history_writer_add(&writer, history, &error);
    iso_history_writer_end(&writer);
    if (error.status != ISO_OK || iso_output_close(&output, &error) != ISO_OK)
        fail(error.text);
    rewind(lines);
    for (ssize_t size; (size = getline(&line, &room, lines)) > 0;)
        add_record(feed, line, (size_t)size - 1);
    free(line);
    fclose(lines);
    return true;
}

static bool generate_history(const char *format, struct feed *feed, struct iso_history *history)
{
    struct iso_text text = {0};
    bool fits = true;
    if (!strcmp(format, "json"))
        return generate_lines(feed, history);
    for (uint32_t t = 0; t < history->txns.count && fits; t++, text.used = 0) {
        if (!strcmp(format, "protobuf"))
            iso_record_write_protobuf(history, t, &text);
        else
            fits = !strcmp(format, "avro") && iso_record_write_avro(history, t, &text);
        add_record(feed, text.bytes, text.used);
    }
    iso_text_release(&text);
    return fits;
}

static bool find_debezium_format(const char *format, enum feed_debezium_format *found)
{
    static const char *const names[] = {"json", "json-schemas", "avro", "protobuf"};
    for (unsigned i = 0; i < 4; i++)
        if (!strcmp(format, names[i])) {
            *found = (enum feed_debezium_format)i;
            return true;
        }
    return false;
}

static bool generate_debezium(const char *format, struct feed *feed, struct iso_history *history)
{
    struct feed_debezium_options options = {.seed = 1, .partitions = 1};
    uint32_t tables = FEED_DEBEZIUM_TABLES;
    if (!find_debezium_format(format, &options.format))
        return false;
    feed_rename_keys(history, feed_debezium_name, &tables);
    return feed_debezium_write(feed, history, &options);
}

static bool generate_yugabyte(const char *format, struct feed *feed, struct iso_history *history)
{
    struct feed_yugabyte_options options = {
        .seed = 1, .tablets = 1, .logical = !strcmp(format, "logical")};
    uint32_t tables = FEED_DEBEZIUM_TABLES;
    if (!options.logical && strcmp(format, "grpc"))
        return false;
    for (uint32_t t = 0; t < history->txns.count; t++)
        history->txns.cts[t] -= 447984099186180000u; /* it adds a HybridTime of today */
    feed_rename_keys(history, feed_debezium_name, &tables);
    return feed_yugabyte_write(feed, history, &options);
}

static bool generate_dgraph(const char *format, struct feed *feed, struct iso_history *history)
{
    uint32_t one = 1;
    (void)format;
    feed_rename_keys(history, feed_dgraph_name, &one);
    return feed_dgraph_write(feed, history,
                             &(struct feed_dgraph_options){.seed = 1, .topic = "t", .groups = 1});
}

static bool generate_ticdc(const char *format, struct feed *feed, struct iso_history *history)
{
    uint32_t one = 1;
    feed_rename_keys(history, feed_ticdc_name, &one);
    return feed_ticdc_write(
        feed, history,
        &(struct feed_ticdc_options){.seed = 1, .format = format, .topic = "t", .partitions = 1});
}

/* ---- what decodes it ---- */

static struct iso_decoder_options plain_options(const char *format)
{
    return (struct iso_decoder_options){.format = format};
}

static struct iso_decoder_options debezium_options(const char *format)
{
    enum feed_debezium_format found = FEED_JSON;
    find_debezium_format(format, &found);
    return feed_debezium_decoding(found);
}

static struct iso_decoder_options yugabyte_options(const char *format)
{
    (void)format;
    return (struct iso_decoder_options){.format = "json", .value = "v"};
}

static struct iso_decoder_options ticdc_options(const char *format)
{
    struct iso_decoder_options options = {0};
    feed_ticdc_decoder_options(format, &options);
    return options;
}

static const struct kind {
    const char *name, *format; /* the default */
    const struct iso_decoder_class *class;
    bool (*generate)(const char *format, struct feed *feed, struct iso_history *history);
    struct iso_decoder_options (*options)(const char *format);
} kinds[] = {
    {"history", "json", &iso_record_decoder, generate_history, plain_options},
    {"debezium", "json", &iso_debezium_decoder, generate_debezium, debezium_options},
    {"yugabyte", "grpc", &iso_yugabyte_decoder, generate_yugabyte, yugabyte_options},
    {"ticdc", "canal-json", &iso_ticdc_decoder, generate_ticdc, ticdc_options},
    {"dgraph", NULL, &iso_dgraph_decoder, generate_dgraph, plain_options},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    fail("expected history, debezium, yugabyte, ticdc or dgraph");
    return NULL;
}

static void load(char **files, int count, struct feed *feed)
{
    struct iso_error error = {0};
    for (int f = 0; f < count; f++) {
        const struct iso_message *messages;
        uint32_t got = 1;
        struct iso_inputs inputs;
        iso_inputs_init(&inputs);
        struct iso_capture_reader *reader = iso_capture_reader_new(files[f], &inputs, &error);
        while (error.status == ISO_OK && got &&
               iso_capture_read(reader, &messages, &got, &error) == ISO_OK)
            for (uint32_t i = 0; i < got; i++)
                feed_add(feed, "capture", 0, messages[i].key, messages[i].payload);
        iso_capture_reader_free(reader);
        iso_inputs_release(&inputs);
    }
    if (error.status != ISO_OK)
        fail(error.text);
}

__attribute__((noinline)) static void run(struct iso_decoder *decoder, const struct feed *feed,
                                          uint64_t limit)
{
    struct iso_events events;
    struct iso_error error = {0};
    uint64_t bytes = 0, messages = 0;
    int counter = open_counter();
    iso_events_init(&events);
    double started = seconds();
    uint64_t instructions = read_counter(counter);
    while (bytes < limit)
        for (uint32_t i = 0; i < feed->count; i++, messages++) {
            if (messages % BATCH == 0)
                iso_events_clear(&events);
            if (decoder->class->decode(decoder, &feed->list[i], &events, &error) != ISO_OK)
                fail(error.text);
            bytes += feed->list[i].key.size + feed->list[i].payload.size;
        }
    instructions = read_counter(counter) - instructions;
    double used = seconds() - started;
    printf("%8.0f MB/s %9.0f messages/s %6.1f bytes each %6.1f MB", (double)bytes / 1e6 / used,
           (double)messages / used, (double)bytes / (double)messages, (double)bytes / 1e6);
    if (counter >= 0)
        printf(" %6.2f instructions a byte", (double)instructions / (double)bytes);
    printf("\n");
    iso_events_release(&events);
}

int main(int count, char **arguments)
{
    struct iso_error error = {0};
    struct feed feed;
    if (count < 3)
        fail("usage: see the head of bench/decoders.c");
    char *rest = arguments[1];
    const struct kind *kind = find_kind(strsep(&rest, ","));
    const char *format = rest ? strsep(&rest, ",") : kind->format;
    struct iso_decoder_options options = kind->options(format);
    if (rest)
        options.value = strcmp(rest, "-") ? rest : NULL;
    struct iso_decoder *decoder = kind->class->create(&options, &error);
    if (!decoder)
        fail(error.text);
    feed_init(&feed);
    if (count > 3) {
        load(arguments + 3, count - 3, &feed);
    } else {
        struct iso_history history;
        make_history(&history, kind->class == &iso_record_decoder);
        if (!kind->generate(format, &feed, &history))
            fail("no such format, or the history does not fit it");
        iso_history_release(&history);
    }
    feed_finish(&feed);
    run(decoder, &feed, strtoull(arguments[2], NULL, 10) * 1000000);
    decoder->class->destroy(decoder);
    feed_release(&feed);
    return 0;
}
