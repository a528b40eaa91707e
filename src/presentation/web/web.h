/* The status server: web/answer.h over web/http.h. What a client does cannot slow the checker: the
 * server's thread takes the lock for as long as it renders an answer, the checker's only to swap a
 * snapshot.
 *
 * Threads: new, publish, add and free are the checker's; answers are given on the server's own.
 */
#pragma once

#include "base/error.h"
#include "web/answer.h"

struct iso_web;

/* A server that answers from a state of its own; `explain`: as in struct iso_web_state. NULL on
 * error, as iso_http_new. */
struct iso_web *iso_web_new(const struct iso_http_options *options, iso_web_explainer *explain,
                            struct iso_error *error);
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
