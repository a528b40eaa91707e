/* dbcop's bincode: little-endian counts, then events of 18 bytes. A directory stands for its
 * `history.bincode`.
 *
 * Every key starts at 0. Events of an aborted transaction stay in it; a failed write inside a
 * committed one moves to an aborted transaction of its own ("12.failed"), so that a read of its
 * value is a read of something never committed. Failed reads say nothing and are dropped.
 */
#include <stdio.h>

#include "formats/format_private.h"

enum { EVENT_BYTES = 18, HEADER_NUMBERS = 5, TEXTS = 3 };

struct cursor {
    const char *path;
    const unsigned char *at, *start, *end;
    struct iso_history *history;
    struct iso_error *error;
};

static enum iso_status fail(struct cursor *cursor, const char *what)
{
    return iso_error_set(cursor->error, ISO_BAD_INPUT, "%s: byte %zu: %s", cursor->path,
                         (size_t)(cursor->at - cursor->start), what);
}

static uint64_t load(const unsigned char *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

/* A count of things that take at least `unit` bytes each. */
static enum iso_status take_count(struct cursor *cursor, size_t unit, const char *what,
                                  uint64_t *count)
{
    size_t left = (size_t)(cursor->end - cursor->at);
    *count = 0;
    if (left < sizeof *count)
        return fail(cursor, what);
    *count = load(cursor->at);
    if (*count > (left - sizeof *count) / unit)
        return fail(cursor, what);
    cursor->at += sizeof *count;
    return ISO_OK;
}

static enum iso_status skip_header(struct cursor *cursor)
{
    if ((size_t)(cursor->end - cursor->at) < HEADER_NUMBERS * sizeof(uint64_t))
        return fail(cursor, "the file ends in the header; expected five numbers of 8 bytes");
    cursor->at += HEADER_NUMBERS * sizeof(uint64_t);
    for (int i = 0; i < TEXTS; i++) {
        uint64_t length;
        enum iso_status status =
            take_count(cursor, 1, "expected the length of a text that fits into the file", &length);
        if (status != ISO_OK)
            return status;
        cursor->at += length;
    }
    return ISO_OK;
}

static void add_event(struct iso_history *history, const unsigned char *event)
{
    iso_atom key = iso_atoms_unsigned(&history->atoms, load(event + 1));
    iso_atom value = iso_atoms_unsigned(&history->atoms, load(event + 9));
    iso_history_operation(history, event[0] ? ISO_WRITE : ISO_READ, key, value);
}

/* The failed writes of a committed transaction, as an aborted one. */
static void add_failed(struct iso_history *history, const unsigned char *events, uint64_t count,
                       uint32_t session, uint64_t origin)
{
    char tid[40];
    int length = snprintf(tid, sizeof tid, "%u.failed", history->txns.count);
    bool begun = false;
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *event = events + i * EVENT_BYTES;
        if (!event[0] || event[17])
            continue;
        if (!begun)
            iso_history_begin(history, iso_atoms_add_string(&history->atoms, tid, (size_t)length),
                              session, ISO_ABORTED, origin);
        begun = true;
        add_event(history, event);
    }
}

static enum iso_status check_events(struct cursor *cursor, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++, cursor->at += EVENT_BYTES) {
        if (cursor->at[0] > 1 || cursor->at[17] > 1)
            return fail(cursor, "expected an event, whose first and last bytes are 0 or 1");
    }
    return ISO_OK;
}

static enum iso_status read_transaction(struct cursor *cursor, uint32_t session)
{
    struct iso_history *history = cursor->history;
    uint64_t count, origin = iso_origin(0, (uint64_t)(cursor->at - cursor->start));
    enum iso_status status = take_count(
        cursor, EVENT_BYTES, "expected a number of events that fits into the file", &count);
    if (status != ISO_OK)
        return status;
    const unsigned char *events = cursor->at;
    status = check_events(cursor, count);
    if (status != ISO_OK)
        return status;
    if (cursor->at == cursor->end || *cursor->at > 1)
        return fail(cursor, "expected a transaction's status, 0 or 1");
    bool committed = *cursor->at++;
    iso_history_begin(history, history->txns.count, session,
                      committed ? ISO_COMMITTED : ISO_ABORTED, origin);
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *event = events + i * EVENT_BYTES;
        if (committed ? event[17] : event[0])
            add_event(history, event);
    }
    if (committed)
        add_failed(history, events, count, session, origin);
    return ISO_OK;
}

static enum iso_status read_sessions(struct cursor *cursor)
{
    uint64_t sessions, transactions;
    enum iso_status status =
        take_count(cursor, 8, "expected a number of sessions that fits into the file", &sessions);
    for (uint64_t s = 0; status == ISO_OK && s < sessions; s++) {
        status = take_count(cursor, 9, "expected a number of transactions that fits into the file",
                            &transactions);
        for (uint64_t t = 0; status == ISO_OK && t < transactions; t++)
            status = read_transaction(cursor, (uint32_t)s);
    }
    if (status == ISO_OK && cursor->at != cursor->end)
        status = fail(cursor, "expected the end of the file after the last session");
    return status;
}

enum iso_status format_dbcop_read(const char *path, struct iso_history *history,
                                  struct iso_error *error)
{
    char inner[4096];
    bool is_directory;
    if (iso_path_look(path, &is_directory, error) != ISO_OK)
        return error->status;
    if (is_directory) {
        snprintf(inner, sizeof inner, "%s/history.bincode", path);
        path = inner;
    }
    struct iso_whole_file file;
    enum iso_status status = iso_whole_file_read(&file, path, error);
    if (status != ISO_OK)
        return status;
    const unsigned char *bytes = (const unsigned char *)file.bytes;
    struct cursor cursor = {path, bytes, bytes, bytes + file.length, history, error};
    iso_history_input(history, path);
    history->initial.other_value = 0;
    status = skip_header(&cursor);
    if (status == ISO_OK)
        status = read_sessions(&cursor);
    iso_whole_file_release(&file);
    return status;
}
