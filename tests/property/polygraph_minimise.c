/* Minimised histories, random small ones: trying every schedule finds none that explains what is
 * left; what is left is a part of the whole; and nothing can be taken from it alone. Also: a part
 * of a history that holds, holds.
 *
 * polygraph_minimise [--histories N] [--seed S]: histories a level
 */
#include <stdlib.h>
#include <string.h>

#include "polygraph/polygraph.h"
#include "history/part.h"
#include "polygraph/minimise.h"
#include "tests/oracle/schedule_oracle.h"
#include "tests/property/judge.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"
#include "tests/support/random_history.h"
#include "tests/support/shrink.h"

struct run {
    enum iso_level level;
    uint64_t seed;
    const char *what; /* is wrong */
    uint64_t minimised, held, transactions, left, checks;
};

static bool wrong(struct run *run, const char *what)
{
    run->what = what;
    return true;
}

/* ---- what is left is a part of the whole ---- */

static bool same_atom(const struct iso_history *left, iso_atom a, const struct iso_history *right,
                      iso_atom b)
{
    char left_buffer[ISO_ATOM_TEXT_MAX], right_buffer[ISO_ATOM_TEXT_MAX];
    size_t left_length, right_length;
    if (a == ISO_ABSENT || b == ISO_ABSENT)
        return a == b;
    const char *left_text = iso_atom_text(&left->atoms, a, left_buffer, &left_length);
    const char *right_text = iso_atom_text(&right->atoms, b, right_buffer, &right_length);
    return left_length == right_length && !memcmp(left_text, right_text, left_length);
}

static uint32_t find_transaction(const struct iso_history *whole, const struct iso_history *part,
                                 uint32_t t)
{
    for (uint32_t other = 0; other < whole->txns.count; other++) {
        if (same_atom(whole, whole->txns.tid[other], part, part->txns.tid[t]))
            return other;
    }
    return ISO_NONE;
}

/* The elements that are left stand in the whole's list in the same order. */
static bool list_is_part(const struct iso_history *whole, uint32_t list,
                         const struct iso_history *part, uint32_t left)
{
    uint64_t at = whole->lists.first[list], end = whole->lists.first[list + 1];
    for (uint64_t i = part->lists.first[left]; i < part->lists.first[left + 1]; i++) {
        while (at < end &&
               !same_atom(whole, whole->lists.element[at], part, part->lists.element[i]))
            at++;
        if (at++ == end)
            return false;
    }
    return true;
}

/* A write of null is a delete. */
static enum iso_operation_kind kind_of(const struct iso_history *history, uint32_t o)
{
    bool gone = iso_kind_of(history, o) == ISO_WRITE && history->ops.value[o] == ISO_ABSENT;
    return gone ? ISO_DELETE : (enum iso_operation_kind)iso_kind_of(history, o);
}

static bool operation_fits(const struct iso_history *whole, uint32_t o,
                           const struct iso_history *part, uint32_t p)
{
    if (kind_of(whole, o) != kind_of(part, p) ||
        !same_atom(whole, whole->keys.atom[whole->ops.key[o]], part,
                   part->keys.atom[part->ops.key[p]]))
        return false;
    return iso_kind_of(whole, o) == ISO_READ_LIST
               ? list_is_part(whole, whole->ops.value[o], part, part->ops.value[p])
               : same_atom(whole, whole->ops.value[o], part, part->ops.value[p]);
}

static bool is_part(const struct iso_history *whole, const struct iso_history *part)
{
    for (uint32_t t = 0; t < part->txns.count; t++) {
        uint32_t from = find_transaction(whole, part, t);
        if (from == ISO_NONE || iso_status_of(whole, from) != iso_status_of(part, t))
            return false;
        uint32_t o = whole->txns.first_op[from];
        for (uint32_t p = part->txns.first_op[t]; p < part->txns.first_op[t + 1]; p++) {
            while (o < whole->txns.first_op[from + 1] && !operation_fits(whole, o, part, p))
                o++;
            if (o++ == whole->txns.first_op[from + 1])
                return false;
        }
    }
    return true;
}

/* ---- and small ---- */

/* Whether what the part keeps is violated. */
static bool keeps_violation(struct iso_part *part, enum iso_level level)
{
    struct iso_history less;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&less);
    iso_part_build(part, &less);
    bool keeps = iso_history_finish(&less, &error) != ISO_OK ||
                 judge(&less, level, &error) == ISO_IS_VIOLATED;
    iso_history_release(&less);
    return keeps;
}

static bool loses_a_transaction(const struct iso_history *history, enum iso_level level)
{
    struct iso_part part;
    bool loses = false;
    iso_part_init(&part, history);
    for (uint32_t t = 0; t < history->txns.count && !loses; t++) {
        iso_part_reset(&part, true);
        part.transactions[t] = false;
        loses = keeps_violation(&part, level);
    }
    iso_part_release(&part);
    return loses;
}

/* A read alone, or all that a transaction writes of a key. */
static bool loses_an_operation(const struct iso_history *history, enum iso_level level)
{
    struct iso_part part;
    bool loses = false;
    iso_part_init(&part, history);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint32_t first = history->txns.first_op[t], end = history->txns.first_op[t + 1];
        for (uint32_t o = first; o < end && !loses; o++) {
            iso_part_reset(&part, true);
            part.operations[o] = false;
            for (uint32_t other = first; other < end; other++)
                part.operations[other] &= !iso_kind_writes(history->ops.kind[o]) ||
                                          !iso_kind_writes(history->ops.kind[other]) ||
                                          history->ops.key[other] != history->ops.key[o];
            loses = keeps_violation(&part, level);
        }
    }
    iso_part_release(&part);
    return loses;
}

static bool check_minimised(struct run *run, const struct iso_history *history,
                            const struct iso_polygraph_options *options,
                            const struct iso_evidence *evidence)
{
    struct iso_history small, plain;
    struct iso_error error = {.status = ISO_OK};
    bool bad = false;
    iso_history_init(&small);
    iso_history_init(&plain);
    run->checks += iso_polygraph_minimise(history, options, iso_polygraph_check, evidence, &small);
    if (iso_history_finish(&small, &error) != ISO_OK)
        bad = wrong(run, "what is left is no history");
    else if (schedule_oracle_holds(&small, run->level, 0))
        bad = wrong(run, "what is left holds");
    else if (!is_part(history, &small))
        bad = wrong(run, "what is left is no part of the whole");
    else if (loses_a_transaction(&small, run->level))
        bad = wrong(run, "a transaction can still go");
    else if (loses_an_operation(&small, run->level))
        bad = wrong(run, "an operation can still go");
    else if (iso_part_without_initial(&small, &plain) &&
             (iso_history_finish(&plain, &error) != ISO_OK ||
              judge(&plain, run->level, &error) != ISO_IS_VIOLATED ||
              schedule_oracle_holds(&plain, run->level, 0)))
        bad = wrong(run, "without initial values it holds");
    run->minimised++;
    run->transactions += history->txns.count;
    run->left += small.txns.count;
    iso_history_release(&plain);
    iso_history_release(&small);
    return bad;
}

/* ---- parts of what holds hold ---- */

static bool part_fails(struct run *run, const struct iso_history *history)
{
    struct random random = {run->seed};
    struct iso_history less;
    struct iso_part part;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&less);
    iso_part_init(&part, history);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        part.transactions[t] = random_below(&random, 4) != 0;
        for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
            part.operations[o] =
                iso_kind_writes(history->ops.kind[o]) || random_below(&random, 4) != 0;
    }
    iso_part_build(&part, &less);
    bool bad =
        iso_history_finish(&less, &error) != ISO_OK || !schedule_oracle_holds(&less, run->level, 0);
    run->held++;
    iso_part_release(&part);
    iso_history_release(&less);
    return bad && wrong(run, "a part of what holds does not hold");
}

/* ---- many ---- */

static bool fails(const struct plain_history *plain, void *context)
{
    struct run *run = context;
    struct iso_history history;
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    struct iso_error error = {.status = ISO_OK};
    bool bad = false;
    iso_history_init(&history);
    iso_polygraph_options_init(&options);
    iso_polygraph_result_init(&result);
    options.level = run->level;
    if (plain_history_build(plain, &history, &error) == ISO_OK && history.totals.committed &&
        iso_polygraph_check(&history, &options, &result, &error) == ISO_OK) {
        if (result.outcome == ISO_IS_VIOLATED)
            bad = check_minimised(run, &history, &options, &result.evidence);
        else if (result.outcome == ISO_HOLDS)
            bad = part_fails(run, &history);
    }
    iso_polygraph_result_release(&result);
    iso_history_release(&history);
    return bad;
}

static bool run_level(enum iso_level level, unsigned histories, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    struct run run = {.level = level};
    static struct plain_history plain;
    options.timestamps = false;
    for (unsigned i = 0; i < histories; i++) {
        random_history(run.seed = seed + i, &options, &plain);
        if (!fails(&plain, &run))
            continue;
        shrink_history(&plain, fails, &run);
        fails(&plain, &run);
        printf("not ok - %s: %s, seed %llu\n", iso_level_name(level), run.what,
               (unsigned long long)run.seed);
        plain_history_print(&plain, stdout, "#   ");
        return false;
    }
    bool enough = run.minimised > histories / 5 && run.held > histories / 5;
    printf(
        "%s - %s: %llu histories minimised, of %.1f transactions %.1f left, %.1f checks each; %llu parts "
        "hold\n",
        enough ? "ok" : "not ok", iso_level_name(level), (unsigned long long)run.minimised,
        (double)run.transactions / (double)(run.minimised + !run.minimised),
        (double)run.left / (double)(run.minimised + !run.minimised),
        (double)run.checks / (double)(run.minimised + !run.minimised),
        (unsigned long long)run.held);
    return enough;
}

int main(int argc, char **argv)
{
    static const enum iso_level models[] = {ISO_SER, ISO_SI, ISO_ADYA_SI};
    uint64_t number = 1500, seed = 1;
    const struct argument known[] = {
        {"--histories", .number = &number}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    unsigned histories = (unsigned)number;
    bool good = true;
    for (int m = 0; m < 3; m++)
        good &= run_level(models[m], histories, seed);
    return !good;
}
