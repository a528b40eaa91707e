/* The whole run as one JSON object. */
#include <string.h>

#include "iso/version.h"
#include "pipeline/pipeline_private.h"

/* Violations that cannot be explained by what was left out, by what came behind a watermark that excluded it, or by
 * what was written before the streams begin. (A doubtful verdict that was retracted is taken off twice: the result is
 * rather too small.) */
static uint64_t sound(const struct iso_pipeline *pipeline, const struct iso_pipeline_stats *stats, enum iso_axiom axiom)
{
    const struct iso_aion_stats *engine = &stats->engine;
    if (!pipeline_may_doubt(pipeline, axiom))
        return engine->counts[axiom];
    if (stats->bad_records || engine->below_watermark || engine->counts[axiom] < stats->doubted[axiom])
        return 0;
    return engine->counts[axiom] - stats->doubted[axiom];
}

enum iso_status iso_pipeline_outcome(const struct iso_pipeline *pipeline, bool allow_unjudged, const char **reason)
{
    struct iso_pipeline_stats stats;
    iso_pipeline_stats(pipeline, &stats);
    const struct iso_aion_stats *engine = &stats.engine;
    uint64_t violations = 0;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        violations += sound(pipeline, &stats, (enum iso_axiom)axiom);
    *reason = NULL;
    if (violations)
        return ISO_VIOLATED;
    if (stats.bad_records)
        *reason = "skipped-records";
    else if (engine->below_watermark)
        *reason = "below-watermark";
    else if (stats.before_start)
        *reason = "before-start";
    else if (stats.join.incomplete)
        *reason = "incomplete-transactions";
    else if (stats.join.stray_markers)
        *reason = "stray-markers";
    else if (stats.join.late_records)
        *reason = "late-records";
    else if (stats.join.unplaced || stats.join.forced)
        *reason = "unplaced-transactions";
    else if (engine->standing)
        *reason = "tentative-violations";
    else if (stats.join.without_start && pipeline->options.level == ISO_SI && !allow_unjudged)
        *reason = "no-start-timestamp";
    else if (!engine->transactions ||
             (stats.has_join && engine->transactions == engine->foreign && !engine->reads_judged))
        *reason = "nothing-judged";
    else if (engine->reads_undecided || engine->writes_undecided || engine->sessions_undecided ||
             engine->beyond_retention)
        *reason = "retention";
    else if (engine->reads_unjudged && !allow_unjudged)
        *reason = "unknown-writer";
    return *reason ? ISO_UNDECIDED : ISO_OK;
}

static void put_count(struct iso_text *text, const char *member, uint64_t value)
{
    iso_text_put(text, ",\"");
    iso_text_put(text, member);
    iso_text_put(text, "\":");
    iso_text_put_unsigned(text, value);
}

static void put_totals(struct iso_text *text, const struct iso_pipeline_stats *stats)
{
    const struct iso_aion_stats *engine = &stats->engine;
    put_count(text, "transactions", engine->transactions);
    put_count(text, "aborted", engine->aborted);
    put_count(text, "unknown", engine->unknown);
    put_count(text, "operations", engine->operations);
    put_count(text, "sessions", engine->sessions);
    put_count(text, "keys", engine->keys);
    put_count(text, "reads_judged", engine->reads_judged);
    put_count(text, "reads_unjudged", engine->reads_unjudged);
    iso_text_put(text, ",\"unjudged\":{\"unknown-writer\":");
    iso_text_put_unsigned(text, engine->reads_unjudged);
    iso_text_put(text, "}");
    if (engine->writes_unjudged)
        put_count(text, "writes_unjudged", engine->writes_unjudged);
    iso_text_put(text, engine->per_operation ? ",\"per_operation\":true" : ",\"per_operation\":false");
}

static void put_stream(struct iso_text *text, const struct iso_pipeline_stats *stats)
{
    const struct iso_aion_stats *engine = &stats->engine;
    iso_text_put(text, ",\"stream\":{\"messages\":");
    iso_text_put_unsigned(text, stats->messages);
    put_count(text, "bad_records", stats->bad_records);
    put_count(text, "ignored", stats->ignored);
    put_count(text, "unrouted", stats->unrouted);
    put_count(text, "repeats", engine->repeats + stats->join.repeats + stats->join.record_repeats);
    put_count(text, "foreign", stats->has_join ? stats->join.foreign : engine->foreign);
    put_count(text, "below_watermark", engine->below_watermark);
    if (stats->before_start)
        put_count(text, "before_start", stats->before_start);
    put_count(text, "far_ahead", stats->far_ahead);
    put_count(text, "retracted", stats->retracted);
    put_count(text, "flipped", engine->flipped);
    put_count(text, "undecided", engine->reads_undecided + engine->writes_undecided + engine->sessions_undecided);
    if (engine->sessions_undecided)
        put_count(text, "sessions_undecided", engine->sessions_undecided);
    put_count(text, "beyond_retention", engine->beyond_retention);
    iso_text_put(text, "}");
}

static void put_join(struct iso_text *text, const struct iso_join_stats *join)
{
    iso_text_put(text, ",\"join\":{\"rows\":");
    iso_text_put_unsigned(text, join->rows);
    put_count(text, "delivered", join->transactions);
    put_count(text, "repeated_rows", join->repeats);
    put_count(text, "joined", join->joined);
    put_count(text, "foreign", join->foreign);
    put_count(text, "resolved_committed", join->resolved_committed);
    put_count(text, "resolved_aborted", join->resolved_aborted);
    put_count(text, "unresolved", join->unresolved);
    put_count(text, "incomplete", join->incomplete);
    put_count(text, "hints_wrong", join->hints_wrong);
    put_count(text, "unplaced", join->unplaced);
    put_count(text, "unknown_values", join->unknown_values);
    put_count(text, "forced", join->forced);
    put_count(text, "snapshot_rows", join->snapshot_rows);
    if (join->markers || join->stray_markers) {
        put_count(text, "markers", join->markers);
        put_count(text, "stray_markers", join->stray_markers);
    }
    if (join->without_start)
        put_count(text, "without_start", join->without_start);
    if (join->late_records)
        put_count(text, "late_records", join->late_records);
    put_count(text, "waiting_transactions", join->waiting_transactions);
    put_count(text, "waiting_records", join->waiting_records);
    put_count(text, "waiting_rows", join->waiting_rows);
    put_count(text, "oldest_ms", join->oldest_ms);
    iso_text_put(text, "}");
}

static void put_counts(struct iso_text *text, const struct iso_aion_stats *engine)
{
    iso_text_put(text, ",\"counts\":{");
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        iso_text_put(text, axiom ? ",\"" : "\"");
        iso_text_put(text, iso_axiom_name((enum iso_axiom)axiom));
        iso_text_put(text, "\":");
        iso_text_put_unsigned(text, engine->counts[axiom]);
    }
    iso_text_put(text, "}");
}

static void put_findings(struct iso_text *text, struct findings *findings)
{
    findings_sort(findings);
    iso_text_put(text, ",\"violations\":[");
    for (size_t i = 0; i < findings->count; i++) {
        iso_text_put(text, i ? ",{" : "{");
        iso_text_put_bytes(text, findings->list[i].text, findings->list[i].length);
    }
    iso_text_put(text, "]");
}

void iso_pipeline_summary(struct iso_pipeline *pipeline, bool allow_unjudged, const char *any_order,
                          struct iso_text *text)
{
    struct iso_pipeline_stats stats;
    const char *reason;
    enum iso_status outcome = iso_pipeline_outcome(pipeline, allow_unjudged, &reason);
    iso_pipeline_stats(pipeline, &stats);
    iso_text_put(text, "{\"isochron\":\"" ISO_VERSION "\",\"level\":\"");
    iso_text_put(text, iso_level_name(pipeline->options.level));
    iso_text_put(text, "\",\"engine\":\"aion\",\"verdict\":\"");
    iso_text_put(text, outcome == ISO_VIOLATED ? "violated" : outcome == ISO_OK ? "holds" : "undecided");
    iso_text_put(text, "\",\"reason\":");
    if (reason)
        iso_text_put_string(text, reason, strlen(reason));
    else
        iso_text_put(text, "null");
    if (any_order) {
        iso_text_put(text, ",\"any_order\":\"");
        iso_text_put(text, any_order);
        iso_text_put(text, "\"");
    }
    put_totals(text, &stats);
    put_counts(text, &stats.engine);
    put_stream(text, &stats);
    if (stats.has_join)
        put_join(text, &stats.join);
    put_findings(text, &pipeline->findings);
    iso_text_put(text, "}\n");
}
