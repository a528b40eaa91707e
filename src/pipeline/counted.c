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

static struct counted_session *add(struct counted *counted, uint64_t digest, uint64_t first)
{
    uint32_t number = counted->free ? counted->free - 1 : counted->session_count;
    if (number == counted->session_count) {
        ISO_GROW(counted->sessions, counted->session_count, counted->session_capacity);
        counted->session_count++;
    } else {
        counted->free = (uint32_t)counted->sessions[number].next;
    }
    counted->in_use++;
    counted->sessions[number] = (struct counted_session){.digest = digest, .next = first};
    iso_number_map_put(&counted->by_digest, digest, number);
    return &counted->sessions[number];
}

static void set_free(struct counted *counted, struct counted_session *session)
{
    iso_number_map_remove(&counted->by_digest, session->digest);
    *session = (struct counted_session){.next = counted->free};
    counted->free = (uint32_t)(session - counted->sessions) + 1;
    counted->in_use--;
}

static void add_hole(struct counted *counted, const struct counted_hole *hole)
{
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

static void reach(struct counted *counted, struct counted_session *session, uint64_t number, uint64_t origin)
{
    if (number <= session->next)
        return;
    add_hole(counted, &(struct counted_hole){session->digest, session->next, number, origin});
    session->holes++;
    session->next = number;
}

void counted_note_total(struct counted *counted, const struct iso_history *block, const struct iso_event *event)
{
    uint64_t digest = digest_of(block, event->key), total = event->cts.physical;
    struct counted_session *session = find(counted, digest);
    if (!session)
        session = add(counted, digest, total);
    reach(counted, session, total, event->origin);
    if (event->operation && session->next == total && !session->holes)
        set_free(counted, session);
}

void counted_note_record(struct counted *counted, const struct iso_history *block, uint32_t transaction)
{
    if (!counted->in_use || !(block->flags[transaction] & ISO_HAS_SNO) || block->session[transaction] == ISO_NONE)
        return;
    uint64_t digest = digest_of(block, block->session_atom[block->session[transaction]]);
    uint64_t number = block->sno[transaction];
    struct counted_session *session = find(counted, digest);
    if (!session)
        return;
    if (number < session->next)
        fill_hole(counted, session, number);
    reach(counted, session, number, block->origin[transaction]);
    session->next = number == session->next ? number + 1 : session->next;
}

struct counted_loss counted_loss(const struct counted *counted)
{
    struct counted_loss loss = {.origin = UINT64_MAX};
    for (uint32_t i = 0; i < counted->hole_count; i++) {
        loss.records += counted->holes[i].to - counted->holes[i].from;
        loss.origin = counted->holes[i].origin < loss.origin ? counted->holes[i].origin : loss.origin;
    }
    for (uint32_t i = 0; i < counted->session_count; i++)
        loss.sessions += counted->sessions[i].holes > 0;
    return loss;
}

void counted_archive(struct iso_archive *archive, struct counted *counted)
{
    ISO_ARCHIVE_ANY(archive, "counted", ISO_ARCHIVE_HEAP, counted->sessions, counted->session_count,
                    counted->session_capacity);
    ISO_ARCHIVE_ANY(archive, "holes", ISO_ARCHIVE_HEAP, counted->holes, counted->hole_count, counted->hole_capacity);
    ISO_ARCHIVE_VALUE(archive, counted->free);
    ISO_ARCHIVE_VALUE(archive, counted->in_use);
    iso_archive_expect(archive, counted->free <= counted->session_count && counted->in_use <= counted->session_count);
    for (uint32_t i = 0; archive->restoring && i < counted->session_count; i++)
        if (counted->sessions[i].digest)
            iso_number_map_put(&counted->by_digest, counted->sessions[i].digest, i);
}

void counted_release(struct counted *counted)
{
    iso_free(counted->sessions);
    iso_free(counted->holes);
    iso_number_map_release(&counted->by_digest);
}
