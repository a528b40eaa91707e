/* What a run takes in, on its way to the pipeline: batches of messages, ends of partitions, message
 * times, each into the recording first, if there is one, so that a replay of that goes the same
 * steps.
 *
 * Threads: the caller's.
 */
#pragma once

#include "run/stream.h"

enum iso_status run_intake_feed(struct run_stream *stream, const struct iso_message *messages,
                                uint32_t count, uint64_t time, struct iso_error *error);

/* A partition that is waited for; the pipeline knows of it. */
enum iso_status run_intake_declare(struct run_stream *stream, const char *topic, int32_t partition,
                                   struct iso_error *error);

/* Between batches: an input's end was reached; a message time was. */
enum iso_status run_intake_end(struct run_stream *stream, uint32_t input, uint64_t time,
                               struct iso_error *error);
enum iso_status run_intake_reached(struct run_stream *stream, uint64_t reached, uint64_t time,
                                   struct iso_error *error);
