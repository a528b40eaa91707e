/* The frame of a page: its head with all styles, and its end with the script of filters. One file
 * that loads nothing, in light and dark (src/presentation/draw/report.html). Threads: any.
 */
#pragma once

#include "base/text.h"

/* Everything up to the content; what returns is what ends the page. */
const char *iso_frame_begin(struct iso_text *text);
