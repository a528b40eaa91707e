/* How fast chronos is without a reader: builds a history in memory that holds under SI, and checks it.
 *
 * usage: chronos_engine [TRANSACTIONS [OPERATIONS [KEYS [SESSIONS [THREADS [ROUNDS [LEVEL]]]]]]]
 *
 * The generator runs sessions at random, each always in a transaction: one step is one session committing and starting
 * again. A transaction reads at its start; it writes only keys whose newest version is not younger than that, so that
 * no two writers overlap. Keys are drawn from a zipf distribution (theta 0.99), half of the operations are reads.
 * Build: make build/libisochron.a && gcc -O2 -Iinclude -Isrc bench/chronos_engine.c build/libisochron.a -ljemalloc
 * -lzstd -lm -pthread -o build/chronos_engine
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "chronos/chronos.h"

struct random {
    uint64_t state;
};

static uint64_t next_random(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double next_unit(struct random *random)
{
    return (double)(next_random(random) >> 11) * 0x1p-53;
}

/* Newest version of a key, and the one before it that a transaction which started earlier still sees. */
struct version {
    uint64_t cts;
    uint32_t value;
};

enum { DEPTH = 64 };

struct generator {
    uint32_t transactions, operations, keys, sessions;
    struct random random;
    double *cumulated;
    struct version (*versions)[DEPTH]; /* by key: a ring of the newest ones */
    uint32_t *newest;
    uint64_t *started; /* by session */
    uint32_t *own_keys, *own_values;
};

static uint32_t draw_key(struct generator *generator)
{
    double wanted = next_unit(&generator->random) * generator->cumulated[generator->keys - 1];
    uint32_t low = 0, high = generator->keys - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (generator->cumulated[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t value_at(const struct generator *generator, uint32_t key, uint64_t sts, bool *known)
{
    for (uint32_t back = 0; back < DEPTH; back++) {
        const struct version *version = &generator->versions[key][(generator->newest[key] - back) % DEPTH];
        if (version->cts <= sts) {
            *known = true;
            return version->value;
        }
    }
    *known = false;
    return 0;
}

/* The transaction's own value of the key, if it wrote one. */
static bool own_value(const struct generator *generator, uint32_t count, uint32_t key, uint32_t *value)
{
    for (uint32_t i = count; i-- > 0;) {
        if (generator->own_keys[i] == key) {
            *value = generator->own_values[i];
            return true;
        }
    }
    return false;
}

static void commit(struct generator *generator, uint32_t count, uint64_t cts)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = generator->own_keys[i];
        struct version *newest = &generator->versions[key][generator->newest[key] % DEPTH];
        if (newest->cts != cts)
            newest = &generator->versions[key][++generator->newest[key] % DEPTH];
        *newest = (struct version){cts, generator->own_values[i]};
    }
}

static void add_transaction(struct generator *generator, struct iso_history *history, uint32_t tid, uint64_t *clock)
{
    uint32_t session = (uint32_t)(next_random(&generator->random) % generator->sessions), written = 0;
    uint64_t sts = generator->started[session], cts = ++*clock;
    iso_history_begin(history, tid, session, ISO_COMMITTED, iso_origin(0, tid));
    iso_history_set_sts(history, (struct iso_stamp){sts, 0});
    iso_history_set_cts(history, (struct iso_stamp){cts, 0});
    for (uint32_t i = 0; i < generator->operations;) {
        uint32_t key = draw_key(generator), value = history->operation_count + 1;
        bool writes = next_random(&generator->random) & 1, known = true;
        if (writes && generator->versions[key][generator->newest[key] % DEPTH].cts > sts)
            writes = false; /* it would overlap */
        if (!writes && !own_value(generator, written, key, &value))
            value = value_at(generator, key, sts, &known);
        if (!known)
            continue;
        iso_history_operation(history, writes ? ISO_WRITE : ISO_READ, key, value);
        if (writes) {
            generator->own_keys[written] = key;
            generator->own_values[written++] = value;
        }
        i++;
    }
    commit(generator, written, cts);
    generator->started[session] = ++*clock;
}

static void generate(struct generator *generator, struct iso_history *history)
{
    double sum = 0;
    uint64_t clock = 0;
    generator->cumulated = iso_allocate(generator->keys * sizeof(double));
    generator->versions = iso_allocate_zeroed(generator->keys, sizeof *generator->versions);
    generator->newest = iso_allocate_zeroed(generator->keys, sizeof *generator->newest);
    generator->started = iso_allocate_zeroed(generator->sessions, sizeof *generator->started);
    generator->own_keys = iso_allocate(generator->operations * sizeof(uint32_t));
    generator->own_values = iso_allocate(generator->operations * sizeof(uint32_t));
    for (uint32_t key = 0; key < generator->keys; key++)
        generator->cumulated[key] = sum += 1 / pow(key + 1, 0.99);
    history->clock = ISO_CLOCK_SCALAR;
    history->initial_value = 0;
    for (uint32_t tid = 0; tid < generator->transactions; tid++)
        add_transaction(generator, history, tid, &clock);
    iso_free(generator->cumulated);
    iso_free(generator->versions);
    iso_free(generator->newest);
    iso_free(generator->started);
    iso_free(generator->own_keys);
    iso_free(generator->own_values);
}

/* Peak resident set, in kB, since it was last reset. */
static long peak_kilobytes(bool reset)
{
    long peak = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "VmHWM: %ld kB", &peak);
    if (file)
        fclose(file);
    if (reset && (file = fopen("/proc/self/clear_refs", "w"))) {
        fputs("5", file);
        fclose(file);
    }
    return peak;
}

static long current_kilobytes(void)
{
    peak_kilobytes(true);
    return peak_kilobytes(false);
}

static uint32_t argument(int count, char **values, int at, uint32_t otherwise)
{
    return at < count ? (uint32_t)strtoul(values[at], NULL, 10) : otherwise;
}

int main(int count, char **values)
{
    struct generator generator = {.transactions = argument(count, values, 1, 1000000),
                                  .operations = argument(count, values, 2, 15),
                                  .keys = argument(count, values, 3, 1000),
                                  .sessions = argument(count, values, 4, 50),
                                  .random = {42}};
    uint32_t rounds = argument(count, values, 6, 5);
    struct iso_check_options options = {.level = count > 7 && strcmp(values[7], "ser") == 0 ? ISO_SER : ISO_SI,
                                        .session_order = true,
                                        .threads = argument(count, values, 5, 2),
                                        .max_violations = 1000};
    struct iso_history history;
    struct iso_error error = {0};
    iso_history_init(&history);
    generate(&generator, &history);
    if (iso_history_finish(&history, &error) != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    long before = current_kilobytes();
    printf("transactions %u operations %u keys %u history %ld MB\n", history.transaction_count, history.operation_count,
           history.key_count, before / 1024);
    for (uint32_t round = 0; round < rounds; round++) {
        struct iso_verdict verdict;
        iso_verdict_init(&verdict, &history, options.level, options.max_violations);
        if (iso_chronos_check(&history, &options, &verdict, &error) != ISO_OK) {
            fprintf(stderr, "%s\n", error.text);
            return 2;
        }
        iso_verdict_conclude(&verdict, false);
        printf("sort %.3f check %.3f total %.3f s, reads judged %llu, EXT %llu NOCONFLICT %llu SESSION %llu: %s\n",
               verdict.seconds_sort, verdict.seconds_check, verdict.seconds_sort + verdict.seconds_check,
               (unsigned long long)verdict.reads_judged, (unsigned long long)verdict.counts[ISO_EXT],
               (unsigned long long)verdict.counts[ISO_NOCONFLICT], (unsigned long long)verdict.counts[ISO_SESSION],
               iso_outcome_name(verdict.outcome));
        iso_verdict_release(&verdict);
    }
    printf("beyond the history: %ld MB\n", (peak_kilobytes(false) - before) / 1024);
    iso_history_release(&history);
    return 0;
}
