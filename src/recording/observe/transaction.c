#include "observe/observed_private.h"

#include <assert.h>

#include "base/hash.h"
#include "base/memory.h"

enum { SAVEPOINTS_MOST = 256 };

void observed_forget_savepoints(struct observed *observed, uint32_t from)
{
    while (observed->savepoints.count > from)
        iso_free(observed->savepoints.list[--observed->savepoints.count].name);
}

/* ---- relations that it made ---- */

static uint64_t hash_of_name(const char *schema, const char *name)
{
    return iso_hash_number(iso_hash_text(schema, strlen(schema))) ^
           iso_hash_text(name, strlen(name));
}

static const PgQuery__RangeVar *made_by(const PgQuery__Node *node)
{
    const PgQuery__IntoClause *into = NULL;
    switch (node ? node->node_case : PG_QUERY__NODE__NODE__NOT_SET) {
    case PG_QUERY__NODE__NODE_CREATE_STMT:
        return node->create_stmt->if_not_exists ? NULL : node->create_stmt->relation;
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
        into = node->create_table_as_stmt->if_not_exists ? NULL : node->create_table_as_stmt->into;
        break;
    case PG_QUERY__NODE__NODE_SELECT_STMT:
        into = node->select_stmt->into_clause;
        break;
    default:
        break;
    }
    return into ? into->rel : NULL;
}

void observed_note_made(struct observed *observed)
{
    struct made *made = &observed->transaction.made;
    const PgQuery__RangeVar *relation = made_by(observed->running.statement->node);
    if (relation && !observed->running.fails &&
        made->count < sizeof made->names / sizeof *made->names)
        made->names[made->count++] = hash_of_name(relation->schemaname, relation->relname);
}

/* Of one that is not understood nobody knows whether it reads others, too. */
bool observed_made_all(const struct observed *observed, const struct plan_statement *query)
{
    const struct made *made = &observed->transaction.made;
    if (query->table_count && query->reason)
        return false;
    for (uint32_t i = 0, j; i < query->table_count; i++) {
        uint64_t name = hash_of_name(query->tables[i].schema, query->tables[i].name);
        for (j = 0; j < made->count && made->names[j] != name; j++)
            ;
        if (j == made->count)
            return false;
    }
    return true;
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

static void withdraw(struct observed *observed, uint64_t reads)
{
    pthread_mutex_lock(&observed->world->lock);
    observed->world->counts.withdrawn += reads;
    pthread_mutex_unlock(&observed->world->lock);
}

/* What was recorded is right if nothing changed in the catalog since it was read, up to the last
 * statement: which is asked later, for many records at once. A record that lists nothing is right
 * anyway, and waits only for its turn: what its transaction wrote, if it did, the stream has by an
 * xid. */
static void wait_for_confirmation(struct observed *observed, bool has_claims)
{
    struct observe_held *waiting = &observed->waiting;
    has_claims &= observed->catalog != NULL;
    observed_settle(observed, false);
    assert(!waiting->catalog || waiting->catalog == observed->catalog);
    waiting->until = iso_recorder_held(observed->session);
    if (!waiting->catalog && !has_claims)
        iso_recorder_let_go(observed->session, waiting->until, true);
    if (!has_claims)
        return;
    if (!waiting->catalog)
        waiting->catalog = catalog_share(observed->catalog);
    waiting->at = observed->transaction.held_at;
    waiting->reads += observed->transaction.reads;
}

void observed_settle(struct observed *observed, bool at_once)
{
    struct observe_held *waiting = &observed->waiting;
    enum observe_verdict verdict = observe_held(observed->world->shared, waiting);
    if (!waiting->catalog || (verdict == HELD_WAITS && !at_once))
        return;
    iso_recorder_let_go(observed->session, waiting->until, verdict == HELD_RIGHT);
    if (verdict != HELD_RIGHT) {
        observe_count(observed->world, &observed->world->counts.unconfirmed);
        withdraw(observed, waiting->reads);
    }
    waiting->reads = 0;
    catalog_release(waiting->catalog);
    waiting->catalog = NULL;
}

/* A statement alone sees at each level what it would at READ COMMITTED, which asks for no
 * snapshot. */
static void tell_level(struct observed *observed)
{
    static const char *const names[] = {NULL, "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};
    enum isolation isolation = observed->transaction.state == TRANSACTION_IMPLICIT
                                   ? ISOLATION_READ_COMMITTED
                                   : observed->transaction.isolation;
    if (observed->world->shared->tells_moments)
        iso_recorder_level(observed->session, names[isolation]);
}

/* What was set for the transaction is another again, and whatever it set where it is undone. */
static void forget_settings(struct observed *observed, bool is_undone)
{
    if (!observed->transaction.sets)
        return;
    observed->settings.spelling.keeps_floats = false;
    if (is_undone)
        observed->settings.by_default = ISOLATION_UNKNOWN;
}

void observed_end_transaction(struct observed *observed, enum outcome outcome)
{
    struct transaction *transaction = &observed->transaction;
    struct observe_counts *counts = &observed->world->counts;
    bool is_open = transaction->state == TRANSACTION_OPEN;
    bool is_single = transaction->state == TRANSACTION_IMPLICIT && transaction->statements == 1 &&
                     transaction->operations && outcome == OUTCOME_COMMITTED;
    bool has_operations = iso_recorder_mark(observed->session) > 0, goes_out = false;
    bool is_unidentified =
        transaction->may_write && transaction->saw_snapshot &&
        (outcome == OUTCOME_PREPARED || (outcome == OUTCOME_COMMITTED && !transaction->xid_known));
    if (is_open && (transaction->is_left_out || is_unidentified)) {
        observe_count(observed->world, &counts->unidentified);
    } else if ((is_open || is_single) && observed->world->shared->needs_position &&
               !transaction->has_position) {
        observe_count(observed->world, &counts->unplaced);
    } else if (is_open || is_single) {
        if (outcome == OUTCOME_ABORTED)
            iso_recorder_xid(observed->session, NULL);
        else if (transaction->xid_known && transaction->writes_more)
            iso_recorder_writes_from_stream(observed->session);
        observe_count(observed->world, is_single                    ? &counts->single
                                       : outcome == OUTCOME_ABORTED ? &counts->aborted
                                                                    : &counts->transactions);
        tell_level(observed);
        if (outcome == OUTCOME_COMMITTED)
            iso_recorder_commit(observed->session);
        else if (outcome == OUTCOME_ABORTED)
            iso_recorder_abort(observed->session);
        else
            iso_recorder_unknown(observed->session);
        wait_for_confirmation(observed, has_operations);
        goes_out = true;
    }
    if (!goes_out)
        withdraw(observed, transaction->reads);
    forget_settings(observed, outcome != OUTCOME_COMMITTED);
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
    ISO_APPEND(observed->savepoints,
               (struct savepoint){iso_copy_text(name, strlen(name)),
                                  iso_recorder_mark(observed->session),
                                  observed->transaction.soiled, observed->transaction.made});
}

void observed_return_to_savepoint(struct observed *observed, const char *name, bool releases)
{
    for (uint32_t i = observed->savepoints.count; i-- > 0;) {
        if (strcmp(observed->savepoints.list[i].name, name))
            continue;
        if (!releases)
            iso_recorder_rollback_to(observed->session, observed->savepoints.list[i].mark);
        if (!releases)
            observed->transaction.soiled = observed->savepoints.list[i].soiled,
            observed->transaction.made = observed->savepoints.list[i].made;
        observed->transaction.has_failed &= releases;
        observed->transaction.writes += !releases;
        forget_settings(observed, !releases);
        observed_forget_savepoints(observed, i + !releases);
        return;
    }
}
