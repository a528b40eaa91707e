/* A feed: the messages of a change stream in the order in which a consumer gets them, made by the
 * encoders feed_*.h. */
#ifndef TESTS_SUPPORT_FEED_H
#define TESTS_SUPPORT_FEED_H

#include "base/text.h"
#include "history/history.h"
#include "base/message.h"

/* What a message says, for who takes messages away: the writer sets it before it adds one. */
enum feed_part {
    FEED_OTHER,
    FEED_SNAPSHOT_ROW,
    FEED_ROW,
    FEED_BEGIN,
    FEED_END,
    FEED_RECORD,
    FEED_PROMISE
};
struct feed_tag {
    enum feed_part part;
    uint32_t transaction; /* of the history; ISO_NONE: none's */
    uint32_t key;         /* of a row, of the history */
    uint64_t promise;     /* nothing at or below it follows */
    bool ends;            /* a row of a snapshot: the last of its table */
    uint32_t number;      /* of a row, BEGIN or END: the same when it is sent again */
};

static inline struct feed_tag feed_promise(uint64_t promise)
{
    struct feed_tag tag = {.part = FEED_PROMISE, .promise = promise};
    tag.transaction = tag.key = ISO_NONE;
    return tag;
}

struct feed {
    uint32_t count, capacity;
    struct iso_message
        *list; /* `input` is the number of (topic, partition) among those of this feed */
    struct feed_tag tag, *tags; /* of what is added next, and of each message */
    struct iso_text bytes;      /* keys and payloads, back to back */
    size_t *places;             /* of each message's key, or payload if that is null */
    uint32_t input_count;
    struct feed_input {
        const char *topic; /* the caller's, for as long as the feed lives */
        int32_t partition;
        int64_t next_offset;
    } * inputs;
};

void feed_init(struct feed *feed);
void feed_release(struct feed *feed);

/* Adds a message; NULL bytes are null. */
void feed_add(struct feed *feed, const char *topic, int32_t partition, struct iso_bytes key,
              struct iso_bytes payload);

/* After the last one: lets messages point to their bytes. */
void feed_finish(struct feed *feed);

/* Names key `index` of a history that is being built anew: `index` is its number, `text` what it
 * was called. */
typedef iso_atom feed_name(void *context, struct iso_history *history, uint32_t index);
void feed_rename_keys(struct iso_history *history, feed_name *name, void *context);

#endif
