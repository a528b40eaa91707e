/* Bytes, bits, UUIDs. */
#include "base/base64.h"
#include "base/memory.h"
#include "values/spelling_private.h"

enum { UUID_BYTES = 16, UNSCALED_MAX = 64 };

struct bytes {
    uint8_t *at; /* owned */
    size_t size;
};

/* Each reader takes room for as many bytes as the text has. */
typedef bool read_bytes(struct iso_json_text text, struct bytes *bytes);

static bool read_hex(struct iso_json_text text, struct bytes *bytes)
{
    if (text.length % 2)
        return false;
    bytes->size = 0;
    for (size_t i = 0; i < text.length; i += 2) {
        int high = iso_hex_digit(text.at[i]), low = iso_hex_digit(text.at[i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes->at[bytes->size++] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* \xff00 */
static bool read_escaped_hex(struct iso_json_text text, struct bytes *bytes)
{
    return text.length >= 2 && text.at[0] == '\\' && (text.at[1] | 0x20) == 'x' &&
           read_hex((struct iso_json_text){text.at + 2, text.length - 2}, bytes);
}

static bool read_base64(struct iso_json_text text, struct bytes *bytes)
{
    return iso_base64_decode(text.at, text.length, bytes->at, &bytes->size);
}

/* One byte of Python's b'...'. */
static bool take_python_byte(const char **at, const char *end, uint8_t *byte)
{
    static const char escapes[] = "n\nr\rt\t\\\\'\'\"\"";
    if (**at != '\\') {
        *byte = (uint8_t) * (*at)++;
        return *byte >= ' ' && *byte < 0x7f;
    }
    if (end - *at < 2)
        return false;
    if ((*at)[1] == 'x') {
        int high = end - *at >= 4 ? iso_hex_digit((*at)[2]) : -1,
            low = end - *at >= 4 ? iso_hex_digit((*at)[3]) : -1;
        if (high < 0 || low < 0)
            return false;
        *at += 4;
        *byte = (uint8_t)(high << 4 | low);
        return true;
    }
    for (size_t i = 0; i + 1 < sizeof escapes; i += 2)
        if (escapes[i] == (*at)[1]) {
            *at += 2;
            *byte = (uint8_t)escapes[i + 1];
            return true;
        }
    return false;
}

/* b'\xff\x00', bytearray(b'...') */
static bool read_python(struct iso_json_text text, struct bytes *bytes)
{
    static const char array[] = "bytearray(";
    size_t before = sizeof array - 1;
    if (text.length > before && !memcmp(text.at, array, before) && text.at[text.length - 1] == ')')
        text = (struct iso_json_text){text.at + before, text.length - before - 1};
    if (text.length < 3 || text.at[0] != 'b' || (text.at[1] != '\'' && text.at[1] != '"') ||
        text.at[text.length - 1] != text.at[1])
        return false;
    const char *at = text.at + 2, *end = text.at + text.length - 1;
    bytes->size = 0;
    while (at < end)
        if (!take_python_byte(&at, end, &bytes->at[bytes->size++]))
            return false;
    return at == end;
}

static bool read_hex_0x(struct iso_json_text text, struct bytes *bytes)
{
    return text.length > 2 && text.at[0] == '0' && (text.at[1] | 0x20) == 'x' &&
           read_hex((struct iso_json_text){text.at + 2, text.length - 2}, bytes);
}

static bool read_raw(struct iso_json_text text, struct bytes *bytes)
{
    memcpy(bytes->at, text.at, text.length);
    bytes->size = text.length;
    return true;
}

/* Spellings that leave no doubt; base64 is what the stream has. */
static bool read_sure(struct iso_json_text text, struct bytes *bytes)
{
    return read_escaped_hex(text, bytes) || read_python(text, bytes) || read_base64(text, bytes);
}

static void put_base64(struct iso_text *out, const struct bytes *bytes)
{
    size_t length = iso_base64_length(bytes->size);
    iso_base64_encode(bytes->at, bytes->size, iso_text_reserve(out, length));
    out->used += length;
}

static struct bytes room_for(struct iso_json_text text)
{
    return (struct bytes){iso_allocate(text.length + 4), 0};
}

/* ---- bits ---- */

/* "100000001": as many digits as the column has bits, the least significant last; bytes have it
 * first. */
static bool read_bits(struct iso_value_type type, struct iso_json_text text, struct bytes *bytes)
{
    size_t bits = (size_t)type.detail;
    if (text.length != bits)
        return false;
    bytes->size = (bits + 7) / 8;
    memset(bytes->at, 0, bytes->size);
    for (size_t i = 0; i < bits; i++) {
        char digit = text.at[bits - 1 - i];
        if (digit != '0' && digit != '1')
            return false;
        bytes->at[i / 8] |= (uint8_t)((digit - '0') << i % 8);
    }
    return true;
}

/* ---- UUIDs ---- */

static bool spell_uuid(struct iso_json_text text, struct iso_text *out)
{
    char digits[2 * UUID_BYTES + 4];
    size_t used = 0;
    if (text.length > 2 && text.at[0] == '{' && text.at[text.length - 1] == '}')
        text = (struct iso_json_text){text.at + 1, text.length - 2};
    for (size_t i = 0; i < text.length; i++) {
        char byte = text.at[i];
        if (byte == '-' && (i == 8 || i == 13 || i == 18 || i == 23))
            continue;
        if (iso_hex_digit(byte) < 0 || used == 2 * UUID_BYTES)
            return false;
        digits[used++] = byte >= 'A' && byte <= 'F' ? (char)(byte | 0x20) : byte;
    }
    if (used != 2 * UUID_BYTES || (text.length != used && text.length != used + 4))
        return false;
    for (size_t i = 0; i < used; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            iso_text_put_bytes(out, "-", 1);
        iso_text_put_bytes(out, &digits[i], 1);
    }
    return true;
}

/* ---- all of them ---- */

static bool read_as(struct iso_value_type type, struct iso_json_text text, struct bytes *bytes)
{
    if (type.kind == ISO_VALUE_BITS)
        return read_bits(type, text, bytes) ||
               (read_base64(text, bytes) && bytes->size <= ((size_t)type.detail + 7) / 8);
    return read_sure(text, bytes);
}

bool spelling_spell_bytes(struct iso_value_type type, struct iso_json_text text,
                          struct iso_text *out)
{
    if (type.kind == ISO_VALUE_UUID)
        return spell_uuid(text, out);
    struct bytes bytes = room_for(text);
    bool read = read_as(type, text, &bytes);
    if (read)
        put_base64(out, &bytes);
    iso_free(bytes.at);
    return read;
}

/* Whether some reading of `text` gives the bytes that `sure` surely is. */
static bool may_mean(struct iso_json_text text, struct iso_json_text sure)
{
    static read_bytes *const readers[] = {read_hex, read_hex_0x, read_raw};
    struct bytes wanted = room_for(sure), found = room_for(text);
    bool may = false;
    for (size_t i = 0; i < sizeof readers / sizeof *readers && !may; i++)
        may = read_sure(sure, &wanted) && readers[i](text, &found) && found.size == wanted.size &&
              !memcmp(found.at, wanted.at, found.size);
    ISO_FREE_ALL(wanted.at, found.at);
    return may;
}

enum relation spelling_relate_bytes(struct iso_value_type type, struct iso_json_text one,
                                    struct iso_json_text other)
{
    struct iso_text left = {0}, right = {0};
    bool spelt =
        spelling_spell_bytes(type, one, &left) && spelling_spell_bytes(type, other, &right);
    bool same = spelt && left.used == right.used &&
                (!left.used || !memcmp(left.bytes, right.bytes, left.used));
    iso_text_release(&left);
    iso_text_release(&right);
    if (same)
        return RELATION_SAME;
    if (type.kind == ISO_VALUE_BYTES && (may_mean(one, other) || may_mean(other, one)))
        return RELATION_SIMILAR;
    return spelt ? RELATION_OTHER : RELATION_UNREADABLE;
}

/* ---- decimals whose scale nobody said, and bits that a driver gives as bytes ---- */

/* The digits of big-endian bytes in two's complement, most significant first, without zeros at
 * either end. */
static int digits_of(uint8_t *bytes, size_t size, char *digits)
{
    int count = 0;
    bool left = true;
    while (left) { /* divides by ten until nothing is left */
        unsigned rest = 0;
        left = false;
        for (size_t i = 0; i < size; i++) {
            unsigned value = rest << 8 | bytes[i];
            bytes[i] = (uint8_t)(value / 10);
            rest = value % 10;
            left |= bytes[i] != 0;
        }
        if (count || rest)
            digits[count++] = (char)('0' + rest);
    }
    for (int i = 0; i < count / 2; i++) {
        char digit = digits[i];
        digits[i] = digits[count - 1 - i];
        digits[count - 1 - i] = digit;
    }
    return count;
}

static bool is_unscaled(struct iso_json_text text, struct iso_json_text spelt)
{
    struct spelling_number number;
    uint8_t bytes[UNSCALED_MAX + 1];
    char digits[UNSCALED_MAX * 3];
    struct bytes found = {bytes, 0};
    if (spelt.length > UNSCALED_MAX || !spelling_read_number(text, &number) || number.is_code)
        return false;
    bool is_plain = read_python(spelt, &found) || read_hex_0x(spelt, &found);
    if ((!is_plain && !read_base64(spelt, &found)) || !found.size)
        return false;
    size_t size = found.size;
    bool negative = !is_plain && bytes[0] & 0x80;
    for (size_t i = size, carry = negative; negative && i-- > 0;) {
        unsigned sum = (uint8_t)~bytes[i] + (unsigned)carry;
        bytes[i] = (uint8_t)sum;
        carry = sum >> 8;
    }
    int count = digits_of(bytes, size, digits);
    return count == number.count && negative == number.negative &&
           !memcmp(digits, number.digits, (size_t)count);
}

bool spelling_is_unscaled(struct iso_json_text one, struct iso_json_text other)
{
    return is_unscaled(one, other) || is_unscaled(other, one);
}
