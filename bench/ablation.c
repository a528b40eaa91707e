/* What each of the ways to find an order is worth: the order of the input, a schedule, a lookahead
 * schedule, the search, and the solver on everything.
 *
 *   polygraph-ablation [--rounds N] [--timeout SECONDS] [--initial VALUE] [--random N] [--only
 *   TEXT]
 *                      FILE...
 *
 * Judges FILEs (in native ones keys start with VALUE), generated histories and N small random ones,
 * at `ser` and `si`: with all ways, without the order of the input, and without that and one other
 * way, since the order of the input is nearly always right where there is one, and then the others
 * do nothing. A Markdown table for each kind of history says how many verdicts are lost without a
 * way (undecided within SECONDS), and the processor time without it as a ratio to that with it: in
 * sum, and of those that take a tenth of a second longer, how many exceed 1.1, and the worst. Runs
 * of one history follow one another, so that what else the machine does touches all alike; of
 * ROUNDS the shortest counts. TEXT leaves out histories whose names do not contain it. Exit status
 * 1 if a verdict changes instead of getting lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/format.h"
#include "generate/generate.h"
#include "polygraph/polygraph.h"
#include "native/read.h"
#include "tests/support/arguments.h"
#include "tests/support/blackbox_workload.h"
#include "tests/support/random_history.h"

/* What is off: nothing, the order of the input, or that and one more. */
enum without { NOTHING, INPUT_ORDER, SCHEDULE, LOOKAHEAD, SEARCH, SOLVER, WITHOUTS };

static const char *const names[WITHOUTS] = {"nothing",   "input order", "schedule",
                                            "lookahead", "search",      "solver"};

struct sums {
    uint64_t lost, won, slower;
    double seconds, with, worst;
    char worst_name[200];
};

struct bench {
    uint64_t rounds, timeout, random;
    const char *initial, *only;
    uint64_t verdicts, undecided, changed;
    struct sums sums[WITHOUTS];
};

struct run {
    enum iso_outcome outcome;
    double seconds;
};

static struct run judge(const struct bench *bench, const struct iso_history *history,
                        enum iso_level level, enum without without)
{
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    struct iso_error error = {0};
    iso_polygraph_options_init(&options);
    iso_polygraph_result_init(&result);
    options.level = level;
    options.timeout = (double)bench->timeout;
    options.no_advice = without != NOTHING;
    options.no_schedule = without == SCHEDULE;
    options.no_lookahead = without == LOOKAHEAD;
    options.no_search = without == SEARCH;
    options.no_solver = without == SOLVER;
    clock_t start = clock();
    iso_polygraph_check(history, &options, &result, &error);
    struct run run = {result.outcome, (double)(clock() - start) / CLOCKS_PER_SEC};
    iso_polygraph_result_release(&result);
    return run;
}

static void compare(struct bench *bench, enum without without, const struct run *with,
                    const struct run *run, const char *what)
{
    struct sums *sums = &bench->sums[without];
    bool decided = run->outcome != ISO_IS_UNDECIDED,
         decided_with = with->outcome != ISO_IS_UNDECIDED;
    if (decided != decided_with)
        printf("<!-- %s %s decides %s -->\n", decided ? "without" : "only", names[without], what);
    sums->won += decided && !decided_with;
    sums->lost += !decided && decided_with;
    bench->changed += decided && decided_with && run->outcome != with->outcome;
    sums->seconds += run->seconds;
    sums->with += with->seconds;
    if (run->seconds < with->seconds + 0.1 || run->seconds < 1.1 * with->seconds)
        return;
    sums->slower++;
    double ratio = run->seconds / (with->seconds > 1e-6 ? with->seconds : 1e-6);
    if (ratio > sums->worst) {
        sums->worst = ratio;
        snprintf(sums->worst_name, sizeof sums->worst_name, "%s", what);
    }
}

/* A run that came to no verdict is not repeated: it would take the whole time again. */
static void measure_at(struct bench *bench, const struct iso_history *history, enum iso_level level,
                       const char *name)
{
    struct run best[WITHOUTS];
    char what[200];
    snprintf(what, sizeof what, "%s at %s", name, iso_level_name(level));
    for (uint64_t round = 0; round < bench->rounds; round++) {
        for (int without = NOTHING; without < WITHOUTS; without++) {
            if (round && best[without].outcome == ISO_IS_UNDECIDED)
                continue;
            struct run run = judge(bench, history, level, (enum without)without);
            if (!round || run.seconds < best[without].seconds)
                best[without] = run;
        }
    }
    bench->verdicts++;
    bench->undecided += best[NOTHING].outcome == ISO_IS_UNDECIDED;
    for (int without = INPUT_ORDER; without < WITHOUTS; without++)
        compare(bench, (enum without)without, &best[without == INPUT_ORDER ? NOTHING : INPUT_ORDER],
                &best[without], what);
}

static void measure(struct bench *bench, struct iso_history *history, const char *name)
{
    struct iso_error error = {0};
    if (bench->only && !strstr(name, bench->only))
        return;
    if (!history->finished && iso_history_finish(history, &error) != ISO_OK)
        return;
    measure_at(bench, history, ISO_SER, name);
    measure_at(bench, history, ISO_SI, name);
}

static void print_table(struct bench *bench, const char *what)
{
    if (!bench->verdicts)
        return;
    printf("\n%s: %llu verdicts, %llu of them undecided with all ways\n\n", what,
           (unsigned long long)bench->verdicts, (unsigned long long)bench->undecided);
    printf(
        "| without | lost | won | s with | time, in sum | slower | at most | of |\n|---|---|---|---|---|---|---|---|\n");
    for (int without = INPUT_ORDER; without < WITHOUTS; without++) {
        struct sums *sums = &bench->sums[without];
        printf("| %s | %llu | %llu | %.2f | %.2f | %llu | %.1f | %s |\n", names[without],
               (unsigned long long)sums->lost, (unsigned long long)sums->won, sums->with,
               sums->seconds / sums->with, (unsigned long long)sums->slower, sums->worst,
               sums->worst_name);
        *sums = (struct sums){0};
    }
    bench->verdicts = bench->undecided = 0;
    fflush(stdout);
}

/* ---- recorded ---- */

static bool read_file(const struct bench *bench, const char *path, struct iso_history *history)
{
    const struct iso_read_options native = {.threads = 1};
    struct iso_error error = {0};
    enum iso_format format;
    if (iso_format_guess(path, &format, &error) != ISO_OK)
        return false;
    if (!iso_format_is_native(format))
        return iso_format_read(format, path, history, &error) == ISO_OK;
    bool fine = iso_read_history(&path, 1, &native, history, &error) == ISO_OK;
    if (fine && bench->initial)
        history->initial.other_value =
            iso_atoms_text(&history->atoms, bench->initial, strlen(bench->initial));
    return fine;
}

static void measure_file(struct bench *bench, const char *path)
{
    struct iso_history history;
    iso_history_init(&history);
    if (read_file(bench, path, &history))
        measure(bench, &history, path);
    else
        fprintf(stderr, "%s: left out\n", path);
    iso_history_release(&history);
}

/* ---- generated ---- */

struct shape {
    uint32_t transactions, keys, sessions;
};

static void measure_workload(struct bench *bench, const char *kind, const struct shape *shape,
                             bool serial)
{
    const struct blackbox_workload workload = {.name = kind,
                                               .transactions = shape->transactions,
                                               .keys = shape->keys,
                                               .sessions = shape->sessions,
                                               .operations = 8,
                                               .seed = shape->sessions,
                                               .serial = serial};
    struct iso_history history;
    char name[100];
    snprintf(name, sizeof name, "%s%s, %u transactions of %u sessions", kind,
             serial ? ", serial" : "", shape->transactions, shape->sessions);
    iso_history_init(&history);
    if (blackbox_workload_make(&workload, &history))
        measure(bench, &history, name);
    if (history.finished && serial && shape->transactions <= 2000 &&
        shape->sessions <= 40) /* sessions say nothing: the hardest level */
        measure_at(bench, &history, ISO_ADYA_SI, name);
    iso_history_release(&history);
}

/* Those of few keys and the same sessions are beginnings of one another; the last are the largest
 * of `make bench` that take seconds. */
static void measure_workloads(struct bench *bench)
{
    static const char *const kinds[] = {"blindw", "bl", "rh", "wh", "hd", "rmw"};
    static const struct shape shapes[] = {
        {500, 400, 8},   {2000, 400, 8},  {5000, 400, 8},   {500, 400, 40},   {2000, 400, 40},
        {5000, 400, 40}, {500, 400, 300}, {2000, 400, 300}, {5000, 400, 300}, {20000, 10000, 20}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++)
            measure_workload(bench, kinds[kind], &shapes[i / 2], i % 2);
    }
    print_table(bench, "Workloads");
}

static bool append_block(void *history, const struct iso_history *block)
{
    iso_history_append(history, block, 0, 0);
    return true;
}

/* A sixteenth of them with an anomaly each. */
static void measure_store(struct bench *bench, uint32_t shape)
{
    static const char *const distributions[] = {"uniform", "zipf", "hot spot"};
    uint32_t anomalies;
    const struct iso_plant plant = {
        .anomaly = iso_anomalies(&anomalies), .count = 1, .everywhere = true};
    const struct iso_generate_options options = {.sessions = shape & 1 ? 300 : 30,
                                                 .transactions = 5000,
                                                 .operations = 10,
                                                 .keys = shape & 2 ? 2000 : 200,
                                                 .read_share = (uint64_t)1 << (shape & 4 ? 30 : 31),
                                                 .aborted_share = 1 << 28,
                                                 .unknown_share = 1 << 26,
                                                 .level = shape & 8 ? ISO_SER : ISO_SI,
                                                 .lists = shape & 16,
                                                 .distribution =
                                                     (enum iso_distribution)(shape / 32 % 3),
                                                 .order = ISO_ORDER_RANDOM,
                                                 .seed = shape,
                                                 .plants = &plant,
                                                 .plant_count = shape % 16 == 15};
    struct iso_generated generated;
    struct iso_history history;
    char name[100];
    snprintf(name, sizeof name, "store %u: %s, %u sessions, %u keys%s", shape,
             distributions[options.distribution], options.sessions, options.keys,
             options.lists ? ", lists" : "");
    iso_history_init(&history);
    iso_history_input(&history, "generated");
    iso_generate(&options, append_block, &history, &generated);
    iso_generated_release(&generated);
    measure(bench, &history, name);
    iso_history_release(&history);
}

static void measure_random(struct bench *bench)
{
    struct random_history_options options = random_history_defaults();
    options.timestamps = false;
    for (uint64_t seed = 1; seed <= bench->random; seed++) {
        struct plain_history plain;
        struct iso_history history;
        struct iso_error error = {0};
        char name[32];
        snprintf(name, sizeof name, "random %llu", (unsigned long long)seed);
        iso_history_init(&history);
        random_history(seed, &options, &plain);
        if (plain_history_build(&plain, &history, &error) == ISO_OK)
            measure(bench, &history, name);
        iso_history_release(&history);
    }
    print_table(bench, "Small random histories");
}

int main(int argc, char **argv)
{
    struct bench bench = {.rounds = 2, .timeout = 10, .random = 20000};
    const struct argument known[] = {
        {"--rounds", .number = &bench.rounds}, {"--timeout", .number = &bench.timeout},
        {"--initial", .text = &bench.initial}, {"--random", .number = &bench.random},
        {"--only", .text = &bench.only},       {0}};
    int words = 1;
    while (words + 1 < argc && !strncmp(argv[words], "--", 2))
        words += 2;
    if (!arguments_read(known, words, argv))
        return 2;
    for (int i = words; i < argc; i++)
        measure_file(&bench, argv[i]);
    print_table(&bench, "Recorded histories");
    for (uint32_t shape = 0; shape < 96; shape++)
        measure_store(&bench, shape);
    print_table(&bench, "Simulated stores");
    measure_workloads(&bench);
    measure_random(&bench);
    return bench.changed != 0;
}
