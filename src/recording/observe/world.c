#define _GNU_SOURCE
#include "observe/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include "base/hash.h"
#include "base/memory.h"

/* Nanoseconds. Whether the catalog is what it was is asked no more often, and, as the catalog
 * itself of sessions that are idle, for a twentieth of the time at most. */
enum { FIRST_ASKERS = 64, CHECK_PAUSE = 50000000, CHECK_SHARE = 20, DEFINED_SECONDS = 10 };

/* ---- all threads' ---- */

void observe_shared_init(struct observe_shared *shared, struct iso_recorder *recorder,
                         const char *sid)
{
    *shared = (struct observe_shared){.recorder = recorder, .sid = sid};
    uint64_t drawn[2];
    if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
        drawn[0] = drawn[1] = iso_hash_number((uint64_t)(uintptr_t)shared ^ (uint64_t)time(NULL));
    snprintf(shared->question_name, sizeof shared->question_name,
             "isochron_%016" PRIx64 "%016" PRIx64, drawn[0], drawn[1]);
    pthread_mutex_init(&shared->lock, NULL);
}

static void free_database(struct observe_database *database)
{
    catalog_release(database->catalog);
    iso_free(database->name);
    iso_free(database);
}

void observe_shared_release(struct observe_shared *shared)
{
    while (shared->databases) {
        struct observe_database *database = shared->databases;
        shared->databases = database->next;
        free_database(database);
    }
    pthread_mutex_destroy(&shared->lock);
}

struct observe_database *observe_database(struct observe_shared *shared, const char *name)
{
    pthread_mutex_lock(&shared->lock);
    struct observe_database **position = &shared->databases, *database;
    while (*position && strcmp((*position)->name, name))
        position = &(*position)->next;
    database = *position;
    if (database) {
        *position = database->next;
    } else {
        database = iso_allocate_zeroed(1, sizeof *database);
        database->name = iso_copy_text(name, strlen(name));
    }
    database->sessions++;
    database->next = shared->databases;
    shared->databases = database;
    pthread_mutex_unlock(&shared->lock);
    return database;
}

void observe_database_release(struct observe_shared *shared, struct observe_database *database)
{
    uint32_t unused = 0;
    if (!database)
        return;
    pthread_mutex_lock(&shared->lock);
    database->sessions--;
    for (struct observe_database **position = &shared->databases; *position;) {
        struct observe_database *one = *position;
        unused += !one->sessions;
        if (one->sessions || unused <= DATABASES_KEPT) {
            position = &one->next;
        } else {
            *position = one->next;
            free_database(one);
        }
    }
    pthread_mutex_unlock(&shared->lock);
}

uint32_t observe_databases(struct observe_shared *shared)
{
    uint32_t count = 0;
    pthread_mutex_lock(&shared->lock);
    for (const struct observe_database *database = shared->databases; database;
         database = database->next)
        count++;
    pthread_mutex_unlock(&shared->lock);
    return count;
}

static void give_back(struct observe_database *database, int64_t now)
{
    int64_t spent = database->spent - (now - database->spent_at) / CATALOG_SHARE;
    database->spent = spent > 0 ? spent : 0;
    database->spent_at = now;
}

static bool is_wanted(const struct observe_database *database, int64_t age, bool is_idle,
                      bool is_awaited)
{
    if (!is_idle)
        return (is_awaited || database->cost < CATALOG_CHEAP) && database->is_stale &&
               !database->is_asked && database->spent < (is_awaited ? 10 * SECOND : CATALOG_BURST);
    if (!database->cost && database->first_askers < FIRST_ASKERS)
        return true; /* each of the first sessions asks for itself, so that nothing is missed */
    int64_t pause = CATALOG_PAUSE * SECOND > CHECK_SHARE * database->cost
                        ? CATALOG_PAUSE * SECOND
                        : CHECK_SHARE * database->cost;
    if (database->is_asked)
        return age > 10 * CATALOG_PAUSE * SECOND;
    return age >= pause && (!database->catalog || database->is_stale);
}

bool observe_catalog_wanted(struct observe_shared *shared, struct observe_database *database,
                            bool is_idle)
{
    int64_t now = iso_clock_nanoseconds();
    pthread_mutex_lock(&shared->lock);
    give_back(database, now);
    bool wanted = is_wanted(database, now - database->asked_at, is_idle, shared->host.look);
    if (wanted) {
        database->first_askers += !database->cost;
        database->is_asked = true;
        database->is_stale = false;
        database->asked_at = now;
    }
    pthread_mutex_unlock(&shared->lock);
    return wanted;
}

static void confirm(struct catalog *catalog, int64_t asked_at)
{
    if (asked_at > catalog->confirmed_at)
        catalog->confirmed_at = asked_at;
}

/* In place of the one that is known, if it says anything else. Sessions may still have earlier
 * ones: what was recorded by them before is confirmed if nothing of what was used is another. */
static void take_catalog(struct observe_database *database, struct catalog *catalog)
{
    struct catalog *known = database->catalog;
    if (known && catalog_agrees(known, catalog, false))
        confirm(known, catalog->asked_at);
    if (known && catalog_agrees(known, catalog, true)) {
        catalog_release(catalog);
        return;
    }
    if (known)
        known->is_replaced = true;
    catalog_release(known);
    database->catalog = catalog;
    database->serial = catalog->serial;
}

void observe_catalog_is(struct observe_shared *shared, struct observe_database *database,
                        struct catalog *catalog)
{
    pthread_mutex_lock(&shared->lock);
    int64_t cost = iso_clock_nanoseconds() - (catalog ? catalog->asked_at : database->asked_at),
            more = cost - database->cost;
    database->is_asked = false;
    database->spent += cost;
    if (catalog || more > 0)
        database->cost = catalog && database->cost && more > 0 ? database->cost + more / 4 : cost;
    if (catalog)
        take_catalog(database, catalog);
    else
        database->is_stale = true;
    pthread_mutex_unlock(&shared->lock);
}

/* Where catalogs change, more often, before they do again. */
bool observe_check_wanted(struct observe_shared *shared, struct observe_database *database)
{
    int64_t now = iso_clock_nanoseconds(), pause = CHECK_SHARE * database->check_cost;
    pthread_mutex_lock(&shared->lock);
    give_back(database, now);
    bool is_due = now - database->check_at > (pause > CHECK_PAUSE ? pause : CHECK_PAUSE);
    bool is_defined = database->defined_at && now - database->defined_at < DEFINED_SECONDS * SECOND;
    bool is_known = !database->catalog || database->catalog->is_refuted;
    pthread_mutex_unlock(&shared->lock);
    return !is_known &&
           (is_due || (is_defined && !shared->host.look && database->spent < CATALOG_BURST));
}

bool observe_check_is_old(struct observe_shared *shared, struct observe_database *database)
{
    pthread_mutex_lock(&shared->lock);
    int64_t last =
        database->check_at > database->asked_at ? database->check_at : database->asked_at;
    bool is_known = database->catalog && !database->catalog->is_refuted;
    pthread_mutex_unlock(&shared->lock);
    return is_known && iso_clock_nanoseconds() - last > CATALOG_SECONDS * SECOND;
}

void observe_is_defined(struct observe_database *database)
{
    database->is_stale = true;
    database->defined_at = iso_clock_nanoseconds();
}

void observe_confirmed(struct observe_shared *shared, struct observe_database *database,
                       struct catalog *catalog, int64_t asked_at, bool is_same)
{
    pthread_mutex_lock(&shared->lock);
    database->check_cost = iso_clock_nanoseconds() - asked_at;
    database->spent += database->check_cost;
    catalog->is_refuted |= !is_same;
    if (!is_same && catalog == database->catalog)
        observe_is_defined(database);
    if (is_same)
        confirm(catalog, asked_at);
    pthread_mutex_unlock(&shared->lock);
}

bool observe_is_awaited(struct observe_shared *shared, const struct catalog *catalog)
{
    pthread_mutex_lock(&shared->lock);
    bool is_awaited = catalog->held_at >= catalog->confirmed_at && catalog->held_at;
    pthread_mutex_unlock(&shared->lock);
    return is_awaited;
}

int64_t observe_hold(struct observe_shared *shared, struct catalog *catalog)
{
    pthread_mutex_lock(&shared->lock);
    int64_t now = catalog->held_at = iso_clock_nanoseconds();
    pthread_mutex_unlock(&shared->lock);
    return now;
}

enum observe_verdict observe_held(struct observe_shared *shared, const struct observe_held *held)
{
    if (!held->catalog)
        return HELD_WAITS;
    pthread_mutex_lock(&shared->lock);
    enum observe_verdict verdict = held->catalog->confirmed_at > held->at ? HELD_RIGHT
                                   : held->catalog->is_replaced           ? HELD_WRONG
                                                                          : HELD_WAITS;
    pthread_mutex_unlock(&shared->lock);
    return verdict;
}

struct catalog *observe_catalog(struct observe_shared *shared, struct observe_database *database)
{
    pthread_mutex_lock(&shared->lock);
    struct catalog *catalog = database->catalog ? catalog_share(database->catalog) : NULL;
    pthread_mutex_unlock(&shared->lock);
    return catalog;
}

/* ---- one thread's ---- */

void observe_count(struct observe_world *world, uint64_t *counter)
{
    pthread_mutex_lock(&world->lock);
    ++*counter;
    pthread_mutex_unlock(&world->lock);
}

struct observe_world *observe_world_new(struct observe_shared *shared)
{
    struct observe_world *world = iso_allocate_zeroed(1, sizeof *world);
    world->shared = shared;
    world->plans = iso_allocate_zeroed(WORLD_PLANS * 2, sizeof *world->plans);
    world->shapes[WORLD_SHAPES].shape = iso_copy_text("other", 5);
    pthread_mutex_init(&world->lock, NULL);
    return world;
}

static void forget_plans(struct observe_world *world)
{
    for (uint32_t i = 0; i < WORLD_PLANS * 2; i++) {
        if (!world->plans[i].plan)
            continue;
        plan_release(world->plans[i].plan);
        iso_free(world->plans[i].text);
        world->plan_bytes -= world->plans[i].length;
        world->plans[i] = (struct world_plan){0};
    }
    world->plan_count = 0;
}

void observe_world_free(struct observe_world *world)
{
    if (!world)
        return;
    forget_plans(world);
    iso_free(world->plans);
    for (uint32_t i = 0; i <= WORLD_SHAPES; i++)
        iso_free(world->shapes[i].shape);
    iso_text_release(&world->template);
    iso_text_release(&world->told);
    pthread_mutex_destroy(&world->lock);
    iso_free(world);
}

static struct observe_shape *find_shape(struct observe_world *world, const char *text)
{
    for (uint32_t i = 0; i < world->shape_count; i++)
        if (!strcmp(world->shapes[i].shape, text))
            return &world->shapes[i];
    if (world->shape_count == WORLD_SHAPES)
        return &world->shapes[WORLD_SHAPES];
    pthread_mutex_lock(&world->lock);
    struct observe_shape *shape = &world->shapes[world->shape_count];
    shape->shape = iso_copy_text(text, strlen(text));
    world->shape_count++;
    pthread_mutex_unlock(&world->lock);
    return shape;
}

static struct world_plan *find_plan(struct observe_world *world, const char *text, size_t length,
                                    bool is_template)
{
    uint64_t hash = iso_hash_text(text, length) + !is_template;
    uint32_t position = (uint32_t)hash % (WORLD_PLANS * 2);
    for (; world->plans[position].plan; position = (position + 1) % (WORLD_PLANS * 2)) {
        struct world_plan *known = &world->plans[position];
        if (known->hash == hash && known->length == length && !memcmp(known->text, text, length))
            return known;
    }
    if (world->plan_count == WORLD_PLANS || world->plan_bytes >= WORLD_PLAN_BYTES) {
        forget_plans(world); /* statements that are prepared keep theirs */
        position = (uint32_t)hash % (WORLD_PLANS * 2);
    }
    if (world->plan_bytes >= WORLD_PLAN_BYTES && length) {
        observe_count(world, &world->counts.plans_refused);
        return find_plan(world, "", 0, true);
    }
    struct world_plan *known = &world->plans[position];
    *known = (struct world_plan){hash, plan_new(text, length, is_template, &world->plan_bytes),
                                 iso_copy_text(text, length), length, NULL};
    observe_count(world, &world->counts.plans);
    world->plan_count++;
    world->plan_bytes += length;
    known->shape = find_shape(world, known->plan->needs_constants ? ".." : known->plan->shape);
    return known;
}

struct plan *observe_plan(struct observe_world *world, const char *text, size_t length,
                          bool backslashes, struct constants *constants,
                          struct observe_shape **shape)
{
    template_make(text, length, backslashes, &world->template, constants);
    size_t used = world->template.used <= WORLD_PLAN_TEXT ? world->template.used : 0;
    struct world_plan *known = find_plan(world, used ? world->template.bytes : "", used, true);
    if (known->plan->needs_constants && length <= WORLD_PLAN_TEXT)
        known = find_plan(world, text, length, false);
    *shape = known->shape;
    return plan_share(known->plan);
}
