/* The candidates of reads with several possible writers, listed once clocks have thrown out what cannot be.
 *
 * Of each chain, a read can have seen the last version that commits before it, if that is of the read's set and no
 * other chain's last one is known to hide it, and what is neither before nor after the read: a few searches a chain
 * find these. That is done once the rules have nothing more to say of the rest, for all reads at one time, `listed_at`;
 * the rules narrow the lists then.
 *
 * Nothing is kept of what was not listed. Who wants to know why (explain.c) has the clocks of that time made again,
 * from the facts of that time, and asks the rules.
 */
#include "polygraph/polygraph_private.h"

enum { LOOK_UP = 256 }; /* reads between looks at the clock on the wall */

static void add_candidate(struct engine *engine, uint32_t candidate)
{
    if (engine->candidate_total == engine->candidate_capacity) {
        size_t old = engine->candidate_capacity, next = iso_column_capacity(old, old + 1);
        engine->candidates = iso_column_grow(engine->candidates, old * sizeof candidate, next * sizeof candidate);
        engine->candidate_capacity = (uint32_t)next;
    }
    engine->candidates[engine->candidate_total++] = candidate;
}

/* The first member of a set, between two, that is not less than a version. */
static uint32_t first_from(const struct engine *engine, uint32_t low, uint32_t high, uint32_t version)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (engine->set_member[middle] < version)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first member, between two of one chain, that commits after a node. */
static uint32_t first_reached(const struct engine *engine, uint32_t low, uint32_t high, uint32_t node)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (reaches(engine, node, version_commit(engine, engine->set_member[middle])))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Of each run of the read's key, the last version that commits before it, into engine->latest; false: there is none. */
static bool find_latest(struct engine *engine, uint32_t read)
{
    uint32_t key = engine->read_key[read], t = engine->read_transaction[read];
    const stamp *clock = clock_of(engine, node_begin(engine, t));
    bool any = false;
    for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
        uint32_t last = clock_before(engine, clock, engine->run_chain[run], t);
        uint32_t latest = last ? run_latest_commit(engine, run, last) : ISO_NONE;
        engine->latest[run - engine->first_run[key]] = latest;
        any |= latest != ISO_NONE;
    }
    return any;
}

/* Whether another chain's last version before the read is known to come after one. */
static bool is_hidden(const struct engine *engine, uint32_t key, uint32_t version)
{
    uint32_t runs = engine->first_run[key + 1] - engine->first_run[key], begin = version_begin(engine, version);
    for (uint32_t i = 0; i < runs; i++) {
        uint32_t latest = engine->latest[i];
        if (latest != ISO_NONE && latest != version && reaches(engine, begin, version_commit(engine, latest)))
            return true;
    }
    return false;
}

static void list_read(struct engine *engine, uint32_t read)
{
    uint32_t key = engine->read_key[read], t = engine->read_transaction[read], begin = node_begin(engine, t);
    uint32_t set = engine->read_set[read], end = engine->set_first[set + 1];
    bool any = find_latest(engine, read);
    if (engine->set_member[end - 1] == INITIAL && --end && !any)
        add_candidate(engine, INITIAL);
    for (uint32_t i = engine->set_first[set], next; i < end; i = next) {
        uint32_t run = engine->version_run[engine->set_member[i]];
        uint32_t latest = engine->latest[run - engine->first_run[key]];
        next = first_from(engine, i + 1, end, engine->run_version[run + 1]);
        i = latest == ISO_NONE ? i : first_from(engine, i, next, latest);
        for (uint32_t last = first_reached(engine, i, next, begin); i < last; i++) {
            uint32_t version = engine->set_member[i];
            if (engine->version_transaction[version] != t && (version != latest || !is_hidden(engine, key, version)))
                add_candidate(engine, version);
        }
    }
}

/* Without the rules: all. */
static void list_all(struct engine *engine, uint32_t read)
{
    uint32_t set = engine->read_set[read];
    for (uint32_t i = engine->set_first[set]; i < engine->set_first[set + 1]; i++) {
        uint32_t version = engine->set_member[i];
        if (version == INITIAL || engine->version_transaction[version] != engine->read_transaction[read])
            add_candidate(engine, version);
    }
}

bool candidates_list(struct engine *engine)
{
    size_t reads = ((size_t)engine->read_count + 1) * sizeof(uint32_t);
    engine->first_candidate = iso_allocate(reads);
    engine->candidate_count = iso_allocate(reads);
    engine->listed_at = engine->fact_count;
    for (uint32_t read = 0; read < engine->read_count; read++) {
        uint32_t set = engine->read_set[read];
        if (read % LOOK_UP == 0 && engine_must_stop(engine))
            return false;
        engine->first_candidate[read] = engine->candidate_total;
        if (set != ISO_NONE && engine->options->no_saturation)
            list_all(engine, read);
        else if (set != ISO_NONE)
            list_read(engine, read);
        engine->candidate_count[read] = engine->candidate_total - engine->first_candidate[read];
        if (set != ISO_NONE)
            engine->result->counters.candidates_pruned +=
                engine->set_first[set + 1] - engine->set_first[set] - engine->candidate_count[read];
    }
    engine->first_candidate[engine->read_count] = engine->candidate_total;
    return true;
}

void candidates_release(struct engine *engine)
{
    iso_free(engine->first_candidate);
    iso_free(engine->candidate_count);
    iso_column_free(engine->candidates, engine->candidate_capacity * sizeof *engine->candidates);
}
