#include "report/tools.h"

#include <inttypes.h>

void report_put_lines(const struct iso_argument *argument, struct iso_text *text)
{
    for (uint32_t i = 0; i < argument->party_count; i++) {
        iso_text_format(text, "T%" PRIu32 " = ", i + 1u);
        iso_argument_put_party(argument, i, text);
        iso_text_put(text, "\n");
    }
    for (uint32_t i = 0; i < argument->step_count; i++)
        iso_text_format(text, "- %s\n", iso_argument_text(argument, argument->steps[i]));
}
