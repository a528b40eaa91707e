/* What keeps that which does not fit into memory: LMDB, RocksDB or our own log, on the access
 * pattern of spilled keys.
 *
 *   spill_stores lmdb|rocksdb|log DIR [KEYS [ROUNDS]]
 *
 * A record is what a cold key comes to: 48 bytes of times, names and counts, and a value of 8 to
 * 200 bytes. Keys are 64-bit digests, so that neighbours in time are strangers in the store. In
 * batches of 16,384 keys in the store's order, which is how the engine evicts and fetches:
 *
 *   fill     every key is put once
 *   mix      rounds: a batch of random keys is read (first touch of cold keys), another is written
 *            (evicted again)
 *   delete   one key in ten goes (dropped by retention); not the log, which the engine never asks
 *            to
 *
 * Nothing is synced: what is spilled need not outlive the process. Run it in a memory cgroup of a
 *   quarter of the data;
 * the caches that the libraries keep themselves are set to an eighth of that. Told a phase:
 * thousands of keys a second, processor seconds, bytes written and read by the process to and from
 * the disk, anonymous memory, size on disk.
 */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/rng.h"
#include "spill/spill.h"

enum { BATCH = 16384, FIXED = 48, VALUE_LEAST = 8, VALUE_MOST = 200 };

struct key {
    uint64_t digest;
};

struct store {
    const char *dir;
    MDB_env *env;
    MDB_dbi table;
    rocksdb_t *rocks;
    rocksdb_readoptions_t *read;
    rocksdb_writeoptions_t *write;
    struct iso_spill *log;
};

static void check(int code, const char *what)
{
    if (!code)
        return;
    fprintf(stderr, "%s: %s\n", what, mdb_strerror(code));
    exit(4);
}

static void check_text(char *text)
{
    if (!text)
        return;
    fprintf(stderr, "rocksdb: %s\n", text);
    exit(4);
}

static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93u;
    bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93u;
    return bits ^ bits >> 32;
}

/* The record of a key: its size follows from the digest, its content from the round too. */
static size_t record_of(uint64_t digest, uint32_t round, uint8_t *record)
{
    size_t size = FIXED + VALUE_LEAST + digest % (VALUE_MOST - VALUE_LEAST + 1);
    uint64_t word = digest + round;
    for (size_t i = 0; i < size; i += 8, word = mix(word))
        memcpy(record + i, &word, size - i < 8 ? size - i : 8);
    memcpy(record, &digest, sizeof digest);
    return size;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = ((const struct key *)left)->digest, b = ((const struct key *)right)->digest;
    return (a > b) - (a < b);
}

/* ---- LMDB ---- */

static void lmdb_open(struct store *store, uint64_t keys)
{
    MDB_txn *txn;
    unsigned flags =
        MDB_NOSYNC | MDB_WRITEMAP | MDB_NORDAHEAD | MDB_NOLOCK | MDB_NOTLS | MDB_NOMEMINIT;
    check(mdb_env_create(&store->env), "mdb_env_create");
    check(mdb_env_set_mapsize(store->env, (keys + 1000000) * 1024), "mdb_env_set_mapsize");
    check(mdb_env_open(store->env, store->dir, flags, 0600), "mdb_env_open");
    check(mdb_txn_begin(store->env, NULL, 0, &txn), "mdb_txn_begin");
    check(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY | MDB_CREATE, &store->table), "mdb_dbi_open");
    check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void lmdb_put(struct store *store, struct key *keys, uint32_t count, uint32_t round)
{
    MDB_txn *txn;
    uint8_t record[FIXED + VALUE_MOST + 8];
    check(mdb_txn_begin(store->env, NULL, 0, &txn), "mdb_txn_begin");
    for (uint32_t i = 0; i < count; i++) {
        MDB_val key = {sizeof keys[i], &keys[i]},
                value = {record_of(keys[i].digest, round, record), record};
        check(mdb_put(txn, store->table, &key, &value, 0), "mdb_put");
    }
    check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void lmdb_get(struct store *store, struct key *keys, uint32_t count)
{
    MDB_txn *txn;
    check(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
    for (uint32_t i = 0; i < count; i++) {
        MDB_val key = {sizeof keys[i], &keys[i]}, value;
        check(mdb_get(txn, store->table, &key, &value), "mdb_get");
        assert(!memcmp(value.mv_data, &keys[i].digest, sizeof keys[i].digest));
    }
    mdb_txn_abort(txn);
}

static void lmdb_delete(struct store *store, struct key *keys, uint32_t count)
{
    MDB_txn *txn;
    check(mdb_txn_begin(store->env, NULL, 0, &txn), "mdb_txn_begin");
    for (uint32_t i = 0; i < count; i++) {
        MDB_val key = {sizeof keys[i], &keys[i]};
        int code = mdb_del(txn, store->table, &key, NULL);
        check(code == MDB_NOTFOUND ? 0 : code, "mdb_del");
    }
    check(mdb_txn_commit(txn), "mdb_txn_commit");
}

/* ---- RocksDB ---- */

static void rocks_open(struct store *store, uint64_t keys)
{
    char *error = NULL;
    uint64_t cache = keys * 150 / 4 / 8;
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru(cache));
    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_write_buffer_size(options, cache / 2);
    rocksdb_options_set_max_background_jobs(options, 2);
    rocksdb_options_set_compression(options, rocksdb_no_compression);
    store->rocks = rocksdb_open(options, store->dir, &error);
    check_text(error);
    store->read = rocksdb_readoptions_create();
    store->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(store->write, 1);
}

static void big_endian(uint64_t digest, char *bytes)
{
    digest = __builtin_bswap64(digest);
    memcpy(bytes, &digest, sizeof digest);
}

static void rocks_put(struct store *store, struct key *keys, uint32_t count, uint32_t round)
{
    char *error = NULL, key[8];
    uint8_t record[FIXED + VALUE_MOST + 8];
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (uint32_t i = 0; i < count; i++) {
        size_t size = record_of(keys[i].digest, round, record);
        big_endian(keys[i].digest, key);
        rocksdb_writebatch_put(batch, key, sizeof key, (char *)record, size);
    }
    rocksdb_write(store->rocks, store->write, batch, &error);
    check_text(error);
    rocksdb_writebatch_destroy(batch);
}

static void rocks_get(struct store *store, struct key *keys, uint32_t count)
{
    char *error = NULL, key[8];
    for (uint32_t i = 0; i < count; i++) {
        big_endian(keys[i].digest, key);
        rocksdb_pinnableslice_t *slice =
            rocksdb_get_pinned(store->rocks, store->read, key, sizeof key, &error);
        size_t size;
        check_text(error);
        const char *value = rocksdb_pinnableslice_value(slice, &size);
        assert(value && !memcmp(value, &keys[i].digest, sizeof keys[i].digest));
        (void)value;
        rocksdb_pinnableslice_destroy(slice);
    }
}

static void rocks_delete(struct store *store, struct key *keys, uint32_t count)
{
    char *error = NULL, key[8];
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (uint32_t i = 0; i < count; i++) {
        big_endian(keys[i].digest, key);
        rocksdb_writebatch_delete(batch, key, sizeof key);
    }
    rocksdb_write(store->rocks, store->write, batch, &error);
    check_text(error);
    rocksdb_writebatch_destroy(batch);
}

/* ---- our own ---- */

static void check_error(enum iso_status status, const struct iso_error *error)
{
    if (status == ISO_OK)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(status);
}

static void log_put(struct store *store, struct key *keys, uint32_t count, uint32_t round)
{
    struct iso_error error = {0};
    uint8_t record[FIXED + VALUE_MOST + 8];
    for (uint32_t i = 0; i < count; i++) {
        size_t size = record_of(keys[i].digest, round, record);
        check_error(
            iso_spill_put(store->log, keys[i].digest, round,
                          &(struct iso_spill_record){.bytes = record, .size = (uint32_t)size},
                          &error),
            &error);
    }
}

static void log_get(struct store *store, struct key *keys, uint32_t count)
{
    struct iso_error error = {0};
    const uint8_t *record;
    uint32_t size;
    for (uint32_t i = 0; i < count; i++) {
        check_error(iso_spill_get(store->log, keys[i].digest, &record, &size, &error), &error);
        assert(record && !memcmp(record, &keys[i].digest, sizeof keys[i].digest));
    }
}

/* ---- phases ---- */

struct figures {
    double wall, processor;
    uint64_t read, written;
};

static uint64_t field(const char *path, const char *name)
{
    char line[256];
    uint64_t value = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, name, strlen(name)))
            value = strtoull(line + strlen(name), NULL, 10);
    }
    if (file)
        fclose(file);
    return value;
}

static struct figures now(void)
{
    struct timespec time;
    struct rusage usage;
    clock_gettime(CLOCK_MONOTONIC, &time);
    getrusage(RUSAGE_SELF, &usage);
    return (struct figures){(double)time.tv_sec + 1e-9 * (double)time.tv_nsec,
                            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                                1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
                            field("/proc/self/io", "read_bytes: "),
                            field("/proc/self/io", "write_bytes: ")};
}

static const char *name_of(const struct store *store)
{
    return store->env ? "lmdb" : store->log ? "log" : "rocksdb";
}

static void tell(const struct store *store, const char *phase, uint64_t operations,
                 struct figures from)
{
    struct figures to = now();
    struct iso_spill_stats stats = {0};
    char command[512];
    printf("%-8s %-7s %8.0f K/s  %6.1f s processor  written %6" PRIu64 " MB  read %6" PRIu64
           " MB  anonymous %5" PRIu64 " MB  ",
           name_of(store), phase, (double)operations / (to.wall - from.wall) / 1000,
           to.processor - from.processor, (to.written - from.written) >> 20,
           (to.read - from.read) >> 20, field("/proc/self/status", "RssAnon:") >> 10);
    fflush(stdout);
    if (store->log) {
        iso_spill_stats(store->log, &stats);
        printf("%" PRIu64 " MB on disk, %" PRIu64 " MB of table and buffers\n", stats.disk >> 20,
               (stats.memory + ISO_SPILL_BUFFERS) >> 20);
        return;
    }
    snprintf(command, sizeof command, "du -sm %s | cut -f1 | sed 's/$/ MB on disk/'", store->dir);
    if (system(command))
        printf("\n");
}

static void random_batch(struct iso_rng *rng, uint64_t keys, struct key *batch)
{
    for (uint32_t i = 0; i < BATCH; i++)
        batch[i].digest = mix(iso_rng_below(rng, keys));
    qsort(batch, BATCH, sizeof *batch, compare);
}

static void put(struct store *store, struct key *batch, uint32_t count, uint32_t round)
{
    if (store->env)
        lmdb_put(store, batch, count, round);
    else if (store->log)
        log_put(store, batch, count, round);
    else
        rocks_put(store, batch, count, round);
}

static void get(struct store *store, struct key *batch)
{
    if (store->env)
        lmdb_get(store, batch, BATCH);
    else if (store->log)
        log_get(store, batch, BATCH);
    else
        rocks_get(store, batch, BATCH);
}

static void run(struct store *store, uint64_t keys, uint32_t rounds)
{
    static struct key batch[BATCH];
    struct iso_rng rng;
    struct figures from = now();
    iso_rng_seed(&rng, 1);
    for (uint64_t first = 0; first < keys; first += BATCH) {
        uint32_t count = keys - first < BATCH ? (uint32_t)(keys - first) : BATCH;
        for (uint32_t i = 0; i < count; i++)
            batch[i].digest = mix(first + i);
        qsort(batch, count, sizeof *batch, compare);
        put(store, batch, count, 0);
    }
    tell(store, "fill", keys, from);
    from = now();
    for (uint32_t r = 0; r < rounds; r++) {
        random_batch(&rng, keys, batch);
        get(store, batch);
        random_batch(&rng, keys, batch);
        put(store, batch, BATCH, r + 1);
    }
    tell(store, "mix", 2ul * BATCH * rounds, from);
    from = now();
    if (store->log)
        return;
    for (uint64_t left = keys / 10; left >= BATCH; left -= BATCH) {
        random_batch(&rng, keys, batch);
        store->env ? lmdb_delete(store, batch, BATCH) : rocks_delete(store, batch, BATCH);
    }
    tell(store, "delete", keys / 10, from);
}

int main(int argc, char **argv)
{
    struct store store = {.dir = argc > 2 ? argv[2] : NULL};
    struct iso_error error = {0};
    uint64_t keys = argc > 3 ? strtoull(argv[3], NULL, 10) : 10000000;
    uint32_t rounds = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 200;
    const char *kind = argc > 2 ? argv[1] : "";
    if (store.dir)
        mkdir(store.dir, 0700);
    if (!strcmp(kind, "lmdb")) {
        lmdb_open(&store, keys);
    } else if (!strcmp(kind, "rocksdb")) {
        rocks_open(&store, keys);
    } else if (!strcmp(kind, "log")) {
        check_error(
            iso_spill_open(&(struct iso_spill_options){.folder = store.dir}, &store.log, &error),
            &error);
    } else {
        fprintf(stderr, "usage: spill_stores lmdb|rocksdb|log DIR [KEYS [ROUNDS]]\n");
        return 2;
    }
    run(&store, keys, rounds);
    if (store.env)
        mdb_env_close(store.env);
    if (store.rocks)
        rocksdb_close(store.rocks);
    iso_spill_free(store.log);
    return 0;
}
