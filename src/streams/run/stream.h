/* A run on streams, live (`watch`) or captured (`replay`): its parts, put together.
 *
 *   sources, records  ->  intake  ->  pipeline  ->  output      lines of verdicts
 *                           |            |
 *                       recording        +-> rounds, order      what polygraph judges
 *                                        +-> kept, joined       what is looked up later, what
 *                                                               others check
 *                                        +-> remarks            what a person may like to know
 *
 * Each part has its own file and knows of the stream nothing; what remembers a run (durable.h) and
 * what shows it (status.h) know the stream, and it not them. Errors are the last parameter; one
 * object goes through a whole run, and once it is set nothing more is done. Threads: one at a time.
 */
#pragma once

#include "connectors/kafka/client.h"
#include "run/input/joined.h"
#include "run/input/kept.h"
#include "run/input/serial_order.h"
#include "run/shown/output.h"
#include "run/input/records.h"
#include "run/input/recording.h"
#include "run/shown/remarks.h"
#include "run/input/rounds.h"
#include "run/input/source.h"

struct run_stream {
    const struct run_stream_options *options;
    struct iso_pipeline *pipeline;
    struct iso_scans *scans;                /* with --stats; else NULL */
    struct iso_team *team;                  /* of the engine's shards */
    struct iso_kafka_properties properties; /* -X */
    struct run_sources sources;
    struct run_records records; /* --history */
    /* --record, --dead-letter: open once it is known whether the run goes on */
    struct run_recording recording;
    struct run_output output;
    struct run_remarks remarks;
    struct run_rounds rounds;
    struct run_order order;
    struct run_kept kept;
    struct run_joined joined; /* --to-history */
    bool joins;               /* there is a change stream */
    bool complete;            /* all has come that there is to come */
    uint64_t untaken;         /* verdict lines that their topic did not take in time */
    bool concluded;
};

/* Opens sources, pipeline and output; `standard` is standard output. Close in any case; the stream
 * stays where it is. `deadlines`: of a live run; `ends`: it is known where it ends. */
enum iso_status run_stream_open(struct run_stream *stream, const struct run_stream_options *options,
                                struct iso_output *standard, bool deadlines, bool ends,
                                struct iso_error *error);
enum iso_status run_stream_close(struct run_stream *stream, struct iso_error *error);

/* Concludes the run: the summary, and the exit status of its outcome. */
enum iso_status run_stream_conclude(struct run_stream *stream, double seconds,
                                    struct iso_error *error);
