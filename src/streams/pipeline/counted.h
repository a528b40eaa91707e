/* Clients' records that somebody counted, and which of them never came (native/counted.h).
 *
 * A recorder numbers the records of a session without gaps (`sno`), those that it had to drop, too,
 * and says how many there were. So a session that it speaks of is *counted*, from that number on:
 * one that is jumped over, or that should have come before the last count, is that of a record that
 * was lost on its way. It may come yet, since what is sent again may be late; then it is none.
 * Sessions that nobody counts have no holes.
 *
 * When it ends a recorder says how many records all of its sessions have had: where that is more
 * than what is known of those, whole sessions were lost. One that has not ended is whole up to its
 * last word, and what it recorded since may be lost, nobody knows how much, if it was killed:
 *
 *     while more may arrive   where it promised to speak again, and did not while others did, for
 *                             COUNTED_SILENCE_MS and three times what it promised
 *     once nothing does       where a transaction's row or record came later than that word; and
 *                             what it counted until then and did not come is lost
 *
 * Memory: 32 bytes a session, 24 a hole, 150 a recorder. Those that have ended without holes are
 * forgotten. Threads: the caller's.
 */
#pragma once

#include "base/archive.h"
#include "base/number_map.h"
#include "history/history.h"
#include "values/source.h"

struct counted_session {
    uint64_t digest; /* of its sid; 0: free */
    uint64_t next;   /* behind the last number that came, or that was spoken of; of a free one: the
                        next free one, + 1 */
    uint64_t recorder; /* digest of its id; 0: not said */
    uint32_t holes;
};

struct counted_recorder {
    uint64_t digest;
    uint64_t known;           /* records of its sessions that have ended and are forgotten */
    uint64_t told;            /* records of all of its sessions, as it says */
    uint64_t heard, promise;  /* when it spoke last, and within how many milliseconds it will again;
                                 0: not said */
    uint64_t origin;          /* of what it said last */
    bool is_whole, has_ended; /* is_whole: its beginning was read */
    char name[64];            /* the start of its id */
};

enum { COUNTED_SILENCE_MS = 60000 };

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
    struct counted_recorder *recorders;
    uint32_t recorder_count, recorder_capacity;
    uint64_t latest; /* milliseconds since 1970: the latest that anybody spoke */
    uint64_t moved;  /* the latest that a row or a record was sent */
    bool is_closed;  /* nothing more arrives */
    bool of_stream;  /* records came that mean something only beside a change stream */
    /* what a file of records lacks; its origin is of the pipeline's inputs */
    struct iso_history_lost file;
};

/* A message's time, or a clock, says that it is so late now. */
void counted_note_time(struct counted *counted, uint64_t time);
/* A row or a record was sent so late. */
void counted_note_moved(struct counted *counted, uint64_t time);
/* Somebody says how many records a session, or all of a recorder, have had. */
void counted_note_total(struct counted *counted, const struct iso_history *block,
                        const struct iso_event *event);
/* A record came. */
void counted_note_record(struct counted *counted, const struct iso_history *block,
                         uint32_t transaction);

/* How many are lost, as far as is known now; of how many sessions, and what stands behind the first
 * of them. `silent`: recorders that may have been killed, `name` and `since` are those of the
 * first. */
struct counted_loss {
    uint64_t records, sessions, origin, silent, since;
    uint64_t open; /* others that have not ended, and may live */
    const char *name;
};
struct counted_loss counted_loss(const struct counted *counted);

/* Within how many milliseconds all recorders that live will have said what makes an end here whole;
 * 0: they have. */
uint64_t counted_awaited(const struct counted *counted);

void counted_archive(struct iso_archive *archive, struct counted *counted);
void counted_release(struct counted *counted);
