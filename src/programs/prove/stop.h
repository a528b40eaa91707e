/* A stop, which everything that can take long asks now and then whether to go on. Threads: as its
 * context. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct iso_prove_stop {
    bool (*ask)(void *context); /* true: stop, and from then on always; NULL: nobody is asked */
    void *context;
};

static inline bool iso_prove_stop_asked(const struct iso_prove_stop *stop)
{
    return stop->ask && stop->ask(stop->context);
}

/* A stop at a time, of iso_clock_seconds; 0: never. */
struct iso_prove_stop iso_prove_stop_at(double *deadline);
