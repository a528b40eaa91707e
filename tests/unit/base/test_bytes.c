/* What reads and writes several bytes at once, against loops: random bytes, every length and
 * alignment, and at the end of a page behind which nothing can be read. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

enum { LENGTH_MAX = 40, ROUNDS = 40 };

/* Two pages, of which the second cannot be touched. */
static char *open_page(size_t *size)
{
    *size = (size_t)sysconf(_SC_PAGESIZE);
    char *page = mmap(NULL, 2 * *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    assert_int_equal(mprotect(page + *size, *size, PROT_NONE), 0);
    return page;
}

/* Calls `check` with random bytes, mostly digits, at every length, at the page's end and anywhere
 * before. */
static void everywhere(void (*check)(struct random *random, char *at, size_t length))
{
    size_t size;
    char *page = open_page(&size);
    struct random random = {11};
    for (size_t length = 0; length <= LENGTH_MAX; length++)
        for (int round = 0; round < ROUNDS; round++) {
            char *at = page + size - length - (round % 2 ? random_below(&random, 64) : 0);
            for (size_t i = 0; i < length; i++)
                at[i] = random_percent(&random, 97) ? (char)('0' + random_below(&random, 10))
                                                    : (char)random_below(&random, 256);
            check(&random, at, length);
        }
    munmap(page, 2 * size);
}

static void check_load(struct random *random, char *at, size_t length)
{
    uint64_t word = 0;
    (void)random;
    for (size_t i = 0; i < length && i < 8; i++)
        word |= (uint64_t)(unsigned char)at[i] << 8 * i;
    assert_true(iso_bytes_load_short(at, length) == word);
}

static void check_number(struct random *random, char *at, size_t length)
{
    uint64_t number = 0, read = 0;
    bool digits = length > 0 && length < 20;
    (void)random;
    for (size_t i = 0; i < length && digits; i++) {
        digits = at[i] >= '0' && at[i] <= '9';
        number = number * 10 + (uint64_t)(at[i] - '0');
    }
    assert_int_equal(iso_bytes_number(at, length, &read), digits);
    if (digits)
        assert_true(read == number);
}

static void check_equal(struct random *random, char *at, size_t length)
{
    char *other = malloc(length + 1);
    memcpy(other, at, length);
    if (length && random_percent(random, 50))
        other[random_below(random, (uint32_t)length)] ^= (char)(1 << random_below(random, 8));
    assert_int_equal(iso_bytes_equal(at, other, length), !memcmp(at, other, length));
    assert_int_equal(iso_bytes_equal(other, at, length), !memcmp(at, other, length));
    free(other);
}

static void check_copy(struct random *random, char *at, size_t length)
{
    char *copy = malloc(length + 2);
    (void)random;
    copy[0] = copy[length + 1] = 'x';
    iso_bytes_copy(copy + 1, at, length);
    assert_memory_equal(copy + 1, at, length);
    assert_true(copy[0] == 'x' && copy[length + 1] == 'x');
    free(copy);
    copy = malloc(length + 1);
    memset(at, 'y', length);
    memset(copy, 'z', length);
    iso_bytes_copy(at, copy, length); /* at the page's end, too */
    assert_memory_equal(copy, at, length);
    free(copy);
}

static void loads(void **state)
{
    (void)state;
    everywhere(check_load);
}

static void reads_numbers(void **state)
{
    uint64_t number;
    (void)state;
    everywhere(check_number);
    assert_true(iso_bytes_number("9999999999999999999", 19, &number) &&
                number == UINT64_C(9999999999999999999));
    assert_false(iso_bytes_number("18446744073709551615", 20, &number));
    assert_true(iso_bytes_decimal("18446744073709551615", 20, &number) && number == UINT64_MAX);
    assert_true(iso_bytes_decimal("000000000000000000007", 21, &number) && number == 7);
    assert_false(iso_bytes_decimal("18446744073709551616", 20, &number));
    assert_false(iso_bytes_decimal("1844674407370955161x", 20, &number));
    assert_false(iso_bytes_decimal("", 0, &number));
}

static void compares(void **state)
{
    (void)state;
    everywhere(check_equal);
}

static void copies(void **state)
{
    (void)state;
    everywhere(check_copy);
}

/* Where vectors are used, they say what words say. */
static void vectors_agree_with_words(void **state)
{
    char bytes[128], others[128];
    struct random random = {12};
    (void)state;
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = random_percent(&random, 95) ? 'a' : (char)random_below(&random, 256);
            others[i] = random_percent(&random, 90) ? bytes[i] : (char)random_below(&random, 256);
        }
        for (unsigned i = 0; i < 64; i++) {
            assert_int_equal(iso_bytes_special(bytes + i), iso_bytes_special_portable(bytes + i));
            assert_int_equal(iso_bytes_same(bytes + i, others + 63 - i),
                             iso_bytes_same_portable(bytes + i, others + 63 - i));
            assert_int_equal(iso_bytes_find(bytes + i, 'b', 64),
                             iso_bytes_find_portable(bytes + i, 'b', 64));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads),
        cmocka_unit_test(reads_numbers),
        cmocka_unit_test(compares),
        cmocka_unit_test(copies),
        cmocka_unit_test(vectors_agree_with_words),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
