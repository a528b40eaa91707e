/* SESSION, with members of a session arriving in any order.
 *
 * A session is a run of its committed transactions by sno; each entry has as its start the largest
 * position up to itself. One that comes late is judged against the entry before it, then goes on to
 * those behind it as long as it is larger than that: in a session that keeps the axiom the first
 * step already ends that. One that comes in order and behind all others needs nothing but the last
 * entry.
 *
 * A member belongs to its entry and goes with it, but for one: what the first entries that are left
 * have as the largest position before them is kept as the session's `pinned`.
 *
 * Of entries that went two things are known: the last of their snos (`lost`) and where their
 * positions end (`below`). A member that comes to stand before `lost` may be what they broke the
 * order with, and one that starts below `below` may break it itself: that is undecided, unless what
 * is left shows that it does.
 */
#include <assert.h>

#include "aion/state_private.h"
#include "base/memory.h"

enum { MUCH = 256, FIRST_PLACE = 1, COUNTED_MOST = (1 << 24) - 1, UNSURE_MOST = UINT8_MAX };

static void widen_members(struct iso_aion *engine)
{
    size_t old = engine->sessions.members.capacity, next = iso_column_capacity(old, old + 1);
    engine->sessions.members.list =
        iso_column_grow(engine->sessions.members.list, old * sizeof *engine->sessions.members.list,
                        next * sizeof *engine->sessions.members.list);
    engine->sessions.members.free =
        iso_column_grow(engine->sessions.members.free, old * sizeof *engine->sessions.members.free,
                        next * sizeof *engine->sessions.members.free);
    engine->sessions.members.capacity = (uint32_t)next;
}

uint32_t aion_member_new(struct iso_aion *engine, const struct aion_key_cache *cache,
                         const struct aion_accepted *accepted)
{
    const struct iso_history *history = cache->history;
    const struct aion_times *times = &accepted->times;
    uint32_t number, t = accepted->transaction;
    /* it follows anything */
    bool is_timeless = engine->options.level == ISO_RC && !(history->txns.flags[t] & ISO_HAS_STS);
    if (engine->sessions.members.free_count) {
        number = engine->sessions.members.free[--engine->sessions.members.free_count];
    } else {
        if (engine->sessions.members.count == engine->sessions.members.capacity)
            widen_members(engine);
        number = engine->sessions.members.count++;
    }
    engine->sessions.members.list[number] = (struct aion_member){
        .sts = is_timeless ? UINT64_MAX : times->sts,
        .cts = times->cts,
        .origin = engine->options.host.origin_is_index ? t : history->txns.origin[t],
        .tid = aion_values_take(&engine->values, &history->atoms, history->txns.tid[t]),
        .point = times->point};
    return number;
}

void aion_member_free(struct iso_aion *engine, uint32_t number)
{
    assert(engine->sessions.members.free_count < engine->sessions.members.count);
    assert(number < engine->sessions.members.count);
    if (engine->values.table
            .used) /* else the tids are numbers, and the member's line is left alone */
        aion_values_drop(&engine->values, engine->sessions.members.list[number].tid);
    engine->sessions.members.free[engine->sessions.members.free_count++] = number;
}

/* ---- letting go ---- */

/* How many entries at the front start below the floor: their starts never decrease. */
static uint32_t count_below_floor(const struct iso_aion *engine,
                                  const struct aion_sorted_chunks *members)
{
    uint32_t chunks = aion_chunks_chunks(members), below = 0, count;
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        const struct aion_entry *entries =
            aion_chunks_chunk(&engine->sessions.pool, members, chunk, &count);
        if (entries[count - 1].start >= engine->time.floor) {
            while (entries->start < engine->time.floor) {
                entries++;
                below++;
            }
            return below;
        }
        below += count;
    }
    return below;
}

/* The pinned member goes once no entry names it any more. */
static void unpin_member(struct iso_aion *engine, struct aion_session *session)
{
    uint32_t number = session->pinned - 1;
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *entry;
    for (; (entry = aion_chunks_get(&engine->sessions.pool, &session->members, cursor));
         aion_chunks_next(&engine->sessions.pool, &session->members, &cursor)) {
        engine->stats.steps++;
        if (entry->detail == number)
            return;
        if (entry->start > engine->sessions.members.list[number].cts)
            break;
    }
    session->pinned = 0;
    aion_member_free(engine, number);
}

/* Whether a quarter of the chunks lies below the floor: one look says, whatever the session's
 * length. */
static bool has_much_below_floor(const struct iso_aion *engine,
                                 const struct aion_sorted_chunks *members)
{
    uint32_t count;
    const struct aion_entry *entries =
        aion_chunks_chunk(&engine->sessions.pool, members, aion_chunks_chunks(members) / 4, &count);
    return entries[count - 1].start < engine->time.floor;
}

/* The entries up to and including that of `sno` go; none had a position above `cts`. */
void aion_session_lose(const struct iso_aion *engine, struct aion_session *session, uint64_t sno,
                       uint64_t cts)
{
    session->unsure = 0; /* some of it is gone for certain */
    uint64_t below = cts + (engine->options.level == ISO_SER && cts < UINT64_MAX);
    session->lost = sno > session->lost ? sno : session->lost;
    session->below = below > session->below ? below : session->below;
}

/* Lets go of what lies below the floor, but for the last entry there: it has the largest position
 * of all of them. Of a long session once that is much: what is counted each time is let go too. */
void aion_session_trim(struct iso_aion *engine, struct aion_session *session)
{
    bool is_long = aion_chunks_chunks(&session->members) > 1;
    if (session->disorder) {
        aion_disorder_trim(engine, session);
        return;
    }
    if (is_long && !has_much_below_floor(engine, &session->members))
        return;
    uint32_t count = count_below_floor(engine, &session->members), chunk = 0, left, entries_here;
    if (count < 2 || (!is_long && count * 4 < session->members.count))
        return;
    struct aion_cursor last = aion_chunks_begin();
    for (left = count - 1;; left -= entries_here, last.chunk++) {
        aion_chunks_chunk(&engine->sessions.pool, &session->members, last.chunk, &entries_here);
        if (left < entries_here)
            break;
    }
    last.index = left;
    uint32_t kept = aion_chunks_get(&engine->sessions.pool, &session->members, last)->detail,
             pin = session->pinned;
    for (left = count - 1; left; chunk++) {
        const struct aion_entry *entry =
            aion_chunks_chunk(&engine->sessions.pool, &session->members, chunk, &entries_here);
        for (; entries_here && left; entry++, entries_here--, left--) {
            if (entry->transaction == kept)
                pin = kept + 1;
            else
                aion_member_free(engine, entry->transaction);
        }
    }
    aion_chunks_before(&engine->sessions.pool, &session->members, &last);
    const struct aion_entry *gone =
        aion_chunks_get(&engine->sessions.pool, &session->members, last);
    aion_session_lose(engine, session, gone->time, gone->start);
    assert(count <= session->members.count);
    aion_chunks_drop(&engine->sessions.pool, &session->members, count - 1);
    if (session->pinned && pin != session->pinned)
        aion_member_free(engine, session->pinned - 1);
    session->pinned = pin;
    if (pin)
        unpin_member(engine, session);
}

void aion_session_empty(struct iso_aion *engine, struct aion_session *session)
{
    assert(!session->waiting);
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *entry;
    if (session->disorder) {
        aion_disorder_empty(engine, session);
        return;
    }
    if (session->members.count) {
        const struct aion_entry *last = aion_chunks_last(&engine->sessions.pool, &session->members);
        aion_session_lose(engine, session, last->time, last->start);
    }
    for (; (entry = aion_chunks_get(&engine->sessions.pool, &session->members, cursor));
         aion_chunks_next(&engine->sessions.pool, &session->members, &cursor))
        aion_member_free(engine, entry->transaction);
    if (session->pinned)
        aion_member_free(engine, session->pinned - 1);
    session->pinned = 0;
    aion_chunks_release(&engine->sessions.pool, &session->members);
}

/* ---- judging ---- */

/* Does `member` stand after `earlier`, as the level wants it? */
static bool follows_member(const struct iso_aion *engine, const struct aion_member *member,
                           const struct aion_member *earlier)
{
    if (engine->options.level != ISO_SER)
        return member->sts >= earlier->cts;
    return member->cts != earlier->cts ? member->cts > earlier->cts : member->point;
}

/* Is `member` larger in position than `other`? Of equal ones the first in the session counts. */
bool aion_is_larger(const struct iso_aion *engine, const struct aion_member *member,
                    const struct aion_member *other)
{
    if (member->cts != other->cts)
        return member->cts > other->cts;
    return engine->options.level == ISO_SER && member->point && !other->point;
}

static struct iso_aion_party party_of(const struct iso_aion *engine,
                                      const struct aion_member *member)
{
    uint64_t sts = engine->options.level == ISO_RC && member->sts == UINT64_MAX ? 0 : member->sts;
    return (struct iso_aion_party){&engine->values.atoms, member->tid, member->origin, sts,
                                   member->cts};
}

static void emit_session_violation(struct iso_aion *engine, struct aion_session *session,
                                   struct aion_member *member, const struct aion_member *latest)
{
    struct iso_aion_event event = aion_event_of(engine, ISO_SESSION);
    bool listed = !engine->options.max_per_key || session->listed < engine->options.max_per_key;
    event.transaction = party_of(engine, member);
    event.other = party_of(engine, latest);
    event.session_atoms = &engine->sessions.names.atoms;
    event.session = session->name;
    event.unlisted = !listed;
    session->listed += listed && session->listed < COUNTED_MOST;
    engine->stats.counts[ISO_SESSION]++;
    member->emitted = true;
    aion_emit(engine, &event);
}

/* False: it does not follow, and that is reported, once. */
bool aion_session_judge(struct iso_aion *engine, struct aion_session *session,
                        struct aion_member *member, const struct aion_member *latest)
{
    bool fine = follows_member(engine, member, latest);
    if (!fine && !member->emitted)
        emit_session_violation(engine, session, member, latest);
    return fine;
}

/* Would it follow what is not known any more? */
static bool starts_clear(const struct iso_aion *engine, const struct aion_session *session,
                         const struct aion_entrant *entrant)
{
    const struct aion_member *member = &engine->sessions.members.list[entrant->member];
    uint64_t start = member->sts;
    if (engine->options.level == ISO_SER) /* a point stands behind what shares its timestamp */
        start = member->cts + (member->point && member->cts < UINT64_MAX);
    return start >= session->below;
}

/* And stand behind it? */
static bool is_clear(const struct iso_aion *engine, const struct aion_session *session,
                     const struct aion_entrant *entrant)
{
    return entrant->sno >= session->lost && starts_clear(engine, session, entrant);
}

/* With its first position here the session is a new one, whatever its name was before
 * (tombstone.c); transactions that came before it are in no doubt. */
static void restart_session(struct iso_aion *engine, struct aion_session *session)
{
    engine->stats.sessions_undecided -= session->unsure - 1;
    session->unsure = 0;
    session->lost = 0;
}

/* The entries behind `cursor` that have nothing larger now have `number` before them. */
static void pass_latest_on(struct iso_aion *engine, struct aion_session *session,
                           struct aion_cursor cursor, uint32_t number)
{
    for (;;) {
        aion_chunks_next(&engine->sessions.pool, &session->members, &cursor);
        struct aion_entry *entry =
            aion_chunks_get(&engine->sessions.pool, &session->members, cursor);
        if (!entry)
            return;
        struct aion_member *member = &engine->sessions.members.list[number];
        bool has_pinned = entry->detail + 1 == session->pinned;
        if (has_pinned &&
            !aion_is_larger(engine, member, &engine->sessions.members.list[entry->detail]))
            return; /* it and those behind have been judged with what went, which says more */
        aion_session_judge(engine, session, &engine->sessions.members.list[entry->transaction],
                           member);
        if (aion_is_larger(engine, &engine->sessions.members.list[entry->detail], member))
            return;
        entry->detail = number;
        entry->start = member->cts;
        session->rescan_cost++;
        engine->stats.steps++;
    }
}

void aion_session_doubt(struct iso_aion *engine, struct aion_session *session,
                        const struct aion_entrant *entrant, bool in_order)
{
    if (entrant->sno >= session->lost && (!in_order || is_clear(engine, session, entrant)))
        return;
    engine->stats.sessions_undecided++;
    session->unsure +=
        session->unsure && session->unsure < UNSURE_MOST && starts_clear(engine, session, entrant);
}

static void insert_member(struct iso_aion *engine, struct aion_session *session,
                          struct aion_cursor cursor, const struct aion_entrant *entrant)
{
    struct aion_cursor before = cursor;
    uint32_t number = entrant->member, latest = number;
    bool in_order = true;
    if (session->members.count &&
        aion_chunks_before(&engine->sessions.pool, &session->members, &before)) {
        uint32_t earlier =
            aion_chunks_get(&engine->sessions.pool, &session->members, before)->detail;
        in_order = aion_session_judge(engine, session, &engine->sessions.members.list[number],
                                      &engine->sessions.members.list[earlier]);
        if (!aion_is_larger(engine, &engine->sessions.members.list[number],
                            &engine->sessions.members.list[earlier]))
            latest = earlier;
    }
    aion_session_doubt(engine, session, entrant, in_order);
    struct aion_entry entry = {.time = entrant->sno,
                               .start = engine->sessions.members.list[latest].cts,
                               .transaction = number,
                               .detail = latest,
                               .operation = entrant->number};
    cursor = aion_chunks_insert(&engine->sessions.pool, &session->members, cursor, &entry);
    if (latest == number)
        pass_latest_on(engine, session, cursor, number);
    if (session->pinned)
        unpin_member(engine, session);
}

/* The entry of a member that has the largest position up to itself. */
static inline struct aion_entry entry_of(const struct aion_entrant *entrant,
                                         const struct aion_member *member)
{
    return (struct aion_entry){.time = entrant->sno,
                               .start = member->cts,
                               .transaction = entrant->member,
                               .detail = entrant->member,
                               .operation = entrant->number};
}

/* The short way of nearly every member: the last of its session so far, after all others there.
 * False: nothing was done. */
static bool append_member(struct iso_aion *engine, struct aion_session *session,
                          const struct aion_entrant *entrant)
{
    const struct aion_member *member = &engine->sessions.members.list[entrant->member];
    if (!session->members.count)
        return false;
    const struct aion_entry *last = aion_chunks_last(&engine->sessions.pool, &session->members);
    bool follows_member = engine->options.level == ISO_SER || member->sts >= last->start;
    if (last->time >= entrant->sno || member->cts <= last->start || !follows_member)
        return false;
    struct aion_entry *entry =
        aion_chunks_append(&engine->sessions.pool, &session->members, member->cts);
    if (!entry)
        return false;
    *entry = entry_of(entrant, member);
    return true;
}

/* The way of most late ones: among the last of its session, between two that keep the axiom with
 * it. False: nothing was done. */
static bool insert_member_near(struct iso_aion *engine, struct aion_session *session,
                               const struct aion_entrant *entrant)
{
    const struct aion_member *member = &engine->sessions.members.list[entrant->member];
    struct aion_near near;
    if (!session->members.count ||
        !aion_chunks_near(&engine->sessions.pool, &session->members, entrant->sno, &near) ||
        !near.has_room || !near.index || near.index == near.count)
        return false;
    const struct aion_entry *before = &near.entries[near.index - 1], *after = before + 1;
    const struct aion_member *next = &engine->sessions.members.list[after->transaction];
    bool si = engine->options.level != ISO_SER;
    if (after->time == entrant->sno || member->cts <= before->start ||
        (si && member->sts < before->start) || after->start <= member->cts ||
        (si ? next->sts < member->cts : next->cts <= member->cts))
        return false;
    struct aion_entry entry = entry_of(entrant, member);
    aion_chunks_put_near(&engine->sessions.pool, &session->members, &near, &entry);
    return true;
}

static bool came_before(const void *context, const struct aion_entry *other)
{
    return (int32_t)(other->operation - *(const uint32_t *)context) < 0;
}

struct aion_cursor aion_session_cursor(const struct iso_aion *engine,
                                       const struct aion_sorted_chunks *sorted_chunks, uint64_t sno,
                                       uint32_t number)
{
    if (!sorted_chunks->count ||
        aion_chunks_last(&engine->sessions.pool, sorted_chunks)->time < sno)
        return aion_chunks_end(&engine->sessions.pool, sorted_chunks);
    return aion_chunks_among(&engine->sessions.pool, sorted_chunks, sno, came_before, &number);
}

void aion_session_add(struct iso_aion *engine, const struct aion_entrant *entrant)
{
    struct aion_session *session = &engine->sessions.list[entrant->session];
    assert(session->name != ISO_ABSENT);
    if (session->unsure && entrant->sno <= FIRST_PLACE)
        restart_session(engine, session);
    if (session->disorder) {
        aion_disorder_add(engine, session, entrant);
        return;
    }
    if (is_clear(engine, session, entrant) &&
        (append_member(engine, session, entrant) || insert_member_near(engine, session, entrant)))
        return;
    if (aion_chunks_full(&engine->sessions.pool, &session->members))
        aion_session_trim(engine, session);
    insert_member(engine, session,
                  aion_session_cursor(engine, &session->members, entrant->sno, entrant->number),
                  entrant);
    if (session->rescan_cost >
        (engine->options.forced.throttles_soon ? 0 : MUCH + 4 * session->arrived))
        aion_disorder_begin(engine, session);
}
