/* From a verdict line to what its words need: texts as a person reads them. */
#include <stdio.h>
#include <string.h>

#include "explain/argument_private.h"
#include "explain/brief_private.h"
#include "explain/difference.h"
#include "verdict/reported.h"

static uint32_t end_text(struct told *told, uint32_t place)
{
    iso_text_put_bytes(&told->text, "", 1);
    return place;
}

static uint32_t add_text(struct told *told, const char *text, size_t length)
{
    uint32_t place = (uint32_t)told->text.used;
    argue_say_text(&told->text, text, length);
    return end_text(told, place);
}

/* Empty: not said. */
static uint32_t add_stamp(struct told *told, const char *stamp)
{
    return *stamp ? add_text(told, stamp, strlen(stamp)) : 0;
}

static uint32_t add_atom(struct told *told, const struct iso_reported_atom *atom)
{
    uint32_t place = (uint32_t)told->text.used;
    argue_say_atom(&told->text, atom->atoms, atom->atom);
    return end_text(told, place);
}

/* null is no name. */
static uint32_t add_name(struct told *told, const struct iso_reported_atom *name)
{
    return name->atoms && name->atom != ISO_ABSENT ? add_atom(told, name) : 0;
}

static uint32_t add_value(struct told *told, const struct iso_reported_value *value)
{
    uint32_t place = (uint32_t)told->text.used;
    if (!value->is_given)
        return 0;
    if (value->is_list)
        argue_say_list(&told->text, value->atoms, value->elements, value->count);
    else
        argue_say_atom(&told->text, value->atoms, value->count ? value->elements[0] : ISO_ABSENT);
    return end_text(told, place);
}

/* The text of a value that is one; NULL: it is a list, or nothing. */
static const char *text_of(const struct iso_reported_value *value, char buffer[ISO_ATOM_TEXT_MAX], size_t *length)
{
    bool is_text = value->is_given && !value->is_list && value->elements[0] != ISO_ABSENT;
    return is_text ? iso_atom_text(value->atoms, value->elements[0], buffer, length) : NULL;
}

/* Where the two differ. */
static void compare(struct told *told, const struct iso_reported *reported)
{
    char buffers[2][ISO_ATOM_TEXT_MAX];
    size_t lengths[2];
    uint32_t place = (uint32_t)told->text.used;
    const char *expected = text_of(&reported->expected, buffers[0], &lengths[0]);
    const char *actual = text_of(&reported->actual, buffers[1], &lengths[1]);
    if (expected && actual && explain_say_difference(&told->text, expected, lengths[0], actual, lengths[1]))
        told->difference = end_text(told, place);
}

static void add_tids(struct told *told, const struct iso_reported *reported)
{
    if (reported->tid_count)
        told->tid = add_atom(told, &reported->tids[0]);
    if (reported->tid_count > 1)
        told->other = add_atom(told, &reported->tids[1]);
    told->tids = (uint32_t)told->text.used;
    for (uint32_t i = 0; i < reported->tid_count; i++) {
        iso_text_put(&told->text, i ? ", " : "");
        argue_say_atom(&told->text, reported->tids[i].atoms, reported->tids[i].atom);
    }
    end_text(told, told->tids);
}

/* "txns[2] offset 944" or "h.jsonl:7", behind the others. */
static void put_place(struct told *told, const struct iso_reported_place *place)
{
    argue_say_text(&told->text, place->name ? place->name : "", place->length);
    iso_text_put(&told->text, place->is_message ? "[" : ":");
    iso_text_put_unsigned(&told->text, place->is_message ? place->partition : place->position);
    if (!place->is_message)
        return;
    iso_text_put(&told->text, "] offset ");
    iso_text_put_unsigned(&told->text, place->position);
}

static void add_places(struct told *told, const struct iso_reported *reported)
{
    uint32_t first = (uint32_t)told->text.used;
    if (!reported->place_count)
        return;
    for (uint32_t i = 0; i < reported->place_count; i++) {
        iso_text_put(&told->text, i ? ", " : "");
        put_place(told, &reported->places[i]);
    }
    told->places = end_text(told, first);
    told->has_operation = reported->places[0].operation != ISO_NONE;
    told->operation = reported->places[0].operation;
}

static struct told_times add_times(struct told *told, const struct iso_reported_times *times)
{
    return (struct told_times){add_stamp(told, times->sts), add_stamp(told, times->cts)};
}

/* One commit: " (xid 748, LSN 0/19282C0, 2026-01-02T03:04:05.678Z)". */
static void add_commit(struct told *told, const struct iso_reported_commit *commit)
{
    const char *const texts[] = {commit->xid, commit->lsn, commit->time}, *const before[] = {"xid ", "LSN ", ""};
    struct told_commit added = {add_name(told, &commit->tid), (uint32_t)told->text.used};
    bool any = false;
    for (int i = 0; i < 3; i++) {
        if (!*texts[i])
            continue;
        iso_text_put(&told->text, any ? ", " : " (");
        iso_text_put(&told->text, before[i]);
        argue_say_text(&told->text, texts[i], strlen(texts[i]));
        any = true;
    }
    iso_text_put(&told->text, any ? ")" : "");
    end_text(told, 0);
    if (added.tid && any && told->commit_count < TOLD_COMMITS)
        told->commits[told->commit_count++] = added;
}

const char *told_commit(const struct told *told, uint32_t tid)
{
    for (uint32_t i = 0; tid && i < told->commit_count; i++)
        if (!strcmp(told_at(told, told->commits[i].tid), told_at(told, tid)))
            return told_at(told, told->commits[i].words);
    return "";
}

static void add_words(struct told *told, struct iso_brief *brief, const struct iso_reported *reported)
{
    const struct iso_reported_head *head = &reported->head;
    const struct {
        char *word;
        size_t size;
        const char *said;
    } words[] = {{told->axiom, sizeof told->axiom, reported->axiom},
                 {told->kind, sizeof told->kind, reported->kind},
                 {told->doubtful, sizeof told->doubtful, head->doubtful},
                 {told->level, sizeof told->level, head->level},
                 {brief->id, sizeof brief->id, head->id},
                 {brief->state, sizeof brief->state, head->state}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        snprintf(words[i].word, words[i].size, "%s", words[i].said ? words[i].said : "");
    told->by_deadline = head->by_deadline;
}

/* What the line leaves unsaid has place 0. */
static void add_all(struct told *told, const struct iso_reported *reported)
{
    add_tids(told, reported);
    told->key = reported->key.atoms ? add_atom(told, &reported->key) : 0;
    told->session = reported->session.atoms ? add_atom(told, &reported->session) : 0;
    told->count = reported->count;
    told->expected = add_value(told, &reported->expected);
    told->actual = add_value(told, &reported->actual);
    compare(told, reported);
    told->writer_expected = add_name(told, &reported->writer_expected);
    told->writer_actual = add_name(told, &reported->writer_actual);
    told->cause = add_name(told, &reported->cause);
    told->note = reported->note ? add_text(told, reported->note, strlen(reported->note)) : 0;
    told->own = add_times(told, &reported->own);
    told->of_expected = add_times(told, &reported->moments.expected);
    told->of_actual = add_times(told, &reported->moments.actual);
    told->of_other = add_times(told, &reported->moments.other);
    told->look = add_stamp(told, reported->moments.look);
    told->inclusive = reported->moments.inclusive;
    for (uint32_t i = 0; i < reported->commit_count; i++)
        add_commit(told, &reported->commits[i]);
    add_places(told, reported);
}

struct taking {
    struct told *told;
    struct iso_brief *brief;
};

static bool take_violation(void *context, const struct iso_reported *reported)
{
    const struct taking *taking = context;
    add_words(taking->told, taking->brief, reported);
    add_all(taking->told, reported);
    return true;
}

void brief_read_release(struct told *told)
{
    iso_text_release(&told->text);
}

bool brief_read(struct told *told, struct iso_brief *brief, const char *line, size_t length)
{
    struct taking taking = {told, brief};
    struct iso_reported_sink sink = {.violation = take_violation, .context = &taking};
    struct iso_reported_object object;
    struct iso_atoms atoms;
    iso_atoms_init(&atoms);
    iso_text_put_bytes(&told->text, "", 1); /* place 0 */
    struct iso_reported_reader *reader = iso_reported_reader_new(&atoms, &sink);
    iso_json_start(iso_reported_json(reader), line, length);
    bool is_object =
        iso_reported_read(reader, &object) && object.is_violation && iso_json_finish(iso_reported_json(reader));
    iso_reported_reader_free(reader);
    iso_atoms_release(&atoms);
    if (!is_object)
        return false;
    brief->wrong = iso_wrong_find(told->axiom, told->kind[0] ? told->kind : NULL);
    return brief->wrong && told->tid;
}
