#define _GNU_SOURCE
#include "app/source.h"

#include <string.h>

#include "app/value.h"
#include "base/memory.h"
#include "base/text.h"
#include "connectors/debezium/debezium.h"
#include "connectors/dgraph/dgraph.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "io/input.h"

/* The kinds of sources. A new connector is its folder and its row here. */
static const struct iso_decoder_class *const kinds[] = {&iso_record_decoder, &iso_debezium_decoder, &iso_dgraph_decoder,
                                                        &iso_ticdc_decoder, &iso_yugabyte_decoder};

enum { SCHEMA_MAX_BYTES = 1 << 20 };

struct source {
    char *copy;  /* of the argument, cut into the rest */
    char *shown; /* the argument without secrets, for messages */
    char *kind, *topic, *format, *registry, *schema, *value, *tables, *compression, *delimiter, *quote, *null;
    enum iso_row_identity identity;
    bool framed;
    struct iso_text schema_text;
};

static void release(struct source *source)
{
    iso_free(source->copy);
    iso_free(source->shown);
}

/* Where an option's text goes; NULL: it is none of them. */
static char **place(struct source *source, const char *name)
{
    const struct {
        const char *name;
        char **text;
    } places[] = {
        {"format", &source->format},       {"registry", &source->registry}, {"schema", &source->schema},
        {"value", &source->value},         {"tables", &source->tables},     {"compression", &source->compression},
        {"delimiter", &source->delimiter}, {"quote", &source->quote},       {"null", &source->null}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strcmp(places[i].name, name))
            return places[i].text;
    return NULL;
}

static bool is_identity(const char *value, enum iso_row_identity *identity)
{
    if (strcmp(value, "full") && strcmp(value, "default"))
        return false;
    *identity = !strcmp(value, "full") ? ISO_IDENTITY_FULL : ISO_IDENTITY_DEFAULT;
    return true;
}

static enum iso_status unknown_option(const struct source *source, const char *option, const char *value,
                                      struct iso_error *error)
{
    static const char *const names[] = {"format", "framed",      "registry",  "schema", "value", "identity",
                                        "tables", "compression", "delimiter", "quote",  "null"};
    const char *nearest = app_nearest(option, names, sizeof names / sizeof *names);
    if (nearest && !strcmp(nearest, option)) /* it is the value that is wrong */
        nearest = NULL;
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "--source %s: option \"%s=%s\", expected format=NAME, framed=true|false, "
        "registry=URL, schema=FILE, value=COLUMN, identity=full|default, tables=A;B, compression=NAME, or of csv "
        "delimiter=, quote= or null=TEXT%s%s%s",
        source->shown, option, value, nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static enum iso_status parse_option(struct source *source, char *option, struct iso_error *error)
{
    char *value = strchr(option, '=');
    if (!value)
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: option \"%s\" lacks its value", source->shown, option);
    *value++ = 0;
    char **into = place(source, option);
    if (into) {
        *into = value;
    } else if (!strcmp(option, "framed") && (!strcmp(value, "true") || !strcmp(value, "false"))) {
        source->framed = !strcmp(value, "true");
    } else if (!strcmp(option, "identity") && is_identity(value, &source->identity)) {
        return ISO_OK;
    } else {
        return unknown_option(source, option, value, error);
    }
    return ISO_OK;
}

static enum iso_status parse(struct source *source, const char *text, struct iso_error *error)
{
    source->copy = iso_copy_text(text, strlen(text));
    source->shown = app_value_redact(text);
    char *rest = source->copy;
    source->kind = strsep(&rest, ":");
    source->topic = rest ? strsep(&rest, ",") : NULL;
    if (!source->topic || !*source->topic)
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: expected KIND:TOPIC[,option=value...]", source->shown);
    for (char *option = strsep(&rest, ","); option && error->status == ISO_OK; option = strsep(&rest, ","))
        parse_option(source, option, error);
    source->framed |= source->registry != NULL;
    return error->status;
}

static enum iso_status read_schema(struct source *source, struct iso_error *error)
{
    struct iso_input *input;
    size_t length;
    if (iso_input_open(&input, source->schema, error) != ISO_OK)
        return error->status;
    char *room = iso_text_reserve(&source->schema_text, SCHEMA_MAX_BYTES);
    if (iso_input_read(input, room, SCHEMA_MAX_BYTES - 1, &length, error) == ISO_OK) {
        room[length] = 0;
        source->schema_text.used = length;
    }
    iso_input_free(input);
    return error->status;
}

static const struct iso_schema_provider *open_registry(struct app_stream *stream, const struct source *source)
{
    if (!source->registry)
        return NULL;
    struct iso_registry *registry = iso_registry_new(source->registry, &stream->app->error);
    if (!registry)
        return NULL;
    stream->registries = iso_reallocate(stream->registries, (stream->registry_count + 1) * sizeof *stream->registries);
    stream->registries[stream->registry_count++] = registry;
    return iso_registry_provider(registry);
}

static const struct iso_decoder_class *find_kind(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i]->kind, kind))
            return kinds[i];
    return NULL;
}

static enum iso_status unknown_kind(const struct source *source, struct iso_error *error)
{
    const char *names[sizeof kinds / sizeof *kinds];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        names[i] = kinds[i]->kind;
    const char *nearest = app_nearest(source->kind, names, sizeof kinds / sizeof *kinds);
    return iso_error_set(error, ISO_BAD_INPUT,
                         "--source %s:%s: expected a kind among history, debezium, dgraph, ticdc and yugabyte%s%s%s",
                         source->kind, source->topic, nearest ? "; did you mean " : "", nearest ? nearest : "",
                         nearest ? "?" : "");
}

static enum iso_status add(struct app_stream *stream, struct source *source)
{
    struct iso_error *error = &stream->app->error;
    const struct iso_decoder_class *class = find_kind(source->kind);
    if (!class)
        return unknown_kind(source, error);
    if (source->schema && read_schema(source, error) != ISO_OK)
        return error->status;
    struct iso_decoder_options options = {
        .format = source->format,
        .registry = open_registry(stream, source),
        .schema = source->schema ? source->schema_text.bytes : NULL,
        .framed = source->framed,
        .value = source->value,
        .identity = source->identity,
        .tables = source->tables,
        .compression = source->compression,
        .delimiter = source->delimiter,
        .quote = source->quote,
        .null = source->null,
    };
    struct iso_decoder *decoder = error->status == ISO_OK ? class->create(&options, error) : NULL;
    if (!decoder)
        return error->status;
    iso_pipeline_route(stream->pipeline, source->topic, decoder);
    stream->topics = iso_reallocate(stream->topics, (stream->topic_count + 1) * sizeof *stream->topics);
    stream->topics[stream->topic_count++] = iso_copy_text(source->topic, strlen(source->topic));
    return ISO_OK;
}

/* Debezium's and YugabyteDB's topics begin with their connector's prefix; what shares it is one feed. Other kinds have
 * one feed a cluster. */
static bool is_one_feed(const struct source *one, const struct source *other)
{
    size_t length = strcspn(one->topic, ".");
    bool prefixed = !strcmp(one->kind, "debezium") || !strcmp(one->kind, "yugabyte");
    return !strcmp(one->kind, other->kind) &&
           (!prefixed || (length == strcspn(other->topic, ".") && !strncmp(one->topic, other->topic, length)));
}

/* The topic in KIND:TOPIC[,OPTION=VALUE...]. */
static const char *topic_of(const char *text, size_t *length)
{
    const char *colon = strchr(text, ':');
    *length = colon ? strcspn(colon + 1, ",") : 0;
    return colon ? colon + 1 : text;
}

bool app_source_reads(const struct app_texts *texts, uint32_t count, const char *topic, size_t length)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t other_length;
        const char *other = topic_of(texts->items[i], &other_length);
        if (length && other_length == length && !memcmp(other, topic, length))
            return true;
    }
    return false;
}

enum iso_status app_source_survey(const struct app_texts *texts, struct app_source_survey *survey,
                                  struct iso_error *error)
{
    struct source first = {0};
    *survey = (struct app_source_survey){0};
    for (uint32_t i = 0; i < texts->count && error->status == ISO_OK; i++) {
        struct source source = {0};
        const struct iso_decoder_class *class = NULL;
        size_t length;
        const char *topic = topic_of(texts->items[i], &length);
        if (app_source_reads(texts, i, topic, length)) {
            iso_error_set(error, ISO_BAD_INPUT, "--source %s: an earlier --source reads this topic already",
                          texts->items[i]);
            break;
        }
        if (parse(&source, texts->items[i], error) == ISO_OK)
            class = find_kind(source.kind);
        if (class && !iso_join_knows(class->kind)) {
            survey->history_topics = true;
        } else if (class && !first.copy) {
            survey->changes = class->kind;
            first = source;
            continue;
        } else if (class && !is_one_feed(&first, &source)) {
            iso_error_set(error, ISO_BAD_INPUT, "--source %s: another database than %s:%s; a run checks one",
                          source.shown, first.kind, first.topic);
        }
        release(&source);
    }
    release(&first);
    return error->status;
}

enum iso_status app_source_add(struct app_stream *stream, const char *text)
{
    struct source source = {0};
    if (parse(&source, text, &stream->app->error) == ISO_OK)
        add(stream, &source);
    iso_text_release(&source.schema_text);
    release(&source);
    return stream->app->error.status;
}
