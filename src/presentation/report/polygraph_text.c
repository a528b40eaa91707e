/* Polygraph's verdict for people. */
#include <inttypes.h>

#include "base/memory.h"
#include "report/report_private.h"

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
    const char *level = iso_level_row(report->level)->title;
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
                    iso_level_judged_by(report->level, ISO_BY_WEAK) ? "weak" : "polygraph",
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
    uint32_t listed = iso_report_polygraph_listed(report);
    struct report_words words = {output, report->history, iso_level_name(report->level)};
    iso_output_text(output, listed ? "\n" : "");
    for (uint32_t i = 0; i < listed; i++)
        report_order_violation(report, findings, count, i, report_put_words, &words);
    iso_free(findings);
    report_put_unlisted(output, found(report->result) - report->result->cycles - count, "");
}
