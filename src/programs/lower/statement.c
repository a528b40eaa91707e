/* Statements: which kind it is. What they claim, write and leave in variables is in select.c,
 * insert.c and change.c. */
#include "lower/lower_private.h"

static bool find_link(void *with, const PgQuery__Node *node)
{
    *(bool *)with = *(bool *)with || node->node_case == PG_QUERY__NODE__NODE_SUB_LINK;
    return true;
}

bool lower_is_planned(const PgQuery__Node *node)
{
    bool links = false;
    lower_each_node(&node->base, find_link, &links);
    if (node->node_case == PG_QUERY__NODE__NODE_SELECT_STMT)
        return links || node->select_stmt->n_from_clause;
    return links || node->node_case == PG_QUERY__NODE__NODE_UPDATE_STMT ||
           node->node_case == PG_QUERY__NODE__NODE_DELETE_STMT;
}

void lower_statement(struct lowering *lowering, const PgQuery__Node *node,
                     const struct target *target)
{
    struct change change = {.target = target};
    lowering->at.planned = lower_is_planned(node);
    switch ((int)node->node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT:
        lower_select(lowering, node->select_stmt, target);
        return;
    case PG_QUERY__NODE__NODE_INSERT_STMT:
        lower_insert(lowering, node->insert_stmt, target);
        return;
    case PG_QUERY__NODE__NODE_UPDATE_STMT: {
        const PgQuery__UpdateStmt *update = node->update_stmt;
        change.where = update->where_clause;
        change.sets = update->target_list;
        change.set_count = update->n_target_list;
        change.returning = update->returning_list;
        change.returning_count = update->n_returning_list;
        lower_change(lowering, &change, update->relation,
                     update->n_from_clause || update->with_clause);
        return;
    }
    case PG_QUERY__NODE__NODE_DELETE_STMT: {
        const PgQuery__DeleteStmt *delete = node->delete_stmt;
        change.deletes = true;
        change.where = delete->where_clause;
        change.returning = delete->returning_list;
        change.returning_count = delete->n_returning_list;
        lower_change(lowering, &change, delete->relation,
                     delete->n_using_clause || delete->with_clause);
        return;
    }
    default:
        lower_refuse(
            lowering, lowering->at.span.begin,
            "this statement: SELECT, INSERT, UPDATE and DELETE are those that can be proved");
    }
}
