/* Errors that reach a caller: bad input, a world that failed, a budget that was reached.
 *
 * Our own bugs are asserts; out of memory has one handler (base/memory.h). Everything else is a
 * status and one line of text (iso/status.h). The first error wins: `iso_error_set` on an error
 * that is already set does nothing.
 */
#pragma once

#include <stdarg.h>

#include "iso/status.h"

/* Sets status and text unless an error is set already. Returns `status`, so that `return
 * iso_error_set(...)`. */
enum iso_status iso_error_set(struct iso_error *error, enum iso_status status, const char *format,
                              ...) __attribute__((format(printf, 3, 4)));

/* Whose fault it is that a file could not be opened, by its errno: ISO_BAD_INPUT where its name is
 * wrong or it is not for this user, ISO_FAILED where the machine could not. */
enum iso_status iso_error_of_open(int error_number);
