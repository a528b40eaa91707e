/* Where to listen and where to connect: HOST:PORT, [HOST]:PORT, PORT, or the path of a Unix
 * socket. */
#pragma once

#include <netdb.h>
#include <stdbool.h>

#include "base/error.h"

/* NULL on error, which names `option`. address_free gives it back. `listens`: for oneself. */
struct addrinfo *address_resolve(const char *text, const char *option, bool listens,
                                 struct iso_error *error);
void address_free(struct addrinfo *address); /* NULL is allowed */

/* The host of an address, without its port; "" if it has none (a Unix socket). */
enum { ADDRESS_HOST_MOST = 256 };
void address_host(const char *text, char host[ADDRESS_HOST_MOST]);

/* A socket that listens; -1 on error. A Unix socket replaces one that a dead process left, and
 * nothing else. */
int address_listen(const struct addrinfo *address, const char *text, const char *option,
                   int backlog, struct iso_error *error);
unsigned address_port(int fd); /* 0: none */

/* Removes the path of a Unix socket that was listened at. */
void address_remove(const struct addrinfo *address);
