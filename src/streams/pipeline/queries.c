/* Queries of tables: what they did not return (rowsets/rowsets.h), beside the engine.
 *
 * Begins when a source has cells, or, where there are only records, with the first row or query
 * that one has: without them nothing is kept. The engine for row sets is given what aion is given,
 * and judges a query once, when it is final; so each of its findings is final.
 */
#include "pipeline/pipeline_private.h"

#include <assert.h>
#include <string.h>

#include "base/cell_key.h"
#include "base/memory.h"
#include "rowsets/shards.h"

/* ---- what is known of columns ---- */

static struct iso_scalar_type type_by(const struct route *route, struct iso_json_text table,
                                      struct iso_json_text column)
{
    struct iso_scalar_type type = {.value = route_value_type(route, table, column)};
    if (!route)
        return type;
    type.is_signed = route->decoder->only_signed;
    type.text = route->traits.collation == ISO_COLLATION_C ? ISO_TEXT_ORDERED
                : route->traits.collation == ISO_COLLATION_BINARY || type.is_signed
                    ? ISO_TEXT_DISTINCT /* PostgreSQL's collations tell any two texts apart */
                    : ISO_TEXT_COLLATED;
    return type;
}

static struct iso_scalar_type type_of(void *context, struct iso_json_text table,
                                      struct iso_json_text column)
{
    const struct iso_pipeline *pipeline = context;
    return type_by(routes_find(&pipeline->routes, table.at, table.length), table, column);
}

/* In which order a key has its columns no message says: so only keys of one column have a type. */
static void key_of(void *context, struct iso_json_text table, struct iso_rowsets_key *key)
{
    const struct iso_pipeline *pipeline = context;
    const struct route *route = routes_find(&pipeline->routes, table.at, table.length);
    struct iso_json_text column = {NULL, 0};
    key->parts = 0;
    if (route && route->decoder->class->key_column)
        column.at = route->decoder->class->key_column(route->decoder, table.at, table.length,
                                                      &column.length);
    if (!column.at)
        return;
    *key = (struct iso_rowsets_key){
        .parts = 1, .columns = {column}, .types = {type_by(route, table, column)}};
    /* Texts and integers may be mixed, and collation= is said of texts. */
    if (key->types[0].value.kind == ISO_VALUE_UNKNOWN)
        key->types[0].text = ISO_TEXT_COLLATED;
}

void iso_pipeline_know_columns(struct iso_pipeline *pipeline, struct iso_rowsets_options *options)
{
    options->type_of = type_of;
    options->key_of = key_of;
    options->context = pipeline;
}

/* ---- what is found ---- */

static iso_atom keep_text(struct iso_atoms *atoms, struct iso_json_text text)
{
    return text.at ? iso_atoms_text(atoms, text.at, text.length) : ISO_ABSENT;
}

/* Retracts violations, but for those that are left out: they were not reported. */
static void retract(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    assert(event->state == ISO_AION_RETRACTED);
    struct queries *queries = &pipeline->queries;
    for (uint32_t i = 0; i < queries->again_count; i++) {
        if (queries->again[i] != event->id)
            continue;
        queries->again[i] = queries->again[--queries->again_count]; /* another query says it, too */
        return;
    }
    if (!id_set_remove(&queries->reported.ids, event->id))
        return;
    assert(queries->found[event->axiom]);
    queries->found[event->axiom]--;
    pipeline_report(pipeline, event);
}

/* One instance, which several queries of its transaction show: as often it may be retracted. */
static void note_again(struct queries *queries, const struct iso_aion_event *event)
{
    if (!event->by_deadline)
        return;
    ISO_GROW(queries->again, queries->again_count, queries->again_capacity);
    queries->again[queries->again_count++] = event->id;
}

static void report_finding(void *context, const struct iso_rowsets_finding *finding)
{
    struct iso_pipeline *pipeline = context;
    struct queries *queries = &pipeline->queries;
    struct iso_atoms *atoms = &queries->texts;
    iso_atoms_clear(atoms);
    iso_atom expected = keep_text(atoms, finding->expected),
             actual = keep_text(atoms, finding->actual);
    if (finding->value.atoms)
        expected = iso_atoms_copy(atoms, finding->value.atoms, finding->value.atom);
    struct iso_aion_event event = {
        .state = finding->state == ISO_ROWSETS_RETRACTED ? ISO_AION_RETRACTED : ISO_AION_FINAL,
        .by_deadline = finding->state == ISO_ROWSETS_BY_DEADLINE,
        .unpromised = finding->state == ISO_ROWSETS_FINAL && !finding->is_promised,
        .level = pipeline->options.engine.level,
        .axiom = finding->axiom,
        .kind = finding->kind,
        .transaction = {atoms, keep_text(atoms, finding->transaction.tid),
                        finding->transaction.origin, finding->sts, finding->cts},
        .other = {.tid = ISO_ABSENT},
        .key_atoms = atoms,
        .key = keep_text(atoms, finding->key),
        .operation = finding->step,
        .visible_below = finding->bound,
        .snapshot_violation = ISO_NONE,
        .expected = {.atoms = atoms, .elements = &expected, .count = expected != ISO_ABSENT},
        .actual = {.atoms = atoms, .elements = &actual, .count = actual != ISO_ABSENT},
        .writer_expected = {atoms, keep_text(atoms, finding->writer), UINT64_MAX, 0, 0},
        .writer_actual = {.tid = ISO_ABSENT},
        .cause = {.tid = ISO_ABSENT},
    };
    event.id = pipeline_id_of(&event);
    if (event.state == ISO_AION_RETRACTED) {
        retract(pipeline, &event);
        return;
    }
    if (pipeline->join &&
        (pipeline_waits_beyond(pipeline, &event) || pipeline_lacks_changes(pipeline, &event)))
        return;
    if (pipeline->join && pipeline_is_left_out(pipeline, &event)) {
        queries->found[event.axiom]++; /* what is left out is subtracted from what was found */
        return;
    }
    if (!id_set_add(&queries->reported.ids, event.id)) {
        note_again(queries, &event);
        return;
    }
    queries->found[event.axiom]++;
    pipeline_report(pipeline, &event);
}

bool pipeline_is_cell(const struct iso_atoms *atoms, iso_atom key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(atoms, key, buffer, &length);
    return memchr(text, ISO_CELL_MARK, length);
}

void pipeline_queries_name(struct iso_aion_event *event)
{
    const uint32_t of_set = ISO_AION_OF_QUERY | ISO_AION_OF_RANGE;
    if (event->operation == ISO_NONE || !(event->operation & of_set))
        return;
    bool of_range = event->operation & ISO_AION_OF_RANGE;
    event->operation &= ~of_set;
    bool was_there = event->expected.count && event->expected.elements[0] != ISO_ABSENT;
    bool was_found = event->actual.count && event->actual.elements[0] != ISO_ABSENT;
    if (event->axiom != ISO_EXT || event->kind == ISO_KIND_NONE)
        return;
    if (of_range && !was_found)
        event->kind = ISO_MISSING_ROW;
    else if (!was_there && (of_range || !pipeline_is_cell(event->key_atoms, event->key)))
        event->kind = ISO_EXTRA_ROW;
}

/* ---- in ---- */

void pipeline_need_queries(struct iso_pipeline *pipeline)
{
    struct iso_rowsets_options options;
    if (pipeline->queries.engine || iso_aion_holds(pipeline->options.engine.level))
        return; /* the rows of a query may be of several moments */
    iso_rowsets_options_init(&options);
    options.level = pipeline->options.seeks_order ? ISO_SI : pipeline->options.engine.level;
    options.retention = pipeline->options.engine.retention;
    options.scan_limit = pipeline->options.scan_limit;
    options.initial_is_known = !pipeline->join || iso_join_initial_is_known(pipeline->join);
    options.ranges = pipeline->queries.of_ranges;
    options.shards = pipeline->options.engine.shards;
    options.spill = pipeline->options.engine.spill;
    options.on_finding = report_finding;
    options.scans = pipeline->options.scans;
    iso_pipeline_know_columns(pipeline, &options);
    pipeline->queries.engine = iso_rowsets_shards_new(
        &options, pipeline->options.engine.host.run_shards, pipeline->options.engine.host.runner);
}

void iso_pipeline_imply_queries(struct iso_pipeline *pipeline, struct iso_history *finished)
{
    struct iso_rowsets_options options;
    iso_rowsets_options_init(&options);
    iso_pipeline_know_columns(pipeline, &options);
    iso_rowsets_imply(finished, &options);
}

/* There was something before: which keys were there nobody knows. */
void pipeline_queries_midway(struct iso_pipeline *pipeline)
{
    if (pipeline->queries.of_ranges && pipeline->queries.engine)
        iso_rowsets_shards_unknown_keys(pipeline->queries.engine);
}

/* Gives the row sets the initial values of keys. */
void pipeline_queries_start(struct iso_pipeline *pipeline, const struct iso_history *initial)
{
    bool has_cells = false;
    for (uint32_t i = 0; i < initial->initial.count; i++)
        has_cells |= pipeline_is_cell(&initial->atoms, initial->keys.atom[initial->initial.key[i]]);
    if (has_cells)
        pipeline_need_queries(pipeline);
    if (!pipeline->queries.engine)
        return;
    if (initial->initial.other_value != ISO_ABSENT)
        iso_rowsets_shards_unknown_keys(pipeline->queries.engine);
    iso_rowsets_shards_block(pipeline->queries.engine, initial);
    for (uint32_t i = 0; i < initial->initial.count; i++)
        iso_rowsets_shards_initial(pipeline->queries.engine,
                                   initial->keys.atom[initial->initial.key[i]],
                                   initial->initial.value[i], initial->initial.is_append[i]);
}

/* Whether a record of the block has rows with cells, or queries. */
static bool has_rows(const struct iso_history *block)
{
    for (uint32_t i = 0; i < block->ranges.count; i++)
        if (block->ranges.list[i].form != ISO_SET_RANGE)
            return true;
    return false;
}

void pipeline_queries_block(struct iso_pipeline *pipeline, const struct iso_history *block)
{
    if (!pipeline->queries.engine && !pipeline->join && has_rows(block))
        pipeline_need_queries(pipeline);
    if (pipeline->queries.engine)
        iso_rowsets_shards_block(pipeline->queries.engine, block);
}

/* The transaction's next query from set `*next` on; NULL: there are no more. */
static const struct iso_range *next_query(const struct iso_history *block, uint32_t *next,
                                          uint32_t end)
{
    while (*next < end) {
        const struct iso_range *set = &block->ranges.list[(*next)++];
        if (set->form == ISO_SET_QUERY)
            return set;
    }
    return NULL;
}

/* Until all that was there has been said nothing is judged: as long as that is not sure not to be
 * said. */
static bool start_is_settled(struct iso_pipeline *pipeline)
{
    if (!pipeline->queries.is_whole &&
        (!pipeline->join || iso_join_initial_is_known(pipeline->join))) {
        pipeline->queries.is_whole = true;
        iso_rowsets_shards_whole(pipeline->queries.engine);
    }
    return pipeline->queries.is_whole || iso_join_start_is_settled(pipeline->join);
}

/* No source has cells: of its rows nothing is kept. Or the level says nothing of them. */
static void leave(struct iso_pipeline *pipeline, const struct iso_history *block,
                  uint32_t transaction)
{
    uint32_t end, next = iso_history_sets_of(block, transaction, &end);
    while (iso_status_of(block, transaction) == ISO_COMMITTED && next_query(block, &next, end)) {
        pipeline->stats
            .suppressed[iso_aion_holds(pipeline->options.engine.level) ? ISO_UNJUDGED_ROW_SETS
                                                                       : ISO_UNJUDGED_COLUMN]++;
        pipeline->stats.suppressed_reads++;
    }
}

void pipeline_queries_add(void *context, const struct iso_history *block, uint32_t transaction)
{
    struct iso_pipeline *pipeline = context;
    assert(transaction < block->txns.count);
    if (!pipeline->queries.engine) {
        leave(pipeline, block, transaction);
        return;
    }
    iso_rowsets_shards_add(pipeline->queries.engine, transaction);
}

/* The block is about to change. */
void pipeline_queries_flush(struct iso_pipeline *pipeline)
{
    if (pipeline->queries.engine)
        iso_rowsets_shards_flush(pipeline->queries.engine);
}

void pipeline_queries_initial(struct iso_pipeline *pipeline, iso_atom key, iso_atom value)
{
    if (pipeline->queries.engine)
        iso_rowsets_shards_initial(pipeline->queries.engine, key, value, false);
}

void pipeline_queries_altered(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                              iso_atom table, uint64_t cts, bool is_lost)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text name;
    if (!pipeline->queries.engine)
        return;
    name.at = iso_atom_text(atoms, table, buffer, &name.length);
    (is_lost ? iso_rowsets_shards_lost : iso_rowsets_shards_altered)(pipeline->queries.engine, name,
                                                                     cts);
}

void pipeline_queries_resolve(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                              iso_atom tid, bool committed, uint64_t cts)
{
    if (pipeline->queries.engine)
        iso_rowsets_shards_resolve(pipeline->queries.engine, atoms, tid, committed, cts);
}

void pipeline_queries_watermark(struct iso_pipeline *pipeline, uint64_t watermark)
{
    if (pipeline->queries.engine && start_is_settled(pipeline))
        iso_rowsets_shards_watermark(pipeline->queries.engine, watermark);
}

/* Row sets have at most this part of the memory that there is. */
enum { PART = 2 };

uint64_t pipeline_queries_bytes(void *context)
{
    const struct iso_pipeline *pipeline = context;
    return pipeline->queries.engine ? iso_rowsets_shards_bytes(pipeline->queries.engine) : 0;
}

void pipeline_queries_floor(void *context, uint64_t floor)
{
    const struct iso_pipeline *pipeline = context;
    if (pipeline->queries.engine && floor > 1)
        iso_rowsets_shards_forget(pipeline->queries.engine, floor - 1);
}

void pipeline_queries_clock(struct iso_pipeline *pipeline, uint64_t now)
{
    if (pipeline->queries.engine)
        iso_rowsets_shards_clock(pipeline->queries.engine, now, 0);
}

void pipeline_queries_tick(struct iso_pipeline *pipeline, uint64_t now)
{
    if (!pipeline->queries.engine)
        return;
    pipeline_queries_floor(pipeline, iso_aion_floor(pipeline->engine));
    if (pipeline->options.engine.finality_timeout_ms)
        iso_rowsets_shards_clock(pipeline->queries.engine, now,
                                 pipeline->options.engine.finality_timeout_ms);
}

void pipeline_queries_fit(struct iso_pipeline *pipeline)
{
    if (pipeline->queries.engine && pipeline->memory_limit)
        iso_rowsets_shards_fit(pipeline->queries.engine, pipeline->memory_limit / PART);
}

void pipeline_queries_end(struct iso_pipeline *pipeline)
{
    if (!pipeline->queries.engine)
        return;
    start_is_settled(pipeline);
    iso_rowsets_shards_end(pipeline->queries.engine);
}

/* ---- figures ---- */

void pipeline_queries_correct(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats)
{
    struct iso_rowsets_stats sets;
    if (!pipeline->queries.engine)
        return;
    iso_rowsets_shards_stats(pipeline->queries.engine, &sets);
    for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++)
        stats->unjudged[reason] += sets.reasons[reason];
    uint64_t headers = sets.unjudged - sets.unjudged_ranges;
    stats->engine.reads_unjudged += sets.unjudged;
    stats->engine.reads_judged -=
        headers < stats->engine.reads_judged ? headers : stats->engine.reads_judged;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        stats->engine.counts[axiom] += pipeline->queries.found[axiom];
}

/* Queries that wait, and those that are unjudged, whose headers are reads of the engine's: ranges
 * have none. */
void pipeline_queries_open(const struct iso_pipeline *pipeline, struct iso_rowsets_stats *sets)
{
    *sets = (struct iso_rowsets_stats){.oldest = UINT64_MAX};
    if (pipeline->queries.engine)
        iso_rowsets_shards_stats(pipeline->queries.engine, sets);
}

void queries_release(struct queries *queries)
{
    iso_rowsets_shards_free(queries->engine);
    id_set_release(&queries->reported.ids);
    iso_atoms_release(&queries->texts);
    iso_free(queries->again);
    *queries = (struct queries){0};
}
