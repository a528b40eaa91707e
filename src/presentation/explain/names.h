/* The kinds of violations, by name: one row for each kind of violation that a verdict may list.
 *
 * A row is found by the verdict's words: the axiom ("EXT", "CYCLE"), and the kind or anomaly
 * ("stale", "G-single"). Every reader of verdicts for people and tools (texts, pages, SARIF, ...)
 * takes names and meanings from here. Threads: constant.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum iso_argument_kind {
    ISO_ARGUE_READ,
    ISO_ARGUE_OWN,
    ISO_ARGUE_TIMES,
    ISO_ARGUE_CHANGES,
    ISO_ARGUE_ORDER
};

struct iso_wrong {
    const char *axiom, *kind; /* as the verdict says them; kind NULL: the axiom has none */
    const char *name;         /* "stale read" */
    const char *meaning;      /* one sentence: what an application must reckon with */
    enum iso_argument_kind argument;
};

/* NULL: no such violation. */
const struct iso_wrong *iso_wrong_find(const char *axiom, const char *kind);

/* The name of a violation. `has_writer`: somebody is known to have written the value that was read;
 * a read of a value nobody wrote is called that. */
const char *iso_wrong_name(const struct iso_wrong *wrong, bool has_writer);

/* Row number `index`, or NULL behind the last. */
const struct iso_wrong *iso_wrong_row(size_t index);

/* "EXT/stale", "SESSION": the row's name for programs. At most `size` bytes. */
enum { ISO_WRONG_ID = 40 };
void iso_wrong_id(const struct iso_wrong *wrong, char id[ISO_WRONG_ID]);

/* Why a final verdict may be wrong all the same, as a sentence: of the word that a line's
 * "doubtful" says. */
const char *iso_doubt(const char *word);

/* The step of a verdict that names less than an engine would. */
#define ISO_CLAIMS_NO_MORE "The verdict says no more than that."
