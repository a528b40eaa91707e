/* A generated history as the messages that clients would publish, in one of the encodings of
 * history topics.
 */
#pragma once

#include "benchmark/kind.h"
#include "base/text.h"
#include "base/message.h"

enum bench_encoding { BENCH_JSON, BENCH_AVRO, BENCH_PROTOBUF };

struct bench_messages {
    uint32_t count, capacity;
    struct iso_message *list; /* of one partition, an offset after the other */
    uint64_t *cts;            /* of each message's transaction, never falling */
    uint32_t *session; /* of each message's transaction: records of one session belong into one
                          partition */
    struct iso_text payloads; /* where they are */
    uint64_t bytes;           /* of all payloads */
    uint64_t operations;
};

enum iso_status bench_messages_init(struct bench_messages *messages, const struct bench *bench,
                                    enum bench_encoding encoding, struct iso_error *error);
void bench_messages_release(struct bench_messages *messages);
