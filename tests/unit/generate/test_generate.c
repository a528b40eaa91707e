/* Generated histories: chronos finds exactly what the generator says, at both levels, for every mix
 * of options. */
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdio.h>

#include "chronos/chronos.h"
#include "generate/anomaly.h"
#include "generate/generate.h"
#include "rowsets/rowsets.h"
#include "tests/support/history.h"

struct run {
    struct iso_history history;
    struct iso_generated generated;
    uint32_t stop_after; /* blocks; 0: never */
    uint32_t blocks;
};

static bool take(void *context, const struct iso_history *block)
{
    struct run *run = context;
    run->history.clock = ISO_CLOCK_SCALAR;
    iso_history_append(&run->history, block, 0, 0);
    return ++run->blocks != run->stop_after;
}

static void run_init(struct run *run, const struct iso_generate_options *options)
{
    memset(run, 0, sizeof *run);
    iso_history_init(&run->history);
    iso_history_input(&run->history, "generated");
    iso_generate(options, take, run, &run->generated);
}

static void run_release(struct run *run)
{
    iso_generated_release(&run->generated);
    iso_history_release(&run->history);
}

static struct iso_generate_options small_run(uint64_t seed)
{
    return (struct iso_generate_options){.sessions = 8,
                                         .transactions = 400,
                                         .operations = 6,
                                         .keys = 25,
                                         .read_share = (uint64_t)1 << 31,
                                         .seed = seed};
}

static void judge(const struct iso_history *history, enum iso_level level,
                  struct iso_verdict *verdict)
{
    struct iso_check_options options = {.level = level, .session_order = true, .threads = 1};
    struct iso_error error = {.status = ISO_OK};
    iso_verdict_init(verdict, history, level, 0);
    if (iso_chronos_check(history, &options, verdict, &error) != ISO_OK)
        fail_msg("%s", error.text);
    iso_verdict_conclude(verdict, false);
}

/* What queries did not find, each transaction and key once: "7 p30/2 missing-row\n". */
struct found {
    struct iso_text text;
    uint64_t count;
};

static void note_finding(void *context, const struct iso_rowsets_finding *finding)
{
    struct found *found = context;
    char line[160];
    int head = snprintf(line, sizeof line, "\n%.*s %.*s ", (int)finding->transaction.tid.length,
                        finding->transaction.tid.at, (int)finding->key.length, finding->key.at);
    if (strstr(found->text.bytes, line))
        return;
    found->text.used--; /* its NUL */
    snprintf(line + head, sizeof line - (size_t)head, "%s\n",
             iso_violation_kind_name(finding->kind));
    iso_text_put_bytes(&found->text, line + 1, strlen(line));
    found->count++;
}

/* As `check` knows the columns of a file. */
static struct iso_scalar_type type_of(void *context, struct iso_json_text table,
                                      struct iso_json_text column)
{
    (void)context;
    (void)table;
    (void)column;
    return (struct iso_scalar_type){.text = ISO_TEXT_DISTINCT};
}

/* Adds those that were not judged to `unjudged`. */
static uint64_t judge_queries(const struct iso_history *history, enum iso_level level,
                              struct found *found, uint64_t *unjudged)
{
    struct iso_rowsets_options options;
    struct iso_rowsets_stats stats;
    iso_rowsets_options_init(&options);
    options.level = level;
    options.type_of = type_of;
    options.on_finding = note_finding;
    options.context = found;
    iso_text_put_bytes(&found->text, "\n", 2);
    iso_rowsets_check(history, &options, &stats);
    *unjudged += stats.unjudged;
    return found->count;
}

static bool query_is_found(const struct found *found, const struct iso_planted *planted,
                           const struct iso_script_finding *finding)
{
    char key[ISO_PLANTED_KEY], line[120];
    iso_planted_key(planted, finding, key);
    snprintf(line, sizeof line, "\n%" PRIu64 " %s %s\n", planted->first_tid + finding->transaction,
             key, iso_violation_kind_name(finding->kind));
    return strstr(found->text.bytes, line);
}

static bool has_tid(const struct iso_history *history, uint32_t transaction, uint64_t tid)
{
    return transaction != ISO_NONE && history->txns.tid[transaction] == tid;
}

static bool has_key(const struct iso_history *history, uint32_t key,
                    const struct iso_planted *planted, const struct iso_script_finding *finding)
{
    char text[ISO_PLANTED_KEY];
    iso_atom atom;
    if (!finding->key)
        return key == ISO_NONE;
    iso_planted_key(planted, finding, text);
    return iso_atoms_find(&history->atoms, text, strlen(text), &atom) &&
           history->keys.atom[key] == atom;
}

static bool is_found(const struct iso_verdict *verdict, const struct iso_planted *planted,
                     const struct iso_script_finding *finding)
{
    const struct iso_history *history = verdict->history;
    for (uint32_t i = 0; i < verdict->violation_count; i++) {
        const struct iso_violation *violation = &verdict->violations[i];
        if (violation->axiom == finding->axiom && violation->kind == finding->kind &&
            has_tid(history, violation->transaction, planted->first_tid + finding->transaction) &&
            (finding->other == ISO_SCRIPT_NOBODY ||
             has_tid(history, violation->other, planted->first_tid + finding->other)) &&
            has_key(history, violation->key, planted, finding))
            return true;
    }
    return false;
}

static void assert_as_expected(const struct run *run, enum iso_level level, const char *what)
{
    struct iso_verdict verdict;
    const struct iso_expectation *expected = &run->generated.levels[level];
    judge(&run->history, level, &verdict);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++) {
        uint64_t count = expected->counts[axiom] - (axiom == ISO_EXT ? expected->of_queries : 0);
        if (verdict.counts[axiom] != count)
            fail_msg("%s at %s: %s %llu, expected %llu", what, iso_level_name(level),
                     iso_axiom_name((enum iso_axiom)axiom),
                     (unsigned long long)verdict.counts[axiom], (unsigned long long)count);
    }
    struct found found = {.count = 0};
    uint64_t unjudged = verdict.reads_unjudged,
             of_queries = judge_queries(&run->history, level, &found, &unjudged);
    if (of_queries != expected->of_queries)
        fail_msg("%s at %s: %llu of queries, expected %llu", what, iso_level_name(level),
                 (unsigned long long)of_queries, (unsigned long long)expected->of_queries);
    if (unjudged != expected->reads_unjudged)
        fail_msg("%s at %s: %llu unjudged, expected %llu", what, iso_level_name(level),
                 (unsigned long long)unjudged, (unsigned long long)expected->reads_unjudged);
    if (!of_queries &&
        unjudged == verdict.reads_unjudged) /* else the engines by themselves may find nothing */
        assert_int_equal(verdict.outcome, iso_generated_outcome(&run->generated, level));
    for (uint32_t i = 0; i < run->generated.planted_count; i++) {
        const struct iso_planted *planted = &run->generated.planted[i];
        for (int f = 0; f < ISO_SCRIPT_FINDINGS; f++) {
            const struct iso_script_finding *finding = &planted->anomaly->findings[level][f];
            if (finding->used && !(finding->of_query ? query_is_found(&found, planted, finding)
                                                     : is_found(&verdict, planted, finding)))
                fail_msg("%s at %s: %s was not found", what, iso_level_name(level),
                         planted->anomaly->name);
        }
    }
    iso_text_release(&found.text);
    iso_verdict_release(&verdict);
}

/* Returns how much was of queries, at both levels. */
static uint64_t assert_run(const struct iso_generate_options *options, const char *what)
{
    struct run run;
    struct iso_error error = {.status = ISO_OK};
    run_init(&run, options);
    assert_int_equal(iso_history_finish(&run.history, &error), ISO_OK);
    assert_int_equal(run.history.totals.committed, run.generated.committed);
    assert_int_equal(run.history.totals.aborted, run.generated.aborted);
    assert_int_equal(run.history.totals.unknown, run.generated.unknown);
    assert_int_equal(run.history.ops.count, run.generated.operations);
    for (int level = ISO_SI; level <= ISO_SER; level++)
        if (iso_generate_knows(options, (enum iso_level)level))
            assert_as_expected(&run, (enum iso_level)level, what);
    uint64_t of_queries =
        run.generated.levels[ISO_SI].of_queries + run.generated.levels[ISO_SER].of_queries;
    run_release(&run);
    return of_queries;
}

static void every_mix(void **state)
{
    (void)state;
    for (unsigned mix = 0; mix < 2 * 2 * 3 * 3 * 4; mix++) {
        struct iso_generate_options options = small_run(mix + 1);
        char what[80];
        options.level = mix % 2 ? ISO_SER : ISO_SI;
        options.lists = mix / 2 % 2;
        options.distribution = (enum iso_distribution)(mix / 4 % 3);
        options.order = (enum iso_generate_order)(mix / 12 % 3);
        options.aborted_share = mix / 36 % 2 ? (uint64_t)1 << 29 : 0;
        options.unknown_share = mix / 72 % 2 ? (uint64_t)1 << 29 : 0;
        snprintf(what, sizeof what, "mix %u", mix);
        assert_run(&options, what);
        options.level = ISO_RC;
        snprintf(what, sizeof what, "mix %u, of two statements", mix);
        assert_run(&options, what);
    }
}

static struct iso_generate_options small_run_of_rows(uint64_t seed)
{
    struct iso_generate_options options = small_run(seed);
    options.tables = 1 + seed % 3;
    options.columns = 1 + seed % 7;
    options.keys = 60;
    options.span = 5;
    options.range_share = options.condition_share = options.aggregate_share = (uint64_t)1 << 30;
    options.delete_share = (uint64_t)1 << 30;
    return options;
}

static void every_mix_of_rows(void **state)
{
    (void)state;
    uint64_t other_level = 0;
    for (unsigned mix = 0; mix < 2 * 3 * 3 * 2; mix++) {
        struct iso_generate_options options = small_run_of_rows(mix + 1);
        char what[80];
        options.level = mix % 2 ? ISO_SER : ISO_SI;
        options.distribution = (enum iso_distribution)(mix / 2 % 3);
        options.order = (enum iso_generate_order)(mix / 6 % 3);
        options.aborted_share = mix / 18 % 2 ? (uint64_t)1 << 29 : 0;
        snprintf(what, sizeof what, "mix %u of rows", mix);
        other_level += assert_run(&options, what);
    }
    assert_true(other_level > 36 * 100);
}

/* Texts, rows without keys, and with more than one column transactions of unknown outcome, of which
 * those that took effect are seen. */
static void every_sort_of_rows(void **state)
{
    uint64_t seeds = getenv("SEEDS") ? strtoull(getenv("SEEDS"), NULL, 10) : 24;
    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct iso_generate_options options = small_run_of_rows(seed);
        char what[80];
        options.level = seed % 2 ? ISO_SER : ISO_SI;
        options.order = (enum iso_generate_order)(seed / 2 % 3);
        options.texts = seed / 6 % 2;
        options.range_share = options.condition_share = options.aggregate_share =
            options.bag_share = (uint64_t)3 << 28;
        options.aborted_share = seed / 3 % 2 ? (uint64_t)1 << 29 : 0;
        options.unknown_share = options.columns > 1 && seed / 12 % 2 ? (uint64_t)1 << 29 : 0;
        snprintf(what, sizeof what, "seed %llu of sorts of rows", (unsigned long long)seed);
        assert_run(&options, what);
    }
}

static void every_anomaly(void **state)
{
    (void)state;
    uint32_t count;
    const struct iso_anomaly_script *anomalies = iso_anomalies(&count);
    for (uint32_t i = 0; i < 6 * count; i++) {
        struct iso_plant plant = {.anomaly = &anomalies[i / 6], .count = 3, .everywhere = true};
        struct iso_generate_options options = i / 2 % 3 == 2 ? small_run_of_rows(i) : small_run(i);
        options.level = i % 2 ? ISO_SER : ISO_SI;
        options.lists = i / 2 % 3 == 1;
        options.plants = &plant;
        options.plant_count = 1;
        assert_run(&options, plant.anomaly->name);
    }
}

/* Keys that are all held, sessions without company, only reads, only writes. */
static void extremes(void **state)
{
    (void)state;
    struct iso_generate_options options = small_run(1);
    options.keys = 1;
    assert_run(&options, "one key");
    options.sessions = 1;
    assert_run(&options, "one session");
    options = small_run(2);
    options.read_share = (uint64_t)1 << 32;
    assert_run(&options, "only reads");
    options.read_share = 0;
    assert_run(&options, "only writes");
    options.aborted_share = (uint64_t)1 << 32;
    assert_run(&options, "all aborted");
    options = small_run(3);
    options.transactions = options.operations = 1;
    assert_run(&options, "one operation");
}

static void the_same_for_a_seed(void **state)
{
    (void)state;
    struct run runs[6];
    for (uint64_t i = 0; i < 6; i++) {
        struct iso_generate_options options = i < 3 ? small_run(i / 2) : small_run_of_rows(i / 2);
        run_init(&runs[i], &options);
    }
    test_same_history(&runs[0].history, &runs[1].history, "same seed");
    assert_memory_not_equal(runs[0].history.ops.key, runs[2].history.ops.key,
                            100 * sizeof(uint32_t));
    test_same_history(&runs[4].history, &runs[5].history, "same seed of rows");
    assert_memory_not_equal(runs[3].history.ops.key, runs[4].history.ops.key,
                            100 * sizeof(uint32_t));
    for (int i = 0; i < 6; i++)
        run_release(&runs[i]);
}

static void orders(void **state)
{
    (void)state;
    struct iso_generate_options options = small_run(1);
    struct run commit, start, random;
    run_init(&commit, &options);
    options.order = ISO_ORDER_START;
    run_init(&start, &options);
    options.order = ISO_ORDER_RANDOM;
    run_init(&random, &options);
    unsigned inversions = 0;
    for (uint32_t t = 1; t < options.transactions; t++) {
        assert_true(commit.history.txns.cts[t - 1] < commit.history.txns.cts[t]);
        assert_true(start.history.txns.sts[t - 1] < start.history.txns.sts[t]);
        inversions += random.history.txns.cts[t - 1] > random.history.txns.cts[t];
        assert_true(random.history.txns.flags[t] & ISO_HAS_SNO);
    }
    assert_in_range(inversions, options.transactions / 3, options.transactions);
    run_release(&commit);
    run_release(&start);
    run_release(&random);
}

static void a_sink_ends_the_run(void **state)
{
    (void)state;
    struct iso_generate_options options = small_run(1);
    struct run run = {.stop_after = 2};
    options.transactions = 100000;
    iso_history_init(&run.history);
    iso_history_input(&run.history, "generated");
    iso_generate(&options, take, &run, &run.generated);
    assert_int_equal(run.blocks, 2);
    assert_in_range(run.generated.committed, 1000, 20000);
    run_release(&run);
}

static void places(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t count;
        bool everywhere;
        uint64_t place;
    } good[] = {{"lost-update", 1, true, 0},         {"lost-update:7", 7, true, 0},
                {"write-skew@0.25", 1, false, 250},  {"write-skew:2@1.0", 2, false, 1000},
                {"stale-read@1000", 1, false, 1000}, {"stale-read@0", 1, false, 0}};
    static const char *const bad[] = {"",
                                      "lost",
                                      "lost-update:",
                                      "lost-update:0",
                                      "lost-update@",
                                      "lost-update@1001",
                                      "lost-update@1.1",
                                      "lost-update:2x",
                                      "lost-update@0.5x",
                                      "lost-update@-1"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct iso_plant plant;
        struct iso_error error = {.status = ISO_OK};
        assert_int_equal(iso_plant_parse(good[i].text, 1000, &plant, &error), ISO_OK);
        assert_int_equal(plant.count, good[i].count);
        assert_int_equal(plant.everywhere, good[i].everywhere);
        assert_int_equal(plant.place, good[i].place);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct iso_plant plant;
        struct iso_error error = {.status = ISO_OK};
        assert_int_equal(iso_plant_parse(bad[i], 1000, &plant, &error), ISO_BAD_INPUT);
        assert_non_null(strstr(error.text, "--anomaly"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mix),
        cmocka_unit_test(every_mix_of_rows),
        cmocka_unit_test(every_sort_of_rows),
        cmocka_unit_test(every_anomaly),
        cmocka_unit_test(extremes),
        cmocka_unit_test(orders),
        cmocka_unit_test(the_same_for_a_seed),
        cmocka_unit_test(a_sink_ends_the_run),
        cmocka_unit_test(places),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
