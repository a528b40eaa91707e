/* What the reports share: pieces of JSON, pieces of sentences. Private to reporting. */
#pragma once

#include "report/report.h"
#include "verdict/reported.h"

/* JSON: what a violation names (a tid of ISO_NONE is null), what a history consists of and how many
 * of its reads were judged; writes out a text, which is empty then. */
struct iso_reported_atom report_atom(const struct iso_history *history, iso_atom atom);
struct iso_reported_atom report_tid(const struct iso_history *history, uint32_t transaction);
struct iso_reported_value report_value(const struct iso_history *history,
                                       const struct iso_value *value);
struct iso_reported_location report_location(const struct iso_history *history,
                                             uint32_t transaction, uint32_t operation);
struct iso_reported_totals report_totals(const struct iso_history *history,
                                         const struct iso_verdict *reads);
void report_write(struct iso_output *output, struct iso_text *text);

/* Takes a violation that was built for it, and the transactions that this names, each or
 * ISO_NONE. */
typedef void report_take(void *context, const struct iso_reported *reported,
                         const uint32_t *transactions, uint32_t count);
void report_violation(const struct iso_verdict *verdict, const struct iso_violation *violation,
                      report_take *take, void *context);

/* Takes it as a JSON object; the context is a struct iso_text. */
report_take report_put_object;

/* Takes it as a paragraph; the context is a struct report_words. */
struct report_words {
    struct iso_output *output;
    const struct iso_history *history;
    const char *level;
};
report_take report_put_words;
void report_put_unlisted(struct iso_output *output, uint64_t unlisted, const char *how);

/* Text: "3 keys". */
void report_put_count(struct iso_output *output, uint64_t count, const char *singular,
                      const char *plural);
/* Whether, and what to do about it, the records leave to a change stream what they wrote. */
void report_put_stream(struct iso_output *output, const struct iso_history *history);
/* Records that are missing in its file, if that is known. */
void report_put_lost(struct iso_output *output, const struct iso_history *history);
void report_put_size(struct iso_output *output, const struct iso_history *history,
                     const char *engine, double seconds);

/* ---- polygraph's reports ---- */

/* Findings in the order of reports: tids[0], name, key. The caller frees it. */
struct iso_finding *report_sorted_findings(const struct iso_polygraph_report *report,
                                           uint32_t *count);

/* The cycle to be shown, as transactions: edges inside a transaction are left out, and it starts
 * behind the smallest tid. `count` 0: the evidence has none. */
struct report_cycle {
    const struct iso_evidence *evidence;
    uint32_t first_edge, edge_count; /* of the lemma */
    uint32_t start;        /* the edge, from first_edge, that leads away from the smallest tid */
    const char *anomaly;   /* NULL: no cycle, or none that has a name */
    const char *guarantee; /* of sessions, that alone is broken; or NULL */
    uint32_t lemmas;
};
struct report_cycle report_find_cycle(const struct iso_polygraph_report *report);

/* Edge number `index` from the start on; NULL: one inside a transaction. */
const struct iso_edge *report_cycle_edge(const struct report_cycle *cycle, uint32_t index);

static inline uint32_t report_edge_from(const struct iso_edge *edge)
{
    return edge->from / 2;
}

/* Number `index` of the list: the findings, and then the cycle. */
void report_order_violation(const struct iso_polygraph_report *report,
                            const struct iso_finding *findings, uint32_t count, uint32_t index,
                            report_take *take, void *context);
