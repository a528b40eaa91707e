#include "app/value.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- did you mean ---- */

enum { NAME_LIMIT = 40, NAMES_MOST = 96 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, one row at a time. */
static unsigned distance(const char *left, const char *right)
{
    size_t length = strlen(right);
    unsigned row[NAME_LIMIT + 1];
    if (length > NAME_LIMIT || strlen(left) > NAME_LIMIT)
        return NAME_LIMIT;
    for (size_t i = 0; i <= length; i++)
        row[i] = (unsigned)i;
    for (; *left; left++) {
        unsigned diagonal = row[0]++;
        for (size_t i = 1; i <= length; i++) {
            unsigned replaced = diagonal + (*left != right[i - 1]);
            diagonal = row[i];
            row[i] = least(replaced, least(row[i], row[i - 1]) + 1);
        }
    }
    return row[length];
}

const char *app_nearest(const char *text, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    unsigned best = strlen(text) > 3 ? 3 : 2; /* less than that many slips */
    for (size_t i = 0; i < count; i++) {
        unsigned slips = distance(text, names[i]);
        if (slips < best) {
            best = slips;
            nearest = names[i];
        }
    }
    return nearest;
}

static size_t list_names(const struct app_option *options, const char **names, size_t count)
{
    for (; options->type != APP_END && count < NAMES_MOST; options++) {
        if (options->type != APP_GROUP)
            names[count++] = options->name;
    }
    return count;
}

const char *app_option_nearest(const struct app_command *command, const char *name)
{
    const char *names[NAMES_MOST];
    size_t count = list_names(app_common_options, names, 0);
    return app_nearest(name, names, list_names(command->options, names, count));
}

static const struct app_option *find_in(const struct app_option *options, const char *name, size_t length, char letter)
{
    for (const struct app_option *option = options; option->type != APP_END; option++) {
        if (option->type == APP_GROUP)
            continue;
        if (letter ? option->letter == letter : strlen(option->name) == length && !memcmp(option->name, name, length))
            return option;
    }
    return NULL;
}

const struct app_option *app_option_find(const struct app_command *command, const char *name, size_t length,
                                         char letter)
{
    const struct app_option *option = find_in(command->options, name, length, letter);
    return option ? option : find_in(app_common_options, name, length, letter);
}

/* ---- from text ---- */

struct unit {
    const char *name;
    uint64_t size;
};

static const struct unit multiples[] = {{"", 1},        {"k", 1000},       {"K", 1000},
                                        {"M", 1000000}, {"G", 1000000000}, {NULL, 0}};
static const struct unit times[] = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
                                    {"s", 1000000000}, {"m", 60000000000}, {NULL, 0}};

/* A number and its unit; false if it is none, or beyond 2^64. */
static bool parse_units(const struct unit *units, const char *text, uint64_t *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno)
        return false;
    for (; units->name; units++) {
        if (!strcmp(units->name, end))
            return !__builtin_mul_overflow((uint64_t)value, units->size, number);
    }
    *number = 0;
    return !value && !*end; /* 0 needs no unit */
}

static bool parse_number(const struct app_option *option, const char *text, uint64_t *number)
{
    uint64_t value;
    if (!parse_units(multiples, text, &value) || value < option->least || value > option->most)
        return false;
    *number = value;
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

void app_texts_add(struct app_texts *texts, const char *text)
{
    texts->items = iso_reallocate(texts->items, (texts->count + 1u) * sizeof *texts->items);
    texts->items[texts->count++] = text;
}

void app_texts_release(struct app_texts *texts)
{
    iso_free(texts->items);
    *texts = (struct app_texts){0};
}

/* How messages call the value: as it was written. */
static const char *place_of(const struct app_setting *setting, char *text, size_t size)
{
    const char *name = setting->option->name, *value = setting->text ? setting->text : "";
    if (!setting->origin)
        snprintf(text, size, "--%s %s", name, value);
    else if (setting->rank == APP_ENVIRONMENT)
        snprintf(text, size, "%s=%s", setting->origin, value);
    else
        snprintf(text, size, "%s: %s = %s", setting->origin, name, value);
    return text;
}

enum iso_status app_wrong_choice(struct app *app, const char *place, const char *text, const char *choices)
{
    const char *names[NAMES_MOST];
    char *copy = iso_copy_text(choices, strlen(choices)), *rest = NULL;
    size_t count = 0;
    for (char *word = strtok_r(copy, "|", &rest); word && count < NAMES_MOST; word = strtok_r(NULL, "|", &rest))
        names[count++] = word;
    const char *nearest = app_nearest(text, names, count);
    iso_error_set(&app->error, ISO_BAD_INPUT, "%s: expected one of %s%s%s%s", place, choices,
                  nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    iso_free(copy);
    return app->error.status;
}

enum iso_status app_value_store(struct app *app, const struct app_setting *setting, void *target)
{
    const struct app_option *option = setting->option;
    const char *text = setting->text;
    void *place = (char *)target + option->offset;
    char where[ISO_ERROR_TEXT / 2];
    place_of(setting, where, sizeof where);
    switch (option->type) {
    case APP_FLAG:
        if (parse_flag(text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: a flag takes true or false, or no value", where);
    case APP_TEXT:
        *(const char **)place = text;
        return ISO_OK;
    case APP_TEXTS:
        app_texts_add(place, text);
        ((struct app_texts *)place)->on_command_line = setting->rank == APP_ARGUMENT;
        return ISO_OK;
    case APP_NUMBER:
        if (parse_number(option, text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: expected a number from %" PRIu64 " to %" PRIu64, where,
                             option->least, option->most);
    case APP_DURATION:
        if (parse_units(times, text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "%s: expected a number and its unit, ns, us, ms, s or m, such as 10ms", where);
    case APP_SHARE:
        if (parse_share(text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: expected a number from 0 to 1, such as 0.5", where);
    default:
        assert(option->type == APP_CHOICE);
        return parse_choice(option->choices, text, place) ? ISO_OK
                                                          : app_wrong_choice(app, where, text, option->choices);
    }
}

/* ---- to text ---- */

static void put_duration(struct iso_text *text, uint64_t nanoseconds)
{
    const struct unit *unit = times;
    for (const struct unit *next = unit; next->name && nanoseconds && !(nanoseconds % next->size); next++)
        unit = next;
    iso_text_put_unsigned(text, nanoseconds / unit->size);
    iso_text_put(text, unit->name);
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

bool app_value_put(struct iso_text *text, const struct app_option *option, const void *target)
{
    const void *place = (const char *)target + option->offset;
    uint64_t number;
    switch (option->type) {
    case APP_FLAG:
        iso_text_put(text, *(const bool *)place ? "true" : "false");
        return true;
    case APP_TEXT:
        if (*(const char *const *)place)
            iso_text_put(text, *(const char *const *)place);
        return *(const char *const *)place != NULL;
    case APP_CHOICE:
        return put_choice(text, option->choices, *(const int *)place);
    default:
        memcpy(&number, place, sizeof number);
        if (option->type == APP_NUMBER && number < option->least)
            return false; /* a default that stands for something else, such as all processors */
        if (option->type == APP_NUMBER)
            iso_text_put_unsigned(text, number);
        else if (option->type == APP_DURATION)
            put_duration(text, number);
        else
            put_share(text, number);
        return true;
    }
}

/* ---- secrets ---- */

#define REDACTED "[redacted]"

/* Does a property's name say that its value is for nobody else? Rather once too often. */
static bool is_secret(const char *name, size_t length)
{
    static const char *const parts[] = {"password",     "secret", "token",     "ssl.key",
                                        "ssl.keystore", "jaas",   "user.info", "oauthbearer.config",
                                        "credential"};
    char lower[64];
    length = length < sizeof lower ? length : sizeof lower - 1;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    lower[length] = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(lower, parts[i]))
            return true;
    return false;
}

/* Where user and password of the URL at `text` begin and end; false: it has none. */
static bool find_user(const char *text, const char **from, const char **to)
{
    const char *scheme = strstr(text, "://");
    if (!scheme)
        return false;
    *from = scheme + 3;
    *to = *from + strcspn(*from, "/?# ");
    while (*to > *from && **to != '@')
        --*to;
    return *to > *from;
}

char *app_value_redact(const char *text)
{
    const char *equals = strchr(text, '='), *from, *to;
    struct iso_text copy = {0};
    if (equals && is_secret(text, (size_t)(equals - text))) {
        iso_text_put_bytes(&copy, text, (size_t)(equals + 1 - text));
        iso_text_put(&copy, REDACTED);
    } else {
        while (find_user(text, &from, &to)) {
            iso_text_put_bytes(&copy, text, (size_t)(from - text));
            iso_text_put(&copy, REDACTED);
            text = to;
        }
        iso_text_put(&copy, text);
    }
    iso_text_put_bytes(&copy, "", 1);
    return copy.bytes;
}
