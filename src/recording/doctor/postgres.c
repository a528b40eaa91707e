/* What PostgreSQL's catalogs and settings say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "doctor/doctor_private.h"

enum { OLDEST_VERSION = 140000, COLUMN_LISTS = 150000, OPEN_SECONDS = 10, LEAST_FREE = 1 };

struct postgres {
    struct doctor *doctor;
    struct iso_text sql;
    char publication[128]; /* as it is; and for SQL, as a name and as a text */
    char publication_name[DOCTOR_NAME], literal[DOCTOR_NAME];
    char slot[128], database[DOCTOR_NAME], user[DOCTOR_NAME];
    long version;
};

/* Partitions count as their root, r. */
#define NAME "quote_ident(n.nspname) || '.' || quote_ident(r.relname)"
#define HAS_KEY "EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)"

/* "SELECT DISTINCT what FROM tables WHERE people's AND condition ORDER BY 1". */
static struct doctor_found find_tables(struct postgres *postgres, const char *what,
                                       const char *more_from, const char *condition)
{
    struct iso_text *sql = &postgres->sql;
    sql->used = 0;
    iso_text_format(sql, "SELECT DISTINCT %s", what);
    iso_text_format(
        sql,
        " FROM pg_class c JOIN pg_class r ON r.oid = COALESCE(pg_partition_root(c.oid), c.oid) JOIN "
        "pg_namespace n ON n.oid = r.relnamespace %s WHERE ",
        more_from);
    doctor_condition(postgres->doctor, "n.nspname", "r.relname", sql);
    iso_text_format(sql, " AND %s ORDER BY 1", condition);
    iso_text_put_bytes(sql, "", 1);
    return doctor_find(postgres->doctor, sql->bytes);
}

enum { MEND = 2 * DOCTOR_NAME + 200 }; /* two names, as SQL has them, and words */

/* A mend of the first, "ALTER TABLE a ...;", with a word on the others. */
static const char *for_each(char into[MEND], const char *before, const struct doctor_found *found,
                            const char *behind)
{
    snprintf(into, MEND, "%s %s %s%s", before, found->first, behind,
             found->count > 1 ? "  -- and so for the others" : "");
    return into;
}

static void check_server(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    char text[256];
    postgres->version = atol(doctor_ask(doctor, "SHOW server_version_num", text, sizeof text));
    doctor_ask(doctor, "SELECT quote_ident(current_database())", postgres->database,
               sizeof postgres->database);
    doctor_ask(doctor, "SELECT quote_ident(current_user)", postgres->user, sizeof postgres->user);
    if (postgres->version < OLDEST_VERSION)
        doctor_add(doctor, ISO_DOCTOR_WRONG, "its stream and snapshots lack what the join needs",
                   "-- PostgreSQL 14 or newer", "PostgreSQL %s is older than 14",
                   doctor->report->version);
    if (!strcmp(doctor_ask(doctor, "SELECT pg_is_in_recovery()", text, sizeof text), "t"))
        doctor_add(doctor, ISO_DOCTOR_WRONG, "connector and clients belong to the primary",
                   "-- the primary's URL", "this server is a standby");
    doctor_ask(doctor, "SHOW wal_level", text, sizeof text);
    if (strcmp(text, "logical"))
        doctor_add(doctor, ISO_DOCTOR_WRONG, "there is no change stream: no slot can be made",
                   "ALTER SYSTEM SET wal_level = 'logical';  -- and restart the server",
                   "wal_level is %s, not logical", text);
    doctor_ask(doctor, "SHOW default_transaction_isolation", text, sizeof text);
    doctor->report->reads_committed = !strcmp(text, "read committed");
    if (strcmp(text, "repeatable read") && strcmp(text, "serializable")) {
        char mend[MEND];
        snprintf(mend, sizeof mend,
                 "ALTER DATABASE %s SET default_transaction_isolation = 'repeatable read';",
                 postgres->database);
        doctor_add(
            doctor, ISO_DOCTOR_WEAK,
            "each statement has a snapshot of its own: reads are judged only if clients record it on each, and "
            "lost updates are allowed",
            mend, "transactions run at %s unless they say otherwise", text);
    }
}

/* ---- tables ---- */

static void add_table(struct doctor *doctor, uint32_t row)
{
    struct iso_doctor_report *report = doctor->report;
    const char *texts[5];
    for (uint32_t i = 0; i < 5; i++) {
        const char *value = iso_database_value(doctor->database, row, i);
        texts[i] = value ? value : "";
    }
    ISO_GROW(report->tables, report->table_count, report->table_capacity);
    report->tables[report->table_count++] = (struct iso_doctor_table){
        .schema = iso_copy_text(texts[0], strlen(texts[0])),
        .name = iso_copy_text(texts[1], strlen(texts[1])),
        .column = *texts[2] ? iso_copy_text(texts[2], strlen(texts[2])) : NULL,
        .has_key = !strcmp(texts[3], "t"),
        .is_whole = !strcmp(texts[4], "t")};
}

static void list_tables(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    struct iso_text *sql = &postgres->sql;
    sql->used = 0;
    iso_text_put(
        sql,
        "SELECT n.nspname, c.relname, (SELECT CASE WHEN count(*) = 1 THEN min(a.attname::text) END FROM "
        "pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT EXISTS "
        "(SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY "
        "(i.indkey))), " HAS_KEY ", NOT EXISTS (SELECT 1 FROM pg_class l WHERE l.relkind = 'r' AND "
        "COALESCE(pg_partition_root(l.oid), l.oid) = c.oid AND l.relreplident <> 'f') FROM pg_class c JOIN "
        "pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition "
        "AND ");
    doctor_condition(doctor, "n.nspname", "c.relname", sql);
    iso_text_put(sql, " ORDER BY 1, 2");
    iso_text_put_bytes(sql, "", 1);
    if (iso_database_execute(doctor->database, sql->bytes) != ISO_SQL_DONE)
        doctor_add(doctor, ISO_DOCTOR_WRONG, "nothing can be said of tables", NULL,
                   "tables cannot be listed: %s", iso_database_message(doctor->database));
    for (uint32_t row = 0; row < iso_database_rows(doctor->database); row++)
        add_table(doctor, row);
}

static void check_identity(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    char mend[MEND];
    struct doctor_found found = find_tables(postgres, "c.oid::regclass::text", "",
                                            "c.relkind = 'r' AND c.relreplident = 'n'");
    if (found.count)
        doctor_add(doctor, ISO_DOCTOR_WRONG, "its updates and deletes fail once it is published",
                   for_each(mend, "ALTER TABLE", &found, "REPLICA IDENTITY FULL;"),
                   "REPLICA IDENTITY is NOTHING: %s", found.names);
    found = find_tables(postgres, "c.oid::regclass::text", "",
                        "c.relkind = 'r' AND c.relreplident IN ('d', 'i')");
    if (found.count)
        doctor_add(
            doctor, ISO_DOCTOR_WEAK,
            "updates come without the row that they replaced: before images are not checked, long values that "
            "did not change are unknown",
            for_each(mend, "ALTER TABLE", &found, "REPLICA IDENTITY FULL;"),
            "REPLICA IDENTITY is not FULL: %s", found.names);
}

static void check_tables(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    char mend[MEND];
    struct doctor_found found = find_tables(
        postgres, NAME, "", "c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT " HAS_KEY);
    if (found.count)
        doctor_add(doctor, ISO_DOCTOR_WEAK, "its rows have no names: nothing of it is judged",
                   for_each(mend, "ALTER TABLE", &found, "ADD PRIMARY KEY (...);"),
                   "no primary key: %s", found.names);
    check_identity(postgres);
    found = find_tables(postgres, "c.oid::regclass::text", "",
                        "c.relkind = 'r' AND c.relpersistence = 'u'");
    if (found.count)
        doctor_add(
            doctor, ISO_DOCTOR_WRONG, "its changes are not in the log, and reads of it look wrong",
            for_each(mend, "ALTER TABLE", &found, "SET LOGGED;"), "unlogged: %s", found.names);
    found = find_tables(
        postgres, NAME " || '.' || quote_ident(a.attname)",
        "JOIN pg_attribute a ON a.attrelid = c.oid",
        "c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attgenerated <> '' AND NOT a.attisdropped");
    if (found.count)
        doctor_add(doctor, ISO_DOCTOR_NOTE,
                   "the stream leaves them out: reads of them are counted and not judged", NULL,
                   "generated columns: %s", found.names);
    found = find_tables(postgres, NAME, "", "c.relrowsecurity AND NOT c.relispartition");
    if (found.count)
        doctor_add(
            doctor, ISO_DOCTOR_NOTE,
            "what a query returns is not all that matches: clients have to record such queries as partial",
            NULL, "row level security: %s", found.names);
}

/* ---- the publication ---- */

static void choose_publication(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    const char *asked = doctor->options->publication;
    if (asked)
        snprintf(postgres->publication, sizeof postgres->publication, "%s", asked);
    else
        doctor_ask(
            doctor,
            "SELECT pubname FROM pg_publication ORDER BY pubname <> 'dbz_publication', NOT puballtables, pubname LIMIT "
            "1",
            postgres->publication, sizeof postgres->publication);
    doctor_quote(doctor, "quote_literal", postgres->publication, postgres->literal);
    doctor_quote(doctor, "quote_ident",
                 *postgres->publication ? postgres->publication : "dbz_publication",
                 postgres->publication_name);
}

static void check_published(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    char condition[DOCTOR_NAME + 300], mend[MEND], alter[DOCTOR_NAME + 100];
    snprintf(
        condition, sizeof condition,
        "c.relkind = 'r' AND NOT c.relispartition AND NOT EXISTS (SELECT 1 FROM pg_publication_tables p WHERE "
        "p.pubname = %s AND p.schemaname = n.nspname AND p.tablename = r.relname)",
        postgres->literal);
    struct doctor_found found = find_tables(postgres, NAME, "", condition);
    snprintf(alter, sizeof alter, "ALTER PUBLICATION %s ADD TABLE", postgres->publication_name);
    if (found.count)
        doctor_add(doctor, ISO_DOCTOR_WRONG,
                   "its rows never arrive, and reads of it look wrong once it is attached",
                   for_each(mend, alter, &found, ";"), "publication %s lacks %s",
                   postgres->publication, found.names);
    found = find_tables(postgres, NAME, "", "c.relkind = 'p' AND NOT c.relispartition");
    char via[8], sql[DOCTOR_NAME + 100];
    snprintf(sql, sizeof sql, "SELECT pubviaroot FROM pg_publication WHERE pubname = %s",
             postgres->literal);
    doctor_ask(doctor, sql, via, sizeof via);
    snprintf(mend, sizeof mend, "ALTER PUBLICATION %s SET (publish_via_partition_root = true);",
             postgres->publication_name);
    if (found.count && strcmp(via, "t"))
        doctor_add(
            doctor, ISO_DOCTOR_WRONG,
            "rows arrive under the names of partitions, and clients record the table's: nothing fits",
            mend, "partitioned, and publication %s says the partitions: %s", postgres->publication,
            found.names);
}

static void check_filters(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    char from[DOCTOR_NAME + 200], mend[MEND], alter[DOCTOR_NAME + 100];
    if (postgres->version < COLUMN_LISTS)
        return;
    snprintf(
        from, sizeof from,
        "JOIN pg_publication_rel pr ON pr.prrelid = c.oid JOIN pg_publication p ON p.oid = pr.prpubid AND p.pubname = "
        "%s",
        postgres->literal);
    snprintf(alter, sizeof alter, "ALTER PUBLICATION %s DROP TABLE", postgres->publication_name);
    struct doctor_found found = find_tables(postgres, NAME, from, "pr.prqual IS NOT NULL");
    if (found.count)
        doctor_add(doctor, ISO_DOCTOR_WRONG, "rows that it leaves out look as if they were lost",
                   for_each(mend, alter, &found, ", ADD TABLE ...;"),
                   "publication %s has a row filter: %s", postgres->publication, found.names);
    found = find_tables(postgres, NAME, from, "pr.prattrs IS NOT NULL");
    if (found.count)
        doctor_add(doctor, ISO_DOCTOR_WEAK,
                   "the stream leaves out columns: reads of them are counted and not judged",
                   for_each(mend, alter, &found, ", ADD TABLE ...;"),
                   "publication %s lists columns: %s", postgres->publication, found.names);
}

static void check_publication(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    char sql[DOCTOR_NAME + 200], text[8], mend[MEND];
    choose_publication(postgres);
    snprintf(sql, sizeof sql, "SELECT 1 FROM pg_publication WHERE pubname = %s", postgres->literal);
    if (!*postgres->publication || !*doctor_ask(doctor, sql, text, sizeof text)) {
        snprintf(mend, sizeof mend,
                 "CREATE PUBLICATION %s FOR ALL TABLES WITH (publish_via_partition_root = true);",
                 postgres->publication_name);
        doctor_add(doctor, ISO_DOCTOR_WRONG,
                   "the connector has nothing to follow, or needs a superuser to make it", mend,
                   *postgres->publication ? "there is no publication %s"
                                          : "there is no publication%s",
                   postgres->publication);
        return;
    }
    snprintf(
        sql, sizeof sql,
        "SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate FROM pg_publication WHERE pubname = %s",
        postgres->literal);
    snprintf(mend, sizeof mend,
             "ALTER PUBLICATION %s SET (publish = 'insert, update, delete, truncate');",
             postgres->publication_name);
    if (strcmp(doctor_ask(doctor, sql, text, sizeof text), "t"))
        doctor_add(doctor, ISO_DOCTOR_WRONG, "changes that it leaves out look as if they were lost",
                   mend, "publication %s does not publish insert, update, delete and truncate",
                   postgres->publication);
    check_published(postgres);
    check_filters(postgres);
}

/* ---- slots ---- */

static void check_room(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    char text[32], mend[160];
    doctor_ask(
        doctor,
        "SELECT current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_replication_slots)",
        text, sizeof text);
    if (*text && atol(text) < LEAST_FREE) {
        snprintf(mend, sizeof mend,
                 "ALTER SYSTEM SET max_replication_slots = 20;  -- and restart the server");
        doctor_add(doctor, ISO_DOCTOR_WRONG, "the connector cannot start", mend,
                   "no replication slot is free");
    }
    doctor_ask(
        doctor,
        "SELECT current_setting('max_wal_senders')::int - (SELECT count(*) FROM pg_stat_replication)",
        text, sizeof text);
    if (*text && atol(text) < LEAST_FREE)
        doctor_add(doctor, ISO_DOCTOR_WRONG, "the connector cannot start",
                   "ALTER SYSTEM SET max_wal_senders = 20;  -- and restart the server",
                   "no WAL sender is free");
}

static void check_slot(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    struct iso_database *database = doctor->database;
    char sql[DOCTOR_NAME + 600], mend[MEND], literal[DOCTOR_NAME] = "";
    const char *asked = doctor->options->slot;
    if (asked)
        doctor_quote(doctor, "quote_literal", asked, literal);
    snprintf(
        sql, sizeof sql,
        "SELECT slot_name, active, COALESCE(wal_status, ''), pg_size_pretty(pg_wal_lsn_diff(CASE WHEN "
        "pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn)) FROM "
        "pg_replication_slots WHERE slot_type = 'logical' AND database = current_database() %s%s ORDER BY active "
        "DESC, slot_name <> 'isochron', slot_name LIMIT 1",
        asked ? "AND slot_name = " : "", literal);
    if (iso_database_execute(database, sql) != ISO_SQL_DONE)
        return;
    if (!iso_database_rows(database)) {
        doctor_add(doctor, ISO_DOCTOR_NOTE,
                   "nothing arrives before the connector starts, which makes its slot", NULL,
                   "there is no logical replication slot%s%s", asked ? " " : "",
                   asked ? asked : "");
        check_room(postgres);
        return;
    }
    snprintf(postgres->slot, sizeof postgres->slot, "%s", iso_database_value(database, 0, 0));
    bool is_active = !strcmp(iso_database_value(database, 0, 1), "t");
    bool is_lost = !strcmp(iso_database_value(database, 0, 2), "lost");
    char behind[64];
    snprintf(behind, sizeof behind, "%s",
             iso_database_value(database, 0, 3) ? iso_database_value(database, 0, 3) : "?");
    doctor_quote(doctor, "quote_literal", postgres->slot, literal);
    snprintf(
        mend, sizeof mend,
        "SELECT pg_drop_replication_slot(%s);  -- and let the connector take its snapshot again",
        literal);
    if (is_lost)
        doctor_add(doctor, ISO_DOCTOR_WRONG, "the log that it needs is gone: changes are missing",
                   mend, "replication slot %s is lost", postgres->slot);
    else if (!is_active)
        doctor_add(doctor, ISO_DOCTOR_WRONG,
                   "nothing arrives, and the log piles up on the server's disk",
                   "-- start the connector, or: SELECT pg_drop_replication_slot(...);",
                   "replication slot %s is not in use, %s behind", postgres->slot, behind);
}

/* ---- what is open ---- */

static void check_open(struct postgres *postgres)
{
    struct doctor *doctor = postgres->doctor;
    char mend[MEND], text[16];
    struct doctor_found found = doctor_find(
        doctor,
        "SELECT quote_literal(gid) FROM pg_prepared_xacts WHERE prepared < now() - interval '60 seconds' ORDER BY prepared");
    snprintf(mend, sizeof mend, "ROLLBACK PREPARED %s;  -- or COMMIT PREPARED", found.first);
    if (found.count)
        doctor_add(doctor, ISO_DOCTOR_WEAK, "no snapshot after it becomes final: verdicts wait",
                   mend, "prepared transactions that nobody ended for a minute: %s", found.names);
    doctor_ask(doctor, "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')", text,
               sizeof text);
    snprintf(mend, sizeof mend, "GRANT pg_read_all_stats TO %s;", postgres->user);
    if (strcmp(text, "t")) {
        doctor_add(
            doctor, ISO_DOCTOR_NOTE,
            "transactions of others that stay open are not seen here, and `isochron tick` needs it",
            mend, "this user does not see what others run");
        return;
    }
    found = doctor_find(
        doctor,
        "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
        "pg_backend_pid() AND backend_type = 'client backend' AND xact_start < now() - interval "
        "'10 seconds' ORDER BY xact_start");
    snprintf(mend, sizeof mend,
             "SELECT pg_terminate_backend(%.20s);  -- or watch with a longer --grace", found.first);
    if (found.count)
        doctor_add(
            doctor, ISO_DOCTOR_WEAK,
            "verdicts wait for it; a record that it publishes after watch's --grace (10 s) is too late to be judged",
            mend, "transactions that are open for more than %d s, by process: %s", OPEN_SECONDS,
            found.names);
}

/* Whether texts are in the order of their bytes: the database's, and where a column or its type
 * says another, that one's. */
static void check_collation(struct postgres *postgres)
{
    char text[16];
    doctor_ask(
        postgres->doctor,
        "SELECT datcollate IN ('C', 'POSIX') AND NOT EXISTS (SELECT 1 FROM pg_attribute a JOIN pg_class c ON c.oid = "
        "a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_collation l ON l.oid = a.attcollation "
        "WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
        "AND l.collname NOT IN ('default', 'C', 'POSIX')) FROM pg_database WHERE datname = current_database()",
        text, sizeof text);
    postgres->doctor->report->orders_by_bytes = !strcmp(text, "t");
}

void doctor_postgres(struct doctor *doctor)
{
    struct postgres postgres = {.doctor = doctor};
    if (doctor->report->product != ISO_PRODUCT_POSTGRES) {
        doctor_add(doctor, ISO_DOCTOR_NOTE,
                   "its change stream is its own, and this command does not look at it", NULL,
                   "this is %s, which speaks PostgreSQL's protocol",
                   iso_database_product_name(doctor->report->product));
        list_tables(&postgres);
        iso_text_release(&postgres.sql);
        return;
    }
    check_server(&postgres);
    check_collation(&postgres);
    list_tables(&postgres);
    check_tables(&postgres);
    check_publication(&postgres);
    check_slot(&postgres);
    check_open(&postgres);
    iso_text_release(&postgres.sql);
}
