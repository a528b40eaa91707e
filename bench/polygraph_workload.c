/* Black-box workloads of earlier work, made in memory and judged: a figure for the engine alone.
 *
 *   polygraph_workload NAME LEVEL [TRANSACTIONS [KEYS [SESSIONS [SEED [OPERATIONS]]]]]
 *
 * NAME: blindw (write-only or read-only transactions, unique values), and bl, rh, wh, hd (50, 95, 30, 50% reads; half
 * of the keys take values from 100, drawn by zipf 0.5, hd by 1.5; keys by zipf 0.99), rmw (every write after a read).
 * A toy database runs the sessions side by side with snapshots; at `ser` it aborts what a serial order does not allow
 * (first committer wins, reads validated), at `si` only concurrent writers of a key. Aborted ones are left out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "iso/polygraph.h"
#include "verify/verify.h"

struct workload {
    const char *name;
    double reads, value_zipf, key_zipf;
    bool blind, duplicates, rmw;
};

static const struct workload workloads[] = {
    {"blindw", 0.5, 0, 0, true, false, false}, {"bl", 0.5, 0.5, 0.99, false, true, false},
    {"rh", 0.95, 0.5, 0.99, false, true, false}, {"wh", 0.3, 0.5, 0.99, false, true, false},
    {"hd", 0.5, 1.5, 0.99, false, true, false},  {"rmw", 0.5, 0, 0.99, false, false, true},
};

static uint64_t random_state;

static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state * 0x2545f4914f6cdd1du >> 11) / 9007199254740992.0;
}

static double *zipf_table(uint32_t count, double exponent)
{
    double *sum = iso_allocate(count * sizeof *sum), total = 0;
    for (uint32_t i = 0; i < count; i++)
        sum[i] = total += pow(i + 1, -exponent);
    for (uint32_t i = 0; i < count; i++)
        sum[i] /= total;
    return sum;
}

static uint32_t draw(const double *table, uint32_t count)
{
    double at = uniform();
    uint32_t low = 0, high = count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Versions of a key, newest last: (commit time, value). */
struct versions {
    uint32_t count, capacity;
    struct { uint32_t time, value; } *items;
};

struct open_transaction {
    uint32_t begin, count;
    struct { uint32_t key, value; bool write; } operations[64];
};

static uint32_t value_at(const struct versions *versions, uint32_t time)
{
    for (uint32_t i = versions->count; i-- > 0;) {
        if (versions->items[i].time <= time)
            return versions->items[i].value;
    }
    return 0;
}

static void add_version(struct versions *versions, uint32_t time, uint32_t value)
{
    if (versions->count == versions->capacity) {
        versions->capacity = 2 * versions->capacity + 4;
        versions->items = iso_reallocate(versions->items, versions->capacity * sizeof *versions->items);
    }
    versions->items[versions->count].time = time;
    versions->items[versions->count++].value = value;
}

struct generator {
    const struct workload *workload;
    uint32_t keys, operations;
    double *key_table, *value_table;
    struct versions *versions;
    uint32_t next_value;
};

static void begin(struct generator *generator, struct open_transaction *open, uint32_t time)
{
    const struct workload *workload = generator->workload;
    bool all_writes = workload->blind && uniform() >= workload->reads;
    open->begin = time;
    open->count = 0;
    while (open->count < generator->operations) {
        uint32_t key = draw(generator->key_table, generator->keys), last = open->count;
        bool write = workload->blind ? all_writes : uniform() >= workload->reads;
        while (last > 0 && open->operations[last - 1].key != key)
            last--;
        if (!write || (workload->rmw && !last)) {
            open->operations[open->count].key = key;
            open->operations[open->count].write = false;
            open->operations[open->count++].value =
                last ? open->operations[last - 1].value : value_at(&generator->versions[key], time);
        }
        if (write && open->count < generator->operations) {
            bool repeat = workload->duplicates && (key & 1);
            open->operations[open->count].key = key;
            open->operations[open->count].write = true;
            open->operations[open->count++].value =
                repeat ? 1 + draw(generator->value_table, 100) : generator->next_value++;
        }
    }
}

/* False: it aborts. */
static bool may_commit(const struct generator *generator, const struct open_transaction *open, bool serial)
{
    for (uint32_t o = 0; o < open->count; o++) {
        const struct versions *versions = &generator->versions[open->operations[o].key];
        bool newer = versions->count && versions->items[versions->count - 1].time > open->begin;
        if (newer && (serial || open->operations[o].write))
            return false;
    }
    return true;
}

static void commit(struct generator *generator, const struct open_transaction *open, uint32_t time)
{
    for (uint32_t o = 0; o < open->count; o++) {
        if (open->operations[o].write)
            add_version(&generator->versions[open->operations[o].key], time, open->operations[o].value);
    }
}

static void record(struct iso_history *history, const struct open_transaction *open, uint32_t session)
{
    uint32_t tid = history->transaction_count;
    iso_history_begin(history, tid, session, ISO_COMMITTED, iso_origin(0, tid + 1u));
    for (uint32_t o = 0; o < open->count; o++)
        iso_history_operation(history, open->operations[o].write ? ISO_WRITE : ISO_READ, open->operations[o].key,
                              open->operations[o].value);
}

static void generate(struct generator *generator, struct iso_history *history, uint32_t transactions,
                     uint32_t sessions, bool serial)
{
    struct open_transaction *open = iso_allocate_zeroed(sessions, sizeof *open);
    uint32_t time = 1;
    generator->next_value = 1000;
    generator->key_table = zipf_table(generator->keys, generator->workload->key_zipf);
    generator->value_table = zipf_table(100, generator->workload->value_zipf);
    generator->versions = iso_allocate_zeroed(generator->keys, sizeof *generator->versions);
    history->initial_value = 0;
    while (history->transaction_count < transactions) {
        uint32_t session = (uint32_t)(uniform() * sessions);
        if (!open[session].count) {
            begin(generator, &open[session], time++);
            continue;
        }
        if (may_commit(generator, &open[session], serial)) {
            commit(generator, &open[session], time++);
            record(history, &open[session], session);
        }
        open[session].count = 0;
    }
    for (uint32_t key = 0; key < generator->keys; key++)
        iso_free(generator->versions[key].items);
    iso_free(generator->versions);
    iso_free(generator->key_table);
    iso_free(generator->value_table);
    iso_free(open);
}

static void print_result(const struct iso_polygraph_result *result)
{
    const struct iso_polygraph_counters *c = &result->counters;
    printf("%s%s%s  %.3f s: prepare %.3f saturate %.3f search %.3f solve %.3f explain %.3f\n",
           iso_outcome_name(result->outcome), result->reason ? " " : "", result->reason ? result->reason : "",
           c->seconds_total, c->seconds_prepare, c->seconds_saturate, c->seconds_search, c->seconds_solve,
           c->seconds_explain);
    printf("  reads %llu, open %llu -> %llu, open pairs %llu, passes %llu, edges %llu known, %llu version, %llu anti, "
           "%llu meet, %llu join\n",
           (unsigned long long)c->reads, (unsigned long long)c->open_reads_first,
           (unsigned long long)c->open_reads_after, (unsigned long long)c->open_pairs_after,
           (unsigned long long)c->passes, (unsigned long long)c->known_edges, (unsigned long long)c->edges_version,
           (unsigned long long)c->edges_anti, (unsigned long long)c->edges_meet, (unsigned long long)c->edges_join);
    printf("  search free %llu decisions %llu dead ends %llu; solver calls %llu variables %llu cycles %llu\n",
           (unsigned long long)c->search_free, (unsigned long long)c->search_decisions,
           (unsigned long long)c->search_dead_ends, (unsigned long long)c->solver_calls,
           (unsigned long long)c->solver_variables, (unsigned long long)c->solver_cycles);
}

int main(int argc, char **argv)
{
    struct generator generator = {.keys = argc > 4 ? (uint32_t)atoi(argv[4]) : 5000,
                                  .operations = argc > 7 ? (uint32_t)atoi(argv[7]) : 8};
    uint32_t transactions = argc > 3 ? (uint32_t)atoi(argv[3]) : 10000;
    uint32_t sessions = argc > 5 ? (uint32_t)atoi(argv[5]) : 20;
    struct iso_polygraph_options options;
    iso_polygraph_options_init(&options);
    options.model = ISO_MODELS;
    options.timeout = 120;
    for (size_t i = 0; argc > 1 && i < sizeof workloads / sizeof workloads[0]; i++) {
        if (strcmp(argv[1], workloads[i].name) == 0)
            generator.workload = &workloads[i];
    }
    for (int model = 0; argc > 2 && model < ISO_MODELS; model++) {
        if (strcmp(argv[2], iso_model_name((enum iso_model)model)) == 0)
            options.model = (enum iso_model)model;
    }
    if (!generator.workload || options.model == ISO_MODELS || generator.operations > 64) {
        fprintf(stderr, "usage: %s blindw|bl|rh|wh|hd|rmw ser|si|adya-si [TRANSACTIONS [KEYS [SESSIONS [SEED "
                        "[OPERATIONS, at most 64]]]]]\n",
                argv[0]);
        return 2;
    }
    random_state = (argc > 6 ? strtoull(argv[6], NULL, 10) : 1) * 0x9e3779b97f4a7c15u;
    struct iso_history history;
    struct iso_polygraph_result result;
    struct iso_error error = {0};
    iso_history_init(&history);
    generate(&generator, &history, transactions, sessions, iso_model_is_serial(options.model));
    if (iso_history_finish(&history, &error) != ISO_OK)
        return 4;
    iso_polygraph_result_init(&result);
    iso_polygraph_check(&history, &options, &result, &error);
    print_result(&result);
    int status = result.outcome == ISO_IS_UNDECIDED ? 3 : iso_verify(&history, &result.evidence, &error);
    if (error.status)
        printf("evidence is not confirmed: %s\n", error.text);
    iso_polygraph_result_release(&result);
    iso_history_release(&history);
    return status;
}
