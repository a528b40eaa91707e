/* Writing captures: messages to lines, each put together in one text. */
#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "capture/capture.h"

struct iso_capture_writer {
    struct iso_stream_writer *stream;
    struct iso_text line;
};

static struct iso_capture_writer *writer_of(struct iso_stream_writer *stream)
{
    if (!stream)
        return NULL;
    struct iso_capture_writer *writer = iso_allocate_zeroed(1, sizeof *writer);
    writer->stream = stream;
    return writer;
}

struct iso_capture_writer *iso_capture_writer_new(const char *path, struct iso_error *error)
{
    return writer_of(iso_stream_writer_new(path, error));
}

struct iso_capture_writer *iso_capture_writer_resume(const char *path, uint64_t length,
                                                     struct iso_error *error)
{
    return writer_of(iso_stream_writer_resume(path, length, error));
}

struct iso_stream_writer *iso_capture_stream(struct iso_capture_writer *writer)
{
    return writer->stream;
}

enum iso_status iso_capture_writer_close(struct iso_capture_writer *writer, struct iso_error *error)
{
    if (!writer)
        return error->status;
    iso_stream_writer_close(writer->stream, error);
    iso_text_release(&writer->line);
    iso_free(writer);
    return error->status;
}

static void put_bytes(struct iso_text *line, struct iso_bytes bytes)
{
    if (!bytes.data) {
        iso_text_put(line, "null");
    } else if (iso_utf8_valid(bytes.data, bytes.size)) {
        iso_text_put_string(line, bytes.data, bytes.size);
    } else {
        size_t length = iso_base64_length(bytes.size);
        iso_text_put(line, "{\"base64\":\"");
        iso_base64_encode(bytes.data, bytes.size, iso_text_reserve(line, length));
        line->used += length;
        iso_text_put(line, "\"}");
    }
}

static void put_member(struct iso_text *line, const char *name, int64_t value)
{
    iso_text_put(line, name);
    iso_text_put_signed(line, value);
}

static void put_headers(struct iso_text *line, const struct iso_message *message)
{
    for (uint32_t i = 0; i < message->header_count; i++) {
        iso_text_put(line, i ? "," : ",\"headers\":[");
        put_bytes(line, message->headers[i].name);
        iso_text_put(line, ",");
        put_bytes(line, message->headers[i].value);
    }
    if (message->header_count)
        iso_text_put(line, "]");
}

/* Longest line: a byte as \u0000, and the members' names and numbers. */
static uint64_t longest_line(const struct iso_message *message)
{
    enum { ESCAPED = 6, NAMES = 256, HEADER = 8 };
    uint64_t bytes = strlen(message->topic) + message->key.size + message->payload.size;
    for (uint32_t i = 0; i < message->header_count; i++)
        bytes += message->headers[i].name.size + message->headers[i].value.size + HEADER;
    return bytes * ESCAPED + NAMES;
}

enum iso_status iso_capture_begin(struct iso_capture_writer *writer, struct iso_error *error)
{
    static const char text[] = "\n{\"recording\":2}\n";
    return iso_stream_write(writer->stream, text, sizeof text - 1, error);
}

uint32_t iso_capture_batch(const struct iso_message *messages, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += longest_line(&messages[i]);
        if (i == ISO_CAPTURE_BATCH || (i && bytes > ISO_CAPTURE_BATCH_BYTES))
            return i;
    }
    return count;
}

enum iso_status iso_capture_mark(struct iso_capture_writer *writer, struct iso_error *error)
{
    return iso_stream_write(writer->stream, "\n", 1, error);
}

/* The members that every line begins with. */
static void start_line(struct iso_text *line, const char *topic, int32_t partition)
{
    line->used = 0;
    iso_text_put(line, "{\"topic\":");
    put_bytes(line, (struct iso_bytes){(const uint8_t *)topic, (uint32_t)strlen(topic)});
    put_member(line, ",\"partition\":", partition);
}

static enum iso_status end_line(struct iso_capture_writer *writer, const char *text,
                                struct iso_error *error)
{
    iso_text_put(&writer->line, text);
    return iso_stream_write(writer->stream, writer->line.bytes, writer->line.used, error);
}

enum iso_status iso_capture_declare(struct iso_capture_writer *writer, const char *topic,
                                    int32_t partition, struct iso_error *error)
{
    start_line(&writer->line, topic, partition);
    return end_line(writer, "}\n", error);
}

enum iso_status iso_capture_end(struct iso_capture_writer *writer, const char *topic,
                                int32_t partition, struct iso_error *error)
{
    start_line(&writer->line, topic, partition);
    return end_line(writer, ",\"end\":true}\n", error);
}

enum iso_status iso_capture_reached(struct iso_capture_writer *writer, uint64_t time,
                                    struct iso_error *error)
{
    writer->line.used = 0;
    iso_text_put(&writer->line, "{\"reached\":");
    iso_text_put_unsigned(&writer->line, time);
    return end_line(writer, "}\n", error);
}

enum iso_status iso_capture_write(struct iso_capture_writer *writer,
                                  const struct iso_message *message, struct iso_error *error)
{
    struct iso_text *line = &writer->line;
    start_line(line, message->topic, message->partition);
    put_member(line, ",\"offset\":", message->offset);
    if (message->timestamp_type != ISO_TIMESTAMP_NONE) {
        bool created = message->timestamp_type == ISO_TIMESTAMP_CREATE;
        iso_text_put(line, created ? ",\"tstype\":\"create\"" : ",\"tstype\":\"logappend\"");
        put_member(line, ",\"ts\":", message->timestamp);
    }
    if (message->broker >= 0)
        put_member(line, ",\"broker\":", message->broker);
    put_headers(line, message);
    iso_text_put(line, ",\"key\":");
    put_bytes(line, message->key);
    iso_text_put(line, ",\"payload\":");
    put_bytes(line, message->payload);
    return end_line(writer, "}\n", error);
}
