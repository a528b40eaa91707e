/* A port with event loops behind it: what isochron-proxy is beside its options, its status and its
 * signals, and what `isochron run` puts in front of a database.
 *
 * Ownership: the gate owns loops, listener and addresses; recorder, TLS contexts and texts are
 * borrowed until it is released. Threads: its owner's; the loops have their own.
 */
#pragma once

#include "proxy/loop.h"

enum { GATE_LOOPS_MOST = 64 };

struct gate_settings {
    const char *bind, *server; /* as address.h reads them */
    const char *sid;
    enum loop_tls tls;
    SSL_CTX *own, *to_server; /* NULL: none */
    struct iso_recorder *recorder;
    uint32_t threads, sessions_most;
};

struct gate {
    struct observe_shared shared; /* the owner may set more of it before the gate opens */
    struct loop *loops[GATE_LOOPS_MOST];
    uint32_t loop_count;
    struct addrinfo *own_address, *server_address;
    int listener;
};

/* Zeroed but for `shared`; sessions that the process has descriptors for. */
void gate_init(struct gate *gate, const char *sid);
uint32_t gate_sessions_most(void);

/* Listens, and serves from here on. Release it also where it fails. */
enum iso_status gate_open(struct gate *gate, const struct gate_settings *settings,
                          struct iso_error *error);
void gate_stop(struct gate *gate); /* ends all sessions */
void gate_release(struct gate *gate);
