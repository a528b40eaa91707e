/* How `watch` is seen from outside: fills the table of metrics from the stream and shows it over HTTP, and tells the
 * service manager that it runs. */
#ifndef ISO_APP_STATUS_H
#define ISO_APP_STATUS_H

#include "app/notify.h"
#include "app/stream.h"
#include "connectors/kafka/consumer.h"
#include "web/web.h"

struct app_status {
    struct iso_web *web; /* NULL: nobody asked for it */
    struct app_notify notify;
    struct iso_metrics metrics;
    uint64_t published;           /* by the clock that only rises, in milliseconds */
    uint64_t started, progressed; /* milliseconds since 1970 */
    uint64_t messages;            /* when it last looked, as the next */
    uint64_t watermark, moved;    /* `moved`: when it became that, milliseconds since 1970; 0: there is none */
};

/* All sources are open. `listen` NULL: no server. Says where it listens. */
enum iso_status app_status_open(struct app_status *status, const char *listen, const char *token_file,
                                struct iso_error *error);
void app_status_close(struct app_status *status);

/* Publishes what is now, at most four times a second; `now` is iso_kafka_now's. */
void app_status_update(struct app_status *status, const struct app_stream *stream, struct iso_kafka_consumer *consumer,
                       uint64_t now);

#endif
