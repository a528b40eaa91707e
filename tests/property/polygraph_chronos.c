/* polygraph asks whether any order explains a history, chronos whether the claimed one does: so
 * polygraph holds wherever chronos does. But for verdicts about each operation's own snapshot, and
 * for reads that chronos left unjudged. Random small histories with timestamps.
 *
 * polygraph_chronos [--histories N] [--seed S]: histories a level
 */
#include <stdlib.h>

#include "chronos/chronos.h"
#include "tests/property/judge.h"
#include "tests/support/arguments.h"
#include "tests/support/random_history.h"
#include "tests/support/shrink.h"

struct run {
    enum iso_level level;
    bool session_order;
    uint64_t hold, unlike,
        lists; /* unlike: polygraph finds another order where chronos's is violated */
    uint64_t violated, undecided;
};

static enum iso_level model_of(const struct run *run)
{
    if (run->level == ISO_SER)
        return ISO_SER;
    return run->session_order ? ISO_SI : ISO_ADYA_SI;
}

/* True if chronos said holds and polygraph does not. */
static bool differs(const struct plain_history *plain, void *context)
{
    struct run *run = context;
    struct iso_history history;
    struct iso_verdict verdict;
    struct iso_error error = {.status = ISO_OK};
    struct iso_check_options options = {
        .level = run->level, .session_order = run->session_order, .threads = 1};
    bool bad = false;
    iso_history_init(&history);
    if (plain_history_build(plain, &history, &error) != ISO_OK) {
        iso_history_release(&history);
        return false;
    }
    iso_verdict_init(&verdict, &history, run->level, 0);
    if (iso_chronos_check(&history, &options, &verdict, &error) == ISO_OK) {
        iso_verdict_conclude(&verdict, false);
        bool comparable =
            !verdict.per_operation && verdict.reads_unjudged == 0 && verdict.writes_unjudged == 0;
        int said = comparable && history.totals.committed ? judge(&history, model_of(run), &error)
                                                          : ISO_IS_UNDECIDED;
        bool holds = verdict.outcome == ISO_HOLDS;
        run->hold += holds && said == ISO_HOLDS;
        run->unlike += !holds && said == ISO_HOLDS;
        run->violated += !holds && said == ISO_IS_VIOLATED;
        run->undecided += said == ISO_IS_UNDECIDED;
        run->lists += holds && said == ISO_HOLDS && history.lists.element_count > 0;
        bad = said == JUDGE_UNCONFIRMED || (holds && said == ISO_IS_VIOLATED);
    }
    iso_verdict_release(&verdict);
    iso_history_release(&history);
    return bad;
}

static bool run_level(struct run *run, unsigned histories, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    options.cells = true;
    static struct plain_history plain;
    for (unsigned i = 0; i < histories; i++) {
        random_history(seed + i, &options, &plain);
        if (!differs(&plain, run))
            continue;
        shrink_history(&plain, differs, run);
        printf("not ok - %s: chronos says holds and polygraph does not, seed %llu\n",
               iso_level_name(model_of(run)), (unsigned long long)seed + i);
        plain_history_print(&plain, stdout, "#   ");
        return false;
    }
    bool enough = run->hold > histories / 10 && run->unlike > histories / 100 &&
                  run->violated > histories / 10 && run->lists > histories / 100;
    printf(
        "%s - %s: polygraph holds in all %llu histories in which chronos does (%llu of them with lists), "
        "in %llu more, "
        "and not in %llu; %llu not compared\n",
        enough ? "ok" : "not ok", iso_level_name(model_of(run)), (unsigned long long)run->hold,
        (unsigned long long)run->lists, (unsigned long long)run->unlike,
        (unsigned long long)run->violated, (unsigned long long)run->undecided);
    return enough;
}

int main(int argc, char **argv)
{
    struct run runs[] = {{.level = ISO_SER, .session_order = true},
                         {.level = ISO_SI, .session_order = true},
                         {.level = ISO_SI, .session_order = false}};
    uint64_t number = 5000, seed = 1;
    const struct argument known[] = {
        {"--histories", .number = &number}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, argc, argv))
        return 2;
    unsigned histories = (unsigned)number;
    bool good = true;
    for (int i = 0; i < 3; i++)
        good &= run_level(&runs[i], histories, seed);
    return !good;
}
