#include "base/payload.h"

#include <string.h>

#include "base/memory.h"

void iso_payload_release(struct iso_payload *payload)
{
    iso_free(payload->text);
    *payload = (struct iso_payload){0};
}

char *iso_payload_reserve(struct iso_payload *payload, size_t size)
{
    if (payload->capacity < size + ISO_JSON_PADDING) {
        payload->capacity = iso_column_capacity(payload->capacity, size + ISO_JSON_PADDING);
        payload->text = iso_reallocate(payload->text, payload->capacity);
    }
    memset(payload->text + size, 0, ISO_JSON_PADDING);
    return payload->text;
}

const char *iso_payload_copy(struct iso_payload *payload, const void *bytes, size_t size)
{
    char *text = iso_payload_reserve(payload, size);
    if (size)
        memcpy(text, bytes, size);
    return text;
}

enum iso_status iso_payload_fault(const struct iso_json *json, struct iso_error *error)
{
    char text[256];
    iso_json_describe(json, text, sizeof text);
    return iso_error_set(error, ISO_BAD_INPUT, "byte %zu: %s", json->position + 1, text);
}

bool iso_table_listed(const char *list, const char *table, size_t length)
{
    if (!list)
        return true;
    for (size_t part; *list; list += part + (list[part] == ';')) {
        part = strcspn(list, ";");
        if (part == length && !memcmp(list, table, length))
            return true;
    }
    return false;
}
