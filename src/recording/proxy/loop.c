#define _GNU_SOURCE
#include "proxy/loop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/log.h"
#include "observe/observed.h"
#include "proxy/address.h"
#include "proxy/cancel.h"
#include "proxy/link.h"
#include "wire/cursor.h"
#include "wire/offer.h"
#include "wire/put.h"

enum { EVENTS = 128, ACCEPTS = 64, READS = 8, STARTUP_MOST = 10000, ROUND_MS = 1000 };
enum {
    SILENT_SECONDS = 60,
    IDLE_SECONDS = 1,
    CANCEL_SECONDS = 5,
    CANCEL_MS = 2
}; /* what a server gives a client for its first messages, too */
enum { CODE_CANCEL = 80877102, CODE_TLS = 80877103, CODE_GSS = 80877104, TLS_HANDSHAKE = 22 };

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
    struct session *previous, *next;
};

struct loop {
    struct loop_settings settings;
    struct loop_counts counts;
    struct observe_world *world;
    char server_host[ADDRESS_HOST_MOST];
    bool verifies; /* the server's certificate */
    int epoll, bell;
    pthread_t thread;
    bool started, stops;
    bool paused;      /* accepts nothing: there is no room for a session until one ends */
    int64_t now;      /* seconds, as a round began */
    uint32_t waiting; /* requests to cancel */
    struct session *first, *dead;
    struct iso_text gather, before;
    uint8_t bytes[LOOP_HOLD + STARTUP_MOST + LOOP_READ];
};

static _Atomic uint64_t session_numbers;
static _Atomic uint32_t open_sessions; /* of all loops */

static int64_t seconds_now(void)
{
    return observe_nanoseconds() / SECOND;
}

/* ---- the ends of a session ---- */

static void count(_Atomic uint64_t *counter, uint64_t many)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + many,
                          memory_order_relaxed);
}

static void end_session(struct loop *loop, struct session *session)
{
    if (session->is_dead)
        return;
    session->is_dead = true;
    *(session->previous ? &session->previous->next : &loop->first) = session->next;
    if (session->next)
        session->next->previous = session->previous;
    session->next = loop->dead;
    loop->dead = session;
    cancel_remove(&session->target);
    if (session->cancels)
        cancel_ends(session->cancels);
    iso_free(session->cancels);
    loop->waiting -= session->stage == STAGE_CANCEL;
    link_release(&session->client);
    link_release(&session->server);
    observed_free(session->observed);
    session->observed = NULL;
    atomic_fetch_sub(&open_sessions, 1);
    count(&loop->counts.sessions_closed, 1);
}

static void free_dead(struct loop *loop)
{
    while (loop->dead) {
        struct session *session = loop->dead;
        loop->dead = session->next;
        wire_reader_release(&session->from_client);
        wire_reader_release(&session->from_server);
        iso_text_release(&session->held);
        iso_free(session);
    }
}

static void end_as_bad(struct loop *loop, struct session *session, const char *what)
{
    cli_log_warning("session %llu: %s; it was closed", (unsigned long long)session->number, what);
    count(&loop->counts.sessions_bad, 1);
    end_session(loop, session);
}

/* Tells the client, in its own protocol, that the server could not be reached. */
static void end_with_error(struct loop *loop, struct session *session, const char *message)
{
    struct iso_text text = {0};
    wire_put_fatal(&text, "08006", message);
    link_send(&session->client, text.bytes, text.used);
    iso_text_release(&text);
    end_session(loop, session);
}

/* ---- what epoll is asked for ---- */

static void ask_epoll(struct loop *loop, struct session *session, struct link *link,
                      uint32_t events)
{
    if (link->fd < 0 || link->events == events)
        return;
    uint64_t side = link == &session->server;
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)(uintptr_t)session | side};
    if (!epoll_ctl(loop->epoll, link->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, link->fd, &event) ||
        (errno == ENOENT && !epoll_ctl(loop->epoll, EPOLL_CTL_ADD, link->fd, &event)))
        link->events = events;
}

static bool reads_client(const struct session *session)
{
    return !session->client.ended && !link_waits(&session->server) &&
           (session->stage == STAGE_FIRST || session->stage == STAGE_STARTUP ||
            session->stage >= STAGE_CLIENT_SHAKES);
}

static bool reads_server(const struct session *session)
{
    return !session->server.ended && !link_waits(&session->client) &&
           session->stage != STAGE_CONNECT;
}

static uint32_t events_of(const struct link *link, bool reads, bool writes)
{
    return (reads ? EPOLLIN : 0) |
           (writes || link_waits(link) || link->tls_wants_write ? EPOLLOUT : 0);
}

static void ask_events(struct loop *loop, struct session *session)
{
    if (session->is_dead)
        return;
    uint32_t client = events_of(&session->client, reads_client(session), false);
    uint32_t server =
        events_of(&session->server, reads_server(session), session->stage == STAGE_CONNECT);
    /* Zero would still report that the peer is gone, over and over: nothing is registered then. */
    ask_epoll(loop, session, &session->client, client ? client : EPOLLET);
    ask_epoll(loop, session, &session->server, server ? server : EPOLLET);
}

/* ---- sending ---- */

/* False: the session is over. */
static bool send_on(struct loop *loop, struct session *session, struct link *link,
                    const void *bytes, size_t size)
{
    if (!size || link->is_shut)
        return true;
    if (link_send(link, bytes, size) == LINK_OK)
        return true;
    end_session(loop, session);
    return false;
}

static void become_raw(struct loop *loop, struct session *session)
{
    session->stage = STAGE_RAW;
    observed_free(session->observed);
    session->observed = NULL;
    wire_reader_release(&session->from_client);
    wire_reader_release(&session->from_server);
    count(&loop->counts.sessions_raw, 1);
    if (send_on(loop, session, &session->server, session->held.bytes, session->held.used))
        iso_text_release(&session->held);
}

/* It goes on as soon as it hits nothing of ours, or after some seconds. */
static void look_at_cancel(struct loop *loop, struct session *session)
{
    if (cancel_must_wait(session->cancels) && seconds_now() - session->since <= CANCEL_SECONDS)
        return;
    loop->waiting--;
    become_raw(loop, session);
}

static void become_encrypted(struct loop *loop, struct session *session)
{
    if (!atomic_load_explicit(&loop->counts.sessions_encrypted, memory_order_relaxed))
        cli_log_warning(
            "session %llu is encrypted between client and server, and so are all that ask for it: they are "
            "not recorded; expected --tls-certificate and --tls-key, --tls refuse, or sslmode=disable",
            (unsigned long long)session->number);
    count(&loop->counts.sessions_encrypted, 1);
    become_raw(loop, session);
}

/* ---- the server ---- */

static void connect_server(struct loop *loop, struct session *session)
{
    session->stage = STAGE_CONNECT;
    for (; session->address; session->address = session->address->ai_next) {
        const struct addrinfo *address = session->address;
        int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
        if (fd < 0)
            continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
        if (!connect(fd, address->ai_addr, address->ai_addrlen) || errno == EINPROGRESS) {
            link_init(&session->server, fd);
            return;
        }
        close(fd);
    }
    char text[400];
    snprintf(text, sizeof text, "isochron-proxy cannot connect to the server %s: %s",
             loop->settings.server_name, strerror(errno));
    count(&loop->counts.connects_failed, 1);
    end_with_error(loop, session, text);
}

static void take_startup(struct loop *loop, struct session *session);

/* The server is there: what the client said meanwhile goes to it. */
static void reach_server(struct loop *loop, struct session *session)
{
    session->stage = STAGE_STARTUP;
    take_startup(loop, session);
}

static void is_connected(struct loop *loop, struct session *session)
{
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(session->server.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) {
        link_release(&session->server);
        session->address = session->address->ai_next;
        errno = error;
        connect_server(loop, session);
    } else if (loop->settings.to_server) {
        static const uint8_t request[] = {0, 0, 0, 8, 4, 210, 22, 47};
        session->stage = STAGE_SERVER_ASKED;
        send_on(loop, session, &session->server, request, sizeof request);
    } else {
        reach_server(loop, session);
    }
}

static void end_untrusted(struct loop *loop, struct session *session)
{
    const char *trouble = link_tls_trouble(&session->server);
    char text[400];
    snprintf(text, sizeof text,
             "isochron-proxy: TLS with the server failed: %s; expected a certificate%s%s%s",
             trouble ? trouble : "no handshake", loop->verifies ? " for " : "",
             loop->verifies ? loop->server_host : "",
             loop->verifies ? " that --server-ca signs" : "");
    cli_log_warning("session %llu: %s", (unsigned long long)session->number,
                    text + sizeof "isochron-proxy: " - 1);
    end_with_error(loop, session, text);
}

static void shake_server(struct loop *loop, struct session *session)
{
    enum link_result result = link_shake(&session->server);
    if (result == LINK_OK)
        reach_server(loop, session);
    else if (result == LINK_FAILED)
        end_untrusted(loop, session);
}

static void take_tls_answer(struct loop *loop, struct session *session)
{
    uint8_t answer;
    size_t got;
    enum link_result result = link_read(&session->server, &answer, 1, &got);
    if (result == LINK_AGAIN)
        return;
    if (result != LINK_OK || answer != 'S' ||
        !link_start_tls(&session->server, loop->settings.to_server, false,
                        *loop->server_host ? loop->server_host : NULL)) {
        end_with_error(
            loop, session,
            "isochron-proxy: the server does not speak TLS, which --server-tls asks for");
        return;
    }
    session->stage = STAGE_SERVER_SHAKES;
    shake_server(loop, session);
}

/* ---- the client's first messages ---- */

static void drop_held(struct session *session, size_t size)
{
    session->held.used -= size;
    memmove(session->held.bytes, session->held.bytes + size, session->held.used);
}

/* The first `size` bytes of what is held are the server's. */
static bool send_held(struct loop *loop, struct session *session, size_t size)
{
    if (!send_on(loop, session, &session->server, session->held.bytes, size))
        return false;
    drop_held(session, size);
    return true;
}

static void shake_client(struct loop *loop, struct session *session)
{
    enum link_result result = link_shake(&session->client);
    if (result == LINK_OK)
        session->stage = STAGE_STARTUP;
    else if (result == LINK_FAILED)
        end_session(loop, session);
}

static void answer_tls(struct loop *loop, struct session *session, bool is_gss)
{
    if (is_gss || loop->settings.tls == LOOP_TLS_REFUSE || session->client.tls) {
        drop_held(session, 8);
        send_on(loop, session, &session->client, "N", 1);
    } else if (session->held.used >
               8) { /* what was sent before encryption must not be taken for what comes after it */
        end_as_bad(loop, session, "bytes behind a request for TLS");
    } else {
        drop_held(session, 8);
        if (!send_on(loop, session, &session->client, "S", 1))
            return;
        if (!link_start_tls(&session->client, loop->settings.own, true, NULL)) {
            end_session(loop, session);
            return;
        }
        session->stage = STAGE_CLIENT_SHAKES;
        shake_client(loop, session);
    }
}

/* A request to cancel: its body is the key. */
static void begin_cancel(struct loop *loop, struct session *session, uint32_t length)
{
    session->cancels = iso_allocate_zeroed(1, sizeof *session->cancels);
    if (length - 8 <= CANCEL_KEY_MOST) {
        session->cancels->size = length - 8;
        memcpy(session->cancels->bytes, session->held.bytes + 8, length - 8);
    }
    cancel_begins(session->cancels);
    session->stage = STAGE_CANCEL;
    loop->waiting++;
    look_at_cancel(loop, session);
}

static void take_client_bytes(struct loop *loop, struct session *session, uint8_t *bytes,
                              size_t size);

static void begin_run(struct loop *loop, struct session *session, uint32_t length)
{
    const uint8_t *body = (const uint8_t *)session->held.bytes + 8;
    session->hides_binding = session->server.tls && !session->client.tls;
    if (observe_is_on(loop->settings.shared) && !wire_startup(body, length - 8, "replication")) {
        session->observed = observed_new(loop->world, session->number, body, length - 8);
        wire_reader_init(&session->from_client, OBSERVE_CLIENT_MOST);
        wire_reader_init(&session->from_server, OBSERVE_SERVER_MOST);
        session->stage = STAGE_RUN;
        if (!send_held(loop, session, length))
            return;
        size_t left = session->held.used;
        memcpy(loop->bytes, session->held.bytes, left);
        session->held.used = 0;
        take_client_bytes(loop, session, loop->bytes, left);
    } else {
        become_raw(loop, session);
    }
}

static bool encrypts(uint32_t code)
{
    return code == CODE_TLS || code == CODE_GSS;
}

/* TLS without being asked for (PostgreSQL 17): between client and server, if that is how TLS is
 * done here. */
static bool begins_tls(const struct loop *loop, const struct session *session)
{
    return session->held.used && *session->held.bytes == TLS_HANDSHAKE &&
           loop->settings.tls == LOOP_TLS_PASS && !loop->settings.to_server;
}

/* The length of the first message that is held; 0: it is not whole, or the session is over. */
static uint32_t whole_first(struct loop *loop, struct session *session)
{
    if (begins_tls(loop, session))
        return (uint32_t)session->held.used;
    if (session->held.used < 4)
        return 0;
    const uint8_t *held = (const uint8_t *)session->held.bytes;
    uint32_t length = wire_number(held);
    if (length < 8 || length > STARTUP_MOST ||
        (session->held.used >= 8 && encrypts(wire_number(held + 4)) && length != 8)) {
        end_as_bad(loop, session, "the client's first message has a length that cannot be");
        return 0;
    }
    return session->held.used < length ? 0 : length;
}

static void take_startup(struct loop *loop, struct session *session)
{
    while (!session->is_dead && session->stage == STAGE_STARTUP) {
        uint32_t length = whole_first(loop, session);
        if (!length)
            return;
        if (begins_tls(loop, session)) {
            become_encrypted(loop, session);
            return;
        }
        uint32_t code = wire_number((const uint8_t *)session->held.bytes + 4);
        bool *asked = code == CODE_TLS ? &session->asked_tls : &session->asked_gss;
        if (encrypts(code) && *asked) {
            end_as_bad(loop, session, "encryption was asked for twice");
            return;
        }
        *asked |= encrypts(code);
        if (encrypts(code) && (loop->settings.tls != LOOP_TLS_PASS || session->server.tls)) {
            answer_tls(loop, session, code == CODE_GSS || loop->settings.tls == LOOP_TLS_PASS);
        } else if (encrypts(code)) {
            session->stage = STAGE_ANSWER;
            send_held(loop, session, 8);
        } else if (code >> 16 == 3) {
            begin_run(loop, session, length);
        } else if (code == CODE_CANCEL) {
            begin_cancel(loop, session, length);
        } else { /* what only the server knows */
            become_raw(loop, session);
        }
    }
}

/* The server's answer to a request for encryption: one byte, or an error of an old server. */
static void take_answer(struct loop *loop, struct session *session, const uint8_t *bytes,
                        size_t size)
{
    if (!send_on(loop, session, &session->client, bytes, size))
        return;
    if (*bytes == 'N' && size == 1) {
        session->stage = STAGE_STARTUP;
        take_startup(loop, session);
        return;
    }
    if (*bytes == 'E')
        become_raw(loop, session);
    else
        become_encrypted(loop, session);
}

/* ---- messages ---- */

/* A message that a question may have to go before is looked at before any of it is sent on. */
static bool is_held(const uint8_t *at, const uint8_t *end)
{
    if (*at != 'Q' && *at != 'P' && *at != 'B' && *at != 'X')
        return false;
    uint64_t length = wire_length(at, end);
    return !length || (length <= LOOP_HOLD && length > (uint64_t)(end - at));
}

static void take_client_bytes(struct loop *loop, struct session *session, uint8_t *bytes,
                              size_t size)
{
    const uint8_t *at = bytes, *end = bytes + size, *unsent = bytes;
    struct iso_text *gather = &loop->gather, *before = &loop->before;
    gather->used = 0;
    while (at < end && !(wire_is_between(&session->from_client) && is_held(at, end))) {
        const uint8_t *start = at;
        struct wire_piece piece;
        if (wire_read(&session->from_client, &at, end, &piece) == WIRE_BAD) {
            end_as_bad(loop, session, "bytes from the client that are no message");
            return;
        }
        if (!piece.ends)
            continue;
        before->used = 0;
        observed_keep_quiet(session->observed, !cancel_may_ask(&session->target));
        observed_client(session->observed, &piece, before);
        cancel_asks(&session->target, observed_waits(session->observed));
        if (before->used) {
            assert(piece.begins);
            iso_text_put_bytes(gather, unsent, (size_t)(start - unsent));
            iso_text_put_bytes(gather, before->bytes, before->used);
            unsent = start;
        }
    }
    iso_text_put_bytes(&session->held, at, (size_t)(end - at));
    if (gather->used) {
        iso_text_put_bytes(gather, unsent, (size_t)(at - unsent));
        send_on(loop, session, &session->server, gather->bytes, gather->used);
    } else {
        send_on(loop, session, &session->server, unsent, (size_t)(at - unsent));
    }
}

static void ask_question(struct loop *loop, struct session *session,
                         enum observed_occasion occasion)
{
    loop->before.used = 0;
    if (session->observed)
        observed_keep_quiet(session->observed, !cancel_may_ask(&session->target));
    if (session->observed && wire_is_between(&session->from_client) &&
        wire_is_between(&session->from_server) && !session->server.is_shut &&
        observed_asks(session->observed, occasion, &loop->before))
        send_on(loop, session, &session->server, loop->before.bytes, loop->before.used);
    cancel_asks(&session->target, observed_waits(session->observed));
}

/* The server ends the session while a question is out, and says so: that is the client's, and
 * nothing comes behind it. */
static void pass_after_all(struct loop *loop, struct session *session, const uint8_t *bytes,
                           const uint8_t *kept, const struct wire_piece *piece)
{
    struct iso_text *text = &loop->gather;
    text->used = 0;
    iso_text_put_bytes(text, bytes, (size_t)(kept - bytes));
    size_t begun = wire_put_begin(text, piece->type);
    iso_text_put_bytes(text, piece->body, piece->body ? piece->size : 0);
    wire_put_end(text, begun);
    session->strips = false;
    send_on(loop, session, &session->client, text->bytes, text->used);
}

static void take_server_bytes(struct loop *loop, struct session *session, uint8_t *bytes,
                              size_t size)
{
    const uint8_t *at = bytes, *end = bytes + size;
    uint8_t *kept = bytes;
    while (at < end) {
        const uint8_t *start = at;
        struct wire_piece piece;
        if (wire_read(&session->from_server, &at, end, &piece) == WIRE_BAD) {
            end_as_bad(loop, session, "bytes from the server that are no message");
            return;
        }
        if (piece.begins)
            session->strips = observed_server_takes(session->observed, piece.type);
        if (piece.type == 'K' && piece.body)
            cancel_add(&session->target, piece.body, piece.size);
        if (piece.ends && observed_server(session->observed, &piece)) {
            pass_after_all(loop, session, bytes, kept, &piece);
            return;
        }
        if (session->strips)
            continue;
        if (kept != start)
            memmove(kept, start, (size_t)(at - start));
        kept += at - start;
    }
    if (send_on(loop, session, &session->client, bytes, (size_t)(kept - bytes)))
        ask_question(loop, session, OBSERVED_ANSWERED);
}

static void look_whether_over(struct loop *loop, struct session *session)
{
    if (session->stage != STAGE_RUN)
        return;
    if (!observe_is_on(loop->settings.shared))
        observed_stop(session->observed);
    if (session->client.ended && !link_waits(&session->server) &&
        !observed_waits(session->observed))
        link_shut(&session->server);
    if (observed_is_over(session->observed) &&
        !(session->strips && !wire_is_between(&session->from_server)))
        become_raw(loop, session);
}

/* ---- reading ---- */

static void take_client(struct loop *loop, struct session *session, size_t size)
{
    if (session->stage == STAGE_FIRST) {
        iso_text_put_bytes(&session->held, loop->bytes, size);
        if (whole_first(loop, session))
            connect_server(loop, session);
    } else if (session->stage == STAGE_STARTUP) {
        iso_text_put_bytes(&session->held, loop->bytes, size);
        take_startup(loop, session);
    } else if (session->stage == STAGE_RUN) {
        take_client_bytes(loop, session, loop->bytes, size);
    } else {
        send_on(loop, session, &session->server, loop->bytes, size);
    }
}

static void take_server(struct loop *loop, struct session *session, size_t size)
{
    if (session->hides_binding)
        size = wire_hide_binding(loop->bytes, size, &session->hides_binding);
    if (session->stage == STAGE_ANSWER)
        take_answer(loop, session, loop->bytes, size);
    else if (session->stage == STAGE_RUN)
        take_server_bytes(loop, session, loop->bytes, size);
    else
        send_on(loop, session, &session->client, loop->bytes, size);
}

/* Goes on with the client's bytes that were held back. */
static size_t unhold(struct loop *loop, struct session *session)
{
    if (session->stage != STAGE_RUN)
        return 0;
    size_t held = session->held.used;
    assert(held <= LOOP_HOLD);
    memcpy(loop->bytes, session->held.bytes ? session->held.bytes : "", held);
    session->held.used = 0;
    return held;
}

static void reach_end(struct loop *loop, struct session *session, struct link *link, bool failed)
{
    struct link *other = link == &session->client ? &session->server : &session->client;
    link->ended = true;
    if (link == &session->client && (failed || session->stage < STAGE_RUN)) {
        end_session(loop, session);
        return;
    }
    if (link == &session->client && session->held.used &&
        !send_on(loop, session, &session->server, session->held.bytes, session->held.used))
        return;
    session->held.used = 0;
    if (link == &session->client)
        ask_question(loop, session, OBSERVED_END); /* the last there is a time for */
    if (!link_waits(other) && !(link == &session->client && observed_waits(session->observed)))
        link_shut(other);
    /* A server that has ended says nothing more, whatever its client still sends. */
    if (session->server.ended && !link_waits(&session->client))
        end_session(loop, session);
}

static void read_link(struct loop *loop, struct session *session, struct link *link)
{
    bool is_client = link == &session->client;
    for (int i = 0; (i < READS || (link->tls && SSL_pending(link->tls))) && !session->is_dead;
         i++) {
        if (is_client ? !reads_client(session) : !reads_server(session))
            return;
        size_t held = is_client ? unhold(loop, session) : 0, got;
        enum link_result result = link_read(link, loop->bytes + held, LOOP_READ, &got);
        if (result != LINK_OK) {
            iso_text_put_bytes(&session->held, loop->bytes, held);
            if (result != LINK_AGAIN)
                reach_end(loop, session, link, result == LINK_FAILED);
            return;
        }
        session->touched = loop->now;
        count(is_client ? &loop->counts.bytes_from_clients : &loop->counts.bytes_from_server, got);
        if (is_client)
            take_client(loop, session, held + got);
        else
            take_server(loop, session, got);
        if (!session->is_dead)
            look_whether_over(loop, session);
        if (got < LOOP_READ && !link->tls)
            return; /* that was all */
    }
}

/* ---- events ---- */

static void write_link(struct loop *loop, struct session *session, struct link *link)
{
    struct link *other = link == &session->client ? &session->server : &session->client;
    if (!link_waits(link))
        return;
    if (link_flush(link) != LINK_OK) {
        end_session(loop, session);
    } else if (!link_waits(link)) {
        if (other->ended) {
            link_shut(link);
            if (other == &session->server)
                end_session(loop, session);
        } else {
            read_link(loop, session, other);
        }
    }
}

static void on_event(struct loop *loop, struct session *session, struct link *link, uint32_t events)
{
    bool is_server = link == &session->server;
    if (is_server && session->stage == STAGE_CONNECT) {
        is_connected(loop, session);
    } else if (is_server && session->stage == STAGE_SERVER_ASKED) {
        link_flush(link);
        take_tls_answer(loop, session);
    } else if (is_server && session->stage == STAGE_SERVER_SHAKES) {
        shake_server(loop, session);
    } else if (!is_server && session->stage == STAGE_CLIENT_SHAKES) {
        shake_client(loop, session);
    } else {
        if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
            write_link(loop, session, link);
        if (!session->is_dead && link->tls_wants_write && events & EPOLLOUT)
            read_link(loop, session, link);
        if (!session->is_dead && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            read_link(loop, session, link);
    }
    ask_events(loop, session);
}

static void begin_session(struct loop *loop, int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    struct session *session = iso_allocate_zeroed(1, sizeof *session);
    session->number = atomic_fetch_add(&session_numbers, 1) + 1;
    session->address = loop->settings.server;
    session->since = loop->now;
    session->next = loop->first;
    if (loop->first)
        loop->first->previous = session;
    loop->first = session;
    atomic_fetch_add(&open_sessions, 1);
    link_init(&session->client, fd);
    link_init(&session->server, -1);
    count(&loop->counts.sessions_opened, 1);
    ask_events(loop, session);
}

static void set_accepting(struct loop *loop, bool accepts)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.u64 = 0};
    epoll_ctl(loop->epoll, accepts ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, loop->settings.listener,
              &event);
    loop->paused = !accepts;
}

/* Accepts again once a session of its own has ended, or a second is over: not at every event, which
 * would fail again. */
static void pause_accepting(struct loop *loop)
{
    set_accepting(loop, false);
    count(&loop->counts.pauses, 1);
}

static void accept_clients(struct loop *loop)
{
    for (int i = 0; i < ACCEPTS; i++) {
        if (atomic_load(&open_sessions) >= loop->settings.sessions_most) {
            pause_accepting(loop);
            return;
        }
        int fd = accept4(loop->settings.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            begin_session(loop, fd);
        } else {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                pause_accepting(loop);
            return;
        }
    }
}

/* Work of once a second. Neither side ends sessions that are silent, or a server that does not
 * answer: the proxy does. */
static void look_around(struct loop *loop)
{
    int64_t now = seconds_now();
    if (now == loop->now)
        return;
    loop->now = now;
    if (loop->paused)
        set_accepting(loop, true);
    for (struct session *session = loop->first, *next; session; session = next) {
        next = session->next;
        if (session->stage < STAGE_RUN && now - session->since > SILENT_SECONDS) {
            end_session(loop, session);
        } else if (session->stage == STAGE_RUN && now - session->touched > IDLE_SECONDS) {
            ask_question(loop, session, OBSERVED_IDLE);
            ask_events(loop, session);
        }
    }
}

static void look_at_cancels(struct loop *loop)
{
    for (struct session *session = loop->first, *next; session && loop->waiting; session = next) {
        next = session->next;
        if (session->stage == STAGE_CANCEL) {
            look_at_cancel(loop, session);
            ask_events(loop, session);
        }
    }
}

static void *run_loop(void *context)
{
    struct loop *loop = context;
    struct epoll_event events[EVENTS];
    loop->now = seconds_now();
    set_accepting(loop, true);
    while (!loop->stops) {
        int many = epoll_wait(loop->epoll, events, EVENTS, loop->waiting ? CANCEL_MS : ROUND_MS);
        for (int i = 0; i < many; i++) {
            uint64_t data = events[i].data.u64;
            /* NOLINT */
            struct session *session = (struct session *)(uintptr_t)(data & ~(uint64_t)1);
            if (data == 0)
                accept_clients(loop);
            else if (data == 1)
                loop->stops = true;
            else if (!session->is_dead)
                on_event(loop, session, data & 1 ? &session->server : &session->client,
                         events[i].events);
        }
        look_around(loop);
        look_at_cancels(loop);
        if (loop->paused && loop->dead)
            set_accepting(loop, true);
        free_dead(loop);
    }
    while (loop->first)
        end_session(loop, loop->first);
    free_dead(loop);
    return NULL;
}

/* ---- a loop's life ---- */

struct loop *loop_new(const struct loop_settings *settings, struct iso_error *error)
{
    struct loop *loop = iso_allocate_zeroed(1, sizeof *loop);
    loop->settings = *settings;
    address_host(settings->server_name, loop->server_host);
    loop->verifies =
        settings->to_server && SSL_CTX_get_verify_mode(settings->to_server) != SSL_VERIFY_NONE;
    loop->world = observe_world_new(settings->shared);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 1};
    if (loop->epoll >= 0 && loop->bell >= 0 &&
        !epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->bell, &event))
        return loop;
    iso_error_set(error, ISO_FAILED, "no event loop: %s", strerror(errno));
    loop_free(loop);
    return NULL;
}

bool loop_start(struct loop *loop)
{
    loop->started = !pthread_create(&loop->thread, NULL, run_loop, loop);
    return loop->started;
}

void loop_stop(struct loop *loop)
{
    if (!loop || !loop->started)
        return;
    eventfd_write(loop->bell, 1);
    pthread_join(loop->thread, NULL);
    loop->started = false;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    loop_stop(loop);
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->bell >= 0)
        close(loop->bell);
    observe_world_free(loop->world);
    iso_text_release(&loop->gather);
    iso_text_release(&loop->before);
    iso_free(loop);
}

const struct loop_counts *loop_counts(const struct loop *loop)
{
    return &loop->counts;
}

struct observe_world *loop_world(struct loop *loop)
{
    return loop->world;
}
