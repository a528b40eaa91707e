#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "explain/brief_private.h"
#include "explain/key_words.h"

uint32_t brief_text(struct iso_brief *brief, const char *format, ...)
{
    va_list values, again;
    uint32_t offset = (uint32_t)brief->text.used;
    va_start(values, format);
    va_copy(again, values);
    int length = vsnprintf(NULL, 0, format, values);
    vsnprintf(iso_text_reserve(&brief->text, (size_t)length + 1), (size_t)length + 1, format,
              again);
    brief->text.used += (size_t)length + 1;
    va_end(again);
    va_end(values);
    return offset;
}

/* STEP(brief, "...", ...): one more step. */
#define STEP(brief, ...) add_step(brief, brief_text(brief, __VA_ARGS__))

static void add_step(struct iso_brief *brief, uint32_t step)
{
    if (brief->step_count < ISO_BRIEF_STEPS)
        brief->steps[brief->step_count++] = step;
}

static void put_times(struct iso_brief *brief, const struct line_parts *parts, uint32_t tid,
                      const struct line_times *times)
{
    const char *name = line_text(parts, tid), *sts = line_text(parts, times->sts),
               *cts = line_text(parts, times->cts);
    const char *commit = line_commit(parts, tid);
    if (times->sts && times->cts && !strcmp(sts, cts))
        STEP(brief, "Transaction %s is at %s%s.", name, sts, commit);
    else if (times->sts && times->cts)
        STEP(brief, "Transaction %s started at %s and committed at %s%s.", name, sts, cts, commit);
    else if (times->cts)
        STEP(brief, "Transaction %s committed at %s%s.", name, cts, commit);
}

/* "It had to find 3, which transaction 5 wrote and committed at 7." `committed`: 0 if that is not
 * known, or says nothing. */
static void put_value(struct iso_brief *brief, const struct line_parts *parts, const char *verb,
                      uint32_t value, uint32_t writer, uint32_t committed)
{
    if (!value)
        return;
    if (writer)
        STEP(brief, "It %s %s, which transaction %s wrote%s%s%s.", verb, line_text(parts, value),
             line_text(parts, writer), committed ? " and committed at " : "",
             line_text(parts, committed), line_commit(parts, writer));
    else
        STEP(brief, "It %s %s%s.", verb, line_text(parts, value),
             strcmp(line_text(parts, value), "nothing") ? ", for which no writer is known" : "");
}

static void put_bytes(struct iso_text *text, const char *bytes, size_t length)
{
    iso_text_put_bytes(text, bytes, length);
}

/* The name of the line's key, which the caller releases. */
static struct iso_text key_words(const struct line_parts *parts)
{
    struct iso_text words = {0};
    const char *key = line_text(parts, parts->key);
    explain_put_key(&words, (struct iso_json_text){key, strlen(key)}, put_bytes);
    iso_text_put_bytes(&words, "", 1);
    return words;
}

static void put_read(struct iso_brief *brief, const struct line_parts *parts)
{
    struct iso_text key = key_words(parts);
    put_times(brief, parts, parts->tid, &parts->own);
    if (parts->has_operation)
        STEP(brief, "It read %s in its operation %" PRIu64 "%s%s.", key.bytes, parts->operation + 1,
             !parts->read_at    ? ""
             : parts->inclusive ? ", as of "
                                : ", as of just before ",
             line_text(parts, parts->read_at));
    iso_text_release(&key);
    if (!strcmp(parts->axiom, "INT")) {
        STEP(brief, "What it had itself last read or written there: %s. It found %s.",
             line_text(parts, parts->expected), line_text(parts, parts->actual));
        return;
    }
    bool is_version = !strcmp(parts->kind, "stale") || !strcmp(parts->kind, "future");
    put_value(brief, parts, "had to find", parts->expected, parts->writer_expected,
              parts->of_expected.cts);
    put_value(brief, parts, "found", parts->actual, parts->writer_actual,
              is_version ? parts->of_actual.cts : 0);
}

static void put_order(struct iso_brief *brief, const struct line_parts *parts)
{
    const char *tid = line_text(parts, parts->tid), *other = line_text(parts, parts->other);
    put_times(brief, parts, parts->tid, &parts->own);
    put_times(brief, parts, parts->other, &parts->of_other);
    if (!strcmp(parts->axiom, "NOCONFLICT")) {
        struct iso_text key = key_words(parts);
        STEP(brief, "Transaction %s had not committed when %s began, and both wrote %s.", other,
             tid, key.bytes);
        iso_text_release(&key);
        STEP(brief, "Snapshot isolation must abort one of two overlapping writers of the same key. "
                    "Both committed.");
    } else if (!strcmp(parts->axiom, "SESSION") && parts->other) {
        STEP(brief, "Transaction %s came before it in its session, but not by the timestamps.",
             other);
    } else if (parts->other) {
        STEP(brief, "By the timestamps it contradicts transaction %s.", other);
    }
    if (parts->note)
        STEP(brief, "%s", line_text(parts, parts->note));
}

static void put_change(struct iso_brief *brief, const struct line_parts *parts)
{
    const char *kind = parts->kind, *key = line_text(parts, parts->key);
    const char *expected = line_text(parts, parts->expected),
               *actual = line_text(parts, parts->actual);
    put_times(brief, parts, parts->tid, &parts->own);
    if (!strcmp(kind, "missing"))
        STEP(brief, "Its client wrote %s = %s; the change stream has no row for it.", key,
             expected);
    else if (!strcmp(kind, "unwritten"))
        STEP(brief, "The change stream has a row %s = %s of it; its client wrote none.", key,
             actual);
    else if (!strcmp(kind, "value"))
        STEP(brief, "Its client wrote %s = %s; the change stream says %s.", key, expected, actual);
    else if (!strcmp(kind, "aborted"))
        STEP(brief, "Its client saw it abort; the change stream has a row %s = %s of it.", key,
             actual);
    else if (!strcmp(kind, "before-image"))
        STEP(brief, "Its row replaced %s = %s; the before image says %s.", key, expected, actual);
    else if (!strcmp(kind, "gap"))
        STEP(
            brief,
            "The stream says %s = %s, by a snapshot or a before image; the changes before it say otherwise.",
            key, actual);
    else
        STEP(brief, "Its row arrived with %s = %s, and again with %s.", key, expected, actual);
}

static void put_state(struct iso_brief *brief, const struct line_parts *parts)
{
    if (!strcmp(brief->state, "tentative"))
        STEP(brief, "Tentative: what is still on its way may explain it.");
    else if (!strcmp(brief->state, "retracted") && parts->cause)
        STEP(brief, "Retracted: transaction %s, which arrived later, explains it.",
             line_text(parts, parts->cause));
    else if (!strcmp(brief->state, "retracted"))
        STEP(brief, "Retracted: what arrived later explains it.");
    else if (!strcmp(brief->state, "final") && parts->by_deadline)
        STEP(
            brief,
            "Final by its deadline: nothing that explains it has arrived. If it arrives later, this is "
            "retracted.");
    else if (!strcmp(brief->state, "final"))
        STEP(brief, "Final: nothing that may still arrive can change it.");
    if (parts->doubtful[0])
        STEP(brief, "This is doubtful: %s", iso_doubt(parts->doubtful));
}

static void put_all(struct iso_brief *brief, const struct line_parts *parts)
{
    bool of_one = brief->wrong->argument != ISO_ARGUE_ORDER, has_key = parts->key && of_one;
    struct iso_text key = key_words(parts);
    const char *name = iso_wrong_name(brief->wrong, parts->writer_actual != 0);
    brief->title = brief_text(brief, "%s%s%s by transaction%s %s", name,
                              !has_key                     ? ""
                              : name == brief->wrong->name ? " of "
                                                           : ": ",
                              has_key ? key.bytes : "", parts->other ? "s" : "",
                              line_text(parts, parts->tids));
    iso_text_release(&key);
    switch (brief->wrong->argument) {
    case ISO_ARGUE_READ:
    case ISO_ARGUE_OWN:
        put_read(brief, parts);
        break;
    case ISO_ARGUE_TIMES:
        put_order(brief, parts);
        break;
    case ISO_ARGUE_CHANGES:
        put_change(brief, parts);
        break;
    case ISO_ARGUE_ORDER:
        STEP(brief, "Each of them had to come before the next, and the last before the first.");
        break;
    }
    if (parts->difference)
        STEP(brief, "%s", line_text(parts, parts->difference));
    brief_draw_line(brief, parts);
    if (parts->locations)
        STEP(brief, "Recorded in %s.", line_text(parts, parts->locations));
    if (!brief->step_count)
        STEP(brief, ISO_CLAIMS_NO_MORE);
    put_state(brief, parts);
}

/* ---- the whole ---- */

bool iso_brief_init(struct iso_brief *brief, const char *line, size_t length)
{
    struct line_parts parts = {.tid = 0};
    struct iso_text padded = {0};
    *brief = (struct iso_brief){.wrong = NULL};
    iso_text_put_bytes(&padded, line, length);
    memset(iso_text_reserve(&padded, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    bool is_violation = brief_read(&parts, brief, padded.bytes, length);
    if (is_violation)
        put_all(brief, &parts);
    brief_read_release(&parts);
    iso_text_release(&padded);
    return is_violation;
}

void iso_brief_release(struct iso_brief *brief)
{
    iso_text_release(&brief->text);
    *brief = (struct iso_brief){.wrong = NULL};
}

static const char *const marks[] = {[ISO_MARK_NONE] = "",
                                    [ISO_MARK_EXPECTED] = "expected",
                                    [ISO_MARK_ACTUAL] = "found",
                                    [ISO_MARK_READ] = "look",
                                    [ISO_MARK_MORE] = ""};

static void put_string(struct iso_text *text, const char *string)
{
    iso_text_put_string(text, string, strlen(string));
}

static void put_rows_json(const struct iso_brief *brief, struct iso_text *text)
{
    iso_text_put(text, ",\"timeline\":{\"of\":");
    put_string(text, brief->text.bytes + brief->line_title);
    iso_text_put(text, ",\"rows\":[");
    for (uint32_t i = 0; i < brief->row_count; i++) {
        const struct iso_brief_row *row = &brief->rows[i];
        iso_text_put(text, i ? ",{\"at\":" : "{\"at\":");
        put_string(text, brief->text.bytes + row->when);
        iso_text_put(text, ",\"what\":");
        put_string(text, brief->text.bytes + row->what);
        iso_text_put(text, ",\"mark\":");
        put_string(text, marks[row->mark]);
        iso_text_put(text, "}");
    }
    iso_text_put(text, "]}");
}

void iso_brief_json(const struct iso_brief *brief, struct iso_text *text)
{
    iso_text_put(text, "{\"title\":");
    put_string(text, brief->text.bytes + brief->title);
    iso_text_put(text, ",\"steps\":[");
    for (uint32_t i = 0; i < brief->step_count; i++) {
        iso_text_put(text, i ? "," : "");
        put_string(text, brief->text.bytes + brief->steps[i]);
    }
    iso_text_put(text, "]");
    if (brief->row_count)
        put_rows_json(brief, text);
    iso_text_put(text, ",\"meaning\":");
    put_string(text, brief->wrong->meaning);
    iso_text_put(text, "}");
}

static void put_rows(const struct iso_brief *brief, struct iso_text *text)
{
    size_t width = 0;
    for (uint32_t i = 0; i < brief->row_count; i++) {
        size_t length = strlen(brief->text.bytes + brief->rows[i].when);
        width = length > width ? length : width;
    }
    iso_text_put(text, "  ");
    iso_text_put(text, brief->text.bytes + brief->line_title);
    iso_text_put(text, ":\n");
    for (uint32_t i = 0; i < brief->row_count; i++) {
        const struct iso_brief_row *row = &brief->rows[i];
        const char *when = brief->text.bytes + row->when;
        iso_text_put(text, "    ");
        for (size_t pad = strlen(when); pad < width; pad++)
            iso_text_put(text, " ");
        iso_text_put(text, when);
        iso_text_put(text, "  | ");
        iso_text_put(text, brief->text.bytes + row->what);
        iso_text_put(text, row->mark == ISO_MARK_EXPECTED ? "  <- expected\n"
                           : row->mark == ISO_MARK_ACTUAL ? "  <- found\n"
                                                          : "\n");
    }
}

void iso_brief_text(const struct iso_brief *brief, struct iso_text *text)
{
    char name[ISO_WRONG_ID];
    iso_wrong_id(brief->wrong, name);
    iso_text_put(text, name);
    iso_text_put(text, ": ");
    iso_text_put(text, brief->text.bytes + brief->title);
    iso_text_put(text, brief->id[0] ? " [" : "");
    iso_text_put(text, brief->id);
    iso_text_put(text, brief->id[0] ? "]\n" : "\n");
    for (uint32_t i = 0; i < brief->step_count; i++) {
        iso_text_put(text, "  - ");
        iso_text_put(text, brief->text.bytes + brief->steps[i]);
        iso_text_put(text, "\n");
    }
    if (brief->row_count)
        put_rows(brief, text);
    iso_text_put(text, "  For an application: ");
    iso_text_put(text, brief->wrong->meaning);
    iso_text_put(text, "\n\n");
}

bool iso_brief_unlisted(const char *line, size_t length, struct iso_text *text)
{
    struct iso_brief brief = {.wrong = NULL};
    struct line_parts parts = {.count = 0};
    brief_read(&parts, &brief, line, length);
    bool is_one = !strcmp(brief.state, "unlisted") && parts.count;
    if (is_one) {
        uint32_t sentence = brief_text(
            &brief, "%s: %" PRIu64 " more of %s %s: not listed (--max-per-key N, 0 for all)\n\n",
            parts.axiom, parts.count, parts.session ? "session" : "key",
            line_text(&parts, parts.session ? parts.session : parts.key));
        iso_text_put(text, brief.text.bytes + sentence);
    }
    brief_read_release(&parts);
    iso_brief_release(&brief);
    return is_one;
}
