/* The pipeline's state as an archive. */
#include "pipeline/archive.h"

#include <string.h>

#include "aion/archive.h"
#include "base/memory.h"
#include "history/archive.h"
#include "join/archive.h"
#include "pipeline/pipeline_private.h"

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
        topic = iso_archive_column(archive, "input.topic", ISO_ARCHIVE_HEAP, topic, &length, &capacity, 1);
        if (!archive->restoring)
            continue;
        if (archive->error->status == ISO_OK)
            iso_archive_expect(archive, iso_inputs_number(inputs, topic ? topic : "", length, partition) == i);
        iso_free(topic);
    }
}

static void archive_findings(struct iso_archive *archive, struct findings *findings)
{
    iso_atoms_archive(archive, &findings->atoms);
    ISO_ARCHIVE_ANY(archive, "findings", ISO_ARCHIVE_HEAP, findings->list, findings->count, findings->capacity);
    for (size_t i = 0; archive->restoring && i < findings->count; i++)
        findings->list[i].text = NULL; /* of another process */
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->list[i];
        uint64_t length = finding->text ? finding->length : 0, capacity = length; /* none: it was removed */
        finding->text =
            iso_archive_column(archive, "finding.text", ISO_ARCHIVE_HEAP, finding->text, &length, &capacity, 1);
        iso_archive_expect(archive, length == finding->length || !finding->text);
    }
    if (archive->restoring && findings->count)
        findings_index(findings);
}

static void archive_times(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    uint32_t clock = pipeline->clock;
    iso_archive_value(archive, "clock", &clock, sizeof clock);
    pipeline->clock = clock;
    ISO_ARCHIVE_VALUE(archive, pipeline->midway);
    ISO_ARCHIVE_VALUE(archive, pipeline->year);
    ISO_ARCHIVE_VALUE(archive, pipeline->stats);
    ISO_ARCHIVE_ANY(archive, "states", ISO_ARCHIVE_HEAP, pipeline->states, pipeline->state_count,
                    pipeline->state_count);
    for (uint32_t i = 0; i < pipeline->state_count; i++)
        iso_archive_expect(archive,
                           pipeline->states[i].route == NO_ROUTE || pipeline->states[i].route <= pipeline->route_count);
}

static void archive_stairs(struct iso_archive *archive, struct stairs *stairs)
{
    ISO_ARCHIVE_ANY(archive, "stairs", ISO_ARCHIVE_HEAP, stairs->list, stairs->count, stairs->capacity);
    ISO_ARCHIVE_VALUE(archive, stairs->first);
    ISO_ARCHIVE_VALUE(archive, stairs->reached);
    iso_archive_expect(archive, stairs->first <= stairs->count);
}

static void archive_grace(struct iso_archive *archive, struct grace *grace)
{
    archive_stairs(archive, &grace->promise);
    ISO_ARCHIVE_VALUE(archive, grace->stream_time);
    ISO_ARCHIVE_VALUE(archive, grace->stream_seen);
    ISO_ARCHIVE_VALUE(archive, grace->reached);
}

static void archive_told(struct iso_archive *archive, struct told *told)
{
    uint64_t slots = told->ids ? (uint64_t)told->mask + 1 : 0;
    ISO_ARCHIVE_ANY(archive, "told", ISO_ARCHIVE_HEAP, told->ids, slots, slots);
    ISO_ARCHIVE_VALUE(archive, told->used);
    ISO_ARCHIVE_VALUE(archive, told->count);
    ISO_ARCHIVE_VALUE(archive, told->from_engine);
    iso_archive_expect(archive, !(slots & (slots - 1)) && slots <= UINT32_MAX && told->used <= slots);
    told->mask = slots ? (uint32_t)(slots - 1) : 0;
    if (archive->restoring && archive->error->status == ISO_OK && slots) {
        iso_archive_expect(archive, told->count <= told->used);
        if (archive->error->status == ISO_OK)
            told_refill(told);
    }
}

static void archive_doubt(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    struct doubted *doubted = &pipeline->doubted;
    uint64_t slots = doubted->slots ? doubted->mask + 1 : 0;
    ISO_ARCHIVE_ANY(archive, "doubted", ISO_ARCHIVE_HEAP, doubted->slots, slots, slots);
    ISO_ARCHIVE_VALUE(archive, doubted->count);
    ISO_ARCHIVE_VALUE(archive, doubted->all);
    ISO_ARCHIVE_VALUE(archive, pipeline->lacks);
    ISO_ARCHIVE_VALUE(archive, pipeline->late);
    ISO_ARCHIVE_VALUE(archive, pipeline->highest);
    ISO_ARCHIVE_VALUE(archive, pipeline->beyond);
    iso_archive_expect(archive, !(slots & (slots - 1)) && doubted->count <= slots);
    doubted->mask = slots ? slots - 1 : 0;
    if (archive->restoring && archive->error->status == ISO_OK && slots)
        doubted_refill(doubted);
}

/* What decoders have learned of their streams, route by route. */
static void archive_decoders(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    for (uint32_t i = 0; i < pipeline->route_count; i++) {
        struct iso_decoder *decoder = pipeline->routes[i].decoder;
        if (decoder->class->archive)
            decoder->class->archive(decoder, archive);
    }
}

static void archive_text(struct iso_archive *archive, char **text, size_t *length)
{
    uint64_t count = *length, capacity = *length;
    *text = iso_archive_column(archive, "altered.text", ISO_ARCHIVE_HEAP, archive->restoring ? NULL : *text, &count,
                               &capacity, 1);
    *length = count;
}

static void archive_altered(struct iso_archive *archive, struct altered *altered)
{
    ISO_ARCHIVE_ANY(archive, "altered.tables", ISO_ARCHIVE_HEAP, altered->tables, altered->table_count,
                    altered->table_count);
    for (uint32_t i = 0; archive->restoring && i < altered->table_count; i++)
        altered->tables[i].name = NULL; /* of another process */
    for (uint32_t i = 0; i < altered->table_count; i++)
        archive_text(archive, &altered->tables[i].name, &altered->tables[i].length);
    ISO_ARCHIVE_ANY(archive, "altered.absents", ISO_ARCHIVE_HEAP, altered->absents, altered->absent_count,
                    altered->absent_capacity);
    for (uint32_t i = 0; archive->restoring && i < altered->absent_count; i++)
        altered->absents[i].tid = altered->absents[i].key = altered->absents[i].line = NULL;
    for (uint32_t i = 0; i < altered->absent_count; i++) {
        struct absent *absent = &altered->absents[i];
        archive_text(archive, &absent->tid, &absent->tid_length);
        archive_text(archive, &absent->key, &absent->key_length);
        archive_text(archive, &absent->line, &absent->length);
        iso_archive_expect(archive, absent->start < absent->length || archive->error->status != ISO_OK);
    }
}

static void archive_changes(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    archive_altered(archive, &pipeline->altered);
    archive_grace(archive, &pipeline->grace);
    archive_told(archive, &pipeline->cdc);
    archive_told(archive, &pipeline->snapshots);
    ISO_ARCHIVE_ANY(archive, "spellings", ISO_ARCHIVE_HEAP, pipeline->spellings.list, pipeline->spellings.count,
                    pipeline->spellings.count);
    iso_join_archive(archive, pipeline->join);
}

void iso_pipeline_archive(struct iso_archive *archive, struct iso_pipeline *pipeline)
{
    if (archive->restoring) {
        iso_free(pipeline->states);
        pipeline->states = NULL;
        pipeline->state_count = 0;
    }
    archive_inputs(archive, &pipeline->inputs);
    archive_times(archive, pipeline);
    archive_findings(archive, &pipeline->findings);
    unlisted_archive(archive, &pipeline->unlisted);
    archive_doubt(archive, pipeline);
    archive_decoders(archive, pipeline);
    if (pipeline->join)
        archive_changes(archive, pipeline);
    iso_aion_archive(archive, pipeline->engine);
}

void iso_pipeline_fork(struct iso_pipeline *pipeline)
{
    iso_aion_fork(pipeline->engine);
}

void iso_pipeline_commit(struct iso_pipeline *pipeline)
{
    iso_aion_commit(pipeline->engine);
}
