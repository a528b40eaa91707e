/* Writing a snapshot: by a child, from the memory as it was at the fork; committing it. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/paged.h"
#include "store/store_private.h"

/* Exit status of a child that could not write; below it, the errno is lost to the parent but stands
 * on stderr. */
enum { CHILD_FAILED = 4 };

static void new_name(char name[STORE_NAME], uint64_t generation)
{
    snprintf(name, STORE_NAME, "snapshot-%" PRIu64 ".new", generation);
}

/* A snapshot that is on disk and has its name yet to come. */
static enum iso_status write_new(struct iso_store *store, uint64_t generation, iso_store_walk walk,
                                 void *context, struct iso_error *error)
{
    char name[STORE_NAME], path[512];
    struct iso_archive archive;
    new_name(name, generation);
    snprintf(path, sizeof path, "state %s/%s", store->path, name);
    ISO_FAULT(iso_fault_point("before-snapshot-created"));
    unlinkat(store->directory, name, 0);
    int file = openat(store->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return store_failed(store, name, "cannot be created", error);
    ISO_FAULT(iso_fault_point("after-snapshot-created"));
    iso_archive_save(&archive, file, path, error);
    walk(context, &archive);
    iso_archive_close(&archive);
    ISO_FAULT(iso_fault_point("before-snapshot-sync"));
    if (error->status == ISO_OK && fsync(file))
        store_failed(store, name, "cannot be synced", error);
    ISO_FAULT(iso_fault_point("after-snapshot-sync"));
    if (close(file) && error->status == ISO_OK)
        store_failed(store, name, "cannot be closed", error);
    return error->status;
}

static enum iso_status rename_new(struct iso_store *store, struct iso_error *error)
{
    assert(store->pending > store->base);
    char from[STORE_NAME], to[STORE_NAME];
    struct stat status;
    new_name(from, store->pending);
    store_name(to, "snapshot", store->pending);
    ISO_FAULT(iso_fault_point("before-rename"));
    if (fstatat(store->directory, from, &status, 0) ||
        renameat(store->directory, from, store->directory, to))
        return store_failed(store, from, "cannot be renamed", error);
    ISO_FAULT(iso_fault_point("after-rename"));
    store->base_bytes = (uint64_t)status.st_size;
    return ISO_OK;
}

/* The rename is on the device: what was before is not needed any more. Large files take their time
 * to go. */
static void clear_up(void *context)
{
    const struct iso_store *store = context;
    char name[STORE_NAME];
    for (uint64_t old = store->base; old && old < store->pending; old++) {
        store_name(name, "snapshot", old);
        unlinkat(store->directory, name, 0);
        ISO_FAULT(iso_fault_point("after-old-snapshot-removed"));
        store_name(name, "journal", old);
        unlinkat(store->directory, name, 0);
        ISO_FAULT(iso_fault_point("after-old-journal-removed"));
    }
    store_collapse(&store->is_ending);
}

/* The state of a snapshot before its child is done: the journal that ends, the one that begins,
 * their names. */
static enum iso_status sync_journals(struct iso_store *store, int ended, struct iso_error *error)
{
    if (ended >= 0)
        store_sync(store, ended, "journal", error);
    if (error->status == ISO_OK)
        store_sync(store, store->out, "journal", error);
    if (error->status == ISO_OK)
        store_sync(store, store->directory, "", error);
    return error->status;
}

enum iso_status iso_store_begin(struct iso_store *store, iso_store_walk walk, void *context,
                                struct iso_error *error)
{
    assert(!store->base && store->out < 0);
    store->pending = 1;
    if (store_new_journal(store, 1, error) != ISO_OK || sync_journals(store, -1, error) != ISO_OK ||
        write_new(store, 1, walk, context, error) != ISO_OK || rename_new(store, error) != ISO_OK ||
        store_sync(store, store->directory, "", error) != ISO_OK)
        return error->status;
    store->base = store->pending;
    store_validate(store);
    return ISO_OK;
}

static _Noreturn void run_child(struct iso_store *store, int ended, iso_store_walk walk,
                                void *context)
{
    struct iso_error error = {.status = ISO_OK};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* without the parent nobody would commit it */
    close(store->lock);
    if (sync_journals(store, ended, &error) == ISO_OK)
        write_new(store, store->pending, walk, context, &error);
    if (error.status != ISO_OK)
        dprintf(STDERR_FILENO, "isochron: %s\n", error.text);
    _exit(error.status == ISO_OK ? 0 : CHILD_FAILED);
}

static void look_at_child(struct iso_store *store, bool wait, struct iso_error *error)
{
    int how;
    pid_t ended = waitpid(store->child, &how, wait ? 0 : WNOHANG);
    if (!ended || (ended < 0 && errno == EINTR))
        return;
    store->child = 0;
    store->progress =
        ended > 0 && WIFEXITED(how) && WEXITSTATUS(how) == 0 ? ISO_STORE_WRITTEN : ISO_STORE_IDLE;
    if (store->progress == ISO_STORE_IDLE)
        iso_error_set(error, ISO_FAILED,
                      "state %s: snapshot-%" PRIu64
                      " could not be written; what was committed before is whole",
                      store->path, store->pending);
}

enum iso_status iso_store_snapshot(struct iso_store *store, iso_store_walk walk, void *context,
                                   struct iso_error *error)
{
    assert(store->base && store->progress == ISO_STORE_IDLE);
    if (iso_store_append(store, JOURNAL_ROLL, "", 0, error) != ISO_OK)
        return error->status;
    int ended = store->out;
    store->out = -1;
    ISO_FAULT(iso_fault_point("after-roll"));
    if (store_new_journal(store, store->generation + 1, error) == ISO_OK) {
        store->pending = store->generation;
        store->appended = 0;
        ISO_FAULT(iso_fault_point("before-fork"));
        store->child = fork();
        if (store->child == 0)
            run_child(store, ended, walk, context);
        store->progress = store->child > 0 ? ISO_STORE_WRITING : ISO_STORE_IDLE;
        ISO_FAULT(iso_fault_point("after-fork"));
        if (store->child < 0)
            store_failed(store, "", "no process for a snapshot", error);
        while (iso_columns_paged() && store->progress == ISO_STORE_WRITING)
            look_at_child(store, true, error); /* it shares their pages */
    }
    close(ended);
    if (error->status == ISO_OK)
        store_validate(store);
    return error->status;
}

static void look_at_syncer(struct iso_store *store, bool wait, struct iso_error *error)
{
    if (wait)
        syncer_wait(&store->syncer);
    if (syncer_busy(&store->syncer))
        return;
    errno = syncer_failure(&store->syncer);
    store->base = store->pending;
    store->progress = ISO_STORE_IDLE;
    if (errno)
        store_failed(store, "", "cannot be synced", error);
}

enum iso_store_progress iso_store_look(struct iso_store *store, bool wait, struct iso_error *error)
{
    if (store->progress == ISO_STORE_WRITING)
        look_at_child(store, wait, error);
    else if (store->progress == ISO_STORE_COMMITTING)
        look_at_syncer(store, wait, error);
    if (error->status == ISO_OK)
        store_validate(store);
    return store->progress;
}

enum iso_status iso_store_commit(struct iso_store *store, struct iso_error *error)
{
    assert(store->progress == ISO_STORE_WRITTEN);
    if (syncer_busy(&store->syncer))
        return ISO_OK; /* at the next look */
    if (rename_new(store, error) != ISO_OK)
        return error->status;
    if (!syncer_start(&store->syncer, store->directory, clear_up, store))
        return store_failed(store, "", "cannot be synced", error);
    store->progress = ISO_STORE_COMMITTING;
    store_validate(store);
    return ISO_OK;
}

void iso_store_abandon(struct iso_store *store)
{
    if (store->child > 0) {
        kill(store->child, SIGKILL);
        waitpid(store->child, NULL, 0);
    }
    if (store->progress == ISO_STORE_COMMITTING)
        syncer_wait(&store->syncer); /* the next start removes what is old */
    store->child = 0;
    store->progress = ISO_STORE_IDLE;
}
