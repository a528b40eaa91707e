/* Levels about sessions: the writers that a session's reads have to know of. ryw: its own earlier
 * writers; mr: the writers of what it has read (docs/semantics.md). Members come in the session's
 * order. */
#include "aion/levels/deferred.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/sorted.h"

struct knowledge {
    struct iso_aion *engine;
    const struct aion_deferred_session *session;
    bool by_guess;
};

/* ---- what is known ---- */

static uint32_t cursor_of(const struct aion_deferred_session *session, uint64_t cts)
{
    uint32_t low = 0, high = session->known_count;
    ISO_BISECT(low, high, middle, session->known[middle].cts < cts);
    return low;
}

/* The entry of a writer, or where it would stand. */
static bool find_known(struct iso_aion *engine, const struct aion_deferred_session *session,
                       const struct iso_atoms *atoms, iso_atom tid, uint64_t cts, uint32_t *at)
{
    for (*at = cursor_of(session, cts);
         *at < session->known_count && session->known[*at].cts == cts; ++*at) {
        if (aion_atoms_same(&engine->values.atoms, session->known[*at].tid, atoms, tid))
            return true;
    }
    return false;
}

static void add_known(struct iso_aion *engine, struct aion_deferred_session *session,
                      const struct iso_atoms *atoms, iso_atom tid, uint64_t cts, bool is_guess)
{
    uint32_t at;
    if (find_known(engine, session, atoms, tid, cts, &at)) {
        session->known[at].is_guess &= is_guess;
        return;
    }
    assert(at == session->known_count || session->known[at].cts > cts);
    ISO_GROW(session->known, session->known_count, session->known_capacity);
    memmove(session->known + at + 1, session->known + at,
            (session->known_count - at) * sizeof *session->known);
    uint32_t value = atoms == &engine->values.atoms ? aion_values_reference(&engine->values, tid)
                                                    : aion_values_take(&engine->values, atoms, tid);
    session->known[at] = (struct aion_known){cts, value, is_guess};
    session->known_count++;
}

void aion_forget_known(struct iso_aion *engine, struct aion_deferred_session *session,
                       uint64_t floor)
{
    uint32_t count = cursor_of(session, floor);
    if (!count)
        return;
    for (uint32_t i = 0; i < count; i++)
        aion_values_drop(&engine->values, session->known[i].tid);
    session->known_count -= count;
    memmove(session->known, session->known + count, session->known_count * sizeof *session->known);
    session->forgotten = floor;
}

void aion_know_writer(struct iso_aion *engine, struct aion_deferred_session *session,
                      const struct aion_deferred_member *writer)
{
    if (engine->options.level == ISO_RYW)
        add_known(engine, session, &engine->values.atoms, writer->tid, writer->times.cts, false);
}

static bool knows(void *context, const struct iso_atoms *atoms, iso_atom tid, uint64_t cts)
{
    const struct knowledge *knowledge = context;
    uint32_t at;
    return find_known(knowledge->engine, knowledge->session, atoms, tid, cts, &at) &&
           (knowledge->by_guess || !knowledge->session->known[at].is_guess);
}

static uint64_t horizon_of(const struct knowledge *knowledge)
{
    const struct aion_deferred_session *session = knowledge->session;
    uint32_t at = session->known_count;
    while (at && !knowledge->by_guess && session->known[at - 1].is_guess)
        at--;
    return at ? session->known[at - 1].cts : 0;
}

/* ---- a read ---- */

static uint64_t required(struct knowledge *knowledge, const struct aion_query *query, uint64_t than,
                         bool *lost, uint16_t *newer)
{
    uint64_t horizon = horizon_of(knowledge);
    if (knowledge->session->forgotten > horizon)
        horizon = knowledge->session->forgotten;
    return aion_newest_known(query, than, horizon, knowledge->session->forgotten, knows, knowledge,
                             lost, newer);
}

/* The writer that a read is taken to be of, and whether nobody else could be meant. */
struct meant {
    uint64_t cts; /* + 1; 0: the initial version */
    uint32_t writer;
    bool is_certain, is_tied;
};

static struct meant meant_by(const struct aion_source *source, uint64_t limit)
{
    struct meant meant = {source->shown_cts, source->shown, source->count == 1 && !source->is_lost,
                          false};
    if (source->shown == ISO_NONE && source->oldest != ISO_NONE && !source->is_initial)
        meant = (struct meant){source->oldest_cts, source->oldest, meant.is_certain, false};
    meant.is_tied =
        meant.writer != ISO_NONE && limit != UINT64_MAX && meant.cts == aion_above(limit);
    return meant;
}

static struct meant judge_read(struct knowledge *knowledge,
                               const struct aion_deferred_member *member,
                               struct aion_deferred_read *read, const struct aion_query *query,
                               uint64_t limit, bool is_complete)
{
    struct aion_source source;
    bool lost = false;
    uint16_t newer, other;
    aion_find_source(query, aion_above(member->times.sts), limit, &source);
    struct meant meant = meant_by(&source, limit);
    knowledge->by_guess = false;
    uint64_t newest = required(knowledge, query, source.newest_cts, &lost, &newer);
    /* then it may have the cts of the first that is kept */
    bool is_gone = !source.count && source.is_lost;
    if (is_gone ? newest > source.kept_from : newest || !source.count) {
        read->outcome = is_complete ? AION_DEFERRED_WRONG : AION_DEFERRED_LOST;
        read->moment = newest;
        read->newer = newest ? newer : 0;
        read->before = limit;
        return meant;
    }
    if (lost || !source.count) {
        read->outcome = AION_DEFERRED_LOST;
        return meant;
    }
    knowledge->by_guess = true;
    read->outcome = meant.is_tied || required(knowledge, query, meant.cts, &lost, &other)
                        ? AION_DEFERRED_UNSURE
                        : AION_DEFERRED_RIGHT;
    read->reason = meant.is_tied ? ISO_UNJUDGED_VERSION_ORDER : ISO_UNJUDGED_REPEATED_VALUE;
    return meant;
}

void aion_judge_guarantee(struct iso_aion *engine, struct aion_deferred_session *session,
                          const struct aion_deferred_member *member, uint64_t limit,
                          bool is_complete)
{
    assert(iso_aion_is_about_sessions(engine->options.level));
    struct knowledge knowledge = {engine, session, false};
    struct aion_deferred_reads *reads = &engine->deferred.reads;
    struct aion_query *looks = iso_allocate(((size_t)reads->count + 1) * sizeof *looks);
    struct meant *meant = iso_allocate(((size_t)reads->count + 1) * sizeof *meant);
    for (uint32_t i = 0; i < reads->count; i++) {
        aion_deferred_query(engine, member, &reads->list[i], &looks[i]);
        meant[i] = judge_read(&knowledge, member, &reads->list[i], &looks[i], limit, is_complete);
        aion_deferred_soften(engine, &reads->list[i], &looks[i]);
    }
    for (uint32_t i = 0; i < reads->count; i++) {
        if (engine->options.level == ISO_MR && meant[i].writer != ISO_NONE && !meant[i].is_tied)
            add_known(engine, session, iso_aion_shard_atoms(looks[i].shard),
                      aion_query_tid(&looks[i], meant[i].writer), meant[i].cts - 1,
                      !meant[i].is_certain);
        aion_query_end(&looks[i]);
    }
    ISO_FREE_ALL(looks, meant);
}
