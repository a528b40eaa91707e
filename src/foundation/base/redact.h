/* The one redactor: text that is shown, logged or served, without what is for nobody else. Rather
 * once too often.
 *
 * Replaced by [redacted] are what stands before the @ of a URL, also where a password holds what a
 * URL may not (/, ?, #, @); NAME:PASSWORD@HOST without a scheme; and, to the text's end, what
 * follows NAME= where the name is a secret's. Blanks end a URL, and nothing else: of several in a
 * list the last host is shown. Threads: any; no state.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"

#define ISO_REDACTED "[redacted]"

void iso_redact(struct iso_text *text, const char *string);

/* The redacted text as a copy, which the caller frees. */
char *iso_redacted(const char *string);

/* Does a property's name say that its value is a secret? */
bool iso_is_secret_name(const char *name, size_t length);

/* Where user and password of a URL end, the @ behind them; NULL: it has none. */
const char *iso_url_user_end(const char *url);
