/* Runs and values against plain twins. */
#include "aion/structures/sorted_chunks.h"
#include "aion/structures/values.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4000, STEPS = 30000 };

struct twin {
    struct aion_entry entries[MOST];
    uint32_t count;
};

static uint32_t lower(const struct twin *twin, uint64_t time)
{
    uint32_t at = 0;
    while (at < twin->count && twin->entries[at].time < time)
        at++;
    return at;
}

static uint32_t position(const struct aion_pool *pool,
                         const struct aion_sorted_chunks *sorted_chunks, struct aion_cursor cursor)
{
    uint32_t before = cursor.index, count;
    for (uint32_t i = 0; i < cursor.chunk; i++) {
        aion_chunks_chunk(pool, sorted_chunks, i, &count);
        before += count;
    }
    return before;
}

static void assert_same(const struct aion_pool *pool,
                        const struct aion_sorted_chunks *sorted_chunks, const struct twin *twin)
{
    struct aion_cursor cursor = aion_chunks_begin();
    assert_int_equal(sorted_chunks->count, twin->count);
    for (uint32_t i = 0; i < twin->count; i++, aion_chunks_next(pool, sorted_chunks, &cursor)) {
        const struct aion_entry *entry = aion_chunks_get(pool, sorted_chunks, cursor);
        assert_non_null(entry);
        assert_memory_equal(entry, &twin->entries[i], sizeof *entry);
    }
    assert_null(aion_chunks_get(pool, sorted_chunks, cursor));
    for (uint32_t i = twin->count; i > 0; i--) {
        assert_true(aion_chunks_before(pool, sorted_chunks, &cursor));
        assert_memory_equal(aion_chunks_get(pool, sorted_chunks, cursor), &twin->entries[i - 1],
                            sizeof twin->entries[0]);
    }
    assert_false(sorted_chunks->count && aion_chunks_before(pool, sorted_chunks, &cursor));
}

static void insert(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                   struct twin *twin, struct aion_entry entry)
{
    uint32_t at = lower(twin, entry.time);
    struct aion_cursor cursor = aion_chunks_lower(pool, sorted_chunks, entry.time);
    assert_int_equal(position(pool, sorted_chunks, cursor), at);
    memmove(twin->entries + at + 1, twin->entries + at, (twin->count - at) * sizeof entry);
    twin->entries[at] = entry;
    twin->count++;
    cursor = aion_chunks_insert(pool, sorted_chunks, cursor, &entry);
    assert_memory_equal(aion_chunks_get(pool, sorted_chunks, cursor), &entry, sizeof entry);
}

static void drop(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                 struct twin *twin, uint32_t count)
{
    aion_chunks_drop(pool, sorted_chunks, count);
    memmove(twin->entries, twin->entries + count, (twin->count - count) * sizeof twin->entries[0]);
    twin->count -= count;
}

static void take_out(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                     struct twin *twin, uint32_t at)
{
    struct aion_cursor cursor = aion_chunks_begin();
    for (uint32_t i = 0; i < at; i++)
        aion_chunks_next(pool, sorted_chunks, &cursor);
    aion_chunks_remove(pool, sorted_chunks, cursor);
    memmove(twin->entries + at, twin->entries + at + 1,
            (twin->count - at - 1) * sizeof twin->entries[0]);
    twin->count--;
}

/* Skipping over chunks must not lose an entry that holds from below. */
static void assert_skips(const struct aion_pool *pool,
                         const struct aion_sorted_chunks *sorted_chunks, const struct twin *twin,
                         uint64_t start)
{
    uint32_t found = 0, wanted = 0;
    struct aion_cursor cursor = aion_chunks_begin();
    for (uint32_t i = 0; i < twin->count; i++)
        wanted += twin->entries[i].start < start;
    for (;; aion_chunks_next(pool, sorted_chunks, &cursor)) {
        if (sorted_chunks->count)
            aion_chunks_skip(pool, sorted_chunks, &cursor, start);
        const struct aion_entry *entry = aion_chunks_get(pool, sorted_chunks, cursor);
        if (!entry)
            break;
        found += entry->start < start;
    }
    assert_int_equal(found, wanted);
}

static void fuzz(uint64_t seed, uint64_t spread)
{
    struct aion_pool pool;
    struct aion_sorted_chunks sorted_chunks = {0};
    struct twin *twin = calloc(1, sizeof *twin);
    uint64_t state = seed, clock = 1000;
    assert_non_null(twin);
    aion_pool_init(&pool);
    for (uint32_t i = 0; i < STEPS; i++) {
        uint64_t chance = test_random(&state) % 1000;
        if (chance < 960 && twin->count < MOST) {
            uint64_t time = clock++ - test_random(&state) % spread;
            insert(&pool, &sorted_chunks, twin,
                   (struct aion_entry){
                       .time = time, .start = time - test_random(&state) % 50, .value = i});
        } else if (chance < 990 && twin->count) {
            take_out(&pool, &sorted_chunks, twin, (uint32_t)(test_random(&state) % twin->count));
        } else if (twin->count) {
            drop(&pool, &sorted_chunks, twin,
                 (uint32_t)(test_random(&state) % (chance < 998 ? 40 : twin->count)) %
                     (twin->count + 1));
        }
        if (i % 512 == 0) {
            assert_same(&pool, &sorted_chunks, twin);
            assert_skips(&pool, &sorted_chunks, twin, clock - test_random(&state) % (2 * spread));
        }
    }
    assert_same(&pool, &sorted_chunks, twin);
    aion_chunks_release(&pool, &sorted_chunks);
    assert_int_equal(pool.in_use, 0);
    aion_pool_release(&pool);
    free(twin);
}

static void test_nearly_in_order(void **state)
{
    (void)state;
    fuzz(1, 1);
    fuzz(2, 10);
}

static void test_any_order(void **state)
{
    (void)state;
    fuzz(3, 900);
    fuzz(4, 3);
}

static void test_values_come_and_go(void **state)
{
    enum { HELD = 500, ROUNDS = 200000 };
    struct aion_values values;
    struct iso_atoms from;
    uint32_t deferred[HELD] = {0};
    char texts[HELD][48], buffer[ISO_ATOM_TEXT_MAX];
    uint64_t random = 7;
    size_t length;
    (void)state;
    aion_values_init(&values);
    iso_atoms_init(&from);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t at = (uint32_t)(test_random(&random) % HELD);
        if (deferred[at]) {
            const char *text = iso_atom_text(&values.atoms, deferred[at], buffer, &length);
            assert_int_equal(length, strlen(texts[at]));
            assert_memory_equal(text, texts[at], length);
            aion_values_drop(&values, deferred[at]);
        }
        if (from.count > 5000)
            iso_atoms_clear(&from);
        int size = snprintf(texts[at], sizeof texts[at], "a text with number %u",
                            (unsigned)(test_random(&random) % 100000));
        deferred[at] =
            aion_values_take(&values, &from, iso_atoms_text(&from, texts[at], (size_t)size));
    }
    assert_in_range(values.table.used, 1, HELD);
    assert_in_range(values.atoms.count, 1, HELD + 1);
    assert_in_range(values.atoms.text_capacity, 1, 1 << 19); /* 200,000 texts went through */
    uint32_t again =
        aion_values_take(&values, &from, iso_atoms_text(&from, texts[3], strlen(texts[3])));
    if (deferred[3])
        assert_int_equal(again, deferred[3]);
    iso_atoms_release(&from);
    aion_values_release(&values);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearly_in_order),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_values_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
