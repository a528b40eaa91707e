/* Contradictions of two texts that are one value, or may be.
 *
 * By the schema of their column (values/spelling.h). Equal: there is no contradiction. Not clear:
 * it is unjudged, and reported once for each column, with what both texts are.
 */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "values/spelling.h"
#include "pipeline/pipeline_private.h"

/* ---- what is known of columns ---- */

void pipeline_note_types(struct iso_pipeline *pipeline)
{
    uint32_t types = pipeline->join ? routes_types_known(&pipeline->routes) : 0;
    if (types)
        iso_join_types_known(pipeline->join, types);
}

/* A key's table, and what its rows' values are. */
struct table {
    struct iso_pipeline *pipeline;
    const struct route *route; /* or NULL */
    struct iso_json_text name;
    struct iso_json_text column; /* of a cell's key; else NULL */
    struct iso_value_type type;
};

static struct iso_value_type type_of_column(void *context, struct iso_json_text column)
{
    const struct table *table = context;
    return routes_value_type(&table->pipeline->routes, table->name.at, table->name.length,
                             column.at, column.length);
}

static struct table table_of(struct iso_pipeline *pipeline, const char *key, size_t length)
{
    struct route_key split =
        routes_split_key(&pipeline->routes, key, length, &pipeline->spellings.column);
    struct table table = {
        .pipeline = pipeline, .route = split.route, .name = split.table, .column = split.column};
    table.type = routes_value_type(&pipeline->routes, table.name.at, table.name.length,
                                   split.column.at, split.column.length);
    return table;
}

/* ---- a history as a whole ---- */

static iso_atom spell(struct table *table, struct iso_atoms *atoms, iso_atom value,
                      struct iso_text *spelt)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text text;
    if (table->type.kind <= ISO_VALUE_ANY || value == ISO_ABSENT ||
        iso_atom_is_unknown(atoms, value))
        return value;
    text.at = iso_atom_text(atoms, value, buffer, &text.length);
    spelt->used = 0;
    bool done = table->type.kind == ISO_VALUE_ROW
                    ? iso_row_spell(&(struct iso_column_types){type_of_column, table}, text, spelt)
                    : iso_value_spell(table->type, text, spelt);
    return done ? iso_atoms_text(atoms, spelt->bytes ? spelt->bytes : "", spelt->used) : value;
}

void iso_pipeline_spell(struct iso_pipeline *pipeline, struct iso_history *history)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_text spelt = {0};
    pipeline_note_types(pipeline);
    for (uint32_t o = 0; o < history->ops.count; o++) {
        size_t length;
        uint8_t kind = iso_kind_of(history, o);
        if (kind != ISO_READ && kind != ISO_WRITE)
            continue;
        const char *key = iso_atom_text(&history->atoms, history->keys.atom[history->ops.key[o]],
                                        buffer, &length);
        struct table table = table_of(pipeline, key, length);
        if (table.type.kind > ISO_VALUE_ANY)
            history->ops.value[o] = spell(&table, &history->atoms, history->ops.value[o], &spelt);
    }
    iso_text_release(&spelt);
}

/* ---- one contradiction ---- */

bool pipeline_is_probe(const struct iso_aion_event *event, enum iso_violation_kind *kind)
{
    const char *text;
    size_t length;
    return iso_join_probe_of(event->transaction.atoms, event->transaction.tid, kind, &text,
                             &length);
}

/* Whether the version that a before image is compared with is a client's. */
static bool is_of_client(const struct iso_aion_event *event)
{
    const struct iso_aion_party *writer = &event->writer_expected;
    return event->state != ISO_AION_FINAL ||
           (writer->tid != ISO_ABSENT && !iso_tid_is_foreign(writer->atoms, writer->tid));
}

/* Before images are the stream's, but for those of what a client wrote; what is missing in it, or
 * there in another way, a client said. */
static struct iso_spellers spellers_of(const struct iso_pipeline *pipeline,
                                       const struct iso_aion_event *event)
{
    enum iso_violation_kind kind = event->kind;
    bool probe = pipeline_is_probe(event, &kind), of_rows = event->axiom == ISO_CDC || probe;
    bool has_records = pipeline->options.join.clients || pipeline->stats.intake.records;
    return (struct iso_spellers){
        .client = has_records && (!(of_rows && kind == ISO_BEFORE_IMAGE) || is_of_client(event)),
        .write = of_rows && (kind == ISO_OTHER_VALUE || kind == ISO_MISSING)};
}

bool pipeline_text_of(const struct iso_aion_value *value, char buffer[ISO_ATOM_TEXT_MAX],
                      struct iso_json_text *text)
{
    if (value->is_list || value->count != 1 || value->elements[0] == ISO_ABSENT ||
        iso_atom_is_unknown(value->atoms, value->elements[0]))
        return false;
    text->at = iso_atom_text(value->atoms, value->elements[0], buffer, &text->length);
    return true;
}

static void keep_name(char *into, struct iso_json_text table, const char *column)
{
    iso_spelling_cut(into, ISO_SPELLING_NAME, table);
    size_t used = strlen(into);
    if (*column && used + 2 < ISO_SPELLING_NAME) {
        into[used++] = '.';
        iso_spelling_cut(into + used, ISO_SPELLING_NAME - used,
                         (struct iso_json_text){column, strlen(column)});
    }
}

/* `again`: what is compared now may have been before. */
static void note_spelling(struct iso_pipeline *pipeline, const struct iso_pipeline_spelling *found,
                          bool again)
{
    struct spellings *spellings = &pipeline->spellings;
    assert(spellings->count <= ISO_SPELLINGS_MAX);
    for (uint32_t i = 0; i < spellings->count; i++)
        if (!strcmp(spellings->list[i].column, found->column)) {
            spellings->list[i].count += !again;
            return;
        }
    if (spellings->count == ISO_SPELLINGS_MAX)
        return; /* the reason counts them all */
    spellings->list =
        iso_reallocate(spellings->list, (spellings->count + 1) * sizeof *spellings->list);
    spellings->list[spellings->count] = *found;
    spellings->list[spellings->count++].count = 1;
    if (pipeline->options.on_spelling)
        pipeline->options.on_spelling(pipeline->options.context, found);
}

/* Two texts of a key of the table. */
struct texts {
    struct iso_json_text stream, other;
    struct iso_spellers spellers;
    bool again;
};

static void note_column(struct table *table, const struct texts *texts,
                        const struct iso_row_difference *difference)
{
    struct iso_json_text column = {difference->column, strlen(difference->column)};
    struct iso_pipeline_spelling found = {
        .kind = table->type.kind == ISO_VALUE_ROW ? type_of_column(table, column).kind
                                                  : table->type.kind,
        .of_client = texts->spellers.client,
        .may_have_schema = table->route && table->route->decoder->class->value_type};
    keep_name(found.column, table->name, difference->column);
    memcpy(found.stream, difference->one, sizeof found.stream);
    memcpy(found.other, difference->other, sizeof found.other);
    note_spelling(table->pipeline, &found, texts->again);
}

static void note_value(struct table *table, const struct texts *texts)
{
    struct iso_row_difference difference;
    const char *value =
        table->route && table->route->decoder->value ? table->route->decoder->value : "";
    struct iso_json_text column =
        table->column.at ? table->column : (struct iso_json_text){value, strlen(value)};
    iso_spelling_cut(difference.column, sizeof difference.column, column);
    iso_spelling_cut(difference.one, sizeof difference.one, texts->stream);
    iso_spelling_cut(difference.other, sizeof difference.other, texts->other);
    note_column(table, texts, &difference);
}

static bool is_object(struct iso_json_text text)
{
    return text.length && *text.at == '{';
}

static enum iso_likeness compare(struct table *table, const struct texts *texts, bool notes)
{
    struct iso_row_difference difference = {.column = ""};
    struct iso_column_types types = {type_of_column, table};
    struct iso_spellers spellers = texts->spellers;
    spellers.only_signed = table->route && table->route->decoder->only_signed;
    spellers.labels = table->route ? table->route->decoder->labels : NULL;
    bool rows = table->route && table->route->whole_rows && is_object(texts->stream) &&
                is_object(texts->other);
    enum iso_likeness likeness =
        rows ? iso_rows_compare(&types, texts->stream, texts->other, spellers, &difference)
             : iso_values_compare(table->type, texts->stream, texts->other, spellers);
    if (likeness == ISO_VALUES_UNCLEAR && notes && rows)
        note_column(table, texts, &difference);
    else if (likeness == ISO_VALUES_UNCLEAR && notes)
        note_value(table, texts);
    return likeness;
}

/* Some drivers give a date of zeros as NULL. */
static bool may_be_no_date(const struct iso_aion_value *value, struct iso_json_text other)
{
    static const char zeros[] = "0000-00-00";
    return !value->is_list && value->count == 1 && value->elements[0] == ISO_ABSENT &&
           other.length >= sizeof zeros - 1 && !memcmp(other.at, zeros, sizeof zeros - 1);
}

/* Compares the client's text with the stream's; the client's is the expected one where it wrote the
 * version. */
enum iso_likeness pipeline_compare(struct iso_pipeline *pipeline,
                                   const struct iso_aion_event *event, bool notes)
{
    char buffers[3][ISO_ATOM_TEXT_MAX];
    size_t length;
    struct iso_json_text expected = {"null", 4}, actual = expected;
    bool is_one = pipeline_text_of(&event->expected, buffers[0], &expected),
         is_other = pipeline_text_of(&event->actual, buffers[1], &actual),
         no_date = (is_one && may_be_no_date(&event->actual, expected)) ||
                   (is_other && may_be_no_date(&event->expected, actual));
    if (!no_date && !(is_one && is_other))
        return ISO_VALUES_DIFFER;
    const char *key = iso_atom_text(event->key_atoms, event->key, buffers[2], &length);
    struct table table = table_of(pipeline, key, length);
    struct texts texts = {.spellers = spellers_of(pipeline, event)};
    bool turned = event->axiom == ISO_CDC && texts.spellers.client;
    texts.stream = turned ? actual : expected;
    texts.other = turned ? expected : actual;
    if (!no_date)
        return compare(&table, &texts, notes);
    if (notes && texts.spellers.client)
        note_value(&table, &texts);
    return texts.spellers.client ? ISO_VALUES_UNCLEAR : ISO_VALUES_DIFFER;
}

enum iso_likeness pipeline_compare_read(struct iso_pipeline *pipeline, struct iso_json_text key,
                                        struct iso_json_text version, struct iso_json_text read)
{
    struct table table = table_of(pipeline, key.at, key.length);
    return compare(&table, &(struct texts){version, read, {.client = true}, true}, true);
}

const struct iso_pipeline_spelling *iso_pipeline_spellings(const struct iso_pipeline *pipeline,
                                                           uint32_t *count)
{
    *count = pipeline->spellings.count;
    return pipeline->spellings.list;
}

void spellings_release(struct spellings *spellings)
{
    iso_free(spellings->list);
    iso_text_release(&spellings->column);
    *spellings = (struct spellings){0};
}
