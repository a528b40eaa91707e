#include "predicate/key_part.h"

#include <string.h>

bool iso_key_take_part(struct iso_json_text *rest, struct iso_json_text *part)
{
    if (!rest->at)
        return false;
    const char *comma = rest->length ? memchr(rest->at, ',', rest->length) : NULL;
    *part = *rest;
    rest->at = comma ? comma + 1 : NULL;
    if (comma) {
        part->length = (size_t)(comma - part->at);
        rest->length -= part->length + 1;
    }
    return true;
}

int iso_key_next_byte(struct iso_json_text *part, bool *is_damaged)
{
    static const char escapes[3][3] = {{'2', '5', '%'}, {'2', 'F', '/'}, {'2', 'C', ','}};
    if (!part->length)
        return -1;
    unsigned char byte = (unsigned char)*part->at;
    size_t used = 1;
    for (int i = 0; byte == '%' && used == 1 && i < 3; i++)
        if (part->length >= 3 && !memcmp(part->at + 1, escapes[i], 2)) {
            byte = (unsigned char)escapes[i][2];
            used = 3;
            break;
        }
    *is_damaged |= byte == '%' && used == 1;
    part->at += used;
    part->length -= used;
    return byte;
}

bool iso_key_is_integer(struct iso_json_text part)
{
    bool negative = part.length && *part.at == '-';
    if (part.length == negative || (part.at[negative] == '0' && part.length > 1))
        return false;
    for (size_t i = negative; i < part.length; i++)
        if (part.at[i] < '0' || part.at[i] > '9')
            return false;
    return true;
}

bool iso_key_read_integer(struct iso_json_text part, int64_t *number)
{
    bool negative = part.length && *part.at == '-';
    uint64_t value;
    if (!iso_key_is_integer(part) ||
        !iso_bytes_number(part.at + negative, part.length - negative, &value) ||
        value > (uint64_t)INT64_MAX)
        return false;
    *number = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static int compare_texts(struct iso_json_text left, struct iso_json_text right)
{
    bool is_damaged = false;
    for (;;) {
        int one = iso_key_next_byte(&left, &is_damaged),
            other = iso_key_next_byte(&right, &is_damaged);
        if (one != other || one < 0)
            return one - other;
    }
}

static int compare_parts(struct iso_json_text left, struct iso_json_text right)
{
    int64_t one = 0, other = 0;
    bool is_number = iso_key_read_integer(left, &one),
         other_is = iso_key_read_integer(right, &other);
    if (is_number != other_is)
        return is_number ? -1 : 1;
    return is_number ? (one > other) - (one < other) : compare_texts(left, right);
}

int iso_key_compare(struct iso_json_text left, struct iso_json_text right)
{
    struct iso_json_text one, other;
    for (;;) {
        bool has = iso_key_take_part(&left, &one), other_has = iso_key_take_part(&right, &other);
        if (!has || !other_has)
            return has - other_has;
        int order = compare_parts(one, other);
        if (order)
            return order;
    }
}
