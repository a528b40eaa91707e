/* The end of a run: what was found, as one JSON object, and in words. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "cli/log.h"
#include "run/input/left_out.h"
#include "run/input/spelling.h"
#include "run/stream.h"
#include "verdict/unjudged.h"

/* Which records nothing gives a moment, and what can be done. */
static void put_without_start(const struct iso_join_stats *join, struct iso_text *text)
{
    uint64_t records = join->without_start + join->readers_without_start;
    iso_text_format(
        text,
        "%" PRIu64
        " client record%s without a snapshot or start timestamp: record it; or judge at rc, by "
        "--to-history FILE and check --level rc --engine chronos FILE",
        records, cli_plural(records));
}

/* Which of the clients' records never came. */
static void put_lost(const struct iso_pipeline *pipeline, const struct iso_pipeline_lost *lost,
                     struct iso_text *text)
{
    char location[ISO_PIPELINE_LOCATION];
    iso_pipeline_location(pipeline, lost->records ? lost->origin : lost->file.origin, location,
                          sizeof location);
    if (lost->records)
        iso_text_format(text, "%" PRIu64 " client record%s", lost->records,
                        cli_plural(lost->records));
    if (lost->records && lost->sessions)
        iso_text_format(text, " of %" PRIu64 " session%s", lost->sessions,
                        cli_plural(lost->sessions));
    if (lost->records)
        iso_text_format(
            text,
            ", by the count of who recorded them, the first one in front of %s: larger than the topic "
            "allows, not delivered, or dropped since a buffer was full",
            location);
    else if (lost->file.records)
        iso_text_format(text,
                        "%" PRIu64 " record%s in front of %s, by the count of who recorded them",
                        lost->file.records, cli_plural(lost->file.records), location);
    else if (lost->file.recorders)
        iso_text_format(
            text,
            "the recorder that began at %s did not end: was it killed, or does it still write?",
            location);
    if (!lost->silent)
        return;
    iso_text_format(text, "%srecorder %s%s did not end", text->used ? "; " : "", lost->name,
                    lost->silent > 1 ? " (and others)" : "");
    if (lost->since)
        iso_text_format(text, " and was silent for the last %.1f s",
                        (double)(lost->latest - lost->since) / 1000);
    iso_text_put(text, ": it was killed, or still runs: what it had not sent yet is missing");
}

/* Reads that were not judged, by reason, where there are several. */
static void put_unjudged(const struct iso_pipeline_stats *stats, const char *largest,
                         struct iso_text *text)
{
    uint64_t all = 0;
    for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++)
        all += stats->unjudged[reason];
    for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++)
        if (!strcmp(largest, iso_unjudged_name((enum iso_unjudged)reason)) &&
            stats->unjudged[reason] < all)
            iso_unjudged_put(stats->unjudged, text);
}

/* Appends the reason's detail: what waits and for what, has no moment, was not judged, or does
 * not add up. Empty: none of these. */
static void put_detail(const struct iso_pipeline *pipeline, const struct iso_accounting *books,
                       const struct iso_pipeline_stats *stats, const char *reason,
                       struct iso_text *text)
{
    if (reason && !strcmp(reason, "waiting"))
        iso_accounting_waiting_text(books, text);
    else if (reason && !strcmp(reason, iso_unjudged_name(ISO_UNJUDGED_INCOMPLETE)))
        iso_pipeline_put_lost(pipeline, text);
    else if (reason && !strcmp(reason, ISO_RECORDS_LOST))
        put_lost(pipeline, &stats->lost, text);
    else if (reason && !strcmp(reason, iso_unjudged_name(ISO_UNJUDGED_NO_STREAM)))
        iso_text_put(text, RUN_LACKS_STREAM);
    else if (reason && !strcmp(reason, "no-start-timestamp"))
        put_without_start(&stats->join, text);
    else if (reason && books->balanced)
        put_unjudged(stats, reason, text);
    else if (!books->balanced)
        iso_accounting_imbalance_text(books, text);
    if (!books->balanced)
        iso_text_put(text, "; this is a defect of isochron: please report it with this line");
    *iso_text_reserve(text, 1) = 0;
}

static void log_summary(const struct run_stream *stream, const struct iso_accounting *books,
                        enum iso_status outcome, const char *reason, double seconds)
{
    struct iso_pipeline_stats stats;
    const struct iso_pipeline_order *order = iso_pipeline_order(stream->pipeline);
    struct iso_text detail = {0};
    char found[ISO_FOUND_TEXT];
    iso_pipeline_stats(stream->pipeline, &stats);
    put_detail(stream->pipeline, books, &stats, reason, &detail);
    iso_pipeline_found_text(&stats, order ? order->found : 0, found);
    cli_log("%s at %s: %" PRIu64 " transaction%s, %s, %" PRIu64 " message%s in %.1f s%s%s%s%s",
            outcome == ISO_VIOLATED ? "violated"
            : outcome == ISO_OK     ? "holds"
                                    : "undecided",
            iso_pipeline_level_name(stream->pipeline), stats.engine.transactions,
            cli_plural(stats.engine.transactions), found, stats.messages,
            cli_plural(stats.messages), seconds, reason ? "; reason: " : "", reason ? reason : "",
            detail.used ? ": " : "", detail.bytes);
    iso_text_release(&detail);
    if (stats.lost.open)
        cli_log("%" PRIu64 " recorder%s had not ended: what was not sent yet is not part of this "
                "verdict",
                stats.lost.open, cli_plural(stats.lost.open));
}

/* The object, for standard output and for who explains it. */
static void write_object(struct run_stream *stream, const struct iso_accounting *books,
                         const char *any_order)
{
    const struct run_stream_options *options = stream->options;
    struct iso_text text = {0};
    if (!options->json && !stream->kept.history)
        return;
    iso_pipeline_summary(stream->pipeline, books, options->allow_unjudged, any_order, &text);
    if (options->json)
        iso_output_bytes(stream->output.standard, text.bytes, text.used);
    if (stream->kept.history)
        iso_text_put_bytes(&stream->kept.verdict, text.bytes, text.used);
    iso_text_release(&text);
}

static enum iso_status conclude_timed(struct run_stream *stream, double seconds,
                                      struct iso_error *error)
{
    const struct run_stream_options *options = stream->options;
    const char *reason, *any_order = NULL;
    struct iso_accounting books;
    if (run_order_seek(&stream->order, error) != ISO_OK)
        return error->status;
    iso_pipeline_accounting(stream->pipeline, &books);
    books.waiting.lines = stream->untaken;
    books.waiting.total += stream->untaken;
    enum iso_status outcome =
        iso_pipeline_outcome_of(stream->pipeline, &books, options->allow_unjudged, &reason);
    bool unplaced =
        reason &&
        !strcmp(reason, "no-start-timestamp"); /* what timestamps cannot place, an order may */
    if (options->any_order && (outcome == ISO_VIOLATED || unplaced))
        any_order = run_rounds_any_order(&stream->rounds);
    write_object(stream, &books, any_order);
    if (options->brief)
        run_output_flush(&stream->output); /* whoever reads both reads the summary last */
    run_remarks_scans(stream->scans);
    if (options->quiet)
        return outcome;
    run_log_left_out(stream->pipeline);
    run_log_spellings(stream->pipeline);
    log_summary(stream, &books, outcome, reason, seconds);
    if (any_order)
        cli_log("any order: %s", any_order);
    return outcome;
}

enum iso_status run_stream_conclude(struct run_stream *stream, double seconds,
                                    struct iso_error *error)
{
    const struct run_stream_options *options = stream->options;
    assert(!stream->concluded && error->status == ISO_OK);
    stream->concluded = true;
    cli_log_set_limit(0); /* the last words are few */
    run_remarks_conclude(&stream->remarks, &stream->recording);
    if (stream->rounds.kind != RUN_ROUNDS_UNTIMED)
        return conclude_timed(stream, seconds, error);
    if (!options->state || stream->complete)
        return run_rounds_conclude(&stream->rounds, stream->complete, seconds, error);
    if (!options->quiet)
        run_rounds_log_stopped(&stream->rounds);
    return ISO_UNDECIDED;
}
