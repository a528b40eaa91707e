/* Contradictions that say nothing of the database: they are counted as unjudged, and never
 * reported.
 *
 * `lossy`: of a table whose source says that the log lacks changes of it (lossy=yes), or of a
 * column that a client found NULL where the stream has defaults in place of NULL. `spelling`:
 * the two values may be two spellings of one (spelling_doubt.c); where they are, there is no
 * contradiction, and nothing is counted, unless the report leaves out others of the transaction.
 * `ddl`: a conflict of writers between whose commits the table was emptied (altered.c). Without a
 * change stream: what records read that leave to one what was written. A contradiction is reported
 * tentatively before it is final; both are left out.
 */
#include <assert.h>
#include <string.h>

#include "pipeline/pipeline_private.h"

static bool is_lossy(const struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *key = iso_atom_text(event->key_atoms, event->key, buffer, &length);
    const struct route *route = routes_find_key(&pipeline->routes, key, length);
    return route && route->traits.lossy;
}

/* Whether a client says NULL of a column, and what the stream says may stand for that. A NULL of
 * the stream's is one; of what CDC compares either side may be the client's. */
static bool may_be_null(const struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    bool expected = pipeline_is_null(&event->expected), actual = pipeline_is_null(&event->actual);
    return pipeline->replaced_null.is &&
           (event->axiom == ISO_CDC ? expected != actual : actual && !expected) &&
           pipeline_is_cell(event->key_atoms, event->key);
}

/* Told once somebody found NULL, and not where no column has a default. */
static void tell_of_null(struct iso_pipeline *pipeline)
{
    struct replaced_null *replaced = &pipeline->replaced_null;
    if (replaced->is_told || !replaced->reason)
        return;
    replaced->is_told = true;
    pipeline_report_table(pipeline, replaced->origin, "NULL", 4, ISO_NEWS_LOSSY, replaced->reason);
}

/* A reported violation that has become right is retracted: now the value that was read is
 * expected. */
static bool is_right_now(const struct iso_aion_event *event)
{
    char buffers[2][ISO_ATOM_TEXT_MAX];
    struct iso_json_text expected, actual;
    return event->state == ISO_AION_RETRACTED &&
           pipeline_text_of(&event->expected, buffers[0], &expected) &&
           pipeline_text_of(&event->actual, buffers[1], &actual) &&
           expected.length == actual.length && !memcmp(expected.at, actual.at, expected.length);
}

/* PostgreSQL takes the versions of an emptied table away from older snapshots, too: who wrote
 * before it was emptied is in no conflict with who has such a snapshot. */
static bool is_conflict_across(const struct iso_pipeline *pipeline,
                               const struct iso_aion_event *event)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (event->axiom != ISO_NOCONFLICT)
        return false;
    assert(event->key_atoms && event->key != ISO_ABSENT);
    uint64_t one = event->transaction.cts, other = event->other.cts;
    const char *key = iso_atom_text(event->key_atoms, event->key, buffer, &length);
    return pipeline_was_altered(pipeline, key, length, one < other ? one : other,
                                one < other ? other : one);
}

/* Suppresses that many of the unlisted pairs; false: not all of the event's. */
static bool suppress_pairs(struct iso_pipeline *pipeline, struct iso_aion_event *event)
{
    assert(event->excused <= event->unlisted);
    pipeline->stats.suppressed[ISO_UNJUDGED_DDL] += event->excused;
    pipeline->stats.left_out[ISO_NOCONFLICT] += event->excused;
    event->unlisted -= event->excused;
    return !event->unlisted;
}

bool pipeline_lacks_changes(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    bool lossy = is_lossy(pipeline, event);
    pipeline->stats.suppressed[ISO_UNJUDGED_LOSSY] += lossy;
    return lossy;
}

bool iso_pipeline_lacks_stream(const struct iso_pipeline *pipeline)
{
    return !pipeline->join && pipeline->counted.of_stream;
}

bool pipeline_suppresses(struct iso_pipeline *pipeline, struct iso_aion_event *event,
                         bool from_engine)
{
    if (event->axiom == ISO_NOCONFLICT && event->unlisted)
        return suppress_pairs(pipeline, event);
    if (is_conflict_across(pipeline, event)) {
        pipeline->stats.suppressed[ISO_UNJUDGED_DDL] += event->state == ISO_AION_FINAL;
        pipeline->stats.left_out[ISO_NOCONFLICT] += event->state == ISO_AION_FINAL;
        return true;
    }
    bool of_values = event->axiom == ISO_EXT || event->axiom == ISO_INT || event->axiom == ISO_CDC;
    if (!pipeline->join || !of_values || !event->key_atoms || event->key == ISO_ABSENT)
        return false;
    enum iso_violation_kind kind = event->kind;
    bool lossy = is_lossy(pipeline, event), final = event->state == ISO_AION_FINAL;
    if (!lossy && may_be_null(pipeline, event)) {
        tell_of_null(pipeline);
        lossy = true;
    }
    enum iso_likeness likeness =
        lossy ? ISO_VALUES_UNCLEAR : pipeline_compare(pipeline, event, final);
    if (!lossy && is_right_now(event))
        return false;
    if (likeness == ISO_VALUES_EQUAL && event->is_first)
        likeness = ISO_VALUES_UNCLEAR;
    if (likeness == ISO_VALUES_DIFFER && from_engine && pipeline_waits_beyond(pipeline, event)) {
        pipeline->stats.left_out[event->axiom] += final;
        return true;
    }
    if (likeness == ISO_VALUES_DIFFER)
        return false;
    pipeline->stats.left_out[event->axiom] += final && from_engine;
    if (!final || likeness == ISO_VALUES_EQUAL)
        return true;
    enum iso_unjudged reason = lossy ? ISO_UNJUDGED_LOSSY : ISO_UNJUDGED_SPELLING;
    pipeline->stats.suppressed[reason]++;
    pipeline->stats.suppressed_reads += from_engine && !pipeline_is_probe(event, &kind);
    return true;
}
