/* What the proxy says of itself over HTTP (web/http.h): GET /metrics (Prometheus), GET /status
 * (JSON), GET /livez, PUT /recording/off and /on. There are no values in it: statements by their
 * shapes, with $1 for constants.
 *
 * Threads: any; what it reads is guarded by each loop's world.
 */
#pragma once

#include "proxy/loop.h"
#include "web/http.h"

struct status_view {
    struct loop *const *loops;
    uint32_t loop_count;
    struct observe_shared *shared;
    uint32_t sessions_most;
};

/* An iso_http_answerer; its context is the view. A browser's page is no client: a request that
 * changes something carries the token, or, where there is none, is sent by no page. */
void status_answer(void *context, const struct iso_web_rules *rules,
                   const struct iso_web_request *request, struct iso_web_answer *answer);

/* Sums over all loops. */
struct status_sums {
    struct loop_counts loops;
    uint64_t plan_bytes;
    struct observe_counts counts;
    struct iso_recorder_statistics recorder;
};
void status_sum(const struct status_view *view, struct status_sums *sums);

/* Shapes with the most reads that were not recorded first: for people. */
void status_shapes(const struct status_view *view, struct iso_text *text, bool as_json);
