#include "suite/slot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

enum iso_status suite_ask(struct iso_database *database, const char *sql, struct iso_error *error)
{
    if (iso_database_execute(database, sql) == ISO_SQL_DONE)
        return ISO_OK;
    return iso_error_set(error, ISO_FAILED, "the database refused \"%.60s\": %s", sql,
                         iso_database_message(database));
}

struct iso_database *suite_connect(const char *url, bool replicates, struct iso_error *error)
{
    static const char *const settings[] = {
        "SET DateStyle = ISO",        "SET TimeZone = 'UTC'",        "SET IntervalStyle = postgres",
        "SET extra_float_digits = 1", "SET bytea_output = hex",      "SET client_encoding = UTF8",
        "SET statement_timeout = 0",  "SET search_path = pg_catalog"};
    /* Catalogs take longer with workers and compilers, and where tables come and go all the time
     * most of their pages have nothing. */
    static const char *const plain[] = {"SET max_parallel_workers_per_gather = 0", "SET jit = off",
                                        "SET enable_seqscan = off"};
    struct iso_text text = {0};
    iso_text_put(&text, url);
    iso_text_format(&text, "%c%s", strchr(url, '?') ? '&' : '?',
                    replicates ? "replication=database" : "application_name=isochron");
    *iso_text_reserve(&text, 1) = 0;
    struct iso_database *database = iso_database_connect(text.bytes, error);
    iso_text_release(&text);
    for (size_t i = 0; database && i < sizeof settings / sizeof *settings; i++)
        if (suite_ask(database, settings[i], error) != ISO_OK) {
            iso_database_close(database);
            return NULL;
        }
    if (database) /* old servers have not all of them */
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
            iso_database_execute(database, plain[i]);
    return database;
}

/* What making a slot needs, and what gives it. */
static enum iso_status check_server(struct iso_database *database, struct iso_error *error)
{
    const char *value = iso_database_ask(database, "SELECT current_setting('wal_level')");
    if (!value || strcmp(value, "logical"))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "wal_level is %s, expected logical: ALTER SYSTEM SET wal_level = "
                             "logical, and restart the server; --no-stream does without",
                             value ? value : "not known");
    value = iso_database_ask(database,
                             "SELECT current_setting('max_replication_slots')::int - count(*) "
                             "FROM pg_replication_slots");
    if (!value || atoi(value) < 1)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "no replication slot is free: ALTER SYSTEM SET "
                             "max_replication_slots = 20, and restart the server");
    return ISO_OK;
}

/* A slot begins where no transaction of the whole server is open; that is not waited for long. */
static enum iso_status make_slot(struct iso_database *database, const char *sql,
                                 struct iso_error *error)
{
    if (suite_ask(database, "SET lock_timeout = '1s'", error) != ISO_OK ||
        suite_ask(database, sql, error) == ISO_OK)
        return error->status;
    if (!strstr(iso_database_message(database), "lock timeout"))
        return error->status;
    *error = (struct iso_error){.status = ISO_OK};
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "a transaction is open on the server, and no slot begins before it ends: "
        "SELECT pid, datname, query FROM pg_stat_activity WHERE backend_xid IS NOT "
        "NULL says which; then try again");
}

static uint64_t place_of(const char *text)
{
    unsigned high = 0, low = 0;
    return sscanf(text, "%X/%X", &high, &low) == 2 ? (uint64_t)high << 32 | low : 0;
}

enum iso_status suite_slot_open(struct suite_slot *slot, const char *url, struct iso_error *error)
{
    char sql[200];
    *slot = (struct suite_slot){.connection = suite_connect(url, true, error)};
    if (!slot->connection && strstr(error->text, "replication role")) {
        *error = (struct iso_error){.status = ISO_OK};
        iso_error_set(error, ISO_BAD_INPUT,
                      "the user may not replicate: ALTER USER ... REPLICATION; --no-stream does "
                      "without");
    }
    if (!slot->connection || check_server(slot->connection, error) != ISO_OK)
        return error->status;
    static unsigned made;
    snprintf(slot->name, sizeof slot->name, "isochron_%d_%u", (int)getpid(), made++);
    snprintf(sql, sizeof sql,
             "CREATE_REPLICATION_SLOT %s TEMPORARY LOGICAL test_decoding EXPORT_SNAPSHOT",
             slot->name);
    if (make_slot(slot->connection, sql, error) != ISO_OK)
        return error->status;
    slot->start = place_of(iso_database_value(slot->connection, 0, 1));
    snprintf(slot->snapshot, sizeof slot->snapshot, "%s",
             iso_database_value(slot->connection, 0, 2));
    return ISO_OK;
}

enum iso_status suite_slot_start(struct suite_slot *slot, struct iso_error *error)
{
    char sql[120];
    /* another database's rows may take longer to read; servers before 12 refuse it */
    iso_database_execute(slot->connection, "SET wal_sender_timeout = 0");
    snprintf(sql, sizeof sql, "START_REPLICATION SLOT %s LOGICAL 0/0", slot->name);
    slot->streams = iso_database_stream(slot->connection, sql) == ISO_SQL_DONE;
    return slot->streams ? ISO_OK
                         : iso_error_set(error, ISO_FAILED, "the database streams no changes: %s",
                                         iso_database_message(slot->connection));
}

/* The server takes its time to see that a connection is closed, and refuses to drop a database that
 * has a slot. */
void suite_slot_close(struct suite_slot *slot)
{
    char sql[120];
    snprintf(sql, sizeof sql, "SELECT pg_drop_replication_slot('%s')", slot->name);
    if (slot->connection && *slot->snapshot &&
        (!slot->streams || iso_database_end_stream(slot->connection) == ISO_SQL_DONE))
        iso_database_execute(slot->connection, sql);
    iso_database_close(slot->connection);
    iso_text_release(&slot->bytes);
    iso_free(slot->lines);
    *slot = (struct suite_slot){.connection = NULL};
}

/* ---- the stream ---- */

static uint64_t number_of(const char *bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | (uint8_t)bytes[i];
    return number;
}

static void see(struct suite_slot *slot, uint64_t place)
{
    slot->place = place > slot->place ? place : slot->place;
}

/* 'w': the line's place, the server's, the time, the line. */
static void take_line(struct suite_slot *slot, const char *message, size_t size)
{
    enum { HEAD = 1 + 3 * 8 };
    if (size < HEAD)
        return;
    struct suite_line line = {number_of(message + 1), slot->bytes.used};
    iso_text_put_bytes(&slot->bytes, message + HEAD, size - HEAD);
    iso_text_put_bytes(&slot->bytes, "", 1);
    ISO_PUSH(slot->lines, slot->count, slot->capacity, line);
    if (!strncmp(slot->bytes.bytes + line.at, "COMMIT ", 7))
        slot->whole = slot->count;
    see(slot, line.place);
}

/* How far changes were taken; `asks` for the same of the server. */
static enum iso_database_outcome tell_place(struct suite_slot *slot, bool asks)
{
    char message[1 + 4 * 8 + 1] = {'r'};
    for (int i = 0; i < 3 * 8; i++)
        message[1 + i] = (char)(slot->place >> (56 - i % 8 * 8));
    message[sizeof message - 1] = asks;
    return iso_database_reply(slot->connection, message, sizeof message);
}

enum iso_status suite_slot_receive(struct suite_slot *slot, uint64_t goal, struct iso_error *error)
{
    const char *message;
    size_t size = 1;
    bool is_asked = false;
    enum iso_database_outcome outcome = ISO_SQL_DONE;
    while (size && outcome == ISO_SQL_DONE && slot->whole < SUITE_LINES) {
        outcome = iso_database_receive(slot->connection, &message, &size);
        if (size && *message == 'w') {
            take_line(slot, message, size);
        } else if (size >= 1 + 2 * 8 + 1 && *message == 'k') {
            see(slot, number_of(message + 1));
            is_asked |= message[1 + 2 * 8];
        }
    }
    if (outcome == ISO_SQL_DONE && (is_asked || slot->place < goal))
        outcome = tell_place(slot, slot->place < goal);
    return outcome == ISO_SQL_DONE
               ? ISO_OK
               : iso_error_set(error, ISO_FAILED, "the database's changes ended: %s",
                               iso_database_message(slot->connection));
}

void suite_slot_drop(struct suite_slot *slot)
{
    if (!slot->whole)
        return;
    uint32_t left = slot->count - slot->whole;
    size_t from = left ? slot->lines[slot->whole].at : slot->bytes.used;
    memmove(slot->bytes.bytes, slot->bytes.bytes + from, slot->bytes.used - from);
    memmove(slot->lines, slot->lines + slot->whole, left * sizeof *slot->lines);
    for (uint32_t i = 0; i < left; i++)
        slot->lines[i].at -= from;
    slot->bytes.used -= from;
    slot->count = left;
    slot->whole = 0;
}
