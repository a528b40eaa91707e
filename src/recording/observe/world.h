/* What observed sessions share: the recorder, the catalogs, what is counted (struct observe_shared,
 * of all threads), and the plans of one loop (struct observe_world, of one thread).
 *
 * Statements are counted by shape, that is by template: how often they ran, how many of those that
 * read were recorded, and why others were not. At most WORLD_SHAPES shapes have a name, the rest
 * share one. No value is ever kept or shown.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/memory.h"
#include "iso/recorder.h"
#include "observe/catalog.h"
#include "observe/plan.h"

enum {
    WORLD_PLANS = 512,
    WORLD_SHAPES = 256,
    WORLD_PLAN_TEXT = 1 << 16,
    WORLD_PLAN_BYTES = 1 << 26
};
/* Nanoseconds. A catalog whose answer took less is asked for by sessions that work: for a fifth of
 * the time, and a second at once. */
enum { CATALOG_CHEAP = 100000000, CATALOG_SHARE = 5, CATALOG_BURST = 1000000000 };
enum { CATALOG_SECONDS = 60, CATALOG_PAUSE = 2, DATABASES_KEPT = 16 };
#define SECOND INT64_C(1000000000)

struct observe_counts {
    uint64_t statements;
    uint64_t reads, recorded, empty, reasons[REASONS]; /* of statements that read */
    uint64_t transactions, aborted,
        single; /* records: of transactions, of those that aborted, of single statements */
    uint64_t unidentified; /* transactions that have no record: they wrote and their xid could not
                              be asked for, or they do not follow in their session */
    uint64_t unplaced;  /* transactions and statements without a snapshot, where only those with one
                          are recorded */
    uint64_t withdrawn; /* statements of `recorded` whose records did not go out as they were */
    uint64_t unconfirmed; /* times that records lost what they list, since the catalog had changed,
                             or could not be asked for */
    uint64_t positions, questions_failed,
        lost; /* sessions that were not understood, and are only passed on */
    uint64_t catalogs, catalogs_interrupted; /* questions for a catalog, in clients' sessions; those
                                                that gave way to the client */
    uint64_t plans, plans_refused; /* texts that were parsed; that there was no memory for */
};

struct observe_shape {
    char *shape;
    uint64_t statements, reads, recorded;
    enum plan_reason reason; /* of the last one that was passed on */
};

/* A database's catalog, and who asks for it. Names come from clients: those that no session uses
 * any more are forgotten, but for the DATABASES_KEPT that were used last. */
struct observe_database {
    char *name;
    uint32_t sessions;
    struct catalog *catalog; /* NULL: not known yet */
    _Atomic uint64_t serial; /* of the catalog */
    bool is_asked;           /* by some session, now */
    uint32_t first_askers;
    _Atomic bool is_stale; /* or may be */
    /* Nanoseconds: when it was asked for last, and how long the answer took; the same of the last
     * question whether it is what it was. */
    int64_t asked_at, cost;
    int64_t spent,
        spent_at; /* on catalogs by sessions that work, less what time has given back since */
    _Atomic int64_t check_at, check_cost;
    _Atomic int64_t defined_at; /* when somebody is known to have changed it, or may have */
    struct observe_database *next;
};

/* What comes next: no definition; one; one right behind another, of which only the names are told;
 * or a text with any number of them. */
enum observe_look {
    OBSERVE_LOOK_BEHIND,
    OBSERVE_LOOK_DEFINITION,
    OBSERVE_LOOK_NEXT,
    OBSERVE_LOOK_SEVERAL
};

/* The names, without their schemas, that definitions give to tables; `is_any`: or others. */
struct observe_given {
    ISO_LIST(const char *) names;
    bool is_any;
};

/* Always the same query: who is asked may prepare it. */
struct observe_asked {
    const char *query;
    void (*take)(void *context, const char *const *row);
    void *context;
};

struct observe_shared {
    /* Records say their level, when statements were sent and answered, and tables' OIDs behind
     * their names: "public.a~16385". */
    bool tells_moments;
    bool shows_values; /* in the texts of statements, which say `?` else; names of tests and these
                          come with moments */
    struct iso_recorder *recorder; /* NULL: nothing is recorded */
    const char *sid;               /* what ids of sessions begin with */
    const char *const *tables;     /* that are recorded; none: all */
    uint32_t table_count;
    /* Who records databases by themselves; or NULL. `admit`: a session begins; the number of its
     * database, which its id has. `yield`: before a statement goes in whose way a connection to
     * the database would be; NULL: to any. `look`: before a statement goes that may change the
     * database's catalog, and before the next one of its session. `ask`: the catalog's query, on a
     * connection of the host's, each row's texts to `take`; false: nobody answers. All may wait,
     * and the loop with them. */
    struct observe_host {
        int (*admit)(void *context, const char *database);
        void (*yield)(void *context, const char *database);
        void (*look)(void *context, const char *database, enum observe_look what,
                     const struct observe_given *given);
        bool (*ask)(void *context, const char *database, const struct observe_asked *asked);
        void *context;
    } host;
    bool needs_position; /* what has no snapshot is not recorded */
    _Atomic bool is_off;
    pthread_mutex_t lock;               /* guards databases */
    struct observe_database *databases; /* the one that was used last comes first */
    char question_name[48];             /* of the statement that asks: nobody else knows it */
};

void observe_shared_init(struct observe_shared *shared, struct iso_recorder *recorder,
                         const char *sid);
void observe_shared_release(struct observe_shared *shared);
static inline bool observe_is_on(struct observe_shared *shared)
{
    return shared->recorder && !atomic_load_explicit(&shared->is_off, memory_order_relaxed);
}

/* ---- catalogs ---- */

/* A reference. */
struct observe_database *observe_database(struct observe_shared *shared, const char *name);
void observe_database_release(struct observe_shared *shared,
                              struct observe_database *database); /* NULL is allowed */
uint32_t observe_databases(struct observe_shared *shared);        /* that are known */
/* Is it time that somebody asks for the catalog? Who gets true does, and says observe_catalog_is. A
 * session that works asks, before a statement, only for one that is out of date, and cheap (a host
 * that looks at definitions waits for any): a dear one waits for a session that is idle, or that
 * logs in. */
bool observe_catalog_wanted(struct observe_shared *shared, struct observe_database *database,
                            bool is_idle);
void observe_catalog_is(struct observe_shared *shared, struct observe_database *database,
                        struct catalog *catalog); /* NULL: failed */
struct catalog *observe_catalog(struct observe_shared *shared,
                                struct observe_database *database); /* a reference, or NULL */

/* Whether to ask if the catalog is still what was used of it; the answer confirms all sessions'
 * earlier records. */
bool observe_check_wanted(struct observe_shared *shared, struct observe_database *database);
/* Nobody has asked for CATALOG_SECONDS: of what nobody recorded, too, something may have changed,
 * as tables that are not known yet. An idle session does, which is held up by it for milliseconds.
 */
bool observe_check_is_old(struct observe_shared *shared, struct observe_database *database);
/* Somebody may have changed the catalog. */
void observe_is_defined(struct observe_database *database);
/* Was it asked, at `asked_at`, whether what was used of the catalog is what it was: the answer. */
void observe_confirmed(struct observe_shared *shared, struct observe_database *database,
                       struct catalog *catalog, int64_t asked_at, bool is_same);

/* Records of a session that follow each other, by the same catalog, up to a moment. */
struct observe_held {
    struct catalog *catalog; /* a reference; NULL: there are none */
    int64_t at;
    uint64_t until; /* which records: iso_recorder_held */
    uint64_t reads; /* statements in them */
};
/* Whether what was used of the catalog meant until then what it was taken to mean; HELD_WAITS: that
 * is not known yet. By one that was replaced since it never will be. */
enum observe_verdict { HELD_WAITS, HELD_RIGHT, HELD_WRONG };
/* Would something that waits be confirmed if that were asked now? */
bool observe_is_awaited(struct observe_shared *shared, const struct catalog *catalog);
/* Something that waits for this was recorded until now: the moment. */
int64_t observe_hold(struct observe_shared *shared, struct catalog *catalog);
enum observe_verdict observe_held(struct observe_shared *shared, const struct observe_held *held);

/* ---- one thread's ---- */

struct observe_world {
    struct observe_shared *shared;
    struct world_plan {
        uint64_t hash;
        struct plan *plan;
        char *text;
        size_t length;
        struct observe_shape *shape;
    } * plans; /* WORLD_PLANS * 2 places, found by hash */
    uint32_t plan_count;
    _Atomic size_t plan_bytes; /* of all plans that live, also of those that only prepared
                                  statements have; about WORLD_PLAN_BYTES at most */
    struct iso_text template;
    struct iso_text told; /* of a statement, for people */
    pthread_mutex_t lock; /* guards counts and shapes, which others read */
    struct observe_counts counts;
    struct observe_shape shapes[WORLD_SHAPES + 1]; /* the last: all others */
    uint32_t shape_count;
};

struct observe_world *observe_world_new(struct observe_shared *shared);
void observe_world_free(struct observe_world *world);               /* NULL is allowed */
void observe_count(struct observe_world *world, uint64_t *counter); /* one of its counts */

/* The plan of a text, and its constants; a reference. `*shape` is what counts it. */
struct plan *observe_plan(struct observe_world *world, const char *text, size_t length,
                          bool backslashes, struct constants *constants,
                          struct observe_shape **shape);
