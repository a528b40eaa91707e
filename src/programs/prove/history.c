#include "prove/history.h"

#include "base/memory.h"

struct writing {
    const struct iso_prove_execution *execution;
    struct iso_text *text;
    uint32_t *writes; /* by instance and cell: how many so far */
    int64_t *values;  /* by instance and slot */
    bool any;         /* an operation of this transaction has been put */
};

static void put_key(struct writing *writing, const char *kind, uint32_t cell)
{
    struct iso_text name = {0};
    iso_prove_put_cell(writing->execution->program, &name, cell);
    iso_text_format(writing->text, "%s{\"t\":\"%s\",\"k\":", writing->any ? "," : "", kind);
    iso_text_put_string(writing->text, name.bytes, name.used);
    iso_text_put(writing->text, ",\"v\":");
    iso_text_release(&name);
    writing->any = true;
}

/* "8 by T2", or "8 by T2, write 2" if it has written the cell before. */
static void put_value(struct writing *writing, uint32_t instance, uint32_t cell)
{
    const struct iso_prove_execution *execution = writing->execution;
    const struct iso_prove_program *program = execution->program;
    uint32_t columns = iso_prove_table_of(program, cell)->columns;
    uint32_t writes = writing->writes[(size_t)instance * program->cells + cell];
    iso_text_put(writing->text, "\"");
    for (uint32_t i = 0; i < columns; i++)
        iso_text_format(
            writing->text, "%s%lld", i ? "," : "",
            (long long)
                writing->values[(size_t)instance * execution->slots + execution->slot[cell] + i]);
    iso_text_format(writing->text, " by T%u", instance + 1);
    if (writes > 1)
        iso_text_format(writing->text, ", write %u", writes);
    iso_text_put(writing->text, "\"}");
}

static void put_read(struct writing *writing, uint32_t from, uint32_t cell)
{
    put_key(writing, "r", cell);
    if (from == ISO_NONE)
        iso_text_put(writing->text, "null}");
    else
        put_value(writing, from, cell);
}

static void put_event(struct writing *writing, uint32_t number)
{
    const struct iso_prove_execution *execution = writing->execution;
    const struct iso_prove_program *program = execution->program;
    const struct iso_prove_event *event = &execution->events.list[number];
    if (event->kind != ISO_PROVE_READS && event->kind != ISO_PROVE_WRITES)
        return;
    uint32_t columns = iso_prove_table_of(program, event->cell)->columns;
    if (event->kind == ISO_PROVE_READS) {
        /* the other columns of a row are the same read */
        const struct iso_prove_event *before = event - 1;
        if (number && before->kind == ISO_PROVE_READS && before->instance == event->instance &&
            before->cell == event->cell && before->from == event->from)
            return;
        put_read(writing, event->from, event->cell);
        return;
    }
    writing->values[(size_t)event->instance * execution->slots + execution->slot[event->cell] +
                    event->column] = event->value;
    if (event->column + 1 < columns)
        return;
    writing->writes[(size_t)event->instance * program->cells + event->cell]++;
    put_key(writing, "w", event->cell);
    put_value(writing, event->instance, event->cell);
}

/* A statement at a time: what its snapshot shows, then what stands behind its claims, which may be
 * newer. */
static void put_operations(struct writing *writing, uint32_t instance)
{
    const struct iso_prove_execution *execution = writing->execution;
    const struct iso_prove_event *events = execution->events.list;
    uint32_t first = 0, end;
    writing->any = false;
    for (; first < execution->events.count; first = end) {
        for (end = first + 1;
             end < execution->events.count && events[end].kind != ISO_PROVE_BEGINS;)
            end++;
        for (int late = 0; late < 2 && events[first].instance == instance; late++)
            for (uint32_t i = first; i < end; i++) {
                bool shown = events[i].kind == ISO_PROVE_READS && !events[i].newest &&
                             events[i].from != instance;
                if (shown == !late)
                    put_event(writing, i);
            }
    }
}

/* pc and psi can be judged by timestamps, too: commits by the order, snapshots by what they
 * have. */
static void put_times(struct writing *writing, uint32_t instance, uint32_t location)
{
    const struct iso_prove_execution *execution = writing->execution;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < location; i++)
        if (execution->visible[execution->order[i] * execution->count + instance] &&
            !execution->aborted[execution->order[i]])
            seen = i + 1;
    if (execution->level == ISO_PROVE_PC)
        iso_text_format(writing->text, ",\"sts\":%u,\"cts\":%u", 10 * seen + 5,
                        10 * (location + 1));
    else if (execution->level == ISO_PROVE_PSI)
        iso_text_format(writing->text, ",\"sts\":%u,\"cts\":%u", 10 * location + 9,
                        10 * (location + 1));
}

static void put_observer(struct writing *writing)
{
    const struct iso_prove_execution *execution = writing->execution;
    const struct iso_prove_program *program = execution->program;
    bool moment = program->rules.list[execution->rule].kind == ISO_PROVE_INVARIANT;
    uint32_t location = execution->count;
    for (uint32_t i = execution->count; moment && i-- > 0;)
        location = execution->moment[execution->order[i]] && location == execution->count
                       ? i + 1
                       : location;
    iso_text_put(writing->text, "{\"tid\":\"observer\",\"sid\":\"observer\"");
    if (execution->level == ISO_PROVE_PC)
        iso_text_format(writing->text, ",\"sts\":%u,\"cts\":%u", 10 * location + 5,
                        10 * location + 6);
    else if (execution->level == ISO_PROVE_PSI)
        iso_text_format(writing->text, ",\"sts\":%u,\"cts\":%u", 10 * execution->count + 15,
                        10 * execution->count + 16);
    iso_text_put(writing->text, ",\"ops\":[");
    writing->any = false;
    for (uint32_t cell = 0; cell < program->cells; cell++) {
        uint32_t from = ISO_NONE;
        for (uint32_t i = 0; i < execution->count; i++) {
            uint32_t at = execution->order[i];
            if (!execution->aborted[at] && writing->writes[(size_t)at * program->cells + cell] &&
                (!moment || execution->moment[at]))
                from = at;
        }
        put_read(writing, from, cell);
    }
    iso_text_put(writing->text, "]}\n");
}

void iso_prove_put_history(const struct iso_prove_execution *execution, struct iso_text *text)
{
    const struct iso_prove_program *program = execution->program;
    struct writing writing = {.execution = execution, .text = text};
    writing.writes =
        iso_allocate_zeroed((size_t)execution->count * program->cells + 1, sizeof *writing.writes);
    writing.values = iso_allocate_zeroed((size_t)execution->count * execution->slots + 1,
                                         sizeof *writing.values);
    for (uint32_t i = 0; i < execution->count; i++) {
        uint32_t at = execution->order[i], session = program->instances.list[at].session;
        iso_text_format(text, "{\"tid\":\"T%u\",\"sid\":\"", at + 1);
        iso_text_format(text, session == ISO_NONE ? "T%u" : "session %u",
                        session == ISO_NONE ? at + 1 : session + 1);
        iso_text_format(text, "\",\"status\":\"%s\"",
                        execution->aborted[at] ? "aborted" : "committed");
        put_times(&writing, at, i);
        iso_text_put(text, ",\"ops\":[");
        put_operations(&writing, at);
        iso_text_put(text, "]}\n");
    }
    put_observer(&writing);
    ISO_FREE_ALL(writing.writes, writing.values);
}
