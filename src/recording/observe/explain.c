/* What would be recorded of a statement, for people. */
#include "base/memory.h"
#include "observe/shape.h"

const struct shape shapes[] = {
    {"set",
     "one table, whole: by its key, exactly, a read of that row or of none (the key is unique at once); else by a condition of "
     "comparisons the rows that met it, their aggregates, or, without a key, how often each was there"},
    {"some", "constants over one table: whether there is a row that meets the condition, or none"},
    {"rows",
     "where the result has all of a row's key, or WHERE fixes it, the plain columns beside it were that row's; a missing side of "
     "a join has a NULL key. What was not found is not said"},
    {"fetch", "a cursor reads as of its opening: rows, while nothing was written since"},
    {"write",
     "a key that RETURNING has is as it was stored; of one row that was written the key is what VALUES or WHERE says, if it is a "
     "constant of the column's own type. What else it writes the change stream knows"},
    {"control",
     "transactions, savepoints, cursors, settings: nothing is read or written, and what changes is known"},
    {"nothing", "no table that could be recorded is read, and nothing is done"},
    {"opaque",
     "it is passed on and counted: none of its reads is recorded, what it wrote the change stream knows"},
    {NULL, NULL}};

const char *shape_name(const struct plan_statement *statement)
{
    switch (statement->kind) {
    case PLAN_SELECT:
    case PLAN_DECLARE:
        return statement->reason == REASON_NO_TABLE ? "nothing"
               : statement->reason                  ? "opaque"
               : statement->says_some               ? "some"
               : statement->is_simple               ? "set"
                                                    : "rows";
    case PLAN_WRITE:
        return statement->reason ? "opaque" : "write";
    case PLAN_FETCH:
        return "fetch";
    default:
        return statement->is_pure ? "control" : "opaque";
    }
}

static void put_names(struct iso_text *text, const struct plan_statement *statement)
{
    static const char *const kinds[] = {"function", "operator", "type", "column", "WITH"};
    for (uint32_t i = 0; i < statement->table_count; i++) {
        const struct plan_table *table = &statement->tables[i];
        iso_text_format(text, "%s%s%s%s", i ? ", " : "  tables: ", table->schema,
                        *table->schema ? "." : "", table->name);
        iso_text_put(text, table->times > 1 ? " (more than once: not recorded)"
                           : !table->is_top ? " (only read within)"
                                            : "");
    }
    iso_text_put(text, statement->table_count ? "\n" : "");
    for (uint32_t i = 0; i < statement->use_count; i++)
        iso_text_format(text, "%s%s %s", i ? ", " : "  opaque where the catalog has a user's: ",
                        kinds[statement->uses[i].kind], statement->uses[i].name);
    iso_text_put(text, statement->use_count ? "\n" : "");
}

void shape_explain(const char *sql, struct iso_text *text)
{
    _Atomic size_t account = 0;
    struct plan *plan = plan_new(sql, strlen(sql), false, &account);
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct plan_statement *statement = &plan->statements[i];
        const struct shape *shape = shapes;
        while (strcmp(shape->name, shape_name(statement)) != 0)
            shape++;
        iso_text_format(text, "%s: %s\n", shape->name, shape->why);
        if (statement->reason && statement->reason != REASON_NO_TABLE)
            iso_text_format(text, "  reason: %s%s%s\n", plan_reason_names[statement->reason],
                            statement->detail ? ", " : "",
                            statement->detail ? statement->detail : "");
        put_names(text, statement);
        if (statement->is_partial)
            iso_text_put(
                text,
                "  LIMIT, OFFSET or a lock: what was not found is said only where fewer rows came than were asked for\n");
    }
    plan_release(plan);
}
