/* One side of a session: a socket, TLS over it if it was agreed upon, and what could not be written
 * yet.
 *
 * What waits to be written is bounded by who fills it: the other side is not read while anything
 * waits.
 *
 * Ownership: a link owns its descriptor. Threads: its loop's.
 */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>

#include "base/text.h"

struct link {
    int fd;
    SSL *tls;                /* NULL: plain */
    bool tls_wants_write;    /* reading needs the socket to be writable */
    bool ended;              /* nothing more comes */
    bool is_shut;            /* nothing more is sent */
    uint32_t events;         /* that epoll is asked for */
    struct iso_text waiting; /* to be written, from `written` on */
    size_t written;
};

enum link_result { LINK_OK, LINK_AGAIN, LINK_END, LINK_FAILED };

void link_init(struct link *link, int fd);
void link_release(struct link *link); /* closes it */

enum link_result link_read(struct link *link, void *into, size_t room, size_t *got);

/* Writes what waits and then these bytes; what the socket does not take waits. LINK_FAILED: nobody
 * is there. */
enum link_result link_send(struct link *link, const void *bytes, size_t size);
enum link_result link_flush(struct link *link);

static inline bool link_waits(const struct link *link)
{
    return link->written < link->waiting.used;
}

/* Nothing more will be sent, once all that waits is. */
void link_shut(struct link *link);

/* Begins TLS, as who accepts or who connects; link_shake goes on with it. `host` is who must be at
 * the other end, if the context verifies; NULL: anybody. */
bool link_start_tls(struct link *link, SSL_CTX *context, bool accepts, const char *host);
enum link_result link_shake(struct link *link);
/* why the certificate was not taken; NULL: it was something else */
const char *link_tls_trouble(const struct link *link);
