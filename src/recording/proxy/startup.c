#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/log.h"
#include "proxy/loop_private.h"
#include "wire/cursor.h"
#include "wire/put.h"

enum { CODE_CANCEL = 80877102, CODE_TLS = 80877103, CODE_GSS = 80877104, TLS_HANDSHAKE = 22 };
enum { CANCEL_SECONDS = 5 };

/* ---- ways out ---- */

/* Tells the client, in its own protocol, that the server could not be reached. */
static void end_with_error(struct loop *loop, struct session *session, const char *message)
{
    struct iso_text text = {0};
    wire_put_fatal(&text, "08006", message);
    link_send(&session->client, text.bytes, text.used);
    iso_text_release(&text);
    loop_end_session(loop, session);
}

void loop_look_at_cancel(struct loop *loop, struct session *session)
{
    if (cancel_must_wait(session->cancels) && loop_seconds() - session->since <= CANCEL_SECONDS)
        return;
    loop->waiting--;
    loop_become_raw(loop, session);
}

static void become_encrypted(struct loop *loop, struct session *session)
{
    if (!atomic_load_explicit(&loop->counts.sessions_encrypted, memory_order_relaxed))
        cli_log_warning(
            "session %llu is encrypted between client and server, and so are all that ask for it: they are "
            "not recorded; expected --tls-certificate and --tls-key, --tls refuse, or sslmode=disable",
            (unsigned long long)session->number);
    loop_tally(&loop->counts.sessions_encrypted, 1);
    loop_become_raw(loop, session);
}

/* ---- the server ---- */

static void connect_server(struct loop *loop, struct session *session)
{
    session->stage = STAGE_CONNECT;
    for (; session->address; session->address = session->address->ai_next) {
        const struct addrinfo *address = session->address;
        int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        if (!connect(fd, address->ai_addr, address->ai_addrlen) || errno == EINPROGRESS) {
            link_init(&session->server, fd);
            return;
        }
        close(fd);
    }
    char text[400];
    snprintf(text, sizeof text, "isochron-proxy cannot connect to the server %s: %s",
             loop->settings.server_name, strerror(errno));
    loop_tally(&loop->counts.connects_failed, 1);
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
        loop_send_on(loop, session, &session->server, request, sizeof request);
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
    if (!loop_send_on(loop, session, &session->server, session->held.bytes, size))
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
        loop_end_session(loop, session);
}

static void answer_tls(struct loop *loop, struct session *session, bool is_gss)
{
    if (is_gss || loop->settings.tls == LOOP_TLS_REFUSE || session->client.tls) {
        drop_held(session, 8);
        loop_send_on(loop, session, &session->client, "N", 1);
    } else if (session->held.used >
               8) { /* what was sent before encryption must not be taken for what comes after it */
        loop_end_as_bad(loop, session, "bytes behind a request for TLS");
    } else {
        drop_held(session, 8);
        if (!loop_send_on(loop, session, &session->client, "S", 1))
            return;
        if (!link_start_tls(&session->client, loop->settings.own, true, NULL)) {
            loop_end_session(loop, session);
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
    loop_look_at_cancel(loop, session);
}

void loop_interrupt(struct loop *loop, struct session *session)
{
    const struct cancel_key *key = &session->target.key;
    struct session *request = loop_begin_session(loop, -1);
    wire_put_u32(&request->held, 8 + key->size);
    wire_put_u32(&request->held, CODE_CANCEL);
    iso_text_put_bytes(&request->held, key->bytes, key->size);
    request->cancels = iso_allocate_zeroed(1, sizeof *request->cancels);
    *request->cancels = *key;
    cancel_begins(key);
    request->interrupts = session;
    session->interrupter = request;
    observed_interrupt(session->observed);
    connect_server(loop, request);
}

/* Replication is not. */
static bool is_recorded(struct observe_shared *shared, const uint8_t *body, uint32_t size)
{
    return observe_is_on(shared) && !wire_startup(body, size, "replication");
}

static void begin_run(struct loop *loop, struct session *session, uint32_t length)
{
    const uint8_t *body = (const uint8_t *)session->held.bytes + 8;
    session->hides_binding = session->server.tls && !session->client.tls;
    if (is_recorded(loop->settings.shared, body, length - 8)) {
        session->observed = observed_new(loop->world, session->number, body, length - 8);
        wire_reader_init(&session->from_client, OBSERVE_CLIENT_MOST);
        wire_reader_init(&session->from_server, OBSERVE_SERVER_MOST);
        session->stage = STAGE_RUN;
        if (!send_held(loop, session, length))
            return;
        size_t left = session->held.used;
        memcpy(loop->bytes, session->held.bytes, left);
        session->held.used = 0;
        loop_take_client_bytes(loop, session, loop->bytes, left);
    } else {
        loop_become_raw(loop, session);
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
        loop_end_as_bad(loop, session, "the client's first message has a length that cannot be");
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
            loop_end_as_bad(loop, session, "encryption was asked for twice");
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
        } else if (code == CODE_CANCEL && !session->cancels) {
            begin_cancel(loop, session, length);
        } else { /* what only the server knows */
            loop_become_raw(loop, session);
        }
    }
}

void loop_take_answer(struct loop *loop, struct session *session, const uint8_t *bytes, size_t size)
{
    if (!loop_send_on(loop, session, &session->client, bytes, size))
        return;
    if (*bytes == 'N' && size == 1) {
        session->stage = STAGE_STARTUP;
        take_startup(loop, session);
        return;
    }
    if (*bytes == 'E')
        loop_become_raw(loop, session);
    else
        become_encrypted(loop, session);
}

void loop_take_first(struct loop *loop, struct session *session, size_t size)
{
    iso_text_put_bytes(&session->held, loop->bytes, size);
    if (session->stage == STAGE_STARTUP)
        take_startup(loop, session);
    else if (whole_first(loop, session))
        connect_server(loop, session);
}

bool loop_goes_on(struct loop *loop, struct session *session, struct link *link)
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
        return false;
    }
    return true;
}
