/* What a property program is called with: pairs "--histories 100", all of them optional. */
#ifndef TESTS_SUPPORT_ARGUMENTS_H
#define TESTS_SUPPORT_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* One that it knows, and where its value goes: a number or a text. A table of them ends with a NULL
 * name. */
struct argument {
    const char *name; /* with its dashes */
    uint64_t *number;
    const char **text;
};

/* Reads main's, and before them SEED of the environment as --seed: `make nightly` draws one.
 * False, with the usage on standard error, if one is not known, is no number or lacks its value. */
bool arguments_read(const struct argument *known, int count, char **words);

#endif
