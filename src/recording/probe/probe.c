#define _GNU_SOURCE
#include "probe/probe.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "probe/probe_private.h"

/* How long sessions may take to end what they are in the middle of. */
enum { STEP_MS = 20, SHOW_MS = 250, KILL_MS = 40, PATIENCE_MS = 3000 };

/* ---- who answers, and at which level ---- */

const char *iso_probe_isolation(const char *name)
{
    static const char *const levels[] = {"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ",
                                         "SERIALIZABLE"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        size_t at = 0;
        while (levels[i][at] && name[at] &&
               (toupper((unsigned char)name[at]) == levels[i][at] ||
                (levels[i][at] == ' ' && strchr("-_", name[at]))))
            at++;
        if (!levels[i][at] && !name[at])
            return levels[i];
    }
    return NULL;
}

static void copy_lower(char *into, size_t size, const char *text)
{
    size_t length = 0;
    for (; text[length] && length + 1 < size; length++)
        into[length] = text[length] == '-' ? ' ' : (char)tolower((unsigned char)text[length]);
    into[length] = 0;
}

/* As the server says it, under the level that was asked for. */
static enum iso_status learn_level(struct iso_probe *probe, struct iso_error *error)
{
    struct iso_database *database = probe->control;
    char sql[128];
    snprintf(sql, sizeof sql,
             probe->is_mysql ? "SET SESSION TRANSACTION ISOLATION LEVEL %s"
                             : "BEGIN ISOLATION LEVEL %s",
             probe->isolation ? probe->isolation : "");
    if (probe->isolation && iso_database_execute(database, sql) != ISO_SQL_DONE)
        return iso_error_set(error, ISO_BAD_INPUT, "--isolation: %s",
                             iso_database_message(database));
    const char *level =
        iso_database_ask(database, probe->is_mysql ? "SELECT @@transaction_isolation"
                                                   : "SHOW transaction_isolation");
    if (!level && probe->is_mysql)
        level = iso_database_ask(database, "SELECT @@tx_isolation");
    copy_lower(probe->level, sizeof probe->level, level ? level : "unknown");
    if (!probe->is_mysql && probe->isolation)
        iso_database_execute(database, "ROLLBACK");
    return ISO_OK;
}

static void learn_positions(struct iso_probe *probe)
{
    enum iso_database_product product = iso_database_product(probe->control);
    bool is_stable =
        !strcmp(probe->level, "repeatable read") || !strcmp(probe->level, "serializable");
    if (product == ISO_PRODUCT_POSTGRES)
        probe->has_positions =
            is_stable && iso_database_ask(probe->control, "SELECT pg_current_snapshot()");
    probe->has_tso = product == ISO_PRODUCT_TIDB && is_stable &&
                     iso_database_ask(probe->control, "SELECT @@tidb_last_txn_info") &&
                     iso_database_ask(probe->control, "SELECT @@tidb_last_query_info");
    probe->has_positions = probe->has_positions || probe->has_tso;
}

static enum iso_status learn_schema(struct iso_probe *probe, struct iso_error *error)
{
    const char *schema = iso_database_ask(
        probe->control, probe->is_mysql ? "SELECT DATABASE()" : "SELECT current_schema()");
    if (!schema)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "the URL names no database for its tables, expected %s://.../DATABASE",
                             probe->is_mysql ? "mysql" : "postgresql");
    snprintf(probe->schema, sizeof probe->schema, "%s", schema);
    return ISO_OK;
}

static void choose_prefix(struct iso_probe *probe)
{
    uint32_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
        drawn = (uint32_t)time(NULL);
    if (probe->options.name)
        snprintf(probe->prefix, sizeof probe->prefix, "isochron_probe_%.32s", probe->options.name);
    else
        snprintf(probe->prefix, sizeof probe->prefix, "isochron_probe_%06" PRIx32,
                 drawn & 0xffffff);
}

/* In an order that every seed has for itself. */
static void choose_workloads(struct iso_probe *probe)
{
    struct iso_rng rng;
    iso_rng_seed(&rng, probe->options.seed);
    for (uint32_t i = 0; i < PROBE_WORKLOADS; i++) {
        if (probe->options.workloads && !(probe->options.workloads >> i & 1))
            continue;
        uint32_t place = (uint32_t)iso_rng_below(&rng, probe->workload_count + 1u);
        probe->order[probe->workload_count++] = probe->order[place];
        probe->order[place] = i;
    }
}

struct iso_probe *iso_probe_prepare(const struct iso_probe_options *options,
                                    struct iso_error *error)
{
    struct iso_probe *probe = iso_allocate_zeroed(1, sizeof *probe);
    struct iso_text left = {0};
    probe->options = *options;
    probe->isolation = options->isolation ? iso_probe_isolation(options->isolation) : NULL;
    pthread_mutex_init(&probe->making, NULL);
    choose_prefix(probe);
    choose_workloads(probe);
    probe->control = iso_database_connect(options->url, error);
    if (!probe->control)
        goto out;
    probe->is_mysql = iso_database_protocol(probe->control) == ISO_PROTOCOL_MYSQL;
    if (learn_schema(probe, error) != ISO_OK || learn_level(probe, error) != ISO_OK)
        goto out;
    learn_positions(probe);
    tables_hold(probe);
    tables_create(probe, error);
out:
    if (error->status == ISO_OK)
        return probe;
    iso_probe_free(probe, &left);
    iso_text_release(&left);
    return NULL;
}

void iso_probe_free(struct iso_probe *probe, struct iso_text *left)
{
    struct iso_error error = {0};
    if (probe->control && iso_database_is_lost(probe->control)) { /* the server may be back */
        iso_database_close(probe->control);
        probe->control = iso_database_connect(probe->options.url, &error);
    }
    tables_drop(probe, probe->control, left);
    iso_database_close(probe->control);
    pthread_mutex_destroy(&probe->making);
    iso_free(probe);
}

/* ---- the run ---- */

static void kill_one(struct iso_probe *probe, struct probe_session *session)
{
    char sql[96];
    pthread_mutex_lock(&session->lock);
    uint64_t backend = session->database ? session->backend : 0;
    pthread_mutex_unlock(&session->lock);
    if (!backend)
        return;
    if (iso_database_product(probe->control) == ISO_PRODUCT_TIDB)
        snprintf(sql, sizeof sql, "KILL TIDB %" PRIu64, backend);
    else
        snprintf(sql, sizeof sql,
                 probe->is_mysql ? "KILL CONNECTION %" PRIu64
                                 : "SELECT pg_terminate_backend(%" PRIu64 ")",
                 backend);
    iso_database_execute(probe->control, sql);
}

static void cut_all(struct iso_probe *probe, struct probe_session *sessions)
{
    for (uint32_t i = 0; i < probe->options.sessions; i++) {
        pthread_mutex_lock(&sessions[i].lock);
        if (sessions[i].database)
            iso_database_cut(sessions[i].database);
        pthread_mutex_unlock(&sessions[i].lock);
    }
}

static void show(struct iso_probe *probe, int64_t done_ms)
{
    struct iso_probe_tally tally;
    pthread_mutex_lock(&probe->journal.lock);
    tally = probe->journal.tally;
    pthread_mutex_unlock(&probe->journal.lock);
    if (probe->options.show)
        probe->options.show(probe->options.context, (uint64_t)done_ms, probe->options.milliseconds,
                            &tally);
}

/* The main thread's: time, signals, progress, and who is killed. */
static void watch_over(struct iso_probe *probe, struct probe_session *sessions)
{
    int64_t began = iso_clock_ms(), shown = 0, killed = 0, stopped = -1;
    struct timespec pause = {0, STEP_MS * 1000000};
    struct iso_rng rng;
    iso_rng_seed(&rng, probe->options.seed ^ 0xc4a05);
    while (atomic_load(&probe->running)) {
        nanosleep(&pause, NULL);
        int64_t now = iso_clock_ms() - began;
        if (now >= (int64_t)probe->options.milliseconds ||
            (probe->options.stopped && *probe->options.stopped))
            atomic_store(&probe->stopping, true);
        if (atomic_load(&probe->stopping) && stopped < 0)
            stopped = now;
        if (stopped >= 0 && now - stopped > PATIENCE_MS)
            cut_all(probe, sessions);
        if (now - shown >= SHOW_MS) {
            show(probe, now);
            shown = now;
        }
        if (probe->options.chaos && stopped < 0 && now - killed >= KILL_MS) {
            kill_one(probe, &sessions[iso_rng_below(&rng, probe->options.sessions)]);
            killed = now;
        }
    }
}

static void init_session(struct probe_session *session, struct iso_probe *probe, uint32_t number,
                         bool pessimistic)
{
    session->probe = probe;
    session->number = number;
    session->pessimistic = pessimistic;
    pthread_mutex_init(&session->lock, NULL);
    iso_rng_seed(&session->rng, probe->options.seed * 1000003 + number);
}

static void release_session(struct probe_session *session)
{
    iso_text_release(&session->operations);
    iso_text_release(&session->line);
    iso_text_release(&session->sql);
    pthread_mutex_destroy(&session->lock);
}

enum iso_status iso_probe_run(struct iso_probe *probe, struct iso_history *history,
                              struct iso_probe_tally *tally, struct iso_error *error)
{
    uint32_t count = probe->options.sessions, started = 0;
    struct probe_session *sessions = iso_allocate_zeroed(count, sizeof *sessions);
    pthread_t *threads = iso_allocate_zeroed(count, sizeof *threads);
    const char *mode =
        probe->has_tso ? iso_database_ask(probe->control, "SELECT @@tidb_txn_mode") : NULL;
    bool pessimistic = probe->has_tso && !(mode && !strcmp(mode, "optimistic"));
    journal_init(&probe->journal, history, probe->options.record);
    for (uint32_t i = 0; i < count; i++)
        init_session(&sessions[i], probe, i + 1, pessimistic);
    for (; started < count; started++) {
        atomic_fetch_add(&probe->running, 1);
        if (pthread_create(&threads[started], NULL, session_run, &sessions[started])) {
            atomic_fetch_sub(&probe->running, 1);
            journal_fail(probe, ISO_FAILED,
                         "a thread could not be started; fewer --sessions may do");
            break;
        }
    }
    watch_over(probe, sessions);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (!sessions[i].life) {
            probe->journal.tally.never_connected++;
            memcpy(probe->journal.tally.refusal, sessions[i].refusal, sizeof sessions[i].refusal);
        }
        release_session(&sessions[i]);
    }
    iso_free(sessions);
    iso_free(threads);
    *tally = probe->journal.tally;
    if (probe->journal.error.status != ISO_OK)
        iso_error_set(error, probe->journal.error.status, "%s", probe->journal.error.text);
    journal_release(&probe->journal);
    return error->status;
}

/* ---- what it knows ---- */

struct iso_probe_facts iso_probe_facts(const struct iso_probe *probe)
{
    return (struct iso_probe_facts){.database = probe->control,
                                    .level = probe->level,
                                    .schema = probe->schema,
                                    .prefix = probe->prefix,
                                    .has_positions = probe->has_positions};
}
