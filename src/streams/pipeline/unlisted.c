/* What is over the list of a key, or of a session: counted, and reported at the end in a line for
 * each.
 *
 * Counts stand by axiom and name, in the order in which the first of them arrived. There is one for
 * a thousand violations at most (the limit of a list), so that this is small.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "history/archive.h"
#include "pipeline/pipeline_private.h"
#include "verdict/reported.h"

static uint64_t name_of(enum iso_axiom axiom, iso_atom name)
{
    return iso_number_pair((uint32_t)axiom, name);
}

static struct unlisted_count *count_of(struct unlisted *unlisted, enum iso_axiom axiom,
                                       iso_atom name)
{
    uint32_t number = iso_number_map_add(&unlisted->by_name, name_of(axiom, name), unlisted->count);
    if (number == unlisted->count) {
        ISO_APPEND(*unlisted, (struct unlisted_count){.axiom = axiom, .name = name});
    }
    return &unlisted->list[number];
}

void pipeline_count_unlisted(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    assert(event->unlisted);
    struct unlisted *unlisted = &pipeline->reports.unlisted;
    const struct iso_atoms *from =
        event->axiom == ISO_SESSION ? event->session_atoms : event->key_atoms;
    iso_atom name = event->axiom == ISO_SESSION ? event->session : event->key;
    if (event->state == ISO_AION_TENTATIVE)
        return;
    struct unlisted_count *count =
        count_of(unlisted, event->axiom, iso_atoms_copy(&unlisted->atoms, from, name));
    if (event->state == ISO_AION_FINAL)
        count->violations += event->unlisted;
    else if (count->violations)
        count->violations -= event->unlisted; /* it had been final by its deadline */
}

static uint64_t id_of(const struct iso_pipeline *pipeline, const struct unlisted_count *count)
{
    const struct iso_atoms *atoms = &pipeline->reports.unlisted.atoms;
    struct iso_aion_event event = {.level = pipeline->options.engine.level,
                                   .axiom = count->axiom,
                                   .transaction = {.atoms = atoms, .tid = ISO_ABSENT},
                                   .other = {.atoms = atoms, .tid = ISO_ABSENT},
                                   .key_atoms = atoms,
                                   .key = count->name};
    return iso_aion_event_id(&event);
}

static void put_line(const struct iso_pipeline *pipeline, const struct unlisted_count *count,
                     struct iso_text *line)
{
    struct iso_reported_atom name = {&pipeline->reports.unlisted.atoms, count->name};
    char id[32];
    snprintf(id, sizeof id, "%016" PRIx64, id_of(pipeline, count));
    struct iso_reported reported = {
        .head = {.id = id, .state = "unlisted", .level = iso_pipeline_level_name(pipeline)},
        .axiom = iso_axiom_name(count->axiom),
        .count = count->violations};
    *(count->axiom == ISO_SESSION ? &reported.session : &reported.key) = name;
    iso_reported_put_head(line, &reported.head);
    iso_reported_put_members(line, &reported);
    iso_text_put(line, "\n");
}

void pipeline_report_all_unlisted(struct iso_pipeline *pipeline)
{
    const struct unlisted *unlisted = &pipeline->reports.unlisted;
    struct iso_text *line = &pipeline->reports.line;
    for (uint32_t i = 0; i < unlisted->count && pipeline->options.sink; i++) {
        if (!unlisted->list[i].violations || pipeline->reports.failure.status != ISO_OK)
            continue;
        line->used = 0;
        put_line(pipeline, &unlisted->list[i], line);
        pipeline->options.sink(pipeline->options.sink_context, line->bytes, line->used,
                               &pipeline->reports.failure);
    }
}

void unlisted_archive(struct iso_archive *archive, struct unlisted *unlisted)
{
    iso_atoms_archive(archive, &unlisted->atoms);
    ISO_ARCHIVE_LIST(archive, "unlisted", ISO_ARCHIVE_HEAP, *unlisted);
    for (uint32_t i = 0; archive->restoring && i < unlisted->count; i++)
        iso_number_map_put(&unlisted->by_name,
                           name_of(unlisted->list[i].axiom, unlisted->list[i].name), i);
}
