#include "web/answer.h"

#include <assert.h>
#include <inttypes.h>
#include <page.html.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "web/token.h"

static const char json[] = "application/json", plain[] = "text/plain; charset=utf-8";

/* ---- the latest lines ---- */

static void drop_entry(struct iso_web_state *state, uint32_t index)
{
    struct iso_web_line *line = &state->lines[index];
    assert(index < state->line_count && state->line_bytes >= line->length);
    state->line_bytes -= line->length;
    iso_free(line->text);
    memmove(line, line + 1, (--state->line_count - index) * sizeof *line);
}

#ifdef ISO_VALIDATE
/* The newest line of an id tells how it stands: all others of it are past. */
static void validate_lines(const struct iso_web_state *state)
{
    size_t bytes = 0;
    uint64_t number = 0;
    assert(state->line_count <= ISO_WEB_LINES);
    for (uint32_t i = 0; i < state->line_count; i++) {
        const struct iso_web_line *line = &state->lines[i],
                                  *newest = &state->lines[state->line_count - 1];
        assert(line->number > number && line->number <= state->lines_added);
        assert(line == newest || !line->id || line->id != newest->id || line->rank == ISO_WEB_PAST);
        bytes += line->length;
        number = line->number;
    }
    assert(bytes == state->line_bytes && bytes <= ISO_WEB_LINE_BYTES);
}
#else
static void validate_lines(const struct iso_web_state *state)
{
    (void)state;
}
#endif

/* The oldest of those that matter least. */
static uint32_t find_least(const struct iso_web_state *state)
{
    uint32_t least = 0;
    for (uint32_t i = 1; i < state->line_count && state->lines[least].rank != ISO_WEB_PAST; i++)
        least = state->lines[i].rank < state->lines[least].rank ? i : least;
    return least;
}

/* {"id":"0123456789abcdef","state":"final",... */
static struct iso_web_line parse_line(const char *line, size_t length)
{
    static const char head[] = "{\"id\":\"", middle[] = "\",\"state\":\"";
    enum { DIGITS = 16, HEAD = sizeof head - 1, STATE = HEAD + DIGITS + sizeof middle - 1 };
    struct iso_web_line parsed = {.length = (uint32_t)length, .rank = ISO_WEB_STANDS};
    char digits[DIGITS + 1] = "";
    if (length <= STATE || memcmp(line, head, HEAD) != 0 ||
        memcmp(line + HEAD + DIGITS, middle, sizeof middle - 1) != 0)
        return parsed;
    memcpy(digits, line + HEAD, DIGITS);
    parsed.id = strtoull(digits, NULL, 16);
    parsed.rank = line[STATE] == 'r'   ? ISO_WEB_PAST
                  : line[STATE] == 't' ? ISO_WEB_OPEN
                                       : ISO_WEB_STANDS;
    return parsed;
}

void iso_web_state_add(struct iso_web_state *state, const char *line, size_t length)
{
    while (length && line[length - 1] == '\n')
        length--;
    state->lines_added++;
    if (length > ISO_WEB_LINE_BYTES)
        return;
    struct iso_web_line added = parse_line(line, length);
    for (uint32_t i = 0; added.id && i < state->line_count; i++)
        if (state->lines[i].id == added.id)
            state->lines[i].rank = ISO_WEB_PAST;
    while (state->line_count &&
           (state->line_count == ISO_WEB_LINES || state->line_bytes + length > ISO_WEB_LINE_BYTES))
        drop_entry(state, find_least(state));
    added.text = iso_copy_text(line, length);
    added.number = state->lines_added;
    state->lines[state->line_count++] = added;
    state->line_bytes += length;
    validate_lines(state);
}

void iso_web_state_release(struct iso_web_state *state)
{
    while (state->line_count)
        drop_entry(state, state->line_count - 1);
    iso_metrics_release(&state->metrics);
}

/* ---- answers ---- */

static void refuse_request(struct iso_web_answer *answer, unsigned status, const char *why)
{
    answer->status = status;
    answer->content_type = plain;
    answer->body.used = 0;
    iso_text_format(&answer->body, "%s\n", why);
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
    refuse_request(answer, obstacle ? 503 : 200, obstacle ? obstacle : "ok");
}

static void put_page(struct iso_web_answer *answer)
{
    answer->content_type = "text/html; charset=utf-8";
    iso_text_put(&answer->body, page_html);
}

static void put_text_or_null(struct iso_text *body, const char *text)
{
    if (text && *text)
        iso_text_put_string(body, text, strlen(text));
    else
        iso_text_put(body, "null");
}

/* Lines, as a list of texts. One that was cut off at the end counts. */
static void put_notes(struct iso_text *body, const char *notes)
{
    iso_text_put(body, ",\"notes\":[");
    for (bool first = true; *notes; first = false) {
        size_t length = strcspn(notes, "\n");
        iso_text_put(body, first ? "" : ",");
        iso_text_put_string(body, notes, length);
        notes += length + (notes[length] == '\n');
    }
    iso_text_put(body, "]");
}

static void put_number(struct iso_text *body, const char *member, uint64_t number)
{
    iso_text_format(body, ",\"%s\":%" PRIu64, member, number);
}

/* Violations that stand, by the figures. */
static void put_standing(const struct iso_web_state *state, struct iso_text *body)
{
    put_number(body, "violations", iso_metrics_sum(&state->metrics, ISO_METRIC_VIOLATIONS));
    put_number(body, "doubtful", iso_metrics_sum(&state->metrics, ISO_METRIC_DOUBTFUL));
    put_number(body, "tentative", iso_metrics_sum(&state->metrics, ISO_METRIC_STANDING));
}

static void put_status(const struct iso_web_state *state, uint64_t now,
                       struct iso_web_answer *answer)
{
    const char *obstacle = find_obstacle(state, now);
    answer->content_type = json;
    iso_text_put(&answer->body,
                 obstacle ? "{\"ready\":false,\"trouble\":" : "{\"ready\":true,\"trouble\":");
    put_text_or_null(&answer->body, obstacle);
    iso_text_put(&answer->body, ",\"waiting\":");
    put_text_or_null(&answer->body, state->waiting);
    iso_text_format(&answer->body, ",\"waits\":%s", *state->waits ? state->waits : "[]");
    put_notes(&answer->body, state->notes);
    iso_text_put(&answer->body, is_live(state, now) ? ",\"live\":true" : ",\"live\":false");
    put_number(&answer->body, "now", now);
    put_standing(state, &answer->body);
    put_number(&answer->body, "lines", state->lines_added);
    iso_text_put(&answer->body, ",\"metrics\":");
    iso_metrics_json(&state->metrics, &answer->body);
    iso_text_put(&answer->body, "}\n");
}

/* The line, an object, with one member more. */
static void put_line(const struct iso_web_state *state, const struct iso_web_line *line,
                     struct iso_text *body)
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

static void put_violations(const struct iso_web_state *state, const char *since,
                           struct iso_web_answer *answer)
{
    uint64_t from = 0;
    if (since) {
        char *end;
        from = strtoull(since, &end, 10);
        if (*since < '0' || *since > '9' || *end) {
            refuse_request(answer, 400, "since: expected the number of a line");
            return;
        }
    }
    uint32_t first = 0;
    while (first < state->line_count && state->lines[first].number <= from)
        first++;
    uint64_t behind = from < state->lines_added ? state->lines_added - from : 0;
    answer->content_type = json;
    iso_text_format(&answer->body, "{\"next\":%" PRIu64, state->lines_added);
    put_number(&answer->body, "lost", behind - (state->line_count - first));
    put_standing(state, &answer->body);
    iso_text_put(&answer->body, ",\"lines\":[");
    for (uint32_t i = first; i < state->line_count; i++) {
        iso_text_put(&answer->body, i > first ? ",\n" : "\n");
        put_line(state, &state->lines[i], &answer->body);
    }
    iso_text_put(&answer->body, "]}\n");
}

static void route_request(const struct iso_web_state *state, uint64_t now,
                          const struct iso_web_request *request, struct iso_web_answer *answer)
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
        refuse_request(answer, 404,
                       "not here: /, /metrics, /status, /violations?since=N, /livez, /readyz");
    }
}

void iso_web_answer(const struct iso_web_state *state, const struct iso_web_rules *rules,
                    uint64_t now, const struct iso_web_request *request,
                    struct iso_web_answer *answer)
{
    answer->status = 200;
    answer->body.used = 0;
    if (rules->names && !iso_web_names_allow(rules->names, request->host))
        refuse_request(answer, 421,
                       "asked by a name that is not this server's; --listen-name NAME adds it");
    else if (strcmp(request->method, "GET") && strcmp(request->method, "HEAD"))
        refuse_request(answer, 405, "GET and HEAD only");
    else if (!strcmp(request->path,
                     "/livez")) /* a sign of life and the empty page say nothing of the data */
        put_health(answer, is_live(state, now) ? NULL : "no progress");
    else if (!strcmp(request->path, "/"))
        put_page(answer);
    else if (rules->token && !iso_web_token_is(rules->token, request->authorization))
        refuse_request(answer, 401, "Authorization: Bearer TOKEN is missing or wrong");
    else
        route_request(state, now, request, answer);
}
