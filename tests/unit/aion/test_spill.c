/* Keys that go to the store and come back: within a bound, under equal digests, with a store that
 * fails. */
#include <stdio.h>
#include <stdlib.h>

#include "aion/aion.h"
#include "aion/structures/values.h"
#include "tests/support/history.h"
#include "tests/support/temporary.h"
#include "tests/support/test.h"

enum { KEYS = 3000, ROUNDS = 8 };

struct fixture {
    struct iso_history block;
    struct iso_aion_options options;
    struct iso_aion *engine;
    uint32_t version[KEYS];
    uint64_t told, done;
};

static void count(void *context, const struct iso_aion_event *event)
{
    struct fixture *fixture = context;
    fixture->told += event->state == ISO_AION_FINAL;
}

static void start(struct fixture *fixture, enum iso_level level)
{
    memset(fixture, 0, sizeof *fixture);
    iso_history_init(&fixture->block);
    fixture->block.clock = ISO_CLOCK_SCALAR;
    iso_aion_options_init(&fixture->options);
    fixture->options.level = level;
    fixture->options.finality_timeout_ms = 0;
    fixture->options.host.emit = count;
    fixture->options.host.context = fixture;
    fixture->options.spill = temporary_folder();
}

static void stop(struct fixture *fixture)
{
    iso_aion_free(fixture->engine);
    iso_history_release(&fixture->block);
}

/* One that reads what is there, or something else, and writes what comes after. */
static void update(struct fixture *fixture, uint32_t key, iso_atom name, bool right)
{
    struct iso_history *block = &fixture->block;
    char text[200];
    uint64_t at = fixture->done++;
    iso_history_begin(block, (iso_atom)at, (iso_atom)(at % 7), ISO_COMMITTED, at);
    iso_history_set_sts(block, (struct iso_stamp){.physical = 2 * at + 1});
    iso_history_set_cts(block, (struct iso_stamp){.physical = 2 * at + 2});
    iso_atom before = ISO_ABSENT;
    if (fixture->version[key] || !right) {
        int length = snprintf(text, sizeof text, "%*u of %u%s", (int)(key % 100),
                              fixture->version[key], key, right ? "" : "?");
        before = iso_atoms_add_string(&block->atoms, text, (size_t)length);
    }
    iso_history_operation(block, ISO_READ, name, before);
    int length =
        snprintf(text, sizeof text, "%*u of %u", (int)(key % 100), ++fixture->version[key], key);
    iso_history_operation(block, ISO_WRITE, name,
                          iso_atoms_add_string(&block->atoms, text, (size_t)length));
}

static enum iso_status take(struct fixture *fixture, struct iso_error *error)
{
    enum iso_status status;
    iso_aion_block(fixture->engine, &fixture->block);
    status = iso_aion_add(fixture->engine, 0, fixture->block.txns.count, 0, NULL, error);
    iso_aion_watermark(fixture->engine, 2 * fixture->done, 0);
    iso_history_clear(&fixture->block);
    return status;
}

static iso_atom name_of(struct fixture *fixture, uint32_t key)
{
    char text[64];
    int length = snprintf(text, sizeof text, "table/row %u", key);
    return iso_atoms_add_string(&fixture->block.atoms, text, (size_t)length);
}

/* All keys in turn, some read wrongly: what is told, and what is in memory at the most. */
static uint64_t sorted_chunks(struct fixture *fixture, uint64_t limit, uint64_t *most)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_aion_stats stats;
    fixture->options.memory_limit = limit;
    fixture->options.retention = 100;
    fixture->engine = iso_aion_new(&fixture->options);
    *most = 0;
    for (uint32_t i = 0; i < KEYS * ROUNDS; i++) {
        uint32_t key = i % KEYS;
        update(fixture, key, name_of(fixture, key), i % 101);
        if (i % 50 == 49)
            assert_int_equal(take(fixture, &error), ISO_OK);
        iso_aion_stats(fixture->engine, &stats);
        *most = stats.bytes > *most ? stats.bytes : *most;
    }
    assert_int_equal(take(fixture, &error), ISO_OK);
    iso_aion_end(fixture->engine, 0);
    return fixture->told;
}

static void stays_within_a_bound(void **state)
{
    static struct fixture free, visible_below;
    struct iso_aion_stats stats;
    uint64_t most_free, most_bound, limit = 3300000; /* with the buffers of the store, 2.4 MB */
    (void)state;
    start(&free, ISO_SI);
    start(&visible_below, ISO_SI);
    free.options.spill = NULL;
    uint64_t wanted = sorted_chunks(&free, 0, &most_free),
             told = sorted_chunks(&visible_below, limit, &most_bound);
    assert_int_equal(wanted, (KEYS * ROUNDS + 100) / 101);
    assert_int_equal(told, wanted);
    assert_in_range(most_bound, 0, limit);
    iso_aion_stats(visible_below.engine, &stats);
    assert_int_equal(stats.keys, KEYS);
    assert_int_equal(stats.reads_undecided, 0);
    assert_int_equal(stats.sessions_undecided, 0);
    assert_true(stats.spilt.evicted > KEYS);
    assert_true(stats.spilt.misses > KEYS);
    stop(&free);
    stop(&visible_below);
}

/* ---- the disk ---- */

/* COLD keys; each is written to some STAYS times while it is one of the HOT ones, then not before
 * the next round. */
enum { COLD = 600, HOT = 30, STAYS = 20, RETENTION = 2000, DISK_ROUNDS = 4, LARGEST = 250 };

/* What is told; after each round, the bytes of the file. */
static uint64_t move_on(struct fixture *fixture, uint64_t disk[DISK_ROUNDS])
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_aion_stats stats;
    uint64_t random = 45;
    fixture->options.retention = RETENTION;
    fixture->options.forced.spill_segment_bits = 12;
    fixture->options.forced.spill_all = fixture->options.spill != NULL;
    fixture->engine = iso_aion_new(&fixture->options);
    for (uint32_t round = 0; round < DISK_ROUNDS; round++) {
        for (uint32_t turn = 0; turn < COLD * STAYS; turn++) {
            uint32_t key = (turn / STAYS + (uint32_t)(test_random(&random) >> 16) % HOT) % COLD;
            update(fixture, key, name_of(fixture, key), turn % 101);
            if (turn % 20 == 19)
                assert_int_equal(take(fixture, &error), ISO_OK);
        }
        iso_aion_stats(fixture->engine, &stats);
        disk[round] = stats.spilt.disk;
    }
    iso_aion_end(fixture->engine, 0);
    return fixture->told;
}

/* Keys that nobody asks for any more keep no versions below the retention: the disk has what each
 * key's newest version takes and what was written lately, and as much garbage, however long this
 * goes on. */
static void the_disk_is_bounded(void **state)
{
    static struct fixture free, spilling;
    struct iso_aion_stats stats;
    uint64_t none[DISK_ROUNDS], disk[DISK_ROUNDS];
    (void)state;
    start(&free, ISO_SI);
    start(&spilling, ISO_SI);
    free.options.spill = NULL;
    assert_int_equal(move_on(&spilling, disk), move_on(&free, none));
    assert_true(free.told > DISK_ROUNDS * COLD * STAYS / 102);
    iso_aion_stats(spilling.engine, &stats);
    assert_in_range(disk[DISK_ROUNDS - 1], 1, 2 * (COLD + RETENTION) * LARGEST);
    assert_in_range(disk[DISK_ROUNDS - 1], 1, disk[0] + disk[0] / 4);
    assert_true(stats.spilt.written > 10 * stats.spilt.disk);
    assert_true(stats.spilt.compacted > COLD && stats.spilt.paged_out > COLD);
    assert_in_range(stats.spilt.keys, COLD, COLD + RETENTION);
    stop(&free);
    stop(&spilling);
}

static uint64_t much_memory(void)
{
    return 100000000;
}

/* What the process has beside the engine is above the limit: keys have their share all the same.
 * Were all of them to go at each watermark, they would all come back before the next. */
static void keys_keep_a_share(void **state)
{
    enum { FEW = 300, LIMIT = 20000000 };
    static struct fixture f;
    struct iso_error error = {.status = ISO_OK};
    struct iso_aion_stats stats;
    (void)state;
    start(&f, ISO_SI);
    f.options.memory_limit = LIMIT;
    f.options.host.memory_in_use = much_memory;
    f.options.retention = 100;
    f.engine = iso_aion_new(&f.options);
    for (uint32_t i = 0; i < FEW * 100; i++) {
        update(&f, i % FEW, name_of(&f, i % FEW), true);
        if (i % 50 == 49)
            assert_int_equal(take(&f, &error), ISO_OK);
    }
    iso_aion_stats(f.engine, &stats);
    assert_int_equal(stats.keys, FEW);
    assert_int_equal(stats.spilt.evicted, 0);
    assert_true(iso_aion_memory_needed(f.engine) > LIMIT);
    iso_aion_memory(f.engine, 0, 0, true); /* a run without a limit goes on: none is too small */
    assert_int_equal(iso_aion_memory_needed(f.engine), 0);
    stop(&f);
}

/* What aion_mix makes `mixed` of. */
static uint64_t unmix(uint64_t mixed)
{
    uint64_t factor = 0xd6e8feb86659fd93u, inverse = factor;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - factor * inverse;
    for (int i = 0; i < 2; i++)
        mixed = (mixed ^ mixed >> 32) * inverse;
    return mixed ^ mixed >> 32;
}

/* Two keys with the same digest, a small number and a negative one: each keeps its own versions. */
static void tells_equal_digests_apart(void **state)
{
    static struct fixture fixture;
    struct iso_error error = {.status = ISO_OK};
    struct iso_aion_stats stats;
    uint32_t small = 0;
    uint64_t negative;
    (void)state;
    do
        negative = unmix(~aion_mix(++small + 1u));
    while (!(negative >> 63));
    start(&fixture, ISO_SI);
    fixture.options.forced.spill_all = true;
    fixture.engine = iso_aion_new(&fixture.options);
    for (uint32_t i = 0; i < 20; i++) {
        bool first = i % 3;
        iso_atom name = first ? small : iso_atoms_add_integer(&fixture.block.atoms, negative, true);
        assert_int_equal(aion_atom_digest(&fixture.block.atoms, name), aion_mix(small + 1u));
        update(&fixture, first, name, true);
        assert_int_equal(take(&fixture, &error), ISO_OK);
    }
    iso_aion_end(fixture.engine, 0);
    iso_aion_stats(fixture.engine, &stats);
    assert_int_equal(fixture.told, 0);
    assert_int_equal(stats.keys, 2);
    assert_int_equal(stats.spilt.keys - stats.spilt.paged_out, 1);
    assert_true(stats.spilt.misses > 5);
    stop(&fixture);
}

static void says_where_it_cannot_spill(void **state)
{
    static struct fixture fixture;
    struct iso_error error = {.status = ISO_OK};
    (void)state;
    start(&fixture, ISO_SER);
    fixture.options.spill = "/nowhere/at/all";
    fixture.engine = iso_aion_new(&fixture.options);
    assert_int_equal(iso_aion_failure(fixture.engine)->status, ISO_FAILED);
    update(&fixture, 1, name_of(&fixture, 1), true);
    assert_int_equal(take(&fixture, &error), ISO_FAILED);
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
    stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_within_a_bound),       cmocka_unit_test(the_disk_is_bounded),
        cmocka_unit_test(keys_keep_a_share),          cmocka_unit_test(tells_equal_digests_apart),
        cmocka_unit_test(says_where_it_cannot_spill),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
