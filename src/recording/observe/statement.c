#define _GNU_SOURCE
#include "observe/observed_private.h"

#include <assert.h>
#include <stdlib.h>

void observed_refresh_catalog(struct observed *observed)
{
    if (observed->catalog && (observed->transaction.has_meant ||
                              observed->catalog->serial == observed->database->serial))
        return; /* a transaction has one, so that what confirms it at its end is about all of it */
    catalog_release(observed->catalog);
    observed->catalog = observe_catalog(observed->world->shared, observed->database);
}

/* Whether the catalog and the reported settings tell what names and values mean in this session. */
static bool is_session_known(const struct observed *observed)
{
    return observed->settings.spelling.is_utf8 && !observed->settings.backslashes &&
           !observed->doubt.is_dirty && !observed->doubt.is_unsettled &&
           !observed->running.text->is_misread;
}

/* Whose tables the statement reads: of a FETCH its cursor's query; NULL: not known. */
static const struct plan_statement *query_of(struct observed *observed)
{
    const struct plan_statement *statement = observed->running.statement;
    if (statement->kind != PLAN_FETCH)
        return statement;
    const struct portal *cursor = observed_find_portal(observed, statement->name);
    for (uint32_t i = 0; cursor && cursor->is_cursor && i < cursor->text->plan->count; i++) {
        const struct plan_statement *declared = &cursor->text->plan->statements[i];
        if (declared->kind == PLAN_DECLARE && !strcmp(declared->name, cursor->name))
            return declared;
    }
    return NULL;
}

/* Nobody else sees what the transaction itself made. */
static enum plan_reason refused(struct observed *observed, enum plan_reason reason)
{
    const struct plan_statement *query = query_of(observed);
    if (query && observed_made_all(observed, query))
        return REASON_NO_TABLE;
    return observed->running.statement->kind == PLAN_FETCH
               ? reason
               : reading_refused(&observed->running.input, reason);
}

/* Why nothing of it is recorded, and whether it does anything besides. */
static void judge_statement(struct observed *observed)
{
    struct plan_statement *statement = observed->running.statement;
    enum plan_reason reason =
        statement->node ? plan_agrees(statement, observed->catalog) : REASON_SYNTAX;
    bool is_known = is_session_known(observed),
         has_names = statement->table_count || statement->use_count;
    observed->running.is_pure = statement->is_pure && !reason && (is_known || !has_names);
    observed->running.written = (struct written){.table = NULL};
    if (!is_known)
        reason = REASON_SESSION;
    else if (statement->reason && statement->reason != REASON_NO_TABLE)
        reason = statement->reason;
    else if (statement->locks_some && observed->transaction.isolation < ISOLATION_REPEATABLE_READ)
        reason = REASON_SHAPE;
    observed->running.is_admitted = !reason;
    if (statement->kind == PLAN_WRITE && observed->running.is_admitted)
        observed->running.written = written_of(&observed->running.input);
    if (reason && statement->counts_as_read)
        observed->running.passed = refused(observed, reason);
}

void observed_tell_moment(struct observed *observed)
{
    if (!observed->running.sent)
        iso_recorder_statement(observed->session);
    else
        iso_recorder_statement_during(observed->session, (uint64_t)observed->running.sent,
                                      (uint64_t)iso_clock_nanoseconds(),
                                      observed->running.may_be_own);
}

static bool is_soiled(const struct observed *observed, const struct plan_table *table)
{
    const struct soiled *soiled = &observed->transaction.soiled;
    const struct catalog_table *candidate;
    for (uint32_t position = 0; (candidate = catalog_next_named(observed->catalog, table->schema,
                                                                table->name, &position));)
        for (uint32_t i = 0; i < soiled->count; i++)
            if (candidate->oid == soiled->oids[i])
                return true;
    return soiled->all;
}

/* Whether what the statement returns, or counts, of the tables that it reads may be its
 * transaction's own. */
static bool may_be_own(const struct observed *observed)
{
    const struct plan_statement *statement = observed->running.input.statement;
    bool may = false;
    for (uint32_t i = 0; i < statement->table_count; i++)
        may |= is_soiled(observed, &statement->tables[i]);
    return may;
}

/* `table`: the only one that was written; NULL: it may have been any. */
static void soil(struct observed *observed, const struct catalog_table *table)
{
    struct soiled *soiled = &observed->transaction.soiled;
    if (!table || soiled->count == sizeof soiled->oids / sizeof *soiled->oids)
        soiled->all = true;
    else
        soiled->oids[soiled->count++] = table->oid;
}

void observed_begin_statement(struct observed *observed, struct text *text, uint32_t position,
                              struct portal *portal)
{
    if (observed->running.runs)
        return;
    observed->running.runs = true;
    observed->running.fails = observed->running.has_fields = false;
    observed->running.passed = REASON_NONE;
    observed_text_release(observed->running.text);
    observed->running.text = observed_text_share(text);
    observed->running.shape = text->shape;
    observed->running.portal = portal;
    struct plan *plan = text->plan;
    static struct plan_statement unknown = {.reason = REASON_SYNTAX};
    observed->running.statement = position < plan->count ? &plan->statements[position] : &unknown;
    observed_refresh_catalog(observed);
    observed->transaction.has_meant |=
        observed->running.statement->table_count || observed->running.statement->use_count;
    observed->running.input =
        (struct statement_input){.statement = observed->running.statement,
                                 .constants = &text->constants,
                                 .parameters = portal ? &portal->parameters : NULL,
                                 .catalog = observed->catalog,
                                 .spelling = &observed->settings.spelling,
                                 .has_temporary = observed->doubt.has_temporary};
    struct transaction *transaction = &observed->transaction;
    if (transaction->state == TRANSACTION_NONE && observed->running.statement->kind != PLAN_BEGIN)
        observed_begin_transaction(observed, TRANSACTION_IMPLICIT, ISOLATION_UNKNOWN);
    transaction->statements++;
    observed->running.mark = iso_recorder_mark(observed->session);
    observed->running.may_be_own = false;
    observed->running.reading.mode = READING_NOTHING;
    observed->running.reading.reason = observed->running.statement->reason;
    observed->running.reading.operations = 0;
    observed->running.starts = !(portal && portal->has_run);
    judge_statement(observed);
    observed_tell_statement(observed);
}

/* May the rows of a portal or cursor be recorded now, as if they were read now? Not at READ
 * COMMITTED behind another statement, or another cursor, which may have seen later rows. */
static bool reads_as_of_now(const struct observed *observed, const struct portal *portal)
{
    const struct transaction *transaction = &observed->transaction;
    if (portal->writes != transaction->writes)
        return false;
    return transaction->isolation >= ISOLATION_REPEATABLE_READ ||
           portal->serial == transaction->serial;
}

/* A FETCH reads the cursor's query. */
static bool take_cursor(struct observed *observed)
{
    struct portal *cursor = observed_find_portal(observed, observed->running.statement->name);
    if (observed->transaction.state != TRANSACTION_OPEN) {
        observed->running.passed = REASON_HOLD;
        return false;
    }
    if (!cursor || !cursor->is_cursor || !reads_as_of_now(observed, cursor)) {
        observed->running.passed = REASON_CURSOR;
        return false;
    }
    observed->running.portal = cursor;
    observed->running.sent = cursor->sent;
    observed->running.input.statement = query_of(observed);
    observed->running.input.constants = &cursor->text->constants;
    observed->running.input.parameters = &cursor->parameters;
    if (!observed->running.input.statement || !cursor->is_admitted)
        observed->running.passed = REASON_SHAPE;
    return !observed->running.passed;
}

void observed_begin_rows(struct observed *observed, const struct result_fields *fields,
                         bool is_told)
{
    const struct plan_statement *statement = observed->running.statement;
    bool is_fetch = statement->kind == PLAN_FETCH;
    observed->running.has_fields = true;
    observed->running.input.is_told = is_told;
    if (statement->kind == PLAN_WRITE && observed->running.written.table &&
        observed->running.starts && observed->transaction.state == TRANSACTION_OPEN)
        written_begin(&observed->running.reading, &observed->running.input,
                      &observed->running.written, fields);
    if (!observed->running.is_admitted || observed->running.passed ||
        (statement->kind != PLAN_SELECT && !is_fetch))
        return;
    if (is_fetch && !take_cursor(observed))
        return;
    if (!is_fetch && observed->running.portal &&
        !reads_as_of_now(observed, observed->running.portal)) {
        observed->running.passed = REASON_CURSOR;
        return;
    }
    reading_begin(&observed->running.reading, &observed->running.input, fields,
                  is_fetch || !observed->running.starts);
    observed->running.may_be_own = may_be_own(observed);
}

static void count_statement(struct observed *observed)
{
    struct observe_counts *counts = &observed->world->counts;
    struct observe_shape *others = &observed->world->shapes[WORLD_SHAPES];
    /* names that the server does not know may be anything, and are shown to nobody */
    struct observe_shape *shape = observed->running.fails ? others : observed->running.shape;
    const struct reading *reading = &observed->running.reading;
    enum plan_reason reason = observed->running.passed  ? observed->running.passed
                              : observed->running.fails ? REASON_NO_TABLE
                              : observed->running.statement->counts_as_read ? reading->reason
                                                                            : REASON_NONE;
    if (observed->running.statement->counts_as_read && !observed->running.has_fields &&
        !observed->running.passed && !observed->running.fails &&
        !observed->running.statement->reason)
        reason = REASON_UNDESCRIBED;
    pthread_mutex_lock(&observed->world->lock);
    counts->statements++;
    shape->statements++;
    if (observed->running.statement->counts_as_read && reason != REASON_NO_TABLE) {
        counts->reads++;
        shape->reads++;
        counts->reasons[reason]++;
        if (reason)
            shape->reason = reason;
        else if (reading->operations)
            shape->recorded++, counts->recorded++;
        else
            shape->recorded++, counts->empty++;
        observed->transaction.reads += !reason && reading->operations;
    } else if (observed->running.statement->counts_as_read) {
        counts->reasons[REASON_NO_TABLE]++;
    }
    pthread_mutex_unlock(&observed->world->lock);
}

static uint64_t rows_of(const char *tag)
{
    const char *space = strrchr(tag, ' ');
    return space ? strtoull(space + 1, NULL, 10) : 0;
}

static void end_write(struct observed *observed, const char *tag)
{
    char key[2048];
    uint64_t rows = rows_of(tag);
    const struct written *written = &observed->running.written;
    struct reading *reading = &observed->running.reading;
    /* a portal's tags count the rows that each Execute gave; the first one wrote them all */
    bool is_told = *tag && observed->running.starts, is_listed = is_told && rows == 0;
    observed->transaction.writes++;
    observed->transaction.may_write = true;
    soil(observed, written->alone ? written->table : NULL);
    if (observed->transaction.state != TRANSACTION_OPEN)
        return;
    if (reading->mode != READING_NOTHING) {
        is_listed = is_told && !reading->failed && reading->operations == rows;
        if (!is_listed)
            iso_recorder_rollback_to(observed->session, observed->running.mark);
    } else if (is_told && rows == 1 &&
               written_key(&observed->running.input, written, key, sizeof key)) {
        is_listed = true;
        if (written->deletes)
            iso_recorder_delete(observed->session, key);
        else
            iso_recorder_write_row(observed->session, key, NULL, NULL, 0);
    }
    observed->transaction.writes_more |= !is_listed || !written->alone;
}

/* EXECUTE can run what the protocol prepared: COMMIT AND CHAIN, ROLLBACK TO, BEGIN. */
static bool is_control(const char *tag)
{
    static const char *const tags[] = {
        "BEGIN",   "START TRANSACTION",   "COMMIT", "ROLLBACK", "SAVEPOINT",
        "RELEASE", "PREPARE TRANSACTION", NULL};
    const char *const *known = tags;
    while (*known && strcmp(*known, tag))
        known++;
    return *known;
}

static void end_control(struct observed *observed, const char *tag)
{
    const struct plan_statement *statement = observed->running.statement;
    struct transaction *transaction = &observed->transaction;
    enum isolation isolation =
        transaction->takes_default ? ISOLATION_UNKNOWN : transaction->isolation;
    switch (statement->kind) {
    case PLAN_OTHER:
        if (is_control(tag)) {
            observed_begin_transaction(observed, TRANSACTION_OPEN, ISOLATION_UNKNOWN);
            transaction->sets = transaction->is_left_out = true;
        }
        break;
    case PLAN_BEGIN:
        if (transaction->state == TRANSACTION_IMPLICIT) { /* what stood before it in the string, or
                                                             pipeline, is its first part */
            iso_recorder_rollback_to(observed->session, 0);
            transaction->state = TRANSACTION_OPEN;
            transaction->may_write = transaction->writes_more = true;
        } else if (transaction->state != TRANSACTION_OPEN) { /* within one it is a warning */
            observed_begin_transaction(observed, TRANSACTION_OPEN, statement->isolation);
        }
        break;
    case PLAN_COMMIT:
    case PLAN_ROLLBACK: /* also of what stood before it in the string, or pipeline */
        if (observed->running.sent)
            iso_recorder_commit_during(observed->session, (uint64_t)observed->running.sent,
                                       (uint64_t)iso_clock_nanoseconds());
        observed_end_transaction(observed,
                                 strcmp(tag, "COMMIT") ? OUTCOME_ABORTED : OUTCOME_COMMITTED);
        if (statement->chains)
            observed_begin_transaction(observed, TRANSACTION_OPEN, isolation);
        break;
    case PLAN_PREPARE:
        if (transaction->state == TRANSACTION_OPEN)
            observed_end_transaction(observed,
                                     strcmp(tag, "ROLLBACK") ? OUTCOME_PREPARED : OUTCOME_ABORTED);
        break;
    case PLAN_SAVEPOINT:
        observed_set_savepoint(observed, statement->name);
        break;
    case PLAN_RELEASE:
    case PLAN_ROLLBACK_TO:
        observed_return_to_savepoint(observed, statement->name, statement->kind == PLAN_RELEASE);
        break;
    case PLAN_SET:
        transaction->is_left_out |= statement->imports;
        if (statement->sets_default)
            observed->settings.by_default =
                statement->isolation ? statement->isolation : observed->settings.by_default;
        else if (statement->isolation) {
            transaction->isolation = statement->isolation;
            transaction->takes_default = false;
        }
        break;
    case PLAN_DECLARE: {
        struct portal *cursor = observed_open_portal(observed, statement->name);
        cursor->text = observed_text_share(observed->running.text);
        cursor->is_cursor = true;
        cursor->sent = observed->running.sent;
        observed_weigh_portal(observed, cursor);
        cursor->is_pure = observed->running.is_pure;
        cursor->is_admitted = observed->running.is_admitted;
        break;
    }
    case PLAN_CLOSE: {
        struct portal *cursor = statement->name && *statement->name
                                    ? observed_find_portal(observed, statement->name)
                                    : NULL;
        if (cursor)
            observed_drop_portal(observed, cursor);
        break;
    }
    case PLAN_DEALLOCATE: /* no name: all */
        for (uint32_t i = observed->named.prepared_count; i-- > 0;)
            if (!statement->name || !*statement->name ||
                !strcmp(statement->name, observed->named.prepared[i].name))
                observed_drop_prepared(observed, &observed->named.prepared[i]);
        break;
    default:
        break;
    }
}

void observed_may_do_anything(struct observed *observed)
{
    struct transaction *transaction = &observed->transaction;
    observed->doubt.is_dirty = observed->doubt.is_unsettled = true;
    observed->doubt.defines |= observed->running.runs && observed->running.statement->may_define;
    observed->doubt.epoch++;
    observed->settings.by_default = ISOLATION_UNKNOWN;
    observed->settings.spelling.keeps_floats = false;
    transaction->sets = transaction->may_write = transaction->writes_more = true;
    transaction->writes++;
    soil(observed, NULL);
}

/* Notes the statement's effects on the session, whether it ended well or not. */
static void note_effects(struct observed *observed)
{
    const struct plan_statement *statement = observed->running.statement;
    bool is_set = statement->kind == PLAN_SET, is_write = statement->kind == PLAN_WRITE;
    bool ends = statement->kind == PLAN_COMMIT || statement->kind == PLAN_ROLLBACK ||
                statement->kind == PLAN_ROLLBACK_TO;
    const struct portal *cursor =
        statement->kind == PLAN_FETCH ? observed_find_portal(observed, statement->name) : NULL;
    bool is_pure = is_write ? observed->running.written.alone
                   : statement->kind == PLAN_FETCH
                       ? observed->running.is_pure && cursor && cursor->is_pure
                       : observed->running.is_pure;
    if (is_set || (ends && observed->transaction.sets)) {
        /* reported settings may be others, and are told when the server is ready */
        observed->doubt.is_unsettled = true;
        observed->doubt.epoch++;
    }
    observed->transaction.sets |= is_set;
    observed_note_made(observed);
    if (!is_pure)
        observed_may_do_anything(observed);
    if (is_set && !statement->isolation)
        observed->settings.spelling.keeps_floats = false;
}

/* Whether the transaction has its snapshot for certain, by what the server says that it did. LOCK,
 * SET, SHOW, LISTEN, NOTIFY and the like take none, and a question behind them would: it would move
 * the moment that the transaction sees, and forbid SET TRANSACTION. What failed may have failed
 * before. Without a tag a portal gave a part of its rows. */
static bool took_snapshot(const struct plan_statement *statement, const char *tag)
{
    static const char *const tags[] = {
        "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "MERGE ", "COPY ",     "DECLARE CURSOR", "CALL",
        "DO",      "EXPLAIN", "CREATE ", "ALTER ",  "DROP ",  "TRUNCATE ", "REFRESH ",       NULL};
    if (!*tag)
        return statement->kind == PLAN_SELECT || statement->kind == PLAN_WRITE;
    for (const char *const *known = tags; *known; known++)
        if (!strncmp(tag, *known, strlen(*known)))
            return true;
    return false;
}

void observed_end_statement(struct observed *observed, const char *tag, bool whole)
{
    const struct plan_statement *statement = observed->running.statement;
    struct transaction *transaction = &observed->transaction;
    assert(observed->running.runs && transaction->statements);
    observed_tell_moment(observed);
    reading_end(&observed->running.reading, whole, observed->session);
    if (observed->running.reading.mode != READING_NOTHING && observed->running.reading.reason)
        iso_recorder_rollback_to(observed->session, observed->running.mark);
    transaction->operations += observed->running.reading.operations;
    count_statement(observed);
    transaction->saw_snapshot |= took_snapshot(statement, tag);
    if (statement->kind != PLAN_DECLARE)
        transaction->serial++;
    if (observed->running.portal)
        observed->running.portal->serial = transaction->serial,
        observed->running.portal->has_run = true;
    if (statement->kind == PLAN_WRITE)
        end_write(observed, tag);
    if (observed->catalog && iso_recorder_mark(observed->session) > observed->running.mark)
        transaction->held_at = observe_hold(observed->world->shared, observed->catalog);
    note_effects(observed);
    if (statement->may_set)
        observed->settings.by_default = ISOLATION_UNKNOWN;
    if (statement->may_set && !transaction->saw_snapshot) { /* SET transaction_isolation */
        transaction->isolation = ISOLATION_UNKNOWN;
        transaction->takes_default = false;
    }
    observed->running.runs = false;
    end_control(observed, tag);
}

/* Whether it ended the transaction (a COMMIT that was refused does, one whose portal cannot run in
 * a failed transaction does not) the server says when it is ready. */
void observed_fail_statement(struct observed *observed)
{
    observed->running.fails = true;
    observed->running.reading.mode = READING_NOTHING;
    if (observed->running.runs) {
        iso_recorder_rollback_to(observed->session, observed->running.mark);
        observed->running.reading.operations = 0;
        count_statement(observed);
        note_effects(observed);
    }
    observed->running.runs = false;
    observed->transaction.has_failed = true;
}
