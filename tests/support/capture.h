/* What an iso_output printed, as a text: an unlinked file takes it. */
#ifndef TESTS_SUPPORT_CAPTURE_H
#define TESTS_SUPPORT_CAPTURE_H

#include "bytes/output.h"

void test_capture_start(struct iso_output *output);

/* Closes the output; the text is NUL-terminated and the caller's to free. Fails the test if writing
 * failed.
 */
char *test_capture_end(struct iso_output *output);

#endif
