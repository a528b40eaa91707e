#define _GNU_SOURCE
#include "observe/values.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "wire/cursor.h"

enum { DAY_SECONDS = 86400, EPOCH_DAYS = 10957 /* from 1970 to 2000 */ };

static bool put_plain(const uint8_t *bytes, uint32_t size, const struct spelling *spelling,
                      struct iso_text *text)
{
    if (memchr(bytes, 0, size))
        return false;
    bool is_ascii = true;
    for (uint32_t i = 0; i < size; i++)
        is_ascii &= bytes[i] < 0x80;
    if (!is_ascii && (!spelling->is_utf8 || !iso_utf8_valid(bytes, size)))
        return false;
    iso_text_put_bytes(text, bytes, size);
    iso_text_put_bytes(text, "", 1);
    return true;
}

static bool put_integer(const uint8_t *bytes, uint32_t size, struct iso_text *text)
{
    int64_t number = 0;
    if (size != 2 && size != 4 && size != 8)
        return false;
    for (uint32_t i = 0; i < size; i++)
        number = (int64_t)((uint64_t)number << 8 | bytes[i]);
    if (size < 8 && bytes[0] & 0x80)
        number -= (int64_t)1 << (8 * size);
    iso_text_format(text, "%" PRId64, number);
    iso_text_put_bytes(text, "", 1);
    return true;
}

static bool put_uuid(const uint8_t *bytes, uint32_t size, struct iso_text *text)
{
    if (size != 16)
        return false;
    for (int i = 0; i < 16; i++)
        iso_text_format(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
    iso_text_put_bytes(text, "", 1);
    return true;
}

static bool put_date(int64_t days, struct iso_text *text)
{
    struct tm parts;
    time_t seconds = (time_t)((days + EPOCH_DAYS) * DAY_SECONDS);
    if (days < -700000 || days > 2900000 || !gmtime_r(&seconds, &parts) || parts.tm_year < -1899 ||
        parts.tm_year > 8099)
        return false;
    iso_text_format(text, "%04d-%02d-%02d", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
    return true;
}

static bool put_timestamp(const uint8_t *bytes, uint32_t size, bool has_zone, struct iso_text *text)
{
    if (size != 8)
        return false;
    int64_t micros = (int64_t)((uint64_t)wire_number(bytes) << 32 | wire_number(bytes + 4));
    int64_t day = (int64_t)DAY_SECONDS * 1000000, days = micros / day - (micros % day < 0);
    int64_t rest = micros - days * day;
    if (!put_date(days, text))
        return false;
    iso_text_format(text, " %02d:%02d:%02d", (int)(rest / 3600000000), (int)(rest / 60000000 % 60),
                    (int)(rest / 1000000 % 60));
    if (rest % 1000000)
        iso_text_format(text, ".%06d", (int)(rest % 1000000));
    iso_text_put_bytes(text, has_zone ? "+00" : "", has_zone ? 4 : 1);
    return true;
}

/* Groups of four digits, the first of weight 10000^weight; `scale` digits behind the point are
 * shown. */
static bool put_numeric(const uint8_t *bytes, uint32_t size, struct iso_text *text)
{
    struct wire_cursor cursor = wire_cursor(bytes, size);
    int groups = wire_u16(&cursor), weight = (int16_t)wire_u16(&cursor), sign = wire_u16(&cursor),
        scale = wire_u16(&cursor);
    if (cursor.bad || (sign && sign != 0x4000) || size != 8 + 2 * (uint32_t)groups ||
        scale > 1000 || weight > 250)
        return false;
    const uint8_t *digits = cursor.at;
    if (sign)
        iso_text_put(text, "-");
    for (int i = 0; i <= weight || i == 0; i++) {
        int group = i <= weight && i < groups ? digits[2 * i] << 8 | digits[2 * i + 1] : 0;
        iso_text_format(text, i ? "%04d" : "%d", group);
    }
    if (scale)
        iso_text_put(text, ".");
    for (int i = weight + 1, put = 0; put < scale; i++) {
        char four[8];
        int group = i >= 0 && i < groups ? digits[2 * i] << 8 | digits[2 * i + 1] : 0;
        if (group > 9999)
            return false;
        four[0] = (char)('0' + group / 1000), four[1] = (char)('0' + group / 100 % 10);
        four[2] = (char)('0' + group / 10 % 10), four[3] = (char)('0' + group % 10);
        for (int j = 0; j < 4 && put < scale; j++, put++)
            iso_text_put_bytes(text, four + j, 1);
    }
    iso_text_put_bytes(text, "", 1);
    return true;
}

static bool put_binary(uint32_t type, const uint8_t *bytes, uint32_t size,
                       const struct spelling *spelling, struct iso_text *text)
{
    switch (type) {
    case PG_INT2:
    case PG_INT4:
    case PG_INT8:
        return put_integer(bytes, size, text);
    case PG_BOOL:
        return size == 1 && put_plain((const uint8_t *)(*bytes ? "t" : "f"), 1, spelling, text);
    case PG_TEXT:
    case PG_VARCHAR:
    case PG_BPCHAR:
    case PG_NAME:
    case PG_JSON:
    case 0: /* of a parameter whose type the server finds: text is what drivers send so */
        return put_plain(bytes, size, spelling, text);
    case PG_JSONB:
        return size && *bytes == 1 && put_plain(bytes + 1, size - 1, spelling, text);
    case PG_UUID:
        return put_uuid(bytes, size, text);
    case PG_NUMERIC:
        return put_numeric(bytes, size, text);
    case PG_DATE:
        if (size != 4 || !put_date((int32_t)wire_number(bytes), text))
            return false;
        iso_text_put_bytes(text, "", 1);
        return true;
    case PG_TIMESTAMP:
    case PG_TIMESTAMPTZ:
        return put_timestamp(bytes, size, type == PG_TIMESTAMPTZ, text);
    default:
        return false;
    }
}

/* Types whose text is the same whatever the session has set, but for what `spelling` says. Users'
 * types are asked about before. */
static bool is_spelt_alike(uint32_t type, const struct spelling *spelling)
{
    /* bool, name, integers, text, oid, json; cidr, macaddr8, macaddr, inet; arrays of these and of
     *   numeric, uuid;
     * bpchar, varchar, time; numeric, uuid, jsonb; ranges of numbers */
    static const uint16_t alike[] = {16,   19,   20,   21,   23,   25,   26,   114,
                                     650,  774,  829,  869,  1000, 1003, 1005, 1007,
                                     1009, 1015, 1016, 1028, 1231, 2951, 1042, 1043,
                                     1083, 1700, 2950, 3802, 3904, 3906, 3926};
    if (type == PG_FLOAT4 || type == PG_FLOAT8 || type == PG_BYTEA)
        return spelling->keeps_floats;
    if (type == PG_DATE || type == PG_TIMESTAMP || type == PG_TIMESTAMPTZ)
        return spelling->is_iso;
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        if (alike[i] == type)
            return true;
    return false;
}

bool pg_value_text(uint32_t type, bool is_binary, const uint8_t *bytes, uint32_t size,
                   const struct spelling *spelling, struct iso_text *text)
{
    size_t used = text->used;
    bool understood = false;
    if (is_binary && type)
        understood = put_binary(type, bytes, size, spelling, text);
    else if (!is_binary && (!type || is_spelt_alike(type, spelling)))
        understood = put_plain(bytes, size, spelling, text);
    if (!understood)
        text->used = used;
    return understood;
}

bool pg_is_plain_integer(const char *value)
{
    const char *digits = value + (*value == '-');
    size_t length = strlen(digits);
    return length && length < 20 && strspn(digits, "0123456789") == length &&
           (*digits != '0' || (length == 1 && digits == value));
}

static bool is_plain_uuid(const char *value)
{
    return strlen(value) == 36 && strspn(value, "0123456789abcdef-") == 36 && value[8] == '-' &&
           value[13] == '-' && value[18] == '-' && value[23] == '-';
}

bool pg_key_part(uint32_t type, const char *value)
{
    if (pg_is_integer(type))
        return pg_is_plain_integer(value);
    if (type == PG_UUID)
        return is_plain_uuid(value);
    return pg_is_text(type);
}
