#include "prove_page/cycle.h"

#include <assert.h>

#include "base/memory.h"

struct graph {
    const struct iso_prove_execution *execution;
    uint32_t nodes;
    ISO_LIST(struct prove_page_edge) edges;
    bool *known;     /* [(from * nodes + to) * 4 + kind]: there is such an edge */
    bool *wrote;     /* [instance * cells + cell], of those that committed */
    uint32_t *first; /* by node and one more: its edges' positions in `leaving` */
    uint32_t *leaving;
};

static void add(struct graph *graph, uint32_t from, uint32_t to, enum prove_page_dependency kind,
                uint32_t cell)
{
    bool *known = &graph->known[((size_t)from * graph->nodes + to) * 4 + kind];
    if (*known) /* one cell for each kind is enough to say */
        return;
    *known = true;
    ISO_APPEND(graph->edges,
               (struct prove_page_edge){.from = from, .to = to, .kind = kind, .cell = cell});
}

static bool wrote(const struct graph *graph, uint32_t instance, uint32_t cell)
{
    return graph->wrote[(size_t)instance * graph->execution->program->cells + cell];
}

/* The transaction that overwrites `from`'s version (ISO_NONE: the initial one), or ISO_NONE. */
static uint32_t next_writer(const struct graph *graph, uint32_t from, uint32_t cell)
{
    const struct iso_prove_execution *execution = graph->execution;
    bool behind = from == ISO_NONE;
    for (uint32_t i = 0; i < execution->count; i++) {
        uint32_t at = execution->order[i];
        if (behind && wrote(graph, at, cell))
            return at;
        behind = behind || at == from;
    }
    return ISO_NONE;
}

static void add_read(struct graph *graph, uint32_t reader, uint32_t from, uint32_t cell)
{
    uint32_t next = next_writer(graph, from, cell);
    if (from != ISO_NONE)
        add(graph, from, reader, PROVE_PAGE_WR, cell);
    if (next != ISO_NONE && next != reader)
        add(graph, reader, next, PROVE_PAGE_RW, cell);
}

static void add_looks(struct graph *graph)
{
    const struct iso_prove_execution *execution = graph->execution;
    bool moment = execution->program->rules.list[execution->rule].kind == ISO_PROVE_INVARIANT;
    for (uint32_t cell = 0; cell < execution->program->cells; cell++) {
        uint32_t from = ISO_NONE;
        for (uint32_t i = 0; i < execution->count; i++) {
            uint32_t at = execution->order[i];
            if (wrote(graph, at, cell) && (!moment || execution->moment[at]))
                from = at;
        }
        add_read(graph, execution->count, from, cell);
    }
}

static void add_all(struct graph *graph)
{
    const struct iso_prove_execution *execution = graph->execution;
    const struct iso_prove_program *program = execution->program;
    for (uint32_t i = 0; i < execution->events.count; i++) {
        const struct iso_prove_event *event = &execution->events.list[i];
        if (event->kind == ISO_PROVE_WRITES && !execution->aborted[event->instance])
            graph->wrote[(size_t)event->instance * program->cells + event->cell] = true;
    }
    for (uint32_t i = 0; i < execution->events.count; i++) {
        const struct iso_prove_event *event = &execution->events.list[i];
        if (event->kind == ISO_PROVE_READS && !execution->aborted[event->instance] &&
            event->from != event->instance)
            add_read(graph, event->instance, event->from, event->cell);
    }
    for (uint32_t i = 0; i < execution->count; i++)
        for (uint32_t cell = 0; cell < program->cells; cell++) {
            uint32_t next = wrote(graph, i, cell) ? next_writer(graph, i, cell) : ISO_NONE;
            if (next != ISO_NONE)
                add(graph, i, next, PROVE_PAGE_WW, cell);
        }
    for (uint32_t i = 0; i < execution->count; i++)
        for (uint32_t j = i + 1; j < execution->count; j++) {
            uint32_t session = program->instances.list[i].session;
            if (session != ISO_NONE && program->instances.list[j].session == session &&
                !execution->aborted[i] && !execution->aborted[j])
                add(graph, i, j, PROVE_PAGE_SESSION, ISO_NONE);
        }
    add_looks(graph);
}

/* Edges by where they begin. */
static void sort_edges(struct graph *graph)
{
    graph->first = iso_allocate_zeroed(graph->nodes + 2, sizeof *graph->first);
    graph->leaving = iso_allocate((graph->edges.count + 1) * sizeof *graph->leaving);
    for (uint32_t i = 0; i < graph->edges.count; i++)
        graph->first[graph->edges.list[i].from + 2]++;
    for (uint32_t i = 2; i < graph->nodes + 2; i++)
        graph->first[i] += graph->first[i - 1];
    for (uint32_t i = 0; i < graph->edges.count; i++)
        graph->leaving[graph->first[graph->edges.list[i].from + 1]++] = i;
}

/* A shortest way from `from` back to it, by breadth: its edges from the last one on. */
static uint32_t find_way(const struct graph *graph, uint32_t from, uint32_t *way)
{
    uint32_t *by = iso_allocate((graph->nodes + 1) * sizeof *by),
             *queue = iso_allocate((graph->nodes + 1) * sizeof *queue);
    uint32_t first = 0, last = 0, length = 0;
    for (uint32_t i = 0; i < graph->nodes; i++)
        by[i] = ISO_NONE;
    queue[last++] = from;
    while (first < last && by[from] == ISO_NONE) {
        uint32_t at = queue[first++];
        ISO_EACH(i, graph->first, at) {
            uint32_t to = graph->edges.list[graph->leaving[i]].to;
            if (by[to] != ISO_NONE)
                continue;
            by[to] = graph->leaving[i];
            if (to != from)
                queue[last++] = to;
        }
    }
    for (uint32_t at = from; by[from] != ISO_NONE && (length == 0 || at != from);
         at = graph->edges.list[by[at]].from)
        way[length++] = by[at];
    ISO_FREE_ALL(by, queue);
    return length;
}

void prove_page_cycle_init(struct prove_page_cycle *cycle,
                           const struct iso_prove_execution *execution)
{
    struct graph graph = {.execution = execution, .nodes = execution->count + 1};
    assert(execution->rule != ISO_NONE);
    graph.wrote = iso_allocate_zeroed((size_t)execution->count * execution->program->cells + 1,
                                      sizeof *graph.wrote);
    graph.known = iso_allocate_zeroed((size_t)graph.nodes * graph.nodes * 4, sizeof *graph.known);
    add_all(&graph);
    sort_edges(&graph);
    *cycle =
        (struct prove_page_cycle){.list = iso_allocate((graph.nodes + 1) * sizeof *cycle->list)};
    uint32_t *way = iso_allocate((graph.nodes + 1) * sizeof *way);
    for (uint32_t from = 0; from < graph.nodes && cycle->count != 2; from++) { /* none is shorter */
        uint32_t length = find_way(&graph, from, way);
        if (!length || (cycle->count && length >= cycle->count))
            continue;
        cycle->count = length;
        for (uint32_t i = 0; i < length; i++)
            cycle->list[i] = graph.edges.list[way[length - 1 - i]];
    }
    ISO_FREE_ALL(way, graph.wrote, graph.known, graph.first, graph.leaving, graph.edges.list);
}

void prove_page_cycle_release(struct prove_page_cycle *cycle)
{
    iso_free(cycle->list);
    *cycle = (struct prove_page_cycle){.count = 0};
}

/* ---- words ---- */

const char *prove_page_dependency_name(enum prove_page_dependency kind)
{
    static const char *const names[] = {"wr", "ww", "rw", "session"};
    return names[kind];
}

void prove_page_put_node(const struct iso_prove_execution *execution, uint32_t node,
                         struct iso_text *text)
{
    if (node == execution->count)
        iso_text_put(text, "who looks");
    else
        iso_text_format(text, "T%u", node + 1);
}

void prove_page_put_edge(const struct iso_prove_execution *execution,
                         const struct prove_page_edge *edge, struct iso_text *text)
{
    bool forward = edge->kind == PROVE_PAGE_RW;
    prove_page_put_node(execution, forward ? edge->from : edge->to, text);
    iso_text_put(text, edge->kind == PROVE_PAGE_SESSION ? " follows "
                       : edge->kind == PROVE_PAGE_WW    ? " overwrites "
                                                        : " reads ");
    if (edge->kind != PROVE_PAGE_SESSION)
        iso_prove_put_cell(execution->program, text, edge->cell);
    iso_text_put(text, forward ? " without what " : edge->kind == PROVE_PAGE_SESSION ? "" : " of ");
    prove_page_put_node(execution, forward ? edge->to : edge->from, text);
    iso_text_put(text, forward                            ? " writes there"
                       : edge->kind == PROVE_PAGE_SESSION ? " in its session"
                                                          : "");
}

static bool sees(const struct iso_prove_execution *execution, uint32_t reader, uint32_t other)
{
    return execution->visible[(size_t)other * execution->count + reader];
}

/* A cell that `later` claims and `earlier` writes, or ISO_NONE. */
static uint32_t conflict(const struct iso_prove_execution *execution, uint32_t earlier,
                         uint32_t later)
{
    for (uint32_t i = 0; i < execution->events.count; i++) {
        const struct iso_prove_event *one = &execution->events.list[i];
        if (one->instance != earlier || one->kind != ISO_PROVE_WRITES)
            continue;
        for (uint32_t j = 0; j < execution->events.count; j++) {
            const struct iso_prove_event *other = &execution->events.list[j];
            if (other->instance == later && other->cell == one->cell &&
                (other->kind == ISO_PROVE_CLAIMS || other->kind == ISO_PROVE_WRITES))
                return one->cell;
        }
    }
    return ISO_NONE;
}

/* rc's executions are none of ser: one of its statements does not see who committed before. */
static bool put_statement(const struct iso_prove_execution *execution, uint32_t earlier,
                          uint32_t later, struct iso_text *text)
{
    for (uint32_t i = 0; i < execution->events.count; i++) {
        const struct iso_prove_event *event = &execution->events.list[i];
        if (event->instance != later || event->kind != ISO_PROVE_BEGINS || !event->seen ||
            event->seen[earlier])
            continue;
        iso_text_format(text, "T%u commits before T%u, and a statement of T%u does not see it: ",
                        earlier + 1, later + 1, later + 1);
        iso_prove_put_span(execution->program, text,
                           execution->program->steps.list[event->step].span);
        return true;
    }
    return false;
}

/* The edge that joins two of the order at this level; `between`: one that stands, or is seen,
 * between them. */
static bool put_pair(const struct iso_prove_execution *execution, enum iso_prove_level level,
                     uint32_t earlier, uint32_t later, struct iso_text *text)
{
    if (execution->level == ISO_PROVE_RC)
        return level == ISO_PROVE_SER && put_statement(execution, earlier, later, text);
    if (sees(execution, later, earlier))
        return false;
    if (level == ISO_PROVE_SER) {
        iso_text_format(text, "T%u comes before T%u, which does not see it", earlier + 1,
                        later + 1);
        return true;
    }
    uint32_t cell = level == ISO_PROVE_SI || level == ISO_PROVE_PSI
                        ? conflict(execution, earlier, later)
                        : ISO_NONE;
    if (cell != ISO_NONE) {
        iso_text_format(text, "T%u does not see T%u, and both claim ", later + 1, earlier + 1);
        iso_prove_put_cell(execution->program, text, cell);
        return true;
    }
    for (uint32_t i = 0, passed = 0; i < execution->count; i++) {
        uint32_t between = execution->order[i];
        bool reached = passed && !execution->aborted[between] && sees(execution, later, between);
        if (reached && (level == ISO_PROVE_SI || level == ISO_PROVE_PC)) {
            iso_text_format(text, "T%u sees T%u, and not T%u, which comes before that", later + 1,
                            between + 1, earlier + 1);
            return true;
        }
        if (reached && sees(execution, between, earlier) &&
            (level == ISO_PROVE_PSI || level == ISO_PROVE_CC)) {
            iso_text_format(text, "T%u sees T%u, which sees T%u, and does not see T%u itself",
                            later + 1, between + 1, earlier + 1, earlier + 1);
            return true;
        }
        passed = passed || between == earlier;
    }
    return false;
}

bool prove_page_put_axiom(const struct iso_prove_execution *execution, enum iso_prove_level level,
                          struct iso_text *text)
{
    for (uint32_t j = 1; j < execution->count; j++)
        for (uint32_t i = 0; i < j; i++) {
            uint32_t earlier = execution->order[i], later = execution->order[j];
            if (!execution->aborted[earlier] && !execution->aborted[later] &&
                put_pair(execution, level, earlier, later, text))
                return true;
        }
    return false;
}
