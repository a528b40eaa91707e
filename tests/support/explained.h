/* A history and its verdict from files, ready to be argued: what tests of explanations, drawings
 * and reports share. */
#ifndef TESTS_EXPLAINED_H
#define TESTS_EXPLAINED_H

#include "explain/facts.h"
#include "explain/wall.h"

struct explained {
    struct iso_history history;
    struct iso_claims claims;
    struct iso_facts facts;
};

#define EXPLAINED_CASES "tests/data/explain"

/* Reads EXPLAINED_CASES/NAME/{history.jsonl,verdict.json}; false, with a line on stderr, if they
 * cannot be taken. Keys start with 0 if the name ends in "-initial". Release in any case. */
bool explained_open(struct explained *explained, const char *name);
void explained_release(struct explained *explained);

/* What a writer of pages or reports writes, NUL-terminated; the caller frees it. */
char *explained_written(const struct explained *explained,
                        void (*write)(const struct iso_facts *facts, enum iso_wall wall,
                                      struct iso_text *text));

/* The names of all cases in order, `count` of them; the caller frees each and the list. */
char **explained_cases(size_t *count);

/* Compares with the file NAME of the case, or writes it if ISOCHRON_UPDATE is set; false if they
 * differ. */
bool explained_same(const char *name, const char *file, const char *text);

#endif
