/* Newer dbcop's JSON: {"params":..,"data":[session...]} or the bare array of sessions.
 *
 *     session =
 *       [{"events":[{"Write":{"variable":1,"version":2}},{"Read":{"variable":1,"version":null}}],"committed":true}]
 *
 * A null version is the initial state: *absent*. A missing "committed" is true.
 */
#include "formats/format_private.h"

struct dbcop_json_reader {
    const char *path;
    const struct iso_whole_file *file;
    struct iso_history *history;
    struct iso_json json;
    struct format_mops mops;
    struct format_line line;
};

static bool read_number(struct dbcop_json_reader *reader, bool nil, iso_atom *atom)
{
    enum iso_json_type type = iso_json_peek(&reader->json);
    if (type == ISO_JSON_STRING)
        return iso_json_fail(&reader->json, ISO_JSON_UNEXPECTED, reader->json.at, "a number");
    return format_json_atom(&reader->json, reader->history, nil,
                            nil ? "a number or null" : "a number", atom);
}

/* {"variable":1,"version":2} */
static bool read_access(struct dbcop_json_reader *reader, bool write)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text name;
    struct format_mop mop = {
        .kind = write ? ISO_WRITE : ISO_READ, .key = ISO_ABSENT, .value = ISO_ABSENT};
    bool version = false;
    const char *at = json->at;
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        bool is_key = iso_json_is(&name, "variable"), is_value = iso_json_is(&name, "version");
        if (!(is_key     ? read_number(reader, false, &mop.key)
              : is_value ? read_number(reader, !write, &mop.value)
                         : iso_json_skip(json)))
            return false;
        version |= is_value;
    }
    if (json->code == ISO_JSON_FINE && (mop.key == ISO_ABSENT || !version))
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, at,
                             "{\"variable\":number,\"version\":number}");
    format_mops_add(&reader->mops, mop);
    return json->code == ISO_JSON_FINE;
}

/* {"Write":{...}} or {"Read":{...}} */
static bool read_event(struct dbcop_json_reader *reader)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text name;
    unsigned accesses = 0;
    const char *at = json->at;
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        bool write = iso_json_is(&name, "Write");
        if (!write && !iso_json_is(&name, "Read"))
            return iso_json_fail(json, ISO_JSON_UNEXPECTED, name.at, "\"Write\" or \"Read\"");
        accesses++;
        if (!read_access(reader, write))
            return false;
    }
    if (json->code == ISO_JSON_FINE && accesses != 1)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, at,
                             "one event, {\"Write\":{...}} or {\"Read\":{...}}");
    return json->code == ISO_JSON_FINE;
}

static bool read_transaction(struct dbcop_json_reader *reader, uint32_t session)
{
    struct iso_json *json = &reader->json;
    struct iso_history *history = reader->history;
    struct iso_json_text name;
    bool committed = true, events = false;
    iso_json_space(json);
    const char *at = json->at;
    reader->mops.count = reader->mops.element_count = 0;
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        bool is_events = iso_json_is(&name, "events");
        events |= is_events;
        if (!(is_events                         ? ISO_JSON_EACH(json, read_event(reader))
              : iso_json_is(&name, "committed") ? iso_json_boolean(json, &committed)
                                                : iso_json_skip(json)))
            return false;
    }
    if (json->code == ISO_JSON_FINE && !events)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, at, "a transaction with \"events\"");
    if (json->code == ISO_JSON_FINE)
        format_mops_emit(&reader->mops, history, history->txns.count, session,
                         committed ? ISO_COMMITTED : ISO_ABORTED,
                         iso_origin(0, format_line_of(&reader->line, reader->file, at)));
    return json->code == ISO_JSON_FINE;
}

static bool read_sessions(struct dbcop_json_reader *reader)
{
    struct iso_json *json = &reader->json;
    if (!iso_json_enter_array(json))
        return false;
    for (uint32_t session = 0; iso_json_element(json); session++) {
        if (!iso_json_enter_array(json))
            return false;
        while (iso_json_element(json)) {
            if (!read_transaction(reader, session))
                return false;
        }
    }
    return json->code == ISO_JSON_FINE;
}

static bool read_document(struct dbcop_json_reader *reader)
{
    struct iso_json *json = &reader->json;
    struct iso_json_text name;
    bool data = false;
    if (iso_json_peek(json) != ISO_JSON_OBJECT)
        return read_sessions(reader) && iso_json_finish(json);
    const char *at = json->at;
    if (!iso_json_enter_object(json))
        return false;
    while (iso_json_member(json, &name)) {
        bool here = iso_json_is(&name, "data");
        if (here && data)
            return iso_json_fail(json, ISO_JSON_UNEXPECTED, name.at, "\"data\" only once");
        data |= here;
        if (!(here ? read_sessions(reader) : iso_json_skip(json)))
            return false;
    }
    if (json->code == ISO_JSON_FINE && !data)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, at,
                             "an object with \"data\", or an array of sessions");
    return iso_json_finish(json);
}

enum iso_status format_dbcop_json_read(const char *path, const struct iso_whole_file *file,
                                       struct iso_history *history, struct iso_error *error)
{
    struct dbcop_json_reader reader = {.path = path, .file = file, .history = history};
    iso_json_init(&reader.json);
    iso_json_start(&reader.json, file->bytes, file->length);
    enum iso_status status = ISO_OK;
    if (!read_document(&reader))
        status = iso_whole_file_json_fail(path, file, &reader.json, error);
    iso_json_release(&reader.json);
    format_mops_release(&reader.mops);
    return status;
}
