/* `isochron bench aion`: the online engine alone, without decoders and sinks.
 *
 * Three runs a point, each in its own process. Two are saturated: transactions wait in front of the
 * engine, in the order of their commits or as their delays let them arrive, and the engine takes
 * them in batches; that is its throughput. The third goes by a clock of its own: it stands where
 * the engine's work has brought it, and jumps to the next arrival when nothing waits; that gives
 * the latencies at the arrival rate, and the flip-flops. Watermarks are as good as can be: up to
 * the least commit timestamp that has not arrived.
 */
#include <inttypes.h>

#include "aion/aion.h"
#include "benchmark/arrivals.h"
#include "base/memory.h"
#include "base/sorted.h"
#include "base/team.h"
#include "measure/percentile.h"

enum {
    IN_ORDER,
    DELAYED,
    SHARE,
    TENTATIVE_50,
    TENTATIVE_99,
    FINAL_50,
    FINAL_99,
    FLIPPED,
    RECHECKS,
    ENGINE_MEMORY,
    PEAK_MEMORY,
    VIOLATIONS,
    COLUMNS
};

static const struct iso_figure_column columns[COLUMNS] = {
    {"in_order", "/s", ISO_BETTER_HIGHER},     {"delayed", "/s", ISO_BETTER_HIGHER},
    {"delayed_share", "%", ISO_BETTER_HIGHER}, {"tentative_p50", "us", ISO_BETTER_LOWER},
    {"tentative_p99", "us", ISO_BETTER_LOWER}, {"final_p50", "ms", ISO_BETTER_LOWER},
    {"final_p99", "ms", ISO_BETTER_LOWER},     {"flipped", "%", ISO_BETTER_NEITHER},
    {"rechecks", "", ISO_BETTER_NEITHER},      {"engine_memory", "MiB", ISO_BETTER_LOWER},
    {"peak_memory", "MiB", ISO_BETTER_LOWER},  {"violations", "", ISO_BETTER_NEITHER},
};

static const char *const experiments[] = {"aion", NULL};
static const char *const sweeps[] = {"sessions", "txns",  "ops",       "keys", "dist",
                                     "reads",    "delay", "deviation", NULL};

static void add_settings(const struct bench *bench, char *text, size_t size)
{
    snprintf(text, size,
             " --rate %" PRIu64 " --delay %" PRIu32 " --deviation %" PRIu32 " --batch %" PRIu64
             " --settle %" PRIu64 " --retention %" PRIu64,
             bench->rate, bench->delay, bench->deviation, bench->batch, bench->settle,
             bench->retention);
}

/* ---- the engine ---- */

/* How an engine gets the arrivals, and what is measured there. */
typedef enum iso_status feed(struct iso_aion *engine, const struct bench_arrivals *arrivals,
                             uint32_t batch, double *numbers, struct iso_error *error);

struct run {
    const struct bench_point *point;
    bool delayed;
    feed *feed;
};

static struct iso_aion *new_engine(const struct bench *bench, struct iso_team *team,
                                   const struct iso_history *history)
{
    struct iso_aion_options options = bench_engine_options(bench, team);
    options.settle_ms = bench->settle;
    struct iso_aion *engine = iso_aion_new(&options);
    iso_aion_initial(engine, history);
    iso_aion_block(engine, history);
    return engine;
}

static enum iso_status run_engine(void *context, double *numbers, struct iso_error *error)
{
    const struct run *run = context;
    const struct bench *bench = &run->point->bench;
    struct bench_arrivals arrivals;
    if (bench_arrivals_init(&arrivals, run->point, run->delayed, error) == ISO_OK) {
        struct iso_team *team = iso_team_new((uint32_t)bench->threads);
        struct iso_aion *engine = new_engine(bench, team, &arrivals.history);
        run->feed(engine, &arrivals, (uint32_t)bench->batch, numbers, error);
        iso_aion_free(engine);
        iso_team_free(team);
    }
    bench_arrivals_release(&arrivals);
    return error->status;
}

/* ---- saturated ---- */

enum { RATE, BYTES, FOUND, SATURATED_NUMBERS };

static uint64_t larger_bytes(uint64_t bytes, const struct iso_aion *engine)
{
    struct iso_aion_stats stats;
    iso_aion_stats(engine, &stats);
    return stats.bytes > bytes ? stats.bytes : bytes;
}

/* Everything, batch after batch; time is that of the arrivals. */
static enum iso_status feed_saturated(struct iso_aion *engine,
                                      const struct bench_arrivals *arrivals, uint32_t batch,
                                      double *numbers, struct iso_error *error)
{
    enum { LOOK_EVERY = 64 };
    struct iso_aion_stats stats;
    uint32_t count = arrivals->history.txns.count, batches = 0;
    uint64_t bytes = 0, now = 0;
    double started = iso_clock_seconds();
    for (uint32_t first = 0; first < count; first += batch) {
        uint32_t taken = count - first < batch ? count - first : batch;
        now = arrivals->arrivals[first + taken - 1].microseconds / 1000;
        if (iso_aion_add(engine, first, taken, now, NULL, error) != ISO_OK)
            return error->status;
        if (first + taken < count)
            iso_aion_watermark(engine, arrivals->watermark[first + taken - 1], now);
        if (++batches % LOOK_EVERY == 0)
            bytes = larger_bytes(bytes, engine);
    }
    bytes = larger_bytes(bytes, engine);
    iso_aion_end(engine, now);
    numbers[RATE] = count / (iso_clock_seconds() - started);
    numbers[BYTES] = (double)bytes;
    iso_aion_stats(engine, &stats);
    numbers[FOUND] = 0;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        numbers[FOUND] += (double)stats.counts[axiom];
    return ISO_OK;
}

/* ---- by the clock ---- */

/* One turn of the engine: it took transactions up to `end` and finished at `clock`
 * (microseconds); the watermark passed, and all were judged but those from cts `waiting` on. */
struct turn {
    uint32_t end;
    double clock;
    uint64_t watermark, waiting;
};

struct turns {
    struct turn *list;
    uint32_t count;
};

static double microseconds_since(double started)
{
    return (iso_clock_seconds() - started) * 1e6;
}

/* The engine takes what has arrived, at most a batch, whenever it is free. */
static enum iso_status take_turns(struct iso_aion *engine, const struct bench_arrivals *arrivals,
                                  uint32_t batch, struct turns *turns, struct iso_error *error)
{
    uint32_t count = arrivals->history.txns.count, first = 0;
    struct iso_aion_stats stats;
    double clock = 0;
    while (first < count) {
        uint32_t end = first;
        if (clock < (double)arrivals->arrivals[first].microseconds)
            clock = (double)arrivals->arrivals[first].microseconds;
        while (end < count && end - first < batch &&
               (double)arrivals->arrivals[end].microseconds <= clock)
            end++;
        double started = iso_clock_seconds();
        if (iso_aion_add(engine, first, end - first, (uint64_t)(clock / 1000), NULL, error) !=
            ISO_OK)
            return error->status;
        if (end < count)
            iso_aion_watermark(engine, arrivals->watermark[end - 1], (uint64_t)(clock / 1000));
        clock += microseconds_since(started);
        iso_aion_stats(engine, &stats);
        turns->list[turns->count++] =
            (struct turn){end, clock, arrivals->watermark[end - 1], stats.waiting_from};
        first = end;
    }
    iso_aion_end(engine, (uint64_t)(clock / 1000));
    turns->list[turns->count - 1].waiting = UINT64_MAX;
    return ISO_OK;
}

/* The first turn from `low` whose watermark is at least `wanted`; the last one's is, since nothing
 * follows it. */
static uint32_t turn_reaching(const struct turns *turns, uint32_t low, uint64_t wanted)
{
    uint32_t high = turns->count - 1;
    ISO_BISECT(low, high, middle, turns->list[middle].watermark < wanted);
    return low;
}

/* The first turn from `turn` after which nothing at or below `cts` waits. */
static uint32_t turn_judging(const struct turns *turns, uint32_t turn, uint64_t cts)
{
    while (turns->list[turn].waiting <= cts && turn + 1 < turns->count)
        turn++;
    return turn;
}

static void add_latency(struct iso_histogram *histogram, double clock, uint64_t arrived)
{
    double latency = (clock - (double)arrived) * 1e3;
    iso_histogram_add(histogram, latency > 0 ? (uint64_t)latency : 0, 1);
}

/* Nanoseconds from arrival: to the end of the turn that judged the transaction, which may have
 * waited for its turn after it was taken, and of the one that made the verdict final. */
static void fill_latencies(const struct bench_arrivals *arrivals, const struct turns *turns,
                           double *numbers)
{
    struct iso_histogram *tentative = iso_allocate_zeroed(1, sizeof *tentative);
    struct iso_histogram *settled = iso_allocate_zeroed(1, sizeof *settled);
    for (uint32_t turn = 0, t = 0; turn < turns->count; turn++) {
        for (; t < turns->list[turn].end; t++) {
            uint64_t arrived = arrivals->arrivals[t].microseconds;
            if (iso_status_of(&arrivals->history, t) != ISO_COMMITTED)
                continue;
            uint32_t judged = turn_judging(turns, turn, arrivals->history.txns.cts[t]);
            uint32_t final = turn_reaching(turns, turn, arrivals->settled[t]);
            add_latency(tentative, turns->list[judged < final ? judged : final].clock, arrived);
            add_latency(settled, turns->list[final].clock, arrived);
        }
    }
    numbers[TENTATIVE_50] = (double)iso_histogram_percentile(tentative, 0.5) / 1e3;
    numbers[TENTATIVE_99] = (double)iso_histogram_percentile(tentative, 0.99) / 1e3;
    numbers[FINAL_50] = (double)iso_histogram_percentile(settled, 0.5) / 1e6;
    numbers[FINAL_99] = (double)iso_histogram_percentile(settled, 0.99) / 1e6;
    ISO_FREE_ALL(tentative, settled);
}

static enum iso_status feed_by_clock(struct iso_aion *engine, const struct bench_arrivals *arrivals,
                                     uint32_t batch, double *numbers, struct iso_error *error)
{
    size_t count = arrivals->history.txns.count;
    struct turns turns = {.list = iso_allocate((count + 1) * sizeof *turns.list)};
    struct iso_aion_stats stats;
    if (take_turns(engine, arrivals, batch, &turns, error) == ISO_OK && count) {
        iso_aion_stats(engine, &stats);
        fill_latencies(arrivals, &turns, numbers);
        numbers[FLIPPED] = 100.0 * (double)stats.flipped / (double)stats.transactions;
        numbers[RECHECKS] = (double)stats.rechecks;
    }
    iso_free(turns.list);
    return error->status;
}

static enum iso_status measure_aion(struct bench_point *point, double *numbers,
                                    struct iso_error *error)
{
    struct run by_clock = {point, true, feed_by_clock}, in_order = {point, false, feed_saturated},
               delayed = {point, true, feed_saturated};
    double first[SATURATED_NUMBERS], second[SATURATED_NUMBERS];
    uint64_t peak = 0;
    if (iso_child_measure(run_engine, &by_clock, numbers, COLUMNS, NULL, error) != ISO_OK ||
        iso_child_measure(run_engine, &in_order, first, SATURATED_NUMBERS, NULL, error) != ISO_OK ||
        iso_child_measure(run_engine, &delayed, second, SATURATED_NUMBERS, &peak, error) != ISO_OK)
        return error->status;
    numbers[IN_ORDER] = first[RATE];
    numbers[DELAYED] = second[RATE];
    numbers[SHARE] = 100 * second[RATE] / first[RATE];
    numbers[ENGINE_MEMORY] = BENCH_MEBIBYTES(second[BYTES]);
    numbers[PEAK_MEMORY] = BENCH_MEBIBYTES(peak);
    numbers[VIOLATIONS] = second[FOUND];
    return ISO_OK;
}

static const char *const takes[] = {"rate",      "delay",   "deviation", "batch", "settle",
                                    "retention", "threads", "seed",      NULL};

const struct bench_kind bench_aion = {
    .name = "aion",
    .experiments = experiments,
    .sweeps = sweeps,
    .takes = takes,
    .file_format = "a history",
    .columns = columns,
    .column_count = COLUMNS,
    .add_settings = add_settings,
    .measure = measure_aion,
};
