/* What was found, as text and as JSON. */
#ifndef ISO_PROVE_REPORT_H
#define ISO_PROVE_REPORT_H

#include "base/text.h"
#include "prove/prove.h"

void iso_prove_report_text(const struct iso_prove_program *program, const struct iso_prove_result *result,
                           struct iso_text *text);
void iso_prove_report_json(const struct iso_prove_program *program, const struct iso_prove_result *result,
                           struct iso_text *text);

#endif
