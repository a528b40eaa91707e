/* Shared by polygraph's two reports: order of findings, the cycle to be shown. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/report_private.h"

static int compare_findings(const void *left, const void *right, void *context)
{
    const struct iso_history *history = context;
    const struct iso_finding *a = left, *b = right;
    int order = iso_atom_compare(&history->atoms, history->txns.tid[a->transaction],
                                 history->txns.tid[b->transaction]);
    if (!order)
        order = (a->kind > b->kind) - (a->kind < b->kind);
    if (!order)
        order =
            iso_atom_compare(&history->atoms, history->keys.atom[history->ops.key[a->operation]],
                             history->keys.atom[history->ops.key[b->operation]]);
    return order ? order : (a->operation > b->operation) - (a->operation < b->operation);
}

struct iso_finding *report_sorted_findings(const struct iso_polygraph_report *report,
                                           uint32_t *count)
{
    const struct iso_polygraph_result *result = report->result;
    struct iso_finding *sorted = iso_allocate(((size_t)result->finding_count + 1) * sizeof *sorted);
    if (result->finding_count) {
        memcpy(sorted, result->findings, result->finding_count * sizeof *sorted);
        qsort_r(sorted, result->finding_count, sizeof *sorted, compare_findings,
                (void *)report->history);
    }
    *count = result->finding_count;
    if (report->max_findings && *count > report->max_findings)
        *count = report->max_findings;
    return sorted;
}

const struct iso_edge *report_cycle_edge(const struct report_cycle *cycle, uint32_t index)
{
    uint32_t number = (cycle->start + index) % cycle->edge_count;
    const struct iso_edge *edge = &cycle->evidence->edges[cycle->first_edge + number];
    return edge->kind == ISO_EDGE_OWN ? NULL : edge;
}

/* The lemma that the engine names, else the last one that has a cycle. */
static uint32_t lemma_to_show(const struct iso_polygraph_result *result)
{
    if (result->cycle_lemma != ISO_NONE)
        return result->cycle_lemma;
    for (uint32_t i = result->evidence.lemma_count; i-- > 0;) {
        if (result->evidence.lemmas[i].kind == ISO_LEMMA_CYCLE)
            return i;
    }
    return ISO_NONE;
}

struct report_cycle report_find_cycle(const struct iso_polygraph_report *report)
{
    const struct iso_history *history = report->history;
    const struct iso_evidence *evidence = &report->result->evidence;
    struct report_cycle cycle = {.evidence = evidence};
    uint32_t lemma = lemma_to_show(report->result), smallest = ISO_NONE;
    if (lemma == ISO_NONE || !evidence->lemmas[lemma].edge_count)
        return cycle;
    cycle.first_edge = evidence->lemmas[lemma].first_edge;
    cycle.edge_count = evidence->lemmas[lemma].edge_count;
    cycle.anomaly = iso_cycle_anomaly(evidence, lemma);
    cycle.guarantee = iso_cycle_guarantee(evidence, lemma);
    for (uint32_t i = 0; i + 1 < evidence->lemma_count; i++)
        cycle.lemmas +=
            evidence->lemmas[i].kind != ISO_LEMMA_VERSIONS; /* those the history says itself */
    for (uint32_t i = 0; i < cycle.edge_count; i++) {
        const struct iso_edge *edge = &evidence->edges[cycle.first_edge + i];
        uint32_t from = report_edge_from(edge);
        if (edge->kind == ISO_EDGE_OWN ||
            (smallest != ISO_NONE && iso_atom_compare(&history->atoms, history->txns.tid[from],
                                                      history->txns.tid[smallest]) >= 0))
            continue;
        smallest = from;
        cycle.start = i;
    }
    return cycle;
}
