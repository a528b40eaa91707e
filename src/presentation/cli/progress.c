#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "base/shown.h"

/* Quick jobs show nothing at all. */
#define FIRST_AFTER 0.5
#define THEN_EVERY 0.1

void cli_progress_init(struct cli_progress *progress, const char *verb, bool quiet)
{
    *progress = (struct cli_progress){.shown = !quiet && cli_log_can_draw(), .verb = verb};
    progress->started = iso_clock_seconds();
    progress->updated = progress->started + FIRST_AFTER - THEN_EVERY;
}

static void put_bytes(double bytes, char text[24])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    for (; bytes >= 1000 && unit < 4; unit++)
        bytes /= 1000;
    snprintf(text, 24, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

void cli_progress_text(const char *verb, uint64_t done, uint64_t total, double seconds, char *text,
                       size_t size)
{
    char done_text[24], total_text[24], rate_text[24];
    double rate = seconds > 0 ? (double)done / seconds : 0;
    put_bytes((double)done, done_text);
    put_bytes((double)total, total_text);
    put_bytes(rate, rate_text);
    if (total && done <= total && rate > 0)
        snprintf(text, size, "%s  %s of %s  %d%%  %s/s  %.0f s left", verb, done_text, total_text,
                 (int)(100.0 * (double)done / (double)total), rate_text,
                 (double)(total - done) / rate);
    else
        snprintf(text, size, "%s  %s  %s/s", verb, done_text, rate_text);
}

void cli_progress_update(void *context, uint64_t done, uint64_t total)
{
    struct cli_progress *progress = context;
    char text[160];
    if (!progress->shown)
        return;
    double now = iso_clock_seconds();
    if (now - progress->updated < THEN_EVERY)
        return;
    progress->updated = now;
    progress->drawn = true;
    cli_progress_text(progress->verb, done, total, now - progress->started, text, sizeof text);
    cli_progress_line(text);
}

/* A line that reaches the last column may be continued on the next, which "\r" does not take
 * back. */
void cli_progress_line(const char *text)
{
    enum { COLUMNS = 80 };
    struct winsize window;
    int columns =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col ? window.ws_col : COLUMNS;
    size_t length = strlen(text), cut = length;
    if (length >= (size_t)columns)
        for (cut = (size_t)columns - 1; cut && ((unsigned char)text[cut] & 0xc0) == 0x80; cut--)
            ; /* not inside of a character */
    struct iso_text shown = {0};
    iso_text_put_shown(&shown, text, cut);
    fprintf(stderr, "\r%.*s\033[K", (int)shown.used, shown.bytes);
    iso_text_release(&shown);
    fflush(stderr);
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->drawn)
        fprintf(stderr, "\r\033[K");
    progress->drawn = false;
}
