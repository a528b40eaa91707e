/* A TiDB's change feed in each of TiCDC's protocols, joined with what its clients record
 * (tests/support/tidb_world.h): rows of all types, composite keys, statements, rows that move,
 * partitions that lag, repeats after restarts, shared commit timestamps, reads FOR UPDATE and of
 * the past.
 *
 * Of a correct database nothing is found, and where nothing is lost it holds. Every lie of a client
 * about what the feed surely tells is found, and nothing else is. A feed that lacks a row does not
 * hold. Between batches the pipeline is saved and restored at times (tests/support/feeder.h).
 *
 * tidb_streams [--histories N] [--seed S] [--format F]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "pipeline/pipeline.h"
#include "tests/support/arguments.h"
#include "tests/support/feeder.h"
#include "tests/support/tidb_world.h"

enum { MAX_REPORTS = 3, FOUND_MAX = 400, FOUND_TEXT = 300 };

struct stream {
    struct tidb_world world;
    struct feeder feeder;
    uint32_t found_count;
    char found[FOUND_MAX][FOUND_TEXT]; /* "tid key", as lies are called */
    char failure[512];
    enum iso_status outcome;
    const char *reason;
    uint64_t held, lies, lies_found, lost, lost_noticed, repeats, shared, locks, past, moves,
        labels, undecided, revealed, unnoticed;
};

static bool next_string(const char *line, const char *before, char *text, size_t size)
{
    const char *start = strstr(line, before);
    if (start)
        snprintf(text, size, "%.*s", (int)strcspn(start + strlen(before), "\""),
                 start + strlen(before));
    return start != NULL;
}

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct stream *stream = context;
    char copy[4096], tid[64] = "", key[200] = "";
    (void)error;
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    if (getenv("SHOW_LINES"))
        printf("# %s", copy);
    if (!strstr(copy, "\"state\":\"final\"") || stream->found_count == FOUND_MAX)
        return ISO_OK;
    next_string(copy, "\"tids\":[\"", tid, sizeof tid);
    next_string(copy, "\"key\":\"", key, sizeof key);
    snprintf(stream->found[stream->found_count++], FOUND_TEXT, "%s %s", tid, key);
    return ISO_OK;
}

static struct iso_pipeline *open_pipeline(void *context)
{
    struct stream *stream = context;
    struct iso_pipeline_options options;
    struct iso_decoder_options decoding;
    struct iso_error error = {.status = ISO_OK};
    iso_pipeline_options_init(&options);
    tidb_decoder_options(&stream->world, &decoding);
    options.engine.level = ISO_SI;
    options.join.kind = "ticdc";
    options.join.clients = true;
    options.join.initial_known = true;
    options.sink = sink;
    options.sink_context = options.context = stream;
    options.final_only = !getenv("SHOW_LINES");
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    struct iso_decoder *decoder = iso_ticdc_decoder.create(&decoding, &error);
    if (!decoder) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    iso_pipeline_route(pipeline, "ticdc", decoder, false);
    iso_pipeline_route(
        pipeline, "clients",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error), false);
    return pipeline;
}

static bool was_told(const struct tidb_world *world, const char *found)
{
    for (uint32_t i = 0; i < world->lie_count; i++)
        if (!strcmp(world->told[i].text, found))
            return true;
    return false;
}

static bool was_found(const struct stream *stream, const char *lie)
{
    for (uint32_t i = 0; i < stream->found_count; i++)
        if (!strcmp(stream->found[i], lie))
            return true;
    return false;
}

/* Two texts of a client, "3" and "0.5", that came before anything of their table did: they might
 * have been a label's number and its name. */
static bool was_unclear(const struct stream *stream, const char *lie)
{
    char table[100] = "", column[300];
    uint32_t count;
    const struct iso_pipeline_spelling *list =
        iso_pipeline_spellings(stream->feeder.pipeline, &count);
    const char *name = strchr(lie, ' '), *cell = strrchr(lie, '#');
    if (!name || !cell)
        return false;
    snprintf(table, sizeof table, "%.*s", (int)strcspn(name + 1, "/"), name + 1);
    snprintf(column, sizeof column, "%s.%s", table, cell + 1);
    for (uint32_t i = 0; i < count; i++)
        if (list[i].kind == ISO_VALUE_UNKNOWN && !strcmp(list[i].column, column))
            return true;
    return false;
}

static void compare(struct stream *stream)
{
    const struct tidb_world *world = &stream->world;
    for (uint32_t i = 0; i < stream->found_count && !world->was_lost; i++)
        if (!was_told(world, stream->found[i]))
            snprintf(stream->failure, sizeof stream->failure, "accused: %s", stream->found[i]);
    for (uint32_t i = 0; i < world->lie_count && !world->was_lost; i++) {
        bool found = was_found(stream, world->told[i].text);
        if (!found && was_unclear(stream, world->told[i].text))
            continue;
        stream->lies += world->told[i].must_find;
        stream->lies_found += found;
        bool doubted = world->told[i].may_be_doubt && stream->outcome != ISO_OK;
        if (!found && world->told[i].must_find && !doubted)
            snprintf(stream->failure, sizeof stream->failure, "not found: %s", world->told[i].text);
    }
    bool whole = !world->was_lost && !world->lies && !world->statements && !world->has_lossy;
    bool first_file =
        !strcmp(world->format, "csv") && stream->reason && !strcmp(stream->reason, "schema");
    /* Rows that a transaction wrote over, unlisted; writes of what the encoder loses; a label twice
     * in one transaction, of which no list had come. */
    bool own_order = stream->reason &&
                     (!strcmp(stream->reason, "own-order") || !strcmp(stream->reason, "lossy") ||
                      (world->mixes && !strcmp(stream->reason, "spelling")));
    if (whole && stream->outcome != ISO_OK && !first_file &&
        !own_order) /* csv: a first file may be another name's */
        snprintf(stream->failure, sizeof stream->failure, "whole, and not judged: %s",
                 stream->reason ? stream->reason : "violated");
    stream->revealed += world->reveals;
    stream->unnoticed += world->reveals && stream->outcome == ISO_OK;
    if (world->was_lost && stream->outcome == ISO_OK && !world->lies)
        stream->lost++;
    stream->lost_noticed += world->was_lost && stream->outcome != ISO_OK;
    stream->held += stream->outcome == ISO_OK;
    stream->undecided += stream->outcome == ISO_UNDECIDED;
    stream->shared += world->shared_commits;
    stream->locks += world->locks;
    stream->past += world->past_reads;
    stream->moves += world->moves;
    stream->labels += world->labels;
}

static void give(struct feeder *feeder, struct tidb_world *world, struct feed *feed,
                 struct iso_error *error)
{
    struct iso_bytes *records = iso_allocate_zeroed(world->line_count + 1, sizeof *records);
    for (uint32_t i = 0; i < world->line_count; i++)
        records[i] =
            (struct iso_bytes){(const uint8_t *)world->lines[i], (uint32_t)strlen(world->lines[i])};
    feeder_give(feeder, &world->random, feed, records, world->line_count, error);
    iso_free(records);
}

static bool carry(struct stream *stream, uint64_t seed)
{
    struct tidb_world *world = &stream->world;
    struct iso_error error = {.status = ISO_OK};
    struct feed feed;
    const char *format = world->format;
    *world = (struct tidb_world){.format = format, .random = {seed * 7919 + 17}};
    stream->found_count = 0;
    stream->failure[0] = 0;
    world->lies = random_percent(&world->random, 50);
    world->statements = random_percent(&world->random, 60);
    world->one_zone = random_percent(&world->random, 50);
    world->mixes = random_percent(&world->random, 10);
    world->loses = !world->lies && random_percent(&world->random, 20);
    tidb_execute(world);
    feed_init(&feed);
    tidb_write(world, &feed);
    struct iso_pipeline_stats stats;
    struct feeder *feeder = &stream->feeder;
    *feeder = (struct feeder){
        .open = open_pipeline, .context = stream, .restores = 3, .counts_records = true};
    feeder->has_columns = true;
    feeder_open(feeder);
    give(feeder, world, &feed, &error);
    if (error.status == ISO_OK)
        iso_pipeline_end(feeder->pipeline, 0, &error);
    if (error.status == ISO_OK)
        stream->outcome = iso_pipeline_outcome(feeder->pipeline, false, &stream->reason);
    iso_pipeline_stats(feeder->pipeline, &stats);
    stream->repeats += stats.join.repeats;
    if (error.status != ISO_OK || feeder->failure[0])
        snprintf(stream->failure, sizeof stream->failure, "%.500s",
                 error.status != ISO_OK ? error.text : feeder->failure);
    else
        compare(stream);
    if (stream->failure[0]) {
        printf("not ok - %s, seed %" PRIu64 ": %s\n", format, seed, stream->failure);
        printf("# outcome %d, reason %s\n", stream->outcome,
               stream->reason ? stream->reason : "none");
        for (uint32_t i = 0; i < stream->found_count; i++)
            printf("# found: %s\n", stream->found[i]);
    }
    iso_pipeline_free(feeder->pipeline);
    feed_release(&feed);
    tidb_release(world);
    return !stream->failure[0];
}

static bool run_format(const char *format, uint64_t histories, uint64_t seed)
{
    struct stream *stream = iso_allocate_zeroed(1, sizeof *stream);
    uint32_t failed = 0;
    stream->world.format = format;
    for (uint64_t i = 0; i < histories && failed < MAX_REPORTS; i++)
        failed += !carry(stream, seed + i);
    bool holds = !strcmp(format, "csv") ||
                 stream->held; /* of rows that a first file may have brought nothing is said */
    bool occurred = holds && stream->lies_found && stream->lost_noticed && stream->repeats &&
                    stream->shared && stream->locks && stream->past && stream->moves &&
                    stream->labels && stream->revealed;
    /* A row before is compared where a client recorded its transaction; one of ten did not. */
    occurred &= stream->unnoticed * 10 <= stream->revealed;
    printf("# %s: %" PRIu64 " held, %" PRIu64 " undecided, %" PRIu64 " lies surely told, %" PRIu64
           " found, %" PRIu64 " lost rows noticed, %" PRIu64 " not, %" PRIu64 " repeats, %" PRIu64
           " shared commits, %" PRIu64 " locking reads, %" PRIu64 " of the past, %" PRIu64
           " moves, %" PRIu64 " labels by name, %" PRIu64 " lost rows revealed, %" PRIu64
           " of them not noticed\n",
           format, stream->held, stream->undecided, stream->lies, stream->lies_found,
           stream->lost_noticed, stream->lost, stream->repeats, stream->shared, stream->locks,
           stream->past, stream->moves, stream->labels, stream->revealed, stream->unnoticed);
    printf("%s - %s: %" PRIu64 " histories of a TiDB\n", !failed && occurred ? "ok" : "not ok",
           format, histories);
    iso_free(stream);
    return !failed && occurred;
}

int main(int argc, char **argv)
{
    static const char *const formats[] = {"canal-json", "open-protocol", "simple", "simple-avro",
                                          "avro",       "debezium",      "csv"};
    uint64_t histories = 400, seed = 1;
    const char *only = NULL;
    bool good = true;
    const struct argument known[] = {{"--histories", .number = &histories},
                                     {"--seed", .number = &seed},
                                     {"--format", .text = &only},
                                     {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!only || !strcmp(only, formats[i]))
            good &= run_format(formats[i], histories, seed);
    return good ? 0 : 1;
}
