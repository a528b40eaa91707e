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

void catalog_use(struct catalog *catalog, const char *name, struct catalog_names *names)
{
    uint32_t position = 0;
    pthread_mutex_lock(&catalog->lock);
    while (position < catalog->used_count && strcmp(catalog->used[position], name))
        position++;
    if (position == CATALOG_NAMES || !is_plain_name(name)) {
        catalog->uses_all = names->all = true;
    } else {
        if (position == catalog->used_count)
            catalog->used[catalog->used_count++] = iso_copy_text(name, strlen(name));
        names->bits[position / 64] |= UINT64_C(1) << position % 64;
    }
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

static const char *used_name(struct catalog *catalog, const struct catalog_names *names,
                             uint32_t position)
{
    pthread_mutex_lock(&catalog->lock);
    bool is_of = position < catalog->used_count && names->bits[position / 64] >> position % 64 & 1;
    const char *name = is_of ? catalog->used[position] : NULL;
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
