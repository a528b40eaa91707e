/* Lines of test_decoding, and what a capture has of them. */
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "suite/changes.h"
#include "suite/heirs.h"
#include "tests/support/temporary.h"
#include "tests/support/test.h"

struct scene {
    char path[TEST_PATH];
    struct suite_capture capture;
    struct suite_changes changes;
    struct iso_error error;
    struct iso_text found; /* of changes: each with a line's end, but for when they were written */
};

/* The first reading has t, with the key b, a, and d, which has none. */
static void begin(struct scene *scene)
{
    static const char *const rows[] = {
        "public.t", "b,a", "1 a,2 b;9", "5", "9", "t", "public.t", "9", "public.\"t", "10", "5",
        "public.d", NULL,  "1 a;9",     "6", "9", "t", "public.d", "9", "public.\"d", "10", "6"};
    const struct suite_reading reading = {10, 11, true};
    *scene = (struct scene){.error = {.status = ISO_OK}};
    snprintf(scene->path, sizeof scene->path, "%s/changes.%d.zst", temporary_folder(),
             (int)getpid());
    scene->capture.writer = iso_capture_writer_new(scene->path, &scene->error);
    assert_non_null(scene->capture.writer);
    scene->changes.capture = &scene->capture;
    suite_snapshots_take(&scene->changes.tables.snapshots, "20:20:", 10, 11);
    suite_tables_take(&scene->changes.tables, &reading, rows, 2);
}

/* Another reading, that sees transactions below the snapshot's. */
static void read_again(struct scene *scene, const char *const *rows, uint32_t count, int64_t at,
                       const char *snapshot)
{
    const struct suite_reading reading = {at, at + 1, false};
    suite_snapshots_take(&scene->changes.tables.snapshots, snapshot, (uint64_t)at,
                         (uint64_t)at + 1);
    suite_tables_take(&scene->changes.tables, &reading, rows, count);
}

static void takes(struct scene *scene, uint64_t place, const char *line)
{
    assert_int_equal(suite_changes_take(&scene->changes, place, line, &scene->error), ISO_OK);
}

static void collect(void *context, const char *topic, const char *text, size_t length)
{
    struct iso_text *found = context;
    const char *end = text + length;
    while (*text == 'E' && end[-1] != ' ')
        end--;
    if (strcmp(topic, SUITE_CHANGES))
        iso_text_format(found, "(%s) ", topic);
    iso_text_put_bytes(found, text, (size_t)(end - text));
    iso_text_put(found, "\n");
}

static void end(struct scene *scene, const char *expected)
{
    assert_int_equal(iso_capture_writer_close(scene->capture.writer, &scene->error), ISO_OK);
    if (scene->changes.has_heirs)
        assert_int_equal(suite_heirs_write(&scene->changes, scene->path, &scene->error), ISO_OK);
    assert_int_equal(suite_capture_read(scene->path, collect, &scene->found, &scene->error),
                     ISO_OK);
    *iso_text_reserve(&scene->found, 1) = 0;
    assert_string_equal(scene->found.bytes, expected);
    suite_changes_release(&scene->changes);
    iso_text_release(&scene->found);
    unlink(scene->path);
}

static const char *const both[] = {
    "public.t", "b,a", "1 a,2 b;9", "5", "9", "t", "public.t", "9", "public.\"t", "90", "5",
    "public.d", NULL,  "1 a;9",     "6", "9", "t", "public.d", "9", "public.\"d", "90", "6"};

static void a_line_gets_its_place_and_its_key(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    read_again(&scene, both, 2, 20, "40:40:");
    takes(&scene, 100, "BEGIN 30");
    takes(&scene, 101, "table public.t: INSERT: a[integer]:1 b[text]:'x''y'");
    takes(&scene, 102,
          "table public.t: UPDATE: old-key: a[integer]:1 b[text]:'x''y' new-tuple: "
          "a[integer]:2 b[text]:'z'");
    takes(&scene, 103, "table public.d: INSERT: a[integer]:1"); /* it has no key, and is old */
    takes(&scene, 104, "table public.t: DELETE: a[integer]:2 b[text]:'z'");
    takes(&scene, 105, "table public.t, public.d: TRUNCATE: (no-flags)");
    takes(&scene, 106, "message: transactional: 1 prefix: isochron, sz: 5 content:begun");
    takes(&scene, 110, "COMMIT 30");
    assert_false(scene.changes.ended);
    takes(&scene, 120, "message: transactional: 1 prefix: isochron run, sz: 3 content:end");
    assert_true(scene.changes.ended);
    assert_int_equal(suite_changes_put_empty(&scene.changes, 30, &scene.error), ISO_OK);
    assert_int_equal(suite_changes_put_empty(&scene.changes, 31, &scene.error), ISO_OK);
    end(&scene, "B 30 100\n"
                "c 30 101 0 1 public.t a[integer]:1 b[text]:'x''y'\n"
                "d 30 102 0 2 public.t a[integer]:1 b[text]:'x''y'\n"
                "c 30 102 0 3 public.t a[integer]:2 b[text]:'z'\n"
                "d 30 104 0 4 public.t a[integer]:2 b[text]:'z'\n"
                "t 30 105 0 5 public.t\n"
                "E 30 110 5 \n"
                "B 31 111\n"
                "E 31 111 0 \n");
}

/* It holds what nobody knows; and what its maker's transaction did to the one before is nobody's. */
static void a_table_that_is_altered_begins_unknown(void **state)
{
    (void)state;
    static const char *const wider[] = {"public.t", "b,a", "1 a,2 b,3 c;9,30", "5",  "9", "f",
                                        "public.t", "9",   "public.\"t",       "95", "5"};
    struct scene scene;
    begin(&scene);
    read_again(&scene, wider, 1, 20, "40:40:");
    takes(&scene, 100, "BEGIN 35");
    takes(&scene, 101, "table public.t: INSERT: a[integer]:1 b[text]:'x' c[integer]:2");
    takes(&scene, 110, "COMMIT 35");
    end(&scene, "B 35 100\n"
                "s 35 100 0 0 public.\"t~2\"\n"
                "c 35 101 0 1 public.\"t~2\" a[integer]:1 b[text]:'x' c[integer]:2\n"
                "E 35 110 1 \n");
}

/* Its rows are the keyed table's, in their places, once it has a key. */
static void a_table_that_gets_a_key_inherits_its_rows(void **state)
{
    (void)state;
    static const char *const keyless[] = {"public.n", NULL, "1 a;30",     "7",  "30", "t",
                                          "public.n", "30", "public.\"n", "95", "7"},
                             *const filled[] = {"public.n", NULL, "1 a;30",     "7",   "30", "t",
                                                "public.n", "30", "public.\"n", "130", "7"},
                             *const keyed[] = {"public.n", "a",  "1 a;33",     "7",   "30", "t",
                                               "public.n", "30", "public.\"n", "150", "7"};
    for (int is_changed = 0; is_changed < 2; is_changed++) {
        struct scene scene;
        static const char *const names[] = {"n"};
        begin(&scene);
        suite_tables_define(&scene.changes.tables,
                            &(struct suite_definition){SUITE_DEFINES, names, 1, false});
        read_again(&scene, keyless, 1, 20, "31:31:");
        takes(&scene, 100, "BEGIN 30");
        takes(&scene, 101, "table public.n: INSERT: a[integer]:1");
        takes(&scene, 110, "COMMIT 30");
        if (is_changed) {
            takes(&scene, 120, "BEGIN 31");
            takes(&scene, 121, "table public.n: DELETE: (no-tuple-data)");
            takes(&scene, 122, "COMMIT 31");
        }
        read_again(&scene, filled, 1, 30, "33:33:");
        read_again(&scene, keyed, 1, 40, "40:40:");
        takes(&scene, 160, "BEGIN 35");
        takes(&scene, 161, "table public.n: INSERT: a[integer]:2");
        takes(&scene, 170, "COMMIT 35");
        assert_int_equal(scene.changes.has_heirs, !is_changed);
        end(&scene, is_changed ? "B 30 100\n"
                                 "(run.keyless) c 30 101 0 0 public.n a[integer]:1\n"
                                 "E 30 110 0 \n"
                                 "B 31 120\n"
                                 "E 31 122 0 \n"
                                 "B 35 160\n"
                                 "s 35 160 122 0 public.\"n~3\"\n"
                                 "c 35 161 122 1 public.\"n~3\" a[integer]:2\n"
                                 "E 35 170 1 \n"
                               : "B 30 100\n"
                                 "c 30 101 0 1 public.\"n~3\" a[integer]:1\n"
                                 "E 30 110 1 \n"
                                 "B 35 160\n"
                                 "c 35 161 110 1 public.\"n~3\" a[integer]:2\n"
                                 "E 35 170 1 \n");
    }
}

/* What cannot be read again stays as it is, and nothing is left beside it. */
static void a_capture_that_cannot_be_written_again_leaves_nothing(void **state)
{
    (void)state;
    struct scene scene;
    struct iso_error error = {.status = ISO_OK};
    char missing[TEST_PATH + 8], beside[TEST_PATH + 16];
    begin(&scene);
    snprintf(missing, sizeof missing, "%.*s.none.zst", (int)strlen(scene.path) - 4, scene.path);
    snprintf(beside, sizeof beside, "%.*s.none.next.zst", (int)strlen(scene.path) - 4, scene.path);
    assert_int_not_equal(suite_heirs_write(&scene.changes, missing, &error), ISO_OK);
    assert_int_not_equal(access(beside, F_OK), 0);
    end(&scene, "");
}

static void columns_of_a_key_come_in_its_order(void **state)
{
    (void)state;
    static const char row[] = "a[integer]:1 \"B c\"[text]:'x y' d[text]:null";
    struct iso_text key = {0};
    assert_true(suite_find_key(&key, "\"B c\",a", row, row + sizeof row - 1));
    assert_int_equal(key.used, strlen("\"B c\"[text]:'x y' a[integer]:1"));
    assert_memory_equal(key.bytes, "\"B c\"[text]:'x y' a[integer]:1", key.used);
    assert_false(suite_find_key(&key, "a,e", row, row + sizeof row - 1));
    iso_text_release(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_gets_its_place_and_its_key),
        cmocka_unit_test(a_table_that_is_altered_begins_unknown),
        cmocka_unit_test(a_table_that_gets_a_key_inherits_its_rows),
        cmocka_unit_test(a_capture_that_cannot_be_written_again_leaves_nothing),
        cmocka_unit_test(columns_of_a_key_come_in_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
