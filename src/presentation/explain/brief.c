#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/shown.h"
#include "explain/argument_private.h"
#include "explain/brief_private.h"
#include "verdict/level.h"

/* STEP(briefing, "...", ...): one more step. */
#define STEP(briefing, ...) add_step(briefing, brief_text(briefing, __VA_ARGS__))

static void add_step(struct briefing *briefing, uint32_t step)
{
    struct iso_brief *brief = briefing->brief;
    ISO_PUSH(brief->steps, brief->step_count, brief->step_capacity, step);
}

/* The end of what begins there, which may be a step that is made of parts. */
static uint32_t here(const struct briefing *briefing)
{
    return (uint32_t)briefing->brief->text.used;
}

static bool is(const char *word, const char *expected)
{
    return word && !strcmp(word, expected);
}

/* False: the violation does not say when the transaction was. */
static bool put_times(struct briefing *briefing, const struct iso_reported_atom *tid,
                      const struct iso_reported_times *times)
{
    if (*times->sts && !strcmp(times->sts, times->cts))
        STEP(briefing, "Transaction %a is at %t%c.", tid, times->sts, tid);
    else if (*times->sts && *times->cts)
        STEP(briefing, "Transaction %a started at %t and committed at %t%c.", tid, times->sts,
             times->cts, tid);
    else if (*times->cts)
        STEP(briefing, "Transaction %a committed at %t%c.", tid, times->cts, tid);
    return *times->cts;
}

/* "It had to find 3, which transaction 5 wrote and committed at 7." `committed`: empty if that is
 * not known, or says nothing. */
static void put_found(struct briefing *briefing, const char *verb,
                      const struct iso_reported_value *value,
                      const struct iso_reported_atom *writer, const char *committed)
{
    bool is_nothing = !value->is_list && (!value->count || value->elements[0] == ISO_ABSENT);
    if (!value->is_given)
        return;
    if (brief_is_named(writer))
        STEP(briefing,
             *committed ? "It %s %v, which transaction %a wrote and committed at %t%c."
                        : "It %s %v, which transaction %a wrote%s%c.",
             verb, value, writer, committed, writer);
    else
        STEP(briefing, "It %s %v%s.", verb, value,
             is_nothing ? "" : ", for which no writer is known");
}

/* ", as of just before 16": the moment that the read saw, or those from which it had a choice. */
static void put_moment(struct briefing *briefing)
{
    const struct iso_reported_moments *moments = &briefing->reported->moments;
    const char *from = moments->read_at, *until = moments->until;
    if (!*from)
        return;
    if (is(briefing->reported->head.level, iso_level_name(ISO_STALE_READS)))
        brief_put(briefing, ", as of %t or a moment before", from);
    else if (!moments->has_until || !strcmp(from, until))
        brief_put(briefing, ", as of %s%t", moments->inclusive ? "" : "just before ", from);
    else
        brief_put(briefing, *until ? ", as of a moment from %t to %t" : ", as of %t or later", from,
                  until);
}

/* "It read key x in its operation 2, as of 16." */
static void put_operation(struct briefing *briefing, bool is_named)
{
    const struct iso_reported *reported = briefing->reported;
    uint32_t step = here(briefing);
    if (!reported->location_count || reported->locations[0].operation == ISO_NONE)
        return;
    brief_put(briefing, is_named ? "It" : "Transaction %a%c", reported->tids, reported->tids);
    brief_put(briefing, " read %k in its operation %u", &reported->key,
              (uint64_t)reported->locations[0].operation + 1);
    put_moment(briefing);
    brief_put(briefing, ".");
    add_step(briefing, brief_end(briefing, step));
}

/* What values alone do not say, by the kind of the violation; with another transaction, %c: where
 * that is recorded. */
static const struct {
    const char *id, *text, *of_two;
} reasons[] = {
    {"EXT/missing-row", "The row was there and lies within the bounds of the row set.", NULL},
    {"EXT/extra-row", "The row was not there, or does not match.", NULL},
    {"EXT/aggregate", "The rows that were there and match give another value.", NULL},
    {"G1a", NULL, "Transaction %O wrote that, and did not commit%c."},
    {"G1b", NULL, "Transaction %O wrote that, and overwrote it before it committed%c."},
    {"THINAIR", "Nobody wrote that.", NULL},
    {"INCOMPATIBLE", "The list does not begin as it started, or contains an element too often.",
     "Transaction %O read a list of which neither is the beginning of the other%c."},
    {"LOSTUPDATE", NULL,
     "Transaction %O read the same version%c, and each of the two replaced it without the other."},
    {"TIMESTAMP/interval",
     "The rule is sts <= ots <= cts, and sts < cts where something is written.", NULL},
    {"TIMESTAMP/shared-cts", NULL, "Nothing says which of it and transaction %O comes first%c."},
    {"TIMESTAMP/cts-cycle", "It must come before and after others with the same cts.",
     "It must come before and after transaction %O, with the same cts%c."},
    {"SESSION", NULL, "Transaction %O came before it in its session, but not by the timestamps%c."},
};

static void put_reason(struct briefing *briefing, bool is_named)
{
    static const struct iso_reported_atom nobody = {NULL, ISO_ABSENT};
    const struct iso_reported *reported = briefing->reported;
    bool has_other = reported->tid_count > 1;
    char id[ISO_WRONG_ID];
    iso_wrong_id(briefing->brief->wrong, id);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (strcmp(reasons[i].id, id))
            continue;
        if (has_other && reasons[i].of_two)
            STEP(briefing, reasons[i].of_two, is_named ? &nobody : &reported->tids[1]);
        else if (reasons[i].text)
            STEP(briefing, reasons[i].text);
    }
}

static void put_read(struct briefing *briefing)
{
    const struct iso_reported *reported = briefing->reported;
    const struct iso_reported_moments *moments = &reported->moments;
    bool is_version = is(reported->kind, "stale") || is(reported->kind, "future"),
         is_own = is(reported->axiom, "INT"),
         is_nobodys =
             is(reported->kind, "uncommitted") && !brief_is_named(&reported->writer_actual);
    put_operation(briefing, put_times(briefing, reported->tids, &reported->own));
    if (is_own && !reported->expected.is_given)
        STEP(briefing, "It found %F, which is not what it had itself last read or written there.");
    else if (is_own)
        STEP(briefing, "What it had itself last read or written there: %E. It found %F.");
    else
        put_found(briefing, "had to find", &reported->expected, &reported->writer_expected,
                  moments->expected.cts);
    if (briefing->brief->wrong->argument == ISO_ARGUE_READ && !is_nobodys)
        put_found(briefing, "found", &reported->actual, &reported->writer_actual,
                  is_version ? moments->actual.cts : "");
    else if (is_nobodys)
        STEP(briefing,
             "It found %F, which nobody wrote: an unrecorded writer, or a missing --initial-file?");
    else if (!is_own)
        STEP(briefing, "It found %F.");
    put_reason(briefing, false);
}

static void put_times_apart(struct briefing *briefing)
{
    const struct iso_reported *reported = briefing->reported;
    bool has_other = reported->tid_count > 1;
    bool is_named =
        put_times(briefing, reported->tids, &reported->own) &&
        (!has_other || put_times(briefing, &reported->tids[1], &reported->moments.other));
    if (is(reported->axiom, "NOCONFLICT")) {
        STEP(briefing, "Transaction %a had not committed when %a began, and both wrote %k.",
             &reported->tids[has_other], reported->tids, &reported->key);
        STEP(briefing,
             "Snapshot isolation must abort one of two overlapping writers of the same key. "
             "Both committed.");
    }
    put_reason(briefing, is_named);
    if (reported->note) {
        uint32_t step = here(briefing);
        iso_text_put_shown(&briefing->brief->text, reported->note, strlen(reported->note));
        brief_put(briefing, ".");
        add_step(briefing, brief_end(briefing, step));
    }
}

/* What one transaction of a cycle did to the next; %k: the key. */
static const struct {
    const char *type, *text;
} edges[] = {
    {"so", "came earlier in its session than"},
    {"rt", "had ended, as clients saw it, before the begin of"},
    {"wr", "wrote %k and was read by"},
    {"ww", "wrote %k before"},
    {"rw", "read %k as it was before the write of"},
    {"implied", "comes, by what all possible writers share, before"},
};

static void put_edge(struct briefing *briefing, const struct iso_reported_edge *edge)
{
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
        uint32_t step = here(briefing);
        if (strcmp(edges[k].type, edge->type))
            continue;
        brief_put(briefing, "Transaction %a%c ", &edge->from, &edge->from);
        brief_put(briefing, edges[k].text, &edge->key);
        brief_put(briefing, " transaction %a (%s).", &edge->to, edge->type);
        add_step(briefing, brief_end(briefing, step));
    }
}

static void put_cycle(struct briefing *briefing)
{
    const struct iso_reported *reported = briefing->reported;
    uint32_t anti_dependencies = 0;
    for (uint32_t i = 0; i < reported->edge_count; i++) {
        anti_dependencies += !strcmp(reported->edges[i].type, "rw");
        put_edge(briefing, &reported->edges[i]);
    }
    STEP(briefing, "Each of them had to come before the next, and the last before the first.");
    if (anti_dependencies == 1 && !is(reported->kind, "G-single"))
        STEP(briefing, "By Adya's names that is G-single.");
    if (reported->guarantee)
        STEP(briefing, "Of a session's guarantees %t alone is broken.", reported->guarantee);
    if (reported->lemmas)
        STEP(briefing,
             "That rests on %u %s about the order of writes, which --evidence FILE lists.",
             reported->lemmas, reported->lemmas == 1 ? "conclusion" : "conclusions");
}

/* The sentences are an argument's, too. */
static void put_change(struct briefing *briefing)
{
    const struct explain_change *change = explain_change_of(briefing->reported->kind);
    put_times(briefing, briefing->reported->tids, &briefing->reported->own);
    STEP(briefing, change->first);
    STEP(briefing, change->second);
}

static void put_state(struct briefing *briefing)
{
    const struct iso_reported *reported = briefing->reported;
    const char *state = briefing->brief->state, *doubtful = reported->head.doubtful;
    if (is(state, "tentative"))
        STEP(briefing, "Tentative: what is still on its way may explain it.");
    else if (is(state, "retracted") && brief_is_named(&reported->cause))
        STEP(briefing, "Retracted: transaction %a, which arrived later, explains it.",
             &reported->cause);
    else if (is(state, "retracted"))
        STEP(briefing, "Retracted: what arrived later explains it.");
    else if (is(state, "final") && reported->head.by_deadline)
        STEP(
            briefing,
            "Final by its deadline: nothing that explains it has arrived. If it arrives later, this is "
            "retracted.");
    else if (is(state, "final"))
        STEP(briefing, "Final: nothing that may still arrive can change it.");
    if (doubtful && *doubtful)
        STEP(briefing, "This is doubtful: %s", iso_doubt(doubtful));
}

/* The text of a value that is one; NULL: it is a list, or nothing. */
static const char *text_of(const struct iso_reported_value *value, char buffer[ISO_ATOM_TEXT_MAX],
                           size_t *length)
{
    bool is_text = value->is_given && !value->is_list && value->elements[0] != ISO_ABSENT;
    return is_text ? iso_atom_text(value->atoms, value->elements[0], buffer, length) : NULL;
}

/* Where the two values differ. */
static void put_difference(struct briefing *briefing)
{
    char buffers[2][ISO_ATOM_TEXT_MAX];
    size_t lengths[2];
    uint32_t step = here(briefing);
    const char *expected = text_of(&briefing->reported->expected, buffers[0], &lengths[0]);
    const char *actual = text_of(&briefing->reported->actual, buffers[1], &lengths[1]);
    if (expected && actual &&
        explain_put_difference(&briefing->brief->text, expected, lengths[0], actual, lengths[1]))
        add_step(briefing, brief_end(briefing, step));
}

/* "Recorded in txns[2] offset 944, h.jsonl:7.", unless that is said beside each name. */
static void put_locations(struct briefing *briefing)
{
    const struct iso_reported *reported = briefing->reported;
    uint32_t step = here(briefing);
    if (!reported->location_count || (reported->commit_count && reported->commits[0].words))
        return;
    for (uint32_t i = 0; i < reported->location_count; i++) {
        const struct iso_reported_location *location = &reported->locations[i];
        brief_put(briefing, i ? ", " : "Recorded in ");
        argue_put_text(&briefing->brief->text, location->name ? location->name : "",
                       location->length);
        if (location->is_message)
            brief_put(briefing, "[%u] offset %u", location->partition, location->position);
        else
            brief_put(briefing, ":%u", location->position);
    }
    brief_put(briefing, ".");
    add_step(briefing, brief_end(briefing, step));
}

static uint32_t put_title(struct briefing *briefing)
{
    const struct iso_reported *reported = briefing->reported;
    const struct iso_wrong *wrong = briefing->brief->wrong;
    uint32_t title = here(briefing);
    const char *name = iso_wrong_name(wrong, brief_is_named(&reported->writer_actual));
    brief_put(briefing, "%s", name);
    if (reported->key.atoms && wrong->argument != ISO_ARGUE_ORDER)
        brief_put(briefing, name == wrong->name ? " of %k" : ": %k", &reported->key);
    brief_put(briefing, reported->tid_count > 1 ? " by transactions " : " by transaction ");
    for (uint32_t i = 0; i < reported->tid_count; i++)
        brief_put(briefing, i ? ", %a" : "%a", &reported->tids[i]);
    return brief_end(briefing, title);
}

static void put_all(struct briefing *briefing)
{
    static void (*const ways[])(struct briefing *) = {[ISO_ARGUE_READ] = put_read,
                                                      [ISO_ARGUE_OWN] = put_read,
                                                      [ISO_ARGUE_TIMES] = put_times_apart,
                                                      [ISO_ARGUE_CHANGES] = put_change,
                                                      [ISO_ARGUE_ORDER] = put_cycle};
    struct iso_brief *brief = briefing->brief;
    brief->title = put_title(briefing);
    ways[brief->wrong->argument](briefing);
    put_difference(briefing);
    brief_draw_line(briefing);
    put_locations(briefing);
    if (!brief->step_count)
        STEP(briefing, ISO_CLAIMS_NO_MORE);
    put_state(briefing);
}

/* ---- the whole ---- */

bool iso_brief_of(struct iso_brief *brief, const struct iso_reported *reported)
{
    struct briefing briefing = {.brief = brief, .reported = reported};
    const struct iso_reported_head *head = &reported->head;
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text key = {0};
    /* INT has kinds only where a query is judged, and is one kind of violation all the same */
    const char *axiom = reported->axiom ? reported->axiom : "",
               *kind = is(axiom, "INT") ? "" : reported->kind;
    *brief = (struct iso_brief){.wrong = iso_wrong_find(axiom, kind && *kind ? kind : NULL)};
    snprintf(brief->id, sizeof brief->id, "%s", head->id ? head->id : "");
    snprintf(brief->state, sizeof brief->state, "%s", head->state ? head->state : "");
    if (!brief->wrong || !reported->tid_count)
        return false;
    if (brief_is_named(&reported->key))
        key.at = iso_atom_text(reported->key.atoms, reported->key.atom, buffer, &key.length);
    briefing.is_cell = key.length && explain_is_cell(key);
    put_all(&briefing);
    return true;
}

/* Calls `take` with the violation that the line says; false if it says none. */
static bool read_line(const char *line, size_t length,
                      bool (*take)(void *context, const struct iso_reported *reported),
                      void *context)
{
    struct iso_reported_sink sink = {.violation = take, .context = context};
    struct iso_reported_object object;
    struct iso_text padded = {0};
    struct iso_atoms atoms;
    iso_atoms_init(&atoms);
    iso_text_put_bytes(&padded, line, length);
    memset(iso_text_reserve(&padded, ISO_JSON_PADDING), 0, ISO_JSON_PADDING);
    struct iso_reported_reader *reader = iso_reported_reader_new(&atoms, &sink);
    iso_json_start(iso_reported_json(reader), padded.bytes, length);
    bool is_violation = iso_reported_read(reader, &object) && object.is_violation &&
                        iso_json_finish(iso_reported_json(reader));
    iso_reported_reader_free(reader);
    iso_atoms_release(&atoms);
    iso_text_release(&padded);
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
    if (read_line(line, length, take_violation, &from) && from.is_violation)
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
    iso_text_format(text, "  %s:\n", brief->text.bytes + brief->line_title);
    for (uint32_t i = 0; i < brief->row_count; i++) {
        const struct iso_brief_row *row = &brief->rows[i];
        const char *when = brief->text.bytes + row->when;
        iso_text_put(text, "    ");
        for (size_t pad = strlen(when); pad < width; pad++)
            iso_text_put(text, " ");
        iso_text_format(text, "%s  | %s%s", when, brief->text.bytes + row->what,
                        row->mark == ISO_MARK_EXPECTED ? "  <- expected\n"
                        : row->mark == ISO_MARK_ACTUAL ? "  <- found\n"
                                                       : "\n");
    }
}

void iso_brief_text(const struct iso_brief *brief, struct iso_text *text)
{
    char name[ISO_WRONG_ID];
    iso_wrong_id(brief->wrong, name);
    iso_text_format(text, "%s: %s%s%s%s", name, brief->text.bytes + brief->title,
                    brief->id[0] ? " [" : "", brief->id, brief->id[0] ? "]\n" : "\n");
    for (uint32_t i = 0; i < brief->step_count; i++)
        iso_text_format(text, "  - %s\n", brief->text.bytes + brief->steps[i]);
    if (brief->row_count)
        put_rows(brief, text);
    iso_text_format(text, "  For an application: %s\n\n", brief->wrong->meaning);
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
    return read_line(line, length, take_unlisted, text) && text->used > before;
}
