/* What stands in brackets behind a type: numeric(5,2), varchar(3). */
#include <math.h>

#include "predicate/digits.h"
#include "predicate/function.h"

/* Adds one to the digits' last place, which stands behind a zero. */
static void carry(struct iso_text *digits)
{
    size_t at = digits->used - 1;
    while (digits->bytes[at] == '9' || digits->bytes[at] == '.') {
        digits->bytes[at] = digits->bytes[at] == '9' ? '0' : '.';
        at--;
    }
    digits->bytes[at]++;
}

/* `-012.35` of -12.345; false: it has too many digits then. */
static bool put_rounded(struct predicate_call call, struct iso_json_text number,
                        struct iso_text *out)
{
    struct predicate_digits digits;
    bool is_negative = *number.at == '-';
    predicate_digits_read(
        &digits, (struct iso_json_text){number.at + is_negative, number.length - is_negative});
    size_t scale = (size_t)call.scale, whole = digits.whole.length,
           kept = digits.fraction.length < scale ? digits.fraction.length : scale;
    bool is_up = kept < digits.fraction.length && digits.fraction.at[kept] >= '5';
    iso_text_put(out, is_negative ? "-0" : "0");
    iso_text_put_bytes(out, digits.whole.at, whole);
    iso_text_put(out, ".");
    iso_text_put_bytes(out, digits.fraction.at, kept);
    if (is_up)
        carry(out);
    whole += out->bytes[is_negative] != '0';
    return whole + scale <= call.precision;
}

struct iso_scalar predicate_limit_number(struct predicate_call call, struct iso_scalar number,
                                         struct iso_text *room)
{
    static const struct iso_scalar_type numeric = {.value = {.kind = ISO_VALUE_NUMERIC}};
    struct iso_scalar limited = {.kind = ISO_SCALAR_OPAQUE, .type = ISO_PREDICATE_TYPE};
    struct iso_text text = {0}, rounded = {0};
    if (number.kind == ISO_SCALAR_OPAQUE || number.kind == ISO_SCALAR_DOUBLE)
        return number.kind == ISO_SCALAR_DOUBLE && isinf(number.real) ? limited : number;
    iso_scalar_put(&text, &number);
    bool fits = put_rounded(call, (struct iso_json_text){text.bytes, text.used}, &rounded);
    room->used = 0;
    if (fits) {
        iso_text_put_bytes(room, rounded.bytes, rounded.used);
        limited = iso_scalar_read(numeric, (struct iso_json_text){room->bytes, room->used});
        room->used = iso_scalar_has_text(&limited) ? room->used : 0;
    }
    iso_text_release(&text);
    iso_text_release(&rounded);
    return limited;
}

/* What was read without a type may be a number, which the database spells otherwise. */
struct iso_scalar predicate_limit_text(struct predicate_call call, struct iso_scalar text)
{
    uint32_t length = 0, letters = 0;
    if (text.kind == ISO_SCALAR_OPAQUE)
        return text;
    for (; length < text.length; length++) {
        letters += ((unsigned char)text.text[length] & 0xc0) != 0x80;
        if (letters > call.precision)
            break;
    }
    if (length < text.length && text.kind != ISO_SCALAR_TEXT)
        return (struct iso_scalar){.kind = ISO_SCALAR_OPAQUE, .type = ISO_PREDICATE_TYPE};
    text.length = length;
    return text;
}
