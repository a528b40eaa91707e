/* Settings files: lines of `name = value`, in sections.
 *
 *     # a comment, on a line of its own or after a value and a blank
 *     name = value
 *     [section]
 *     name = "a value in quotes keeps its blanks and # signs; \" \\ \n \r \t and \x0a are escapes"
 *
 * What names mean, and whether one may stand twice, is the caller's. Ownership: the reader changes
 * the text it is given and hands out pieces of it. Errors are ISO_BAD_INPUT with file and line.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "base/error.h"

struct iso_settings {
    const char *path; /* for messages */
    char *at, *end;   /* what is left */
    const char *section;
    unsigned line;
};

struct iso_setting {
    const char *section; /* "" before the first heading */
    const char *name, *value;
    unsigned line; /* from 1 */
};

/* `text[length]` must be writable: a NUL byte is put there. */
void iso_settings_init(struct iso_settings *settings, const char *path, char *text, size_t length);

/* The next setting; false at the end, or with `error` set. */
bool iso_settings_next(struct iso_settings *settings, struct iso_setting *setting,
                       struct iso_error *error);

/* A value as the reader would read it back, in quotes where it needs them. */
void iso_settings_put_value(struct iso_text *text, const char *value);
