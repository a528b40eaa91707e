/* The proxy's own status over HTTP: GET /metrics (Prometheus), GET /status (JSON), GET /livez, PUT /recording/off and /on.
 *
 * One request at a time, on a thread of its own, two seconds for each: whoever asks slowly keeps others waiting and never a
 * session. Beyond the loopback interface only with a token, as `Authorization: Bearer TOKEN`. PUT, so that no page in a browser
 * can send it. There are no values in what it says: statements by their shapes, with $1 for constants.
 */
#ifndef ISO_PROXY_STATUS_H
#define ISO_PROXY_STATUS_H

#include "proxy/loop.h"

struct status_view {
    struct loop *const *loops;
    uint32_t loop_count;
    struct observe_shared *shared;
    time_t started;
};

struct status;

struct status *status_new(const char *listen, const char *token_file, const struct status_view *view,
                          struct iso_error *error);
void status_free(struct status *status); /* NULL is allowed */
unsigned status_port(const struct status *status);

/* What all loops count together. */
struct status_sums {
    uint64_t opened, closed, raw, encrypted, bad, connects_failed, from_clients, from_server;
    struct observe_counts counts;
    struct iso_recorder_statistics recorder;
};
void status_sum(const struct status_view *view, struct status_sums *sums);

/* Shapes with the most reads that were not recorded first: for people. */
void status_shapes(const struct status_view *view, struct iso_text *text, bool as_json);

#endif
