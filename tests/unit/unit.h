/* The files of unit tests, one program (unit.c). */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <stdint.h>

struct unit_file {
    const char *name; /* "aion/life" of tests/unit/aion/test_life.c */
    int (*run)(void); /* its main */
};

/* The build writes them. */
extern const struct unit_file unit_files[];
extern const uint32_t unit_file_count;

/* How many this process has started; 0 under sanitizers, which start them in their own way. */
uint32_t unit_threads_started(void);

#endif
