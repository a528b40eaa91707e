/* Which keys bounds cover, and which bounds are refused. */
#include "tests/support/test.h"

#include "predicate/bounds.h"

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text, text ? strlen(text) : 0};
}

static const struct iso_scalar_type integer = {.value = {.kind = ISO_VALUE_INTEGER}};
static const struct iso_scalar_type decimal = {.value = {.kind = ISO_VALUE_DECIMAL, .detail = 2}};
static const struct iso_scalar_type ordered = {.value = {.kind = ISO_VALUE_TEXT},
                                               .text = ISO_TEXT_ORDERED};
static const struct iso_scalar_type distinct = {.value = {.kind = ISO_VALUE_TEXT},
                                                .text = ISO_TEXT_DISTINCT};
static const struct iso_scalar_type bytes = {.value = {.kind = ISO_VALUE_BYTES}};
static const struct iso_scalar_type untyped = {.text = ISO_TEXT_ORDERED};
static const struct iso_scalar_type unordered = {.text = ISO_TEXT_DISTINCT};
static const struct iso_scalar_type list = {.value = {.kind = ISO_VALUE_LIST}};

enum { PARTS = 3 };

struct covered {
    const struct iso_scalar_type *types[PARTS]; /* NULL: plain keys */
    const char *from, *to, *key, *answer;
};

static uint32_t copy_types(const struct iso_scalar_type *const *from, struct iso_scalar_type *to)
{
    uint32_t count = 0;
    for (; count < PARTS && from[count]; count++)
        to[count] = *from[count];
    return count;
}

static void covers(void **state)
{
    static const struct covered cases[] = {
        {{&integer}, "100", "200", "public.t/100", "T"},
        {{&integer}, "100", "200", "public.t/200", "T"},
        {{&integer}, "100", "200", "public.t/99", "F"},
        {{&integer}, "100", "200", "public.t/1000", "F"},
        {{&integer}, "-5", NULL, "public.t/-4", "T"},
        {{&integer}, "-5", NULL, "public.t/-50", "F"},
        {{&integer}, NULL, NULL, "public.t/1", "T"},
        {{&integer}, "1", NULL, "public.t/1,2", "TF"},
        {{&integer}, "1", NULL, "public.t/x", "TF"},
        {{&decimal}, "1.5", "1.5", "t/1.50", "T"},
        {{&ordered}, "a", "b", "t/a%2Cz", "T"},
        {{&ordered}, "a%2C", "a%2C", "t/a%2C", "T"},
        {{&ordered}, "", "A", "t/", "T"},
        {{&ordered}, "a", "b", "t/bb", "F"},
        {{&ordered}, "100%25", NULL, "t/100%25", "T"},
        {{&distinct}, "a", "b", "t/ab", "TF"},
        {{&distinct}, "a", "a", "t/a", "T"},
        {{&bytes}, "/wA=", "\\xff00", "t/%2FwA=", "T"},
        {{&integer, &ordered}, "7", "7", "t/7,zzz", "T"},
        {{&integer, &ordered}, "7,b", "7", "t/7,a", "F"},
        {{&integer, &ordered}, "7,b", "7", "t/7,b", "T"},
        {{&integer, &ordered}, "7,b", "9", "t/8,a", "T"},
        {{&integer, &ordered}, "7", "8,c", "t/8,d", "F"},
        {{&integer, &distinct}, "7,b", NULL, "t/8,a", "T"},
        {{&integer, &distinct}, "7,b", NULL, "t/7,a", "TF"},
        {{&distinct, &integer}, "a,5", NULL, "t/a,4", "F"},
        {{&untyped}, "9", "10", "t/10", "T"},
        {{&untyped}, "9", NULL, "t/a", "T"},
        {{&untyped}, "a", NULL, "t/9", "F"},
        {{&untyped}, "007", NULL, "t/9", "F"}, /* a text */
        {{&unordered}, "9", "10", "t/10", "T"},
        {{&unordered}, "9", NULL, "t/a", "TF"},
        {{NULL}, "9", "10", "10", "T"},
        {{NULL}, "9", "a,b", "a,a/%", "T"},
        {{NULL}, "a", NULL, "123", "F"},
    };
    struct iso_text room = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_scalar_type types[PARTS];
        struct iso_error error = ISO_NO_ERROR;
        struct iso_bounds bounds;
        uint32_t count = copy_types(cases[i].types, types);
        if (iso_bounds_read(&bounds, count ? types : NULL, count, text_of(cases[i].from),
                            text_of(cases[i].to), &error))
            fail_msg("%zu: %s", i, error.text);
        struct iso_json_text key = text_of(cases[i].key);
        iso_truth truth = iso_bounds_cover(&bounds, count ? iso_key_parts(key) : key, &room);
        char answer[] = {truth & ISO_TRUTH_TRUE ? 'T' : 'F', (truth & 3) == 3 ? 'F' : 0, 0};
        if (strcmp(answer, cases[i].answer) != 0 || !iso_truth_reason(truth) != !cases[i].answer[1])
            fail_msg("%s to %s, %s: %s", cases[i].from, cases[i].to, cases[i].key, answer);
        iso_bounds_release(&bounds);
    }
    iso_text_release(&room);
}

static void refuses(void **state)
{
    static const struct covered cases[] = {
        {{&integer}, "200", "100", NULL, "to: byte 1: expected a bound that is not before `from`"},
        {{&integer, &integer},
         "5,1",
         "4",
         NULL,
         "to: byte 1: expected a bound that is not before `from`"},
        {{&integer}, "1,2", NULL, NULL, "from: byte 3: expected no more parts than the key has"},
        {{&integer},
         NULL,
         "abc",
         NULL,
         "to: byte 1: expected a value of the column's type that has an order"},
        {{&integer, &decimal},
         "1,x",
         NULL,
         NULL,
         "from: byte 3: expected a value of the column's type that has an order"},
        {{&list},
         "[1]",
         NULL,
         NULL,
         "from: byte 1: expected a value of the column's type that has an order"},
        {{&ordered, &ordered},
         "a,100%",
         NULL,
         NULL,
         "from: byte 3: expected %25, %2F or %2C for each %, / and ,"},
        {{&ordered},
         "%2c",
         NULL,
         NULL,
         "from: byte 1: expected %25, %2F or %2C for each %, / and ,"},
        {{NULL}, "b", "a", NULL, "to: byte 1: expected a bound that is not before `from`"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_scalar_type types[PARTS];
        struct iso_error error = ISO_NO_ERROR;
        struct iso_bounds bounds;
        uint32_t count = copy_types(cases[i].types, types);
        enum iso_status status =
            iso_bounds_read(&bounds, count ? types : NULL, count, text_of(cases[i].from),
                            text_of(cases[i].to), &error);
        assert_int_equal(status, ISO_BAD_INPUT);
        assert_string_equal(error.text, cases[i].answer);
        assert_null(bounds.types);
    }
}

/* Of two bounds of which nobody knows the order none is behind the other. */
static void of_unknown_order(void **state)
{
    struct iso_error error = ISO_NO_ERROR;
    struct iso_bounds bounds;
    (void)state;
    assert_int_equal(iso_bounds_read(&bounds, &distinct, 1, text_of("b"), text_of("a"), &error),
                     ISO_OK);
    iso_bounds_release(&bounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covers),
        cmocka_unit_test(refuses),
        cmocka_unit_test(of_unknown_order),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
