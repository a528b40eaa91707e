/* Shared by the formats for other tools. Private to report. */
#pragma once

#include "report/tools.h"

/* The argument's steps, and before them its transactions, as lines: "T1 = transaction 9 (...)", "-
 * ...". */
void report_put_lines(const struct iso_argument *argument, struct iso_text *text);
