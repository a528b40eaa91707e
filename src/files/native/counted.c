#include "native/counted.h"

#include "native/native_private.h"

static bool read(struct iso_native *native, struct iso_counted *counted)
{
    struct iso_json *json = &native->json;
    struct iso_json_text name;
    uint8_t marks = 0;
    if (!iso_json_enter_object(json) || !iso_json_member(json, &name))
        return native_scanner_fault(native);
    bool of_session = iso_json_is(&name, "session");
    if (!native_read_atom(native, of_session ? "session" : "recorder",
                          of_session ? &counted->session : &counted->recorder))
        return false;
    if (!iso_json_member(json, &name) || !iso_json_is(&name, "records"))
        return json->code != ISO_JSON_FINE
                   ? native_scanner_fault(native)
                   : native_refuse(native, native->json.at,
                                   of_session ? "expected \"records\" behind \"session\""
                                              : "expected \"records\" behind \"recorder\"");
    if (!native_read_unsigned(native, "records", &counted->records))
        return false;
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        bool is_read = true;
        if (iso_json_is(&name, "ended"))
            is_read = native_read_boolean(native, "ended", &counted->has_ended);
        else if (iso_json_is(&name, "alive_ms"))
            is_read = native_read_unsigned(native, "alive_ms", &counted->alive_ms);
        else if (!of_session && iso_json_is(&name, "line"))
            is_read = native_read_unsigned(native, "line", &counted->line);
        else if (!of_session && iso_json_is(&name, "writes"))
            is_read = native_read_writes(native, &marks);
        else if (of_session && iso_json_is(&name, "recorder"))
            is_read = native_read_atom(native, "recorder", &counted->recorder);
        else
            iso_json_skip(json);
        if (!is_read)
            return false;
    }
    counted->of_stream = marks & ISO_MARK_CDC_WRITES;
    return iso_json_finish(json) || native_scanner_fault(native);
}

enum iso_status iso_counted_read(struct iso_native *native, const char *text, size_t size,
                                 struct iso_history *history, struct iso_counted *counted,
                                 struct iso_error *error)
{
    struct iso_native_fault fault = {.kind = ISO_FAULT_NONE};
    native->fault = &fault;
    native->history = history;
    *counted = (struct iso_counted){.session = ISO_ABSENT, .recorder = ISO_ABSENT};
    iso_json_start(&native->json, text, size);
    if (read(native, counted))
        return ISO_OK;
    return iso_error_set(error, ISO_BAD_INPUT, "byte %zu: %s", fault.position, fault.text);
}
