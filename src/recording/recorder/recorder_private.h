/* What the recorder's files share: a session's record, and where records go.
 *
 * A *sink* is a struct of functions; the file's has a ring and a thread of its own, Kafka's is
 * librdkafka's queue, in-band's is nothing. Memory comes from malloc and may be missing:
 * base/memory.h would end the application.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "iso/recorder.h"

/* A text in memory that may be missing: `failed` once it could not grow, and then it holds nothing
 * useful. */
struct recorder_text {
    char *bytes;
    size_t used, capacity, limit;
    bool failed;
};

void recorder_put_bytes(struct recorder_text *text, const void *bytes, size_t size);
void recorder_put(struct recorder_text *text, const char *string);
void recorder_put_number(struct recorder_text *text, uint64_t number);
void recorder_put_string(struct recorder_text *text,
                         const char *string); /* as JSON; not UTF-8: fails */

/* Fates of a record. */
enum recorder_fate { RECORDER_TAKEN, RECORDER_FULL, RECORDER_REFUSED, RECORDER_FATES };

struct recorder_sink {
    /* Takes `size` bytes, a whole line. Any thread. */
    enum recorder_fate (*take)(void *context, const char *sid, const char *line, size_t size);
    bool (*flush)(void *context, unsigned seconds);
    void (*count)(void *context,
                  struct iso_recorder_statistics *statistics); /* fills what it knows */
    void (*free)(void *context);
    /* Sends what is no record, behind all that was taken with the same key; false: it could not be
     * taken. NULL: there is nothing but records. */
    bool (*tell)(void *context, const char *key, const char *line, size_t size);
    bool tells_sessions; /* where records of a session may come in another order than those of
                            others */
};

/* Knowledge of a database's snapshots, for watermarks. A session sets its `floor` before its
 * transaction takes a snapshot, and clears it after the record was taken. */
struct recorder_floor {
    _Atomic uint64_t xmin; /* no record of the session will have a smaller one; UINT64_MAX: no
                              transaction is open */
    struct recorder_floor *next;
};

struct recorder_floors {
    _Atomic uint64_t newest;      /* the largest xmin that any snapshot was seen to have */
    pthread_mutex_t lock;         /* guards the list */
    struct recorder_floor *first; /* one a session */
};

void recorder_floors_add(struct recorder_floors *floors, struct recorder_floor *floor);
void recorder_floors_remove(struct recorder_floors *floors, struct recorder_floor *floor);
void recorder_floors_saw(struct recorder_floors *floors, const char *snapshot,
                         struct recorder_floor *floor);
/* The least xmin that a record may still have; 0: nothing is known. */
uint64_t recorder_floors_least(struct recorder_floors *floors);

struct iso_recorder {
    const struct recorder_sink *sink; /* NULL: in-band only */
    void *context;
    size_t record_bytes;
    struct recorder_floors floors;
    pthread_mutex_t lock; /* guards `counts` and `has_begun` */
    uint64_t counts[RECORDER_FATES];
    char id[96];    /* unique; "": it does not say how many records there are */
    bool has_begun; /* and that was said */
    bool from_stream;
    /* transactions of all sessions: they have numbers, also those that were dropped */
    _Atomic uint64_t ended;
};

enum {
    /* how often it says that it lives, where somebody may wait for more */
    RECORDER_ALIVE_MS = 2000,
    RECORDER_COUNT_BYTES = 256
};

/* Says how many records its sessions have had; false: that could not be said. */
enum recorder_word { RECORDER_BEGINS, RECORDER_LIVES, RECORDER_ENDS };
bool recorder_tell(struct iso_recorder *recorder, enum recorder_word word);
/* The line that says so (native/counted.h); `line`: of a file, or 0. Returns its length. */
int recorder_put_count(const struct iso_recorder *recorder, enum recorder_word word, uint64_t line,
                       char text[RECORDER_COUNT_BYTES]);
bool recorder_begin(struct iso_recorder *recorder); /* in front of the first one: once */

/* Owned by the caller, its sink not set; NULL and an error without memory. */
struct iso_recorder *recorder_new(const struct iso_recorder_options *options,
                                  struct iso_error *error);
void recorder_name(struct iso_recorder *recorder);
void recorder_count(struct iso_recorder *recorder, enum recorder_fate fate);
size_t recorder_buffer_bytes(const struct iso_recorder_options *options);

/* A thread that takes no signals: they are the application's, and a broken pipe is an error like
 * any other.
 */
bool recorder_start_thread(pthread_t *thread, void *(*run)(void *), void *context,
                           struct iso_error *error);

/* Seconds of the monotonic clock from now, for pthread_cond_timedwait. */
struct timespec recorder_deadline(unsigned seconds);
