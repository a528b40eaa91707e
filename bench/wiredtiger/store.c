#include "bench/wiredtiger/store.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const store_mode_names[STORE_MODES] = {
    [MODE_CORRECT] = "correct",
    [MODE_ALL_DURABLE] = "all-durable",
    [MODE_SNAPSHOT_HOLES] = "snapshot-holes",
    [MODE_READ_COMMITTED] = "read-committed",
    [MODE_NO_READ_TIMESTAMP] = "no-read-timestamp",
    [MODE_COMMIT_OUT_OF_ORDER] = "commit-out-of-order",
    [MODE_MISSING_COMMIT_TIMESTAMP] = "missing-commit-timestamp",
};

enum {
    FIRST_TIMESTAMP = 1,
    HISTORY_KEPT = 8192, /* timestamps that stay readable behind the counter */
    OLDEST_EVERY = 4096, /* how often, in timestamps, the oldest moves */
    LINGER_EVERY = 15,   /* odd: a transaction may linger twice, and either must have its turn */
    FORGET_EVERY = 16    /* missing-commit-timestamp: one commit in so many */
};

/* A timestamp that the oldest timestamp has passed is refused and the transaction tried again: no
 * news. */
static int tell_error(WT_EVENT_HANDLER *handler, WT_SESSION *session, int error,
                      const char *message)
{
    (void)handler, (void)session;
    if (error != EINVAL || !strstr(message, "oldest timestamp"))
        fprintf(stderr, "record: %s\n", message);
    return 0;
}

static WT_EVENT_HANDLER event_handler = {.handle_error = tell_error};

/* The keys are few and hot. Pages must not be evicted while in use: forced eviction of a page that
 * holds updates with and without timestamps does not come to an end in this version. */
static const char connection_config[] =
    "create,cache_size=1GB,session_max=300,eviction_trigger=99,eviction_target=98,"
    "log=(enabled=false,file_max=1MB,prealloc=false)";
static const char table_config[] = "key_format=Q,value_format=Q,memory_page_max=1GB";

/* all_durable is unknown until something has committed with a timestamp; nobody reads this
 * table. */
static int commit_first(WT_SESSION *session)
{
    WT_CURSOR *cursor;
    int error;

    if ((error = session->create(session, "table:first", table_config)) ||
        (error = session->open_cursor(session, "table:first", NULL, NULL, &cursor)) ||
        (error = session->begin_transaction(session, NULL)))
        return error;
    cursor->set_key(cursor, (uint64_t)0);
    cursor->set_value(cursor, (uint64_t)0);
    if ((error = cursor->insert(cursor)))
        return error;
    return session->commit_transaction(session, "commit_timestamp=1");
}

int store_open(struct store *store, const char *home, enum store_mode mode)
{
    WT_SESSION *session;
    int error;

    memset(store, 0, sizeof *store);
    store->mode = mode;
    atomic_init(&store->counter, FIRST_TIMESTAMP);
    pthread_mutex_init(&store->clock, NULL);
    error = wiredtiger_open(home, &event_handler, connection_config, &store->connection);
    if (error ||
        (error = store->connection->open_session(store->connection, NULL, "isolation=snapshot",
                                                 &session)) ||
        (error = session->create(session, "table:data", table_config)) ||
        (error = commit_first(session)))
        return error;
    return session->close(session, NULL);
}

void store_close(struct store *store)
{
    if (store->connection)
        store->connection->close(store->connection, "leak_memory=true");
    pthread_mutex_destroy(&store->clock);
}

int store_session_open(struct store_session *session, struct store *store)
{
    int error;

    memset(session, 0, sizeof *session);
    session->store = store;
    error = store->connection->open_session(store->connection, NULL, "isolation=snapshot",
                                            &session->session);
    if (error)
        return error;
    return session->session->open_cursor(session->session, "table:data", NULL, NULL,
                                         &session->cursor);
}

static uint64_t draw(struct store *store)
{
    return atomic_fetch_add(&store->counter, 1) + 1;
}

/* Lets the store forget what nobody will read: called under the clock's mutex. A running reader
 *   keeps what it needs;
 * one that is about to begin further back is refused and tries again. */
static int move_oldest(struct store *store, uint64_t now)
{
    char config[64];

    if (now % OLDEST_EVERY || now <= HISTORY_KEPT)
        return 0;
    snprintf(config, sizeof config, "oldest_timestamp=%" PRIx64, now - HISTORY_KEPT);
    return store->connection->set_timestamp(store->connection, config);
}

static int begin_at(struct store_session *session, uint64_t timestamp)
{
    char config[64];

    snprintf(config, sizeof config, "read_timestamp=%" PRIx64, timestamp);
    session->sts = timestamp;
    return session->session->begin_transaction(session->session, config);
}

/* At the store's all_durable timestamp. */
static int begin_durable(struct store_session *session)
{
    WT_CONNECTION *connection = session->store->connection;
    char text[17]; /* 64 bits in hex */
    uint64_t durable;

    for (;;) {
        int error = connection->query_timestamp(connection, text, "get=all_durable");
        if (error)
            return error;
        durable = strtoull(text, NULL, 16);
        if (durable >= session->covered)
            return begin_at(session, durable);
        sched_yield();
    }
}

/* Gives way between two steps that a misuse does not tie together, now and then: the machine's own
 * interruptions are too rare to show every fault in every short run. */
static void linger(struct store_session *session)
{
    if (++session->steps % LINGER_EVERY == 0)
        sched_yield();
}

/* Without a read timestamp: what is recorded was drawn before, and nothing ties the two
 * together. */
static int begin_untied(struct store_session *session, const char *config)
{
    struct store *store = session->store;

    session->sts = atomic_load(&store->counter);
    if (store->mode == MODE_COMMIT_OUT_OF_ORDER) {
        linger(session);
        session->cts = draw(store);
    }
    if (store->mode != MODE_READ_COMMITTED)
        linger(session);
    return session->session->begin_transaction(session->session, config);
}

static int begin_once(struct store_session *session)
{
    struct store *store = session->store;
    int error = 0;

    switch (store->mode) {
    case MODE_CORRECT:
        pthread_mutex_lock(&store->clock);
        error = begin_at(session, atomic_load(&store->counter));
        pthread_mutex_unlock(&store->clock);
        break;
    case MODE_SNAPSHOT_HOLES:
        error = begin_at(session, atomic_load(&store->counter));
        break;
    case MODE_ALL_DURABLE:
    case MODE_MISSING_COMMIT_TIMESTAMP:
        error = begin_durable(session);
        break;
    case MODE_READ_COMMITTED:
        error = begin_untied(session, "isolation=read-committed");
        break;
    case MODE_NO_READ_TIMESTAMP:
    case MODE_COMMIT_OUT_OF_ORDER:
        error = begin_untied(session, NULL);
        break;
    case STORE_MODES:
        error = EINVAL;
    }
    return error;
}

int store_begin(struct store_session *session)
{
    int error;

    session->cts = 0;
    while ((error = begin_once(session)) == EINVAL) {
        /* The oldest timestamp went past the one chosen; the refused transaction may be half
         * begun. */
        session->session->rollback_transaction(session->session, NULL);
        sched_yield();
    }
    return error;
}

int store_read(struct store_session *session, uint64_t key, bool *found, uint64_t *value)
{
    WT_CURSOR *cursor = session->cursor;
    int error;

    cursor->set_key(cursor, key);
    error = cursor->search(cursor);
    *found = error == 0;
    *value = 0;
    if (error)
        return error == WT_NOTFOUND ? 0 : error;
    return cursor->get_value(cursor, value);
}

int store_write(struct store_session *session, uint64_t key, uint64_t value)
{
    WT_CURSOR *cursor = session->cursor;

    cursor->set_key(cursor, key);
    cursor->set_value(cursor, value);
    return cursor->insert(cursor);
}

int store_rollback(struct store_session *session)
{
    return session->session->rollback_transaction(session->session, NULL);
}

/* Draws the commit timestamp, unless it was drawn ahead, and tells it to the store. Under the
 * clock's mutex. */
static int stamp_commit(struct store_session *session, bool told)
{
    struct store *store = session->store;
    char config[64];
    int error;

    if (!session->cts)
        session->cts = draw(store);
    if ((error = move_oldest(store, session->cts)) || !told)
        return error;
    snprintf(config, sizeof config, "commit_timestamp=%" PRIx64, session->cts);
    return session->session->timestamp_transaction(session->session, config);
}

int store_commit(struct store_session *session, bool wrote, bool *committed)
{
    struct store *store = session->store;
    bool told =
        store->mode != MODE_READ_COMMITTED &&
        !(store->mode == MODE_MISSING_COMMIT_TIMESTAMP && ++session->commits % FORGET_EVERY == 0);
    bool together = store->mode == MODE_CORRECT;
    int error;

    if (!wrote) {
        session->cts = session->sts;
        error = session->session->commit_transaction(session->session, NULL);
        *committed = error == 0;
        return error;
    }
    pthread_mutex_lock(&store->clock);
    error = stamp_commit(session, told);
    if (!error && together)
        error = session->session->commit_transaction(session->session, NULL);
    pthread_mutex_unlock(&store->clock);
    *committed = error == 0;
    if (error == EINVAL && !together) /* a timestamp drawn ahead fell behind the oldest */
        return store_rollback(session);
    if (store->mode == MODE_SNAPSHOT_HOLES)
        linger(session); /* on its way: others may read at the counter now */
    if (!error && !together)
        error = session->session->commit_transaction(session->session, NULL);
    *committed = error == 0;
    if (!error && told)
        session->covered = session->cts;
    return error == WT_ROLLBACK ? 0 : error;
}
