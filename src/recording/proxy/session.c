#define _GNU_SOURCE
#include "base/memory.h"
#include "cli/log.h"
#include "proxy/loop_private.h"

static _Atomic uint64_t session_numbers;
static _Atomic uint32_t open_sessions; /* of all loops */

int64_t loop_seconds(void)
{
    return iso_clock_nanoseconds() / SECOND;
}

uint32_t loop_open_sessions(void)
{
    return atomic_load(&open_sessions);
}

void loop_tally(_Atomic uint64_t *counter, uint64_t many)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + many,
                          memory_order_relaxed);
}

struct session *loop_begin_session(struct loop *loop, int fd)
{
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
    loop_tally(&loop->counts.sessions_opened, 1);
    return session;
}

void loop_end_session(struct loop *loop, struct session *session)
{
    if (session->is_dead)
        return;
    session->is_dead = true;
    *(session->previous ? &session->previous->next : &loop->first) = session->next;
    if (session->next)
        session->next->previous = session->previous;
    session->next = loop->dead;
    loop->dead = session;
    if (session->interrupter)
        session->interrupter->interrupts = NULL;
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
    loop_tally(&loop->counts.sessions_closed, 1);
}

void loop_free_dead(struct loop *loop)
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

void loop_end_as_bad(struct loop *loop, struct session *session, const char *what)
{
    cli_log_warning("session %llu: %s; it was closed", (unsigned long long)session->number, what);
    loop_tally(&loop->counts.sessions_bad, 1);
    loop_end_session(loop, session);
}

/* ---- sending ---- */

/* False: the session is over. */
bool loop_send_on(struct loop *loop, struct session *session, struct link *link, const void *bytes,
                  size_t size)
{
    if (!size || link->is_shut)
        return true;
    if (link_send(link, bytes, size) == LINK_OK)
        return true;
    loop_end_session(loop, session);
    return false;
}

void loop_become_raw(struct loop *loop, struct session *session)
{
    session->stage = STAGE_RAW;
    observed_free(session->observed);
    session->observed = NULL;
    wire_reader_release(&session->from_client);
    wire_reader_release(&session->from_server);
    loop_tally(&loop->counts.sessions_raw, 1);
    if (loop_send_on(loop, session, &session->server, session->held.bytes, session->held.used))
        iso_text_release(&session->held);
}
