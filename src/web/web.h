/* The status server: web/answer.h over HTTP, by libmicrohttpd, on a thread of its own.
 *
 * It listens on the loopback interface unless told otherwise, and beyond it only with a token. What a client does
 * cannot slow the checker: the server's thread takes the lock for as long as it renders an answer, the checker's only
 * to swap a snapshot; and connections are few, small and short.
 *
 * Threads: new, publish, add and free are the checker's; answers are given on the server's own.
 */
#ifndef ISO_WEB_WEB_H
#define ISO_WEB_WEB_H

#include "iso/error.h"
#include "web/answer.h"

struct iso_web;

/* `explain`: as in struct iso_web_state. `listen` is HOST:PORT or PORT; port 0: any free one. `token_file`: holds the
 * token, or NULL. NULL on error: an address that is none or beyond loopback without a token is ISO_BAD_INPUT, one that
 * is taken ISO_FAILED. */
struct iso_web *iso_web_new(const char *listen, const char *token_file, iso_web_explainer *explain,
                            struct iso_error *error);
void iso_web_free(struct iso_web *web);

uint16_t iso_web_port(const struct iso_web *web);

/* Takes over the snapshot's content and leaves `metrics` empty. `trouble`: NULL or "": none. Says that the checker came
 * by. */
void iso_web_publish(struct iso_web *web, struct iso_metrics *metrics, bool ready, const char *trouble);

/* A verdict line was told. */
void iso_web_add(struct iso_web *web, const char *line, size_t length);

#endif
