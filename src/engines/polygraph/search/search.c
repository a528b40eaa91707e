/* Forward search: schedules the chains' tips until no node is left, deciding what is open on the
 * way.
 *
 * A tip may be scheduled when everything that reaches it is scheduled: its clock says so.
 * Scheduling a writer decides that it comes before every version of its keys that has not begun,
 * and that no open read still to be scheduled sees what it replaces; these guesses are propagated
 * by the rules of saturation, at once and only among what is not scheduled: clocks do not say
 * anything of scheduled nodes, for those block nothing any more. What they still say is local to
 * their keys: readers of a version that has begun come before the next writer in each chain.
 *
 * What needs no guess is scheduled at once: it costs the others nothing, so if any order explains
 * the history, one does in which it comes now. Else the tip that probably comes first (estimate.c)
 * is tried; on a conflict all is undone by a log, and the next one is tried. Where no tip can be
 * scheduled, an earlier guess was wrong. If going back step by step does not get past the position
 * soon, the search jumps back, twice as far each time, and goes on with a little noise in its
 * order. It gives up after some dead ends, and leaves what it has for windows.c; it never rejects.
 */
#include <assert.h>

#include "polygraph/search/search.h"
#include "polygraph/order/windows.h"

enum { PATIENCE = 12, FIRST_JUMP = 4, LONGEST_JUMP = 1024 };

static double draw_noise(struct search *search)
{
    search->retreat.random ^= search->retreat.random << 13;
    search->retreat.random ^= search->retreat.random >> 7;
    search->retreat.random ^= search->retreat.random << 17;
    return (double)(search->retreat.random >> 11) / 9007199254740992.0;
}

static double turn_of(struct search *search, uint32_t node)
{
    return search->likely_position[node] +
           (search->retreat.noise > 0 ? search->retreat.noise * draw_noise(search) : 0);
}

/* Tips that could be scheduled with a guess, the one that probably comes first, first. */
static bool open_decision(struct search *search)
{
    struct engine *engine = search->engine;
    uint32_t first = search->option_count;
    for (uint32_t chain = 0; chain < engine->chains.count; chain++) {
        if (engine->scheduled.progress[chain] == search_chain_length(engine, chain))
            continue;
        uint32_t node = search_tip(search, chain);
        if (!search_is_ready(search, chain, node) || search_readiness(search, node) == BLOCKED)
            continue;
        ISO_PUSH(search->options, search->option_count, search->option_capacity, chain);
        search->turn[chain] = turn_of(search, node);
        for (uint32_t i = search->option_count - 1;
             i > first && search->turn[chain] < search->turn[search->options[i - 1]]; i--) {
            search->options[i] = search->options[i - 1];
            search->options[i - 1] = chain;
        }
    }
    if (search->option_count == first)
        return false;
    if (search->decision_count == search->decision_capacity) {
        search->decision_capacity =
            (uint32_t)iso_column_capacity(search->decision_capacity, search->decision_count + 1u);
        search->decisions = iso_reallocate(search->decisions,
                                           search->decision_capacity * sizeof *search->decisions);
    }
    search->decisions[search->decision_count++] =
        (struct decision){search->undo.log_count,       search->undo.clock_log_count,
                          search->undo.moved_count,     first,
                          search->option_count - first, 0};
    return true;
}

/* Forgets the last decisions, and their order. */
static void jump_back(struct search *search)
{
    assert(search->retreat.jump && search->decision_count);
    uint32_t back = search->retreat.jump < search->decision_count ? search->retreat.jump
                                                                  : search->decision_count;
    search->decision_count -= back;
    const struct decision *decision = &search->decisions[search->decision_count];
    search_undo(search, decision);
    search->option_count = decision->first;
    search->retreat.noise = search->engine->chains.count + 4.0 * search->retreat.jump;
    search->retreat.jump =
        search->retreat.jump < LONGEST_JUMP ? 2 * search->retreat.jump : FIRST_JUMP;
    search->retreat.stuck = 0;
}

static void note_progress(struct search *search)
{
    if (search->scheduled_count <= search->retreat.furthest)
        return;
    search->retreat.furthest = search->scheduled_count;
    search->retreat.stuck = 0;
    search->retreat.jump = FIRST_JUMP;
    search->retreat.noise = 0;
}

/* Tries the next option of the last decision that has one; false: there is none any more. */
static bool try_options(struct search *search)
{
    struct iso_polygraph_counters *counters = &search->engine->result->counters;
    while (search->decision_count && !engine_must_stop(search->engine)) {
        struct decision *decision = &search->decisions[search->decision_count - 1];
        search_undo(search, decision);
        if (decision->tried == decision->count) {
            search->option_count = decision->first;
            search->decision_count--;
            counters->search_dead_ends++;
            if (--search->retreat.dead_ends == 0)
                return false;
            if (++search->retreat.stuck >= PATIENCE && search->decision_count) {
                jump_back(search);
                return true;
            }
            continue;
        }
        uint32_t chain = search->options[decision->first + decision->tried++];
        counters->search_decisions++;
        if (search_schedule(search, chain, search_tip(search, chain)))
            return true;
    }
    return false;
}

/* Runs all that needs no guess; false: a conflict. */
static bool schedule_free_nodes(struct search *search)
{
    struct engine *engine = search->engine;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t chain = 0; chain < engine->chains.count; chain++) {
            while (engine->scheduled.progress[chain] < search_chain_length(engine, chain)) {
                uint32_t node = search_tip(search, chain);
                if (!search_is_ready(search, chain, node) || search_readiness(search, node) != FREE)
                    break;
                if (++engine->result->counters.search_free % LOOK_UP == 0 &&
                    engine_must_stop(engine))
                    return false;
                any = true;
                if (!search_schedule(search, chain, node))
                    return false;
            }
        }
    }
    return true;
}

static bool schedule_all(struct search *search)
{
    struct engine *engine = search->engine;
    bool fine = true;
    for (;;) {
        fine = fine && schedule_free_nodes(search);
        note_progress(search);
        if (fine && search->scheduled_count == engine->graph.event_count)
            return true;
        if (engine_must_stop(engine))
            return false;
        fine = (fine && open_decision(search)) || search->decision_count;
        if (!fine || !try_options(search))
            return false;
    }
}

static void index_open_reads(struct search *search)
{
    struct engine *engine = search->engine;
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t first = engine->candidates.first[read];
        if (engine->reads.writer[read] != OPEN)
            continue;
        for (uint32_t i = first; i < first + engine->candidates.count[read]; i++) {
            uint32_t list =
                version_slot(engine, engine->candidates.version[i], engine->reads.key[read]);
            /* candidates move within their read when one goes; the entry only has to lead to the
             * read */
            search->readers.of[i] = read;
            search->readers.next[i] = search->readers.first[list];
            search->readers.first[list] = i;
            search->readers.open[list]++;
        }
    }
}

static void search_init(struct search *search, struct engine *engine)
{
    *search = (struct search){.engine = engine};
    engine->scheduled.progress = iso_allocate_zeroed(
        (size_t)engine->clocks.stride + STAMPS_A_VECTOR, sizeof *engine->scheduled.progress);
    engine->scheduled.waiting = iso_numbers_copy(engine->spans.version, engine->spans.count);
    search->likely = iso_numbers(engine->graph.node_count);
    search->likely_position = iso_numbers(engine->graph.node_count);
    estimate_order(engine, search->likely);
    for (uint32_t i = 0; i < engine->graph.event_count; i++)
        search->likely_position[search->likely[i]] = i;
    search->scheduled = iso_numbers(engine->graph.node_count);
    search->position = iso_numbers_none(engine->graph.node_count);
    search->current = versions_initial(engine);
    search->open_writer = iso_numbers_none(engine->history->keys.count);
    search->readers.open =
        iso_numbers_zero((size_t)engine->versions.count + engine->history->keys.count);
    search->readers.first =
        iso_numbers_none((size_t)engine->versions.count + engine->history->keys.count);
    search->readers.next = iso_numbers(engine->candidates.total);
    search->readers.of = iso_numbers(engine->candidates.total);
    search->blocker = iso_numbers_zero(engine->chains.count);
    search->turn = iso_allocate(((size_t)engine->chains.count + 1) * sizeof *search->turn);
    search->retreat.jump = FIRST_JUMP;
    search->retreat.random = 0x9e3779b97f4a7c15u;
    agenda_init(&search->reads, engine->reads.count);
    index_open_reads(search);
}

static void search_release(struct search *search)
{
    struct engine *engine = search->engine;
    ISO_FREE_COLUMN(search->undo.log, search->undo.log_capacity);
    ISO_FREE_COLUMN(search->undo.clock_log, search->undo.clock_log_capacity);
    ISO_FREE_COLUMN(search->undo.moved, search->undo.moved_capacity);
    ISO_FREE_ALL(engine->scheduled.progress, engine->scheduled.waiting);
    engine->scheduled.progress = NULL;
    engine->scheduled.waiting = NULL;
    ISO_FREE_ALL(search->likely, search->likely_position, search->scheduled, search->position,
                 search->current, search->open_writer, search->readers.open, search->readers.first,
                 search->readers.next, search->readers.of);
    agenda_release(&search->reads);
    ISO_FREE_ALL(search->blocker, search->decisions, search->options, search->turn);
}

/* Proposes the nodes that are scheduled, then the rest as it stood. */
static void propose_order(struct search *search)
{
    struct engine *engine = search->engine;
    for (uint32_t node = 0; node < engine->graph.node_count; node++)
        engine->graph.rank[node] = search->position[node] != ISO_NONE
                                       ? search->position[node]
                                       : engine->graph.node_count + engine->graph.rank[node];
}

bool search_order(struct engine *engine, uint64_t dead_ends, uint32_t *scheduled_count)
{
    struct search search;
    search_init(&search, engine);
    search.retreat.dead_ends = dead_ends;
    engine->scheduled.by = &search;
    bool found = schedule_all(&search);
    assert(!found || search.scheduled_count == engine->graph.event_count);
    *scheduled_count = search.scheduled_count;
    if (!found)
        propose_order(&search);
    memcpy(engine->graph.order, search.scheduled,
           search.scheduled_count * sizeof *engine->graph.order);
    if (!found) {
        search_undo(&search, &(struct decision){0});
        memset(engine->saturation.moved_groups, 0,
               engine->graph.node_count * sizeof *engine->saturation.moved_groups);
    }
    engine->scheduled.by = NULL;
    search_release(&search);
    return found;
}
