/* What did not come: told once a transaction and table, and kept for the summary. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "aion/structures/values.h"
#include "pipeline/pipeline_private.h"

enum { LISTED_MOST = 100, SHOWN_MOST = 3 }; /* in the JSON object; in the last line */

uint64_t pipeline_beyond_id(const struct iso_atoms *atoms, iso_atom tid)
{
    uint64_t digest = aion_atom_digest(atoms, tid);
    return digest > ID_SET_REMOVED ? digest : digest + 2;
}

/* Whether it found what a row of the first snapshot may have brought that did not come. Of a topic
 * that is not there no partition proves that it is over. */
static bool may_be_of_start(const struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    const struct iso_aion_value *expected = &event->expected;
    bool none = !expected->is_list && (!expected->count || expected->elements[0] == ISO_ABSENT);
    if (event->axiom != ISO_EXT || !event->key_atoms || event->key == ISO_ABSENT ||
        (event->kind != ISO_AGGREGATE && !none))
        return false;
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *key = iso_atom_text(event->key_atoms, event->key, buffer, &length);
    return iso_join_start_is_open(pipeline->join, event->key_atoms, event->key,
                                  routes_have_topic_of(&pipeline->routes, key, length));
}

static bool is_sure(const struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                    uint64_t position)
{
    bool has_key = event->key_atoms && event->key != ISO_ABSENT;
    return iso_join_is_sure(pipeline->join, event->key_atoms, has_key ? event->key : ISO_ABSENT,
                            position);
}

/* Whether a statement may have changed its table since the version that it should have found. */
static bool may_lack_statement(const struct iso_pipeline *pipeline,
                               const struct iso_aion_event *event)
{
    return event->axiom == ISO_EXT &&
           iso_join_may_lack_statement(pipeline->join, event->writer_expected.cts,
                                       event->visible_below - 1);
}

static void count_beyond(struct iso_pipeline *pipeline, const struct iso_aion_event *event,
                         bool is_probe)
{
    struct iso_pipeline_stats *stats = &pipeline->stats;
    if (event->state != ISO_AION_FINAL)
        return;
    if (!stats->beyond && !stats->probes_beyond)
        pipeline->lost.first = event->transaction.origin;
    *(is_probe ? &stats->probes_beyond : &stats->beyond) += 1;
}

bool pipeline_waits_beyond(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    enum iso_violation_kind kind = event->kind;
    /* The value may be the transaction's own: it may have written. */
    bool may_be_own = event->axiom == ISO_INT && event->transaction.cts > event->transaction.sts;
    if (!pipeline->join)
        return false;
    if (may_lack_statement(pipeline, event)) {
        count_beyond(pipeline, event, pipeline_is_probe(event, &kind));
        return true;
    }
    if (pipeline_is_probe(
            event,
            &kind)) /* what came before it in its partition did come, but with which moment? */
        return !is_sure(pipeline, event, 0);
    if (event->axiom != ISO_EXT && !may_be_own)
        return false;
    bool is_beyond = event->axiom == ISO_EXT && !is_sure(pipeline, event, event->visible_below - 1);
    if (!is_beyond && pipeline->lost.beyond.count)
        is_beyond = id_set_has(&pipeline->lost.beyond, pipeline_beyond_id(event->transaction.atoms,
                                                                          event->transaction.tid));
    if (!is_beyond && !may_be_of_start(pipeline, event))
        return false;
    count_beyond(pipeline, event, false);
    return true;
}

bool pipeline_waits_for_table(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    const struct id_set *last = &pipeline->lost.last;
    if (!last->count || pipeline_is_cell(event->key_atoms, event->key) ||
        !id_set_has(last, pipeline_beyond_id(event->transaction.atoms, event->transaction.tid)))
        return false;
    count_beyond(pipeline, event, false);
    return true;
}

/* "topic shop.a partition 0 offset 7", or "offsets 5 to 9". */
static void put_location(const struct iso_pipeline *pipeline, struct iso_text *text, uint64_t first,
                         uint64_t last)
{
    char location[LOCATION_BYTES];
    pipeline_put_location(pipeline, first, location, sizeof location);
    iso_text_put(text, location);
    if (last != first && iso_origin_input(last) == iso_origin_input(first))
        iso_text_format(text, " to %" PRIu64, iso_origin_offset(last));
}

static void put_words(const struct iso_pipeline *pipeline, struct iso_text *text,
                      const struct iso_atoms *atoms, const struct iso_join_lost *lost)
{
    static const char prefix[] = "cdc:"; /* of the join's names */
    char buffers[2][ISO_ATOM_TEXT_MAX];
    size_t length, name_length;
    bool is_named = lost->name != ISO_ABSENT;
    const char *name =
        iso_atom_text(atoms, is_named ? lost->name : lost->tid, buffers[0], &name_length);
    const char *table = iso_atom_text(atoms, lost->table, buffers[1], &length);
    size_t skipped = is_named ? sizeof prefix - 1 : 0;
    iso_text_format(text, "transaction %.*s", (int)(name_length - skipped), name + skipped);
    if (is_named && lost->tid != ISO_ABSENT) {
        const char *tid = iso_atom_text(atoms, lost->tid, buffers[0], &name_length);
        iso_text_format(text, " (%.*s)", (int)name_length, tid);
    }
    if (lost->counted)
        iso_text_format(text, ": %" PRIu64 " of %" PRIu64 " changes of %.*s came", lost->came,
                        lost->counted, (int)length, table);
    else if (lost->came)
        iso_text_format(text, ": %" PRIu64 " changes of %.*s came, and no END", lost->came,
                        (int)length, table);
    else
        iso_text_format(text, ": wrote %.*s, and nothing of it came", (int)length, table);
    if (lost->first != UINT64_MAX) {
        iso_text_put(text, ", at ");
        put_location(pipeline, text, lost->first, lost->last);
    }
    if (lost->end != UINT64_MAX) {
        iso_text_put(text, "; END at ");
        put_location(pipeline, text, lost->end, lost->end);
    }
}

void pipeline_note_lost(struct iso_pipeline *pipeline, const struct iso_atoms *atoms,
                        const struct iso_join_lost *lost)
{
    assert(lost->table != ISO_ABSENT && (lost->name != ISO_ABSENT || lost->tid != ISO_ABSENT));
    struct lost *kept = &pipeline->lost;
    if (++kept->count > LISTED_MOST)
        return;
    put_words(pipeline, &kept->lines, atoms, lost);
    iso_text_put(&kept->lines, "\n");
}

/* The next line from `*at` on, without its end; false: there are no more. */
static bool next_line(const struct lost *lost, size_t *at, struct iso_json_text *line)
{
    if (*at >= lost->lines.used)
        return false;
    assert(lost->lines.bytes[lost->lines.used - 1] == '\n');
    line->at = lost->lines.bytes + *at;
    line->length =
        (size_t)((const char *)memchr(line->at, '\n', lost->lines.used - *at) - line->at);
    *at += line->length + 1;
    return true;
}

void iso_pipeline_put_lost(const struct iso_pipeline *pipeline, struct iso_text *text)
{
    struct iso_json_text line;
    size_t at = 0;
    uint64_t shown = 0;
    for (; shown < SHOWN_MOST && next_line(&pipeline->lost, &at, &line); shown++) {
        iso_text_put(text, shown ? "; " : "");
        iso_text_put_bytes(text, line.at, line.length);
    }
    if (pipeline->lost.count > shown)
        iso_text_format(text, "; and %" PRIu64 " more", pipeline->lost.count - shown);
}

void pipeline_put_lost_json(const struct iso_pipeline *pipeline, struct iso_text *text)
{
    struct iso_json_text line;
    size_t at = 0;
    for (bool some = false; next_line(&pipeline->lost, &at, &line); some = true) {
        iso_text_put(text, some ? "," : ",\"incomplete\":[");
        iso_text_put_string(text, line.at, line.length);
    }
    iso_text_put(text, at ? "]" : "");
}
