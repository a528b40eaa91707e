#define _GNU_SOURCE
#include "web/web.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/redact.h"

struct iso_web {
    struct iso_http *http;
    pthread_mutex_t lock;
    struct iso_web_state state;
};

static void answer_request(void *context, const struct iso_web_rules *rules,
                           const struct iso_web_request *request, struct iso_web_answer *answer)
{
    struct iso_web *web = context;
    pthread_mutex_lock(&web->lock);
    iso_web_answer(&web->state, rules, (uint64_t)iso_clock_since_1970(), request, answer);
    pthread_mutex_unlock(&web->lock);
}

struct iso_web *iso_web_new(const struct iso_http_options *options, iso_web_explainer *explain,
                            struct iso_error *error)
{
    struct iso_web *web = iso_allocate_zeroed(1, sizeof *web);
    struct iso_http_options http = *options;
    http.answer = answer_request;
    http.context = web;
    web->state.explain = explain;
    pthread_mutex_init(&web->lock, NULL);
    if ((web->http = iso_http_new(&http, error)))
        return web;
    iso_web_free(web);
    return NULL;
}

void iso_web_free(struct iso_web *web)
{
    if (!web)
        return;
    iso_http_free(web->http);
    pthread_mutex_destroy(&web->lock);
    iso_web_state_release(&web->state);
    iso_free(web);
}

uint16_t iso_web_port(const struct iso_web *web)
{
    return iso_http_port(web->http);
}

/* ---- publishing ---- */

/* Publishes words of a broker's client, without secrets that they may quote from its settings. */
static void publish_words(char *into, size_t size, const char *words)
{
    char *shown = iso_redacted(words ? words : "");
    snprintf(into, size, "%s", shown);
    iso_free(shown);
}

void iso_web_publish(struct iso_web *web, struct iso_metrics *metrics, bool ready,
                     const char *trouble, const char *waiting, const char *waits, const char *notes)
{
    pthread_mutex_lock(&web->lock);
    struct iso_metrics old = web->state.metrics;
    web->state.metrics = *metrics;
    web->state.published = (uint64_t)iso_clock_since_1970();
    web->state.ready = ready;
    publish_words(web->state.trouble, sizeof web->state.trouble, trouble);
    publish_words(web->state.waiting, sizeof web->state.waiting, waiting);
    snprintf(web->state.waits, sizeof web->state.waits, "%s",
             waits && strlen(waits) < sizeof web->state.waits ? waits : "[]");
    publish_words(web->state.notes, sizeof web->state.notes, notes);
    pthread_mutex_unlock(&web->lock);
    iso_metrics_clear(&old);
    *metrics = old; /* its room serves the next snapshot */
}

void iso_web_add(struct iso_web *web, const char *line, size_t length)
{
    pthread_mutex_lock(&web->lock);
    iso_web_state_add(&web->state, line, length);
    pthread_mutex_unlock(&web->lock);
}
