#include "native/watermark.h"

#include <string.h>

#include "native/native_private.h"

bool iso_first_member_is(const char *text, const char *name)
{
    text += strspn(text, " \t\r\n");
    if (*text != '{')
        return false;
    text += 1 + strspn(text + 1, " \t\r\n");
    return !strncmp(text, name, strlen(name));
}

bool iso_watermark_is(const char *text)
{
    return iso_first_member_is(text, "\"watermark\"");
}

static bool read(struct iso_native *native, uint64_t *watermark)
{
    struct iso_json *json = &native->json;
    struct iso_json_text name;
    if (!iso_json_enter_object(json) || !iso_json_member(json, &name))
        return native_scanner_fault(native);
    if (!native_read_unsigned(native, "watermark", watermark))
        return false;
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name))
        iso_json_skip(json);
    return iso_json_finish(json) || native_scanner_fault(native);
}

enum iso_status iso_watermark_read(struct iso_native *native, const char *text, size_t size,
                                   uint64_t *watermark, struct iso_error *error)
{
    struct iso_native_fault fault = {.kind = ISO_FAULT_NONE};
    native->fault = &fault;
    iso_json_start(&native->json, text, size);
    if (read(native, watermark))
        return ISO_OK;
    return iso_error_set(error, ISO_BAD_INPUT, "byte %zu: %s", fault.position, fault.text);
}
