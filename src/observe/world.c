#define _GNU_SOURCE
#include "observe/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include "base/hash.h"
#include "base/memory.h"

enum { FIRST_ASKERS = 64 };

/* ---- all threads' ---- */

void observe_shared_init(struct observe_shared *shared, struct iso_recorder *recorder, const char *sid)
{
    *shared = (struct observe_shared){.recorder = recorder, .sid = sid};
    uint64_t drawn[2];
    if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
        drawn[0] = drawn[1] = iso_hash_number((uint64_t)(uintptr_t)shared ^ (uint64_t)time(NULL));
    snprintf(shared->question_name, sizeof shared->question_name, "isochron_%016" PRIx64 "%016" PRIx64, drawn[0],
             drawn[1]);
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
    struct observe_database **place = &shared->databases, *database;
    while (*place && strcmp((*place)->name, name))
        place = &(*place)->next;
    database = *place;
    if (database) {
        *place = database->next;
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
    for (struct observe_database **place = &shared->databases; *place;) {
        struct observe_database *one = *place;
        unused += !one->sessions;
        if (one->sessions || unused <= DATABASES_KEPT) {
            place = &one->next;
        } else {
            *place = one->next;
            free_database(one);
        }
    }
    pthread_mutex_unlock(&shared->lock);
}

uint32_t observe_databases(struct observe_shared *shared)
{
    uint32_t count = 0;
    pthread_mutex_lock(&shared->lock);
    for (const struct observe_database *database = shared->databases; database; database = database->next)
        count++;
    pthread_mutex_unlock(&shared->lock);
    return count;
}

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

bool observe_catalog_wanted(struct observe_shared *shared, struct observe_database *database, bool is_moment)
{
    int64_t now = seconds_now();
    pthread_mutex_lock(&shared->lock);
    int64_t age = now - database->asked_at;
    int64_t late =
        database->check_cost < CATALOG_CHEAP ? 1 : CATALOG_LATE; /* seconds: until a working session waits for it */
    bool wanted = !is_moment           ? database->is_stale && !database->is_asked && age >= late
                  : database->is_asked ? age > 10 * CATALOG_PAUSE
                                       : !database->asked_at || age >= CATALOG_SECONDS ||
                                             (age >= CATALOG_PAUSE && (!database->catalog || database->is_stale));
    wanted |= is_moment && !database->catalog && database->first_askers < FIRST_ASKERS;
    if (wanted) {
        if (!database->catalog) /* each of the first sessions asks for itself, so that nothing is missed */
            database->first_askers++;
        database->is_asked = true;
        database->is_stale = false;
        database->asked_at = now ? now : 1;
    }
    pthread_mutex_unlock(&shared->lock);
    return wanted;
}

void observe_catalog_is(struct observe_shared *shared, struct observe_database *database, struct catalog *catalog)
{
    pthread_mutex_lock(&shared->lock);
    database->is_asked = false;
    if (catalog) {
        catalog_release(database->catalog);
        database->catalog = catalog;
        database->serial = catalog->serial;
    }
    pthread_mutex_unlock(&shared->lock);
}

int64_t observe_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void observe_confirmed(struct observe_shared *shared, struct observe_database *database, int64_t asked_at,
                       const char *generation)
{
    pthread_mutex_lock(&shared->lock);
    if (asked_at > database->confirmed_at) {
        database->confirmed_at = asked_at;
        snprintf(database->confirmed, sizeof database->confirmed, "%s", generation);
    }
    if (database->catalog && strcmp(database->catalog->generation, generation) != 0)
        database->is_stale = true;
    pthread_mutex_unlock(&shared->lock);
}

bool observe_was_confirmed(struct observe_shared *shared, struct observe_database *database, int64_t since,
                           const char *generation, bool *is_same)
{
    pthread_mutex_lock(&shared->lock);
    bool was = database->confirmed_at > since;
    *is_same = was && !strcmp(database->confirmed, generation);
    pthread_mutex_unlock(&shared->lock);
    return was;
}

struct catalog *observe_catalog(struct observe_shared *shared, struct observe_database *database)
{
    pthread_mutex_lock(&shared->lock);
    struct catalog *catalog = database->catalog ? catalog_share(database->catalog) : NULL;
    pthread_mutex_unlock(&shared->lock);
    return catalog;
}

/* ---- one thread's ---- */

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

static void count_plan(struct observe_world *world, uint64_t *counter)
{
    pthread_mutex_lock(&world->lock);
    ++*counter;
    pthread_mutex_unlock(&world->lock);
}

static struct world_plan *find_plan(struct observe_world *world, const char *text, size_t length, bool is_template)
{
    uint64_t hash = iso_hash_text(text, length) + !is_template;
    uint32_t place = (uint32_t)hash % (WORLD_PLANS * 2);
    for (; world->plans[place].plan; place = (place + 1) % (WORLD_PLANS * 2)) {
        struct world_plan *known = &world->plans[place];
        if (known->hash == hash && known->length == length && !memcmp(known->text, text, length))
            return known;
    }
    if (world->plan_count == WORLD_PLANS || world->plan_bytes >= WORLD_PLAN_BYTES) {
        forget_plans(world); /* statements that are prepared keep theirs */
        place = (uint32_t)hash % (WORLD_PLANS * 2);
    }
    if (world->plan_bytes >= WORLD_PLAN_BYTES && length) {
        count_plan(world, &world->counts.plans_refused);
        return find_plan(world, "", 0, true);
    }
    struct world_plan *known = &world->plans[place];
    *known = (struct world_plan){hash, plan_new(text, length, is_template, &world->plan_bytes),
                                 iso_copy_text(text, length), length, NULL};
    count_plan(world, &world->counts.plans);
    world->plan_count++;
    world->plan_bytes += length;
    known->shape = find_shape(world, known->plan->needs_constants ? ".." : known->plan->shape);
    return known;
}

struct plan *observe_plan(struct observe_world *world, const char *text, size_t length, bool backslashes,
                          struct constants *constants, struct observe_shape **shape)
{
    struct world_plan *known;
    template_make(text, length, backslashes, &world->template, constants);
    bool is_template = world->template.used <= WORLD_PLAN_TEXT;
    known = is_template
                ? find_plan(world, world->template.bytes ? world->template.bytes : "", world->template.used, true)
                : find_plan(world, "", 0, true);
    if (known->plan->needs_constants && length <= WORLD_PLAN_TEXT)
        known = find_plan(world, text, length, false);
    *shape = known->shape;
    return plan_share(known->plan);
}
