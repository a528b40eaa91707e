#include "tests/support/blackbox_workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct workload {
    const char *name;
    double reads, value_zipf, key_zipf;
    bool blind, duplicates, rmw;
};

static const struct workload workloads[] = {
    {"blindw", 0.5, 0, 0, true, false, false},   {"bl", 0.5, 0.5, 0.99, false, true, false},
    {"rh", 0.95, 0.5, 0.99, false, true, false}, {"wh", 0.3, 0.5, 0.99, false, true, false},
    {"hd", 0.5, 1.5, 0.99, false, true, false},  {"rmw", 0.5, 0, 0.99, false, false, true},
};

enum { OPERATIONS = 64, VALUES = 100 };

/* Versions of a key, newest last: (commit time, value). */
struct versions {
    uint32_t count, capacity;
    struct {
        uint32_t time, value;
    } * items;
};

struct open_transaction {
    uint32_t begin, count;
    struct {
        uint32_t key, value;
        bool write;
    } operations[OPERATIONS];
};

struct generator {
    const struct workload *workload;
    uint32_t keys, operations;
    double *key_table, *value_table;
    struct versions *versions;
    uint32_t next_value;
    uint64_t random;
};

static double uniform(struct generator *generator)
{
    uint64_t *state = &generator->random;
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state * 0x2545f4914f6cdd1du >> 11) / 9007199254740992.0;
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

static uint32_t draw(struct generator *generator, const double *table, uint32_t count)
{
    double at = uniform(generator);
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
        versions->items =
            iso_reallocate(versions->items, versions->capacity * sizeof *versions->items);
    }
    versions->items[versions->count].time = time;
    versions->items[versions->count++].value = value;
}

static void begin(struct generator *generator, struct open_transaction *open, uint32_t time)
{
    const struct workload *workload = generator->workload;
    bool all_writes = workload->blind && uniform(generator) >= workload->reads;
    open->begin = time;
    open->count = 0;
    while (open->count < generator->operations) {
        uint32_t key = draw(generator, generator->key_table, generator->keys), last = open->count;
        bool write = workload->blind ? all_writes : uniform(generator) >= workload->reads;
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
                repeat ? 1 + draw(generator, generator->value_table, VALUES)
                       : generator->next_value++;
        }
    }
}

/* False: it aborts. */
static bool may_commit(const struct generator *generator, const struct open_transaction *open,
                       bool serial)
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
            add_version(&generator->versions[open->operations[o].key], time,
                        open->operations[o].value);
    }
}

static void record(struct iso_history *history, const struct open_transaction *open,
                   uint32_t session)
{
    uint32_t tid = history->txns.count;
    iso_history_begin(history, tid, session, ISO_COMMITTED, iso_origin(0, tid + 1u));
    for (uint32_t o = 0; o < open->count; o++)
        iso_history_operation(history, open->operations[o].write ? ISO_WRITE : ISO_READ,
                              open->operations[o].key, open->operations[o].value);
}

static void run(struct generator *generator, struct iso_history *history,
                const struct blackbox_workload *shape)
{
    struct open_transaction *open = iso_allocate_zeroed(shape->sessions, sizeof *open);
    uint32_t time = 1;
    while (history->txns.count < shape->transactions) {
        uint32_t session = (uint32_t)(uniform(generator) * shape->sessions);
        if (!open[session].count) {
            begin(generator, &open[session], time++);
            continue;
        }
        if (may_commit(generator, &open[session], shape->serial)) {
            commit(generator, &open[session], time++);
            record(history, &open[session], session);
        }
        open[session].count = 0;
    }
    iso_free(open);
}

bool blackbox_workload_make(const struct blackbox_workload *shape, struct iso_history *history)
{
    struct generator generator = {.keys = shape->keys,
                                  .operations = shape->operations,
                                  .next_value = 1000,
                                  .random = (shape->seed + 1) * 0x9e3779b97f4a7c15u};
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        if (strcmp(shape->name, workloads[i].name) == 0)
            generator.workload = &workloads[i];
    }
    if (!generator.workload || shape->operations > OPERATIONS)
        return false;
    generator.key_table = zipf_table(generator.keys, generator.workload->key_zipf);
    generator.value_table = zipf_table(VALUES, generator.workload->value_zipf);
    generator.versions = iso_allocate_zeroed(generator.keys, sizeof *generator.versions);
    history->initial.other_value = 0;
    run(&generator, history, shape);
    for (uint32_t key = 0; key < generator.keys; key++)
        iso_free(generator.versions[key].items);
    iso_free(generator.versions);
    iso_free(generator.key_table);
    iso_free(generator.value_table);
    return true;
}
