/* `isochron bench decode`: what a decoder makes of messages, by itself: generated ones, or those of
 * captures. Times are processor time of the one thread that decodes.
 */
#define _GNU_SOURCE
#include <time.h>

#include "benchmark/messages.h"

#include <string.h>

#include "connectors/history/record.h"
#include "capture/capture.h"
#include "base/inputs.h"
#include "run/input/source.h"

enum { RECORDS, OPERATIONS, BYTES, SIZE, PEAK_MEMORY, COLUMNS };

static const struct iso_figure_column columns[COLUMNS] = {
    {"records", "/s", ISO_BETTER_HIGHER},     {"operations", "/s", ISO_BETTER_HIGHER},
    {"bytes", "MB/s", ISO_BETTER_HIGHER},     {"record_size", "bytes", ISO_BETTER_NEITHER},
    {"peak_memory", "MiB", ISO_BETTER_LOWER},
};

/* In the order of enum bench_encoding, then the databases, whose messages captures have. */
static const char *const experiments[] = {"json",   "avro",  "protobuf", "debezium",
                                          "dgraph", "ticdc", "yugabyte", NULL};
static const char *const sweeps[] = {"txns", "ops", NULL};

enum {
    BATCH = 1000,                  /* messages, as a consumer hands them out */
    REPEATED_BYTES = 300 * 1000000 /* of a database's capture, which is small */
};

struct decoding {
    struct iso_decoder *decoder;
    struct iso_events events;
    double seconds;
    uint64_t records, operations, bytes;
};

static bool decoder_applies(const struct bench_point *point)
{
    return point->file || !run_source_class(point->experiment);
}

static double processor_seconds(void)
{
    return (double)iso_clock_of(CLOCK_THREAD_CPUTIME_ID) / 1e9;
}

static enum iso_status decode_messages(struct decoding *decoding,
                                       const struct iso_message *messages, uint32_t count,
                                       struct iso_error *error)
{
    struct iso_error wrong = {.status = ISO_OK};
    double started = processor_seconds();
    uint32_t done = 0;
    while (done < count && wrong.status == ISO_OK) {
        decoding->decoder->class->decode(decoding->decoder, &messages[done], &decoding->events,
                                         &wrong);
        decoding->bytes += (uint64_t)messages[done].payload.size + messages[done].key.size;
        done++;
    }
    decoding->seconds += processor_seconds() - started;
    decoding->records += done;
    decoding->operations += decoding->events.block.ops.count;
    for (uint32_t i = 0; i < decoding->events.count; i++)
        decoding->operations += decoding->events.list[i].type == ISO_EVENT_ROW;
    iso_events_clear(&decoding->events);
    if (wrong.status != ISO_OK)
        iso_error_set(error, wrong.status, "topic %s partition %d offset %lld: %s",
                      messages[done - 1].topic, messages[done - 1].partition,
                      (long long)messages[done - 1].offset, wrong.text);
    return error->status;
}

static enum iso_status decode_generated(struct decoding *decoding, const struct bench *bench,
                                        enum bench_encoding encoding, struct iso_error *error)
{
    struct bench_messages messages;
    bench_messages_init(&messages, bench, encoding, error);
    for (uint32_t first = 0; first < messages.count && error->status == ISO_OK; first += BATCH)
        decode_messages(decoding, messages.list + first,
                        messages.count - first < BATCH ? messages.count - first : BATCH, error);
    bench_messages_release(&messages);
    return error->status;
}

static enum iso_status decode_capture(struct decoding *decoding, const char *file,
                                      struct iso_error *error)
{
    const struct iso_message *messages;
    uint32_t count = 1;
    struct iso_inputs inputs;
    iso_inputs_init(&inputs);
    struct iso_capture_reader *reader = iso_capture_reader_new(file, &inputs, error);
    while (count && error->status == ISO_OK) {
        iso_capture_read(reader, &messages, &count, error);
        if (error->status == ISO_OK)
            decode_messages(decoding, messages, count, error);
    }
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
    return error->status;
}

/* Reading it again takes time that does not count. */
static enum iso_status decode_repeated(struct decoding *decoding, const char *file,
                                       struct iso_error *error)
{
    uint64_t before;
    do {
        before = decoding->bytes;
        decode_capture(decoding, file, error);
    } while (error->status == ISO_OK && decoding->bytes > before &&
             decoding->bytes < REPEATED_BYTES);
    return error->status;
}

static enum bench_encoding encoding_of(const struct bench_point *point)
{
    enum bench_encoding encoding = BENCH_JSON;
    while (experiments[encoding] != point->experiment)
        encoding++;
    return encoding;
}

static enum iso_status decode_in_child(void *context, double *numbers, struct iso_error *error)
{
    const struct bench_point *point = context;
    struct decoding decoding = {.seconds = 0};
    const struct iso_decoder_class *database = run_source_class(point->experiment);
    struct iso_decoder_options options = {.format = database ? NULL : point->experiment};
    iso_events_init(&decoding.events);
    decoding.decoder = (database ? database : &iso_record_decoder)->create(&options, error);
    if (decoding.decoder && database)
        decode_repeated(&decoding, point->file, error);
    else if (decoding.decoder && point->file)
        decode_capture(&decoding, point->file, error);
    else if (decoding.decoder)
        decode_generated(&decoding, &point->bench, encoding_of(point), error);
    if (error->status == ISO_OK && decoding.records) {
        numbers[RECORDS] = (double)decoding.records / decoding.seconds;
        numbers[OPERATIONS] = (double)decoding.operations / decoding.seconds;
        numbers[BYTES] = (double)decoding.bytes / 1e6 / decoding.seconds;
        numbers[SIZE] = (double)decoding.bytes / (double)decoding.records;
    }
    if (decoding.decoder)
        decoding.decoder->class->destroy(decoding.decoder);
    iso_events_release(&decoding.events);
    return error->status;
}

static const char *const takes[] = {"encoding", NULL};

const struct bench_kind bench_decode = {
    .name = "decode",
    .experiments = experiments,
    .sweeps = sweeps,
    .takes = takes,
    .file_format = "a capture",
    .applies = decoder_applies,
    .columns = columns,
    .column_count = COLUMNS,
    .run = decode_in_child,
    .peak = PEAK_MEMORY,
};
