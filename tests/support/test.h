/* What test programs share: cmocka with its prelude, padded texts, files, random numbers. */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A copy of exactly `length` bytes and the padding that the JSON scanner may read behind them,
 * filled with `filler`; the caller frees it. */
char *test_padded(const char *text, size_t length, char filler);

/* Writes a file under the directory for temporary files; `path` gets its name. Fails the test if it
 * cannot.
 */
enum { TEST_PATH = 256 };
void test_write_file(char path[TEST_PATH], const char *name, const void *bytes, size_t length);

/* The whole file, NUL-terminated; NULL if it cannot be read. The caller frees it. */
char *test_read_file(const char *path, size_t *length);

/* xorshift: the same numbers from the same seed, everywhere. `*state` is not 0. */
static inline uint64_t test_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
