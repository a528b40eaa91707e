/* What the formats share. Private to report. */
#ifndef ISO_REPORT_TOOLS_PRIVATE_H
#define ISO_REPORT_TOOLS_PRIVATE_H

#include "report/tools.h"

/* The argument's steps, and before them its transactions, as lines: "T1 = transaction 9 (...)", "- ...". */
void report_put_lines(const struct iso_argument *argument, struct iso_text *text);

#endif
