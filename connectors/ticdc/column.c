/* What columns hold. */
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "connectors/ticdc/ticdc_private.h"

enum ticdc_class ticdc_class_of(struct iso_json_text type)
{
    static const struct {
        char word[12];
        enum ticdc_class class;
    } words[] = {
        {"int", TICDC_INTEGER},      {"bigint", TICDC_INTEGER},    {"tinyint", TICDC_INTEGER},
        {"smallint", TICDC_INTEGER}, {"integer", TICDC_INTEGER},   {"bit", TICDC_INTEGER},
        {"year", TICDC_INTEGER},     {"mediumint", TICDC_INTEGER}, {"enum", TICDC_INTEGER},
        {"set", TICDC_INTEGER},      {"float", TICDC_NUMBER},      {"double", TICDC_NUMBER},
        {"binary", TICDC_BYTES},     {"varbinary", TICDC_BYTES},   {"blob", TICDC_BYTES},
        {"tinyblob", TICDC_BYTES},   {"longblob", TICDC_BYTES},    {"mediumblob", TICDC_BYTES},
    };
    char word[12];
    size_t length = 0;
    word[0] = 0;
    if (type.length > 3 && !memcmp(type.at, "varc", 4)) /* the most frequent one of those that stay text */
        return TICDC_TEXT;
    for (; length < type.length && length < sizeof word && (type.at[length] | 0x20) >= 'a' &&
           (type.at[length] | 0x20) <= 'z';
         length++)
        word[length] = (char)(type.at[length] | 0x20);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].word[0] == word[0] && !strncmp(words[i].word, word, length) && !words[i].word[length])
            return words[i].class;
    return TICDC_TEXT;
}

/* An integer as numbers are written: no leading zero, no plus, 64 bits. */
static bool set_digits(struct iso_cell *cell, struct iso_json_text text)
{
    bool negative = text.length && text.at[0] == '-';
    uint64_t bits = 0;
    if (text.length == negative || (text.at[negative] == '0' && text.length > 1))
        return false;
    if (text.length < 20) {
        if (!iso_bytes_number(text.at + negative, text.length - negative, &bits))
            return false;
        ticdc_set_integer(cell, negative ? 0 - bits : bits, negative);
        return bits <= (uint64_t)1 << 63 || !negative;
    }
    for (size_t i = negative; i < text.length; i++) {
        unsigned digit = (unsigned char)text.at[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(bits, 10u, &bits) || __builtin_add_overflow(bits, digit, &bits))
            return false;
    }
    if (negative && bits > (uint64_t)1 << 63)
        return false;
    ticdc_set_integer(cell, negative ? 0 - bits : bits, negative);
    return true;
}

static size_t count_digits(struct iso_json_text text, size_t at)
{
    size_t count = 0;
    while (at + count < text.length && (unsigned char)(text.at[at + count] - '0') <= 9)
        count++;
    return count;
}

/* Whether the text is a JSON number. */
static bool is_number(struct iso_json_text text)
{
    size_t at = text.length && text.at[0] == '-', digits = count_digits(text, at);
    if (!digits || (text.at[at] == '0' && digits > 1))
        return false;
    at += digits;
    if (at < text.length && text.at[at] == '.') {
        digits = count_digits(text, ++at);
        if (!digits)
            return false;
        at += digits;
    }
    if (at < text.length && (text.at[at] | 0x20) == 'e') {
        at++;
        at += at < text.length && (text.at[at] == '+' || text.at[at] == '-');
        digits = count_digits(text, at);
        if (!digits)
            return false;
        at += digits;
    }
    return at == text.length;
}

void ticdc_set_text(struct iso_cell *cell, enum ticdc_class class, struct iso_json_text text)
{
    if ((class == TICDC_INTEGER || class == TICDC_NUMBER) && set_digits(cell, text))
        return;
    cell->kind = class == TICDC_NUMBER && is_number(text) ? ISO_CELL_NUMBER : ISO_CELL_TEXT;
    cell->text = text.at;
    cell->length = (uint32_t)text.length;
}

void ticdc_set_bytes(struct iso_cell *cell, const void *bytes, size_t size)
{
    cell->kind = ISO_CELL_BYTES;
    cell->text = size ? bytes : "";
    cell->length = (uint32_t)size;
}

char *ticdc_room(struct ticdc *ticdc, size_t size)
{
    char *room = ticdc->bytes.bytes + ticdc->bytes.used; /* reserved when the message came */
    ticdc->bytes.used += size;
    return room;
}

bool ticdc_set_base64(struct ticdc *ticdc, struct iso_cell *cell, struct iso_json_text text, bool is_text)
{
    size_t size;
    char *room = ticdc_room(ticdc, text.length / 4 * 3);
    if (!iso_base64_decode(text.at, text.length, (uint8_t *)room, &size))
        return false;
    if (is_text && !iso_utf8_valid((const uint8_t *)room, size))
        return false;
    if (is_text)
        ticdc_set_text(cell, TICDC_TEXT, (struct iso_json_text){room, size});
    else
        ticdc_set_bytes(cell, room, size);
    return true;
}

uint8_t ticdc_find_name(const char *const *list, const char *name, size_t length)
{
    for (uint8_t i = 1; list[i]; i++)
        if (strlen(list[i]) == length && !memcmp(list[i], name, length))
            return i;
    return 0;
}

bool ticdc_read_unsigned_slow(struct iso_json *json, uint64_t *number)
{
    struct iso_json_number read = {0};
    struct iso_json_text text;
    bool quoted = iso_json_peek(json) == ISO_JSON_STRING;
    const char *start = json->at;
    *number = 0;
    if (!quoted) {
        if (!iso_json_integer(json, &read))
            return false;
        *number = read.bits;
        return !read.negative || iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "an unsigned integer");
    }
    struct iso_cell cell = {0};
    if (!iso_json_string(json, &text))
        return false;
    if (!set_digits(&cell, text) || cell.negative)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "an unsigned integer");
    *number = cell.bits;
    return true;
}
