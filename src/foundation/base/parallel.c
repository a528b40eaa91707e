#include "base/parallel.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/memory.h"

struct part {
    void (*work)(void *context, unsigned part);
    void *context;
    unsigned number;
    bool started;
    pthread_t thread;
};

static void *run_part(void *argument)
{
    struct part *part = argument;
    part->work(part->context, part->number);
    return NULL;
}

void iso_parallel(unsigned parts, void (*work)(void *context, unsigned part), void *context)
{
    struct part *all = iso_allocate_zeroed(parts, sizeof *all);
    for (unsigned i = 0; i < parts; i++) {
        all[i] = (struct part){.work = work, .context = context, .number = i};
        all[i].started = i && pthread_create(&all[i].thread, NULL, run_part, &all[i]) == 0;
    }
    for (unsigned i = 0; i < parts; i++) {
        if (!all[i].started)
            run_part(&all[i]);
    }
    for (unsigned i = 0; i < parts; i++) {
        if (all[i].started)
            pthread_join(all[i].thread, NULL);
    }
    iso_free(all);
}
