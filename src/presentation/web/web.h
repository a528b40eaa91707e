/* The status server: web/answer.h over HTTP, by libmicrohttpd, on a thread of its own.
 *
 * It listens on the loopback interface unless told otherwise, and beyond it only with a token. What
 * a client does cannot slow the checker: the server's thread takes the lock for as long as it
 * renders an answer, the checker's only to swap a snapshot. Nor can it keep others out: a
 * connection is one request, with a deadline for all of it, and a peer that opens many ends its own
 * oldest (web/guard.h).
 *
 * Threads: new, publish, add and free are the checker's; answers are given on the server's own.
 */
#pragma once

#include "base/error.h"
#include "web/answer.h"

struct iso_web;

struct iso_web_options {
    const char *listen;       /* HOST:PORT or PORT; port 0: any free one */
    const char *token_file;   /* holds the token, or NULL */
    const char *const *names; /* by which it may be asked beside those of web/host.h */
    uint32_t name_count;
    iso_web_explainer *explain; /* as in struct iso_web_state */
};

/* NULL on error: an address that is none or beyond loopback without a token is ISO_BAD_INPUT, one
 * that is taken ISO_FAILED. */
struct iso_web *iso_web_new(const struct iso_web_options *options, struct iso_error *error);
void iso_web_free(struct iso_web *web);

uint16_t iso_web_port(const struct iso_web *web);

/* Takes over the snapshot's content and leaves `metrics` empty. `trouble`: NULL or "": none. Says
 * that the checker came by. `waiting`: what waits, in words, or NULL; `waits`: the same class by
 * class, a JSON list, or NULL; `notes`: what else is to be known, a line each, or NULL. */
void iso_web_publish(struct iso_web *web, struct iso_metrics *metrics, bool ready,
                     const char *trouble, const char *waiting, const char *waits,
                     const char *notes);

/* A verdict line was emitted. */
void iso_web_add(struct iso_web *web, const char *line, size_t length);
