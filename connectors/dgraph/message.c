#include "connectors/dgraph/message.h"

#include "base/payload.h"

/* Notes the member; false if it stood there before. */
static bool first(struct iso_json *json, struct change *change, enum member member)
{
    if (change->seen & member)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "each member once");
    change->seen |= member;
    return true;
}

static void read_unsigned(struct iso_json *json, uint64_t *number)
{
    struct iso_json_number read = {0};
    iso_json_space(json);
    const char *start = json->at;
    if (iso_json_integer(json, &read) && read.negative)
        iso_json_fail(json, ISO_JSON_UNEXPECTED, start, "an unsigned integer");
    *number = read.bits;
}

static void read_value(struct iso_json *json, struct value *value)
{
    value->type = iso_json_peek(json);
    value->text.at = json->at;
    if (value->type == ISO_JSON_STRING) {
        iso_json_string(json, &value->text);
        return;
    }
    unsigned digits = iso_json_digits(json->at, &value->number);
    value->is_short = digits && json->at + digits < json->end &&
                      (json->at[digits] == ',' || json->at[digits] == '}');
    if (value->is_short)
        json->at += digits;
    else
        iso_json_skip(json);
    value->text.length = (size_t)(json->at - value->text.at);
}

static void read_meta(struct iso_json *json, struct change *change)
{
    struct iso_json_text name;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "commit_ts") && first(json, change, COMMIT_TS))
            read_unsigned(json, &change->commit_ts);
        else if (ISO_PAYLOAD_IS(name, "namespace") && first(json, change, NAMESPACE))
            read_unsigned(json, &change->namespace);
        else
            iso_json_skip(json);
    }
}

static void read_event(struct iso_json *json, struct change *change)
{
    struct iso_json_text name;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "operation") && first(json, change, OPERATION))
            iso_json_string(json, &change->operation);
        else if (ISO_PAYLOAD_IS(name, "uid") && first(json, change, UID))
            read_unsigned(json, &change->uid);
        else if (ISO_PAYLOAD_IS(name, "attr") && first(json, change, ATTR))
            iso_json_string(json, &change->attr);
        else if (ISO_PAYLOAD_IS(name, "value") && first(json, change, VALUE))
            read_value(json, &change->value);
        else if (ISO_PAYLOAD_IS(name, "value_type") && first(json, change, VALUE_TYPE))
            iso_json_string(json, &change->value_type);
        else if (ISO_PAYLOAD_IS(name, "pred") && first(json, change, PRED))
            iso_json_string(json, &change->pred);
        else
            iso_json_skip(json);
    }
}

bool dgraph_read(struct iso_json *json, struct change *change)
{
    struct iso_json_text name;
    iso_json_enter_object(json);
    while (json->code == ISO_JSON_FINE && iso_json_member(json, &name)) {
        if (ISO_PAYLOAD_IS(name, "meta") && first(json, change, META))
            read_meta(json, change);
        else if (ISO_PAYLOAD_IS(name, "type") && first(json, change, TYPE))
            iso_json_string(json, &change->type);
        else if (ISO_PAYLOAD_IS(name, "event") && first(json, change, EVENT))
            read_event(json, change);
        else
            iso_json_skip(json);
    }
    return iso_json_finish(json);
}
