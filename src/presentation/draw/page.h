/* A verdict as one page for people: summary, list with filters, time lines, graphs of cycles, raw
 * records.
 *
 * One file that loads nothing, in light and dark, for phones too; works without script but for the
 * filters. At most ISO_PAGE_BYTES: what would make it larger is left out from the end of the list
 * and counted. Everything that others wrote (keys, values, ids, file names) is escaped. The frame
 * is src/presentation/draw/report.html. Threads: one at a time.
 */
#pragma once

#include "explain/argument.h"

enum { ISO_PAGE_BYTES = 5000000 };

void iso_page_write(const struct iso_facts *facts, enum iso_wall wall, struct iso_text *text);
