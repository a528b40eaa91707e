/* Which rows a condition fixes: a table whose unique columns are all equal to what is fixed already
 * has one row at most. */
#include <assert.h>
#include <string.h>

#include "lower/lower_private.h"

struct mention {
    const struct from *from;
    const bool *fixed;
    bool other; /* it names a table that is not fixed, or may */
};

static bool find_mention(void *with, const PgQuery__Node *node)
{
    struct mention *mention = with;
    const char *alias, *name;
    if (node->node_case == PG_QUERY__NODE__NODE_SUB_LINK)
        mention->other = true;
    if (node->node_case != PG_QUERY__NODE__NODE_COLUMN_REF)
        return true;
    struct named named = {0};
    if (!lower_names_of(node->column_ref, &alias, &name)) {
        mention->other = true;
        return true;
    }
    lower_find_named(&named, mention->from, alias, name);
    if (named.found && !mention->fixed[named.entry - mention->from->entries.list])
        mention->other = true;
    return true;
}

static void fix_by(const struct from *from, const bool *fixed, const PgQuery__Node *column,
                   const PgQuery__Node *by, uint64_t *columns)
{
    const char *alias, *name;
    struct named named = {0};
    struct mention mention = {from, fixed, false};
    if (column->node_case != PG_QUERY__NODE__NODE_COLUMN_REF ||
        !lower_names_of(column->column_ref, &alias, &name))
        return;
    lower_find_named(&named, from, alias, name);
    if (named.found != 1)
        return;
    _Static_assert(MOST_COLUMNS <= 64, "a bit for each column");
    assert(named.column < MOST_COLUMNS);
    lower_each_node(&by->base, find_mention, &mention);
    if (!mention.other)
        columns[named.entry - from->entries.list] |= (uint64_t)1 << named.column;
}

static void fix_columns(const struct from *from, const bool *fixed, const PgQuery__Node *node,
                        uint64_t *columns)
{
    if (node->node_case == PG_QUERY__NODE__NODE_BOOL_EXPR &&
        node->bool_expr->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR) {
        for (size_t i = 0; i < node->bool_expr->n_args; i++)
            fix_columns(from, fixed, node->bool_expr->args[i], columns);
    } else if (node->node_case == PG_QUERY__NODE__NODE_A_EXPR &&
               node->a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP && node->a_expr->lexpr &&
               node->a_expr->n_name == 1 && !strcmp(lower_name_of(node->a_expr->name[0]), "=")) {
        fix_by(from, fixed, node->a_expr->lexpr, node->a_expr->rexpr, columns);
        fix_by(from, fixed, node->a_expr->rexpr, node->a_expr->lexpr, columns);
    }
}

static bool is_fixed(const struct table *table, uint64_t columns)
{
    for (uint32_t i = 0; i < table->uniques.count; i++) {
        const struct unique *unique = &table->uniques.list[i];
        bool all = true;
        for (uint32_t j = 0; j < unique->count; j++)
            all = all && columns >> unique->columns[j] & 1;
        if (all)
            return true;
    }
    return lower_rows_of(table) <= 1;
}

bool lower_finds_one_row(struct lowering *lowering, const struct from *from)
{
    (void)lowering;
    bool *fixed = iso_allocate_zeroed(from->entries.count + 1, sizeof *fixed);
    uint64_t *columns = iso_allocate_zeroed(from->entries.count + 1, sizeof *columns);
    bool changed = true, all = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < from->conditions.count; i++)
            fix_columns(from, fixed, from->conditions.list[i], columns);
        for (uint32_t i = 0; i < from->entries.count; i++)
            if (!fixed[i] && is_fixed(from->entries.list[i].table, columns[i]))
                fixed[i] = changed = true;
    }
    for (uint32_t i = 0; i < from->entries.count; i++)
        all = all && fixed[i];
    ISO_FREE_ALL(fixed, columns);
    return all;
}
