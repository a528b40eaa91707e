/* Row sets put at random among the operations of a plain history: spelt out as reads of all keys
 * between two bounds, or as the sets themselves.
 *
 *     random_sets_draw(&sets, percent)          `plain` gets reads of every key of the range, found
 *                                               or not
 *     random_sets_take_back(&sets, &shorter)    the same without those that were not found
 *     random_sets_add(&sets, &history)          the sets, into a history that was filled from
 *                                               `shorter`
 */
#ifndef TESTS_RANDOM_SETS_H
#define TESTS_RANDOM_SETS_H

#include "tests/support/plain_history.h"
#include "tests/support/random.h"

enum { RANDOM_SETS_KEYS = 16, RANDOM_SETS = 2 * PLAIN_TRANSACTIONS };

/* A row set as it stands in the history that is spelt out: operations `first` to `first + count -
 * 1` of its transaction, of which the first `rows` are what it returned. */
struct random_set {
    uint32_t transaction, first, rows, count;
    struct plain_text from, to; /* absent: open */
    struct plain_operation time;
    bool is_partial;
};

struct random_sets {
    struct random random;
    struct plain_history plain;
    struct plain_text keys[RANDOM_SETS_KEYS]; /* in their order */
    uint32_t key_count;
    struct random_set sets[RANDOM_SETS];
    uint32_t set_count;
    struct {
        uint64_t sets, empty, partial, open, timed;
    } drawn; /* of all histories */
};

/* Into `plain`, which is there; sets of before are forgotten. */
void random_sets_draw(struct random_sets *sets);
void random_sets_take_back(const struct random_sets *sets, struct plain_history *shorter);
void random_sets_add(const struct random_sets *sets, struct iso_history *history);
void random_sets_print(const struct random_sets *sets);

#endif
