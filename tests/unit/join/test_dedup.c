/* The ring of what was finished: what is older than it is forgotten, and nothing else. */
#include "tests/support/test.h"

#include "join/join_private.h"

static struct join_identity identity_of(uint64_t number)
{
    return (struct join_identity){number, JOIN_BY_XID};
}

static void the_ring_forgets_the_oldest(void **state)
{
    enum { MORE = 3 };
    struct iso_join *join = iso_join_new(&(struct iso_join_options){.kind = "debezium"});
    (void)state;
    for (uint64_t i = 0; i < JOIN_DEDUP_ENTRIES + MORE; i++)
        join_dedup_note(join, identity_of(i), ISO_ABSENT, 10 * i);
    for (uint64_t i = 0; i < JOIN_DEDUP_ENTRIES + MORE; i += i < 2 * MORE ? 1 : 1000) {
        const struct join_dedup_entry *entry = join_dedup_find(join, identity_of(i));
        assert_int_equal(entry != NULL, i >= MORE);
        assert_true(!entry || entry->cts == 10 * i);
    }
    join_dedup_note(join, identity_of(MORE), ISO_ABSENT,
                    7); /* again: the newer of two is the one that is known */
    for (uint64_t i = 1; i < JOIN_DEDUP_ENTRIES; i++)
        join_dedup_note(join, identity_of(2 * (uint64_t)JOIN_DEDUP_ENTRIES + i), ISO_ABSENT, 0);
    assert_int_equal(join_dedup_find(join, identity_of(MORE))->cts, 7);
    iso_join_free(join);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_ring_forgets_the_oldest)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
