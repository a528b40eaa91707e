/* The status server of `watch`: fills the table of metrics from the stream and shows it over HTTP. */
#ifndef ISO_APP_STATUS_H
#define ISO_APP_STATUS_H

#include "app/stream.h"
#include "connectors/kafka/consumer.h"
#include "web/web.h"

struct app_status {
    struct iso_web *web; /* NULL: nobody asked for it, and the rest does nothing */
    struct iso_metrics metrics;
    uint64_t started, published, progressed; /* milliseconds since 1970 */
    uint64_t messages;                       /* when it last looked */
};

/* `listen` NULL: no server. Says where it listens. */
enum iso_status app_status_open(struct app_status *status, const char *listen, const char *token_file,
                                struct iso_error *error);
void app_status_close(struct app_status *status);

/* Publishes what is now, at most four times a second. */
void app_status_update(struct app_status *status, const struct app_stream *stream, struct iso_kafka_consumer *consumer,
                       uint64_t now);

#endif
