/* Polygraph's verdict for people. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "report/report_private.h"

/* ---- findings ---- */

static const char *explain_finding(const struct iso_finding *finding)
{
    switch (finding->kind) {
    case ISO_FINDING_INT:
        return "a transaction's own reads and writes disagree";
    case ISO_FINDING_G1A:
        return "read of what an aborted transaction wrote";
    case ISO_FINDING_G1B:
        return "read of a value that its writer overwrote before it committed";
    case ISO_FINDING_THINAIR:
        return "read of a value that nobody wrote";
    case ISO_FINDING_LOSTUPDATE:
        return "two transactions read the same version and replaced it, each without the other";
    default:
        return finding->other == ISO_NONE
                   ? "a list that does not begin as it started, or contains an element too often"
                   : "list reads that cannot both be right";
    }
}

static void put_finding(struct iso_output *output, const struct iso_history *history,
                        const struct iso_finding *finding)
{
    uint32_t operation = finding->operation;
    struct iso_value actual = iso_kind_of(history, operation) == ISO_READ_LIST
                                  ? iso_value_of_list(history, history->ops.value[operation])
                                  : iso_value_atom(history->ops.value[operation]);
    iso_output_format(output, "\n%s: %s\n    ", iso_finding_name(finding->kind),
                      explain_finding(finding));
    report_put_transaction(output, history, finding->transaction);
    iso_output_text(output, " read ");
    report_put_key(output, history, history->ops.key[operation]);
    iso_output_format(output, " in its operation %" PRIu32 "\n    actual:   ",
                      iso_report_operation_index(history, finding->transaction, operation) + 1);
    report_put_value(output, history, &actual);
    if (finding->other != ISO_NONE) {
        iso_output_text(output, finding->kind == ISO_FINDING_INCOMPATIBLE ? ", but see "
                                : finding->kind == ISO_FINDING_LOSTUPDATE ? ", as did "
                                                                          : ", written by ");
        report_put_transaction(output, history, finding->other);
    }
    iso_output_char(output, '\n');
}

/* ---- the cycle ---- */

static const char *explain_anomaly(const char *anomaly)
{
    static const struct {
        const char *name, *text;
    } texts[] = {
        {"G0", "writes of several keys in two different orders"},
        {"G1c", "transactions that each saw what came after them"},
        {"G-single", "a transaction that saw one effect and missed an earlier one"},
        {"G-SIb", "transactions that cannot have read from snapshots"},
        {"G2-item", "transactions that each missed what another one wrote"},
        {"lost-update", "two transactions read one version, and each replaced it"},
        {"write-skew",
         "two transactions read what the other one replaced, and wrote different keys"},
        {"long-fork", "two readers saw two writes in opposite orders"},
        {"non-monotonic-read",
         "a transaction read a version older than one that it had seen the writer of"},
        {"fractured-read",
         "a transaction saw one write of another transaction and missed a second one"},
        {"causality-violation",
         "a read missed what had been seen before it, by its session or by who wrote what it saw"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (anomaly && !strcmp(texts[i].name, anomaly))
            return texts[i].text;
    }
    return "no order of the transactions explains the reads";
}

/* "which read key x from it", seen from the edge's first transaction. */
static void put_edge(struct iso_output *output, const struct iso_history *history,
                     const struct iso_edge *edge)
{
    switch (edge->kind) {
    case ISO_EDGE_SESSION:
        iso_output_text(output, "came earlier in its session than");
        break;
    case ISO_EDGE_TIME:
        iso_output_text(output, "had ended, as clients saw it, before the begin of");
        break;
    case ISO_EDGE_WR:
        iso_output_text(output, "wrote ");
        report_put_key(output, history, edge->key);
        iso_output_text(output, " and was read by");
        break;
    case ISO_EDGE_WW:
        iso_output_text(output, "wrote ");
        report_put_key(output, history, edge->key);
        iso_output_text(output, " before");
        break;
    case ISO_EDGE_RW:
        iso_output_text(output, "read ");
        report_put_key(output, history, edge->key);
        iso_output_text(output, " as it was before the write of");
        break;
    default:
        iso_output_text(output, "comes, by what all possible writers share, before");
    }
}

static void put_cycle(struct iso_output *output, const struct iso_polygraph_report *report)
{
    struct report_cycle cycle = report_find_cycle(report);
    const struct iso_history *history = report->history;
    iso_output_format(output, "\nCYCLE%s%s: %s\n", cycle.anomaly ? " " : "",
                      cycle.anomaly ? cycle.anomaly : "", explain_anomaly(cycle.anomaly));
    if (cycle.is_single &&
        (cycle.guarantee || strcmp(cycle.anomaly, iso_anomaly_name(ISO_G_SINGLE)) != 0))
        iso_output_format(output, "    (G-single%s%s)\n",
                          cycle.guarantee ? "; what is broken is " : "",
                          cycle.guarantee ? cycle.guarantee : "");
    for (uint32_t i = 0; i < cycle.edge_count; i++) {
        const struct iso_edge *edge = report_cycle_edge(&cycle, i);
        if (!edge)
            continue;
        iso_output_text(output, "    ");
        report_put_transaction(output, history, report_edge_from(edge));
        iso_output_text(output, "\n        ");
        put_edge(output, history, edge);
        iso_output_text(output, " transaction ");
        report_put_atom(output, history, history->txns.tid[report_edge_to(edge)]);
        iso_output_format(output, " (%s)\n", report_edge_name(edge->kind));
    }
    if (cycle.lemmas) {
        iso_output_text(output, "    That rests on ");
        report_put_count(output, cycle.lemmas, "conclusion", "conclusions");
        iso_output_text(output, " about the order of writes, which --evidence FILE lists.\n");
    }
}

/* ---- the whole ---- */

static uint64_t found(const struct iso_polygraph_result *result)
{
    uint64_t sum = result->cycles;
    for (int kind = ISO_FINDING_INT; kind < ISO_FINDINGS; kind++)
        sum += result->counts[kind];
    return sum;
}

static void put_counts(struct iso_output *output, const struct iso_polygraph_result *result)
{
    const char *between = " (";
    for (int kind = ISO_FINDING_INT; kind < ISO_FINDINGS; kind++) {
        if (!result->counts[kind])
            continue;
        iso_output_format(output, "%s%s %" PRIu64, between,
                          iso_finding_name((enum iso_finding_kind)kind), result->counts[kind]);
        between = ", ";
    }
    if (result->cycles)
        iso_output_format(output, "%sCYCLE %" PRIu64, between, result->cycles);
    iso_output_text(output, ")\n");
}

static void put_headline(struct iso_output *output, const struct iso_polygraph_report *report)
{
    const struct iso_polygraph_result *result = report->result;
    const char *level = iso_level_row(iso_model_level(report->model))->title;
    switch (result->outcome) {
    case ISO_HOLDS:
        iso_output_format(output, "holds: an order of the transactions gives %s\n", level);
        break;
    case ISO_IS_VIOLATED:
        iso_output_format(output, "violated: no order gives %s, ", level);
        report_put_count(output, found(result), "violation", "violations");
        put_counts(output, result);
        break;
    case ISO_IS_UNDECIDED:
        iso_output_format(output, "undecided: %s (%s)\n", level, result->reason);
    }
    report_put_size(output, report->history,
                    iso_level_judged_by(iso_model_level(report->model), ISO_BY_WEAK) ? "weak"
                                                                                     : "polygraph",
                    report->seconds_total);
}

void iso_report_polygraph_text(struct iso_output *output, const struct iso_polygraph_report *report,
                               bool quiet)
{
    put_headline(output, report);
    if (quiet)
        return;
    report_put_stream(output, report->history);
    report_put_lost(output, report->history);
    uint32_t count;
    struct iso_finding *findings = report_sorted_findings(report, &count);
    for (uint32_t i = 0; i < count; i++)
        put_finding(output, report->history, &findings[i]);
    iso_free(findings);
    if (report->result->cycles)
        put_cycle(output, report);
    uint64_t unlisted = found(report->result) - report->result->cycles - count;
    if (unlisted) {
        iso_output_char(output, '\n');
        report_put_count(output, unlisted, "more violation is", "more violations are");
        iso_output_text(output, " not listed (--max-violations N, 0 for all)\n");
    }
}
