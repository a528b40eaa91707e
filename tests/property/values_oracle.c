/* Values by type against an oracle that knows what they mean: whatever spelling a random value has,
 * its canonical one is that of the stream, two values that differ never get one, and comparing two
 * spellings says so.
 *
 * The oracle makes values, not texts: a number of a scale, microseconds, bytes. It spells each in
 * one of the ways in which servers, streams and drivers do, and compares values by themselves. It
 * shares nothing with the library.
 *
 *     values_oracle [PAIRS]        of each type (20,000)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "values/spelling.h"
#include "tests/support/arguments.h"

enum { TEXT = 256, PART = 100, BYTES = 6 };

/* A value: what it is counts by its kind. */
struct value {
    int64_t number; /* unscaled; microseconds, days */
    int scale;      /* of NUMERIC: its places */
    uint8_t bytes[16];
    int size;
};

struct kind {
    const char *name;
    struct iso_value_type type;
    void (*make)(struct iso_rng *random, struct value *value);
    bool (*equal)(const struct value *one, const struct value *other);
    void (*spell)(struct iso_rng *random, const struct value *value, char *text); /* in some way */
    void (*stream)(const struct value *value, char *text); /* in the stream's */
};

static uint64_t below(struct iso_rng *random, uint64_t bound)
{
    return iso_rng_below(random, bound);
}

/* Small ones often, so that equal values, and those that are nearly so, come about. */
static int64_t some_number(struct iso_rng *random, int64_t most)
{
    int64_t number = (int64_t)below(random, below(random, 3) ? 40 : (uint64_t)most);
    for (uint64_t zeros = below(random, 4); zeros && number < most / 10; zeros--)
        number *= 10;
    return below(random, 2) ? number : -number;
}

static bool same_number(const struct value *one, const struct value *other)
{
    return one->number == other->number;
}

/* ---- decimals ---- */

enum { PLACES = 3 };

static void make_decimal(struct iso_rng *random, struct value *value)
{
    value->number = some_number(random, 1000000000);
    value->scale = PLACES;
}

static void make_numeric(struct iso_rng *random, struct value *value)
{
    value->number = some_number(random, 1000000000);
    value->scale = (int)below(random, 5);
}

/* Cross-multiplied. */
static bool same_numeric(const struct value *one, const struct value *other)
{
    int64_t left = one->number, right = other->number;
    for (int i = 0; i < other->scale; i++)
        left *= 10;
    for (int i = 0; i < one->scale; i++)
        right *= 10;
    return left == right;
}

static void put_scaled(int64_t number, int scale, char *text)
{
    char digits[TEXT] = {0};
    uint64_t rest = (uint64_t)llabs(number);
    int first = TEXT / 2;
    for (int count = 0; rest || count <= scale; count++, rest /= 10)
        digits[--first] = (char)('0' + rest % 10);
    char *at = digits + first;
    int whole = (int)strlen(at) - scale;
    snprintf(text, TEXT, "%s%.*s%s%s", number < 0 ? "-" : "", whole, at, scale ? "." : "",
             at + whole);
}

static void stream_decimal(const struct value *value, char *text)
{
    put_scaled(value->number, PLACES, text);
}

static void stream_numeric(const struct value *value, char *text)
{
    put_scaled(value->number, value->scale, text);
}

static void spell_decimal(struct iso_rng *random, const struct value *value, char *text)
{
    char plain[TEXT];
    int64_t number = value->number;
    int scale = value->scale;
    for (uint64_t more = below(random, 3); more; more--, scale++)
        number *= 10;
    while (below(random, 2) && scale && number % 10 == 0) {
        number /= 10;
        scale--;
    }
    put_scaled(number, scale, plain);
    switch (below(random, 4)) {
    case 0:
        snprintf(text, TEXT, "Decimal('%.*s')", PART, plain);
        break;
    case 1:
        snprintf(text, TEXT, "%" PRId64 "E-%d", number, scale);
        break;
    case 2:
        snprintf(text, TEXT, "%s%.*s", number < 0 ? "" : "+", PART, plain);
        break;
    default:
        strcpy(text, plain);
    }
}

/* ---- integers and booleans ---- */

static void make_integer(struct iso_rng *random, struct value *value)
{
    value->number = some_number(random, INT64_MAX / 2);
    if (!below(random, 4))
        value->number = INT64_MIN + (int64_t)below(random, 5);
}

static void stream_integer(const struct value *value, char *text)
{
    snprintf(text, TEXT, "%" PRId64, value->number);
}

static void spell_integer(struct iso_rng *random, const struct value *value, char *text)
{
    if (value->number < -1000000 && below(random, 2)) /* of an unsigned column */
        snprintf(text, TEXT, "%" PRIu64, (uint64_t)value->number);
    else
        snprintf(text, TEXT, below(random, 3) ? "%" PRId64 : "%" PRId64 ".0", value->number);
}

static void make_boolean(struct iso_rng *random, struct value *value)
{
    value->number = (int64_t)below(random, 2);
}

static void stream_boolean(const struct value *value, char *text)
{
    strcpy(text, value->number ? "true" : "false");
}

static void spell_boolean(struct iso_rng *random, const struct value *value, char *text)
{
    static const char *const words[2][4] = {{"false", "False", "f", "0"},
                                            {"true", "True", "t", "1"}};
    strcpy(text, words[value->number][below(random, 4)]);
}

/* ---- doubles ---- */

static void make_double(struct iso_rng *random, struct value *value)
{
    double number = (double)some_number(random, 1000000) / (double)(1 + below(random, 3) * 6);
    if (below(random, 4) == 0)
        number *= 1e15;
    memcpy(&value->number, &number, sizeof number);
}

static double double_of(const struct value *value)
{
    double number;
    memcpy(&number, &value->number, sizeof number);
    return number;
}

static bool same_double(const struct value *one, const struct value *other)
{
    return double_of(one) == double_of(other);
}

static void stream_double(const struct value *value, char *text)
{
    snprintf(text, TEXT, "%.17g", double_of(value));
}

static void spell_double(struct iso_rng *random, const struct value *value, char *text)
{
    static const char *const ways[] = {"%.17g", "%.20e", "%.17E", "%.25f"};
    snprintf(text, TEXT, ways[below(random, 4)], double_of(value));
}

/* ---- times: a calendar that counts day by day ---- */

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)

static void make_days(struct iso_rng *random, struct value *value)
{
    value->number =
        (int64_t)below(random, below(random, 2) ? 60 : 40000) - (int64_t)below(random, 20000);
}

static void make_moment(struct iso_rng *random, struct value *value)
{
    make_days(random, value);
    value->number = value->number * DAY + (int64_t)below(random, 86400) * SECOND;
    if (below(random, 2))
        value->number += (int64_t)below(random, 10) * (below(random, 2) ? 100000 : 1);
}

static void make_time(struct iso_rng *random, struct value *value)
{
    value->number =
        (int64_t)below(random, 838 * 3600) * SECOND + (int64_t)below(random, 3) * 500000;
    value->number = below(random, 2) ? value->number : -value->number;
}

static void put_day(int64_t days, char *text)
{
    static const int months[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 1970, month = 0;
    for (;; year += days < 0 ? -1 : 1) {
        int before = days < 0 ? year - 1 : year;
        int length = before % 4 == 0 && (before % 100 != 0 || before % 400 == 0) ? 366 : 365;
        if (days >= 0 && days < length)
            break;
        days += days < 0 ? length : -length;
        if (days >= 0 && days < length && year != before) {
            year = before;
            break;
        }
    }
    for (;; month++) {
        int length =
            months[month] + (month == 1 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
        if (days < length)
            break;
        days -= length;
    }
    snprintf(text, TEXT, "%04d-%02d-%02d", year, month + 1, (int)days + 1);
}

static void put_clock(struct iso_rng *random, int64_t micros, char *text)
{
    int64_t seconds = micros / SECOND, rest = micros % SECOND;
    snprintf(text, TEXT, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60),
             (int)(seconds % 60));
    if (rest || (random && below(random, 2))) {
        snprintf(text + strlen(text), TEXT - strlen(text), ".%06d", (int)rest);
        while (text[strlen(text) - 1] == '0' && text[strlen(text) - 2] != '.' &&
               !(random && below(random, 4) == 0))
            text[strlen(text) - 1] = 0;
    }
}

static void split(int64_t micros, int64_t *days, int64_t *rest)
{
    *days = micros / DAY - (micros % DAY < 0);
    *rest = micros - *days * DAY;
}

static void stream_number(const struct value *value, char *text)
{
    snprintf(text, TEXT, "%" PRId64, value->number);
}

static void spell_date(struct iso_rng *random, const struct value *value, char *text)
{
    put_day(value->number, text);
    if (below(random, 3) == 0)
        strcat(text, " 00:00:00");
}

static void put_moment(struct iso_rng *random, int64_t micros, char *text)
{
    char clock[TEXT];
    int64_t days, rest;
    split(micros, &days, &rest);
    put_day(days, text);
    put_clock(random, rest, clock);
    snprintf(text + strlen(text), TEXT - strlen(text), "%c%s",
             random && below(random, 2) ? ' ' : 'T', clock);
}

static void spell_timestamp(struct iso_rng *random, const struct value *value, char *text)
{
    if (below(random, 4))
        put_moment(random, value->number, text);
    else
        stream_number(value, text);
}

static void stream_instant(const struct value *value, char *text)
{
    put_moment(NULL, value->number, text);
    strcat(text, "Z");
}

static void spell_instant(struct iso_rng *random, const struct value *value, char *text)
{
    static const int quarters[] = {0, 4, -20, 22, 52, -6};
    int zone = quarters[below(random, 6)];
    put_moment(random, value->number + zone * 900 * SECOND, text);
    if (!zone && below(random, 2))
        strcat(text, "Z");
    else
        snprintf(text + strlen(text), TEXT - strlen(text), zone % 4 ? "%c%02d:%02d" : "%c%02d",
                 zone < 0 ? '-' : '+', abs(zone) / 4, abs(zone) % 4 * 15);
}

static void spell_time(struct iso_rng *random, const struct value *value, char *text)
{
    char clock[TEXT];
    int64_t days, rest;
    split(value->number, &days, &rest);
    if (below(random, 2) && days) { /* as Python prints it */
        put_clock(random, rest, clock);
        snprintf(text, TEXT, "%" PRId64 " day%s, %.*s", days, llabs(days) == 1 ? "" : "s", PART,
                 clock);
        return;
    }
    put_clock(random, llabs(value->number), clock);
    snprintf(text, TEXT, "%s%.*s", value->number < 0 ? "-" : "", PART, clock);
}

/* ---- bytes ---- */

static void make_bytes(struct iso_rng *random, struct value *value)
{
    value->size = (int)below(random, BYTES);
    for (int i = 0; i < value->size; i++)
        value->bytes[i] = (uint8_t)(below(random, 2) ? below(random, 256) : 'a' + below(random, 2));
}

static bool same_bytes(const struct value *one, const struct value *other)
{
    return one->size == other->size && !memcmp(one->bytes, other->bytes, (size_t)one->size);
}

/* Six bits at a time. */
static void stream_bytes(const struct value *value, char *text)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    int used = 0;
    for (int bit = 0; bit < value->size * 8; bit += 6) {
        int six = 0;
        for (int i = bit; i < bit + 6; i++)
            six = six * 2 + (i < value->size * 8 ? value->bytes[i / 8] >> (7 - i % 8) & 1 : 0);
        text[used++] = alphabet[six];
    }
    while (used % 4)
        text[used++] = '=';
    text[used] = 0;
}

static void spell_bytes(struct iso_rng *random, const struct value *value, char *text)
{
    bool python = below(random, 2);
    if (below(random, 3) == 0) {
        stream_bytes(value, text);
        return;
    }
    strcpy(text, python ? "b'" : "\\x");
    for (int i = 0; i < value->size; i++)
        if (python && value->bytes[i] >= 'a' && value->bytes[i] <= 'z')
            snprintf(text + strlen(text), TEXT - strlen(text), "%c", value->bytes[i]);
        else
            snprintf(text + strlen(text), TEXT - strlen(text), python ? "\\x%02x" : "%02x",
                     value->bytes[i]);
    strcat(text, python ? "'" : "");
}

/* ---- objects of two numbers ---- */

static void make_document(struct iso_rng *random, struct value *value)
{
    value->number = some_number(random, 1000);
    value->bytes[0] = (uint8_t)below(random, 3);
}

static bool same_document(const struct value *one, const struct value *other)
{
    return one->number == other->number && one->bytes[0] == other->bytes[0];
}

static void stream_document(const struct value *value, char *text)
{
    snprintf(text, TEXT, "{\"a\": %" PRId64 ", \"b\": [%d, null]}", value->number, value->bytes[0]);
}

static void spell_document(struct iso_rng *random, const struct value *value, char *text)
{
    const char *space = below(random, 2) ? " " : "", *zeros = below(random, 2) ? ".00" : "";
    if (below(random, 2))
        snprintf(text, TEXT, "{\"b\":%s[%d%s,null],%s\"\\u0061\":%" PRId64 "%s}", space,
                 value->bytes[0], zeros, space, value->number, zeros);
    else
        snprintf(text, TEXT, "{%s\"a\":%" PRId64 "%s,\"b\":[%d,%snull]}", space, value->number,
                 zeros, value->bytes[0], space);
}

static const struct kind kinds[] = {
    {"decimal",
     {ISO_VALUE_DECIMAL, true, PLACES},
     make_decimal,
     same_number,
     spell_decimal,
     stream_decimal},
    {"numeric",
     {ISO_VALUE_NUMERIC, true, 0},
     make_numeric,
     same_numeric,
     spell_decimal,
     stream_numeric},
    {"integer",
     {ISO_VALUE_INTEGER_64, false, 0},
     make_integer,
     same_number,
     spell_integer,
     stream_integer},
    {"boolean",
     {ISO_VALUE_BOOLEAN, false, 0},
     make_boolean,
     same_number,
     spell_boolean,
     stream_boolean},
    {"double", {ISO_VALUE_DOUBLE, true, 0}, make_double, same_double, spell_double, stream_double},
    {"date", {ISO_VALUE_DATE, false, 0}, make_days, same_number, spell_date, stream_number},
    {"timestamp",
     {ISO_VALUE_TIMESTAMP, false, 6},
     make_moment,
     same_number,
     spell_timestamp,
     stream_number},
    {"instant",
     {ISO_VALUE_INSTANT, true, 0},
     make_moment,
     same_number,
     spell_instant,
     stream_instant},
    {"time", {ISO_VALUE_TIME, false, 6}, make_time, same_number, spell_time, stream_number},
    {"bytes", {ISO_VALUE_BYTES, false, 0}, make_bytes, same_bytes, spell_bytes, stream_bytes},
    {"json",
     {ISO_VALUE_JSON, true, 0},
     make_document,
     same_document,
     spell_document,
     stream_document},
};

static int failures;

static void fail(const struct kind *kind, const char *what, const char *one, const char *other)
{
    if (failures++ < 10)
        printf("# %s: %s: %s | %s\n", kind->name, what, one, other);
}

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text, strlen(text)};
}

/* One value as the stream has it, one as a client does; `counts`: of equal and unequal pairs. */
static void try_pair(struct iso_rng *random, const struct kind *kind, uint64_t counts[2])
{
    static const struct iso_spellers reads = {.client = true};
    struct value one = {0}, other = {0};
    char stream[TEXT], client[TEXT];
    struct iso_text left = {0}, right = {0};
    kind->make(random, &one);
    kind->make(random, &other);
    if (below(random, 2))
        other = one;
    kind->stream(&one, stream);
    kind->spell(random, &other, client);
    bool equal = kind->equal(&one, &other);
    counts[equal]++;
    if (!iso_value_spell(kind->type, text_of(stream), &left) ||
        !iso_value_spell(kind->type, text_of(client), &right))
        fail(kind, "is not read", stream, client);
    bool same =
        left.used == right.used && (!left.used || !memcmp(left.bytes, right.bytes, left.used));
    if (same != equal)
        fail(kind, equal ? "two spellings of one value" : "one spelling of two values", stream,
             client);
    if (!kind->type.is_respelt &&
        (left.used != strlen(stream) || (left.used && memcmp(left.bytes, stream, left.used) != 0)))
        fail(kind, "the stream's is another", stream, client);
    enum iso_likeness likeness =
        iso_values_compare(kind->type, text_of(stream), text_of(client), reads);
    if ((likeness == ISO_VALUES_EQUAL) != equal || (likeness == ISO_VALUES_DIFFER && equal))
        fail(kind, equal ? "compared, one value" : "compared, two values", stream, client);
    iso_text_release(&left);
    iso_text_release(&right);
}

int main(int count, char **arguments)
{
    uint64_t pairs = 20000, seed = 77;
    const struct argument known[] = {
        {"--pairs", .number = &pairs}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, count, arguments))
        return 2;
    int number = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct iso_rng random;
        uint64_t counts[2] = {0, 0};
        failures = 0;
        iso_rng_seed(&random, seed + i);
        for (uint64_t pair = 0; pair < pairs; pair++)
            try_pair(&random, &kinds[i], counts);
        bool enough = counts[0] > pairs / 10 && counts[1] > pairs / 10;
        printf("%sok %d - %s: %" PRIu64 " pairs of one value, %" PRIu64 " of two\n",
               failures || !enough ? "not " : "", ++number, kinds[i].name, counts[1], counts[0]);
        if (failures)
            return 1;
    }
    printf("1..%d\n", number);
    return 0;
}
