#include "aion/levels/deferred.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cell_key.h"
#include "base/heap.h"
#include "base/memory.h"
#include "base/number_map.h"
#include "base/sorted.h"
#include "history/archive.h"
#include "history/copy.h"
#include "history/moment.h"

/* REBUILD_FROM: the history is made anew from so many on; FLUSH: steps that go to the shards at
 * once. */
#ifdef ISO_VALIDATE
enum { REBUILD_FROM = 8, FLUSH = 16 }; /* so that small histories do it, too */
#else
enum { REBUILD_FROM = 1024, FLUSH = 4096 };
#endif

/* ---- what is due: a heap ---- */

static bool is_earlier(const struct aion_deferred_due *left, const struct aion_deferred_due *right)
{
    if (left->time != right->time)
        return left->time < right->time;
    return left->session != right->session ? left->session < right->session
                                           : left->number < right->number;
}

static void push_due(struct iso_aion *engine, struct aion_deferred_dues *dues, uint64_t time,
                     uint32_t session, const struct aion_deferred_member *member)
{
    assert(session < engine->deferred.count);
    struct aion_deferred_due due = {time, member ? member->sno : 0, session,
                                    member ? member->number : 0};
    ISO_GROW(dues->list, dues->count, dues->capacity);
    ISO_HEAP_PUSH(dues->list, dues->count, due, is_earlier);
    engine->deferred.sessions[session].waiting++;
}

static struct aion_deferred_due pop_due(struct iso_aion *engine, struct aion_deferred_dues *dues)
{
    assert(dues->count);
    struct aion_deferred_due first = dues->list[0];
    ISO_HEAP_POP(dues->list, dues->count, is_earlier);
    assert(engine->deferred.sessions[first.session].waiting);
    engine->deferred.sessions[first.session].waiting--;
    return first;
}

/* ---- sessions ---- */

static uint32_t session_new(struct aion_holding *deferred, uint64_t digest)
{
    uint32_t number = deferred->free - 1;
    if (deferred->free) {
        deferred->free = deferred->sessions[number].waiting;
    } else {
        ISO_GROW(deferred->sessions, deferred->count, deferred->capacity);
        number = deferred->count++;
    }
    deferred->sessions[number] =
        (struct aion_deferred_session){.digest = digest,
                                       .last = {.number = ISO_NONE, .tid = ISO_ABSENT},
                                       .forgotten = deferred->forgotten};
    if (digest)
        iso_number_map_put(&deferred->by_digest, digest, number);
    return number;
}

static uint32_t session_of(const struct aion_taking *taking, bool has_session)
{
    struct aion_holding *deferred = &taking->engine->deferred;
    if (!has_session)
        return session_new(deferred, 0);
    uint64_t digest = aion_cached_session_digest(
        taking->cache, taking->history->txns.session[taking->transaction]);
    uint32_t number = iso_number_map_get(&deferred->by_digest, digest);
    return number == ISO_NUMBER_NONE ? session_new(deferred, digest) : number;
}

/* Once nothing can ask for it any more. */
static void let_session_go(struct iso_aion *engine, uint32_t number)
{
    struct aion_holding *deferred = &engine->deferred;
    struct aion_deferred_session *session = &deferred->sessions[number];
    bool is_over = !session->digest || engine->options.level == ISO_STALE_READS ||
                   session->latest < engine->time.floor;
    if (session->count || session->waiting)
        return;
    if (!is_over) {
        if (engine->options.retention != ISO_AION_FOREVER && !deferred->ended)
            push_due(engine, &deferred->floors, session->latest, number, NULL);
        return;
    }
    aion_forget_known(engine, session, UINT64_MAX);
    assert(!session->writers && !session->starts && !session->known_count);
    if (session->digest && aion_above(session->latest) > deferred->forgotten)
        deferred->forgotten = aion_above(session->latest); /* it may come again */
    aion_values_drop(&engine->values, session->last.tid);
    ISO_FREE_ALL(session->known, session->members);
    if (session->digest)
        iso_number_map_remove(&deferred->by_digest, session->digest);
    *session =
        (struct aion_deferred_session){.waiting = deferred->free, .last = {.tid = ISO_ABSENT}};
    deferred->free = number + 1;
}

/* ---- members ---- */

static bool stands_behind(const struct aion_deferred_member *member,
                          const struct aion_deferred_member *other)
{
    return member->sno != other->sno ? member->sno > other->sno
                                     : (int32_t)(member->number - other->number) > 0;
}

static void insert_member(struct aion_deferred_session *session,
                          const struct aion_deferred_member *member)
{
    ISO_GROW(session->members, session->count, session->capacity);
    uint32_t at = session->count++;
    for (; at && stands_behind(&session->members[at - 1], member); at--)
        session->members[at] = session->members[at - 1];
    assert(!at || stands_behind(member, &session->members[at - 1]));
    session->members[at] = *member;
    session->writers += (member->flags & ISO_WRITES) != 0;
    session->starts += (member->flags & ISO_HAS_STS) != 0;
}

static void drop_members(struct iso_aion *engine, struct aion_deferred_session *session,
                         uint32_t count)
{
    assert(count <= session->count);
    for (uint32_t i = 0; i < count; i++) {
        const struct aion_deferred_member *member = &session->members[i];
        if (member->flags & ISO_WRITES)
            session->written = aion_above(member->times.cts);
        session->writers -= (member->flags & ISO_WRITES) != 0;
        session->starts -= (member->flags & ISO_HAS_STS) != 0;
        aion_values_drop(&engine->values, member->tid);
    }
    session->count -= count;
    memmove(session->members, session->members + count, session->count * sizeof *session->members);
}

static bool has_reads(const struct iso_history *history, uint32_t t)
{
    ISO_EACH(o, history->txns.first_op, t) {
        if (!iso_kind_writes(history->ops.kind[o]))
            return true;
    }
    return false;
}

void aion_deferred_add(const struct aion_taking *taking, const struct aion_accepted *accepted)
{
    struct iso_aion *engine = taking->engine;
    struct aion_holding *deferred = &engine->deferred;
    const struct iso_history *history = taking->history;
    uint32_t t = taking->transaction;
    uint8_t flags = history->txns.flags[t];
    bool reads = has_reads(history, t), has_session = engine->options.session_order &&
                                                      history->txns.session[t] != ISO_NONE &&
                                                      engine->options.level != ISO_STALE_READS;
    iso_boundaries_add(&deferred->boundaries, history, t);
    if (!reads && !has_session)
        return;
    uint64_t origin = engine->options.host.origin_is_index ? t : history->txns.origin[t];
    bool has_time = flags & (ISO_HAS_STS | ISO_HAS_CTS | ISO_OWN_TIMES | ISO_WRITES);
    uint64_t moment = taking->times.cts > taking->times.sts ? taking->times.cts : taking->times.sts;
    if (flags & ISO_OWN_TIMES) {
        uint64_t latest = iso_history_latest_time(history, t);
        moment = latest > moment ? latest : moment;
    }
    struct aion_deferred_member member = {
        .sno = accepted->sno,
        .origin = origin,
        .moment = has_time ? moment : aion_recent(engine),
        .times = taking->times,
        .number = accepted->number,
        .transaction =
            reads ? aion_copy_transaction(&deferred->history, history, t, origin, accepted->sno)
                  : ISO_NONE,
        .tid = aion_values_take(&engine->values, &history->atoms, history->txns.tid[t]),
        .flags = (flags & (ISO_HAS_STS | ISO_WRITES)) | (has_time ? ISO_HAS_CTS : 0)};
    uint32_t number = session_of(taking, has_session);
    struct aion_deferred_session *session = &deferred->sessions[number];
    session->latest = member.moment > session->latest ? member.moment : session->latest;
    insert_member(session, &member);
    deferred->waiting++;
    push_due(engine, &deferred->moments, member.moment, number, &member);
}

/* ---- the transaction at hand ---- */

/* The read as a query to the key's shard: without the elements that the reader appended itself. */
void aion_deferred_query(struct iso_aion *engine, const struct aion_deferred_member *member,
                         const struct aion_deferred_read *read, struct aion_query *query)
{
    struct aion_holding *deferred = &engine->deferred;
    const struct iso_history *history = &deferred->history;
    const struct aion_cached_key *key = aion_cached_key(engine, &deferred->cache, read->key);
    struct aion_looker reader = {&engine->values.atoms, member->tid, member->times.cts,
                                 read->has_own};
    const iso_atom *elements = &history->ops.value[read->operation];
    uint32_t count = 1;
    *query = (struct aion_query){.boundaries = &deferred->boundaries,
                                 .are_positions = deferred->are_positions};
    if (read->prefix != ISO_NONE) {
        bool null = iso_kind_of(history, read->operation) == ISO_READ;
        count = null ? 0 : read->prefix;
        elements = count ? history->lists.element +
                               history->lists.first[history->ops.value[read->operation]]
                         : NULL;
    }
    aion_query_begin(query, engine->shards.list[key->shard], key->number - 1, &reader,
                     &history->atoms, elements, count);
}

void aion_deferred_soften(const struct iso_aion *engine, struct aion_deferred_read *read,
                          const struct aion_query *query)
{
    bool has_log = engine->deferred.boundaries.is_on || !engine->deferred.are_positions;
    if (read->outcome != AION_DEFERRED_WRONG || has_log || !aion_list_is_tied(query))
        return;
    read->outcome = AION_DEFERRED_UNSURE;
    read->reason = ISO_UNJUDGED_VERSION_ORDER;
}

/* Reads of the transaction at hand that are wrong or unsure, counted by key: its access keeps
 * count. */
static void count_flagged(struct iso_aion *engine)
{
    assert(!engine->deferred.reads.count || engine->accesses.count);
    struct aion_deferred_reads *reads = &engine->deferred.reads;
    for (uint32_t i = 0; i < reads->count; i++)
        engine->accesses.list[reads->list[i].access].external +=
            reads->list[i].outcome == AION_DEFERRED_WRONG;
}

static void count_unsure(struct iso_aion *engine, const struct aion_deferred_read *read)
{
    struct aion_access *access = &engine->accesses.list[read->access];
    engine->stats.reads_judged--;
    engine->stats.reads_left++;
    if (access->external || access->unsure)
        return; /* one for each key, and an accusation takes precedence */
    access->unsure = true;
    engine->stats.reads_unjudged++;
    engine->stats.unjudged[read->reason]++;
}

/* Nothing says of a transaction without any time that those earlier in its session have come, or
 * are still known: where not all is kept, it is right about nothing. */
static void lose_reads(struct aion_deferred_reads *reads)
{
    for (uint32_t i = 0; i < reads->count; i++)
        reads->list[i].outcome = AION_DEFERRED_LOST;
}

/* A read that could not be looked at may be one of a cell's row, and then the cell is not judged
 * (row.c). */
static void lose_cells(struct aion_holding *deferred)
{
    const struct iso_history *history = &deferred->history;
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text key, row;
    bool is_lost = false;
    for (uint32_t i = 0; i < deferred->reads.count; i++)
        is_lost |= deferred->reads.list[i].outcome == AION_DEFERRED_LOST;
    for (uint32_t i = 0; is_lost && i < deferred->reads.count; i++) {
        struct aion_deferred_read *read = &deferred->reads.list[i];
        if (read->outcome != AION_DEFERRED_WRONG)
            continue;
        key.at = iso_atom_text(&history->atoms, history->keys.atom[read->key], buffer, &key.length);
        if (iso_cell_key_row(key, &row))
            read->outcome = AION_DEFERRED_LOST;
    }
}

/* Counts what is not judged, and sends what is wrong to its shards. */
static void finalize_reads(struct iso_aion *engine, const struct aion_deferred_member *member)
{
    struct aion_holding *deferred = &engine->deferred;
    struct aion_taking taking = {.engine = engine,
                                 .cache = &deferred->cache,
                                 .history = &deferred->history,
                                 .transaction = member->transaction,
                                 .flags = ISO_COMMITTED | (member->flags & ISO_HAS_STS) |
                                          (member->times.point ? ISO_POINT : 0),
                                 .times = member->times,
                                 .arrival = engine->time.now};
    bool by_index = engine->options.host.origin_is_index;
    engine->options.host.origin_is_index = false;
    memset(engine->shards.part_of, 0, engine->shards.count * sizeof *engine->shards.part_of);
    lose_cells(deferred);
    count_flagged(engine);
    for (uint32_t i = 0; i < deferred->reads.count; i++) {
        const struct aion_deferred_read *read = &deferred->reads.list[i];
        if (read->outcome == AION_DEFERRED_WRONG)
            aion_access_flagged(&taking, read, engine->accesses.list[read->access].external > 1);
        else if (read->outcome == AION_DEFERRED_LOST)
            engine->stats.reads_undecided++;
        else if (read->outcome == AION_DEFERRED_UNSURE)
            count_unsure(engine, read);
    }
    engine->options.host.origin_is_index = by_index;
}

static uint32_t steps_on_the_way(const struct iso_aion *engine)
{
    uint32_t steps = 0;
    for (uint32_t s = 0; s < engine->shards.count; s++)
        steps += engine->shards.batch[s].step_count;
    return steps;
}

/* Its reads stand in `held->reads`; false: they cannot be had. */
static bool begin_transaction(struct iso_aion *engine, const struct aion_deferred_member *member)
{
    struct aion_holding *deferred = &engine->deferred;
    const struct iso_history *history = &deferred->history;
    uint32_t t = member->transaction;
    struct aion_taking taking = {.engine = engine,
                                 .cache = &deferred->cache,
                                 .history = history,
                                 .transaction = t,
                                 .flags = ISO_COMMITTED,
                                 .times = member->times,
                                 .what = AION_TAKE_READS};
    iso_boundaries_sort(&deferred->boundaries);
    deferred->reads.count = 0;
    ISO_EACH(o, history->txns.first_op, t)
        aion_cached_key(engine, &deferred->cache, history->ops.key[o]);
    if (engine->budget.failure.status != ISO_OK)
        return false;
    bool by_index = engine->options.host.origin_is_index;
    /* the copy's origin already is what events are to carry */
    engine->options.host.origin_is_index = false;
    aion_access_reads(&taking);
    engine->options.host.origin_is_index = by_index;
    return true;
}

static void end_transaction(struct iso_aion *engine, struct aion_deferred_member *member)
{
    assert(engine->deferred.dead < engine->deferred.history.txns.count);
    finalize_reads(engine, member);
    member->transaction = ISO_NONE;
    engine->deferred.dead++;
    if (steps_on_the_way(engine) >= FLUSH)
        aion_run_task(engine, (struct aion_task){.what = AION_APPLY});
}

/* ---- rc and stale ---- */

/* The first that has a start behind it in its session, or NULL. */
static const struct aion_deferred_member *
find_next_start(const struct aion_deferred_session *session, uint32_t at)
{
    for (uint32_t i = at + 1; session->starts && i < session->count; i++) {
        if (session->members[i].flags & ISO_HAS_STS)
            return &session->members[i];
    }
    return NULL;
}

/* A transaction that does not say where it started did so after what its session had committed
 * before. */
static uint64_t start_of(const struct iso_aion *engine, const struct aion_deferred_session *session,
                         uint32_t at)
{
    const struct iso_boundaries *boundaries = &engine->deferred.boundaries;
    const struct aion_deferred_member *member = &session->members[at];
    uint64_t written = session->written;
    if (member->flags & ISO_HAS_STS)
        return aion_above(iso_boundaries_snapshot(boundaries, member->times.sts));
    for (uint32_t i = at; i-- > 0;) {
        if (session->members[i].flags & ISO_WRITES) {
            written = aion_above(session->members[i].times.cts);
            break;
        }
    }
    return written ? aion_above(iso_boundaries_commit(boundaries, written - 1)) : 1;
}

/* `last`: the last timestamp below the moment `high`, or UINT64_MAX. */
static void judge_moments(struct iso_aion *engine, struct aion_deferred_session *session,
                          uint32_t at, uint64_t high, uint64_t last, bool is_complete)
{
    struct aion_deferred_member *member = &session->members[at];
    if (!begin_transaction(engine, member))
        return;
    uint64_t low = start_of(engine, session, at);
    struct aion_moments moments = {engine, member, low, high, high, last, is_complete};
    if (engine->options.level == ISO_RC) {
        moments.high = high > low ? high : low;
        aion_judge_committed(&moments);
    } else {
        moments.high = moments.end = low;
        moments.last = member->times.sts;
        aion_judge_stale(&moments);
    }
    if (engine->time.floor && !(member->flags & ISO_HAS_CTS))
        lose_reads(&engine->deferred.reads);
    end_transaction(engine, member);
}

/* True if its turn has come, and then until when its moments last. */
static bool is_complete(struct iso_aion *engine, uint32_t number, uint32_t at, uint64_t *high,
                        uint64_t *last, bool *is_forced)
{
    struct aion_deferred_session *session = &engine->deferred.sessions[number];
    struct aion_deferred_member *member = &session->members[at];
    const struct iso_boundaries *boundaries = &engine->deferred.boundaries;
    uint64_t limit = engine->time.limit;
    bool is_past = engine->deferred.ended || member->moment < limit;
    *is_forced = member->moment < engine->time.floor;
    *high = *last = UINT64_MAX;
    if (engine->options.level == ISO_RC && member->times.point) {
        const struct aion_deferred_member *next = find_next_start(session, at);
        is_past = engine->deferred.ended || (is_past && next && next->moment < limit);
        if (next)
            *high = aion_above(iso_boundaries_snapshot(boundaries, *last = next->times.sts));
        if (!is_past && !*is_forced && !member->queued && member->moment < limit) {
            member->queued = true;
            push_due(engine, &engine->deferred.floors, member->moment, number, member);
        }
    } else {
        *high = aion_above(iso_boundaries_commit(boundaries, *last = member->times.cts));
    }
    *is_forced &= !is_past;
    if (*is_forced) /* what may have been read later is not there yet */
        *high = aion_above(iso_boundaries_commit(boundaries, *last = limit ? limit - 1 : 0));
    return is_past || *is_forced;
}

/* Judges one if its turn has come. */
static void try_moments(struct iso_aion *engine, uint32_t number, uint32_t at)
{
    struct aion_deferred_session *session = &engine->deferred.sessions[number];
    uint64_t high, last;
    bool is_forced;
    iso_boundaries_sort(&engine->deferred.boundaries);
    if (session->members[at].judged || !is_complete(engine, number, at, &high, &last, &is_forced))
        return;
    session = &engine->deferred.sessions[number];
    if (session->members[at].transaction != ISO_NONE)
        judge_moments(engine, session, at, high, last, !is_forced);
    session->members[at].judged = true;
    assert(engine->deferred.waiting);
    engine->deferred.waiting--;
}

/* The cursor of the member that is due; false: it has gone. */
static bool find_member(const struct aion_deferred_session *session,
                        const struct aion_deferred_due *due, uint32_t *at)
{
    struct aion_deferred_member sought = {.sno = due->sno, .number = due->number};
    uint32_t high = session->count;
    *at = 0;
    ISO_BISECT(*at, high, middle, stands_behind(&sought, &session->members[middle]));
    return *at < session->count && session->members[*at].sno == due->sno &&
           session->members[*at].number == due->number;
}

/* The one that is due, and those that waited for its start. */
static void process_moments(struct iso_aion *engine, const struct aion_deferred_due *due)
{
    uint32_t number = due->session, at, done = 0;
    if (!find_member(&engine->deferred.sessions[number], due, &at))
        return;
    try_moments(engine, number, at);
    bool starts = engine->deferred.sessions[number].members[at].flags & ISO_HAS_STS;
    while (starts && at-- > 0) {
        try_moments(engine, number, at);
        starts = !(engine->deferred.sessions[number].members[at].flags & ISO_HAS_STS);
    }
    struct aion_deferred_session *session = &engine->deferred.sessions[number];
    while (done < session->count && session->members[done].judged)
        done++;
    drop_members(engine, session, done);
}

/* ---- ryw and mr ---- */

static struct iso_aion_party party_of(const struct iso_aion *engine,
                                      const struct aion_deferred_member *member)
{
    return (struct iso_aion_party){&engine->values.atoms, member->tid, member->origin,
                                   member->times.sts, member->times.cts};
}

/* Behind it the session's order starts anew. */
static void emit_session(struct iso_aion *engine, struct aion_deferred_session *session,
                         const struct aion_deferred_member *member)
{
    struct iso_aion_event event = aion_event_of(engine, ISO_SESSION);
    event.transaction = party_of(engine, member);
    event.other = party_of(engine, &session->last);
    engine->stats.counts[ISO_SESSION]++;
    aion_emit(engine, &event);
    aion_forget_known(engine, session, UINT64_MAX);
    session->forgotten = 0;
}

static bool goes_back(const struct aion_deferred_session *session,
                      const struct aion_deferred_member *writer)
{
    return session->last.number != ISO_NONE && writer->times.cts < session->last.times.cts;
}

static void take_writer(struct iso_aion *engine, struct aion_deferred_session *session,
                        const struct aion_deferred_member *writer)
{
    aion_know_writer(engine, session, writer);
    if (session->last.number != ISO_NONE && writer->times.cts <= session->last.times.cts)
        return;
    aion_values_drop(&engine->values, session->last.tid);
    session->last = *writer;
    session->last.number = 0;
    session->last.tid = aion_values_reference(&engine->values, writer->tid);
}

/* The next writer of the session's order, or NULL. */
static const struct aion_deferred_member *
find_next_writer(const struct aion_deferred_session *session, uint32_t at)
{
    for (uint32_t i = at; session->writers && i < session->count; i++) {
        if (session->members[i].flags & ISO_WRITES)
            return goes_back(session, &session->members[i]) && i > at ? NULL : &session->members[i];
    }
    return NULL;
}

/* False: what it may have read is not all there. */
static bool judge_member(struct iso_aion *engine, uint32_t number, uint32_t at)
{
    struct aion_deferred_session *session = &engine->deferred.sessions[number];
    struct aion_deferred_member *member = &session->members[at];
    const struct aion_deferred_member *next = find_next_writer(session, at);
    uint64_t limit = next ? next->times.cts : UINT64_MAX;
    bool is_past = engine->deferred.ended || (next && next->moment < engine->time.limit),
         is_forced = !is_past && member->moment < engine->time.floor;
    if (!is_past && !is_forced) {
        if (!member->queued && member->moment < engine->time.limit) {
            member->queued = true;
            push_due(engine, &engine->deferred.floors, member->moment, number, member);
        }
        return false;
    }
    if (member->flags & ISO_WRITES && goes_back(session, member))
        emit_session(engine, session, member);
    if (member->transaction != ISO_NONE && begin_transaction(engine, member)) {
        aion_judge_guarantee(engine, session, member,
                             is_forced && engine->time.limit ? engine->time.limit - 1 : limit,
                             is_past);
        if (engine->time.floor && !(member->flags & ISO_HAS_CTS))
            lose_reads(&engine->deferred.reads);
        end_transaction(engine, member);
    }
    if (member->flags & ISO_WRITES)
        take_writer(engine, session, member);
    assert(engine->deferred.waiting);
    engine->deferred.waiting--;
    return true;
}

static void process_session(struct iso_aion *engine, uint32_t number)
{
    uint32_t at = 0;
    while (at < engine->deferred.sessions[number].count && judge_member(engine, number, at))
        at++;
    struct aion_deferred_session *session = &engine->deferred.sessions[number];
    drop_members(engine, session, at);
    uint32_t half = session->known_count / 2;
    if (half && session->known[half].cts < engine->time.floor)
        aion_forget_known(engine, session, engine->time.floor);
}

/* ---- all ---- */

static void process(struct iso_aion *engine, struct aion_deferred_due due)
{
    if (iso_aion_is_about_sessions(engine->options.level))
        process_session(engine, due.session);
    else
        process_moments(engine, &due);
    let_session_go(engine, due.session);
}

/* Snapshots below the floor tell nothing apart that is kept, but for one. */
static void trim_snapshot_boundaries(struct iso_boundaries *boundaries, uint64_t floor)
{
    uint32_t count = 0;
    if (boundaries->count < REBUILD_FROM || boundaries->list[boundaries->count / 2] >= floor ||
        !boundaries->is_sorted)
        return;
    while (boundaries->list[count + 1] < floor)
        count++;
    boundaries->count -= count;
    memmove(boundaries->list, boundaries->list + count,
            boundaries->count * sizeof *boundaries->list);
}

/* Once most of what is kept was judged, the others move to a new history. */
static void rebuild_history(struct aion_holding *deferred)
{
    struct iso_history kept;
    if (deferred->history.txns.count < REBUILD_FROM ||
        deferred->dead < deferred->history.txns.count / 4 * 3)
        return;
    iso_history_init(&kept);
    for (uint32_t s = 0; s < deferred->count; s++) {
        for (uint32_t i = 0; i < deferred->sessions[s].count; i++) {
            struct aion_deferred_member *member = &deferred->sessions[s].members[i];
            if (member->transaction != ISO_NONE)
                member->transaction = aion_copy_transaction(
                    &kept, &deferred->history, member->transaction, member->origin, member->sno);
        }
    }
    iso_history_release(&deferred->history);
    deferred->history = kept;
    deferred->dead = 0;
    aion_key_cache_set(&deferred->cache, &deferred->history);
}

/* Everything that was sent is applied, and final by what has passed. */
static void finish(struct iso_aion *engine)
{
    aion_run_task(engine, (struct aion_task){.what = AION_APPLY});
    trim_snapshot_boundaries(&engine->deferred.boundaries, engine->time.floor);
    rebuild_history(&engine->deferred);
    aion_key_cache_forget(&engine->deferred.cache);
}

void aion_deferred_advance(struct iso_aion *engine)
{
    struct aion_holding *deferred = &engine->deferred;
    if (!aion_holds(engine))
        return;
    while (deferred->moments.count && deferred->moments.list[0].time < engine->time.limit)
        process(engine, pop_due(engine, &deferred->moments));
    while (deferred->floors.count && deferred->floors.list[0].time < engine->time.floor)
        process(engine, pop_due(engine, &deferred->floors));
    finish(engine);
}

void aion_deferred_end(struct iso_aion *engine)
{
    struct aion_holding *deferred = &engine->deferred;
    if (!aion_holds(engine))
        return;
    deferred->ended = true;
    while (deferred->moments.count)
        process(engine, pop_due(engine, &deferred->moments));
    while (deferred->floors.count)
        process(engine, pop_due(engine, &deferred->floors));
    assert(!deferred->waiting && !deferred->moments.count);
    finish(engine);
}

uint64_t aion_deferred_bytes(const struct iso_aion *engine)
{
    const struct aion_holding *deferred = &engine->deferred;
    uint64_t bytes = (uint64_t)deferred->count * sizeof *deferred->sessions;
    if (!aion_holds(engine))
        return 0;
    for (uint32_t s = 0; s < deferred->count; s++)
        bytes += (uint64_t)deferred->sessions[s].count * sizeof *deferred->sessions[s].members +
                 (uint64_t)deferred->sessions[s].known_count * sizeof *deferred->sessions[s].known;
    return bytes + iso_history_size(&deferred->history) +
           deferred->boundaries.count * sizeof *deferred->boundaries.list +
           (deferred->moments.count + deferred->floors.count) * sizeof *deferred->moments.list;
}

void aion_holding_release(struct iso_aion *engine)
{
    struct aion_holding *deferred = &engine->deferred;
    for (uint32_t s = 0; s < deferred->count; s++) {
        ISO_FREE_ALL(deferred->sessions[s].members, deferred->sessions[s].known);
    }
    iso_free(deferred->sessions);
    iso_number_map_release(&deferred->by_digest);
    ISO_FREE_ALL(deferred->moments.list, deferred->floors.list, deferred->boundaries.list,
                 deferred->reads.list);
    aion_key_cache_release(&deferred->cache);
    iso_history_release(&deferred->history);
}

/* ---- saved and restored ---- */

static void refill(struct aion_holding *deferred)
{
    for (uint32_t s = 0; s < deferred->count; s++) {
        if (deferred->sessions[s].digest)
            iso_number_map_put(&deferred->by_digest, deferred->sessions[s].digest, s);
    }
}

void aion_deferred_archive(struct iso_archive *archive, struct iso_aion *engine)
{
    struct aion_holding *deferred = &engine->deferred;
    if (!aion_holds(engine))
        return;
    iso_history_archive(archive, &deferred->history);
    if (archive->restoring)
        aion_key_cache_set(&deferred->cache, &deferred->history);
    ISO_ARCHIVE_VALUE(archive, deferred->dead);
    ISO_ARCHIVE_VALUE(archive, deferred->forgotten);
    ISO_ARCHIVE_VALUE(archive, deferred->free);
    ISO_ARCHIVE_VALUE(archive, deferred->waiting);
    ISO_ARCHIVE_ANY(archive, "held sessions", ISO_ARCHIVE_HEAP, deferred->sessions, deferred->count,
                    deferred->capacity);
    for (uint32_t s = 0; s < deferred->count; s++) {
        struct aion_deferred_session *session = &deferred->sessions[s];
        uint32_t count = session->count, known = session->known_count;
        if (archive->restoring) {
            session->members = NULL; /* of another process */
            session->known = NULL;
        }
        if (session->capacity)
            ISO_ARCHIVE_ANY(archive, "held", ISO_ARCHIVE_HEAP, session->members, session->count,
                            session->capacity);
        if (session->known_capacity)
            ISO_ARCHIVE_ANY(archive, "known", ISO_ARCHIVE_HEAP, session->known,
                            session->known_count, session->known_capacity);
        iso_archive_expect(archive, session->count == count && session->known_count == known);
    }
    ISO_ARCHIVE_LIST(archive, "moments", ISO_ARCHIVE_HEAP, deferred->moments);
    ISO_ARCHIVE_LIST(archive, "floors", ISO_ARCHIVE_HEAP, deferred->floors);
    ISO_ARCHIVE_LIST(archive, "snapshots", ISO_ARCHIVE_HEAP, deferred->boundaries);
    ISO_ARCHIVE_VALUE(archive, deferred->boundaries.is_sorted);
    if (archive->restoring && archive->error->status == ISO_OK)
        refill(deferred);
}

void aion_deferred_validate(const struct aion_holding *deferred)
{
    uint32_t waiting = 0, dues = 0;
    for (uint32_t s = 0; s < deferred->count; s++) {
        const struct aion_deferred_session *session = &deferred->sessions[s];
        bool is_free = !session->members && !session->digest;
        for (uint32_t i = 0; i < session->count; i++) {
            waiting += !session->members[i].judged;
            assert(!i || stands_behind(&session->members[i], &session->members[i - 1]));
            assert(session->members[i].transaction == ISO_NONE ||
                   session->members[i].transaction < deferred->history.txns.count);
        }
        for (uint32_t i = 1; i < session->known_count; i++)
            assert(session->known[i - 1].cts <= session->known[i].cts);
        dues += is_free ? 0 : session->waiting;
    }
    assert(waiting == deferred->waiting &&
           dues == deferred->moments.count + deferred->floors.count);
    (void)waiting, (void)dues;
}
