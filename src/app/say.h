/* Remarks and errors on stderr: everything that is neither a result nor the line of progress goes through here.
 *
 * As text "isochron: ...", coloured on a terminal unless NO_COLOR is set or TERM is dumb; as JSON one object a line,
 * {"time":"2026-01-31T12:00:00.000Z","level":"info|warning|error","message":"..."}. How remarks look is the one thing
 * that is kept outside struct app: they are made where no app is at hand. Threads: any, once the manner is set.
 */
#ifndef ISO_APP_SAY_H
#define ISO_APP_SAY_H

#include <stdbool.h>

enum app_log_format { APP_LOG_TEXT, APP_LOG_JSON };

/* What ISOCHRON_LOG_FORMAT asks for: it holds from the first word, before any option is read. */
enum app_log_format app_say_format_wished(void);
void app_say_format(enum app_log_format format);
void app_say_quiet(bool quiet); /* no remarks; warnings and errors all the same */

/* May a line be drawn over and over? On a terminal that can, and where remarks are text. */
bool app_say_draws(void);

/* What a person may like to know. */
void app_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What was left out or cannot be relied on. */
void app_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Why the command fails. */
void app_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
