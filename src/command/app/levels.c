#include "app/levels.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "history/copy.h"
#include "judge/judge.h"
#include "rowsets/rowsets.h"

enum { ORDER_SECONDS = 60, VIOLATIONS_SHOWN = 5 };
/* How long a server may take to write down what others see already (synchronous_commit = off). */
static const uint64_t unwritten = 1000000000;

/* ---- which transactions ---- */

enum place { PLACE_NONE = SUITE_LEVELS, PLACE_LACKS_SNAPSHOT };

static bool has_snapshot(const struct iso_history *history, uint32_t t)
{
    return history->txns.flags[t] & ISO_HAS_STS ||
           (history->txns.snapshot && history->txns.snapshot[t] != ISO_NONE);
}

/* Whether all changes came that it may have seen. */
static bool is_covered(const struct levels *levels, const struct suite_record *record)
{
    uint64_t end = suite_told_end(&levels->told, record);
    return !levels->facts->failure || (end && end + unwritten < levels->facts->covered);
}

/* The level at which it is judged; above SUITE_LEVELS: at none. */
static unsigned place_of(const struct levels *levels, const struct iso_history *history, uint32_t t,
                         const struct suite_record **record)
{
    *record = suite_told_find(&levels->told, history, t);
    if (!*record || iso_status_of(history, t) != ISO_COMMITTED || !is_covered(levels, *record))
        return PLACE_NONE;
    if (!(*record)->is_known)
        return has_snapshot(history, t) ? SUITE_REPEATABLE_READ : SUITE_READ_COMMITTED;
    return (*record)->level == SUITE_READ_COMMITTED || has_snapshot(history, t)
               ? (*record)->level
               : PLACE_LACKS_SNAPSHOT;
}

static uint64_t count_reads(const struct iso_history *history, uint32_t t)
{
    uint64_t reads = 0;
    ISO_EACH(o, history->txns.first_op, t)
        reads += !iso_kind_writes(history->ops.kind[o]);
    return reads;
}

static void add_versions(struct iso_history *into, const struct iso_history *from, uint32_t t)
{
    if (from->txns.first_op[t + 1] - from->txns.first_op[t] > count_reads(from, t))
        iso_history_copy_versions(into, from, t);
}

/* ---- a level ---- */

/* A part of all, as a history of its own. */
struct part {
    struct run_kept kept;
    struct iso_history_messages messages;
    const char *name;  /* of the level at which it ran; or of the one that is asked for */
    uint64_t count;    /* transactions of the level */
    uint64_t unplaced; /* reads of those that have no snapshot */
    struct iso_judge_options options;
    struct iso_rowsets_options columns;
    struct iso_judgement judgement;
};

static void start(struct part *part, const struct run_stream *stream)
{
    run_kept_init(&part->kept);
    iso_judge_options_init(&part->options);
    iso_rowsets_options_init(&part->columns);
    iso_pipeline_know_columns(stream->pipeline, &part->columns);
    part->options.columns = &part->columns;
}

static void release(struct part *part)
{
    iso_judgement_release(&part->judgement);
    suite_messages_release(&part->messages);
    run_kept_release(&part->kept);
}

static void say(const struct levels *levels, const struct part *part)
{
    const struct iso_verdict *verdict = &part->judgement.verdict;
    uint64_t violations = iso_judgement_violations(&part->judgement),
             unjudged = verdict->reads_unjudged + part->unplaced;
    struct iso_text text = {0};
    iso_text_format(&text, "%s, %s: %" PRIu64 " of %" PRIu64 " reads judged, ", levels->facts->name,
                    part->name, verdict->reads_judged, verdict->reads_judged + unjudged);
    if (violations)
        iso_text_format(&text, "%" PRIu64 " wrong", violations);
    else
        iso_text_put(&text, "none wrong");
    if (unjudged)
        iso_text_format(&text, "; undecided: %" PRIu64 " (", unjudged);
    iso_unjudged_put(verdict->unjudged, &text);
    if (part->unplaced)
        iso_text_format(&text, "%s%" PRIu64 " no-start-timestamp",
                        verdict->reads_unjudged ? ", " : "", part->unplaced);
    iso_text_put(&text, unjudged ? ")" : "");
    cli_log("%.*s", (int)text.used, text.bytes);
    iso_text_release(&text);
}

static void take_outcome(struct levels *levels, const struct part *part)
{
    const struct iso_judgement *judgement = &part->judgement;
    const char *reason = judgement->reason ? judgement->reason : judgement->verdict.reason;
    bool is_undecided = judgement->outcome == ISO_IS_UNDECIDED && strcmp(reason, "nothing-judged");
    levels->is_violated |= judgement->outcome == ISO_IS_VIOLATED;
    if (!levels->reason && is_undecided)
        levels->reason = reason;
    if (!levels->reason && part->unplaced && !levels->allow_unjudged)
        levels->reason = "no-start-timestamp";
}

/* "x.html", and "x-2.html" from the second level on that has violations; to be freed. */
static char *numbered(const char *path, uint32_t number)
{
    const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');
    size_t length = dot ? (size_t)(dot - path) : strlen(path);
    struct iso_text text = {0};
    iso_text_put_bytes(&text, path, length);
    if (number > 1 && strcmp(path + strlen(path) - 1, "-") != 0)
        iso_text_format(&text, "-%u", number);
    iso_text_put(&text, path + length);
    *iso_text_reserve(&text, 1) = 0;
    return text.bytes;
}

/* Files are those of levels with violations; where there is none, of the first level. */
static void explain(struct app *app, struct levels *levels, struct iso_history *history,
                    const struct app_said *said, bool is_violated)
{
    struct app_explanation own = *levels->explanation;
    const char **files[] = {&own.html, &own.svg, &own.dot};
    uint32_t count = own.reports.count;
    char **paths = iso_allocate_zeroed(count + 3, sizeof *paths);
    bool has_files = is_violated || !levels->has_page;
    levels->pages += is_violated;
    levels->has_page = true;
    for (uint32_t i = 0; i < 3; i++)
        *files[i] =
            *files[i] && has_files ? (paths[count + i] = numbered(*files[i], levels->pages)) : NULL;
    for (uint32_t i = 0; i < count; i++)
        paths[i] = numbered(own.reports.items[i], levels->pages);
    own.reports.items = (const char **)paths;
    own.reports.count = has_files ? count : 0;
    app_explain_said(app, &own, history, said);
    for (uint32_t i = 0; i < count + 3; i++)
        iso_free(paths[i]);
    iso_free(paths);
}

static void show(struct app *app, struct levels *levels, struct part *part)
{
    const struct iso_history_told told = {&levels->told, suite_told_put_statements};
    const struct iso_judgement *judgement = &part->judgement;
    struct iso_polygraph_report report = {.history = part->kept.history,
                                          .result = &judgement->result,
                                          .level = judgement->order.level,
                                          .max_findings = judgement->order.max_findings};
    struct app_said said = {&judgement->verdict, judgement->is_of_order ? &report : NULL};
    if (levels->json)
        app_print_said(&app->out, &said);
    bool is_violated = judgement->outcome == ISO_IS_VIOLATED;
    part->kept.history->told = &told;
    if (is_violated && !levels->quiet)
        app_explain_said_briefly(app, part->kept.history, &said, VIOLATIONS_SHOWN);
    explain(app, levels, part->kept.history, &said, is_violated);
    part->kept.history->told = NULL;
}

/* One whose place nobody knows may stand anywhere between the others. */
static bool lacks_times(const struct iso_history *history)
{
    return history->totals.without_sts != ISO_NONE || history->totals.without_cts != ISO_NONE;
}

static uint64_t count_all_reads(const struct iso_history *history)
{
    uint64_t reads = 0;
    for (uint32_t t = 0; t < history->txns.count; t++)
        reads += count_reads(history, t);
    return reads;
}

/* A level has no line where nothing was read at it. */
static enum iso_status judge_level(struct app *app, struct levels *levels,
                                   const struct run_stream *stream, enum suite_level level)
{
    struct part part = {.name = suite_level_names[level]};
    const struct iso_history *all = stream->kept.history;
    const struct suite_record *record;
    start(&part, stream);
    for (uint32_t t = 0; t < all->txns.count; t++) {
        unsigned place = place_of(levels, all, t, &record);
        bool is_of_it = place == level;
        part.count += is_of_it;
        if (place == PLACE_LACKS_SNAPSHOT && record->level == level)
            part.unplaced += count_reads(all, t);
        (is_of_it ? iso_history_copy_timed : add_versions)(part.kept.history, all, t);
    }
    part.options.engine = ISO_JUDGE_CHRONOS;
    part.options.order.level = level == SUITE_READ_COMMITTED ? ISO_RC : ISO_SI;
    part.options.allow_unjudged = levels->allow_unjudged;
    bool finished = part.count + part.unplaced &&
                    run_kept_finish(&part.kept, stream->options,
                                    iso_pipeline_inputs(stream->pipeline), &app->error) == ISO_OK;
    if (finished && level != SUITE_READ_COMMITTED && lacks_times(part.kept.history))
        part.unplaced += count_all_reads(part.kept.history);
    else if (finished) {
        suite_told_tell(&levels->told, part.kept.history, &part.messages);
        iso_judge(part.kept.history, &part.options, &part.judgement, &app->error);
    }
    if (finished && app->error.status == ISO_OK &&
        (part.unplaced || part.judgement.verdict.reads_judged ||
         part.judgement.verdict.reads_unjudged || iso_judgement_violations(&part.judgement))) {
        levels->judged += part.judgement.verdict.reads_judged;
        levels->unjudged += part.judgement.verdict.reads_unjudged + part.unplaced;
        take_outcome(levels, &part);
        if (!levels->quiet)
            say(levels, &part);
        if (part.judgement.has_verdict)
            show(app, levels, &part);
    }
    release(&part);
    return app->error.status;
}

/* ---- an order of those that ran at SERIALIZABLE ---- */

/* What weaker ones wrote are versions, and no more. */
static uint32_t copy_serializable(const struct levels *levels, const struct iso_history *all,
                                  struct iso_history *into)
{
    const struct suite_record *record;
    uint32_t count = 0;
    for (uint32_t t = 0; t < all->txns.count; t++) {
        bool is_of_it =
            place_of(levels, all, t, &record) == SUITE_SERIALIZABLE && !record->has_rolled_back;
        uint32_t before = into->txns.count;
        count += is_of_it;
        (is_of_it ? iso_history_copy_timed : add_versions)(into, all, t);
        if (!is_of_it && into->txns.count > before)
            into->txns.flags[before] &= (uint8_t)~ISO_HAS_STS; /* of no order (`neighbours`) */
    }
    return count;
}

static enum iso_status judge_serializable(struct app *app, struct levels *levels,
                                          const struct run_stream *stream)
{
    struct part part = {.name = "ser"};
    start(&part, stream);
    part.count = copy_serializable(levels, stream->kept.history, part.kept.history);
    part.options.order.level = ISO_SER;
    part.options.order.neighbours = true;
    part.options.order.timeout = ORDER_SECONDS;
    part.options.allow_unjudged = levels->allow_unjudged;
    if (part.count > 1 &&
        run_kept_finish(&part.kept, stream->options, iso_pipeline_inputs(stream->pipeline),
                        &app->error) == ISO_OK &&
        part.kept.history->totals.without_cts == ISO_NONE &&
        iso_judge(part.kept.history, &part.options, &part.judgement, &app->error) == ISO_OK) {
        take_outcome(levels, &part);
        if (part.judgement.outcome == ISO_IS_VIOLATED) {
            if (!levels->quiet)
                cli_log("%s, SERIALIZABLE: no order of the transactions explains what they read",
                        levels->facts->name);
            show(app, levels, &part);
        }
    }
    release(&part);
    return app->error.status;
}

/* ---- a level that is asked for ---- */

static void log_asked(const struct levels *levels, const struct part *part, bool counts)
{
    bool is_empty = part->judgement.outcome == ISO_HOLDS && !count_all_reads(part->kept.history);
    const char *reason = part->judgement.reason;
    if (levels->quiet)
        return;
    cli_log("%s, all at %s: %s%s%s%s", levels->facts->name, part->name,
            is_empty ? "no read to judge" : iso_outcome_name(part->judgement.outcome),
            reason ? ": " : "", reason ? reason : "",
            counts ? "" : " (which --fail-level would make the verdict)");
}

static enum iso_status judge_asked(struct app *app, struct levels *levels,
                                   const struct run_stream *stream, int level, bool counts)
{
    struct part part = {.name = iso_level_name((enum iso_level)level)};
    const struct iso_history *all = stream->kept.history;
    start(&part, stream);
    for (uint32_t t = 0; t < all->txns.count; t++) {
        const struct suite_record *record = suite_told_find(&levels->told, all, t);
        if (!record || !record->has_rolled_back)
            iso_history_copy_timed(part.kept.history, all, t);
    }
    part.options.order.level = (enum iso_level)level;
    part.options.order.keys_by_commit = level == ISO_SI || level == ISO_SER;
    part.options.order.timeout = ORDER_SECONDS;
    if (run_kept_finish(&part.kept, stream->options, iso_pipeline_inputs(stream->pipeline),
                        &app->error) == ISO_OK &&
        iso_judge(part.kept.history, &part.options, &part.judgement, &app->error) == ISO_OK) {
        log_asked(levels, &part, counts);
        if (counts)
            take_outcome(levels, &part);
        show(app, levels, &part);
    }
    release(&part);
    return app->error.status;
}

static void say_contradictions(const struct levels *levels, const struct run_stream *stream)
{
    struct iso_pipeline_stats stats;
    char found[ISO_FOUND_TEXT];
    iso_pipeline_stats(stream->pipeline, &stats);
    iso_pipeline_found_text(&stats, 0, found);
    cli_log("%s: what its clients were told and its changes contradict each other: %s",
            levels->facts->name, found);
}

enum iso_status levels_take_stream(struct app *app, struct levels *levels,
                                   struct run_stream *stream)
{
    struct run_kept *kept = &stream->kept;
    levels->is_violated = true;
    if (levels->json)
        iso_output_bytes(&app->out, kept->verdict.bytes, kept->verdict.used);
    if (run_kept_finish(kept, stream->options, iso_pipeline_inputs(stream->pipeline),
                        &app->error) != ISO_OK)
        return app->error.status;
    if (!levels->quiet) {
        say_contradictions(levels, stream);
        app_explain_briefly(app, kept->history, &kept->verdict, VIOLATIONS_SHOWN);
    }
    if (app->error.status == ISO_OK && app_explanation_wanted(levels->explanation))
        app_explain(app, levels->explanation, kept->history, ISO_WALL_UNKNOWN, "the changes",
                    &kept->verdict);
    return app->error.status;
}

enum iso_status levels_judge(struct app *app, struct levels *levels,
                             const struct run_stream *stream)
{
    for (int level = 0; level < SUITE_LEVELS && app->error.status == ISO_OK; level++)
        judge_level(app, levels, stream, (enum suite_level)level);
    if (levels->facts->failure || app->error.status != ISO_OK)
        return app->error.status;
    if (!levels->is_violated)
        judge_serializable(app, levels, stream);
    if (levels->asked >= 0 && levels->asked != levels->required && app->error.status == ISO_OK)
        judge_asked(app, levels, stream, levels->asked, false);
    if (levels->required >= 0 && app->error.status == ISO_OK)
        judge_asked(app, levels, stream, levels->required, true);
    return app->error.status;
}
