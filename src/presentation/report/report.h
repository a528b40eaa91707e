/* Verdicts for programs (JSON) and for people (text).
 *
 * The JSON object is a contract (include/iso/FORMATS.md): equal verdicts are equal bytes but for
 * times and memory. Members that only some verdicts have: `repeats` (transactions that arrived
 * again, aion only), `writes_unjudged` (NOCONFLICT not judged, written under a lock only) where it
 * is not zero, and `note` on a snapshot-order violation. Both take a concluded verdict and its
 * finished history. Write errors stay in the output. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "bytes/output.h"
#include "verdict/answers.h"
#include "verdict/polygraph.h"
#include "verdict/verdict.h"

/* One line. `peak_rss_bytes`: the process's, as the caller measured it. */
void iso_report_json(struct iso_output *output, const struct iso_verdict *verdict,
                     uint64_t peak_rss_bytes);

/* A headline, each listed violation as a paragraph, and what was not listed; `quiet`: the headline
 * alone. */
void iso_report_text(struct iso_output *output, const struct iso_verdict *verdict, bool quiet);

/* A verdict of polygraph or weak, as iso_report_text writes one. Its list has the findings before
 * the graph, and the cycle that a rejected graph closes; `lemmas` says how many conclusions that
 * cycle rests on beside the history's own facts (0: none, it is one of reads, writes and sessions
 * alone). */
struct iso_polygraph_report {
    const struct iso_history *history;
    const struct iso_polygraph_result *result;
    enum iso_level level;
    uint32_t max_findings; /* listed; 0: all */
    const struct iso_verdict
        *as_si; /* what was judged of reads beside the order of transactions; or NULL */
    double seconds_load, seconds_total;
    bool is_stream; /* JSON: inputs are "TOPIC[PARTITION]", positions in them offsets; no steps,
                       times, memory */
    const char *members; /* JSON: members to stand first, each with its comma behind it; or NULL */
};
void iso_report_polygraph_json(struct iso_output *output, const struct iso_polygraph_report *report,
                               uint64_t peak_rss_bytes);
/* How many violations that has in its list, and one of them, an object by itself. */
uint32_t iso_report_polygraph_listed(const struct iso_polygraph_report *report);
void iso_report_polygraph_violation(struct iso_text *text,
                                    const struct iso_polygraph_report *report, uint32_t index);
void iso_report_polygraph_text(struct iso_output *output, const struct iso_polygraph_report *report,
                               bool quiet);

/* The first thing that was found, in a word: "G1a", "lost-update"; empty: nothing. */
void iso_report_anomaly(const struct iso_polygraph_report *report,
                        char anomaly[ISO_ANSWER_ANOMALY]);

/* Answers at several levels: the strongest that hold; `all`: a table of them. */
struct iso_levels_report {
    const struct iso_history *history;
    const struct iso_answers *answers;
    const char *engine; /* "any-order", "chronos" */
    bool all, has_least;
    enum iso_level least; /* that must hold: the verdict is its answer */
    double seconds_load, seconds_total;
};
void iso_report_levels_json(struct iso_output *output, const struct iso_levels_report *report,
                            uint64_t peak_rss_bytes);
void iso_report_levels_text(struct iso_output *output, const struct iso_levels_report *report,
                            bool quiet);
