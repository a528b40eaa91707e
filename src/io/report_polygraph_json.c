/* Polygraph's verdict as JSON. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/report_private.h"
#include "iso/version.h"

#define LITERAL(output, text) iso_output_bytes(output, text, sizeof text - 1)

/* A message, where the history's inputs are "TOPIC[PARTITION]" and places in them offsets. */
static void write_message_place(struct iso_output *output, const struct iso_history *history, uint32_t transaction,
                                uint32_t operation)
{
    uint64_t origin = history->origin[transaction];
    const char *name = history->inputs[iso_origin_input(origin)], *bracket = strrchr(name, '[');
    size_t length = bracket ? (size_t)(bracket - name) : strlen(name);
    LITERAL(output, "{\"topic\":");
    iso_output_string(output, name, length);
    report_json_count(output, ",\"partition\":", bracket ? strtoull(bracket + 1, NULL, 10) : 0);
    report_json_count(output, ",\"offset\":", iso_origin_place(origin));
    if (operation != ISO_NONE)
        report_json_count(output, ",\"op\":", iso_report_operation_index(history, transaction, operation));
    iso_output_char(output, '}');
}

static void write_place(struct iso_output *output, const struct iso_polygraph_report *report, uint32_t transaction,
                        uint32_t operation)
{
    if (report->is_stream)
        write_message_place(output, report->history, transaction, operation);
    else
        report_json_place(output, report->history, transaction, operation);
}

static void write_finding(struct iso_output *output, const struct iso_polygraph_report *report,
                          const struct iso_finding *finding)
{
    const struct iso_history *history = report->history;
    uint32_t operation = finding->operation;
    struct iso_value actual = iso_kind_of(history, operation) == ISO_READ_LIST
                                  ? iso_value_of_list(history, history->value[operation])
                                  : iso_value_atom(history->value[operation]);
    LITERAL(output, "{\"axiom\":");
    report_json_text(output, iso_finding_name(finding->kind));
    LITERAL(output, ",\"tids\":[");
    report_json_tid(output, history, finding->transaction);
    if (finding->other != ISO_NONE) {
        iso_output_char(output, ',');
        report_json_tid(output, history, finding->other);
    }
    LITERAL(output, "],\"key\":");
    iso_output_atom_string(output, &history->atoms, history->key_atom[history->key[operation]]);
    LITERAL(output, ",\"actual\":");
    report_json_value(output, history, &actual);
    LITERAL(output, ",\"at\":[");
    write_place(output, report, finding->transaction, operation);
    if (finding->other != ISO_NONE) {
        iso_output_char(output, ',');
        write_place(output, report, finding->other, ISO_NONE);
    }
    LITERAL(output, "]}");
}

static void write_edge(struct iso_output *output, const struct iso_history *history, const struct iso_edge *edge)
{
    LITERAL(output, "{\"from\":");
    report_json_tid(output, history, report_edge_from(edge));
    LITERAL(output, ",\"to\":");
    report_json_tid(output, history, report_edge_to(edge));
    LITERAL(output, ",\"type\":");
    report_json_text(output, report_edge_name(edge->kind));
    if (edge->key != ISO_NONE) {
        LITERAL(output, ",\"key\":");
        iso_output_atom_string(output, &history->atoms, history->key_atom[edge->key]);
    }
    iso_output_char(output, '}');
}

enum part { TIDS, EDGES, PLACES };

static void write_part(struct iso_output *output, const struct iso_polygraph_report *report,
                       const struct report_cycle *cycle, enum part part)
{
    const struct iso_history *history = report->history;
    bool first = true;
    for (uint32_t i = 0; i < cycle->edge_count; i++) {
        const struct iso_edge *edge = report_cycle_edge(cycle, i);
        if (!edge)
            continue;
        if (!first)
            iso_output_char(output, ',');
        first = false;
        if (part == TIDS)
            report_json_tid(output, history, report_edge_from(edge));
        else if (part == EDGES)
            write_edge(output, history, edge);
        else
            write_place(output, report, report_edge_from(edge), ISO_NONE);
    }
}

static void write_cycle(struct iso_output *output, const struct iso_polygraph_report *report)
{
    struct report_cycle cycle = report_find_cycle(report);
    LITERAL(output, "{\"axiom\":\"CYCLE\",\"anomaly\":");
    report_json_text(output, cycle.anomaly);
    LITERAL(output, ",\"tids\":[");
    write_part(output, report, &cycle, TIDS);
    LITERAL(output, "],\"edges\":[");
    write_part(output, report, &cycle, EDGES);
    report_json_count(output, "],\"lemmas\":", cycle.lemmas);
    LITERAL(output, ",\"at\":[");
    write_part(output, report, &cycle, PLACES);
    LITERAL(output, "]}");
}

static void write_counts(struct iso_output *output, const struct iso_polygraph_result *result)
{
    LITERAL(output, ",\"counts\":{");
    for (int kind = ISO_FINDING_INT; kind < ISO_FINDINGS; kind++) {
        report_json_text(output, iso_finding_name((enum iso_finding_kind)kind));
        report_json_count(output, ":", result->counts[kind]);
        iso_output_char(output, ',');
    }
    report_json_count(output, "\"CYCLE\":", result->cycles);
    iso_output_char(output, '}');
}

static void write_steps(struct iso_output *output, const struct iso_polygraph_counters *counters)
{
    report_json_count(output, ",\"steps\":{\"passes\":", counters->passes);
    report_json_count(output, ",\"known_edges\":", counters->known_edges);
    report_json_count(output, ",\"edges_version\":", counters->edges_version);
    report_json_count(output, ",\"edges_anti\":", counters->edges_anti);
    report_json_count(output, ",\"edges_meet\":", counters->edges_meet);
    report_json_count(output, ",\"edges_join\":", counters->edges_join);
    report_json_count(output, ",\"by_advice\":", counters->by_advice);
    report_json_count(output, ",\"candidates_pruned\":", counters->candidates_pruned);
    report_json_count(output, ",\"open_reads_first\":", counters->open_reads_first);
    report_json_count(output, ",\"open_reads_after\":", counters->open_reads_after);
    report_json_count(output, ",\"open_pairs_after\":", counters->open_pairs_after);
    report_json_count(output, ",\"knots\":", counters->knots);
    report_json_count(output, ",\"windows\":", counters->windows);
    report_json_count(output, ",\"windows_grown\":", counters->windows_grown);
    report_json_count(output, ",\"window_rounds\":", counters->window_rounds);
    report_json_count(output, ",\"window_cycles\":", counters->window_cycles);
    report_json_count(output, ",\"search_free\":", counters->search_free);
    report_json_count(output, ",\"search_decisions\":", counters->search_decisions);
    report_json_count(output, ",\"search_dead_ends\":", counters->search_dead_ends);
    report_json_count(output, ",\"solver_calls\":", counters->solver_calls);
    iso_output_char(output, '}');
}

void iso_report_polygraph_json(struct iso_output *output, const struct iso_polygraph_report *report,
                               uint64_t peak_rss_bytes)
{
    const struct iso_polygraph_result *result = report->result;
    uint32_t count;
    struct iso_finding *findings = report_sorted_findings(report, &count);
    iso_output_char(output, '{');
    iso_output_text(output, report->members ? report->members : "");
    LITERAL(output, "\"isochron\":\"" ISO_VERSION "\",\"level\":");
    report_json_text(output, iso_model_name(report->model));
    LITERAL(output, ",\"engine\":\"polygraph\",\"verdict\":");
    report_json_text(output, iso_outcome_name(result->outcome));
    LITERAL(output, ",\"reason\":");
    report_json_text(output, result->outcome == ISO_IS_UNDECIDED ? result->reason : NULL);
    report_json_history(output, report->history);
    report_json_count(output, ",\"reads_judged\":", result->counters.reads);
    LITERAL(output, ",\"reads_unjudged\":0,\"unjudged\":{\"unknown-writer\":0},\"per_operation\":false");
    write_counts(output, result);
    LITERAL(output, ",\"violations\":[");
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            iso_output_char(output, ',');
        write_finding(output, report, &findings[i]);
    }
    if (result->cycles) {
        if (count)
            iso_output_char(output, ',');
        write_cycle(output, report);
    }
    iso_output_char(output, ']');
    if (!report->is_stream) { /* a capture's replay says the same as the live run, byte for byte */
        write_steps(output, &result->counters);
        iso_output_format(output, ",\"seconds\":{\"load\":%.3f,\"check\":%.3f,\"total\":%.3f}", report->seconds_load,
                          result->counters.seconds_total, report->seconds_total);
        report_json_count(output, ",\"peak_rss_bytes\":", peak_rss_bytes);
    }
    LITERAL(output, "}\n");
    iso_free(findings);
}
