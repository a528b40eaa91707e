/* The tables of a run, and those that earlier runs left. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "probe/probe_private.h"

/* A number that PostgreSQL's advisory locks of this program share. */
enum { LOCK_CLASS = 0x150 };

static uint32_t lock_number(const char *prefix)
{
    /* FNV-1a: it need not be secret, only the same in every version */
    uint32_t number = 2166136261u;
    for (const char *c = prefix; *c; c++)
        number = (number ^ (unsigned char)*c) * 16777619u;
    return number & 0x7fffffffu;
}

void tables_hold(struct iso_probe *probe)
{
    char sql[160];
    if (probe->is_mysql)
        snprintf(sql, sizeof sql, "SELECT GET_LOCK('%s', 0)", probe->prefix);
    else
        snprintf(sql, sizeof sql, "SELECT pg_try_advisory_lock(%d, %" PRIu32 ")", LOCK_CLASS,
                 lock_number(probe->prefix));
    iso_database_execute(probe->control, sql);
}

/* Whether a run with these tables has a connection still. What cannot be found out is not. */
static bool is_held(struct iso_database *database, const char *prefix)
{
    char sql[200];
    if (iso_database_protocol(database) == ISO_PROTOCOL_MYSQL) {
        snprintf(sql, sizeof sql, "SELECT IS_FREE_LOCK('%s')", prefix);
        const char *answer = iso_database_ask(database, sql);
        return answer && !strcmp(answer, "0");
    }
    snprintf(
        sql, sizeof sql,
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = %d AND objid = %" PRIu32,
        LOCK_CLASS, lock_number(prefix));
    return iso_database_ask(database, sql) != NULL;
}

static enum iso_status refuse_table(const struct iso_probe *probe, struct iso_error *error)
{
    return iso_error_set(
        error, ISO_FAILED,
        "its tables cannot be made in %s: %s; it needs a user that may CREATE TABLE there",
        probe->schema, iso_database_message(probe->control));
}

enum iso_status tables_create(struct iso_probe *probe, struct iso_error *error)
{
    char sql[512];
    for (uint32_t i = 0; i < probe->workload_count && error->status == ISO_OK; i++) {
        uint32_t workload = probe->order[i];
        char *name = probe->tables[workload];
        snprintf(name, sizeof probe->tables[workload], "%s_%s", probe->prefix,
                 probe_workloads[workload].name);
        snprintf(sql, sizeof sql,
                 "CREATE TABLE %s (k BIGINT NOT NULL PRIMARY KEY, v %s NOT NULL)%s", name,
                 probe_workloads[workload].is_list ? "TEXT" : "BIGINT",
                 probe->is_mysql ? " ENGINE=InnoDB" : "");
        if (iso_database_execute(probe->control, sql) != ISO_SQL_DONE) {
            *name = 0;
            return refuse_table(probe, error);
        }
        if (!probe->options.for_stream ||
            iso_database_product(probe->control) != ISO_PRODUCT_POSTGRES)
            continue;
        snprintf(sql, sizeof sql, "ALTER TABLE %s REPLICA IDENTITY FULL", name);
        iso_database_execute(probe->control, sql);
    }
    return error->status;
}

void tables_drop(struct iso_probe *probe, struct iso_database *database, struct iso_text *left)
{
    char sql[256];
    if (database && !probe->is_mysql)
        iso_database_execute(database, "SET lock_timeout = '5s'");
    if (database && probe->is_mysql)
        iso_database_execute(database, "SET SESSION lock_wait_timeout = 5");
    for (uint32_t i = 0; i < PROBE_WORKLOADS; i++) {
        char *name = probe->tables[i];
        if (!*name)
            continue;
        snprintf(sql, sizeof sql, "DROP TABLE %s", name);
        if (!database || iso_database_execute(database, sql) != ISO_SQL_DONE)
            iso_text_format(left, "%s%s", left->used ? ", " : "", name);
        *name = 0;
    }
}

/* ---- leftovers ---- */

/* Names are copied: each is asked about by statements of its own. */
static char **list_tables(struct iso_database *database, uint32_t *count)
{
    bool is_mysql = iso_database_protocol(database) == ISO_PROTOCOL_MYSQL;
    char sql[256], **names = NULL;
    snprintf(
        sql, sizeof sql,
        "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'isochron!_probe!_%%' ESCAPE '!' "
        "AND table_schema = %s ORDER BY 1",
        is_mysql ? "DATABASE()" : "current_schema()");
    *count = 0;
    if (iso_database_execute(database, sql) != ISO_SQL_DONE)
        return NULL;
    *count = iso_database_rows(database);
    names = iso_allocate((*count + 1) * sizeof *names);
    for (uint32_t i = 0; i < *count; i++) {
        const char *name = iso_database_value(database, i, 0);
        names[i] = iso_copy_text(name, strlen(name));
    }
    return names;
}

/* A table's prefix as the probe makes them: letters, digits and underscores, in front of a
 * workload's name. */
static bool take_prefix(const char *table, char *prefix, size_t size)
{
    const char *last = strrchr(table, '_');
    size_t length = (size_t)(last - table);
    bool is_ours = false;
    for (uint32_t i = 0; i < PROBE_WORKLOADS; i++)
        is_ours = is_ours || !strcmp(last + 1, probe_workloads[i].name);
    is_ours = is_ours && length < size &&
              table[strspn(table, "abcdefghijklmnopqrstuvwxyz0123456789_")] == 0;
    if (is_ours)
        snprintf(prefix, size, "%.*s", (int)length, table);
    return is_ours;
}

enum iso_status iso_probe_leftovers(struct iso_database *database, bool drop,
                                    struct iso_text *names, struct iso_error *error)
{
    uint32_t count;
    char **tables = list_tables(database, &count), prefix[PROBE_NAME], sql[256];
    for (uint32_t i = 0; i < count; i++) {
        if (take_prefix(tables[i], prefix, sizeof prefix) && !is_held(database, prefix) &&
            error->status == ISO_OK) {
            snprintf(sql, sizeof sql, "DROP TABLE %.200s", tables[i]);
            if (drop && iso_database_execute(database, sql) != ISO_SQL_DONE)
                iso_error_set(error, ISO_FAILED, "%s: %s", sql, iso_database_message(database));
            else
                iso_text_format(names, "%s\n", tables[i]);
        }
        iso_free(tables[i]);
    }
    iso_free(tables);
    return error->status;
}
