#define _GNU_SOURCE
#include "observe/catalog.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

/* Rows of the catalogs that say what names mean, each as its catalog's letter, its place and its xmin; of pg_class what matters of it, as
 * TRUNCATE and the like write that, too. Temporary objects are left out: they come and go, and are another session's or asked for apart. */
#define GENERATION                                                                                                     \
    "(SELECT coalesce(pg_catalog.sum(pg_catalog.hashtextextended(t, 0)), 0) || '.' ||"                                 \
    " pg_catalog.count(*) FROM ("                                                                                      \
    "WITH c AS MATERIALIZED (SELECT oid, pg_catalog.concat_ws('.', relnamespace, relkind, relname, relhassubclass,"    \
    " relhasrules, relhastriggers, relrowsecurity, relispartition, relpersistence) AS t FROM"                          \
    " pg_catalog.pg_class WHERE oid >= 16384"                                                                          \
    " AND relkind IN ('r', 'p', 'v', 'm', 'f') AND relpersistence <> 't')"                                             \
    " SELECT 'c' || oid || '.' || t AS t FROM c"                                                                       \
    " UNION ALL SELECT 'a' || attrelid || '.' || attnum || '.' || a.xmin FROM c JOIN pg_catalog.pg_attribute a"        \
    " ON a.attrelid = c.oid AND a.attnum > 0"                                                                          \
    " UNION ALL SELECT 'i' || indexrelid || '.' || i.xmin FROM c JOIN pg_catalog.pg_index i ON"                        \
    " i.indrelid = c.oid"                                                                                              \
    " UNION ALL SELECT 'k' || k.oid || '.' || k.xmin FROM pg_catalog.pg_constraint k"                                  \
    " WHERE k.conrelid = 0 OR k.conrelid IN (SELECT oid FROM c)"                                                       \
    " UNION ALL SELECT 't' || g.oid || '.' || g.xmin FROM c JOIN pg_catalog.pg_trigger g ON g.tgrelid = c.oid"         \
    " UNION ALL SELECT 'w' || w.oid || '.' || w.xmin FROM c JOIN pg_catalog.pg_rewrite w ON w.ev_class = c.oid"        \
    " UNION ALL SELECT 'd' || d.oid || '.' || d.xmin FROM c JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid"         \
    " UNION ALL SELECT 'l' || oid || '.' || xmin FROM pg_catalog.pg_policy"                                            \
    " UNION ALL SELECT 'h' || inhrelid || '.' || h.xmin FROM c JOIN pg_catalog.pg_inherits h ON"                       \
    " h.inhparent = c.oid"                                                                                             \
    " UNION ALL SELECT 'f' || oid || '.' || xmin FROM pg_catalog.pg_proc WHERE oid >= 16384"                           \
    " UNION ALL SELECT 'o' || oid || '.' || xmin FROM pg_catalog.pg_operator WHERE oid >= 16384"                       \
    " UNION ALL SELECT 's' || oid || '.' || xmin FROM pg_catalog.pg_cast WHERE oid >= 16384"                           \
    " UNION ALL SELECT 'y' || oid || '.' || xmin FROM pg_catalog.pg_type WHERE oid >= 16384 AND typtype <> 'c'"        \
    " AND typcategory <> 'A'"                                                                                          \
    " UNION ALL SELECT 'n' || oid || '.' || xmin FROM pg_catalog.pg_namespace WHERE"                                   \
    " pg_catalog.left(nspname, 3) <> 'pg_'"                                                                            \
    " UNION ALL SELECT 'p' || oid || '.' || xmin FROM pg_catalog.pg_publication"                                       \
    " UNION ALL SELECT 'q' || oid || '.' || xmin FROM pg_catalog.pg_publication_rel"                                   \
    " UNION ALL SELECT 'm' || oid || '.' || xmin FROM pg_catalog.pg_publication_namespace) g)"

const char catalog_generation_query[] = "SELECT " GENERATION;

#define USERS                                                                                                          \
    "(p.refclassid IN ('pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass,"      \
    " 'pg_catalog.pg_opclass'::pg_catalog.regclass) AND p.refobjid >= 16384)"
#define ROOT(relation) "coalesce(pg_catalog.pg_partition_root(" relation ")::pg_catalog.oid, " relation ")"

/* As texts; in one row a column of a table, or a relation of the system's, or (oid 0) a shadow or the generation. */
const char catalog_query[] =
    "SELECT c.oid, n.nspname, c.relname,"
    " (c.relkind = 'r' AND NOT c.relispartition AND NOT c.relhassubclass OR c.relkind = 'p' AND NOT c.relispartition AND"
    " EXISTS (SELECT 1 FROM pg_catalog.pg_publication WHERE pubviaroot)) AND c.relpersistence = 'p' AND"
    " (c.oid IN (SELECT relid FROM pg_catalog.pg_publication p, pg_catalog.pg_get_publication_tables(p.pubname))"
    " OR NOT EXISTS (SELECT 1 FROM pg_catalog.pg_publication)),"
    " c.relrowsecurity, a.attnum, a.attname, a.atttypid, i.key, coalesce(o.collisdeterministic, true),"
    /* is written alone */
    " NOT c.relhasrules AND NOT c.relrowsecurity"
    " AND c.oid NOT IN (SELECT t.tgrelid FROM pg_catalog.pg_trigger t WHERE NOT t.tgisinternal)"
    " AND c.oid NOT IN (SELECT " ROOT(
        "t.tgrelid") " FROM pg_catalog.pg_trigger t WHERE NOT t.tgisinternal)"
                     " AND c.oid NOT IN (SELECT " ROOT(
                         "f.confrelid") " FROM pg_catalog.pg_constraint f WHERE f.contype = 'f' AND"
                                        " (f.confdeltype IN ('c', 'n', 'd') OR f.confupdtype IN ('c', 'n', 'd')))"
                                        " AND c.oid NOT IN (SELECT " ROOT(
                                            "x.relation") " FROM ("
                                                          "SELECT adrelid AS relation, 'pg_catalog.pg_attrdef'::pg_catalog.regclass AS class, oid FROM pg_catalog.pg_attrdef"
                                                          " UNION ALL SELECT conrelid, 'pg_catalog.pg_constraint', oid FROM pg_catalog.pg_constraint WHERE conrelid <> 0"
                                                          " UNION ALL SELECT indrelid, 'pg_catalog.pg_class', indexrelid FROM pg_catalog.pg_index WHERE indexrelid >= 16384"
                                                          " UNION ALL SELECT u.attrelid, 'pg_catalog.pg_constraint', k.oid FROM pg_catalog.pg_constraint k"
                                                          " JOIN pg_catalog.pg_attribute u ON u.atttypid = k.contypid WHERE k.contypid <> 0"
                                                          " UNION ALL SELECT u.attrelid, 'pg_catalog.pg_type', y.oid FROM pg_catalog.pg_type y"
                                                          " JOIN pg_catalog.pg_attribute u ON u.atttypid = y.oid WHERE y.typtype = 'd') x"
                                                          " JOIN pg_catalog.pg_depend p ON p.classid = x.class AND p.objid = x.oid WHERE " USERS
                                                          " OR p.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND p.refclassid = p.classid AND p.refobjid >= 16384),"
                                                          /* is plain */
                                                          " c.relkind IN ('r', 'p', 'm', 'v', 'S') AND (c.oid < 16384 OR"
                                                          " c.oid NOT IN (SELECT w.ev_class FROM pg_catalog.pg_rewrite w"
                                                          " JOIN pg_catalog.pg_depend p ON p.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND p.objid = w.oid"
                                                          " LEFT JOIN pg_catalog.pg_class r ON p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND r.oid = p.refobjid"
                                                          " WHERE w.ev_type = '1' AND (" USERS
                                                          " OR r.oid <> w.ev_class AND r.oid >= 16384 AND (r.relkind NOT IN ('r', 'p', 'm') OR r.relrowsecurity)))"
                                                          " AND c.oid NOT IN (SELECT l.polrelid FROM pg_catalog.pg_policy l"
                                                          " JOIN pg_catalog.pg_depend p ON p.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass AND p.objid = l.oid"
                                                          " WHERE " USERS
                                                          " OR p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.refobjid <> l.polrelid)),"
                                                          " CASE WHEN a.atttypid < 16384 THEN '' WHEN y.typtype = 'e' THEN 'e' ELSE 'u' END,"
                                                          " CASE WHEN a.atttypid = 1043 AND a.atttypmod > 4 THEN a.atttypmod - 4 ELSE 0 END,"
                                                          " NOT c.relhasrules"
                                                          " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
                                                          " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped AND"
                                                          " (a.attnum > 0 AND c.oid >= 16384 OR a.attnum = 1)"
                                                          " JOIN pg_catalog.pg_type y ON y.oid = a.atttypid"
                                                          " LEFT JOIN (SELECT indrelid, pg_catalog.array_to_string((indkey::pg_catalog.int2[])[0:indnkeyatts - 1], ' ') AS key"
                                                          " FROM pg_catalog.pg_index WHERE indisprimary AND indimmediate AND indisvalid) i ON i.indrelid = c.oid"
                                                          " LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation"
                                                          " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND pg_catalog.left(n.nspname, 8) <> 'pg_temp_' AND n.nspname <> 'pg_toast'"
                                                          " AND pg_catalog.pg_current_snapshot() IS NOT NULL" /* which fails here, and not in a client's transaction */
                                                          " UNION ALL SELECT 0, kind, name, pg_catalog.bool_or(own), false, 0, '', 0, '', false, false, false, '', 0, false FROM ("
                                                          "SELECT 'f' AS kind, proname AS name, NOT 16384 <= ANY"
                                                          " ((proargtypes::pg_catalog.oid[])[0:pronargs - pronargdefaults - 1]) AS own"
                                                          " FROM pg_catalog.pg_proc WHERE oid >= 16384"
                                                          " UNION ALL SELECT 'o', oprname, oprleft < 16384 AND oprright < 16384 FROM pg_catalog.pg_operator WHERE oid >= 16384"
                                                          " UNION ALL SELECT 'c', '', castsource < 16384 AND (casttarget < 16384 OR castcontext = 'i')"
                                                          " FROM pg_catalog.pg_cast WHERE oid >= 16384"
                                                          " UNION ALL SELECT 't', t.typname, true FROM pg_catalog.pg_type t JOIN pg_catalog.pg_type b ON b.typname = t.typname"
                                                          " AND b.oid < 16384 WHERE t.oid >= 16384) s GROUP BY kind, name"
                                                          " UNION ALL SELECT 0, 'g', " GENERATION
                                                          ", false, false, 0, '', 0, '', false, false, false, '', 0, false"
                                                          " ORDER BY 1, 6";

struct catalog *catalog_new(void)
{
    static _Atomic uint64_t serial;
    struct catalog *catalog = iso_allocate_zeroed(1, sizeof *catalog);
    catalog->references = 1;
    catalog->serial = ++serial;
    return catalog;
}

struct catalog *catalog_share(struct catalog *catalog)
{
    catalog->references++;
    return catalog;
}

void catalog_release(struct catalog *catalog)
{
    if (!catalog || --catalog->references)
        return;
    for (uint32_t i = 0; i < catalog->count; i++) {
        struct catalog_table *table = &catalog->tables[i];
        for (uint32_t j = 0; j < table->column_count; j++)
            iso_free(table->columns[j].name);
        iso_free(table->columns);
        iso_free(table->schema);
        iso_free(table->name);
        iso_free(table->full);
    }
    for (uint32_t i = 0; i < catalog->shadow_count; i++)
        iso_free(catalog->shadows[i].name);
    iso_free(catalog->shadows);
    iso_free(catalog->by_name);
    iso_free(catalog->tables);
    iso_free(catalog);
}

enum {
    OID,
    SCHEMA,
    TABLE,
    TAKEN,
    HIDES,
    NUMBER,
    COLUMN,
    TYPE,
    KEY,
    COMPARES,
    ALONE,
    PLAIN,
    CLASS,
    MOST,
    KEEPS,
    FIELDS
};

static bool is_allowed(const struct catalog_table *table, const char *const *tables, uint32_t table_count)
{
    for (uint32_t i = 0; i < table_count; i++)
        if (!strcmp(tables[i], table->name) || !strcmp(tables[i], table->full))
            return true;
    return !table_count;
}

static void add_key(struct catalog_table *table, const char *numbers)
{
    for (char *end; *numbers; numbers = end) {
        long number = strtol(numbers, &end, 10);
        if (end == numbers)
            return;
        if (number <= 0 || table->key_count == CATALOG_KEY_MOST) { /* an expression, or too many */
            table->key_count = 0;
            return;
        }
        table->key[table->key_count++] = (int16_t)number;
    }
}

static struct catalog_table *add_table(struct catalog *catalog, char fields[FIELDS][256], const char *const *tables,
                                       uint32_t table_count)
{
    uint32_t oid = (uint32_t)strtoul(fields[OID], NULL, 10);
    if (catalog->count && catalog->tables[catalog->count - 1].oid == oid)
        return &catalog->tables[catalog->count - 1];
    ISO_GROW(catalog->tables, catalog->count, catalog->capacity);
    struct catalog_table *table = &catalog->tables[catalog->count++];
    char full[513];
    size_t schema = strlen(fields[SCHEMA]);
    memcpy(full, fields[SCHEMA], schema);
    full[schema] = '.';
    memcpy(full + schema + 1, fields[TABLE], strlen(fields[TABLE]) + 1);
    *table = (struct catalog_table){.oid = oid,
                                    .schema = iso_copy_text(fields[SCHEMA], schema),
                                    .name = iso_copy_text(fields[TABLE], strlen(fields[TABLE])),
                                    .full = iso_copy_text(full, strlen(full)),
                                    .hides_rows = *fields[HIDES] == 't',
                                    .is_plain = *fields[PLAIN] == 't',
                                    .keeps_keys = *fields[KEEPS] == 't',
                                    .is_written_alone = *fields[ALONE] == 't'};
    table->is_taken = *fields[TAKEN] == 't' && is_allowed(table, tables, table_count);
    add_key(table, fields[KEY]);
    return table;
}

static void add_shadow(struct catalog *catalog, char fields[FIELDS][256])
{
    if (*fields[SCHEMA] == 'g') {
        snprintf(catalog->generation, sizeof catalog->generation, "%s", fields[TABLE]);
        return;
    }
    ISO_GROW(catalog->shadows, catalog->shadow_count, catalog->shadow_capacity);
    catalog->shadows[catalog->shadow_count++] =
        (struct catalog_shadow){.kind = *fields[SCHEMA],
                                .is_of_any = *fields[TAKEN] == 't',
                                .name = iso_copy_text(fields[TABLE], strlen(fields[TABLE]))};
}

bool catalog_is_system(const struct catalog_table *table)
{
    return table->oid < 16384; /* of an object that initdb made */
}

bool catalog_add(struct catalog *catalog, struct wire_cursor row, const char *const *tables, uint32_t table_count)
{
    char fields[FIELDS][256];
    if (wire_u16(&row) != FIELDS)
        return false;
    for (int i = 0; i < FIELDS; i++) {
        uint32_t size = wire_u32(&row);
        *fields[i] = 0;
        if (size == UINT32_MAX)
            continue;
        const uint8_t *bytes = wire_bytes(&row, size);
        if (!bytes || size >= sizeof fields[i])
            return false;
        memcpy(fields[i], bytes, size);
        fields[i][size] = 0;
    }
    if (!strcmp(fields[OID], "0")) {
        add_shadow(catalog, fields);
        return true;
    }
    struct catalog_table *table = add_table(catalog, fields, tables, table_count);
    if (catalog_is_system(table))
        return true;
    ISO_GROW(table->columns, table->column_count, table->column_capacity);
    struct catalog_column *column = &table->columns[table->column_count++];
    *column = (struct catalog_column){.number = (int16_t)atoi(fields[NUMBER]),
                                      .type = (uint32_t)strtoul(fields[TYPE], NULL, 10),
                                      .compares_bytes = *fields[COMPARES] == 't',
                                      .type_class = *fields[CLASS] ? *fields[CLASS] : ' ',
                                      .most = (uint32_t)strtoul(fields[MOST], NULL, 10),
                                      .name = iso_copy_text(fields[COLUMN], strlen(fields[COLUMN]))};
    table->has_user_types |= column->type_class != ' ';
    for (uint32_t i = 0; i < table->key_count; i++)
        column->is_key |= table->key[i] == column->number;
    return true;
}

const struct catalog_table *catalog_find(const struct catalog *catalog, uint32_t oid)
{
    uint32_t low = 0, high = catalog ? catalog->count : 0;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (catalog->tables[middle].oid == oid)
            return &catalog->tables[middle];
        if (catalog->tables[middle].oid < oid)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int compare_tables(const void *left, const void *right, void *context)
{
    const struct catalog *catalog = context;
    return strcmp(catalog->tables[*(const uint32_t *)left].name, catalog->tables[*(const uint32_t *)right].name);
}

static int compare_shadows(const void *left, const void *right)
{
    const struct catalog_shadow *one = left, *other = right;
    return one->kind != other->kind ? one->kind - other->kind : strcmp(one->name, other->name);
}

void catalog_end(struct catalog *catalog)
{
    catalog->by_name = iso_allocate_zeroed(catalog->count ? catalog->count : 1, sizeof *catalog->by_name);
    for (uint32_t i = 0; i < catalog->count; i++)
        catalog->by_name[i] = i;
    qsort_r(catalog->by_name, catalog->count, sizeof *catalog->by_name, compare_tables, catalog);
    if (catalog->shadow_count)
        qsort(catalog->shadows, catalog->shadow_count, sizeof *catalog->shadows, compare_shadows);
}

const struct catalog_table *catalog_next_named(const struct catalog *catalog, const char *schema, const char *name,
                                               uint32_t *place)
{
    uint32_t low = *place, high = catalog ? catalog->count : 0;
    while (!*place && low < high) {
        uint32_t middle = (low + high) / 2;
        if (strcmp(catalog->tables[catalog->by_name[middle]].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; catalog && low < catalog->count; low++) {
        const struct catalog_table *table = &catalog->tables[catalog->by_name[low]];
        if (strcmp(table->name, name))
            return NULL;
        *place = low + 1;
        if (!*schema || !strcmp(table->schema, schema))
            return table;
    }
    return NULL;
}

const struct catalog_table *catalog_find_name(const struct catalog *catalog, const char *schema, const char *name)
{
    uint32_t place = 0;
    const struct catalog_table *found = catalog_next_named(catalog, schema, name, &place);
    return found && !catalog_next_named(catalog, schema, name, &place) ? found : NULL;
}

const struct catalog_shadow *catalog_find_shadow(const struct catalog *catalog, char kind, const char *name)
{
    const struct catalog_shadow wanted = {.kind = kind, .name = (char *)(uintptr_t)name};
    return catalog->shadow_count
               ? bsearch(&wanted, catalog->shadows, catalog->shadow_count, sizeof wanted, compare_shadows)
               : NULL;
}

const struct catalog_column *catalog_column(const struct catalog_table *table, int16_t number)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (table->columns[i].number == number)
            return &table->columns[i];
    return NULL;
}

const struct catalog_column *catalog_column_named(const struct catalog_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].name, name))
            return &table->columns[i];
    return NULL;
}
