/* A server of HTTP, by libmicrohttpd, on a thread of its own: what is answered its owner says.
 *
 * It listens on the loopback interface unless told otherwise, and beyond it only with a token.
 * Nobody who asks keeps others out: a connection is one request, with a deadline for all of it, and
 * a peer that opens many ends its own oldest (web/guard.h). A body is not read.
 *
 * Threads: new and free are the owner's; answers are given on the server's own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "web/host.h"

struct iso_web_request {
    const char *method, *path;
    const char *since;         /* a parameter; NULL: not given */
    const char *authorization; /* a header; NULL: not given */
    const char *host;          /* likewise */
    bool is_from_page;         /* a browser says that a page sent it */
};

/* Rules that a request must fulfil. */
struct iso_web_rules {
    const char *token; /* to be carried as `Authorization: Bearer TOKEN`; NULL: none */
    const struct iso_web_names *names; /* NULL: any will do */
};

struct iso_web_answer {
    unsigned status;          /* of HTTP */
    const char *content_type; /* static */
    struct iso_text body;     /* cleared before it is filled */
};

typedef void iso_http_answerer(void *context, const struct iso_web_rules *rules,
                               const struct iso_web_request *request,
                               struct iso_web_answer *answer);

struct iso_http;

struct iso_http_options {
    const char *listen;       /* HOST:PORT or PORT; port 0: any free one */
    const char *token_file;   /* holds the token, or NULL */
    const char *const *names; /* by which it may be asked beside those of web/host.h */
    uint32_t name_count;
    iso_http_answerer *answer;
    void *context; /* of `answer` */
};

/* NULL on error: an address that is none or beyond loopback without a token is ISO_BAD_INPUT, one
 * that is taken ISO_FAILED. */
struct iso_http *iso_http_new(const struct iso_http_options *options, struct iso_error *error);
void iso_http_free(struct iso_http *http); /* NULL is allowed */

uint16_t iso_http_port(const struct iso_http *http);
