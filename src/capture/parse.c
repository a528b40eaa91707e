/* The JSON of a capture's line. A cursor walks over the text; strings are unescaped into the caller's storage. */
#include "capture/parse.h"

#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "base/utf8.h"

/* Unknown members may nest; more than this is no message. */
enum { DEPTH_MAX = 64 };

struct cursor {
    const char *at, *end;
    char *storage; /* next free byte */
    const char *fault, *fault_at;
};

static bool fault(struct cursor *cursor, const char *expected)
{
    if (!cursor->fault) {
        cursor->fault = expected;
        cursor->fault_at = cursor->at;
    }
    return false;
}

static void skip_space(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r'))
        cursor->at++;
}

/* Takes `c` if it comes next. */
static bool take(struct cursor *cursor, char c)
{
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    skip_space(cursor);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool hex4(struct cursor *cursor, uint32_t *unit)
{
    if (cursor->end - cursor->at < 4)
        return fault(cursor, "four hexadecimal digits after \\u");
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        char c = *cursor->at;
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return fault(cursor, "four hexadecimal digits after \\u");
        *unit = *unit << 4 | digit;
        cursor->at++;
    }
    return true;
}

static bool unicode_escape(struct cursor *cursor)
{
    uint32_t unit, low;
    if (!hex4(cursor, &unit))
        return false;
    if (unit >= 0xd800 && unit <= 0xdfff) {
        if (unit >= 0xdc00 || cursor->end - cursor->at < 2 || memcmp(cursor->at, "\\u", 2) != 0)
            return fault(cursor, "a pair of surrogates");
        cursor->at += 2;
        if (!hex4(cursor, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return fault(cursor, "a pair of surrogates");
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    cursor->storage += iso_utf8_encode(unit, cursor->storage);
    return true;
}

static bool escape(struct cursor *cursor)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (cursor->at == cursor->end)
        return fault(cursor, "the end of a string");
    char c = *cursor->at++;
    if (c == '"') { /* nearly every one: payloads are JSON in JSON */
        *cursor->storage++ = c;
        return true;
    }
    if (c == 'u')
        return unicode_escape(cursor);
    const char *name = c ? strchr(names, c) : NULL;
    if (!name)
        return fault(cursor, "an escape that JSON has");
    *cursor->storage++ = meanings[name - names];
    return true;
}

/* Bytes of a string up to its next quote or backslash. */
static size_t plain_run(const char *at, const char *end)
{
    const char *from = at;
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
    return (size_t)(at - from);
}

/* The rest of a string whose opening quote is taken. */
static bool string(struct cursor *cursor, struct iso_bytes *bytes)
{
    char *start = cursor->storage;
    for (;;) {
        size_t run = plain_run(cursor->at, cursor->end);
        memcpy(cursor->storage, cursor->at, run);
        cursor->storage += run;
        cursor->at += run;
        if (cursor->at == cursor->end)
            return fault(cursor, "the end of a string");
        char c = *cursor->at;
        if ((unsigned char)c < 0x20)
            return fault(cursor, "control characters as escapes");
        cursor->at++;
        if (c == '"')
            break;
        if (!escape(cursor))
            return false;
    }
    size_t size = (size_t)(cursor->storage - start);
    if (size > UINT32_MAX)
        return fault(cursor, "a text below 4 GiB");
    *bytes = (struct iso_bytes){(const uint8_t *)start, (uint32_t)size};
    return true;
}

/* {"base64":"..."}, its opening brace taken. */
static bool base64_object(struct cursor *cursor, struct iso_bytes *bytes)
{
    struct iso_bytes name;
    size_t size;
    char *start = cursor->storage;
    if (!take(cursor, '"') || !string(cursor, &name) || name.size != 6 || memcmp(name.data, "base64", 6) != 0)
        return fault(cursor, "the member \"base64\"");
    cursor->storage = start;
    if (!take(cursor, ':') || !take(cursor, '"') || !string(cursor, bytes) || !take(cursor, '}'))
        return fault(cursor, "{\"base64\":\"...\"}");
    if (!iso_base64_decode(start, bytes->size, (uint8_t *)start, &size))
        return fault(cursor, "padded base64");
    cursor->storage = start + size;
    *bytes = (struct iso_bytes){(const uint8_t *)start, (uint32_t)size};
    return true;
}

/* A string or an object with base64. */
static bool text(struct cursor *cursor, struct iso_bytes *bytes)
{
    if (take(cursor, '"'))
        return string(cursor, bytes);
    if (take(cursor, '{'))
        return base64_object(cursor, bytes);
    return fault(cursor, "a string, {\"base64\":\"...\"}");
}

static bool text_or_null(struct cursor *cursor, struct iso_bytes *bytes)
{
    if (take_word(cursor, "null")) {
        *bytes = (struct iso_bytes){0};
        return true;
    }
    return text(cursor, bytes) || fault(cursor, "a string, {\"base64\":\"...\"} or null");
}

/* An integer from `least` to `most`. */
static bool integer(struct cursor *cursor, int64_t least, int64_t most, int64_t *value)
{
    bool negative = take(cursor, '-');
    const char *digits = cursor->at;
    uint64_t number = 0;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9' && cursor->at - digits < 19)
        number = number * 10 + (uint64_t)(*cursor->at++ - '0');
    bool more = cursor->at < cursor->end && ((*cursor->at >= '0' && *cursor->at <= '9') || *cursor->at == '.' ||
                                             *cursor->at == 'e' || *cursor->at == 'E');
    if (cursor->at == digits || more || number > (uint64_t)INT64_MAX)
        return fault(cursor, "an integer");
    *value = negative ? -(int64_t)number : (int64_t)number;
    return (*value >= least && *value <= most) || fault(cursor, "an integer in range");
}

static bool skip_text(struct cursor *cursor)
{
    struct iso_bytes ignored;
    char *start = cursor->storage;
    bool fine = string(cursor, &ignored);
    cursor->storage = start;
    return fine;
}

/* Skips one value of any kind. */
static bool skip_value(struct cursor *cursor, int depth)
{
    if (depth == DEPTH_MAX)
        return fault(cursor, "fewer nested values");
    if (take(cursor, '"'))
        return skip_text(cursor);
    if (take_word(cursor, "null") || take_word(cursor, "true") || take_word(cursor, "false"))
        return true;
    bool object = take(cursor, '{');
    if (!object && !take(cursor, '[')) {
        const char *from = cursor->at;
        while (cursor->at < cursor->end && *cursor->at && strchr("+-.0123456789eE", *cursor->at))
            cursor->at++;
        return cursor->at > from || fault(cursor, "a value");
    }
    char close = object ? '}' : ']';
    if (take(cursor, close))
        return true;
    do {
        if (object && (!take(cursor, '"') || !skip_text(cursor) || !take(cursor, ':')))
            return fault(cursor, "a member");
        if (!skip_value(cursor, depth + 1))
            return false;
    } while (take(cursor, ','));
    return take(cursor, close) || fault(cursor, "',' or the end of an object or array");
}

static void add_header(struct iso_capture_line *parsed, struct iso_header header)
{
    ISO_GROW(parsed->headers, parsed->header_count, parsed->header_capacity);
    parsed->headers[parsed->header_count++] = header;
}

static bool headers(struct cursor *cursor, struct iso_capture_line *parsed)
{
    parsed->header_count = parsed->first_header;
    if (take_word(cursor, "null"))
        return true;
    if (!take(cursor, '['))
        return fault(cursor, "an array of header names and values");
    if (take(cursor, ']'))
        return true;
    do {
        struct iso_header header;
        if (!text(cursor, &header.name))
            return fault(cursor, "a header's name");
        if (!take(cursor, ',') || !text_or_null(cursor, &header.value))
            return fault(cursor, "a header's value");
        add_header(parsed, header);
    } while (take(cursor, ','));
    return take(cursor, ']') || fault(cursor, "',' or ']'");
}

static bool timestamp_type(struct cursor *cursor, enum iso_timestamp_type *type)
{
    struct iso_bytes name;
    char *start = cursor->storage;
    if (!take(cursor, '"') || !string(cursor, &name))
        return fault(cursor, "\"create\", \"logappend\" or \"unknown\"");
    cursor->storage = start;
    if (name.size == 6 && !memcmp(name.data, "create", 6))
        *type = ISO_TIMESTAMP_CREATE;
    else if (name.size == 9 && !memcmp(name.data, "logappend", 9))
        *type = ISO_TIMESTAMP_LOG_APPEND;
    else if (name.size == 7 && !memcmp(name.data, "unknown", 7))
        *type = ISO_TIMESTAMP_NONE;
    else
        return fault(cursor, "\"create\", \"logappend\" or \"unknown\"");
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

static bool is(const struct iso_bytes *name, const char *text)
{
    return name->size == strlen(text) && !memcmp(name->data, text, name->size);
}

static bool member(struct cursor *cursor, struct iso_capture_line *parsed, const struct iso_bytes *name, unsigned *has)
{
    struct iso_message *message = &parsed->message;
    int64_t number = 0;
    bool fine;
    if (is(name, "payload")) {
        *has |= HAS_CONTENT;
        return text_or_null(cursor, &message->payload);
    }
    if (is(name, "key"))
        return text_or_null(cursor, &message->key);
    if (is(name, "offset")) {
        *has |= HAS_OFFSET;
        return integer(cursor, 0, INT64_MAX, &message->offset);
    }
    if (is(name, "partition")) {
        *has |= HAS_PARTITION;
        fine = integer(cursor, 0, INT32_MAX, &number);
        message->partition = (int32_t)number;
        return fine;
    }
    if (is(name, "topic")) {
        *has |= HAS_TOPIC;
        return text(cursor, &parsed->topic);
    }
    if (is(name, "ts"))
        return integer(cursor, INT64_MIN, INT64_MAX, &message->timestamp);
    if (is(name, "tstype"))
        return timestamp_type(cursor, &message->timestamp_type);
    if (is(name, "broker")) {
        fine = integer(cursor, -1, INT32_MAX, &number);
        message->broker = (int32_t)number;
        return fine;
    }
    if (is(name, "end")) {
        *has |= HAS_END;
        return skip_value(cursor, 0);
    }
    if (is(name, "reached") || is(name, "recording")) {
        *has |= is(name, "reached") ? HAS_REACHED : HAS_RECORDING;
        fine = integer(cursor, 0, INT64_MAX, &number);
        parsed->number = (uint64_t)number;
        return fine;
    }
    return is(name, "headers") ? headers(cursor, parsed) : skip_value(cursor, 0);
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

static bool members(struct cursor *cursor, struct iso_capture_line *parsed)
{
    unsigned has = 0;
    if (!take(cursor, '{'))
        return fault(cursor, "an object: one message a line");
    do {
        struct iso_bytes name;
        if (!take(cursor, '"') || !string(cursor, &name) || !take(cursor, ':'))
            return fault(cursor, "a member");
        if (!member(cursor, parsed, &name, &has))
            return false;
    } while (take(cursor, ','));
    if (!take(cursor, '}'))
        return fault(cursor, "',' or '}'");
    skip_space(cursor);
    if (cursor->at != cursor->end)
        return fault(cursor, "the end of the line");
    if (parsed->topic.size == 0 || memchr(parsed->topic.data, 0, parsed->topic.size))
        has &= ~(unsigned)HAS_TOPIC;
    return find_kind(parsed, has) || fault(cursor, "the members topic, partition and offset");
}

bool iso_capture_parse(const char *line, size_t length, char *storage, struct iso_capture_line *parsed)
{
    struct cursor cursor = {.at = line, .end = line + length, .storage = storage};
    parsed->message = (struct iso_message){.broker = -1};
    parsed->topic = (struct iso_bytes){0};
    parsed->number = 0;
    parsed->header_count = parsed->first_header;
    parsed->fault = NULL;
    if (!members(&cursor, parsed)) {
        parsed->fault = cursor.fault;
        parsed->fault_at = (size_t)(cursor.fault_at - line);
        parsed->header_count = parsed->first_header;
        return false;
    }
    parsed->used = (size_t)(cursor.storage - storage);
    if (parsed->message.timestamp_type == ISO_TIMESTAMP_NONE)
        parsed->message.timestamp = 0;
    parsed->message.header_count = parsed->header_count - parsed->first_header;
    return true;
}
