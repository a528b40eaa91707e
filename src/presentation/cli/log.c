#define _GNU_SOURCE
#include "cli/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/redact.h"
#include "base/shown.h"
#include "base/error.h"

enum level { INFO, WARNING, ERROR };

static struct {
    enum cli_log_format format;
    bool quiet;
} manner;

enum { HOUR_SECONDS = 3600 };

/* How much of the log this hour has had. */
static struct {
    pthread_mutex_t lock;
    uint64_t limit, used, dropped; /* dropped: lines, in all */
    uint64_t dropped_this_hour;    /* of these: since it was reported how many */
    time_t began;
} share = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t cli_log_dropped(void)
{
    pthread_mutex_lock(&share.lock);
    uint64_t dropped = share.dropped;
    pthread_mutex_unlock(&share.lock);
    return dropped;
}

enum cli_log_format cli_log_format_wished(void)
{
    const char *text = getenv("ISOCHRON_LOG_FORMAT");
    return text && !strcmp(text, "json") ? CLI_LOG_JSON : CLI_LOG_TEXT;
}

void cli_log_set_format(enum cli_log_format format)
{
    manner.format = format;
}

void cli_log_set_quiet(bool quiet)
{
    manner.quiet = quiet;
}

static bool is_terminal(void)
{
    const char *terminal = getenv("TERM");
    return terminal && strcmp(terminal, "dumb") != 0 && isatty(STDERR_FILENO);
}

bool cli_log_can_draw(void)
{
    return manner.format == CLI_LOG_TEXT && is_terminal();
}

/* no-color.org: set, and not empty. */
static bool is_coloured(void)
{
    const char *refused = getenv("NO_COLOR");
    return !(refused && *refused) && is_terminal();
}

/* One line, whatever names of files hold. */
static void print_text(enum level level, const struct iso_text *text)
{
    static const char *const colours[] = {NULL, "\033[33m", "\033[31m"};
    struct iso_text shown = {0}, line = {0};
    iso_text_put_shown(&shown, text->bytes, text->used);
    for (size_t i = 0; i < shown.used; i++) {
        char byte = shown.bytes[i];
        iso_text_put_bytes(&line,
                           byte == '\n'   ? "\\n"
                           : byte == '\t' ? "\\t"
                                          : &shown.bytes[i],
                           byte == '\n' || byte == '\t' ? 2 : 1);
    }
    bool coloured = colours[level] && is_coloured();
    fprintf(stderr, "%sisochron:%s %.*s\n", coloured ? colours[level] : "",
            coloured ? "\033[0m" : "", (int)line.used, line.bytes);
    iso_text_release(&line);
    iso_text_release(&shown);
}

static void print_json(enum level level, const struct iso_text *text)
{
    static const char *const names[] = {"info", "warning", "error"};
    struct iso_text line = {0};
    struct timespec now;
    struct tm calendar;
    char date[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &calendar);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &calendar);
    iso_text_put_shown_string(&line, text->bytes, text->used);
    fprintf(stderr, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"message\":%.*s}\n", date,
            now.tv_nsec / 1000000, names[level], (int)line.used, line.bytes);
    iso_text_release(&line);
}

static void print_line(enum level level, const char *text)
{
    struct iso_text open = {0};
    iso_redact(&open, text);
    if (manner.format == CLI_LOG_JSON)
        print_json(level, &open);
    else
        print_text(level, &open);
    iso_text_release(&open);
}

/* An hour begins. */
static void begin_share(time_t now)
{
    char text[160];
    if (share.dropped_this_hour) {
        snprintf(text, sizeof text, "%" PRIu64 " lines were left out of this log for --log-limit",
                 share.dropped_this_hour);
        print_line(WARNING, text);
    }
    share.began = now;
    share.used = share.dropped_this_hour = 0;
}

void cli_log_set_limit(uint64_t bytes)
{
    pthread_mutex_lock(&share.lock);
    begin_share(0);
    share.limit = bytes;
    pthread_mutex_unlock(&share.lock);
}

/* Whether a line still has room in this hour's share; says when that ends. */
static bool has_room(size_t length)
{
    char text[160];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!share.began || now.tv_sec - share.began >= HOUR_SECONDS)
        begin_share(now.tv_sec);
    bool had = share.used < share.limit;
    share.used += length;
    if (!share.limit || share.used < share.limit)
        return true;
    if (had) {
        snprintf(text, sizeof text,
                 "--log-limit: %" PRIu64
                 " bytes in an hour: further remarks are counted until the next",
                 share.limit);
        print_line(WARNING, text);
    }
    share.dropped++;
    share.dropped_this_hour++;
    return false;
}

static void log_formatted(enum level level, const char *format, va_list arguments)
{
    char text[ISO_ERROR_TEXT];
    vsnprintf(text, sizeof text, format, arguments);
    pthread_mutex_lock(&share.lock);
    if (level == ERROR || has_room(strlen(text)))
        print_line(level, text);
    pthread_mutex_unlock(&share.lock);
}

void cli_log(const char *format, ...)
{
    if (manner.quiet)
        return;
    va_list arguments;
    va_start(arguments, format);
    log_formatted(INFO, format, arguments);
    va_end(arguments);
}

void cli_log_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_formatted(WARNING, format, arguments);
    va_end(arguments);
}

void cli_log_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_formatted(ERROR, format, arguments);
    va_end(arguments);
}
