#define _GNU_SOURCE
#include "suite/base.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "suite/heirs.h"

enum { END_MS = 30000, CHANGES_MS = 20, PAUSE_SHARE = 9, NUDGE_MS = 200 };

static char *copy(const char *text)
{
    return iso_copy_text(text, strlen(text));
}

/* ---- from the beginning ---- */

static enum iso_status put_initial(struct suite_base *base, struct iso_error *error)
{
    char sql[160];
    snprintf(sql, sizeof sql, "SET TRANSACTION SNAPSHOT '%s'", base->slot.snapshot);
    if (suite_ask(base->beside, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", error) !=
            ISO_OK ||
        suite_ask(base->beside, sql, error) != ISO_OK ||
        suite_tables_read(&base->changes.tables, base->beside, true, error) != ISO_OK)
        return error->status;
    for (uint32_t i = 0; i < base->changes.tables.count && error->status == ISO_OK; i++)
        if (suite_table_is_judged(&base->changes.tables.list[i]))
            suite_changes_put_initial(&base->changes, base->beside, &base->changes.tables.list[i],
                                      base->slot.start, error);
    /* its locks would be in the way of whoever alters a table */
    return error->status == ISO_OK && suite_ask(base->beside, "COMMIT", error) == ISO_OK
               ? suite_slot_start(&base->slot, error)
               : error->status;
}

static enum iso_status find_name(struct suite_base *base, struct iso_error *error)
{
    const char *name = iso_database_ask(base->beside, "SELECT current_database()");
    if (!name)
        return iso_error_set(error, ISO_FAILED, "the database does not say its name");
    base->facts.name = base->facts.name ? base->facts.name : copy(name);
    return ISO_OK;
}

/* Tables and their rows; of records alone, tables. */
static enum iso_status begin(struct suite_base *base, struct iso_error *error)
{
    if (find_name(base, error) != ISO_OK)
        return error->status;
    return base->facts.is_alone
               ? suite_tables_read(&base->changes.tables, base->beside, true, error)
               : put_initial(base, error);
}

enum iso_status suite_base_open(struct suite_base *base, const char *url, const char *path,
                                bool streams, struct iso_error *error)
{
    base->changes.capture = &base->capture;
    base->is_open = true;
    base->facts.path = copy(path);
    base->facts.is_alone = !streams;
    if (streams && suite_slot_open(&base->slot, url, error) != ISO_OK)
        return error->status;
    base->capture.writer = iso_capture_writer_new(path, error);
    base->beside = base->capture.writer ? suite_connect(url, false, error) : NULL;
    if (base->beside && begin(base, error) == ISO_OK)
        base->facts.covered = (uint64_t)iso_clock_nanoseconds();
    return error->status;
}

/* ---- meanwhile ---- */

/* Commits that no record tells of are known by snapshots. */
static enum iso_status take_snapshot(struct suite_base *base, struct iso_error *error)
{
    return suite_snapshots_ask(&base->changes.tables.snapshots, base->beside, error);
}

enum iso_status suite_base_look(struct suite_base *base, struct iso_error *error)
{
    return suite_tables_read(&base->changes.tables, base->beside, false, error);
}

/* Planning takes longer than reading. */
static bool prepare(struct suite_base *base, const char *query)
{
    struct iso_text sql = {0};
    iso_text_format(&sql, "PREPARE isochron_asked AS %s", query);
    *iso_text_reserve(&sql, 1) = 0;
    base->is_prepared |= iso_database_execute(base->beside, sql.bytes) == ISO_SQL_DONE;
    iso_text_release(&sql);
    return base->is_prepared;
}

bool suite_base_ask(struct suite_base *base, const char *query,
                    void (*take)(void *context, const char *const *row), void *context)
{
    if ((!base->is_prepared && !prepare(base, query)) ||
        iso_database_execute(base->beside, "EXECUTE isochron_asked") != ISO_SQL_DONE)
        return false;
    uint32_t columns = iso_database_columns(base->beside);
    const char **row = iso_allocate_zeroed(columns + 1, sizeof *row);
    for (uint32_t i = 0; i < iso_database_rows(base->beside); i++) {
        for (uint32_t j = 0; j < columns; j++) {
            const char *value = iso_database_value(base->beside, i, j);
            row[j] = value ? value : "";
        }
        take(context, row);
    }
    iso_free(row);
    return true;
}

/* Records of before the last reading, once each table of it has begun in the stream. */
static enum iso_status put_records(struct suite_base *base, struct iso_error *error)
{
    struct iso_text *waiting = &base->waiting;
    size_t at = 0, end;
    iso_text_reserve(waiting, ISO_JSON_PADDING);
    for (; at < base->goal.waiting && error->status == ISO_OK; at = end + 1) {
        const char *line = waiting->bytes + at;
        end = at + (size_t)((char *)memchr(line, '\n', waiting->used - at) - line);
        suite_records_take(&base->records, &base->changes.tables, line, end - at, &base->line);
        suite_capture_put(&base->capture, SUITE_RECORDS, NULL, 0, base->line.bytes, base->line.used,
                          error);
    }
    memmove(waiting->bytes, waiting->bytes + at, waiting->used - at);
    waiting->used -= at;
    return error->status;
}

/* A transaction stands in the log before others see it. */
static bool sees_all(const struct suite_base *base)
{
    const struct suite_snapshots *snapshots = &base->changes.tables.snapshots;
    const struct suite_slot *slot = &base->slot;
    for (uint32_t i = 0; i < slot->whole; i++) {
        const char *line = slot->bytes.bytes + slot->lines[i].at;
        if (!strncmp(line, "BEGIN ", 6) &&
            !suite_snapshots_see(snapshots, snapshots->count,
                                 (uint32_t)strtoul(line + 6, NULL, 10)))
            return false;
    }
    return true;
}

/* The catalog behind these changes. */
static enum iso_status look_behind(struct suite_base *base, struct iso_error *error)
{
    for (int i = 0; i < END_MS; i++) {
        if (take_snapshot(base, error) != ISO_OK || sees_all(base))
            return error->status == ISO_OK ? suite_base_look(base, error) : error->status;
        poll(NULL, 0, 1);
    }
    return iso_error_set(error, ISO_FAILED, "a transaction's end is not visible for %d s",
                         END_MS / 1000);
}

static enum iso_status put_changes(struct suite_base *base, struct iso_error *error)
{
    const struct suite_slot *slot = &base->slot;
    if (look_behind(base, error) != ISO_OK)
        return error->status;
    for (uint32_t i = 0; i < slot->whole && error->status == ISO_OK; i++)
        suite_changes_take(&base->changes, slot->lines[i].place,
                           slot->bytes.bytes + slot->lines[i].at, error);
    suite_slot_drop(&base->slot);
    return error->status;
}

/* The end of what is safe may lie within something long, which the server does not read before all
 * of it is: a transaction of its own makes it so. A table begins with a transaction, too. */
static enum iso_status nudge(struct suite_base *base, struct iso_error *error)
{
    base->goal.since = iso_clock_ms();
    return suite_ask(base->beside, "SELECT pg_logical_emit_message(true, 'isochron', 'begun')",
                     error);
}

/* The catalog, and then the records of before. */
static enum iso_status take_alone(struct suite_base *base, struct iso_error *error)
{
    base->goal.waiting = base->waiting.used;
    base->facts.covered = base->changes.tables.snapshots.asked;
    return base->goal.waiting && suite_base_look(base, error) == ISO_OK ? put_records(base, error)
                                                                        : error->status;
}

/* A batch of changes, with what the catalog says behind it, and then the records of before. */
static enum iso_status take_changes(struct suite_base *base, struct iso_error *error)
{
    struct suite_goal *goal = &base->goal;
    const struct suite_snapshots *snapshots = &base->changes.tables.snapshots;
    if (base->facts.is_alone)
        return take_alone(base, error);
    if (!goal->is_set)
        *goal = (struct suite_goal){true, snapshots->flushed, snapshots->asked, base->waiting.used,
                                    iso_clock_ms()};
    if (suite_slot_receive(&base->slot, goal->place, error) != ISO_OK)
        return error->status;
    bool is_there = base->slot.place >= goal->place;
    if (is_there)
        base->facts.covered = goal->asked;
    if ((base->slot.whole || (is_there && goal->waiting)) && put_changes(base, error) != ISO_OK)
        return error->status;
    bool is_stuck = !is_there || base->changes.tables.beginning;
    if (is_stuck && iso_clock_ms() - goal->since > (is_there ? CHANGES_MS : NUDGE_MS))
        return nudge(base, error);
    if (is_stuck)
        return ISO_OK;
    goal->is_set = false;
    return put_records(base, error);
}

/* What is looked at costs the server something: it is left alone for several times as long. */
enum iso_status suite_base_follow(struct suite_base *base, struct iso_error *error)
{
    int64_t begun = iso_clock_ms();
    if (take_snapshot(base, error) == ISO_OK && begun >= base->next &&
        take_changes(base, error) == ISO_OK && !base->goal.is_set)
        base->next = begun + CHANGES_MS + (iso_clock_ms() - begun) * PAUSE_SHARE;
    return error->status;
}

void suite_base_take_record(struct suite_base *base, const char *line, size_t length)
{
    iso_text_put_bytes(&base->waiting, line, length);
    iso_text_put(&base->waiting, "\n");
}

/* ---- to the end ---- */

/* A transaction of its own behind all others. */
static enum iso_status read_to_the_end(struct suite_base *base, struct iso_error *error)
{
    base->changes.ended = false;
    base->goal.is_set = false;
    if (base->facts.is_alone)
        return take_snapshot(base, error) == ISO_OK ? take_alone(base, error) : error->status;
    if (suite_ask(base->beside, "SELECT pg_logical_emit_message(true, 'isochron run', 'end')",
                  error) != ISO_OK)
        return error->status;
    for (int64_t until = iso_clock_ms() + END_MS; iso_clock_ms() < until; poll(NULL, 0, 1)) {
        if (take_snapshot(base, error) != ISO_OK || take_changes(base, error) != ISO_OK)
            return error->status;
        if (base->changes.ended && !base->goal.is_set && !base->waiting.used)
            return ISO_OK;
    }
    return iso_error_set(error, ISO_FAILED, "the end of the changes did not come in %d s",
                         END_MS / 1000);
}

/* Who wrote only UNLOGGED tables, or asked for an xid, has one and no changes. */
static void put_empty(struct suite_base *base, struct iso_error *error)
{
    for (uint32_t i = 0;
         !base->facts.is_alone && i < base->records.xid_count && error->status == ISO_OK; i++)
        suite_changes_put_empty(&base->changes, base->records.xids[i], error);
}

static void put_snapshots(struct suite_base *base, struct iso_error *error)
{
    const struct suite_snapshots *snapshots = &base->changes.tables.snapshots;
    for (uint32_t i = 0; i < snapshots->count && error->status == ISO_OK; i++) {
        base->line.used = 0;
        suite_snapshots_put(snapshots, i, &base->line);
        suite_capture_put(&base->capture, SUITE_SNAPSHOTS, NULL, 0, base->line.bytes,
                          base->line.used, error);
    }
}

/* Of the newest table of a name, with those that had it before. */
static uint64_t left_out_of(const struct suite_tables *tables, uint32_t table)
{
    const char *name = tables->list[table].name;
    uint64_t reads = 0;
    if (iso_number_map_get(&tables->by_name, iso_hash_text(name, strlen(name))) != table)
        return 0;
    for (; table != ISO_NUMBER_NONE; table = tables->list[table].of_name)
        reads += tables->list[table].left_out;
    return reads;
}

static void list_left_out(struct suite_base *base)
{
    const struct suite_tables *tables = &base->changes.tables;
    base->facts.unjudged = base->records.left_out;
    for (uint32_t i = 0; i < tables->count; i++) {
        uint64_t reads = left_out_of(tables, i);
        if (reads)
            ISO_APPEND(base->facts.unjudged_of,
                       ((struct suite_unjudged){copy(tables->list[i].name), reads}));
    }
}

static void list_tables(struct suite_base *base)
{
    const struct suite_tables *tables = &base->changes.tables;
    struct iso_text list = {0};
    for (uint32_t i = 0; i < tables->count; i++)
        if (suite_table_is_judged(&tables->list[i]))
            iso_text_format(&list, "%s%s", list.used ? ";" : "", tables->list[i].identity);
    *iso_text_reserve(&list, 1) = 0;
    base->facts.tables = list.bytes;
}

enum iso_status suite_base_close(struct suite_base *base, struct iso_error *error)
{
    struct iso_error closing = {.status = ISO_OK};
    if (!base->is_open)
        return ISO_OK;
    base->is_open = false;
    if (base->facts.covered && error->status == ISO_OK)
        read_to_the_end(base, error);
    put_empty(base, error);
    if (base->capture.writer)
        put_snapshots(base, &closing);
    for (size_t i = 0; i < base->waiting.used; i++)
        base->facts.late += base->waiting.bytes[i] == '\n';
    if (base->facts.covered)
        list_tables(base);
    list_left_out(base);
    iso_database_close(base->beside);
    base->beside = NULL;
    suite_slot_close(&base->slot);
    if (base->capture.writer)
        iso_capture_writer_close(base->capture.writer, &closing);
    if (base->capture.writer && closing.status == ISO_OK && base->changes.has_heirs)
        suite_heirs_write(&base->changes, base->facts.path, &closing);
    base->capture.writer = NULL;
    if (error->status == ISO_OK && closing.status != ISO_OK)
        *error = closing;
    return error->status;
}

void suite_base_release(struct suite_base *base)
{
    suite_changes_release(&base->changes);
    suite_records_release(&base->records);
    iso_text_release(&base->waiting);
    iso_text_release(&base->line);
}
