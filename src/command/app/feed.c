#include "app/feed.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "bytes/input.h"
#include "native/native.h"

enum { PIECE = 64 << 10, LINE_MAX_BYTES = 64 << 20 };

struct feed {
    struct app_publisher *publisher;
    struct iso_native native;
    struct iso_history block;
    const char *name; /* of the input */
    uint64_t line;    /* of its lines, how many were taken */
    char *text;       /* what was read and not taken yet */
    size_t length, capacity;
};

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!strchr(" \t\r", text[i]))
            return false;
    }
    return true;
}

static enum iso_status take_line(struct feed *feed, const char *text, size_t length,
                                 struct iso_error *error)
{
    struct iso_native_fault fault = {.kind = ISO_FAULT_NONE};
    feed->line++;
    if (is_blank(text, length))
        return ISO_OK;
    if (iso_native_read_transaction(&feed->native, text, length, iso_origin(0, feed->line),
                                    &feed->block, &fault) == ISO_OK)
        return ISO_OK;
    return iso_error_set(error, ISO_BAD_INPUT, "%s:%" PRIu64 ": byte %zu: %s", feed->name,
                         feed->line, fault.position, fault.text);
}

/* Takes all whole lines (at the end of the input: also one that has no newline) and publishes them
 * as one block. */
static enum iso_status take_lines(struct feed *feed, bool ended, struct iso_error *error)
{
    size_t at = 0;
    while (at < feed->length && error->status == ISO_OK) {
        const char *newline = memchr(feed->text + at, '\n', feed->length - at);
        if (!newline && !ended)
            break;
        size_t length = newline ? (size_t)(newline - feed->text) - at : feed->length - at;
        take_line(feed, feed->text + at, length, error);
        at += length + (newline != NULL);
    }
    if (error->status == ISO_OK && feed->block.txns.count)
        app_publisher_add(feed->publisher, &feed->block, error);
    iso_history_clear(&feed->block);
    feed->length -= at;
    memmove(feed->text, feed->text + at, feed->length);
    return error->status;
}

static enum iso_status make_room(struct feed *feed, struct iso_error *error)
{
    if (feed->length > LINE_MAX_BYTES)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "%s:%" PRIu64 ": a transaction of more than 64 MiB", feed->name,
                             feed->line + 1);
    if (feed->capacity < feed->length + PIECE) {
        feed->capacity = iso_column_capacity(feed->capacity, feed->length + PIECE);
        feed->text = iso_reallocate(feed->text, feed->capacity + ISO_JSON_PADDING);
    }
    return ISO_OK;
}

static enum iso_status feed_input(struct feed *feed, struct iso_input *input,
                                  struct iso_error *error)
{
    bool ended = false;
    feed->line = 0;
    feed->length = 0;
    while (!ended && make_room(feed, error) == ISO_OK) {
        size_t got;
        if (iso_input_read(input, feed->text + feed->length, PIECE, &got, error) != ISO_OK)
            break;
        ended = got < PIECE;
        feed->length += got;
        memset(feed->text + feed->length, 0, ISO_JSON_PADDING);
        if (take_lines(feed, ended, error) != ISO_OK)
            break;
    }
    return error->status;
}

enum iso_status app_feed(struct app_publisher *publisher, const struct cli_texts *files,
                         struct iso_error *error)
{
    struct feed feed = {.publisher = publisher};
    iso_native_init(&feed.native);
    iso_history_init(&feed.block);
    for (uint32_t i = 0; i < files->count && error->status == ISO_OK; i++) {
        struct iso_input *input = NULL;
        feed.name = iso_input_name(files->items[i]);
        if (iso_input_open(&input, files->items[i], error) == ISO_OK)
            feed_input(&feed, input, error);
        iso_input_free(input);
    }
    iso_history_release(&feed.block);
    iso_native_release(&feed.native);
    iso_free(feed.text);
    return error->status;
}
