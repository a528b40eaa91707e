/* Saturation: the rules at every node in topological order, then wherever a clock has moved, then
 * at the reads that are still open, until nothing more follows. */
#include "polygraph/engine_private.h"
#include "polygraph/validate.h"

enum { LOOK_UP = 256 }; /* steps between looks at the clock on the wall */
enum {
    /* once a share of 1 / SORT_AGAIN of the nodes has to be looked at again */
    SORT_AGAIN = 16
};

static void pass_clock_on(struct engine *engine, uint32_t from, uint32_t to, uint64_t groups)
{
    engine->graph.conflict |= to < engine->graph.event_count && reaches(engine, to, from);
    uint64_t moved = graph_merge_clock(engine, from, to, groups);
    if (!moved)
        return;
    engine->saturation.moved_groups[to] |= moved;
    agenda_add(&engine->saturation.agenda, engine->graph.rank[to]);
}

bool graph_add_edge(struct engine *engine, struct fact fact)
{
    graph_append(engine, fact);
    graph_link(engine);
    pass_clock_on(engine, fact.from, fact.to, ~(uint64_t)0);
    return true;
}

static void apply_to_node(struct engine *engine, uint32_t node)
{
    uint64_t groups = engine->saturation.moved_groups[node];
    engine->saturation.moved_groups[node] = 0;
    if (!engine->options->no_saturation && node < engine->graph.event_count)
        rules_apply(engine, node, groups);
    if (node_goes_on(engine, node))
        pass_clock_on(engine, node, node + 1, groups);
    for (uint32_t i = engine->graph.first_out[node]; i != ISO_NONE;
         i = engine->graph.facts[i].next_out)
        pass_clock_on(engine, node, engine->graph.facts[i].to, groups);
}

static bool has_failed(const struct engine *engine)
{
    return engine->graph.conflict || engine->saturation.empty_read != ISO_NONE;
}

/* Sorts anew with the edges found since, and keeps what is on the agenda. */
static bool sort_again(struct engine *engine)
{
    uint32_t *kept = iso_numbers(engine->saturation.agenda.count), count = 0;
    for (uint32_t rank; (rank = agenda_take(&engine->saturation.agenda)) != ISO_NONE;)
        kept[count++] = engine->graph.order[rank];
    bool sorted = graph_sort(engine);
    for (uint32_t i = 0; i < count; i++)
        agenda_add(&engine->saturation.agenda, engine->graph.rank[kept[i]]);
    engine->saturation.agenda.cursor = 0;
    iso_free(kept);
    return sorted;
}

/* Once round the agenda. */
static enum step_result pass_agenda(struct engine *engine)
{
    uint32_t last = 0, steps = 0;
    engine->result->counters.passes++;
    for (uint32_t rank; (rank = agenda_take(&engine->saturation.agenda)) != ISO_NONE;) {
        apply_to_node(engine, engine->graph.order[rank]);
        if (has_failed(engine))
            return STEP_CONTRADICTION;
        if (++steps % LOOK_UP == 0 && engine_must_stop(engine))
            return STEP_STOPPED;
        if (rank < last) /* round, and this one was done too */
            return STEP_DONE;
        last = rank;
    }
    return STEP_DONE;
}

/* A round of the rules in an order that fits the facts, where much has to be looked at. */
static enum step_result round_agenda(struct engine *engine)
{
    if (engine->saturation.agenda.count > engine->graph.node_count / SORT_AGAIN &&
        !sort_again(engine)) {
        engine->graph.conflict = true;
        return STEP_CONTRADICTION;
    }
    return pass_agenda(engine);
}

static enum step_result finish_agenda(struct engine *engine)
{
    enum step_result status = STEP_DONE;
    while (status == STEP_DONE && engine->saturation.agenda.count)
        status = round_agenda(engine);
    return status;
}

static uint32_t list_open_reads(const struct engine *engine, uint32_t *reads)
{
    uint32_t count = 0;
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        if (engine->reads.writer[read] == OPEN)
            reads[count++] = read;
    }
    return count;
}

/* The rules at every open read; forgets those that are resolved. */
static uint32_t apply_to_open_reads(struct engine *engine, uint32_t *reads, uint32_t count)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count && !has_failed(engine); i++) {
        if (i % LOOK_UP == 0 && engine_must_stop(engine))
            break;
        if (engine->reads.writer[reads[i]] == OPEN && rules_apply_open(engine, reads[i]))
            reads[left++] = reads[i];
    }
    return left;
}

enum step_result saturate_round(struct engine *engine)
{
    enum step_result status = round_agenda(engine);
    if (status == STEP_DONE && !sort_again(engine)) {
        engine->graph.conflict = true;
        status = STEP_CONTRADICTION;
    }
    return status;
}

/* Once round without open reads: then clocks say how few candidates those have, and most have only
 * one. Sorted, since reasons are found in facts without a cycle. */
enum step_result saturate_start(struct engine *engine)
{
    for (uint32_t node = 0; node < engine->graph.node_count; node++) {
        engine->graph.order[node] = engine->graph.rank[node] = node;
        agenda_add(&engine->saturation.agenda, node);
    }
    enum step_result status = saturate_round(engine);
    if (status == STEP_DONE && !candidates_list(engine))
        return STEP_STOPPED;
    for (uint32_t read = 0;
         status == STEP_DONE && !engine->options->no_saturation && read < engine->reads.count;
         read++) {
        if (engine->reads.writer[read] == OPEN && engine->candidates.count[read] < 2)
            rules_narrow(engine, read);
        status = has_failed(engine) ? STEP_CONTRADICTION : STEP_DONE;
    }
    return status;
}

static enum step_result saturate_rounds(struct engine *engine, uint32_t *reads)
{
    enum step_result status = finish_agenda(engine);
    if (status != STEP_DONE || engine->options->no_saturation)
        return status;
    for (uint32_t count = list_open_reads(engine, reads);;) {
        uint32_t before = engine->graph.fact_count;
        count = apply_to_open_reads(engine, reads, count);
        if (has_failed(engine))
            return STEP_CONTRADICTION;
        if (engine_must_stop(engine))
            return STEP_STOPPED;
        if (engine->graph.fact_count == before && !engine->saturation.agenda.count)
            return STEP_DONE;
        status = finish_agenda(engine);
        if (status != STEP_DONE)
            return status;
    }
}

enum step_result saturate(struct engine *engine)
{
    uint32_t *reads = iso_numbers(engine->reads.open);
    enum step_result status = saturate_rounds(engine, reads);
    iso_free(reads);
    if (status == STEP_DONE && !graph_sort(engine)) {
        engine->graph.conflict = true;
        status = STEP_CONTRADICTION;
    }
    if (status == STEP_DONE) {
        versions_validate(engine);
        graph_validate(engine);
        candidates_validate(engine);
    }
    return status;
}
