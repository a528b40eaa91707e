/* What a connector sent, before a consumer gets it: messages in the order of sending, which
 * restarts send again, and which come out with their topics and partitions interleaved.
 */
#ifndef TESTS_SUPPORT_FEED_STREAM_H
#define TESTS_SUPPORT_FEED_STREAM_H

#include "tests/support/feed.h"
#include "tests/support/random.h"

struct feed_sent {
    const char *topic;
    int32_t partition;
    bool has_key, is_tombstone;
    struct feed_tag tag;
    size_t key, key_size, payload, payload_size; /* in `bytes` */
};

struct feed_stream {
    struct iso_text bytes; /* keys and payloads are appended here before they are added */
    struct feed_tag tag;   /* of what is added next */
    uint32_t count, capacity;
    struct feed_sent *list;
};

void feed_stream_release(struct feed_stream *stream);

/* A message whose key (none if it is empty) is in bytes [key, payload), and whose payload in
 * [payload, the end). */
void feed_stream_add(struct feed_stream *stream, const char *topic, int32_t partition, size_t key,
                     size_t payload);

/* A tombstone for the message added last. */
void feed_stream_add_tombstone(struct feed_stream *stream);

/* Sends everything from message `first` on again. */
void feed_stream_repeat(struct feed_stream *stream, uint32_t first);

/* Topics and partitions keep their order, and come in any order beside each other. */
void feed_stream_deliver(const struct feed_stream *stream, struct random *random,
                         struct feed *feed);

/* The partition of a key. */
int32_t feed_stream_partition(const char *key, size_t length, uint32_t partitions);

/* The committed transactions that write (or all, with `readers`) in the order of cts; `commits`
 * replaces cts, 0: not sent. The caller frees the list. */
struct feed_commit {
    uint64_t cts;
    uint32_t transaction;
};
struct feed_commit *feed_commits(const struct iso_history *history, const uint64_t *commits,
                                 bool readers, uint32_t *count);

#endif
