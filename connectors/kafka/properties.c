/* librdkafka properties by name. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/redact.h"
#include "connectors/kafka/client.h"

void iso_kafka_properties_init(struct iso_kafka_properties *properties)
{
    *properties = (struct iso_kafka_properties){0};
}

void iso_kafka_properties_release(struct iso_kafka_properties *properties)
{
    for (uint32_t i = 0; i < properties->count; i++) {
        iso_free(properties->list[i].name);
        iso_free(properties->list[i].value);
    }
    iso_free(properties->list);
    iso_kafka_properties_init(properties);
}

static void add_property(struct iso_kafka_properties *properties, const char *name,
                         size_t name_length, const char *value, size_t value_length)
{
    ISO_APPEND(*properties, (struct iso_kafka_property){iso_copy_text(name, name_length),
                                                        iso_copy_text(value, value_length)});
}

void iso_kafka_properties_set(struct iso_kafka_properties *properties, const char *name,
                              const char *value)
{
    add_property(properties, name, strlen(name), value, strlen(value));
}

const char *iso_kafka_properties_get(const struct iso_kafka_properties *properties,
                                     const char *name)
{
    for (uint32_t i = properties->count; i-- > 0;)
        if (!strcmp(properties->list[i].name, name))
            return properties->list[i].value;
    return NULL;
}

/* Names of files and addresses are none, whatever they are of. */
static bool is_secret(const char *name, size_t length)
{
    static const char *const places[] = {".location", ".url", ".path", ".file", ".provider"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t end = strlen(places[i]);
        if (length > end && !memcmp(name + length - end, places[i], end))
            return false;
    }
    return iso_is_secret_name(name, length);
}

enum iso_status iso_kafka_properties_configured(struct iso_kafka_properties *properties,
                                                const char *text, struct iso_error *error)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "-X %s: expected name=value or the name of a file", text);
    add_property(properties, text, (size_t)(equals - text), equals + 1, strlen(equals + 1));
    return ISO_OK;
}

enum iso_status iso_kafka_properties_argument(struct iso_kafka_properties *properties,
                                              const char *text, struct iso_error *error)
{
    size_t length = strcspn(text, "=");
    if (is_secret(text, length))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "-X %.*s: a secret on the command line is visible to every user of this machine, and in the "
            "environment to whoever inspects the service; put it into a file and give -X FILE",
            (int)length, text);
    return iso_kafka_properties_configured(properties, text, error);
}

/* Without the spaces around it. */
static char *trim_text(char *text, size_t length)
{
    while (length && strchr(" \t\r\n", text[length - 1]))
        length--;
    text[length] = 0;
    return text + strspn(text, " \t");
}

enum iso_status iso_kafka_properties_file(struct iso_kafka_properties *properties, const char *path,
                                          struct iso_error *error)
{
    char *line = NULL;
    size_t capacity = 0;
    unsigned number = 0;
    ssize_t length;
    FILE *file = fopen(path, "re");
    if (!file)
        return iso_error_set(error, iso_error_of_open(errno), "%s: %s", path, strerror(errno));
    while (error->status == ISO_OK && (length = getline(&line, &capacity, file)) >= 0) {
        number++;
        char *text = trim_text(line, (size_t)length);
        char *equals = strchr(text, '=');
        if (!*text || *text == '#')
            continue;
        if (!equals || equals == text) {
            iso_error_set(error, ISO_BAD_INPUT, "%s:%u: expected name=value", path, number);
        } else {
            *equals = 0;
            const char *value = equals + 1 + strspn(equals + 1, " \t");
            iso_kafka_properties_set(properties, trim_text(text, (size_t)(equals - text)), value);
        }
    }
    if (ferror(file))
        iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
    free(line);
    fclose(file);
    return error->status;
}
