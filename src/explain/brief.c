#include "explain/brief.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "explain/brief_private.h"

uint32_t brief_say(struct iso_brief *brief, const char *format, ...)
{
    va_list values, again;
    uint32_t place = (uint32_t)brief->text.used;
    va_start(values, format);
    va_copy(again, values);
    int length = vsnprintf(NULL, 0, format, values);
    vsnprintf(iso_text_reserve(&brief->text, (size_t)length + 1), (size_t)length + 1, format, again);
    brief->text.used += (size_t)length + 1;
    va_end(again);
    va_end(values);
    return place;
}

/* STEP(brief, "...", ...): one more step. */
#define STEP(brief, ...) add_step(brief, brief_say(brief, __VA_ARGS__))

static void add_step(struct iso_brief *brief, uint32_t step)
{
    if (brief->step_count < ISO_BRIEF_STEPS)
        brief->steps[brief->step_count++] = step;
}

static void say_times(struct iso_brief *brief, const struct told *told, uint32_t tid, const struct told_times *times)
{
    const char *name = told_at(told, tid), *sts = told_at(told, times->sts), *cts = told_at(told, times->cts);
    const char *commit = told_commit(told, tid);
    if (times->sts && times->cts && !strcmp(sts, cts))
        STEP(brief, "Transaction %s is at %s%s.", name, sts, commit);
    else if (times->sts && times->cts)
        STEP(brief, "Transaction %s started at %s and committed at %s%s.", name, sts, cts, commit);
    else if (times->cts)
        STEP(brief, "Transaction %s committed at %s%s.", name, cts, commit);
}

/* "It had to find 3, which transaction 5 wrote and committed at 7." `committed`: 0 if that is not known, or says
 * nothing. */
static void say_value(struct iso_brief *brief, const struct told *told, const char *verb, uint32_t value,
                      uint32_t writer, uint32_t committed)
{
    if (!value)
        return;
    if (writer)
        STEP(brief, "It %s %s, which transaction %s wrote%s%s%s.", verb, told_at(told, value), told_at(told, writer),
             committed ? " and committed at " : "", told_at(told, committed), told_commit(told, writer));
    else
        STEP(brief, "It %s %s%s.", verb, told_at(told, value),
             strcmp(told_at(told, value), "nothing") ? ", for which no writer is known" : "");
}

static void say_read(struct iso_brief *brief, const struct told *told)
{
    say_times(brief, told, told->tid, &told->own);
    if (told->has_operation)
        STEP(brief, "It read key %s in its operation %" PRIu64 "%s%s.", told_at(told, told->key), told->operation,
             !told->look       ? ""
             : told->inclusive ? ", as of "
                               : ", as of just before ",
             told_at(told, told->look));
    if (!strcmp(told->axiom, "INT")) {
        STEP(brief, "What it had itself last read or written there: %s. It found %s.", told_at(told, told->expected),
             told_at(told, told->actual));
        return;
    }
    bool is_version = !strcmp(told->kind, "stale") || !strcmp(told->kind, "future");
    say_value(brief, told, "had to find", told->expected, told->writer_expected, told->of_expected.cts);
    say_value(brief, told, "found", told->actual, told->writer_actual, is_version ? told->of_actual.cts : 0);
}

static void say_order(struct iso_brief *brief, const struct told *told)
{
    const char *tid = told_at(told, told->tid), *other = told_at(told, told->other);
    say_times(brief, told, told->tid, &told->own);
    say_times(brief, told, told->other, &told->of_other);
    if (!strcmp(told->axiom, "NOCONFLICT")) {
        STEP(brief, "Transaction %s had not committed when %s began, and both wrote key %s.", other, tid,
             told_at(told, told->key));
        STEP(brief,
             "By the timestamps neither may see what the other wrote; a read that found it is reported on its own "
             "(EXT future).");
        STEP(brief, "Of two overlapping writers of one key snapshot isolation lets only one commit.");
    } else if (!strcmp(told->axiom, "SESSION") && told->other) {
        STEP(brief, "Transaction %s came before it in its session, but not by the timestamps.", other);
    } else if (told->other) {
        STEP(brief, "By the timestamps it contradicts transaction %s.", other);
    }
    if (told->note)
        STEP(brief, "%s", told_at(told, told->note));
}

static void say_change(struct iso_brief *brief, const struct told *told)
{
    const char *kind = told->kind, *key = told_at(told, told->key);
    const char *expected = told_at(told, told->expected), *actual = told_at(told, told->actual);
    say_times(brief, told, told->tid, &told->own);
    if (!strcmp(kind, "missing"))
        STEP(brief, "Its client wrote %s = %s; the change stream has no row for it.", key, expected);
    else if (!strcmp(kind, "unwritten"))
        STEP(brief, "The change stream has a row %s = %s of it; its client wrote none.", key, actual);
    else if (!strcmp(kind, "value"))
        STEP(brief, "Its client wrote %s = %s; the change stream says %s.", key, expected, actual);
    else if (!strcmp(kind, "aborted"))
        STEP(brief, "Its client saw it abort; the change stream has a row %s = %s of it.", key, actual);
    else if (!strcmp(kind, "before-image"))
        STEP(brief, "Its row replaced %s = %s; the before image says %s.", key, expected, actual);
    else if (!strcmp(kind, "gap"))
        STEP(brief, "The stream says %s = %s, by a snapshot or a before image; the changes before it say otherwise.",
             key, actual);
    else
        STEP(brief, "Its row arrived with %s = %s, and again with %s.", key, expected, actual);
}

static void say_state(struct iso_brief *brief, const struct told *told)
{
    if (!strcmp(brief->state, "tentative"))
        STEP(brief, "Tentative: what is still on its way may explain it.");
    else if (!strcmp(brief->state, "retracted") && told->cause)
        STEP(brief, "Retracted: transaction %s, which arrived later, explains it.", told_at(told, told->cause));
    else if (!strcmp(brief->state, "retracted"))
        STEP(brief, "Retracted: what arrived later explains it.");
    else if (!strcmp(brief->state, "final") && told->by_deadline)
        STEP(brief, "Final by its deadline: nothing that explains it has arrived. If it arrives later, this is "
                    "retracted.");
    else if (!strcmp(brief->state, "final"))
        STEP(brief, "Final: nothing that may still arrive can change it.");
    if (told->doubtful[0])
        STEP(brief, "This is doubtful: %s", iso_doubt(told->doubtful));
}

static void say_all(struct iso_brief *brief, const struct told *told)
{
    bool of_one = brief->wrong->argument != ISO_ARGUE_ORDER, has_key = told->key && of_one;
    brief->title =
        brief_say(brief, "%s%s%s by transaction%s %s", brief->wrong->name, has_key ? " of key " : "",
                  has_key ? told_at(told, told->key) : "", told->other ? "s" : "", told_at(told, told->tids));
    switch (brief->wrong->argument) {
    case ISO_ARGUE_READ:
    case ISO_ARGUE_OWN:
        say_read(brief, told);
        break;
    case ISO_ARGUE_TIMES:
        say_order(brief, told);
        break;
    case ISO_ARGUE_CHANGES:
        say_change(brief, told);
        break;
    case ISO_ARGUE_ORDER:
        STEP(brief, "Each of them had to come before the next, and the last before the first.");
        break;
    }
    if (told->difference)
        STEP(brief, "%s", told_at(told, told->difference));
    brief_draw_line(brief, told);
    if (told->places)
        STEP(brief, "Recorded in %s.", told_at(told, told->places));
    if (!brief->step_count)
        STEP(brief, ISO_SAYS_NO_MORE);
    say_state(brief, told);
}

/* ---- the whole ---- */

bool iso_brief_init(struct iso_brief *brief, const char *line, size_t length)
{
    struct told told = {.tid = 0};
    struct iso_text padded = {0};
    *brief = (struct iso_brief){.wrong = NULL};
    iso_text_put_bytes(&padded, line, length);
    memset(iso_text_reserve(&padded, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    bool is_violation = brief_read(&told, brief, padded.bytes, length);
    if (is_violation)
        say_all(brief, &told);
    brief_read_release(&told);
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
                                    [ISO_MARK_LOOK] = "look",
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
    struct told told = {.count = 0};
    brief_read(&told, &brief, line, length);
    bool is_one = !strcmp(brief.state, "unlisted") && told.count;
    if (is_one) {
        uint32_t sentence = brief_say(
            &brief, "%s: %" PRIu64 " more of %s %s: not listed (--max-per-key N, 0 for all)\n\n", told.axiom,
            told.count, told.session ? "session" : "key", told_at(&told, told.session ? told.session : told.key));
        iso_text_put(text, brief.text.bytes + sentence);
    }
    brief_read_release(&told);
    iso_brief_release(&brief);
    return is_one;
}
