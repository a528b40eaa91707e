#include "run/input/rounds.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "history/archive.h"
#include "history/copy.h"
#include "history/part.h"
#include "native/read.h"
#include "report/report.h"
#include "polygraph/polygraph.h"
#include "verdict/unjudged.h"

/* Copies in memory at one time: the collected history, the one that is judged, and its part. */
enum { COPIES = 3 };

enum iso_status run_rounds_init(struct run_rounds *rounds, struct iso_error *error)
{
    assert(rounds->options && rounds->pipeline && rounds->output);
    iso_history_init(&rounds->collected);
    return run_stream_initial(rounds->options, &rounds->collected, error);
}

void run_rounds_release(struct run_rounds *rounds)
{
    if (rounds->options)
        iso_history_release(&rounds->collected);
    rounds->options = NULL;
}

void run_rounds_archive(struct iso_archive *archive, struct run_rounds *rounds)
{
    uint32_t kind = rounds->kind;
    iso_archive_value(archive, "rounds", &kind, sizeof kind);
    iso_archive_expect(archive, kind <= RUN_ROUNDS_UNTIMED);
    rounds->kind = (enum run_rounds_kind)kind;
    ISO_ARCHIVE_VALUE(archive, rounds->since);
    ISO_ARCHIVE_VALUE(archive, rounds->number);
    ISO_ARCHIVE_VALUE(archive, rounds->full);
    if (archive->restoring) { /* its initial values come back too */
        iso_history_release(&rounds->collected);
        iso_history_init(&rounds->collected);
    }
    iso_history_archive(archive, &rounds->collected);
}

static enum iso_level model_of(const struct run_stream_options *options)
{
    if (run_stream_level(options) == ISO_SER)
        return ISO_SER;
    return options->no_session_order ? ISO_ADYA_SI : ISO_SI;
}

/* ---- judging all that has come ---- */

/* Leaves out reads of values that nobody has written so far: a round judges the rest. */
static enum iso_status leave_out_open_reads(const struct iso_history *all,
                                            struct iso_history *known, struct iso_error *error)
{
    struct iso_part part;
    iso_part_init(&part, all);
    for (uint32_t o = 0; o < all->ops.count; o++) {
        uint8_t kind = iso_kind_of(all, o);
        uint32_t value = all->ops.value[o];
        if (kind == ISO_READ)
            part.operations[o] = part.group[o] != ISO_NONE || value == ISO_ABSENT ||
                                 value == all->initial.other_value;
        for (uint64_t i = kind == ISO_READ_LIST ? all->lists.first[value] : 1;
             kind == ISO_READ_LIST && i < all->lists.first[value + 1]; i++)
            part.operations[o] &= part.element_group[i] != ISO_NONE;
    }
    iso_part_build(&part, known);
    iso_part_release(&part);
    return iso_history_finish(known, error);
}

/* A finished copy of what is collected, in an empty history. */
static enum iso_status copy_all(struct run_rounds *rounds, bool is_final,
                                struct iso_history *judged, struct iso_error *error)
{
    struct iso_history all;
    iso_history_init(&all);
    all.ranges.limit = rounds->options->pipeline.scan_limit;
    for (uint32_t t = 0; t < rounds->collected.txns.count; t++)
        iso_history_copy(&all, &rounds->collected, t);
    iso_history_copy_initial(&all, &rounds->collected);
    iso_history_drop_repeats(&all); /* streams repeat themselves */
    enum iso_status status = iso_history_finish(&all, error);
    rounds->open_reads = 0;
    if (status == ISO_OK && is_final) {
        /* Before the end what makes a row appear, or go, may still come. */
        if (all.clock == ISO_CLOCK_NONE)
            iso_pipeline_imply_queries(rounds->pipeline, &all);
        iso_history_release(judged);
        *judged = all;
        return ISO_OK;
    }
    if (status == ISO_OK)
        status = leave_out_open_reads(&all, judged, error);
    if (status == ISO_OK)
        rounds->open_reads = all.ops.count - judged->ops.count;
    iso_history_release(&all);
    return status;
}

static void set_undecided(struct iso_polygraph_result *result, const char *reason)
{
    result->outcome = ISO_IS_UNDECIDED;
    result->reason = reason;
}

/* The joined history has not all that was committed, or not all of it. */
static bool lacks_transactions(const struct iso_join_stats *join)
{
    return join->unplaced || join->forced || join->incomplete || join->late_records ||
           join->unknown_values || iso_join_has_xa(join);
}

/* Initialises `judged`. */
static enum iso_status judge_collected(struct run_rounds *rounds, bool is_final,
                                       struct iso_history *judged,
                                       struct iso_polygraph_result *result, struct iso_error *error)
{
    const struct run_stream_options *options = rounds->options;
    struct iso_polygraph_options settings = run_stream_polygraph(options);
    struct iso_pipeline_stats stats;
    iso_history_init(judged);
    if (run_stream_level(options) == ISO_SER && options->no_session_order)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--no-session-order: polygraph has snapshot isolation without it, not ser");
    if (copy_all(rounds, is_final, judged, error) != ISO_OK)
        return error->status;
    settings.level = model_of(options);
    if (iso_pipeline_lacks_stream(rounds->pipeline))
        set_undecided(result, iso_unjudged_name(ISO_UNJUDGED_NO_STREAM));
    else if (rounds->full)
        set_undecided(result, "memory");
    else
        iso_polygraph_check(judged, &settings, result, error);
    /* Transactions that were left out may have explained a read. */
    iso_pipeline_stats(rounds->pipeline, &stats);
    if (stats.bad_records && result->outcome != ISO_IS_UNDECIDED)
        set_undecided(result, "skipped-records");
    if (iso_pipeline_loses(&stats))
        iso_polygraph_leave_to_lost(result);
    if (lacks_transactions(&stats.join) && result->outcome != ISO_IS_UNDECIDED)
        set_undecided(result, iso_join_has_xa(&stats.join) ? iso_unjudged_name(ISO_UNJUDGED_XA)
                                                           : "unplaced-transactions");
    if (result->outcome == ISO_HOLDS && result->reads_left_out && !options->allow_unjudged)
        set_undecided(result, "reads-left-out");
    if (iso_history_leaves_queries(judged) && result->outcome == ISO_HOLDS &&
        !options->allow_unjudged)
        set_undecided(result, iso_unjudged_name(ISO_UNJUDGED_ROW_SETS));
    return error->status;
}

/* ---- emitting ---- */

/* One JSON object. */
static enum iso_status print_line(const struct iso_polygraph_report *report, struct iso_text *line,
                                  struct iso_error *error)
{
    struct iso_output output;
    iso_output_to_text(&output, line);
    iso_report_polygraph_json(&output, report, cli_peak_memory());
    return iso_output_close(&output, error);
}

/* Public: ser has 1 and si has 2, whatever their numbers are. */
static unsigned id_of(enum iso_level level)
{
    return level == ISO_SER ? 1 : level == ISO_SI ? 2 : (unsigned)level + 1;
}

/* The id is that of the stream's question, so that a compacted topic keeps the last answer. */
static enum iso_status emit_verdict(const struct run_rounds *rounds, bool is_final,
                                    const struct iso_history *judged,
                                    const struct iso_polygraph_result *result,
                                    struct iso_error *error)
{
    const struct run_stream_options *options = rounds->options;
    struct iso_text line = {0};
    char members[96];
    struct iso_polygraph_report report = {.history = judged,
                                          .result = result,
                                          .level = model_of(options),
                                          .max_findings = options->pipeline.max_violations,
                                          .is_stream = true,
                                          .members = options->json ? NULL : members};
    snprintf(members, sizeof members, "\"id\":\"%016x\",\"state\":\"%s\",\"round\":%" PRIu32 ",",
             id_of(report.level), is_final ? "final" : "tentative", rounds->number);
    if (print_line(&report, &line, error) == ISO_OK && rounds->kept->history)
        iso_text_put_bytes(&rounds->kept->verdict, line.bytes, line.used);
    else if (error->status == ISO_OK)
        run_output_emit(rounds->output, line.bytes, line.used, error);
    iso_text_release(&line);
    return error->status;
}

static void log_verdict(const struct run_rounds *rounds, const struct iso_history *judged,
                        const struct iso_polygraph_result *result, double seconds)
{
    cli_log("%s at %s: %" PRIu32
            " transaction%s without timestamps, judged by polygraph in %.1f s%s%s",
            iso_outcome_name(result->outcome), iso_level_name(model_of(rounds->options)),
            judged->totals.committed, cli_plural(judged->totals.committed), seconds,
            result->reason ? "; reason: " : "", result->reason ? result->reason : "");
    if (iso_pipeline_lacks_stream(rounds->pipeline))
        cli_log("%s", RUN_LACKS_STREAM);
    if (rounds->open_reads)
        cli_log("%" PRIu64 " read%s not judged: %s for the transactions that wrote what they saw",
                rounds->open_reads, rounds->open_reads == 1 ? " was" : "s were",
                rounds->open_reads == 1 ? "it waits" : "they wait");
}

void run_rounds_log_stopped(const struct run_rounds *rounds)
{
    cli_log(
        "undecided at %s; reason: waiting: %" PRIu32
        " transactions without timestamps for the end of the run, where polygraph judges them; started again "
        "with the same --state it continues",
        iso_level_name(model_of(rounds->options)), rounds->collected.txns.count);
}

static void run_round(struct run_rounds *rounds, struct iso_error *error)
{
    const struct run_stream_options *options = rounds->options;
    struct iso_history judged;
    struct iso_polygraph_result result;
    iso_polygraph_result_init(&result);
    rounds->since = 0;
    rounds->number++;
    if (judge_collected(rounds, false, &judged, &result, error) == ISO_OK && !options->json &&
        !options->final_only)
        emit_verdict(rounds, false, &judged, &result, error);
    iso_polygraph_result_release(&result);
    iso_history_release(&judged);
}

enum iso_status run_rounds_conclude(struct run_rounds *rounds, bool complete, double seconds,
                                    struct iso_error *error)
{
    struct iso_history judged;
    struct iso_polygraph_result result;
    assert(rounds->kind == RUN_ROUNDS_UNTIMED);
    iso_polygraph_result_init(&result);
    rounds->number++;
    enum iso_status status = judge_collected(rounds, complete, &judged, &result, error);
    if (status == ISO_OK && !complete && result.outcome == ISO_IS_VIOLATED)
        set_undecided(&result, "tentative-violations");
    if (status == ISO_OK && rounds->open_reads && result.outcome == ISO_HOLDS)
        set_undecided(&result, "waiting");
    if (status == ISO_OK)
        status = emit_verdict(rounds, complete, &judged, &result, error);
    if (status == ISO_OK && !rounds->options->quiet)
        log_verdict(rounds, &judged, &result, seconds);
    if (status == ISO_OK)
        status = iso_outcome_status(result.outcome);
    iso_polygraph_result_release(&result);
    iso_history_release(&judged);
    return status;
}

const char *run_rounds_any_order(struct run_rounds *rounds)
{
    struct iso_history judged;
    struct iso_polygraph_result result;
    struct iso_error error = {.status = ISO_OK};
    iso_polygraph_result_init(&result);
    if (judge_collected(rounds, true, &judged, &result, &error) != ISO_OK)
        set_undecided(&result, NULL);
    const char *name = iso_outcome_name(result.outcome);
    iso_polygraph_result_release(&result);
    iso_history_release(&judged);
    return name;
}

/* ---- collecting ---- */

/* Warns that memory is short, once it is known that polygraph has something to judge. */
static void warn_if_full(const struct run_rounds *rounds)
{
    bool wanted = rounds->kind == RUN_ROUNDS_UNTIMED || rounds->options->any_order;
    if (rounds->full && wanted)
        cli_log_warning(
            "--memory is used up: no more transactions are taken for polygraph, and its verdict will be "
            "undecided");
}

/* Timestamps say so whatever became of their transaction; that there are none, only what was
 * committed. */
static void decide_kind(struct run_rounds *rounds, const struct iso_history *block, uint32_t first,
                        uint32_t count)
{
    for (uint32_t t = first; t < first + count && rounds->kind == RUN_ROUNDS_OPEN; t++) {
        bool timed = block->txns.flags[t] & (ISO_HAS_STS | ISO_HAS_CTS);
        if (!timed && iso_status_of(block, t) != ISO_COMMITTED)
            continue;
        rounds->kind = timed || !rounds->enabled ? RUN_ROUNDS_TIMED : RUN_ROUNDS_UNTIMED;
        if (!timed && !rounds->enabled)
            cli_log_warning(
                "transactions without timestamps are for polygraph: --until-eof or --round N has it "
                "judge them");
        warn_if_full(rounds);
    }
}

static void collect_transaction(struct run_rounds *rounds, const struct iso_history *block,
                                uint32_t t)
{
    const struct run_stream_options *options = rounds->options;
    if (rounds->full)
        return;
    iso_history_copy(&rounds->collected, block, t);
    rounds->since++;
    uint64_t memory = run_stream_memory(options);
    rounds->full = memory && COPIES * iso_history_size(&rounds->collected) > memory;
    if (rounds->kind != RUN_ROUNDS_OPEN)
        warn_if_full(rounds);
}

void run_rounds_keep(struct run_rounds *rounds, const struct iso_history *block, uint32_t first,
                     uint32_t count)
{
    for (uint32_t t = first; t < first + count; t++)
        collect_transaction(rounds, block, t);
}

bool run_rounds_take(struct run_rounds *rounds, const struct iso_history *block, uint32_t first,
                     uint32_t count, struct iso_error *error)
{
    const struct run_stream_options *options = rounds->options;
    decide_kind(rounds, block, first, count);
    bool untimed = rounds->kind == RUN_ROUNDS_UNTIMED;
    enum iso_level level = run_stream_level(options);
    if (untimed && level != ISO_SI && level != ISO_SER)
        iso_error_set(error, ISO_BAD_INPUT,
                      "--level %s: these records have no timestamps, and it is judged by them",
                      iso_level_name(level));
    for (uint32_t t = first; t < first + count && rounds->kind != RUN_ROUNDS_TIMED; t++) {
        collect_transaction(rounds, block, t);
        if (untimed && options->round && rounds->since >= options->round && !rounds->full)
            run_round(rounds, error);
    }
    if (rounds->kind == RUN_ROUNDS_TIMED && options->any_order)
        run_rounds_keep(rounds, block, first, count);
    return untimed;
}
