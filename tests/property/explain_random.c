/* Explanations of random histories: every violation that chronos finds, at either level, comes back
 * out of its JSON as what it was, and is argued to an end: one contradiction, and for a read the
 * newest visible version shown to be that. Its time line stands in order, and has who is blamed at
 * the moments that the history has.
 *
 * explain_random [--histories N] [--seed S]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chronos/chronos.h"
#include "explain/timeline.h"
#include "report/report.h"
#include "tests/support/arguments.h"
#include "tests/support/capture.h"
#include "tests/support/random_history.h"
#include "tests/support/test.h"

enum { DEFAULT_HISTORIES = 3000, MAX_REPORTS = 5 };

struct statistics {
    uint64_t histories, violations, timelines, faults;
};

static uint32_t steps_with(const struct iso_argument *argument, const char *words)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < argument->step_count; i++)
        count += strstr(iso_argument_text(argument, argument->steps[i]), words) != NULL;
    return count;
}

static bool is_party(const struct iso_party *party, uint32_t transaction)
{
    return party->transaction == transaction;
}

/* The claim says what the violation said. */
static bool is_same(const struct iso_claims *claims, const struct iso_claim *claim,
                    const struct iso_violation *violation)
{
    const char *kind = iso_violation_kind_name(violation->kind);
    bool values = violation->axiom == ISO_EXT || violation->axiom == ISO_INT;
    bool same =
        !strcmp(claim->wrong->axiom, iso_axiom_name(violation->axiom)) &&
        (kind ? claim->wrong->kind && !strcmp(claim->wrong->kind, kind) : !claim->wrong->kind) &&
        is_party(iso_claim_party(claims, claim, 0), violation->transaction) &&
        claim->key == violation->key &&
        claim->party_count == (violation->other == ISO_NONE ? 1u : 2u) &&
        is_party(&claim->writer_expected, violation->writer_expected) &&
        is_party(&claim->writer_actual, violation->writer_actual) &&
        claim->expected.given == values;
    return same &&
           (violation->other == ISO_NONE ||
            is_party(iso_claim_party(claims, claim, 1), violation->other)) &&
           (violation->operation == ISO_NONE || claim->operation == violation->operation);
}

/* Rows stand in order, and each step and row has words. */
static bool is_well_formed(const struct iso_argument *argument)
{
    for (uint32_t i = 0; i + 1 < argument->row_count; i++)
        if (argument->rows[i].when > argument->rows[i + 1].when)
            return false;
    for (uint32_t i = 0; i < argument->step_count; i++)
        if (strlen(iso_argument_text(argument, argument->steps[i])) < 10)
            return false;
    return argument->step_count > 0 && argument->party_count > 0;
}

static const char *fault_of(const struct iso_argument *argument,
                            const struct iso_violation *violation)
{
    const struct iso_history *history = argument->facts->history;
    uint32_t writer = violation->writer_expected;
    if (!is_well_formed(argument))
        return "is not well formed";
    if (!steps_with(argument, "contradiction"))
        return "reaches no contradiction";
    if (violation->axiom == ISO_EXT && steps_with(argument, "contradiction") != 1)
        return "reaches its contradiction twice";
    if (violation->axiom == ISO_EXT && writer != ISO_NONE &&
        (history->txns.flags[writer] & ISO_HAS_CTS) &&
        steps_with(argument, "No other version") != 1)
        return "does not show that the expected version is the newest";
    if (violation->axiom == ISO_EXT && writer == ISO_NONE &&
        steps_with(argument, "No version of") != 1)
        return "does not show that there is no version";
    return NULL;
}

/* An instant's timestamp, or the wrong one. */
static bool is_at(const struct iso_timeline *timeline, uint32_t instant, bool is_known,
                  uint64_t when)
{
    if (!is_known || instant == ISO_NONE)
        return !is_known && instant == ISO_NONE;
    return instant < timeline->instant_count && timeline->instants[instant].when == when;
}

static bool are_bars_placed(const struct iso_history *history, const struct iso_timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->bar_count; i++) {
        const struct iso_timeline_bar *bar = &timeline->bars[i];
        uint8_t flags = history->txns.flags[bar->transaction];
        if (bar->lane >= timeline->lane_count ||
            !is_at(timeline, bar->from, flags & ISO_HAS_STS, history->txns.sts[bar->transaction]) ||
            !is_at(timeline, bar->to, flags & ISO_HAS_CTS, history->txns.cts[bar->transaction]))
            return false;
    }
    return timeline->bar_count &&
           timeline->bars[0].is_blamed + (timeline->bar_count > 1 && timeline->bars[1].is_blamed);
}

static bool are_points_placed(const struct iso_timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->point_count; i++) {
        const struct iso_timeline_point *point = &timeline->points[i];
        if (point->instant >= timeline->instant_count ||
            (i && point->instant < point[-1].instant) ||
            (point->bar != ISO_NONE && point->bar >= timeline->bar_count))
            return false;
    }
    for (uint32_t i = 0; i + 1 < timeline->instant_count; i++)
        if (timeline->instants[i].when > timeline->instants[i + 1].when)
            return false;
    return true;
}

static const char *fault_of_timeline(const struct iso_argument *argument)
{
    struct iso_timeline timeline;
    const char *fault = NULL;
    if (!iso_timeline_init(&timeline, argument))
        fault = "has no time line";
    else if (!are_bars_placed(argument->facts->history, &timeline))
        fault = "has transactions at other moments than theirs";
    else if (!are_points_placed(&timeline))
        fault = "has a time line out of order";
    iso_timeline_release(&timeline);
    return fault;
}

static const char *check_arguments(const struct iso_claims *claims,
                                   const struct iso_verdict *verdict, struct statistics *statistics)
{
    struct iso_facts facts;
    const char *fault = NULL;
    iso_facts_init(&facts, claims);
    for (uint32_t i = 0; i < claims->count && !fault; i++) {
        struct iso_argument argument;
        iso_argument_init(&argument, &facts, &claims->list[i], ISO_WALL_COUNTER);
        fault = is_same(claims, &claims->list[i], &verdict->violations[i])
                    ? fault_of(&argument, &verdict->violations[i])
                    : "is not of what was found";
        fault = fault ? fault : fault_of_timeline(&argument);
        statistics->violations++;
        statistics->timelines += argument.row_count > 0;
        iso_argument_release(&argument);
    }
    iso_facts_release(&facts);
    return fault;
}

/* Through JSON and back. */
static const char *check_verdict(struct iso_history *history, const struct iso_verdict *verdict,
                                 struct statistics *statistics)
{
    struct iso_output output;
    struct iso_claims claims;
    struct iso_error error = {.status = ISO_OK};
    test_capture_start(&output);
    iso_report_json(&output, verdict, 0);
    char *json = test_capture_end(&output), *padded = test_padded(json, strlen(json), 'x');
    const char *fault = NULL;
    iso_claims_init(&claims, history);
    if (iso_claims_read(&claims, padded, strlen(json), "verdict", &error) != ISO_OK)
        fault = "cannot be read";
    else if (claims.count != verdict->violation_count || claims.found != claims.count)
        fault = "lost a violation";
    else
        fault = check_arguments(&claims, verdict, statistics);
    if (fault)
        fprintf(stderr, "# %s\n# %s", error.text, json);
    iso_claims_release(&claims);
    free(padded);
    free(json);
    return fault;
}

static const char *check_level(const struct plain_history *plain, enum iso_level level,
                               struct statistics *statistics)
{
    struct iso_history history;
    struct iso_verdict verdict;
    struct iso_error error = {.status = ISO_OK};
    struct iso_check_options options = {.level = level, .session_order = true, .threads = 1};
    const char *fault = NULL;
    iso_history_init(&history);
    if (plain_history_build(plain, &history, &error) == ISO_OK) {
        iso_verdict_init(&verdict, &history, level, 0);
        if (iso_chronos_check(&history, &options, &verdict, &error) == ISO_OK) {
            iso_verdict_conclude(&verdict, true);
            fault = check_verdict(&history, &verdict, statistics);
        }
        iso_verdict_release(&verdict);
    }
    iso_history_release(&history);
    return fault;
}

static void check_seed(uint64_t seed, struct statistics *statistics)
{
    struct random_history_options options = random_history_defaults();
    struct plain_history plain;
    random_history(seed, &options, &plain);
    statistics->histories++;
    for (int level = ISO_SI; level <= ISO_SER; level++) {
        const char *fault = check_level(&plain, (enum iso_level)level, statistics);
        if (fault && statistics->faults++ < MAX_REPORTS) {
            fprintf(stderr, "# seed %" PRIu64 " at %s: an argument %s\n", seed,
                    iso_level_name((enum iso_level)level), fault);
            plain_history_print(&plain, stderr, "#   ");
        }
    }
}

int main(int count, char **arguments)
{
    struct statistics statistics = {0};
    uint64_t histories = DEFAULT_HISTORIES, seed = 1;
    const struct argument known[] = {
        {"--histories", .number = &histories}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, count, arguments))
        return 2;
    for (uint64_t i = 0; i < histories; i++)
        check_seed(seed + i, &statistics);
    printf("1..1\n%s 1 - %" PRIu64 " violations of %" PRIu64 " histories are argued to their end\n",
           statistics.faults || !statistics.violations || !statistics.timelines ? "not ok" : "ok",
           statistics.violations, statistics.histories);
    return statistics.faults || !statistics.violations || !statistics.timelines;
}
