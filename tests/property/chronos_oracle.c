/* chronos against the oracle: the exact set of violations, with kinds, values and writers, and the
 * counts, on random small histories, in one part, in two and in five, which are threads for one
 * history in sixteen. A disagreement is shrunk and printed with both sets.
 *
 * chronos_oracle [--histories N] [--seed S] [--level LEVEL]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chronos/chronos.h"
#include "history/snapshot.h"
#include "tests/oracle/plain_times.h"
#include "tests/oracle/timestamp_oracle.h"
#include "tests/support/arguments.h"
#include "tests/support/random_history.h"
#include "tests/support/sanitized.h"
#include "tests/support/shrink.h"

enum { KINDS = ISO_CTS_CYCLE + 1, DEFAULT_HISTORIES = 8000, MAX_REPORTS = 5 };

struct statistics {
    uint64_t histories, refused, holds, unjudged_reads, unjudged_writes, per_operation, unfinished;
    uint64_t with[ISO_AXIOMS][KINDS];       /* histories in which it occurs */
    uint64_t lists_with[ISO_AXIOMS][KINDS]; /* on a list */
};

struct comparison {
    enum iso_level level;
    bool session_order;
    struct iso_history history;
    struct instances expected, actual;
    bool refused; /* by the oracle: nothing is expected; and because of whom */
    bool lacks_times[PLAIN_TRANSACTIONS];
    char text[ISO_ERROR_TEXT + 64]; /* what differs, if it is not the sets */
};

/* ---- threads ---- */

static bool are_threads_short;

#if !SANITIZED
/* A thread takes longer to come and go than a history like these to be judged. Where the system has
 * none left, iso_parallel does the parts one after the other: the same work, shared out in the same
 * way. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    static __typeof__(&pthread_create) create;
    if (are_threads_short)
        return EAGAIN;
    if (!create)
        create = (__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create");
    return create(thread, attributes, run, argument);
}
#endif

/* Parts in their order without threads say little under a sanitizer, which keeps pthread_create for
 * itself. */
static bool is_worth_parts(void)
{
    return !SANITIZED || !are_threads_short;
}

/* ---- one history ---- */

/* Both refuse, and chronos names the line of a transaction that lacks something. */
static bool refusal_agrees(struct comparison *comparison, enum iso_status status,
                           const struct iso_error *error)
{
    unsigned line = 0;
    snprintf(comparison->text, sizeof comparison->text, "chronos: status %d, %s; oracle: %s",
             status, error->text, comparison->refused ? "refused" : "judged");
    if ((status == ISO_BAD_INPUT) != comparison->refused ||
        (status != ISO_OK && status != ISO_BAD_INPUT))
        return false;
    return !comparison->refused ||
           (sscanf(error->text, PLAIN_INPUT ":%u: ", &line) == 1 && line >= 1 &&
            line <= PLAIN_TRANSACTIONS && comparison->lacks_times[line - 1]);
}

/* The snapshot-order violation that is named is the first of the blamed transaction, and one. */
static bool breach_agrees(const struct iso_history *history, const struct iso_violation *violation)
{
    if (violation->kind != ISO_SNAPSHOT_ORDER)
        return violation->snapshot_violation == ISO_NONE;
    if (violation->snapshot_violation >= history->snapshots.violation_count)
        return false;
    for (uint32_t i = 0; i < violation->snapshot_violation; i++) {
        if (history->snapshots.violations[i].transaction == violation->transaction)
            return false;
    }
    const struct iso_snapshot_violation *snapshot_violation =
        &history->snapshots.violations[violation->snapshot_violation];
    const struct iso_snapshot *right = &history->snapshots.list[snapshot_violation->right];
    const struct iso_snapshot *wrong = &history->snapshots.list[snapshot_violation->wrong];
    return snapshot_violation->transaction == violation->transaction &&
           snapshot_violation->only_right && snapshot_violation->only_wrong &&
           iso_snapshot_sees(history, right, snapshot_violation->only_right) &&
           !iso_snapshot_sees(history, wrong, snapshot_violation->only_right) &&
           iso_snapshot_sees(history, wrong, snapshot_violation->only_wrong) &&
           !iso_snapshot_sees(history, right, snapshot_violation->only_wrong);
}

static bool agrees_with(struct comparison *comparison, unsigned threads)
{
    struct iso_check_options options = {
        .level = comparison->level, .session_order = comparison->session_order, .threads = threads};
    struct iso_error error = {.status = ISO_OK};
    struct iso_verdict verdict;
    iso_verdict_init(&verdict, &comparison->history, comparison->level, 0);
    enum iso_status status = iso_chronos_check(&comparison->history, &options, &verdict, &error);
    bool agrees = refusal_agrees(comparison, status, &error);
    if (agrees && !comparison->refused) {
        instances_of_verdict(&comparison->actual, &verdict);
        agrees = instances_equal(&comparison->expected, &comparison->actual);
        snprintf(comparison->text, sizeof comparison->text, "with %u threads", threads);
        for (uint32_t i = 0; agrees && i < verdict.violation_count; i++) {
            agrees = breach_agrees(&comparison->history, &verdict.violations[i]);
            if (!agrees)
                strcat(comparison->text, ", a breach that is none");
        }
    }
    iso_verdict_release(&verdict);
    return agrees;
}

/* True if chronos and the oracle differ. A history that cannot be built is no disagreement. */
static bool disagrees(const struct plain_history *plain, void *context)
{
    struct comparison *comparison = context;
    struct iso_error error = {.status = ISO_OK};
    if (plain_history_build(plain, &comparison->history, &error) != ISO_OK)
        return false;
    instances_clear(&comparison->actual);
    comparison->refused = !timestamp_oracle(plain, comparison->level, comparison->session_order,
                                            &comparison->expected, comparison->lacks_times);
    return !agrees_with(comparison, 1) ||
           (is_worth_parts() && (!agrees_with(comparison, 2) || !agrees_with(comparison, 5)));
}

static void report(struct plain_history *plain, struct comparison *comparison, uint64_t seed)
{
    printf("not ok - %s: chronos and oracle differ, seed %" PRIu64 "\n",
           iso_level_name(comparison->level), seed);
    shrink_history(plain, disagrees, comparison);
    disagrees(plain, comparison);
    printf("# level %s%s, %s\n", iso_level_name(comparison->level),
           comparison->session_order ? "" : ", --no-session-order", comparison->text);
    plain_history_print(plain, stdout, "#   ");
    printf("# oracle:\n");
    instances_print(&comparison->expected, plain, stdout, "#   ");
    printf("# chronos:\n");
    instances_print(&comparison->actual, plain, stdout, "#   ");
    fflush(stdout);
}

/* ---- many ---- */

static void count(struct statistics *statistics, const struct comparison *comparison)
{
    bool finished = comparison->history.finished, refused = comparison->refused;
    const struct instances *found = &comparison->expected;
    bool seen[ISO_AXIOMS][KINDS] = {{false}}, on_list[ISO_AXIOMS][KINDS] = {{false}};
    statistics->histories++;
    statistics->unfinished += !finished;
    statistics->refused += finished && refused;
    if (!finished || refused)
        return;
    statistics->holds += found->count == 0;
    statistics->unjudged_reads += found->reads_unjudged > 0;
    statistics->unjudged_writes += found->writes_unjudged > 0;
    statistics->per_operation += found->per_operation;
    for (uint32_t i = 0; i < found->count; i++) {
        const struct instance *row = &found->rows[i];
        seen[row->axiom][row->kind] = true;
        on_list[row->axiom][row->kind] |= row->actual[0] == '[';
    }
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        for (int kind = 0; kind < KINDS; kind++) {
            statistics->with[axiom][kind] += seen[axiom][kind];
            statistics->lists_with[axiom][kind] += on_list[axiom][kind];
        }
    }
}

static bool is_about_sessions(enum iso_level level)
{
    return level == ISO_RYW || level == ISO_MR || level == ISO_RA || level == ISO_CC ||
           level == ISO_PSI;
}

static uint32_t run(struct comparison *comparison, struct statistics *statistics,
                    uint64_t histories, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    options.cells = true;
    struct plain_history *plain = calloc(1, sizeof *plain);
    uint32_t failed = 0;
    if (!plain)
        abort();
    for (uint64_t i = 0; i < histories && failed < MAX_REPORTS; i++) {
        random_history(seed + i, &options, plain);
        comparison->session_order = (seed + i) % 8 != 0 || is_about_sessions(comparison->level);
        are_threads_short = (seed + i) / 8 % 16 != 0;
        bool differs = disagrees(plain, comparison);
        count(statistics, comparison);
        if (!differs)
            continue;
        failed++;
        report(plain, comparison, seed + i);
    }
    free(plain);
    return failed;
}

/* A kind that never occurs is not tested: each must in at least one of 2000 histories. */
static bool must_occur(enum iso_level level, uint64_t histories, uint64_t occurrences,
                       const char *what, const char *kind)
{
    bool enough = occurrences >= histories / 2000;
    printf("# %s: %s%s%s in %" PRIu64 "%s\n", iso_level_name(level), what, kind ? " " : "",
           kind ? kind : "", occurrences, enough ? "" : ": too few");
    return enough;
}

static bool covers(enum iso_level level, const struct statistics *statistics)
{
    static const struct {
        enum iso_axiom axiom;
        enum iso_violation_kind kind;
        bool at_start, at_commit; /* at SI and below; at SER */
    } wanted[] = {
        {ISO_TIMESTAMP, ISO_INTERVAL, true, false},
        {ISO_TIMESTAMP, ISO_SNAPSHOT_ORDER, true, true},
        {ISO_TIMESTAMP, ISO_SHARED_CTS, false, true},
        {ISO_TIMESTAMP, ISO_CTS_CYCLE, false, true},
        {ISO_SESSION, ISO_KIND_NONE, true, true},
        {ISO_INT, ISO_KIND_NONE, true, true},
        {ISO_EXT, ISO_UNCOMMITTED, true, true},
        {ISO_EXT, ISO_INTERMEDIATE, true, true},
        {ISO_EXT, ISO_FUTURE, true, true},
        {ISO_EXT, ISO_ABSENT_READ, true, true},
        {ISO_EXT, ISO_STALE, true, true},
        {ISO_NOCONFLICT, ISO_KIND_NONE, true, false},
    };
    uint64_t histories = statistics->histories;
    bool good = true, at_start = level != ISO_SER;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        enum iso_axiom axiom = wanted[i].axiom;
        const char *kind = iso_violation_kind_name(wanted[i].kind);
        if (!(at_start ? wanted[i].at_start : wanted[i].at_commit))
            continue;
        if ((axiom == ISO_NOCONFLICT && level != ISO_SI) ||
            (axiom == ISO_SESSION && level == ISO_STALE_READS))
            continue;
        good &= must_occur(level, histories, statistics->with[axiom][wanted[i].kind],
                           iso_axiom_name(axiom), kind);
        if (axiom == ISO_INT || axiom == ISO_EXT)
            good &= must_occur(level, histories, statistics->lists_with[axiom][wanted[i].kind],
                               axiom == ISO_INT ? "INT on lists" : "EXT on lists", kind);
    }
    good &= must_occur(level, histories, statistics->holds, "nothing wrong", NULL);
    good &= must_occur(level, histories, statistics->refused, "timestamps missing", NULL);
    good &= must_occur(level, histories, statistics->unjudged_reads, "unjudged reads", NULL);
    if (level == ISO_SI)
        good &= must_occur(level, histories, statistics->unjudged_writes, "unjudged writes", NULL);
    if (at_start)
        good &= must_occur(level, histories, statistics->per_operation, "per operation", NULL);
    if (statistics->unfinished)
        printf("# %s: %" PRIu64 " histories were not well-formed\n", iso_level_name(level),
               statistics->unfinished);
    return good && !statistics->unfinished;
}

static bool run_level(enum iso_level level, uint64_t histories, uint64_t seed)
{
    struct comparison *comparison = calloc(1, sizeof *comparison);
    struct statistics statistics = {.histories = 0};
    if (!comparison)
        abort();
    comparison->level = level;
    iso_history_init(&comparison->history);
    bool good = run(comparison, &statistics, histories, seed) == 0;
    if (good)
        printf("ok - %s: chronos finds exactly what the oracle finds in %" PRIu64 " histories\n",
               iso_level_name(level), histories);
    bool covered = covers(level, &statistics);
    printf("%s - %s: every axiom and kind occurred\n", covered ? "ok" : "not ok",
           iso_level_name(level));
    iso_history_release(&comparison->history);
    free(comparison);
    return good && covered;
}

int main(int argc, char **argv)
{
    uint64_t histories = DEFAULT_HISTORIES, seed = 1;
    const char *level = NULL;
    const struct argument known[] = {{"--histories", .number = &histories},
                                     {"--seed", .number = &seed},
                                     {"--level", .text = &level},
                                     {0}};
    bool good = true, any = false;
    if (!arguments_read(known, argc, argv))
        return 2;
    printf("# seed %" PRIu64 ", %" PRIu64 " histories a level\n", seed, histories);
    for (int i = 0; i < ISO_LEVELS; i++) {
        if (!iso_level_judged_by((enum iso_level)i, ISO_BY_CHRONOS))
            continue;
        if (level && strcmp(level, iso_level_name((enum iso_level)i)))
            continue;
        good &= run_level((enum iso_level)i, histories, seed);
        any = true;
    }
    return good && any ? 0 : 1;
}
