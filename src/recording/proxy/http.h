/* The little HTTP that the status needs: a request's first line and headers in, an answer out, many
 * connections at once.
 *
 * Nobody who asks keeps others waiting: connections are served side by side, each with a deadline
 * for all of it, and a peer that opens many ends its own oldest (web/guard.h). Where descriptors
 * run out nothing is accepted for a moment, and nothing spins.
 *
 * A browser's page is no client: names of hosts must be known (web/host.h), and what changes
 * something is refused if it says that a page sent it (Origin, Sec-Fetch-Site), unless it carries
 * the token.
 *
 * Threads: new and free are the owner's; answers are given on a thread of its own.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "base/error.h"

struct http;

struct http_request {
    char method[16], path[64];
    bool carries_token;    /* or there is none */
    bool may_change;       /* it carries the token, or no browser sent it */
    bool is_for_this_host; /* it was asked by a name that is known */
};

struct http_answer {
    const char *status, *type; /* static: "200 OK" */
    struct iso_text body;
};

typedef void http_answerer(void *context, const struct http_request *request,
                           struct http_answer *answer);

struct http_options {
    const char *listen, *token_file; /* token_file may be NULL */
    const char *const *names;        /* by which it may be asked, beside those of web/host.h */
    uint32_t name_count;
    http_answerer *answer;
    void *context;
};

struct http *http_new(const struct http_options *options, struct iso_error *error);
void http_free(struct http *http); /* NULL is allowed */
unsigned http_port(const struct http *http);
