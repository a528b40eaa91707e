/* What one session does, seen in its messages: which transactions begin and end, which rows its
 * statements return, from which tables, and which questions of the observer's own have to be asked,
 * and when.
 *
 * Pure but for the recorder: messages in, records and questions out; no socket, no clock, no
 * thread.
 *
 *     observed_client(...)         each of the client's messages, as it is whole, before it is sent
 *                                  on
 *     observed_server_takes(...)   as a message of the server begins: is it an answer to a question
 *                                  of the observer's own?
 *     observed_server(...)         each of the server's messages, as it is whole
 *     observed_asks(...)           while nothing is open: a question for the server, if the catalog
 *                                  has to be read. Sessions that work are not kept waiting for it:
 *                                  it is asked behind a login, or when a session is idle
 *                                  (`is_moment`)
 *
 * The observer knows what the server still has to answer: a queue of the messages that were sent
 * on. A question is asked only while that queue is empty, so that its answers come first, and the
 * rest of the stream is the client's. If an answer does not fit the queue, the session is not
 * understood: it is observed no longer (`is_lost`), which changes nothing that its client
 * sees.
 */
#pragma once

#include "observe/world.h"
#include "wire/reader.h"

struct observed;

/* `startup` is the body of the client's first message, behind the protocol's number; it names user
 * and database. */
struct observed *observed_new(struct observe_world *world, uint64_t number, const uint8_t *startup,
                              uint32_t size);
/* NULL is allowed. What was open ended with its connection. */
void observed_free(struct observed *observed);

/* The largest body that is needed whole; a larger message is shown without its body. */
enum { OBSERVE_CLIENT_MOST = 1 << 20, OBSERVE_SERVER_MOST = 1 << 18 };

/* `before` gets a question that has to be sent before this message, or nothing. */
void observed_client(struct observed *observed, const struct wire_piece *piece,
                     struct iso_text *before);

/* By its type: it is not the client's, and is not sent on. */
bool observed_server_takes(struct observed *observed, char type);
/* True: it was taken, and the client gets `*piece` after all, which may be another by now: the
 * server ends the session, and says why; or a question's failure is to be told. */
bool observed_server(struct observed *observed, struct wire_piece *piece);

/* When a question of the observer's own may be asked: an answer was passed on, nothing goes on, the
 * client says nothing more. */
enum observed_occasion { OBSERVED_ANSWERED, OBSERVED_IDLE, OBSERVED_END };
bool observed_asks(struct observed *observed, enum observed_occasion occasion,
                   struct iso_text *question);
/* While its client cancels something nothing is asked, which might be cancelled in its place. */
void observed_keep_quiet(struct observed *observed, bool is_quiet);
/* for the answer to a question of its own; NULL: no */
bool observed_waits(const struct observed *observed);
/* A catalog that a session was asked for while it was idle gives way to its client: the question
 * may be cancelled, and is asked again of who is idle then. */
enum observed_way { OBSERVED_STAYS, OBSERVED_GIVES_WAY, OBSERVED_INTERRUPTED };
enum observed_way observed_way(const struct observed *observed); /* NULL is allowed */
void observed_interrupt(struct observed *observed);              /* it is being cancelled */

/* Observe no longer, once nothing of the observer's own is on its way. */
void observed_stop(struct observed *observed);
bool observed_is_over(const struct observed *observed); /* messages need not be shown any more */
