/* Polygraph's verdict as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/report_private.h"

/* Where "[PARTITION]" begins in the name of the input that the transaction came from; NULL: that is
 * a file, or nobody recorded the transaction. */
static const char *find_bracket(const struct iso_polygraph_report *report, uint32_t transaction)
{
    uint32_t input = iso_origin_input(report->history->txns.origin[transaction]);
    return report->is_stream && input < report->history->inputs.count
               ? strrchr(report->history->inputs.names[input], '[')
               : NULL;
}

static struct iso_reported_location location_of(const struct iso_polygraph_report *report,
                                                uint32_t transaction, uint32_t operation)
{
    struct iso_reported_location location =
        report_location(report->history, transaction, operation);
    const char *bracket = find_bracket(report, transaction);
    if (bracket) {
        location.is_message = true;
        location.length = (size_t)(bracket - location.name);
        location.partition = strtoull(bracket + 1, NULL, 10);
    }
    return location;
}

static void report_finding(const struct iso_polygraph_report *report,
                           const struct iso_finding *finding, report_take *take, void *context)
{
    const struct iso_history *history = report->history;
    uint32_t operation = finding->operation, parties = finding->other == ISO_NONE ? 1 : 2;
    struct iso_value actual = iso_kind_of(history, operation) == ISO_READ_LIST
                                  ? iso_value_of_list(history, history->ops.value[operation])
                                  : iso_value_atom(history->ops.value[operation]);
    struct iso_reported_atom tids[] = {report_tid(history, finding->transaction),
                                       report_tid(history, finding->other)};
    struct iso_reported_location locations[2] = {
        location_of(report, finding->transaction, operation)};
    if (parties == 2)
        locations[1] = location_of(report, finding->other, ISO_NONE);
    struct iso_reported reported = {
        .axiom = iso_finding_name(finding->kind),
        .tids = tids,
        .tid_count = parties,
        .key = report_atom(history, history->keys.atom[history->ops.key[operation]]),
        .actual = report_value(history, &actual),
        .locations = locations,
        .location_count = parties};
    take(context, &reported, (uint32_t[]){finding->transaction, finding->other}, 2);
}

static struct iso_reported_edge edge_of(const struct iso_history *history,
                                        const struct iso_edge *from)
{
    static const char *const names[] = {"own", "so", "rt", "wr", "ww", "rw", "implied"};
    struct iso_reported_edge edge = {.from = report_tid(history, report_edge_from(from)),
                                     .to = report_tid(history, from->to / 2)};
    snprintf(edge.type, sizeof edge.type, "%s", names[from->kind]);
    if (from->key != ISO_NONE)
        edge.key = report_atom(history, history->keys.atom[from->key]);
    return edge;
}

/* The transactions of the cycle, where the edges leave them. */
static void report_cycle_of(const struct iso_polygraph_report *report, report_take *take,
                            void *context)
{
    struct report_cycle cycle = report_find_cycle(report);
    struct iso_reported_atom *tids = iso_allocate(cycle.edge_count * sizeof *tids);
    struct iso_reported_edge *edges = iso_allocate(cycle.edge_count * sizeof *edges);
    struct iso_reported_location *locations = iso_allocate(cycle.edge_count * sizeof *locations);
    uint32_t *transactions = iso_allocate(cycle.edge_count * sizeof *transactions), count = 0;
    for (uint32_t i = 0; i < cycle.edge_count; i++) {
        const struct iso_edge *edge = report_cycle_edge(&cycle, i);
        if (!edge)
            continue;
        transactions[count] = report_edge_from(edge);
        tids[count] = report_tid(report->history, transactions[count]);
        edges[count] = edge_of(report->history, edge);
        locations[count] = location_of(report, transactions[count], ISO_NONE);
        count++;
    }
    struct iso_reported reported = {.axiom = "CYCLE",
                                    .kind = cycle.anomaly,
                                    .guarantee = cycle.guarantee,
                                    .is_cycle = true,
                                    .tids = tids,
                                    .tid_count = count,
                                    .edges = edges,
                                    .edge_count = count,
                                    .lemmas = cycle.lemmas,
                                    .locations = locations,
                                    .location_count = count};
    take(context, &reported, transactions, count);
    ISO_FREE_ALL(transactions, tids, edges, locations);
}

static void put_totals(struct iso_text *text, const struct iso_polygraph_report *report)
{
    const struct iso_history *history = report->history;
    struct iso_verdict all = {.reads_judged = report->result->counters.reads,
                              .reads_unjudged = history->streamed.left_out,
                              .unjudged[ISO_UNJUDGED_NO_STREAM] = history->streamed.left_out};
    struct iso_reported_totals totals =
        report_totals(report->history, report->as_si ? report->as_si : &all);
    iso_reported_put_totals(text, &totals);
}

static void put_counts(struct iso_text *text, const struct iso_polygraph_result *result)
{
    iso_text_put(text, ",\"counts\":{\"");
    for (int kind = ISO_FINDING_INT; kind < ISO_FINDINGS; kind++) {
        iso_text_format(text, "%s\":%" PRIu64 ",\"", iso_finding_name((enum iso_finding_kind)kind),
                        result->counts[kind]);
    }
    iso_text_format(text, "CYCLE\":%" PRIu64 "}", result->cycles);
}

static void put_steps(struct iso_text *text, const struct iso_polygraph_counters *counters)
{
    iso_text_format(text, ",\"steps\":{\"passes\":%" PRIu64, counters->passes);
    iso_reported_put_count(text, "known_edges", counters->known_edges);
    iso_reported_put_count(text, "edges_version", counters->edges_version);
    iso_reported_put_count(text, "edges_anti", counters->edges_anti);
    iso_reported_put_count(text, "edges_meet", counters->edges_meet);
    iso_reported_put_count(text, "edges_join", counters->edges_join);
    iso_reported_put_count(text, "by_advice", counters->by_advice);
    iso_reported_put_count(text, "candidates_pruned", counters->candidates_pruned);
    iso_reported_put_count(text, "open_reads_first", counters->open_reads_first);
    iso_reported_put_count(text, "open_reads_after", counters->open_reads_after);
    iso_reported_put_count(text, "open_pairs_after", counters->open_pairs_after);
    iso_reported_put_count(text, "knots", counters->sccs);
    iso_reported_put_count(text, "windows", counters->windows);
    iso_reported_put_count(text, "windows_grown", counters->windows_grown);
    iso_reported_put_count(text, "window_rounds", counters->window_rounds);
    iso_reported_put_count(text, "window_cycles", counters->window_cycles);
    iso_reported_put_count(text, "search_free", counters->search_free);
    iso_reported_put_count(text, "search_decisions", counters->search_decisions);
    iso_reported_put_count(text, "search_dead_ends", counters->search_dead_ends);
    iso_reported_put_count(text, "solver_calls", counters->solver_calls);
    iso_text_put(text, "}");
}

uint32_t iso_report_polygraph_listed(const struct iso_polygraph_report *report)
{
    uint32_t findings = report->result->finding_count, most = report->max_findings;
    return (most && findings > most ? most : findings) + (report->result->cycles ? 1 : 0);
}

void report_order_violation(const struct iso_polygraph_report *report,
                            const struct iso_finding *findings, uint32_t count, uint32_t index,
                            report_take *take, void *context)
{
    if (index < count)
        report_finding(report, &findings[index], take, context);
    else
        report_cycle_of(report, take, context);
}

void iso_report_polygraph_violation(struct iso_text *text,
                                    const struct iso_polygraph_report *report, uint32_t index)
{
    uint32_t count;
    struct iso_finding *findings = report_sorted_findings(report, &count);
    report_order_violation(report, findings, count, index, report_put_object, text);
    iso_free(findings);
}

static void put_beginning(struct iso_text *text, const struct iso_polygraph_report *report)
{
    const struct iso_polygraph_result *result = report->result;
    struct iso_reported_verdict head = {
        .level = iso_level_name(report->level),
        .versions_by_commit = result->evidence.versions_by_commit,
        .engine = iso_level_judged_by(report->level, ISO_BY_WEAK) ? "weak" : "polygraph",
        .outcome = iso_outcome_name(result->outcome),
        .reason = result->outcome == ISO_IS_UNDECIDED ? result->reason : NULL,
    };
    iso_text_format(text, "{%s", report->members ? report->members : "");
    iso_reported_put_verdict(text, &head);
    put_totals(text, report);
    put_counts(text, result);
    iso_text_put(text, ",\"violations\":[");
}

void iso_report_polygraph_json(struct iso_output *output, const struct iso_polygraph_report *report,
                               uint64_t peak_rss_bytes)
{
    const struct iso_polygraph_counters *counters = &report->result->counters;
    struct iso_text text = {0};
    uint32_t count;
    struct iso_finding *findings = report_sorted_findings(report, &count);
    put_beginning(&text, report);
    for (uint32_t i = 0; i < iso_report_polygraph_listed(report); i++) {
        iso_text_put(&text, i ? "," : "");
        report_order_violation(report, findings, count, i, report_put_object, &text);
        report_write(output, &text);
    }
    iso_text_put(&text, "]");
    if (!report->is_stream) { /* a capture's replay says the same as the live run, byte for byte */
        put_steps(&text, counters);
        report_write(output, &text);
        iso_output_format(output, ",\"seconds\":{\"load\":%.3f,\"check\":%.3f,\"total\":%.3f}",
                          report->seconds_load, counters->seconds_total, report->seconds_total);
        iso_reported_put_count(&text, "peak_rss_bytes", peak_rss_bytes);
    }
    iso_text_put(&text, "}\n");
    report_write(output, &text);
    iso_text_release(&text);
    iso_free(findings);
}
