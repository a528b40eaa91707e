/* A bound for all that is fetched and not handed out yet.
 *
 * librdkafka's own bounds are for each partition, and what it holds is at least a batch of each as
 * its producer made it: with many partitions that is more than all the rest of the process. So here
 * all partitions share one queue of librdkafka's, and its bound; what comes through it is copied to
 * the partition's buffer at once. A buffer that has its share of the budget takes nothing more: its
 * partition is paused, and what was fetched of it beyond is given up. Once the buffer is nearly
 * empty, fetching goes on behind its last message. A batch that is larger than the share is thus
 * fetched more than once, a part of it each time: that is the price of the bound.
 *
 *     broker -> librdkafka's queue (a sixteenth) -> buffers (three quarters) -> the caller's batch
 *
 * The rest of the memory is for the messages' heads in that queue, which are as large as the
 * messages are, and for one answer of each broker on its way. A share is what a partition gets of
 * which the broker has more: few get much each. A partition at its end is fetched as ever; its
 * buffer is empty. An empty buffer takes a message of any size. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "connectors/kafka/consumer_private.h"

enum {
    STOCK_ROUNDS = 4,
    NEARLY_EMPTY = 4,
    BLOCKS_OF_SHARE = 8,
    BLOCK_LEAST = 4096,
    BLOCK_MOST = 65536
};

/* Shares of the whole memory that librdkafka may hold in messages, and fetch at once. Its own
 * limits apply beside them. */
enum {
    QUEUE_PART = 16,
    ANSWER_PART = 64,
    ANSWER_LEAST = 16384,
    ANSWER_MOST = 50000000,
    PARTITION_MOST = 1048576
};

void kafka_consumer_budget_properties(uint64_t bytes, char texts[BUDGET_PROPERTIES][BUDGET_TEXT],
                                      const char *pairs[2 * BUDGET_PROPERTIES])
{
    uint64_t answer = bytes / ANSWER_PART, queue = bytes / QUEUE_PART / 1024;
    answer = answer < ANSWER_LEAST ? ANSWER_LEAST : answer > ANSWER_MOST ? ANSWER_MOST : answer;
    queue = queue < 1 ? 1 : queue > 65536 ? 65536 : queue;
    const struct {
        const char *name;
        uint64_t value;
    } list[BUDGET_PROPERTIES] = {
        {"queued.max.messages.kbytes", queue},
        {"queued.min.messages", 10000000},
        {"fetch.max.bytes", answer},
        {"fetch.message.max.bytes", answer < PARTITION_MOST ? answer : PARTITION_MOST},
        {"message.max.bytes",
         answer < PARTITION_MOST ? answer : PARTITION_MOST}, /* else fetch.max.bytes follows it */
    };
    for (int i = 0; i < BUDGET_PROPERTIES; i++) {
        snprintf(texts[i], BUDGET_TEXT, "%" PRIu64, list[i].value);
        pairs[2 * i] = list[i].name;
        pairs[2 * i + 1] = texts[i];
    }
}

void kafka_consumer_budget_close(struct iso_kafka_consumer *consumer)
{
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        iso_kafka_buffer_release(&consumer->parts[i].supply.buffer);
        iso_free(consumer->parts[i].supply.failure);
    }
    if (consumer->budget.queue) /* else it did not come so far */
        rd_kafka_queue_destroy(consumer->budget.queue);
}

/* ---- shares ---- */

static bool is_read(const struct iso_kafka_consumer *consumer, uint32_t index)
{
    return consumer->until_eof &&
           consumer->parts[index].gaps.next >= consumer->partitions[index].end;
}

/* The broker has more of it than is on the buffer. */
static bool has_more(const struct iso_kafka_consumer *consumer, uint32_t index)
{
    int64_t next = consumer->parts[index].gaps.next;
    return !is_read(consumer, index) && (next < consumer->parts[index].supply.end_then ||
                                         kafka_consumer_coming(consumer, index, next) > 0);
}

static void divide_budget(struct iso_kafka_consumer *consumer)
{
    struct memory_budget *budget = &consumer->budget;
    uint32_t among = 0;
    budget->used = 0;
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        budget->used += consumer->parts[i].supply.buffer.bytes;
        among += consumer->parts[i].supply.buffer.count || has_more(consumer, i);
    }
    budget->share = budget->limit / (among ? among : 1);
    budget->block = budget->share / BLOCKS_OF_SHARE;
    budget->block = budget->block < BLOCK_LEAST ? BLOCK_LEAST : budget->block;
    budget->block = budget->block > BLOCK_MOST ? BLOCK_MOST : budget->block;
}

/* As long as there is room in all, a buffer takes twice its share, so that less of a batch is given
 * up; then only those that have less than half of the least share go on. */
static bool has_room(const struct iso_kafka_consumer *consumer, uint32_t index)
{
    const struct memory_budget *budget = &consumer->budget;
    const struct iso_kafka_buffer *buffer = &consumer->parts[index].supply.buffer;
    if (is_read(consumer, index))
        return false;
    if (!buffer->count)
        return true;
    if (budget->used >= budget->limit)
        return buffer->bytes < budget->limit / consumer->partition_count / 2;
    return buffer->bytes < 2 * budget->share;
}

/* ---- from librdkafka to the buffers ---- */

static bool find_index(const struct iso_kafka_consumer *consumer, const rd_kafka_message_t *raw,
                       uint32_t *index)
{
    for (uint32_t i = 0; raw->rkt && i < consumer->topic_count; i++) {
        const struct topic *topic = &consumer->topics[i];
        if (topic->handle != raw->rkt && strcmp(rd_kafka_topic_name(raw->rkt), topic->name) != 0)
            continue;
        if (raw->partition < 0 || raw->partition >= topic->partition_count)
            return false;
        *index = topic->index_of[raw->partition];
        return true;
    }
    return false;
}

/* Everything in front of it was handed out. */
static void reach_end(struct iso_kafka_consumer *consumer, uint32_t index)
{
    struct supply *supply = &consumer->parts[index].supply;
    if (supply->buffer.count || supply->empty_at < 0)
        return;
    consumer->partitions[index].next = supply->empty_at;
    consumer->partitions[index].at_end = supply->answered = true;
    supply->empty_at = -1;
}

static void take_error_behind(struct iso_kafka_consumer *consumer, uint32_t index,
                              const rd_kafka_message_t *raw)
{
    struct supply *supply = &consumer->parts[index].supply;
    const char *text = rd_kafka_message_errstr(raw);
    if (raw->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        if (!supply->full && raw->offset >= consumer->parts[index].gaps.next &&
            kafka_consumer_arrives(consumer, index, raw->offset))
            supply->empty_at = consumer->parts[index].gaps.next = raw->offset;
        return;
    }
    /* Behind messages that are fetched again, and so is this; unless nothing is fetched any more,
     * whatever is sought.
     */
    if (supply->full && raw->offset > consumer->parts[index].gaps.next &&
        raw->err != RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
        return;
    consumer->counters.errors++;
    kafka_consumer_doubt(consumer);
    if (kafka_consumer_heals(raw->err) || supply->failure)
        return;
    supply->failure = iso_copy_text(text, strlen(text));
    supply->full = true;
}

static void buffer_message(struct iso_kafka_consumer *consumer, uint32_t index,
                           const rd_kafka_message_t *raw)
{
    struct supply *supply = &consumer->parts[index].supply;
    struct gaps *gaps = &consumer->parts[index].gaps;
    struct iso_message message;
    if (supply->full || !kafka_consumer_arrives(consumer, index, raw->offset))
        return;
    supply->full = !has_room(consumer, index);
    if (consumer->until_eof && raw->offset >= consumer->partitions[index].end) {
        supply->empty_at = gaps->next = consumer->partitions[index].end;
        supply->full = true;
    }
    if (supply->full)
        return;
    consumer->batch.header_count = 0;
    kafka_consumer_fill(consumer, index, raw, &message);
    message.headers = consumer->batch.headers;
    consumer->budget.used -= supply->buffer.bytes;
    iso_kafka_buffer_put(&supply->buffer, &message, consumer->budget.block);
    consumer->budget.used += supply->buffer.bytes;
    gaps->next = raw->offset + 1;
    supply->empty_at = -1;
}

static bool drain_queue(struct iso_kafka_consumer *consumer)
{
    ssize_t got = BATCH_MESSAGES;
    for (int round = 0; round < STOCK_ROUNDS && got == BATCH_MESSAGES; round++) {
        got = rd_kafka_consume_batch_queue(consumer->budget.queue, 0, consumer->batch.raw,
                                           BATCH_MESSAGES);
        for (ssize_t i = 0; i < got; i++) {
            uint32_t index;
            if (find_index(consumer, consumer->batch.raw[i], &index)) {
                if (consumer->batch.raw[i]->err)
                    take_error_behind(consumer, index, consumer->batch.raw[i]);
                else
                    buffer_message(consumer, index, consumer->batch.raw[i]);
            }
            rd_kafka_message_destroy(consumer->batch.raw[i]);
        }
        consumer->batch.number++; /* what was asked for again comes in another one */
    }
    return got == BATCH_MESSAGES;
}

/* ---- who is fetched ---- */

static void add_partition(rd_kafka_topic_partition_list_t **list,
                          const struct iso_kafka_partition *partition)
{
    if (!*list)
        *list = rd_kafka_topic_partition_list_new(4);
    rd_kafka_topic_partition_list_add(*list, partition->topic, partition->partition);
}

/* Pauses what is full and lets what is nearly empty go on, behind what it has. */
static void take_turns(struct iso_kafka_consumer *consumer)
{
    rd_kafka_topic_partition_list_t *resting = NULL, *going_on = NULL;
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        const struct iso_kafka_partition *partition = &consumer->partitions[i];
        struct supply *supply = &consumer->parts[i].supply;
        supply->full = supply->full || !has_room(consumer, i);
        if (supply->full && !supply->rests) {
            add_partition(&resting, partition);
            supply->rests = true;
            consumer->counters.rests++;
        } else if (supply->full && !is_read(consumer, i) && !supply->failure &&
                   has_room(consumer, i) &&
                   supply->buffer.bytes <= consumer->budget.share / NEARLY_EMPTY) {
            rd_kafka_seek(consumer->topics[consumer->parts[i].topic].handle, partition->partition,
                          consumer->parts[i].gaps.next, 0);
            add_partition(&going_on, partition);
            supply->full = supply->rests = false;
        }
    }
    if (resting) {
        rd_kafka_pause_partitions(consumer->client.handle, resting);
        rd_kafka_topic_partition_list_destroy(resting);
    }
    if (going_on) {
        rd_kafka_resume_partitions(consumer->client.handle, going_on);
        rd_kafka_topic_partition_list_destroy(going_on);
    }
}

/* The partition that is needed first, of those that are fetched. */
static void wake_partition(struct iso_kafka_consumer *consumer)
{
    int64_t best = -1;
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        const struct supply *supply = &consumer->parts[i].supply;
        if (!supply->full && supply->buffer.count < FEW_MESSAGES && has_more(consumer, i) &&
            (best < 0 || supply->time < consumer->parts[best].supply.time))
            best = i;
    }
    if (best >= 0)
        kafka_waker_ask(&consumer->waker, consumer->partitions[best].topic,
                        consumer->partitions[best].partition);
}

bool kafka_consumer_fill_buffers(struct iso_kafka_consumer *consumer)
{
    divide_budget(consumer);
    bool more = drain_queue(consumer);
    if (consumer->budget.used > consumer->counters.most_waiting)
        consumer->counters.most_waiting = consumer->budget.used;
    take_turns(consumer);
    wake_partition(consumer);
    for (uint32_t i = 0; i < consumer->partition_count; i++)
        reach_end(consumer, i);
    return more;
}

/* ---- from the buffers to the caller ---- */

uint32_t kafka_consumer_take_buffered(struct iso_kafka_consumer *consumer, uint32_t index,
                                      uint32_t most)
{
    struct supply *supply = &consumer->parts[index].supply;
    uint32_t count = 0;
    for (; count < most && supply->buffer.count; count++) {
        assert(consumer->batch.filled < BATCH_MESSAGES);
        struct iso_message *message = &consumer->batch.messages[consumer->batch.filled++];
        iso_kafka_buffer_take(&supply->buffer, message);
        kafka_consumer_hand_out(consumer, index, message);
        supply->time = message->timestamp;
        supply->answered = true;
    }
    reach_end(consumer, index);
    return count;
}

enum iso_status kafka_consumer_failures(struct iso_kafka_consumer *consumer,
                                        struct iso_error *error)
{
    for (uint32_t i = 0; i < consumer->partition_count && error->status == ISO_OK; i++) {
        const struct iso_kafka_partition *partition = &consumer->partitions[i];
        const struct supply *supply = &consumer->parts[i].supply;
        if (supply->failure && !supply->buffer.count)
            iso_error_set(error, ISO_FAILED,
                          "topic %s partition %" PRId32 " offset %" PRId64 ": %s", partition->topic,
                          partition->partition, partition->next, supply->failure);
    }
    return error->status;
}
