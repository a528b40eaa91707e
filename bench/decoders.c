/* How fast decoders of change streams are by themselves: messages in memory, decoded again and again.
 *
 * usage: decoders KIND[,FORMAT[,VALUE]] MEGABYTES [CAPTURE...]
 *
 * KIND is dgraph or ticdc. Without a capture: a small history as the test encoders write it as KIND's feed. VALUE "-"
 * means the whole row. Prints megabytes a second (keys and payloads), and instructions a byte where the kernel counts
 * them. Build: make build/libisochron.a build/libtestsupport.a && gcc -O2 -Iinclude -Isrc -I. bench/decoders.c
 * build/libtestsupport.a build/libisochron.a -ljemalloc -lzstd -llz4 -lsnappy -lm -pthread -o build/decoders
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "connectors/dgraph/dgraph.h"
#include "connectors/ticdc/ticdc.h"
#include "io/capture.h"
#include "tests/support/feed_dgraph.h"
#include "tests/support/feed_ticdc.h"

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

static void generate(const char *kind, const char *format, struct feed *feed)
{
    struct iso_history history;
    uint32_t one = 1;
    uint64_t state = 88172645463325252u;
    bool fits;
    iso_history_init(&history);
    history.clock = ISO_CLOCK_SCALAR;
    for (uint32_t t = 0; t < TRANSACTIONS; t++) {
        iso_history_begin(&history, t, t % 24, ISO_COMMITTED, t);
        iso_history_set_cts(&history, (struct iso_stamp){447984099186180098u + t, 0});
        for (uint32_t o = 0; o < 4; o++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            iso_history_operation(&history, state % 20 ? ISO_WRITE : ISO_DELETE, (iso_atom)(state >> 8) % KEYS,
                                  state % 20 ? (iso_atom)(state >> 40) : ISO_ABSENT);
        }
    }
    if (!strcmp(kind, "dgraph")) {
        feed_rename_keys(&history, feed_dgraph_name, &one);
        fits = feed_dgraph_write(feed, &history, &(struct feed_dgraph_options){.seed = 1, .topic = "t", .groups = 1});
    } else {
        feed_rename_keys(&history, feed_ticdc_name, &one);
        fits = feed_ticdc_write(
            feed, &history, &(struct feed_ticdc_options){.seed = 1, .format = format, .topic = "t", .partitions = 1});
    }
    iso_history_release(&history);
    if (!fits)
        fail("the history does not fit the feed");
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
        while (error.status == ISO_OK && got && iso_capture_read(reader, &messages, &got, &error) == ISO_OK)
            for (uint32_t i = 0; i < got; i++)
                feed_add(feed, "capture", 0, messages[i].key, messages[i].payload);
        iso_capture_reader_free(reader);
        iso_inputs_release(&inputs);
    }
    if (error.status != ISO_OK)
        fail(error.text);
}

static void run(struct iso_decoder *decoder, const struct feed *feed, uint64_t limit)
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
    printf("%8.0f MB/s %9.0f messages/s %6.1f bytes each", (double)bytes / 1e6 / used, (double)messages / used,
           (double)bytes / (double)messages);
    if (counter >= 0)
        printf(" %6.2f instructions a byte", (double)instructions / (double)bytes);
    printf("\n");
    iso_events_release(&events);
}

int main(int count, char **arguments)
{
    struct iso_decoder_options options = {0};
    struct iso_error error = {0};
    struct feed feed;
    if (count < 3)
        fail("usage: see the head of bench/decoders.c");
    char *rest = arguments[1], *kind = strsep(&rest, ","), *format = rest ? strsep(&rest, ",") : NULL;
    bool dgraph = !strcmp(kind, "dgraph");
    if (!dgraph && format)
        feed_ticdc_decoder_options(format, &options);
    if (rest)
        options.value = strcmp(rest, "-") ? rest : NULL;
    struct iso_decoder *decoder = (dgraph ? &iso_dgraph_decoder : &iso_ticdc_decoder)->create(&options, &error);
    if (!decoder)
        fail(error.text);
    feed_init(&feed);
    if (count > 3)
        load(arguments + 3, count - 3, &feed);
    else
        generate(kind, format, &feed);
    feed_finish(&feed);
    run(decoder, &feed, strtoull(arguments[2], NULL, 10) * 1000000);
    decoder->class->destroy(decoder);
    feed_release(&feed);
    return 0;
}
