/* What an index of a column finds for a constant. */
#include "tests/support/test.h"

#include <stdio.h>

#include "base/base64.h"
#include "predicate/place.h"

enum { TEXTS = 160, LENGTH = 96 };

/* Spellings that other texts of no type may be: in other letters, as hex digits, as base64. */
static const char *const spellings[] = {"7",
                                        "-7",
                                        "07",
                                        "7.0",
                                        "0",
                                        "1",
                                        "-0",
                                        "t",
                                        "true",
                                        "TRUE",
                                        "f",
                                        "false",
                                        "draft",
                                        "done",
                                        "new",
                                        "cancelled",
                                        "b'new'",
                                        "a=b",
                                        "{a}",
                                        "[\"a\"]",
                                        "a\"",
                                        "2024-02-29",
                                        "12:30:00",
                                        "19782",
                                        "null",
                                        "",
                                        " ",
                                        "x y",
                                        "abcdefabcdefabcdefabcdefabcdefab",
                                        "ABCDEFABCDEFABCDEFABCDEFABCDEFAB",
                                        "abcdefab-cdef-abcd-efab-cdefabcdefab",
                                        "res.partner,name",
                                        "18446744073709551609"};

struct texts {
    char list[TEXTS][LENGTH];
    uint32_t count;
};

static void add_text(struct texts *texts, const char *text, size_t length)
{
    assert_true(texts->count < TEXTS && length < LENGTH);
    memcpy(texts->list[texts->count], text, length);
    texts->list[texts->count++][length] = 0;
}

static void add_forms(struct texts *texts, const char *text)
{
    char form[LENGTH] = "";
    size_t length = strlen(text);
    add_text(texts, text, length);
    if (2 * length >= LENGTH)
        return;
    iso_base64_encode((const uint8_t *)text, length, form);
    add_text(texts, form, iso_base64_length(length));
    for (size_t i = 0; i < length; i++)
        snprintf(form + 2 * i, 3, "%02x", (unsigned char)text[i]);
    add_text(texts, form, 2 * length);
}

/* Whatever the database may take for equal is found, and of words little else. */
static void untyped(void **state)
{
    static struct texts texts;
    uint32_t equal = 0, indexed = 0, apart = 0;
    (void)state;
    for (uint32_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        add_forms(&texts, spellings[i]);
    for (uint32_t type = 0; type < 6; type++)
        for (uint32_t one = 0; one < texts.count; one++)
            for (uint32_t other = 0; other < texts.count; other++) {
                struct iso_scalar_type of = {.text = (uint8_t)(type % 3), .is_signed = type / 3};
                const char *a = texts.list[one], *b = texts.list[other];
                struct iso_scalar cell = iso_scalar_read(of, (struct iso_json_text){a, strlen(a)}),
                                  constant =
                                      iso_scalar_read(of, (struct iso_json_text){b, strlen(b)});
                struct iso_scalar_place place, seek;
                bool may_equal = iso_scalar_compare(&cell, &constant) & ISO_ORDER_EQUAL;
                equal += may_equal;
                if (!iso_scalar_place(&cell, &place) || !iso_scalar_seek(of, &constant, &seek))
                    continue;
                indexed++;
                apart += !iso_places_meet(&place, &seek);
                assert_true(!may_equal || iso_places_meet(&place, &seek));
            }
    assert_true(equal && indexed && 4 * apart > indexed);
}

/* A number is sought among untyped texts, too. */
static void numbers(void **state)
{
    static const char *const cells[] = {"7", "-7", "7.0", "07", "x", "8", "1e1"};
    (void)state;
    for (int64_t number = -8; number <= 8; number++)
        for (uint32_t i = 0; i < sizeof cells / sizeof *cells; i++)
            for (uint32_t is_signed = 0; is_signed < 2; is_signed++) {
                struct iso_scalar_type type = {.text = ISO_TEXT_ORDERED, .is_signed = is_signed};
                struct iso_scalar constant = iso_scalar_integer(number);
                struct iso_scalar cell =
                    iso_scalar_read(type, (struct iso_json_text){cells[i], strlen(cells[i])});
                struct iso_scalar_place place, seek;
                bool is_sought = iso_scalar_seek(type, &constant, &seek);
                assert_int_equal(is_sought, is_signed || number >= 0);
                if (is_sought && iso_scalar_compare(&cell, &constant) & ISO_ORDER_EQUAL &&
                    iso_scalar_place(&cell, &place))
                    assert_true(iso_places_meet(&place, &seek));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untyped),
        cmocka_unit_test(numbers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
