/* Formats that are directories with a log a session: Cobra's records and Viper's JSON lines. The
 * readers say what they mean.
 *
 * Cobra's reads name the write that they saw. Where every value of a key is written once, writes
 * have ids, and a read of what nobody wrote names one that is not logged. Else the logs are
 * *universal*: reads and writes match by key and value alone. The value that a key starts with is
 * null there, and writing it is a delete.
 *
 * Viper's initial values stand in a log of their own, as 0; so they may be written again. An
 * aborted transaction is one whose writes all failed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number_map.h"
#include "bytes/output_directory.h"
#include "formats/plain.h"
#include "formats/write_history_private.h"

struct logs {
    struct plain plain;
    struct iso_output output; /* the log at hand */
    bool rename_tids;         /* Cobra: beyond what `plain` renames */
    bool universal;
    uint32_t *write_of; /* Cobra with ids, by operation: the write of its key and value, ISO_NONE:
                           nobody's */
    bool *deleted;      /* Cobra, by key: somebody writes its initial value */
};

/* ---- Cobra ---- */

#define INITIAL 0xdeadbeefu
#define DELETED 0xabcdefabu
#define UNIVERSAL 0xabddefeeu

/* Ids that Cobra's logs reserve: a read or write may not have them. */
static bool is_special(uint64_t id)
{
    return id == INITIAL || id == 0xbebeebee || id == DELETED || id == UNIVERSAL ||
           id == 0x23332333 || id == 0x66666666;
}

/* Ids of writes, and of those that nobody logged: beyond all special ones. */
static uint64_t write_id(uint32_t operation)
{
    return ((uint64_t)1 << 32) + operation;
}

static uint64_t unlogged_id(uint64_t value)
{
    return (uint64_t)1 << 63 | value;
}

static uint64_t cobra_tid(const struct logs *logs, uint32_t transaction)
{
    return logs->rename_tids ? transaction + 1u : plain_tid(&logs->plain, transaction);
}

static void put_number(struct iso_output *output, uint64_t number)
{
    uint64_t swapped = __builtin_bswap64(number);
    iso_output_bytes(output, (const char *)&swapped, sizeof swapped);
}

static void cobra_write(struct logs *logs, uint32_t operation)
{
    uint64_t value;
    bool own = plain_value(&logs->plain, operation, &value);
    iso_output_char(&logs->output, 'W');
    put_number(&logs->output, !own ? DELETED : logs->universal ? UNIVERSAL : write_id(operation));
    put_number(&logs->output, plain_key(&logs->plain, operation));
    put_number(&logs->output, value);
}

static void cobra_read(struct logs *logs, uint32_t operation)
{
    const struct iso_history *history = logs->plain.history;
    uint64_t value, writer, write;
    if (!plain_value(&logs->plain, operation, &value)) {
        writer = write = logs->deleted[history->ops.key[operation]] ? DELETED : INITIAL;
    } else if (logs->universal) {
        writer = write = UNIVERSAL;
    } else {
        uint32_t seen = logs->write_of[operation];
        write = seen == ISO_NONE ? unlogged_id(value) : write_id(seen);
        writer =
            seen == ISO_NONE ? unlogged_id(0) : cobra_tid(logs, iso_history_owner(history, seen));
    }
    iso_output_char(&logs->output, 'R');
    put_number(&logs->output, writer);
    put_number(&logs->output, write);
    put_number(&logs->output, plain_key(&logs->plain, operation));
    put_number(&logs->output, value);
}

static void cobra_transaction(struct logs *logs, uint32_t t)
{
    const struct iso_history *history = logs->plain.history;
    iso_output_char(&logs->output, 'S');
    put_number(&logs->output, cobra_tid(logs, t));
    ISO_EACH(o, history->txns.first_op, t) {
        if (iso_kind_writes(history->ops.kind[o]))
            cobra_write(logs, o);
        else if (plain_says(&logs->plain, t, o))
            cobra_read(logs, o);
    }
    iso_output_char(&logs->output, 'C');
    put_number(&logs->output, cobra_tid(logs, t));
}

/* By operation, the first write of its key and value in a transaction that is logged; true: there
 * is never a second. */
static bool find_writes(struct logs *logs)
{
    const struct iso_history *history = logs->plain.history;
    struct iso_number_map writes = {0};
    bool unique = true;
    for (int reads = 0; reads < 2; reads++) {
        for (uint32_t p = 0; p < logs->plain.position_count; p++) {
            uint32_t t = logs->plain.positions[p].transaction;
            ISO_EACH(o, history->txns.first_op, t) {
                uint64_t value;
                if (iso_kind_writes(history->ops.kind[o]) == reads ||
                    !plain_value(&logs->plain, o, &value))
                    continue;
                uint64_t pair = iso_number_pair(history->ops.key[o], history->ops.value[o]);
                unique &= reads || iso_number_map_put(&writes, pair, o) == ISO_NUMBER_NONE;
                logs->write_of[o] = iso_number_map_get(&writes, pair);
            }
        }
    }
    iso_number_map_release(&writes);
    return unique;
}

static void cobra_prepare(struct logs *logs)
{
    const struct iso_history *history = logs->plain.history;
    for (uint32_t p = 0; p < logs->plain.position_count; p++) {
        uint32_t t = logs->plain.positions[p].transaction;
        logs->rename_tids |= is_special(plain_tid(&logs->plain, t));
        ISO_EACH(o, history->txns.first_op, t) {
            uint64_t value;
            if (iso_kind_writes(history->ops.kind[o]) && !plain_value(&logs->plain, o, &value))
                logs->deleted[history->ops.key[o]] = true;
        }
    }
    logs->universal = !find_writes(logs);
}

/* ---- Viper ---- */

static void viper_transaction(struct logs *logs, uint32_t t)
{
    const struct iso_history *history = logs->plain.history;
    bool aborted = iso_status_of(history, t) == ISO_ABORTED, first = true;
    iso_output_text(&logs->output, "{\"value\": [");
    ISO_EACH(o, history->txns.first_op, t) {
        bool write = iso_kind_writes(history->ops.kind[o]);
        uint64_t value;
        if (!plain_says(&logs->plain, t, o))
            continue;
        plain_value(&logs->plain, o, &value);
        iso_output_format(&logs->output, "%s[\"%c\", %" PRIu64 ", %" PRIu64 ", %s]",
                          first ? "" : ", ", write ? 'w' : 'r', plain_key(&logs->plain, o), value,
                          write && !aborted ? "true" : "false");
        first = false;
    }
    iso_output_text(&logs->output, "]}\n");
}

/* One operation of each key is enough to name it. */
static void viper_initial(struct logs *logs)
{
    const struct iso_history *history = logs->plain.history;
    bool *done = iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *done), first = true;
    iso_output_text(&logs->output, "{\"value\": [");
    for (uint32_t o = 0; o < history->ops.count; o++) {
        if (done[history->ops.key[o]])
            continue;
        done[history->ops.key[o]] = true;
        iso_output_format(&logs->output, "%s[\"w\", %" PRIu64 ", 0, true]", first ? "" : ", ",
                          plain_key(&logs->plain, o));
        first = false;
    }
    iso_output_text(&logs->output, "], \"isInitial\": true}\n");
    iso_free(done);
}

/* ---- both ---- */

static enum iso_status write_session(struct logs *logs, struct iso_output_directory *directory,
                                     enum iso_format format, uint32_t *position,
                                     struct iso_error *error)
{
    char name[32];
    uint32_t session = logs->plain.positions[*position].session;
    snprintf(name, sizeof name, "%c%" PRIu32 ".log", format == ISO_FORMAT_COBRA ? 'T' : 'J',
             session + 1);
    if (iso_output_open(&logs->output, iso_output_directory_file(directory, name), error) != ISO_OK)
        return error->status;
    for (; *position < logs->plain.position_count &&
           logs->plain.positions[*position].session == session;
         ++*position) {
        uint32_t t = logs->plain.positions[*position].transaction;
        format == ISO_FORMAT_COBRA ? cobra_transaction(logs, t) : viper_transaction(logs, t);
    }
    return iso_output_close(&logs->output, error);
}

static enum iso_status write_initial(struct logs *logs, struct iso_output_directory *directory,
                                     struct iso_error *error)
{
    if (iso_output_open(&logs->output, iso_output_directory_file(directory, "J0.log"), error) !=
        ISO_OK)
        return error->status;
    viper_initial(logs);
    return iso_output_close(&logs->output, error);
}

static enum iso_status write_all(struct logs *logs, const char *path, enum iso_format format,
                                 struct iso_error *error)
{
    struct iso_output_directory directory;
    uint32_t position = 0;
    enum iso_status status = iso_output_directory_open(&directory, path, error);
    if (status == ISO_OK && format == ISO_FORMAT_VIPER)
        status = write_initial(logs, &directory, error);
    while (status == ISO_OK && position < logs->plain.position_count)
        status = write_session(logs, &directory, format, &position, error);
    if (status == ISO_OK)
        return iso_output_directory_close(&directory, error);
    iso_output_directory_discard(&directory);
    return status;
}

enum iso_status iso_history_write_directory(const char *path, enum iso_format format,
                                            const struct iso_history *history,
                                            struct iso_history_loss *loss, struct iso_error *error)
{
    struct logs logs = {0};
    bool cobra = format == ISO_FORMAT_COBRA;
    unsigned abilities = PLAIN_REWRITES_INITIAL | (cobra ? 0 : PLAIN_ABORTED | PLAIN_SIGNED);
    *loss = (struct iso_history_loss){0};
    if (plain_check_known(history, format, error) != ISO_OK)
        return error->status;
    enum iso_status status = plain_init(&logs.plain, history, format, abilities, loss, error);
    logs.write_of = iso_allocate(((size_t)history->ops.count + 1) * sizeof *logs.write_of);
    logs.deleted = iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *logs.deleted);
    if (status == ISO_OK && cobra)
        cobra_prepare(&logs);
    if (status == ISO_OK)
        status = write_all(&logs, path, format, error);
    loss->tids =
        !cobra || logs.rename_tids || logs.plain.rename_tids ? logs.plain.position_count : 0;
    ISO_FREE_ALL(logs.write_of, logs.deleted);
    plain_release(&logs.plain);
    return status;
}
