#define _GNU_SOURCE
#include "base/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"

/* Looks before sleeping. */
enum { PATIENCE = 100 };

struct member {
    struct iso_team *team;
    uint32_t number;
    bool runs;
    pthread_t thread;
};

struct iso_team {
    struct member *members; /* the first is the caller */
    uint32_t count;
    bool started;
    void (*work)(void *context, uint32_t part);
    void *context;
    uint32_t parts;
    atomic_uint round;   /* goes up when there is work, and to end */
    atomic_uint working; /* members that are not done with this round */
    bool ends;
    pthread_mutex_t lock; /* for sleeping only */
    pthread_cond_t begun, done;
};

static inline void look_away(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}

/* Until `*number` is `wanted`, or, if `differs`, is not. */
static void await(struct iso_team *team, atomic_uint *number, unsigned wanted, bool differs,
                  pthread_cond_t *changed)
{
    for (int left = PATIENCE; left; left--) {
        if ((atomic_load_explicit(number, memory_order_acquire) == wanted) != differs)
            return;
        look_away();
    }
    pthread_mutex_lock(&team->lock);
    while ((atomic_load(number) == wanted) == differs)
        pthread_cond_wait(changed, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

static void wake(struct iso_team *team, pthread_cond_t *changed)
{
    pthread_mutex_lock(&team->lock); /* who has looked and is about to sleep sleeps by then */
    pthread_mutex_unlock(&team->lock);
    pthread_cond_broadcast(changed);
}

static void do_parts(const struct iso_team *team, uint32_t member)
{
    for (uint32_t part = member; part < team->parts; part += team->count)
        team->work(team->context, part);
}

static void *serve(void *argument)
{
    struct member *self = argument;
    struct iso_team *team = self->team;
    for (unsigned round = 0;; round++) {
        await(team, &team->round, round, true, &team->begun);
        if (team->ends)
            return NULL;
        do_parts(team, self->number);
        if (atomic_fetch_sub(&team->working, 1) == 1)
            wake(team, &team->done);
    }
}

/* Signals are for the thread that waits for them. */
static void start(struct iso_team *team)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (uint32_t i = 1; i < team->count; i++) {
        struct member *member = &team->members[i];
        *member = (struct member){.team = team, .number = i};
        member->runs = !pthread_create(&member->thread, NULL, serve, member);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    team->started = true;
}

struct iso_team *iso_team_new(uint32_t members)
{
    struct iso_team *team = iso_allocate_zeroed(1, sizeof *team);
    team->count = members ? members : 1;
    team->members = iso_allocate_zeroed(team->count, sizeof *team->members);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begun, NULL);
    pthread_cond_init(&team->done, NULL);
    return team;
}

/* The next round, for all members that run. */
static void begin(struct iso_team *team)
{
    unsigned running = 0;
    for (uint32_t i = 1; i < team->count; i++)
        running += team->members[i].runs;
    atomic_store(&team->working, running);
    atomic_fetch_add(&team->round, 1);
    if (running)
        wake(team, &team->begun);
}

void iso_team_free(struct iso_team *team)
{
    if (!team)
        return;
    team->ends = true;
    begin(team);
    for (uint32_t i = 1; i < team->count; i++) {
        if (team->members[i].runs)
            pthread_join(team->members[i].thread, NULL);
    }
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->begun);
    pthread_mutex_destroy(&team->lock);
    ISO_FREE_ALL(team->members, team);
}

void iso_team_run(void *runner, void (*work)(void *context, uint32_t part), void *context,
                  uint32_t parts)
{
    struct iso_team *team = runner;
    if (parts == 1) {
        work(context, 0);
        return;
    }
    if (!team->started)
        start(team);
    team->work = work;
    team->context = context;
    team->parts = parts;
    begin(team);
    do_parts(team, 0);
    for (uint32_t i = 1; i < team->count; i++) {
        if (!team->members[i].runs)
            do_parts(team, i);
    }
    await(team, &team->working, 0, false, &team->done);
}

void iso_parallel(uint32_t parts, void (*work)(void *context, uint32_t part), void *context)
{
    struct iso_team *team = iso_team_new(parts);
    iso_team_run(team, work, context, parts);
    iso_team_free(team);
}
