/* Which partition's messages come next, and waiting until there are any.
 *
 * Every partition has a buffer of its own (consumer_budget.c), so that one can be left alone
 * without losing what was fetched for it: once it has its share of the budget, the broker is asked
 * for no more of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "connectors/kafka/consumer_private.h"

/* A fetch that was asked for while a queue was fuller may have to be asked for again. */
enum { NO_PARTITION = -1, ASK_AGAIN_MS = 10 };

bool kafka_consumer_open_wakeup_fd(struct iso_kafka_consumer *consumer)
{
    consumer->wakeup_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return consumer->wakeup_fd >= 0;
}

rd_kafka_queue_t *kafka_consumer_queue(struct iso_kafka_consumer *consumer)
{
    static const uint64_t ring = 1;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer->client.handle);
    rd_kafka_queue_io_event_enable(queue, consumer->wakeup_fd, &ring, sizeof ring);
    return queue;
}

/* consumer_fetch.c. Messages that the broker is known to have from offset `next` on (until_eof: up
 * to the end). */
static uint64_t kafka_consumer_waiting(const struct iso_kafka_consumer *consumer, uint32_t index,
                                       int64_t next)
{
    const struct iso_kafka_partition *partition = &consumer->partitions[index];
    int64_t low, high = partition->end;
    if (!consumer->until_eof &&
        rd_kafka_get_watermark_offsets(consumer->client.handle, partition->topic,
                                       partition->partition, &low, &high))
        return 0;
    return high > next ? (uint64_t)(high - next) : 0;
}

uint64_t kafka_consumer_coming(const struct iso_kafka_consumer *consumer, uint32_t index,
                               int64_t next)
{
    const struct iso_kafka_partition *partition = &consumer->partitions[index];
    return partition->at_end && next <= partition->next
               ? 0
               : kafka_consumer_waiting(consumer, index, next);
}

/* The partition that is furthest back in time; of equal ones the next in turn. */
static int64_t choose_partition(const struct iso_kafka_consumer *consumer)
{
    int64_t best = NO_PARTITION;
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        uint32_t index = (consumer->batch.turn + i) % consumer->partition_count;
        const struct supply *supply = &consumer->parts[index].supply;
        if (!supply->done &&
            (best == NO_PARTITION || supply->time < consumer->parts[best].supply.time))
            best = index;
    }
    return best;
}

/* A run of messages of one partition, appended to the batch. False: the batch ends here, since this
 * partition must not be left behind: the broker has more than a run of it. */
static bool take_run(struct iso_kafka_consumer *consumer, uint32_t index)
{
    uint32_t room = BATCH_MESSAGES - consumer->batch.filled;
    room = room < RUN_MESSAGES ? room : RUN_MESSAGES;
    bool done = kafka_consumer_take_buffered(consumer, index, room) < room;
    consumer->parts[index].supply.done = done;
    return !done ||
           kafka_consumer_coming(consumer, index, consumer->partitions[index].next) <= RUN_MESSAGES;
}

/* True: it ended because of a partition whose next messages are on their way. */
static bool gather_batch(struct iso_kafka_consumer *consumer)
{
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        const struct iso_kafka_partition *partition = &consumer->partitions[i];
        struct supply *supply = &consumer->parts[i].supply;
        supply->done = consumer->paused || supply->paused ||
                       (consumer->until_eof && partition->next >= partition->end);
    }
    while (consumer->batch.filled < BATCH_MESSAGES) {
        int64_t index = choose_partition(consumer);
        if (index == NO_PARTITION)
            return false;
        consumer->batch.turn = (uint32_t)index + 1;
        if (!take_run(consumer, (uint32_t)index))
            return true;
    }
    return false;
}

/* Until a queue that was empty gets something. */
static void wait_for_wakeup_fd(struct iso_kafka_consumer *consumer, int timeout_ms)
{
    struct pollfd wakeup_fd = {.fd = consumer->wakeup_fd, .events = POLLIN};
    uint64_t rung;
    while (poll(&wakeup_fd, 1, timeout_ms) > 0 &&
           read(consumer->wakeup_fd, &rung, sizeof rung) < 0 && errno == EINTR)
        ;
}

/* The clock may go back meanwhile: that, too, is an end, or the wait would be as long as the
 * jump. */
void kafka_consumer_fetch(struct iso_kafka_consumer *consumer, int timeout_ms)
{
    int64_t deadline = iso_clock_ms() + timeout_ms;
    for (;;) {
        bool more = kafka_consumer_fill_buffers(consumer), awaited = gather_batch(consumer);
        int64_t left = deadline - iso_clock_ms();
        if (consumer->batch.filled || left <= 0 || left > timeout_ms)
            return;
        if (more)
            continue;
        wait_for_wakeup_fd(consumer, (int)(awaited && left > ASK_AGAIN_MS ? ASK_AGAIN_MS : left));
    }
}

void iso_kafka_consumer_backlog(struct iso_kafka_consumer *consumer, uint64_t waiting)
{
    if (!consumer->paused && consumer->high_water && waiting >= consumer->high_water) {
        consumer->paused = true;
        consumer->counters.pauses++;
    } else if (consumer->paused && waiting <= consumer->low_water) {
        consumer->paused = false;
    }
}

void iso_kafka_consumer_pause(struct iso_kafka_consumer *consumer, uint32_t index, bool pause)
{
    struct supply *supply = &consumer->parts[index].supply;
    consumer->counters.single_pauses += pause && !supply->paused;
    supply->paused = pause;
}

uint64_t iso_kafka_consumer_behind(const struct iso_kafka_consumer *consumer, uint32_t index)
{
    return kafka_consumer_waiting(consumer, index, consumer->partitions[index].next);
}
