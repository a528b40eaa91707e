#include "connectors/cdc_common/ddl.h"

#include <string.h>

#include "connectors/cdc_common/ddl_words.h"

/* ---- MySQL and MariaDB ---- */

static bool take_name(struct iso_ddl_words *words, struct iso_ddl_effect *effect)
{
    *effect = (struct iso_ddl_effect){.from_schema = {"", 0}, .from_table = {"", 0}};
    return iso_ddl_take_name(words, &effect->schema, &effect->table);
}

static bool is_same(struct iso_json_text left, struct iso_json_text right)
{
    return left.length == right.length && !memcmp(left.at, right.at, left.length);
}

/* The last effect on a table counts: in "a TO b, c TO a" the name a stands for what was c. */
static uint32_t add_effect(struct iso_ddl_effect *effects, uint32_t count,
                           struct iso_ddl_effect effect, enum iso_table_change change)
{
    uint32_t i = 0;
    while (i < count &&
           !(is_same(effects[i].schema, effect.schema) && is_same(effects[i].table, effect.table)))
        i++;
    if (i == ISO_DDL_EFFECTS_MAX)
        return count;
    effects[i] = effect;
    effects[i].change = change;
    return i == count ? count + 1 : count;
}

static uint32_t take_list(struct iso_ddl_words *words, struct iso_ddl_effect *effects)
{
    struct iso_ddl_effect effect;
    uint32_t count = 0;
    if (iso_ddl_pass(words, "if"))
        iso_ddl_pass(words, "exists");
    while (take_name(words, &effect)) {
        count = add_effect(effects, count, effect, ISO_TABLE_EMPTIED);
        if (!iso_ddl_pass(words, ","))
            break;
    }
    return count;
}

/* All tables of a database: one without a name. */
static uint32_t take_database(struct iso_ddl_words *words, struct iso_ddl_effect *effects)
{
    struct iso_ddl_effect effect = {
        .table = {"", 0}, .from_schema = {"", 0}, .from_table = {"", 0}};
    if (iso_ddl_pass(words, "if"))
        iso_ddl_pass(words, "exists");
    if (!iso_ddl_next(words))
        return 0;
    effect.schema = words->token;
    return add_effect(effects, 0, effect, ISO_TABLE_EMPTIED);
}

/* Whose rows those are that have the name now, of "a TO b, c TO a" as far as it was read. */
static void take_origin(const struct iso_ddl_effect *effects, uint32_t count,
                        const struct iso_ddl_effect *from, struct iso_ddl_effect *to)
{
    to->from_schema = from->schema;
    to->from_table = from->table;
    for (uint32_t i = 0; i < count; i++)
        if (effects[i].change == ISO_TABLE_REPLACED && is_same(effects[i].schema, from->schema) &&
            is_same(effects[i].table, from->table)) {
            to->from_schema = effects[i].from_schema;
            to->from_table = effects[i].from_table;
        }
}

static uint32_t add_rename(struct iso_ddl_effect *effects, uint32_t count,
                           struct iso_ddl_effect from, struct iso_ddl_effect to)
{
    take_origin(effects, count, &from, &to);
    count = add_effect(effects, count, from, ISO_TABLE_EMPTIED);
    return add_effect(effects, count, to, ISO_TABLE_REPLACED);
}

static uint32_t take_renames(struct iso_ddl_words *words, struct iso_ddl_effect *effects)
{
    struct iso_ddl_effect from, to;
    uint32_t count = 0;
    if (iso_ddl_pass(words, "if"))
        iso_ddl_pass(words, "exists");
    while (take_name(words, &from) && iso_ddl_pass(words, "to") && take_name(words, &to)) {
        count = add_rename(effects, count, from, to);
        if (!iso_ddl_pass(words, ","))
            break;
    }
    return count;
}

/* The new name behind TO, if there is one: "TO TIMESTAMP '..'", "TO TSO .." and "TO BEFORE DROP"
 * name a moment. */
static void take_new_name(struct iso_ddl_words *words, struct iso_ddl_effect *effect)
{
    struct iso_ddl_words before = *words;
    bool moment = iso_ddl_pass(words, "timestamp") || iso_ddl_pass(words, "tso") ||
                  iso_ddl_pass(words, "before");
    if (moment && iso_ddl_next(words))
        return;
    *words = before;
    take_name(words, effect);
}

/* Tables, a database, or all of them, that have rows of before. */
static uint32_t take_recovered(struct iso_ddl_words *words, struct iso_ddl_effect *effects)
{
    struct iso_ddl_effect effect = {
        .table = {"", 0}, .schema = {"", 0}, .from_schema = {"", 0}, .from_table = {"", 0}};
    bool database = iso_ddl_pass(words, "database") || iso_ddl_pass(words, "schema");
    uint32_t count = 0;
    if (!database && iso_ddl_pass(words, "cluster")) {
        effect.is_all = true;
        return add_effect(effects, 0, effect, ISO_TABLE_REPLACED);
    }
    if (!database && !iso_ddl_pass(words, "table"))
        return 0;
    if (!database && iso_ddl_pass(words, "by")) /* a job, which says nothing of its table */
        return add_effect(effects, 0, effect, ISO_TABLE_REPLACED);
    while (take_name(words, &effect)) {
        if (iso_ddl_pass(words, "to"))
            take_new_name(words, &effect);
        if (database) {
            effect.schema = effect.table;
            effect.table = (struct iso_json_text){"", 0};
        }
        count = add_effect(effects, count, effect, ISO_TABLE_REPLACED);
        if (!iso_ddl_pass(words, ","))
            break;
    }
    return count;
}

/* "PARTITION p WITH TABLE b": some rows of each go to the other. */
static bool take_exchanged(struct iso_ddl_words *words, struct iso_ddl_effect *with)
{
    return iso_ddl_pass(words, "partition") && iso_ddl_next(words) && iso_ddl_pass(words, "with") &&
           iso_ddl_pass(words, "table") && take_name(words, with);
}

/* A column of another type holds other values; an added one, and an index, change none that was
 * there. */
static enum iso_table_change take_alterations(struct iso_ddl_words *words,
                                              const struct iso_ddl_effect *of,
                                              struct iso_ddl_effect *to)
{
    enum iso_table_change change = ISO_TABLE_SAME;
    bool removes = false;
    while (iso_ddl_next(words)) {
        if (iso_ddl_is(words, "modify") || iso_ddl_is(words, "change") ||
            iso_ddl_is(words, "convert"))
            return ISO_TABLE_RESPELT;
        if (iso_ddl_is(words, "primary")) { /* rows have other names now */
            *to = *of;
            return ISO_TABLE_REPLACED;
        }
        removes |= iso_ddl_is(words, "drop") || iso_ddl_is(words, "truncate") ||
                   iso_ddl_is(words, "discard");
        if (removes && iso_ddl_is(words, "partition"))
            change = ISO_TABLE_PARTLY_EMPTIED;
        if (!iso_ddl_is(words, "rename") || iso_ddl_pass(words, "column") ||
            iso_ddl_pass(words, "index") || iso_ddl_pass(words, "key"))
            continue;
        if (!iso_ddl_pass(words, "to"))
            iso_ddl_pass(words, "as");
        return take_name(words, to) ? ISO_TABLE_REPLACED : change;
    }
    return change;
}

static uint32_t take_alter(struct iso_ddl_words *words, struct iso_ddl_effect *effects)
{
    struct iso_ddl_effect of, to;
    if (iso_ddl_pass(words, "if"))
        iso_ddl_pass(words, "exists");
    if (!take_name(words, &of))
        return 0;
    if (iso_ddl_pass(words, "exchange")) {
        uint32_t some = add_effect(effects, 0, of, ISO_TABLE_REPLACED);
        return take_exchanged(words, &to) ? add_effect(effects, some, to, ISO_TABLE_REPLACED)
                                          : some;
    }
    enum iso_table_change change = take_alterations(words, &of, &to);
    if (change == ISO_TABLE_SAME)
        return 0;
    if (change != ISO_TABLE_REPLACED)
        return add_effect(effects, 0, of, change);
    if (!is_same(of.schema, to.schema) || !is_same(of.table, to.table))
        return add_rename(effects, 0, of, to);
    return add_effect(effects, 0, of, change);
}

uint32_t iso_ddl_effects(struct iso_json_text sql,
                         struct iso_ddl_effect effects[ISO_DDL_EFFECTS_MAX])
{
    struct iso_ddl_words words = iso_ddl_words_of(sql);
    if (iso_ddl_pass(&words, "truncate")) {
        iso_ddl_pass(&words, "table");
        return take_list(&words, effects);
    }
    if (iso_ddl_pass(&words, "drop")) {
        if (iso_ddl_pass(&words, "database") || iso_ddl_pass(&words, "schema"))
            return take_database(&words, effects);
        return iso_ddl_pass(&words, "table") ? take_list(&words, effects) : 0;
    }
    if (iso_ddl_pass(&words, "recover") || iso_ddl_pass(&words, "flashback"))
        return take_recovered(&words, effects);
    if (iso_ddl_pass(&words, "rename"))
        return iso_ddl_pass(&words, "table") ? take_renames(&words, effects) : 0;
    if (iso_ddl_pass(&words, "create"))
        return iso_ddl_pass(&words, "or") && iso_ddl_pass(&words, "replace") &&
                       iso_ddl_pass(&words, "table")
                   ? take_list(&words, effects)
                   : 0;
    if (iso_ddl_pass(&words, "alter")) {
        iso_ddl_pass(&words, "online");
        iso_ddl_pass(&words, "ignore");
        return iso_ddl_pass(&words, "table") ? take_alter(&words, effects) : 0;
    }
    return 0;
}
