/* What consuming and starting share. */
#pragma once

#include <stdatomic.h>

#include "connectors/kafka/consumer.h"
#include "connectors/kafka/buffer.h"
#include "connectors/kafka/waker.h"
#include "connectors/kafka/probe.h"

enum {
    BATCH_MESSAGES = 4096,
    RUN_MESSAGES = 64,
    FEW_MESSAGES = 2048,
    CONFIRMED_GAPS = 8,
    CONNECT_SECONDS = 10,
    REFRESH_SECONDS = 10,
    MISSING_REFRESH_MS = 1000,
    DEFAULT_MEMORY = 256 << 20
};

/* The gap detector's state of a partition, beside its public part. */
struct gaps {
    int64_t next;       /* the offset that librdkafka has to give next */
    int64_t sought;     /* `next` when it sought back to a hole; -1: no hole is being asked about */
    uint32_t confirmed; /* holes in a row that were real */
    /* the rest of this batch's messages of the partition came before the seek */
    uint64_t skipped_batch;
};

/* A partition's messages that are fetched and not handed out. */
struct supply {
    int64_t time;  /* of the message handed out last, as Kafka has it; 0: none yet */
    int64_t due;   /* what the partition had when its broker was answered again: everything below is
                      still to be read */
    bool answered; /* it answered: with a message, or that it has none */
    bool paused;   /* by the caller's choice */
    bool done;     /* nothing more of it in this batch */

    /* consumer_budget.c */
    struct iso_kafka_buffer buffer;
    int64_t end_then; /* when it was started */
    int64_t empty_at; /* the offset at which the broker had no more, behind what is on the buffer;
                         -1: it has more */
    char *failure;    /* what is wrong with it behind that; NULL: nothing */
    bool full;        /* nothing more goes onto the buffer */
    bool rests;       /* librdkafka has paused it */
};

/* Messages of a partition that were read, to see later that it still has them. */
struct remembered {
    int64_t offset; /* -1: none */
    uint64_t digest;
};
struct memory {
    struct remembered anchor, candidate;
    struct remembered promised; /* the candidate when the anchor was asked about */
    uint32_t place;             /* the anchor's in the question */
    bool asked;
};
struct identity {
    int64_t every_ms; /* the anchors are asked about */
    int64_t asked;    /* when they last were */
    bool sign;        /* that a topic may be another */
};

/* A bound for what is fetched, of all partitions. */
struct memory_budget {
    rd_kafka_queue_t *queue; /* librdkafka's, of all partitions */
    uint64_t limit;          /* bytes in buffers, of all */
    uint64_t used;           /* of it */
    uint64_t share;          /* of the limit, of a partition of which the broker has more */
    size_t block;            /* of a buffer's */
};

/* Whether brokers answer. */
enum { LIVENESS_BROKERS = 256 };
struct liveness {
    _Atomic int64_t answered[LIVENESS_BROKERS]; /* by its number: when a broker last answered a
                                                   fetch; 0: it has not */
    int silent_ms;                              /* longer than that no broker takes for an answer */
    bool doubted;                               /* the ends are to be asked for */
    bool lost;     /* for certain: messages may have come that nobody answered of */
    int ask_ms;    /* how long to wait for that answer */
    int64_t asked; /* when it last did not come */
};

struct topic {
    char *name;
    rd_kafka_topic_t *handle;
    int32_t partition_count; /* started so far */
    int32_t told;            /* and how many there are, by the last list of all topics */
    uint32_t capacity;
    uint32_t *index_of; /* a partition's index among all */
};

/* A partition, beside its public part. */
struct partition_parts {
    struct gaps gaps;
    struct supply supply;
    struct memory memory;
    uint32_t topic; /* its index */
};

/* The messages that are handed out next. */
struct batch {
    uint64_t number;
    uint32_t turn;            /* the partition to look at first */
    rd_kafka_message_t **raw; /* room for what librdkafka gives at once */
    uint32_t filled;          /* how many messages it has */
    struct iso_message *messages;
    struct iso_header *headers;
    uint32_t header_count, header_capacity;
};

struct iso_kafka_consumer {
    struct iso_kafka_client client;
    char **prefixes;
    uint32_t prefix_count;
    struct iso_inputs *inputs; /* borrowed */
    struct iso_kafka_counters counters;

    uint32_t topic_count;
    struct topic *topics;
    uint32_t partition_count, partition_capacity;
    struct iso_kafka_partition *partitions;
    struct partition_parts *parts; /* as `partitions` */

    enum iso_kafka_start start;
    int64_t start_time;
    struct iso_kafka_position *positions; /* own copies */
    uint32_t position_count;
    bool until_eof, wait_for_topics, paused;
    unsigned connect_seconds;
    int64_t refresh_ms, refreshed;
    uint64_t high_water, low_water;

    struct liveness liveness;
    struct memory_budget budget;
    struct identity identity;
    struct kafka_probe probe;
    struct kafka_waker waker;
    int wakeup_fd; /* readable once a queue that was empty has got something; -1: not open */
    struct batch batch;
};

/* consumer.c: finds the topics' partitions and starts those that are new. At the start (`first`)
 * waits for the broker and fails where it stays silent or a topic does not exist; later does what
 * it can at once. */
void kafka_consumer_name_topic(struct iso_kafka_consumer *consumer, struct topic *topic,
                               const char *name, struct iso_error *error);
/* consumer_start.c */
enum iso_status kafka_consumer_find(struct iso_kafka_consumer *consumer, bool first,
                                    struct iso_error *error);

/* consumer_liveness.c. For the client's configuration; once it is open; when a broker went away; at
 * each poll. */
void kafka_consumer_observe_answers(rd_kafka_conf_t *conf);
void kafka_consumer_set_liveness(struct iso_kafka_consumer *consumer,
                                 const struct iso_kafka_properties *properties);
void kafka_consumer_doubt_liveness(struct iso_kafka_consumer *consumer);
void kafka_consumer_check_liveness(struct iso_kafka_consumer *consumer);

/* consumer_validate.c: asserted where ISO_VALIDATE is defined, after each poll. */
#ifdef ISO_VALIDATE
void kafka_consumer_validate(const struct iso_kafka_consumer *consumer);
#else
static inline void kafka_consumer_validate(const struct iso_kafka_consumer *consumer)
{
    (void)consumer;
}
#endif

/* consumer.c. Whether the partition has now come to `offset`, which was not there before. */
bool kafka_consumer_arrives(struct iso_kafka_consumer *consumer, uint32_t index, int64_t offset);
/* A client, a connection or a leader changed: holes are to be doubted again. */
void kafka_consumer_doubt(struct iso_kafka_consumer *consumer);
/* An error that may go away by itself. */
bool kafka_consumer_heals(rd_kafka_resp_err_t failure);
/* As a message of this consumer's. */
void kafka_consumer_fill(struct iso_kafka_consumer *consumer, uint32_t index,
                         const rd_kafka_message_t *raw, struct iso_message *message);
/* The message goes to the caller. */
void kafka_consumer_hand_out(struct iso_kafka_consumer *consumer, uint32_t index,
                             const struct iso_message *message);

/* consumer_fetch.c. Messages from offset `next` on that the broker is known to have (until_eof: up
 * to the end) and will hand out: behind the end that it reported may be transactions that are still
 * open. */
uint64_t kafka_consumer_coming(const struct iso_kafka_consumer *consumer, uint32_t index,
                               int64_t next);
/* Opens the descriptor that becomes readable when the empty queue has got a message; and the
 * queue. */
bool kafka_consumer_open_wakeup_fd(struct iso_kafka_consumer *consumer);
rd_kafka_queue_t *kafka_consumer_queue(struct iso_kafka_consumer *consumer);
/* The next batch; waits up to `timeout_ms` for the first message. */
void kafka_consumer_fetch(struct iso_kafka_consumer *consumer, int timeout_ms);

/* consumer_identity.c. Once; of a message that is handed out; at each poll. */
void kafka_consumer_set_identity(struct iso_kafka_consumer *consumer,
                                 const struct iso_kafka_properties *properties);
void kafka_consumer_remember(struct iso_kafka_consumer *consumer, uint32_t index,
                             const struct iso_message *message);
enum iso_status kafka_consumer_check_identity(struct iso_kafka_consumer *consumer,
                                              struct iso_error *error);

/* consumer_budget.c. `bytes`: of messages that wait. The properties for it follow the others in the
 * list. */
enum { BUDGET_PROPERTIES = 5, BUDGET_TEXT = 24 };
void kafka_consumer_budget_properties(uint64_t bytes, char texts[BUDGET_PROPERTIES][BUDGET_TEXT],
                                      const char *pairs[2 * BUDGET_PROPERTIES]);
void kafka_consumer_budget_close(struct iso_kafka_consumer *consumer); /* before the handle is */
/* Moves librdkafka's messages into buffers, as far as there is room. True: it may have more. */
bool kafka_consumer_fill_buffers(struct iso_kafka_consumer *consumer);
/* A run of messages from a buffer to the batch. */
uint32_t kafka_consumer_take_buffered(struct iso_kafka_consumer *consumer, uint32_t index,
                                      uint32_t most);
/* Reports a partition's failure, once all messages before it were handed out. */
enum iso_status kafka_consumer_failures(struct iso_kafka_consumer *consumer,
                                        struct iso_error *error);
