/* A verdict event as one line of JSON, told to the sink. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "iso/verdict.h"
#include "pipeline/pipeline_private.h"

static void put_name(struct iso_text *line, const char *member, const char *name)
{
    iso_text_put(line, member);
    iso_text_put_string(line, name, strlen(name));
}

static void put_atom(struct iso_text *line, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!atoms || atom == ISO_ABSENT) {
        iso_text_put(line, "null");
        return;
    }
    const char *text = iso_atom_text(atoms, atom, buffer, &length);
    iso_text_put_string(line, text, length);
}

static void put_party(struct iso_text *line, const char *member, const struct iso_aion_party *party)
{
    iso_text_put(line, member);
    put_atom(line, party->atoms, party->tid);
}

static void put_value(struct iso_text *line, const char *member, const struct iso_aion_value *value)
{
    iso_text_put(line, member);
    if (!value->is_list) {
        put_atom(line, value->atoms, value->count ? value->elements[0] : ISO_ABSENT);
        return;
    }
    iso_text_put(line, "[");
    for (uint32_t i = 0; i < value->count; i++) {
        if (i)
            iso_text_put(line, ",");
        put_atom(line, value->atoms, value->elements[i]);
    }
    iso_text_put(line, "]");
}

/* Numbers beyond 2^53 do not survive every JSON reader. The engine has 0 where there is no timestamp; no source's clock
 * shows it. */
static void put_timestamp(struct iso_text *line, const char *member, uint64_t timestamp)
{
    iso_text_put(line, member);
    if (!timestamp) {
        iso_text_put(line, "null");
        return;
    }
    iso_text_put(line, "\"");
    iso_text_put_unsigned(line, timestamp);
    iso_text_put(line, "\"");
}

static bool is_known(const struct iso_aion_party *party)
{
    return party->atoms && party->tid != ISO_ABSENT;
}

static void put_place(struct iso_text *line, const struct iso_inputs *inputs, const struct iso_aion_party *party,
                      uint32_t operation)
{
    uint32_t input = iso_origin_input(party->origin);
    if (input >= inputs->count)
        return;
    if (line->bytes[line->used - 1] != '[')
        iso_text_put(line, ",");
    if (inputs->list[input].partition == ISO_PIPELINE_FILE) {
        put_name(line, "{\"file\":", inputs->list[input].topic);
        iso_text_put(line, ",\"line\":");
    } else {
        put_name(line, "{\"topic\":", inputs->list[input].topic);
        iso_text_put(line, ",\"partition\":");
        iso_text_put_signed(line, inputs->list[input].partition);
        iso_text_put(line, ",\"offset\":");
    }
    iso_text_put_unsigned(line, iso_origin_place(party->origin));
    if (operation != ISO_NONE) {
        iso_text_put(line, ",\"op\":");
        iso_text_put_unsigned(line, operation);
    }
    iso_text_put(line, "}");
}

/* Every record that the verdict rests on, the blamed transaction's first. */
static void put_places(struct iso_text *line, const struct iso_inputs *inputs, const struct iso_aion_event *event)
{
    const struct iso_aion_party *others[] = {&event->other, &event->writer_expected, &event->writer_actual,
                                             &event->cause};
    iso_text_put(line, ",\"at\":[");
    put_place(line, inputs, &event->transaction, event->operation);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bool repeated = !is_known(others[i]) || others[i]->origin == event->transaction.origin;
        for (size_t j = 0; j < i && !repeated; j++)
            repeated = is_known(others[j]) && others[j]->origin == others[i]->origin;
        if (!repeated)
            put_place(line, inputs, others[i], ISO_NONE);
    }
    iso_text_put(line, "]");
}

static void put_state(struct iso_text *line, const struct iso_aion_event *event, const char *doubtful)
{
    static const char *const states[] = {"tentative", "final", "retracted"};
    char id[32];
    snprintf(id, sizeof id, "%016" PRIx64, event->id);
    put_name(line, "{\"id\":", id);
    put_name(line, ",\"state\":", states[event->state]);
    if (event->by_deadline && event->state == ISO_AION_FINAL)
        iso_text_put(line, ",\"by\":\"deadline\"");
    if (doubtful)
        put_name(line, ",\"doubtful\":", doubtful);
    put_name(line, ",\"level\":", iso_level_name(event->level));
    iso_text_put(line, ",");
}

static void put_times_of(struct iso_text *line, const char *member, const struct iso_aion_party *party)
{
    if (!is_known(party))
        return;
    if (line->bytes[line->used - 1] != '{')
        iso_text_put(line, ",");
    put_timestamp(line, member, party->sts);
    put_timestamp(line, ",\"cts\":", party->cts);
    iso_text_put(line, "}");
}

/* Whether the read saw what was committed at its moment itself: from a snapshot, but not just below its own commit. */
static bool is_inclusive(const struct iso_aion_event *event)
{
    const struct iso_aion_party *reader = &event->transaction;
    return event->bound != reader->cts || (event->level == ISO_SI && event->bound == reader->sts + 1);
}

/* When the others that the verdict names stood where, and at which moment the read looked. */
static void put_times(struct iso_text *line, const struct iso_aion_event *event)
{
    bool is_read = event->axiom == ISO_EXT, inclusive = is_inclusive(event);
    if (event->axiom == ISO_CDC || (!is_read && !is_known(&event->other)))
        return;
    iso_text_put(line, ",\"times\":{");
    if (is_read) {
        put_timestamp(line, "\"look\":", inclusive ? event->bound - 1 : event->bound);
        iso_text_put(line, inclusive ? ",\"inclusive\":true" : ",\"inclusive\":false");
        put_times_of(line, "\"expected\":{\"sts\":", &event->writer_expected);
        put_times_of(line, "\"actual\":{\"sts\":", &event->writer_actual);
    }
    put_times_of(line, "\"other\":{\"sts\":", &event->other);
    iso_text_put(line, "}");
}

/* From the axiom on: what the summary lists too, without its opening brace. */
static void put_violation(struct iso_text *line, const struct iso_inputs *inputs, const struct iso_aion_event *event)
{
    put_name(line, "\"axiom\":", iso_axiom_name(event->axiom));
    if (event->kind != ISO_KIND_NONE)
        put_name(line, ",\"kind\":", iso_violation_kind_name(event->kind));
    put_party(line, ",\"tids\":[", &event->transaction);
    if (is_known(&event->other))
        put_party(line, ",", &event->other);
    iso_text_put(line, "]");
    if (event->key_atoms && event->key != ISO_ABSENT) {
        iso_text_put(line, ",\"key\":");
        put_atom(line, event->key_atoms, event->key);
    }
    if (event->axiom == ISO_EXT || event->axiom == ISO_INT || event->axiom == ISO_CDC) {
        put_value(line, ",\"expected\":", &event->expected);
        put_value(line, ",\"actual\":", &event->actual);
    }
    if (event->axiom == ISO_EXT || event->axiom == ISO_INT) {
        put_party(line, ",\"writer_expected\":", &event->writer_expected);
        put_party(line, ",\"writer_actual\":", &event->writer_actual);
    }
    put_timestamp(line, ",\"sts\":", event->transaction.sts);
    put_timestamp(line, ",\"cts\":", event->transaction.cts);
    put_times(line, event);
    if (is_known(&event->cause))
        put_party(line, ",\"cause\":", &event->cause);
    put_places(line, inputs, event);
    iso_text_put(line, "}");
}

static void count(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    struct iso_pipeline_stats *stats = &pipeline->stats;
    stats->final += event->state == ISO_AION_FINAL;
    stats->tentative += event->state == ISO_AION_TENTATIVE;
    stats->retracted += event->state == ISO_AION_RETRACTED;
}

/* A write that is not known may explain a read; a row that is not known, what a client wrote and no row says. */
bool pipeline_may_doubt(const struct iso_pipeline *pipeline, enum iso_axiom axiom)
{
    bool alone = pipeline->join && !pipeline->options.clients; /* reads within a transaction are its rows */
    return axiom == ISO_EXT || axiom == ISO_CDC || (axiom == ISO_INT && alone);
}

static const char before_start[] = "before-start";

/* Whether versions that were written before the stream begins may make it wrong. */
static bool rests_on_start(const struct iso_aion_event *event)
{
    return event->axiom != ISO_INT &&
           (event->expected.is_list || !is_known(&event->writer_expected) || !is_known(&event->writer_actual));
}

/* Why a verdict may be wrong, final or not. */
static const char *doubt_of(const struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    struct iso_aion_stats stats;
    if (!pipeline_may_doubt(pipeline, event->axiom))
        return NULL;
    if (pipeline->stats.bad_records)
        return "skipped-records";
    iso_aion_stats(pipeline->engine, &stats);
    if (stats.below_watermark)
        return "below-watermark";
    return pipeline->midway && event->state == ISO_AION_FINAL && rests_on_start(event) ? before_start : NULL;
}

void pipeline_emit(void *context, const struct iso_aion_event *event)
{
    struct iso_pipeline *pipeline = context;
    struct iso_aion_event translated = *event;
    if (!pipeline->join || pipeline_translate(pipeline, &translated))
        pipeline_tell(pipeline, &translated);
    if (pipeline->join)
        pipeline_tell_change(pipeline, &translated);
}

void pipeline_tell(struct iso_pipeline *pipeline, const struct iso_aion_event *event)
{
    struct iso_text *line = &pipeline->line;
    bool told = pipeline->options.sink && !(pipeline->options.final_only && event->state != ISO_AION_FINAL);
    count(pipeline, event);
    if (event->state != ISO_AION_TENTATIVE)
        findings_remove(&pipeline->findings, event->id);
    if (!told && event->state != ISO_AION_FINAL)
        return;
    line->used = 0;
    const char *doubt = doubt_of(pipeline, event);
    pipeline->stats.before_start += doubt == before_start;
    pipeline->stats.doubted[event->axiom] += doubt == before_start;
    put_state(line, event, doubt);
    size_t start = line->used;
    put_violation(line, &pipeline->inputs, event);
    if (event->state == ISO_AION_FINAL)
        findings_add(&pipeline->findings, event, line->bytes + start, line->used - start);
    iso_text_put(line, "\n");
    if (told && pipeline->failure.status == ISO_OK && iso_aion_failure(pipeline->engine)->status == ISO_OK)
        pipeline->options.sink(pipeline->options.sink_context, line->bytes, line->used, &pipeline->failure);
}
