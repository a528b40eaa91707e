#include "run/status_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/log.h"
#include "cli/system.h"
#include "run/left_out.h"
#include "base/memory.h"
#include "explain/brief.h"
#include "iso/version.h"

enum { PUBLISH_MS = 250 };

uint64_t status_since_1970(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void explain_line(const char *line, size_t length, struct iso_text *text)
{
    struct iso_brief brief;
    if (iso_brief_init(&brief, line, length))
        iso_brief_json(&brief, text);
    iso_brief_release(&brief);
}

static enum iso_status open_server(struct app_status *status, const struct iso_web_options *server,
                                   struct iso_error *error)
{
    const char *listen = server->listen, *colon = strrchr(listen, ':');
    status->web = iso_web_new(server, error);
    if (!status->web)
        return error->status;
    app_log("status page on http://%.*s:%u/", colon ? (int)(colon - listen) : 9, colon ? listen : "127.0.0.1",
            iso_web_port(status->web));
    return ISO_OK;
}

/* Without what the consumer knows. */
static void gather_facts(const struct app_stream *stream, const struct iso_pipeline_stats *stats,
                         struct app_notes_facts *facts)
{
    *facts = (struct app_notes_facts){.messages = stats->messages,
                                      .in_use = app_memory_in_use(),
                                      .limit = app_stream_memory(stream->options),
                                      .needed = iso_pipeline_memory_needed(stream->pipeline),
                                      .clients_time = -1,
                                      .changes_time = -1};
    for (int news = 0; news < ISO_TABLE_NEWS; news++) {
        facts->count[news] = stream->remarks.tables.count[news];
        facts->latest[news] = stream->remarks.tables.latest[news];
    }
    facts->count[APP_BAD_RECORDS] = stats->bad_records;
    facts->count[APP_LATE_TRANSACTIONS] = stats->engine.below_watermark;
    facts->count[APP_SNAPSHOTS_AGAIN] = stats->join.snapshots_again;
}

/* What was before a restart is over. */
static void note_before(struct app_status *status, const struct app_stream *stream)
{
    struct iso_pipeline_stats stats;
    struct app_notes_facts facts;
    iso_pipeline_stats(stream->pipeline, &stats);
    gather_facts(stream, &stats, &facts);
    app_notes_init(&status->notes, &facts, status_since_1970());
}

enum iso_status app_status_open(struct app_status *status, const struct app_stream *stream,
                                struct iso_web_options server, uint64_t expect_messages, struct iso_error *error)
{
    server.explain = explain_line;
    if (!server.listen && (server.token_file || server.name_count))
        return iso_error_set(error, ISO_BAD_INPUT, "--listen-%s %s: expected --listen HOST:PORT too",
                             server.token_file ? "token" : "name",
                             server.token_file ? server.token_file : server.names[0]);
    status->started = status->progressed = status_since_1970();
    status->expect_messages = expect_messages;
    app_waiting_init(&status->waiting, (uint64_t)iso_kafka_now());
    note_before(status, stream);
    if (server.listen && open_server(status, &server, error) != ISO_OK)
        return error->status;
    app_notify_open(&status->notify);
    app_notify_ready(&status->notify);
    return ISO_OK;
}

void app_status_close(struct app_status *status)
{
    app_notify_close(&status->notify);
    iso_web_free(status->web);
    iso_metrics_release(&status->metrics);
    iso_text_release(&status->words);
    app_notes_release(&status->notes);
    iso_free(status->places);
}

/* Opening the books goes over all keys: it may take a hundredth of the time. */
static void open_books(struct app_status *status, const struct app_stream *stream,
                       const struct iso_pipeline_stats *stats, uint64_t now)
{
    if (status->opened && now - status->opened < 100 * status->opening)
        return;
    double started = app_seconds();
    iso_pipeline_books(stream->pipeline, &status->books);
    status->opening = (uint64_t)((app_seconds() - started) * 1000);
    status->opened = now;
    app_waiting_look(&status->waiting, &status->books, stats->has_watermark ? stats->watermark : 0, stats->messages,
                     now);
}

/* When the last message of the change streams came, or of clients; below 0: none is read. */
double status_last_message(const struct app_status *status, const struct app_stream *stream,
                           struct iso_kafka_consumer *consumer, bool of_changes)
{
    const struct iso_kafka_partition *partitions;
    uint32_t partition_count = iso_kafka_consumer_partitions(consumer, &partitions);
    double latest = -1;
    for (uint32_t i = 0; i < partition_count && i < status->place_count; i++) {
        bool is_change = iso_pipeline_input(stream->pipeline, partitions[i].input).is_change_stream;
        double time = (double)status->places[i].time / 1000;
        latest = is_change == of_changes && time > latest ? time : latest;
    }
    return latest;
}

/* In words what happened, and what lasts. */
static void take_notes(struct app_status *status, const struct app_stream *stream, struct iso_kafka_consumer *consumer,
                       const struct iso_pipeline_stats *stats)
{
    struct app_notes_facts facts;
    const struct iso_kafka_partition *partitions;
    uint32_t partition_count = iso_kafka_consumer_partitions(consumer, &partitions);
    gather_facts(stream, stats, &facts);
    for (uint32_t i = 0; i < partition_count; i++)
        facts.behind += iso_kafka_consumer_behind(consumer, i);
    facts.count[APP_MISSING_OFFSETS] = iso_kafka_consumer_counters(consumer)->missing;
    facts.clients_time = status_last_message(status, stream, consumer, false);
    facts.changes_time = status_last_message(status, stream, consumer, true);
    app_notes_look(&status->notes, &facts, status_since_1970());
}

/* Progress is offsets: messages, and what holds none. */
static void report_to_manager(struct app_status *status, struct iso_kafka_consumer *consumer,
                              const struct iso_pipeline_stats *stats, const char *trouble, uint64_t now)
{
    const struct iso_kafka_partition *partitions;
    uint64_t done = 0, behind = 0, violations = 0;
    uint32_t partition_count = iso_kafka_consumer_partitions(consumer, &partitions);
    for (uint32_t i = 0; i < partition_count; i++) {
        done += (uint64_t)partitions[i].next;
        behind += iso_kafka_consumer_behind(consumer, i);
    }
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        violations += stats->engine.counts[axiom];
    if (app_notify_progress(&status->notify, done, !behind || trouble, now))
        app_notify_status(
            &status->notify, "%" PRIu64 " transaction%s, %" PRIu64 " violation%s, %" PRIu64 " message%s behind%s%s",
            stats->engine.transactions, app_plural(stats->engine.transactions), violations, app_plural(violations),
            behind, app_plural(behind), trouble ? "; " : "", trouble ? trouble : "");
}

/* Notes which partitions have gone on. */
static void look_at_partitions(struct app_status *status, const struct app_stream *stream,
                               struct iso_kafka_consumer *consumer, uint64_t now)
{
    const struct iso_kafka_partition *partitions;
    uint32_t partition_count = iso_kafka_consumer_partitions(consumer, &partitions);
    uint64_t changes = 0;
    if (partition_count > status->place_count)
        status->places = iso_reallocate(status->places, partition_count * sizeof *status->places);
    for (; status->place_count < partition_count; status->place_count++)
        status->places[status->place_count] =
            (struct app_status_place){partitions[status->place_count].next, status_since_1970()};
    for (uint32_t i = 0; i < partition_count; i++) {
        if (partitions[i].next != status->places[i].next)
            status->places[i] = (struct app_status_place){partitions[i].next, status_since_1970()};
        if (iso_pipeline_input(stream->pipeline, partitions[i].input).is_change_stream)
            changes += (uint64_t)partitions[i].next;
    }
    app_waiting_note_changes(&status->waiting, changes, now);
}

void app_status_publish(struct app_status *status, const struct app_stream *stream, const struct app_durable *durable,
                        struct iso_kafka_consumer *consumer, uint64_t silence, uint64_t now)
{
    struct iso_pipeline_stats stats;
    char text[400];
    if ((!status->web && !status->notify.socket) || now - status->published < PUBLISH_MS)
        return;
    status->published = now;
    iso_pipeline_stats(stream->pipeline, &stats);
    if (stats.messages != status->messages)
        status->progressed = status_since_1970();
    status->messages = stats.messages;
    if (stats.has_watermark && (!status->moved || stats.watermark != status->watermark))
        status->moved = status_since_1970();
    status->watermark = stats.watermark;
    look_at_partitions(status, stream, consumer, now);
    const char *trouble = status_find_broker_trouble(consumer, silence, text, sizeof text);
    report_to_manager(status, consumer, &stats, trouble, now);
    if (!status->web)
        return;
    open_books(status, stream, &stats, now);
    status_put_words(status, stream, consumer);
    take_notes(status, stream, consumer, &stats);
    if (!trouble)
        trouble = status_find_trouble(status, stream, now, text, sizeof text);
    status_fill_metrics(status, stream, durable, consumer, &stats, !trouble);
    iso_web_publish(status->web, &status->metrics, true, trouble, status->words.used ? status->words.bytes : NULL,
                    status->notes.text.bytes);
}
