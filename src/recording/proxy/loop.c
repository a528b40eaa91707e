#define _GNU_SOURCE
#include "proxy/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "proxy/loop_private.h"
#include "wire/offer.h"

enum { EVENTS = 128, ACCEPTS = 64, ROUND_MS = 1000 };
enum {
    SILENT_SECONDS = 60, /* what a server gives a client for its first messages, too */
    IDLE_SECONDS = 1,
    INTERRUPT_SECONDS = 5,
    CANCEL_MS = 2
};

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
    return !session->client.ended && !link_waits(&session->server) && !session->interrupter &&
           observed_way(session->observed) != OBSERVED_INTERRUPTED &&
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

/* ---- reading ---- */

static void take_client(struct loop *loop, struct session *session, size_t size)
{
    if (session->stage == STAGE_FIRST || session->stage == STAGE_STARTUP)
        loop_take_first(loop, session, size);
    else if (session->stage == STAGE_RUN)
        loop_take_client_bytes(loop, session, loop->bytes, size);
    else
        loop_send_on(loop, session, &session->server, loop->bytes, size);
}

static void take_server(struct loop *loop, struct session *session, size_t size)
{
    if (session->hides_binding)
        size = wire_hide_binding(loop->bytes, size, &session->hides_binding);
    if (session->stage == STAGE_ANSWER)
        loop_take_answer(loop, session, loop->bytes, size);
    else if (session->stage == STAGE_RUN)
        loop_take_server_bytes(loop, session, loop->bytes, size);
    else
        loop_send_on(loop, session, &session->client, loop->bytes, size);
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
        loop_end_session(loop, session);
        return;
    }
    if (link == &session->client && session->held.used &&
        !loop_send_on(loop, session, &session->server, session->held.bytes, session->held.used))
        return;
    session->held.used = 0;
    if (link == &session->client)
        loop_ask_question(loop, session, OBSERVED_END); /* the last there is a time for */
    if (!link_waits(other) && !(link == &session->client && observed_waits(session->observed)))
        link_shut(other);
    /* A server that has ended says nothing more, whatever its client still sends. */
    if (session->server.ended && !link_waits(&session->client))
        loop_end_session(loop, session);
}

/* Once in a round, and what TLS has of it already: a client that sends much at once is to get the
 * server's error between. */
static void read_link(struct loop *loop, struct session *session, struct link *link)
{
    bool is_client = link == &session->client;
    do {
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
        loop_tally(is_client ? &loop->counts.bytes_from_clients : &loop->counts.bytes_from_server,
                   got);
        if (is_client)
            take_client(loop, session, held + got);
        else
            take_server(loop, session, got);
        if (!session->is_dead)
            loop_look_whether_over(loop, session);
    } while (!session->is_dead && link->tls && SSL_pending(link->tls));
}

/* What the client says does not wait for a catalog. */
static bool interrupts(struct loop *loop, struct session *session, const struct link *link)
{
    if (link != &session->client || !session->target.key.size ||
        observed_way(session->observed) != OBSERVED_GIVES_WAY)
        return false;
    loop_interrupt(loop, session);
    ask_events(loop, session->interrupter);
    return true;
}

static void wake_interrupted(struct loop *loop)
{
    for (struct session *session = loop->dead; session; session = session->next)
        if (session->interrupts) {
            session->interrupts->interrupter = NULL;
            ask_events(loop, session->interrupts);
        }
}

/* ---- events ---- */

static void write_link(struct loop *loop, struct session *session, struct link *link)
{
    struct link *other = link == &session->client ? &session->server : &session->client;
    if (!link_waits(link))
        return;
    if (link_flush(link) != LINK_OK) {
        loop_end_session(loop, session);
    } else if (!link_waits(link)) {
        if (other->ended) {
            link_shut(link);
            if (other == &session->server)
                loop_end_session(loop, session);
        } else {
            read_link(loop, session, other);
        }
    }
}

static void on_event(struct loop *loop, struct session *session, struct link *link, uint32_t events)
{
    if (!loop_goes_on(loop, session, link)) {
        if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
            write_link(loop, session, link);
        if (!session->is_dead && link->tls_wants_write && events & EPOLLOUT)
            read_link(loop, session, link);
        if (!session->is_dead && events & (EPOLLIN | EPOLLHUP | EPOLLERR) &&
            !interrupts(loop, session, link))
            read_link(loop, session, link);
    }
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
    loop_tally(&loop->counts.pauses, 1);
}

static void accept_clients(struct loop *loop)
{
    for (int i = 0; i < ACCEPTS; i++) {
        if (loop_open_sessions() >= loop->settings.sessions_most) {
            pause_accepting(loop);
            return;
        }
        int fd = accept4(loop->settings.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            ask_events(loop, loop_begin_session(loop, fd));
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
    int64_t now = loop_seconds();
    if (now == loop->now)
        return;
    loop->now = now;
    if (loop->paused)
        set_accepting(loop, true);
    for (struct session *session = loop->first, *next; session; session = next) {
        next = session->next;
        if ((session->stage < STAGE_RUN && now - session->since > SILENT_SECONDS) ||
            (session->interrupts && now - session->since > INTERRUPT_SECONDS)) {
            loop_end_session(loop, session);
        } else if (session->stage == STAGE_RUN && now - session->touched > IDLE_SECONDS) {
            loop_ask_question(loop, session, OBSERVED_IDLE);
            ask_events(loop, session);
        }
    }
}

static void look_at_cancels(struct loop *loop)
{
    for (struct session *session = loop->first, *next; session && loop->waiting; session = next) {
        next = session->next;
        if (session->stage == STAGE_CANCEL) {
            loop_look_at_cancel(loop, session);
            ask_events(loop, session);
        }
    }
}

static void *run_loop(void *context)
{
    struct loop *loop = context;
    struct epoll_event events[EVENTS];
    loop->now = loop_seconds();
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
        wake_interrupted(loop);
        if (loop->paused && loop->dead)
            set_accepting(loop, true);
        loop_free_dead(loop);
    }
    while (loop->first)
        loop_end_session(loop, loop->first);
    loop_free_dead(loop);
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
    loop->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 1};
    if (loop->epoll >= 0 && loop->wakeup_fd >= 0 &&
        !epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wakeup_fd, &event))
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
    eventfd_write(loop->wakeup_fd, 1);
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
    if (loop->wakeup_fd >= 0)
        close(loop->wakeup_fd);
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
