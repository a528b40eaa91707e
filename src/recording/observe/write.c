#include "observe/reading_private.h"

static bool sets_key(const struct catalog_table *table, size_t count, PgQuery__Node *const *targets)
{
    for (size_t i = 0; i < count; i++) {
        const struct catalog_column *column =
            targets[i]->node_case == PG_QUERY__NODE__NODE_RES_TARGET
                ? catalog_column_named(table, targets[i]->res_target->name)
                : NULL;
        if (!column || column->is_key)
            return true;
    }
    return false;
}

/* The values of the key's columns that the one row of VALUES has. */
static void find_inserted(const struct asking *asking, const PgQuery__InsertStmt *insert,
                          struct demands *demands)
{
    const PgQuery__SelectStmt *select =
        insert->select_stmt ? insert->select_stmt->select_stmt : NULL;
    if (!select || select->n_values_lists != 1 ||
        select->values_lists[0]->node_case != PG_QUERY__NODE__NODE_LIST)
        return;
    const PgQuery__List *values = select->values_lists[0]->list;
    for (size_t i = 0; i < values->n_items; i++) {
        const struct catalog_column *column;
        if (insert->n_cols)
            column = i < insert->n_cols
                         ? catalog_column_named(asking->table, insert->cols[i]->res_target->name)
                         : NULL;
        else
            column = i < asking->table->column_count ? &asking->table->columns[i] : NULL;
        struct value value = reading_value_of(asking->input, values->items[i]);
        for (uint32_t j = 0; column && j < asking->table->key_count; j++) {
            if (asking->table->key[j] != column->number || !reading_is_spelt(column, &value) ||
                (column->most &&
                 strlen(reading_text_of(&value)) > column->most)) /* blanks are cut off */
                continue;
            demands->has[j] = true;
            demands->values[j] = value;
        }
    }
}

struct written written_of(const struct statement_input *input)
{
    const PgQuery__Node *node = input->statement->node;
    struct written written = {.deletes = node->node_case == PG_QUERY__NODE__NODE_DELETE_STMT};
    const struct plan_table *known = NULL;
    for (uint32_t i = 0; i < input->statement->table_count; i++)
        if (input->statement->tables[i].is_top)
            known = &input->statement->tables[i];
    const struct catalog_table *table =
        known && (*known->schema || !input->has_temporary) ? known->found : NULL;
    if (!table || !table->is_taken)
        return written;
    written.alone = table->is_written_alone;
    bool sets = node->node_case == PG_QUERY__NODE__NODE_UPDATE_STMT &&
                sets_key(table, node->update_stmt->n_target_list, node->update_stmt->target_list);
    if (node->node_case == PG_QUERY__NODE__NODE_INSERT_STMT &&
        node->insert_stmt->on_conflict_clause)
        sets = sets_key(table, node->insert_stmt->on_conflict_clause->n_target_list,
                        node->insert_stmt->on_conflict_clause->target_list);
    if (table->key_count && table->keeps_keys && !sets)
        written.table = table;
    return written;
}

bool written_key(const struct statement_input *input, const struct written *written, char *key,
                 size_t size)
{
    const PgQuery__Node *node = input->statement->node;
    const struct catalog_table *table = written->table;
    struct demands demands = {.table = table, .ranged = CATALOG_KEY_MOST};
    if (!table || !written->alone)
        return false;
    struct asking asking = {
        input, table, input->statement->tables[input->statement->table_count - 1].alias, true};
    if (node->node_case == PG_QUERY__NODE__NODE_INSERT_STMT) {
        if (!node->insert_stmt->on_conflict_clause)
            find_inserted(&asking, node->insert_stmt, &demands);
    } else if (written->deletes ? !node->delete_stmt->n_using_clause
                                : !node->update_stmt->n_from_clause) {
        reading_find_demands(&asking,
                             written->deletes ? node->delete_stmt->where_clause
                                              : node->update_stmt->where_clause,
                             &demands);
    }
    const char *parts[CATALOG_KEY_MOST];
    for (uint32_t i = 0; i < table->key_count; i++) {
        if (!demands.has[i] || demands.twice)
            return false;
        parts[i] = reading_text_of(&demands.values[i]);
    }
    return iso_recorder_row_key(key, size, table->full, parts, table->key_count);
}
