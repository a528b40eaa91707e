/* Sessions out of order: whose members come so that one after the other stands before many, and
 * ends after them.
 *
 * In such a session what each entry would have to say, the largest position before it, changes for
 * many of them each time. So two runs are kept in place of one. The *records*: those whose
 * positions are larger than all before; the last of them at or before a position is what counts
 * there. And the *unreported*: those that follow all that stands before them as far as it is known.
 * A new record takes the place of those behind it that are not larger, and breaks the order of the
 * unreported up to the next record, but for those that begin where it ends. Each member becomes a
 * record once, and is reported once: so a session costs the logarithm a member, whatever the order.
 * Who is neither is known no more, and not needed.
 */
#include <assert.h>

#include "aion/state_private.h"
#include "base/memory.h"

static struct aion_disorder *disorder_of(struct iso_aion *engine,
                                         const struct aion_session *session)
{
    assert(session->disorder && session->disorder <= engine->sessions.disorder_count);
    return &engine->sessions.disorders[session->disorder - 1];
}

static void take_member(struct iso_aion *engine, struct aion_sorted_chunks *sorted_chunks,
                        struct aion_cursor *cursor)
{
    uint32_t number = aion_chunks_get(&engine->sessions.pool, sorted_chunks, *cursor)->transaction;
    engine->stats.steps++;
    aion_chunks_take(&engine->sessions.pool, sorted_chunks, cursor);
    assert(engine->sessions.members.list[number].uses);
    if (!--engine->sessions.members.list[number].uses)
        aion_member_free(engine, number);
}

static void put_member(struct iso_aion *engine, struct aion_sorted_chunks *sorted_chunks,
                       const struct aion_entrant *entrant, uint64_t start)
{
    struct aion_entry entry = {.time = entrant->sno,
                               .start = start,
                               .transaction = entrant->member,
                               .operation = entrant->number};
    aion_chunks_insert(&engine->sessions.pool, sorted_chunks,
                       aion_session_cursor(engine, sorted_chunks, entrant->sno, entrant->number),
                       &entry);
    engine->sessions.members.list[entrant->member].uses++;
}

/* The least cts of one that stands before and breaks its order. */
static uint64_t bar_of(const struct iso_aion *engine, const struct aion_member *member)
{
    uint64_t start = engine->options.level != ISO_SER ? member->sts : member->cts;
    bool above = engine->options.level != ISO_SER || member->point;
    return above && start < UINT64_MAX ? start + 1 : start;
}

static bool is_behind(const struct aion_entry *entry, const struct aion_entry *other)
{
    return entry->time != other->time ? entry->time > other->time
                                      : (int32_t)(entry->operation - other->operation) > 0;
}

/* A new record: the unreported behind it, up to and including the next record. */
static void judge_behind(struct iso_aion *engine, struct aion_session *session,
                         const struct aion_entrant *entrant, const struct aion_entry *until)
{
    struct aion_sorted_chunks *unreported = &disorder_of(engine, session)->unreported;
    struct aion_cursor cursor =
        aion_session_cursor(engine, unreported, entrant->sno, entrant->number);
    uint64_t cts = engine->sessions.members.list[entrant->member].cts;
    for (;;) {
        engine->stats.steps += aion_chunks_skip(&engine->sessions.pool, unreported, &cursor,
                                                cts < UINT64_MAX ? cts + 1 : cts) +
                               1;
        const struct aion_entry *entry =
            aion_chunks_get(&engine->sessions.pool, unreported, cursor);
        if (!entry || (until && is_behind(entry, until)))
            return;
        struct aion_member *member = &engine->sessions.members.list[entry->transaction];
        if (aion_session_judge(engine, session, member,
                               &engine->sessions.members.list[entrant->member]))
            aion_chunks_next(&engine->sessions.pool, unreported, &cursor);
        else
            take_member(engine, unreported, &cursor);
    }
}

static void add_record(struct iso_aion *engine, struct aion_session *session,
                       const struct aion_entrant *entrant)
{
    struct aion_sorted_chunks *records = &disorder_of(engine, session)->records;
    const struct aion_member *member = &engine->sessions.members.list[entrant->member];
    struct aion_cursor cursor = aion_session_cursor(engine, records, entrant->sno, entrant->number);
    const struct aion_entry *next;
    while ((next = aion_chunks_get(&engine->sessions.pool, records, cursor)) &&
           !aion_is_larger(engine, &engine->sessions.members.list[next->transaction], member))
        take_member(engine, records, &cursor);
    struct aion_entry until = next ? *next : (struct aion_entry){.time = 0};
    judge_behind(engine, session, entrant, next ? &until : NULL);
    put_member(engine, &disorder_of(engine, session)->records, entrant, member->cts);
}

void aion_disorder_add(struct iso_aion *engine, struct aion_session *session,
                       const struct aion_entrant *entrant)
{
    assert(!session->members.count);
    struct aion_sorted_chunks *records = &disorder_of(engine, session)->records;
    struct aion_member *member = &engine->sessions.members.list[entrant->member];
    struct aion_cursor before = aion_session_cursor(engine, records, entrant->sno, entrant->number);
    const struct aion_member *earlier = NULL;
    bool in_order = true;
    member->uses = 1; /* while it is looked at */
    if (records->count && aion_chunks_before(&engine->sessions.pool, records, &before))
        earlier = &engine->sessions.members
                       .list[aion_chunks_get(&engine->sessions.pool, records, before)->transaction];
    if (earlier)
        in_order = aion_session_judge(engine, session, member, earlier);
    aion_session_doubt(engine, session, entrant, in_order);
    if (!earlier || aion_is_larger(engine, member, earlier))
        add_record(engine, session, entrant);
    if (!member->emitted)
        put_member(engine, &disorder_of(engine, session)->unreported, entrant,
                   bar_of(engine, member));
    if (!--member->uses)
        aion_member_free(engine, entrant->member);
}

/* ---- beginning ---- */

static uint32_t new_disorder(struct aion_sessions *sessions)
{
    uint32_t number = sessions->free_disorder - 1;
    if (sessions->free_disorder) {
        sessions->free_disorder = sessions->disorders[number].next_free;
    } else {
        ISO_GROW(sessions->disorders, sessions->disorder_count, sessions->disorder_capacity);
        number = sessions->disorder_count++;
    }
    sessions->disorders[number] = (struct aion_disorder){.next_free = 0};
    return number + 1;
}

void aion_disorder_begin(struct iso_aion *engine, struct aion_session *session)
{
    assert(!session->disorder);
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *entry;
    session->disorder = new_disorder(&engine->sessions);
    struct aion_disorder *disorder = disorder_of(engine, session);
    if (session->pinned) { /* it stands before all that are left, behind none that comes to stand
                              before `lost` */
        const struct aion_member *pinned = &engine->sessions.members.list[session->pinned - 1];
        struct aion_entrant first = {.sno = session->lost, .member = session->pinned - 1};
        entry = aion_chunks_get(&engine->sessions.pool, &session->members, cursor);
        first.number = entry ? entry->operation - 1 : 0;
        engine->sessions.members.list[first.member].uses = 0;
        put_member(engine, &disorder->records, &first, pinned->cts);
    }
    for (; (entry = aion_chunks_get(&engine->sessions.pool, &session->members, cursor));
         aion_chunks_next(&engine->sessions.pool, &session->members, &cursor)) {
        struct aion_member *member = &engine->sessions.members.list[entry->transaction];
        struct aion_entrant entrant = {
            .sno = entry->time, .member = entry->transaction, .number = entry->operation};
        member->uses = 0;
        if (entry->detail == entry->transaction)
            put_member(engine, &disorder->records, &entrant, member->cts);
        if (!member->emitted)
            put_member(engine, &disorder->unreported, &entrant, bar_of(engine, member));
        if (!member->uses)
            aion_member_free(engine, entry->transaction);
    }
    aion_chunks_release(&engine->sessions.pool, &session->members);
    session->pinned = session->rescan_cost = 0;
}

/* ---- letting go ---- */

/* Members that are not `kept` go, up to `until` (NULL: all of them); the last sno and the largest
 * position of those that go. */
static void drop_members(struct iso_aion *engine, struct aion_sorted_chunks *sorted_chunks,
                         const struct aion_entry *until, uint32_t kept, uint64_t *sno,
                         uint64_t *cts)
{
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *entry;
    while ((entry = aion_chunks_get(&engine->sessions.pool, sorted_chunks, cursor)) &&
           (!until || is_behind(until, entry))) {
        if (entry->transaction == kept) {
            aion_chunks_next(&engine->sessions.pool, sorted_chunks, &cursor);
            continue;
        }
        uint64_t position = engine->sessions.members.list[entry->transaction].cts;
        *sno = entry->time > *sno ? entry->time : *sno;
        *cts = position > *cts ? position : *cts;
        take_member(engine, sorted_chunks, &cursor);
    }
}

/* The last record below the floor stays: it has the largest position of all that go, and of what is
 * kept behind it. */
void aion_disorder_trim(struct iso_aion *engine, struct aion_session *session)
{
    struct aion_disorder *disorder = disorder_of(engine, session);
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *record, *last = NULL;
    uint64_t sno = 0, cts = 0;
    for (; (record = aion_chunks_get(&engine->sessions.pool, &disorder->records, cursor)) &&
           record->start < engine->time.floor;
         aion_chunks_next(&engine->sessions.pool, &disorder->records, &cursor))
        last = record;
    if (!last)
        return;
    struct aion_entry kept = *last, until = record ? *record : kept;
    uint32_t before = disorder->records.count + disorder->unreported.count;
    drop_members(engine, &disorder->records, &kept, ISO_NONE, &sno, &cts);
    drop_members(engine, &disorder->unreported, record ? &until : NULL, kept.transaction, &sno,
                 &cts);
    assert(disorder->records.count);
    if (disorder->records.count + disorder->unreported.count < before)
        aion_session_lose(engine, session, sno, cts);
}

void aion_disorder_empty(struct iso_aion *engine, struct aion_session *session)
{
    struct aion_disorder *disorder = disorder_of(engine, session);
    uint64_t sno = 0, cts = 0;
    drop_members(engine, &disorder->records, NULL, ISO_NONE, &sno, &cts);
    drop_members(engine, &disorder->unreported, NULL, ISO_NONE, &sno, &cts);
    aion_session_lose(engine, session, sno, cts);
    aion_chunks_release(&engine->sessions.pool, &disorder->records);
    aion_chunks_release(&engine->sessions.pool, &disorder->unreported);
    disorder->next_free = engine->sessions.free_disorder;
    engine->sessions.free_disorder = session->disorder;
    session->disorder = 0;
}
