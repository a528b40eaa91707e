/* A transaction of a finished history as it was recorded, in the native format: what an argument
 * can be checked by.
 *
 * Timestamps are strings. Filled in is what finishing filled in (the cts of a point). Threads: one
 * at a time.
 */
#pragma once

#include "base/text.h"
#include "history/history.h"

/* Operations beyond this many are left out, with "more" saying how many. */
enum { ISO_RECORD_OPERATIONS = 100 };

void iso_explain_record(const struct iso_history *history, uint32_t transaction,
                        struct iso_text *text);

/* An atom as JSON and EDN have it: integers bare, strings in quotes, nothing as `nothing` ("null",
 * "nil"). */
void iso_explain_atom(const struct iso_atoms *atoms, iso_atom atom, const char *nothing,
                      struct iso_text *text);
