#include "observe/observed_private.h"

#include <assert.h>

#include "base/memory.h"

enum { SAVEPOINTS_MOST = 256 };

void observed_forget_savepoints(struct observed *observed, uint32_t from)
{
    while (observed->savepoints.count > from)
        iso_free(observed->savepoints.list[--observed->savepoints.count].name);
}

void observed_begin_transaction(struct observed *observed, enum transaction_state state,
                                enum isolation isolation)
{
    observed->transaction =
        (struct transaction){.state = state,
                             .takes_default = !isolation,
                             .isolation = isolation ? isolation : observed->settings.by_default};
    observed_forget_savepoints(observed, 0);
    iso_recorder_begin(observed->session);
}

static void let_first_go(struct observed *observed, enum observe_verdict verdict)
{
    struct waiting *waiting = &observed->waiting;
    assert(waiting->count);
    iso_recorder_let_go(observed->session, waiting->groups[0].until, verdict == HELD_RIGHT);
    catalog_release(waiting->groups[0].catalog);
    waiting->count--;
    memmove(waiting->groups, waiting->groups + 1, waiting->count * sizeof *waiting->groups);
    if (verdict != HELD_RIGHT)
        observe_count(observed->world, &observed->world->counts.unconfirmed);
}

/* What was recorded is right if nothing changed in the catalog since it was read: which is asked
 * later, for many records at once. A record that lists nothing is right anyway, and waits only for
 * its turn: what its transaction wrote, if it did, the stream has by an xid. */
static void wait_for_confirmation(struct observed *observed, bool has_claims)
{
    struct waiting *waiting = &observed->waiting;
    struct catalog *catalog = observed->catalog;
    uint64_t until = iso_recorder_held(observed->session);
    if (!has_claims || !catalog) {
        if (waiting->count)
            waiting->groups[waiting->count - 1].until = until;
        else
            iso_recorder_let_go(observed->session, until, true);
        return;
    }
    observed_settle(observed, false);
    struct observe_held *held = waiting->count ? &waiting->groups[waiting->count - 1] : NULL;
    bool is_of_catalog = held && held->catalog == catalog, is_full = waiting->count == WAITING_MOST;
    if (!is_of_catalog ||
        (!is_full && !catalog_same_names(&held->names, &observed->transaction.names))) {
        if (is_full)
            let_first_go(observed, HELD_WRONG);
        held = &waiting->groups[waiting->count++];
        *held = (struct observe_held){.catalog = catalog_share(catalog)};
    }
    catalog_add_names(&held->names, &observed->transaction.names);
    held->at = observe_nanoseconds();
    held->until = until;
}

void observed_settle(struct observed *observed, bool at_once)
{
    struct waiting *waiting = &observed->waiting;
    while (waiting->count) {
        enum observe_verdict verdict = observe_held(observed->world->shared, &waiting->groups[0]);
        if (verdict == HELD_WAITS && !at_once)
            return;
        let_first_go(observed, verdict);
    }
}

void observed_end_transaction(struct observed *observed, enum outcome outcome)
{
    struct transaction *transaction = &observed->transaction;
    struct observe_counts *counts = &observed->world->counts;
    bool is_open = transaction->state == TRANSACTION_OPEN;
    bool is_single = transaction->state == TRANSACTION_IMPLICIT && transaction->statements == 1 &&
                     transaction->operations && outcome == OUTCOME_COMMITTED;
    bool has_operations = iso_recorder_mark(observed->session) > 0;
    if (is_open && outcome == OUTCOME_COMMITTED && transaction->may_write &&
        transaction->saw_snapshot && !transaction->xid_known) {
        observe_count(observed->world, &counts->unidentified);
    } else if ((is_open || is_single) && observed->world->shared->needs_position &&
               !transaction->has_position) {
        observe_count(observed->world, &counts->unplaced);
    } else if (is_open || is_single) {
        observe_count(observed->world, is_single                    ? &counts->single
                                       : outcome == OUTCOME_ABORTED ? &counts->aborted
                                                                    : &counts->transactions);
        if (outcome == OUTCOME_COMMITTED)
            iso_recorder_commit(observed->session);
        else if (outcome == OUTCOME_ABORTED)
            iso_recorder_abort(observed->session);
        else
            iso_recorder_unknown(observed->session);
        wait_for_confirmation(observed, has_operations);
    }
    if (transaction->sets)
        observed->settings.spelling.keeps_floats =
            false; /* what was set for the transaction is another again */
    *transaction = (struct transaction){.state = TRANSACTION_NONE};
    observed_forget_savepoints(observed, 0);
    observed_drop_portals(observed);
}

void observed_set_savepoint(struct observed *observed, const char *name)
{
    if (observed->savepoints.count == SAVEPOINTS_MOST) {
        observed_lose(observed);
        return;
    }
    ISO_APPEND(observed->savepoints, (struct savepoint){iso_copy_text(name, strlen(name)),
                                                        iso_recorder_mark(observed->session)});
}

void observed_return_to_savepoint(struct observed *observed, const char *name, bool releases)
{
    for (uint32_t i = observed->savepoints.count; i-- > 0;) {
        if (strcmp(observed->savepoints.list[i].name, name))
            continue;
        if (!releases)
            iso_recorder_rollback_to(observed->session, observed->savepoints.list[i].mark);
        observed->transaction.has_failed &= releases;
        observed->transaction.writes += !releases;
        observed_forget_savepoints(observed, i + !releases);
        return;
    }
}
