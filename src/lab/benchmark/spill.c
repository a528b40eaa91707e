/* `isochron bench spill`: the online engine with a working set that its memory does not hold.
 *
 * A simulated store executes one transaction after the other; the engine gets them as they commit,
 * with a watermark after each batch. Values are texts of 8 to 200 bytes. One transaction in a
 * thousand is a read-only one that started half of the retention ago and commits now: it reads what
 * has been overwritten since. What the store itself must know, which version each key has, lies in
 * shared memory, so that the process's anonymous memory is the engine's and that of one batch. Only
 * the time inside the engine counts.
 *
 * A long run reports how it goes, a row every so many seconds: of what came since the row before.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "aion/aion.h"
#include "benchmark/sweep.h"
#include "base/memory.h"
#include "base/team.h"

enum {
    RATE,
    PROCESSOR_RATE,
    HITS,
    MISSES,
    EVICTED,
    CLEAN,
    DISK,
    READ,
    WRITTEN,
    PEAK,
    SHARE,
    UNDECIDED,
    VIOLATIONS,
    COLUMNS
};

static const struct iso_figure_column columns[COLUMNS] = {
    {"wall", "/s", ISO_BETTER_HIGHER},       {"processor", "/s", ISO_BETTER_HIGHER},
    {"hits", "%", ISO_BETTER_NEITHER},       {"misses", "/txn", ISO_BETTER_NEITHER},
    {"evicted", "/txn", ISO_BETTER_NEITHER}, {"clean", "%", ISO_BETTER_NEITHER},
    {"disk", "MiB", ISO_BETTER_LOWER},       {"read", "MiB", ISO_BETTER_LOWER},
    {"written", "MiB", ISO_BETTER_LOWER},    {"anonymous", "MiB", ISO_BETTER_LOWER},
    {"of_limit", "%", ISO_BETTER_LOWER},     {"undecided", "", ISO_BETTER_LOWER},
    {"violations", "", ISO_BETTER_NEITHER},
};

static const char *const experiments[] = {"spill", NULL};
static const char *const sweeps[] = {"txns", "ops", "keys", "dist", "reads", NULL};

static void set_defaults(struct bench *bench)
{
    bench->generate.keys = 1000000;
    bench->generate.transactions = 1000000;
    bench->memory = (uint64_t)128 << 20;
    bench->retention = 200000;
}

static void add_settings(const struct bench *bench, char *text, size_t size)
{
    snprintf(text, size, " --memory %" PRIu64 " --batch %" PRIu64 " --retention %" PRIu64,
             bench->memory, bench->batch, bench->retention);
}

/* ---- the simulated store ---- */

enum { VALUE_LEAST = 8, VALUE_MOST = 200, LONG_EVERY = 1000 };

/* A transaction that has started and read, and commits later. */
struct reader {
    uint64_t commits, sts; /* at which number of transactions */
    uint32_t *keys, *versions;
};

struct simulation {
    const struct bench *bench;
    struct iso_rng rng;
    uint32_t *version; /* by key */
    struct iso_history block;
    struct reader *readers; /* a ring, in the order in which they commit */
    uint32_t reader_first, reader_count, reader_capacity;
    double log_keys;
    uint64_t done; /* transactions */
};

static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93u;
    bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93u;
    return bits ^ bits >> 32;
}

/* The i-th key about in proportion to 1/i: evenly on a scale of logarithms, which needs no
 * table. */
static uint64_t draw_zipf(struct simulation *simulation)
{
    double share = (double)(iso_rng_next(&simulation->rng) >> 11) / 9007199254740992.0;
    return (uint64_t)exp(share * simulation->log_keys) - 1;
}

static uint32_t draw_key(struct simulation *simulation)
{
    uint64_t keys = simulation->bench->generate.keys, rank;
    if (simulation->bench->generate.distribution == ISO_ZIPF)
        rank = draw_zipf(simulation);
    else if (simulation->bench->generate.distribution == ISO_HOTSPOT &&
             iso_rng_below(&simulation->rng, 5))
        rank = iso_rng_below(&simulation->rng, keys / 5 + 1);
    else
        rank = iso_rng_below(&simulation->rng, keys);
    return (uint32_t)(rank < keys ? rank : keys - 1);
}

/* A text in which each of 8 characters is one of 64, from 6 bits of a word. */
static iso_atom value_of(struct simulation *simulation, uint32_t key, uint32_t version)
{
    char text[VALUE_MOST + sizeof(uint64_t)];
    if (!version)
        return ISO_ABSENT;
    uint64_t word = mix((uint64_t)key << 32 | version);
    size_t length = VALUE_LEAST + word % (VALUE_MOST - VALUE_LEAST + 1);
    for (size_t i = 0; i < length; i += sizeof word, word = mix(word)) {
        uint64_t characters = (word & 0x3f3f3f3f3f3f3f3fu) + 0x3030303030303030u;
        memcpy(text + i, &characters, sizeof characters);
    }
    return iso_atoms_add_string(&simulation->block.atoms, text, length);
}

/* A common prefix, 8 characters that have nothing to do with those of the next key, and the key's
 * number. */
static iso_atom name_of(struct simulation *simulation, uint32_t key)
{
    char text[32] = "shop.items/", digits[10];
    size_t length = strlen(text), count = 0;
    uint64_t word = (mix(key) & 0x0f0f0f0f0f0f0f0fu) + 0x6161616161616161u;
    memcpy(text + length, &word, sizeof word);
    length += sizeof word;
    do
        digits[count++] = (char)('0' + key % 10);
    while (key /= 10);
    while (count)
        text[length++] = digits[--count];
    return iso_atoms_add_string(&simulation->block.atoms, text, length);
}

static void begin_transaction(struct simulation *simulation, uint64_t sts, uint64_t cts, bool alone)
{
    struct iso_history *block = &simulation->block;
    iso_atom session = (iso_atom)(simulation->done % simulation->bench->generate.sessions);
    uint32_t t = iso_history_begin(block, iso_atoms_unsigned(&block->atoms, simulation->done),
                                   session, ISO_COMMITTED, simulation->done);
    if (alone)
        block->txns.session[t] = ISO_NONE;
    iso_history_set_sts(block, (struct iso_stamp){.physical = sts});
    iso_history_set_cts(block, (struct iso_stamp){.physical = cts});
    simulation->done++;
}

static void add_operation(struct simulation *simulation, enum iso_operation_kind kind, uint32_t key,
                          uint32_t version)
{
    struct iso_history *block = &simulation->block;
    iso_history_operation(block, kind, name_of(simulation, key),
                          value_of(simulation, key, version));
}

/* One that reads now and commits when half of the retention has passed. */
static void start_reader(struct simulation *simulation)
{
    const struct bench *bench = simulation->bench;
    uint32_t at =
        (simulation->reader_first + simulation->reader_count) % simulation->reader_capacity;
    struct reader *reader = &simulation->readers[at];
    if (simulation->reader_count == simulation->reader_capacity)
        return;
    simulation->reader_count++;
    reader->commits = simulation->done + bench->retention / 4;
    reader->sts = 2 * simulation->done;
    for (uint32_t i = 0; i < bench->generate.operations; i++) {
        reader->keys[i] = draw_key(simulation);
        reader->versions[i] = simulation->version[reader->keys[i]];
    }
}

static bool commit_reader(struct simulation *simulation)
{
    const struct reader *reader = &simulation->readers[simulation->reader_first];
    if (!simulation->reader_count || reader->commits > simulation->done)
        return false;
    begin_transaction(simulation, reader->sts, 2 * simulation->done + 2, true);
    for (uint32_t i = 0; i < simulation->bench->generate.operations; i++)
        add_operation(simulation, ISO_READ, reader->keys[i], reader->versions[i]);
    simulation->reader_first = (simulation->reader_first + 1) % simulation->reader_capacity;
    simulation->reader_count--;
    return true;
}

static void execute_transaction(struct simulation *simulation)
{
    const struct bench *bench = simulation->bench;
    if (simulation->done % LONG_EVERY == 0)
        start_reader(simulation);
    if (commit_reader(simulation))
        return;
    begin_transaction(simulation, 2 * simulation->done + 1, 2 * simulation->done + 2, false);
    for (uint32_t i = 0; i < bench->generate.operations; i++) {
        uint32_t key = draw_key(simulation);
        bool read = iso_rng_chance(&simulation->rng, bench->generate.read_share);
        add_operation(simulation, read ? ISO_READ : ISO_WRITE, key,
                      read ? simulation->version[key] : ++simulation->version[key]);
    }
}

static void simulation_init(struct simulation *simulation, const struct bench *bench)
{
    memset(simulation, 0, sizeof *simulation);
    simulation->bench = bench;
    iso_rng_seed(&simulation->rng, bench->generate.seed);
    iso_history_init(&simulation->block);
    simulation->version = mmap(NULL, bench->generate.keys * sizeof *simulation->version,
                               PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (simulation->version == MAP_FAILED)
        iso_out_of_memory(bench->generate.keys * sizeof *simulation->version);
    simulation->reader_capacity = (uint32_t)(bench->retention / 4 / LONG_EVERY + 2);
    simulation->readers =
        iso_allocate_zeroed(simulation->reader_capacity, sizeof *simulation->readers);
    for (uint32_t i = 0; i < simulation->reader_capacity; i++) {
        simulation->readers[i].keys = iso_allocate(bench->generate.operations * sizeof(uint32_t));
        simulation->readers[i].versions =
            iso_allocate(bench->generate.operations * sizeof(uint32_t));
    }
    simulation->log_keys = log((double)bench->generate.keys);
}

static void simulation_release(struct simulation *simulation)
{
    iso_history_release(&simulation->block);
    munmap(simulation->version, simulation->bench->generate.keys * sizeof *simulation->version);
    for (uint32_t i = 0; i < simulation->reader_capacity; i++)
        ISO_FREE_ALL(simulation->readers[i].keys, simulation->readers[i].versions);
    iso_free(simulation->readers);
}

/* ---- the engine ---- */

/* Counts up to a moment. */
struct moment {
    double at, seconds; /* since the start; in the engine */
    uint64_t transactions;
    struct iso_aion_spilt spilt;
};

struct run {
    const struct bench *bench;
    struct simulation simulation;
    struct iso_aion *engine;
    double started;
    double seconds, processor; /* in the engine */
    uint64_t peak, peak_at;    /* bytes; after so many transactions */
    uint64_t recent_peak;      /* since the last row */
    struct moment shown;
};

static struct iso_aion *new_engine(const struct bench *bench, struct iso_team *team)
{
    struct iso_aion_options options = bench_engine_options(bench, team);
    options.memory_limit = bench->memory;
    options.host.memory_in_use = cli_memory_in_use;
    options.spill = bench->spill ? bench->spill : cli_temporary_folder();
    return iso_aion_new(&options);
}

static double processor_seconds(void)
{
    return (double)iso_clock_of(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

/* ---- progress ---- */

static double percentage(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* A row of what came since the last one. `engine/s`: by the time inside the engine alone. */
static void print_row(struct run *run, double at)
{
    struct iso_aion_stats stats;
    iso_aion_stats(run->engine, &stats);
    const struct iso_aion_spilt *now = &stats.spilt, *before = &run->shown.spilt;
    double transactions = (double)(run->simulation.done - run->shown.transactions),
           seconds = at - run->shown.at;
    double hits = (double)(now->hits - before->hits),
           misses = (double)(now->misses - before->misses);
    if (!run->shown.transactions)
        fprintf(stderr, "%8s %12s %8s %9s %7s %13s %9s %9s %11s %10s %13s\n", "seconds",
                "transactions", "all/s", "engine/s", "hits_%", "anonymous_MiB", "limit_%", "keys",
                "on_disk_MiB", "read_MiB/s", "written_MiB/s");
    fprintf(stderr,
            "%8.0f %12" PRIu64 " %8.0f %9.0f %7.2f %13.1f %9.2f %9" PRIu64
            " %11.0f %10.2f %13.2f\n",
            at, run->simulation.done, transactions / seconds,
            transactions / (run->seconds - run->shown.seconds), percentage(hits, hits + misses),
            BENCH_MEBIBYTES(run->recent_peak),
            percentage((double)run->recent_peak, (double)run->bench->memory), stats.keys,
            BENCH_MEBIBYTES(now->disk), BENCH_MEBIBYTES(now->read - before->read) / seconds,
            BENCH_MEBIBYTES(now->written - before->written) / seconds);
    run->shown = (struct moment){at, run->seconds, run->simulation.done, *now};
    run->recent_peak = 0;
}

static void print_end(const struct run *run)
{
    double over = percentage((double)run->peak, (double)run->bench->memory) - 100;
    fprintf(stderr,
            "most anonymous memory: %.1f MiB, after %" PRIu64
            " transactions: %.2f%% %s the limit\n",
            BENCH_MEBIBYTES(run->peak), run->peak_at, over < 0 ? -over : over,
            over < 0 ? "below" : "above");
}

static void note_memory(struct run *run)
{
    uint64_t memory = cli_memory_in_use();
    if (memory > run->peak) {
        run->peak = memory;
        run->peak_at = run->simulation.done;
    }
    run->recent_peak = memory > run->recent_peak ? memory : run->recent_peak;
}

/* False: the run has lasted for as long as it may. */
static bool goes_on(struct run *run)
{
    double at = iso_clock_seconds() - run->started;
    if (run->bench->every && at - run->shown.at >= (double)run->bench->every)
        print_row(run, at);
    return !run->bench->duration || at < (double)run->bench->duration;
}

static enum iso_status feed_engine(struct run *run, uint32_t count, struct iso_error *error)
{
    struct simulation *simulation = &run->simulation;
    iso_history_clear(&simulation->block);
    while (simulation->block.txns.count < count)
        execute_transaction(simulation);
    double started = iso_clock_seconds(), processor = processor_seconds();
    iso_aion_block(run->engine, &simulation->block);
    if (iso_aion_add(run->engine, 0, count, simulation->done / 25, NULL, error) != ISO_OK)
        return error->status;
    iso_aion_watermark(run->engine, 2 * simulation->done, simulation->done / 25);
    run->seconds += iso_clock_seconds() - started;
    run->processor += processor_seconds() - processor;
    note_memory(run);
    return ISO_OK;
}

static void fill_row(const struct run *run, double *numbers)
{
    struct iso_aion_stats stats;
    iso_aion_stats(run->engine, &stats);
    const struct iso_aion_spilt *spilt = &stats.spilt;
    double transactions = (double)run->simulation.done;
    numbers[RATE] = transactions / run->seconds;
    numbers[PROCESSOR_RATE] = transactions / run->processor;
    numbers[HITS] = 100.0 * (double)spilt->hits / (double)(spilt->hits + spilt->misses);
    numbers[MISSES] = (double)spilt->misses / transactions;
    numbers[EVICTED] = (double)spilt->evicted / transactions;
    numbers[CLEAN] = spilt->evicted ? 100.0 * (double)spilt->clean / (double)spilt->evicted : 0;
    numbers[DISK] = BENCH_MEBIBYTES(spilt->disk);
    numbers[READ] = BENCH_MEBIBYTES(spilt->read);
    numbers[WRITTEN] = BENCH_MEBIBYTES(spilt->written);
    numbers[PEAK] = BENCH_MEBIBYTES(run->peak);
    numbers[SHARE] =
        run->bench->memory ? 100.0 * (double)run->peak / (double)run->bench->memory : 0;
    numbers[UNDECIDED] = (double)(stats.reads_undecided + stats.writes_undecided +
                                  stats.sessions_undecided + stats.beyond_retention);
    numbers[VIOLATIONS] = 0;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        numbers[VIOLATIONS] += (double)stats.counts[axiom];
}

static enum iso_status run_all(void *context, double *numbers, struct iso_error *error)
{
    const struct bench_point *point = context;
    struct run run = {.bench = &point->bench, .started = iso_clock_seconds()};
    enum iso_status status = ISO_OK;
    simulation_init(&run.simulation, run.bench);
    struct iso_team *team = iso_team_new((uint32_t)run.bench->threads);
    run.engine = new_engine(run.bench, team);
    for (uint64_t left = run.bench->generate.transactions;
         left && status == ISO_OK && goes_on(&run);) {
        uint32_t count = (uint32_t)(left < run.bench->batch ? left : run.bench->batch);
        status = feed_engine(&run, count, error);
        left -= count;
    }
    if (status == ISO_OK && run.bench->every)
        print_end(&run);
    if (status == ISO_OK)
        fill_row(&run, numbers);
    iso_aion_free(run.engine);
    iso_team_free(team);
    simulation_release(&run.simulation);
    return status;
}

static const char *const takes[] = {"batch", "retention", "memory",  "spill",
                                    "every", "duration",  "threads", NULL};

const struct bench_kind bench_spill = {
    .name = "spill",
    .experiments = experiments,
    .sweeps = sweeps,
    .takes = takes,
    .columns = columns,
    .column_count = COLUMNS,
    .set_defaults = set_defaults,
    .add_settings = add_settings,
    .run = run_all,
};
