#include "web/answer.h"

#include <page.html.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char json[] = "application/json", plain[] = "text/plain; charset=utf-8";

/* ---- the latest lines ---- */

static void drop_oldest(struct iso_web_state *state)
{
    struct iso_web_line *line = &state->lines[state->line_first];
    state->line_bytes -= line->length;
    iso_free(line->text);
    state->line_first = (state->line_first + 1) % ISO_WEB_LINES;
    state->line_count--;
}

void iso_web_state_add(struct iso_web_state *state, const char *line, size_t length)
{
    while (length && line[length - 1] == '\n')
        length--;
    state->lines_added++;
    if (length > ISO_WEB_LINE_BYTES)
        return;
    while (state->line_count && (state->line_count == ISO_WEB_LINES || state->line_bytes + length > ISO_WEB_LINE_BYTES))
        drop_oldest(state);
    state->lines[(state->line_first + state->line_count++) % ISO_WEB_LINES] =
        (struct iso_web_line){iso_copy_text(line, length), (uint32_t)length};
    state->line_bytes += length;
}

void iso_web_state_release(struct iso_web_state *state)
{
    while (state->line_count)
        drop_oldest(state);
    iso_metrics_release(&state->metrics);
}

/* ---- answers ---- */

static void refuse(struct iso_web_answer *answer, unsigned status, const char *why)
{
    answer->status = status;
    answer->content_type = plain;
    answer->body.used = 0;
    iso_text_put(&answer->body, why);
    iso_text_put(&answer->body, "\n");
}

static bool is_live(const struct iso_web_state *state, uint64_t now)
{
    return state->published && now - state->published <= 1000 * (uint64_t)ISO_WEB_LIVE_SECONDS;
}

/* NULL: ready. */
static const char *find_obstacle(const struct iso_web_state *state, uint64_t now)
{
    return !state->published      ? "not started"
           : !is_live(state, now) ? "no progress"
           : !state->ready        ? "not reading yet"
           : state->trouble[0]    ? state->trouble
                                  : NULL;
}

static void put_health(struct iso_web_answer *answer, const char *obstacle)
{
    refuse(answer, obstacle ? 503 : 200, obstacle ? obstacle : "ok");
}

static void put_page(struct iso_web_answer *answer)
{
    answer->content_type = "text/html; charset=utf-8";
    iso_text_put(&answer->body, page_html);
}

static void put_status(const struct iso_web_state *state, uint64_t now, struct iso_web_answer *answer)
{
    const char *obstacle = find_obstacle(state, now);
    answer->content_type = json;
    iso_text_put(&answer->body, obstacle ? "{\"ready\":false,\"trouble\":" : "{\"ready\":true,\"trouble\":");
    if (obstacle)
        iso_text_put_string(&answer->body, obstacle, strlen(obstacle));
    else
        iso_text_put(&answer->body, "null");
    iso_text_put(&answer->body, is_live(state, now) ? ",\"live\":true,\"now\":" : ",\"live\":false,\"now\":");
    iso_text_put_unsigned(&answer->body, now);
    iso_text_put(&answer->body, ",\"violations\":");
    iso_text_put_unsigned(&answer->body, state->lines_added);
    iso_text_put(&answer->body, ",\"metrics\":");
    iso_metrics_json(&state->metrics, &answer->body);
    iso_text_put(&answer->body, "}\n");
}

/* The line, an object, with one member more. */
static void put_line(const struct iso_web_state *state, const struct iso_web_line *line, struct iso_text *body)
{
    static const char member[] = ",\"explanation\":";
    size_t start = body->used;
    iso_text_put_bytes(body, line->text, line->length);
    if (!state->explain || !line->length || line->text[line->length - 1] != '}')
        return;
    body->used--;
    iso_text_put(body, member);
    size_t before = body->used;
    state->explain(line->text, line->length, body);
    if (body->used == before)
        body->used = start + line->length - 1;
    iso_text_put(body, "}");
}

static void put_violations(const struct iso_web_state *state, const char *since, struct iso_web_answer *answer)
{
    uint64_t from = 0;
    if (since) {
        char *end;
        from = strtoull(since, &end, 10);
        if (*since < '0' || *since > '9' || *end) {
            refuse(answer, 400, "since: expected the number of a line");
            return;
        }
    }
    uint64_t oldest = state->lines_added - state->line_count; /* that is not kept */
    uint64_t skipped = from > oldest ? from - oldest : 0;
    answer->content_type = json;
    iso_text_put(&answer->body, "{\"next\":");
    iso_text_put_unsigned(&answer->body, state->lines_added);
    iso_text_put(&answer->body, ",\"lost\":");
    iso_text_put_unsigned(&answer->body, from < oldest ? oldest - from : 0);
    iso_text_put(&answer->body, ",\"lines\":[");
    for (uint64_t i = skipped; i < state->line_count; i++) {
        const struct iso_web_line *line = &state->lines[(state->line_first + i) % ISO_WEB_LINES];
        iso_text_put(&answer->body, i > skipped ? ",\n" : "\n");
        put_line(state, line, &answer->body);
    }
    iso_text_put(&answer->body, "]}\n");
}

/* Whether the request carries the token; how long it takes does not depend on where they differ. */
static bool is_allowed(const char *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (!token)
        return true;
    if (!authorization || strncmp(authorization, scheme, sizeof scheme - 1))
        return false;
    authorization += sizeof scheme - 1;
    size_t length = strlen(authorization), expected = strlen(token);
    unsigned char difference = length != expected;
    for (size_t i = 0; i < length && expected; i++)
        difference |= (unsigned char)(authorization[i] ^ token[i % expected]);
    return !difference;
}

static void route(const struct iso_web_state *state, uint64_t now, const struct iso_web_request *request,
                  struct iso_web_answer *answer)
{
    if (!strcmp(request->path, "/metrics")) {
        answer->content_type = "text/plain; version=0.0.4; charset=utf-8";
        iso_metrics_prometheus(&state->metrics, &answer->body);
    } else if (!strcmp(request->path, "/status")) {
        put_status(state, now, answer);
    } else if (!strcmp(request->path, "/violations")) {
        put_violations(state, request->since, answer);
    } else if (!strcmp(request->path, "/readyz")) {
        put_health(answer, find_obstacle(state, now));
    } else {
        refuse(answer, 404, "not here: /, /metrics, /status, /violations?since=N, /livez, /readyz");
    }
}

void iso_web_answer(const struct iso_web_state *state, const char *token, uint64_t now,
                    const struct iso_web_request *request, struct iso_web_answer *answer)
{
    answer->status = 200;
    answer->body.used = 0;
    if (strcmp(request->method, "GET") && strcmp(request->method, "HEAD"))
        refuse(answer, 405, "GET and HEAD only");
    else if (!strcmp(request->path, "/livez")) /* a sign of life and the empty page say nothing of the data */
        put_health(answer, is_live(state, now) ? NULL : "no progress");
    else if (!strcmp(request->path, "/"))
        put_page(answer);
    else if (!is_allowed(token, request->authorization))
        refuse(answer, 401, "Authorization: Bearer TOKEN is missing or wrong");
    else
        route(state, now, request, answer);
}
