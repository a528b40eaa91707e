#include "io/watermark.h"

#include <string.h>

bool iso_watermark_is(const char *text)
{
    text += strspn(text, " \t\r\n");
    if (*text != '{')
        return false;
    text += 1 + strspn(text + 1, " \t\r\n");
    return !strncmp(text, "\"watermark\"", 11);
}

enum iso_status iso_watermark_read(struct iso_json *json, const char *text, size_t size, uint64_t *watermark,
                                   struct iso_error *error)
{
    struct iso_json_text name, digits;
    struct iso_json_number number = {0};
    char fault[256];
    iso_json_start(json, text, size);
    iso_json_enter_object(json);
    iso_json_member(json, &name);
    bool quoted = iso_json_peek(json) == ISO_JSON_STRING;
    if (quoted && iso_json_string(json, &digits) && iso_json_digits(digits.at, &number.bits) != digits.length)
        return iso_error_set(error, ISO_BAD_INPUT, "watermark: expected an unsigned integer");
    if (!quoted)
        iso_json_integer(json, &number);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name))
        iso_json_skip(json);
    if (!iso_json_finish(json)) {
        iso_json_describe(json, fault, sizeof fault);
        return iso_error_set(error, ISO_BAD_INPUT, "byte %zu: %s", json->position + 1, fault);
    }
    if (number.negative)
        return iso_error_set(error, ISO_BAD_INPUT, "watermark: expected an unsigned integer");
    *watermark = number.bits;
    return ISO_OK;
}
