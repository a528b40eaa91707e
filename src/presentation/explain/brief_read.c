/* From a reported violation to what its words need: texts as a person reads them. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/shown.h"
#include "explain/argument_private.h"
#include "explain/brief_private.h"
#include "explain/words.h"

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

/* Not as a name, which stands in quotes where it has spaces. */
static uint32_t add_sentence(struct line_parts *parts, const char *sentence)
{
    uint32_t offset = (uint32_t)parts->text.used;
    if (!sentence)
        return 0;
    iso_text_put_shown(&parts->text, sentence, strlen(sentence));
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

/* A column without a value is NULL. */
static uint32_t add_value(struct line_parts *parts, const struct iso_reported_value *value,
                          bool is_cell)
{
    uint32_t offset = (uint32_t)parts->text.used;
    bool is_absent = !value->count || value->elements[0] == ISO_ABSENT;
    if (!value->is_given)
        return 0;
    if (value->is_list)
        argue_put_list(&parts->text, value->atoms, value->elements, value->count);
    else if (is_absent && is_cell)
        iso_text_put(&parts->text, "NULL");
    else
        argue_put_atom(&parts->text, value->atoms, is_absent ? ISO_ABSENT : value->elements[0]);
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
    /* words say it beside each name */
    bool is_said = reported->commit_count && reported->commits[0].words;
    end_text(parts, first);
    parts->locations = is_said ? 0 : first;
    parts->has_operation = reported->locations[0].operation != ISO_NONE;
    parts->operation = reported->locations[0].operation;
}

static struct line_times add_times(struct line_parts *parts, const struct iso_reported_times *times)
{
    return (struct line_times){add_stamp(parts, times->sts), add_stamp(parts, times->cts)};
}

/* One commit: " (session 3, h.jsonl:7, xid 748, LSN 0/19282C0, 2026-01-02T03:04:05.678Z)". */
static void add_commit(struct line_parts *parts, const struct iso_reported_commit *commit)
{
    const char *const texts[] = {commit->xid, commit->lsn, commit->time}, *const before[] = {
                                                                              "xid ", "LSN ", ""};
    struct line_commit added = {add_name(parts, &commit->tid), (uint32_t)parts->text.used};
    bool any = commit->words;
    iso_text_put(&parts->text, any ? " (" : "");
    iso_text_put(&parts->text, any ? commit->words : "");
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
    if (!added.tid || !any)
        return;
    ISO_APPEND(parts->commits, added);
}

static struct iso_json_text key_of(const struct iso_reported_atom *key,
                                   char buffer[ISO_ATOM_TEXT_MAX])
{
    struct iso_json_text name;
    name.at = iso_atom_text(key->atoms, key->atom, buffer, &name.length);
    return name;
}

static void add_edge(struct line_parts *parts, const struct iso_reported_edge *from)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct line_edge edge = {.from = add_name(parts, &from->from),
                             .to = add_name(parts, &from->to)};
    snprintf(edge.type, sizeof edge.type, "%s", from->type);
    if (from->key.atoms) {
        edge.key = (uint32_t)parts->text.used;
        explain_put_key(&parts->text, key_of(&from->key, buffer), argue_put_text);
        end_text(parts, edge.key);
    }
    ISO_APPEND(parts->edges, edge);
}

const char *line_commit(const struct line_parts *parts, uint32_t tid)
{
    for (uint32_t i = 0; tid && i < parts->commits.count; i++)
        if (!strcmp(line_text(parts, parts->commits.list[i].tid), line_text(parts, tid)))
            return line_text(parts, parts->commits.list[i].words);
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

/* A member that is not said has offset 0. */
static void add_all(struct line_parts *parts, const struct iso_reported *reported)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    bool is_cell = reported->key.atoms && explain_is_cell(key_of(&reported->key, buffer));
    add_tids(parts, reported);
    parts->key = reported->key.atoms ? add_atom(parts, &reported->key) : 0;
    parts->session = reported->session.atoms ? add_atom(parts, &reported->session) : 0;
    parts->count = reported->count;
    parts->expected = add_value(parts, &reported->expected, is_cell);
    parts->actual = add_value(parts, &reported->actual, is_cell);
    compare(parts, reported);
    parts->writer_expected = add_name(parts, &reported->writer_expected);
    parts->writer_actual = add_name(parts, &reported->writer_actual);
    parts->cause = add_name(parts, &reported->cause);
    parts->note = add_sentence(parts, reported->note);
    parts->guarantee = add_stamp(parts, reported->guarantee ? reported->guarantee : "");
    parts->own = add_times(parts, &reported->own);
    parts->of_expected = add_times(parts, &reported->moments.expected);
    parts->of_actual = add_times(parts, &reported->moments.actual);
    parts->of_other = add_times(parts, &reported->moments.other);
    parts->moment.first = add_stamp(parts, reported->moments.read_at);
    parts->moment.inclusive = reported->moments.inclusive;
    parts->moment.has_last = reported->moments.has_until;
    parts->moment.last = add_stamp(parts, reported->moments.until);
    parts->lemmas = reported->lemmas;
    for (uint32_t i = 0; i < reported->edge_count; i++)
        add_edge(parts, &reported->edges[i]);
    for (uint32_t i = 0; i < reported->commit_count; i++)
        add_commit(parts, &reported->commits[i]);
    add_locations(parts, reported);
}

bool brief_take(struct line_parts *parts, struct iso_brief *brief,
                const struct iso_reported *reported)
{
    iso_text_put_bytes(&parts->text, "", 1); /* offset 0 */
    add_words(parts, brief, reported);
    add_all(parts, reported);
    /* INT has kinds only where a query is judged, and is one kind of violation all the same */
    bool has_kind = parts->kind[0] && strcmp(parts->axiom, "INT");
    brief->wrong = iso_wrong_find(parts->axiom, has_kind ? parts->kind : NULL);
    return brief->wrong && parts->tid;
}

void brief_read_release(struct line_parts *parts)
{
    iso_text_release(&parts->text);
    ISO_FREE_ALL(parts->commits.list, parts->edges.list);
}

bool brief_read_line(const char *line, size_t length,
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
