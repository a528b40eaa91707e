/* The store's table: digests that agree in all bits that it used to look at are told apart by their
 * tags, and the seed comes back with an archive. */
#include "tests/support/test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/archive.h"
#include "spill/table.h"

enum { FEW = 3000 };

static uint64_t flooding(uint32_t i)
{
    return (uint64_t)i << 40 | 7;
}

/* Slots with the digest's tag before the one with its position: each would be a record that is
 * read. */
static uint32_t candidates(struct spill_table *table, uint64_t digest, uint32_t position)
{
    uint32_t count = 1;
    struct spill_slot *slot = spill_table_next(table, digest, NULL);
    for (; slot && slot->position != position; slot = spill_table_next(table, digest, slot))
        count++;
    assert_non_null(slot);
    return count;
}

static void remove_one(struct spill_table *table, uint64_t digest, uint32_t position)
{
    struct spill_slot *slot = spill_table_next(table, digest, NULL);
    while (slot->position != position)
        slot = spill_table_next(table, digest, slot);
    spill_table_remove(table, digest, slot);
}

static uint64_t flood(uint32_t count)
{
    struct spill_table table;
    uint64_t looks = 0;
    spill_table_init(&table);
    for (uint32_t i = 0; i < count; i++)
        spill_table_add(&table, flooding(i), i + 1);
    for (uint32_t i = 0; i < count; i++)
        looks += candidates(&table, flooding(i), i + 1);
    spill_table_release(&table);
    return looks;
}

static void twice_the_digests_are_twice_the_looks(void **state)
{
    (void)state;
    uint64_t few = flood(FEW), many = flood(2 * FEW);
    assert_true(few >= FEW && few < 2 * FEW);
    assert_true(many >= 2 * FEW && many < 3 * few);
}

static struct iso_archive begin(FILE *file, bool restoring, struct iso_error *error)
{
    struct iso_archive archive;
    rewind(file);
    (restoring ? iso_archive_restore : iso_archive_save)(&archive, fileno(file), "test", error);
    return archive;
}

static void restore(FILE *file, struct spill_table *table)
{
    struct iso_error error = {0};
    struct iso_archive archive = begin(file, true, &error);
    spill_table_init(table);
    spill_table_archive(&archive, table);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
}

static void the_seed_comes_back(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct spill_table table, restored;
    FILE *file = tmpfile();
    spill_table_init(&table);
    table.seed = (struct spill_seed){12345, 0x9e3779b97f4a7c15}; /* another process's */
    for (uint32_t i = 0; i < FEW; i++)
        spill_table_add(&table, flooding(i), i + 1);
    struct iso_archive archive = begin(file, false, &error);
    spill_table_archive(&archive, &table);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    restore(file, &restored);
    assert_int_equal(restored.used, FEW);
    for (uint32_t i = 0; i < FEW; i++)
        candidates(&restored, flooding(i), i + 1);
    for (uint32_t i = 0; i < FEW; i += 2)
        remove_one(&restored, flooding(i), i + 1);
    for (uint32_t i = 1; i < FEW; i += 2)
        candidates(&restored, flooding(i), i + 1);
    spill_table_release(&table);
    spill_table_release(&restored);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twice_the_digests_are_twice_the_looks),
        cmocka_unit_test(the_seed_comes_back),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
