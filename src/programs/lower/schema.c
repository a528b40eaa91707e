/* The file's statements: tables with their constraints, the first rows, functions. And the tables
 * of the program. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lower/lower_private.h"

/* ---- tables ---- */

static struct unique *add_unique(struct lowering *lowering, struct table *table, size_t location)
{
    if (table->uniques.count == MOST_COLUMNS)
        lower_refuse(lowering, location, "more than %d unique indexes of one table", MOST_COLUMNS);
    ISO_APPEND(table->uniques, (struct unique){.table = NONE});
    return &table->uniques.list[table->uniques.count - 1];
}

static void name_unique(struct table *table, struct unique *unique, const char *given)
{
    char name[256];
    int used = snprintf(name, sizeof name, "%s", *given ? given : table->name);
    for (uint32_t i = 0; !*given && !unique->primary && i < unique->count && used < 200; i++)
        used += snprintf(name + used, sizeof name - (size_t)used, "_%.40s",
                         table->columns[unique->columns[i]].name);
    if (!*given)
        snprintf(name + used, sizeof name - (size_t)used, unique->primary ? "_pkey" : "_key");
    unique->name = iso_copy_text(name, strlen(name));
}

static void add_key(struct lowering *lowering, struct table *table, struct unique *unique,
                    const char *name, size_t location)
{
    uint32_t column = lower_find_column(table, name);
    if (column == NONE)
        lower_refuse(lowering, location, "table \"%s\" has no column \"%s\"", table->name, name);
    else if (unique->count == MOST_KEY)
        lower_refuse(lowering, location, "a key of more than %d columns", MOST_KEY);
    else
        unique->columns[unique->count++] = column;
}

static void finish_unique(struct table *table, struct unique *unique, const char *given)
{
    for (uint32_t i = 0; i < unique->count; i++) {
        unique->generated = unique->generated || table->columns[unique->columns[i]].serial;
        if (unique->primary)
            table->columns[unique->columns[i]].not_null = true;
    }
    name_unique(table, unique, given);
}

/* One of a column, where `column` is its name, or of the table. */
static void read_constraint(struct lowering *lowering, struct table *table,
                            const PgQuery__Constraint *constraint, const char *column)
{
    size_t location = location_of(lowering, constraint->location);
    uint32_t number = column ? lower_find_column(table, column) : NONE;
    struct unique *unique;
    if (constraint->deferrable || constraint->initdeferred)
        lower_refuse_form(lowering, location, "a deferrable constraint");
    switch ((int)constraint->contype) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_NULL:
        return;
    case PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL:
        table->columns[number].not_null = true;
        return;
    case PG_QUERY__CONSTR_TYPE__CONSTR_CHECK:
        ISO_APPEND(table->checks, constraint->raw_expr);
        return;
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY:
    case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE:
        if (constraint->nulls_not_distinct)
            lower_refuse_form(lowering, location, "NULLS NOT DISTINCT");
        unique = add_unique(lowering, table, location);
        unique->primary = constraint->contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY;
        if (column)
            add_key(lowering, table, unique, column, location);
        for (size_t i = 0; i < constraint->n_keys; i++)
            add_key(lowering, table, unique, lower_name_of(constraint->keys[i]), location);
        finish_unique(table, unique, constraint->conname);
        return;
    case PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN:
        lower_read_reference(lowering, table, constraint, column);
        return;
    case PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT:
        table->columns[number].fallback = constraint->raw_expr;
        return;
    case PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY:
        table->columns[number].serial = table->columns[number].not_null = true;
        return;
    default:
        lower_refuse_form(lowering, location, "this constraint (GENERATED, EXCLUDE, ...)");
    }
}

static void read_column_definition(struct lowering *lowering, struct table *table,
                                   const PgQuery__ColumnDef *definition)
{
    size_t location = location_of(lowering, definition->location);
    if (table->column_count == MOST_COLUMNS) {
        lower_refuse(lowering, location, "more than %d columns", MOST_COLUMNS);
        return;
    }
    if (lower_find_column(table, definition->colname) != NONE)
        lower_refuse(lowering, location, "column \"%s\" stands twice", definition->colname);
    if (definition->coll_clause)
        lower_refuse_form(lowering, location, "COLLATE");
    struct column *column = &table->columns[table->column_count++];
    *column = (struct column){.flag = NONE, .known = {1, 0}, .grown = {1, 0}, .frozen = {1, 0}};
    column->name = iso_copy_text(definition->colname, strlen(definition->colname));
    column->type = lower_type_of(lowering, definition->type_name, &column->serial);
    column->not_null = column->serial;
    column->limit = lower_limit_of(definition->type_name);
    for (size_t i = 0; i < definition->n_constraints && !failed(lowering); i++)
        read_constraint(lowering, table, definition->constraints[i]->constraint,
                        definition->colname);
}

static void read_table(struct lowering *lowering, const PgQuery__CreateStmt *create)
{
    size_t location = location_of(lowering, create->relation->location);
    for (uint32_t i = 0; i < lowering->tables.count; i++)
        if (!strcmp(lowering->tables.list[i].name, create->relation->relname))
            lower_refuse(lowering, location, "table \"%s\" stands twice",
                         create->relation->relname);
    if (create->n_inh_relations || create->partbound || create->partspec || create->of_typename ||
        strcmp(create->relation->relpersistence, "t") == 0)
        lower_refuse_form(lowering, location,
                          "a table that inherits, is partitioned, typed or temporary");
    if (failed(lowering))
        return;
    ISO_APPEND(lowering->tables, (struct table){.span = lowering->at.span});
    struct table *table = &lowering->tables.list[lowering->tables.count - 1];
    table->name = iso_copy_text(create->relation->relname, strlen(create->relation->relname));
    for (int pass = 0; pass < 2;
         pass++) /* constraints of the table may name columns that come after them */
        for (size_t i = 0; i < create->n_table_elts && !failed(lowering); i++) {
            const PgQuery__Node *element = create->table_elts[i];
            bool column = element->node_case == PG_QUERY__NODE__NODE_COLUMN_DEF;
            if (column && !pass)
                read_column_definition(lowering, table, element->column_def);
            else if (!column && element->node_case != PG_QUERY__NODE__NODE_CONSTRAINT)
                lower_refuse_form(lowering, location, "LIKE in CREATE TABLE");
            else if (!column && pass)
                read_constraint(lowering, table, element->constraint, NULL);
        }
    uint32_t flag = 1 + table->column_count;
    for (uint32_t i = 0; i < table->column_count; i++)
        if (!table->columns[i].not_null)
            table->columns[i].flag = flag++;
}

static void read_index(struct lowering *lowering, const PgQuery__IndexStmt *index)
{
    struct table *table = lower_find_table(lowering, index->relation);
    size_t location = location_of(lowering, index->relation->location);
    if (!table || !index->unique)
        return;
    if (index->where_clause || index->nulls_not_distinct || table->initial_count)
        lower_refuse_form(
            lowering, location,
            "a unique index with WHERE or NULLS NOT DISTINCT, or behind the first rows");
    struct unique *unique = add_unique(lowering, table, location);
    for (size_t i = 0; i < index->n_index_params && !failed(lowering); i++) {
        const PgQuery__IndexElem *element = index->index_params[i]->index_elem;
        if (element->expr)
            lower_refuse_form(lowering, location, "a unique index of an expression");
        else
            add_key(lowering, table, unique, element->name, location);
    }
    finish_unique(table, unique, index->idxname);
}

/* ---- the first rows ---- */

static void check_keys(struct lowering *lowering, const struct table *table, const int64_t *row,
                       size_t location)
{
    for (uint32_t i = 0; i < table->uniques.count; i++)
        for (uint32_t other = 0; other < table->initial_count; other++) {
            const int64_t *before = &table->initial[other * table->column_count];
            bool same = true;
            for (uint32_t j = 0; j < table->uniques.list[i].count; j++) {
                uint32_t column = table->uniques.list[i].columns[j];
                same = same && row[column] != INT64_MIN && row[column] == before[column];
            }
            if (same)
                lower_refuse(lowering, location,
                             "this row has a key of \"%s\" that stands in a row before it",
                             table->uniques.list[i].name);
        }
}

static void check_row(struct lowering *lowering, struct table *table, const int64_t *row,
                      size_t location)
{
    struct value values[MOST_COLUMNS];
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (row[i] == INT64_MIN && table->columns[i].not_null)
            lower_refuse(lowering, location, "column \"%s\" is NULL in this row, and NOT NULL",
                         table->columns[i].name);
        values[i] = lower_null(lowering);
        if (row[i] != INT64_MIN)
            values[i] = lower_constant(lowering, table->columns[i].type, row[i]);
        values[i].type = table->columns[i].type;
    }
    struct entry entry = {table->name, table, NONE, values};
    struct from from = {.entries = {&entry, 1, 1}};
    struct scope scope = {NULL, &from, NULL};
    for (uint32_t i = 0; i < table->checks.count && !failed(lowering); i++) {
        struct value value = lower_expression(lowering, &scope, table->checks.list[i]);
        if (lower_or(lowering, lower_truth(lowering, &value), value.null) == NONE)
            lower_refuse(lowering, location, "this row breaks a CHECK of \"%s\"", table->name);
    }
    check_keys(lowering, table, row, location);
}

/* What a first row has in a column that no value is given for. */
static int64_t first_default(struct lowering *lowering, const struct table *table, uint32_t column,
                             const uint32_t *columns, const PgQuery__List *list)
{
    int64_t number;
    for (size_t i = 0; i < list->n_items && i < MOST_COLUMNS; i++)
        if (columns[i] == column &&
            list->items[i]->node_case != PG_QUERY__NODE__NODE_SET_TO_DEFAULT)
            return INT64_MIN;
    struct value value = lower_default(lowering, &table->columns[column]);
    if (lower_constant_of(lowering, value.null, &number) && number)
        return INT64_MIN;
    if (!lower_constant_of(lowering, value.at, &number) || value.null != NONE ||
        value.fails != NONE)
        lower_refuse(lowering, lowering->at.span.begin, "the first rows are of constants");
    return number;
}

static void read_row(struct lowering *lowering, struct table *table, const uint32_t *columns,
                     uint32_t column_count, const PgQuery__List *list, size_t location)
{
    int64_t row[MOST_COLUMNS];
    for (uint32_t i = 0; i < table->column_count; i++)
        row[i] = table->columns[i].serial ? (int64_t)table->initial_count + 1
                                          : first_default(lowering, table, i, columns, list);
    if (list->n_items > column_count)
        lower_refuse(lowering, location, "this row has more values than columns");
    for (size_t i = 0; i < list->n_items && i < column_count && !failed(lowering); i++) {
        const struct column *column = &table->columns[columns[i]];
        if (list->items[i]->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT)
            continue;
        struct value value = lower_expression(lowering, NULL, list->items[i]);
        size_t here = location_of(lowering, lower_location_of(list->items[i]));
        int64_t null, number;
        bool is_null = lower_constant_of(lowering, value.null, &null) && null;
        location = here;
        if (failed(lowering))
            return;
        if (column->serial)
            lower_refuse(lowering, here,
                         "a value for the serial column \"%s\": its sequence would give it again",
                         column->name);
        else if (!lower_types_meet(value.type, column->type))
            lower_refuse(lowering, here, "column \"%s\" is %s, and this is %s", column->name,
                         lower_type_name(column->type), lower_type_name(value.type));
        else if (!is_null && (!lower_constant_of(lowering, value.at, &number) ||
                              value.null != NONE || value.fails != NONE))
            lower_refuse(lowering, here, "the first rows are of constants");
        else if (!is_null && column->type == TYPE_INT && (number < INT32_MIN || number > INT32_MAX))
            lower_refuse(lowering, here, "%lld is out of the range of int", (long long)number);
        else if (!is_null && (lower_limit_text(lowering, &value, column->limit),
                              value.fails != NONE || value.low != number))
            lower_refuse(lowering, here, "this text is too long for column \"%s\"", column->name);
        else
            row[columns[i]] = is_null ? INT64_MIN : number;
    }
    if (!failed(lowering))
        check_row(lowering, table, row, location);
    if (failed(lowering))
        return;
    if (table->initial_count == MOST_ROWS)
        lower_refuse(lowering, location, "more than %d rows", MOST_ROWS);
    ISO_RESERVE(table->initial, (table->initial_count + 1) * table->column_count + 1,
                table->initial_capacity);
    for (uint32_t i = 0; i < table->column_count; i++) {
        table->initial[table->initial_count * table->column_count + i] = row[i];
        if (row[i] != INT64_MIN)
            lower_widen(&table->columns[i].grown, row[i], row[i]);
    }
    table->initial_count++;
}

static void read_rows(struct lowering *lowering, const PgQuery__InsertStmt *insert)
{
    struct table *table = lower_find_table(lowering, insert->relation);
    uint32_t columns[MOST_COLUMNS];
    if (!table)
        return;
    size_t location = location_of(lowering, insert->relation->location);
    const PgQuery__SelectStmt *select =
        insert->select_stmt ? insert->select_stmt->select_stmt : NULL;
    if (!select || !select->n_values_lists || insert->on_conflict_clause ||
        insert->n_returning_list || insert->with_clause ||
        insert->override != PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET)
        lower_refuse_form(lowering, location, "the first rows come by INSERT INTO ... VALUES");
    uint32_t column_count = lower_find_insert_columns(lowering, insert, table, columns);
    for (size_t i = 0; !failed(lowering) && i < select->n_values_lists; i++)
        read_row(lowering, table, columns, column_count, select->values_lists[i]->list, location);
}

/* ---- functions ---- */

/* Where the body stands in the file: behind the dollars of the only such text of the statement. */
static bool find_body(struct lowering *lowering, struct function *function)
{
    struct iso_sql_tokens tokens;
    struct iso_sql_fault fault;
    size_t begin = function->span.begin;
    if (!iso_sql_scan(&tokens, lowering->file.text + begin, function->span.end - begin, &fault)) {
        lower_refuse(lowering, begin + fault.byte, "%s", fault.text);
        return false;
    }
    for (uint32_t i = 0; i < tokens.count; i++) {
        const struct iso_sql_token *token = &tokens.list[i];
        const char *text = lowering->file.text + begin + token->begin;
        if (token->token != PG_QUERY__TOKEN__SCONST || *text != '$')
            continue;
        uint32_t tag =
            (uint32_t)((const char *)memchr(text + 1, '$', token->end - token->begin - 1) - text) +
            1;
        function->body_begin = (uint32_t)begin + token->begin + tag;
        function->body_end = (uint32_t)begin + token->end - tag;
    }
    iso_sql_tokens_release(&tokens);
    if (!function->body_end)
        lower_refuse(lowering, begin, "the body of function \"%s\" is not between dollars ($$)",
                     function->name);
    return !failed(lowering);
}

static void read_parameters(struct lowering *lowering, struct function *function,
                            const PgQuery__CreateFunctionStmt *create)
{
    for (size_t i = 0; i < create->n_parameters && !failed(lowering); i++) {
        const PgQuery__FunctionParameter *parameter = create->parameters[i]->function_parameter;
        size_t location =
            location_of(lowering, parameter->arg_type ? parameter->arg_type->location : -1);
        if ((parameter->mode != PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_IN &&
             parameter->mode != PG_QUERY__FUNCTION_PARAMETER_MODE__FUNC_PARAM_DEFAULT) ||
            !*parameter->name || parameter->defexpr)
            lower_refuse_form(
                lowering, location,
                "a parameter that is OUT, VARIADIC, without a name or with a DEFAULT");
        enum type type = lower_type_of(lowering, parameter->arg_type, NULL);
        ISO_APPEND(
            function->parameters,
            (struct parameter){.name = iso_copy_text(parameter->name, strlen(parameter->name)),
                               .type = type,
                               .range = {1, 0}});
    }
}

static void read_function(struct lowering *lowering, const PgQuery__CreateFunctionStmt *create)
{
    const char *name =
        create->n_funcname ? lower_name_of(create->funcname[create->n_funcname - 1]) : "";
    for (uint32_t i = 0; i < lowering->functions.count; i++)
        if (!strcmp(lowering->functions.list[i].name, name))
            lower_refuse(lowering, lowering->at.span.begin, "function \"%s\" stands twice", name);
    if (failed(lowering))
        return;
    ISO_APPEND(lowering->functions, (struct function){.span = lowering->at.span});
    struct function *function = &lowering->functions.list[lowering->functions.count - 1];
    function->name = iso_copy_text(name, strlen(name));
    bool plpgsql = false;
    for (size_t i = 0; i < create->n_options; i++) {
        const PgQuery__DefElem *option = create->options[i]->def_elem;
        if (!strcmp(option->defname, "language"))
            plpgsql = option->arg && !strcmp(lower_name_of(option->arg), "plpgsql");
        else if (strcmp(option->defname, "as") && strcmp(option->defname, "volatility") &&
                 strcmp(option->defname, "security") && strcmp(option->defname, "parallel") &&
                 strcmp(option->defname, "leakproof") && strcmp(option->defname, "cost"))
            lower_refuse_form(lowering, location_of(lowering, option->location),
                              "the option %s of a function", option->defname);
        else if (!strcmp(option->defname, "volatility") && option->arg &&
                 strcmp(lower_name_of(option->arg), "volatile"))
            lower_refuse(
                lowering, location_of(lowering, option->location),
                "a function that is %s: its statements would share a snapshot; VOLATILE is in the subset that can be proved",
                lower_name_of(option->arg));
    }
    if (!plpgsql || create->sql_body)
        lower_refuse(lowering, lowering->at.span.begin,
                     "function \"%s\" is not in LANGUAGE plpgsql", name);
    if (create->return_type) {
        const PgQuery__TypeName *type = create->return_type;
        const char *last = type->n_names ? lower_name_of(type->names[type->n_names - 1]) : "";
        if (!strcmp(last, "trigger") || !strcmp(last, "event_trigger"))
            lower_refuse_form(lowering, lowering->at.span.begin, "a trigger");
        function->returns = strcmp(last, "void") != 0 && !failed(lowering);
        if (function->returns)
            function->result = lower_type_of(lowering, type, NULL);
    }
    if (!failed(lowering))
        read_parameters(lowering, function, create);
    if (!failed(lowering) && find_body(lowering, function))
        lower_prepare_body(lowering, function);
}

/* ---- all statements ---- */

static void refuse_whole(struct lowering *lowering)
{
    char words[64];
    const char *text = lowering->file.text + lowering->at.span.begin;
    size_t length = lowering->at.span.end - lowering->at.span.begin, used = 0;
    for (uint32_t spaces = 0; used < length && used < sizeof words - 1; used++) {
        bool space = strchr(" \t\r\n", text[used]) != NULL;
        spaces += space;
        if (spaces == 2 || text[used] == '(' || (unsigned char)text[used] >= 0x80)
            break;
        words[used] = space ? ' ' : text[used];
    }
    words[used] = 0;
    lower_refuse_form(lowering, lowering->at.span.begin, "%s", words);
}

/* What cannot be proved is refused where something uses it, not where it is made. */
static void pass_over(struct lowering *lowering, char **refused)
{
    if (lowering->error->status != ISO_BAD_INPUT)
        return;
    *refused = iso_copy_text(lowering->error->text, strlen(lowering->error->text));
    *lowering->error = (struct iso_error)ISO_NO_ERROR;
}

static bool is_passed_over(const struct lowering *lowering, const PgQuery__RangeVar *range)
{
    bool is = false;
    for (uint32_t i = 0; i < lowering->tables.count; i++)
        is = is || (lowering->tables.list[i].refused &&
                    !strcmp(lowering->tables.list[i].name, range->relname));
    return is;
}

bool lower_read_schema(struct lowering *lowering)
{
    struct iso_sql_fault fault;
    if (!iso_sql_parse(&lowering->schema, lowering->file.text, lowering->file.length, &fault)) {
        lower_refuse(lowering, fault.byte, "%s", fault.text);
        return false;
    }
    for (size_t i = 0; i < lowering->schema.count && !failed(lowering); i++) {
        const PgQuery__Node *node = lowering->schema.statements[i]->stmt;
        size_t begin, end;
        uint32_t tables = lowering->tables.count, functions = lowering->functions.count;
        iso_sql_statement(lowering->file.text, lowering->file.length,
                          lowering->schema.statements[i], &begin, &end);
        lowering->at.span = (struct iso_prove_span){(uint32_t)begin, (uint32_t)end};
        lowering->at.delta = 0;
        switch ((int)node->node_case) {
        case PG_QUERY__NODE__NODE_CREATE_STMT:
            read_table(lowering, node->create_stmt);
            if (lowering->tables.count > tables)
                pass_over(lowering, &lowering->tables.list[tables].refused);
            break;
        case PG_QUERY__NODE__NODE_INDEX_STMT:
            if (!is_passed_over(lowering, node->index_stmt->relation))
                read_index(lowering, node->index_stmt);
            break;
        case PG_QUERY__NODE__NODE_INSERT_STMT:
            if (!is_passed_over(lowering, node->insert_stmt->relation))
                read_rows(lowering, node->insert_stmt);
            break;
        case PG_QUERY__NODE__NODE_CREATE_FUNCTION_STMT:
            read_function(lowering, node->create_function_stmt);
            if (lowering->functions.count > functions)
                pass_over(lowering, &lowering->functions.list[functions].refused);
            break;
        case PG_QUERY__NODE__NODE_COMMENT_STMT:
            break;
        case PG_QUERY__NODE__NODE_DROP_STMT: /* what was there before */
            if (!node->drop_stmt->missing_ok || lowering->tables.count)
                refuse_whole(lowering);
            break;
        default:
            refuse_whole(lowering);
        }
    }
    return !failed(lowering);
}

/* ---- the tables of the program ---- */

static void name_rows(struct lowering *lowering, const struct table *table,
                      struct iso_prove_table *made)
{
    assert(table->initial_count <= made->rows);
    for (uint32_t row = 0; row < made->rows; row++) {
        char name[256];
        int used = snprintf(name, sizeof name, "%.100s #%u", table->name, row + 1);
        const struct unique *key = table->uniques.count ? table->uniques.list : NULL;
        if (row < table->initial_count && key && key->primary) {
            used = snprintf(name, sizeof name, "%.100s ", table->name);
            for (uint32_t i = 0; i < key->count; i++) {
                const struct column *column = &table->columns[key->columns[i]];
                int64_t number = table->initial[row * table->column_count + key->columns[i]];
                const char *comma = i ? "," : "";
                if (column->type == TYPE_TEXT)
                    used += snprintf(name + used, sizeof name - (size_t)used, "%s'%.12s'", comma,
                                     lowering->texts.list[number]);
                else
                    used += snprintf(name + used, sizeof name - (size_t)used, "%s%lld", comma,
                                     (long long)number);
            }
        }
        made->row_names[row] = iso_copy_text(name, (size_t)used);
    }
}

static void make_unique(struct lowering *lowering, struct table *table, struct unique *unique)
{
    int64_t cells = 1;
    unique->table = NONE;
    if (unique->generated || !lowering->final)
        return;
    for (uint32_t i = 0; i < unique->count; i++) {
        struct interval *domain = &unique->domain[i];
        *domain = table->columns[unique->columns[i]].grown;
        if (domain->low > domain->high)
            *domain = (struct interval){0, 0};
        if (__builtin_mul_overflow(cells, domain->high - domain->low + 1, &cells) ||
            cells > MOST_UNIQUE_CELLS) {
            lower_refuse(
                lowering, table->span.begin,
                "the key \"%s\" may have more than %d values (column \"%s\": %lld to %lld): smaller ranges are needed",
                unique->name, MOST_UNIQUE_CELLS, table->columns[unique->columns[i]].name,
                (long long)domain->low, (long long)domain->high);
            return;
        }
    }
    unique->table =
        iso_prove_table(lowering->program, unique->name, (uint32_t)cells, 1, table->span);
    struct iso_prove_table *made = &lowering->program->tables.list[unique->table];
    made->indexed = made->hidden = true;
    for (uint32_t row = 0; row < table->initial_count; row++) {
        int64_t cell = 0;
        bool null = false;
        for (uint32_t i = 0; i < unique->count; i++) {
            int64_t number = table->initial[row * table->column_count + unique->columns[i]];
            const struct interval *domain = &unique->domain[i];
            null = null || number == INT64_MIN;
            if (!null)
                cell = cell * (domain->high - domain->low + 1) + number - domain->low;
        }
        uint32_t taken = lower_number(lowering, 1);
        assert(null || (cell >= 0 && cell < cells)); /* the domains hold the first rows */
        if (!null)
            lowering->program->tables.list[unique->table].initial[cell] = taken;
    }
}

static void set_key(struct iso_prove_table *table, const struct unique *unique)
{
    assert(unique->count);
    iso_free(table->key);
    table->key_count = unique->count;
    table->key = iso_allocate(unique->count * sizeof *table->key);
    for (uint32_t i = 0; i < unique->count; i++)
        table->key[i] = 1 + unique->columns[i];
}

void lower_make_tables(struct lowering *lowering)
{
    for (uint32_t t = 0; t < lowering->tables.count && !failed(lowering); t++) {
        struct table *table = &lowering->tables.list[t];
        if (table->refused)
            continue;
        uint32_t columns = 1 + table->column_count;
        for (uint32_t i = 0; i < table->column_count; i++)
            columns += table->columns[i].flag != NONE;
        uint32_t rows = lower_rows_of(table) ? lower_rows_of(table) : 1;
        if (rows > MOST_ROWS) {
            lower_refuse(lowering, table->span.begin, "table \"%s\" may have more than %d rows",
                         table->name, MOST_ROWS);
            return;
        }
        table->ir = iso_prove_table(lowering->program, table->name, rows, columns, table->span);
        struct iso_prove_table *made = &lowering->program->tables.list[table->ir];
        made->indexed = true;
        made->column_names[0] = iso_copy_text("exists", 6);
        for (uint32_t i = 0; i < table->column_count; i++) {
            const struct column *column = &table->columns[i];
            char null[128];
            int used = snprintf(null, sizeof null, "%.100s is null", column->name);
            made->column_names[1 + i] = iso_copy_text(column->name, strlen(column->name));
            if (column->flag != NONE)
                made->column_names[column->flag] = iso_copy_text(null, (size_t)used);
        }
        name_rows(lowering, table, made);
        for (uint32_t i = 0; i < table->uniques.count; i++)
            if (table->uniques.list[i].primary || !made->key_count)
                set_key(made, &table->uniques.list[i]);
        for (uint32_t row = 0; row < table->initial_count; row++) {
            uint32_t one = lower_number(lowering, 1);
            lowering->program->tables.list[table->ir].initial[row * columns] = one;
            for (uint32_t i = 0; i < table->column_count; i++) {
                int64_t number = table->initial[row * table->column_count + i];
                uint32_t value = lower_number(lowering, number == INT64_MIN ? 0 : number);
                uint32_t *initial =
                    &lowering->program->tables.list[table->ir].initial[row * columns];
                initial[1 + i] = value;
                if (number == INT64_MIN)
                    initial[table->columns[i].flag] = one;
            }
        }
        for (uint32_t i = 0; i < table->uniques.count; i++)
            make_unique(lowering, table, &table->uniques.list[i]);
    }
}
