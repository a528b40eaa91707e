/* The levels of isolation that a program can be asked about, by their short names. */
#pragma once

#include <stdbool.h>

enum iso_prove_level {
    ISO_PROVE_SER,
    ISO_PROVE_SI,
    ISO_PROVE_PSI,
    ISO_PROVE_PC,
    ISO_PROVE_CC,
    ISO_PROVE_RA,
    ISO_PROVE_RC,
    ISO_PROVE_LEVELS
};

const char *iso_prove_level_name(enum iso_prove_level level);  /* "si" */
const char *iso_prove_level_words(enum iso_prove_level level); /* "snapshot isolation" */

/* PostgreSQL's own name; NULL: it does not have the level. */
const char *iso_prove_level_at_postgresql(enum iso_prove_level level);
/* Every execution of `strong` is one of `weak`; of a level and itself, too. */
bool iso_prove_level_implies(enum iso_prove_level strong, enum iso_prove_level weak);

/* Locks and overlapping writers count at this level. */
bool iso_prove_level_conflicts(enum iso_prove_level level);
