#include "run/shown/status_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/log.h"
#include "cli/system.h"
#include "base/memory.h"
#include "explain/brief.h"

enum { PUBLISH_MS = 250 };

static void explain_line(const char *line, size_t length, struct iso_text *text)
{
    struct iso_brief brief;
    if (iso_brief_init(&brief, line, length))
        iso_brief_json(&brief, text);
    iso_brief_release(&brief);
}

static enum iso_status open_server(struct run_status *status, const struct iso_http_options *server,
                                   struct iso_error *error)
{
    const char *listen = server->listen, *colon = strrchr(listen, ':');
    status->web = iso_web_new(server, explain_line, error);
    if (!status->web)
        return error->status;
    cli_log("status page on http://%.*s:%u/", colon ? (int)(colon - listen) : 9,
            colon ? listen : "127.0.0.1", iso_web_port(status->web));
    return ISO_OK;
}

/* Without what the consumer knows. */
static void gather_facts(const struct run_status *status, struct run_notes_facts *facts)
{
    const struct iso_pipeline_stats *stats = &status->stats;
    *facts =
        (struct run_notes_facts){.messages = stats->messages,
                                 .in_use = cli_memory_in_use(),
                                 .limit = run_stream_memory(status->stream->options),
                                 .needed = iso_pipeline_memory_needed(status->stream->pipeline),
                                 .clients_time = -1,
                                 .changes_time = -1};
    for (int news = 0; news < ISO_TABLE_NEWS; news++) {
        facts->count[news] = status->stream->remarks.tables.count[news];
        facts->latest[news] = status->stream->remarks.tables.latest[news];
    }
    facts->count[RUN_BAD_RECORDS] = stats->bad_records;
    facts->count[RUN_LATE_TRANSACTIONS] = stats->engine.below_watermark;
    facts->count[RUN_SNAPSHOTS_AGAIN] = stats->join.snapshots_again;
}

/* Notes of before a restart are over. */
static void note_before(struct run_status *status)
{
    struct run_notes_facts facts;
    iso_pipeline_stats(status->stream->pipeline, &status->stats);
    gather_facts(status, &facts);
    run_notes_init(&status->notes, &facts, (uint64_t)iso_clock_since_1970());
}

enum iso_status run_status_open(struct run_status *status, struct iso_http_options server,
                                struct iso_error *error)
{
    if (!server.listen && (server.token_file || server.name_count))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--listen-%s %s: expected --listen HOST:PORT too",
                             server.token_file ? "token" : "name",
                             server.token_file ? server.token_file : server.names[0]);
    status->times.started = status->times.progressed = (uint64_t)iso_clock_since_1970();
    run_waiting_init(&status->waiting, (uint64_t)iso_clock_ms());
    note_before(status);
    if (server.listen && open_server(status, &server, error) != ISO_OK)
        return error->status;
    run_notify_open(&status->notify);
    run_notify_ready(&status->notify);
    return ISO_OK;
}

void run_status_close(struct run_status *status)
{
    run_notify_close(&status->notify);
    iso_web_free(status->web);
    iso_metrics_release(&status->metrics);
    iso_text_release(&status->words);
    iso_text_release(&status->waits);
    run_notes_release(&status->notes);
    iso_free(status->locations.list);
}

/* Opening the books goes over all keys: it may take a hundredth of the time. */
static void open_books(struct run_status *status, uint64_t now)
{
    struct run_status_books *books = &status->books;
    const struct iso_pipeline_stats *stats = &status->stats;
    if (books->opened && now - books->opened < 100 * books->took)
        return;
    double started = iso_clock_seconds();
    iso_pipeline_accounting(status->stream->pipeline, &books->content);
    books->took = (uint64_t)((iso_clock_seconds() - started) * 1000);
    books->opened = now;
    run_waiting_look(&status->waiting, &books->content, stats->has_watermark ? stats->watermark : 0,
                     stats->messages, now);
}

/* When the last message of the change streams came, or of clients; below 0: none is read. */
double status_last_message(const struct run_status *status, bool of_changes)
{
    const struct iso_kafka_partition *partitions;
    uint32_t partition_count = iso_kafka_consumer_partitions(status->consumer, &partitions);
    double latest = -1;
    for (uint32_t i = 0; i < partition_count && i < status->locations.count; i++) {
        bool is_change =
            iso_pipeline_input(status->stream->pipeline, partitions[i].input).is_change_stream;
        double time = (double)status->locations.list[i].time / 1000;
        latest = is_change == of_changes && time > latest ? time : latest;
    }
    return latest;
}

/* In words what happened, and what lasts. */
static void take_notes(struct run_status *status)
{
    struct run_notes_facts facts;
    const struct iso_kafka_partition *partitions;
    uint32_t partition_count = iso_kafka_consumer_partitions(status->consumer, &partitions);
    gather_facts(status, &facts);
    for (uint32_t i = 0; i < partition_count; i++)
        facts.behind += iso_kafka_consumer_behind(status->consumer, i);
    facts.count[RUN_MISSING_OFFSETS] = iso_kafka_consumer_counters(status->consumer)->missing;
    facts.awaited = iso_kafka_consumer_awaited_topic(status->consumer);
    facts.clients_time = status_last_message(status, false);
    facts.changes_time = status_last_message(status, true);
    run_notes_look(&status->notes, &facts, (uint64_t)iso_clock_since_1970());
}

/* Progress is offsets: messages, and what holds none. */
static void report_to_manager(struct run_status *status, const char *trouble, uint64_t now)
{
    const struct iso_kafka_partition *partitions;
    const struct iso_aion_stats *engine = &status->stats.engine;
    uint64_t done = 0, behind = 0;
    char found[ISO_FOUND_TEXT];
    uint32_t partition_count = iso_kafka_consumer_partitions(status->consumer, &partitions);
    for (uint32_t i = 0; i < partition_count; i++) {
        done += (uint64_t)partitions[i].next;
        behind += iso_kafka_consumer_behind(status->consumer, i);
    }
    iso_pipeline_found_text(&status->stats, 0, found);
    if (run_notify_progress(&status->notify, done, !behind || trouble, now))
        run_notify_status(&status->notify,
                          "%" PRIu64 " transaction%s, %s, %" PRIu64 " message%s behind%s%s",
                          engine->transactions, cli_plural(engine->transactions), found, behind,
                          cli_plural(behind), trouble ? "; " : "", trouble ? trouble : "");
}

/* Notes which partitions have gone on. */
static void look_at_partitions(struct run_status *status, uint64_t now)
{
    const struct iso_kafka_partition *partitions;
    uint32_t partition_count = iso_kafka_consumer_partitions(status->consumer, &partitions);
    struct run_status_locations *locations = &status->locations;
    uint64_t changes = 0, time = (uint64_t)iso_clock_since_1970();
    if (partition_count > locations->count)
        locations->list =
            iso_reallocate(locations->list, partition_count * sizeof *locations->list);
    for (; locations->count < partition_count; locations->count++)
        locations->list[locations->count] =
            (struct run_status_location){partitions[locations->count].next, time};
    for (uint32_t i = 0; i < partition_count; i++) {
        if (partitions[i].next != locations->list[i].next)
            locations->list[i] = (struct run_status_location){partitions[i].next, time};
        if (iso_pipeline_input(status->stream->pipeline, partitions[i].input).is_change_stream)
            changes += (uint64_t)partitions[i].next;
    }
    run_waiting_note_changes(&status->waiting, changes, now);
}

void run_status_publish(struct run_status *status, uint64_t silence, uint64_t now)
{
    struct run_status_times *times = &status->times;
    uint64_t messages = status->stats.messages, watermark = status->stats.watermark;
    char text[400];
    if ((!status->web && !status->notify.socket) || now - times->published < PUBLISH_MS)
        return;
    times->published = now;
    iso_pipeline_stats(status->stream->pipeline, &status->stats);
    if (status->stats.messages != messages)
        times->progressed = (uint64_t)iso_clock_since_1970();
    if (status->stats.has_watermark && (!times->moved || status->stats.watermark != watermark))
        times->moved = (uint64_t)iso_clock_since_1970();
    look_at_partitions(status, now);
    const char *trouble = status_find_broker_trouble(status, silence, text, sizeof text);
    report_to_manager(status, trouble, now);
    if (!status->web)
        return;
    open_books(status, now);
    status_put_words(status);
    status_put_waits(status);
    take_notes(status);
    if (!trouble)
        trouble = status_find_trouble(status, now, text, sizeof text);
    status_fill_metrics(status, !trouble);
    iso_web_publish(status->web, &status->metrics, true, trouble,
                    status->words.used ? status->words.bytes : NULL, status->waits.bytes,
                    status->notes.text.bytes);
}
