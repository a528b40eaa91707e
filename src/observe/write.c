#include "observe/reading_private.h"

static bool sets_key(const struct catalog_table *table, size_t count, PgQuery__Node *const *targets)
{
    for (size_t i = 0; i < count; i++) {
        const struct catalog_column *column = targets[i]->node_case == PG_QUERY__NODE__NODE_RES_TARGET
                                                  ? catalog_column_named(table, targets[i]->res_target->name)
                                                  : NULL;
        if (!column || column->is_key)
            return true;
    }
    return false;
}

/* The values of the key's columns that the one row of VALUES has. */
static void find_inserted(const struct asking *asking, const PgQuery__InsertStmt *insert, struct fixed *fixed)
{
    const PgQuery__SelectStmt *select = insert->select_stmt ? insert->select_stmt->select_stmt : NULL;
    if (!select || select->n_values_lists != 1 || select->values_lists[0]->node_case != PG_QUERY__NODE__NODE_LIST ||
        insert->on_conflict_clause)
        return;
    const PgQuery__List *values = select->values_lists[0]->list;
    for (size_t i = 0; i < values->n_items; i++) {
        const struct catalog_column *column;
        if (insert->n_cols)
            column = i < insert->n_cols ? catalog_column_named(asking->table, insert->cols[i]->res_target->name) : NULL;
        else
            column = i < asking->table->column_count ? &asking->table->columns[i] : NULL;
        struct value value = reading_value_of(asking->input, values->items[i]);
        for (uint32_t j = 0; column && j < asking->table->key_count; j++) {
            if (asking->table->key[j] != column->number || (value.kind != VALUE_TEXT && value.kind != VALUE_NUMBER) ||
                (value.kind == VALUE_NUMBER && !pg_is_integer(column->type)) ||
                !pg_key_part(column->type, reading_text_of(&value)))
                continue;
            fixed->has[j] = true;
            fixed->values[j] = value;
        }
    }
}

bool written_row(const struct statement_input *input, char *key, size_t size, bool *deletes, bool *alone)
{
    const PgQuery__Node *node = input->statement->node;
    const PgQuery__RangeVar *range = NULL;
    struct fixed fixed = {0};
    *deletes = node->node_case == PG_QUERY__NODE__NODE_DELETE_STMT;
    *alone = false;
    if (node->node_case == PG_QUERY__NODE__NODE_INSERT_STMT)
        range = node->insert_stmt->relation;
    else if (node->node_case == PG_QUERY__NODE__NODE_UPDATE_STMT && !node->update_stmt->n_from_clause)
        range = node->update_stmt->relation;
    else if (*deletes && !node->delete_stmt->n_using_clause)
        range = node->delete_stmt->relation;
    const struct catalog_table *table =
        range ? catalog_find_name(input->catalog, range->schemaname, range->relname) : NULL;
    if (!table || !table->is_taken || !table->key_count)
        return false;
    struct asking asking = {input, table, range->alias ? range->alias->aliasname : range->relname, true, false};
    *alone = table->is_written_alone && !input->statement->calls;
    if (node->node_case == PG_QUERY__NODE__NODE_INSERT_STMT)
        find_inserted(&asking, node->insert_stmt, &fixed);
    else
        reading_find_fixed(&asking, *deletes ? node->delete_stmt->where_clause : node->update_stmt->where_clause,
                           &fixed);
    if (node->node_case == PG_QUERY__NODE__NODE_UPDATE_STMT &&
        sets_key(table, node->update_stmt->n_target_list, node->update_stmt->target_list))
        return false;
    const char *parts[CATALOG_KEY_MOST];
    for (uint32_t i = 0; i < table->key_count; i++) {
        if (!fixed.has[i] || fixed.twice)
            return false;
        parts[i] = reading_text_of(&fixed.values[i]);
    }
    return iso_recorder_row_key(key, size, table->full, parts, table->key_count);
}
