#include "pg_watermark/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* One statement, whose snapshot is taken before it looks at anything: what begins behind it has no
 * older one. Only who sees all transactions may say that none is open. */
static const char question[] =
    "SELECT pg_snapshot_xmin(pg_current_snapshot())::text, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
    "(SELECT (extract(epoch FROM min(xact_start)) * 1000000)::bigint FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
    "AND datname = current_database() AND backend_type <> 'walsender'), pg_has_role(current_user, 'pg_read_all_stats', "
    "'USAGE'), NULL::text UNION ALL SELECT NULL, NULL, NULL, NULL, gid FROM pg_prepared_xacts WHERE database = "
    "current_database()";

static enum iso_status refuse_rights(struct iso_database *database, struct iso_error *error)
{
    const char *user = iso_database_ask(database, "SELECT quote_ident(current_user)");
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "this user does not see what others run, so no watermark would be true; as a superuser: GRANT "
        "pg_read_all_stats TO %s;",
        user ? user : "USER");
}

enum iso_status iso_tick_check(struct iso_database *database, struct iso_error *error)
{
    if (iso_database_product(database) != ISO_PRODUCT_POSTGRES)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "this is %s: only PostgreSQL says which snapshots are over",
                             iso_database_product_name(iso_database_product(database)));
    const char *answer = iso_database_ask(database, "SELECT pg_is_in_recovery()");
    if (answer && !strcmp(answer, "t"))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "this server is a standby: expected the primary's URL");
    answer = iso_database_ask(database,
                              "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')");
    if (answer && !strcmp(answer, "t"))
        return ISO_OK;
    return answer ? refuse_rights(database, error)
                  : iso_error_set(error, ISO_BAD_INPUT, "%s: expected PostgreSQL 14 or newer",
                                  iso_database_message(database));
}

static uint64_t number_at(const struct iso_database *database, uint32_t column)
{
    const char *text = iso_database_value(database, 0, column);
    return text ? strtoull(text, NULL, 10) : 0;
}

enum iso_status iso_tick_ask(struct iso_tick *tick, struct iso_database *database,
                             uint64_t *clock_us, struct iso_error *error)
{
    if (iso_database_execute(database, question) != ISO_SQL_DONE)
        return iso_error_set(error, ISO_FAILED, "%s", iso_database_message(database));
    uint32_t rows = iso_database_rows(database);
    const char *sees_all = rows ? iso_database_value(database, 0, 3) : NULL;
    if (!sees_all)
        return iso_error_set(error, ISO_FAILED, "the server's answer is not understood");
    if (strcmp(sees_all, "t"))
        return refuse_rights(database, error);
    const char **prepared = iso_allocate(rows * sizeof *prepared);
    for (uint32_t row = 1; row < rows; row++) {
        const char *name = iso_database_value(database, row, 4);
        prepared[row - 1] = name ? name : "";
    }
    *clock_us = number_at(database, 1);
    iso_tick_note(tick, *clock_us, number_at(database, 0), number_at(database, 2), prepared,
                  rows - 1);
    iso_free(prepared);
    return ISO_OK;
}

enum iso_status iso_tick_emit(struct iso_database *database, uint64_t watermark,
                              struct iso_error *error)
{
    char sql[128];
    snprintf(sql, sizeof sql,
             "SELECT pg_logical_emit_message(false, 'isochron', '{\"watermark\":\"%" PRIu64 "\"}')",
             watermark);
    if (iso_database_execute(database, sql) == ISO_SQL_DONE)
        return ISO_OK;
    return iso_error_set(error, ISO_FAILED, "%s", iso_database_message(database));
}
