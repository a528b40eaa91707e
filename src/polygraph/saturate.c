/* Saturation: the rules at every node in topological order, then wherever a clock has moved, then at the
 * reads that are still open, until nothing more follows. */
#include "polygraph/polygraph_private.h"

enum { LOOK_UP = 256 };   /* steps between looks at the clock on the wall */
enum { SORT_AGAIN = 16 }; /* once a share of 1 / SORT_AGAIN of the nodes has to be looked at again */

static void merge(struct engine *engine, uint32_t from, uint32_t to, uint64_t groups)
{
    engine->conflict |= to < engine->event_count && reaches(engine, to, from);
    uint64_t moved = graph_merge_clock(engine, from, to, groups);
    if (!moved)
        return;
    engine->moved_groups[to] |= moved;
    agenda_add(&engine->agenda, engine->rank[to]);
}

bool graph_add_edge(struct engine *engine, struct fact fact)
{
    graph_append(engine, fact);
    graph_link(engine);
    merge(engine, fact.from, fact.to, ~(uint64_t)0);
    return true;
}

static void look_at(struct engine *engine, uint32_t node)
{
    uint64_t groups = engine->moved_groups[node];
    engine->moved_groups[node] = 0;
    if (!engine->options->no_saturation && node < engine->event_count)
        rules_apply(engine, node, groups);
    if (node_goes_on(engine, node))
        merge(engine, node, node + 1, groups);
    for (uint32_t i = engine->first_out[node]; i != ISO_NONE; i = engine->facts[i].next_out)
        merge(engine, node, engine->facts[i].to, groups);
}

static bool failed(const struct engine *engine)
{
    return engine->conflict || engine->empty_read != ISO_NONE;
}

/* Sorts anew with the edges found since, and keeps what is on the agenda. */
static bool sort_again(struct engine *engine)
{
    uint32_t *kept = iso_allocate(((size_t)engine->agenda.count + 1) * sizeof *kept), count = 0;
    for (uint32_t rank; (rank = agenda_take(&engine->agenda)) != ISO_NONE;)
        kept[count++] = engine->order[rank];
    bool sorted = graph_sort(engine);
    for (uint32_t i = 0; i < count; i++)
        agenda_add(&engine->agenda, engine->rank[kept[i]]);
    engine->agenda.cursor = 0;
    iso_free(kept);
    return sorted;
}

/* Once round the agenda. */
static enum iso_status run_pass(struct engine *engine)
{
    uint32_t last = 0, steps = 0;
    engine->result->counters.passes++;
    for (uint32_t rank; (rank = agenda_take(&engine->agenda)) != ISO_NONE;) {
        look_at(engine, engine->order[rank]);
        if (failed(engine))
            return ISO_VIOLATED;
        if (++steps % LOOK_UP == 0 && engine_must_stop(engine))
            return ISO_UNDECIDED;
        if (rank < last) /* round, and this one was done too */
            return ISO_OK;
        last = rank;
    }
    return ISO_OK;
}

/* The same, in an order that fits the facts where much has to be looked at. */
static enum iso_status run_round(struct engine *engine)
{
    if (engine->agenda.count > engine->node_count / SORT_AGAIN && !sort_again(engine)) {
        engine->conflict = true;
        return ISO_VIOLATED;
    }
    return run_pass(engine);
}

static enum iso_status run_agenda(struct engine *engine)
{
    enum iso_status status = ISO_OK;
    while (status == ISO_OK && engine->agenda.count)
        status = run_round(engine);
    return status;
}

static uint32_t list_open_reads(const struct engine *engine, uint32_t *reads)
{
    uint32_t count = 0;
    for (uint32_t read = 0; read < engine->read_count; read++) {
        if (engine->read_writer[read] == OPEN)
            reads[count++] = read;
    }
    return count;
}

/* The rules at every open read; forgets those that are resolved. */
static uint32_t look_at_open_reads(struct engine *engine, uint32_t *reads, uint32_t count)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count && !failed(engine); i++) {
        if (i % LOOK_UP == 0 && engine_must_stop(engine))
            break;
        if (engine->read_writer[reads[i]] == OPEN && rules_apply_open(engine, reads[i]))
            reads[left++] = reads[i];
    }
    return left;
}

enum iso_status saturate_round(struct engine *engine)
{
    enum iso_status status = run_round(engine);
    if (status == ISO_OK && !sort_again(engine)) {
        engine->conflict = true;
        status = ISO_VIOLATED;
    }
    return status;
}

/* Once round without open reads: then clocks say how few candidates those have, and most have only one. Sorted, since
 * reasons are told of facts without a cycle. */
enum iso_status saturate_start(struct engine *engine)
{
    for (uint32_t node = 0; node < engine->node_count; node++) {
        engine->order[node] = engine->rank[node] = node;
        agenda_add(&engine->agenda, node);
    }
    enum iso_status status = saturate_round(engine);
    if (status == ISO_OK && !candidates_list(engine))
        return ISO_UNDECIDED;
    for (uint32_t read = 0; status == ISO_OK && !engine->options->no_saturation && read < engine->read_count; read++) {
        if (engine->read_writer[read] == OPEN && engine->candidate_count[read] < 2)
            rules_narrow(engine, read);
        status = failed(engine) ? ISO_VIOLATED : ISO_OK;
    }
    return status;
}

static enum iso_status run(struct engine *engine, uint32_t *reads)
{
    enum iso_status status = run_agenda(engine);
    if (status != ISO_OK || engine->options->no_saturation)
        return status;
    for (uint32_t count = list_open_reads(engine, reads);;) {
        uint32_t before = engine->fact_count;
        count = look_at_open_reads(engine, reads, count);
        if (failed(engine))
            return ISO_VIOLATED;
        if (engine_must_stop(engine))
            return ISO_UNDECIDED;
        if (engine->fact_count == before && !engine->agenda.count)
            return ISO_OK;
        status = run_agenda(engine);
        if (status != ISO_OK)
            return status;
    }
}

enum iso_status saturate(struct engine *engine)
{
    uint32_t *reads = iso_allocate(((size_t)engine->open_reads + 1) * sizeof *reads);
    enum iso_status status = run(engine, reads);
    iso_free(reads);
    if (status == ISO_OK && !graph_sort(engine)) {
        engine->conflict = true;
        status = ISO_VIOLATED;
    }
    return status;
}
