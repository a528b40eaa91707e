#include "run/input/consume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum iso_status run_consume_from(const char *text, struct iso_kafka_consumer_options *options,
                                 struct iso_error *error)
{
    char *end;
    if (!text || !strcmp(text, "beginning")) {
        options->start = ISO_KAFKA_BEGINNING;
        return ISO_OK;
    }
    if (!strcmp(text, "end")) {
        options->start = ISO_KAFKA_END;
        return ISO_OK;
    }
    if (!strcmp(text, "stored")) {
        options->start = ISO_KAFKA_STORED;
        if (iso_kafka_properties_get(options->properties, "group.id"))
            return ISO_OK;
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--from stored: expected -X group.id=GROUP, whose committed offsets "
                             "to start at");
    }
    errno = 0;
    options->start = ISO_KAFKA_TIME;
    options->start_time = strtoll(text, &end, 10);
    if (!*text || *end || errno || options->start_time < 0)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--from %s: expected beginning, end, stored, or milliseconds since 1970", text);
    return ISO_OK;
}

enum iso_status run_properties(struct iso_kafka_properties *properties,
                               const struct cli_texts *texts, struct iso_error *error)
{
    for (uint32_t i = 0; i < texts->count && error->status == ISO_OK; i++) {
        if (!strchr(texts->items[i], '='))
            iso_kafka_properties_file(properties, texts->items[i], error);
        else if (texts->in_file)
            iso_kafka_properties_configured(properties, texts->items[i], error);
        else
            iso_kafka_properties_argument(properties, texts->items[i], error);
    }
    return error->status;
}
