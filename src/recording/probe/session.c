/* A session: transactions one after the other, each statement noted in the record. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "probe/probe_private.h"
#include "probe/tso.h"

enum { GONE_MS = 5000, RETRY_MS = 50, TOGETHER = 40, RESOLVE_TRIES = 40 };
#define CUT_SHARE (UINT32_MAX / 50)

static void pause_ms(long milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* ---- statements ---- */

/* A refusal that no isolation level explains ends the run: the next one would be refused, too. */
static bool execute(struct probe_session *session, const char *sql)
{
    struct probe_session *s = session;
    char text[ISO_ERROR_TEXT];
    enum iso_database_outcome outcome = iso_database_execute(s->database, sql);
    if (outcome == ISO_SQL_DONE)
        return true;
    s->is_broken = outcome == ISO_SQL_LOST;
    if (outcome == ISO_SQL_REFUSED && !iso_database_is_conflict(s->database)) {
        snprintf(text, sizeof text, "%.300s: %.600s", sql, iso_database_message(s->database));
        journal_fail(s->probe, ISO_FAILED, text);
    }
    return false;
}

__attribute__((format(printf, 2, 3))) static bool execute_format(struct probe_session *session,
                                                                 const char *format, ...)
{
    char sql[512];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(sql, sizeof sql, format, list);
    va_end(list);
    assert(length > 0 && (size_t)length < sizeof sql);
    (void)length;
    return execute(session, sql);
}

/* The first value of the answer into a small text; "" where there is none. */
static void take_text(const struct probe_session *session, char *into, size_t size)
{
    const char *value =
        iso_database_rows(session->database) ? iso_database_value(session->database, 0, 0) : NULL;
    snprintf(into, size, "%s", value && strlen(value) < size ? value : "");
}

/* ---- the record ---- */

static void put_key(struct iso_text *text, const struct probe_session *session, uint64_t key)
{
    const struct iso_probe *probe = session->probe;
    const char *name = probe_workloads[session->workload].name;
    if (probe->options.for_stream)
        iso_text_format(text, "\"%s.%s/%" PRIu64 "\"", probe->schema,
                        probe->tables[session->workload], key);
    else /* of one width: ranges have the order of texts */
        iso_text_format(text, "\"%s/%08" PRIu64 "\"", name, key);
}

static struct iso_text *begin_operation(struct probe_session *session, const char *kind,
                                        uint64_t key)
{
    struct iso_text *text = &session->operations;
    iso_text_format(text, "%s{\"t\":\"%s\",\"k\":", text->used ? "," : "", kind);
    put_key(text, session, key);
    return text;
}

/* Another version of TiDB than those that are known: nothing of it is judged. */
static bool refuse_answer(struct probe_session *session, const char *variable, const char *answer)
{
    char text[600];
    snprintf(
        text, sizeof text,
        "%s is \"%.300s\", which is not how TiDB is known to say its timestamps; its version (SELECT VERSION()) is not "
        "supported, and nothing is judged",
        variable, answer);
    journal_fail(session->probe, ISO_FAILED, text);
    return false;
}

/* TiDB's pessimistic statements see and lock what is newest then. */
static bool put_own_time(struct probe_session *session)
{
    char info[512];
    uint64_t stamp;
    if (!session->probe->has_tso || !session->pessimistic)
        return true;
    if (!execute(session, "SELECT @@tidb_last_query_info"))
        return false;
    take_text(session, info, sizeof info);
    enum tso_answer answer = tso_for_update(info, &stamp);
    if (answer == TSO_SAID)
        iso_text_format(&session->operations, ",\"ots\":\"%" PRIu64 "\"", stamp);
    return answer != TSO_WRONG || refuse_answer(session, "@@tidb_last_query_info", info);
}

static bool end_write(struct probe_session *session)
{
    session->writes = true;
    bool is_fine = put_own_time(session);
    iso_text_put(&session->operations, "}");
    return is_fine;
}

bool session_read(struct probe_session *session, uint64_t key, uint64_t *value)
{
    *value = 0;
    if (!execute_format(session, "SELECT v FROM %s WHERE k = %" PRIu64,
                        session->probe->tables[session->workload], key))
        return false;
    const char *text =
        iso_database_rows(session->database) ? iso_database_value(session->database, 0, 0) : NULL;
    if (text)
        *value = strtoull(text, NULL, 10);
    iso_text_format(begin_operation(session, "r", key), ",\"v\":%s}", text ? text : "null");
    return true;
}

/* ",4,17" is the list 4, 17. */
bool session_read_list(struct probe_session *session, uint64_t key)
{
    if (!execute_format(session, "SELECT v FROM %s WHERE k = %" PRIu64,
                        session->probe->tables[session->workload], key))
        return false;
    const char *text =
        iso_database_rows(session->database) ? iso_database_value(session->database, 0, 0) : NULL;
    iso_text_format(begin_operation(session, "r", key), ",\"v\":[%s]}",
                    text && *text ? text + 1 : "");
    return true;
}

bool session_write(struct probe_session *session, uint64_t key, uint64_t value)
{
    if (!execute_format(session, "UPDATE %s SET v = %" PRIu64 " WHERE k = %" PRIu64,
                        session->probe->tables[session->workload], value, key))
        return false;
    if (!iso_database_affected(session->database))
        return true;
    iso_text_format(begin_operation(session, "w", key), ",\"v\":%" PRIu64, value);
    return end_write(session);
}

bool session_append(struct probe_session *session, uint64_t key)
{
    uint64_t element = session_new_value(session);
    const char *format = session->probe->is_mysql
                             ? "UPDATE %s SET v = CONCAT(v, ',%" PRIu64 "') WHERE k = %" PRIu64
                             : "UPDATE %s SET v = v || ',%" PRIu64 "' WHERE k = %" PRIu64;
    char sql[512];
    snprintf(sql, sizeof sql, format, session->probe->tables[session->workload], element, key);
    if (!execute(session, sql))
        return false;
    if (!iso_database_affected(session->database))
        return true;
    iso_text_format(begin_operation(session, "a", key), ",\"v\":%" PRIu64, element);
    return end_write(session);
}

bool session_insert(struct probe_session *session, uint64_t key, uint64_t value)
{
    if (!execute_format(session, "INSERT INTO %s (k, v) VALUES (%" PRIu64 ", %" PRIu64 ")",
                        session->probe->tables[session->workload], key, value))
        return false;
    iso_text_format(begin_operation(session, "w", key), ",\"v\":%" PRIu64, value);
    return end_write(session);
}

bool session_delete(struct probe_session *session, uint64_t key)
{
    if (!execute_format(session, "DELETE FROM %s WHERE k = %" PRIu64,
                        session->probe->tables[session->workload], key))
        return false;
    if (!iso_database_affected(session->database))
        return true;
    begin_operation(session, "d", key);
    return end_write(session);
}

bool session_read_range(struct probe_session *session, uint64_t from, uint64_t to)
{
    struct iso_text *text = &session->operations;
    if (!execute_format(
            session, "SELECT k, v FROM %s WHERE k >= %" PRIu64 " AND k <= %" PRIu64 " ORDER BY k",
            session->probe->tables[session->workload], from, to))
        return false;
    iso_text_format(text, "%s{\"t\":\"q\",\"from\":", text->used ? "," : "");
    put_key(text, session, from);
    iso_text_put(text, ",\"to\":");
    put_key(text, session, to);
    iso_text_put(text, ",\"rows\":{");
    for (uint32_t row = 0; row < iso_database_rows(session->database); row++) {
        iso_text_put(text, row ? "," : "");
        put_key(text, session, strtoull(iso_database_value(session->database, row, 0), NULL, 10));
        iso_text_format(text, ":%s", iso_database_value(session->database, row, 1));
    }
    iso_text_put(text, "}}");
    return true;
}

uint64_t session_new_value(struct probe_session *session)
{
    return atomic_fetch_add(&session->probe->next_value, 1) + 1;
}

/* ---- begin and end ---- */

static bool begin(struct probe_session *session)
{
    const struct iso_probe *probe = session->probe;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    session->started_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    session->operations.used = 0;
    session->writes = false;
    session->snapshot[0] = session->xid[0] = session->end_stamp[0] = 0;
    if (probe->is_mysql) {
        if (!execute(session, "START TRANSACTION"))
            return false;
        if (!probe->has_tso)
            return true;
        if (!execute(session, "SELECT @@tidb_current_ts"))
            return false;
    } else if (!execute_format(session, "BEGIN%s%s%s", probe->isolation ? " ISOLATION LEVEL " : "",
                               probe->isolation ? probe->isolation : "",
                               probe->has_positions ? "; SELECT pg_current_snapshot()" : "")) {
        return false;
    }
    if (probe->has_positions)
        take_text(session, session->snapshot, sizeof session->snapshot);
    uint64_t start;
    return !probe->has_tso || tso_current(session->snapshot, &start) == TSO_SAID ||
           refuse_answer(session, "@@tidb_current_ts", session->snapshot);
}

static bool ask_xid(struct probe_session *session)
{
    const struct iso_probe *probe = session->probe;
    bool is_asked = iso_database_product(probe->control) == ISO_PRODUCT_POSTGRES &&
                    session->writes && (probe->has_positions || probe->options.for_stream);
    if (!is_asked)
        return true;
    if (!execute(session, "SELECT pg_current_xact_id_if_assigned()"))
        return false;
    take_text(session, session->xid, sizeof session->xid);
    return true;
}

/* TiDB says when it committed, of the transaction before. */
static void ask_commit_stamp(struct probe_session *session)
{
    char info[512];
    uint64_t start, commit;
    if (!session->probe->has_tso || !session->writes ||
        !execute(session, "SELECT @@tidb_last_txn_info"))
        return;
    take_text(session, info, sizeof info);
    enum tso_answer answer = tso_current(session->snapshot, &start) == TSO_SAID
                                 ? tso_commit(info, start, &commit)
                                 : TSO_OTHER;
    if (answer == TSO_SAID)
        snprintf(session->end_stamp, sizeof session->end_stamp, "%" PRIu64, commit);
    else if (answer == TSO_WRONG)
        refuse_answer(session, "@@tidb_last_txn_info", info);
}

static enum iso_database_end end(struct probe_session *session, bool is_fine, bool rolls_back)
{
    if (is_fine && !rolls_back)
        is_fine = ask_xid(session);
    if (!is_fine || rolls_back) {
        if (!session->is_broken &&
            iso_database_execute(session->database, "ROLLBACK") == ISO_SQL_LOST)
            session->is_broken = true;
        return ISO_END_ABORTED;
    }
    if (session->probe->options.chaos && iso_rng_chance(&session->rng, CUT_SHARE)) {
        iso_database_send_and_cut(session->database, "COMMIT");
        session->is_broken = true;
        return ISO_END_UNKNOWN;
    }
    enum iso_database_end end = iso_database_commit(session->database);
    session->is_broken = end == ISO_END_UNKNOWN || iso_database_is_lost(session->database);
    if (end == ISO_END_COMMITTED)
        ask_commit_stamp(session);
    return end;
}

/* PostgreSQL tells what became of an xid, also whoever asks on another connection. One that is in
 * progress for long is left unknown. */
static enum iso_database_end resolve(const struct probe_session *session)
{
    struct iso_error error = {0};
    char sql[96];
    enum iso_database_end end = ISO_END_UNKNOWN;
    struct iso_database *database = iso_database_connect(session->probe->options.url, &error);
    snprintf(sql, sizeof sql, "SELECT pg_xact_status('%s')", session->xid);
    for (int tries = 0; database && tries < RESOLVE_TRIES; tries++) {
        const char *status = iso_database_ask(database, sql);
        bool is_open = status && !strcmp(status, "in progress");
        if (status && !is_open)
            end = strcmp(status, "committed") ? ISO_END_ABORTED : ISO_END_COMMITTED;
        if (!is_open)
            break;
        pause_ms(RETRY_MS);
    }
    iso_database_close(database);
    return end;
}

/* A committed writer without its timestamp would take them from all. */
static bool keep(struct probe_session *session, enum iso_database_end end)
{
    if (end == ISO_END_UNKNOWN && session->xid[0])
        end = resolve(session);
    if (session->probe->has_tso && end == ISO_END_COMMITTED && session->writes &&
        !session->end_stamp[0])
        end = ISO_END_UNKNOWN;
    return journal_take(session->probe, session, end);
}

/* ---- groups ---- */

static bool insert_group(struct probe_session *session, const struct probe_workload *workload)
{
    struct iso_text *sql = &session->sql;
    sql->used = 0;
    iso_text_format(sql, "INSERT INTO %s (k, v) VALUES ",
                    session->probe->tables[session->workload]);
    bool is_bank = !strcmp(workload->name, "bank");
    for (uint32_t i = 0; i < workload->keys; i++) {
        uint64_t value =
            session_new_value(session) + (is_bank ? 100 * (uint64_t)PROBE_BALANCE_UNIT : 0);
        iso_text_format(sql, "%s(%" PRIu64 ", ", i ? ", " : "", session_key(session, i));
        if (workload->is_list)
            iso_text_put(sql, "'')");
        else
            iso_text_format(sql, "%" PRIu64 ")", value);
        if (!workload->is_list)
            iso_text_format(begin_operation(session, "w", session_key(session, i)),
                            ",\"v\":%" PRIu64 "}", value);
    }
    iso_text_put_bytes(sql, "", 1);
    session->writes = true;
    return execute(session, sql->bytes);
}

/* One that is not known to be there is not used; its records are, like others. */
static void make_group(struct probe_session *session, struct probe_group *group)
{
    const struct probe_workload *workload = &probe_workloads[session->workload];
    session->group = ++group->drawn;
    if (!begin(session))
        return;
    enum iso_database_end outcome = end(session, insert_group(session, workload), false);
    if (!keep(session, outcome) || outcome != ISO_END_COMMITTED)
        return;
    atomic_store(&group->inserted, probe_first_insert(session->group));
    atomic_store(&group->used, 0);
    atomic_store(&group->current, session->group);
}

/* The rows that the next transaction is about; false: there are none. */
static bool choose_group(struct probe_session *session)
{
    struct iso_probe *probe = session->probe;
    uint64_t turn = atomic_fetch_add(&probe->begun, 1) / TOGETHER;
    session->workload = probe->order[turn % probe->workload_count];
    struct probe_group *group = &probe->groups[session->workload];
    uint32_t limit = probe_workloads[session->workload].transactions;
    if (!atomic_load(&group->current))
        pthread_mutex_lock(&probe->making);
    else if (atomic_fetch_add(&group->used, 1) < limit || pthread_mutex_trylock(&probe->making))
        goto out;
    if (!atomic_load(&group->current) || atomic_load(&group->used) >= limit)
        make_group(session, group);
    pthread_mutex_unlock(&probe->making);
out:
    session->group = atomic_load(&group->current);
    return session->group && !session->is_broken;
}

/* ---- life ---- */

static void set_limits(struct probe_session *session)
{
    static const char *const postgres[] = {"SET lock_timeout = '2s'",
                                           "SET statement_timeout = '10s'"};
    static const char *const mysql[] = {"SET SESSION innodb_lock_wait_timeout = 2"};
    const char *const *statements = session->probe->is_mysql ? mysql : postgres;
    for (int i = 0; i < (session->probe->is_mysql ? 1 : 2); i++)
        iso_database_execute(session->database, statements[i]);
}

static bool connect_once(struct probe_session *session, struct iso_error *error)
{
    struct iso_probe *probe = session->probe;
    struct iso_database *database = iso_database_connect(probe->options.url, error);
    char sql[128];
    if (!database)
        return false;
    pthread_mutex_lock(&session->lock);
    session->database = database;
    session->backend = iso_database_session(database);
    pthread_mutex_unlock(&session->lock);
    session->is_broken = false;
    session->life++;
    session->sno = 0;
    set_limits(session);
    if (!probe->is_mysql || !probe->isolation)
        return true;
    snprintf(sql, sizeof sql, "SET SESSION TRANSACTION ISOLATION LEVEL %s", probe->isolation);
    session->is_broken = iso_database_execute(database, sql) != ISO_SQL_DONE;
    return true;
}

static void disconnect(struct probe_session *session)
{
    pthread_mutex_lock(&session->lock);
    iso_database_close(session->database);
    session->database = NULL;
    pthread_mutex_unlock(&session->lock);
}

/* Tries for some seconds; then the server is gone, for all. */
static bool connect_again(struct probe_session *session)
{
    struct iso_probe *probe = session->probe;
    int64_t since = iso_clock_ms();
    if (session->database) {
        disconnect(session);
        pthread_mutex_lock(&probe->journal.lock);
        probe->journal.tally.connections_lost++;
        pthread_mutex_unlock(&probe->journal.lock);
    }
    while (!atomic_load(&probe->stopping)) {
        struct iso_error error = {0};
        if (connect_once(session, &error))
            return true;
        snprintf(session->refusal, sizeof session->refusal, "%.250s", error.text);
        if (iso_clock_ms() - since > GONE_MS)
            journal_fail(probe, ISO_FAILED, error.text);
        else
            pause_ms(RETRY_MS);
    }
    return false;
}

void *session_run(void *context)
{
    struct probe_session *session = context;
    struct iso_probe *probe = session->probe;
    while (!atomic_load(&probe->stopping)) {
        if ((!session->database || session->is_broken) && !connect_again(session))
            break;
        if (!choose_group(session) || !begin(session)) {
            if (!session->is_broken)
                iso_database_execute(session->database, "ROLLBACK");
            continue;
        }
        const struct probe_workload *workload = &probe_workloads[session->workload];
        bool is_fine = workload->run(session);
        bool rolls_back = is_fine && iso_rng_chance(&session->rng, workload->abort_share);
        if (!keep(session, end(session, is_fine, rolls_back)))
            break;
    }
    if (session->database)
        disconnect(session);
    atomic_fetch_sub(&probe->running, 1);
    return NULL;
}
