#include "predicate/digits.h"

static size_t count_digits(struct iso_json_text text)
{
    size_t count = 0;
    while (count < text.length && text.at[count] >= '0' && text.at[count] <= '9')
        count++;
    return count;
}

struct predicate_digits predicate_digits_of(struct iso_json_text text)
{
    size_t whole = count_digits(text), behind = whole < text.length ? whole + 1 : whole;
    return (struct predicate_digits){{text.at, whole}, {text.at + behind, text.length - behind}};
}

bool predicate_digits_read(struct predicate_digits *digits, struct iso_json_text text)
{
    *digits = predicate_digits_of(text);
    struct iso_json_text *whole = &digits->whole, *fraction = &digits->fraction;
    if ((!whole->length && !fraction->length) || count_digits(*fraction) != fraction->length ||
        (whole->length < text.length && text.at[whole->length] != '.'))
        return false;
    while (whole->length && *whole->at == '0') {
        whole->at++;
        whole->length--;
    }
    while (fraction->length && fraction->at[fraction->length - 1] == '0')
        fraction->length--;
    return true;
}

struct predicate_digits predicate_digits_of_integer(uint64_t number,
                                                    char room[PREDICATE_INTEGER_DIGITS])
{
    char *end = room + PREDICATE_INTEGER_DIGITS, *at = end;
    for (; number; number /= 10)
        *--at = (char)('0' + number % 10);
    return (struct predicate_digits){{at, (size_t)(end - at)}, {end, 0}};
}

int predicate_digits_compare(const struct predicate_digits *left,
                             const struct predicate_digits *right)
{
    const struct iso_json_text *a = &left->whole, *b = &right->whole;
    int order = (a->length > b->length) - (a->length < b->length);
    if (!order && a->length)
        order = memcmp(a->at, b->at, a->length);
    if (order)
        return order;
    a = &left->fraction;
    b = &right->fraction;
    size_t common = a->length < b->length ? a->length : b->length;
    order = common ? memcmp(a->at, b->at, common) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}
