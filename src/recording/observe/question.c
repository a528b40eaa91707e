#include "observe/observed_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire/put.h"

enum { IDLE_PAUSE = 100000000 }; /* nanoseconds */

static const char question_portal[] =
    "isochron_proxy_asks"; /* by which its questions are known in logs */
/* The server would compile what is asked of a catalog that is large: for many seconds; and start
 * workers, for longer than they save. Those before PostgreSQL 11 have no such settings. */
#define PLAIN_PLAN                                                                                 \
    "CASE WHEN pg_catalog.current_setting('jit', true) IS NOT NULL"                                \
    " THEN pg_catalog.concat(pg_catalog.set_config('jit', 'off', true),"                           \
    " pg_catalog.set_config('max_parallel_workers_per_gather', '0', true)) END"
static const char own_settings[] =
    "SELECT pg_catalog.set_config('statement_timeout', '5s', true), " PLAIN_PLAN;
static const char own_setting_within[] = "SELECT " PLAIN_PLAN;
/* Asks where the transaction stands: its snapshot, its level and, behind a blank, its xid. */
enum { PART_SNAPSHOT = 1, PART_XID = 2 };
static const char *const ask_position[] = {
    [PART_SNAPSHOT] = "SELECT pg_catalog.pg_current_snapshot(),"
                      " pg_catalog.current_setting('transaction_isolation')",
    [PART_XID] = "SELECT NULL,"
                 " pg_catalog.concat(' ', pg_catalog.pg_current_xact_id_if_assigned())",
    [PART_SNAPSHOT | PART_XID] =
        "SELECT pg_catalog.pg_current_snapshot(),"
        " pg_catalog.concat(pg_catalog.current_setting('transaction_isolation'), ' ',"
        " pg_catalog.pg_current_xact_id_if_assigned())"};

/* Asks for the session's own view: temporary relations, and statements prepared by SQL. */
static const char ask_view[] =
    "SELECT (%s), pg_catalog.pg_my_temp_schema() <> 0 AND EXISTS (SELECT 1 FROM pg_catalog.pg_class"
    " WHERE relnamespace = pg_catalog.pg_my_temp_schema()),"
    " pg_catalog.current_setting('extra_float_digits'), pg_catalog.current_setting('bytea_output'),"
    " EXISTS (SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE from_sql), %s";

static void put_statement(struct observed *observed, enum question question, const char *sql,
                          struct iso_text *text)
{
    static const enum entry_kind answers[] = {ENTRY_CLOSE,   ENTRY_CLOSE, ENTRY_PARSE, ENTRY_BIND,
                                              ENTRY_EXECUTE, ENTRY_CLOSE, ENTRY_CLOSE};
    wire_put_statement(text, observed->world->shared->question_name, question_portal, sql);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        observed_push(observed, answers[i], question);
}

static void put_sync(struct observed *observed, enum question question, struct iso_text *text)
{
    wire_put_end(text, wire_put_begin(text, 'S'));
    observed_push(observed, ENTRY_SYNC, question);
}

static void put_savepoint(struct observed *observed, const char *verb, struct iso_text *text)
{
    char query[80];
    snprintf(query, sizeof query, "%s %s", verb, observed->world->shared->question_name);
    put_statement(observed, QUESTION_GUARD, query, text);
}

/* Outside of a transaction it has a timeout of its own, whatever the client's is. Within one it
 * stands in a savepoint: where it fails (a timeout is over) the client's transaction does not. */
static void put_question(struct observed *observed, enum question question, const char *query,
                         struct iso_text *text)
{
    bool is_within = observed->conversation.status == 'T';
    if (!is_within)
        put_statement(observed, QUESTION_GUARD, own_settings, text);
    else if (!observed->question.is_guarded)
        put_savepoint(observed, "SAVEPOINT", text);
    observed->question.is_guarded = is_within;
    if (is_within && question == QUESTION_VIEW)
        put_statement(observed, QUESTION_GUARD, own_setting_within, text);
    put_statement(observed, question, query, text);
    put_sync(observed, question, text);
}

/* It needs no table, waits for nobody, and takes no longer than a savepoint would, which fails as
 * easily as what it guards: by a cancel or a timeout, of which the client is told then
 * (tells_failure in server.c). So the first one has a savepoint, as the server may refuse it to
 * this role, or not know the functions; and again once anything may have changed that. */
static void put_position(struct observed *observed, unsigned parts, struct iso_text *text)
{
    struct asked *asked = &observed->question;
    if (asked->allowed_epoch != observed->doubt.epoch)
        asked->allowed = 0;
    asked->allowed_epoch = observed->doubt.epoch;
    asked->parts = parts;
    if (parts & ~asked->allowed) {
        put_question(observed, QUESTION_POSITION, ask_position[parts], text);
        return;
    }
    put_statement(observed, QUESTION_POSITION, ask_position[parts], text);
    put_sync(observed, QUESTION_POSITION, text);
}

static void put_end_of_guard(struct observed *observed, struct iso_text *text)
{
    if (!observed->question.is_guarded)
        return;
    put_savepoint(observed, "ROLLBACK TO", text);
    put_savepoint(observed, "RELEASE", text);
    put_sync(observed, QUESTION_GUARD, text);
    observed->question.is_guarded = false;
}

static bool may_ask(struct observed *observed)
{
    const struct conversation *talk = &observed->conversation;
    return talk->is_ready && !talk->is_quiet && !observed->pending.count && !talk->in_sequence &&
           !talk->is_lost && !talk->stops && !talk->copies &&
           !(observed->settings.reads_only && talk->status == 'I') &&
           !observed_find_portal(observed, question_portal);
}

static struct plan_statement *only_statement(const struct text *text)
{
    return text && text->plan->count == 1 ? &text->plan->statements[0] : NULL;
}

/* The next statement could be recorded if the session were known, or begins a transaction. */
static bool is_worth_asking(const struct plan_statement *statement)
{
    return statement->kind == PLAN_BEGIN ||
           ((statement->kind == PLAN_SELECT || statement->kind == PLAN_WRITE) &&
            statement->table_count && !statement->reason);
}

/* Is this the moment for the catalog? A host answers within a transaction, too: there it is asked
 * before the first name that means something, and not where that may be the transaction's own. */
static bool may_get_catalog(struct observed *observed, const struct plan_statement *statement)
{
    bool is_hosted = observed->world->shared->host.ask,
         is_idle = observed->conversation.status == 'I',
         may_be = is_hosted ? statement->kind != PLAN_BEGIN && !observed->doubt.defines &&
                                  !observed->transaction.has_meant
                            : is_idle;
    return may_be && observe_catalog_wanted(observed->world->shared, observed->database, false);
}

static bool check_is_due(const struct observed *observed)
{
    return observe_check_wanted(observed->world->shared, observed->database);
}

/* Only the transaction itself can see its changes of the catalog. Whether it has any is asked
 * first, since that is cheap. */
static void ask_what_is_seen(struct observed *observed, bool with_check, struct iso_text *before)
{
    bool is_idle = observed->conversation.status == 'I';
    struct iso_text query = {0}, check = {0};
    observed->question.at = iso_clock_nanoseconds();
    if (with_check)
        catalog_put_check(observed->catalog, &check, observed->question.expected);
    else
        iso_text_put(&check, "NULL");
    if (is_idle && with_check)
        observed->database->check_at = observed->question.at;
    iso_text_put_bytes(&check, "", 1);
    iso_text_format(&query, ask_view, check.bytes, is_idle ? "false" : catalog_changed_query);
    iso_text_put_bytes(&query, "", 1);
    put_question(observed, QUESTION_VIEW, query.bytes, before);
    iso_text_release(&check);
    iso_text_release(&query);
}

struct told_catalog {
    const struct observe_shared *shared;
    struct catalog *catalog;
};

static void take_told(void *context, const char *const *row)
{
    const struct told_catalog *told = context;
    catalog_add_row(told->catalog, row, told->shared->tables, told->shared->table_count);
}

static struct catalog *new_catalog(const struct observed *observed)
{
    struct catalog *catalog = catalog_new();
    catalog->tells_oids = observed->world->shared->tells_moments;
    catalog->asked_at = iso_clock_nanoseconds();
    return catalog;
}

/* The catalog, if it is not to be asked for in the client's session. */
static bool is_told_catalog(struct observed *observed)
{
    struct observe_shared *shared = observed->world->shared;
    struct told_catalog told = {shared, new_catalog(observed)};
    const struct observe_asked asked = {catalog_query, take_told, &told};
    if (!shared->host.ask || !shared->host.ask(shared->host.context, observed->name, &asked)) {
        catalog_release(told.catalog);
        return false;
    }
    catalog_end(told.catalog);
    observe_catalog_is(shared, observed->database, told.catalog);
    observed_settle(observed, false);
    observed_refresh_catalog(observed);
    return true;
}

static void ask_catalog(struct observed *observed, struct iso_text *before)
{
    observe_count(observed->world, &observed->world->counts.catalogs);
    if (is_told_catalog(observed))
        return;
    observed->question.catalog = new_catalog(observed);
    put_question(observed, QUESTION_CATALOG, catalog_query, before);
}

void observed_ask_at_end(struct observed *observed, struct iso_text *before)
{
    if (!observed->waiting.catalog || observed->settings.is_standby || !may_ask(observed))
        return;
    observed_settle(observed, false);
    observed_refresh_catalog(observed);
    if (!observed->waiting.catalog || is_told_catalog(observed) ||
        observed->conversation.status != 'I')
        return;
    if (observe_catalog_wanted(observed->world->shared, observed->database, false))
        ask_catalog(observed, before);
    else
        ask_what_is_seen(observed, true, before);
}

void observed_settle_at_end(struct observed *observed)
{
    observed_settle(observed, false);
    if (observed->waiting.catalog)
        is_told_catalog(observed);
    observed_settle(observed, true);
}

/* Before a definition goes, a host can still confirm what was recorded until then. */
static bool is_last_chance(const struct observed *observed)
{
    return observed->will_define && observe_is_awaited(observed->world->shared, observed->catalog);
}

/* Before a statement that could be recorded: the catalog, if it is out of date, and what the
 * session sees, if that is not known. And whether what waits was right. */
static void ask_what_is_meant(struct observed *observed, struct plan_statement *statement,
                              struct iso_text *before)
{
    bool is_idle = observed->conversation.status == 'I',
         is_worth = statement && is_worth_asking(statement);
    bool is_new = is_worth && may_get_catalog(observed, statement);
    bool is_check =
        is_idle ? !is_new && check_is_due(observed) : observed->transaction.may_have_changed;
    bool may_see =
        is_idle || (observed->conversation.status == 'T' && observed->transaction.saw_snapshot);
    if (is_new)
        ask_catalog(observed, before);
    else if (is_last_chance(observed)) {
        is_told_catalog(observed);
        return;
    }
    is_worth = is_worth && (is_new || !plan_agrees(statement, observed->catalog));
    if ((observed->doubt.is_dirty && may_see && is_worth) ||
        (observed->waiting.catalog && is_idle && is_check))
        ask_what_is_seen(observed, is_check, before);
}

/* Behind the first statement that took a snapshot, never before it, the position is asked for,
 * before COMMIT the transaction's xid if it had none then: with the message that the client sends
 * next, so that the server is not woken for them alone. Without a catalog nobody knows whether the
 * server has these functions, and a question that fails would take the transaction with it. */
static void ask_before(struct observed *observed, struct plan_statement *statement,
                       struct iso_text *before)
{
    struct transaction *transaction = &observed->transaction;
    observed_settle(observed, false);
    ask_what_is_meant(observed, statement, before);
    if (transaction->state != TRANSACTION_OPEN || observed->conversation.status != 'T')
        return;
    if (!transaction->saw_snapshot) /* then it has written nothing either */
        return;
    unsigned parts = 0;
    if (!transaction->position_asked && transaction->isolation != ISOLATION_READ_COMMITTED)
        parts |= PART_SNAPSHOT;
    if (transaction->may_write && !transaction->xid_known &&
        (parts || (statement && statement->kind == PLAN_COMMIT)))
        parts |= PART_XID;
    transaction->position_asked |= parts & PART_SNAPSHOT;
    if (parts)
        put_position(observed, parts, before);
}

void observed_ask_before(struct observed *observed, const struct text *text,
                         struct iso_text *before)
{
    if (observed->database)
        observed_refresh_catalog(observed);
    if (!observed->catalog || observed->settings.is_standby || !may_ask(observed))
        return;
    ask_before(observed, only_statement(text), before);
    put_end_of_guard(observed, before);
}

bool observed_asks(struct observed *observed, enum observed_occasion occasion,
                   struct iso_text *question)
{
    if (!may_ask(observed) || observed->conversation.status != 'I')
        return false;
    observed_settle(observed, false);
    if (observed->catalog)
        observed_refresh_catalog(observed); /* who does nothing keeps no old one */
    bool is_late =
        observed->waiting.catalog && iso_clock_nanoseconds() - observed->waiting.at > IDLE_PAUSE;
    if (occasion == OBSERVED_END || (is_late && check_is_due(observed))) {
        observed_ask_at_end(observed, question);
        return question->used;
    }
    if (occasion == OBSERVED_IDLE && observed->catalog &&
        observe_check_is_old(observed->world->shared, observed->database)) {
        ask_what_is_seen(observed, true, question);
        return true;
    }
    /* behind a login, which took longer */
    bool is_moment = occasion == OBSERVED_IDLE || !observed->question.was_asked;
    observed->question.was_asked = true;
    if (!is_moment || !observe_catalog_wanted(observed->world->shared, observed->database, true))
        return false;
    ask_catalog(observed, question);
    if (occasion == OBSERVED_IDLE && question->used)
        observed->question.way = OBSERVED_GIVES_WAY;
    return question->used;
}

static void take_view(struct observed *observed, const char *const *answer)
{
    const struct asked *asked = &observed->question;
    const char *check = answer[ANSWER_CHECK];
    bool is_same = !strcmp(check, asked->expected), is_idle = observed->conversation.status == 'I';
    bool is_of_now =
        is_idle || (is_same && observed->transaction.isolation == ISOLATION_READ_COMMITTED);
    if (is_of_now && *check) {
        observe_confirmed(observed->world->shared, observed->database, observed->catalog, asked->at,
                          is_same);
        observed_settle(observed, false);
    }
    /* A transaction that changed what it used goes on unrecorded; others' changes are found when
     * its record is confirmed. */
    observed->transaction.may_have_changed = !is_idle && *answer[ANSWER_CHANGED] == 't';
    if (!is_idle && (*check ? !is_same : observed->transaction.may_have_changed))
        return;
    observed->doubt.is_dirty = false;
    observed->doubt.has_temporary = *answer[ANSWER_TEMPORARY] == 't';
    observed->settings.spelling.keeps_floats =
        atoi(answer[ANSWER_FLOATS]) >= 1 && !strcmp(answer[ANSWER_BYTES], "hex");
    if (*answer[ANSWER_PREPARED] == 't') /* a name may be another's by now */
        for (uint32_t i = 0; i < observed->named.prepared_count; i++)
            observed->named.prepared[i].text->is_misread = true;
}

/* Who has no xid has written nothing yet. */
static void take_xid(struct observed *observed, const char *xid)
{
    observed->transaction.xid_known = *xid;
    observed->transaction.may_write &= *xid != 0;
    iso_recorder_xid(observed->session, xid);
}

static void take_position(struct observed *observed, const char *snapshot, char *level)
{
    struct transaction *transaction = &observed->transaction;
    unsigned parts = observed->question.parts;
    observed->question.allowed |= parts;
    if (parts & PART_XID) {
        char *blank = strrchr(level, ' ');
        take_xid(observed, blank ? blank + 1 : "");
        if (blank)
            *blank = 0;
    }
    if (!(parts & PART_SNAPSHOT))
        return;
    enum isolation isolation = isolation_of(level);
    if (transaction->takes_default)
        observed->settings.by_default = isolation;
    transaction->isolation = isolation;
    if (isolation < ISOLATION_REPEATABLE_READ)
        return;
    iso_recorder_snapshot(observed->session, snapshot);
    transaction->has_position = true;
    observe_count(observed->world, &observed->world->counts.positions);
}

/* Its values are texts, "" where it is NULL or missing. */
static void take_row(struct observed *observed, struct wire_cursor row, bool is_view)
{
    struct iso_text texts = {0};
    size_t starts[ANSWERS];
    const char *answer[ANSWERS];
    uint16_t count = wire_u16(&row);
    for (int i = 0; i < ANSWERS; i++) {
        uint32_t size = i < count ? wire_u32(&row) : UINT32_MAX;
        const uint8_t *bytes = size == UINT32_MAX ? NULL : wire_bytes(&row, size);
        starts[i] = texts.used;
        iso_text_put_bytes(&texts, bytes, bytes ? size : 0);
        iso_text_put_bytes(&texts, "", 1);
    }
    for (int i = 0; i < ANSWERS; i++)
        answer[i] = texts.bytes + starts[i];
    if (is_view)
        take_view(observed, answer);
    else
        take_position(observed, answer[0], texts.bytes + starts[1]);
    iso_text_release(&texts);
}

static void take_answer(struct observed *observed, const struct wire_piece *piece,
                        enum question question)
{
    struct asked *asked = &observed->question;
    const struct observe_shared *shared = observed->world->shared;
    struct wire_cursor row = wire_cursor(piece->body, piece->size);
    if (question == QUESTION_CATALOG)
        asked->has_failed |= !catalog_add(asked->catalog, row, shared->tables, shared->table_count);
    else if (question != QUESTION_GUARD && piece->body)
        take_row(observed, row, question == QUESTION_VIEW);
}

static void end_question(struct observed *observed, enum question question)
{
    struct asked *asked = &observed->question;
    if (asked->has_failed && question != QUESTION_GUARD && asked->way != OBSERVED_INTERRUPTED)
        observe_count(observed->world, &observed->world->counts.questions_failed);
    if (question == QUESTION_CATALOG) {
        if (asked->has_failed)
            catalog_release(asked->catalog), asked->catalog = NULL;
        else
            catalog_end(asked->catalog);
        observe_catalog_is(observed->world->shared, observed->database, asked->catalog);
        asked->catalog = NULL;
        asked->way = OBSERVED_STAYS;
    }
    asked->has_failed = false;
}

/* Whether the transaction failed by what was asked. */
static bool take_status(struct observed *observed, const struct wire_piece *piece)
{
    char before = observed->conversation.status;
    observed->conversation.status = piece->body && piece->size ? (char)*piece->body : 0;
    return before == 'T' && observed->conversation.status == 'E' && observed->question.failure.used;
}

void observed_answer_own(struct observed *observed, const struct wire_piece *piece)
{
    struct entry *entry = observed_head(observed);
    enum question question = entry->own;
    switch (piece->type) {
    case 'E':
        observed->question.has_failed = true;
        if (observed->conversation.status == 'T') {
            observed->question.failure.used = 0;
            iso_text_put_bytes(&observed->question.failure, piece->body,
                               piece->body ? piece->size : 0);
        }
        observed_pop_to_sync(observed);
        break;
    case 'D':
        take_answer(observed, piece, question);
        break;
    case 'Z':
        if (take_status(observed, piece))
            observed->question.is_owed = observed->transaction.has_failed = true;
        else if (observed->conversation.status != 'E')
            observed->question.is_owed = false;
        observed_pop(observed);
        end_question(observed, question);
        break;
    case '1':
    case '2':
    case '3':
    case 'C':
        observed_pop(observed);
        break;
    default: /* no answer to what was asked */
        observed_lose(observed);
    }
}
