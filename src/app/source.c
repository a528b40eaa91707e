#define _GNU_SOURCE
#include "app/source.h"

#include <string.h>

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
    char *copy; /* of the argument, cut into the rest */
    char *kind, *topic, *format, *registry, *schema;
    bool framed;
    struct iso_text schema_text;
};

static char **place(struct source *source, const char *name)
{
    return !strcmp(name, "format")     ? &source->format
           : !strcmp(name, "registry") ? &source->registry
           : !strcmp(name, "schema")   ? &source->schema
                                       : NULL;
}

static enum iso_status parse_option(struct source *source, char *option, const char *text, struct iso_error *error)
{
    char *value = strchr(option, '=');
    if (!value)
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: option \"%s\" lacks its value", text, option);
    *value++ = 0;
    char **into = place(source, option);
    if (into) {
        *into = value;
    } else if (!strcmp(option, "framed") && (!strcmp(value, "true") || !strcmp(value, "false"))) {
        source->framed = !strcmp(value, "true");
    } else {
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: option \"%s=%s\", expected format=json|avro|protobuf, "
                             "framed=true|false, registry=URL or schema=FILE", text, option, value);
    }
    return ISO_OK;
}

static enum iso_status parse(struct source *source, const char *text, struct iso_error *error)
{
    source->copy = iso_copy_text(text, strlen(text));
    char *rest = source->copy;
    source->kind = strsep(&rest, ":");
    source->topic = rest ? strsep(&rest, ",") : NULL;
    if (!source->topic || !*source->topic)
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s: expected KIND:TOPIC[,option=value...]", text);
    for (char *option = strsep(&rest, ","); option && error->status == ISO_OK; option = strsep(&rest, ","))
        parse_option(source, option, text, error);
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

static enum iso_status add(struct app_stream *stream, struct source *source)
{
    struct iso_error *error = &stream->app->error;
    const struct iso_decoder_class *class = find_kind(source->kind);
    if (!class)
        return iso_error_set(error, ISO_BAD_INPUT, "--source %s:%s: this version has sources of kind history", source->kind,
                             source->topic);
    if (source->schema && read_schema(source, error) != ISO_OK)
        return error->status;
    struct iso_decoder_options options = {
        .format = source->format,
        .registry = open_registry(stream, source),
        .schema = source->schema ? source->schema_text.bytes : NULL,
        .framed = source->framed,
    };
    struct iso_decoder *decoder = error->status == ISO_OK ? class->create(&options, error) : NULL;
    if (!decoder)
        return error->status;
    iso_pipeline_route(stream->pipeline, source->topic, decoder);
    stream->topics = iso_reallocate(stream->topics, (stream->topic_count + 1) * sizeof *stream->topics);
    stream->topics[stream->topic_count++] = iso_copy_text(source->topic, strlen(source->topic));
    return ISO_OK;
}

enum iso_status app_source_add(struct app_stream *stream, const char *text)
{
    struct source source = {0};
    if (parse(&source, text, &stream->app->error) == ISO_OK)
        add(stream, &source);
    iso_text_release(&source.schema_text);
    iso_free(source.copy);
    return stream->app->error.status;
}
