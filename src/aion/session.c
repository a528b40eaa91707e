/* SESSION, with members of a session arriving in any order.
 *
 * A session is a run of its committed transactions by sno; each entry holds the largest position up to
 * itself. One that comes late is judged against the entry before it, then goes on to those behind it as long
 * as it is larger than what they hold: in a session that keeps the axiom the first step already ends that.
 */
#include "aion/engine_private.h"
#include "base/memory.h"

static uint32_t new_member(struct iso_aion *engine, const struct aion_block *block, uint32_t t,
                           const struct aion_times *times)
{
    const struct iso_history *history = block->history;
    uint32_t number = engine->free_member - 1;
    if (engine->free_member) {
        engine->free_member = engine->members[number].tid;
    } else {
        if (engine->member_count == engine->member_capacity) {
            size_t old = engine->member_capacity, next = iso_column_capacity(old, old + 1);
            engine->members = iso_column_grow(engine->members, old * sizeof *engine->members,
                                              next * sizeof *engine->members);
            engine->member_capacity = (uint32_t)next;
        }
        number = engine->member_count++;
    }
    engine->members_in_use++;
    engine->members[number] =
        (struct aion_member){.sts = times->sts,
                             .cts = times->cts,
                             .origin = engine->options.origin_is_index ? t : history->origin[t],
                             .tid = aion_values_take(&engine->values, &history->atoms, history->tid[t]),
                             .holders = 1,
                             .point = times->point};
    return number;
}

static void drop_member(struct iso_aion *engine, uint32_t number)
{
    struct aion_member *member = &engine->members[number];
    if (--member->holders)
        return;
    aion_values_drop(&engine->values, member->tid);
    engine->members_in_use--;
    member->tid = engine->free_member;
    engine->free_member = number + 1;
}

/* Lets go of what lies below the floor, but for the last entry there: it holds the largest position of all of
 * them. */
static void trim(struct iso_aion *engine, struct aion_session *session)
{
    struct aion_place place = aion_run_begin();
    uint32_t count = 0;
    for (;; aion_run_next(&engine->pool, &session->members, &place), count++) {
        const struct aion_entry *entry = aion_run_get(&engine->pool, &session->members, place);
        if (!entry || entry->hold >= engine->floor)
            break;
    }
    if (count < 2 || count * 4 < session->members.count)
        return;
    place = aion_run_begin();
    for (uint32_t i = 0; i < count - 1; i++, aion_run_next(&engine->pool, &session->members, &place)) {
        const struct aion_entry *entry = aion_run_get(&engine->pool, &session->members, place);
        drop_member(engine, entry->transaction);
        drop_member(engine, entry->detail);
    }
    aion_run_drop(&engine->pool, &session->members, count - 1);
    session->dropped = true;
}

void aion_sessions_trim(struct iso_aion *engine)
{
    for (uint32_t s = 0; s < engine->session_count; s++)
        trim(engine, &engine->sessions[s]);
}

/* Does `member` stand after `earlier`, as the level wants it? */
static bool follows(const struct iso_aion *engine, const struct aion_member *member,
                    const struct aion_member *earlier)
{
    if (engine->options.level == ISO_SI)
        return member->sts >= earlier->cts;
    return member->cts != earlier->cts ? member->cts > earlier->cts : member->point;
}

/* Is `member` larger in position than `other`? Of equal ones the first in the session counts. */
static bool is_larger(const struct iso_aion *engine, const struct aion_member *member,
                      const struct aion_member *other)
{
    if (member->cts != other->cts)
        return member->cts > other->cts;
    return engine->options.level == ISO_SER && member->point && !other->point;
}

static struct iso_aion_party party_of(const struct iso_aion *engine, const struct aion_member *member)
{
    return (struct iso_aion_party){&engine->values.atoms, member->tid, member->origin, member->sts,
                                   member->cts};
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
static void pass_on(struct iso_aion *engine, struct aion_session *session, struct aion_place place,
                    uint32_t number)
{
    for (;;) {
        aion_run_next(&engine->pool, &session->members, &place);
        struct aion_entry *entry = aion_run_get(&engine->pool, &session->members, place);
        if (!entry)
            return;
        struct aion_member *member = &engine->members[number];
        judge(engine, &engine->members[entry->transaction], member);
        if (is_larger(engine, &engine->members[entry->detail], member))
            return;
        drop_member(engine, entry->detail);
        entry->detail = number;
        entry->hold = member->cts;
        member->holders++;
    }
}

static void insert(struct iso_aion *engine, struct aion_session *session, struct aion_place place,
                   uint64_t sno, uint32_t number)
{
    struct aion_place before = place;
    uint32_t latest = number;
    if (session->members.count && aion_run_before(&engine->pool, &session->members, &before)) {
        uint32_t earlier = aion_run_get(&engine->pool, &session->members, before)->detail;
        judge(engine, &engine->members[number], &engine->members[earlier]);
        if (!is_larger(engine, &engine->members[number], &engine->members[earlier]))
            latest = earlier;
    } else if (session->dropped) {
        engine->stats.sessions_undecided++;
    }
    struct aion_entry entry = {
        .time = sno, .hold = engine->members[latest].cts, .transaction = number, .detail = latest};
    engine->members[latest].holders++;
    place = aion_run_insert(&engine->pool, &session->members, place, &entry);
    if (latest == number)
        pass_on(engine, session, place, number);
}

void aion_session_add(struct iso_aion *engine, const struct aion_block *block, uint32_t transaction,
                      const struct aion_times *times, uint32_t session, uint64_t sno)
{
    struct aion_session *entry = &engine->sessions[session];
    uint32_t number = new_member(engine, block, transaction, times);
    if (aion_run_full(&entry->members))
        trim(engine, entry);
    struct aion_place place = aion_run_end(&engine->pool, &entry->members);
    if (entry->members.count && aion_run_last(&engine->pool, &entry->members)->time > sno) {
        place = aion_run_lower(&engine->pool, &entry->members, sno);
        const struct aion_entry *other;
        while ((other = aion_run_get(&engine->pool, &entry->members, place)) && other->time == sno)
            aion_run_next(&engine->pool, &entry->members, &place);
    }
    insert(engine, entry, place, sno, number);
}
