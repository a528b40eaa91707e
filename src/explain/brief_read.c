/* From a verdict line to what it tells. */
#include <stdio.h>

#include "explain/argument_private.h"
#include "explain/brief_private.h"

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

static void read_times_of(struct told *told, struct told_times *times)
{
    struct iso_json_text name;
    iso_json_enter_object(&told->json);
    while (!told->json.code && iso_json_member(&told->json, &name)) {
        if (iso_json_is(&name, "sts"))
            times->sts = read_name(told);
        else if (iso_json_is(&name, "cts"))
            times->cts = read_name(told);
        else
            iso_json_skip(&told->json);
    }
}

static void read_times(struct told *told)
{
    struct iso_json_text name;
    iso_json_enter_object(&told->json);
    while (!told->json.code && iso_json_member(&told->json, &name)) {
        if (iso_json_is(&name, "look"))
            told->look = read_name(told);
        else if (iso_json_is(&name, "inclusive"))
            iso_json_boolean(&told->json, &told->inclusive);
        else if (iso_json_is(&name, "expected"))
            read_times_of(told, &told->of_expected);
        else if (iso_json_is(&name, "actual"))
            read_times_of(told, &told->of_actual);
        else if (iso_json_is(&name, "other"))
            read_times_of(told, &told->of_other);
        else
            iso_json_skip(&told->json);
    }
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
                 {"state", brief->state, sizeof brief->state},        {"level", told->level, sizeof told->level}};
    const struct {
        const char *name;
        uint32_t *place;
        uint32_t (*read)(struct told *told);
    } texts[] = {{"key", &told->key, read_value},
                 {"expected", &told->expected, read_value},
                 {"actual", &told->actual, read_value},
                 {"writer_expected", &told->writer_expected, read_name},
                 {"writer_actual", &told->writer_actual, read_name},
                 {"sts", &told->own.sts, read_name},
                 {"cts", &told->own.cts, read_name},
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
    else if (iso_json_is(name, "times"))
        read_times(told);
    else
        iso_json_skip(&told->json);
}

bool brief_read(struct told *told, struct iso_brief *brief, const char *line, size_t length)
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
