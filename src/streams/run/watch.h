/* A live run: topics, from where they are to be read on, until they end or it is stopped.
 *
 * One step polls the consumer, feeds what arrived at the pipeline's time (clock.h), and between
 * batches reports ends, makes what is due of checkpoints, and shows how far it is. What a restart
 * (--state) has to do again comes before all that (catch_up.h). Threads: one; signals set a flag.
 */
#pragma once

#include "run/durable/durable.h"

struct run_watch_options {
    struct run_stream_options stream;
    struct run_durable_options durable;
    const char *from, *listen, *listen_token;
    struct cli_texts listen_names;
    uint64_t messages;         /* 0: no end */
    uint64_t shutdown_timeout; /* milliseconds */
    uint64_t expect_messages;  /* milliseconds; 0: any silence is well */
    bool until_eof, wait_for_topics, drain;
};

/* Runs to its end, and says what was found: the exit status, or an error. */
enum iso_status run_watch_run(const struct run_watch_options *options, struct iso_output *standard,
                              struct iso_error *error);
