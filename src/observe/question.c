#include "observe/observed_private.h"

#include <stdlib.h>

#include "wire/put.h"

/* Nanoseconds. A question for the generation is asked no more often, and for a twentieth of the time at most. */
enum { CHECK_PAUSE = 50000000, CHECK_SHARE = 20, IDLE_PAUSE = 100000000 };

static const char question_portal[] = "isochron_proxy_asks"; /* by which its questions are known in logs */
static const char ask_position[] =
    "SELECT pg_catalog.pg_current_snapshot(), pg_catalog.current_setting('transaction_isolation')";
static const char ask_xid[] = "SELECT pg_catalog.pg_current_xact_id_if_assigned()";

/* What this session sees otherwise than others: its temporary relations, and statements that SQL prepared. */
static const char ask_view[] =
    "SELECT %s, pg_catalog.pg_my_temp_schema() <> 0 AND EXISTS (SELECT 1 FROM pg_catalog.pg_class"
    " WHERE relnamespace = pg_catalog.pg_my_temp_schema()),"
    " pg_catalog.current_setting('extra_float_digits'), pg_catalog.current_setting('bytea_output'),"
    " EXISTS (SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE from_sql)";

static void put_question(struct observed *observed, enum question question, const char *query, struct iso_text *text)
{
    wire_put_question(text, observed->world->shared->question_name, question_portal, query);
    observed_push(observed, ENTRY_PARSE, question);
    observed_push(observed, ENTRY_BIND, question);
    observed_push(observed, ENTRY_EXECUTE, question);
    observed_push(observed, ENTRY_CLOSE, question);
    observed_push(observed, ENTRY_CLOSE, question);
    observed_push(observed, ENTRY_SYNC, question);
}

static bool may_ask(struct observed *observed)
{
    return observed->is_ready && !observed->count && !observed->in_sequence && !observed->is_lost && !observed->stops &&
           !observed->copies && !(observed->reads_only && observed->status == 'I') &&
           !observed_find_portal(observed, question_portal);
}

static const struct plan_statement *only_statement(const struct text *text)
{
    return text && text->plan->count == 1 ? &text->plan->statements[0] : NULL;
}

/* The next statement could be recorded if the session were known, or begins a transaction. */
static bool is_worth_asking(const struct plan_statement *statement)
{
    return statement->kind == PLAN_BEGIN || ((statement->kind == PLAN_SELECT || statement->kind == PLAN_WRITE) &&
                                             statement->table_count && !statement->reason);
}

static void ask_what_is_seen(struct observed *observed, bool with_generation, struct iso_text *before);

/* One question confirms what all sessions of a database recorded before it. */
static bool is_check_due(const struct observed *observed)
{
    int64_t pause = CHECK_SHARE * observed->database->check_cost;
    return observe_nanoseconds() - observed->database->check_at > (pause > CHECK_PAUSE ? pause : CHECK_PAUSE);
}

void observed_ask_at_end(struct observed *observed, struct iso_text *before)
{
    if (observed->held_at && observed->status == 'I' && observed->catalog && !observed->is_standby && may_ask(observed))
        ask_what_is_seen(observed, true, before);
}

static void ask_what_is_seen(struct observed *observed, bool with_generation, struct iso_text *before)
{
    bool is_idle = observed->status == 'I';
    struct iso_text query = {0}, generation = {0};
    observed->asked_at = observe_nanoseconds();
    if (is_idle && with_generation)
        observed->database->check_at = observed->asked_at;
    /* Without an xid a transaction has changed nothing; what others changed is found when its record is confirmed. */
    iso_text_format(&generation,
                    is_idle ? "(%s)"
                            : "CASE WHEN pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL THEN (%s) END",
                    catalog_generation_query);
    iso_text_put_bytes(&generation, "", 1);
    iso_text_format(&query, ask_view, with_generation ? generation.bytes : "NULL");
    iso_text_put_bytes(&query, "", 1);
    put_question(observed, QUESTION_VIEW, query.bytes, before);
    iso_text_release(&generation);
    iso_text_release(&query);
}

/* Behind the first statement that took a snapshot, never before it, the position is asked for, before COMMIT the transaction's xid: with the
 * message that the client sends next, so that the server is not woken for them alone. Without a catalog nobody knows whether
 * the server has these functions, and a question that fails would take the transaction with it. */
void observed_ask_before(struct observed *observed, const struct text *text, struct iso_text *before)
{
    const struct plan_statement *statement = only_statement(text);
    struct transaction *transaction = &observed->transaction;
    if (!observed->catalog || observed->is_standby || !may_ask(observed))
        return;
    observed_settle(observed, false);
    bool is_idle = observed->status == 'I', is_due = is_check_due(observed);
    bool may_see = is_idle || (observed->status == 'T' && transaction->saw_snapshot);
    if ((observed->is_dirty && may_see && statement && is_worth_asking(statement)) ||
        (observed->held_at && is_idle && is_due))
        ask_what_is_seen(observed, is_due || !is_idle, before);
    if (transaction->state != TRANSACTION_OPEN || observed->status != 'T')
        return;
    if (!transaction->saw_snapshot) /* then it has written nothing either */
        return;
    if (!transaction->position_asked && transaction->isolation != ISOLATION_READ_COMMITTED) {
        transaction->position_asked = true;
        put_question(observed, QUESTION_POSITION, ask_position, before);
    }
    if (statement && (statement->kind == PLAN_COMMIT || statement->kind == PLAN_PREPARE) && transaction->may_write &&
        !transaction->xid_known)
        put_question(observed, QUESTION_XID, ask_xid, before);
}

bool observed_asks(struct observed *observed, enum observed_occasion occasion, struct iso_text *question)
{
    if (!may_ask(observed) || observed->status != 'I')
        return false;
    observed_settle(observed, false);
    bool is_late =
        observed->held_at && observe_nanoseconds() - observed->held_at > IDLE_PAUSE && is_check_due(observed);
    if (occasion == OBSERVED_END || is_late) {
        observed_ask_at_end(observed, question);
        return question->used;
    }
    bool is_moment = occasion == OBSERVED_IDLE || !observed->was_asked; /* behind a login, which took longer */
    observed->was_asked = true;
    if (!observe_catalog_wanted(observed->world->shared, observed->database, is_moment))
        return false;
    observed_count_one(observed, &observed->world->counts.catalogs);
    observed->asked = catalog_new();
    observed->asked_at = observe_nanoseconds();
    put_question(observed, QUESTION_CATALOG, catalog_query, question);
    return true;
}

static void take_answer(struct observed *observed, const struct wire_piece *piece, enum question question)
{
    if (!piece->body) {
        observed->question_failed = true;
        return;
    }
    struct wire_cursor row = wire_cursor(piece->body, piece->size);
    if (question == QUESTION_CATALOG) {
        const struct observe_shared *shared = observed->world->shared;
        if (!catalog_add(observed->asked, row, shared->tables, shared->table_count))
            observed->question_failed = true;
        return;
    }
    uint16_t count = wire_u16(&row);
    for (int i = 0; i < ANSWERS && i < count; i++) {
        uint32_t size = wire_u32(&row);
        const uint8_t *bytes = size == UINT32_MAX ? NULL : wire_bytes(&row, size);
        if (bytes && size < sizeof observed->answer[i]) {
            memcpy(observed->answer[i], bytes, size);
            observed->answer[i][size] = 0;
        } else if (bytes) {
            observed->question_failed = true; /* a snapshot of very many transactions */
        }
    }
}

static void take_spelling(struct observed *observed)
{
    observed->spelling.keeps_floats = atoi(observed->answer[2]) >= 1 && !strcmp(observed->answer[3], "hex");
}

static void take_view(struct observed *observed)
{
    bool has_generation = *observed->answer[0];
    if (observed->status == 'I' && has_generation) {
        observed->database->check_cost = observe_nanoseconds() - observed->asked_at;
        observe_confirmed(observed->world->shared, observed->database, observed->asked_at, observed->answer[0]);
        observed_settle(observed, false);
    }
    if (!observed->catalog || (has_generation && strcmp(observed->answer[0], observed->catalog->generation) != 0)) {
        observed->database->is_stale = true; /* and the session is asked again once there is a new one */
        return;
    }
    observed->is_dirty = false;
    observed->has_temporary = *observed->answer[1] == 't';
    take_spelling(observed);
    for (uint32_t i = 0; *observed->answer[4] == 't' && i < observed->prepared_count; i++)
        observed->prepared[i].text->is_misread = true; /* its name may be another's by now */
}

static void take_position(struct observed *observed)
{
    struct transaction *transaction = &observed->transaction;
    enum isolation isolation = isolation_of(observed->answer[1]);
    if (transaction->takes_default)
        observed->by_default = isolation;
    transaction->isolation = isolation;
    if (isolation < ISOLATION_REPEATABLE_READ)
        return;
    iso_recorder_snapshot(observed->session, observed->answer[0]);
    transaction->has_position = true;
    observed_count_one(observed, &observed->world->counts.positions);
}

static void end_question(struct observed *observed, enum question question)
{
    if (observed->question_failed)
        observed_count_one(observed, &observed->world->counts.questions_failed);
    if (question == QUESTION_CATALOG) {
        if (observed->question_failed) {
            catalog_release(observed->asked);
            observed->asked = NULL;
        }
        if (observed->asked) {
            catalog_end(observed->asked);
            observe_confirmed(observed->world->shared, observed->database, observed->asked_at,
                              observed->asked->generation);
        }
        observe_catalog_is(observed->world->shared, observed->database, observed->asked);
        observed->asked = NULL;
    } else if (question == QUESTION_VIEW && !observed->question_failed) {
        take_view(observed);
    } else if (question == QUESTION_POSITION && !observed->question_failed) {
        take_position(observed);
    } else if (question == QUESTION_XID && !observed->question_failed) {
        observed->transaction.xid_known = true;
        iso_recorder_xid(observed->session, observed->answer[0]);
        if (*observed->answer[0] && observed->transaction.writes_more)
            iso_recorder_writes_from_stream(observed->session);
    }
    observed->question_failed = false;
    memset(observed->answer, 0, sizeof observed->answer);
}

void observed_answer_own(struct observed *observed, const struct wire_piece *piece)
{
    struct entry *entry = observed_head(observed);
    enum question question = entry->own;
    switch (piece->type) {
    case 'E':
        observed->question_failed = true;
        observed_pop_to_sync(observed);
        break;
    case 'D':
        take_answer(observed, piece, question);
        break;
    case 'Z':
        observed->status = piece->body && piece->size ? (char)*piece->body : 0;
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
