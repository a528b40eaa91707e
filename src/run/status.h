/* How `watch` is seen from outside: fills the table of metrics from the stream and shows it over HTTP, and reports to
 * the service manager that it runs. */
#ifndef ISO_RUN_STATUS_H
#define ISO_RUN_STATUS_H

#include "run/notes.h"
#include "run/notify.h"
#include "run/checkpoint.h"
#include "run/waiting.h"
#include "connectors/kafka/consumer.h"
#include "web/web.h"

struct app_status {
    struct iso_web *web; /* NULL: nobody asked for it */
    struct app_notify notify;
    struct iso_metrics metrics;
    uint64_t published;           /* by the clock that only rises, in milliseconds */
    uint64_t started, progressed; /* milliseconds since 1970 */
    uint64_t messages;            /* when it last looked, as the next */
    struct iso_books books;       /* as they stood when they were last opened ... */
    uint64_t opened, opening;     /* ... which was then, and took so long, in milliseconds */
    uint64_t watermark, moved;    /* `moved`: when it became that, milliseconds since 1970; 0: there is none */
    uint64_t expect_messages;     /* milliseconds; 0: change streams may be silent */
    struct app_waiting waiting;
    struct app_notes notes;
    struct app_status_place { /* by partition of the consumer */
        int64_t next;
        uint64_t time; /* when it came there, milliseconds since 1970 */
    } * places;
    uint32_t place_count;
    struct iso_text words; /* what waits */
};

/* All sources are open. `server->listen` NULL: no server; its lines are explained here. Says where it listens. */
enum iso_status app_status_open(struct app_status *status, const struct app_stream *stream,
                                struct iso_web_options server, uint64_t expect_messages, struct iso_error *error);
void app_status_close(struct app_status *status);

/* Publishes what is now, at most four times a second; `now` is iso_kafka_now's. `silence`: for so many
 * milliseconds a broker has not answered; 0: all do. `durable` NULL: nothing is remembered. */
void app_status_publish(struct app_status *status, const struct app_stream *stream, const struct app_durable *durable,
                        struct iso_kafka_consumer *consumer, uint64_t silence, uint64_t now);

#endif
