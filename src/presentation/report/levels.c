/* Answers at several levels: a table, or JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "iso/version.h"
#include "report/report_private.h"

/* From the strongest levels to the weakest. */
static const enum iso_level order[] = {ISO_STRICT_SER, ISO_SER, ISO_STRONG_SI, ISO_SI, ISO_PSI,
                                       ISO_PC,         ISO_CC,  ISO_RA,        ISO_RC, ISO_ADYA_RC,
                                       ISO_PRAM,       ISO_WFR, ISO_MW,        ISO_MR, ISO_RYW};
enum { LEVELS = sizeof order / sizeof *order };

static const char *anomaly_of(const struct iso_answer *answer)
{
    return answer->anomaly[0] ? answer->anomaly : NULL;
}

void iso_report_anomaly(const struct iso_polygraph_report *report, char anomaly[ISO_ANSWER_ANOMALY])
{
    const struct iso_polygraph_result *result = report->result;
    const char *name = result->cycles ? report_find_cycle(report).anomaly : NULL;
    for (int kind = ISO_FINDINGS - 1; kind >= ISO_FINDING_INT; kind--) {
        if (result->counts[kind])
            name = iso_finding_name((enum iso_finding_kind)kind);
    }
    snprintf(anomaly, ISO_ANSWER_ANOMALY, "%s", name ? name : result->cycles ? "cycle" : "");
}

/* ---- for people ---- */

static void put_set(struct iso_output *output, uint32_t set)
{
    const char *between = "";
    for (int i = 0; i < LEVELS; i++) {
        const struct iso_level_row *row = iso_level_row(order[i]);
        if (!(set >> order[i] & 1))
            continue;
        iso_output_format(output, "%s%s (%s)", between, row->title, row->name);
        between = " and ";
    }
}

static void put_headline(struct iso_output *output, const struct iso_levels_report *report)
{
    const struct iso_answers *answers = report->answers;
    uint32_t strongest = iso_answers_strongest(answers), open = iso_answers_open(answers);
    if (report->has_least) {
        enum iso_outcome outcome = iso_answers_outcome(answers, report->least);
        iso_output_format(output, "%s: at least %s (%s)\n", iso_outcome_name(outcome),
                          iso_level_row(report->least)->title, iso_level_name(report->least));
    }
    iso_output_text(output, strongest ? "strongest: " : "strongest: none of the levels");
    put_set(output, strongest);
    if (open)
        iso_output_text(output, "; undecided: ");
    put_set(output, open);
    iso_output_char(output, '\n');
}

static void put_row(struct iso_output *output, const struct iso_answers *answers,
                    enum iso_level level)
{
    const struct iso_answer *answer = &answers->of[level];
    iso_output_format(output, "  %-10s  %-9s", iso_level_name(level),
                      answer->is_candidate ? iso_outcome_name(iso_answers_outcome(answers, level))
                                           : "not asked");
    if (!answer->is_candidate)
        iso_output_text(output, iso_level_row(level)->needs_times
                                    ? "  the clients' clocks are not recorded"
                                    : "");
    else if (answer->is_known && answer->since != level)
        iso_output_format(output, "  since %s %s", iso_level_name(answer->since),
                          answer->outcome == ISO_HOLDS ? "holds" : "is violated");
    else if (answer->outcome == ISO_IS_UNDECIDED)
        iso_output_format(output, "  %s", answer->reason ? answer->reason : "");
    else if (anomaly_of(answer))
        iso_output_format(output, "  %s", anomaly_of(answer));
    iso_output_char(output, '\n');
}

void iso_report_levels_text(struct iso_output *output, const struct iso_levels_report *report,
                            bool quiet)
{
    put_headline(output, report);
    if (quiet)
        return;
    report_put_size(output, report->history, report->engine, report->seconds_total);
    iso_output_char(output, '\n');
    for (int i = 0; i < LEVELS; i++) {
        const struct iso_answer *answer = &report->answers->of[order[i]];
        bool is_asked = answer->is_known && answer->since == order[i];
        if (report->all || (answer->is_candidate && (is_asked || !answer->is_known)))
            put_row(output, report->answers, order[i]);
    }
}

/* ---- for programs ---- */

static void put_names(struct iso_text *text, const char *member, uint32_t set)
{
    const char *between = "";
    iso_text_format(text, ",\"%s\":[", member);
    for (int i = 0; i < LEVELS; i++) {
        if (!(set >> order[i] & 1))
            continue;
        iso_text_format(text, "%s\"%s\"", between, iso_level_name(order[i]));
        between = ",";
    }
    iso_text_put(text, "]");
}

static void put_answer(struct iso_text *text, const struct iso_answer *answer, enum iso_level level)
{
    enum iso_outcome outcome = answer->is_known ? answer->outcome : ISO_IS_UNDECIDED;
    iso_text_format(text, "\"%s\":{\"verdict\":\"%s\"", iso_level_name(level),
                    iso_outcome_name(outcome));
    if (answer->is_known && answer->since != level)
        iso_text_format(text, ",\"since\":\"%s\"", iso_level_name(answer->since));
    else if (outcome == ISO_IS_UNDECIDED && answer->reason)
        iso_text_format(text, ",\"reason\":\"%s\"", answer->reason);
    else if (anomaly_of(answer))
        iso_text_format(text, ",\"anomaly\":\"%s\"", anomaly_of(answer));
    iso_text_put(text, "}");
}

void iso_report_levels_json(struct iso_output *output, const struct iso_levels_report *report,
                            uint64_t peak_rss_bytes)
{
    struct iso_text text = {0};
    const char *between = "";
    struct iso_verdict all = {0};
    struct iso_reported_totals totals = report_totals(report->history, &all);
    iso_text_format(&text, "{\"isochron\":\"%s\",\"level\":\"%s\",\"engine\":\"%s\"", ISO_VERSION,
                    report->all ? "all" : "strongest", report->engine);
    if (report->has_least)
        iso_text_format(&text, ",\"at_least\":\"%s\",\"verdict\":\"%s\"",
                        iso_level_name(report->least),
                        iso_outcome_name(iso_answers_outcome(report->answers, report->least)));
    put_names(&text, "strongest", iso_answers_strongest(report->answers));
    put_names(&text, "undecided", iso_answers_open(report->answers));
    iso_text_put(&text, ",\"levels\":{");
    for (int i = 0; i < LEVELS; i++) {
        if (!report->answers->of[order[i]].is_candidate)
            continue;
        iso_text_put(&text, between);
        put_answer(&text, &report->answers->of[order[i]], order[i]);
        between = ",";
    }
    iso_text_format(&text,
                    "},\"transactions\":%" PRIu64 ",\"aborted\":%" PRIu64 ",\"unknown\":%" PRIu64
                    ",\"operations\":%" PRIu64 ",\"sessions\":%" PRIu64 ",\"keys\":%" PRIu64
                    ",\"seconds\":{\"load\":%.3f,\"total\":%.3f},\"peak_rss_bytes\":%" PRIu64 "}\n",
                    totals.transactions, totals.aborted, totals.unknown, totals.operations,
                    totals.sessions, totals.keys, report->seconds_load, report->seconds_total,
                    peak_rss_bytes);
    report_write(output, &text);
    iso_text_release(&text);
}
