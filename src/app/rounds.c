#include "app/rounds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/memory_output.h"
#include "base/memory.h"
#include "history/archive.h"
#include "history/copy.h"
#include "history/part.h"
#include "io/read.h"
#include "io/report.h"
#include "iso/polygraph.h"

/* What is collected, its copy that is judged, and that copy's part stand in memory at once. */
enum { COPIES = 3 };

void app_rounds_init(struct app_rounds *rounds, struct app_stream *stream, bool enabled)
{
    const struct app_stream_options *options = stream->options;
    *rounds = (struct app_rounds){.stream = stream, .enabled = enabled};
    iso_history_init(&rounds->collected);
    if (options->initial_file)
        iso_read_initial(options->initial_file, &rounds->collected, &stream->app->error);
    if (options->initial && strcmp(options->initial, "null"))
        rounds->collected.initial_value =
            iso_atoms_text(&rounds->collected.atoms, options->initial, strlen(options->initial));
}

void app_rounds_release(struct app_rounds *rounds)
{
    if (rounds->stream)
        iso_history_release(&rounds->collected);
    rounds->stream = NULL;
}

void app_rounds_archive(struct iso_archive *archive, struct app_rounds *rounds)
{
    uint32_t kind = rounds->kind;
    iso_archive_value(archive, "rounds", &kind, sizeof kind);
    iso_archive_expect(archive, kind <= APP_ROUNDS_UNTIMED);
    rounds->kind = (enum app_rounds_kind)kind;
    ISO_ARCHIVE_VALUE(archive, rounds->since);
    ISO_ARCHIVE_VALUE(archive, rounds->number);
    ISO_ARCHIVE_VALUE(archive, rounds->full);
    if (archive->restoring) { /* its initial values come back too */
        iso_history_release(&rounds->collected);
        iso_history_init(&rounds->collected);
    }
    iso_history_archive(archive, &rounds->collected);
}

static enum iso_model model_of(const struct app_stream_options *options)
{
    if (options->level == ISO_SER)
        return ISO_MODEL_SER;
    return options->no_session_order ? ISO_MODEL_ADYA_SI : ISO_MODEL_SI;
}

/* ---- judging all that has come ---- */

/* What a round may judge: reads of what nobody wrote so far are left out. */
static enum iso_status leave_out_open_reads(const struct iso_history *all, struct iso_history *known,
                                            struct iso_error *error)
{
    struct iso_part part;
    iso_part_init(&part, all);
    for (uint32_t o = 0; o < all->operation_count; o++) {
        uint8_t kind = iso_kind_of(all, o);
        uint32_t value = all->value[o];
        if (kind == ISO_READ)
            part.operations[o] = part.group[o] != ISO_NONE || value == ISO_ABSENT || value == all->initial_value;
        for (uint64_t i = kind == ISO_READ_LIST ? all->list_first[value] : 1;
             kind == ISO_READ_LIST && i < all->list_first[value + 1]; i++)
            part.operations[o] &= part.element_group[i] != ISO_NONE;
    }
    iso_part_build(&part, known);
    iso_part_release(&part);
    return iso_history_finish(known, error);
}

/* A finished copy of what is collected, in an empty history. */
static enum iso_status copy_all(const struct app_rounds *rounds, bool is_final, struct iso_history *judged,
                                struct iso_error *error)
{
    struct iso_history all;
    iso_history_init(&all);
    for (uint32_t t = 0; t < rounds->collected.transaction_count; t++)
        iso_history_copy(&all, &rounds->collected, t);
    iso_history_copy_initial(&all, &rounds->collected);
    iso_history_drop_repeats(&all); /* streams repeat themselves */
    enum iso_status status = iso_history_finish(&all, error);
    if (status == ISO_OK && is_final) {
        iso_history_release(judged);
        *judged = all;
        return ISO_OK;
    }
    if (status == ISO_OK)
        status = leave_out_open_reads(&all, judged, error);
    iso_history_release(&all);
    return status;
}

static void undecided(struct iso_polygraph_result *result, const char *reason)
{
    result->outcome = ISO_IS_UNDECIDED;
    result->reason = reason;
}

/* The joined history has not all that was committed, or not all of it. */
static bool lacks_transactions(const struct iso_join_stats *join)
{
    return join->unplaced || join->forced || join->incomplete || join->late_records || join->unknown_values;
}

/* Initialises `judged`. */
static enum iso_status judge(struct app_rounds *rounds, bool is_final, struct iso_history *judged,
                             struct iso_polygraph_result *result, struct iso_error *error)
{
    const struct app_stream_options *options = rounds->stream->options;
    struct iso_polygraph_options settings;
    struct iso_pipeline_stats stats;
    iso_history_init(judged);
    if (options->level == ISO_SER && options->no_session_order)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--no-session-order: polygraph has snapshot isolation without it, not ser");
    if (copy_all(rounds, is_final, judged, error) != ISO_OK)
        return error->status;
    iso_polygraph_options_init(&settings);
    settings.model = model_of(options);
    settings.max_findings = (uint32_t)options->max_violations;
    settings.memory = options->memory;
    settings.memory_in_use = app_memory_in_use;
    if (rounds->full)
        undecided(result, "memory");
    else
        iso_polygraph_check(judged, &settings, result, error);
    /* What was left out may have explained a read. */
    iso_pipeline_stats(rounds->stream->pipeline, &stats);
    if (stats.bad_records && result->outcome != ISO_IS_UNDECIDED)
        undecided(result, "skipped-records");
    if (lacks_transactions(&stats.join) && result->outcome != ISO_IS_UNDECIDED)
        undecided(result, "unplaced-transactions");
    return error->status;
}

/* ---- telling ---- */

/* One JSON object. */
static enum iso_status print_line(const struct app_rounds *rounds, const struct iso_polygraph_report *report,
                                  struct iso_text *line)
{
    struct iso_error *error = &rounds->stream->app->error;
    struct app_memory_output memory;
    if (app_memory_output_open(&memory, error) != ISO_OK)
        return error->status;
    iso_report_polygraph_json(&memory.output, report, app_peak_memory());
    return app_memory_output_take(&memory, line, error);
}

/* The id is that of the stream's question, so that a compacted topic keeps the last answer. */
static enum iso_status tell(const struct app_rounds *rounds, bool is_final, const struct iso_history *judged,
                            const struct iso_polygraph_result *result)
{
    const struct app_stream_options *options = rounds->stream->options;
    struct iso_text line = {0};
    char members[96];
    struct iso_polygraph_report report = {.history = judged,
                                          .result = result,
                                          .model = model_of(options),
                                          .max_findings = (uint32_t)options->max_violations,
                                          .is_stream = true,
                                          .members = options->json ? NULL : members};
    snprintf(members, sizeof members, "\"id\":\"%016x\",\"state\":\"%s\",\"round\":%" PRIu32 ",",
             (unsigned)report.model + 1, is_final ? "final" : "tentative", rounds->number);
    if (print_line(rounds, &report, &line) == ISO_OK && rounds->stream->kept)
        iso_text_put_bytes(&rounds->stream->verdict, line.bytes, line.used);
    else if (rounds->stream->app->error.status == ISO_OK)
        app_stream_tell(rounds->stream, line.bytes, line.used);
    iso_text_release(&line);
    return rounds->stream->app->error.status;
}

static void say(const struct app_rounds *rounds, const struct iso_history *judged,
                const struct iso_polygraph_result *result, double seconds)
{
    app_say("%s at %s: %" PRIu32 " transaction%s without timestamps, judged by polygraph in %.1f s%s%s",
            iso_outcome_name(result->outcome), iso_model_name(model_of(rounds->stream->options)),
            judged->committed_count, app_plural(judged->committed_count), seconds, result->reason ? "; reason: " : "",
            result->reason ? result->reason : "");
}

static void run_round(struct app_rounds *rounds)
{
    struct app_stream *stream = rounds->stream;
    struct iso_history judged;
    struct iso_polygraph_result result;
    iso_polygraph_result_init(&result);
    rounds->since = 0;
    rounds->number++;
    if (judge(rounds, false, &judged, &result, &stream->app->error) == ISO_OK && !stream->options->json &&
        !stream->options->final_only)
        tell(rounds, false, &judged, &result);
    iso_polygraph_result_release(&result);
    iso_history_release(&judged);
}

enum iso_status app_rounds_conclude(struct app_rounds *rounds, double seconds)
{
    struct app_stream *stream = rounds->stream;
    struct iso_history judged;
    struct iso_polygraph_result result;
    iso_polygraph_result_init(&result);
    rounds->number++;
    enum iso_status status = judge(rounds, stream->complete, &judged, &result, &stream->app->error);
    if (status == ISO_OK && !stream->complete && result.outcome == ISO_IS_VIOLATED)
        undecided(&result, "tentative-violations");
    if (status == ISO_OK)
        status = tell(rounds, stream->complete, &judged, &result);
    if (status == ISO_OK && !stream->options->quiet)
        say(rounds, &judged, &result, seconds);
    if (status == ISO_OK)
        status = iso_outcome_status(result.outcome);
    iso_polygraph_result_release(&result);
    iso_history_release(&judged);
    return status;
}

const char *app_rounds_any_order(struct app_rounds *rounds)
{
    struct iso_history judged;
    struct iso_polygraph_result result;
    struct iso_error error = {.status = ISO_OK};
    iso_polygraph_result_init(&result);
    if (judge(rounds, true, &judged, &result, &error) != ISO_OK)
        undecided(&result, NULL);
    const char *name = iso_outcome_name(result.outcome);
    iso_polygraph_result_release(&result);
    iso_history_release(&judged);
    return name;
}

/* ---- collecting ---- */

static void decide(struct app_rounds *rounds, const struct iso_history *block, uint32_t first, uint32_t count)
{
    for (uint32_t t = first; t < first + count && rounds->kind == APP_ROUNDS_OPEN; t++) {
        if (iso_status_of(block, t) != ISO_COMMITTED)
            continue;
        bool timed = block->flags[t] & (ISO_HAS_STS | ISO_HAS_CTS);
        rounds->kind = timed || !rounds->enabled ? APP_ROUNDS_TIMED : APP_ROUNDS_UNTIMED;
        if (!timed && !rounds->enabled)
            app_warn("transactions without timestamps are for polygraph: --until-eof or --round N has it "
                     "judge them");
    }
}

static void collect(struct app_rounds *rounds, const struct iso_history *block, uint32_t t)
{
    const struct app_stream_options *options = rounds->stream->options;
    if (rounds->full)
        return;
    iso_history_copy(&rounds->collected, block, t);
    rounds->since++;
    rounds->full = options->memory && COPIES * iso_history_size(&rounds->collected) > options->memory;
    if (rounds->full)
        app_warn("--memory is used up: no more transactions are taken for polygraph, and its verdict will be "
                 "undecided");
}

void app_rounds_keep(struct app_rounds *rounds, const struct iso_history *block, uint32_t first, uint32_t count)
{
    for (uint32_t t = first; t < first + count; t++)
        collect(rounds, block, t);
}

bool app_rounds_take(struct app_rounds *rounds, const struct iso_history *block, uint32_t first, uint32_t count)
{
    const struct app_stream_options *options = rounds->stream->options;
    decide(rounds, block, first, count);
    bool untimed = rounds->kind == APP_ROUNDS_UNTIMED;
    for (uint32_t t = first; t < first + count && rounds->kind != APP_ROUNDS_TIMED; t++) {
        collect(rounds, block, t);
        if (untimed && options->round && rounds->since >= options->round && !rounds->full)
            run_round(rounds);
    }
    if (rounds->kind == APP_ROUNDS_TIMED && options->any_order)
        app_rounds_keep(rounds, block, first, count);
    return untimed;
}
