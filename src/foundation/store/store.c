/* The directory, its lock, and reading what it holds. */
#define _GNU_SOURCE

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/memory.h"
#include "base/own.h"
#include "store/store_private.h"

void store_name(char name[STORE_NAME], const char *kind, uint64_t generation)
{
    snprintf(name, STORE_NAME, "%s-%" PRIu64, kind, generation);
}

enum iso_status store_failed(const struct iso_store *store, const char *name, const char *what,
                             struct iso_error *error)
{
    return iso_error_set(error, ISO_FAILED, "state %s%s%s: %s: %s", store->path, *name ? "/" : "",
                         name, what, strerror(errno));
}

enum iso_status store_sync(struct iso_store *store, int file, const char *name,
                           struct iso_error *error)
{
    ISO_FAULT(iso_fault_point("before-sync"));
    if (fsync(file))
        return store_failed(store, name, "cannot be synced", error);
    ISO_FAULT(iso_fault_point("after-sync"));
    return ISO_OK;
}

bool store_has(const struct iso_store *store, const char *kind, uint64_t generation)
{
    char name[STORE_NAME];
    store_name(name, kind, generation);
    return faccessat(store->directory, name, F_OK, 0) == 0;
}

bool store_write(int file, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size) {
        ssize_t wrote = write(file, at, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        at += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

/* ---- opening ---- */

/* Whoever only looks at a state that stays as it is, in a copy or on a file system for reading,
 * needs no lock. */
static bool is_for_reading(const struct iso_store *store)
{
    return store->options.must_exist && (errno == EACCES || errno == EROFS);
}

/* The lock goes with the process, however it ends. */
static enum iso_status take_lock(struct iso_store *store, struct iso_error *error)
{
    char owner[32] = "";
    bool writes = true;
    store->lock = iso_own_open_in(store->directory, "lock", O_RDWR | O_CREAT);
    if (store->lock < 0 && is_for_reading(store)) {
        writes = false;
        store->lock = iso_own_open_in(store->directory, "lock", O_RDONLY);
        if (store->lock < 0 && errno == ENOENT)
            return ISO_OK;
    }
    if (store->lock < 0)
        return store_failed(store, "lock", "cannot be opened", error);
    if (flock(store->lock, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK)
            return store_failed(store, "lock", "cannot be locked", error);
        ssize_t length = pread(store->lock, owner, sizeof owner - 1, 0);
        owner[length > 0 ? length : 0] = 0;
        return iso_error_set(error, ISO_FAILED, "state %s: in use by another isochron, process %s",
                             store->path, *owner ? owner : "unknown");
    }
    if (!writes)
        return ISO_OK;
    int length = snprintf(owner, sizeof owner, "%ld", (long)getpid());
    if (ftruncate(store->lock, 0) || !store_write(store->lock, owner, (size_t)length))
        return store_failed(store, "lock", "cannot be written", error);
    return ISO_OK;
}

/* The generation in a name such as snapshot-7; 0: it is another. */
uint64_t store_generation_in(const char *name, const char *kind)
{
    size_t length = strlen(kind);
    char *end;
    if (strncmp(name, kind, length) || name[length] != '-' || name[length + 1] < '1' ||
        name[length + 1] > '9')
        return 0;
    uint64_t generation = strtoull(name + length + 1, &end, 10);
    return *end ? 0 : generation;
}

/* A new listing of the directory; NULL on error. */
DIR *store_list(const struct iso_store *store, struct iso_error *error)
{
    int descriptor = openat(store->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (!listing)
        store_failed(store, "", "cannot be listed", error);
    return listing;
}

const char *store_list_next(const struct iso_store *store, DIR *listing, struct iso_error *error)
{
    errno = 0;
    const struct dirent *entry = readdir(listing);
    if (!entry && errno)
        store_failed(store, "", "cannot be listed", error);
    return entry ? entry->d_name : NULL;
}

static enum iso_status find_snapshot(struct iso_store *store, struct iso_error *error)
{
    char name[STORE_NAME];
    struct stat status;
    const char *entry;
    uint64_t journals = 0;
    DIR *listing = store_list(store, error);
    store->base = 0;
    while (listing && (entry = store_list_next(store, listing, error))) {
        uint64_t snapshot = store_generation_in(entry, "snapshot"),
                 journal = store_generation_in(entry, "journal");
        store->base = snapshot > store->base ? snapshot : store->base;
        journals = journal > journals ? journal : journals;
    }
    if (listing)
        closedir(listing);
    if (error->status != ISO_OK)
        return error->status;
    store_name(name, "snapshot", store->base);
    if (store->base && fstatat(store->directory, name, &status, 0))
        return store_failed(store, name, "cannot be examined", error);
    store->base_bytes = store->base ? (uint64_t)status.st_size : 0;
    /* The first journal precedes its snapshot: a crash between the two leaves it alone, and with
     * nothing in it. */
    if (!store->base && journals > 1)
        return iso_error_set(error, ISO_FAILED,
                             "state %s: damaged: it has a journal and no snapshot", store->path);
    store_name(name, "journal", store->base);
    if (!store->base || store_has(store, "journal", store->base))
        return ISO_OK;
    if (errno != ENOENT)
        return store_failed(store, name, "cannot be examined", error);
    return iso_error_set(error, ISO_FAILED, "state %s: damaged: %s is missing", store->path, name);
}

/* A lock is not made where there is nothing to be locked: whoever looks into another directory
 * leaves no trace. */
static bool may_be_state(struct iso_store *store, struct iso_error *error)
{
    if (!store->options.must_exist || !faccessat(store->directory, "lock", F_OK, 0))
        return true;
    return find_snapshot(store, error) == ISO_OK && store->base;
}

/* Nobody else may put files there, or another directory in its place. Whoever only looks needs no
 * such thing. */
static void check_folders(const struct iso_store *store, struct iso_error *error)
{
    struct stat status;
    char *parent = iso_own_folder_of(store->path);
    if (fstat(store->directory, &status))
        store_failed(store, "", "cannot be examined", error);
    else if (iso_own_folder_is(store->path, &status, true, error))
        iso_own_folder(parent, error);
    iso_free(parent);
}

struct iso_store *iso_store_open(const struct iso_store_options *options, struct iso_error *error)
{
    struct iso_store *store = iso_allocate_zeroed(1, sizeof *store);
    store->options = *options;
    store->path = iso_copy_text(options->path, strlen(options->path));
    store->directory = store->lock = store->out = -1;
    syncer_init(&store->syncer);
    if (!options->must_exist && mkdir(options->path, 0700) && errno != EEXIST) {
        store_failed(store, "", "cannot be created", error);
        goto out;
    }
    store->directory =
        open(options->path,
             O_RDONLY | O_DIRECTORY | O_CLOEXEC | (options->must_exist ? 0 : O_NOFOLLOW), 0);
    if (store->directory < 0 && errno == ENOTDIR)
        iso_error_set(error, ISO_BAD_INPUT,
                      "state %s: expected a directory, and no symbolic link to one", store->path);
    else if (store->directory < 0)
        iso_error_set(error, options->must_exist ? iso_error_of_open(errno) : ISO_FAILED,
                      "state %s: cannot be opened: %s", store->path, strerror(errno));
    if (error->status == ISO_OK && !options->must_exist)
        check_folders(store, error);
    if (error->status == ISO_OK && may_be_state(store, error) && take_lock(store, error) == ISO_OK)
        find_snapshot(store, error);
    if (error->status == ISO_OK && options->must_exist && !store->base)
        iso_error_set(error, ISO_BAD_INPUT, "state %s: contains no state", store->path);
    if (error->status == ISO_OK && !options->must_exist)
        store_clean(store, NULL, NULL, error);
    iso_store_rewind(store);
out:
    if (error->status == ISO_OK)
        return store;
    iso_store_close(store);
    return NULL;
}

void iso_store_close(struct iso_store *store)
{
    if (!store)
        return;
    store->is_ending = true;
    iso_store_abandon(store);
    syncer_release(&store->syncer);
    if (store->out >= 0)
        close(store->out);
    if (store->lock >= 0)
        close(store->lock);
    if (store->directory >= 0)
        close(store->directory);
    ISO_FREE_ALL(store->in.bytes, store->scratch, store->path, store);
}

bool iso_store_is_new(const struct iso_store *store)
{
    return !store->base;
}

uint64_t iso_store_journal_bytes(const struct iso_store *store)
{
    return store->appended;
}

uint64_t iso_store_snapshot_bytes(const struct iso_store *store)
{
    return store->base_bytes;
}

uint64_t iso_store_torn(const struct iso_store *store)
{
    return store->torn;
}

bool iso_store_is_altered(const struct iso_store *store)
{
    return store->is_altered;
}

uint64_t iso_store_generation(const struct iso_store *store)
{
    return store->base;
}

/* ---- reading ---- */

static enum iso_status read_snapshot(struct iso_store *store, iso_store_walk walk, void *context,
                                     bool to_its_end, struct iso_error *error)
{
    assert(store->base);
    char name[STORE_NAME], path[512];
    struct iso_archive archive;
    store_name(name, "snapshot", store->base);
    snprintf(path, sizeof path, "state %s/%s", store->path, name);
    int file = iso_own_open_in(store->directory, name, O_RDONLY);
    if (file < 0)
        return store_failed(store, name, "cannot be opened", error);
    iso_archive_restore(&archive, file, path, error);
    walk(context, &archive);
    if (to_its_end)
        iso_archive_release(&archive);
    else
        iso_archive_close(&archive);
    close(file);
    return error->status;
}

enum iso_status iso_store_restore(struct iso_store *store, iso_store_walk walk, void *context,
                                  struct iso_error *error)
{
    return read_snapshot(store, walk, context, false, error);
}

enum iso_status iso_store_examine(struct iso_store *store, iso_store_walk walk, void *context,
                                  struct iso_error *error)
{
    return read_snapshot(store, walk, context, true, error);
}

void iso_store_rewind(struct iso_store *store)
{
    assert(store->out < 0);
    iso_free(store->in.bytes);
    store->in = (struct journal_in){0};
    store->read_generation = store->base;
    store->at_end = false;
    store->appended = 0;
}

/* All of a file, which the caller frees. */
static uint8_t *read_file(struct iso_store *store, const char *name, size_t *size,
                          struct iso_error *error)
{
    struct stat status;
    int file = iso_own_open_in(store->directory, name, O_RDONLY);
    uint8_t *bytes = NULL;
    *size = 0;
    if (file < 0 || fstat(file, &status)) {
        store_failed(store, name, "cannot be opened", error);
    } else {
        bytes = iso_allocate((size_t)status.st_size);
        while (*size < (size_t)status.st_size) {
            ssize_t got = read(file, bytes + *size, (size_t)status.st_size - *size);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0) {
                store_failed(store, name, "cannot be read", error);
                break;
            }
            *size += (size_t)got;
        }
    }
    if (file >= 0)
        close(file);
    return bytes;
}

static void set_damaged(const struct iso_store *store, struct iso_error *error)
{
    iso_error_set(error, ISO_FAILED,
                  "state %s/journal-%" PRIu64 ": damaged at byte %zu: a checksum does not fit",
                  store->path, store->read_generation, store->in.at);
}

/* A crash of the machine may lose the end of a journal and keep the next one, which then hangs in
 * the air. */
static void end_torn(struct iso_store *store)
{
    char name[STORE_NAME];
    struct stat status;
    store->torn = store->in.size - store->in.at;
    store->is_altered = store->in.at && store->torn && journal_is_altered(&store->in);
    store->at_end = true;
    for (uint64_t next = store->read_generation + 1; store_has(store, "journal", next); next++) {
        store_name(name, "journal", next);
        if (!fstatat(store->directory, name, &status, 0))
            store->torn += (uint64_t)status.st_size;
    }
}

static enum journal_step open_journal(struct iso_store *store, struct iso_error *error)
{
    char name[STORE_NAME];
    size_t size;
    store_name(name, "journal", store->read_generation);
    uint8_t *bytes = read_file(store, name, &size, error);
    return journal_open(&store->in, bytes, size, store->read_generation);
}

/* Nothing stands behind the last record of a journal: the next takes over, if the record says
 * so. */
static void end_journal(struct iso_store *store, struct iso_error *error)
{
    char name[STORE_NAME];
    if (!store->in.rolled || !store_has(store, "journal", store->read_generation + 1)) {
        store_name(name, "journal", store->read_generation + 1);
        if (store->in.rolled && errno != ENOENT)
            store_failed(store, name, "cannot be examined", error);
        end_torn(store);
        return;
    }
    iso_free(store->in.bytes);
    store->in = (struct journal_in){0};
    store->read_generation++;
}

bool iso_store_next(struct iso_store *store, struct iso_store_record *record,
                    struct iso_error *error)
{
    struct journal_record head;
    assert(store->out < 0);
    while (!store->at_end && error->status == ISO_OK) {
        enum journal_step step = store->in.bytes ? JOURNAL_RECORD : open_journal(store, error);
        if (step == JOURNAL_RECORD)
            step = journal_next(&store->in, &head, &record->bytes);
        if (error->status != ISO_OK)
            break;
        if (step == JOURNAL_DAMAGED)
            set_damaged(store, error);
        else if (step == JOURNAL_TORN)
            end_torn(store);
        else if (step == JOURNAL_END)
            end_journal(store, error);
        if (step != JOURNAL_RECORD)
            continue;
        store->appended += sizeof head + head.size;
        record->type = head.type;
        record->size = head.size;
        if (head.type != JOURNAL_ROLL)
            return true;
    }
    return false;
}
