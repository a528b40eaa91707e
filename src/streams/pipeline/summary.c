/* The whole run as one JSON object. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/pipeline_private.h"
#include "verdict/reported.h"
#include "verdict/unjudged.h"

uint64_t iso_pipeline_certain(const struct iso_pipeline_stats *stats, enum iso_axiom axiom)
{
    uint64_t found = stats->engine.counts[axiom], doubted = stats->doubted[axiom];
    return found > doubted ? found - doubted : 0;
}

static uint64_t iso_pipeline_found(const struct iso_pipeline_stats *stats, uint64_t *doubtful)
{
    uint64_t certain = 0;
    *doubtful = 0;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        uint64_t of_axiom = iso_pipeline_certain(stats, (enum iso_axiom)axiom);
        certain += of_axiom;
        *doubtful += stats->engine.counts[axiom] - of_axiom;
    }
    return certain;
}

void iso_pipeline_found_text(const struct iso_pipeline_stats *stats, uint64_t of_order,
                             char text[ISO_FOUND_TEXT])
{
    uint64_t doubtful, certain = iso_pipeline_found(stats, &doubtful) + of_order;
    int used =
        snprintf(text, ISO_FOUND_TEXT, "%" PRIu64 " violation%s", certain, certain == 1 ? "" : "s");
    if (doubtful)
        snprintf(text + used, ISO_FOUND_TEXT - (size_t)used, " (besides %" PRIu64 " doubtful)",
                 doubtful);
}

/* Reads of clients, or before images of what clients wrote; where there are no clients, none. */
static bool judges_reads(const struct iso_pipeline *pipeline,
                         const struct iso_pipeline_stats *stats,
                         const struct iso_accounting *accounting)
{
    return pipeline->stats.intake.records &&
           accounting->of[ISO_UNIT_READS][ISO_ACCOUNTED_JUDGED] + stats->join.probe_reads;
}

/* Whether isolation is asked about: without clients it only is if a level was asked for. */
static bool asks_for_level(const struct iso_pipeline *pipeline)
{
    return !pipeline->join || pipeline->options.join.clients || pipeline->routes.expects_records ||
           pipeline->options.level_given;
}

const char *iso_pipeline_level_name(const struct iso_pipeline *pipeline)
{
    return asks_for_level(pipeline) ? iso_level_name(pipeline->options.engine.level) : "cdc";
}

bool iso_pipeline_left_out(const struct iso_pipeline *pipeline, uint32_t number,
                           struct iso_join_left_out *left_out)
{
    return pipeline->join && iso_join_left_out(pipeline->join, number, left_out);
}

enum left_out { LEFT_OUT_ANY, LEFT_OUT_UNKNOWN, LEFT_OUT_WITH_ROWS };

static uint64_t operations_left_out(const struct iso_pipeline *pipeline, enum left_out which)
{
    struct iso_join_left_out left_out;
    uint64_t operations = 0;
    for (uint32_t i = 0; iso_pipeline_left_out(pipeline, i, &left_out); i = left_out.number + 1)
        operations += which == LEFT_OUT_ANY ||
                              (which == LEFT_OUT_UNKNOWN ? left_out.is_unknown : left_out.has_rows)
                          ? left_out.operations
                          : 0;
    return operations;
}

/* Reasons for undecided that lie in the records or their senders. */
static const char *reason_of_input(const struct iso_pipeline *pipeline,
                                   const struct iso_pipeline_stats *stats)
{
    const struct iso_join_stats *join = &stats->join;
    if (pipeline->is_stopped)
        return "stopped";
    if (iso_pipeline_lacks_stream(pipeline))
        return iso_unjudged_name(ISO_UNJUDGED_NO_STREAM);
    if (stats->bad_records)
        return "skipped-records";
    if (stats->contradictions)
        return "contradiction";
    if (stats->engine.below_watermark)
        return "below-watermark";
    if (stats->before_start || stats->engine.disagreeing)
        return "before-start";
    if (join->incomplete)
        return iso_unjudged_name(ISO_UNJUDGED_INCOMPLETE);
    if (join->stray_markers)
        return "stray-markers";
    if (iso_pipeline_loses(stats))
        return ISO_RECORDS_LOST;
    if (join->late_records)
        return "late-records";
    if (join->rows_gone[ISO_ROWS_LATE])
        return "late-rows";
    if (join->unplaced || join->forced)
        return "unplaced-transactions";
    if (operations_left_out(pipeline, LEFT_OUT_UNKNOWN))
        return "unknown-table";
    if (operations_left_out(pipeline, LEFT_OUT_WITH_ROWS))
        return "uncovered-rows";
    if (pipeline->options.strict_coverage && operations_left_out(pipeline, LEFT_OUT_ANY))
        return "uncovered";
    return NULL;
}

bool iso_pipeline_loses(const struct iso_pipeline_stats *stats)
{
    const struct iso_pipeline_lost *lost = &stats->lost;
    return lost->records || lost->silent || lost->file.records || lost->file.recorders;
}

/* Reads that are there to be judged. */
static uint64_t committed_reads(const struct iso_accounting *accounting)
{
    const uint64_t *of = accounting->of[ISO_UNIT_READS];
    return accounting->came[ISO_UNIT_READS] - of[ISO_ACCOUNTED_ABORTED] -
           of[ISO_ACCOUNTED_UNKNOWN] - of[ISO_ACCOUNTED_REPEATED];
}

/* Whether there was nothing to find a violation in. */
static const char *reason_of_little(const struct iso_pipeline *pipeline,
                                    const struct iso_pipeline_stats *stats,
                                    const struct iso_accounting *accounting)
{
    const struct iso_aion_stats *engine = &stats->engine;
    if (pipeline->join && !asks_for_level(pipeline))
        return engine->transactions ? NULL : "nothing-judged";
    if (!engine->transactions)
        return "nothing-judged";
    if (judges_reads(pipeline, stats, accounting))
        return NULL;
    if (pipeline->stats.intake.records && committed_reads(accounting))
        return "nothing-judged";
    return pipeline->join && !accounting->of[ISO_UNIT_RECORDS][ISO_ACCOUNTED_JUDGED] ? "no-reads"
                                                                                     : NULL;
}

/* At ser a writer's reads are judged at its commit, and where an order is sought all others are
 * part of it. */
static bool lacks_start(const struct iso_pipeline *pipeline, const struct iso_pipeline_stats *stats)
{
    enum iso_level level = pipeline->options.engine.level;
    return (stats->join.without_start && level != ISO_SER && !iso_aion_needs_no_start(level)) ||
           (stats->join.readers_without_start && !pipeline->options.seeks_order);
}

/* Whether a final violation stands that is doubtful; what it is doubtful for may have no reason of
 * its own. */
static bool has_doubtful(const struct iso_pipeline_stats *stats)
{
    uint64_t doubted = 0;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        doubted += stats->doubted[axiom];
    return doubted > 0;
}

static const char *reason_of(const struct iso_pipeline *pipeline,
                             const struct iso_pipeline_stats *stats,
                             const struct iso_accounting *accounting, bool allow_unjudged)
{
    assert(!accounting->waiting.total || accounting->waiting.total >= accounting->waiting.lines);
    const struct iso_aion_stats *engine = &stats->engine;
    const char *reason = reason_of_input(pipeline, stats);
    if (!accounting->balanced)
        return "books";
    if (reason)
        return reason;
    if (engine->standing)
        return "tentative-violations";
    if (accounting->waiting.total)
        return "waiting";
    if (pipeline_order_reason(pipeline))
        return pipeline_order_reason(pipeline);
    if (lacks_start(pipeline, stats) && !allow_unjudged)
        return "no-start-timestamp";
    if (engine->reads_undecided || engine->writes_undecided || engine->sessions_undecided ||
        engine->beyond_retention || engine->outcomes_lost)
        return "retention";
    if (engine->closed_early && stats->final_doubtful)
        return "memory";
    if (has_doubtful(stats))
        return "contradiction";
    reason = allow_unjudged ? NULL : iso_unjudged_largest(stats->unjudged);
    return reason ? reason : reason_of_little(pipeline, stats, accounting);
}

static enum iso_status outcome_of(const struct iso_pipeline *pipeline,
                                  const struct iso_pipeline_stats *stats,
                                  const struct iso_accounting *accounting, bool allow_unjudged,
                                  const char **reason)
{
    uint64_t doubtful, violations = (pipeline->options.seeks_order ? pipeline->order.found : 0) +
                                    iso_pipeline_found(stats, &doubtful);
    *reason = violations ? NULL : reason_of(pipeline, stats, accounting, allow_unjudged);
    return violations ? ISO_VIOLATED : *reason ? ISO_UNDECIDED : ISO_OK;
}

enum iso_status iso_pipeline_outcome_of(const struct iso_pipeline *pipeline,
                                        const struct iso_accounting *accounting,
                                        bool allow_unjudged, const char **reason)
{
    struct iso_pipeline_stats stats;
    iso_pipeline_stats(pipeline, &stats);
    return outcome_of(pipeline, &stats, accounting, allow_unjudged, reason);
}

enum iso_status iso_pipeline_outcome(const struct iso_pipeline *pipeline, bool allow_unjudged,
                                     const char **reason)
{
    struct iso_accounting accounting;
    iso_pipeline_accounting(pipeline, &accounting);
    return iso_pipeline_outcome_of(pipeline, &accounting, allow_unjudged, reason);
}

static void put_totals(struct iso_text *text, const struct iso_pipeline *pipeline,
                       const struct iso_pipeline_stats *stats)
{
    const struct iso_aion_stats *engine = &stats->engine;
    struct iso_reported_totals totals = {.transactions = engine->transactions,
                                         .aborted = engine->aborted,
                                         .unknown = engine->unknown,
                                         .operations = engine->operations,
                                         .sessions = engine->sessions,
                                         .keys = engine->keys,
                                         .reads_judged = engine->reads_judged +
                                                         pipeline_order_reads(pipeline, stats),
                                         .reads_unjudged = engine->reads_unjudged,
                                         .unjudged = stats->unjudged,
                                         .writes_unjudged = engine->writes_unjudged,
                                         .per_operation = engine->per_operation};
    iso_reported_put_totals(text, &totals);
}

static void put_stream(struct iso_text *text, const struct iso_pipeline_stats *stats)
{
    const struct iso_aion_stats *engine = &stats->engine;
    iso_text_put(text, ",\"stream\":{\"messages\":");
    iso_text_put_unsigned(text, stats->messages);
    iso_reported_put_count(text, "bad_records", stats->bad_records);
    if (stats->contradictions)
        iso_reported_put_count(text, "contradictions", stats->contradictions);
    iso_reported_put_count(text, "ignored", stats->ignored);
    iso_reported_put_count(text, "unrouted", stats->unrouted);
    iso_reported_put_count(text, "repeats",
                           engine->repeats + stats->join.repeats + stats->join.record_repeats);
    iso_reported_put_count(text, "foreign",
                           stats->has_join ? stats->join.foreign : engine->foreign);
    iso_reported_put_count(text, "below_watermark", engine->below_watermark);
    if (stats->before_start)
        iso_reported_put_count(text, "before_start", stats->before_start);
    iso_reported_put_count(text, "far_ahead", stats->far_ahead);
    iso_reported_put_count(text, "retracted", stats->retracted);
    iso_reported_put_count(text, "flipped", engine->flipped);
    iso_reported_put_count(text, "undecided",
                           engine->reads_undecided + engine->writes_undecided +
                               engine->sessions_undecided);
    if (engine->sessions_undecided)
        iso_reported_put_count(text, "sessions_undecided", engine->sessions_undecided);
    iso_reported_put_count(text, "beyond_retention", engine->beyond_retention);
    if (stats->lost.records || stats->lost.file.records)
        iso_reported_put_count(text, "records_lost",
                               stats->lost.records + stats->lost.file.records);
    if (stats->lost.silent || stats->lost.file.recorders)
        iso_reported_put_count(text, "recorders_lost",
                               stats->lost.silent + stats->lost.file.recorders);
    if (stats->lost.open)
        iso_reported_put_count(text, "recorders_open", stats->lost.open);
    if (engine->aged_unknown)
        iso_reported_put_count(text, "aged_unknown", engine->aged_unknown);
    if (engine->outcomes_lost)
        iso_reported_put_count(text, "outcomes_lost", engine->outcomes_lost);
    if (engine->closed_early)
        iso_reported_put_count(text, "closed_early", engine->closed_early);
    iso_text_put(text, "}");
}

static void put_join(struct iso_text *text, const struct iso_join_stats *join)
{
    iso_text_put(text, ",\"join\":{\"rows\":");
    iso_text_put_unsigned(text, join->rows);
    iso_reported_put_count(text, "delivered", join->transactions);
    iso_reported_put_count(text, "repeated_rows", join->repeats);
    iso_reported_put_count(text, "joined", join->joined);
    iso_reported_put_count(text, "foreign", join->foreign);
    iso_reported_put_count(text, "resolved_committed", join->resolved_committed);
    iso_reported_put_count(text, "resolved_aborted", join->resolved_aborted);
    iso_reported_put_count(text, "unresolved", join->unresolved);
    iso_reported_put_count(text, "incomplete", join->incomplete);
    iso_reported_put_count(text, "hints_wrong", join->hints_wrong);
    iso_reported_put_count(text, "unplaced", join->unplaced);
    iso_reported_put_count(text, "unknown_values", join->unknown_values);
    iso_reported_put_count(text, "forced", join->forced);
    iso_reported_put_count(text, "snapshot_rows", join->snapshot_rows);
    if (join->adopted)
        iso_reported_put_count(text, "adopted", join->adopted);
    if (join->epochs)
        iso_reported_put_count(text, "epochs", join->epochs);
    if (join->gaps)
        iso_reported_put_count(text, "gaps", join->gaps);
    if (join->empty_ends)
        iso_reported_put_count(text, "empty_ends", join->empty_ends);
    if (join->aborted_in_log)
        iso_reported_put_count(text, "undone", join->aborted_in_log);
    if (join->markers || join->stray_markers) {
        iso_reported_put_count(text, "markers", join->markers);
        iso_reported_put_count(text, "stray_markers", join->stray_markers);
    }
    if (join->without_start + join->readers_without_start)
        iso_reported_put_count(text, "without_start",
                               join->without_start + join->readers_without_start);
    if (join->late_records)
        iso_reported_put_count(text, "late_records", join->late_records);
    iso_reported_put_count(text, "waiting_transactions", join->waiting_transactions);
    iso_reported_put_count(text, "waiting_records", join->waiting_records);
    iso_reported_put_count(text, "waiting_rows", join->waiting_rows);
    iso_reported_put_count(text, "oldest_ms", join->oldest_ms);
    iso_text_put(text, "}");
}

static void put_counts(struct iso_text *text, const struct iso_pipeline *pipeline,
                       const struct iso_aion_stats *engine)
{
    iso_reported_put_counts(text, engine->counts);
    iso_text_put_bytes(text, pipeline->order.counts.bytes, pipeline->order.counts.used);
    iso_text_put(text, "}");
}

/* Tables without a source: operations of clients on them. */
static void put_left_out(const struct iso_pipeline *pipeline, struct iso_text *text)
{
    struct iso_join_left_out left_out;
    bool some = false;
    for (uint32_t i = 0; iso_pipeline_left_out(pipeline, i, &left_out); i = left_out.number + 1) {
        iso_text_put(text, some ? ",{\"table\":" : ",\"uncovered\":[{\"table\":");
        iso_text_put_string(text, left_out.name, left_out.length);
        iso_reported_put_count(text, "operations", left_out.operations);
        iso_text_put(text, left_out.is_unknown ? ",\"known\":false}" : ",\"known\":true}");
        some = true;
    }
    if (some)
        iso_text_put(text, "]");
}

/* Columns whose values' spellings are not clear. */
static void put_spellings(const struct iso_pipeline *pipeline, struct iso_text *text)
{
    uint32_t count;
    const struct iso_pipeline_spelling *list = iso_pipeline_spellings(pipeline, &count);
    for (uint32_t i = 0; i < count; i++) {
        iso_text_put(text, i ? ",{\"column\":" : ",\"spellings\":[{\"column\":");
        iso_text_put_string(text, list[i].column, strlen(list[i].column));
        iso_reported_put_count(text, "count", list[i].count);
        iso_text_put(text, ",\"stream\":");
        iso_text_put_string(text, list[i].stream, strlen(list[i].stream));
        iso_text_put(text, list[i].of_client ? ",\"client\":" : ",\"again\":");
        iso_text_put_string(text, list[i].other, strlen(list[i].other));
        iso_text_put(text, "}");
    }
    if (count)
        iso_text_put(text, "]");
}

static void put_findings(struct iso_text *text, const struct iso_pipeline *pipeline,
                         struct findings *findings)
{
    const struct iso_text *found = &pipeline->order.violations;
    findings_sort(findings);
    iso_text_put(text, ",\"violations\":[");
    for (size_t i = 0; i < findings->count; i++) {
        const char *doubt = pipeline_doubt_name((enum pipeline_doubt)findings->list[i].doubt);
        iso_text_put(text, i ? ",{" : "{");
        if (doubt)
            iso_text_format(text, "\"doubtful\":\"%s\",", doubt);
        iso_text_put_bytes(text, findings->list[i].text, findings->list[i].length);
    }
    iso_text_put(text, findings->count && found->used ? "," : "");
    iso_text_put_bytes(text, found->bytes, found->used);
    iso_text_put(text, "]");
}

void iso_pipeline_summary(struct iso_pipeline *pipeline, const struct iso_accounting *accounting,
                          bool allow_unjudged, const char *any_order, struct iso_text *text)
{
    struct iso_pipeline_stats stats;
    const char *reason;
    iso_pipeline_stats(pipeline, &stats);
    enum iso_status outcome = outcome_of(pipeline, &stats, accounting, allow_unjudged, &reason);
    struct iso_reported_verdict head = {
        .level = iso_pipeline_level_name(pipeline),
        .versions_by_commit = pipeline->options.seeks_order,
        .order = pipeline->options.seeks_order ? iso_outcome_name(pipeline->order.outcome) : NULL,
        .engine = "aion",
        .outcome = outcome == ISO_VIOLATED ? "violated"
                   : outcome == ISO_OK     ? "holds"
                                           : "undecided",
        .reason = reason,
        .any_order = any_order,
    };
    iso_text_put(text, "{");
    iso_reported_put_verdict(text, &head);
    put_totals(text, pipeline, &stats);
    put_counts(text, pipeline, &stats.engine);
    iso_reported_put_doubtful(text, stats.doubted);
    put_stream(text, &stats);
    if (stats.has_join)
        put_join(text, &stats.join);
    pipeline_put_lost_json(pipeline, text);
    iso_accounting_json(accounting, text);
    if (pipeline->join)
        put_left_out(pipeline, text);
    put_spellings(pipeline, text);
    put_findings(text, pipeline, &pipeline->reports.findings);
    iso_text_put(text, "}\n");
}
