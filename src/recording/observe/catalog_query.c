/* The catalog's queries, and what it says of names that were used. */
#include "base/memory.h"
#include "observe/catalog.h"

#include <inttypes.h>
#include <stdio.h>

/* Relations and, for each partition, those that it is a part of. Temporary ones are left out: they
 * come and go, and are another session's or asked for apart. */
#define RELATIONS_BEGIN                                                                                          \
    "WITH RECURSIVE s(oid, root) AS (SELECT oid, oid FROM pg_catalog.pg_class WHERE oid >= 16384 AND relkind IN" \
    " ('r', 'p', 'v', 'm', 'f', 'S') AND relpersistence <> 't'"
#define RELATIONS_END                                                                                  \
    " UNION ALL SELECT i.inhrelid, s.root FROM s JOIN pg_catalog.pg_inherits i ON i.inhparent = s.oid" \
    " JOIN pg_catalog.pg_class p ON p.oid = i.inhrelid AND p.relispartition) "

/* Their rows in the catalogs, each as a letter, its place and its xmin; of pg_class what matters of
 * it, as TRUNCATE and the like write that, too. And, of relation 0, what is no relation's; the
 * rules of views among it, as one view may be made of another. */
#define OF_RELATION(letter, place, table, relation)                                                \
    " UNION ALL SELECT s.root, '" letter "' || x." place                                           \
    " || '.' || x.xmin FROM s JOIN pg_catalog." table " x ON x." relation " = s.oid"
#define OF_NONE(letter, table)                                                                     \
    " UNION ALL SELECT 0, '" letter "' || oid || '.' || xmin FROM pg_catalog." table
#define ROWS                                                                                             \
    "(SELECT s.root AS relation, pg_catalog.concat_ws('.', 'c', p.oid, relnamespace, relkind, relname,"  \
    " relhassubclass, relhasrules, relhastriggers, relrowsecurity, relispartition, relpersistence) AS t" \
    " FROM s JOIN pg_catalog.pg_class p ON p.oid = s.oid" OF_RELATION(                                   \
        "a", "attnum", "pg_attribute",                                                                   \
        "attrelid") " AND x.attnum > 0" OF_RELATION("i", "indexrelid", "pg_index", "indrelid")           \
        OF_RELATION("k", "oid", "pg_constraint", "conrelid") OF_RELATION(                                \
            "t", "oid", "pg_trigger", "tgrelid") OF_RELATION("d", "oid", "pg_attrdef", "adrelid")        \
            OF_RELATION("h", "inhrelid", "pg_inherits",                                                  \
                        "inhparent") OF_NONE("k", "pg_constraint WHERE conrelid = 0")                    \
                OF_NONE("w", "pg_rewrite WHERE oid >= 16384") OF_NONE("l", "pg_policy") OF_NONE(         \
                    "f", "pg_proc WHERE oid >= 16384") OF_NONE("o",                                      \
                                                               "pg_operator WHERE oid >= 16384")         \
                    OF_NONE("s", "pg_cast WHERE oid >= 16384") OF_NONE(                                  \
                        "y",                                                                             \
                        "pg_type WHERE oid >= 16384 AND typtype <> 'c' AND typcategory <> 'A'")          \
                        OF_NONE("n", "pg_namespace WHERE pg_catalog.left(nspname, 3) <> 'pg_'")          \
                            OF_NONE("p", "pg_publication") OF_NONE("q", "pg_publication_rel")            \
                                OF_NONE("m", "pg_publication_namespace") ") g"

/* Of 39 bits each: sums of millions fit. */
#define SUM "pg_catalog.sum((pg_catalog.hashtextextended(t, 0) >> 25) + 274877906944)"

#define USERS                                                                                                     \
    "(p.refclassid IN ('pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass," \
    " 'pg_catalog.pg_opclass'::pg_catalog.regclass) AND p.refobjid >= 16384)"
#define ROOT(relation)                                                                             \
    "coalesce(pg_catalog.pg_partition_root(" relation ")::pg_catalog.oid, " relation ")"

/* Relations of which something else happens when they are written. */
#define NOT_ALONE                                                                                                                                                             \
    "(SELECT t.tgrelid FROM pg_catalog.pg_trigger t WHERE NOT t.tgisinternal"                                                                                                 \
    " UNION ALL SELECT " ROOT(                                                                                                                                                \
        "t.tgrelid") " FROM pg_catalog.pg_trigger t WHERE NOT t.tgisinternal"                                                                                                 \
                     " UNION ALL SELECT " ROOT(                                                                                                                               \
                         "f.confrelid") " FROM pg_catalog.pg_constraint f WHERE f.contype = 'f' AND"                                                                          \
                                        " (f.confdeltype IN ('c', 'n', 'd') OR f.confupdtype IN ('c', 'n', 'd'))"                                                             \
                                        " UNION ALL SELECT " ROOT(                                                                                                            \
                                            "y.relation") " FROM (WITH x AS MATERIALIZED ("                                                                                   \
                                                          "SELECT adrelid AS relation, 'pg_catalog.pg_attrdef'::pg_catalog.regclass AS class, oid FROM pg_catalog.pg_attrdef" \
                                                          " UNION ALL SELECT conrelid, 'pg_catalog.pg_constraint', oid FROM pg_catalog.pg_constraint WHERE conrelid <> 0"     \
                                                          " UNION ALL SELECT indrelid, 'pg_catalog.pg_class', indexrelid FROM pg_catalog.pg_index WHERE indexrelid >= 16384"  \
                                                          " UNION ALL SELECT u.attrelid, 'pg_catalog.pg_constraint', k.oid FROM pg_catalog.pg_constraint k"                   \
                                                          " JOIN pg_catalog.pg_attribute u ON u.atttypid = k.contypid WHERE k.contypid >= 16384"                              \
                                                          " UNION ALL SELECT u.attrelid, 'pg_catalog.pg_type', y.oid FROM pg_catalog.pg_type y"                               \
                                                          " JOIN pg_catalog.pg_attribute u ON u.atttypid = y.oid WHERE y.typtype = 'd' AND y.oid >= 16384)"                   \
                                                          " SELECT x.relation FROM x JOIN pg_catalog.pg_depend p ON p.classid = x.class AND p.objid = x.oid WHERE " USERS     \
                                                          " OR p.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND p.refclassid = p.classid AND p.refobjid >= 16384) y)"

/* Views and tables with policies that a function of a user's could run in. */
#define NOT_PLAIN                                                                                                  \
    "(SELECT w.ev_class FROM pg_catalog.pg_rewrite w"                                                              \
    " JOIN pg_catalog.pg_depend p ON p.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND p.objid = w.oid" \
    " LEFT JOIN pg_catalog.pg_class r ON p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass"                \
    " AND r.oid = p.refobjid WHERE w.ev_type = '1' AND (" USERS                                                    \
    " OR r.oid <> w.ev_class AND r.oid >= 16384 AND (r.relkind NOT IN ('r', 'p', 'm') OR r.relrowsecurity))"       \
    " UNION ALL SELECT l.polrelid FROM pg_catalog.pg_policy l"                                                     \
    " JOIN pg_catalog.pg_depend p ON p.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass AND p.objid = l.oid"  \
    " WHERE " USERS                                                                                                \
    " OR p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.refobjid <> l.polrelid)"

#define SHADOWS                                                                                        \
    "(SELECT 'f' AS kind, proname AS name, NOT 16384 <= ANY"                                           \
    " ((proargtypes::pg_catalog.oid[])[0:pronargs - pronargdefaults - 1]) AS own"                      \
    " FROM pg_catalog.pg_proc WHERE oid >= 16384"                                                      \
    " UNION ALL SELECT 'o', oprname, oprleft < 16384 AND oprright < 16384 FROM pg_catalog.pg_operator" \
    " WHERE oid >= 16384"                                                                              \
    " UNION ALL SELECT 'c', '', castsource < 16384 AND (casttarget < 16384 OR castcontext = 'i')"      \
    " FROM pg_catalog.pg_cast WHERE oid >= 16384"                                                      \
    " UNION ALL SELECT 't', t.typname, true FROM pg_catalog.pg_type t JOIN pg_catalog.pg_type b"       \
    " ON b.typname = t.typname AND b.oid < 16384 WHERE t.oid >= 16384) s"

/* As texts; in one row a column of a table, or a relation of the system's, or (oid 0) a shadow or
 * the generation of what is no relation's. */
const char catalog_query[] = RELATIONS_BEGIN RELATIONS_END
    ", g AS MATERIALIZED (SELECT relation, " SUM " AS sum FROM " ROWS " GROUP BY relation)"
    " SELECT c.oid, n.nspname, c.relname,"
    " (c.relkind = 'r' AND NOT c.relispartition AND NOT c.relhassubclass OR c.relkind = 'p' AND NOT c.relispartition AND"
    " EXISTS (SELECT 1 FROM pg_catalog.pg_publication WHERE pubviaroot)) AND c.relpersistence = 'p' AND"
    " (c.oid IN (SELECT relid FROM pg_catalog.pg_publication p, pg_catalog.pg_get_publication_tables(p.pubname))"
    " OR NOT EXISTS (SELECT 1 FROM pg_catalog.pg_publication)),"
    " c.relrowsecurity, a.attnum, a.attname, a.atttypid, i.key, coalesce(o.collisdeterministic, true),"
    " NOT c.relhasrules AND NOT c.relrowsecurity AND c.oid NOT IN " NOT_ALONE ","
    " c.relkind IN ('r', 'p', 'm', 'v', 'S') AND (c.oid < 16384 OR c.oid NOT IN " NOT_PLAIN "),"
    " CASE WHEN a.atttypid < 16384 THEN '' WHEN y.typtype = 'e' THEN 'e' ELSE 'u' END,"
    " CASE WHEN a.atttypid = 1043 AND a.atttypmod > 4 THEN a.atttypmod - 4 ELSE 0 END,"
    " NOT c.relhasrules, g.sum"
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped AND"
    " (a.attnum > 0 AND c.oid >= 16384 OR a.attnum = 1)"
    " JOIN pg_catalog.pg_type y ON y.oid = a.atttypid LEFT JOIN g ON g.relation = c.oid"
    " LEFT JOIN (SELECT indrelid, pg_catalog.array_to_string((indkey::pg_catalog.int2[])[0:indnkeyatts - 1], ' ') AS key"
    " FROM pg_catalog.pg_index WHERE indisprimary AND indimmediate AND indisvalid) i ON i.indrelid = c.oid"
    " LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation"
    " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND pg_catalog.left(n.nspname, 8) <> 'pg_temp_'"
    " AND n.nspname <> 'pg_toast'"
    " AND pg_catalog.pg_current_snapshot() IS NOT NULL" /* which fails here, and not in a client's
                                                           transaction */
    " UNION ALL SELECT 0, kind, name, pg_catalog.bool_or(own), false, 0, '', 0, '', false, false, false, '', 0, false, 0"
    " FROM " SHADOWS " GROUP BY kind, name"
    " UNION ALL SELECT 0, 'g', '', false, false, 0, '', 0, '', false, false, false, '', 0, false, sum FROM g"
    " WHERE relation = 0 ORDER BY 1, 6";

/* What this transaction wrote to them, or another of this session within the last second: of
 * pg_type, pg_attribute, pg_proc, pg_class, pg_attrdef, pg_cast, pg_constraint, pg_index,
 * pg_inherits, pg_namespace, pg_operator, pg_rewrite, pg_trigger, pg_policy. */
const char catalog_changed_query[] =
    "pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL AND (pg_catalog.current_setting('track_counts') <> 'on'"
    " OR EXISTS (SELECT 1 FROM pg_catalog.pg_class r WHERE r.oid = ANY ('{1247,1249,1255,1259,2604,2605,2606,2610,2611,"
    "2615,2617,2618,2620,3256}'::pg_catalog.oid[]) AND (pg_catalog.pg_stat_get_xact_tuples_inserted(r.oid) > 0"
    " OR pg_catalog.pg_stat_get_xact_tuples_updated(r.oid) > 0 OR pg_catalog.pg_stat_get_xact_tuples_deleted(r.oid) > 0)))";

/* ---- what was used ---- */

/* It stands in a query as it is, whatever the session's settings. */
static bool is_plain_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if (*at < ' ' || *at >= 0x7f || *at == '\'' || *at == '\\' || *at == '"')
            return false;
    return true;
}

void catalog_use(struct catalog *catalog, const char *name, struct catalog_names *names)
{
    uint32_t place = 0;
    pthread_mutex_lock(&catalog->lock);
    while (place < catalog->used_count && strcmp(catalog->used[place], name))
        place++;
    if (place == CATALOG_NAMES || !is_plain_name(name)) {
        catalog->uses_all = names->all = true;
    } else {
        if (place == catalog->used_count)
            catalog->used[catalog->used_count++] = iso_copy_text(name, strlen(name));
        names->bits[place / 64] |= UINT64_C(1) << place % 64;
    }
    pthread_mutex_unlock(&catalog->lock);
}

static uint64_t generation_of(const struct catalog *catalog, const char *name)
{
    const struct catalog_table *table;
    uint64_t sum = 0;
    for (uint32_t place = 0; (table = catalog_next_named(catalog, "", name, &place));)
        sum += table->generation;
    return sum;
}

void catalog_put_check(struct catalog *catalog, struct iso_text *query,
                       char expected[CATALOG_EXPECTED])
{
    uint64_t sum = catalog->generation;
    pthread_mutex_lock(&catalog->lock);
    iso_text_put(query, RELATIONS_BEGIN);
    if (catalog->uses_all) {
        for (uint32_t i = 0; i < catalog->count; i++)
            sum += catalog->tables[i].generation;
    } else {
        iso_text_put(query, " AND relname = ANY (ARRAY[");
        for (uint32_t i = 0; i < catalog->used_count; i++) {
            sum += generation_of(catalog, catalog->used[i]);
            iso_text_format(query, "%s'%s'", i ? "," : "", catalog->used[i]);
        }
        iso_text_put(query, "]::pg_catalog.name[])");
    }
    pthread_mutex_unlock(&catalog->lock);
    iso_text_put(query, RELATIONS_END "SELECT " SUM " FROM " ROWS);
    snprintf(expected, CATALOG_EXPECTED, "%" PRIu64, sum);
}

static const char *used_name(struct catalog *catalog, const struct catalog_names *names,
                             uint32_t place)
{
    pthread_mutex_lock(&catalog->lock);
    bool is_of = place < catalog->used_count && names->bits[place / 64] >> place % 64 & 1;
    const char *name = is_of ? catalog->used[place] : NULL;
    pthread_mutex_unlock(&catalog->lock);
    return name;
}

bool catalog_agrees(struct catalog *catalog, const struct catalog *other,
                    const struct catalog_names *names)
{
    bool agrees =
        catalog->generation == other->generation && (!names->all || catalog->count == other->count);
    for (uint32_t i = 0; i < CATALOG_NAMES && agrees; i++) {
        const char *name = used_name(catalog, names, i);
        agrees = !name || generation_of(catalog, name) == generation_of(other, name);
    }
    for (uint32_t i = 0; names->all && i < catalog->count && agrees; i++)
        agrees = catalog->tables[i].oid == other->tables[i].oid &&
                 catalog->tables[i].generation == other->tables[i].generation;
    return agrees;
}

struct catalog_names catalog_translate(struct catalog *catalog, struct catalog *other,
                                       const struct catalog_names *names)
{
    struct catalog_names translated = {.all = names->all};
    for (uint32_t i = 0; i < CATALOG_NAMES; i++) {
        const char *name = used_name(catalog, names, i);
        if (name)
            catalog_use(other, name, &translated);
    }
    if (names->all)
        catalog_use(other, "\"", &translated); /* any */
    return translated;
}
