/* The pipeline's state as an archive. */
#include "pipeline/archive.h"

#include <string.h>

#include "aion/archive.h"
#include "base/memory.h"
#include "history/archive.h"
#include "join/join.h"
#include "pipeline/pipeline_private.h"
#include "rowsets/shards.h"

/* In their order: origins name inputs by number. */
static void archive_inputs(struct iso_archive *archive, struct iso_inputs *inputs)
{
    uint32_t count = inputs->count;
    iso_archive_value(archive, "inputs", &count, sizeof count);
    for (uint32_t i = 0; i < count && archive->error->status == ISO_OK; i++) {
        const struct iso_inputs_entry *known = archive->restoring ? NULL : &inputs->list[i];
        int32_t partition = known ? known->partition : 0;
        char *topic = known ? known->topic : NULL;
        uint64_t length = known ? strlen(topic) : 0, capacity = length;
        iso_archive_value(archive, "input.partition", &partition, sizeof partition);
        topic = iso_archive_column(archive, "input.topic", ISO_ARCHIVE_HEAP, topic, &length,
                                   &capacity, 1);
        if (!archive->restoring)
            continue;
        if (archive->error->status == ISO_OK)
            iso_archive_expect(
                archive, iso_inputs_number(inputs, topic ? topic : "", length, partition) == i);
        iso_free(topic);
    }
}

static void archive_findings(struct iso_archive *archive, struct findings *findings)
{
    iso_atoms_archive(archive, &findings->atoms);
    ISO_ARCHIVE_LIST(archive, "findings", ISO_ARCHIVE_HEAP, *findings);
    for (size_t i = 0; archive->restoring && i < findings->count; i++)
        findings->list[i].text = NULL; /* of another process */
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->list[i];
        uint64_t length = finding->text ? finding->length : 0,
                 capacity = length; /* none: it was removed */
        finding->text = iso_archive_column(archive, "finding.text", ISO_ARCHIVE_HEAP, finding->text,
                                           &length, &capacity, 1);
        iso_archive_expect(archive, length == finding->length || !finding->text);
    }
    if (archive->restoring && findings->count)
        findings_index(findings);
}

static void archive_times(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    struct inputs *inputs = &pipeline->inputs;
    uint32_t clock = pipeline->clock.kind;
    iso_archive_value(archive, "clock", &clock, sizeof clock);
    pipeline->clock.kind = clock;
    ISO_ARCHIVE_AS(archive, "pipeline->midway", pipeline->doubts.midway);
    ISO_ARCHIVE_AS(archive, "pipeline->year", pipeline->clock.year);
    ISO_ARCHIVE_VALUE(archive, pipeline->stats);
    ISO_ARCHIVE_ANY(archive, "states", ISO_ARCHIVE_HEAP, inputs->list, inputs->count,
                    inputs->count);
    for (uint32_t i = 0; i < inputs->count; i++)
        iso_archive_expect(archive, inputs->list[i].route == NO_ROUTE ||
                                        inputs->list[i].route <= pipeline->routes.count);
}

static void archive_grace(struct iso_archive *archive, struct grace *grace)
{
    iso_stairs_archive(archive, &grace->promise);
    ISO_ARCHIVE_VALUE(archive, grace->stream_time);
    ISO_ARCHIVE_VALUE(archive, grace->stream_seen);
    ISO_ARCHIVE_VALUE(archive, grace->reached);
}

/* Slots of an id set, which are those of another process when they have been restored
 * (finish_ids). */
static void archive_ids(struct iso_archive *archive, const char *name, struct id_set *set)
{
    uint64_t slots = set->slots ? (uint64_t)set->mask + 1 : 0;
    ISO_ARCHIVE_ANY(archive, name, ISO_ARCHIVE_HEAP, set->slots, slots, slots);
    iso_archive_expect(archive, !(slots & (slots - 1)) && slots <= UINT32_MAX);
    set->mask = slots ? (uint32_t)(slots - 1) : 0;
}

static void finish_ids(struct iso_archive *archive, struct id_set *set)
{
    iso_archive_expect(archive, !set->slots || (set->used <= set->mask && set->count <= set->used));
    if (archive->restoring && archive->error->status == ISO_OK && set->slots)
        id_set_refill(set);
}

static void archive_reported(struct iso_archive *archive, struct reported_ids *reported)
{
    archive_ids(archive, "told", &reported->ids);
    ISO_ARCHIVE_AS(archive, "told->used", reported->ids.used);
    ISO_ARCHIVE_AS(archive, "told->count", reported->ids.count);
    ISO_ARCHIVE_AS(archive, "told->from_engine", reported->from_engine);
    finish_ids(archive, &reported->ids);
}

static void archive_doubt(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    struct doubts *doubts = &pipeline->doubts;
    archive_ids(archive, "doubted", &doubts->doubted);
    ISO_ARCHIVE_AS(archive, "doubted->count", doubts->doubted.count);
    ISO_ARCHIVE_AS(archive, "doubted->all", doubts->all);
    ISO_ARCHIVE_AS(archive, "pipeline->lacks", doubts->lacks);
    ISO_ARCHIVE_AS(archive, "pipeline->lacks_rows", doubts->lacks_rows);
    ISO_ARCHIVE_AS(archive, "pipeline->late", doubts->late);
    ISO_ARCHIVE_AS(archive, "pipeline->highest", pipeline->clock.highest);
    ISO_ARCHIVE_AS(archive, "pipeline->beyond", pipeline->clock.beyond);
    doubts->doubted.used = (uint32_t)doubts->doubted.count; /* none is removed */
    finish_ids(archive, &doubts->doubted);
}

/* Archives the decoders' knowledge of their streams, route by route. */
static void archive_decoders(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    for (uint32_t i = 0; i < pipeline->routes.count; i++) {
        struct iso_decoder *decoder = pipeline->routes.list[i].decoder;
        if (decoder->class->archive)
            decoder->class->archive(decoder, archive);
    }
}

static void archive_text(struct iso_archive *archive, char **text, size_t *length)
{
    uint64_t count = *length, capacity = *length;
    *text = iso_archive_column(archive, "altered.text", ISO_ARCHIVE_HEAP,
                               archive->restoring ? NULL : *text, &count, &capacity, 1);
    *length = count;
}

static void archive_altered(struct iso_archive *archive, struct altered *altered)
{
    ISO_ARCHIVE_ANY(archive, "altered.tables", ISO_ARCHIVE_HEAP, altered->tables,
                    altered->table_count, altered->table_count);
    for (uint32_t i = 0; archive->restoring && i < altered->table_count; i++)
        altered->tables[i].name = NULL; /* of another process */
    for (uint32_t i = 0; i < altered->table_count; i++)
        archive_text(archive, &altered->tables[i].name, &altered->tables[i].length);
    ISO_ARCHIVE_ANY(archive, "altered.absents", ISO_ARCHIVE_HEAP, altered->deferred_missing,
                    altered->absent_count, altered->absent_capacity);
    for (uint32_t i = 0; archive->restoring && i < altered->absent_count; i++)
        altered->deferred_missing[i].tid = altered->deferred_missing[i].key =
            altered->deferred_missing[i].line = NULL;
    for (uint32_t i = 0; i < altered->absent_count; i++) {
        struct absent *absent = &altered->deferred_missing[i];
        archive_text(archive, &absent->tid, &absent->tid_length);
        archive_text(archive, &absent->key, &absent->key_length);
        archive_text(archive, &absent->line, &absent->length);
        iso_archive_expect(archive,
                           absent->start < absent->length || archive->error->status != ISO_OK);
    }
}

static void archive_lost(struct iso_archive *archive, struct lost *lost)
{
    uint64_t used = lost->lines.used, capacity = lost->lines.capacity;
    ISO_ARCHIVE_ANY(archive, "lost.lines", ISO_ARCHIVE_HEAP, lost->lines.bytes, used, capacity);
    lost->lines.used = used;
    lost->lines.capacity = capacity;
    ISO_ARCHIVE_VALUE(archive, lost->count);
    ISO_ARCHIVE_VALUE(archive, lost->first);
    iso_archive_expect(archive, !used || !lost->lines.bytes || lost->lines.bytes[used - 1] == '\n');
}

static void archive_changes(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    archive_altered(archive, &pipeline->altered);
    archive_grace(archive, &pipeline->grace);
    archive_reported(archive, &pipeline->reports.cdc);
    archive_reported(archive, &pipeline->reports.snapshots);
    ISO_ARCHIVE_ANY(archive, "spellings", ISO_ARCHIVE_HEAP, pipeline->spellings.list,
                    pipeline->spellings.count, pipeline->spellings.count);
    archive_lost(archive, &pipeline->lost);
    iso_join_archive(archive, pipeline->join);
}

static void archive_queries(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    uint32_t needed = pipeline->queries.engine != NULL;
    iso_archive_value(archive, "queries", &needed, sizeof needed);
    if (needed)
        pipeline_need_queries(pipeline);
    if (!needed || archive->error->status != ISO_OK)
        return;
    ISO_ARCHIVE_AS(archive, "queries->found", pipeline->queries.found);
    archive_reported(archive, &pipeline->queries.reported);
    ISO_ARCHIVE_ANY(archive, "queries->again", ISO_ARCHIVE_HEAP, pipeline->queries.again,
                    pipeline->queries.again_count, pipeline->queries.again_capacity);
    iso_rowsets_shards_archive(archive, pipeline->queries.engine);
}

void iso_pipeline_archive(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    if (archive->restoring) {
        iso_free(pipeline->inputs.list);
        pipeline->inputs.list = NULL;
        pipeline->inputs.count = 0;
    }
    archive_inputs(archive, &pipeline->inputs.names);
    for (uint32_t i = 0; archive->restoring && i < pipeline->inputs.names.count; i++)
        routes_note_topic(&pipeline->routes, pipeline->inputs.names.list[i].topic);
    archive_times(archive, pipeline);
    for (uint32_t i = 0; archive->restoring && i < pipeline->inputs.count; i++)
        if (pipeline->inputs.list[i].route == NO_ROUTE && i < pipeline->inputs.names.count)
            routes_leave_topic(&pipeline->routes, pipeline->inputs.names.list[i].topic);
    archive_findings(archive, &pipeline->reports.findings);
    unlisted_archive(archive, &pipeline->reports.unlisted);
    archive_doubt(archive, pipeline);
    archive_decoders(archive, pipeline);
    counted_archive(archive, &pipeline->counted);
    ISO_ARCHIVE_VALUE(archive, pipeline->replaced_null.is);
    ISO_ARCHIVE_VALUE(archive, pipeline->replaced_null.is_told);
    if (pipeline->join)
        archive_changes(archive, pipeline);
    iso_aion_archive(archive, pipeline->engine);
    if (archive->restoring) { /* the run that saved it has said so, with its bound */
        pipeline->reports.closed_early = iso_aion_closed_early(pipeline->engine) != 0;
        pipeline->reports.given_up = iso_aion_given_up(pipeline->engine) != 0;
    }
    archive_queries(archive, pipeline);
}

void iso_pipeline_fork(struct iso_pipeline *pipeline)
{
    iso_aion_fork(pipeline->engine);
}

void iso_pipeline_commit(struct iso_pipeline *pipeline)
{
    iso_aion_commit(pipeline->engine);
}
