#define _GNU_SOURCE
#include <assert.h>
#include <string.h>

#include "proxy/loop_private.h"
#include "wire/cursor.h"
#include "wire/put.h"

/* A message that a question may have to go before is looked at before any of it is sent on. */
static bool is_held(const uint8_t *at, const uint8_t *end)
{
    if (*at != 'Q' && *at != 'P' && *at != 'B' && *at != 'X')
        return false;
    uint64_t length = wire_length(at, end);
    return !length || (length <= LOOP_HOLD && length > (uint64_t)(end - at));
}

void loop_take_client_bytes(struct loop *loop, struct session *session, uint8_t *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = bytes + size, *unsent = bytes;
    struct iso_text *gather = &loop->gather, *before = &loop->before;
    gather->used = 0;
    while (at < end && !(wire_is_between(&session->from_client) && is_held(at, end))) {
        const uint8_t *start = at;
        struct wire_piece piece;
        if (wire_read(&session->from_client, &at, end, &piece) == WIRE_BAD) {
            loop_end_as_bad(loop, session, "bytes from the client that are no message");
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
        loop_send_on(loop, session, &session->server, gather->bytes, gather->used);
    } else {
        loop_send_on(loop, session, &session->server, unsent, (size_t)(at - unsent));
    }
}

void loop_ask_question(struct loop *loop, struct session *session, enum observed_occasion occasion)
{
    loop->before.used = 0;
    if (session->observed)
        observed_keep_quiet(session->observed, !cancel_may_ask(&session->target));
    if (session->observed && wire_is_between(&session->from_client) &&
        wire_is_between(&session->from_server) && !session->server.is_shut &&
        observed_asks(session->observed, occasion, &loop->before))
        loop_send_on(loop, session, &session->server, loop->before.bytes, loop->before.used);
    cancel_asks(&session->target, observed_waits(session->observed));
}

/* What was kept so far, and this message, which was taken. False: the session is over. */
static bool pass_after_all(struct loop *loop, struct session *session, const uint8_t *bytes,
                           const uint8_t *kept, const struct wire_piece *piece)
{
    struct iso_text *text = &loop->gather;
    text->used = 0;
    iso_text_put_bytes(text, bytes, (size_t)(kept - bytes));
    size_t begun = wire_put_begin(text, piece->type);
    iso_text_put_bytes(text, piece->body, piece->body ? piece->size : 0);
    wire_put_end(text, begun);
    session->strips = false;
    return loop_send_on(loop, session, &session->client, text->bytes, text->used);
}

void loop_take_server_bytes(struct loop *loop, struct session *session, uint8_t *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = bytes + size;
    uint8_t *kept = bytes;
    while (at < end) {
        const uint8_t *start = at;
        struct wire_piece piece;
        if (wire_read(&session->from_server, &at, end, &piece) == WIRE_BAD) {
            loop_end_as_bad(loop, session, "bytes from the server that are no message");
            return;
        }
        if (piece.begins)
            session->strips = observed_server_takes(session->observed, piece.type);
        if (piece.type == 'K' && piece.body)
            cancel_add(&session->target, piece.body, piece.size);
        if (piece.ends && observed_server(session->observed, &piece)) {
            if (!pass_after_all(loop, session, bytes, kept, &piece))
                return;
            kept = bytes += at - bytes;
            continue;
        }
        if (session->strips)
            continue;
        if (kept != start)
            memmove(kept, start, (size_t)(at - start));
        kept += at - start;
    }
    if (loop_send_on(loop, session, &session->client, bytes, (size_t)(kept - bytes)))
        loop_ask_question(loop, session, OBSERVED_ANSWERED);
}

void loop_look_whether_over(struct loop *loop, struct session *session)
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
        loop_become_raw(loop, session);
}
