/* What the files of an event loop share: a session, the loop, and what each file does for the
 * others. */
#pragma once

#include "observe/observed.h"
#include "proxy/address.h"
#include "proxy/cancel.h"
#include "proxy/link.h"
#include "proxy/loop.h"

enum { STARTUP_MOST = 10000 };

enum stage {
    STAGE_FIRST,        /* the client has not said anything whole: the server knows nothing of it */
    STAGE_CONNECT,      /* to the server */
    STAGE_SERVER_ASKED, /* for TLS, by us */
    STAGE_SERVER_SHAKES,
    STAGE_STARTUP,
    STAGE_ANSWER, /* to the client's request for encryption, by the server */
    STAGE_CLIENT_SHAKES,
    STAGE_RUN,
    STAGE_CANCEL, /* a request to cancel waits until it hits nothing of ours */
    STAGE_RAW
};

struct session {
    struct link client, server;
    enum stage stage;
    struct wire_reader from_client, from_server;
    struct iso_text held; /* what came of the client, and was not sent on */
    struct observed *observed;
    const struct addrinfo *address; /* that is tried */
    uint64_t number;
    int64_t since, touched;    /* seconds: when it began, when bytes came */
    bool strips;               /* the server's open message is an answer to a question of ours */
    bool hides_binding;        /* the server has not said yet how it authenticates */
    bool asked_tls, asked_gss; /* each is asked for once, as servers want it */
    bool is_dead;
    struct cancel_target target; /* what others' requests to cancel are for */
    struct cancel_key *cancels;  /* this session is such a request */
    /* One of the proxy's own, without a client, which interrupts a question; and whose it is. The
     * client's bytes wait until both are over, so that it hits nothing of theirs. */
    struct session *interrupter, *interrupts;
    struct session *previous, *next;
};

struct loop {
    struct loop_settings settings;
    struct loop_counts counts;
    struct observe_world *world;
    char server_host[ADDRESS_HOST_MOST];
    bool verifies; /* the server's certificate */
    int epoll, wakeup_fd;
    pthread_t thread;
    bool started, stops;
    bool paused;      /* accepts nothing: there is no room for a session until one ends */
    int64_t now;      /* seconds, as a round began */
    uint32_t waiting; /* requests to cancel */
    struct session *first, *dead;
    struct iso_text gather, before;
    uint8_t bytes[LOOP_HOLD + STARTUP_MOST + LOOP_READ];
};

/* session.c */
void loop_tally(_Atomic uint64_t *counter, uint64_t many);
int64_t loop_seconds(void);
uint32_t loop_open_sessions(void); /* of all loops */
struct session *loop_begin_session(struct loop *loop, int fd);
void loop_end_session(struct loop *loop, struct session *session);
void loop_end_as_bad(struct loop *loop, struct session *session, const char *what);
void loop_free_dead(struct loop *loop);
/* False: the session is over. */
bool loop_send_on(struct loop *loop, struct session *session, struct link *link, const void *bytes,
                  size_t size);
void loop_become_raw(struct loop *loop, struct session *session);

/* startup.c */
/* The client's first bytes are there, in the loop's. */
void loop_take_first(struct loop *loop, struct session *session, size_t size);
/* The server's answer to a request for encryption: one byte, or an error of an old server. */
void loop_take_answer(struct loop *loop, struct session *session, const uint8_t *bytes,
                      size_t size);
/* False: the event is none of a connection or handshake that has begun. */
bool loop_goes_on(struct loop *loop, struct session *session, struct link *link);
/* A request to cancel goes on as soon as it hits nothing of ours, or after some seconds. */
void loop_look_at_cancel(struct loop *loop, struct session *session);
/* Cancels a question that gives way. */
void loop_interrupt(struct loop *loop, struct session *session);

/* messages.c */
void loop_take_client_bytes(struct loop *loop, struct session *session, uint8_t *bytes,
                            size_t size);
void loop_take_server_bytes(struct loop *loop, struct session *session, uint8_t *bytes,
                            size_t size);
void loop_ask_question(struct loop *loop, struct session *session, enum observed_occasion occasion);
void loop_look_whether_over(struct loop *loop, struct session *session);
