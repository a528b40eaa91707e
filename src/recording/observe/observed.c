#include "observe/observed.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "observe/observed_private.h"

void observed_lose(struct observed *observed)
{
    if (!observed->conversation.is_lost)
        observe_count(observed->world, &observed->world->counts.lost);
    observed->conversation.is_lost = true;
}

struct observed *observed_new(struct observe_world *world, uint64_t number, const uint8_t *startup,
                              uint32_t size)
{
    struct observed *observed = iso_allocate_zeroed(1, sizeof *observed);
    const char *database = wire_startup(startup, size, "database"),
               *user = wire_startup(startup, size, "user");
    char sid[300];
    if (!database)
        database = user ? user : "";
    const struct observe_host *host = &world->shared->host;
    if (host->admit)
        snprintf(sid, sizeof sid, "%s/%d/%" PRIu64, world->shared->sid,
                 host->admit(host->context, database), number);
    else
        snprintf(sid, sizeof sid, "%s/%" PRIu64, world->shared->sid, number);
    observed->world = world;
    observed->name = iso_copy_text(database, strlen(database));
    observed->session = iso_recorder_session_new(world->shared->recorder, sid);
    iso_recorder_hold(observed->session);
    observed->settings.spelling = (struct spelling){.is_utf8 = false, .is_iso = true};
    return observed;
}

void observed_free(struct observed *observed)
{
    if (!observed)
        return;
    bool commits = false;
    observed_look_behind(observed);
    for (uint32_t i = 0; i < observed->pending.count; i++)
        commits |= !observed_at(observed, i)->own;
    if (observed->transaction.state == TRANSACTION_OPEN && !observed->conversation.is_lost &&
        !observed->conversation.stops) /* else it goes on */
        observed_end_transaction(observed, commits && !observed->transaction.has_failed
                                               ? OUTCOME_UNKNOWN
                                               : OUTCOME_ABORTED);
    if (observed->question.catalog)
        observe_catalog_is(observed->world->shared, observed->database, NULL);
    catalog_release(observed->question.catalog);
    catalog_release(observed->catalog);
    observed_drop_portals(observed);
    while (observed->named.prepared_count)
        observed_drop_prepared(observed,
                               &observed->named.prepared[observed->named.prepared_count - 1]);
    for (uint32_t i = 0; i < observed->pending.capacity; i++) {
        observed_text_release(observed->pending.entries[i].text);
        iso_text_release(&observed->pending.entries[i].bytes);
    }
    observed_settle_at_end(observed);
    observed_forget_savepoints(observed, 0);
    observed_text_release(observed->running.text);
    reading_release(&observed->running.reading);
    ISO_FREE_ALL(observed->settings.application, observed->running.fields.list,
                 observed->pending.entries, observed->named.prepared, observed->named.portals,
                 observed->savepoints.list);
    iso_text_release(&observed->question.failure);
    iso_recorder_session_free(observed->session);
    observe_database_release(observed->world->shared, observed->database);
    iso_free(observed->name);
    iso_free(observed);
}

void observed_stop(struct observed *observed)
{
    observed->conversation.stops = true;
}

void observed_keep_quiet(struct observed *observed, bool is_quiet)
{
    observed->conversation.is_quiet = is_quiet;
}

bool observed_waits(const struct observed *observed)
{
    const struct entry *first = observed ? observed_head(observed) : NULL;
    return first && first->own; /* they are asked while nothing else is to be answered */
}

enum observed_way observed_way(const struct observed *observed)
{
    return observed ? observed->question.way : OBSERVED_STAYS;
}

void observed_interrupt(struct observed *observed)
{
    observed->question.way = OBSERVED_INTERRUPTED;
    observe_count(observed->world, &observed->world->counts.catalogs_interrupted);
}

bool observed_is_over(const struct observed *observed)
{
    return (observed->conversation.is_lost || observed->conversation.stops) &&
           !observed_waits(observed);
}
