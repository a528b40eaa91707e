/* A state directory: snapshots of all state, and a journal of what happened since.
 *
 *   DIR/lock          locked by the process that uses it; contains its number
 *   DIR/snapshot-N    the whole state, an archive (base/archive.h); N rises
 *   DIR/journal-N     records: what was done from snapshot N on, until journal-(N+1) takes over
 *   DIR/snapshot-N.new  one that is being written
 *
 * Idea. Whoever keeps state here is a function of what it is given. So the journal need not say how
 * the state changed, only what it was given: that is short, and its cost is that of the input, not
 * of the state. A record that is appended is safe from the death of the process at once, and from
 * the machine's after iso_store_sync, which is the checkpoint. A snapshot bounds what has to be
 * done again. It is written by a forked child, from the memory as it was at the fork: the parent
 * waits only for the fork, and continues in a new journal. Only iso_store_commit, once the child is
 * done, makes the snapshot the one to start from, by a rename; then the one before it is removed,
 * and large pages that were split meanwhile are put together for the next fork (huge.c). At any
 * moment the directory has one committed snapshot and all records since. While it runs the caller
 * never waits for the device: a thread syncs.
 *
 * Damage. Every byte of a snapshot and of a journal is under a checksum. Records carry numbers.
 * Where the last record that is whole has nothing whole behind it, a crash cut the journal there:
 * what is behind is removed, and its length is reported. That is always safe: what was only read
 * and judged is read and judged again. Anything else that does not fit (bytes altered, a file gone,
 * a record in the middle) is ISO_FAILED, and nothing is used.
 *
 * Threads: the caller's, one at a time, and the syncer's. The child of a snapshot runs `walk` and
 * ends there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "store/record.h"

struct iso_store;

/* Saves or restores the state, by one walk. */
typedef void (*iso_store_walk)(void *context, struct iso_archive *archive);

struct iso_store_options {
    const char *path;
    bool must_exist; /* a directory without a snapshot is an error, and nothing is created or cut
                      * there. What may only be read is looked at without a lock, if it has none */
};

/* Takes the lock; makes the directory if need be. NULL on error. */
struct iso_store *iso_store_open(const struct iso_store_options *options, struct iso_error *error);
void iso_store_close(struct iso_store *store);

/* Nothing was ever committed here: it begins with iso_store_begin. */
bool iso_store_is_new(const struct iso_store *store);
enum iso_status iso_store_begin(struct iso_store *store, iso_store_walk walk, void *context,
                                struct iso_error *error);

/* Otherwise: the snapshot, then the records since; false: no more, or an error. They may be gone
 * through again. Then iso_store_resume cuts off a torn record, and appending goes on. */
enum iso_status iso_store_restore(struct iso_store *store, iso_store_walk walk, void *context,
                                  struct iso_error *error);
/* As iso_store_restore, for a walk that goes through all items by iso_archive_next. */
enum iso_status iso_store_examine(struct iso_store *store, iso_store_walk walk, void *context,
                                  struct iso_error *error);
void iso_store_rewind(struct iso_store *store);
bool iso_store_next(struct iso_store *store, struct iso_store_record *record,
                    struct iso_error *error);
enum iso_status iso_store_resume(struct iso_store *store, uint64_t *torn, struct iso_error *error);

/* With must_exist, once all records were read: removes what nothing needs (snapshots and journals
 * that another has replaced, or that a crash left unfinished; the torn end of a journal), and tells
 * of each file how many bytes it freed. Nothing that is removed or cut is ever read: it may be
 * killed at any moment. */
typedef void (*iso_store_freed)(void *context, const char *name, uint64_t bytes);
enum iso_status iso_store_compact(struct iso_store *store, iso_store_freed freed, void *context,
                                  struct iso_error *error);

enum iso_status iso_store_append(struct iso_store *store, uint32_t type, const void *bytes,
                                 size_t size, struct iso_error *error);
/* Everything that was appended gets to the device: while the caller goes on (nothing if that is
 * under way already), or before it does (`wait`). */
enum iso_status iso_store_sync(struct iso_store *store, bool wait, struct iso_error *error);

/* When the last sync that went on beside the caller and succeeded began, in microseconds of the
 * monotonic clock, and how long it took; false: there was none. */
bool iso_store_synced(struct iso_store *store, uint64_t *began, uint64_t *took);

/* Bytes: of records since the snapshot that is the latest, committed or not; of the committed
 * snapshot. */
uint64_t iso_store_journal_bytes(const struct iso_store *store);
uint64_t iso_store_snapshot_bytes(const struct iso_store *store);
/* once all records were read: bytes that are none */
uint64_t iso_store_torn(const struct iso_store *store);
/* and those are a whole record that was altered */
bool iso_store_is_altered(const struct iso_store *store);
uint64_t iso_store_generation(const struct iso_store *store); /* of the committed snapshot */

/* Starts to write a snapshot; there must be none under way. */
enum iso_status iso_store_snapshot(struct iso_store *store, iso_store_walk walk, void *context,
                                   struct iso_error *error);
enum iso_store_progress {
    ISO_STORE_IDLE,
    ISO_STORE_WRITING,
    ISO_STORE_WRITTEN,
    ISO_STORE_COMMITTING
};
/* How far it is. A child that failed is an error; `wait`: until it has gone on. */
enum iso_store_progress iso_store_look(struct iso_store *store, bool wait, struct iso_error *error);
enum iso_status iso_store_commit(struct iso_store *store,
                                 struct iso_error *error); /* WRITTEN -> COMMITTING */
void iso_store_abandon(struct iso_store *store);           /* any -> IDLE */
