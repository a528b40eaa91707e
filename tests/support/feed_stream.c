#include "tests/support/feed_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { WINDOW = 8 };

void feed_stream_release(struct feed_stream *stream)
{
    iso_free(stream->list);
    iso_text_release(&stream->bytes);
    *stream = (struct feed_stream){0};
}

static void add(struct feed_stream *stream, struct feed_sent sent)
{
    if (stream->count == stream->capacity) {
        stream->capacity = (uint32_t)iso_column_capacity(stream->capacity, stream->count + 1u);
        stream->list = iso_reallocate(stream->list, stream->capacity * sizeof *stream->list);
    }
    stream->list[stream->count++] = sent;
}

void feed_stream_add(struct feed_stream *stream, const char *topic, int32_t partition, size_t key,
                     size_t payload)
{
    add(stream, (struct feed_sent){.topic = topic,
                                   .partition = partition,
                                   .tag = {stream->tag.part, stream->tag.transaction,
                                           stream->tag.key, 0, stream->tag.ends, stream->count},
                                   .has_key = payload > key,
                                   .key = key,
                                   .key_size = payload - key,
                                   .payload = payload,
                                   .payload_size = stream->bytes.used - payload});
}

void feed_stream_add_tombstone(struct feed_stream *stream)
{
    struct feed_sent sent = stream->list[stream->count - 1];
    sent.is_tombstone = true;
    sent.tag.part = FEED_OTHER;
    add(stream, sent);
}

void feed_stream_repeat(struct feed_stream *stream, uint32_t first)
{
    for (uint32_t end = stream->count, i = first; i < end; i++)
        add(stream, stream->list[i]);
}

void feed_stream_deliver(const struct feed_stream *stream, struct random *random, struct feed *feed)
{
    uint32_t window[WINDOW], held = 0, next = 0;
    const uint8_t *bytes = (const uint8_t *)stream->bytes.bytes;
    while (next < stream->count || held) {
        while (held < WINDOW && next < stream->count)
            window[held++] = next++;
        uint32_t pick = random_below(random, held);
        for (uint32_t i = 0; i < pick; i++) /* not before an earlier one of the same partition */
            if (stream->list[window[i]].topic == stream->list[window[pick]].topic &&
                stream->list[window[i]].partition == stream->list[window[pick]].partition)
                pick = i;
        const struct feed_sent *sent = &stream->list[window[pick]];
        struct iso_bytes none = {NULL, 0};
        feed->tag = sent->tag;
        feed_add(feed, sent->topic, sent->partition,
                 sent->has_key ? (struct iso_bytes){bytes + sent->key, (uint32_t)sent->key_size}
                               : none,
                 sent->is_tombstone
                     ? none
                     : (struct iso_bytes){bytes + sent->payload, (uint32_t)sent->payload_size});
        memmove(window + pick, window + pick + 1, (--held - pick) * sizeof *window);
    }
}

int32_t feed_stream_partition(const char *key, size_t length, uint32_t partitions)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum = sum * 31 + (unsigned char)key[i];
    return (int32_t)(sum % partitions);
}

static int compare(const void *left, const void *right)
{
    const struct feed_commit *one = left, *other = right;
    return one->cts != other->cts
               ? (one->cts < other->cts ? -1 : 1)
               : (one->transaction > other->transaction) - (one->transaction < other->transaction);
}

struct feed_commit *feed_commits(const struct iso_history *history, const uint64_t *commits,
                                 bool readers, uint32_t *count)
{
    struct feed_commit *list = iso_allocate_zeroed(history->txns.count + 1u, sizeof *list);
    *count = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        bool committed = iso_status_of(history, t) == ISO_COMMITTED, taken = readers;
        uint64_t cts = commits ? commits[t] : committed ? history->txns.cts[t] : 0;
        for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
            taken |= iso_kind_writes(history->ops.kind[o]);
        if (cts && taken)
            list[(*count)++] = (struct feed_commit){cts, t};
    }
    qsort(list, *count, sizeof *list, compare);
    return list;
}
