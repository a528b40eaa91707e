/* An event loop: sessions between clients and the server, as many as are open, on one thread.
 *
 *     accept -> FIRST -> CONNECT -> STARTUP -> RUN    messages are read, shown to the observer and
 *                                     |   |           sent on
 *                                     |   \--> RAW    bytes are sent on: cancel requests,
 *                                     |               replication, TLS from end to end, what is not
 *                                     |               understood
 *                                     \--> answers of SSLRequest, TLS handshakes on either side,
 *                                          and STARTUP again
 *
 * The server hears of a client once that has sent a whole first message: to fork a process costs
 * PostgreSQL milliseconds, and who connects only to see whether somebody listens is to cost it
 * nothing.
 *
 * What is sent on is sent from where it was read; only what a socket does not take is copied, and
 * then the other side is not read until it went: one read's bytes a direction are what a session
 * holds at most, and a message of up to LOOP_HOLD bytes of which only a part has come (so that a
 * question can be asked before it).
 *
 * Sessions are no more than there are descriptors for, with some left for all else; who comes then
 * waits to be accepted.
 *
 * Threads: start, stop and free are the owner's; all else is the loop's own thread.
 */
#pragma once

#include <netdb.h>
#include <openssl/ssl.h>

#include "base/error.h"
#include "observe/world.h"

enum { LOOP_HOLD = 8192, LOOP_READ = 1 << 16 };

/* Answers to a client's request for TLS. */
enum loop_tls { LOOP_TLS_PASS, LOOP_TLS_REFUSE, LOOP_TLS_OWN };

struct loop_counts {
    _Atomic uint64_t sessions_opened, sessions_closed, sessions_raw, sessions_encrypted,
        sessions_bad, connects_failed, pauses;
    _Atomic uint64_t bytes_from_clients, bytes_from_server;
};

struct loop_settings {
    int listener;
    const struct addrinfo *server;
    const char *server_name; /* as it was given: for errors, and TLS's SNI */
    enum loop_tls tls;
    SSL_CTX *own, *to_server; /* NULL: none */
    struct observe_shared *shared;
    uint32_t sessions_most; /* of all loops together */
};

struct loop;

struct loop *loop_new(const struct loop_settings *settings, struct iso_error *error);
bool loop_start(struct loop *loop);
void loop_stop(struct loop *loop); /* ends its sessions and waits for the thread */
void loop_free(struct loop *loop);
const struct loop_counts *loop_counts(const struct loop *loop);
struct observe_world *loop_world(struct loop *loop);
