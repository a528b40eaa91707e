#define _GNU_SOURCE
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/rng.h"

struct iso_hash_seed iso_hash_seed;

uint64_t iso_hash_text(const char *text, size_t length)
{
    return XXH3_64bits_withSeed(text, length, iso_hash_seed.text);
}

/* Without random numbers (an old kernel, early at boot) the clock and where the program was
 * loaded. */
static uint64_t draw(void)
{
    uint64_t number;
    struct timespec now = {0};
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number)
        return number;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) ^
           (uint64_t)(uintptr_t)&number;
}

__attribute__((constructor)) static void set_seed(void)
{
    const char *text = getenv("ISOCHRON_HASH_SEED");
    struct iso_rng rng;
    iso_rng_seed(&rng, text ? strtoull(text, NULL, 10) : draw());
    iso_hash_seed =
        (struct iso_hash_seed){iso_rng_next(&rng), iso_rng_next(&rng), iso_rng_next(&rng) | 1};
}
