/* How `watch` is seen from outside: fills the table of metrics from the stream and shows it over
 * HTTP, and reports to the service manager that it runs. */
#pragma once

#include "run/shown/notes.h"
#include "run/shown/notify.h"
#include "run/durable/checkpoint.h"
#include "run/shown/waiting.h"
#include "connectors/kafka/consumer.h"
#include "web/web.h"

struct run_status {
    /* The caller's parts that the page reads; set before it is opened. */
    const struct run_stream *stream;
    const struct run_durable *durable; /* NULL: nothing is remembered */
    struct iso_kafka_consumer *consumer;
    uint64_t expect_messages; /* milliseconds; 0: change streams may be silent */

    struct iso_web *web; /* NULL: nobody asked for it */
    struct run_notify notify;
    struct iso_metrics metrics;
    struct iso_pipeline_stats stats; /* when it last looked */
    struct run_status_times {
        uint64_t published; /* by the clock that only rises, in milliseconds */
        uint64_t started, progressed,
            moved; /* milliseconds since 1970; moved: the watermark, 0: there is none */
    } times;
    struct run_status_books {
        struct iso_accounting content; /* as they stood when they were last opened ... */
        uint64_t opened, took;         /* ... which was then, and took so long, in milliseconds */
    } books;
    struct run_status_locations {
        struct run_status_location { /* by partition of the consumer */
            int64_t next;
            uint64_t time; /* when it came there, milliseconds since 1970 */
        } * list;
        uint32_t count;
    } locations;
    struct run_waiting waiting;
    struct run_notes notes;
    struct iso_text words; /* what waits */
    struct iso_text waits; /* the same class by class, a JSON list */
};

/* All sources are open. `server->listen` NULL: no server; its lines are explained here. Says where
 * it listens. */
enum iso_status run_status_open(struct run_status *status, struct iso_http_options server,
                                struct iso_error *error);
void run_status_close(struct run_status *status);

/* Publishes what is now, at most four times a second; `now` is iso_clock_ms's. `silence`: for so
 * many milliseconds a broker has not answered; 0: all do. */
void run_status_publish(struct run_status *status, uint64_t silence, uint64_t now);
