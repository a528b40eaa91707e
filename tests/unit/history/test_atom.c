/* Atoms: which texts are one atom, what comes back, order; and the index from atoms to dense
 * numbers. */
#include "tests/support/test.h"

#include <stdio.h>

#include "history/index.h"
#include "history/history.h"

static iso_atom atom_of(struct iso_atoms *atoms, const char *text)
{
    return iso_atoms_text(atoms, text, strlen(text));
}

static void comes_back_as(struct iso_atoms *atoms, const char *text)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    iso_atom atom = atom_of(atoms, text), found;
    const char *back = iso_atom_text(atoms, atom, buffer, &length);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(back, text, length);
    assert_int_equal(atom_of(atoms, text), atom);
    assert_true(iso_atoms_find(atoms, text, strlen(text), &found));
    assert_int_equal(found, atom);
}

static const char *const edges[] = {
    "0", "1", "7", "2147483646", "2147483647", "2147483648", "2147483649", "4294967295",
    "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551614",
    "18446744073709551615", "-1", "-2147483648", "-9223372036854775807", "-9223372036854775808",
    /* not canonical, or beyond 64 bits: strings */
    "", "-0", "-", "007", "00", "+7", "7 ", " 7", "7.0", "1e3", "18446744073709551616",
    "-9223372036854775809", "99999999999999999999", "123456789012345678901234567890", "-00", "-07",
    "0x7", "null", "x"};
enum { EDGES = sizeof edges / sizeof *edges, FIRST_STRING = 17, FIRST_IN_TABLE = 5 };

static void texts_come_back(void **state)
{
    (void)state;
    struct iso_atoms atoms;
    iso_atoms_init(&atoms);
    for (int i = 0; i < EDGES; i++)
        comes_back_as(&atoms, edges[i]);
    for (int i = 0; i < EDGES; i++) {
        for (int j = 0; j < i; j++)
            assert_int_not_equal(atom_of(&atoms, edges[i]), atom_of(&atoms, edges[j]));
        assert_int_equal(iso_atom_is_string(&atoms, atom_of(&atoms, edges[i])), i >= FIRST_STRING);
    }
    iso_atoms_release(&atoms);
}

static void small_integers_need_no_entry(void **state)
{
    (void)state;
    struct iso_atoms atoms;
    iso_atom found;
    iso_atoms_init(&atoms);
    for (int i = 0; i < FIRST_IN_TABLE; i++)
        assert_false(atom_of(&atoms, edges[i]) & ISO_ATOM_TABLE);
    assert_int_equal(atoms.count, 0);
    assert_false(iso_atoms_find(&atoms, "2147483648", 10, &found));
    assert_true(iso_atoms_unsigned(&atoms, 0x80000000u) & ISO_ATOM_TABLE);
    assert_int_equal(iso_atoms_unsigned(&atoms, 0x80000000u), atom_of(&atoms, "2147483648"));
    assert_int_equal(atoms.count, 1);
    iso_atoms_release(&atoms);
}

/* -1 and 2^64-1 have the same 64 bits. */
static void signs_tell_apart(void **state)
{
    (void)state;
    struct iso_atoms atoms;
    iso_atoms_init(&atoms);
    iso_atom negative = iso_atoms_add_integer(&atoms, UINT64_MAX, true);
    iso_atom positive = iso_atoms_add_integer(&atoms, UINT64_MAX, false);
    assert_int_not_equal(negative, positive);
    assert_int_equal(negative, atom_of(&atoms, "-1"));
    assert_int_equal(positive, atom_of(&atoms, "18446744073709551615"));
    iso_atoms_release(&atoms);
}

/* Slots are chosen by 32 bits of a hash: among 300,000 texts some ten pairs have all of them in
 * common. Every text still has its own atom. */
static void collisions_do_not_equate(void **state)
{
    (void)state;
    enum { COUNT = 300000 };
    struct iso_atoms atoms;
    iso_atoms_init(&atoms);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            char text[32];
            int length = snprintf(text, sizeof text, "key/%u", i);
            assert_int_equal(iso_atoms_text(&atoms, text, (size_t)length),
                             (2 * i) | ISO_ATOM_TABLE);
            assert_int_equal(iso_atoms_unsigned(&atoms, ((uint64_t)i << 20) + ISO_ATOM_TABLE),
                             (2 * i + 1) | ISO_ATOM_TABLE);
        }
    }
    assert_int_equal(atoms.count, 2 * COUNT);
    uint32_t shared = 0;
    for (uint32_t slot = 1; slot <= atoms.table.mask; slot++)
        shared += atoms.table.slots[slot] &&
                  atoms.table.slots[slot] >> 32 == atoms.table.slots[slot - 1] >> 32;
    assert_true(shared > 0); /* the seed of this test: without a collision it shows nothing */
    iso_atoms_clear(&atoms);
    iso_atom found;
    assert_false(iso_atoms_find(&atoms, "key/1", 5, &found));
    assert_int_equal(iso_atoms_text(&atoms, "key/9", 5), ISO_ATOM_TABLE);
    iso_atoms_release(&atoms);
}

static void copies_are_equal_texts(void **state)
{
    (void)state;
    struct iso_atoms from, into;
    iso_atoms_init(&from);
    iso_atoms_init(&into);
    atom_of(&into, "something else");
    for (int i = 0; i < EDGES; i++)
        assert_int_equal(iso_atoms_copy(&into, &from, atom_of(&from, edges[i])),
                         atom_of(&into, edges[i]));
    assert_int_equal(iso_atoms_copy(&into, &from, ISO_ABSENT), ISO_ABSENT);
    iso_atoms_release(&from);
    iso_atoms_release(&into);
}

static void order_of_reports(void **state)
{
    (void)state;
    static const char *const order[] = {
        "-9223372036854775808", "-5", "-1", "0",   "1", "10", "2147483647", "2147483648",
        "18446744073709551615", "",   "-0", "007", "a", "aa", "ab",         "b"};
    struct iso_atoms atoms;
    iso_atoms_init(&atoms);
    enum { COUNT = sizeof order / sizeof *order };
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < COUNT; j++) {
            int compared =
                iso_atom_compare(&atoms, atom_of(&atoms, order[i]), atom_of(&atoms, order[j]));
            assert_int_equal((compared > 0) - (compared < 0), (i > j) - (i < j));
        }
        assert_true(iso_atom_compare(&atoms, atom_of(&atoms, order[i]), ISO_ABSENT) < 0);
        assert_true(iso_atom_compare(&atoms, ISO_ABSENT, atom_of(&atoms, order[i])) > 0);
    }
    iso_atoms_release(&atoms);
}

static void index_numbers_by_first_appearance(void **state)
{
    (void)state;
    static const iso_atom atoms[] = {
        0, 5,       4000000, 0x7fffffff, ISO_ATOM_TABLE, 5000000, ISO_ATOM_TABLE | 77,
        1, 4194303, 4194304};
    enum { COUNT = sizeof atoms / sizeof *atoms };
    struct iso_atom_index *index = iso_atom_index_new();
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(iso_atom_index_find(index, atoms[i]), ISO_NONE);
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(iso_atom_index_get(index, atoms[i], i), i);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(iso_atom_index_get(index, atoms[i], COUNT), i);
            assert_int_equal(iso_atom_index_find(index, atoms[i]), i);
        }
        assert_int_equal(iso_atom_index_find(index, 6), ISO_NONE);
        iso_atom_index_clear(index, atoms, COUNT);
    }
    iso_atom_index_free(index);
}

static void index_of_many(void **state)
{
    (void)state;
    struct iso_atom_index *index = iso_atom_index_new();
    enum { COUNT = 200000 };
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(iso_atom_index_get(index, ISO_ATOM_TABLE | i * 7, pass ? COUNT : i),
                             i);
    }
    iso_atom_index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(small_integers_need_no_entry),
        cmocka_unit_test(signs_tell_apart),
        cmocka_unit_test(collisions_do_not_equate),
        cmocka_unit_test(copies_are_equal_texts),
        cmocka_unit_test(order_of_reports),
        cmocka_unit_test(index_numbers_by_first_appearance),
        cmocka_unit_test(index_of_many),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("atom", tests, NULL, NULL);
}
