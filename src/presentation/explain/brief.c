#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "explain/argument_private.h"
#include "explain/brief_private.h"
#include "explain/words.h"
#include "verdict/level.h"

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
    ISO_PUSH(brief->steps, brief->step_count, brief->step_capacity, step);
}

/* False: the violation does not say when the transaction was. */
static bool put_times(struct iso_brief *brief, const struct line_parts *parts, uint32_t tid,
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
    return times->cts;
}

/* "It had to find 3, which transaction 5 wrote and committed at 7." `committed`: 0 if that is not
 * known, or says nothing. */
static void put_value(struct iso_brief *brief, const struct line_parts *parts, const char *verb,
                      uint32_t value, uint32_t writer, uint32_t committed)
{
    const char *found = line_text(parts, value);
    if (!value)
        return;
    if (writer)
        STEP(brief, "It %s %s, which transaction %s wrote%s%s%s.", verb, found,
             line_text(parts, writer), committed ? " and committed at " : "",
             line_text(parts, committed), line_commit(parts, writer));
    else
        STEP(brief, "It %s %s%s.", verb, found,
             strcmp(found, "nothing") && strcmp(found, "NULL") ? ", for which no writer is known"
                                                               : "");
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

/* ", as of just before 16": the moment that the read saw, or those from which it had a choice. */
static void put_moment(struct iso_text *text, const struct line_parts *parts)
{
    const char *from = line_text(parts, parts->moment.first),
               *until = line_text(parts, parts->moment.last);
    if (!parts->moment.first)
        return;
    if (!strcmp(parts->level, iso_level_name(ISO_STALE_READS)))
        iso_text_format(text, ", as of %s or a moment before", from);
    else if (!parts->moment.has_last || !strcmp(from, until))
        iso_text_format(text, ", as of %s%s", parts->moment.inclusive ? "" : "just before ", from);
    else
        iso_text_format(
            text, parts->moment.last ? ", as of a moment from %s to %s" : ", as of %s or later",
            from, until);
}

/* A step that was put together elsewhere, which ends here. */
static void add_sentence(struct iso_brief *brief, struct iso_text *sentence)
{
    iso_text_put_bytes(sentence, ".", 2);
    STEP(brief, "%s", sentence->bytes);
    iso_text_release(sentence);
}

/* "It read key x in its operation 2, as of 16." */
static void put_operation(struct iso_brief *brief, const struct line_parts *parts, bool is_named)
{
    struct iso_text sentence = {0};
    if (!parts->has_operation)
        return;
    struct iso_text key = key_words(parts);
    if (is_named)
        iso_text_put(&sentence, "It");
    else
        iso_text_format(&sentence, "Transaction %s%s", line_text(parts, parts->tid),
                        line_commit(parts, parts->tid));
    iso_text_format(&sentence, " read %s in its operation %" PRIu64, key.bytes,
                    parts->operation + 1);
    iso_text_release(&key);
    put_moment(&sentence, parts);
    add_sentence(brief, &sentence);
}

/* What values alone do not say, by the kind of the violation; %s: another transaction, and where
 * that is recorded. */
static const struct {
    const char *id, *text, *of_two;
} reasons[] = {
    {"EXT/missing-row", "The row was there and lies within the bounds of the row set.", NULL},
    {"EXT/extra-row", "The row was not there, or does not match.", NULL},
    {"EXT/aggregate", "The rows that were there and match give another value.", NULL},
    {"G1a", NULL, "Transaction %s wrote that, and did not commit%s."},
    {"G1b", NULL, "Transaction %s wrote that, and overwrote it before it committed%s."},
    {"THINAIR", "Nobody wrote that.", NULL},
    {"INCOMPATIBLE", "The list does not begin as it started, or contains an element too often.",
     "Transaction %s read a list of which neither is the beginning of the other%s."},
    {"LOSTUPDATE", NULL,
     "Transaction %s read the same version%s, and each of the two replaced it without the other."},
    {"TIMESTAMP/interval",
     "The rule is sts <= ots <= cts, and sts < cts where something is written.", NULL},
    {"TIMESTAMP/shared-cts", NULL, "Nothing says which of it and transaction %s comes first%s."},
    {"TIMESTAMP/cts-cycle", "It must come before and after others with the same cts.",
     "It must come before and after transaction %s, with the same cts%s."},
    {"SESSION", NULL, "Transaction %s came before it in its session, but not by the timestamps%s."},
};

static void put_reason(struct iso_brief *brief, const struct line_parts *parts, bool is_named)
{
    char id[ISO_WRONG_ID];
    const char *other = line_text(parts, parts->other);
    iso_wrong_id(brief->wrong, id);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (strcmp(reasons[i].id, id))
            continue;
        if (parts->other && reasons[i].of_two)
            STEP(brief, reasons[i].of_two, other, is_named ? "" : line_commit(parts, parts->other));
        else if (reasons[i].text)
            STEP(brief, "%s", reasons[i].text);
    }
}

static void put_read(struct iso_brief *brief, const struct line_parts *parts)
{
    bool is_version = !strcmp(parts->kind, "stale") || !strcmp(parts->kind, "future"),
         is_nobodys = !strcmp(parts->kind, "uncommitted") && !parts->writer_actual;
    const char *actual = line_text(parts, parts->actual);
    put_operation(brief, parts, put_times(brief, parts, parts->tid, &parts->own));
    if (!strcmp(parts->axiom, "INT") && !parts->expected)
        STEP(brief, "It found %s, which is not what it had itself last read or written there.",
             actual);
    else if (!strcmp(parts->axiom, "INT"))
        STEP(brief, "What it had itself last read or written there: %s. It found %s.",
             line_text(parts, parts->expected), actual);
    else
        put_value(brief, parts, "had to find", parts->expected, parts->writer_expected,
                  parts->of_expected.cts);
    if (brief->wrong->argument == ISO_ARGUE_READ && !is_nobodys)
        put_value(brief, parts, "found", parts->actual, parts->writer_actual,
                  is_version ? parts->of_actual.cts : 0);
    else if (is_nobodys)
        STEP(brief,
             "It found %s, which nobody wrote: an unrecorded writer, or a missing --initial-file?",
             actual);
    else if (strcmp(parts->axiom, "INT"))
        STEP(brief, "It found %s.", actual);
    put_reason(brief, parts, false);
}

static void put_times_apart(struct iso_brief *brief, const struct line_parts *parts)
{
    const char *tid = line_text(parts, parts->tid), *other = line_text(parts, parts->other);
    bool is_named = put_times(brief, parts, parts->tid, &parts->own) &&
                    (put_times(brief, parts, parts->other, &parts->of_other) || !parts->other);
    if (!strcmp(parts->axiom, "NOCONFLICT")) {
        struct iso_text key = key_words(parts);
        STEP(brief, "Transaction %s had not committed when %s began, and both wrote %s.", other,
             tid, key.bytes);
        iso_text_release(&key);
        STEP(brief, "Snapshot isolation must abort one of two overlapping writers of the same key. "
                    "Both committed.");
    }
    put_reason(brief, parts, is_named);
    if (parts->note)
        STEP(brief, "%s.", line_text(parts, parts->note));
}

/* What one transaction of a cycle did to the next; %s: the key. */
static const struct {
    const char *type, *text;
} edges[] = {
    {"so", "came earlier in its session than"},
    {"rt", "had ended, as clients saw it, before the begin of"},
    {"wr", "wrote %s and was read by"},
    {"ww", "wrote %s before"},
    {"rw", "read %s as it was before the write of"},
    {"implied", "comes, by what all possible writers share, before"},
};

static void put_cycle(struct iso_brief *brief, const struct line_parts *parts)
{
    uint32_t anti_dependencies = 0;
    for (uint32_t i = 0; i < parts->edges.count; i++) {
        const struct line_edge *edge = &parts->edges.list[i];
        anti_dependencies += !strcmp(edge->type, "rw");
        for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
            if (strcmp(edges[k].type, edge->type))
                continue;
            struct iso_text sentence = {0};
            iso_text_format(&sentence, "Transaction %s%s ", line_text(parts, edge->from),
                            line_commit(parts, edge->from));
            iso_text_format(&sentence, edges[k].text, line_text(parts, edge->key));
            iso_text_format(&sentence, " transaction %s (%s)", line_text(parts, edge->to),
                            edge->type);
            add_sentence(brief, &sentence);
        }
    }
    STEP(brief, "Each of them had to come before the next, and the last before the first.");
    if (anti_dependencies == 1 && strcmp(parts->kind, "G-single"))
        STEP(brief, "By Adya's names that is G-single.");
    if (parts->guarantee)
        STEP(brief, "Of a session's guarantees %s alone is broken.",
             line_text(parts, parts->guarantee));
    if (parts->lemmas)
        STEP(brief,
             "That rests on %" PRIu64 " %s about the order of writes, which --evidence FILE lists.",
             parts->lemmas, parts->lemmas == 1 ? "conclusion" : "conclusions");
}

/* A sentence that an argument has, too; names stand for themselves. */
static void put_shared(struct iso_brief *brief, const struct line_parts *parts, const char *format)
{
    struct iso_text text = {0};
    for (; *format; format++) {
        if (*format != '%') {
            iso_text_put_bytes(&text, format, 1);
            continue;
        }
        char what = *++format;
        iso_text_put(&text, what == 'B' ? "transaction " : "");
        iso_text_put(&text, line_text(parts, what == 'B'   ? parts->tid
                                             : what == 'N' ? parts->key
                                             : what == 'E' ? parts->expected
                                                           : parts->actual));
    }
    iso_text_put_bytes(&text, "", 1);
    STEP(brief, "%s", text.bytes);
    iso_text_release(&text);
}

static void put_change(struct iso_brief *brief, const struct line_parts *parts)
{
    const struct explain_change *change = explain_change_of(parts->kind);
    put_times(brief, parts, parts->tid, &parts->own);
    put_shared(brief, parts, change->first);
    put_shared(brief, parts, change->second);
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
        put_times_apart(brief, parts);
        break;
    case ISO_ARGUE_CHANGES:
        put_change(brief, parts);
        break;
    case ISO_ARGUE_ORDER:
        put_cycle(brief, parts);
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

bool iso_brief_of(struct iso_brief *brief, const struct iso_reported *reported)
{
    struct line_parts parts = {.tid = 0};
    *brief = (struct iso_brief){.wrong = NULL};
    bool is_violation = brief_take(&parts, brief, reported);
    if (is_violation)
        put_all(brief, &parts);
    brief_read_release(&parts);
    return is_violation;
}

struct from_line {
    struct iso_brief *brief;
    bool is_violation;
};

static bool take_violation(void *context, const struct iso_reported *reported)
{
    struct from_line *from = context;
    iso_brief_release(from->brief); /* of several the last */
    from->is_violation = iso_brief_of(from->brief, reported);
    return true;
}

bool iso_brief_init(struct iso_brief *brief, const char *line, size_t length)
{
    struct from_line from = {.brief = brief};
    *brief = (struct iso_brief){.wrong = NULL};
    if (brief_read_line(line, length, take_violation, &from) && from.is_violation)
        return true;
    iso_brief_release(brief);
    return false;
}

void iso_brief_release(struct iso_brief *brief)
{
    iso_text_release(&brief->text);
    iso_free(brief->steps);
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

static bool take_unlisted(void *context, const struct iso_reported *reported)
{
    const char *state = reported->head.state ? reported->head.state : "";
    const struct iso_reported_atom *of =
        reported->session.atoms ? &reported->session : &reported->key;
    struct iso_text *text = context;
    if (strcmp(state, "unlisted") || !reported->count || !of->atoms)
        return true;
    iso_text_format(text, "%s: %" PRIu64 " more of %s ", reported->axiom, reported->count,
                    reported->session.atoms ? "session" : "key");
    argue_put_atom(text, of->atoms, of->atom);
    iso_text_put(text, ": not listed (--max-per-key N, 0 for all)\n\n");
    return true;
}

bool iso_brief_unlisted(const char *line, size_t length, struct iso_text *text)
{
    size_t before = text->used;
    return brief_read_line(line, length, take_unlisted, text) && text->used > before;
}
