/* Remarks and errors on stderr: everything that is neither a result nor the line of progress goes
 * through here.
 *
 * As text "isochron: ...", coloured on a terminal unless NO_COLOR is set or TERM is dumb; as JSON
 * one object a line, secrets left out (base/redact.h) and nothing in it that a terminal obeys
 * (base/shown.h), {"time":"2026-01-31T12:00:00.000Z","level":"info|warning|error","message":"..."}.
 * How remarks look is the one thing that is kept outside struct app: they are made where no app is
 * at hand. Threads: any, once the manner is set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum cli_log_format { CLI_LOG_TEXT, CLI_LOG_JSON };

/* The format that ISOCHRON_LOG_FORMAT asks for: it holds from the first word, before any option
 * is read. */
enum cli_log_format cli_log_format_wished(void);
void cli_log_set_format(enum cli_log_format format);
void cli_log_set_quiet(bool quiet); /* no remarks; warnings and errors all the same */

/* At most so many bytes of remarks and warnings in an hour, 0 for any number; further ones are
 * counted, which is reported when that begins, with the first of a later hour, and when the limit
 * is set again. Errors are always printed. */
void cli_log_set_limit(uint64_t bytes);
uint64_t cli_log_dropped(void); /* how many lines were counted only, in all */

/* May a line be drawn over and over? On a terminal that can, and where remarks are text. */
bool cli_log_can_draw(void);

/* Logs a remark. */
void cli_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Logs a warning: something was left out or cannot be relied on. */
void cli_log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Why the command fails. */
void cli_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The plural's ending for `count` things. */
static inline const char *cli_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}
