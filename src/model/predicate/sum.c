#include "predicate/sum.h"

#include <assert.h>

#include "base/memory.h"
#include "predicate/digits.h"

enum { GROUP_DIGITS = 9, GROUP = 1000000000, ADDED_MAX = 1 << 30 };

void iso_sum_release(struct iso_sum *sum)
{
    iso_free(sum->groups);
    *sum = (struct iso_sum){0};
}

static uint32_t groups_of(size_t digits)
{
    return (uint32_t)((digits + GROUP_DIGITS - 1) / GROUP_DIGITS);
}

/* Room for so many groups on both sides of the point. */
static void reserve(struct iso_sum *sum, uint32_t whole, uint32_t fraction)
{
    if (whole <= sum->whole && fraction <= sum->fraction)
        return;
    whole = whole > sum->whole ? whole : sum->whole;
    fraction = fraction > sum->fraction ? fraction : sum->fraction;
    int64_t *groups = iso_allocate_zeroed((size_t)whole + fraction, sizeof *groups);
    if (sum->groups)
        memcpy(groups + (fraction - sum->fraction), sum->groups,
               ((size_t)sum->whole + sum->fraction) * sizeof *groups);
    iso_free(sum->groups);
    sum->groups = groups;
    sum->whole = whole;
    sum->fraction = fraction;
}

/* Every group gets less than GROUP, not below 0, but the first, which has the sign. */
static void carry(struct iso_sum *sum)
{
    int64_t over = 0;
    sum->added = 0;
    for (uint32_t i = 0; i < sum->whole + sum->fraction; i++) {
        int64_t group = sum->groups[i] + over;
        bool is_first = i + 1 == sum->whole + sum->fraction;
        if (is_first && group < GROUP && group > -GROUP) {
            sum->groups[i] = group;
            break;
        }
        if (is_first)
            reserve(sum, sum->whole + 1, sum->fraction);
        over = group / GROUP - (group % GROUP < 0);
        sum->groups[i] = group - over * GROUP;
    }
}

static int64_t number_of(const char *digits, size_t count)
{
    int64_t number = 0;
    for (size_t i = 0; i < count; i++)
        number = number * 10 + (digits[i] - '0');
    return number;
}

static void add_digits(struct iso_sum *sum, const struct predicate_digits *digits, bool negative)
{
    const struct iso_json_text *whole = &digits->whole, *fraction = &digits->fraction;
    reserve(sum, groups_of(whole->length) + 1, groups_of(fraction->length));
    int64_t *point = sum->groups + sum->fraction;
    for (size_t end = whole->length; end;) {
        size_t count = end < GROUP_DIGITS ? end : GROUP_DIGITS;
        int64_t number = number_of(whole->at + (end -= count), count);
        *point++ += negative ? -number : number;
    }
    point = sum->groups + sum->fraction;
    for (size_t at = 0; at < fraction->length;) {
        size_t count = fraction->length - at < GROUP_DIGITS ? fraction->length - at : GROUP_DIGITS;
        int64_t number = number_of(fraction->at + at, count);
        at += count;
        for (; count < GROUP_DIGITS; count++)
            number *= 10;
        *--point += negative ? -number : number;
    }
    if (++sum->added == ADDED_MAX)
        carry(sum);
}

void iso_sum_add(struct iso_sum *sum, const struct iso_scalar *number)
{
    if (number->kind == ISO_SCALAR_INTEGER) {
        sum->integers += number->number;
        return;
    }
    struct predicate_digits digits =
        predicate_digits_of((struct iso_json_text){number->text, number->length});
    add_digits(sum, &digits, number->is_negative);
}

/* Adds up the integers that there are, as digits. */
static void add_integers(struct iso_sum *sum)
{
    char room[40], *end = room + sizeof room, *at = end;
    bool negative = sum->integers < 0;
    unsigned __int128 left =
        negative ? 0 - (unsigned __int128)sum->integers : (unsigned __int128)sum->integers;
    for (; left; left /= 10)
        *--at = (char)('0' + (int)(left % 10));
    struct predicate_digits digits = {{at, (size_t)(end - at)}, {end, 0}};
    add_digits(sum, &digits, negative);
    sum->integers = 0;
}

static void negate(struct iso_sum *sum)
{
    for (uint32_t i = 0; i < sum->whole + sum->fraction; i++)
        sum->groups[i] = -sum->groups[i];
    carry(sum);
}

void iso_sum_subtract(struct iso_sum *sum, const struct iso_scalar *number)
{
    add_integers(sum);
    negate(sum);
    iso_sum_add(sum, number);
    add_integers(sum);
    negate(sum);
}

void iso_sum_multiply(struct iso_sum *sum, uint64_t times)
{
    assert(times <= UINT32_MAX);
    add_integers(sum);
    carry(sum);
    for (uint32_t i = 0; i < sum->whole + sum->fraction; i++)
        sum->groups[i] *= (int64_t)times;
    carry(sum);
}

static void put_group(struct iso_text *text, int64_t group)
{
    char *to = iso_text_reserve(text, GROUP_DIGITS);
    for (int i = GROUP_DIGITS; i-- > 0; group /= 10)
        to[i] = (char)('0' + group % 10);
    text->used += GROUP_DIGITS;
}

void iso_sum_put(struct iso_sum *sum, struct iso_text *text)
{
    add_integers(sum);
    carry(sum);
    uint32_t count = sum->whole + sum->fraction, first = count;
    bool negative = count && sum->groups[count - 1] < 0;
    if (negative) {
        iso_text_put(text, "-");
        negate(sum);
        count = sum->whole + sum->fraction;
        first = count;
    }
    while (first > sum->fraction && !sum->groups[first - 1])
        first--;
    if (first > sum->fraction)
        iso_text_put_signed(text, sum->groups[--first]);
    else
        iso_text_put(text, "0");
    while (first > sum->fraction)
        put_group(text, sum->groups[--first]);
    uint32_t last = 0;
    while (last < sum->fraction && !sum->groups[last])
        last++;
    if (last < sum->fraction) {
        iso_text_put(text, ".");
        for (uint32_t i = sum->fraction; i-- > last;)
            put_group(text, sum->groups[i]);
        while (text->bytes[text->used - 1] == '0')
            text->used--;
    }
    if (negative)
        negate(sum);
}
