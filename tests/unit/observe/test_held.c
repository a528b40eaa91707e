/* What waits until it is known whether names still meant what they were taken to mean. */
#include <stdio.h>

#include "observe/world.h"
#include "tests/support/test.h"
#include "wire/put.h"

struct scene {
    struct observe_shared shared;
    struct observe_database *database;
    struct observe_held held;
};

static void add(struct catalog *catalog, const char *oid, const char *name, unsigned generation)
{
    struct iso_text row = {0};
    char text[16];
    snprintf(text, sizeof text, "%u", generation);
    const char *const fields[] = {oid,  *oid == '0' ? "g" : "public",
                                  name, "t",
                                  "f",  "1",
                                  "k",  "23",
                                  "1",  "t",
                                  "t",  "t",
                                  "",   "0",
                                  "t",  text};
    wire_put_u16(&row, 16);
    for (int i = 0; i < 16; i++) {
        wire_put_u32(&row, (uint32_t)strlen(fields[i]));
        iso_text_put(&row, fields[i]);
    }
    assert_true(
        catalog_add(catalog, wire_cursor((const uint8_t *)row.bytes, (uint32_t)row.used), NULL, 0));
    iso_text_release(&row);
}

/* Tables a and b, and what is no table's. */
static struct catalog *catalog_of(unsigned none, unsigned a, unsigned b, int64_t asked_at)
{
    struct catalog *catalog = catalog_new();
    add(catalog, "0", "", none);
    add(catalog, "20000", "a", a);
    if (b)
        add(catalog, "20001", "b", b);
    catalog_end(catalog);
    catalog->asked_at = asked_at;
    return catalog;
}

static void read_again(struct scene *scene, struct catalog *catalog)
{
    observe_catalog_is(&scene->shared, scene->database, catalog);
}

/* Something that used `a` was recorded up to moment 100. */
static void begin(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    observe_shared_init(&scene->shared, NULL, "t");
    scene->database = observe_database(&scene->shared, "shop");
    read_again(scene, catalog_of(1, 10, 20, 50));
    scene->held.catalog = observe_catalog(&scene->shared, scene->database);
    scene->held.at = 100;
    catalog_use(scene->held.catalog, "a");
}

static enum observe_verdict verdict(struct scene *scene)
{
    return observe_held(&scene->shared, &scene->held);
}

static void end(struct scene *scene)
{
    catalog_release(scene->held.catalog);
    observe_database_release(&scene->shared, scene->database);
    observe_shared_release(&scene->shared);
}

static void only_what_was_asked_behind_it_confirms_it(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    assert_int_equal(verdict(&scene), HELD_WAITS);
    observe_confirmed(&scene.shared, scene.database, scene.held.catalog, 99, true);
    observe_confirmed(&scene.shared, scene.database, scene.held.catalog, 100, true);
    assert_int_equal(verdict(&scene), HELD_WAITS);
    observe_confirmed(&scene.shared, scene.database, scene.held.catalog, 101, true);
    assert_int_equal(verdict(&scene), HELD_RIGHT);
    end(&scene);
}

static void a_check_asks_for_what_was_used(void **state)
{
    (void)state;
    struct scene scene;
    struct iso_text query = {0};
    char expected[CATALOG_EXPECTED];
    begin(&scene);
    catalog_put_check(scene.held.catalog, &query, expected);
    assert_string_equal(expected, "11");
    iso_text_put_bytes(&query, "", 1);
    assert_non_null(strstr(query.bytes, "ARRAY['a']"));
    query.used = 0;
    catalog_use(scene.held.catalog, "it's"); /* which is not asked for by name, but with all */
    catalog_put_check(scene.held.catalog, &query, expected);
    assert_string_equal(expected, "31");
    iso_text_put_bytes(&query, "", 1);
    assert_null(strstr(query.bytes, "ARRAY['a']"));
    iso_text_release(&query);
    end(&scene);
}

/* Of a newer catalog it matters what was used, and of which moment it is. */
static void a_newer_catalog_says_more(void **state)
{
    (void)state;
    static const struct {
        unsigned none, a, b;
        int64_t asked_at;
        enum observe_verdict verdict;
    } cases[] = {
        {1, 10, 20, 101, HELD_RIGHT}, {1, 10, 20, 99, HELD_WAITS}, /* the same again */
        {1, 10, 21, 101, HELD_RIGHT}, {1, 10, 0, 101, HELD_RIGHT}, /* only b is another, or gone */
        {1, 11, 20, 101, HELD_WRONG}, {2, 10, 20, 101, HELD_WRONG},
        {1, 11, 20, 99, HELD_WRONG},  {1, 10, 21, 99, HELD_WRONG}, /* nobody asks for it again */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        begin(&scene);
        read_again(&scene, catalog_of(cases[i].none, cases[i].a, cases[i].b, cases[i].asked_at));
        assert_int_equal(verdict(&scene), cases[i].verdict);
        end(&scene);
    }
}

static void look(void *context, const char *database, enum observe_look what,
                 const struct observe_given *given)
{
    (void)context, (void)database, (void)what, (void)given;
}

/* A session that has nothing to do is not held up by a catalog that nobody changed: a check is enough. */
static void an_idle_session_asks_for_no_catalog_that_is_known(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.database->asked_at = iso_clock_nanoseconds() - (CATALOG_SECONDS + 1) * SECOND;
    scene.database->cost = 2 * SECOND;
    assert_true(observe_check_is_old(&scene.shared, scene.database));
    assert_false(observe_catalog_wanted(&scene.shared, scene.database, true));
    scene.database->check_at = iso_clock_nanoseconds();
    assert_false(observe_check_is_old(&scene.shared, scene.database));
    observe_confirmed(&scene.shared, scene.database, scene.held.catalog, iso_clock_nanoseconds(),
                      false);
    assert_false(observe_check_is_old(&scene.shared, scene.database));
    assert_true(observe_catalog_wanted(&scene.shared, scene.database, true));
    scene.database->cost = 4 * SECOND; /* for a twentieth of the time */
    scene.database->is_stale = true;
    scene.database->is_asked = false;
    scene.database->asked_at = iso_clock_nanoseconds() - (CATALOG_SECONDS + 1) * SECOND;
    assert_false(observe_catalog_wanted(&scene.shared, scene.database, true));
    /* One that is dear waits for such a session: who works is not held up by it. */
    scene.database->spent = 0;
    scene.database->cost = CATALOG_CHEAP;
    assert_false(observe_catalog_wanted(&scene.shared, scene.database, false));
    scene.shared.host.look = look; /* but for whom such a time is what it waits for anyway */
    scene.database->spent = 9 * SECOND;
    assert_true(observe_catalog_wanted(&scene.shared, scene.database, false));
    scene.database->is_asked = false;
    scene.database->is_stale = true;
    scene.database->spent = 11 * SECOND;
    assert_false(observe_catalog_wanted(&scene.shared, scene.database, false));
    scene.shared.host.look = NULL;
    scene.database->spent = 0;
    scene.database->cost = CATALOG_CHEAP - 1;
    assert_true(observe_catalog_wanted(&scene.shared, scene.database, false));
    end(&scene);
}

/* One that was cancelled, or failed: who is idle asks again, and who works does not take it for cheap. */
static void a_catalog_that_did_not_come_is_asked_for_again(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.database->cost = 4 * SECOND;
    scene.database->is_stale = true;
    scene.database->asked_at = iso_clock_nanoseconds() - 100 * SECOND;
    assert_true(observe_catalog_wanted(&scene.shared, scene.database, true));
    assert_false(observe_catalog_wanted(&scene.shared, scene.database, true));
    read_again(&scene, NULL);
    assert_false(observe_catalog_wanted(&scene.shared, scene.database, true)); /* at once */
    assert_false(observe_catalog_wanted(&scene.shared, scene.database, false));
    scene.database->asked_at = iso_clock_nanoseconds() - 100 * SECOND;
    assert_true(observe_catalog_wanted(&scene.shared, scene.database, true));
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_was_asked_behind_it_confirms_it),
        cmocka_unit_test(a_check_asks_for_what_was_used),
        cmocka_unit_test(a_newer_catalog_says_more),
        cmocka_unit_test(an_idle_session_asks_for_no_catalog_that_is_known),
        cmocka_unit_test(a_catalog_that_did_not_come_is_asked_for_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
