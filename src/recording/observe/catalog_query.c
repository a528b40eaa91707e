/* The catalog's queries (catalog.sql), and whether names that were used mean what they meant. */
#include "base/memory.h"
#include "observe/catalog.h"

#include <catalog.sql.h>
#include <inttypes.h>
#include <stdio.h>

const char catalog_query[] = CATALOG_SQL_CATALOG;
const char catalog_changed_query[] = CATALOG_SQL_CHANGED;

/* It stands in a query as it is, whatever the session's settings. */
static bool is_plain_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if (*at < ' ' || *at >= 0x7f || *at == '\'' || *at == '\\' || *at == '"')
            return false;
    return true;
}

void catalog_use(struct catalog *catalog, const char *name)
{
    uint32_t position = 0;
    pthread_mutex_lock(&catalog->lock);
    while (position < catalog->used_count && strcmp(catalog->used[position], name))
        position++;
    if (position == CATALOG_NAMES || !is_plain_name(name))
        catalog->uses_all = true;
    else if (position == catalog->used_count)
        catalog->used[catalog->used_count++] = iso_copy_text(name, strlen(name));
    pthread_mutex_unlock(&catalog->lock);
}

static uint64_t generation_of(const struct catalog *catalog, const char *name)
{
    const struct catalog_table *table;
    uint64_t sum = 0;
    for (uint32_t position = 0; (table = catalog_next_named(catalog, "", name, &position));)
        sum += table->generation;
    return sum;
}

void catalog_put_check(struct catalog *catalog, struct iso_text *query,
                       char expected[CATALOG_EXPECTED])
{
    uint64_t sum = catalog->generation;
    pthread_mutex_lock(&catalog->lock);
    iso_text_put(query, CATALOG_SQL_RELATIONS_BEGIN);
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
    iso_text_put(query,
                 CATALOG_SQL_RELATIONS_END " SELECT " CATALOG_SQL_SUM " FROM " CATALOG_SQL_ROWS);
    snprintf(expected, CATALOG_EXPECTED, "%" PRIu64, sum);
}

bool catalog_agrees(struct catalog *catalog, const struct catalog *other, bool in_all)
{
    bool agrees = catalog->generation == other->generation;
    pthread_mutex_lock(&catalog->lock);
    in_all |= catalog->uses_all;
    for (uint32_t i = 0; i < catalog->used_count && agrees; i++)
        agrees = generation_of(catalog, catalog->used[i]) == generation_of(other, catalog->used[i]);
    pthread_mutex_unlock(&catalog->lock);
    agrees &= !in_all || catalog->count == other->count;
    for (uint32_t i = 0; in_all && i < catalog->count && agrees; i++)
        agrees = catalog->tables[i].oid == other->tables[i].oid &&
                 catalog->tables[i].generation == other->tables[i].generation;
    return agrees;
}
