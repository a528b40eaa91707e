#include "observe/reading.h"

#include <stdlib.h>

#include "base/memory.h"
#include "observe/reading_private.h"

void reading_release(struct reading *reading)
{
    ISO_FREE_ALL(reading->sources, reading->from, reading->to);
    iso_text_release(&reading->texts);
    iso_text_release(&reading->condition);
    iso_text_release(&reading->values);
    iso_text_release(&reading->held);
    *reading = (struct reading){0};
}

/* Does a name of the statement mean that relation? The server said so of this very execution, or
 * there is no other of the name. */
static bool is_meant(const struct statement_input *input, const struct plan_table *known,
                     const struct catalog_table *table)
{
    if (strcmp(known->name, table->name) ||
        (*known->schema && strcmp(known->schema, table->schema)))
        return false;
    return input->is_told || (known->found == table && (*known->schema || !input->has_temporary));
}

/* NULL: it stands elsewhere, or more than once. */
static const struct plan_table *find_in_plan(const struct statement_input *input,
                                             const struct catalog_table *table)
{
    for (uint32_t i = 0; i < input->statement->table_count; i++) {
        const struct plan_table *known = &input->statement->tables[i];
        if (known->times == 1 && known->is_top && is_meant(input, known, table))
            return known;
    }
    return NULL;
}

/* The one table of a simple statement; NULL: not certain. */
static const struct catalog_table *only_table(const struct reading *reading,
                                              const struct statement_input *input)
{
    const struct plan_table *known = &input->statement->tables[0];
    for (uint32_t i = 0; i < reading->fields->count; i++) {
        uint32_t oid = reading->fields->list[i].table;
        const struct catalog_table *table = oid ? catalog_find(input->catalog, oid) : NULL;
        if (oid)
            return table && is_meant(input, known, table) ? table : NULL;
    }
    return known->found && (*known->schema || !input->has_temporary) ? known->found : NULL;
}

/* For one more. They are large, and most statements have one or two. */
static void reserve_source(struct reading *reading)
{
    if (reading->source_count < reading->source_capacity)
        return;
    reading->source_capacity = reading->source_count + 1;
    reading->sources =
        iso_reallocate(reading->sources, reading->source_capacity * sizeof *reading->sources);
}

uint32_t reading_put_text(struct iso_text *text, const char *string)
{
    uint32_t position = (uint32_t)text->used;
    iso_text_put_bytes(text, string, strlen(string) + 1);
    return position;
}

int reading_field_of(const struct result_fields *fields, uint32_t table, int16_t column)
{
    for (uint32_t i = 0; i < fields->count && i < READING_FIELDS; i++)
        if (fields->list[i].table == table && fields->list[i].column == column)
            return (int)i;
    return -1;
}

static void find_demands(struct reading *reading, const struct statement_input *input,
                         const struct catalog_table *table, const char *alias,
                         struct demands *demands)
{
    const struct plan_statement *statement = input->statement;
    struct asking asking = {input, table, alias, statement->table_count == 1};
    reading->condition.used = 0;
    *demands = (struct demands){table, statement->is_simple ? &reading->condition : NULL, true,
                                .ranged = CATALOG_KEY_MOST};
    if (statement->select)
        reading_find_demands(&asking, statement->select->where_clause, demands);
}

/* False: its rows' keys are not known. */
static bool find_key(struct reading *reading, const struct statement_input *input,
                     struct reading_source *source, const struct plan_table *known,
                     struct demands *demands)
{
    const struct catalog_table *table = source->table;
    find_demands(reading, input, table, known->alias, demands);
    if (!table->key_count)
        return false;
    for (uint32_t i = 0; i < table->key_count; i++) {
        const struct catalog_column *column = catalog_column(table, table->key[i]);
        if (!column ||
            !(pg_is_integer(column->type) || pg_is_text(column->type) || column->type == PG_UUID))
            return false;
        source->parts[i] = (struct reading_part){
            reading_field_of(reading->fields, table->oid, table->key[i]), 0, column->type};
        if (source->parts[i].field < 0) {
            if (!demands->has[i] || demands->twice)
                return false;
            source->parts[i].position =
                reading_put_text(&reading->texts, reading_text_of(&demands->values[i]));
        }
    }
    return true;
}

/* The table's columns in the result, each once; those of its key only with `all`. */
static void find_cells(struct reading *reading, struct reading_source *source, bool all)
{
    source->cell_count = 0;
    for (uint32_t i = 0; i < reading->fields->count && i < READING_FIELDS; i++) {
        const struct result_field *field = &reading->fields->list[i];
        if (field->table != source->table->oid)
            continue;
        const struct catalog_column *column = catalog_column(source->table, field->column);
        if (column && (all || !column->is_key) &&
            reading_field_of(reading->fields, field->table, field->column) == (int)i) {
            source->cells[source->cell_count].field = i;
            source->cells[source->cell_count++].name = column->name;
        }
    }
}

/* The tables that rows come from; those whose rows have keys are kept. `demands`: of the last,
 * which is a simple statement's only one. */
static void find_sources(struct reading *reading, const struct statement_input *input,
                         struct demands *demands)
{
    const struct result_fields *fields = reading->fields;
    uint32_t seen[READING_TABLES * 2], seen_count = 0;
    for (uint32_t i = 0; i < fields->count && i < READING_FIELDS; i++) {
        uint32_t oid = fields->list[i].table, j = 0;
        while (j < seen_count && seen[j] != oid)
            j++;
        if (!oid || j < seen_count || seen_count == sizeof seen / sizeof *seen ||
            reading->source_count == READING_TABLES)
            continue;
        seen[seen_count++] = oid;
        const struct catalog_table *table = catalog_find(input->catalog, oid);
        const struct plan_table *known = table ? find_in_plan(input, table) : NULL;
        if (!table || !table->is_taken || !known)
            continue;
        reserve_source(reading);
        struct reading_source *source = &reading->sources[reading->source_count];
        source->table = table;
        if (find_key(reading, input, source, known, demands)) {
            find_cells(reading, source, false);
            reading->source_count++;
        }
    }
}

/* Only what readers of every version of the format know: others (avg, bool_and, count of distinct
 * values) have names in the format, too, but whoever reads records with a program of his own would
 * stumble over them. */
static bool put_aggregate(struct iso_text *name, const PgQuery__FuncCall *call,
                          const struct catalog_column *column)
{
    const char *function = call->funcname[0]->string->sval;
    bool counts = !strcmp(function, "count"),
         computes =
             !strcmp(function, "sum") || !strcmp(function, "min") || !strcmp(function, "max"),
         is_number = pg_is_integer(column->type) || column->type == PG_NUMERIC;
    if (call->agg_distinct || !(counts || (computes && is_number)))
        return false;
    iso_text_put(name, function);
    iso_text_put(name, "(");
    reading_put_name(name, column->name);
    iso_text_put(name, ")");
    return true;
}

static bool is_aggregate(const struct asking *asking, const PgQuery__Node *target,
                         struct iso_text *name)
{
    if (target->node_case != PG_QUERY__NODE__NODE_RES_TARGET || !target->res_target->val ||
        target->res_target->val->node_case != PG_QUERY__NODE__NODE_FUNC_CALL)
        return false;
    const PgQuery__FuncCall *call = target->res_target->val->func_call;
    if (call->n_funcname != 1 || call->n_agg_order || call->agg_filter || call->over ||
        call->agg_within_group || call->func_variadic || call->n_args != !call->agg_star)
        return false;
    struct value counted = call->agg_star ? (struct value){.kind = VALUE_TRUTH}
                                          : reading_value_of(asking->input, call->args[0]);
    if (counted.kind > VALUE_NULL) { /* a constant, which is there in each row */
        iso_text_put(name, "count");
        return !call->agg_distinct && !strcmp(call->funcname[0]->string->sval, "count");
    }
    const struct catalog_column *column = reading_column_of(asking, call->args[0]);
    return column && put_aggregate(name, call, column);
}

/* Names of aggregates one after the other in `texts`, a zero byte behind each. */
static bool find_aggregates(struct reading *reading, const struct asking *asking)
{
    const PgQuery__SelectStmt *select = asking->input->statement->select;
    reading->texts.used = 0;
    if (select->n_target_list != reading->fields->count || !select->n_target_list ||
        select->n_target_list > READING_FIELDS)
        return false;
    for (size_t i = 0; i < select->n_target_list; i++) {
        if (!is_aggregate(asking, select->target_list[i], &reading->texts))
            return false;
        iso_text_put_bytes(&reading->texts, "", 1);
    }
    return true;
}

/* The result is columns of the table, each once. */
static bool find_bag(struct reading *reading, const struct catalog_table *table)
{
    struct reading_source *source = &reading->sources[0];
    source->table = table;
    find_cells(reading, source, true);
    return source->cell_count && source->cell_count == reading->fields->count;
}

/* How many rows LIMIT, and nothing else, allows; 0: not known. With fewer the result is whole. */
static uint64_t limit_of(const struct statement_input *input)
{
    const PgQuery__SelectStmt *select = input->statement->select;
    struct value value = reading_value_of(input, select->limit_count);
    bool is_number =
        value.kind == VALUE_NUMBER || (value.kind == VALUE_TEXT && pg_is_integer(value.type));
    return is_number && !select->limit_offset && !select->n_locking_clause &&
                   pg_is_plain_integer(reading_text_of(&value))
               ? strtoull(reading_text_of(&value), NULL, 10)
               : 0;
}

/* One table, each row that matches: what can be said of its whole result. */
static void find_set(struct reading *reading, const struct statement_input *input,
                     const struct catalog_table *table, struct demands *demands)
{
    const struct plan_statement *statement = input->statement;
    struct asking asking = {input, table, statement->tables[0].alias, true};
    bool has_key = reading->source_count == 1;
    reading->is_partial = statement->is_partial || table->hides_rows;
    reading->limit = table->hides_rows ? 0 : limit_of(input);
    if (demands->table != table)
        find_demands(reading, input, table, asking.alias, demands);
    if (!has_key)
        reading->sources[0].table = table;
    if (has_key && !statement->has_aggregate && reading_is_whole_key(demands)) {
        reading->mode = READING_POINT;
        for (uint32_t i = 0; i < table->key_count;
             i++) /* where there is no row, its key is what WHERE says */
            reading->sources[0].parts[i] = (struct reading_part){
                -1, reading_put_text(&reading->texts, reading_text_of(&demands->values[i])),
                reading->sources[0].parts[i].type};
        return;
    }
    if (has_key && !reading->is_partial && reading_find_points(reading, &asking)) {
        reading->mode = READING_POINTS;
        return;
    }
    bool says = reading_set_bounds(reading, demands);
    if (!says || !table->key_count)
        reading->reason = REASON_CONDITION;
    else if (statement->says_some)
        reading->mode = READING_SOME;
    else if (has_key && !statement->has_aggregate)
        reading->mode = READING_SET, reading->is_held = first_find(reading, &asking);
    else if (statement->is_distinct || (statement->has_aggregate && reading->is_partial))
        reading->reason = REASON_NO_KEY;
    else if (find_aggregates(reading, &asking))
        reading->mode = READING_AGGREGATES;
    else if (!statement->has_aggregate)
        reading->mode =
            !reading->is_partial && find_bag(reading, table) ? READING_BAG : READING_SOME;
}

/* One of its tables is, or may be, recorded: also of a name that came behind the catalog. */
static bool may_be_taken(const struct statement_input *input)
{
    const struct catalog_table *candidate;
    for (uint32_t i = 0; i < input->statement->table_count; i++) {
        const struct plan_table *known = &input->statement->tables[i];
        uint32_t position = 0;
        while (
            (candidate = catalog_next_named(input->catalog, known->schema, known->name, &position)))
            if (candidate->is_taken)
                return true;
        if (!position && (*known->schema || !input->has_temporary))
            return true;
    }
    return false;
}

enum plan_reason reading_refused(const struct statement_input *input, enum plan_reason reason)
{
    return may_be_taken(input) ? reason : REASON_NO_TABLE;
}

static void reset(struct reading *reading, const struct statement_input *input,
                  const struct result_fields *fields)
{
    reading->mode = READING_NOTHING;
    reading->reason = input->statement->reason;
    reading->has_begun = reading->is_partial = reading->failed = reading->is_writing = false;
    reading->is_held = false;
    reading->held.used = 0;
    reading->is_exists = input->statement->is_exists;
    reading->rows = reading->operations = reading->limit = 0;
    reading->source_count = 0;
    reading->texts.used = 0;
    ISO_FREE_ALL(reading->from, reading->to);
    reading->from = reading->to = NULL;
    reading->fields = fields;
    reading->spelling = *input->spelling;
    reserve_source(reading);
    reading->sources[0].table = NULL;
}

void written_begin(struct reading *reading, const struct statement_input *input,
                   const struct written *written, const struct result_fields *fields)
{
    struct demands demands;
    reset(reading, input, fields);
    find_sources(reading, input, &demands);
    for (uint32_t i = 0; i < reading->source_count; i++)
        if (reading->sources[i].table == written->table)
            reading->sources[0] = reading->sources[i], reading->is_writing = true;
    reading->source_count = reading->is_writing;
    reading->deletes = written->deletes;
    if (reading->is_writing)
        reading->mode = READING_ROWS_ONLY;
}

void reading_begin(struct reading *reading, const struct statement_input *input,
                   const struct result_fields *fields, bool plain)
{
    const struct plan_statement *statement = input->statement;
    struct demands demands = {.table = NULL};
    reset(reading, input, fields);
    if (reading->reason)
        return;
    find_sources(reading, input, &demands);
    const struct catalog_table *table =
        statement->is_simple && !plain ? only_table(reading, input) : NULL;
    if (table && table->is_taken)
        find_set(reading, input, table, &demands);
    if (reading->mode == READING_NOTHING && reading->source_count)
        reading->mode = READING_ROWS_ONLY;
    if (reading->mode != READING_NOTHING)
        reading->reason = REASON_NONE;
    else if (!reading->reason)
        reading->reason = reading_refused(input, REASON_NO_KEY);
}
