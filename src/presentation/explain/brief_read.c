/* From a verdict line to what its words need: texts as a person reads them. */
#include <stdio.h>
#include <string.h>

#include "explain/argument_private.h"
#include "explain/brief_private.h"
#include "explain/difference.h"
#include "verdict/reported.h"

static uint32_t end_text(struct line_parts *parts, uint32_t offset)
{
    iso_text_put_bytes(&parts->text, "", 1);
    return offset;
}

static uint32_t add_text(struct line_parts *parts, const char *text, size_t length)
{
    uint32_t offset = (uint32_t)parts->text.used;
    argue_put_text(&parts->text, text, length);
    return end_text(parts, offset);
}

/* Empty: not said. */
static uint32_t add_stamp(struct line_parts *parts, const char *stamp)
{
    return *stamp ? add_text(parts, stamp, strlen(stamp)) : 0;
}

static uint32_t add_atom(struct line_parts *parts, const struct iso_reported_atom *atom)
{
    uint32_t offset = (uint32_t)parts->text.used;
    argue_put_atom(&parts->text, atom->atoms, atom->atom);
    return end_text(parts, offset);
}

/* null is no name. */
static uint32_t add_name(struct line_parts *parts, const struct iso_reported_atom *name)
{
    return name->atoms && name->atom != ISO_ABSENT ? add_atom(parts, name) : 0;
}

static uint32_t add_value(struct line_parts *parts, const struct iso_reported_value *value)
{
    uint32_t offset = (uint32_t)parts->text.used;
    if (!value->is_given)
        return 0;
    if (value->is_list)
        argue_put_list(&parts->text, value->atoms, value->elements, value->count);
    else
        argue_put_atom(&parts->text, value->atoms, value->count ? value->elements[0] : ISO_ABSENT);
    return end_text(parts, offset);
}

/* The text of a value that is one; NULL: it is a list, or nothing. */
static const char *text_of(const struct iso_reported_value *value, char buffer[ISO_ATOM_TEXT_MAX],
                           size_t *length)
{
    bool is_text = value->is_given && !value->is_list && value->elements[0] != ISO_ABSENT;
    return is_text ? iso_atom_text(value->atoms, value->elements[0], buffer, length) : NULL;
}

/* Where the two differ. */
static void compare(struct line_parts *parts, const struct iso_reported *reported)
{
    char buffers[2][ISO_ATOM_TEXT_MAX];
    size_t lengths[2];
    uint32_t offset = (uint32_t)parts->text.used;
    const char *expected = text_of(&reported->expected, buffers[0], &lengths[0]);
    const char *actual = text_of(&reported->actual, buffers[1], &lengths[1]);
    if (expected && actual &&
        explain_put_difference(&parts->text, expected, lengths[0], actual, lengths[1]))
        parts->difference = end_text(parts, offset);
}

static void add_tids(struct line_parts *parts, const struct iso_reported *reported)
{
    if (reported->tid_count)
        parts->tid = add_atom(parts, &reported->tids[0]);
    if (reported->tid_count > 1)
        parts->other = add_atom(parts, &reported->tids[1]);
    parts->tids = (uint32_t)parts->text.used;
    for (uint32_t i = 0; i < reported->tid_count; i++) {
        iso_text_put(&parts->text, i ? ", " : "");
        argue_put_atom(&parts->text, reported->tids[i].atoms, reported->tids[i].atom);
    }
    end_text(parts, parts->tids);
}

/* "txns[2] offset 944" or "h.jsonl:7", behind the others. */
static void put_location(struct line_parts *parts, const struct iso_reported_location *location)
{
    argue_put_text(&parts->text, location->name ? location->name : "", location->length);
    iso_text_put(&parts->text, location->is_message ? "[" : ":");
    iso_text_put_unsigned(&parts->text,
                          location->is_message ? location->partition : location->position);
    if (!location->is_message)
        return;
    iso_text_put(&parts->text, "] offset ");
    iso_text_put_unsigned(&parts->text, location->position);
}

static void add_locations(struct line_parts *parts, const struct iso_reported *reported)
{
    uint32_t first = (uint32_t)parts->text.used;
    if (!reported->location_count)
        return;
    for (uint32_t i = 0; i < reported->location_count; i++) {
        iso_text_put(&parts->text, i ? ", " : "");
        put_location(parts, &reported->locations[i]);
    }
    parts->locations = end_text(parts, first);
    parts->has_operation = reported->locations[0].operation != ISO_NONE;
    parts->operation = reported->locations[0].operation;
}

static struct line_times add_times(struct line_parts *parts, const struct iso_reported_times *times)
{
    return (struct line_times){add_stamp(parts, times->sts), add_stamp(parts, times->cts)};
}

/* One commit: " (xid 748, LSN 0/19282C0, 2026-01-02T03:04:05.678Z)". */
static void add_commit(struct line_parts *parts, const struct iso_reported_commit *commit)
{
    const char *const texts[] = {commit->xid, commit->lsn, commit->time}, *const before[] = {
                                                                              "xid ", "LSN ", ""};
    struct line_commit added = {add_name(parts, &commit->tid), (uint32_t)parts->text.used};
    bool any = false;
    for (int i = 0; i < 3; i++) {
        if (!*texts[i])
            continue;
        iso_text_put(&parts->text, any ? ", " : " (");
        iso_text_put(&parts->text, before[i]);
        argue_put_text(&parts->text, texts[i], strlen(texts[i]));
        any = true;
    }
    iso_text_put(&parts->text, any ? ")" : "");
    end_text(parts, 0);
    if (added.tid && any && parts->commit_count < LINE_COMMITS)
        parts->commits[parts->commit_count++] = added;
}

const char *line_commit(const struct line_parts *parts, uint32_t tid)
{
    for (uint32_t i = 0; tid && i < parts->commit_count; i++)
        if (!strcmp(line_text(parts, parts->commits[i].tid), line_text(parts, tid)))
            return line_text(parts, parts->commits[i].words);
    return "";
}

static void add_words(struct line_parts *parts, struct iso_brief *brief,
                      const struct iso_reported *reported)
{
    const struct iso_reported_head *head = &reported->head;
    const struct {
        char *word;
        size_t size;
        const char *said;
    } words[] = {{parts->axiom, sizeof parts->axiom, reported->axiom},
                 {parts->kind, sizeof parts->kind, reported->kind},
                 {parts->doubtful, sizeof parts->doubtful, head->doubtful},
                 {parts->level, sizeof parts->level, head->level},
                 {brief->id, sizeof brief->id, head->id},
                 {brief->state, sizeof brief->state, head->state}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        snprintf(words[i].word, words[i].size, "%s", words[i].said ? words[i].said : "");
    parts->by_deadline = head->by_deadline;
}

/* Takes the line apart; a member that it lacks has offset 0. */
static void add_all(struct line_parts *parts, const struct iso_reported *reported)
{
    add_tids(parts, reported);
    parts->key = reported->key.atoms ? add_atom(parts, &reported->key) : 0;
    parts->session = reported->session.atoms ? add_atom(parts, &reported->session) : 0;
    parts->count = reported->count;
    parts->expected = add_value(parts, &reported->expected);
    parts->actual = add_value(parts, &reported->actual);
    compare(parts, reported);
    parts->writer_expected = add_name(parts, &reported->writer_expected);
    parts->writer_actual = add_name(parts, &reported->writer_actual);
    parts->cause = add_name(parts, &reported->cause);
    parts->note = reported->note ? add_text(parts, reported->note, strlen(reported->note)) : 0;
    parts->own = add_times(parts, &reported->own);
    parts->of_expected = add_times(parts, &reported->moments.expected);
    parts->of_actual = add_times(parts, &reported->moments.actual);
    parts->of_other = add_times(parts, &reported->moments.other);
    parts->read_at = add_stamp(parts, reported->moments.read_at);
    parts->inclusive = reported->moments.inclusive;
    for (uint32_t i = 0; i < reported->commit_count; i++)
        add_commit(parts, &reported->commits[i]);
    add_locations(parts, reported);
}

struct taking {
    struct line_parts *parts;
    struct iso_brief *brief;
};

static bool take_violation(void *context, const struct iso_reported *reported)
{
    const struct taking *taking = context;
    add_words(taking->parts, taking->brief, reported);
    add_all(taking->parts, reported);
    return true;
}

void brief_read_release(struct line_parts *parts)
{
    iso_text_release(&parts->text);
}

bool brief_read(struct line_parts *parts, struct iso_brief *brief, const char *line, size_t length)
{
    struct taking taking = {parts, brief};
    struct iso_reported_sink sink = {.violation = take_violation, .context = &taking};
    struct iso_reported_object object;
    struct iso_atoms atoms;
    iso_atoms_init(&atoms);
    iso_text_put_bytes(&parts->text, "", 1); /* offset 0 */
    struct iso_reported_reader *reader = iso_reported_reader_new(&atoms, &sink);
    iso_json_start(iso_reported_json(reader), line, length);
    bool is_object = iso_reported_read(reader, &object) && object.is_violation &&
                     iso_json_finish(iso_reported_json(reader));
    iso_reported_reader_free(reader);
    iso_atoms_release(&atoms);
    if (!is_object)
        return false;
    brief->wrong = iso_wrong_find(parts->axiom, parts->kind[0] ? parts->kind : NULL);
    return brief->wrong && parts->tid;
}
