/* SESSION, with members of a session arriving in any order.
 *
 * A session is a run of its committed transactions by sno; each entry holds the largest position up to
 * itself. One that comes late is judged against the entry before it, then goes on to those behind it as long
 * as it is larger than what they hold: in a session that keeps the axiom the first step already ends that.
 * One that comes in order and behind all others needs nothing but the last entry.
 *
 * A member belongs to its entry and goes with it, but for one: what the first entries that are left hold as
 * the largest position before them is kept as the session's `pinned`.
 */
#include "aion/engine_private.h"
#include "base/memory.h"

static void widen_members(struct iso_aion *engine)
{
    size_t old = engine->member_capacity, next = iso_column_capacity(old, old + 1);
    engine->members = iso_column_grow(engine->members, old * sizeof *engine->members, next * sizeof *engine->members);
    engine->free_members =
        iso_column_grow(engine->free_members, old * sizeof *engine->free_members, next * sizeof *engine->free_members);
    engine->member_capacity = (uint32_t)next;
}

uint32_t aion_member_new(struct iso_aion *engine, const struct aion_block *block, const struct aion_accepted *accepted)
{
    const struct iso_history *history = block->history;
    const struct aion_times *times = &accepted->times;
    uint32_t number, t = accepted->transaction;
    if (engine->free_member_count) {
        number = engine->free_members[--engine->free_member_count];
    } else {
        if (engine->member_count == engine->member_capacity)
            widen_members(engine);
        number = engine->member_count++;
    }
    engine->members[number] =
        (struct aion_member){.sts = times->sts,
                             .cts = times->cts,
                             .origin = engine->options.origin_is_index ? t : history->origin[t],
                             .tid = aion_values_take(&engine->values, &history->atoms, history->tid[t]),
                             .point = times->point};
    return number;
}

static void free_member(struct iso_aion *engine, uint32_t number)
{
    if (engine->values.used) /* else the tids are numbers, and the member's line is left alone */
        aion_values_drop(&engine->values, engine->members[number].tid);
    engine->free_members[engine->free_member_count++] = number;
}

/* ---- letting go ---- */

/* How many entries at the front hold nothing from the floor on: what they hold never decreases. */
static uint32_t count_below_floor(const struct iso_aion *engine, const struct aion_run *members)
{
    uint32_t chunks = aion_run_chunks(members), below = 0, count;
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        const struct aion_entry *entries = aion_run_chunk(&engine->pool, members, chunk, &count);
        if (entries[count - 1].hold >= engine->floor) {
            while (entries->hold < engine->floor) {
                entries++;
                below++;
            }
            return below;
        }
        below += count;
    }
    return below;
}

/* The pinned member goes once no entry holds it any more. */
static void unpin(struct iso_aion *engine, struct aion_session *session)
{
    uint32_t number = session->pinned - 1;
    struct aion_place place = aion_run_begin();
    const struct aion_entry *entry;
    for (; (entry = aion_run_get(&engine->pool, &session->members, place));
         aion_run_next(&engine->pool, &session->members, &place)) {
        if (entry->detail == number)
            return;
        if (entry->hold > engine->members[number].cts)
            break;
    }
    session->pinned = 0;
    free_member(engine, number);
}

/* Whether a quarter of the chunks lies below the floor: one look tells, whatever the session's length. */
static bool has_much_below_floor(const struct iso_aion *engine, const struct aion_run *members)
{
    uint32_t count;
    const struct aion_entry *entries = aion_run_chunk(&engine->pool, members, aion_run_chunks(members) / 4, &count);
    return entries[count - 1].hold < engine->floor;
}

/* Lets go of what lies below the floor, but for the last entry there: it holds the largest position of all of
 * them. Of a long session once that is much: what is counted each time is let go too. */
static void trim(struct iso_aion *engine, struct aion_session *session)
{
    bool is_long = aion_run_chunks(&session->members) > 1;
    if (is_long && !has_much_below_floor(engine, &session->members))
        return;
    uint32_t count = count_below_floor(engine, &session->members), chunk = 0, left, entries_here;
    if (count < 2 || (!is_long && count * 4 < session->members.count))
        return;
    struct aion_place last = aion_run_begin();
    for (left = count - 1;; left -= entries_here, last.chunk++) {
        aion_run_chunk(&engine->pool, &session->members, last.chunk, &entries_here);
        if (left < entries_here)
            break;
    }
    last.index = left;
    uint32_t kept = aion_run_get(&engine->pool, &session->members, last)->detail, pin = session->pinned;
    for (left = count - 1; left; chunk++) {
        const struct aion_entry *entry = aion_run_chunk(&engine->pool, &session->members, chunk, &entries_here);
        for (; entries_here && left; entry++, entries_here--, left--) {
            if (entry->transaction == kept)
                pin = kept + 1;
            else
                free_member(engine, entry->transaction);
        }
    }
    aion_run_drop(&engine->pool, &session->members, count - 1);
    session->dropped = true;
    if (session->pinned && pin != session->pinned)
        free_member(engine, session->pinned - 1);
    session->pinned = pin;
    if (pin)
        unpin(engine, session);
}

void aion_sessions_trim(struct iso_aion *engine)
{
    for (uint32_t s = 0; s < engine->session_count; s++)
        trim(engine, &engine->sessions[s]);
}

/* ---- judging ---- */

/* Does `member` stand after `earlier`, as the level wants it? */
static bool follows(const struct iso_aion *engine, const struct aion_member *member, const struct aion_member *earlier)
{
    if (engine->options.level == ISO_SI)
        return member->sts >= earlier->cts;
    return member->cts != earlier->cts ? member->cts > earlier->cts : member->point;
}

/* Is `member` larger in position than `other`? Of equal ones the first in the session counts. */
static bool is_larger(const struct iso_aion *engine, const struct aion_member *member, const struct aion_member *other)
{
    if (member->cts != other->cts)
        return member->cts > other->cts;
    return engine->options.level == ISO_SER && member->point && !other->point;
}

static struct iso_aion_party party_of(const struct iso_aion *engine, const struct aion_member *member)
{
    return (struct iso_aion_party){&engine->values.atoms, member->tid, member->origin, member->sts, member->cts};
}

static void judge(struct iso_aion *engine, struct aion_member *member, const struct aion_member *latest)
{
    if (follows(engine, member, latest))
        return;
    struct iso_aion_event event = aion_event_of(engine, ISO_SESSION);
    event.transaction = party_of(engine, member);
    event.other = party_of(engine, latest);
    engine->stats.counts[ISO_SESSION] += !member->told;
    member->told = true;
    aion_emit(engine, &event);
}

/* The entries behind `place` that hold nothing larger now have `number` before them. */
static void pass_on(struct iso_aion *engine, struct aion_session *session, struct aion_place place, uint32_t number)
{
    for (;;) {
        aion_run_next(&engine->pool, &session->members, &place);
        struct aion_entry *entry = aion_run_get(&engine->pool, &session->members, place);
        if (!entry)
            return;
        struct aion_member *member = &engine->members[number];
        bool holds_pinned = entry->detail + 1 == session->pinned;
        if (holds_pinned && !is_larger(engine, member, &engine->members[entry->detail]))
            return; /* it and those behind have been judged with what went, which says more */
        judge(engine, &engine->members[entry->transaction], member);
        if (is_larger(engine, &engine->members[entry->detail], member))
            return;
        entry->detail = number;
        entry->hold = member->cts;
    }
}

static void insert(struct iso_aion *engine, struct aion_session *session, struct aion_place place,
                   const struct aion_entrant *entrant)
{
    struct aion_place before = place;
    uint32_t number = entrant->member, latest = number;
    if (session->members.count && aion_run_before(&engine->pool, &session->members, &before)) {
        uint32_t earlier = aion_run_get(&engine->pool, &session->members, before)->detail;
        judge(engine, &engine->members[number], &engine->members[earlier]);
        if (!is_larger(engine, &engine->members[number], &engine->members[earlier]))
            latest = earlier;
    } else if (session->dropped) {
        engine->stats.sessions_undecided++;
    }
    struct aion_entry entry = {.time = entrant->sno,
                               .hold = engine->members[latest].cts,
                               .transaction = number,
                               .detail = latest,
                               .operation = entrant->number};
    place = aion_run_insert(&engine->pool, &session->members, place, &entry);
    if (latest == number)
        pass_on(engine, session, place, number);
    if (session->pinned)
        unpin(engine, session);
}

/* The entry of a member that has the largest position up to itself. */
static inline struct aion_entry entry_of(const struct aion_entrant *entrant, const struct aion_member *member)
{
    return (struct aion_entry){.time = entrant->sno,
                               .hold = member->cts,
                               .transaction = entrant->member,
                               .detail = entrant->member,
                               .operation = entrant->number};
}

/* The short way of nearly every member: the last of its session so far, after all others there. False:
 * nothing was done. */
static bool append(struct iso_aion *engine, struct aion_session *session, const struct aion_entrant *entrant)
{
    const struct aion_member *member = &engine->members[entrant->member];
    if (!session->members.count)
        return false;
    const struct aion_entry *last = aion_run_last(&engine->pool, &session->members);
    bool follows = engine->options.level == ISO_SER || member->sts >= last->hold;
    if (last->time >= entrant->sno || member->cts <= last->hold || !follows)
        return false;
    struct aion_entry *entry = aion_run_append(&engine->pool, &session->members, member->cts);
    if (!entry)
        return false;
    *entry = entry_of(entrant, member);
    return true;
}

/* The way of most late ones: among the last of its session, between two that keep the axiom with it. False:
 * nothing was done. */
static bool insert_near(struct iso_aion *engine, struct aion_session *session, const struct aion_entrant *entrant)
{
    const struct aion_member *member = &engine->members[entrant->member];
    struct aion_near near;
    if (!session->members.count || !aion_run_near(&engine->pool, &session->members, entrant->sno, &near) ||
        !near.has_room || !near.index || near.index == near.count)
        return false;
    const struct aion_entry *before = &near.entries[near.index - 1], *after = before + 1;
    const struct aion_member *next = &engine->members[after->transaction];
    bool si = engine->options.level == ISO_SI;
    if (after->time == entrant->sno || member->cts <= before->hold || (si && member->sts < before->hold) ||
        after->hold <= member->cts || (si ? next->sts < member->cts : next->cts <= member->cts))
        return false;
    struct aion_entry entry = entry_of(entrant, member);
    aion_run_put_near(&engine->pool, &session->members, &near, &entry);
    return true;
}

static struct aion_place place_of(const struct iso_aion *engine, const struct aion_session *session,
                                  const struct aion_entrant *entrant)
{
    const struct aion_run *members = &session->members;
    if (!members->count || aion_run_last(&engine->pool, members)->time < entrant->sno)
        return aion_run_end(&engine->pool, members);
    struct aion_place place = aion_run_lower(&engine->pool, members, entrant->sno);
    const struct aion_entry *other;
    while ((other = aion_run_get(&engine->pool, members, place)) && other->time == entrant->sno &&
           (int32_t)(other->operation - entrant->number) < 0)
        aion_run_next(&engine->pool, members, &place);
    return place;
}

/* A hand goes round the sessions, one for each member that comes, so that one which has ended lets go too. */
static void sweep_one(struct iso_aion *engine)
{
    engine->session_hand = engine->session_hand + 1 < engine->session_count ? engine->session_hand + 1 : 0;
    struct aion_session *session = &engine->sessions[engine->session_hand];
    if (session->members.count > 1)
        trim(engine, session);
}

void aion_session_add(struct iso_aion *engine, const struct aion_entrant *entrant)
{
    struct aion_session *session = &engine->sessions[entrant->session];
    sweep_one(engine);
    if (append(engine, session, entrant) || insert_near(engine, session, entrant))
        return;
    if (aion_run_full(&engine->pool, &session->members))
        trim(engine, session);
    insert(engine, session, place_of(engine, session, entrant), entrant);
}
