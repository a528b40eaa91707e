/* Absence in tables that were truncated or rewritten.
 *
 * PostgreSQL shows a snapshot that is older than a TRUNCATE, or than an ALTER that rewrites the
 * table, an empty table (measured). So a read that found nothing where something stood is no
 * violation if its table was altered after the reader's snapshot: it is unjudged, reason `ddl`. The
 * alteration may stand later in the stream than the watermark that makes the read's verdict final:
 * such a verdict waits here for the next watermark, or the end. There one that found no row, where
 * one stood, goes on waiting, unless all came which stands in the log before the reader was over
 * (ISO_JOIN_LAST). A null where a value stood needs no such proof: it is of a row that was there.
 *
 * Such a snapshot also meets no conflict with who wrote before the alteration: their versions are
 * gone.
 */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "pipeline/pipeline_private.h"

static struct altered_table *find_table(const struct altered *altered, const char *key,
                                        size_t length)
{
    const char *slash = memchr(key, '/', length);
    size_t name_length = slash ? (size_t)(slash - key) : length;
    for (uint32_t i = 0; i < altered->table_count; i++) {
        struct altered_table *table = &altered->tables[i];
        if (table->length == name_length && !memcmp(table->name, key, name_length))
            return table;
    }
    return NULL;
}

/* Beyond so many the oldest go: one that is gone may lie anywhere below those that are left. */
static void add_time(struct altered_table *table, uint64_t cts)
{
    uint32_t at = table->time_count;
    if (at == ISO_ALTERED_TIMES) {
        memmove(table->times, table->times + 1, --at * sizeof *table->times);
        table->time_count--;
    }
    assert(at < ISO_ALTERED_TIMES);
    for (; at && table->times[at - 1] > cts; at--)
        table->times[at] = table->times[at - 1];
    table->times[at] = cts;
    table->time_count++;
}

void pipeline_note_altered(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                           iso_atom name, uint64_t cts)
{
    struct altered *altered = &pipeline->altered;
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(atoms, name, buffer, &length);
    struct altered_table *table = find_table(altered, text, length);
    if (!table) {
        altered->tables =
            iso_reallocate(altered->tables, (altered->table_count + 1) * sizeof *altered->tables);
        table = &altered->tables[altered->table_count++];
        *table = (struct altered_table){.name = iso_copy_text(text, length), .length = length};
    }
    add_time(table, cts);
}

static bool are_some_gone(const struct altered_table *table, uint64_t behind)
{
    return table->time_count == ISO_ALTERED_TIMES && behind < table->times[0];
}

bool pipeline_was_altered(const struct iso_pipeline *pipeline, const char *key, size_t length,
                          uint64_t after, uint64_t before)
{
    const struct altered_table *table = find_table(&pipeline->altered, key, length);
    for (uint32_t i = 0; table && i < table->time_count; i++)
        if (table->times[i] > after && table->times[i] < before)
            return true;
    return table && are_some_gone(table, after);
}

void pipeline_conflict_window(void *context, const char *key, size_t length, uint64_t cts,
                              uint64_t *from, uint64_t *to)
{
    const struct iso_pipeline *pipeline = context;
    const struct altered_table *table = find_table(&pipeline->altered, key, length);
    *from = 0;
    *to = UINT64_MAX;
    for (uint32_t i = 0; table && i < table->time_count; i++) {
        if (table->times[i] < cts)
            *from = table->times[i];
        else if (table->times[i] > cts && *to == UINT64_MAX)
            *to = table->times[i];
    }
    if (table && are_some_gone(table, cts))
        *from = *to = cts;
}

/* Where the alteration itself is a version, what was read is what it left behind, and seems to come
 * from the future. */
static bool found_nothing(const struct iso_aion_event *event)
{
    return event->kind == ISO_ABSENT_READ ||
           (event->kind == ISO_FUTURE && pipeline_is_null(&event->actual));
}

bool pipeline_may_be_altered(const struct iso_pipeline *pipeline,
                             const struct iso_aion_event *event)
{
    return pipeline->join && pipeline->options.join.clients && event->state == ISO_AION_FINAL &&
           event->axiom == ISO_EXT && found_nothing(event) && !event->by_deadline;
}

static char *copy_atom(const struct iso_atoms *atoms, iso_atom atom, size_t *length)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    const char *text = iso_atom_text(atoms, atom, buffer, length);
    return iso_copy_text(text, *length);
}

void pipeline_defer_absent(struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                           uint8_t doubt, const char *line, size_t length, size_t start)
{
    struct altered *altered = &pipeline->altered;
    assert(start < length);
    ISO_GROW(altered->deferred_missing, altered->absent_count, altered->absent_capacity);
    struct absent *absent = &altered->deferred_missing[altered->absent_count++];
    *absent = (struct absent){.bound = event->visible_below,
                              .id = event->id,
                              .origin = event->transaction.origin,
                              .line = iso_copy_text(line, length),
                              .length = length,
                              .start = start};
    absent->doubt = doubt;
    absent->unlisted = event->unlisted;
    absent->tid = copy_atom(event->transaction.atoms, event->transaction.tid, &absent->tid_length);
    absent->key = copy_atom(event->key_atoms, event->key, &absent->key_length);
}

/* The absent value is a violation after all, if no alteration of its table arrived, and none may
 * have been on its way. */
static void release(struct iso_pipeline *pipeline, const struct absent *absent)
{
    struct iso_atoms atoms;
    iso_atoms_init(&atoms);
    struct iso_aion_event event = {
        .state = ISO_AION_FINAL, .axiom = ISO_EXT, .id = absent->id, .key_atoms = &atoms};
    event.transaction.atoms = &atoms;
    event.transaction.origin = absent->origin;
    event.transaction.tid = iso_atoms_text(&atoms, absent->tid, absent->tid_length);
    event.other.tid = event.writer_expected.tid = event.writer_actual.tid = ISO_ABSENT;
    event.key = iso_atoms_text(&atoms, absent->key, absent->key_length);
    event.unlisted = absent->unlisted;
    if (pipeline_waits_for_table(pipeline, &event))
        pipeline->stats.left_out[ISO_EXT] += event.unlisted ? event.unlisted : 1;
    else if (event.unlisted)
        pipeline_report_unlisted(pipeline, &event, (enum pipeline_doubt)absent->doubt);
    else {
        pipeline_list(pipeline, &event, absent->doubt, absent->line + absent->start,
                      absent->length - absent->start);
        if (pipeline_writes(pipeline))
            pipeline->options.sink(pipeline->options.sink_context, absent->line, absent->length,
                                   &pipeline->reports.failure);
    }
    iso_atoms_release(&atoms);
}

static void forget(struct absent *absent)
{
    iso_free(absent->line);
    iso_free(absent->tid);
    iso_free(absent->key);
}

void pipeline_release_absent(struct iso_pipeline *pipeline, uint32_t count)
{
    struct altered *altered = &pipeline->altered;
    assert(count <= altered->absent_count);
    for (uint32_t i = 0; i < count; i++) {
        struct absent *absent = &altered->deferred_missing[i];
        const struct altered_table *table = find_table(altered, absent->key, absent->key_length);
        if (table && table->times[table->time_count - 1] >= absent->bound)
            pipeline->stats.absent_altered++;
        else
            release(pipeline, absent);
        forget(absent);
    }
    if (count)
        memmove(altered->deferred_missing, altered->deferred_missing + count,
                (altered->absent_count - count) * sizeof *altered->deferred_missing);
    altered->absent_count -= count;
}

void altered_release(struct altered *altered)
{
    for (uint32_t i = 0; i < altered->absent_count; i++)
        forget(&altered->deferred_missing[i]);
    for (uint32_t i = 0; i < altered->table_count; i++)
        iso_free(altered->tables[i].name);
    iso_free(altered->deferred_missing);
    iso_free(altered->tables);
    *altered = (struct altered){0};
}
