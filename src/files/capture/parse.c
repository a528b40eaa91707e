/* The JSON of a capture's line; what the message points into is copied into the caller's
 * storage. */
#include "capture/parse.h"

#include <string.h>

#include "base/base64.h"
#include "base/memory.h"

struct parser {
    struct iso_json *json;
    char *storage; /* next free byte */
};

static bool fault(const struct parser *parser, const char *expected)
{
    return iso_json_fail(parser->json, ISO_JSON_UNEXPECTED, parser->json->at, expected);
}

/* The bytes that now stand at the storage's free end. */
static void keep_bytes(struct parser *parser, size_t size, struct iso_bytes *bytes)
{
    *bytes = (struct iso_bytes){(const uint8_t *)parser->storage, (uint32_t)size};
    parser->storage += size;
}

/* {"base64":"..."} */
static bool base64_object(struct parser *parser, struct iso_bytes *bytes)
{
    static const char expected[] = "{\"base64\":\"...\"}";
    struct iso_json *json = parser->json;
    struct iso_json_text name, text;
    size_t size;
    if (!iso_json_enter_object(json) || !iso_json_member(json, &name) ||
        !iso_json_is(&name, "base64"))
        return fault(parser, expected);
    if (!iso_json_string(json, &text))
        return false;
    if (!iso_base64_decode(text.at, text.length, (uint8_t *)parser->storage, &size))
        return fault(parser, "padded base64");
    keep_bytes(parser, size, bytes);
    return iso_json_member(json, &name) ? fault(parser, expected) : json->code == ISO_JSON_FINE;
}

/* A string or an object with base64. */
static bool text(struct parser *parser, struct iso_bytes *bytes)
{
    struct iso_json_text text;
    enum iso_json_type type = iso_json_peek(parser->json);
    if (type == ISO_JSON_OBJECT)
        return base64_object(parser, bytes);
    if (type != ISO_JSON_STRING)
        return fault(parser, "a string, {\"base64\":\"...\"}");
    if (!iso_json_string(parser->json, &text))
        return false;
    memcpy(parser->storage, text.at, text.length);
    keep_bytes(parser, text.length, bytes);
    return true;
}

static bool text_or_null(struct parser *parser, struct iso_bytes *bytes)
{
    *bytes = (struct iso_bytes){0};
    return iso_json_peek(parser->json) == ISO_JSON_NULL ? iso_json_null(parser->json)
                                                        : text(parser, bytes);
}

/* An integer from `least` to `most`. */
static bool integer(struct parser *parser, int64_t least, int64_t most, int64_t *value)
{
    struct iso_json_number number;
    if (iso_json_peek(parser->json) != ISO_JSON_DIGITS)
        return fault(parser, "an integer");
    if (!iso_json_integer(parser->json, &number))
        return false;
    *value = (int64_t)number.bits;
    return ((number.negative || number.bits <= INT64_MAX) && *value >= least && *value <= most) ||
           fault(parser, "an integer in range");
}

static bool headers(struct parser *parser, struct iso_capture_line *parsed)
{
    struct iso_json *json = parser->json;
    struct iso_header header;
    parsed->header_count = parsed->first_header;
    if (iso_json_peek(json) == ISO_JSON_NULL)
        return iso_json_null(json);
    if (iso_json_peek(json) != ISO_JSON_ARRAY)
        return fault(parser, "an array of header names and values");
    iso_json_enter_array(json);
    while (iso_json_element(json)) {
        if (!text(parser, &header.name))
            return false;
        if (!iso_json_element(json))
            return fault(parser, "a header's value");
        if (!text_or_null(parser, &header.value))
            return false;
        ISO_PUSH(parsed->headers, parsed->header_count, parsed->header_capacity, header);
    }
    return json->code == ISO_JSON_FINE;
}

static bool timestamp_type(struct parser *parser, enum iso_timestamp_type *type)
{
    struct iso_json_text name = {0};
    if (iso_json_peek(parser->json) == ISO_JSON_STRING && !iso_json_string(parser->json, &name))
        return false;
    if (iso_json_is(&name, "create"))
        *type = ISO_TIMESTAMP_CREATE;
    else if (iso_json_is(&name, "logappend"))
        *type = ISO_TIMESTAMP_LOG_APPEND;
    else if (iso_json_is(&name, "unknown"))
        *type = ISO_TIMESTAMP_NONE;
    else
        return fault(parser, "\"create\", \"logappend\" or \"unknown\"");
    return true;
}

enum {
    HAS_TOPIC = 1,
    HAS_PARTITION = 2,
    HAS_OFFSET = 4,
    HAS_ALL = 7,
    HAS_CONTENT = 8,
    HAS_END = 16,
    HAS_REACHED = 32,
    HAS_RECORDING = 64
};

static bool member(struct parser *parser, struct iso_capture_line *parsed,
                   const struct iso_json_text *name, unsigned *has)
{
    struct iso_message *message = &parsed->message;
    int64_t number = 0;
    bool fine;
    if (iso_json_is(name, "payload")) {
        *has |= HAS_CONTENT;
        return text_or_null(parser, &message->payload);
    }
    if (iso_json_is(name, "key"))
        return text_or_null(parser, &message->key);
    if (iso_json_is(name, "offset")) {
        *has |= HAS_OFFSET;
        return integer(parser, 0, INT64_MAX, &message->offset);
    }
    if (iso_json_is(name, "partition")) {
        *has |= HAS_PARTITION;
        fine = integer(parser, 0, INT32_MAX, &number);
        message->partition = (int32_t)number;
        return fine;
    }
    if (iso_json_is(name, "topic")) {
        *has |= HAS_TOPIC;
        return text(parser, &parsed->topic);
    }
    if (iso_json_is(name, "ts"))
        return integer(parser, INT64_MIN, INT64_MAX, &message->timestamp);
    if (iso_json_is(name, "tstype"))
        return timestamp_type(parser, &message->timestamp_type);
    if (iso_json_is(name, "broker")) {
        fine = integer(parser, -1, INT32_MAX, &number);
        message->broker = (int32_t)number;
        return fine;
    }
    if (iso_json_is(name, "end")) {
        *has |= HAS_END;
        return iso_json_skip(parser->json);
    }
    if (iso_json_is(name, "reached") || iso_json_is(name, "recording")) {
        *has |= iso_json_is(name, "reached") ? HAS_REACHED : HAS_RECORDING;
        fine = integer(parser, 0, INT64_MAX, &number);
        parsed->number = (uint64_t)number;
        return fine;
    }
    return iso_json_is(name, "headers") ? headers(parser, parsed) : iso_json_skip(parser->json);
}

static bool find_kind(struct iso_capture_line *parsed, unsigned has)
{
    static const struct {
        unsigned has;
        enum iso_capture_kind kind;
    } others[] = {{HAS_TOPIC | HAS_PARTITION, ISO_CAPTURE_DECLARES},
                  {HAS_TOPIC | HAS_PARTITION | HAS_END, ISO_CAPTURE_ENDS},
                  {HAS_REACHED, ISO_CAPTURE_REACHES},
                  {HAS_RECORDING, ISO_CAPTURE_RECORDING}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (has == others[i].has) {
            parsed->kind = others[i].kind;
            return true;
        }
    parsed->kind = ISO_CAPTURE_MESSAGE;
    return (has & HAS_ALL) == HAS_ALL;
}

static bool members(struct parser *parser, struct iso_capture_line *parsed)
{
    struct iso_json_text name;
    unsigned has = 0;
    if (iso_json_peek(parser->json) != ISO_JSON_OBJECT)
        return fault(parser, "an object: one message a line");
    iso_json_enter_object(parser->json);
    while (iso_json_member(parser->json, &name))
        if (!member(parser, parsed, &name, &has))
            return false;
    if (!iso_json_finish(parser->json))
        return false;
    if (parsed->topic.size == 0 || memchr(parsed->topic.data, 0, parsed->topic.size))
        has &= ~(unsigned)HAS_TOPIC;
    return find_kind(parsed, has) || fault(parser, "the members topic, partition and offset");
}

bool iso_capture_parse(const char *line, size_t length, char *storage,
                       struct iso_capture_line *parsed)
{
    struct parser parser = {&parsed->json, storage};
    parsed->message = (struct iso_message){.broker = -1};
    parsed->topic = (struct iso_bytes){0};
    parsed->number = 0;
    parsed->header_count = parsed->first_header;
    iso_json_start(&parsed->json, line, length);
    parsed->json.any_bytes = true;
    if (!members(&parser, parsed)) {
        parsed->header_count = parsed->first_header;
        return false;
    }
    parsed->used = (size_t)(parser.storage - storage);
    if (parsed->message.timestamp_type == ISO_TIMESTAMP_NONE)
        parsed->message.timestamp = 0;
    parsed->message.header_count = parsed->header_count - parsed->first_header;
    return true;
}
