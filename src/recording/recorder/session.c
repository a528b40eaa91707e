/* A session's record: operations are appended to its text as they come, the rest is put around them
 * at the end. */
#define _GNU_SOURCE
#include "recorder/session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static void clear_text(struct recorder_text *text)
{
    text->used = 0;
    text->failed = false;
}

static bool is_counted(const struct iso_recorder_session *session)
{
    return *session->recorder->id && session->recorder->sink->tells_sessions;
}

/* How many records there have been, in front of the first one that is written, and at the end;
 * false: that could not be said. */
static bool tell(const struct iso_recorder_session *session, bool has_ended)
{
    const struct iso_recorder *recorder = session->recorder;
    struct recorder_text text = {0};
    recorder_put(&text, "{\"session\":");
    recorder_put_string(&text, session->sid);
    recorder_put(&text, ",\"records\":");
    recorder_put_number(&text, has_ended ? session->sno - session->skipped : 0);
    if (!has_ended) {
        recorder_put(&text, ",\"recorder\":");
        recorder_put_string(&text, recorder->id);
    }
    recorder_put(&text, has_ended ? ",\"ended\":true}\n" : "}\n");
    bool is_told = !text.failed &&
                   recorder->sink->tell(recorder->context, session->sid, text.bytes, text.used);
    free(text.bytes);
    return is_told;
}

/* Its records are known to be missing if they do not come. */
static bool is_announced(struct iso_recorder_session *session)
{
    session->is_told = session->is_told || !is_counted(session) ||
                       (recorder_begin(session->recorder) && tell(session, false));
    return session->is_told;
}

struct iso_recorder_session *iso_recorder_session_new(struct iso_recorder *recorder,
                                                      const char *sid)
{
    struct iso_recorder_session *session = recorder ? calloc(1, sizeof *session) : NULL;
    if (!session)
        return NULL;
    session->recorder = recorder;
    recorder_floors_add(&recorder->floors, &session->floor);
    size_t limit = recorder->record_bytes;
    session->head.limit = session->record.limit = session->statement.limit = limit;
    session->snapshot.limit = session->xid.limit = limit;
    session->test.limit = session->sql.limit = limit;
    session->sid = strdup(sid);
    recorder_put(&session->head, "{\"sid\":");
    recorder_put_string(&session->head, sid);
    recorder_put(&session->head, ",\"tid\":");
    session->tid_first = session->head.used;
    recorder_put_string(&session->head, sid);
    if (session->sid && !session->head.failed) {
        session->head.used--; /* the tid goes on */
        return session;
    }
    iso_recorder_session_free(session);
    return NULL;
}

void iso_recorder_session_free(struct iso_recorder_session *session)
{
    if (!session)
        return;
    if (session->sno > session->skipped && session->is_told && is_counted(session))
        tell(session, true);
    recorder_floors_remove(&session->recorder->floors, &session->floor);
    free(session->head.bytes);
    free(session->record.bytes);
    free(session->statement.bytes);
    free(session->snapshot.bytes);
    free(session->xid.bytes);
    free(session->test.bytes);
    free(session->sql.bytes);
    free(session->held.bytes);
    free(session->bare.bytes);
    free(session->sid);
    free(session);
}

void iso_recorder_begin(struct iso_recorder_session *session)
{
    if (!session)
        return;
    clear_text(&session->record);
    clear_text(&session->statement);
    clear_text(&session->snapshot);
    clear_text(&session->xid);
    clear_text(&session->test);
    clear_text(&session->sql);
    session->has_sts = session->has_cts = session->writes_from_stream = session->given = false;
    session->lists_writes = false;
    session->sent = session->answered = 0;
    session->level = NULL;
    session->query = (struct recorder_query){0};
    session->open = true;
    if (!session->held.used)
        atomic_store(&session->floor.xmin, atomic_load(&session->recorder->floors.newest));
    recorder_put_bytes(&session->record, session->head.bytes, session->head.used);
    recorder_put(&session->record, ".");
    recorder_put_number(&session->record, session->sno);
    recorder_put(&session->record, "\"");
    session->tid_length = session->record.used - session->tid_first;
    recorder_put(&session->record, ",\"sno\":");
    recorder_put_number(&session->record, session->sno);
    recorder_put(&session->record, ",\"ops\":[");
    session->operations = session->record.used;
}

void iso_recorder_tid(struct iso_recorder_session *session, const char *tid)
{
    if (!session || !session->open || !tid)
        return;
    struct recorder_text *record = &session->record, name = {.limit = record->limit};
    size_t first = session->tid_first, length = session->tid_length,
           behind = record->used - first - length;
    recorder_put_string(&name, tid);
    if (name.used > length)
        recorder_put_bytes(record, name.bytes, name.used - length); /* room */
    record->failed |= name.failed;
    if (!record->failed) {
        memmove(record->bytes + first + name.used, record->bytes + first + length, behind);
        memcpy(record->bytes + first, name.bytes, name.used);
        record->used = first + name.used + behind;
        session->operations += name.used - length;
        session->query.first += session->query.first ? name.used - length : 0;
        session->tid_length = name.used;
    }
    free(name.bytes);
}

void iso_recorder_start_timestamp(struct iso_recorder_session *session, uint64_t sts)
{
    if (!session)
        return;
    session->sts = sts;
    session->has_sts = true;
}

void iso_recorder_commit_timestamp(struct iso_recorder_session *session, uint64_t cts)
{
    if (!session)
        return;
    session->cts = cts;
    session->has_cts = true;
}

void iso_recorder_level(struct iso_recorder_session *session, const char *level)
{
    if (session)
        session->level = level;
}

void iso_recorder_commit_during(struct iso_recorder_session *session, uint64_t sent,
                                uint64_t answered)
{
    if (!session)
        return;
    session->sent = sent;
    session->answered = answered;
}

void iso_recorder_writes_from_stream(struct iso_recorder_session *session)
{
    if (session)
        session->writes_from_stream = true;
}

static void keep_text(struct recorder_text *text, const char *string)
{
    clear_text(text);
    if (string && *string)
        recorder_put_string(text, string);
}

/* What people are told is left out where it is no UTF-8: the record stays. */
static void keep_remark(struct recorder_text *text, const char *string)
{
    keep_text(text, string);
    if (text->failed)
        clear_text(text);
}

void iso_recorder_test(struct iso_recorder_session *session, const char *test)
{
    if (session)
        keep_remark(&session->test, test);
}

void iso_recorder_statement_text(struct iso_recorder_session *session, const char *sql)
{
    if (session)
        keep_remark(&session->sql, sql);
}

void iso_recorder_xid(struct iso_recorder_session *session, const char *xid)
{
    if (session)
        keep_text(&session->xid, xid);
}

void iso_recorder_snapshot(struct iso_recorder_session *session, const char *snapshot)
{
    if (!session)
        return;
    keep_text(&session->snapshot, snapshot);
    if (snapshot && session->open)
        recorder_floors_saw(&session->recorder->floors, snapshot,
                            session->held.used ? NULL : &session->floor);
}

void iso_recorder_statement(struct iso_recorder_session *session)
{
    if (session)
        clear_text(&session->statement);
}

void iso_recorder_statement_snapshot(struct iso_recorder_session *session, const char *snapshot)
{
    if (!session)
        return;
    clear_text(&session->statement);
    recorder_put(&session->statement, ",\"snapshot\":");
    recorder_put_string(&session->statement, snapshot);
    recorder_floors_saw(&session->recorder->floors, snapshot, NULL);
}

void iso_recorder_statement_timestamp(struct iso_recorder_session *session, uint64_t ots)
{
    if (!session)
        return;
    clear_text(&session->statement);
    recorder_put(&session->statement, ",\"ots\":\"");
    recorder_put_number(&session->statement, ots);
    recorder_put(&session->statement, "\"");
}

static void put_during(struct recorder_text *text, uint64_t sent, uint64_t answered)
{
    recorder_put(text, ",\"sent\":");
    recorder_put_number(text, sent);
    recorder_put(text, ",\"answered\":");
    recorder_put_number(text, answered);
}

void iso_recorder_statement_during(struct iso_recorder_session *session, uint64_t sent,
                                   uint64_t answered, bool own)
{
    if (!session)
        return;
    clear_text(&session->statement);
    put_during(&session->statement, sent, answered);
    recorder_put(&session->statement, own ? ",\"own\":true" : "");
}

void iso_recorder_statement_lock(struct iso_recorder_session *session)
{
    if (!session)
        return;
    clear_text(&session->statement);
    recorder_put(&session->statement, ",\"lock\":true");
}

void recorder_put_value(struct recorder_text *text, const char *value)
{
    if (!value)
        recorder_put(text, "null");
    else if (*value == '\x02') /* reserved: readers would refuse the record */
        text->failed = true;
    else
        recorder_put_string(text, value);
}

void recorder_drop_query(struct iso_recorder_session *session)
{
    if (session->query.first) {
        session->record.used = session->query.first;
        session->record.failed = session->query.had_failed;
    }
    session->query = (struct recorder_query){0};
}

struct recorder_text *recorder_start(struct iso_recorder_session *session, char type,
                                     const char *member, const char *name)
{
    if (!session || !session->open)
        return NULL;
    recorder_drop_query(session);
    session->lists_writes |= type != 'r' && type != 'q';
    struct recorder_text *record = &session->record;
    bool first = record->used && record->bytes[record->used - 1] == '[';
    char start[] = ",{\"t\":\"?\",\"";
    start[7] = type;
    recorder_put(record, first ? start + 1 : start);
    recorder_put(record, member);
    recorder_put(record, "\":");
    recorder_put_string(record, name);
    return record;
}

static void put_member(struct recorder_text *record, const char *name,
                       const struct recorder_text *value)
{
    if (value->failed)
        record->failed = true;
    if (value->used == 0)
        return;
    recorder_put(record, name);
    recorder_put_bytes(record, value->bytes, value->used);
}

void recorder_end_operation(struct iso_recorder_session *session)
{
    if (session->statement.failed)
        session->record.failed = true;
    recorder_put_bytes(&session->record, session->statement.bytes, session->statement.used);
    put_member(&session->record, ",\"sql\":", &session->sql);
    clear_text(&session->sql);
    recorder_put(&session->record, "}");
}

static void add_operation(struct iso_recorder_session *session, char type, const char *key,
                          const char *value)
{
    struct recorder_text *record = recorder_start(session, type, "k", key);
    if (!record)
        return;
    recorder_put(record, ",\"v\":");
    recorder_put_value(record, value);
    recorder_end_operation(session);
}

void iso_recorder_read(struct iso_recorder_session *session, const char *key, const char *value)
{
    add_operation(session, 'r', key, value);
}

void iso_recorder_write(struct iso_recorder_session *session, const char *key, const char *value)
{
    add_operation(session, 'w', key, value);
}

void iso_recorder_append(struct iso_recorder_session *session, const char *key, const char *element)
{
    add_operation(session, 'a', key, element);
}

void iso_recorder_delete(struct iso_recorder_session *session, const char *key)
{
    if (recorder_start(session, 'd', "k", key))
        recorder_end_operation(session);
}

void iso_recorder_read_list(struct iso_recorder_session *session, const char *key,
                            const char *const *elements, size_t count)
{
    struct recorder_text *record = recorder_start(session, 'r', "k", key);
    if (!record)
        return;
    recorder_put(record, ",\"v\":[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            recorder_put(record, ",");
        recorder_put_value(record, elements[i]);
    }
    recorder_put(record, "]");
    recorder_end_operation(session);
}

/* Where the operations end that are whole. */
static size_t end_of_operations(const struct iso_recorder_session *session)
{
    return (session->query.first ? session->query.first : session->record.used) -
           session->operations;
}

size_t iso_recorder_mark(const struct iso_recorder_session *session)
{
    return session && session->open ? end_of_operations(session) : 0;
}

void iso_recorder_rollback_to(struct iso_recorder_session *session, size_t mark)
{
    if (!session || !session->open)
        return;
    recorder_drop_query(session);
    assert(mark <= end_of_operations(session));
    session->record.used = session->operations + mark;
}

static void put_timestamp(struct recorder_text *record, const char *name, uint64_t timestamp)
{
    recorder_put(record, name);
    recorder_put_number(record, timestamp);
    recorder_put(record, "\"");
}

/* Writes the members behind the operations. */
static void finish_record(const struct iso_recorder_session *session, struct recorder_text *record,
                          bool from_stream, const char *status)
{
    recorder_put(record, "]");
    put_member(record, ",\"xid\":", &session->xid);
    put_member(record, ",\"snapshot\":", &session->snapshot);
    if (session->has_sts)
        put_timestamp(record, ",\"sts\":\"", session->sts);
    if (session->has_cts)
        put_timestamp(record, ",\"cts\":\"", session->cts);
    if (session->level) {
        recorder_put(record, ",\"level\":");
        recorder_put_string(record, session->level);
    }
    if (session->sent)
        put_during(record, session->sent, session->answered);
    if (from_stream)
        recorder_put(record, ",\"writes\":\"cdc\"");
    put_member(record, ",\"test\":", &session->test);
    recorder_put(record, ",\"status\":\"");
    recorder_put(record, status);
    recorder_put(record, "\"}");
}

const char *iso_recorder_in_band(struct iso_recorder_session *session)
{
    if (!session || !session->open)
        return NULL;
    recorder_drop_query(session);
    struct recorder_text *record = &session->record;
    size_t operations = record->used;
    finish_record(session, record, session->writes_from_stream, "committed");
    recorder_put_bytes(record, "", 1);
    record->used = operations;
    if (record->failed)
        return NULL;
    if (!session->given)
        recorder_count(session->recorder, RECORDER_TAKEN);
    session->given = true;
    return record->bytes;
}

/* Whether it may be said to have done nothing that it lists: a change stream knows what it wrote
 * by its xid, or nothing of it. */
static bool may_be_bare(const struct iso_recorder_session *session, const char *status)
{
    return session->xid.used || !session->lists_writes || !strcmp(status, "aborted");
}

/* A bare line of a transaction of which nothing is left to say: its number is the next one's. */
static const char nothing[] = "-\n";

static void put_bare(const struct iso_recorder_session *session, struct recorder_text *bare,
                     const char *status)
{
    if (!may_be_bare(session, status)) {
        recorder_put(bare, "\n");
    } else if (!session->xid.used && !session->snapshot.used) {
        recorder_put(bare, nothing);
    } else {
        recorder_put_bytes(bare, session->record.bytes, session->operations);
        finish_record(session, bare, session->xid.used, status);
        recorder_put(bare, "\n");
    }
}

static enum recorder_fate hold(struct iso_recorder_session *session, const char *status)
{
    struct recorder_text *record = &session->record, *held = &session->held, *bare = &session->bare;
    held->limit = session->recorder->record_bytes;
    bare->limit = 2 * held->limit;
    if (record->used > held->limit - held->used)
        return RECORDER_FULL;
    const size_t held_before = held->used, bare_before = bare->used;
    recorder_put_bytes(held, record->bytes, record->used);
    put_bare(session, bare, status);
    if (held->failed || bare->failed) { /* both keep the same records */
        held->used = held_before;
        bare->used = bare_before;
        held->failed = bare->failed = false;
        return RECORDER_REFUSED;
    }
    session->held_total++;
    return RECORDER_FATES;
}

static enum recorder_fate hand_over(struct iso_recorder_session *session, const char *status)
{
    struct iso_recorder *recorder = session->recorder;
    struct recorder_text *record = &session->record;
    finish_record(session, record, session->writes_from_stream, status);
    recorder_put(record, "\n");
    if (record->failed || record->used > recorder->record_bytes)
        return RECORDER_REFUSED;
    if (session->holds)
        return hold(session, status);
    return recorder->sink->take(recorder->context, session->sid, record->bytes, record->used);
}

/* One that waits has none yet. */
static void count_fate(struct iso_recorder_session *session, enum recorder_fate fate)
{
    ISO_LOG_TEXT(recorder, session->sid, strlen(session->sid), "record %llu: fate %d",
                 (unsigned long long)session->sno, fate);
    if (fate != RECORDER_FATES)
        recorder_count(session->recorder, fate);
}

static void end_transaction(struct iso_recorder_session *session, const char *status)
{
    if (!session || !session->open)
        return;
    recorder_drop_query(session);
    session->open = false;
    session->sno++;
    atomic_fetch_add(&session->recorder->ended, 1);
    if (session->recorder->sink)
        count_fate(session, is_announced(session) ? hand_over(session, status) : RECORDER_FULL);
    else if (session->record.failed)
        recorder_count(session->recorder, RECORDER_REFUSED);
    if (!session->held.used)
        atomic_store(&session->floor.xmin, UINT64_MAX);
}

void iso_recorder_hold(struct iso_recorder_session *session)
{
    if (session)
        session->holds = session->recorder->sink != NULL;
}

uint64_t iso_recorder_held(const struct iso_recorder_session *session)
{
    return session ? session->held_total : 0;
}

/* The length of the line that begins there, with its end. */
static size_t line_of(const struct recorder_text *lines, size_t at)
{
    const char *end = memchr(lines->bytes + at, '\n', lines->used - at);
    assert(end); /* held are whole lines only */
    return (size_t)(end - lines->bytes) + 1 - at;
}

static void cut_front(struct recorder_text *text, size_t size)
{
    text->used -= size;
    memmove(text->bytes, text->bytes + size, text->used);
}

/* The line with the number that its transaction has among those that are written, also in the tid
 * that the number made. */
static void put_renumbered(const struct iso_recorder_session *session, struct recorder_text *into,
                           const char *line, size_t length)
{
    static const char member[] = ",\"sno\":";
    const char *sno = memmem(line, length, member, sizeof member - 1);
    char *behind, name[32];
    assert(sno); /* in a string its quotes are escaped */
    uint64_t number = strtoull(sno + sizeof member - 1, &behind, 10);
    size_t size = (size_t)snprintf(name, sizeof name, ".%" PRIu64 "\"", number);
    bool names = (size_t)(sno - line) == session->head.used + size &&
                 !memcmp(line, session->head.bytes, session->head.used) &&
                 !memcmp(sno - size, name, size);
    assert(number >= session->skipped);
    recorder_put_bytes(into, line, (size_t)(sno - line) - (names ? size - 1 : 0));
    if (names) {
        recorder_put_number(into, number - session->skipped);
        recorder_put(into, "\"");
    }
    recorder_put(into, member);
    recorder_put_number(into, number - session->skipped);
    recorder_put_bytes(into, behind, length - (size_t)(behind - line));
}

static enum recorder_fate write_line(struct iso_recorder_session *session, const char *line,
                                     size_t length)
{
    struct iso_recorder *recorder = session->recorder;
    struct recorder_text renumbered = {0};
    if (length == 1)
        return RECORDER_REFUSED;
    if (!session->skipped)
        return recorder->sink->take(recorder->context, session->sid, line, length);
    put_renumbered(session, &renumbered, line, length);
    enum recorder_fate fate = renumbered.failed
                                  ? RECORDER_REFUSED
                                  : recorder->sink->take(recorder->context, session->sid,
                                                         renumbered.bytes, renumbered.used);
    free(renumbered.bytes);
    return fate;
}

void iso_recorder_let_go(struct iso_recorder_session *session, uint64_t until, bool right)
{
    if (!session)
        return;
    struct recorder_text *held = &session->held, *bare = &session->bare;
    size_t held_at = 0, bare_at = 0;
    for (; held_at < held->used && session->let_go_total < until; session->let_go_total++) {
        size_t whole = line_of(held, held_at), without = line_of(bare, bare_at);
        const char *line = right ? held->bytes + held_at : bare->bytes + bare_at;
        if (!right && *line == *nothing) {
            session->skipped++;
            atomic_fetch_sub(&session->recorder->ended, 1);
        } else {
            count_fate(session, write_line(session, line, right ? whole : without));
        }
        held_at += whole;
        bare_at += without;
    }
    if (held_at) {
        cut_front(held, held_at);
        cut_front(bare, bare_at);
    }
    if (!session->open && !held->used)
        atomic_store(&session->floor.xmin, UINT64_MAX);
}

void iso_recorder_drop(struct iso_recorder_session *session)
{
    if (!session || !session->open)
        return;
    session->record.failed = true;
    end_transaction(session, "unknown");
}

void iso_recorder_commit(struct iso_recorder_session *session)
{
    end_transaction(session, "committed");
}

void iso_recorder_abort(struct iso_recorder_session *session)
{
    end_transaction(session, "aborted");
}

void iso_recorder_unknown(struct iso_recorder_session *session)
{
    end_transaction(session, "unknown");
}
