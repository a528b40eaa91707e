/* `isochron capture`: topics into a file. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "app/commands.h"
#include "run/input/consume.h"
#include "run/shown/signals.h"
#include "capture/capture.h"

enum { POLL_MS = 100, FLUSH_MS = 1000 };

struct capture {
    struct cli_texts topics, properties;
    const char *output, *from;
    bool until_eof, wait_for_topics, quiet;
    uint64_t threads;
};

#define PLACE(member) offsetof(struct capture, member)

static const struct cli_option options[] = {
    CLI_ROW_TEXTS("topic", "TOPIC", PLACE(topics),
                  "A topic to record, with all its partitions. May be given often."),
    CLI_ROW_TEXT("output", "FILE", PLACE(output),
                 "Write the capture to FILE, compressed if it ends in .zst, instead of\n"
                 "standard output.",
                 .letter = 'o'),
    CLI_ROW_TEXT("from", "PLACE", PLACE(from),
                 "beginning (the default), end, a time in milliseconds since 1970, or\n"
                 "stored: where the group of -X group.id=GROUP has committed to."),
    CLI_ROW_FLAG("until-eof", PLACE(until_eof), "Stop where the partitions end now."),
    CLI_ROW_FLAG("wait-for-topics", PLACE(wait_for_topics),
                 "A topic that does not exist may appear later."),
    CLI_ROW_PROPERTIES(PLACE(properties)),
    CLI_ROW_FLAG("quiet", PLACE(quiet), "Print no closing line."),
    CLI_ROW_ONE_THREAD("capture", PLACE(threads)),
    {.type = CLI_END},
};

static enum iso_status record_topics(struct iso_kafka_consumer *consumer,
                                     struct iso_capture_writer *writer, struct iso_error *error)
{
    volatile sig_atomic_t *stopped = run_catch_signals(0, false);
    int64_t flushed = iso_clock_ms();
    while (!*stopped && !iso_kafka_consumer_finished(consumer) && error->status == ISO_OK) {
        const struct iso_message *messages;
        uint32_t count;
        iso_kafka_consumer_poll(consumer, POLL_MS, &messages, &count, error);
        struct iso_error writing = {0};
        for (uint32_t i = 0; i < count && writing.status == ISO_OK; i++)
            iso_capture_write(writer, &messages[i], &writing);
        int64_t now = iso_clock_ms();
        if (writing.status == ISO_OK && now - flushed >= FLUSH_MS) {
            flushed = now;
            iso_stream_flush(iso_capture_stream(writer), &writing);
        }
        if (writing.status != ISO_OK)
            iso_error_set(error, writing.status, "%s", writing.text);
    }
    return error->status;
}

static enum iso_status capture_topics(struct app *app, void *target, const struct cli_texts *files)
{
    const struct capture *capture = target;
    struct iso_error *error = &app->error;
    struct iso_kafka_properties properties = {0};
    struct iso_inputs inputs;
    struct iso_kafka_consumer *consumer = NULL;
    struct iso_capture_writer *writer = NULL;
    struct iso_kafka_consumer_options settings = {.properties = &properties,
                                                  .topics = capture->topics.items,
                                                  .topic_count = capture->topics.count,
                                                  .until_eof = capture->until_eof,
                                                  .wait_for_topics = capture->wait_for_topics};
    if (files->count)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "%s: capture reads topics, expected --topic TOPIC", files->items[0]);
    if (!capture->topics.count)
        return iso_error_set(error, ISO_BAD_INPUT, "no topic: expected --topic TOPIC");
    iso_inputs_init(&inputs);
    if (run_properties(&properties, &capture->properties, error) != ISO_OK ||
        run_consume_from(capture->from, &settings, error) != ISO_OK)
        goto out;
    consumer = iso_kafka_consumer_new(&settings, &inputs, error);
    if (consumer)
        writer = iso_capture_writer_new(capture->output, error);
    if (!writer)
        goto out;
    record_topics(consumer, writer, error);
    if (!capture->quiet)
        cli_log("%" PRIu64 " messages of %u partitions captured",
                iso_kafka_consumer_counters(consumer)->messages, inputs.count);
out:
    if (writer) {
        struct iso_error closing = {0};
        if (iso_capture_writer_close(writer, &closing) != ISO_OK)
            iso_error_set(error, closing.status, "%s", closing.text);
    }
    iso_kafka_consumer_free(consumer);
    iso_inputs_release(&inputs);
    iso_kafka_properties_release(&properties);
    return error->status;
}

static enum iso_status run_capture(struct app *app, int count, char **arguments)
{
    struct capture capture = {.output = "-"};
    return cli_run(app, count, arguments, &capture, capture_topics);
}

const struct cli_command app_capture = {
    .name = "capture",
    .summary = "record Kafka topics into a file, byte exact",
    .usage = "--topic TOPIC... -X bootstrap.servers=HOST:PORT [OPTIONS] [-o FILE]",
    .intro = "Writes every message with its key, headers, offset and time as a line of JSON,\n"
             "in the form of `kcat -J`; bytes that are not UTF-8 as {\"base64\":\"...\"}.\n"
             "`replay` reads it. Ctrl-C ends it and leaves a complete file.",
    .examples =
        "  isochron capture --topic txns --until-eof -X bootstrap.servers=localhost:9092 -o run.capture.jsonl.zst\n"
        "      What is there now, packed.\n",
    .options = options,
    .run = run_capture,
};
