/* Text for people's eyes: what a terminal obeys, or what makes text look other than it is, stands
 * escaped.
 *
 * Escaped as JSON does, \u001b, are the control characters C0 (but newline and tab) and C1, DEL,
 * what turns the direction of writing (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069)
 * and ends lines unseen (U+2028, U+2029). A byte that is no UTF-8 becomes \ufffd. JSON stays JSON
 * of the same content. Threads: any; no state.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"

/* Nothing of it would be escaped; a newline or tab would not. */
bool iso_is_shown_as_it_is(const char *bytes, size_t size);

void iso_text_put_shown(struct iso_text *text, const char *bytes, size_t size);

/* As a JSON string, quotes included, with all of that escaped. */
void iso_text_put_shown_string(struct iso_text *text, const char *bytes, size_t size);

/* How many bytes at the end are the beginning of a character; fewer than four. */
size_t iso_shown_rest(const char *bytes, size_t size);
