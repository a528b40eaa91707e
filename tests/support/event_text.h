/* Events as lines of text, so that a test can say in one string what a message must become.
 *
 *     row u dbz public.kv public.kv/2 before -2 after 7 id 749 at 26673544,26673992 #3
 *     transactions 0+1 in-band id 4078   begin id 571 at 0,53195829 end id 571 count 2 ignored:
 *                                        tombstone
 *
 * "-": absent; "?": the source does not say. Members that an event does not have are left out.
 */
#ifndef TESTS_SUPPORT_EVENT_TEXT_H
#define TESTS_SUPPORT_EVENT_TEXT_H

#include "values/source.h"

/* All events, a line each, without a newline behind the last; cut at `size`. */
void event_text(const struct iso_events *events, char *text, size_t size);

#endif
