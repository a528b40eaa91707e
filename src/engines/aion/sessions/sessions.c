/* Which sessions there are: found by name, begun, forgotten.
 *
 * A session whose transactions all lie below the floor is forgotten, with its name: one of it that
 * is still to come and starts above the floor follows all that it had, whatever they were. Where
 * that is not enough, something must remember that there was more:
 *
 *  - one that starts below the floor in a session that is not known may belong to one that was
 *    forgotten: `below`
 *  - one that claims a position (sno) before what was forgotten would break the order of those:
 *    `lost`
 *
 * Both are undecided then, never right (session.c). Of the sessions that ended last their end is
 * remembered (tombstone.c): what comes of those is judged by that, so that it is undecided only
 * where it would be, or would make others, wrong. One that ended before these cannot be told from a
 * new one: what claims a position that it may have passed is undecided.
 */
#include <assert.h>

#include "aion/state_private.h"
#include "base/memory.h"

/* Steps of the hand for a session that begins, beside one for each of its transactions: more than
 * one, so that it keeps up also where each has but one. */
enum { STEPS = 2 };

/* Its number + 1; 0: there is none of this name. */
static uint32_t find_session(const struct aion_sessions *sessions, const struct iso_atoms *atoms,
                             iso_atom name)
{
    uint32_t number, hash = iso_atom_hash(atoms, name);
    for (uint32_t at = iso_index_home(hash); iso_index_next(&sessions->by_name, &at, hash, &number);
         at++) {
        if (aion_atoms_same(&sessions->names.atoms, sessions->list[number].name, atoms, name))
            return number + 1;
    }
    return 0;
}

/* ---- beginning ---- */

static uint32_t new_number(struct aion_sessions *sessions)
{
    if (sessions->free_count)
        return sessions->free[--sessions->free_count];
    if (sessions->count == sessions->capacity) {
        size_t old = sessions->capacity, next = iso_column_capacity(old, old + 1);
        sessions->list = iso_column_grow(sessions->list, old * sizeof *sessions->list,
                                         next * sizeof *sessions->list);
        sessions->free = iso_column_grow(sessions->free, old * sizeof *sessions->free,
                                         next * sizeof *sessions->free);
        sessions->capacity = (uint32_t)next;
    }
    sessions->list[sessions->count].life = 1;
    return sessions->count++;
}

static uint32_t begin(struct iso_aion *engine, uint64_t digest, const struct iso_atoms *atoms,
                      iso_atom name)
{
    struct aion_sessions *sessions = &engine->sessions;
    struct aion_tombstone tombstone = {.below = engine->time.floor};
    uint32_t number = new_number(sessions);
    bool known = aion_tombstone_take(&sessions->ended, digest, &tombstone),
         unsure = !known && aion_tombstone_assume(&sessions->ended, &tombstone);
    sessions->different += !known;
    iso_index_add(&sessions->by_name, iso_atom_hash(atoms, name), number);
    sessions->list[number] =
        (struct aion_session){.arrived = tombstone.arrived,
                              .lost = tombstone.lost,
                              .below = tombstone.below,
                              .name = aion_values_take(&sessions->names, atoms, name),
                              .life = sessions->list[number].life,
                              .unsure = unsure};
    sessions->due += STEPS;
    return number;
}

uint32_t aion_session_find(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t session)
{
    const struct iso_history *history = cache->history;
    struct aion_cached_session *entry = aion_key_cache_find_session(cache, session);
    uint32_t number =
        find_session(&engine->sessions, &history->atoms, history->sessions.atom[session]);
    if (!number)
        number = begin(engine, entry->digest, &history->atoms, history->sessions.atom[session]) + 1;
    entry->number = number;
    entry->life = engine->sessions.list[number - 1].life;
    assert(entry->life);
    return number - 1;
}

/* ---- forgetting ---- */

static void forget_session(struct iso_aion *engine, uint32_t number)
{
    struct aion_sessions *sessions = &engine->sessions;
    struct aion_session *session = &sessions->list[number];
    assert(session->name != ISO_ABSENT && !session->waiting);
    uint64_t digest = aion_atom_digest(&sessions->names.atoms, session->name);
    digest = digest ? digest : 1;
    aion_session_empty(engine, session);
    aion_tombstone_add(&sessions->ended, &(struct aion_tombstone){digest, session->arrived,
                                                                  session->lost, session->below});
    iso_index_remove(&sessions->by_name, iso_atom_hash(&sessions->names.atoms, session->name),
                     number);
    aion_values_drop(&sessions->names, session->name);
    session->name = ISO_ABSENT;
    session->life += session->life == UINT32_MAX ? 2 : 1;
    sessions->free[sessions->free_count++] = number;
}

static void release_session(struct iso_aion *engine, uint32_t number)
{
    struct aion_session *session = &engine->sessions.list[number];
    if (session->name == ISO_ABSENT)
        return;
    if (session->latest < engine->time.floor && !session->waiting)
        forget_session(engine, number);
    else if (session->members.count > 1 || session->disorder)
        aion_session_trim(engine, session);
}

/* A hand goes round the sessions, as far as there is something new, so that those that have ended
 * go. */
void aion_sessions_sweep(struct iso_aion *engine)
{
    struct aion_sessions *sessions = &engine->sessions;
    uint64_t steps = sessions->due < sessions->count ? sessions->due : sessions->count;
    sessions->due = 0;
    for (; engine->time.floor && steps; steps--) {
        sessions->clock_hand =
            sessions->clock_hand + 1 < sessions->count ? sessions->clock_hand + 1 : 0;
        release_session(engine, sessions->clock_hand);
    }
}

void aion_sessions_trim(struct iso_aion *engine)
{
    for (uint32_t s = 0; s < engine->sessions.count; s++)
        release_session(engine, s);
}

/* ---- all of them ---- */

uint64_t aion_sessions_bytes(const struct aion_sessions *sessions)
{
    return (uint64_t)(sessions->count - sessions->free_count) * sizeof *sessions->list +
           aion_values_bytes(&sessions->names) + iso_index_bytes(&sessions->by_name) +
           (uint64_t)sessions->ended.count * sizeof *sessions->ended.list;
}

void aion_sessions_release(struct aion_sessions *sessions)
{
    ISO_FREE_COLUMN(sessions->list, sessions->capacity);
    ISO_FREE_COLUMN(sessions->free, sessions->capacity);
    ISO_FREE_COLUMN(sessions->ended.list, sessions->ended.count);
    iso_free(sessions->disorders);
    iso_index_release(&sessions->by_name);
    aion_values_release(&sessions->names);
}
