/* The status server's answers: any method, path, parameter and header get an answer that its
 * content type promises, and nothing but the page and the sign of life without the token. */
#define _GNU_SOURCE
#include <jansson.h>

#include "tests/fuzz/fuzz.h"
#include "web/answer.h"

static const char token[] = "0123456789abcdef";

/* The next text of the input, up to a zero byte or its end. */
static const char *take(const char **at, const char *end)
{
    const char *text = *at;
    if (text >= end)
        return NULL;
    *at = text + strlen(text) + 1; /* the input's copy ends with a zero byte */
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_web_state state = {.published = 1, .ready = true};
    struct iso_web_answer answer = {0};
    char *copy = malloc(size + 1);
    memcpy(copy, data, size);
    copy[size] = 0;
    const char *at = copy, *end = copy + size;
    const char *method = take(&at, end), *path = take(&at, end);
    struct iso_web_request request = {.method = method ? method : "GET", .path = path ? path : "/"};
    request.since = take(&at, end);
    request.authorization = take(&at, end);
    request.host = take(&at, end);
    struct iso_web_names names = {0};
    iso_web_names_add(&names, "isochron");
    iso_metrics_count(&state.metrics, ISO_METRIC_LAG, "t\"\\", "0", 1);
    for (int i = 0; i < 3; i++)
        iso_web_state_add(&state, "{}\n", 3);
    for (int guarded = 0; guarded < 2; guarded++) {
        struct iso_web_rules rules = {guarded ? token : NULL, guarded ? &names : NULL};
        iso_web_answer(&state, &rules, 2, &request, &answer);
        FUZZ_CHECK(answer.body.used && answer.content_type);
        if (!strcmp(answer.content_type, "application/json")) {
            json_t *object =
                json_loadb(answer.body.bytes, answer.body.used, JSON_REJECT_DUPLICATES, NULL);
            FUZZ_CHECK(object);
            json_decref(object);
        }
        if (guarded && answer.status == 200)
            FUZZ_CHECK(!strcmp(request.path, "/") || !strcmp(request.path, "/livez") ||
                       (request.authorization &&
                        !strcmp(request.authorization, "Bearer 0123456789abcdef")));
    }
    iso_web_names_release(&names);
    iso_text_release(&answer.body);
    iso_web_state_release(&state);
    free(copy);
    return 0;
}
