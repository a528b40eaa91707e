/* Records: each a line, which the history, a file and a topic take in one order. */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "probe/probe_private.h"

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void journal_init(struct probe_journal *journal, struct iso_history *history, const char *input)
{
    pthread_mutex_init(&journal->lock, NULL);
    journal->history = history;
    journal->input = iso_history_input(history, input);
    iso_native_init(&journal->native);
    journal->native.of_file = true;
}

void journal_release(struct probe_journal *journal)
{
    iso_native_release(&journal->native);
    pthread_mutex_destroy(&journal->lock);
}

void journal_fail(struct iso_probe *probe, enum iso_status status, const char *text)
{
    pthread_mutex_lock(&probe->journal.lock);
    iso_error_set(&probe->journal.error, status, "%s", text);
    pthread_mutex_unlock(&probe->journal.lock);
    atomic_store(&probe->stopping, true);
}

static void put_positions(struct iso_text *line, const struct probe_session *session)
{
    const struct iso_probe *probe = session->probe;
    if (probe->has_positions && !probe->has_tso && session->snapshot[0])
        iso_text_format(line, ",\"snapshot\":\"%s\"", session->snapshot);
    if (probe->has_tso && session->snapshot[0])
        iso_text_format(line, ",\"sts\":\"%s\"", session->snapshot);
    if (probe->has_tso && session->end_stamp[0])
        iso_text_format(line, ",\"cts\":\"%s\"", session->end_stamp);
    if (session->xid[0])
        iso_text_format(line, ",\"xid\":\"%s\"", session->xid);
}

/* As the native format has it. */
static void put_record(struct probe_session *session, enum iso_database_end end)
{
    static const char *const words[] = {"committed", "aborted", "unknown"};
    struct iso_text *line = &session->line;
    uint64_t ended = now_ns();
    line->used = 0;
    iso_text_format(line, "{\"tid\":\"s%u", session->number);
    if (session->life > 1)
        iso_text_format(line, ".%u", session->life);
    iso_text_format(line, "-%llu\",\"sid\":\"s%u", (unsigned long long)session->sno,
                    session->number);
    if (session->life > 1)
        iso_text_format(line, ".%u", session->life);
    iso_text_format(line, "\",\"sno\":%llu,\"status\":\"%s\"", (unsigned long long)session->sno,
                    words[end]);
    put_positions(line, session);
    ended = ended > session->started_ns ? ended : session->started_ns;
    iso_text_format(line, ",\"begin\":%llu", (unsigned long long)session->started_ns);
    if (end == ISO_END_COMMITTED)
        iso_text_format(line, ",\"end\":%llu", (unsigned long long)ended);
    iso_text_put(line, ",\"ops\":[");
    iso_text_put_bytes(line, session->operations.bytes, session->operations.used);
    iso_text_put(line, "]}");
    session->sno++;
}

static void count(struct iso_probe_tally *tally, enum iso_database_end end)
{
    uint64_t *counts[] = {&tally->committed, &tally->aborted, &tally->unknown};
    ++*counts[end];
}

bool journal_take(struct iso_probe *probe, struct probe_session *session, enum iso_database_end end)
{
    struct probe_journal *journal = &probe->journal;
    struct iso_native_fault fault = {0};
    if (!session->operations.used)
        return true;
    put_record(session, end);
    iso_text_reserve(&session->line, ISO_JSON_PADDING);
    pthread_mutex_lock(&journal->lock);
    const struct iso_probe_options *options = &probe->options;
    enum iso_status status = iso_native_read_transaction(
        &journal->native, session->line.bytes, session->line.used,
        iso_origin(journal->input, ++journal->lines), journal->history, &fault);
    if (status != ISO_OK)
        iso_error_set(&journal->error, ISO_FAILED,
                      "what a session recorded cannot be read: %s: %.*s", fault.text,
                      (int)(session->line.used < 300 ? session->line.used : 300),
                      session->line.bytes);
    count(&journal->tally, end);
    bool goes_on = status == ISO_OK;
    if (goes_on && options->take)
        goes_on = options->take(options->context, session->line.bytes, session->line.used,
                                session->number);
    pthread_mutex_unlock(&journal->lock);
    if (!goes_on)
        atomic_store(&probe->stopping, true);
    return goes_on;
}
