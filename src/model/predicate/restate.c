/* A condition that differs from another in constants only: their texts are put in place of the
 * others, and nothing is parsed.
 *
 *     owner = 7 AND state IN ('open', 'paid')
 *     owner = 12 AND state IN ('shut', 'paid')     between constants byte for byte the same
 */
#include "predicate/condition_private.h"

static size_t digits_at(const char *at, const char *end)
{
    size_t count = 0;
    while (count < (size_t)(end - at) && at[count] >= '0' && at[count] <= '9')
        count++;
    return count;
}

static size_t number_at(const char *at, const char *end)
{
    size_t sign = at < end && *at == '-', whole = digits_at(at + sign, end), point = sign + whole;
    if (!whole)
        return 0;
    bool has_point = at + point < end && at[point] == '.';
    return point + (has_point ? 1 + digits_at(at + point + 1, end) : 0);
}

static size_t string_at(const char *at, const char *end)
{
    size_t length = 1, left = (size_t)(end - at);
    while (length < left && at[length] >= ' ' && at[length] <= '~' && at[length] != '\'')
        length++;
    bool is_plain = length < left && at[length] == '\'';
    return !is_plain || (length + 1 < left && at[length + 1] == '\'') ? 0 : length + 1;
}

/* The text of a constant that is written as it is meant; without it: there is none here. */
static struct iso_json_text plain_at(const char *at, const char *end, uint8_t kind, size_t *size)
{
    size_t quote = kind == CONDITION_STRING;
    *size = 0;
    if (kind == CONDITION_NUMBER)
        *size = number_at(at, end);
    else if (quote && at < end && *at == '\'')
        *size = string_at(at, end);
    return (struct iso_json_text){*size ? at + quote : NULL, *size ? *size - 2 * quote : 0};
}

/* Two texts, as far as they were found to be the same. */
struct pair {
    const char *one, *one_end, *other, *other_end;
};

/* Up to there in the first one. */
static bool is_same(struct pair *pair, const char *to)
{
    size_t length = (size_t)(to - pair->one);
    if (to < pair->one || length > (size_t)(pair->other_end - pair->other) ||
        memcmp(pair->one, pair->other, length))
        return false;
    pair->one += length;
    pair->other += length;
    return true;
}

/* The literal's text is added to the names; both texts go on behind it. */
static bool restate(struct iso_condition *condition, struct condition_literal *literal,
                    struct pair *pair, struct iso_text *names)
{
    size_t size, other_size;
    struct iso_json_text old = plain_at(pair->one, pair->one_end, literal->kind, &size), text;
    bool is_plain = old.at && old.length == literal->length;
    if (is_plain)
        text = plain_at(pair->other, pair->other_end, literal->kind, &other_size);
    else /* it stays as it is */
        text = (struct iso_json_text){condition->names.bytes + literal->start, literal->length};
    literal->start = (uint32_t)names->used;
    literal->length = (uint32_t)text.length;
    if (text.at)
        iso_text_put_bytes(names, text.at, text.length);
    pair->one += is_plain ? size : 0;
    pair->other += is_plain ? other_size : 0;
    return text.at;
}

bool iso_condition_restate(struct iso_condition *condition, struct iso_json_text was,
                           struct iso_json_text text)
{
    struct pair pair = {was.at, was.at + was.length, text.at, text.at + text.length};
    struct iso_text names = {0};
    bool fine = !condition->is_fixed && text.length <= ISO_CONDITION_TEXT;
    iso_text_reserve(&names, 1); /* empty texts have a place, too */
    for (uint32_t i = 0; i < condition->constant_count && fine; i++) {
        struct condition_literal *literal = &condition->literals[i];
        fine = is_same(&pair, was.at + literal->location - 1);
        literal->location = (uint32_t)(pair.other - text.at) + 1;
        fine = fine && restate(condition, literal, &pair, &names);
    }
    fine = fine && is_same(&pair, pair.one_end) && pair.other == pair.other_end;
    iso_text_release(&condition->names);
    condition->names = names;
    return fine;
}
