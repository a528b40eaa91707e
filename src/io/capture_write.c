/* Writing captures: messages to lines, each put together in one buffer. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "io/capture.h"
#include "io/stream.h"

struct iso_capture_writer {
    struct iso_stream_writer *stream;
    char *line;
    size_t used, capacity;
};

struct iso_capture_writer *iso_capture_writer_new(const char *path, struct iso_error *error)
{
    struct iso_stream_writer *stream = iso_stream_writer_new(path, error);
    if (!stream)
        return NULL;
    struct iso_capture_writer *writer = iso_allocate_zeroed(1, sizeof *writer);
    writer->stream = stream;
    return writer;
}

enum iso_status iso_capture_writer_close(struct iso_capture_writer *writer, struct iso_error *error)
{
    if (!writer)
        return error->status;
    iso_stream_writer_close(writer->stream, error);
    iso_free(writer->line);
    iso_free(writer);
    return error->status;
}

/* Room for `size` more bytes. */
static char *reserve(struct iso_capture_writer *writer, size_t size)
{
    if (size > writer->capacity - writer->used) {
        writer->capacity = iso_column_capacity(writer->capacity, writer->used + size);
        writer->line = iso_reallocate(writer->line, writer->capacity);
    }
    return writer->line + writer->used;
}

static void put(struct iso_capture_writer *writer, const char *text)
{
    size_t length = strlen(text);
    memcpy(reserve(writer, length), text, length);
    writer->used += length;
}

static void put_member_integer(struct iso_capture_writer *writer, const char *name, int64_t value)
{
    enum { ROOM = 64 };
    writer->used += (size_t)snprintf(reserve(writer, ROOM), ROOM, "%s%" PRId64, name, value);
}

/* The letter of a short escape, or 0. */
static char short_escape(uint8_t byte)
{
    switch (byte) {
    case '"': return '"';
    case '\\': return '\\';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
    }
}

static void put_string(struct iso_capture_writer *writer, struct iso_bytes bytes)
{
    static const char hexadecimal[] = "0123456789abcdef";
    char *from = reserve(writer, (size_t)bytes.size * 6 + 2), *to = from;
    *to++ = '"';
    for (uint32_t i = 0; i < bytes.size; i++) {
        uint8_t byte = bytes.data[i];
        char letter;
        if (byte >= 0x20 && byte != '"' && byte != '\\') {
            *to++ = (char)byte;
        } else if ((letter = short_escape(byte))) {
            *to++ = '\\';
            *to++ = letter;
        } else {
            memcpy(to, "\\u00", 4);
            to[4] = hexadecimal[byte >> 4];
            to[5] = hexadecimal[byte & 15];
            to += 6;
        }
    }
    *to++ = '"';
    writer->used += (size_t)(to - from);
}

static void put_bytes(struct iso_capture_writer *writer, struct iso_bytes bytes)
{
    if (!bytes.data) {
        put(writer, "null");
    } else if (iso_utf8_valid(bytes.data, bytes.size)) {
        put_string(writer, bytes);
    } else {
        size_t length = iso_base64_length(bytes.size);
        put(writer, "{\"base64\":\"");
        iso_base64_encode(bytes.data, bytes.size, reserve(writer, length));
        writer->used += length;
        put(writer, "\"}");
    }
}

static void put_headers(struct iso_capture_writer *writer, const struct iso_message *message)
{
    for (uint32_t i = 0; i < message->header_count; i++) {
        put(writer, i ? "," : ",\"headers\":[");
        put_bytes(writer, message->headers[i].name);
        put(writer, ",");
        put_bytes(writer, message->headers[i].value);
    }
    if (message->header_count)
        put(writer, "]");
}

enum iso_status iso_capture_write(struct iso_capture_writer *writer, const struct iso_message *message,
                                  struct iso_error *error)
{
    writer->used = 0;
    put(writer, "{\"topic\":");
    put_bytes(writer, (struct iso_bytes){(const uint8_t *)message->topic, (uint32_t)strlen(message->topic)});
    put_member_integer(writer, ",\"partition\":", message->partition);
    put_member_integer(writer, ",\"offset\":", message->offset);
    if (message->timestamp_type != ISO_TIMESTAMP_NONE) {
        put(writer, message->timestamp_type == ISO_TIMESTAMP_CREATE ? ",\"tstype\":\"create\""
                                                                     : ",\"tstype\":\"logappend\"");
        put_member_integer(writer, ",\"ts\":", message->timestamp);
    }
    if (message->broker >= 0)
        put_member_integer(writer, ",\"broker\":", message->broker);
    put_headers(writer, message);
    put(writer, ",\"key\":");
    put_bytes(writer, message->key);
    put(writer, ",\"payload\":");
    put_bytes(writer, message->payload);
    put(writer, "}\n");
    return iso_stream_write(writer->stream, writer->line, writer->used, error);
}

enum iso_status iso_capture_flush(struct iso_capture_writer *writer, struct iso_error *error)
{
    return iso_stream_flush(writer->stream, error);
}
