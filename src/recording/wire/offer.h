/* What a server offers a client to authenticate with.
 *
 * A client without TLS cannot bind a channel (SCRAM-SHA-256-PLUS), and refuses a server that offers
 * to. Where the program speaks TLS with the server and not with the client, what is offered to the
 * one must not be offered to the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A server's first bytes, from the beginning of a message on: the offer of a bound channel is taken
 * out. Returns how many bytes are left. `*looks` is false once the offer has passed, or was not
 * where a server sends it: whole, behind nothing but notices and what is said of the protocol's
 * version. */
size_t wire_hide_binding(uint8_t *bytes, size_t size, bool *looks);
