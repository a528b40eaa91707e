/* A violation's JSON object taken apart.
 *
 * Texts are copied behind each other into one block as long as the object: unescaped, and with a
 * NUL in place of a quote, none is longer than it stands there. So nothing moves while pointers
 * into it are kept.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "library/library_private.h"

void library_report_release(struct library_report *report)
{
    ISO_FREE_ALL(report->json, report->texts, report->tids.list, report->expected.list,
                 report->actual.list, report->places, report->edges);
    *report = (struct library_report){0};
}

static void start(struct library_report *report, const char *json, size_t length, const char *level)
{
    report->json = iso_reallocate(report->json, length + ISO_JSON_PADDING);
    memcpy(report->json, json, length);
    memset(report->json + length, 0, ISO_JSON_PADDING);
    report->texts = iso_reallocate(report->texts, length);
    report->text_used = report->tids.count = report->expected.count = report->actual.count = 0;
    report->report =
        (struct iso_report){.json = report->json, .json_length = length, .level = level};
}

/* Room for one more of an array; its place. */
static void *grow(void *list, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return list;
    *capacity = iso_column_capacity(*capacity, count + 1);
    return iso_reallocate(list, *capacity * size);
}

/* ---- values ---- */

static const char *read_text(struct library_report *report, struct iso_json *json)
{
    struct iso_json_text text;
    if (iso_json_peek(json) != ISO_JSON_STRING || !iso_json_string(json, &text)) {
        iso_json_skip(json); /* null */
        return NULL;
    }
    char *copy = report->texts + report->text_used;
    memcpy(copy, text.at, text.length);
    copy[text.length] = 0;
    report->text_used += text.length + 1;
    return copy;
}

static void add_text(struct library_report *report, struct library_strings *strings,
                     struct iso_json *json)
{
    strings->list = grow(strings->list, strings->count, &strings->capacity, sizeof *strings->list);
    strings->list[strings->count++] = read_text(report, json);
}

static void read_texts(struct library_report *report, struct library_strings *strings,
                       struct iso_json *json)
{
    iso_json_enter_array(json);
    while (iso_json_element(json))
        add_text(report, strings, json);
}

static struct iso_report_value read_value(struct library_report *report,
                                          struct library_strings *strings, struct iso_json *json)
{
    bool is_list = iso_json_peek(json) == ISO_JSON_ARRAY;
    if (is_list)
        read_texts(report, strings, json);
    else if (iso_json_peek(json) == ISO_JSON_NULL)
        iso_json_skip(json);
    else
        add_text(report, strings, json);
    return (struct iso_report_value){
        .elements = strings->list, .count = strings->count, .is_list = is_list};
}

static uint64_t read_number(struct iso_json *json)
{
    struct iso_json_number number = {0};
    iso_json_integer(json, &number);
    return number.bits;
}

static uint64_t read_id(struct library_report *report, struct iso_json *json)
{
    const char *text = read_text(report, json);
    return text ? strtoull(text, NULL, 16) : 0;
}

static enum iso_report_state read_state(struct library_report *report, struct iso_json *json)
{
    static const char *const names[] = {"final", "tentative", "retracted", "unlisted"};
    const char *text = read_text(report, json);
    for (int i = 0; text && i < 4; i++)
        if (!strcmp(text, names[i]))
            return (enum iso_report_state)i;
    return ISO_REPORT_FINAL;
}

/* ---- places and edges ---- */

static void read_place(struct library_report *report, struct iso_json *json)
{
    struct iso_json_text name;
    struct iso_report *to = &report->report;
    struct iso_report_place place = {.operation = -1};
    iso_json_enter_object(json);
    while (iso_json_member(json, &name)) {
        if (iso_json_is(&name, "file"))
            place.input = read_text(report, json);
        else if (iso_json_is(&name, "line"))
            place.number = read_number(json);
        else if (iso_json_is(&name, "op"))
            place.operation = (int64_t)read_number(json);
        else
            iso_json_skip(json);
    }
    report->places = grow(report->places, to->place_count, &report->place_capacity, sizeof place);
    report->places[to->place_count++] = place;
}

static void read_edge(struct library_report *report, struct iso_json *json)
{
    struct iso_json_text name;
    struct iso_report *to = &report->report;
    struct iso_report_edge edge = {0};
    iso_json_enter_object(json);
    while (iso_json_member(json, &name)) {
        if (iso_json_is(&name, "from"))
            edge.from = read_text(report, json);
        else if (iso_json_is(&name, "to"))
            edge.to = read_text(report, json);
        else if (iso_json_is(&name, "type"))
            edge.type = read_text(report, json);
        else if (iso_json_is(&name, "key"))
            edge.key = read_text(report, json);
        else
            iso_json_skip(json);
    }
    report->edges = grow(report->edges, to->edge_count, &report->edge_capacity, sizeof edge);
    report->edges[to->edge_count++] = edge;
}

static void read_array(struct library_report *report, struct iso_json *json,
                       void (*read)(struct library_report *report, struct iso_json *json))
{
    iso_json_enter_array(json);
    while (iso_json_element(json))
        read(report, json);
}

/* ---- members ---- */

#define PLACE(member) offsetof(struct iso_report, member)

static const struct {
    const char *name;
    size_t place; /* of a const char * */
} texts[] = {
    {"level", PLACE(level)},
    {"axiom", PLACE(axiom)},
    {"kind", PLACE(kind)},
    {"anomaly", PLACE(anomaly)},
    {"doubtful", PLACE(doubtful)},
    {"key", PLACE(key)},
    {"session", PLACE(session)},
    {"writer_expected", PLACE(writer_expected)},
    {"writer_actual", PLACE(writer_actual)},
    {"cause", PLACE(cause)},
    {"sts", PLACE(sts)},
    {"cts", PLACE(cts)},
    {"note", PLACE(note)},
};

static bool read_text_member(struct library_report *report, struct iso_json *json,
                             const struct iso_json_text *name)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!iso_json_is(name, texts[i].name))
            continue;
        *(const char **)((char *)&report->report + texts[i].place) = read_text(report, json);
        return true;
    }
    return false;
}

static void read_member(struct library_report *report, struct iso_json *json,
                        const struct iso_json_text *name)
{
    struct iso_report *to = &report->report;
    if (read_text_member(report, json, name))
        return;
    if (iso_json_is(name, "id"))
        to->id = read_id(report, json);
    else if (iso_json_is(name, "state"))
        to->state = read_state(report, json);
    else if (iso_json_is(name, "by"))
        to->by_deadline = read_text(report, json) != NULL;
    else if (iso_json_is(name, "tids"))
        read_texts(report, &report->tids, json);
    else if (iso_json_is(name, "expected"))
        to->expected = read_value(report, &report->expected, json);
    else if (iso_json_is(name, "actual"))
        to->actual = read_value(report, &report->actual, json);
    else if (iso_json_is(name, "at"))
        read_array(report, json, read_place);
    else if (iso_json_is(name, "edges"))
        read_array(report, json, read_edge);
    else if (iso_json_is(name, "count"))
        to->count = read_number(json);
    else
        iso_json_skip(json);
}

void library_report_read(struct library_report *report, const char *json, size_t length,
                         const char *level)
{
    struct iso_report *to = &report->report;
    struct iso_json_text name;
    struct iso_json scanner;
    start(report, json, length, level);
    iso_json_init(&scanner);
    iso_json_start(&scanner, report->json, length);
    iso_json_enter_object(&scanner);
    while (iso_json_member(&scanner, &name))
        read_member(report, &scanner, &name);
    assert(iso_json_finish(&scanner)); /* our own writers' */
    iso_json_release(&scanner);
    assert(report->text_used <= length);
    to->tids = report->tids.list;
    to->tid_count = report->tids.count;
    to->places = report->places;
    to->edges = report->edges;
}
