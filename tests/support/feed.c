#include "tests/support/feed.h"

#include <string.h>

#include "base/memory.h"

void feed_init(struct feed *feed)
{
    *feed = (struct feed){0};
}

void feed_release(struct feed *feed)
{
    iso_free(feed->list);
    iso_free(feed->places);
    iso_free(feed->tags);
    iso_free(feed->inputs);
    iso_text_release(&feed->bytes);
    feed_init(feed);
}

static uint32_t find_input(struct feed *feed, const char *topic, int32_t partition)
{
    for (uint32_t i = 0; i < feed->input_count; i++)
        if (feed->inputs[i].partition == partition && !strcmp(feed->inputs[i].topic, topic))
            return i;
    feed->inputs = iso_reallocate(feed->inputs, (feed->input_count + 1) * sizeof *feed->inputs);
    feed->inputs[feed->input_count] = (struct feed_input){topic, partition, 0};
    return feed->input_count++;
}

void feed_add(struct feed *feed, const char *topic, int32_t partition, struct iso_bytes key,
              struct iso_bytes payload)
{
    uint32_t input = find_input(feed, topic, partition);
    if (feed->count == feed->capacity) {
        feed->capacity = (uint32_t)iso_column_capacity(feed->capacity, feed->count + 1);
        feed->list = iso_reallocate(feed->list, feed->capacity * sizeof *feed->list);
        feed->places = iso_reallocate(feed->places, feed->capacity * sizeof *feed->places);
        feed->tags = iso_reallocate(feed->tags, feed->capacity * sizeof *feed->tags);
    }
    feed->places[feed->count] = feed->bytes.used;
    feed->tags[feed->count] = feed->tag;
    feed->list[feed->count++] = (struct iso_message){.topic = topic,
                                                     .partition = partition,
                                                     .broker = -1,
                                                     .offset = feed->inputs[input].next_offset++,
                                                     .input = input,
                                                     .key = key,
                                                     .payload = payload};
    iso_text_put_bytes(&feed->bytes, key.data, key.size);
    iso_text_put_bytes(&feed->bytes, payload.data, payload.size);
}

void feed_finish(struct feed *feed)
{
    iso_text_reserve(&feed->bytes, 1);
    for (uint32_t i = 0; i < feed->count; i++) {
        struct iso_message *message = &feed->list[i];
        const uint8_t *at = (const uint8_t *)feed->bytes.bytes + feed->places[i];
        if (message->key.data)
            message->key.data = at;
        if (message->payload.data)
            message->payload.data = at + message->key.size;
    }
}

void feed_rename_keys(struct iso_history *history, feed_name *name, void *context)
{
    for (uint32_t k = 0; k < history->keys.count; k++)
        history->keys.atom[k] = name(context, history, k);
}
