/* What the formats share. Private to report. */
#ifndef ISO_REPORT_REPORT_PRIVATE_H
#define ISO_REPORT_REPORT_PRIVATE_H

#include "report/report.h"

/* The argument's steps, and before them its transactions, as lines: "T1 = transaction 9 (...)", "- ...". */
void report_put_lines(const struct iso_argument *argument, struct iso_text *text);

#endif
