/* Whether a catalog agrees with what a statement's shape takes its names for. */
#include "observe/catalog.h"
#include "observe/shape.h"

static bool is_shadowed(const struct catalog *catalog, char kind, const char *name,
                        bool has_user_types)
{
    const struct catalog_shadow *shadow = catalog_find_shadow(catalog, kind, name);
    return shadow && (shadow->is_of_any || has_user_types);
}

/* Each relation that the name could be is one that only is read; `found`, if it is the only one. */
static enum plan_reason find_relations(struct plan_table *table, const struct catalog *catalog,
                                       bool *has_user_types)
{
    const struct catalog_table *candidate;
    uint32_t position = 0, count = 0;
    while ((candidate = catalog_next_named(catalog, table->schema, table->name, &position))) {
        if (!candidate->is_plain)
            return REASON_TABLE;
        *has_user_types |= candidate->has_user_types;
        table->found = count++ ? NULL : candidate;
    }
    return count ? REASON_NONE : REASON_TABLE;
}

static bool is_system_column(const char *name)
{
    return !strcmp(name, "ctid") || !strcmp(name, "xmin") || !strcmp(name, "xmax") ||
           !strcmp(name, "tableoid");
}

/* `qualifier.name` is a column, wherever a table has that alias, and not a call of a function. */
static bool is_column(const struct plan_statement *statement, const struct catalog *catalog,
                      const struct plan_use *use)
{
    const struct catalog_table *candidate;
    bool is_of_table = false, is_builtin = false;
    for (uint32_t i = 0; i < statement->table_count; i++) {
        const struct plan_table *table = &statement->tables[i];
        uint32_t position = 0;
        if (strcmp(table->alias, use->qualifier))
            continue;
        is_of_table = true;
        while ((candidate = catalog_next_named(catalog, table->schema, table->name, &position))) {
            is_builtin |= catalog_is_system(candidate);
            if (!catalog_is_system(candidate) && !catalog_column_named(candidate, use->name) &&
                !is_system_column(use->name))
                return false;
        }
    }
    /* A subquery's columns are not known, nor those of system relations; which functions there
     * could be is. */
    return (is_of_table && !is_builtin) || !catalog_find_shadow(catalog, 'f', use->name);
}

static enum plan_reason agrees(struct plan_statement *statement, const struct catalog *catalog)
{
    static const struct {
        enum plan_reason reason;
        char kind;
    } kinds[] = {[PLAN_USE_FUNCTION] = {REASON_FUNCTION, 'f'},
                 [PLAN_USE_OPERATOR] = {REASON_OPERATOR, 'o'},
                 [PLAN_USE_TYPE] = {REASON_TYPE, 't'}};
    bool has_user_types = false;
    uint32_t position = 0;
    for (uint32_t i = 0; i < statement->table_count; i++) {
        statement->agreed_detail = statement->tables[i].name;
        if (find_relations(&statement->tables[i], catalog, &has_user_types))
            return REASON_TABLE;
    }
    for (uint32_t i = 0; i < statement->use_count; i++) {
        const struct plan_use *use = &statement->uses[i];
        statement->agreed_detail = use->name;
        if (use->kind == PLAN_USE_COLUMN && !is_column(statement, catalog, use))
            return REASON_FUNCTION;
        if (use->kind == PLAN_USE_WITH && catalog_next_named(catalog, "", use->name, &position))
            return REASON_TABLE;
        if (use->kind < PLAN_USE_COLUMN &&
            is_shadowed(catalog, kinds[use->kind].kind, use->name, has_user_types))
            return kinds[use->kind].reason;
    }
    statement->agreed_detail = "that sorts a user's type";
    if (is_shadowed(catalog, 'k', "", has_user_types))
        return REASON_OPERATOR;
    statement->agreed_detail = "a cast";
    if (statement->kind >= PLAN_SELECT && statement->kind <= PLAN_DECLARE &&
        is_shadowed(catalog, 'c', "", has_user_types))
        return REASON_TYPE;
    return REASON_NONE;
}

static void use_names(const struct plan_statement *statement, struct catalog *catalog)
{
    for (uint32_t i = 0; i < statement->table_count; i++)
        catalog_use(catalog, statement->tables[i].name);
    for (uint32_t i = 0; i < statement->use_count; i++)
        if (statement->uses[i].kind == PLAN_USE_WITH)
            catalog_use(catalog, statement->uses[i].name);
}

enum plan_reason plan_agrees(struct plan_statement *statement, struct catalog *catalog)
{
    if (!catalog)
        return statement->table_count || statement->use_count ? REASON_TABLE : REASON_NONE;
    if (statement->agreed_serial != catalog->serial) {
        statement->agreed_serial = catalog->serial;
        use_names(statement, catalog);
        statement->agreed = agrees(statement, catalog);
    }
    return statement->agreed;
}
