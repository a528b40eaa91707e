#define _GNU_SOURCE
#include "app/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/utf8.h"
#include "iso/error.h"

enum level { INFO, WARNING, ERROR };

static struct {
    enum app_log_format format;
    bool quiet;
} manner;

enum app_log_format app_say_format_wished(void)
{
    const char *text = getenv("ISOCHRON_LOG_FORMAT");
    return text && !strcmp(text, "json") ? APP_LOG_JSON : APP_LOG_TEXT;
}

void app_say_format(enum app_log_format format)
{
    manner.format = format;
}

void app_say_quiet(bool quiet)
{
    manner.quiet = quiet;
}

static bool is_terminal(void)
{
    const char *terminal = getenv("TERM");
    return terminal && strcmp(terminal, "dumb") != 0 && isatty(STDERR_FILENO);
}

bool app_say_draws(void)
{
    return manner.format == APP_LOG_TEXT && is_terminal();
}

/* no-color.org: set, and not empty. */
static bool is_coloured(void)
{
    const char *refused = getenv("NO_COLOR");
    return !(refused && *refused) && is_terminal();
}

static void print_text(enum level level, const char *text)
{
    static const char *const colours[] = {NULL, "\033[33m", "\033[31m"};
    if (colours[level] && is_coloured())
        fprintf(stderr, "%sisochron:\033[0m %s\n", colours[level], text);
    else
        fprintf(stderr, "isochron: %s\n", text);
}

/* JSON is UTF-8, and names of files need not be. */
static void make_ascii(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            *text = '?';
}

static void print_json(enum level level, char *text)
{
    static const char *const names[] = {"info", "warning", "error"};
    struct iso_text line = {0};
    struct timespec now;
    struct tm calendar;
    char date[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &calendar);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &calendar);
    if (!iso_utf8_valid((const uint8_t *)text, strlen(text)))
        make_ascii(text);
    iso_text_put_string(&line, text, strlen(text));
    fprintf(stderr, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"message\":%.*s}\n", date, now.tv_nsec / 1000000,
            names[level], (int)line.used, line.bytes);
    iso_text_release(&line);
}

static void print(enum level level, const char *format, va_list arguments)
{
    char text[ISO_ERROR_TEXT];
    vsnprintf(text, sizeof text, format, arguments);
    for (char *at = text; *at; at++) { /* file names may hold anything; this is one line */
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    }
    if (manner.format == APP_LOG_JSON)
        print_json(level, text);
    else
        print_text(level, text);
}

void app_say(const char *format, ...)
{
    if (manner.quiet)
        return;
    va_list arguments;
    va_start(arguments, format);
    print(INFO, format, arguments);
    va_end(arguments);
}

void app_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(WARNING, format, arguments);
    va_end(arguments);
}

void app_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(ERROR, format, arguments);
    va_end(arguments);
}
