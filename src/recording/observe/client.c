#include "observe/observed_private.h"

#include "base/memory.h"

/* The database that CREATE DATABASE copies; NULL: it may be any. */
static const char *template_of(const PgQuery__CreatedbStmt *create)
{
    for (size_t i = 0; i < create->n_options; i++) {
        const PgQuery__DefElem *option =
            create->options[i]->node_case == PG_QUERY__NODE__NODE_DEF_ELEM
                ? create->options[i]->def_elem
                : NULL;
        if (option && !strcmp(option->defname, "template"))
            return option->arg && option->arg->node_case == PG_QUERY__NODE__NODE_STRING
                       ? option->arg->string->sval
                       : NULL;
    }
    return "template1";
}

/* Where a database is dropped, renamed or copied, nobody else may be connected to it. */
static void yield_databases(const struct observed *observed, const struct text *text)
{
    const struct observe_host *host = &observed->world->shared->host;
    for (uint32_t i = 0; host->yield && i < text->plan->count; i++) {
        const PgQuery__Node *node = text->plan->statements[i].node;
        if (!node)
            continue;
        if (node->node_case == PG_QUERY__NODE__NODE_DROPDB_STMT)
            host->yield(host->context, node->dropdb_stmt->dbname);
        else if (node->node_case == PG_QUERY__NODE__NODE_CREATEDB_STMT)
            host->yield(host->context, template_of(node->createdb_stmt));
        else if (node->node_case == PG_QUERY__NODE__NODE_RENAME_STMT &&
                 node->rename_stmt->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_DATABASE)
            host->yield(host->context, node->rename_stmt->subname);
    }
}

/* The table that the statement makes; NULL: none. */
static const PgQuery__RangeVar *made_by(const PgQuery__Node *node)
{
    const PgQuery__IntoClause *into = NULL;
    if (node->node_case == PG_QUERY__NODE__NODE_CREATE_STMT)
        return node->create_stmt->relation;
    if (node->node_case == PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT)
        into = node->create_table_as_stmt->into;
    else if (node->node_case == PG_QUERY__NODE__NODE_SELECT_STMT)
        into = node->select_stmt->into_clause;
    return into ? into->rel : NULL;
}

static bool may_define(const PgQuery__Node *node, bool *is_several)
{
    switch (node ? node->node_case : PG_QUERY__NODE__NODE__NOT_SET) {
    case PG_QUERY__NODE__NODE_ALTER_TABLE_STMT:
    case PG_QUERY__NODE__NODE_ALTER_OBJECT_SCHEMA_STMT:
    case PG_QUERY__NODE__NODE_DROP_STMT:
    case PG_QUERY__NODE__NODE_RENAME_STMT:
        return true;
    case PG_QUERY__NODE__NODE_CALL_STMT:
    case PG_QUERY__NODE__NODE_DO_STMT:
        *is_several = true;
        return true;
    case PG_QUERY__NODE__NODE__NOT_SET:
        return false;
    default:
        return made_by(node) != NULL;
    }
}

static bool may_be_the_same(const PgQuery__RangeVar *one, const PgQuery__RangeVar *other)
{
    return one && other && !strcmp(one->relname, other->relname) &&
           (!*one->schemaname || !*other->schemaname ||
            !strcmp(one->schemaname, other->schemaname));
}

/* Whether a table of that name is all that the text's changes of it can mean: no name goes to
 * another table in it, and what it drops is dropped before it makes anything. */
static bool names_each_once(const struct plan *plan)
{
    bool has_made = false;
    for (uint32_t i = 0; i < plan->count && plan->count > 1; i++) {
        const PgQuery__Node *node = plan->statements[i].node;
        if (!node || node->node_case == PG_QUERY__NODE__NODE_RENAME_STMT ||
            node->node_case == PG_QUERY__NODE__NODE_ALTER_OBJECT_SCHEMA_STMT ||
            (has_made && node->node_case == PG_QUERY__NODE__NODE_DROP_STMT))
            return false;
        for (uint32_t before = 0; made_by(node) && before < i; before++)
            if (may_be_the_same(made_by(node), made_by(plan->statements[before].node)))
                return false;
        has_made |= node->node_case != PG_QUERY__NODE__NODE_DROP_STMT;
    }
    return true;
}

static struct observe_given names_given(const struct plan *plan)
{
    struct observe_given given = {.is_any = false};
    for (uint32_t i = 0; i < plan->count; i++) {
        const PgQuery__Node *node = plan->statements[i].node;
        const PgQuery__RangeVar *made = node ? made_by(node) : NULL;
        if (made)
            ISO_APPEND(given.names, made->relname);
        else if (node && node->node_case == PG_QUERY__NODE__NODE_RENAME_STMT)
            ISO_APPEND(given.names, node->rename_stmt->newname);
        given.is_any |=
            node && (node->node_case == PG_QUERY__NODE__NODE_ALTER_OBJECT_SCHEMA_STMT ||
                     (node->node_case == PG_QUERY__NODE__NODE_RENAME_STMT &&
                      node->rename_stmt->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_SCHEMA));
    }
    return given;
}

void observed_look_behind(struct observed *observed)
{
    const struct observe_host *host = &observed->world->shared->host;
    if (host->look && observed->database && observed->has_defined)
        host->look(host->context, observed->database->name, OBSERVE_LOOK_BEHIND, NULL);
    observed->has_defined = false;
}

static bool may_mean(const struct plan_statement *statement)
{
    switch (statement->kind) {
    case PLAN_BEGIN:
    case PLAN_COMMIT:
    case PLAN_ROLLBACK:
    case PLAN_SAVEPOINT:
    case PLAN_RELEASE:
    case PLAN_ROLLBACK_TO:
    case PLAN_SET:
        return false;
    default:
        return true;
    }
}

/* Whether it writes rows, as far as that is known. */
static bool may_fill(const struct plan_statement *statement, bool defines)
{
    return may_mean(statement) &&
           (!defines || statement->node->node_case == PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT ||
            statement->node->node_case == PG_QUERY__NODE__NODE_SELECT_STMT);
}

/* One right behind another: the transaction wrote nothing between. */
static bool is_next_definition(struct observed *observed, bool defines, bool fills, bool means)
{
    bool is_next = defines && !fills && observed->just_defined;
    if (means)
        observed->just_defined = defines && !fills;
    return is_next;
}

/* What the catalog said until then is known, and what it says once its transaction has ended;
 * before that nobody else sees it. */
static void look_at_catalog(struct observed *observed, const struct text *text)
{
    const struct observe_host *host = &observed->world->shared->host;
    bool defines = false, means = false, is_several = !names_each_once(text->plan), fills = false;
    if (!host->look || !observed->database)
        return;
    for (uint32_t i = 0; i < text->plan->count; i++) {
        bool defines_here = may_define(text->plan->statements[i].node, &is_several);
        defines |= defines_here;
        fills |= may_fill(&text->plan->statements[i], defines_here);
        means |= may_mean(&text->plan->statements[i]);
    }
    bool is_behind =
        observed->has_defined && means && !observed->doubt.defines && !observed->pending.count;
    bool is_next = is_next_definition(observed, defines, fills || is_several, means);
    struct observe_given given = names_given(text->plan);
    if (defines || is_behind)
        host->look(host->context, observed->database->name,
                   !defines     ? OBSERVE_LOOK_BEHIND
                   : is_several ? OBSERVE_LOOK_SEVERAL
                   : is_next    ? OBSERVE_LOOK_NEXT
                                : OBSERVE_LOOK_DEFINITION,
                   &given);
    iso_free(given.names.list);
    observed->will_define = defines;
    observed->has_defined = defines || (observed->has_defined && !is_behind);
}

/* Query or Parse. */
static void take_text(struct observed *observed, const struct wire_piece *piece,
                      struct iso_text *before)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    bool is_parse = piece->type == 'P';
    if (is_parse)
        wire_text(&cursor);
    struct text *text = observed_text_new(observed, wire_text(&cursor));
    yield_databases(observed, text);
    look_at_catalog(observed, text);
    text->type_count = is_parse ? wire_u16(&cursor) : 0;
    text->types = iso_allocate_zeroed(text->type_count + 1, sizeof *text->types);
    for (uint32_t i = 0; i < text->type_count; i++)
        text->types[i] = wire_u32(&cursor);
    if (piece->begins)
        observed_ask_before(observed, text, before);
    struct entry *entry =
        observed_push(observed, is_parse ? ENTRY_PARSE : ENTRY_QUERY, QUESTION_NONE);
    entry->text = text;
    observed_weigh(observed, entry, observed_text_bytes(text));
    if (is_parse)
        observed_keep_body(observed, entry, piece);
}

/* What is looked at when it is answered. */
static void take_kept(struct observed *observed, enum entry_kind kind,
                      const struct wire_piece *piece)
{
    observed_keep_body(observed, observed_push(observed, kind, QUESTION_NONE), piece);
}

static void take_bind(struct observed *observed, const struct wire_piece *piece,
                      struct iso_text *before)
{
    struct wire_cursor cursor = wire_cursor(piece->body, piece->size);
    wire_text(&cursor);
    const struct prepared *prepared = observed_find_prepared(observed, wire_text(&cursor));
    if (prepared)
        look_at_catalog(observed, prepared->text);
    if (piece->begins)
        observed_ask_before(observed, prepared ? prepared->text : NULL, before);
    take_kept(observed, ENTRY_BIND, piece);
}

/* What is open is rolled back. */
static void end_session(struct observed *observed, struct iso_text *before)
{
    if (observed->transaction.state == TRANSACTION_OPEN && !observed->pending.count &&
        !observed->conversation.stops)
        observed_end_transaction(observed, OUTCOME_ABORTED);
    observed_ask_at_end(observed, before);
}

void observed_client(struct observed *observed, const struct wire_piece *piece,
                     struct iso_text *before)
{
    if (observed->conversation.is_lost)
        return;
    if (!observed->conversation.is_ready) {
        /* A client that has not logged in makes no work: before the server is ready it sends
         * nothing but its password. */
        if (!strchr("pX", piece->type))
            observed_lose(observed);
        return;
    }
    if (piece->type == 'S' && observed->conversation.skips)
        observed->conversation.skips = observed->conversation.copies = false;
    if (observed->conversation.skips)
        return;
    if (!piece->body && strchr("QPBDEC", piece->type)) {
        observed_lose(observed);
        return;
    }
    switch (piece->type) {
    case 'Q':
    case 'P':
        take_text(observed, piece, before);
        break;
    case 'B':
        take_bind(observed, piece, before);
        break;
    case 'D':
        take_kept(observed,
                  piece->size && *piece->body == 'S' ? ENTRY_DESCRIBE_STATEMENT
                                                     : ENTRY_DESCRIBE_PORTAL,
                  piece);
        break;
    case 'E':
    case 'C':
        take_kept(observed, piece->type == 'E' ? ENTRY_EXECUTE : ENTRY_CLOSE, piece);
        break;
    case 'S':
        if (!observed->conversation.copies)
            observed_push(observed, ENTRY_SYNC, QUESTION_NONE);
        break;
    case 'X':
        if (piece->begins)
            end_session(observed, before);
        break;
    case 'F':
        observed_push(observed, ENTRY_FUNCTION, QUESTION_NONE);
        break;
    case 'c':
    case 'f':
        if (observed->conversation.copies)
            observed->conversation.copies = false;
        else
            observed_push(observed, ENTRY_COPIED, QUESTION_NONE);
        break;
    default:
        break;
    }
    if (strchr("PBDECH", piece->type))
        observed->conversation.in_sequence = true;
    else if (strchr("QSF", piece->type))
        observed->conversation.in_sequence = false;
}
