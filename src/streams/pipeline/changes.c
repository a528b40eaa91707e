/* Between the join and the engine: transactions, outcomes and watermarks on their way in, CDC
 * violations on their way out.
 *
 * Without clients a row's before image is a read of the version that it replaced. One that is not
 * that version is reported as CDC: the stream does not fit together. Of isolation a stream alone
 * says nothing: a before image is the row that was really replaced, whatever a client had read.
 *
 * The join asks the engine by probes (join/join.h): an EXT violation of one is a CDC violation. An
 * instance of CDC is a transaction and a key, reported once, whatever found it first.
 */
#include <assert.h>
#include <string.h>

#include "pipeline/pipeline_private.h"

/* ---- ids ---- */

static uint64_t fold(uint64_t digest, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length = 0;
    const char *text = atom == ISO_ABSENT ? "" : iso_atom_text(atoms, atom, buffer, &length);
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ (uint8_t)text[i]) * 0x100000001b3u;
    digest = (digest ^ length) * 0x9e3779b97f4a7c15u;
    return digest ^ digest >> 29;
}

uint64_t pipeline_id_of(const struct iso_aion_event *event)
{
    uint64_t digest = 0xcbf29ce484222325u + (uint64_t)event->axiom * 31 + event->level;
    digest = fold(digest, event->transaction.atoms, event->transaction.tid);
    digest = fold(digest, event->key_atoms, event->key);
    return digest > ID_SET_REMOVED ? digest : digest + 2;
}

/* ---- out: what the engine found of a probe ---- */

static bool translate_probe(struct iso_pipeline *pipeline, struct iso_aion_event *event)
{
    enum iso_violation_kind kind;
    const char *text;
    size_t length;
    if (event->axiom != ISO_EXT ||
        !iso_join_probe_of(event->transaction.atoms, event->transaction.tid, &kind, &text, &length))
        return true;
    iso_atoms_clear(&pipeline->reports.probe_names);
    event->axiom = ISO_CDC;
    event->kind = kind;
    event->transaction.tid = iso_atoms_text(&pipeline->reports.probe_names, text, length);
    event->transaction.atoms = &pipeline->reports.probe_names;
    event->transaction.cts++; /* a probe stands just below the commit */
    event->operation = ISO_NONE;
    event->id = pipeline_id_of(event);
    if (kind == ISO_MISSING) {              /* it asked whether the value was there before */
        if (event->state == ISO_AION_FINAL) /* else what arrives late may be what it asked for */
            pipeline_doubt_write(pipeline, event);
        event->expected = event->actual;
        event->actual = (struct iso_aion_value){.count = 0};
    }
    if (event->state == ISO_AION_FINAL) {
        pipeline->reports.cdc.from_engine++;
        return id_set_add(&pipeline->reports.cdc.ids, event->id);
    }
    if (event->state == ISO_AION_RETRACTED && id_set_remove(&pipeline->reports.cdc.ids, event->id))
        pipeline->reports.cdc.from_engine--;
    return true;
}

/* ---- out: what the engine found of a change without a client ---- */

static bool is_change(const struct iso_aion_event *event)
{
    static const char prefix[] = "cdc:"; /* join's names of transactions that no client recorded */
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if ((event->axiom != ISO_EXT && event->axiom != ISO_INT) ||
        event->transaction.tid == ISO_ABSENT)
        return false;
    const char *text =
        iso_atom_text(event->transaction.atoms, event->transaction.tid, buffer, &length);
    return length >= sizeof prefix && !memcmp(text, prefix, sizeof prefix - 1);
}

/* A before image that is not the version before it: EXT, or INT within a transaction. Both may be
 * found of one key, which is reported once. */
static bool translate_change(struct iso_pipeline *pipeline, struct iso_aion_event *event)
{
    struct iso_join_stats stats;
    iso_join_stats(pipeline->join, &stats);
    event->axiom = ISO_CDC;
    /* changes came to nothing on their way */
    event->kind = stats.empty_ends ? ISO_GAP : ISO_BEFORE_IMAGE;
    event->id = pipeline_id_of(event);
    if (event->state == ISO_AION_RETRACTED)
        id_set_remove(&pipeline->reports.cdc.ids, event->id);
    return event->state != ISO_AION_FINAL || id_set_add(&pipeline->reports.cdc.ids, event->id);
}

/* ---- out ---- */

/* As far as is known by now: a column may not have been shown so far. */
static bool is_covered(const struct iso_pipeline *pipeline, const char *key, size_t length)
{
    struct iso_text name = {0};
    struct route_key split = routes_split_key(&pipeline->routes, key, length, &name);
    bool covered = split.route;
    if (split.column.at)
        covered = routes_cover_column((void *)&pipeline->routes, split.table.at, split.table.length,
                                      split.column.at, split.column.length) > ISO_COLUMN_NOT_SHOWN;
    iso_text_release(&name);
    return covered;
}

bool pipeline_is_left_out(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (pipeline->options.join.judge_uncovered || !event->key_atoms || event->key == ISO_ABSENT)
        return false;
    const char *key = iso_atom_text(event->key_atoms, event->key, buffer, &length);
    if (is_covered(pipeline, key, length))
        return false;
    bool is_final = event->state == ISO_AION_FINAL;
    pipeline->stats.left_out[event->axiom] += !is_final ? 0 : event->unlisted ? event->unlisted : 1;
    pipeline->stats.left_out_reads +=
        is_final && (event->axiom == ISO_EXT || event->axiom == ISO_INT);
    return true;
}

bool pipeline_translate(struct iso_pipeline *pipeline, struct iso_aion_event *event)
{
    if (!pipeline->options.join.clients && is_change(event))
        return translate_change(pipeline, event);
    return translate_probe(pipeline, event);
}

/* ---- out: what the join found ---- */

static struct iso_aion_value value_of(const struct iso_atoms *atoms, const iso_atom *atom)
{
    return (struct iso_aion_value){.atoms = atoms, .elements = atom, .count = *atom != ISO_ABSENT};
}

static void report_finding(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                           const struct iso_join_finding *finding)
{
    bool from_client = finding->client != UINT64_MAX;
    struct iso_aion_event event = {
        .state = ISO_AION_FINAL,
        .level = pipeline->options.engine.level,
        .axiom = finding->axiom,
        .kind = finding->kind,
        .transaction = {atoms, finding->tid, from_client ? finding->client : finding->delivered,
                        finding->sts, finding->cts},
        .other = {.tid = ISO_ABSENT},
        .key_atoms = atoms,
        .key = finding->key,
        .operation = ISO_NONE,
        .snapshot_violation = ISO_NONE,
        .expected = value_of(atoms, &finding->expected),
        .actual = value_of(atoms, &finding->actual),
        .writer_expected = {.tid = ISO_ABSENT},
        .writer_actual = {.tid = ISO_ABSENT},
        .cause = {.tid = ISO_ABSENT},
    };
    if (from_client && finding->delivered != UINT64_MAX)
        event.writer_actual =
            (struct iso_aion_party){atoms, finding->tid, finding->delivered, 0, 0};
    if (pipeline_suppresses(pipeline, &event, false))
        return;
    if (finding->axiom == ISO_CDC && from_client && finding->kind != ISO_BEFORE_IMAGE)
        pipeline_doubt_write(pipeline, &event);
    event.id = pipeline_id_of(&event);
    struct reported_ids *reported =
        finding->axiom == ISO_CDC ? &pipeline->reports.cdc : &pipeline->reports.snapshots;
    if (id_set_add(&reported->ids, event.id))
        pipeline_report(pipeline, &event);
}

/* ---- in ---- */

enum iso_status pipeline_drain(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    struct iso_join_output *out = iso_join_output(pipeline->join);
    if (out->count) {
        iso_aion_block(pipeline->engine, &out->block);
        pipeline_queries_block(pipeline, &out->block);
    }
    for (uint32_t i = 0; i < out->count && error->status == ISO_OK; i++) {
        const struct iso_join_step *step = &out->steps[i];
        switch (step->type) {
        case ISO_JOIN_ADD:
            pipeline_add(pipeline, &out->block, step->first, step->count, now, error);
            break;
        case ISO_JOIN_INITIAL:
            assert(step->first < out->block.keys.count);
            iso_aion_set_initial(pipeline->engine, step->first, step->tid, now);
            pipeline_queries_initial(pipeline, out->block.keys.atom[step->first], step->tid);
            break;
        case ISO_JOIN_ALTERED:
            pipeline_note_altered(pipeline, &out->block.atoms, step->tid, step->cts);
            pipeline_queries_altered(pipeline, &out->block.atoms, step->tid, step->cts, false);
            break;
        case ISO_JOIN_BEYOND:
            id_set_add(&pipeline->lost.beyond, pipeline_beyond_id(&out->block.atoms, step->tid));
            break;
        case ISO_JOIN_LAST:
            id_set_add(&pipeline->lost.last, pipeline_beyond_id(&out->block.atoms, step->tid));
            break;
        case ISO_JOIN_LOST:
            if (step->lost.is_named)
                pipeline_note_lost(pipeline, &out->block.atoms, &step->lost);
            if (step->cts && step->lost.may_empty)
                pipeline_note_altered(pipeline, &out->block.atoms, step->lost.table, step->cts);
            if (step->cts)
                pipeline_queries_altered(pipeline, &out->block.atoms, step->lost.table, step->cts,
                                         true);
            break;
        case ISO_JOIN_RESOLVE:
            iso_aion_resolve(pipeline->engine, &out->block.atoms, step->tid, step->committed,
                             step->cts, now);
            pipeline_queries_resolve(pipeline, &out->block.atoms, step->tid, step->committed,
                                     step->cts);
            break;
        case ISO_JOIN_WATERMARK: {
            uint32_t deferred = pipeline->altered.absent_count;
            iso_aion_watermark(pipeline->engine, step->cts, now);
            pipeline_queries_watermark(pipeline, step->cts);
            pipeline_release_absent(pipeline, deferred);
            break;
        }
        case ISO_JOIN_FINDING:
            report_finding(pipeline, &out->block.atoms, &step->finding);
            break;
        }
    }
    if (out->joined.txns.count && pipeline->options.on_joined)
        pipeline->options.on_joined(pipeline->options.context, &out->joined);
    pipeline_queries_flush(pipeline);
    iso_join_drained(pipeline->join);
    return error->status;
}

/* ---- figures ---- */

static uint64_t less(uint64_t left, uint64_t right)
{
    return left > right ? left - right : 0;
}

/* Rows and records of XA transactions as well as reads; and where no other outcome is unknown, it
 * is theirs. */
static void note_xa(struct iso_pipeline_stats *stats)
{
    const struct iso_join_stats *join = &stats->join;
    stats->unjudged[ISO_UNJUDGED_XA] += join->rows_gone[ISO_ROWS_XA] +
                                        join->records_gone[ISO_RECORDS_XA] +
                                        join->reads_gone[ISO_RECORDS_XA];
    stats->engine.reads_unjudged += join->reads_gone[ISO_RECORDS_XA];
    if (!join->rows_gone[ISO_ROWS_XA] || stats->engine.unknown != join->xa_unknown)
        return;
    stats->unjudged[ISO_UNJUDGED_XA] += stats->unjudged[ISO_UNJUDGED_UNKNOWN_WRITER];
    stats->unjudged[ISO_UNJUDGED_UNKNOWN_WRITER] = 0;
}

/* Takes the join's own transactions out of the engine's counts. */
static void correct_joined(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats)
{
    struct iso_aion_stats *engine = &stats->engine;
    iso_join_stats(pipeline->join, &stats->join);
    note_xa(stats);
    stats->unjudged[ISO_UNJUDGED_OWN_ORDER] += stats->join.reads_gone[ISO_READS_OWN_ORDER];
    stats->unjudged[ISO_UNJUDGED_INCOMPLETE] += stats->join.reads_gone[ISO_READS_INCOMPLETE];
    stats->unjudged[ISO_UNJUDGED_SCHEMA] += stats->join.incomparable;
    stats->unjudged[ISO_UNJUDGED_LOSSY] += stats->join.lost;
    stats->unjudged[ISO_UNJUDGED_DDL] += stats->absent_altered;
    for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++)
        stats->unjudged[reason] += stats->suppressed[reason];
    engine->transactions =
        less(engine->transactions, stats->join.probes + stats->join.initial_transactions);
    engine->reads_judged = less(
        engine->reads_judged, stats->join.probe_reads + stats->absent_altered +
                                  stats->suppressed_reads + stats->left_out_reads + stats->beyond);
    engine->reads_unjudged += stats->absent_altered + stats->suppressed_reads +
                              stats->join.reads_gone[ISO_READS_OWN_ORDER] +
                              stats->join.reads_gone[ISO_READS_INCOMPLETE];
    engine->operations =
        less(engine->operations, stats->join.probe_reads + stats->join.initial_versions);
    engine->foreign = less(engine->foreign, stats->join.initial_transactions);
    engine->counts[ISO_EXT] =
        less(engine->counts[ISO_EXT], pipeline->reports.cdc.from_engine + stats->absent_altered +
                                          pipeline->altered.absent_count);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        engine->counts[axiom] = less(engine->counts[axiom], stats->left_out[axiom]);
    if (!pipeline->options.join.clients && !stats->join.records) /* all reads are before images */
        engine->counts[ISO_EXT] = engine->counts[ISO_INT] = 0;
    engine->counts[ISO_CDC] += pipeline->reports.cdc.ids.count;
    engine->counts[ISO_TIMESTAMP] += pipeline->reports.snapshots.ids.count;
}

/* All that was read is unjudged, also what happens to agree. */
static void leave_to_stream(struct iso_pipeline_stats *stats)
{
    struct iso_aion_stats *engine = &stats->engine;
    stats->unjudged[ISO_UNJUDGED_NO_STREAM] += engine->reads_judged;
    engine->reads_unjudged += engine->reads_judged;
    engine->reads_judged = 0;
    engine->counts[ISO_EXT] = engine->counts[ISO_INT] = 0;
}

void pipeline_correct(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats)
{
    struct iso_aion_stats *engine = &stats->engine;
    struct counted_loss loss = counted_loss(&pipeline->counted);
    stats->lost.records = loss.records;
    stats->lost.sessions = loss.sessions;
    stats->lost.origin = loss.origin;
    stats->lost.silent = loss.silent;
    stats->lost.open = loss.open;
    stats->lost.since = loss.since;
    stats->lost.latest = pipeline->counted.latest;
    stats->lost.name = loss.name;
    stats->lost.file = pipeline->counted.file;
    stats->has_join = pipeline->join != NULL;
    for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++)
        stats->unjudged[reason] = engine->unjudged[reason];
    if (pipeline->join)
        correct_joined(pipeline, stats);
    else if (iso_pipeline_lacks_stream(pipeline))
        leave_to_stream(stats);
    pipeline_queries_correct(pipeline, stats);
}
