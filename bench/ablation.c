/* What each of the ways to find an order is worth: the order of the input, a schedule, a lookahead schedule, the search,
 * and the solver on everything. Each is switched off in turn, on real histories and on generated ones.
 *
 *   polygraph-ablation [--rounds N] [--timeout SECONDS] FILE...
 *
 * Prints a Markdown table: how many verdicts only this way gives (all others on, it alone off: undecided), and the
 * processor time without it as a ratio to that with all, in sum and where it matters most. Runs of one history with and
 * without a way follow one another, so that what else the machine does touches all alike; of ROUNDS the shortest counts.
 * Exit status 1 if a verdict changes instead of getting lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/format.h"
#include "iso/polygraph.h"
#include "native/read.h"
#include "tests/support/arguments.h"
#include "tests/support/blackbox_workload.h"

enum way { ALL, INPUT_ORDER, SCHEDULE, LOOKAHEAD, SEARCH, SOLVER, WAYS };

static const char *const names[WAYS] = {"all", "input order", "schedule", "lookahead", "search", "solver"};

struct sums {
    uint64_t histories, lost, changed;
    double seconds, worst; /* worst: the largest ratio of a history that takes a tenth of a second or more */
    char worst_name[200];
};

struct bench {
    uint64_t rounds, timeout;
    bool shuffled; /* without the order of the input, in all runs */
    struct sums sums[WAYS];
};

static void switch_off(struct iso_polygraph_options *options, enum way way)
{
    options->no_advice |= way == INPUT_ORDER;
    options->no_schedule = way == SCHEDULE;
    options->no_lookahead = way == LOOKAHEAD;
    options->no_search = way == SEARCH;
    options->no_solver = way == SOLVER;
}

static enum iso_outcome judge(const struct bench *bench, const struct iso_history *history, enum iso_model model,
                              enum way way, double *seconds)
{
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    struct iso_error error = {0};
    iso_polygraph_options_init(&options);
    iso_polygraph_result_init(&result);
    options.model = model;
    options.timeout = (double)bench->timeout;
    options.no_advice = bench->shuffled;
    switch_off(&options, way);
    clock_t start = clock();
    iso_polygraph_check(history, &options, &result, &error);
    *seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    enum iso_outcome outcome = result.outcome;
    iso_polygraph_result_release(&result);
    return outcome;
}

static void note_time(struct bench *bench, enum way way, const char *name, const char *level, double seconds,
                      double all)
{
    struct sums *sums = &bench->sums[way];
    sums->histories++;
    sums->seconds += seconds;
    if ((seconds >= 0.1 || all >= 0.1) && seconds / all > sums->worst) {
        sums->worst = seconds / all;
        snprintf(sums->worst_name, sizeof sums->worst_name, "%s at %s", name, level);
    }
}

static void measure(struct bench *bench, const struct iso_history *history, enum iso_model model, const char *name)
{
    enum iso_outcome said[WAYS];
    double best[WAYS] = {0}, seconds;
    for (uint64_t round = 0; round < bench->rounds; round++) {
        for (int way = ALL; way < WAYS; way++) {
            said[way] = judge(bench, history, model, (enum way)way, &seconds);
            best[way] = round && best[way] < seconds ? best[way] : seconds;
        }
    }
    for (int way = ALL; way < WAYS; way++) {
        bool lost = said[way] == ISO_IS_UNDECIDED && said[ALL] != ISO_IS_UNDECIDED;
        bench->sums[way].lost += lost;
        if (said[ALL] == ISO_IS_UNDECIDED)
            continue; /* times up to the limit say nothing */
        bench->sums[way].changed += said[way] != said[ALL] && !lost && said[ALL] != ISO_IS_UNDECIDED;
        if (lost)
            printf("<!-- only %s decides %s at %s -->\n", names[way], name, iso_model_name(model));
        note_time(bench, (enum way)way, name, iso_model_name(model), best[way], best[ALL] > 0 ? best[ALL] : 1e-6);
    }
}

static bool read_file(const char *path, struct iso_history *history)
{
    const struct iso_read_options native = {.threads = 1};
    struct iso_error error = {0};
    enum iso_format format = ISO_FORMAT_NATIVE;
    if (iso_format_guess(path, &format, &error) != ISO_OK || format == ISO_FORMAT_TIMEKILLER)
        return false;
    enum iso_status status = format == ISO_FORMAT_NATIVE ? iso_read_history(&path, 1, &native, history, &error)
                                                         : iso_format_read(format, path, history, &error);
    return status == ISO_OK && iso_history_finish(history, &error) == ISO_OK;
}

static void measure_file(struct bench *bench, const char *path)
{
    struct iso_history history;
    iso_history_init(&history);
    if (read_file(path, &history)) {
        measure(bench, &history, ISO_MODEL_SER, path);
        measure(bench, &history, ISO_MODEL_SI, path);
    }
    iso_history_release(&history);
}

static void measure_workloads(struct bench *bench)
{
    static const char *const kinds[] = {"blindw", "bl", "rh", "wh", "hd", "rmw"};
    static const uint32_t sessions[] = {8, 40, 300};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (size_t size = 0; size < sizeof sessions / sizeof *sessions; size++) {
            struct blackbox_workload workload = {.name = kinds[kind],
                                                 .transactions = 2000,
                                                 .keys = 400,
                                                 .sessions = sessions[size],
                                                 .operations = 8,
                                                 .seed = size + 1,
                                                 .serial = size != 1};
            struct iso_history history;
            struct iso_error error = {0};
            char name[64];
            snprintf(name, sizeof name, "%s, %u sessions", kinds[kind], sessions[size]);
            iso_history_init(&history);
            if (blackbox_workload_make(&workload, &history) && iso_history_finish(&history, &error) == ISO_OK) {
                measure(bench, &history, workload.serial ? ISO_MODEL_SER : ISO_MODEL_SI, name);
                measure(bench, &history, ISO_MODEL_ADYA_SI, name); /* sessions say nothing */
            }
            iso_history_release(&history);
        }
    }
}

static bool print_table(const struct bench *bench, const char *what)
{
    bool same = true;
    printf("\n%s: %llu verdicts, %.2f s with all\n\n", what, (unsigned long long)bench->sums[ALL].histories,
           bench->sums[ALL].seconds);
    printf("| without | verdicts lost | time, in sum | at most | of |\n|---|---|---|---|---|\n");
    for (int way = INPUT_ORDER; way < WAYS; way++) {
        const struct sums *sums = &bench->sums[way];
        same &= !sums->changed;
        printf("| %s | %llu | %.2f | %.1f | %s |\n", names[way], (unsigned long long)sums->lost,
               sums->seconds / bench->sums[ALL].seconds, sums->worst, sums->worst_name);
    }
    fflush(stdout);
    return same;
}

int main(int argc, char **argv)
{
    struct bench files = {.rounds = 2, .timeout = 20};
    int words = 1;
    while (words + 1 < argc && !strncmp(argv[words], "--", 2))
        words += 2;
    const struct argument known[] = {
        {"--rounds", .number = &files.rounds}, {"--timeout", .number = &files.timeout}, {0}};
    if (!arguments_read(known, words, argv))
        return 2;
    struct bench generated = files;
    generated.shuffled = true; /* they are made in the order of their commits */
    bool same = true;
    for (int i = words; i < argc; i++)
        measure_file(&files, argv[i]);
    if (words < argc)
        same = print_table(&files, "Recorded histories");
    measure_workloads(&generated);
    same &= print_table(&generated, "Generated histories, without the order of the input");
    return !same;
}
