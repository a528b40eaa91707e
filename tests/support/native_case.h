/* A reader of single transactions and the history that it fills, as the tests of src/files/native
 * set it up. */
#ifndef TESTS_SUPPORT_NATIVE_CASE_H
#define TESTS_SUPPORT_NATIVE_CASE_H

#include <stdlib.h>

#include "native/native.h"
#include "tests/support/test.h"

struct fixture {
    struct iso_history history;
    struct iso_native native;
    struct iso_native_fault fault;
};

static inline int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    iso_history_init(&fixture->history);
    iso_native_init(&fixture->native);
    *state = fixture;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *fixture = *state;
    iso_native_release(&fixture->native);
    iso_history_release(&fixture->history);
    free(fixture);
    return 0;
}

static inline enum iso_status read_bytes(struct fixture *fixture, const char *text, size_t size)
{
    char *padded = test_padded(text, size, '}');
    enum iso_status status = iso_native_read_transaction(&fixture->native, padded, size, 1,
                                                         &fixture->history, &fixture->fault);
    free(padded);
    return status;
}

#endif
