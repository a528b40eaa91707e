/* What a writer of reports prints, kept in memory: a file without a name, read back at the end. */
#ifndef ISO_APP_MEMORY_OUTPUT_H
#define ISO_APP_MEMORY_OUTPUT_H

#include "base/text.h"
#include "io/output.h"

struct app_memory_output {
    struct iso_output output; /* write here */
    int descriptor;
};

enum iso_status app_memory_output_open(struct app_memory_output *memory, struct iso_error *error);

/* Adds what was written to the text, and closes. */
enum iso_status app_memory_output_take(struct app_memory_output *memory, struct iso_text *text,
                                       struct iso_error *error);

#endif
