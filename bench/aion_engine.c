/* How fast aion is alone: transactions of a simulated store, in blocks as a reader would give them.
 *
 * usage: aion_engine [--level si|ser] [--transactions N] [--operations N] [--keys N] [--sessions N] [--reads
 * PERCENT]
 *                    [--delay DEVIATION_MS] [--rate TPS] [--retention TICKS] [--batch N] [--shards N]
 * [--texts]
 *
 * The store runs sessions side by side: one step is one session committing what it began earlier and
 * beginning again. At SI a transaction reads at its start and writes only what nobody wrote since; at SER it
 * reads just below its commit. Keys are uniform. With --delay each transaction arrives a normally distributed
 * time (mean 100 ms) after its commit, at --rate commits a second; a watermark follows every
 * batch of arrivals. --texts makes values of texts instead of small integers. Only what the engine does is
 * timed, in processor time. Build: make build/libisochron.a && gcc -O2 -Iinclude -Isrc bench/aion_engine.c
 * build/libisochron.a -ljemalloc -lzstd -lm -pthread -o build/aion_engine
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aion/aion.h"
#include "base/memory.h"
#include "base/normal.h"
#include "base/parallel.h"

enum { BLOCK = 100000, DEPTH = 64 };

struct settings {
    enum iso_level level;
    uint64_t transactions, rate, retention, settle;
    uint32_t operations, keys, sessions, reads, shards, batch;
    double delay;
    bool texts;
};

struct version {
    uint64_t cts;
    uint64_t value;
};

/* The store: the newest versions of each key, and when each session's transaction began. */
struct store {
    const struct settings *settings;
    struct iso_rng random;
    struct version *versions; /* DEPTH a key, a ring */
    uint32_t *newest;
    uint64_t *started;
    uint64_t clock, next_value;
    uint64_t tid;
};

/* What a block's transactions are, before they are put into the order of arrival. */
struct draft {
    uint64_t tid, sts, cts;
    uint32_t session;
    double arrival; /* ms */
};

struct draft_operation {
    uint8_t kind;
    uint32_t key;
    uint64_t value;
};

struct drafts {
    uint32_t count;
    struct draft *transactions;
    struct draft_operation *operations;
};

static struct version *newest(struct store *store, uint32_t key)
{
    return &store->versions[(size_t)key * DEPTH + store->newest[key] % DEPTH];
}

/* What is visible below `bound`: 0 is no value. */
static uint64_t value_at(struct store *store, uint32_t key, uint64_t bound)
{
    for (uint32_t back = 0; back < DEPTH && back <= store->newest[key]; back++) {
        const struct version *version = &store->versions[(size_t)key * DEPTH + (store->newest[key] - back) % DEPTH];
        if (version->cts < bound)
            return version->value;
    }
    return UINT64_MAX;
}

static void generate_one(struct store *store, struct draft *draft, struct draft_operation *operations)
{
    const struct settings *settings = store->settings;
    draft->session = (uint32_t)iso_rng_below(&store->random, settings->sessions);
    draft->sts = store->started[draft->session];
    draft->cts = ++store->clock;
    draft->tid = ++store->tid;
    draft->arrival = (double)draft->tid * 1000 / (double)settings->rate;
    if (settings->delay > 0)
        draft->arrival += 100 + settings->delay * iso_rng_normal(&store->random);
    uint64_t bound = settings->level == ISO_SI ? draft->sts + 1 : draft->cts;
    for (uint32_t i = 0; i < settings->operations; i++) {
        uint32_t key = (uint32_t)iso_rng_below(&store->random, settings->keys);
        bool repeated = false;
        for (uint32_t j = 0; j < i; j++)
            repeated |= operations[j].key == key;
        uint64_t value = value_at(store, key, bound);
        bool reads =
            (uint32_t)iso_rng_below(&store->random, 100) < settings->reads || newest(store, key)->cts > draft->sts;
        if (repeated || value == UINT64_MAX) { /* too old for the ring: take it out of the way */
            operations[i] = (struct draft_operation){ISO_WRITE, settings->keys + (uint32_t)(draft->tid % 1000) * 64 + i,
                                                     ++store->next_value};
            continue;
        }
        operations[i] =
            (struct draft_operation){reads ? ISO_READ : ISO_WRITE, key, reads ? value : ++store->next_value};
    }
    for (uint32_t i = 0; i < settings->operations; i++) {
        if (operations[i].kind != ISO_WRITE || operations[i].key >= settings->keys)
            continue;
        store->newest[operations[i].key]++;
        *newest(store, operations[i].key) = (struct version){draft->cts, operations[i].value};
    }
    store->started[draft->session] = ++store->clock;
}

static void generate(struct store *store, struct drafts *drafts, uint32_t count)
{
    drafts->count = count;
    for (uint32_t t = 0; t < count; t++)
        generate_one(store, &drafts->transactions[t], drafts->operations + (size_t)t * store->settings->operations);
}

static iso_atom value_atom(const struct settings *settings, struct iso_history *history, uint64_t value)
{
    char text[64];
    if (!value)
        return ISO_ABSENT;
    if (!settings->texts)
        return iso_atoms_unsigned(&history->atoms, value & 0x7fffffff);
    int length = snprintf(text, sizeof text, "value-%llu-of-some-length", (unsigned long long)value);
    return iso_atoms_add_string(&history->atoms, text, (size_t)length);
}

static const struct drafts *sorted_drafts; /* for qsort */

static int by_arrival(const void *left, const void *right)
{
    const struct draft *a = &sorted_drafts->transactions[*(const uint32_t *)left];
    const struct draft *b = &sorted_drafts->transactions[*(const uint32_t *)right];
    if (a->arrival != b->arrival)
        return a->arrival < b->arrival ? -1 : 1;
    return a->tid < b->tid ? -1 : 1;
}

static uint32_t *arrival_order(const struct drafts *drafts)
{
    uint32_t *order = iso_allocate(drafts->count * sizeof *order);
    for (uint32_t i = 0; i < drafts->count; i++)
        order[i] = i;
    sorted_drafts = drafts;
    qsort(order, drafts->count, sizeof *order, by_arrival);
    return order;
}

/* The block in the order of arrival, and after which transaction what watermark is true. */
static void build(const struct settings *settings, const struct drafts *drafts, struct iso_history *block,
                  uint64_t *watermarks, uint64_t *arrivals)
{
    uint32_t *order = arrival_order(drafts);
    uint64_t least = UINT64_MAX;
    iso_history_clear(block);
    block->clock = ISO_CLOCK_SCALAR;
    for (uint32_t i = 0; i < drafts->count; i++) {
        const struct draft *draft = &drafts->transactions[order[i]];
        const struct draft_operation *operations = drafts->operations + (size_t)order[i] * settings->operations;
        iso_history_begin(block, iso_atoms_unsigned(&block->atoms, draft->tid), draft->session, ISO_COMMITTED, i);
        iso_history_set_sts(block, (struct iso_stamp){.physical = draft->sts});
        iso_history_set_cts(block, (struct iso_stamp){.physical = draft->cts});
        iso_history_set_sno(block, draft->tid);
        for (uint32_t o = 0; o < settings->operations; o++)
            iso_history_operation(block, operations[o].kind, operations[o].key,
                                  value_atom(settings, block, operations[o].value));
        arrivals[i] = (uint64_t)draft->arrival;
    }
    for (uint32_t i = drafts->count; i-- > 0;) {
        watermarks[i] = least == UINT64_MAX ? drafts->transactions[drafts->count - 1].cts : least - 1;
        least = block->cts[i] < least ? block->cts[i] : least;
    }
    iso_free(order);
}

/* ---- feeding ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double resident_mb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static double feed(const struct settings *settings, struct iso_aion *engine, const struct iso_history *block,
                   const uint64_t *watermarks, const uint64_t *arrivals)
{
    struct iso_error error = {.status = ISO_OK};
    double start = now();
    iso_aion_block(engine, block);
    for (uint32_t t = 0; t < block->transaction_count; t += settings->batch) {
        uint32_t count =
            block->transaction_count - t < settings->batch ? block->transaction_count - t : settings->batch;
        uint64_t ms = arrivals[t + count - 1];
        if (iso_aion_add(engine, t, count, ms, NULL, &error) != ISO_OK) {
            fprintf(stderr, "%s\n", error.text);
            exit(1);
        }
        iso_aion_watermark(engine, watermarks[t + count - 1], ms);
    }
    return now() - start;
}

struct work {
    void (*task)(void *argument, uint32_t shard);
    void *argument;
};

static void do_work(void *context, unsigned index)
{
    const struct work *work = context;
    work->task(work->argument, index);
}

static void run_parallel(void *runner, void (*task)(void *argument, uint32_t shard), void *argument, uint32_t shards)
{
    struct work work = {task, argument};
    (void)runner;
    iso_parallel(shards, do_work, &work);
}

static void print(const struct settings *settings, const struct iso_aion_stats *stats, double seconds)
{
    printf("%s %llu transactions x %u operations, %u keys: %.3f s, %.0f TPS, %.1f ns an operation\n",
           iso_level_name(settings->level), (unsigned long long)stats->transactions, settings->operations,
           settings->keys, seconds, (double)stats->transactions / seconds, seconds * 1e9 / (double)stats->operations);
    printf("  violations %llu %llu %llu %llu %llu, undecided %llu %llu, below watermark %llu, rechecks %llu, "
           "flipped %llu of %llu "
           "(once %llu, twice %llu), engine %.1f MB (%llu versions, %llu open reads), resident %.1f MB\n",
           (unsigned long long)stats->counts[0], (unsigned long long)stats->counts[1],
           (unsigned long long)stats->counts[2], (unsigned long long)stats->counts[3],
           (unsigned long long)stats->counts[4], (unsigned long long)stats->reads_undecided,
           (unsigned long long)stats->writes_undecided, (unsigned long long)stats->below_watermark,
           (unsigned long long)stats->rechecks, (unsigned long long)stats->flipped,
           (unsigned long long)stats->transactions, (unsigned long long)stats->flips[0],
           (unsigned long long)stats->flips[1], (double)stats->bytes / 1e6, (unsigned long long)stats->versions,
           (unsigned long long)stats->open_reads, resident_mb());
}

static void run_stream(const struct settings *settings, struct store *store)
{
    bool whole = settings->delay > 0 || settings->transactions <= 10 * BLOCK; /* the same in order and delayed */
    uint32_t size = whole ? (uint32_t)settings->transactions : BLOCK;
    struct drafts drafts = {.transactions = iso_allocate(size * sizeof *drafts.transactions),
                            .operations =
                                iso_allocate((size_t)size * settings->operations * sizeof *drafts.operations)};
    uint64_t *watermarks = iso_allocate(size * sizeof *watermarks), *arrivals = iso_allocate(size * sizeof *arrivals);
    struct iso_aion_options options;
    struct iso_aion_stats stats;
    struct iso_history block;
    double seconds = 0;
    iso_aion_options_init(&options);
    options.level = settings->level;
    options.shards = settings->shards;
    options.run = settings->shards > 1 ? run_parallel : NULL;
    options.finality_timeout_ms = 0;
    options.retention = settings->retention;
    options.settle_ms = settings->settle;
    struct iso_aion *engine = iso_aion_new(&options);
    iso_history_init(&block);
    for (uint64_t done = 0; done < settings->transactions; done += size) {
        generate(store, &drafts, size);
        build(settings, &drafts, &block, watermarks, arrivals);
        seconds += feed(settings, engine, &block, watermarks, arrivals);
        iso_aion_stats(engine, &stats);
        if (settings->transactions > 10 * BLOCK &&
            done / (20 * (uint64_t)BLOCK) != (done + size) / (20 * (uint64_t)BLOCK))
            print(settings, &stats, seconds);
    }
    double start = now();
    iso_aion_end(engine, UINT64_MAX - 1);
    seconds += now() - start;
    iso_aion_stats(engine, &stats);
    print(settings, &stats, seconds);
    iso_aion_free(engine);
    iso_history_release(&block);
    iso_free(drafts.transactions);
    iso_free(drafts.operations);
    iso_free(watermarks);
    iso_free(arrivals);
}

static bool parse(struct settings *settings, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (!strcmp(name, "--texts"))
            settings->texts = true;
        else if (i + 1 == argc)
            return false;
        else if (!strcmp(name, "--level"))
            settings->level = !strcmp(argv[++i], "ser") ? ISO_SER : ISO_SI;
        else if (!strcmp(name, "--transactions"))
            settings->transactions = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(name, "--operations"))
            settings->operations = (uint32_t)atoi(argv[++i]);
        else if (!strcmp(name, "--keys"))
            settings->keys = (uint32_t)atoi(argv[++i]);
        else if (!strcmp(name, "--sessions"))
            settings->sessions = (uint32_t)atoi(argv[++i]);
        else if (!strcmp(name, "--reads"))
            settings->reads = (uint32_t)atoi(argv[++i]);
        else if (!strcmp(name, "--delay"))
            settings->delay = atof(argv[++i]);
        else if (!strcmp(name, "--rate"))
            settings->rate = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(name, "--retention"))
            settings->retention = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(name, "--settle"))
            settings->settle = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(name, "--batch"))
            settings->batch = (uint32_t)atoi(argv[++i]);
        else if (!strcmp(name, "--shards"))
            settings->shards = (uint32_t)atoi(argv[++i]);
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct settings settings = {.level = ISO_SI,
                                .transactions = 1000000,
                                .rate = 25000,
                                .retention = 100000,
                                .settle = 50,
                                .operations = 8,
                                .keys = 1000,
                                .sessions = 24,
                                .reads = 50,
                                .batch = 500,
                                .shards = 1};
    if (!parse(&settings, argc, argv)) {
        fputs("usage: see the head of bench/aion_engine.c\n", stderr);
        return 2;
    }
    struct store store = {.settings = &settings};
    iso_rng_seed(&store.random, 1);
    store.versions = iso_allocate_zeroed((size_t)settings.keys * DEPTH, sizeof *store.versions);
    store.newest = iso_allocate_zeroed(settings.keys, sizeof *store.newest);
    store.started = iso_allocate_zeroed(settings.sessions, sizeof *store.started);
    for (uint32_t s = 0; s < settings.sessions; s++)
        store.started[s] = ++store.clock;
    run_stream(&settings, &store);
    iso_free(store.versions);
    iso_free(store.newest);
    iso_free(store.started);
    return 0;
}
