#include "prove/schedule.h"

#include "base/memory.h"

struct making {
    struct iso_prove_schedule *schedule;
    const struct iso_prove_execution *execution;
    uint32_t *position; /* by instance: in the order */
    uint32_t *next;     /* by instance: its next event, which begins a statement */
    uint32_t *end;      /* by instance: where its events end */
    uint32_t *after;    /* by instance: how many of the order have committed when its next statement
                        begins, or more */
};

static void add(struct making *making, struct iso_prove_item made)
{
    struct iso_prove_schedule *schedule = making->schedule;
    ISO_APPEND(*schedule, made);
}

/* How many of the order have committed when all that are seen have. */
static uint32_t position(const struct making *making, const bool *seen, uint32_t stride)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < making->execution->count; i++)
        if (seen[(size_t)i * stride] && !making->execution->aborted[i] &&
            making->position[i] + 1 > last)
            last = making->position[i] + 1;
    return last;
}

/* Where the instance's next statement stands: behind so many commits. What aborts may have seen
 * what no moment has; it then stands where it is in the order. */
static uint32_t position_of(const struct making *making, uint32_t instance)
{
    const struct iso_prove_execution *execution = making->execution;
    const struct iso_prove_event *event = &execution->events.list[making->next[instance]];
    uint32_t stands = making->position[instance];
    if (execution->level == ISO_PROVE_RC)
        stands = event->seen ? position(making, event->seen, 1) : making->after[instance];
    else if (making->schedule->timeline)
        stands = position(making, execution->visible + instance, execution->count);
    return stands > making->after[instance] ? stands : making->after[instance];
}

static void run_statement(struct making *making, uint32_t instance, uint32_t here)
{
    const struct iso_prove_event *events = making->execution->events.list;
    uint32_t first = making->next[instance], end = first + 1, waits_for = ISO_NONE;
    making->after[instance] = here;
    while (end < making->end[instance] && events[end].kind != ISO_PROVE_BEGINS)
        end++;
    for (uint32_t i = first; i < end; i++)
        if (iso_prove_level_conflicts(making->execution->level) &&
            events[i].kind == ISO_PROVE_CLAIMS && events[i].from != ISO_NONE &&
            making->position[events[i].from] >= making->after[instance]) {
            waits_for = events[i].from;
            making->after[instance] = making->position[waits_for] + 1;
        }
    /* A step without a position in the file (a declaration of SQL) is nothing to show. */
    if (making->execution->program->steps.list[events[first].step].span.end)
        add(making, (struct iso_prove_item){.kind = ISO_PROVE_STATEMENT,
                                            .instance = instance,
                                            .first = first,
                                            .end = end,
                                            .waits_for = waits_for});
    making->next[instance] = end;
}

static void make(struct making *making)
{
    const struct iso_prove_execution *execution = making->execution;
    for (uint32_t here = 0; here < execution->count; here++) {
        for (uint32_t i = here; i < execution->count; i++) {
            uint32_t instance = execution->order[i];
            while (making->next[instance] < making->end[instance] &&
                   (i == here || position_of(making, instance) <= here))
                run_statement(making, instance, here);
        }
        add(making, (struct iso_prove_item){.kind = execution->aborted[execution->order[here]]
                                                        ? ISO_PROVE_FAILS
                                                        : ISO_PROVE_COMMITS,
                                            .instance = execution->order[here],
                                            .waits_for = ISO_NONE});
    }
}

void iso_prove_schedule_init(struct iso_prove_schedule *schedule,
                             const struct iso_prove_execution *execution)
{
    struct making making = {.schedule = schedule, .execution = execution};
    enum iso_prove_level level = execution->level;
    uint32_t count = execution->count;
    *schedule =
        (struct iso_prove_schedule){.timeline = level == ISO_PROVE_SER || level == ISO_PROVE_SI ||
                                                level == ISO_PROVE_PC || level == ISO_PROVE_RC};
    making.position = iso_allocate_zeroed(count + 1, sizeof *making.position);
    making.next = iso_allocate_zeroed(count + 1, sizeof *making.next);
    making.end = iso_allocate_zeroed(count + 1, sizeof *making.end);
    making.after = iso_allocate_zeroed(count + 1, sizeof *making.after);
    for (uint32_t i = 0; i < count; i++)
        making.position[execution->order[i]] = i;
    for (uint32_t i = execution->events.count; i-- > 0;) {
        uint32_t instance = execution->events.list[i].instance;
        making.next[instance] = i;
        making.end[instance] = making.end[instance] ? making.end[instance] : i + 1;
    }
    make(&making);
    ISO_FREE_ALL(making.position, making.next, making.end, making.after);
}

void iso_prove_schedule_release(struct iso_prove_schedule *schedule)
{
    iso_free(schedule->list);
    *schedule = (struct iso_prove_schedule){.timeline = false};
}
