#include "tests/support/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take(const struct argument *argument, const char *value)
{
    char *end;
    if (argument->text) {
        *argument->text = value;
        return true;
    }
    *argument->number = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && !*end;
}

static bool read_pair(const struct argument *known, const char *name, const char *value)
{
    for (; known->name; known++) {
        if (!strcmp(name, known->name))
            return value && take(known, value);
    }
    return false;
}

bool arguments_read(const struct argument *known, int count, char **words)
{
    const char *seed = getenv("SEED");
    if (seed && *seed)
        read_pair(known, "--seed", seed);
    for (int i = 1; i < count; i += 2) {
        if (read_pair(known, words[i], i + 1 < count ? words[i + 1] : NULL))
            continue;
        fprintf(stderr, "usage: %s", words[0]);
        for (; known->name; known++)
            fprintf(stderr, " [%s %s]", known->name, known->text ? "TEXT" : "NUMBER");
        fputc('\n', stderr);
        return false;
    }
    return true;
}
