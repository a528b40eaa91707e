/* Where the lines of a run's verdicts go: standard output, as they are or in words, a file or a
 * topic (--out); and beside that to the status server.
 *
 * With --state a line may have been emitted by the run before a restart: whoever remembers that
 * says how much of it. Threads: the caller's.
 */
#pragma once

#include "bytes/output.h"
#include "connectors/kafka/producer.h"
#include "run/options.h"
#include "web/web.h"

struct run_output {
    struct iso_output *standard; /* borrowed */
    struct iso_output *lines;    /* where lines go if not to a topic: standard output, or `file` */
    struct iso_output file;      /* --out file:PATH */
    struct iso_kafka_producer *producer; /* --out kafka:TOPIC; NULL: no topic */
    bool gave_up;        /* the topic takes nothing: what it has not is not waited for */
    struct iso_web *web; /* borrowed; NULL: nobody looks */
    bool in_words;       /* final verdicts on standard output, each in words ... */
    bool only_in_words;  /* ... and lines nowhere */
    size_t (*emitted)(void *context, const char *line,
                      size_t length); /* bytes of the line that its reader has */
    void *context;                    /* of that; NULL function: none ever */
};

/* Opens what --out names. Close in any case. */
enum iso_status run_output_open(struct run_output *output, const struct run_stream_options *options,
                                struct iso_output *standard,
                                const struct iso_kafka_properties *properties,
                                struct iso_error *error);
enum iso_status run_output_close(struct run_output *output, struct iso_error *error);

/* A line of the verdict; `output` is a struct run_output (iso_pipeline_sink). */
enum iso_status run_output_emit(void *output, const char *line, size_t length,
                                struct iso_error *error);

/* The same, to the status server alone: with --json standard output is the object's. */
enum iso_status run_output_serve(void *output, const char *line, size_t length,
                                 struct iso_error *error);

/* Shows whoever reads the verdicts what was emitted until now. */
void run_output_flush(struct run_output *output);
