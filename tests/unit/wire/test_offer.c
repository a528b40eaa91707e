#include <stdlib.h>

#include "tests/support/test.h"
#include "wire/offer.h"
#include "wire/put.h"

static void put_offer(struct iso_text *text, uint32_t code, const char *mechanisms, size_t size)
{
    size_t begun = wire_put_begin(text, 'R');
    wire_put_u32(text, code);
    iso_text_put_bytes(text, mechanisms, size);
    wire_put_end(text, begun);
}

static void put_notice(struct iso_text *text)
{
    size_t begun = wire_put_begin(text, 'N');
    wire_put_text(text, "SCRAM-SHA-256-PLUS");
    wire_put_end(text, begun);
}

/* In a buffer of its own, so that nothing behind it can be touched. */
static void assert_hidden(const struct iso_text *before, size_t size, const struct iso_text *after,
                          bool looks)
{
    uint8_t *bytes = malloc(size);
    bool looks_on = true;
    memcpy(bytes, before->bytes, size);
    assert_int_equal(wire_hide_binding(bytes, size, &looks_on), after->used);
    assert_memory_equal(bytes, after->bytes, after->used);
    assert_int_equal(looks_on, looks);
    free(bytes);
}

#define BOTH "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0"
#define PLAIN "SCRAM-SHA-256\0"

static void a_bound_channel_is_not_offered(void **state)
{
    (void)state;
    struct iso_text before = {0}, after = {0}, part = {0};
    put_notice(&before);
    put_notice(&after);
    size_t notice = before.used;
    assert_hidden(&before, notice, &after, true); /* the offer comes later */
    put_offer(&before, 10, BOTH, sizeof BOTH);
    put_notice(&before); /* whatever follows */
    put_offer(&after, 10, PLAIN, sizeof PLAIN);
    put_notice(&after);
    assert_hidden(&before, before.used, &after, false);
    for (size_t size = notice + 1; size < before.used - notice;
         size++) { /* an offer in pieces stays as it is */
        part.used = 0;
        iso_text_put_bytes(&part, before.bytes, size);
        assert_hidden(&before, size, &part, false);
    }
    iso_text_release(&before);
    iso_text_release(&after);
    iso_text_release(&part);
}

static void what_is_no_such_offer_stays(void **state)
{
    (void)state;
    static const char others[][2 * sizeof BOTH] = {PLAIN, "X" BOTH, "SCRAM-SHA-256-PLUSX\0" PLAIN,
                                                   ""};
    struct iso_text text = {0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        text.used = 0;
        put_offer(&text, 10, others[i], i == 3 ? 0 : sizeof others[i]);
        assert_hidden(&text, text.used, &text, false);
    }
    text.used = 0;
    put_offer(&text, 11, BOTH, sizeof BOTH);
    assert_hidden(&text, text.used, &text, false);
    text.bytes[0] = 'D';
    assert_hidden(&text, text.used, &text, false);
    iso_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_channel_is_not_offered),
        cmocka_unit_test(what_is_no_such_offer_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
