/* A Kafka consumer that never leaves a message out: all partitions of the named topics, assigned by
 * hand.
 *
 * No consumer group is joined and nothing is committed: every start offset is made absolute first
 * (from the broker's own beginning, end or times, from positions, or from what a group committed),
 * each partition is consumed from there, and a gap detector per partition checks that offsets rise
 * without holes. Holes are normal where topics are compacted or transactional, and a client's fault
 * otherwise (librdkafka 2.0.2 may skip messages in batches around pause and resume): the consumer
 * seeks back to the first hole, and takes it for real only if the broker says so again. After
 * CONFIRMED_GAPS such holes in a row a partition is believed to be full of them, until something
 * disturbs it.
 *
 * Order. Offsets rise within a partition. Among partitions, the one whose messages are oldest (by
 * Kafka's message times) goes first, so that partitions with a large backlog are read side by side,
 * as they were written, and not one after the other. That is for speed and memory only: correctness
 * must not depend on it.
 *
 * Back-pressure. The caller reports how much waits downstream; above `high_water` nothing is handed
 * out, at `low_water` it continues. A single partition can be paused likewise. Its messages stay in
 * its queue, and librdkafka stops asking for more once that is full; polling continues meanwhile,
 * so that connections stay alive.
 *
 * Memory is always within a budget (`memory`): what waits is copied to buffers, and partitions take
 * turns (consumer_budget.c).
 *
 * What changes. Partitions and topics that appear later are found by asking the broker every
 * `refresh_seconds`; they start at their beginning, since they were empty before. A broker that
 * goes away is waited for (consumer_liveness.c); a topic that is another under the same name is
 * noticed (consumer_identity.c).
 *
 * Errors. ISO_FAILED, with topic, partition and offset, is what cannot heal: a topic deleted, an
 * offset removed by retention, a corrupt message, no permission.
 *
 * Ownership: messages belong to the consumer until the next poll. Threads: one, the owner's;
 * librdkafka's threads fetch and decompress in the background and touch nothing here but the
 * client's log line, under its lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "connectors/kafka/client.h"
#include "base/error.h"
#include "base/inputs.h"
#include "base/message.h"

enum iso_kafka_start {
    ISO_KAFKA_BEGINNING,
    ISO_KAFKA_END,
    ISO_KAFKA_TIME,      /* the first message at or after `start_time` */
    ISO_KAFKA_POSITIONS, /* `positions`; partitions that are not listed start at their beginning */
    ISO_KAFKA_STORED /* what the group `group.id` committed; partitions where it did not, at their
                        beginning */
};

struct iso_kafka_position {
    const char *topic;
    int32_t partition;
    int64_t offset; /* the next one to read */
    bool compared;  /* start one offset earlier if the broker still has it, so that the caller can
                       see that it is the  same */
};

struct iso_kafka_consumer_options {
    const struct iso_kafka_properties *properties;
    const char *const *topics;
    uint32_t topic_count;
    const char *const
        *prefixes; /* topics whose names begin so are read, too, whenever they appear */
    uint32_t prefix_count;
    enum iso_kafka_start start;
    int64_t start_time; /* milliseconds since 1970 */
    const struct iso_kafka_position *positions;
    uint32_t position_count;
    bool until_eof;           /* read to the end offsets of this moment, and nothing behind them */
    bool wait_for_topics;     /* a topic that does not exist may appear later */
    unsigned connect_seconds; /* 0: 10 */
    unsigned refresh_seconds; /* 0: 10 */
    uint64_t high_water, low_water; /* of the backlog; 0: never pause */
    uint64_t memory; /* bytes for messages that wait, of all partitions; 0: 256 MiB */
};

struct iso_kafka_partition {
    uint32_t input; /* its number in the table of inputs */
    const char *topic;
    int32_t partition;
    int64_t next; /* the next offset to hand out */
    int64_t end;  /* until_eof: where to stop; else the end when it was last reached or -1 */
    bool at_end;  /* everything that the broker had was handed out */
};

struct iso_kafka_counters {
    uint64_t messages, bytes; /* handed out; bytes of keys and payloads */
    uint64_t repeats;         /* dropped: below the offset that was due */
    uint64_t missing;         /* offsets that do not exist */
    uint64_t seeks;           /* back to a hole */
    uint64_t pauses;          /* of all partitions, for the backlog's water marks */
    uint64_t single_pauses;   /* of a partition, by iso_kafka_consumer_pause */
    uint64_t rests;           /* of a partition, whose buffer had its share of the memory */
    uint64_t most_waiting;    /* bytes in buffers, at most so far */
    uint64_t looks;  /* topic identity probes: messages that were read before asked for again,
                        answered or not */
    uint64_t errors; /* that healed or may heal */
};

struct iso_kafka_consumer;

/* Connects and starts; NULL on error. Borrows `inputs` (and numbers its partitions there); copies
 * the options. */
struct iso_kafka_consumer *iso_kafka_consumer_new(const struct iso_kafka_consumer_options *options,
                                                  struct iso_inputs *inputs,
                                                  struct iso_error *error);
void iso_kafka_consumer_free(struct iso_kafka_consumer *consumer);

/* Messages that have arrived, at most a few thousand, in the order of arrival; waits up to
 * `timeout_ms` for the first. `*count` may be 0. The messages live until the next poll. On
 * ISO_FAILED, too, `*messages` and `*count` are set: what arrived before the failure. */
enum iso_status iso_kafka_consumer_poll(struct iso_kafka_consumer *consumer, int timeout_ms,
                                        const struct iso_message **messages, uint32_t *count,
                                        struct iso_error *error);

/* until_eof: everything up to the end offsets was handed out. */
bool iso_kafka_consumer_finished(const struct iso_kafka_consumer *consumer);

/* From now on as with until_eof: the ends are those of this moment. ISO_FAILED: they cannot be
 * asked for. */
enum iso_status iso_kafka_consumer_stop_at_ends(struct iso_kafka_consumer *consumer,
                                                struct iso_error *error);

/* How much waits downstream now, in any unit, the same as the water marks'. */
void iso_kafka_consumer_backlog(struct iso_kafka_consumer *consumer, uint64_t waiting);

/* wait_for_topics: one that has not appeared yet; NULL: there is none. A topic that a prefix takes
 * up, too, is awaited no more than the prefix's others: only once it is there. */
const char *iso_kafka_consumer_awaited_topic(const struct iso_kafka_consumer *consumer);

/* Whether all is known that the partitions hold: each has answered, no broker is away or silent,
 * and what was written while one was has been handed out. Else what comes may be older than it
 * seems. */
bool iso_kafka_consumer_is_live(const struct iso_kafka_consumer *consumer);

/* Until the brokers have answered anew, it is not known what the partitions hold: this process
 * stood still. */
void iso_kafka_consumer_doubt(struct iso_kafka_consumer *consumer);

/* Hands out nothing of partition `index` until it is let go. */
void iso_kafka_consumer_pause(struct iso_kafka_consumer *consumer, uint32_t index, bool pause);

/* Messages of partition `index` that are known to wait (until_eof: up to its end). */
uint64_t iso_kafka_consumer_behind(const struct iso_kafka_consumer *consumer, uint32_t index);

/* All partitions, valid until the next poll; returns their number. */
uint32_t iso_kafka_consumer_partitions(const struct iso_kafka_consumer *consumer,
                                       const struct iso_kafka_partition **partitions);
const struct iso_kafka_counters *
iso_kafka_consumer_counters(const struct iso_kafka_consumer *consumer);

/* What is wrong with a broker right now, for a status line; false if nothing is. */
bool iso_kafka_consumer_trouble(struct iso_kafka_consumer *consumer, char *text, size_t size);
