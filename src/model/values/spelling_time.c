/* Dates, times of day, moments. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "values/spelling_private.h"

enum {
    NANOS = 1000000000,
    MINUTE = 60,
    HOUR = 3600,
    DAY = 86400,
    ZONE_MAX = 15 * HOUR, /* of a zone's offset, some more than there are */
    ZONE_STEP = 15 * MINUTE,
    NANO_DIGITS = 9
};
#define ODD_ZONES INT64_C(63072000) /* until 1972 offsets were of any length */

/* Seconds since 1970, or of a time, and what is beyond them. */
struct moment {
    int64_t seconds;
    int32_t nanos; /* 0 to 999,999,999 */
    bool has_zone; /* then `seconds` are UTC */
    int64_t count; /* as a number in the type's unit; 0: it was none */
    int64_t later; /* seconds: senders take a year below 100 for one of two digits */
};

struct time_reader {
    const char *at, *end;
};

/* ---- pieces ---- */

static bool take_byte(struct time_reader *reader, char byte)
{
    bool there = reader->at < reader->end && *reader->at == byte;
    reader->at += there;
    return there;
}

/* `least` to `most` digits. */
static bool take_digits(struct time_reader *reader, int least, int most, int64_t *number)
{
    int count = 0;
    *number = 0;
    for (; count < most && reader->at < reader->end && spelling_is_digit(*reader->at); count++)
        *number = *number * 10 + (*reader->at++ - '0');
    return count >= least;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_before_year(int64_t year) /* since 0001-01-01 */
{
    year--;
    return year * 365 + year / 4 - year / 100 + year / 400;
}

/* "2024-02-29" */
static bool take_date(struct time_reader *reader, struct moment *moment)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t year, month, day, days;
    if (!take_digits(reader, 4, 4, &year) || !take_byte(reader, '-') ||
        !take_digits(reader, 2, 2, &month) || !take_byte(reader, '-') ||
        !take_digits(reader, 2, 2, &day) || year < 1 || month < 1 || month > 12 || day < 1)
        return false;
    if (day > lengths[month - 1] + (month == 2 && is_leap(year)))
        return false;
    days = days_before_year(year) - days_before_year(1970) + day - 1;
    for (int i = 0; i + 1 < month; i++)
        days += lengths[i] + (i == 1 && is_leap(year));
    moment->seconds = days * DAY;
    int64_t shift = year < 70 ? 2000 : year < 100 ? 1900 : 0;
    moment->later = (days_before_year(year + shift) - days_before_year(year)) * DAY;
    return true;
}

/* ":56.5", or nothing of it */
static bool take_seconds(struct time_reader *reader, struct moment *moment)
{
    int64_t seconds, fraction = 0;
    if (!take_byte(reader, ':'))
        return true;
    if (!take_digits(reader, 2, 2, &seconds) || seconds >= MINUTE)
        return false;
    moment->seconds += seconds;
    if (!take_byte(reader, '.'))
        return true;
    const char *from = reader->at;
    if (!take_digits(reader, 1, NANO_DIGITS, &fraction))
        return false;
    for (int64_t digits = reader->at - from; digits < NANO_DIGITS; digits++)
        fraction *= 10;
    moment->nanos = (int32_t)fraction;
    return true;
}

/* "12:34:56.5", of at most so many hours */
static bool take_clock(struct time_reader *reader, int64_t most, struct moment *moment)
{
    int64_t hours, minutes;
    if (!take_digits(reader, 1, 6, &hours) || hours > most || !take_byte(reader, ':') ||
        !take_digits(reader, 2, 2, &minutes) || minutes >= 60)
        return false;
    moment->seconds += hours * HOUR + minutes * MINUTE;
    return take_seconds(reader, moment);
}

/* "Z", "+01", "+01:30", "+0130", " UTC", or nothing; to the end */
static bool take_zone(struct time_reader *reader, struct moment *moment)
{
    struct iso_json_text rest = {reader->at, (size_t)(reader->end - reader->at)};
    int64_t hours, minutes = 0, seconds = 0;
    if (!rest.length)
        return true;
    moment->has_zone = true;
    take_byte(reader, ' ');
    rest = (struct iso_json_text){reader->at, (size_t)(reader->end - reader->at)};
    if (spelling_is_word(rest, "z") || spelling_is_word(rest, "utc") ||
        spelling_is_word(rest, "gmt"))
        return true;
    bool west = take_byte(reader, '-');
    if ((!west && !take_byte(reader, '+')) || !take_digits(reader, 2, 2, &hours))
        return false;
    bool colon = take_byte(reader, ':');
    if ((colon || reader->at < reader->end) && !take_digits(reader, 2, 2, &minutes))
        return false;
    if (take_byte(reader, ':') && !take_digits(reader, 2, 2, &seconds))
        return false;
    int64_t offset = hours * HOUR + minutes * MINUTE + seconds;
    moment->seconds += west ? offset : -offset;
    return reader->at == reader->end && minutes < 60 && seconds < MINUTE && offset <= ZONE_MAX;
}

/* ---- texts ---- */

static bool read_moment(struct iso_json_text text, struct moment *moment)
{
    struct time_reader reader = {text.at, text.at + text.length};
    if (!take_date(&reader, moment))
        return false;
    if (reader.at == reader.end)
        return true;
    return (take_byte(&reader, ' ') || take_byte(&reader, 'T')) &&
           take_clock(&reader, 23, moment) && take_zone(&reader, moment);
}

/* A day of a column that has no time. */
static bool read_date(struct iso_json_text text, struct moment *moment)
{
    return read_moment(text, moment) && !moment->has_zone && !moment->nanos &&
           moment->seconds % DAY == 0;
}

static bool read_zoned_time(struct iso_json_text text, struct moment *moment)
{
    struct time_reader reader = {text.at, text.at + text.length};
    if (!take_clock(&reader, 23, moment) || !take_zone(&reader, moment))
        return false;
    moment->seconds = (moment->seconds % DAY + DAY) % DAY;
    return true;
}

static void negate(struct moment *moment)
{
    moment->seconds = -moment->seconds - (moment->nanos > 0);
    moment->nanos = moment->nanos ? NANOS - moment->nanos : 0;
}

/* "-1 day, 11:25:03", as Python prints a time below 0; "1 day 02:00:00", as PostgreSQL prints an
 * interval. */
static bool take_days(struct time_reader *reader, int64_t *days)
{
    struct time_reader from = *reader;
    bool negative = take_byte(reader, '-');
    if (!negative)
        take_byte(reader, '+');
    if (!take_digits(reader, 1, 9, days) || !take_byte(reader, ' ') || !take_byte(reader, 'd') ||
        !take_byte(reader, 'a') || !take_byte(reader, 'y')) {
        *reader = from;
        *days = 0;
        return false;
    }
    take_byte(reader, 's');
    take_byte(reader, ',');
    *days = negative ? -*days : *days;
    return true;
}

static bool read_time(struct iso_json_text text, struct moment *moment)
{
    enum { HOURS_MAX = 999999 };
    struct time_reader reader = {text.at, text.at + text.length};
    int64_t days;
    bool has_days = take_days(&reader, &days);
    if (has_days && reader.at < reader.end && !take_byte(&reader, ' '))
        return false;
    if (!has_days || reader.at < reader.end) {
        bool negative = take_byte(&reader, '-');
        if (!negative)
            take_byte(&reader, '+');
        if (!take_clock(&reader, HOURS_MAX, moment))
            return false;
        if (negative)
            negate(moment);
    }
    moment->seconds += days * DAY;
    return reader.at == reader.end;
}

/* ---- numbers in the type's unit ---- */

static int64_t units_in_second(int digits)
{
    int64_t units = 1;
    for (int i = 0; i < digits; i++)
        units *= 10;
    return units;
}

static bool read_count(struct iso_value_type type, struct iso_json_text text, struct moment *moment)
{
    char copy[24], *end;
    if (!text.length || text.length >= sizeof copy)
        return false;
    for (size_t i = text.at[0] == '-'; i < text.length; i++)
        if (!spelling_is_digit(text.at[i]))
            return false;
    memcpy(copy, text.at, text.length);
    copy[text.length] = 0;
    long long number = strtoll(copy, &end, 10);
    if (end == copy || number == LLONG_MAX || number == LLONG_MIN)
        return false;
    int64_t units = type.kind == ISO_VALUE_DATE ? 1 : units_in_second(type.detail);
    moment->count = number;
    moment->seconds = number / units - (number % units < 0);
    moment->nanos = (int32_t)((number - moment->seconds * units) * (NANOS / units));
    return type.kind != ISO_VALUE_DATE ||
           !__builtin_mul_overflow(moment->seconds, (int64_t)DAY, &moment->seconds);
}

static bool read(struct iso_value_type type, struct iso_json_text text, struct moment *moment)
{
    *moment = (struct moment){0};
    switch (type.kind) {
    case ISO_VALUE_DATE:
        return read_count(type, text, moment) || read_date(text, moment);
    case ISO_VALUE_TIMESTAMP:
        return read_count(type, text, moment) || read_moment(text, moment);
    case ISO_VALUE_TIME:
        return read_count(type, text, moment) || read_time(text, moment);
    case ISO_VALUE_INSTANT:
        return read_moment(text, moment);
    default:
        return read_zoned_time(text, moment);
    }
}

/* ---- spelling ---- */

/* False: it is finer than the unit. */
static bool put_count(struct iso_value_type type, const struct moment *moment, struct iso_text *out)
{
    int64_t units = type.kind == ISO_VALUE_DATE ? 1 : units_in_second(type.detail),
            number = moment->seconds;
    if (type.kind == ISO_VALUE_DATE)
        number = moment->seconds / DAY;
    else if (moment->nanos % (NANOS / units) || __builtin_mul_overflow(number, units, &number) ||
             __builtin_add_overflow(number, moment->nanos / (NANOS / units), &number))
        return false;
    iso_text_put_signed(out, number);
    return true;
}

static void put_date(struct iso_text *out, int64_t days)
{
    /* Years of 365 days that begin in March: the leap day is the last one of its year, century and
     * four centuries. */
    enum { FROM_MARCH = 719468, FOUR_CENTURIES = 146097 };
    char text[64];
    int64_t number = days + FROM_MARCH, era = number / FOUR_CENTURIES,
            day = number % FOUR_CENTURIES;
    int64_t year = (day - day / 1460 + day / 36524 - day / (FOUR_CENTURIES - 1)) / 365;
    int64_t of_year = day - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    int64_t of_month = of_year - (153 * month + 2) / 5 + 1;
    month += month < 10 ? 3 : -9;
    snprintf(text, sizeof text, "%04d-%02d-%02d", (int)(year + era * 400 + (month <= 2)),
             (int)month, (int)of_month);
    iso_text_put(out, text);
}

static void put_clock(struct iso_text *out, int64_t seconds, int32_t nanos)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%02d:%02d:%02d", (int)(seconds / HOUR),
                          (int)(seconds / MINUTE % MINUTE), (int)(seconds % MINUTE));
    if (nanos) {
        length += snprintf(text + length, sizeof text - (size_t)length, ".%09d", (int)nanos);
        while (text[length - 1] == '0')
            length--;
    }
    iso_text_put_bytes(out, text, (size_t)length);
    iso_text_put_bytes(out, "Z", 1);
}

/* In years that have four digits. */
static bool put_instant(struct iso_value_type type, const struct moment *moment,
                        struct iso_text *out)
{
    int64_t least = (days_before_year(1) - days_before_year(1970)) * DAY;
    int64_t most = (days_before_year(10000) - days_before_year(1970)) * DAY;
    if (!moment->has_zone || moment->seconds < least || moment->seconds >= most)
        return false;
    int64_t days = (moment->seconds - least) / DAY, seconds = (moment->seconds - least) % DAY;
    if (type.kind == ISO_VALUE_INSTANT) {
        put_date(out, days + least / DAY);
        iso_text_put_bytes(out, "T", 1);
    }
    put_clock(out, seconds, moment->nanos);
    return true;
}

static bool has_zone(struct iso_value_type type)
{
    return type.kind == ISO_VALUE_INSTANT || type.kind == ISO_VALUE_ZONED_TIME;
}

bool spelling_spell_time(struct iso_value_type type, struct iso_json_text text,
                         struct iso_text *out)
{
    struct moment moment;
    if (!read(type, text, &moment) || moment.has_zone != has_zone(type) ||
        (moment.later && !has_zone(type)))
        return false;
    return has_zone(type) ? put_instant(type, &moment, out) : put_count(type, &moment, out);
}

/* ---- comparing ---- */

static bool are_equal(const struct moment *one, const struct moment *other)
{
    return one->seconds == other->seconds && one->nanos == other->nanos;
}

static int64_t distance(struct iso_value_type type, const struct moment *one,
                        const struct moment *other)
{
    int64_t seconds = one->seconds > other->seconds ? one->seconds - other->seconds
                                                    : other->seconds - one->seconds;
    if (type.kind == ISO_VALUE_ZONED_TIME && seconds > DAY - seconds)
        seconds = DAY - seconds;
    return seconds;
}

/* One says its zone and the other does not: whether there is one in which they are the same
 * moment. */
static bool may_be_of_zone(struct iso_value_type type, const struct moment *one,
                           const struct moment *other)
{
    int64_t seconds = distance(type, one, other);
    bool odd = type.kind != ISO_VALUE_ZONED_TIME && one->seconds < ODD_ZONES;
    return one->nanos == other->nanos && seconds <= ZONE_MAX && (odd || seconds % ZONE_STEP == 0);
}

/* A year below 100 that came as one of two digits. */
static bool was_moved(const struct moment *one, const struct moment *other)
{
    return (one->later || other->later) && one->nanos == other->nanos &&
           one->seconds + one->later == other->seconds + other->later;
}

/* Places of the fraction, without zeros. */
static int places_of(int32_t nanos)
{
    int places = NANO_DIGITS;
    for (; places && nanos % 10 == 0; places--)
        nanos /= 10;
    return places;
}

static bool was_rounded(const struct moment *one, const struct moment *other)
{
    const struct moment *finer = places_of(one->nanos) > places_of(other->nanos) ? one : other;
    const struct moment *coarser = finer == one ? other : one;
    if (places_of(one->nanos) == places_of(other->nanos))
        return false;
    int32_t unit = (int32_t)(NANOS / units_in_second(places_of(coarser->nanos)));
    struct moment cut = {.seconds = finer->seconds, .nanos = finer->nanos - finer->nanos % unit},
                  up = cut;
    up.seconds += up.nanos + unit == NANOS;
    up.nanos = (up.nanos + unit) % NANOS;
    return are_equal(&cut, coarser) ||
           (2 * (finer->nanos % unit) >= unit && are_equal(&up, coarser));
}

/* Milliseconds and microseconds of one moment. */
static bool are_of_units(const struct moment *one, const struct moment *other)
{
    bool turned = llabs(one->count) > llabs(other->count);
    int64_t less = turned ? other->count : one->count, more = turned ? one->count : other->count;
    if (!less || !more)
        return false;
    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow(less, (int64_t)1000, &less))
            return false;
        else if (less == more)
            return true;
    return false;
}

enum relation spelling_relate_times(struct iso_value_type type, struct iso_json_text one,
                                    struct iso_json_text other, bool rounds)
{
    struct moment left, right;
    if (!read(type, one, &left) || !read(type, other, &right))
        return RELATION_UNREADABLE;
    if (left.has_zone != right.has_zone)
        return may_be_of_zone(type, &left, &right) ? RELATION_SIMILAR : RELATION_OTHER;
    if (are_equal(&left, &right)) /* without a zone, in a column that has one, both are in zones
                                     that nobody knows */
        return left.has_zone == has_zone(type) ? RELATION_SAME : RELATION_SIMILAR;
    if (left.has_zone != has_zone(type) && may_be_of_zone(type, &left, &right))
        return RELATION_SIMILAR;
    return (rounds && was_rounded(&left, &right)) || are_of_units(&left, &right) ||
                   was_moved(&left, &right)
               ? RELATION_SIMILAR
               : RELATION_OTHER;
}
