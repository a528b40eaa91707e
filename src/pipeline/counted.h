/* Clients' records that somebody counted, and which of them never came.
 *
 * A recorder numbers the records of a session without gaps (`sno`), those that it had to drop, too, and says from time to time
 * how many there were: {"session":SID,"records":N}. So a session that it speaks of is *counted*, from its N on: a number that is
 * jumped over, or that should have come before the last N, is that of a record that was lost on its way. It may come
 * yet, since what is sent again may be late; then it is none. Sessions that nobody counts have no holes.
 *
 * Memory: 24 bytes a session, 24 a hole. A session that has ended without holes is forgotten. Threads: the caller's.
 */
#ifndef ISO_PIPELINE_COUNTED_H
#define ISO_PIPELINE_COUNTED_H

#include "base/archive.h"
#include "base/number_map.h"
#include "iso/history.h"
#include "iso/source.h"

struct counted_session {
    uint64_t digest; /* of its sid; 0: free */
    uint64_t next; /* behind the last number that came, or that was spoken of; of a free one: the next free one, + 1 */
    uint32_t holes;
};

struct counted_hole {
    uint64_t digest, from, to; /* of its session; the numbers from, up to but without `to` */
    uint64_t origin;           /* of what came behind it */
};

struct counted {
    struct counted_session *sessions;
    uint32_t session_count, session_capacity;
    struct counted_hole *holes;
    uint32_t hole_count, hole_capacity;
    struct iso_number_map by_digest;
    uint32_t free, in_use; /* the first free one, + 1 */
};

/* Somebody says how many records a session has had; `ended`: and that there will be no more. */
void counted_note_total(struct counted *counted, const struct iso_history *block, const struct iso_event *event);
/* A record came. */
void counted_note_record(struct counted *counted, const struct iso_history *block, uint32_t transaction);

/* How many are lost, as far as is known now; of how many sessions, and what stands behind the first of them. */
struct counted_loss {
    uint64_t records, sessions, origin;
};
struct counted_loss counted_loss(const struct counted *counted);

void counted_archive(struct iso_archive *archive, struct counted *counted);
void counted_release(struct counted *counted);

#endif
