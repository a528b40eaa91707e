#define _GNU_SOURCE
#include "observe/observed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/memory.h"
#include "observe/reading.h"
#include "wire/put.h"

enum { QUEUE_MOST = 1 << 14, QUEUE_BYTES = 1 << 22, NAMES_MOST = 4096, SAVEPOINTS_MOST = 256, TAG_MOST = 64 };

static const char question_name[] = "isochron_proxy_asks";
static const char ask_position[] =
    "SELECT pg_catalog.pg_current_snapshot(), pg_catalog.current_setting('transaction_isolation')";
static const char ask_xid[] = "SELECT pg_catalog.pg_current_xact_id_if_assigned()";

/* ---- what a session has ---- */

/* A statement's text with its constants, as a simple query or a prepared statement has it. */
struct text {
    uint32_t references;
    struct plan *plan;
    struct observe_shape *shape;
    struct constants constants;
    uint32_t *types; /* of parameters, as declared */
    uint32_t type_count;
    struct result_fields fields;
    bool is_described;
};

struct prepared {
    char *name;
    struct text *text;
};

struct portal {
    char *name;
    struct text *text;
    struct parameters parameters;
    uint16_t *formats; /* of the result */
    uint32_t format_count;
    struct result_fields fields;
    bool is_described, has_run;
    uint64_t writes, serial; /* of the transaction, when it was opened or last read from */
    bool is_cursor;          /* of DECLARE: by FETCH */
};

/* What the server still has to answer. */
enum entry_kind {
    ENTRY_QUERY,
    ENTRY_PARSE,
    ENTRY_BIND,
    ENTRY_DESCRIBE_STATEMENT,
    ENTRY_DESCRIBE_PORTAL,
    ENTRY_EXECUTE,
    ENTRY_CLOSE,
    ENTRY_SYNC,
    ENTRY_FUNCTION,
    ENTRY_COPIED /* the end of COPY FROM's data: answered by nothing of its own */
};

enum question { QUESTION_NONE, QUESTION_CATALOG, QUESTION_POSITION, QUESTION_XID };

struct entry {
    enum entry_kind kind;
    enum question own;     /* a message of ours */
    uint32_t place;        /* of a simple query: which of its statements */
    struct text *text;     /* QUERY, PARSE */
    struct iso_text bytes; /* the message's body, of those that are looked at when they are answered */
};

enum transaction_state { TRANSACTION_NONE, TRANSACTION_IMPLICIT, TRANSACTION_OPEN };

struct savepoint {
    char *name;
    size_t mark;
};

struct transaction {
    enum transaction_state state;
    bool has_failed, takes_default, position_asked, saw_snapshot, may_write, xid_known;
    bool has_position, writes_more; /* than the record lists */
    bool commits;                   /* COMMIT was sent */
    enum isolation isolation;
    uint64_t writes, serial, statements, operations;
};

struct observed {
    struct observe_world *world;
    struct observe_database *database;
    struct catalog *catalog;
    struct iso_recorder_session *session;
    struct entry *queue; /* a ring */
    uint32_t first, count, capacity;
    size_t queue_bytes;
    bool is_ready; /* the server has said so once */
    bool is_lost, stops, backslashes, is_standby, copies, in_sequence, made_temporary;
    char status; /* of the last ReadyForQuery */
    struct spelling spelling;
    enum isolation by_default;
    struct transaction transaction;
    struct savepoint *savepoints;
    uint32_t savepoint_count, savepoint_capacity;
    struct prepared *prepared;
    uint32_t prepared_count, prepared_capacity;
    struct portal *portals;
    uint32_t portal_count, portal_capacity;

    /* The statement that runs. */
    bool runs, fails;
    const struct plan_statement *statement;
    struct observe_shape *shape;
    struct statement_input input;
    struct text *text;     /* a reference: what the input points to */
    struct portal *portal; /* of extended execution, or of FETCH; NULL */
    struct reading reading;
    struct result_fields fields;
    bool has_fields, starts;
    enum plan_reason passed; /* why it is passed on, found before its result */
    size_t mark;

    struct catalog *asked; /* that is being read */
    bool question_failed;
    char answer[2][256];
};

static void lose(struct observed *observed)
{
    if (observed->is_lost)
        return;
    observed->is_lost = true;
    pthread_mutex_lock(&observed->world->lock);
    observed->world->counts.lost++;
    pthread_mutex_unlock(&observed->world->lock);
}

/* ---- texts ---- */

static void text_release(struct text *text)
{
    if (!text || --text->references)
        return;
    plan_release(text->plan);
    constants_release(&text->constants);
    iso_free(text->types);
    iso_free(text->fields.list);
    iso_free(text);
}

static struct text *text_new(struct observed *observed, const char *sql)
{
    struct text *text = iso_allocate_zeroed(1, sizeof *text);
    text->references = 1;
    text->plan = observe_plan(observed->world, sql, strlen(sql), observed->backslashes, &text->constants, &text->shape);
    return text;
}

static struct text *text_share(struct text *text)
{
    text->references++;
    return text;
}

static void portal_release(struct portal *portal)
{
    iso_free(portal->name);
    text_release(portal->text);
    iso_free(portal->parameters.list);
    iso_text_release(&portal->parameters.values);
    iso_free(portal->formats);
    iso_free(portal->fields.list);
    *portal = (struct portal){0};
}

static struct prepared *find_prepared(struct observed *observed, const char *name)
{
    for (uint32_t i = 0; i < observed->prepared_count; i++)
        if (!strcmp(observed->prepared[i].name, name))
            return &observed->prepared[i];
    return NULL;
}

static struct portal *find_portal(struct observed *observed, const char *name)
{
    for (uint32_t i = 0; i < observed->portal_count; i++)
        if (!strcmp(observed->portals[i].name, name))
            return &observed->portals[i];
    return NULL;
}

static void drop_prepared(struct observed *observed, struct prepared *prepared)
{
    iso_free(prepared->name);
    text_release(prepared->text);
    *prepared = observed->prepared[--observed->prepared_count];
}

static void drop_portal(struct observed *observed, struct portal *portal)
{
    observed->portal = NULL;
    portal_release(portal);
    *portal = observed->portals[--observed->portal_count];
    observed->portals[observed->portal_count] = (struct portal){0};
}

static void drop_portals(struct observed *observed)
{
    while (observed->portal_count)
        drop_portal(observed, &observed->portals[observed->portal_count - 1]);
}

/* A portal without anything, in place of one of that name. */
static struct portal *open_portal(struct observed *observed, const char *name)
{
    struct portal *portal = find_portal(observed, name);
    if (portal)
        drop_portal(observed, portal);
    if (observed->portal_count == NAMES_MOST)
        drop_portals(observed);
    ISO_GROW(observed->portals, observed->portal_count, observed->portal_capacity);
    portal = &observed->portals[observed->portal_count++];
    *portal = (struct portal){.name = iso_copy_text(name, strlen(name)),
                              .writes = observed->transaction.writes,
                              .serial = observed->transaction.serial};
    return portal;
}

/* ---- the queue ---- */

static struct entry *head(struct observed *observed)
{
    return observed->count ? &observed->queue[observed->first] : NULL;
}

static struct entry *at(struct observed *observed, uint32_t place)
{
    return &observed->queue[(observed->first + place) % observed->capacity];
}

static struct entry *push(struct observed *observed, enum entry_kind kind, enum question own)
{
    if (observed->count == observed->capacity) {
        uint32_t capacity = observed->capacity ? observed->capacity * 2 : 8;
        struct entry *queue = iso_allocate_zeroed(capacity, sizeof *queue);
        for (uint32_t i = 0; i < observed->count; i++)
            queue[i] = *at(observed, i);
        iso_free(observed->queue);
        observed->queue = queue;
        observed->capacity = capacity;
        observed->first = 0;
    }
    struct entry *entry = at(observed, observed->count++);
    entry->kind = kind;
    entry->own = own;
    entry->place = 0;
    entry->text = NULL;
    entry->bytes.used = 0;
    if (observed->count > QUEUE_MOST || observed->queue_bytes > QUEUE_BYTES)
        lose(observed);
    return entry;
}

static void keep_body(struct observed *observed, struct entry *entry, const struct wire_piece *piece)
{
    if (!piece->body) {
        lose(observed); /* too large to be known, and then nothing is */
        return;
    }
    iso_text_put_bytes(&entry->bytes, piece->body, piece->size);
    iso_text_put_bytes(&entry->bytes, "", 1);
    observed->queue_bytes += entry->bytes.used;
}

static void pop(struct observed *observed)
{
    struct entry *entry = head(observed);
    observed->queue_bytes -= entry->bytes.used;
    text_release(entry->text);
    entry->text = NULL;
    entry->bytes.used = 0;
    if (entry->bytes.capacity > 1 << 14)
        iso_text_release(&entry->bytes);
    observed->first = (observed->first + 1) % observed->capacity;
    observed->count--;
}

/* After an error the server reads on to the next Sync. */
static void pop_to_sync(struct observed *observed)
{
    while (observed->count && head(observed)->kind != ENTRY_SYNC)
        pop(observed);
}

/* Syncs that the server takes for nothing while it copies, up to the end of the data. */
static void begin_copy(struct observed *observed)
{
    uint32_t kept = 1, ends = 1;
    while (ends < observed->count && at(observed, ends)->kind != ENTRY_COPIED)
        ends++;
    observed->copies = ends == observed->count;
    for (uint32_t i = 1; i < observed->count; i++) {
        struct entry *entry = at(observed, i);
        if ((i < ends && entry->kind == ENTRY_SYNC) || i == ends)
            continue;
        if (kept != i) {
            struct entry moved = *at(observed, kept);
            *at(observed, kept) = *entry;
            *entry = moved;
        }
        kept++;
    }
    observed->count = kept;
}

/* ---- transactions ---- */

static void count_one(struct observed *observed, uint64_t *counter)
{
    pthread_mutex_lock(&observed->world->lock);
    ++*counter;
    pthread_mutex_unlock(&observed->world->lock);
}

static void forget_savepoints(struct observed *observed, uint32_t from)
{
    while (observed->savepoint_count > from)
        iso_free(observed->savepoints[--observed->savepoint_count].name);
}

static void begin_transaction(struct observed *observed, enum transaction_state state, enum isolation isolation)
{
    observed->transaction = (struct transaction){
        .state = state, .takes_default = !isolation, .isolation = isolation ? isolation : observed->by_default};
    forget_savepoints(observed, 0);
    iso_recorder_begin(observed->session);
}

enum outcome { OUTCOME_COMMITTED, OUTCOME_ABORTED, OUTCOME_UNKNOWN };

static void end_transaction(struct observed *observed, enum outcome outcome)
{
    struct transaction *transaction = &observed->transaction;
    struct observe_counts *counts = &observed->world->counts;
    bool is_open = transaction->state == TRANSACTION_OPEN;
    bool is_single = transaction->state == TRANSACTION_IMPLICIT && transaction->statements == 1 &&
                     transaction->operations && outcome == OUTCOME_COMMITTED;
    if (is_open && outcome == OUTCOME_COMMITTED && transaction->may_write && !transaction->xid_known) {
        count_one(observed, &counts->unidentified);
    } else if ((is_open || is_single) && observed->world->shared->needs_position && !transaction->has_position) {
        count_one(observed, &counts->unplaced);
    } else if (is_open || is_single) {
        count_one(observed, is_single                    ? &counts->single
                            : outcome == OUTCOME_ABORTED ? &counts->aborted
                                                         : &counts->transactions);
        if (outcome == OUTCOME_COMMITTED)
            iso_recorder_commit(observed->session);
        else if (outcome == OUTCOME_ABORTED)
            iso_recorder_abort(observed->session);
        else
            iso_recorder_unknown(observed->session);
    }
    *transaction = (struct transaction){.state = TRANSACTION_NONE};
    forget_savepoints(observed, 0);
    drop_portals(observed);
}

static void set_savepoint(struct observed *observed, const char *name)
{
    if (observed->savepoint_count == SAVEPOINTS_MOST) {
        lose(observed);
        return;
    }
    ISO_GROW(observed->savepoints, observed->savepoint_count, observed->savepoint_capacity);
    observed->savepoints[observed->savepoint_count++] =
        (struct savepoint){iso_copy_text(name, strlen(name)), iso_recorder_mark(observed->session)};
}

static void return_to_savepoint(struct observed *observed, const char *name, bool releases)
{
    for (uint32_t i = observed->savepoint_count; i-- > 0;) {
        if (strcmp(observed->savepoints[i].name, name))
            continue;
        if (!releases)
            iso_recorder_rollback_to(observed->session, observed->savepoints[i].mark);
        observed->transaction.has_failed &= releases;
        observed->transaction.writes += !releases;
        forget_savepoints(observed, i + !releases);
        return;
    }
}

/* ---- statements ---- */

static void refresh_catalog(struct observed *observed)
{
    if (observed->catalog && observed->catalog->generation == observed->database->generation)
        return;
    catalog_release(observed->catalog);
    observed->catalog = observe_catalog(observed->world->shared, observed->database);
}

/* A statement begins: its first answer is there. */
static void begin_statement(struct observed *observed, struct text *text, uint32_t place, struct portal *portal)
{
    if (observed->runs)
        return;
    observed->runs = true;
    observed->fails = observed->has_fields = false;
    observed->passed = REASON_NONE;
    text_release(observed->text);
    observed->text = text_share(text);
    observed->shape = text->shape;
    observed->portal = portal;
    struct plan *plan = text->plan;
    static const struct plan_statement unknown = {
        .reason = REASON_SYNTAX, .may_write = true, .takes_snapshot = true, .may_set = true};
    observed->statement = place < plan->count ? &plan->statements[place] : &unknown;
    refresh_catalog(observed);
    observed->input =
        (struct statement_input){observed->statement, &text->constants, portal ? &portal->parameters : NULL,
                                 observed->catalog, &observed->spelling};
    struct transaction *transaction = &observed->transaction;
    if (transaction->state == TRANSACTION_NONE && observed->statement->kind != PLAN_BEGIN)
        begin_transaction(observed, TRANSACTION_IMPLICIT, ISOLATION_UNKNOWN);
    transaction->statements++;
    observed->mark = iso_recorder_mark(observed->session);
    observed->reading.mode = READING_NOTHING;
    observed->reading.reason = observed->statement->reason;
    observed->reading.operations = 0;
    observed->starts = true;
    if (portal && portal->has_run)
        observed->starts = false;
}

/* May the rows of a portal or cursor be recorded now, as if they were read now? */
static bool reads_as_of_now(const struct observed *observed, const struct portal *portal)
{
    const struct transaction *transaction = &observed->transaction;
    if (portal->writes != transaction->writes)
        return false;
    return transaction->isolation >= ISOLATION_REPEATABLE_READ || portal->serial == transaction->serial;
}

/* What FETCH reads is what the cursor's query reads. */
static bool take_cursor(struct observed *observed)
{
    struct portal *cursor = find_portal(observed, observed->statement->name);
    if (observed->transaction.state != TRANSACTION_OPEN) {
        observed->passed = REASON_HOLD;
        return false;
    }
    if (!cursor || !cursor->is_cursor || !reads_as_of_now(observed, cursor)) {
        observed->passed = REASON_CURSOR;
        return false;
    }
    observed->portal = cursor;
    observed->input.statement = NULL;
    for (uint32_t i = 0; i < cursor->text->plan->count; i++) {
        const struct plan_statement *statement = &cursor->text->plan->statements[i];
        if (statement->kind == PLAN_DECLARE && !strcmp(statement->name, cursor->name))
            observed->input.statement = statement;
    }
    observed->input.constants = &cursor->text->constants;
    observed->input.parameters = &cursor->parameters;
    return observed->input.statement;
}

static void begin_rows(struct observed *observed, const struct result_fields *fields)
{
    const struct plan_statement *statement = observed->statement;
    bool is_fetch = statement->kind == PLAN_FETCH, plain = is_fetch || !observed->starts;
    observed->has_fields = true;
    if (statement->kind != PLAN_SELECT && !is_fetch)
        return;
    if (is_fetch && !take_cursor(observed))
        return;
    if (!is_fetch && observed->portal && !reads_as_of_now(observed, observed->portal)) {
        observed->passed = REASON_CURSOR;
        return;
    }
    if (observed->made_temporary && observed->input.statement->is_simple)
        plain = true; /* a name may mean another table here */
    reading_begin(&observed->reading, &observed->input, fields, plain);
    if (observed->reading.saw_unknown)
        observed->database->is_stale = true;
}

static void count_statement(struct observed *observed)
{
    struct observe_counts *counts = &observed->world->counts;
    struct observe_shape *shape = observed->shape;
    const struct reading *reading = &observed->reading;
    enum plan_reason reason = observed->passed                      ? observed->passed
                              : observed->fails                     ? REASON_NO_TABLE
                              : observed->statement->counts_as_read ? reading->reason
                                                                    : REASON_NONE;
    if (observed->statement->counts_as_read && !observed->has_fields && !observed->passed && !observed->fails &&
        !observed->statement->reason)
        reason = REASON_UNDESCRIBED;
    pthread_mutex_lock(&observed->world->lock);
    counts->statements++;
    shape->statements++;
    if (observed->statement->counts_as_read && reason != REASON_NO_TABLE) {
        counts->reads++;
        shape->reads++;
        counts->reasons[reason]++;
        if (reason)
            shape->reason = reason;
        else if (reading->operations)
            shape->recorded++, counts->recorded++;
        else
            shape->recorded++, counts->empty++;
    } else if (observed->statement->counts_as_read) {
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
    bool deletes, alone = false;
    uint64_t rows = rows_of(tag);
    observed->transaction.writes++;
    if (observed->transaction.state != TRANSACTION_OPEN)
        return;
    bool is_listed =
        rows == 1 && !observed->made_temporary && written_row(&observed->input, key, sizeof key, &deletes, &alone);
    observed->transaction.writes_more |= !is_listed || !alone;
    if (!is_listed)
        return;
    if (deletes)
        iso_recorder_delete(observed->session, key);
    else
        iso_recorder_write_row(observed->session, key, NULL, NULL, 0);
}

static void end_control(struct observed *observed, const char *tag)
{
    const struct plan_statement *statement = observed->statement;
    struct transaction *transaction = &observed->transaction;
    enum isolation isolation = transaction->takes_default ? ISOLATION_UNKNOWN : transaction->isolation;
    switch (statement->kind) {
    case PLAN_BEGIN:
        if (transaction->state != TRANSACTION_OPEN) /* within one it is a warning */
            begin_transaction(observed, TRANSACTION_OPEN, statement->isolation);
        break;
    case PLAN_COMMIT:
    case PLAN_ROLLBACK:
        if (transaction->state != TRANSACTION_OPEN)
            break;
        end_transaction(observed, strcmp(tag, "COMMIT") ? OUTCOME_ABORTED : OUTCOME_COMMITTED);
        if (statement->chains)
            begin_transaction(observed, TRANSACTION_OPEN, isolation);
        break;
    case PLAN_PREPARE:
        if (transaction->state == TRANSACTION_OPEN)
            end_transaction(observed, strcmp(tag, "ROLLBACK") ? OUTCOME_UNKNOWN : OUTCOME_ABORTED);
        break;
    case PLAN_SAVEPOINT:
        set_savepoint(observed, statement->name);
        break;
    case PLAN_RELEASE:
    case PLAN_ROLLBACK_TO:
        return_to_savepoint(observed, statement->name, statement->kind == PLAN_RELEASE);
        break;
    case PLAN_SET:
        if (statement->sets_default)
            observed->by_default = statement->isolation ? statement->isolation : observed->by_default;
        else if (statement->isolation) {
            transaction->isolation = statement->isolation;
            transaction->takes_default = false;
        }
        break;
    case PLAN_DECLARE: {
        struct portal *cursor = open_portal(observed, statement->name);
        cursor->text = text_share(observed->text);
        cursor->is_cursor = true;
        break;
    }
    case PLAN_CLOSE: {
        struct portal *cursor = statement->name && *statement->name ? find_portal(observed, statement->name) : NULL;
        if (cursor)
            drop_portal(observed, cursor);
        break;
    }
    default:
        break;
    }
}

static bool changes_spelling(const struct plan_statement *statement)
{
    const PgQuery__VariableSetStmt *set =
        statement->kind == PLAN_SET && statement->node ? statement->node->variable_set_stmt : NULL;
    return set && (strcasestr(set->name, "float") || strcasestr(set->name, "bytea") || strcasestr(set->name, "xml"));
}

/* The statement ended well; `whole`: there are no more rows. */
static void end_statement(struct observed *observed, const char *tag, bool whole)
{
    const struct plan_statement *statement = observed->statement;
    struct transaction *transaction = &observed->transaction;
    reading_end(&observed->reading, whole, observed->session);
    if (observed->reading.mode != READING_NOTHING && observed->reading.reason)
        iso_recorder_rollback_to(observed->session, observed->mark);
    transaction->operations += observed->reading.operations;
    count_statement(observed);
    transaction->may_write |= statement->may_write;
    transaction->saw_snapshot |= statement->takes_snapshot;
    if (statement->kind != PLAN_FETCH && statement->kind != PLAN_DECLARE)
        transaction->serial++;
    if (observed->portal && !observed->portal->is_cursor)
        observed->portal->serial = transaction->serial, observed->portal->has_run = true;
    if (statement->kind == PLAN_WRITE)
        end_write(observed, tag);
    else if (statement->may_write) {
        transaction->writes++;
        transaction->writes_more = true;
    }
    if (statement->is_ddl) {
        observed->database->is_stale = true;
        observed->made_temporary |= strcasestr(observed->shape->shape, "TEMP") != NULL;
    }
    if (statement->may_set)
        observed->by_default = ISOLATION_UNKNOWN;
    if (changes_spelling(statement))
        observed->spelling.keeps_floats = false;
    observed->runs = false;
    end_control(observed, tag);
}

static void fail_statement(struct observed *observed)
{
    observed->fails = true;
    observed->reading.mode = READING_NOTHING;
    if (observed->runs) {
        iso_recorder_rollback_to(observed->session, observed->mark);
        observed->transaction.saw_snapshot |= observed->statement->takes_snapshot;
        observed->transaction.may_write |= observed->statement->may_write;
        observed->reading.operations = 0;
        count_statement(observed);
        if (observed->transaction.state == TRANSACTION_OPEN &&
            (observed->statement->kind == PLAN_COMMIT || observed->statement->kind == PLAN_PREPARE))
            end_transaction(observed, OUTCOME_ABORTED);
    }
    observed->runs = false;
    observed->transaction.has_failed = true;
}

/* ---- questions ---- */

static void put_question(struct observed *observed, enum question question, const char *query, struct iso_text *text)
{
    wire_put_question(text, question_name, query);
    push(observed, ENTRY_PARSE, question);
    push(observed, ENTRY_BIND, question);
    push(observed, ENTRY_EXECUTE, question);
    push(observed, ENTRY_CLOSE, question);
    push(observed, ENTRY_CLOSE, question);
    push(observed, ENTRY_SYNC, question);
}

static bool may_ask(const struct observed *observed)
{
    return observed->is_ready && !observed->count && !observed->in_sequence && !observed->is_lost && !observed->stops &&
           !observed->copies;
}

bool observed_asks(struct observed *observed, struct iso_text *question)
{
    if (!may_ask(observed))
        return false;
    if (observed->status == 'I' && observe_catalog_wanted(observed->world->shared, observed->database)) {
        observed->asked = catalog_new();
        put_question(observed, QUESTION_CATALOG, catalog_query, question);
        return true;
    }
    return false;
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
    for (int i = 0; i < 2 && i < count; i++) {
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
    count_one(observed, &observed->world->counts.positions);
}

static void end_question(struct observed *observed, enum question question)
{
    if (observed->question_failed)
        count_one(observed, &observed->world->counts.questions_failed);
    if (question == QUESTION_CATALOG) {
        if (observed->question_failed) {
            catalog_release(observed->asked);
            observed->asked = NULL;
        }
        observe_catalog_is(observed->world->shared, observed->database, observed->asked);
        observed->asked = NULL;
    } else if (question == QUESTION_POSITION && !observed->question_failed) {
        take_position(observed);
    } else if (question == QUESTION_XID && !observed->question_failed) {
        observed->transaction.xid_known = true;
        iso_recorder_xid(observed->session, observed->answer[0]);
        if (*observed->answer[0] && observed->transaction.writes_more)
            iso_recorder_writes_from_stream(observed->session);
    }
    observed->question_failed = false;
    *observed->answer[0] = *observed->answer[1] = 0;
}

static void answer_own(struct observed *observed, const struct wire_piece *piece)
{
    struct entry *entry = head(observed);
    enum question question = entry->own;
    switch (piece->type) {
    case 'E':
        observed->question_failed = true;
        pop_to_sync(observed);
        break;
    case 'D':
        take_answer(observed, piece, question);
        break;
    case 'Z':
        observed->status = piece->body && piece->size ? (char)*piece->body : 0;
        pop(observed);
        end_question(observed, question);
        break;
    case '1':
    case '2':
    case '3':
    case 'C':
        pop(observed);
        break;
    default: /* no answer to what was asked */
        lose(observed);
    }
}

/* ---- the client ---- */

static const struct plan_statement *only_statement(const struct text *text)
{
    return text && text->plan->count == 1 ? &text->plan->statements[0] : NULL;
}

/* Behind the first statement that took a snapshot the position is asked for, before COMMIT the transaction's xid: with the
 * message that the client sends next, so that the server is not woken for them alone. Without a catalog nobody knows whether
 * the server has these functions, and a question that fails would take the transaction with it. */
static void ask_before(struct observed *observed, const struct text *text, struct iso_text *before)
{
    const struct plan_statement *statement = only_statement(text);
    struct transaction *transaction = &observed->transaction;
    if (transaction->state != TRANSACTION_OPEN || observed->status != 'T' || !observed->catalog ||
        observed->is_standby || !may_ask(observed))
        return;
    if (!transaction->position_asked && transaction->saw_snapshot &&
        transaction->isolation != ISOLATION_READ_COMMITTED) {
        transaction->position_asked = true;
        put_question(observed, QUESTION_POSITION, ask_position, before);
    }
    if (statement && (statement->kind == PLAN_COMMIT || statement->kind == PLAN_PREPARE) && transaction->may_write &&
        !transaction->xid_known)
        put_question(observed, QUESTION_XID, ask_xid, before);
}

static void take_query(struct observed *observed, const struct wire_piece *piece, struct iso_text *before)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    struct text *text = text_new(observed, wire_text(&cursor));
    if (piece->begins)
        ask_before(observed, text, before);
    push(observed, ENTRY_QUERY, QUESTION_NONE)->text = text;
}

static void take_parse(struct observed *observed, const struct wire_piece *piece, struct iso_text *before)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    wire_text(&cursor);
    struct text *text = text_new(observed, wire_text(&cursor));
    text->type_count = wire_u16(&cursor);
    text->types = iso_allocate_zeroed(text->type_count ? text->type_count : 1, sizeof *text->types);
    for (uint32_t i = 0; i < text->type_count; i++)
        text->types[i] = wire_u32(&cursor);
    if (piece->begins)
        ask_before(observed, text, before);
    struct entry *entry = push(observed, ENTRY_PARSE, QUESTION_NONE);
    entry->text = text;
    keep_body(observed, entry, piece);
}

static void take_bind(struct observed *observed, const struct wire_piece *piece, struct iso_text *before)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    wire_text(&cursor);
    const struct prepared *prepared = find_prepared(observed, wire_text(&cursor));
    if (piece->begins)
        ask_before(observed, prepared ? prepared->text : NULL, before);
    keep_body(observed, push(observed, ENTRY_BIND, QUESTION_NONE), piece);
}

void observed_client(struct observed *observed, const struct wire_piece *piece, struct iso_text *before)
{
    if (observed->is_lost)
        return;
    if (!piece->body && strchr("QPBDEC", piece->type)) {
        lose(observed);
        return;
    }
    switch (piece->type) {
    case 'Q':
        take_query(observed, piece, before);
        break;
    case 'P':
        take_parse(observed, piece, before);
        break;
    case 'B':
        take_bind(observed, piece, before);
        break;
    case 'D':
        keep_body(observed,
                  push(observed, piece->size && *piece->body == 'S' ? ENTRY_DESCRIBE_STATEMENT : ENTRY_DESCRIBE_PORTAL,
                       QUESTION_NONE),
                  piece);
        break;
    case 'E':
        keep_body(observed, push(observed, ENTRY_EXECUTE, QUESTION_NONE), piece);
        break;
    case 'C':
        keep_body(observed, push(observed, ENTRY_CLOSE, QUESTION_NONE), piece);
        break;
    case 'S':
        if (!observed->copies)
            push(observed, ENTRY_SYNC, QUESTION_NONE);
        break;
    case 'F':
        push(observed, ENTRY_FUNCTION, QUESTION_NONE);
        break;
    case 'c':
    case 'f':
        if (observed->copies)
            observed->copies = false;
        else
            push(observed, ENTRY_COPIED, QUESTION_NONE);
        break;
    default:
        break;
    }
    if (strchr("PBDECH", piece->type))
        observed->in_sequence = true;
    else if (strchr("QSF", piece->type))
        observed->in_sequence = false;
}

/* ---- the server ---- */

bool observed_server_takes(struct observed *observed, char type)
{
    const struct entry *entry = head(observed);
    return entry && entry->own && !strchr("NAS", type);
}

static bool read_fields(struct result_fields *fields, const struct wire_piece *piece)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    uint32_t count = wire_u16(&cursor);
    fields->count = 0;
    ISO_RESERVE(fields->list, count, fields->capacity);
    for (uint32_t i = 0; i < count && !cursor.bad; i++) {
        struct result_field *field = &fields->list[fields->count++];
        wire_text(&cursor);
        field->table = wire_u32(&cursor);
        field->column = (int16_t)wire_u16(&cursor);
        field->type = wire_u32(&cursor);
        wire_u16(&cursor);
        wire_u32(&cursor);
        field->is_binary = wire_u16(&cursor) == 1;
    }
    if (cursor.bad)
        fields->count = 0;
    return !cursor.bad;
}

static void copy_fields(struct result_fields *to, const struct result_fields *from)
{
    ISO_RESERVE(to->list, from->count, to->capacity);
    if (from->count)
        memcpy(to->list, from->list, from->count * sizeof *from->list);
    to->count = from->count;
}

static struct wire_cursor body_of(const struct entry *entry)
{
    return wire_cursor((const uint8_t *)entry->bytes.bytes, entry->bytes.used ? (uint32_t)entry->bytes.used - 1 : 0);
}

static void end_parse(struct observed *observed, struct entry *entry)
{
    struct wire_cursor cursor = body_of(entry);
    const char *name = wire_text(&cursor);
    struct prepared *prepared = find_prepared(observed, name);
    if (prepared)
        drop_prepared(observed, prepared);
    if (observed->prepared_count == NAMES_MOST) {
        lose(observed);
        return;
    }
    ISO_GROW(observed->prepared, observed->prepared_count, observed->prepared_capacity);
    observed->prepared[observed->prepared_count++] =
        (struct prepared){iso_copy_text(name, strlen(name)), text_share(entry->text)};
}

static void bind_parameters(struct observed *observed, struct portal *portal, struct wire_cursor *cursor)
{
    uint16_t formats[256], format_count = wire_u16(cursor);
    struct parameters *parameters = &portal->parameters;
    for (uint32_t i = 0; i < format_count; i++) {
        uint16_t format = wire_u16(cursor);
        if (i < sizeof formats / sizeof *formats)
            formats[i] = format;
    }
    uint32_t count = wire_u16(cursor);
    for (uint32_t i = 0; i < count && !cursor->bad; i++) {
        uint32_t size = wire_u32(cursor);
        const uint8_t *bytes = size == UINT32_MAX ? NULL : wire_bytes(cursor, size);
        ISO_GROW(parameters->list, parameters->count, parameters->capacity);
        struct parameter *parameter = &parameters->list[parameters->count++];
        *parameter = (struct parameter){.is_null = size == UINT32_MAX,
                                        .type = i < portal->text->type_count ? portal->text->types[i] : 0,
                                        .place = (uint32_t)parameters->values.used};
        bool is_binary =
            format_count == 1 ? formats[0] : i < format_count && i < sizeof formats / sizeof *formats && formats[i];
        if (parameter->type == 705) /* unknown: as if nothing was said */
            parameter->type = 0;
        parameter->is_known =
            bytes && size <= 8192 && !(is_binary && !parameter->type) &&
            pg_value_text(parameter->type, is_binary, bytes, size, &observed->spelling, &parameters->values);
    }
    portal->format_count = wire_u16(cursor);
    portal->formats = iso_allocate_zeroed(portal->format_count ? portal->format_count : 1, sizeof *portal->formats);
    for (uint32_t i = 0; i < portal->format_count; i++)
        portal->formats[i] = wire_u16(cursor);
}

static void end_bind(struct observed *observed, struct entry *entry)
{
    struct wire_cursor cursor = body_of(entry);
    const char *name = wire_text(&cursor);
    const struct prepared *prepared = find_prepared(observed, wire_text(&cursor));
    struct portal *portal = open_portal(observed, name);
    if (!prepared) {
        drop_portal(observed, portal);
        return;
    }
    portal->text = text_share(prepared->text);
    bind_parameters(observed, portal, &cursor);
    if (!portal->text->is_described)
        return;
    copy_fields(&portal->fields, &portal->text->fields);
    for (uint32_t i = 0; i < portal->fields.count; i++)
        portal->fields.list[i].is_binary =
            portal->format_count == 1 ? portal->formats[0] == 1 : i < portal->format_count && portal->formats[i] == 1;
    portal->is_described = true;
}

static void end_describe(struct observed *observed, struct entry *entry, const struct wire_piece *piece)
{
    struct wire_cursor cursor = body_of(entry);
    wire_u8(&cursor);
    const char *name = wire_text(&cursor);
    if (entry->kind == ENTRY_DESCRIBE_STATEMENT) {
        struct prepared *prepared = find_prepared(observed, name);
        if (prepared && piece->body)
            prepared->text->is_described = read_fields(&prepared->text->fields, piece);
    } else {
        struct portal *portal = find_portal(observed, name);
        if (portal && piece->body)
            portal->is_described = read_fields(&portal->fields, piece);
    }
}

static void end_close(struct observed *observed, struct entry *entry)
{
    struct wire_cursor cursor = body_of(entry);
    char what = (char)wire_u8(&cursor);
    const char *name = wire_text(&cursor);
    if (what == 'S') {
        struct prepared *prepared = find_prepared(observed, name);
        if (prepared)
            drop_prepared(observed, prepared);
    } else {
        struct portal *portal = find_portal(observed, name);
        if (portal)
            drop_portal(observed, portal);
    }
}

/* The statement of the message that is answered has begun. */
static bool start(struct observed *observed, struct entry *entry)
{
    if (entry->kind == ENTRY_QUERY) {
        begin_statement(observed, entry->text, entry->place, NULL);
        return true;
    }
    struct wire_cursor cursor = body_of(entry);
    struct portal *portal = find_portal(observed, wire_text(&cursor));
    if (!portal) {
        lose(observed);
        return false;
    }
    if (!observed->runs) {
        begin_statement(observed, portal->text, 0, portal);
        if (portal->is_described)
            begin_rows(observed, &portal->fields);
    }
    return true;
}

static void take_description(struct observed *observed, struct entry *entry, const struct wire_piece *piece)
{
    if (entry->kind != ENTRY_QUERY) {
        end_describe(observed, entry, piece);
        pop(observed);
    } else if (start(observed, entry) && piece->body && read_fields(&observed->fields, piece)) {
        begin_rows(observed, &observed->fields);
    }
}

static void take_row(struct observed *observed, struct entry *entry, const struct wire_piece *piece)
{
    if (!observed->runs && !start(observed, entry))
        return;
    if (observed->reading.mode != READING_NOTHING)
        reading_row(&observed->reading, wire_cursor(piece->body, piece->size), observed->session);
}

static void take_completion(struct observed *observed, struct entry *entry, const struct wire_piece *piece)
{
    char tag[TAG_MOST] = "";
    if (!start(observed, entry))
        return;
    if (piece->body && piece->type == 'C')
        for (uint32_t i = 0; i < piece->size && i < TAG_MOST - 1 && piece->body[i]; i++)
            tag[i] = (char)piece->body[i], tag[i + 1] = 0;
    end_statement(observed, tag, piece->type == 'C');
    if (entry->kind == ENTRY_QUERY)
        entry->place++;
    else
        pop(observed);
}

static void take_error(struct observed *observed, struct entry *entry)
{
    if (entry->kind == ENTRY_QUERY) {
        begin_statement(observed, entry->text, entry->place, NULL);
        fail_statement(observed);
        return;
    }
    if (entry->kind == ENTRY_EXECUTE && !observed->runs) {
        struct wire_cursor cursor = body_of(entry);
        struct portal *portal = find_portal(observed, wire_text(&cursor));
        if (portal)
            begin_statement(observed, portal->text, 0, portal);
    }
    fail_statement(observed);
    pop_to_sync(observed);
}

static void become_idle(struct observed *observed, const struct wire_piece *piece)
{
    struct transaction *transaction = &observed->transaction;
    observed->status = piece->body && piece->size ? (char)*piece->body : 0;
    observed->copies = false;
    if (observed->status == 'I' && transaction->state == TRANSACTION_OPEN) {
        /* It ended without its COMMIT being understood. */
        end_transaction(observed, transaction->has_failed ? OUTCOME_ABORTED : OUTCOME_UNKNOWN);
    } else if (observed->status == 'I' && transaction->state == TRANSACTION_IMPLICIT) {
        end_transaction(observed, transaction->has_failed ? OUTCOME_ABORTED : OUTCOME_COMMITTED);
    } else if (observed->status != 'I' && transaction->state != TRANSACTION_OPEN) {
        lose(observed); /* a transaction whose beginning was not seen */
    }
}

static void take_setting(struct observed *observed, const struct wire_piece *piece)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    const char *name = wire_text(&cursor), *value = wire_text(&cursor);
    if (!strcmp(name, "standard_conforming_strings"))
        observed->backslashes = strcmp(value, "on") != 0;
    else if (!strcmp(name, "client_encoding"))
        observed->spelling.is_utf8 = !strcmp(value, "UTF8");
    else if (!strcmp(name, "DateStyle"))
        observed->spelling.is_iso = !strncmp(value, "ISO", 3);
    else if (!strcmp(name, "TimeZone"))
        observed->spelling.is_utc = !strcmp(value, "UTC") || !strcmp(value, "Etc/UTC") || !strcmp(value, "GMT");
    else if (!strcmp(name, "in_hot_standby"))
        observed->is_standby = !strcmp(value, "on");
}

static void take_ready(struct observed *observed, const struct wire_piece *piece)
{
    struct entry *entry = head(observed);
    if (!observed->is_ready) {
        observed->is_ready = true;
        observed->status = 'I';
        return;
    }
    if (!entry || (entry->kind != ENTRY_QUERY && entry->kind != ENTRY_SYNC && entry->kind != ENTRY_FUNCTION)) {
        lose(observed);
        return;
    }
    if (entry->kind == ENTRY_FUNCTION)
        observed->transaction.may_write = true;
    pop(observed);
    become_idle(observed, piece);
}

/* Whether a message of the server can answer what it has to answer now. */
static bool fits(char type, enum entry_kind kind)
{
    bool runs = kind == ENTRY_QUERY || kind == ENTRY_EXECUTE;
    switch (type) {
    case '1':
        return kind == ENTRY_PARSE;
    case '2':
        return kind == ENTRY_BIND;
    case '3':
        return kind == ENTRY_CLOSE;
    case 't':
        return kind == ENTRY_DESCRIBE_STATEMENT;
    case 'n':
        return kind == ENTRY_DESCRIBE_STATEMENT || kind == ENTRY_DESCRIBE_PORTAL;
    case 'T':
        return kind == ENTRY_QUERY || kind == ENTRY_DESCRIBE_STATEMENT || kind == ENTRY_DESCRIBE_PORTAL;
    case 's':
        return kind == ENTRY_EXECUTE;
    case 'V':
        return kind == ENTRY_FUNCTION;
    case 'Z':
        return kind == ENTRY_QUERY || kind == ENTRY_SYNC || kind == ENTRY_FUNCTION;
    case 'D':
    case 'C':
    case 'I':
    case 'G':
    case 'H':
    case 'W':
    case 'd':
    case 'c':
        return runs;
    default:
        return true;
    }
}

static void answer(struct observed *observed, struct entry *entry, const struct wire_piece *piece)
{
    switch (piece->type) {
    case '1':
        end_parse(observed, entry);
        pop(observed);
        break;
    case '2':
        end_bind(observed, entry);
        pop(observed);
        break;
    case '3':
        end_close(observed, entry);
        pop(observed);
        break;
    case 'n':
        pop(observed);
        break;
    case 'T':
        take_description(observed, entry, piece);
        break;
    case 'D':
        take_row(observed, entry, piece);
        break;
    case 'C':
    case 's':
        take_completion(observed, entry, piece);
        break;
    case 'I':
        if (entry->kind == ENTRY_EXECUTE)
            pop(observed);
        break;
    case 'G':
        start(observed, entry);
        if (entry->kind == ENTRY_EXECUTE)
            begin_copy(observed);
        break;
    case 'E':
        take_error(observed, entry);
        break;
    default:
        break;
    }
}

void observed_server(struct observed *observed, const struct wire_piece *piece)
{
    struct entry *entry = head(observed);
    if (piece->type == 'S' && piece->body) {
        take_setting(observed, piece);
        return;
    }
    if (strchr("NARKSv", piece->type))
        return;
    if (entry && entry->own) {
        if (fits(piece->type, entry->kind) || piece->type == 'E')
            answer_own(observed, piece);
        else
            lose(observed);
        return;
    }
    if (observed->is_lost)
        return;
    while (entry && entry->kind == ENTRY_COPIED) {
        pop(observed);
        entry = head(observed);
    }
    if (piece->type == 'Z') {
        take_ready(observed, piece);
    } else if (!entry) {
        if (piece->type != 'E' && observed->is_ready) /* a connection that is ended from outside says why */
            lose(observed);
    } else if (!fits(piece->type, entry->kind)) {
        lose(observed);
    } else {
        answer(observed, entry, piece);
    }
}

/* ---- a session's life ---- */

struct observed *observed_new(struct observe_world *world, uint64_t number, const uint8_t *startup, uint32_t size)
{
    struct observed *observed = iso_allocate_zeroed(1, sizeof *observed);
    struct wire_cursor cursor = wire_cursor(startup, size);
    const char *database = NULL, *user = "";
    char sid[300];
    while (!cursor.bad && cursor.at < cursor.end && *cursor.at) {
        const char *name = wire_text(&cursor), *value = wire_text(&cursor);
        if (!strcmp(name, "database"))
            database = value;
        else if (!strcmp(name, "user"))
            user = value;
    }
    snprintf(sid, sizeof sid, "%s/%" PRIu64, world->shared->sid, number);
    observed->world = world;
    observed->database = observe_database(world->shared, database ? database : user);
    observed->session = iso_recorder_session_new(world->shared->recorder, sid);
    observed->spelling = (struct spelling){.is_utf8 = false, .is_iso = true, .keeps_floats = true};
    return observed;
}

void observed_free(struct observed *observed)
{
    if (!observed)
        return;
    bool commits = false;
    for (uint32_t i = 0; i < observed->count; i++)
        commits |= !at(observed, i)->own;
    if (observed->transaction.state == TRANSACTION_OPEN && !observed->is_lost && !observed->stops) /* else it goes on */
        end_transaction(observed, commits && !observed->transaction.has_failed ? OUTCOME_UNKNOWN : OUTCOME_ABORTED);
    if (observed->asked)
        observe_catalog_is(observed->world->shared, observed->database, NULL);
    catalog_release(observed->asked);
    catalog_release(observed->catalog);
    drop_portals(observed);
    while (observed->prepared_count)
        drop_prepared(observed, &observed->prepared[observed->prepared_count - 1]);
    for (uint32_t i = 0; i < observed->capacity; i++) {
        text_release(observed->queue[i].text);
        iso_text_release(&observed->queue[i].bytes);
    }
    forget_savepoints(observed, 0);
    text_release(observed->text);
    reading_release(&observed->reading);
    iso_free(observed->fields.list);
    iso_free(observed->queue);
    iso_free(observed->prepared);
    iso_free(observed->portals);
    iso_free(observed->savepoints);
    iso_recorder_session_free(observed->session);
    iso_free(observed);
}

void observed_stop(struct observed *observed)
{
    observed->stops = true;
}

bool observed_is_over(const struct observed *observed)
{
    if (!observed->is_lost && !observed->stops)
        return false;
    for (uint32_t i = 0; i < observed->count; i++)
        if (observed->queue[(observed->first + i) % observed->capacity].own)
            return false;
    return true;
}
