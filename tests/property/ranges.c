/* Row sets against what they mean: a read of each key of the range that the history names. Random
 * small histories get reads of all keys between two bounds, spelt out here one by one; the same
 * with row sets in their place must finish as the same operations, and be judged alike, but for the
 * words that row sets have. What a page shows of a set differs in the rows that are wrong.
 *
 * ranges [--histories N] [--seed S]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chronos/chronos.h"
#include "explain/row_set.h"
#include "report/report.h"
#include "tests/support/arguments.h"
#include "tests/support/capture.h"
#include "tests/support/random_history.h"
#include "tests/support/random_sets.h"
#include "tests/support/test.h"

static struct {
    uint64_t missing, extra, refused, rows;
} statistics;

/* ---- comparing ---- */

static bool same_text(const struct iso_history *a, iso_atom one, const struct iso_history *b,
                      iso_atom other)
{
    char left[ISO_ATOM_TEXT_MAX], right[ISO_ATOM_TEXT_MAX];
    size_t left_length, right_length;
    if (one == ISO_ABSENT || other == ISO_ABSENT)
        return one == other;
    const char *left_text = iso_atom_text(&a->atoms, one, left, &left_length);
    const char *right_text = iso_atom_text(&b->atoms, other, right, &right_length);
    return left_length == right_length && !memcmp(left_text, right_text, left_length);
}

static bool same_operations(const struct iso_history *a, const struct iso_history *b)
{
    if (a->ops.count != b->ops.count ||
        memcmp(a->txns.first_op, b->txns.first_op, (a->txns.count + 1) * sizeof *a->txns.first_op))
        return false;
    for (uint32_t o = 0; o < a->ops.count; o++) {
        bool is_list = iso_kind_of(a, o) == ISO_READ_LIST;
        if (a->ops.kind[o] != b->ops.kind[o] ||
            !same_text(a, a->keys.atom[a->ops.key[o]], b, b->keys.atom[b->ops.key[o]]) ||
            (!is_list && !same_text(a, a->ops.value[o], b, b->ops.value[o])) ||
            (a->ops.kind[o] & ISO_OPERATION_OTS && a->ops.ots[o] != b->ops.ots[o]))
            return false;
    }
    return true;
}

/* The word that the violation has if its read belongs to a set. */
static enum iso_violation_kind kind_of(const struct random_sets *trial,
                                       const struct iso_history *history,
                                       const struct iso_violation *violation)
{
    if (violation->axiom != ISO_EXT || violation->operation == ISO_NONE)
        return violation->kind;
    uint32_t at = violation->operation - history->txns.first_op[violation->transaction];
    for (uint32_t i = 0; i < trial->set_count; i++) {
        const struct random_set *set = &trial->sets[i];
        if (set->transaction != violation->transaction || at < set->first ||
            at >= set->first + set->count)
            continue;
        bool was_nothing = violation->expected.is_list ? !violation->expected.count
                                                       : violation->expected.atom == ISO_ABSENT;
        return at >= set->first + set->rows ? ISO_MISSING_ROW
               : was_nothing                ? ISO_EXTRA_ROW
                                            : violation->kind;
    }
    return violation->kind;
}

/* ---- what a page shows of it ---- */

/* The value that the verdict expects of a read; NULL: it finds nothing wrong with it. */
static const struct iso_value *expected_of(const struct iso_verdict *verdict, uint32_t operation)
{
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        if (verdict->violations[i].axiom == ISO_EXT &&
            verdict->violations[i].operation == operation)
            return &verdict->violations[i].expected;
    return NULL;
}

/* It is the first operation of its transaction on its key, whose timestamps are in order: only the
 * snapshot decides. */
static bool is_plain(const struct iso_history *history, const struct iso_verdict *verdict,
                     uint32_t operation)
{
    uint32_t transaction = iso_history_owner(history, operation);
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        if (verdict->violations[i].axiom == ISO_TIMESTAMP &&
            verdict->violations[i].transaction == transaction)
            return false;
    for (uint32_t o = history->txns.first_op[transaction]; o < operation; o++)
        if (history->ops.key[o] == history->ops.key[operation])
            return false;
    return true;
}

/* Each row of the set that the verdict finds wrong differs, and no other one, as far as snapshots
 * alone decide. */
static bool is_shown_right(const struct iso_argument *argument, const struct iso_verdict *verdict)
{
    const struct iso_history *history = argument->facts->history;
    struct iso_row_set set;
    bool is_right = true;
    if (iso_row_set_init(&set, argument))
        for (uint32_t i = 0; i < set.row_count && is_right; i++) {
            const struct iso_row_set_row *row = &set.rows[i];
            const struct iso_value *expected = expected_of(verdict, row->operation);
            bool decides = is_plain(history, verdict, row->operation) && !history->totals.unknown;
            statistics.rows += expected != NULL;
            if (expected && !iso_key_is_list(history, history->ops.key[row->operation]))
                is_right = row->differs;
            else if (decides && !expected)
                is_right = !row->differs;
        }
    iso_row_set_release(&set);
    return is_right;
}

static bool are_shown_right(struct iso_history *history, const struct iso_verdict *verdict)
{
    struct iso_output output;
    struct iso_claims claims;
    struct iso_facts facts;
    struct iso_error error = ISO_NO_ERROR;
    bool are_right = true;
    test_capture_start(&output);
    iso_report_json(&output, verdict, 0);
    char *json = test_capture_end(&output), *padded = test_padded(json, strlen(json), 'x');
    iso_claims_init(&claims, history);
    are_right = iso_claims_read(&claims, padded, strlen(json), "verdict", &error) == ISO_OK;
    iso_facts_init(&facts, &claims);
    for (uint32_t i = 0; i < claims.count && are_right; i++) {
        struct iso_argument argument;
        iso_argument_init(&argument, &facts, &claims.list[i], ISO_WALL_COUNTER);
        are_right = is_shown_right(&argument, verdict);
        iso_argument_release(&argument);
    }
    iso_facts_release(&facts);
    iso_claims_release(&claims);
    free(padded);
    free(json);
    return are_right;
}

static bool same_verdict(const struct random_sets *trial, const struct iso_history *spelt,
                         struct iso_history *sets, enum iso_level level)
{
    struct iso_check_options options = {.level = level, .session_order = true, .threads = 1};
    struct iso_verdict one, other;
    struct iso_error error = ISO_NO_ERROR, second = ISO_NO_ERROR;
    iso_verdict_init(&one, spelt, level, 0);
    iso_verdict_init(&other, sets, level, 0);
    iso_chronos_check(spelt, &options, &one, &error);
    iso_chronos_check(sets, &options, &other, &second);
    bool same = error.status == second.status;
    statistics.refused += error.status != ISO_OK;
    if (same && error.status == ISO_OK) {
        iso_verdict_conclude(&one, false);
        iso_verdict_conclude(&other, false);
        same = one.outcome == other.outcome && one.reads_judged == other.reads_judged &&
               one.violation_count == other.violation_count;
    }
    for (uint32_t i = 0; same && error.status == ISO_OK && i < one.violation_count; i++) {
        const struct iso_violation *left = &one.violations[i], *right = &other.violations[i];
        enum iso_violation_kind kind = kind_of(trial, spelt, left);
        same = left->axiom == right->axiom && left->transaction == right->transaction &&
               left->other == right->other && left->operation == right->operation &&
               kind == right->kind && left->writer_expected == right->writer_expected &&
               left->writer_actual == right->writer_actual;
        statistics.missing += kind == ISO_MISSING_ROW;
        statistics.extra += kind == ISO_EXTRA_ROW;
    }
    same = same && (error.status != ISO_OK || are_shown_right(sets, &other));
    iso_verdict_release(&one);
    iso_verdict_release(&other);
    return same;
}

static bool agrees(struct random_sets *trial)
{
    static struct plain_history short_one;
    struct iso_history spelt, sets;
    struct iso_error error = ISO_NO_ERROR, second = ISO_NO_ERROR;
    iso_history_init(&spelt);
    iso_history_init(&sets);
    plain_history_build(&trial->plain, &spelt, &error);
    random_sets_take_back(trial, &short_one);
    plain_history_fill(&short_one, &sets);
    random_sets_add(trial, &sets);
    iso_history_finish(&sets, &second);
    bool same = error.status == second.status;
    if (same && error.status == ISO_OK)
        same = same_operations(&spelt, &sets) && same_verdict(trial, &spelt, &sets, ISO_SI) &&
               same_verdict(trial, &spelt, &sets, ISO_SER);
    iso_history_release(&spelt);
    iso_history_release(&sets);
    return same;
}

int main(int argc, char **argv)
{
    static struct random_sets trial;
    uint64_t histories = 5000, seed = 1;
    const struct argument known[] = {
        {"--histories", &histories, NULL}, {"--seed", &seed, NULL}, {0}};
    struct random_history_options options = random_history_defaults();
    if (!arguments_read(known, argc, argv))
        return 2;
    options.max_operations = 3;
    for (uint64_t i = 0; i < histories; i++) {
        random_history(seed + i, &options, &trial.plain);
        trial.random = (struct random){seed + i};
        random_sets_draw(&trial);
        if (agrees(&trial))
            continue;
        printf("not ok 1 - row sets are judged as what they mean, seed %" PRIu64 "\n1..1\n",
               seed + i);
        random_sets_print(&trial);
        plain_history_print(&trial.plain, stdout, "#   ");
        return 1;
    }
    printf("# %" PRIu64 " histories: %" PRIu64 " sets, %" PRIu64 " of them empty, %" PRIu64
           " partial, %" PRIu64 " open, %" PRIu64 " with a time of their own; %" PRIu64
           " rows missing, %" PRIu64 " too many, shown %" PRIu64 " times; %" PRIu64
           " checks refused\n",
           histories, trial.drawn.sets, trial.drawn.empty, trial.drawn.partial, trial.drawn.open,
           trial.drawn.timed, statistics.missing, statistics.extra, statistics.rows,
           statistics.refused);
    bool enough = statistics.rows > histories && trial.drawn.sets > histories &&
                  statistics.missing > histories / 4 && statistics.extra > histories / 20;
    printf("%s 1 - row sets are judged as what they mean\n1..1\n", enough ? "ok" : "not ok");
    return !enough;
}
