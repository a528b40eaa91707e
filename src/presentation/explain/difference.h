/* Where two long texts differ: shown beside them, since what is very long is cut. Private to
 * explain. Texts are bytes, UTF-8 where they are well-formed; no state. */
#pragma once

#include <stdbool.h>

#include "base/text.h"

/* Says, as a sentence at the end of `text`, from which byte on the two differ, and how each goes
 * on. False, and says nothing: they are equal, or differ so early that it shows by itself. */
bool explain_put_difference(struct iso_text *text, const char *expected, size_t expected_length,
                            const char *found, size_t found_length);
