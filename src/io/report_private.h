/* What the reports share: pieces of JSON, pieces of sentences. Private to reporting. */
#ifndef ISO_IO_REPORT_PRIVATE_H
#define ISO_IO_REPORT_PRIVATE_H

#include "io/report.h"

/* JSON. A text or null; a number behind `member`; a value, a tid (ISO_NONE: null) as strings; {"file":..,"line":..},
 * with "op" unless that is ISO_NONE; what a history consists of. */
void report_json_text(struct iso_output *output, const char *text);
void report_json_count(struct iso_output *output, const char *member, uint64_t count);
void report_json_value(struct iso_output *output, const struct iso_history *history, const struct iso_value *value);
void report_json_tid(struct iso_output *output, const struct iso_history *history, uint32_t transaction);
void report_json_place(struct iso_output *output, const struct iso_history *history, uint32_t transaction,
                       uint32_t operation);
void report_json_history(struct iso_output *output, const struct iso_history *history);

/* Text: "3 keys"; an atom as a person writes it; "transaction 7 (session 2, h.jsonl:7, sts 41, cts 44)"; "key x". */
void report_say_count(struct iso_output *output, uint64_t count, const char *singular, const char *plural);
void report_say_atom(struct iso_output *output, const struct iso_history *history, iso_atom atom);
void report_say_value(struct iso_output *output, const struct iso_history *history, const struct iso_value *value);
void report_say_transaction(struct iso_output *output, const struct iso_history *history, uint32_t transaction);
void report_say_key(struct iso_output *output, const struct iso_history *history, uint32_t key);
void report_say_size(struct iso_output *output, const struct iso_history *history, const char *engine, double seconds);

/* ---- polygraph's reports ---- */

/* Findings in the order of reports: tids[0], name, key. The caller frees it. */
struct iso_finding *report_sorted_findings(const struct iso_polygraph_report *report, uint32_t *count);

/* The cycle to be shown, as transactions: edges inside a transaction are left out, and it starts behind the smallest
 * tid. `count` 0: the evidence has none. */
struct report_cycle {
    const struct iso_evidence *evidence;
    uint32_t first_edge, edge_count; /* of the lemma */
    uint32_t start;                  /* the edge, from first_edge, that leads away from the smallest tid */
    const char *anomaly;             /* NULL: no cycle */
    uint32_t lemmas;
};
struct report_cycle report_find_cycle(const struct iso_polygraph_report *report);

/* Edge number `index` from the start on; NULL: one inside a transaction. */
const struct iso_edge *report_cycle_edge(const struct report_cycle *cycle, uint32_t index);

static inline uint32_t report_edge_from(const struct iso_edge *edge)
{
    return edge->from / 2;
}
static inline uint32_t report_edge_to(const struct iso_edge *edge)
{
    return edge->to / 2;
}

/* "wr", "ww", "rw", "so", "rt", "implied". */
const char *report_edge_name(enum iso_edge_kind kind);

#endif
