/* Members by what is remembered of them, against members that are scanned: of texts that are alike,
 * and of such with a byte changed, both must say the same: names, meanings, where values stand, and
 * the error. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json_shape.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

enum { SEEN_MAX = 200, TEXT_MAX = 4096 };

/* What was read of an object. */
struct seen {
    uint32_t count;
    struct {
        size_t at, length;
        char name[80];
        uint8_t meaning;
    } list[SEEN_MAX];
    enum iso_json_code code;
    size_t position;
    bool finished;
};

static uint8_t meaning_of(const void *of, const char *name, size_t length)
{
    (void)of;
    return (uint8_t)(length ? name[0] + 3 * length : 1);
}

static void read_object(const char *text, size_t length, struct iso_json_shape *shape,
                        struct seen *seen)
{
    char *padded = test_padded(text, length, '"');
    struct iso_json json;
    struct iso_json_text name;
    uint8_t meaning;
    *seen = (struct seen){.count = 0};
    iso_json_init(&json);
    iso_json_start(&json, padded, length);
    iso_json_enter_object(&json);
    if (shape)
        iso_json_shape_start(shape);
    while (seen->count < SEEN_MAX) {
        if (!(shape ? iso_json_shape_member(&json, shape, meaning_of, NULL, &name, &meaning)
                    : iso_json_member(&json, &name)))
            break;
        assert_in_range(name.length, 0, 79);
        seen->list[seen->count].at = (size_t)(json.at - padded);
        seen->list[seen->count].length = name.length;
        memcpy(seen->list[seen->count].name, name.at, name.length);
        seen->list[seen->count++].meaning =
            shape ? meaning : meaning_of(NULL, name.at, name.length);
        iso_json_skip(&json);
    }
    seen->finished = iso_json_finish(&json);
    seen->code = json.code;
    seen->position = json.code ? json.position : 0;
    iso_json_release(&json);
    free(padded);
}

static void assert_same(const char *text, size_t length, struct iso_json_shape *shape)
{
    static struct seen scanned, remembered;
    read_object(text, length, NULL, &scanned);
    read_object(text, length, shape, &remembered);
    assert_int_equal(remembered.count, scanned.count);
    assert_memory_equal(remembered.list, scanned.list, scanned.count * sizeof *scanned.list);
    assert_int_equal(remembered.code, scanned.code);
    assert_int_equal(remembered.position, scanned.position);
    assert_int_equal(remembered.finished, scanned.finished);
}

static size_t write_object(struct random *random, char text[TEXT_MAX])
{
    static const char *const names[] = {
        "id",        "v",  "",       "a name of more than thirty-two bytes",
        "op\\u0041", "\"", "source", "caf\xc3\xa9"};
    static const char *const values[] = {"1", "null", "\"x\"", "{\"a\":[1,2]}", "-7.5e3", "true"};
    static const char *const spaces[] = {"", "", "", " ", "\n\t"};
    size_t used = (size_t)snprintf(text, TEXT_MAX, "{");
    uint32_t count = random_below(random, 8) ? random_below(random, 7) : 60;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = names[random_below(random, 4) ? i % 8 : random_below(random, 8)];
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s%s\"%s\"%s:%s%s", i ? "," : "",
                                 spaces[random_below(random, 5)], *name == '"' ? "\\\"" : name,
                                 spaces[random_below(random, 5)], spaces[random_below(random, 5)],
                                 values[random_below(random, 6)]);
    }
    return used + (size_t)snprintf(text + used, TEXT_MAX - used, "}");
}

static void says_what_a_scan_says(void **state)
{
    (void)state;
    static struct iso_json_shape shape;
    struct random random = {17};
    for (int round = 0; round < 20000; round++) {
        char text[TEXT_MAX];
        size_t length = write_object(&random, text);
        assert_same(text, length, &shape);
        if (random_percent(&random, 50))
            text[random_below(&random, (uint32_t)length)] =
                "\",:{} a\\\x80"[random_below(&random, 9)];
        assert_same(text,
                    random_percent(&random, 20) ? random_below(&random, (uint32_t)length) : length,
                    &shape);
    }
}

/* What is remembered of a member in the middle must not make it one at the beginning, and the other
 * way round. */
static void commas_are_still_due(void **state)
{
    (void)state;
    static struct iso_json_shape shape;
    static const char *const texts[] = {
        "{\"a\":1,\"b\":2}", "{,\"b\":1,\"b\":2}", "{\"a\":1\"a\":2}", "{\"a\":1,\"b\":2",
        "{\"a\":1,\"b\":",   "{\"a\":1,\"b\"",     "{\"a\"",           "{}",
        "{\"a\":1,}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
            assert_same(texts[i], strlen(texts[i]), &shape);
            assert_same(texts[j], strlen(texts[j]), &shape);
        }
}

/* Whether `text` stands again, as it did in `before`, behind the same opening bracket. */
static bool again(const char *before, const char *text, size_t *passed)
{
    struct iso_json_again kept = {0};
    struct iso_json json;
    char *first = test_padded(before, strlen(before), 'x'),
         *second = test_padded(text, strlen(text), 'x');
    iso_json_init(&json);
    iso_json_start(&json, first, strlen(before));
    const char *from = json.at;
    iso_json_skip(&json);
    iso_json_again_note(&json, from, &kept);
    iso_json_start(&json, second, strlen(text));
    bool found = iso_json_again(&json, &kept);
    *passed = (size_t)(json.at - second);
    iso_json_again_release(&kept);
    iso_json_release(&json);
    free(first);
    free(second);
    return found;
}

static void whole_values_stand_again(void **state)
{
    size_t passed;
    (void)state;
    assert_true(again("{\"a\":1}", "{\"a\":1}", &passed));
    assert_int_equal(passed, 7);
    assert_true(again("[1,2]", "[1,2],3", &passed));
    assert_int_equal(passed, 5);
    assert_false(again("{\"a\":1}", "{\"a\":2}", &passed));
    assert_int_equal(passed, 0);
    assert_false(again("{\"a\":1}", "{\"a\":1", &passed)); /* cut off */
    assert_false(again("[\"a\\n\"]", "[\"a\\n\"]",
                       &passed)); /* an escape: what was read of it is elsewhere */
    assert_false(again("{\"a\":}", "{\"a\":}", &passed)); /* it was none */
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_a_scan_says),
        cmocka_unit_test(commas_are_still_due),
        cmocka_unit_test(whole_values_stand_again),
    };
    return cmocka_run_group_tests_name("json shape", tests, NULL, NULL);
}
