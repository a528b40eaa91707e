#include <assert.h>

#include "pipeline/counted.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory.h"

static uint64_t digest_of(const struct iso_history *block, iso_atom sid)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&block->atoms, sid, buffer, &length);
    uint64_t digest = XXH3_64bits(text, length);
    return digest ? digest : 1;
}

static struct counted_session *find(const struct counted *counted, uint64_t digest)
{
    uint32_t number = iso_number_map_get(&counted->by_digest, digest);
    return number == ISO_NUMBER_NONE ? NULL : &counted->sessions[number];
}

static struct counted_recorder *recorder_of(struct counted *counted, uint64_t digest)
{
    for (uint32_t i = 0; i < counted->recorder_count; i++)
        if (counted->recorders[i].digest == digest)
            return &counted->recorders[i];
    return NULL;
}

static struct counted_recorder *name_recorder(struct counted *counted,
                                              const struct iso_history *block, iso_atom id)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&block->atoms, id, buffer, &length);
    uint64_t digest = digest_of(block, id);
    struct counted_recorder *recorder = recorder_of(counted, digest);
    if (recorder)
        return recorder;
    ISO_GROW(counted->recorders, counted->recorder_count, counted->recorder_capacity);
    recorder = &counted->recorders[counted->recorder_count++];
    *recorder = (struct counted_recorder){.digest = digest, .origin = UINT64_MAX};
    length = length < sizeof recorder->name ? length : sizeof recorder->name - 1;
    memcpy(recorder->name, text, length);
    return recorder;
}

/* All of it is known to have come. */
static void forget_recorder(struct counted *counted, struct counted_recorder *recorder)
{
    if (recorder && recorder->has_ended && recorder->known >= recorder->told)
        *recorder = counted->recorders[--counted->recorder_count];
}

static struct counted_session *add(struct counted *counted, uint64_t digest, uint64_t first)
{
    uint32_t number = counted->free ? counted->free - 1 : counted->session_count;
    if (number == counted->session_count) {
        ISO_GROW(counted->sessions, counted->session_count, counted->session_capacity);
        counted->session_count++;
    } else {
        assert(number < counted->session_count && !counted->sessions[number].digest);
        counted->free = (uint32_t)counted->sessions[number].next;
    }
    counted->in_use++;
    counted->sessions[number] = (struct counted_session){.digest = digest, .next = first};
    iso_number_map_put(&counted->by_digest, digest, number);
    return &counted->sessions[number];
}

static void set_free(struct counted *counted, struct counted_session *session)
{
    struct counted_recorder *recorder = recorder_of(counted, session->recorder);
    if (recorder)
        recorder->known += session->next;
    forget_recorder(counted, recorder);
    iso_number_map_remove(&counted->by_digest, session->digest);
    assert(session->digest && counted->in_use);
    *session = (struct counted_session){.next = counted->free};
    counted->free = (uint32_t)(session - counted->sessions) + 1;
    counted->in_use--;
}

static void add_hole(struct counted *counted, const struct counted_hole *hole)
{
    assert(hole->from < hole->to);
    ISO_GROW(counted->holes, counted->hole_count, counted->hole_capacity);
    counted->holes[counted->hole_count++] = *hole;
}

/* A number that was jumped over comes after all. */
static void fill_hole(struct counted *counted, struct counted_session *session, uint64_t number)
{
    for (uint32_t i = 0; session->holes && i < counted->hole_count; i++) {
        struct counted_hole *hole = &counted->holes[i], rest;
        if (hole->digest != session->digest || number < hole->from || number >= hole->to)
            continue;
        rest = *hole;
        rest.from = number + 1;
        hole->to = number;
        session->holes += (hole->from < hole->to) + (rest.from < rest.to) - 1;
        if (hole->from == hole->to)
            *hole = counted->holes[--counted->hole_count];
        if (rest.from < rest.to)
            add_hole(counted, &rest);
        return;
    }
}

static void reach(struct counted *counted, struct counted_session *session, uint64_t number,
                  uint64_t origin)
{
    assert(session->digest);
    if (number <= session->next)
        return;
    add_hole(counted, &(struct counted_hole){session->digest, session->next, number, origin});
    session->holes++;
    session->next = number;
}

void counted_note_time(struct counted *counted, uint64_t time)
{
    counted->latest = time > counted->latest ? time : counted->latest;
}

void counted_note_moved(struct counted *counted, uint64_t time)
{
    counted->moved = time > counted->moved ? time : counted->moved;
}

static void note_recorder(struct counted *counted, const struct iso_history *block,
                          const struct iso_event *event)
{
    struct counted_recorder *recorder = name_recorder(counted, block, event->source);
    recorder->is_whole |= !event->cts.physical;
    recorder->has_ended |= event->operation;
    recorder->told = event->cts.physical > recorder->told ? event->cts.physical : recorder->told;
    recorder->heard = event->time > recorder->heard ? event->time : recorder->heard;
    recorder->promise = event->order;
    recorder->origin = event->origin;
    forget_recorder(counted, recorder);
}

void counted_note_total(struct counted *counted, const struct iso_history *block,
                        const struct iso_event *event)
{
    counted->of_stream |= event->count != 0;
    if (event->key == ISO_ABSENT) {
        note_recorder(counted, block, event);
        return;
    }
    uint64_t digest = digest_of(block, event->key), total = event->cts.physical;
    struct counted_session *session = find(counted, digest);
    if (!session)
        session = add(counted, digest, total);
    if (event->source != ISO_ABSENT)
        session->recorder = name_recorder(counted, block, event->source)->digest;
    reach(counted, session, total, event->origin);
    if (event->operation && session->next == total && !session->holes)
        set_free(counted, session);
}

void counted_note_record(struct counted *counted, const struct iso_history *block,
                         uint32_t transaction)
{
    counted->of_stream |= iso_marks_of(block, transaction) & ISO_MARKS_OF_STREAM;
    if (!counted->in_use || !(block->txns.flags[transaction] & ISO_HAS_SNO) ||
        block->txns.session[transaction] == ISO_NONE)
        return;
    uint64_t digest = digest_of(block, block->sessions.atom[block->txns.session[transaction]]);
    uint64_t number = block->txns.sno[transaction];
    struct counted_session *session = find(counted, digest);
    if (!session)
        return;
    if (number < session->next)
        fill_hole(counted, session, number);
    reach(counted, session, number, block->txns.origin[transaction]);
    session->next = number == session->next ? number + 1 : session->next;
}

/* How many records of a recorder nobody has heard of. */
static uint64_t unheard(const struct counted *counted, const struct counted_recorder *recorder)
{
    assert(recorder->digest);
    uint64_t known = recorder->known;
    for (uint32_t i = 0; i < counted->session_count; i++)
        known += counted->sessions[i].digest && counted->sessions[i].recorder == recorder->digest
                     ? counted->sessions[i].next
                     : 0;
    return recorder->is_whole && (recorder->has_ended || counted->is_closed) &&
                   recorder->told > known
               ? recorder->told - known
               : 0;
}

/* Whether rows or records came that it may have more of: it spoke before them, or never. */
static bool is_behind(const struct counted *counted, const struct counted_recorder *recorder)
{
    bool may_live = !recorder->has_ended && (recorder->promise || recorder->origin == UINT64_MAX);
    return may_live && (!recorder->heard || counted->moved > recorder->heard);
}

static bool is_silent(const struct counted *counted, const struct counted_recorder *recorder)
{
    uint64_t patience = 3 * recorder->promise;
    if (counted->is_closed && is_behind(counted, recorder))
        return true;
    patience = patience > COUNTED_SILENCE_MS ? patience : COUNTED_SILENCE_MS;
    return !recorder->has_ended && recorder->promise && recorder->heard &&
           counted->latest > recorder->heard + patience;
}

static void add_recorders(const struct counted *counted, struct counted_loss *loss)
{
    for (uint32_t i = 0; i < counted->recorder_count; i++) {
        const struct counted_recorder *recorder = &counted->recorders[i];
        uint64_t records = unheard(counted, recorder);
        loss->records += records;
        loss->origin = records && recorder->origin < loss->origin ? recorder->origin : loss->origin;
        if (!is_silent(counted, recorder)) {
            loss->open += !recorder->has_ended && recorder->promise;
            continue;
        }
        if (!loss->silent++ || recorder->heard < loss->since) {
            loss->name = recorder->name;
            loss->since = recorder->heard;
        }
    }
}

uint64_t counted_awaited(const struct counted *counted)
{
    uint64_t awaited = 0;
    for (uint32_t i = 0; i < counted->recorder_count; i++)
        if (is_behind(counted, &counted->recorders[i]) && counted->recorders[i].promise > awaited)
            awaited = counted->recorders[i].promise;
    return awaited;
}

struct counted_loss counted_loss(const struct counted *counted)
{
    struct counted_loss loss = {.origin = UINT64_MAX};
    add_recorders(counted, &loss);
    for (uint32_t i = 0; i < counted->hole_count; i++) {
        loss.records += counted->holes[i].to - counted->holes[i].from;
        loss.origin =
            counted->holes[i].origin < loss.origin ? counted->holes[i].origin : loss.origin;
    }
    for (uint32_t i = 0; i < counted->session_count; i++)
        loss.sessions += counted->sessions[i].holes > 0;
    return loss;
}

void counted_archive(struct iso_archive *archive, struct counted *counted)
{
    ISO_ARCHIVE_ANY(archive, "counted", ISO_ARCHIVE_HEAP, counted->sessions, counted->session_count,
                    counted->session_capacity);
    ISO_ARCHIVE_ANY(archive, "holes", ISO_ARCHIVE_HEAP, counted->holes, counted->hole_count,
                    counted->hole_capacity);
    ISO_ARCHIVE_ANY(archive, "recorders", ISO_ARCHIVE_HEAP, counted->recorders,
                    counted->recorder_count, counted->recorder_capacity);
    ISO_ARCHIVE_VALUE(archive, counted->latest);
    ISO_ARCHIVE_VALUE(archive, counted->moved);
    ISO_ARCHIVE_VALUE(archive, counted->is_closed);
    ISO_ARCHIVE_VALUE(archive, counted->of_stream);
    ISO_ARCHIVE_VALUE(archive, counted->file.records);
    ISO_ARCHIVE_VALUE(archive, counted->file.recorders);
    ISO_ARCHIVE_VALUE(archive, counted->file.origin);
    for (uint32_t i = 0; archive->restoring && i < counted->recorder_count; i++)
        counted->recorders[i].name[sizeof counted->recorders[i].name - 1] = '\0';
    ISO_ARCHIVE_VALUE(archive, counted->free);
    ISO_ARCHIVE_VALUE(archive, counted->in_use);
    iso_archive_expect(archive, counted->free <= counted->session_count &&
                                    counted->in_use <= counted->session_count);
    for (uint32_t i = 0; archive->restoring && i < counted->session_count; i++)
        if (counted->sessions[i].digest)
            iso_number_map_put(&counted->by_digest, counted->sessions[i].digest, i);
}

void counted_release(struct counted *counted)
{
    ISO_FREE_ALL(counted->sessions, counted->holes, counted->recorders);
    iso_number_map_release(&counted->by_digest);
}
