/* No input makes the engine compare each with all: twice as many transactions take about twice the
 * steps, for each kind of input that once took four times as many. Counted, not timed. */
#include <inttypes.h>
#include <stdio.h>

#include "aion/aion.h"
#include "base/memory.h"
#include "base/names.h"
#include "tests/support/test.h"

enum { FEW = 6000, LISTED = 50, SESSION = 9 };

struct transaction {
    uint32_t session;
    uint64_t sno, sts, cts; /* cts 0: of unknown outcome */
    uint32_t read, written; /* values of key 1; NOTHING: not done */
};
#define NOTHING UINT32_MAX

typedef struct transaction (*maker)(uint32_t i, uint32_t n);

static struct transaction descending_places(uint32_t i, uint32_t n)
{
    return (struct transaction){SESSION, n - i, 2 * i + 1, 2 * i + 1, 0, NOTHING};
}

static struct transaction one_place(uint32_t i, uint32_t n)
{
    return (struct transaction){SESSION, 1, 2 * (n - i), 2 * (n - i), 0, NOTHING};
}

static struct transaction one_moment(uint32_t i, uint32_t n)
{
    (void)n;
    return (struct transaction){0, 0, 5, 5, i, i + 1};
}

static struct transaction one_interval(uint32_t i, uint32_t n)
{
    (void)n;
    return (struct transaction){0, 0, 5, 6, NOTHING, i};
}

static struct transaction all_overlap(uint32_t i, uint32_t n)
{
    return (struct transaction){0, 0, 1 + i, 2 * n + i, NOTHING, i};
}

static struct transaction wrong_way_round(uint32_t i, uint32_t n)
{
    uint64_t low = n - i, high = 3 * n + i;
    return (struct transaction){0, 0, i & 1 ? high : low, i & 1 ? low : high, NOTHING, i};
}

static struct transaction under_a_giant(uint32_t i, uint32_t n)
{
    if (!i)
        return (struct transaction){0, 0, 1, 10 * n, NOTHING, 0};
    return (struct transaction){0, 0, 4 * (n - i), 4 * (n - i) + 1, NOTHING, i};
}

static struct transaction writers_below_readers(uint32_t i, uint32_t n)
{
    if (i < n / 2)
        return (struct transaction){0, 0, 1000000000 + i, 1000000000 + i, 0, NOTHING};
    return (struct transaction){0, 0, 2 * i + 1, 2 * i + 2, NOTHING, i};
}

/* Each writer makes all of the reads right that were wrong, or the other way round. */
static struct transaction flipping(uint32_t i, uint32_t n)
{
    if (i < n / 2)
        return (struct transaction){0, 0, 1000000000 + i, 1000000000 + i, 1, NOTHING};
    return (struct transaction){0, 0, 2 * i + 1, 2 * i + 2, NOTHING, i & 1};
}

static struct transaction unknown_below_readers(uint32_t i, uint32_t n)
{
    if (i < n / 2)
        return (struct transaction){0, 0, 1000000000 + i, 1000000000 + i, 7, NOTHING};
    return (struct transaction){0, 0, 2 * i + 1, 0, NOTHING, 7};
}

static struct transaction unknown_too_late(uint32_t i, uint32_t n)
{
    if (i < n / 2)
        return (struct transaction){0, 0, 1000000000 + i, 0, NOTHING, 7};
    return (struct transaction){0, 0, 2 * i + 1, 2 * i + 1, 7, NOTHING};
}

/* Each reads what one of the others wrote, and none what it had to see; their key has as many
 * versions. */
static struct transaction all_stale(uint32_t i, uint32_t n)
{
    if (i < n / 2)
        return (struct transaction){0, 0, 2 * i + 1, 2 * i + 2, NOTHING, i};
    return (struct transaction){0, 0, 4 * n + i, 4 * n + i, i % (n / 4), NOTHING};
}

/* The same, of one value. */
static struct transaction one_stale_value(uint32_t i, uint32_t n)
{
    if (i < n / 2)
        return (struct transaction){0, 0, 2 * i + 1, 2 * i + 2, NOTHING, i + 1 == n / 2 ? 8 : 7};
    return (struct transaction){0, 0, 4 * n + i, 4 * n + i, 7, NOTHING};
}

static void add(struct iso_history *block, const struct transaction *transaction, uint32_t tid)
{
    bool unknown = !transaction->cts;
    uint32_t t = iso_history_begin(block, tid, transaction->session,
                                   unknown ? ISO_UNKNOWN : ISO_COMMITTED, tid);
    if (!transaction->session)
        block->txns.session[t] = ISO_NONE;
    else
        iso_history_set_sno(block, transaction->sno);
    iso_history_set_sts(block, (struct iso_stamp){.physical = transaction->sts});
    if (!unknown)
        iso_history_set_cts(block, (struct iso_stamp){.physical = transaction->cts});
    if (transaction->read != NOTHING)
        iso_history_operation(block, ISO_READ, 1, transaction->read);
    if (transaction->written != NOTHING)
        iso_history_operation(block, ISO_WRITE, 1, transaction->written);
}

static uint64_t events;

static void count(void *context, const struct iso_aion_event *event)
{
    (void)context, (void)event;
    events++;
}

static bool is_doubted(void *context, const struct iso_atoms *atoms, iso_atom tid)
{
    (void)context, (void)atoms;
    return tid % 5 == 0;
}

static void conflict_window(void *context, const char *key, size_t length, uint64_t cts,
                            uint64_t *from, uint64_t *to)
{
    (void)context, (void)key, (void)length;
    *from = cts - cts % 1000;
    *to = *from + 999;
}

/* `joined`: as beside change streams, where something is to be said of each pair, and of each
 * read. */
static struct iso_aion *open_engine(struct iso_history *block, enum iso_level level, bool joined)
{
    struct iso_aion_options options;
    iso_history_init(block);
    block->clock = ISO_CLOCK_SCALAR;
    iso_aion_options_init(&options);
    options.level = level;
    options.finality_timeout_ms = 0;
    options.max_per_key = LISTED;
    options.host.emit = count;
    options.host.provenance = joined;
    options.host.is_doubted = joined ? is_doubted : NULL;
    options.host.conflict_window = joined ? conflict_window : NULL;
    struct iso_aion *engine = iso_aion_new(&options);
    iso_aion_block(engine, block);
    return engine;
}

/* One by one, so that nothing is sorted before it is judged. */
static uint64_t steps_of(maker make, uint32_t n, enum iso_level level, bool joined)
{
    struct iso_aion_stats stats;
    struct iso_error error = {.status = ISO_OK};
    struct iso_history block;
    struct iso_aion *engine = open_engine(&block, level, joined);
    for (uint32_t i = 0; i < n; i++) {
        struct transaction transaction = make(i, n);
        add(&block, &transaction, i + 1);
        assert_int_equal(iso_aion_add(engine, i, 1, 0, NULL, &error), ISO_OK);
    }
    iso_aion_end(engine, 0);
    iso_aion_stats(engine, &stats);
    iso_aion_free(engine);
    iso_history_release(&block);
    return stats.steps;
}

static void test_twice_as_many(void **state)
{
    static const struct {
        const char *name;
        maker make;
    } makers[] = {{"descending places", descending_places},
                  {"one place", one_place},
                  {"one moment", one_moment},
                  {"one interval", one_interval},
                  {"all overlap", all_overlap},
                  {"wrong way round", wrong_way_round},
                  {"under a giant", under_a_giant},
                  {"writers below readers", writers_below_readers},
                  {"flipping", flipping},
                  {"unknown below readers", unknown_below_readers},
                  {"unknown too late", unknown_too_late},
                  {"all stale", all_stale},
                  {"one stale value", one_stale_value}};
    (void)state;
    for (size_t i = 0; i < 4 * sizeof makers / sizeof *makers; i++) {
        enum iso_level level = i & 1 ? ISO_SER : ISO_SI;
        bool joined = i & 2;
        events = 0;
        uint64_t few = steps_of(makers[i / 4].make, FEW, level, joined), told = events;
        uint64_t twice = steps_of(makers[i / 4].make, 2 * FEW, level, joined);
        print_message("# %s, %s%s: %" PRIu64 " steps, then %" PRIu64 "; %" PRIu64 " events\n",
                      makers[i / 4].name, iso_level_name(level), joined ? ", joined" : "", few,
                      twice, told);
        assert_true(twice <= few * 5 / 2 +
                                 FEW); /* the square: four times as many, and 18 million at least */
        assert_true(told <= 40 * (uint64_t)FEW);
    }
}

/* All of unknown outcome, which is told afterwards: of one value, or each of its own; the last
 * first, or in order. */
static uint64_t steps_of_outcomes(uint32_t n, bool one_value, bool backwards)
{
    struct iso_aion_stats stats;
    struct iso_error error = {.status = ISO_OK};
    struct iso_history block;
    struct iso_aion *engine = open_engine(&block, ISO_SI, true);
    for (uint32_t i = 0; i < n; i++) {
        struct transaction transaction = {0, 0, 1 + i % 3, 0, NOTHING, one_value ? 7 : i};
        add(&block, &transaction, i + 1);
    }
    assert_int_equal(iso_aion_add(engine, 0, n, 0, NULL, &error), ISO_OK);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t tid = backwards ? n - i : i + 1;
        assert_true(iso_aion_resolve(engine, &block.atoms, tid, tid & 1, n + tid, 0));
        assert_false(iso_aion_resolve(engine, &block.atoms, tid, true, n + tid, 0));
    }
    iso_aion_end(engine, 0);
    iso_aion_stats(engine, &stats);
    assert_int_equal(stats.unknown, 0);
    assert_int_equal(stats.transactions, n / 2);
    iso_aion_free(engine);
    iso_history_release(&block);
    return stats.steps;
}

static void test_outcomes(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        uint64_t few = steps_of_outcomes(FEW, i & 1, i & 2),
                 twice = steps_of_outcomes(2 * FEW, i & 1, i & 2);
        print_message("# outcomes %d: %" PRIu64 " steps, then %" PRIu64 "\n", i, few, twice);
        assert_true(twice <= few * 5 / 2 + FEW);
    }
}

/* Names of a schema: each is looked for in a table. */
static void test_many_names(void **state)
{
    enum { NAMES = 100000 };
    struct iso_names names = {0};
    char(*text)[16] = iso_allocate(NAMES * sizeof *text);
    (void)state;
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(text[i], sizeof *text, "name%" PRIu32, i);
        iso_names_add(&names, text[i], i);
    }
    iso_names_add(&names, "name7", NAMES);
    for (uint32_t i = 0; i < NAMES; i++)
        assert_int_equal(iso_names_find(&names, text[i]), i);
    assert_int_equal(iso_names_find(&names, "name"), ISO_NAMES_NONE);
    iso_names_release(&names);
    iso_free(text);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_twice_as_many),
                                       cmocka_unit_test(test_outcomes),
                                       cmocka_unit_test(test_many_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
