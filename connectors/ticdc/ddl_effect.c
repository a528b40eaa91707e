/* What a DDL does to rows: to which tables, and whose rows they have from then on.
 *
 * A table is followed by the stream's statements: RENAME carries its rows to the new name,
 * TRUNCATE, DROP and CREATE leave none, an exchange or a recovered table has what nobody delivered.
 * A statement commits by itself, at its timestamp.
 */
#include <string.h>

#include "connectors/cdc_common/ddl_words.h"
#include "connectors/ticdc/tables.h"

/* Whether a name stands in the statement. */
static bool mentions(struct iso_json_text sql, const char *name)
{
    struct iso_ddl_words words = iso_ddl_words_of(sql);
    while (iso_ddl_next(&words))
        if (iso_ddl_same_name(words.token, (struct iso_json_text){name, strlen(name)}))
            return true;
    return false;
}

/* Whether an ALTER TABLE takes columns away, or calls them otherwise: what was in one of that name
 * is not in it now. */
static bool removes_columns(struct iso_json_text sql)
{
    static const char *const others[] = {"index",   "key",   "primary",    "foreign",
                                         "default", "check", "constraint", "partition"};
    struct iso_ddl_words words = iso_ddl_words_of(sql);
    if (!iso_ddl_pass(&words, "alter"))
        return false;
    while (iso_ddl_next(&words)) {
        bool drops = iso_ddl_is(&words, "drop");
        if (iso_ddl_is(&words, "rename") && iso_ddl_pass(&words, "column"))
            return true;
        for (size_t i = 0; drops && i < sizeof others / sizeof *others; i++)
            drops = !iso_ddl_pass(&words, others[i]);
        if (drops)
            return true;
    }
    return false;
}

/* Adds the table that an ALTER TABLE of columns is of, where values may have changed. */
static uint32_t add_columns(const struct ticdc *ticdc, const struct ticdc_ddl *ddl,
                            struct iso_ddl_effect *effects, uint32_t count)
{
    if (count || !ddl->table.length || !removes_columns(ddl->sql) ||
        (ticdc->value && !mentions(ddl->sql, ticdc->value)))
        return count;
    effects[0] = (struct iso_ddl_effect){
        .change = ISO_TABLE_RESPELT, .schema = ddl->database, .table = ddl->table};
    return 1;
}

/* Whether the DDL is about other columns than the one that is the row's value. */
static bool is_elsewhere(const struct ticdc *ticdc, const struct ticdc_ddl *ddl,
                         const struct iso_ddl_effect *effect)
{
    return effect->change == ISO_TABLE_RESPELT && ticdc->value &&
           !mentions(ddl->sql, ticdc->value) && !mentions(ddl->sql, "convert");
}

static bool is_covered(const struct ticdc *ticdc, const struct iso_row_name *table)
{
    return iso_table_listed(ticdc->tables, table->name.at, table->name.length);
}

/* Makes the names those that rows have: a statement may write them in other letters, leave the
 * database out, or, where it names a job, the table. */
static void spell_name(const struct ticdc *ticdc, const struct ticdc_ddl *ddl,
                       struct iso_json_text *schema, struct iso_json_text *table)
{
    if (!schema->length || iso_ddl_same_name(*schema, ddl->database)) {
        if (!schema->length && !table->length)
            *table = ddl->table;
        *schema = ddl->database;
    }
    if (!table->length)
        return;
    const struct ticdc_table *known = ticdc_tables_at(&ticdc->known, *schema, *table, UINT64_MAX);
    if (iso_ddl_same_name(*schema, ddl->database) && iso_ddl_same_name(*table, ddl->table)) {
        *table = ddl->table;
    } else if (known) {
        *schema = (struct iso_json_text){known->database, strlen(known->database)};
        *table = (struct iso_json_text){known->table, strlen(known->table)};
    }
}

static bool is_same(struct iso_json_text one, struct iso_json_text other)
{
    return one.length == other.length && !memcmp(one.at, other.at, one.length);
}

/* A table that only got other letters is not emptied; its rows nobody has told under them. */
static uint32_t spell_names(const struct ticdc *ticdc, const struct ticdc_ddl *ddl,
                            struct iso_ddl_effect *effects, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct iso_ddl_effect *effect = &effects[i];
        if (effect->is_all)
            continue;
        spell_name(ticdc, ddl, &effect->schema, &effect->table);
        if (!effect->from_table.length)
            continue;
        spell_name(ticdc, ddl, &effect->from_schema, &effect->from_table);
        if (is_same(effect->from_schema, effect->schema) &&
            is_same(effect->from_table, effect->table))
            effect->from_table.length = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool drop = false;
        for (uint32_t j = 0; j < count && effects[i].change == ISO_TABLE_EMPTIED; j++)
            drop |= effects[j].change == ISO_TABLE_REPLACED &&
                    is_same(effects[i].schema, effects[j].schema) &&
                    is_same(effects[i].table, effects[j].table);
        if (!drop)
            effects[kept++] = effects[i];
    }
    return kept;
}

static const struct iso_row_name *find_table(struct ticdc *ticdc, struct iso_json_text schema,
                                             struct iso_json_text table)
{
    return iso_row_names_find(&ticdc->names, &ticdc->events->block.atoms, schema, table);
}

/* False: the table is none to be looked at. */
static bool add_effect(struct ticdc *ticdc, const struct ticdc_ddl *ddl,
                       const struct iso_ddl_effect *effect)
{
    bool empties = effect->change == ISO_TABLE_EMPTIED;
    struct iso_event event =
        iso_event_of(ticdc->message, empties ? ISO_EVENT_DROP : ISO_EVENT_SCHEMA);
    event.flags = ISO_EVENT_HAS_CTS | ISO_EVENT_ALONE;
    event.cts.physical = ddl->commit_ts;
    event.operation = empties ? 0 : (uint8_t)effect->change;
    struct iso_json_text carried = {NULL, 0};
    if (effect->from_table.length) {
        const struct iso_row_name *from =
            find_table(ticdc, effect->from_schema, effect->from_table);
        char *name = ticdc_room(ticdc, from->name.length);
        carried = (struct iso_json_text){memcpy(name, from->name.at, from->name.length),
                                         from->name.length};
        event.key = is_covered(ticdc, from) ? from->atom : ISO_ABSENT;
    }
    if (effect->is_all) {
        event.table = iso_atoms_text(&ticdc->events->block.atoms, ".", 1);
        iso_events_add(ticdc->events, &event);
        return true;
    }
    const struct iso_row_name *table = find_table(ticdc, effect->schema, effect->table);
    event.table = table->atom;
    if (effect->table.length && !is_covered(ticdc, table))
        return false;
    if (carried.at)
        ticdc_copy_types(ticdc, carried, table->name);
    iso_events_add(ticdc->events, &event);
    return true;
}

static bool is_of(const struct iso_ddl_effect *effect, const struct ticdc_ddl *ddl)
{
    return is_same(effect->schema, ddl->database) && is_same(effect->table, ddl->table);
}

/* Whether the statement changes what a table is, and leaves its rows. */
static bool alters(struct iso_json_text sql)
{
    struct iso_ddl_words words = iso_ddl_words_of(sql);
    if (iso_ddl_pass(&words, "alter"))
        return true;
    bool of_index = iso_ddl_pass(&words, "create") || iso_ddl_pass(&words, "drop");
    return of_index && (iso_ddl_pass(&words, "unique") || iso_ddl_pass(&words, "index"));
}

/* Rows of a table with another key, or whose key has a column of another type, have other names;
 * where nothing says which columns the key has, a column that is modified may be one. */
static uint32_t rename_rows(const struct ticdc *ticdc, const struct ticdc_ddl *ddl,
                            struct iso_ddl_effect *effects, uint32_t count)
{
    const struct ticdc_table *after = ddl->after, *before = ddl->before;
    if (!ddl->table.length || !ddl->commit_ts || !alters(ddl->sql))
        return count;
    if (!after)
        after = ticdc_tables_at(&ticdc->known, ddl->database, ddl->table, ddl->commit_ts);
    if (!before)
        before = ticdc_tables_at(&ticdc->known, ddl->database, ddl->table, ddl->commit_ts - 1);
    bool modifies =
        !(before && after) && (mentions(ddl->sql, "modify") || mentions(ddl->sql, "change"));
    if (!modifies && !(before && after && ticdc_table_has_other_key(before, after)))
        return count;
    if (!count)
        effects[count++] = (struct iso_ddl_effect){.schema = ddl->database, .table = ddl->table};
    if (count == 1 && is_of(&effects[0], ddl) && effects[0].change <= ISO_TABLE_RESPELT &&
        effects[0].change != ISO_TABLE_EMPTIED)
        effects[0].change = ISO_TABLE_REPLACED;
    return count;
}

void ticdc_add_ddl(struct ticdc *ticdc, const struct ticdc_ddl *ddl)
{
    struct iso_ddl_effect effects[ISO_DDL_EFFECTS_MAX];
    uint32_t count = spell_names(ticdc, ddl, effects, iso_ddl_effects(ddl->sql, effects)),
             added = 0;
    count = rename_rows(ticdc, ddl, effects, add_columns(ticdc, ddl, effects, count));
    const struct ticdc_table *schema =
        ticdc_tables_at(&ticdc->known, ddl->database, ddl->table, ddl->commit_ts);
    if (schema)
        ticdc_note_schema(ticdc, find_table(ticdc, ddl->database, ddl->table)->name, schema);
    if (!count && ddl->empties && ddl->table.length)
        effects[count++] = (struct iso_ddl_effect){
            .change = ISO_TABLE_EMPTIED, .schema = ddl->database, .table = ddl->table};
    for (unsigned turn = 0; turn < 2;
         turn++) /* rows go to their new names before they are gone from the old ones */
        for (uint32_t i = 0; i < count; i++)
            if ((turn == 0) == (effects[i].from_table.length > 0) &&
                !is_elsewhere(ticdc, ddl, &effects[i]))
                added += add_effect(ticdc, ddl, &effects[i]);
    if (added || ticdc_pass_over(ticdc, ddl->database, ddl->table))
        return;
    struct iso_event event = iso_event_of(ticdc->message, ISO_EVENT_SCHEMA);
    event.table = find_table(ticdc, ddl->database, ddl->table)->atom;
    event.flags = ISO_EVENT_HAS_CTS;
    event.cts.physical = ddl->commit_ts;
    iso_events_add(ticdc->events, &event);
}

void ticdc_take_ddl(struct ticdc *ticdc, const struct ticdc_ddl *ddl)
{
    ticdc_tables_take_ddl(&ticdc->known, ddl->sql, ddl->database, ddl->commit_ts);
    ticdc_add_ddl(ticdc, ddl);
}
