/* What MySQL's and MariaDB's variables and schema say. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "doctor/doctor_private.h"

static const char *variable(struct doctor *doctor, const char *name, char *into, size_t size)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT @@GLOBAL.%s", name);
    return doctor_ask(doctor, sql, into, size);
}

static bool is_on(const char *value)
{
    return !strcmp(value, "1") || !strcmp(value, "ON");
}

static void check_binlog(struct doctor *doctor)
{
    char value[128];
    if (!is_on(variable(doctor, "log_bin", value, sizeof value)))
        doctor_add(doctor, ISO_DOCTOR_WRONG, "there is no change stream",
                   "[mysqld] log-bin = binlog  -- in my.cnf, and restart the server",
                   "the server writes no binlog");
    if (strcmp(variable(doctor, "binlog_format", value, sizeof value), "ROW") && *value)
        doctor_add(
            doctor, ISO_DOCTOR_WRONG,
            "the binlog has statements and no rows: the connector refuses it",
            "SET GLOBAL binlog_format = 'ROW';  -- and in my.cnf; connections that are open keep theirs",
            "binlog_format is %s, not ROW", value);
    if (strcmp(variable(doctor, "binlog_row_image", value, sizeof value), "FULL") && *value)
        doctor_add(doctor, ISO_DOCTOR_WRONG,
                   "changes come without the columns that did not change, or the row before",
                   "SET GLOBAL binlog_row_image = 'FULL';  -- and in my.cnf",
                   "binlog_row_image is %s, not FULL", value);
    if (!strcmp(variable(doctor, "server_id", value, sizeof value), "0"))
        doctor_add(doctor, ISO_DOCTOR_WRONG, "no replica, and so no connector, can follow it",
                   "SET GLOBAL server_id = 1;  -- and in my.cnf", "server_id is 0");
}

/* Checks the server's own binlog filters: columns 3 and 4 of its status. */
static void check_filters(struct doctor *doctor)
{
    static const char *const statements[] = {"SHOW MASTER STATUS", "SHOW BINARY LOG STATUS"};
    struct iso_database *database = doctor->database;
    bool is_told = false;
    for (int i = 0; i < 2 && !is_told; i++)
        is_told = iso_database_execute(database, statements[i]) == ISO_SQL_DONE;
    if (!is_told || !iso_database_rows(database) || iso_database_columns(database) < 4)
        return;
    const char *only = iso_database_value(database, 0, 2),
               *without = iso_database_value(database, 0, 3);
    if ((only && *only) || (without && *without))
        doctor_add(
            doctor, ISO_DOCTOR_WEAK,
            "changes in other databases never arrive, and reads of them look wrong",
            "-- take binlog-do-db and binlog-ignore-db out of my.cnf, and restart the server",
            "the binlog is filtered by database: only %s, not %s", only && *only ? only : "(all)",
            without && *without ? without : "(none)");
}

static void check_isolation(struct doctor *doctor)
{
    char value[64], snapshot[16];
    variable(doctor, "transaction_isolation", value, sizeof value);
    if (!*value)
        variable(doctor, "tx_isolation", value, sizeof value);
    variable(doctor, "innodb_snapshot_isolation", snapshot, sizeof snapshot);
    doctor->report->reads_committed = !strcmp(value, "READ-COMMITTED");
    bool is_maria = doctor->report->product == ISO_PRODUCT_MARIADB;
    if (strcmp(value, "REPEATABLE-READ") && strcmp(value, "SERIALIZABLE"))
        doctor_add(
            doctor, ISO_DOCTOR_WEAK,
            "each statement has a snapshot of its own, or none: reads of a transaction fit no common moment",
            "SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ;  -- and in my.cnf",
            "transactions run at %s unless they say otherwise", value);
    else if (is_maria && !strcmp(value, "REPEATABLE-READ") && *snapshot && !is_on(snapshot))
        doctor_add(
            doctor, ISO_DOCTOR_NOTE,
            "REPEATABLE READ loses updates: --level si says violated, which is true and no fault of the server",
            "SET GLOBAL innodb_snapshot_isolation = ON;", "innodb_snapshot_isolation is off");
}

static struct doctor_found find_tables(struct doctor *doctor, const char *select,
                                       const char *condition)
{
    struct iso_text sql = {0};
    iso_text_put(&sql, select);
    iso_text_put(&sql, " FROM information_schema.tables t WHERE t.table_type = 'BASE TABLE' AND ");
    doctor_condition(doctor, "t.table_schema", "t.table_name", &sql);
    iso_text_format(&sql, " AND %s ORDER BY 1", condition);
    iso_text_put_bytes(&sql, "", 1);
    struct doctor_found found = doctor_find(doctor, sql.bytes);
    iso_text_release(&sql);
    return found;
}

#define HAS_KEY                                                                                    \
    "EXISTS (SELECT 1 FROM information_schema.table_constraints k"                                 \
    " WHERE k.table_schema = t.table_schema AND k.table_name = t.table_name"                       \
    " AND k.constraint_type = 'PRIMARY KEY')"

/* As SQL has it. */
#define NAME                                                                                       \
    "CASE WHEN t.table_name REGEXP '^[a-z_][a-z0-9_]*$' THEN t.table_name"                         \
    " ELSE CONCAT('`', REPLACE(t.table_name, '`', '``'), '`') END"

static void check_tables(struct doctor *doctor)
{
    char mend[DOCTOR_NAME + 100];
    struct doctor_found found = find_tables(doctor, "SELECT " NAME, "NOT " HAS_KEY);
    snprintf(mend, sizeof mend, "ALTER TABLE %s ADD PRIMARY KEY (...);%s", found.first,
             found.count > 1 ? "  -- and so for the others" : "");
    if (found.count)
        doctor_add(doctor, ISO_DOCTOR_WEAK, "its rows have no names: nothing of it is judged", mend,
                   "no primary key: %s", found.names);
    found = find_tables(
        doctor, "SELECT " NAME,
        "t.engine IS NOT NULL AND t.engine NOT IN ('InnoDB', 'ROCKSDB', 'RocksDB', 'ndbcluster')");
    snprintf(mend, sizeof mend, "ALTER TABLE %s ENGINE = InnoDB;%s", found.first,
             found.count > 1 ? "  -- and so for the others" : "");
    if (found.count)
        doctor_add(doctor, ISO_DOCTOR_WRONG,
                   "its engine has no transactions: what is rolled back stays, and looks wrong",
                   mend, "tables without transactions: %s", found.names);
}

static void list_tables(struct doctor *doctor)
{
    struct iso_doctor_report *report = doctor->report;
    struct iso_database *database = doctor->database;
    struct iso_text sql = {0};
    iso_text_put(
        &sql,
        "SELECT t.table_schema, t.table_name, " HAS_KEY ", (SELECT CASE WHEN COUNT(*) = 1 THEN "
        "MIN(c.column_name) END FROM information_schema.columns c WHERE c.table_schema = t.table_schema AND "
        "c.table_name = t.table_name AND c.column_key <> 'PRI') FROM information_schema.tables t WHERE "
        "t.table_type = 'BASE TABLE' AND ");
    doctor_condition(doctor, "t.table_schema", "t.table_name", &sql);
    iso_text_put(&sql, " ORDER BY 1, 2");
    iso_text_put_bytes(&sql, "", 1);
    if (iso_database_execute(database, sql.bytes) != ISO_SQL_DONE)
        doctor_add(doctor, ISO_DOCTOR_WRONG, "nothing can be said of tables", NULL,
                   "tables cannot be listed: %s", iso_database_message(database));
    for (uint32_t row = 0; row < iso_database_rows(database); row++) {
        const char *schema = iso_database_value(database, row, 0),
                   *name = iso_database_value(database, row, 1),
                   *column = iso_database_value(database, row, 3);
        ISO_GROW(report->tables, report->table_count, report->table_capacity);
        report->tables[report->table_count++] = (struct iso_doctor_table){
            .schema = iso_copy_text(schema, strlen(schema)),
            .name = iso_copy_text(name, strlen(name)),
            .column = column ? iso_copy_text(column, strlen(column)) : NULL,
            .has_key = !strcmp(iso_database_value(database, row, 2), "1")};
    }
    iso_text_release(&sql);
}

static void check_database(struct doctor *doctor)
{
    char value[128];
    if (!*doctor_ask(doctor, "SELECT DATABASE()", value, sizeof value))
        doctor_add(doctor, ISO_DOCTOR_WRONG, "there is nothing to look at",
                   "-- mysql://HOST:PORT/DATABASE", "the URL names no database");
}

void doctor_mysql(struct doctor *doctor)
{
    check_database(doctor);
    list_tables(doctor);
    if (doctor->report->product == ISO_PRODUCT_TIDB) {
        doctor_add(doctor, ISO_DOCTOR_NOTE,
                   "its change stream is TiCDC's, which this command does not look at", NULL,
                   "this is TiDB: see docs/attach-tidb.md");
        check_isolation(doctor);
        return;
    }
    check_binlog(doctor);
    check_filters(doctor);
    check_isolation(doctor);
    check_tables(doctor);
}
