/* REFERENCES: a row may be written where the row that it refers to is one of the first rows and
 * stays. Where keys that are referred to come or go, it is refused. */
#include <string.h>

#include "lower/lower_private.h"

static void add_columns(struct lowering *lowering, const struct table *table,
                        PgQuery__Node *const *names, size_t count, uint32_t *columns,
                        size_t location)
{
    for (size_t i = 0; i < count && i < MOST_KEY && !failed(lowering); i++) {
        columns[i] = lower_find_column(table, lower_name_of(names[i]));
        if (columns[i] == NONE)
            lower_refuse(lowering, location, "table \"%s\" has no column \"%s\"", table->name,
                         lower_name_of(names[i]));
    }
}

static void read_reference(struct lowering *lowering, struct table *table,
                           const PgQuery__Constraint *constraint, const char *column)
{
    size_t location = location_of(lowering, constraint->location);
    const struct table *other = lower_find_table(lowering, constraint->pktable);
    struct reference made = {.count = column ? 1 : (uint32_t)constraint->n_fk_attrs};
    if (!other)
        return;
    made.table = (uint32_t)(other - lowering->tables.list);
    if (made.count > MOST_KEY)
        lower_refuse(lowering, location, "a key of more than %d columns", MOST_KEY);
    if (constraint->fk_matchtype && strcmp(constraint->fk_matchtype, "s") != 0)
        lower_refuse_form(lowering, location, "MATCH FULL");
    if (column)
        made.columns[0] = lower_find_column(table, column);
    add_columns(lowering, table, constraint->fk_attrs, constraint->n_fk_attrs, made.columns,
                location);
    add_columns(lowering, other, constraint->pk_attrs, constraint->n_pk_attrs, made.others,
                location);
    const struct unique *key = NULL;
    for (uint32_t i = 0; i < other->uniques.count && !constraint->n_pk_attrs; i++)
        if (other->uniques.list[i].primary)
            key = &other->uniques.list[i];
    for (uint32_t i = 0; key && i < key->count; i++)
        made.others[i] = key->columns[i];
    if ((key ? key->count : constraint->n_pk_attrs) != made.count)
        lower_refuse(lowering, location, "these columns do not match the key of \"%s\"",
                     other->name);
    if (!failed(lowering))
        ISO_APPEND(table->references, made);
}

void lower_read_reference(struct lowering *lowering, struct table *table,
                          const PgQuery__Constraint *constraint, const char *column)
{
    if (failed(lowering))
        return;
    read_reference(lowering, table, constraint, column);
    if (lowering->error->status != ISO_BAD_INPUT || !lowering->ignored.references)
        return;
    *lowering->error = (struct iso_error)ISO_NO_ERROR;
    lowering->passed.references = true; /* to what, is not known */
}

/* Nothing is known of what REFERENCES does here. */
static void pass_over(struct lowering *lowering, const struct table *table,
                      const struct table *other)
{
    lowering->passed.references = lowering->passed.references || lowering->final;
    if (lowering->final && !lowering->ignored.references)
        lower_refuse(
            lowering, lowering->at.span.begin,
            "REFERENCES of \"%s\" to \"%s\", whose rows change here: not in the subset that can "
            "be proved; `--@ ignore references` passes over it",
            table->name, other->name);
}

static bool stays(const struct table *other, const struct reference *reference)
{
    bool changes = other->deletes || other->slots;
    for (uint32_t i = 0; i < reference->count; i++)
        changes = changes || other->columns[reference->others[i]].changes;
    return !changes;
}

/* Whether one of the first rows of the other table has the key. */
static uint32_t is_there(struct lowering *lowering, const struct table *other,
                         const struct reference *reference, const struct value *values)
{
    uint32_t found = NONE;
    for (uint32_t row = 0; row < other->initial_count; row++) {
        struct entry entry = {other->name, (struct table *)other, row, NULL};
        uint32_t same = lower_number(lowering, 1);
        for (uint32_t i = 0; i < reference->count; i++) {
            struct value equal = lower_compare(
                lowering, ISO_PROVE_EQUAL, values[reference->columns[i]],
                lower_read_column(lowering, &entry, reference->others[i]), lowering->at.span.begin);
            same = lower_and(lowering, same, lower_truth(lowering, &equal));
        }
        found = lower_or(lowering, found, same);
    }
    return found;
}

uint32_t lower_is_orphan(struct lowering *lowering, const struct table *table,
                         const struct value *values, const bool *set)
{
    uint32_t orphan = NONE;
    for (uint32_t i = 0; i < table->references.count && !failed(lowering); i++) {
        const struct reference *reference = &table->references.list[i];
        const struct table *other = &lowering->tables.list[reference->table];
        uint32_t null = NONE;
        bool touched = false;
        for (uint32_t j = 0; j < reference->count; j++) {
            touched = touched || set[reference->columns[j]];
            null = lower_or(lowering, null, values[reference->columns[j]].null);
        }
        if (!touched)
            continue;
        if (!stays(other, reference)) {
            pass_over(lowering, table, other);
            continue;
        }
        uint32_t there = lower_or(lowering, null, is_there(lowering, other, reference, values));
        orphan = lower_or(lowering, orphan, lower_not(lowering, there));
    }
    return orphan;
}

void lower_check_referred(struct lowering *lowering, const struct table *table, const bool *set)
{
    for (uint32_t i = 0; i < lowering->tables.count; i++) {
        const struct table *from = &lowering->tables.list[i];
        for (uint32_t j = 0; j < from->references.count; j++) {
            const struct reference *reference = &from->references.list[j];
            bool hit = &lowering->tables.list[reference->table] == table;
            bool touched = !set;
            for (uint32_t k = 0; set && k < reference->count; k++)
                touched = touched || set[reference->others[k]];
            if (hit && touched)
                pass_over(lowering, from, table);
        }
    }
}
