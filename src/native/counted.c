#include "native/counted.h"

#include "native/native_private.h"
#include "native/watermark.h"

bool iso_counted_is(const char *text)
{
    return iso_first_member_is(text, "\"session\"");
}

static bool take_member(struct iso_native *native, const char *name)
{
    struct iso_json_text found;
    if (!iso_json_member(&native->json, &found))
        return false;
    return iso_json_is(&found, name);
}

static bool read(struct iso_native *native, struct iso_history *history, struct iso_counted *counted)
{
    struct iso_json *json = &native->json;
    struct iso_json_text name;
    if (!iso_json_enter_object(json) || !take_member(native, "session"))
        return native_scanner_fault(native);
    if (!native_read_atom(native, "session", history, &counted->session))
        return false;
    if (!take_member(native, "records"))
        return json->code != ISO_JSON_FINE
                   ? native_scanner_fault(native)
                   : native_refuse(native, native->json.at, "expected \"records\" behind \"session\"");
    if (!native_read_unsigned(native, "records", &counted->records))
        return false;
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (!iso_json_is(&name, "ended"))
            iso_json_skip(json);
        else if (!native_read_boolean(native, "ended", &counted->has_ended))
            return false;
    }
    return iso_json_finish(json) || native_scanner_fault(native);
}

enum iso_status iso_counted_read(struct iso_native *native, const char *text, size_t size, struct iso_history *history,
                                 struct iso_counted *counted, struct iso_error *error)
{
    struct iso_native_fault fault = {.kind = ISO_FAULT_NONE};
    native->fault = &fault;
    *counted = (struct iso_counted){.session = ISO_ABSENT};
    iso_json_start(&native->json, text, size);
    if (read(native, history, counted))
        return ISO_OK;
    return iso_error_set(error, ISO_BAD_INPUT, "byte %zu: %s", fault.position, fault.text);
}
