#include <stdlib.h>

#include "tests/support/test.h"
#include "wire/cursor.h"
#include "wire/put.h"
#include "wire/reader.h"

enum { MESSAGES = 40, LIMIT = 300 };

struct seen {
    uint32_t count;
    char types[MESSAGES];
    uint32_t sizes[MESSAGES];
    uint64_t sums[MESSAGES]; /* of bodies that were there; 0: too large */
};

static uint64_t sum_of(const uint8_t *body, uint32_t size)
{
    uint64_t sum = 1;
    for (uint32_t i = 0; i < size; i++)
        sum = sum * 31 + body[i];
    return sum;
}

static void put_message(struct iso_text *text, char type, uint32_t size)
{
    size_t begun = wire_put_begin(text, type);
    for (uint32_t i = 0; i < size; i++)
        iso_text_put_bytes(text, &"abcdefg"[(i + size) % 7], 1);
    wire_put_end(text, begun);
}

/* Reads all in pieces of these sizes, in a buffer of their own each, so that nothing else can be
 * read. */
static void read_all(const struct iso_text *text, size_t piece_size, struct seen *seen)
{
    struct wire_reader reader;
    size_t passed = 0;
    bool begins = true;
    wire_reader_init(&reader, LIMIT);
    *seen = (struct seen){0};
    for (size_t from = 0; from < text->used; from += piece_size) {
        size_t size = text->used - from < piece_size ? text->used - from : piece_size;
        uint8_t *bytes = malloc(size);
        memcpy(bytes, text->bytes + from, size);
        for (const uint8_t *at = bytes, *end = bytes + size; at < end;) {
            const uint8_t *start = at;
            struct wire_piece piece;
            assert_int_equal(wire_read(&reader, &at, end, &piece), WIRE_PIECE);
            assert_true(at > start);
            assert_int_equal(piece.begins, begins);
            begins = piece.ends;
            passed += (size_t)(at - start);
            if (!piece.ends)
                continue;
            assert_true(wire_is_between(&reader));
            seen->types[seen->count] = piece.type;
            seen->sizes[seen->count] = piece.size;
            seen->sums[seen->count++] = piece.body ? sum_of(piece.body, piece.size) : 0;
        }
        free(bytes);
    }
    assert_int_equal(passed, text->used);
    wire_reader_release(&reader);
}

static void pieces_of_any_size_say_the_same(void **state)
{
    (void)state;
    struct iso_text text = {0};
    for (uint32_t i = 0; i < MESSAGES; i++)
        put_message(&text, (char)('A' + i % 26), i % 5 == 0 ? 0 : i * i % 330);
    struct seen whole, parts;
    read_all(&text, text.used, &whole);
    assert_int_equal(whole.count, MESSAGES);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        assert_int_equal(whole.sizes[i], i % 5 == 0 ? 0 : i * i % 330);
        assert_int_equal(whole.sums[i] == 0, whole.sizes[i] > LIMIT);
    }
    for (size_t size = 1; size < 400; size++) {
        read_all(&text, size, &parts);
        assert_memory_equal(&whole, &parts, sizeof whole);
    }
    iso_text_release(&text);
}

static void what_is_no_message_is_bad(void **state)
{
    (void)state;
    static const char *const bad[] = {"\0\0\0\0\4",  "Q\0\0\0\3",    "Q\xff\xff\xff\xff",
                                      "Q\x7f\0\0\0", "\x80\0\0\0\4", " \0\0\0\4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wire_reader reader;
        struct wire_piece piece;
        wire_reader_init(&reader, LIMIT);
        const uint8_t *at = (const uint8_t *)bad[i], *end = at + 5;
        assert_int_equal(wire_read(&reader, &at, end, &piece), WIRE_BAD);
        wire_reader_release(&reader);
    }
    assert_int_equal(wire_length((const uint8_t *)"Q\0\0\0\7", (const uint8_t *)"Q\0\0\0\7" + 4),
                     0);
    const uint8_t *message = (const uint8_t *)"Q\0\0\0\7";
    assert_int_equal(wire_length(message, message + 5), 8);
}

static void a_cursor_ends_where_its_body_ends(void **state)
{
    (void)state;
    static const uint8_t body[] = {0, 0, 1, 2, 'a', 'b', 0, 7, 0, 9};
    struct wire_cursor cursor = wire_cursor(body, sizeof body);
    assert_int_equal(wire_u32(&cursor), 258);
    assert_string_equal(wire_text(&cursor), "ab");
    assert_int_equal(wire_u8(&cursor), 7);
    assert_int_equal(wire_u16(&cursor), 9);
    assert_false(cursor.bad);
    assert_int_equal(wire_u16(&cursor), 0);
    assert_true(cursor.bad);
    assert_string_equal(wire_text(&cursor), "");
    cursor = wire_cursor(body + 4, 2);
    assert_string_equal(wire_text(&cursor), ""); /* without its zero byte */
    assert_true(cursor.bad);
    cursor = wire_cursor(NULL, 0);
    assert_int_equal(wire_u32(&cursor), 0);
    assert_true(cursor.bad);
}

static void a_statement_is_seven_messages(void **state)
{
    (void)state;
    struct iso_text text = {0};
    struct seen seen;
    wire_put_statement(&text, "mine", "mine", "SELECT 1");
    read_all(&text, 3, &seen);
    assert_int_equal(seen.count, 7);
    assert_memory_equal(seen.types, "CCPBECC", 7);
    iso_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_say_the_same),
        cmocka_unit_test(what_is_no_message_is_bad),
        cmocka_unit_test(a_cursor_ends_where_its_body_ends),
        cmocka_unit_test(a_statement_is_seven_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
