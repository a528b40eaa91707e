/* Errors that reach a caller: bad input, a world that failed, a budget that was reached.
 *
 * Our own bugs are asserts; out of memory has one handler (base/memory.h). Everything else is a status, whose
 * numbers are the process's exit codes, and one line of text that says where, what was wrong, what was expected.
 * The first error wins: `iso_error_set` on an error that is already set does nothing.
 */
#ifndef ISO_ERROR_H
#define ISO_ERROR_H

#include <stdarg.h>

enum iso_status {
    ISO_OK = 0,        /* judged, nothing wrong */
    ISO_VIOLATED = 1,  /* a final violation */
    ISO_BAD_INPUT = 2, /* usage, configuration or input error */
    ISO_UNDECIDED = 3, /* nothing judged, unjudged reads, a limit, a gap */
    ISO_FAILED = 4     /* runtime failure: I/O, broker */
};

enum { ISO_ERROR_TEXT = 1024 };

struct iso_error {
    enum iso_status status;    /* ISO_OK: no error */
    char text[ISO_ERROR_TEXT]; /* one line, no newline at its end */
};

/* Sets status and text unless an error is set already. Returns `status`, so that `return iso_error_set(...)`. */
enum iso_status iso_error_set(struct iso_error *error, enum iso_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whose fault it is that a file could not be opened, by its errno: ISO_BAD_INPUT where its name is wrong or it is not
 * for this user, ISO_FAILED where the machine could not. */
enum iso_status iso_error_of_open(int error_number);

#endif
