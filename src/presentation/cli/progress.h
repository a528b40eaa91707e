/* A progress line on stderr, on a terminal only: bytes, rate, time left. Drawn a few times a
 * second. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_progress {
    bool shown;       /* stderr is a terminal, and nobody asked for quiet */
    bool drawn;       /* something stands on the line now */
    const char *verb; /* "reading" */
    double started, updated;
};

void cli_progress_init(struct cli_progress *progress, const char *verb, bool quiet);

/* Draws one line on the terminal that stderr is, over the one before; cut to its width. */
void cli_progress_line(const char *text);

/* `context` is a struct cli_progress; total 0: not known. */
void cli_progress_update(void *context, uint64_t done, uint64_t total);

/* Wipes the line. */
void cli_progress_end(struct cli_progress *progress);

/* The line itself, for tests: "reading  12.0 MB of 48.0 MB  25%  24.0 MB/s  1 s left". */
void cli_progress_text(const char *verb, uint64_t done, uint64_t total, double seconds, char *text,
                       size_t size);
