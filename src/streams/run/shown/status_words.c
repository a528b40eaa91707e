/* What waits and for whom, and what stands in the way, in words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run/shown/status_private.h"

/* How much longer than the timeouts explain it takes until standing still is a fault; partitions
 * that are named. */
enum { UNSETTLED_SLACK_MS = 30000, PARTITIONS_NAMED = 3 };

/* The longest that nothing may become final while input comes, in milliseconds: what each thing
 * that waits waits for at most, one after the other. */
uint64_t status_unsettled_bound(const struct run_status *status)
{
    const struct run_stream_options *options = status->stream->options;
    return options->pipeline.engine.finality_timeout_ms + options->pipeline.idle_timeout_ms +
           (status->stream->joins ? run_stream_grace(options) : 0) + UNSETTLED_SLACK_MS;
}

static void put_seconds(struct iso_text *text, const char *before, uint64_t ms, const char *after)
{
    iso_text_format(text, "%s%" PRIu64 "%s", before, ms / 1000, after);
}

/* The partitions that the rest waits for. */
static void put_holders(const struct run_status *status, struct iso_text *text)
{
    const struct iso_kafka_partition *partitions;
    uint32_t partition_count = iso_kafka_consumer_partitions(status->consumer, &partitions),
             named = 0;
    uint64_t now = (uint64_t)iso_clock_since_1970();
    for (uint32_t i = 0; i < partition_count; i++) {
        uint64_t time = status->locations.list[i].time;
        if (!iso_pipeline_input(status->stream->pipeline, partitions[i].input).holds_back ||
            named++ >= PARTITIONS_NAMED)
            continue;
        iso_text_format(text, "%s%s/%" PRIu64, named == 1 ? "; held back by " : ", ",
                        partitions[i].topic, (uint64_t)partitions[i].partition);
        put_seconds(text, " (last message ", now > time ? now - time : 0, " s ago)");
    }
    if (named > PARTITIONS_NAMED) {
        iso_text_format(text, " and %" PRIu32 " more", named - PARTITIONS_NAMED);
    }
}

/* Describes what waits, since when, and for whom, with a zero byte behind it; empty if nothing
 * waits. */
void status_put_words(struct run_status *status)
{
    struct iso_text *text = &status->words;
    uint64_t oldest = run_waiting_oldest(&status->books.content);
    text->used = 0;
    iso_accounting_waiting_text(&status->books.content, text);
    if (oldest >= 1000)
        put_seconds(text, "; the oldest for ", oldest, " s");
    if (run_waiting_on_inputs(&status->books.content))
        put_holders(status, text);
    if (text->used)
        iso_text_put_bytes(text, "", 1);
}

/* Where the oldest of them stands, or what it is called. */
static void put_example(const struct run_status *status, const struct run_waiting_class *class,
                        struct iso_text *text)
{
    char location[ISO_PIPELINE_LOCATION];
    const char *table = status->books.content.waiting.table;
    if (!strcmp(class->name, "tables")) {
        iso_text_put(text, ",\"example\":");
        iso_text_put_string(text, table, strlen(table));
    }
    if (class->oldest.origin == UINT64_MAX)
        return;
    iso_pipeline_location(status->stream->pipeline, class->oldest.origin, location,
                          sizeof location);
    iso_text_put(text, ",\"example\":");
    iso_text_put_string(text, location, strlen(location));
    if (class->oldest.ms != UINT64_MAX)
        iso_text_format(text, ",\"seconds\":%.3f", (double)class->oldest.ms / 1000);
}

void status_put_waits(struct run_status *status)
{
    struct iso_text *text = &status->waits;
    struct run_waiting_class class;
    text->used = 0;
    iso_text_put(text, "[");
    for (unsigned i = 0; run_waiting_class(&status->books.content, i, &class); i++) {
        if (!class.count)
            continue;
        iso_text_format(
            text, "%s{\"class\":\"%s\",\"count\":%" PRIu64 ",\"for\":\"%s\",\"final\":\"%s\"",
            text->used > 1 ? "," : "", class.name, class.count, class.what, class.final);
        put_example(status, &class, text);
        iso_text_put(text, "}");
    }
    iso_text_put_bytes(text, "]", 2);
}

/* Describes a problem other than a broker's; NULL: none. */
const char *status_find_trouble(const struct run_status *status, uint64_t now, char *text,
                                size_t size)
{
    uint64_t silent = now - status->waiting.changed_at, unsettled = status->waiting.unsettled;
    if (status->expect_messages && silent > status->expect_messages)
        snprintf(text, size,
                 "no message of the change stream for %" PRIu64
                 " s (--expect-messages %.12g): is its connector running?",
                 silent / 1000, (double)status->expect_messages / 1000);
    else if (unsettled > status_unsettled_bound(status))
        snprintf(text, size,
                 "for %" PRIu64 " s input has arrived and nothing became final; waiting: %s",
                 unsettled / 1000, status->words.used ? status->words.bytes : "nothing");
    else
        return NULL;
    return text;
}

/* The client library says what is wrong with a broker, but of one that is silent only after a
 * minute. */
const char *status_find_broker_trouble(const struct run_status *status, uint64_t silence,
                                       char *text, size_t size)
{
    if (iso_kafka_consumer_trouble(status->consumer, text, size))
        return text;
    if (!silence)
        return NULL;
    snprintf(text, size,
             "a broker has not answered for %" PRIu64
             " s: no deadline passes until it does; is it there, and can it be reached from here?",
             silence / 1000);
    return text;
}
