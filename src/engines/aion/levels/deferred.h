/* Levels below SI, on a stream: `rc`, `stale`, `ryw`, `mr`.
 *
 * At these levels a read has a choice: of moments, or of writers. So what is right cannot be told
 * version by version. A transaction's writes, and all that concerns it alone, go their way at once;
 * with its reads it is *held* until the watermark has reached it, and then judged once, in front,
 * by asking the shards what they keep of each key (query.h). Only reads that no choice
 * explains go to their shards, where they become pending verdicts like any other that the watermark
 * has passed: they are explained, counted, wait for unknown outcomes, and are reported as final.
 *
 * Complete is a transaction
 *   stale   when the watermark is at its commit, or, if it only read, at its start;
 *   rc      the same, but who only read lasts until its session starts again: then when the
 *           watermark is at the commit of the one that did;
 *   ryw, mr when its session is complete so far, and who only read when the next writer of the
 *   session is: nothing
 *           that was committed after that counts as read.
 * What no next one completes waits for the end of the run; or, where memory is bounded, until the
 * floor has passed it: then what is right is right, and the rest is undecided. So is what needs
 * versions that were dropped, and, of a transaction at `rc` or `stale`, every read behind one that
 * is undecided: it might have moved the moment.
 *
 * Deadlines make nothing final here: only watermarks, and the end. Session order is the caller's
 * promise, as in docs/semantics.md: who is earlier in a session arrives before a watermark passes
 * who is later.
 *
 * The order in which transactions are judged is that of sessions as they came, and in each its own;
 * so verdicts do not depend on shards. Memory: a held transaction with its values, 96 bytes a
 * member of a session; at ryw and mr 16 bytes for each writer above the floor that the session has
 * to know of.
 */
#pragma once

#include "aion/front/taking_private.h"
#include "base/archive.h"

static inline bool aion_holds(const struct iso_aion *engine)
{
    return engine->deferred.is_on;
}

/* Takes a committed transaction's reads, if the level has it so. */
void aion_deferred_add(const struct aion_taking *taking, const struct aion_accepted *accepted);
/* The limit has moved, or the floor. Nothing is in flight. */
void aion_deferred_advance(struct iso_aion *engine);
void aion_deferred_end(struct iso_aion *engine);
uint64_t aion_deferred_bytes(const struct iso_aion *engine);
void aion_holding_release(struct iso_aion *engine);
void aion_deferred_archive(struct iso_archive *archive, struct iso_aion *engine);
void aion_deferred_validate(const struct aion_holding *deferred);

/* moment.c: rc and stale. `low` and `high` are moments that are left (query.h). */
struct aion_moments {
    struct iso_aion *engine;
    const struct aion_deferred_member *member;
    uint64_t low, high;
    uint64_t end, last; /* what `high` is at first, and the last timestamp below it; UINT64_MAX:
                           there is none */
    bool is_complete;   /* else nobody is accused */
};
void aion_judge_committed(struct aion_moments *moments);
void aion_judge_stale(struct aion_moments *moments);

/* guarantee.c: ryw and mr. `limit`: no version above it is one that it could read. */
void aion_judge_guarantee(struct iso_aion *engine, struct aion_deferred_session *session,
                          const struct aion_deferred_member *member, uint64_t limit,
                          bool is_complete);
void aion_know_writer(struct iso_aion *engine, struct aion_deferred_session *session,
                      const struct aion_deferred_member *writer);
void aion_forget_known(struct iso_aion *engine, struct aion_deferred_session *session,
                       uint64_t floor);

/* deferred.c: an accusation is none where nobody knows the order of a list's versions. */
void aion_deferred_soften(const struct iso_aion *engine, struct aion_deferred_read *read,
                          const struct aion_query *query);

/* The look of a read of the transaction at hand. */
void aion_deferred_query(struct iso_aion *engine, const struct aion_deferred_member *member,
                         const struct aion_deferred_read *read, struct aion_query *query);
