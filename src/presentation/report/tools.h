/* Verdicts for other tools: SARIF 2.1.0 (code scanning), JUnit XML (test reports), Markdown (a
 * comment in a code review), EDN in the form of Elle's results.
 *
 * All are made of the same claims and arguments as the text. Timestamps are strings everywhere.
 * Each appends to a text. Threads: one at a time.
 */
#pragma once

#include "explain/argument.h"

typedef void iso_report_writer(const struct iso_facts *facts, enum iso_wall wall,
                               struct iso_text *text);

/* A run with a rule for each kind that was found and a result for each violation, at the lines of
 * its records. */
iso_report_writer iso_report_sarif;

/* A failed test case for each violation; one that passes, or is skipped (undecided), if there is
 * none. */
iso_report_writer iso_report_junit;

/* At most ISO_MARKDOWN_BYTES, what a review comment may have; the rest is counted. */
enum { ISO_MARKDOWN_BYTES = 60000 };
iso_report_writer iso_report_markdown;

/* {:valid? false, :anomaly-types (...), :anomalies {...}, :not #{...}} */
iso_report_writer iso_report_edn;

/* The argument's steps, and before them its transactions, as lines: "T1 = transaction 9 (...)", "-
 * ...". */
void report_put_lines(const struct iso_argument *argument, struct iso_text *text);
