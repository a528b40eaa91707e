#include "prove/level.h"

#include <assert.h>
#include <stddef.h>

const char *iso_prove_level_name(enum iso_prove_level level)
{
    static const char *const names[] = {"ser", "si", "psi", "pc", "cc", "ra", "rc"};
    assert(level < ISO_PROVE_LEVELS);
    return names[level];
}

const char *iso_prove_level_words(enum iso_prove_level level)
{
    static const char *const words[] = {"serializability",
                                        "snapshot isolation (PostgreSQL's REPEATABLE READ)",
                                        "parallel snapshot isolation",
                                        "prefix consistency",
                                        "causal consistency",
                                        "read atomicity",
                                        "PostgreSQL's READ COMMITTED"};
    assert(level < ISO_PROVE_LEVELS);
    return words[level];
}

const char *iso_prove_level_at_postgresql(enum iso_prove_level level)
{
    switch (level) {
    case ISO_PROVE_SER:
        return "SERIALIZABLE";
    case ISO_PROVE_SI:
        return "REPEATABLE READ";
    case ISO_PROVE_RC:
        return "READ COMMITTED";
    default:
        return NULL;
    }
}

bool iso_prove_level_implies(enum iso_prove_level strong, enum iso_prove_level weak)
{
    static const unsigned weaker[] = {
        [ISO_PROVE_SER] = 1u << ISO_PROVE_SI | 1u << ISO_PROVE_PSI | 1u << ISO_PROVE_PC |
                          1u << ISO_PROVE_CC | 1u << ISO_PROVE_RA | 1u << ISO_PROVE_RC,
        [ISO_PROVE_SI] =
            1u << ISO_PROVE_PSI | 1u << ISO_PROVE_PC | 1u << ISO_PROVE_CC | 1u << ISO_PROVE_RA,
        [ISO_PROVE_PSI] = 1u << ISO_PROVE_CC | 1u << ISO_PROVE_RA,
        [ISO_PROVE_PC] = 1u << ISO_PROVE_CC | 1u << ISO_PROVE_RA,
        [ISO_PROVE_CC] = 1u << ISO_PROVE_RA,
        [ISO_PROVE_RA] = 0,
        [ISO_PROVE_RC] = 0,
    };
    assert(strong < ISO_PROVE_LEVELS && weak < ISO_PROVE_LEVELS);
    return strong == weak || (weaker[strong] & 1u << weak);
}

bool iso_prove_level_conflicts(enum iso_prove_level level)
{
    return level == ISO_PROVE_SER || level == ISO_PROVE_SI || level == ISO_PROVE_PSI ||
           level == ISO_PROVE_RC;
}
