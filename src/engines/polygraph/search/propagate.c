/* The forward search's propagation: the rules of saturation, at what is not scheduled and is near;
 * a log undoes it.
 *
 * News goes a window ahead in the order in which nodes probably come, and waits there until the
 * window comes to it. Only how early a conflict is seen depends on that: a node always knows its
 * direct predecessors.
 */
#include <assert.h>

#include "polygraph/search/search.h"

void search_log(struct search *search, uint32_t *where)
{
    ISO_PUSH_COLUMN(search->undo.log, search->undo.log_count, search->undo.log_capacity,
                    (struct change){where, *where});
}

void search_set_vector(struct search *search, stamp_vector *where, stamp_vector value)
{
    ISO_GROW_COLUMN(search->undo.clock_log, search->undo.clock_log_count,
                    search->undo.clock_log_capacity);
    search->undo.clock_log[search->undo.clock_log_count++] = (struct clock_change){where, *where};
    *where = value;
}

/* Whether news reaches a node yet. */
static bool is_near(const struct search *search, uint32_t node)
{
    const struct engine *engine = search->engine;
    if (node >= engine->graph.event_count) /* of time */
        return true;
    return search->likely_position[node] < search->scheduled_count + WINDOW;
}

static void log_moved(struct search *search, uint32_t node, uint64_t groups)
{
    ISO_PUSH_COLUMN(search->undo.moved, search->undo.moved_count, search->undo.moved_capacity,
                    (struct moved_entry){groups, node});
}

/* Undone, nodes that waited for the window wait again; those that came to it since may wait too,
 * for nothing. */
void search_undo(struct search *search, const struct decision *decision)
{
    assert(search->undo.log_count >= decision->log_count &&
           search->undo.clock_log_count >= decision->clock_log_count &&
           search->undo.moved_count >= decision->moved_count);
    struct engine *engine = search->engine;
    while (search->undo.log_count > decision->log_count) {
        struct change *change = &search->undo.log[--search->undo.log_count];
        *change->where = change->old;
    }
    while (search->undo.clock_log_count > decision->clock_log_count) {
        struct clock_change *change = &search->undo.clock_log[--search->undo.clock_log_count];
        *change->where = change->old;
    }
    while (search->undo.moved_count > decision->moved_count) {
        const struct moved_entry *entry = &search->undo.moved[--search->undo.moved_count];
        if (!is_near(search, entry->node))
            engine->saturation.moved_groups[entry->node] |= entry->groups;
    }
    for (uint32_t rank; (rank = agenda_take(&engine->saturation.agenda)) != ISO_NONE;) {
        if (is_near(search, engine->graph.order[rank]))
            engine->saturation.moved_groups[engine->graph.order[rank]] = 0;
    }
    agenda_clear(&search->reads);
    engine->graph.conflict = false;
    engine->saturation.empty_read = ISO_NONE;
}

/* ---- propagation ---- */

static void merge_logged_clock(struct search *search, uint32_t from, uint32_t to, uint64_t groups)
{
    struct engine *engine = search->engine;
    const stamp_vector *source = (const stamp_vector *)clock_of(engine, from);
    const stamp_vector *progress = (const stamp_vector *)engine->scheduled.progress;
    stamp_vector *target = (stamp_vector *)clock_of(engine, to);
    uint64_t moved = 0;
    if (search->position[to] != ISO_NONE)
        return;
    if (to < engine->graph.event_count && reaches(engine, to, from))
        engine->graph.conflict = true;
    for (struct vectors at = vectors_of(engine, groups); next_vector(&at);) {
        stamp_vector a = source[at.vector], b = target[at.vector],
                     larger = (a > b) & (a > progress[at.vector]);
        if (!any_of(larger))
            continue;
        search_set_vector(search, &target[at.vector], (a & larger) | (b & ~larger));
        moved |= (uint64_t)1 << at.vector / at.a_group;
    }
    if (!moved)
        return;
    engine->saturation.moved_groups[to] |= moved;
    if (is_near(search, to))
        agenda_add(&engine->saturation.agenda, engine->graph.rank[to]);
}

/* From what is scheduled, the order of the schedule keeps it; to that, it is a conflict. */
bool search_add_edge(struct engine *engine, struct fact fact)
{
    struct search *search = engine->scheduled.by;
    uint32_t from = search->position[fact.from], to = search->position[fact.to];
    if (from != ISO_NONE && (to == ISO_NONE || from < to))
        return false;
    if (to != ISO_NONE || reaches(engine, fact.to, fact.from)) {
        engine->graph.conflict = true;
        return false;
    }
    search_log(search, &engine->graph.linked_count);
    search_log(search, &engine->graph.first_out[fact.from]);
    graph_append(engine, fact);
    graph_link(engine);
    merge_logged_clock(search, fact.from, fact.to, ~(uint64_t)0);
    return true;
}

void search_candidate_gone(struct engine *engine, uint32_t read, uint32_t version)
{
    uint32_t *count =
        &engine->scheduled.by->readers.open[version_slot(engine, version, engine->reads.key[read])];
    assert(*count);
    engine_set(engine, count, *count - 1);
}

/* A read that sees what has begun comes before the writer that will replace that, and before those
 * that wait.
 */
void search_decide_read(struct engine *engine, uint32_t read)
{
    assert(read < engine->reads.count);
    uint32_t key = engine->reads.key[read], open_writer = engine->scheduled.by->open_writer[key],
             version = engine->reads.writer[read];
    if (version == INITIAL || version >= engine->scheduled.waiting[engine->versions.span[version]])
        return;
    if (open_writer != ISO_NONE && open_writer != version)
        rules_add_rw(engine, read, open_writer);
    ISO_EACH(span, engine->spans.first, key) {
        if (engine->scheduled.waiting[span] < engine->spans.version[span + 1])
            rules_add_rw(engine, read, engine->scheduled.waiting[span]);
    }
}

/* The open reads that may see what a transaction writes. */
static void note_open_reads(struct search *search, uint32_t t)
{
    const struct engine *engine = search->engine;
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t version = engine->writes.version[write];
        if (!search->readers.open[version])
            continue;
        for (uint32_t c = search->readers.first[version]; c != ISO_NONE;
             c = search->readers.next[c])
            agenda_add(&search->reads, search->readers.of[c]);
    }
}

static void derive_from_open_read(struct search *search, uint32_t read)
{
    struct engine *engine = search->engine;
    if (engine->reads.writer[read] == OPEN &&
        search->position[node_begin(engine, engine->reads.transaction[read])] == ISO_NONE)
        rules_apply_open(engine, read);
}

static void derive_from_node(struct search *search, uint32_t node)
{
    struct engine *engine = search->engine;
    uint64_t groups = engine->saturation.moved_groups[node];
    engine->saturation.moved_groups[node] = 0;
    log_moved(search, node, groups);
    if (node < engine->graph.event_count) {
        uint32_t t = node_transaction(engine, node);
        rules_apply(engine, node, groups);
        if (engine->reads.open && node == node_commit(engine, t))
            note_open_reads(search, t);
    }
    if (node_goes_on(engine, node))
        merge_logged_clock(search, node, node + 1, groups);
    for (uint32_t i = engine->graph.first_out[node]; i != ISO_NONE && !search_failed(engine);
         i = engine->graph.facts[i].next_out)
        merge_logged_clock(search, node, engine->graph.facts[i].to, groups);
}

/* False on conflict. */
bool search_propagate(struct search *search)
{
    struct engine *engine = search->engine;
    for (uint32_t steps = 1; !search_failed(engine); steps++) {
        if (steps % LOOK_UP == 0 && engine_must_stop(engine))
            return false;
        if (engine->saturation.agenda.count)
            derive_from_node(search, engine->graph.order[agenda_take(&engine->saturation.agenda)]);
        else if (search->reads.count)
            derive_from_open_read(search, agenda_take(&search->reads));
        else
            return true;
    }
    return false;
}
