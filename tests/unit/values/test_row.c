/* Rows of change streams: identities and values as text, cell by cell, and whole rows in JSON. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "values/row.h"

struct world {
    struct iso_row row, keys;
    struct iso_json json, key_json;
    struct iso_atoms atoms;
    struct iso_row_names names;
    char text[1024], key_text[1024];
    char buffer[1024];
};

static int open_world(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    iso_row_init(&world->row);
    iso_row_init(&world->keys);
    iso_json_init(&world->json);
    iso_json_init(&world->key_json);
    iso_atoms_init(&world->atoms);
    *state = world;
    return 0;
}

static int close_world(void **state)
{
    struct world *world = *state;
    iso_row_release(&world->row);
    iso_row_release(&world->keys);
    iso_row_names_release(&world->names);
    iso_json_release(&world->json);
    iso_json_release(&world->key_json);
    iso_atoms_release(&world->atoms);
    free(world);
    return 0;
}

static const char *text_of(struct world *world, iso_atom atom)
{
    char digits[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT)
        return "-";
    const char *text = iso_atom_text(&world->atoms, atom, digits, &length);
    snprintf(world->buffer, sizeof world->buffer, "%.*s", (int)length, text);
    return world->buffer;
}

static bool read_row(struct iso_row *row, struct iso_json *json, char *into, size_t capacity,
                     const char *text)
{
    memset(into, 0, capacity);
    memcpy(into, text, strlen(text));
    iso_json_start(json, into, strlen(text));
    iso_row_clear(row);
    return iso_row_read_json(row, json) && iso_json_finish(json);
}

static bool read(struct world *world, const char *row, const char *keys)
{
    return read_row(&world->row, &world->json, world->text, sizeof world->text, row) &&
           read_row(&world->keys, &world->key_json, world->key_text, sizeof world->key_text,
                    keys) &&
           iso_row_set_keys(&world->row, &world->keys);
}

static const char *value(struct world *world, const char *row, const char *keys, const char *column)
{
    iso_atom atom = 0;
    assert_true(read(world, row, keys));
    assert_int_equal(iso_row_value(&world->row, &world->atoms, column, &atom), ISO_ROW_KNOWN);
    return text_of(world, atom);
}

static const struct iso_row_name *name_of(struct world *world, const char *schema,
                                          const char *table)
{
    return iso_row_names_find(&world->names, &world->atoms,
                              (struct iso_json_text){schema, strlen(schema)},
                              (struct iso_json_text){table, strlen(table)});
}

static const char *key(struct world *world, const char *schema, const char *table, const char *keys)
{
    assert_true(
        read_row(&world->keys, &world->key_json, world->key_text, sizeof world->key_text, keys));
    return text_of(world, iso_row_key(&world->keys, &world->atoms, name_of(world, schema, table)));
}

static void makes_identities(void **state)
{
    struct world *world = *state;
    assert_string_equal(key(world, "public", "kv", "{\"k\":23}"), "public.kv/23");
    assert_string_equal(key(world, "public", "kv", "{\"k\":-23,\"j\":18446744073709551615}"),
                        "public.kv/-23,18446744073709551615");
    assert_string_equal(key(world, "d", "t", "{\"a\":\"x/y\",\"b\":\"5%,6\",\"c\":true}"),
                        "d.t/x%2Fy,5%25%2C6,true");
    assert_string_equal(key(world, "a/b", "c,%", "{\"a\":\"\"}"), "a%2Fb.c%2C%25/");
    assert_string_equal(key(world, "a", "b.c", "{\"a\":1}"), "a.b.c/1");
    assert_string_equal(key(world, "a.b", "c", "{\"a\":1}"), "a%2Eb.c/1");
    assert_string_equal(key(world, "", "t", "{\"a\":\"\\u00e9\\n\"}"), "t/\xc3\xa9\n");
    assert_string_equal(key(world, "d", "t", "{\"a\":null}"), "-");
    assert_string_equal(key(world, "d", "t", "{}"), "-");
    assert_string_equal(text_of(world, name_of(world, "d", "t")->atom), "d.t");
}

/* A table's name is known at a glance, and is so in every table of atoms, also in one that was
 * cleared. */
static void knows_tables_again(void **state)
{
    struct world *world = *state;
    struct iso_atoms other;
    iso_atoms_init(&other);
    assert_string_equal(text_of(world, name_of(world, "d", "t")->atom), "d.t");
    iso_atom first = name_of(world, "d", "t")->atom;
    assert_int_equal(name_of(world, "d", "t")->atom, first);
    assert_string_equal(text_of(world, name_of(world, "dt", "")->atom), "dt.");
    assert_string_equal(text_of(world, name_of(world, "", "dt")->atom), "dt");
    assert_string_equal(text_of(world, name_of(world, "", "7")->atom), "7");
    iso_atoms_clear(&world->atoms);
    iso_atoms_add_string(&world->atoms, "x.y", 3); /* where d.t was */
    assert_string_equal(text_of(world, name_of(world, "d", "t")->atom), "d.t");
    assert_int_not_equal(name_of(world, "d", "t")->atom, first);
    const struct iso_row_name *name = iso_row_names_find(
        &world->names, &other, (struct iso_json_text){"d", 1}, (struct iso_json_text){"t", 1});
    assert_true(iso_atom_is_still(&other, name->atom, "d.t", 3));
    assert_false(iso_atom_is_still(&other, name->atom, "d.u", 3));
    assert_false(iso_atom_is_still(&other, ISO_ABSENT, "d.t", 3));
    iso_atoms_release(&other);
}

/* Where some cells of a row are its key, only they are. */
static void takes_the_key_out_of_a_row(void **state)
{
    struct world *world = *state;
    assert_true(read(world, "{\"v\":1,\"b\":\"2\",\"a\":3}", "{\"b\":0,\"a\":0}"));
    assert_string_equal(
        text_of(world, iso_row_key(&world->row, &world->atoms, name_of(world, "d", "t"))),
        "d.t/2,3");
    assert_false(read(world, "{\"v\":1}", "{\"k\":1}"));
}

static void makes_values_of_columns(void **state)
{
    struct world *world = *state;
    assert_string_equal(value(world, "{\"k\":1,\"v\":10}", "{\"k\":1}", "v"), "10");
    assert_string_equal(value(world, "{\"k\":1,\"v\":\"10\"}", "{\"k\":1}", "v"), "10");
    assert_string_equal(value(world, "{\"k\":1,\"v\":null}", "{\"k\":1}", "v"), "-");
    assert_string_equal(value(world, "{\"k\":1,\"v\":\"\"}", "{\"k\":1}", "v"), "");
    assert_string_equal(value(world, "{\"k\":1,\"v\":false}", "{\"k\":1}", "v"), "false");
    assert_string_equal(value(world, "{\"k\":1,\"v\":-9223372036854775808}", "{\"k\":1}", "v"),
                        "-9223372036854775808");
    assert_string_equal(value(world, "{\"k\":1,\"v\":18446744073709551615}", "{\"k\":1}", "v"),
                        "18446744073709551615");
    assert_string_equal(value(world, "{\"k\":1,\"v\":18446744073709551616}", "{\"k\":1}", "v"),
                        "18446744073709551616");
    assert_string_equal(value(world, "{\"k\":1,\"v\":-0}", "{\"k\":1}", "v"), "0");
    assert_string_equal(value(world, "{\"k\":1,\"v\":1.50}", "{\"k\":1}", "v"), "1.5");
    assert_string_equal(value(world, "{\"k\":1,\"v\":1.5E2}", "{\"k\":1}", "v"), "150");
    assert_string_equal(value(world, "{\"k\":1,\"v\":0.1234567890123456789}", "{\"k\":1}", "v"),
                        "0.1234567890123456789");
    assert_string_equal(value(world, "{\"k\":1,\"v\":[ 1 , \"a \\\" b\" ]}", "{\"k\":1}", "v"),
                        "[1,\"a \\\" b\"]");
    iso_atom number, text;
    assert_true(read(world, "{\"a\":7,\"b\":\"7\"}", "{}"));
    assert_int_equal(iso_row_value(&world->row, &world->atoms, "a", &number), ISO_ROW_KNOWN);
    assert_int_equal(iso_row_value(&world->row, &world->atoms, "b", &text), ISO_ROW_KNOWN);
    assert_int_equal(number, text);
}

static void makes_values_of_whole_rows(void **state)
{
    struct world *world = *state;
    assert_string_equal(
        value(
            world,
            "{\"v\" : -1 ,\"k\":1,\"amt\":\"1.50\",\"n\":null,\"ab\":[ 1, {\"x\" :2} ],\"b\":true}",
            "{\"k\":1}", NULL),
        "{\"ab\":[1,{\"x\":2}],\"amt\":\"1.50\",\"b\":true,\"n\":null,\"v\":-1}");
    assert_string_equal(value(world, "{\"k\":1}", "{\"k\":1}", NULL), "{}");
    assert_string_equal(value(world, "{\"\\u0022\":\"\\u001f\\/\"}", "{}", NULL),
                        "{\"\\\"\":\"\\u001f/\"}");
    /* the same columns in another order, and then fewer of them */
    assert_string_equal(value(world, "{\"b\":1,\"a\":2,\"c\":3}", "{}", NULL),
                        "{\"a\":2,\"b\":1,\"c\":3}");
    assert_string_equal(value(world, "{\"c\":1,\"b\":2,\"a\":3}", "{}", NULL),
                        "{\"a\":3,\"b\":2,\"c\":1}");
    assert_string_equal(value(world, "{\"c\":1,\"b\":2}", "{}", NULL), "{\"b\":2,\"c\":1}");
}

static void says_why_there_is_no_value(void **state)
{
    struct world *world = *state;
    iso_atom atom = 7;
    assert_true(read(world, "{\"a\":1,\"b\":2,\"a\":3}", "{}"));
    assert_int_equal(iso_row_value(&world->row, &world->atoms, NULL, &atom), ISO_ROW_TWICE);
    assert_int_equal(iso_row_value(&world->row, &world->atoms, "a", &atom), ISO_ROW_TWICE);
    assert_int_equal(iso_row_value(&world->row, &world->atoms, "c", &atom), ISO_ROW_NO_COLUMN);
    world->row.cells[1].kind = ISO_CELL_UNKNOWN;
    assert_int_equal(iso_row_value(&world->row, &world->atoms, "b", &atom), ISO_ROW_UNKNOWN);
    world->row.cells[2].name = "c";
    assert_int_equal(iso_row_value(&world->row, &world->atoms, NULL, &atom), ISO_ROW_UNKNOWN);
    world->row.cells[1].is_key = true;
    assert_int_equal(iso_row_value(&world->row, &world->atoms, NULL, &atom), ISO_ROW_KNOWN);
    assert_string_equal(text_of(world, atom), "{\"a\":1,\"c\":3}");
}

static const char *decimal(struct world *world, const char *bytes, size_t size, int32_t scale)
{
    iso_atom atom = 0;
    iso_row_clear(&world->row);
    struct iso_cell *cell = iso_row_add(&world->row, "v", 1);
    cell->kind = ISO_CELL_DECIMAL;
    cell->text = bytes;
    cell->length = (uint32_t)size;
    cell->scale = scale;
    assert_int_equal(iso_row_value(&world->row, &world->atoms, "v", &atom), ISO_ROW_KNOWN);
    return text_of(world, atom);
}

static void writes_decimals(void **state)
{
    struct world *world = *state;
    assert_string_equal(decimal(world, "\x30\x39", 2, 0), "12345");
    assert_string_equal(decimal(world, "\x30\x39", 2, 2), "123.45");
    assert_string_equal(decimal(world, "\xff", 1, 2), "-0.01");
    assert_string_equal(decimal(world, "\x00\x80", 2, 3), "0.128");
    assert_string_equal(decimal(world, "\xcf\xc7", 2, 1), "-1234.5");
    assert_string_equal(decimal(world, "\x00", 1, 0), "0");
    assert_string_equal(decimal(world, "\x00", 1, 2), "0.00");
    assert_string_equal(decimal(world, "\x00", 1, -2), "0");
    assert_string_equal(decimal(world, "\x05", 1, -3), "5000");
    assert_string_equal(decimal(world, "", 0, 1), "0.0");
    assert_string_equal(decimal(world, "\x7f\xff\xff\xff\xff\xff\xff\xff", 8, 0),
                        "9223372036854775807");
    assert_string_equal(decimal(world, "\x80\x00\x00\x00\x00\x00\x00\x00", 8, 0),
                        "-9223372036854775808");
    assert_string_equal(decimal(world, "\x01\x00\x00\x00\x00\x00\x00\x00\x00", 9, 20),
                        "0.18446744073709551616");
    assert_string_equal(decimal(world, "\xff\x00\x00\x00\x00\x00\x00\x00\x00", 9, 0),
                        "-18446744073709551616");
    assert_string_equal(decimal(world, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9, 0), "-1");
    char most[ISO_CELL_DECIMAL_BYTES] = {(char)0x80};
    assert_string_equal(
        decimal(world, most, sizeof most, 0), /* -2^511 */
        "-6703903964971298549787012499102923063739682910296196688861780721860882015036773488400937149083451"
        "713845015929093243025426876941405973284973216824503042048");
}

static const char *number(struct world *world, double value, enum iso_cell_kind kind)
{
    iso_atom atom = 0;
    float small = (float)value;
    uint32_t bits = 0;
    iso_row_clear(&world->row);
    struct iso_cell *cell = iso_row_add(&world->row, "v", 1);
    cell->kind = (uint8_t)kind;
    memcpy(&cell->bits, &value, sizeof value);
    memcpy(&bits, &small, sizeof small);
    if (kind == ISO_CELL_FLOAT)
        cell->bits = bits;
    assert_int_equal(iso_row_value(&world->row, &world->atoms, NULL, &atom), ISO_ROW_KNOWN);
    return text_of(world, atom);
}

static void writes_floating_point(void **state)
{
    struct world *world = *state;
    assert_string_equal(number(world, 0.1, ISO_CELL_DOUBLE), "{\"v\":0.1}");
    assert_string_equal(number(world, 0.1, ISO_CELL_FLOAT), "{\"v\":0.1}");
    assert_string_equal(number(world, 0.1 + 0.2, ISO_CELL_DOUBLE), "{\"v\":0.30000000000000004}");
    assert_string_equal(number(world, 16777217.0, ISO_CELL_DOUBLE), "{\"v\":16777217}");
    assert_string_equal(number(world, 1e300, ISO_CELL_DOUBLE), "{\"v\":1e+300}");
    assert_string_equal(number(world, (double)NAN, ISO_CELL_DOUBLE), "{\"v\":\"NaN\"}");
    assert_string_equal(number(world, (double)-INFINITY, ISO_CELL_FLOAT), "{\"v\":\"-Infinity\"}");
}

static void writes_bytes(void **state)
{
    struct world *world = *state;
    iso_row_clear(&world->keys);
    struct iso_cell *cell = iso_row_add(&world->keys, "k", 1);
    cell->kind = ISO_CELL_BYTES;
    cell->text = "\xff\xff\xff";
    cell->length = 3;
    assert_string_equal(
        text_of(world, iso_row_key(&world->keys, &world->atoms, name_of(world, "d", "t"))),
        "d.t/%2F%2F%2F%2F");
}

static void refuses_what_is_no_row(void **state)
{
    struct world *world = *state;
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":tru}",
                                      "{\"a\":1,}",
                                      "{\"a\":01}",
                                      "{\"a\":\"\\ud800\"}",
                                      "{\"a\":[1}",
                                      "{\"a\":{\"b\":}}",
                                      "{\"a\":1.}",
                                      "null"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(read(world, bad[i], "{}"));
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
#define WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)
    const struct CMUnitTest tests[] = {
        WORLD(makes_identities),
        WORLD(knows_tables_again),
        WORLD(takes_the_key_out_of_a_row),
        WORLD(makes_values_of_columns),
        WORLD(makes_values_of_whole_rows),
        WORLD(says_why_there_is_no_value),
        WORLD(writes_decimals),
        WORLD(writes_floating_point),
        WORLD(writes_bytes),
        WORLD(refuses_what_is_no_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
