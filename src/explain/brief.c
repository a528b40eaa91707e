#include "explain/brief.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/json.h"
#include "explain/argument_private.h"

/* What the line says, as texts in `text` that end in NUL; 0: not said, or null. */
struct told {
    struct iso_json json;
    struct iso_text text;
    char axiom[16], kind[20], by[12], doubtful[20];
    uint32_t tids, tid, other; /* all of them with commas, the first, the second */
    uint32_t key, expected, actual, writer_expected, writer_actual, sts, cts, cause, note, places;
    bool has_operation;
    uint64_t operation; /* of the first place */
};

/* ---- reading the line ---- */

/* A word of the verdict's own vocabulary; another is none. */
static void read_word(struct told *told, char *word, size_t size)
{
    struct iso_json_text text;
    if (iso_json_peek(&told->json) != ISO_JSON_STRING)
        iso_json_skip(&told->json);
    else if (iso_json_string(&told->json, &text) && text.length < size && !memchr(text.at, 0, text.length))
        snprintf(word, size, "%.*s", (int)text.length, text.at);
}

/* One value at the end of a text. */
static void put_scalar(struct told *told, struct iso_text *text)
{
    struct iso_json_text string;
    const char *first;
    switch (iso_json_peek(&told->json)) {
    case ISO_JSON_STRING:
        if (iso_json_string(&told->json, &string))
            argue_say_text(text, string.at, string.length);
        break;
    case ISO_JSON_DIGITS:
        first = told->json.at;
        if (iso_json_skip(&told->json))
            argue_say_text(text, first, (size_t)(told->json.at - first));
        break;
    default:
        iso_json_skip(&told->json);
        iso_text_put(text, "nothing");
    }
}

/* Of a long list the last elements. */
static void put_list(struct told *told)
{
    enum { SHOWN = 20 };
    struct iso_text list = {0};
    size_t starts[SHOWN];
    uint64_t count = 0;
    iso_json_enter_array(&told->json);
    for (; !told->json.code && iso_json_element(&told->json); count++) {
        if (count)
            iso_text_put(&list, ", ");
        starts[count % SHOWN] = list.used;
        put_scalar(told, &list);
    }
    iso_text_put(&told->text, "[");
    if (count > SHOWN) {
        iso_text_put(&told->text, "... ");
        iso_text_put_unsigned(&told->text, count - SHOWN);
        iso_text_put(&told->text, " more, ");
    }
    size_t from = count > SHOWN ? starts[count % SHOWN] : 0;
    if (list.used)
        iso_text_put_bytes(&told->text, list.bytes + from, list.used - from);
    iso_text_put(&told->text, "]");
    iso_text_release(&list);
}

static uint32_t end_text(struct told *told, uint32_t place)
{
    iso_text_put_bytes(&told->text, "", 1);
    return place;
}

static uint32_t read_value(struct told *told)
{
    uint32_t place = (uint32_t)told->text.used;
    if (iso_json_peek(&told->json) == ISO_JSON_ARRAY)
        put_list(told);
    else
        put_scalar(told, &told->text);
    return end_text(told, place);
}

/* A name or a timestamp: null is none. */
static uint32_t read_name(struct told *told)
{
    if (iso_json_peek(&told->json) != ISO_JSON_NULL)
        return read_value(told);
    iso_json_null(&told->json);
    return 0;
}

static void read_tids(struct told *told)
{
    struct iso_text all = {0};
    uint32_t count = 0;
    iso_json_enter_array(&told->json);
    for (; !told->json.code && iso_json_element(&told->json); count++) {
        uint32_t tid = read_value(told);
        iso_text_put(&all, count ? ", " : "");
        iso_text_put(&all, told->text.bytes + tid);
        if (count < 2)
            *(count ? &told->other : &told->tid) = tid;
    }
    told->tids = (uint32_t)told->text.used;
    iso_text_put_bytes(&told->text, all.bytes, all.used);
    end_text(told, told->tids);
    iso_text_release(&all);
}

static uint64_t read_number(struct told *told)
{
    struct iso_json_number number = {0};
    iso_json_integer(&told->json, &number);
    return number.bits;
}

/* "txns[2] offset 944" or "h.jsonl:7", behind the others. */
static void put_place(struct told *told, bool is_first)
{
    struct iso_json_text name, file = {"", 0}, topic = {NULL, 0};
    uint64_t partition = 0, place = 0;
    iso_json_enter_object(&told->json);
    while (!told->json.code && iso_json_member(&told->json, &name)) {
        if (iso_json_is(&name, "file")) {
            iso_json_string(&told->json, &file);
        } else if (iso_json_is(&name, "topic")) {
            iso_json_string(&told->json, &topic);
        } else if (iso_json_is(&name, "partition")) {
            partition = read_number(told);
        } else if (iso_json_is(&name, "offset") || iso_json_is(&name, "line")) {
            place = read_number(told);
        } else if (iso_json_is(&name, "op") && is_first) {
            told->operation = read_number(told);
            told->has_operation = true;
        } else {
            iso_json_skip(&told->json);
        }
    }
    iso_text_put(&told->text, is_first ? "" : ", ");
    argue_say_text(&told->text, topic.at ? topic.at : file.at, topic.at ? topic.length : file.length);
    iso_text_put(&told->text, topic.at ? "[" : ":");
    iso_text_put_unsigned(&told->text, topic.at ? partition : place);
    iso_text_put(&told->text, topic.at ? "] offset " : "");
    if (topic.at)
        iso_text_put_unsigned(&told->text, place);
}

static uint32_t read_places(struct told *told)
{
    uint32_t place = (uint32_t)told->text.used;
    iso_json_enter_array(&told->json);
    while (!told->json.code && iso_json_element(&told->json))
        put_place(told, told->text.used == place);
    return told->text.used > place ? end_text(told, place) : 0;
}

static void read_member(struct told *told, struct iso_brief *brief, const struct iso_json_text *name)
{
    const struct {
        const char *name;
        char *word;
        size_t size;
    } words[] = {{"axiom", told->axiom, sizeof told->axiom},          {"kind", told->kind, sizeof told->kind},
                 {"anomaly", told->kind, sizeof told->kind},          {"by", told->by, sizeof told->by},
                 {"doubtful", told->doubtful, sizeof told->doubtful}, {"id", brief->id, sizeof brief->id},
                 {"state", brief->state, sizeof brief->state}};
    const struct {
        const char *name;
        uint32_t *place;
        uint32_t (*read)(struct told *told);
    } texts[] = {{"key", &told->key, read_value},
                 {"expected", &told->expected, read_value},
                 {"actual", &told->actual, read_value},
                 {"writer_expected", &told->writer_expected, read_name},
                 {"writer_actual", &told->writer_actual, read_name},
                 {"sts", &told->sts, read_name},
                 {"cts", &told->cts, read_name},
                 {"cause", &told->cause, read_name},
                 {"note", &told->note, read_name},
                 {"at", &told->places, read_places}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (iso_json_is(name, words[i].name)) {
            read_word(told, words[i].word, words[i].size);
            return;
        }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (iso_json_is(name, texts[i].name)) {
            *texts[i].place = texts[i].read(told);
            return;
        }
    if (iso_json_is(name, "tids"))
        read_tids(told);
    else
        iso_json_skip(&told->json);
}

static bool read_line(struct told *told, struct iso_brief *brief, const char *line, size_t length)
{
    struct iso_json_text name;
    iso_text_put_bytes(&told->text, "", 1); /* place 0 */
    iso_json_start(&told->json, line, length);
    iso_json_enter_object(&told->json);
    while (!told->json.code && iso_json_member(&told->json, &name))
        read_member(told, brief, &name);
    brief->wrong = iso_wrong_find(told->axiom, told->kind[0] ? told->kind : NULL);
    return iso_json_finish(&told->json) && brief->wrong && told->tid;
}

/* ---- the words ---- */

/* A text of its own, from printf's format. */
static uint32_t say(struct iso_brief *brief, const char *format, ...)
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
#define STEP(brief, ...) add_step(brief, say(brief, __VA_ARGS__))

static void add_step(struct iso_brief *brief, uint32_t step)
{
    if (brief->step_count < ISO_BRIEF_STEPS)
        brief->steps[brief->step_count++] = step;
}

static const char *at(const struct told *told, uint32_t place)
{
    return told->text.bytes + place;
}

static void say_times(struct iso_brief *brief, const struct told *told)
{
    if (told->sts && told->cts && !strcmp(at(told, told->sts), at(told, told->cts)))
        STEP(brief, "Transaction %s stands at %s.", at(told, told->tid), at(told, told->sts));
    else if (told->sts && told->cts)
        STEP(brief, "Transaction %s started at %s and committed at %s.", at(told, told->tid), at(told, told->sts),
             at(told, told->cts));
    else if (told->cts)
        STEP(brief, "Transaction %s committed at %s.", at(told, told->tid), at(told, told->cts));
}

/* "It had to find 3, which transaction 5 wrote." */
static void say_value(struct iso_brief *brief, const struct told *told, const char *verb, uint32_t value,
                      uint32_t writer)
{
    if (!value)
        return;
    if (writer)
        STEP(brief, "It %s %s, which transaction %s wrote.", verb, at(told, value), at(told, writer));
    else
        STEP(brief, "It %s %s%s.", verb, at(told, value),
             strcmp(at(told, value), "nothing") ? ", for which no writer is known" : "");
}

static void say_read(struct iso_brief *brief, const struct told *told)
{
    say_times(brief, told);
    if (told->has_operation)
        STEP(brief, "It read key %s in its operation %" PRIu64 ".", at(told, told->key), told->operation);
    say_value(brief, told, "had to find", told->expected, told->writer_expected);
    say_value(brief, told, "found", told->actual, told->writer_actual);
}

static void say_order(struct iso_brief *brief, const struct told *told)
{
    const char *tid = at(told, told->tid), *other = at(told, told->other);
    say_times(brief, told);
    if (!strcmp(told->axiom, "NOCONFLICT")) {
        STEP(brief, "Transaction %s had not committed when %s began, and both wrote key %s.", other, tid,
             at(told, told->key));
        STEP(brief, "Of two overlapping writers of one key snapshot isolation lets only one commit.");
    } else if (!strcmp(told->axiom, "SESSION") && told->other) {
        STEP(brief, "Transaction %s came before it in its session, but not by the timestamps.", other);
    } else if (told->other) {
        STEP(brief, "By the timestamps it cannot stand beside transaction %s.", other);
    }
    if (told->note)
        STEP(brief, "%s", at(told, told->note));
}

static void say_change(struct iso_brief *brief, const struct told *told)
{
    const char *kind = told->kind, *key = at(told, told->key);
    const char *expected = at(told, told->expected), *actual = at(told, told->actual);
    say_times(brief, told);
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
    else
        STEP(brief, "Its row came with %s = %s, and once more with %s.", key, expected, actual);
}

static void say_state(struct iso_brief *brief, const struct told *told)
{
    if (!strcmp(brief->state, "tentative"))
        STEP(brief, "Tentative: what is still on its way may explain it.");
    else if (!strcmp(brief->state, "retracted") && told->cause)
        STEP(brief, "Taken back: transaction %s, which came later, explains it.", at(told, told->cause));
    else if (!strcmp(brief->state, "retracted"))
        STEP(brief, "Taken back: what came later explains it.");
    else if (!strcmp(brief->state, "final") && !strcmp(told->by, "deadline"))
        STEP(brief, "Final because its time was up: nothing has come that explains it; should it come yet, this is "
                    "taken back.");
    else if (!strcmp(brief->state, "final"))
        STEP(brief, "Final: nothing that may still come can change it.");
    if (told->doubtful[0])
        STEP(brief, "This is doubtful: %s", iso_doubt(told->doubtful));
}

static void say_all(struct iso_brief *brief, const struct told *told)
{
    bool of_one = brief->wrong->argument != ISO_ARGUE_ORDER, has_key = told->key && of_one;
    brief->title = say(brief, "%s%s%s by transaction%s %s", brief->wrong->name, has_key ? " of key " : "",
                       has_key ? at(told, told->key) : "", told->other ? "s" : "", at(told, told->tids));
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
    if (told->places)
        STEP(brief, "Recorded in %s.", at(told, told->places));
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
    iso_json_init(&told.json);
    bool is_violation = read_line(&told, brief, padded.bytes, length);
    if (is_violation)
        say_all(brief, &told);
    iso_json_release(&told.json);
    iso_text_release(&told.text);
    iso_text_release(&padded);
    return is_violation;
}

void iso_brief_release(struct iso_brief *brief)
{
    iso_text_release(&brief->text);
    *brief = (struct iso_brief){.wrong = NULL};
}

static void put_string(struct iso_text *text, const char *string)
{
    iso_text_put_string(text, string, strlen(string));
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
    iso_text_put(text, "],\"meaning\":");
    put_string(text, brief->wrong->meaning);
    iso_text_put(text, "}");
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
    iso_text_put(text, "  For an application: ");
    iso_text_put(text, brief->wrong->meaning);
    iso_text_put(text, "\n\n");
}
