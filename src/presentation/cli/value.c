#include "cli/value.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nearest.h"
#include "base/memory.h"

enum { MILLISECOND = 1000000 }; /* in nanoseconds */

/* ---- from text ---- */

struct unit {
    const char *name;
    uint64_t size;
};

static const struct unit multiples[] = {{"", 1},        {"k", 1000},       {"K", 1000},
                                        {"M", 1000000}, {"G", 1000000000}, {NULL, 0}};
static const struct unit times[] = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
                                    {"s", 1000000000}, {"m", 60000000000}, {NULL, 0}};

/* Digits behind a point: FRACTION / SCALE of a unit. False: none, or more of them than any unit
 * has. */
static bool parse_fraction(char **text, uint64_t *fraction, uint64_t *scale)
{
    enum { DIGITS_MOST = 9 };
    char *first = ++*text;
    for (; **text >= '0' && **text <= '9' && *text - first < DIGITS_MOST; ++*text) {
        *fraction = *fraction * 10 + (uint64_t)(**text - '0');
        *scale *= 10;
    }
    return *text > first;
}

/* A number and its unit, in the least of them; false if it is none, no whole one, or beyond
 * 2^64. */
static bool parse_units(const struct unit *units, const char *text, uint64_t *number)
{
    uint64_t fraction = 0, scale = 1, part;
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || (*end == '.' && !parse_fraction(&end, &fraction, &scale)))
        return false;
    for (; units->name; units++) {
        if (!strcmp(units->name, end))
            return !__builtin_mul_overflow(fraction, units->size, &part) && !(part % scale) &&
                   !__builtin_mul_overflow((uint64_t)value, units->size, number) &&
                   !__builtin_add_overflow(*number, part / scale, number);
    }
    *number = 0;
    return !value && !fraction && !*end; /* 0 needs no unit */
}

static bool parse_number(const struct cli_option *option, const char *text, uint64_t *number)
{
    uint64_t value;
    if (!parse_units(multiples, text, &value) || value < option->least || value > option->most)
        return false;
    *number = value;
    return true;
}

/* Without a unit: seconds. */
static bool parse_seconds(const struct cli_option *option, const char *text, uint64_t *milliseconds)
{
    static const struct unit seconds[] = {{"", 1000000000}, {NULL, 0}};
    uint64_t value;
    if ((!parse_units(seconds, text, &value) && !parse_units(times, text, &value)) ||
        value % MILLISECOND)
        return false;
    if (value / MILLISECOND < option->least * 1000 || value / MILLISECOND > option->most * 1000)
        return false;
    *milliseconds = value / MILLISECOND;
    return true;
}

static bool parse_share(const char *text, uint64_t *parts)
{
    char *end;
    if ((*text < '0' || *text > '9') && *text != '.')
        return false;
    double share = strtod(text, &end);
    if (*end || end == text || !(share >= 0.0 && share <= 1.0))
        return false;
    *parts = (uint64_t)(share * 4294967296.0);
    return true;
}

static bool parse_flag(const char *text, bool *flag)
{
    *flag = !text || !strcmp(text, "true");
    return !text || *flag || !strcmp(text, "false");
}

static bool parse_choice(const char *choices, const char *text, int *chosen)
{
    size_t length = strlen(text);
    for (int i = 0; *choices; i++) {
        size_t word = strcspn(choices, "|");
        if (word == length && !memcmp(choices, text, length)) {
            *chosen = i;
            return true;
        }
        choices += choices[word] ? word + 1 : word;
    }
    return false;
}

void cli_texts_add(struct cli_texts *texts, const char *text)
{
    texts->items = iso_reallocate(texts->items, (texts->count + 1u) * sizeof *texts->items);
    texts->items[texts->count++] = text;
}

void cli_texts_release(struct cli_texts *texts)
{
    iso_free(texts->items);
    *texts = (struct cli_texts){0};
}

/* How messages call the value: as it was written. */
static const char *place_of(const struct cli_setting *setting, char *text, size_t size)
{
    const char *name = setting->option->name, *value = setting->text ? setting->text : "";
    if (!setting->origin)
        snprintf(text, size, "--%s %s", name, value);
    else if (setting->rank == CLI_ENVIRONMENT)
        snprintf(text, size, "%s=%s", setting->origin, value);
    else
        snprintf(text, size, "%s: %s = %s", setting->origin, name, value);
    return text;
}

static bool parse_count(const struct cli_option *option, const char *text, uint32_t *count)
{
    uint64_t number;
    assert(option->most && option->most <= UINT32_MAX);
    if (!parse_number(option, text, &number))
        return false;
    *count = (uint32_t)number;
    return true;
}

enum iso_status cli_value_store(struct app *app, const struct cli_setting *setting, void *target)
{
    const struct cli_option *option = setting->option;
    const char *text = setting->text;
    void *place = (char *)target + option->offset;
    char where[ISO_ERROR_TEXT / 2];
    assert(option->type != CLI_END && option->type != CLI_GROUP);
    place_of(setting, where, sizeof where);
    switch (option->type) {
    case CLI_FLAG:
        if (option->given)
            *(bool *)((char *)target + option->given) = true;
        if (parse_flag(text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "%s: a flag takes true or false, or no value", where);
    case CLI_TEXT:
        *(const char **)place = text;
        return ISO_OK;
    case CLI_TEXTS:
        cli_texts_add(place, text);
        ((struct cli_texts *)place)->in_file =
            setting->rank == CLI_FILE || setting->rank == CLI_SECTION;
        return ISO_OK;
    case CLI_COUNT:
    case CLI_NUMBER:
        if (option->type == CLI_COUNT ? parse_count(option, text, place)
                                      : parse_number(option, text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "%s: expected a number from %" PRIu64 " to %" PRIu64, where,
                             option->least, option->most);
    case CLI_DURATION:
        if (parse_units(times, text, place))
            return ISO_OK;
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "%s: expected a number and its unit, ns, us, ms, s or m, such as 10ms or 0.2s", where);
    case CLI_SECONDS:
        if (parse_seconds(option, text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "%s: expected seconds from %" PRIu64 " to %" PRIu64
                             ", or a duration such as 500ms",
                             where, option->least, option->most);
    case CLI_SHARE:
        if (parse_share(text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "%s: expected a number from 0 to 1, such as 0.5", where);
    default:
        assert(option->type == CLI_CHOICE);
        if (parse_choice(option->choices, text, place))
            return ISO_OK;
        if (option->refusal && option->refusal(text))
            return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: %s", where,
                                 option->refusal(text));
        return cli_wrong_choice(app, where, text, option->choices);
    }
}

/* ---- to text ---- */

static void put_duration(struct iso_text *text, uint64_t nanoseconds)
{
    const struct unit *unit = times;
    for (const struct unit *next = unit; next->name && nanoseconds && !(nanoseconds % next->size);
         next++)
        unit = next;
    iso_text_format(text, "%" PRIu64 "%s", nanoseconds / unit->size, unit->name);
}

static void put_seconds(struct iso_text *text, uint64_t milliseconds)
{
    if (milliseconds % 1000)
        put_duration(text, milliseconds * MILLISECOND);
    else
        iso_text_put_unsigned(text, milliseconds / 1000);
}

/* The shortest number that gives the same parts again. */
static void put_share(struct iso_text *text, uint64_t parts)
{
    char number[32];
    uint64_t again = parts + 1;
    for (int digits = 1; again != parts && digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, (double)parts / 4294967296.0);
        again = (uint64_t)(strtod(number, NULL) * 4294967296.0);
    }
    iso_text_put(text, number);
}

static bool put_choice(struct iso_text *text, const char *choices, int chosen)
{
    for (; chosen > 0 && *choices; chosen--) {
        choices += strcspn(choices, "|");
        choices += *choices == '|';
    }
    if (chosen || !*choices)
        return false;
    iso_text_put_bytes(text, choices, strcspn(choices, "|"));
    return true;
}

bool cli_value_put(struct iso_text *text, const struct cli_option *option, const void *target)
{
    const void *place = (const char *)target + option->offset;
    bool is_number = option->type == CLI_NUMBER || option->type == CLI_COUNT;
    uint64_t number;
    switch (option->type) {
    case CLI_FLAG:
        iso_text_put(text, *(const bool *)place ? "true" : "false");
        return true;
    case CLI_TEXT:
        if (*(const char *const *)place)
            iso_text_put(text, *(const char *const *)place);
        return *(const char *const *)place != NULL;
    case CLI_CHOICE:
        return put_choice(text, option->choices, *(const int *)place);
    default:
        number = option->type == CLI_COUNT ? *(const uint32_t *)place : *(const uint64_t *)place;
        if (option->type == CLI_SECONDS && number > option->most * 1000)
            return false; /* not given */
        if (is_number && (number < option->least || (option->most && number > option->most)))
            return false; /* a default that stands for something else, such as all processors */
        if (is_number)
            iso_text_put_unsigned(text, number);
        else if (option->type == CLI_DURATION)
            put_duration(text, number);
        else if (option->type == CLI_SECONDS)
            put_seconds(text, number);
        else
            put_share(text, number);
        return true;
    }
}
