/* JSON as a value: the order of members, white space, escapes and needless zeros say nothing. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/payload.h"
#include "values/row.h"
#include "values/spelling_private.h"

enum { DEPTH_MAX = 64 };

/* A member of the object at hand, and of those around it. */
struct member {
    struct iso_json_text name;
    size_t start, length; /* of its value, in the output */
};

struct speller {
    struct iso_json json;
    struct iso_text *out;
    bool rounds; /* numbers to doubles */
    struct member *members;
    uint32_t count, capacity;
};

static bool put_value(struct speller *speller, int depth);

/* ---- numbers ---- */

static void put_number(struct speller *speller, struct iso_json_text literal)
{
    static const struct iso_value_type as_double = {ISO_VALUE_DOUBLE, false, 0};
    struct spelling_number number;
    if (speller->rounds && spelling_spell_number(as_double, literal, speller->out))
        return;
    if (!spelling_read_number(literal, &number))
        iso_text_put_bytes(speller->out, literal.at, literal.length);
    else
        spelling_put_number(speller->out, &number, 0);
}

/* ---- objects ---- */

static int compare_names(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    size_t common = a->name.length < b->name.length ? a->name.length : b->name.length;
    int order = common ? memcmp(a->name.at, b->name.at, common) : 0;
    return order ? order : (a->name.length > b->name.length) - (a->name.length < b->name.length);
}

static struct member *add_member(struct speller *speller)
{
    ISO_GROW(speller->members, speller->count, speller->capacity);
    return &speller->members[speller->count++];
}

/* The values stand in the output from `start` on, in any order; members take their place. False: a
 * name twice, of which readers take the first or the last. */
static bool put_members(struct speller *speller, uint32_t first, size_t start)
{
    struct iso_text *out = speller->out;
    struct member *members = speller->members ? speller->members + first : NULL;
    uint32_t count = speller->count - first;
    if (count)
        qsort(members, count, sizeof *members, compare_names);
    struct iso_text sorted = {0};
    iso_text_put(&sorted, "{");
    for (uint32_t i = 0; i < count; i++) {
        if (i && !compare_names(&members[i - 1], &members[i])) {
            iso_text_release(&sorted);
            return false;
        }
        iso_text_put(&sorted, i ? "," : "");
        iso_text_put_string(&sorted, members[i].name.at, members[i].name.length);
        iso_text_put(&sorted, ":");
        iso_text_put_bytes(&sorted, out->bytes + members[i].start, members[i].length);
    }
    iso_text_put(&sorted, "}");
    out->used = start;
    iso_text_put_bytes(out, sorted.bytes, sorted.used);
    iso_text_release(&sorted);
    return true;
}

static bool put_object(struct speller *speller, int depth)
{
    uint32_t first = speller->count;
    size_t start = speller->out->used;
    struct iso_json_text name;
    iso_json_enter_object(&speller->json);
    while (iso_json_member(&speller->json, &name)) {
        size_t at = speller->out->used;
        if (!put_value(speller, depth + 1))
            return false;
        *add_member(speller) = (struct member){name, at, speller->out->used - at};
    }
    bool fine = speller->json.code == ISO_JSON_FINE && put_members(speller, first, start);
    speller->count = first;
    return fine;
}

static bool put_array(struct speller *speller, int depth)
{
    bool first = true;
    iso_text_put(speller->out, "[");
    iso_json_enter_array(&speller->json);
    while (iso_json_element(&speller->json)) {
        iso_text_put(speller->out, first ? "" : ",");
        first = false;
        if (!put_value(speller, depth + 1))
            return false;
    }
    iso_text_put(speller->out, "]");
    return speller->json.code == ISO_JSON_FINE;
}

static bool put_value(struct speller *speller, int depth)
{
    struct iso_json *json = &speller->json;
    struct iso_json_text text;
    if (depth > DEPTH_MAX)
        return false;
    switch (iso_json_peek(json)) {
    case ISO_JSON_OBJECT:
        return put_object(speller, depth);
    case ISO_JSON_ARRAY:
        return put_array(speller, depth);
    case ISO_JSON_STRING:
        if (!iso_json_string(json, &text))
            return false;
        iso_text_put_string(speller->out, text.at, text.length);
        return true;
    default:
        text.at = json->at;
        if (!iso_json_skip(json))
            return false;
        text.length = (size_t)(json->at - text.at);
        if (spelling_is_digit(*text.at) || *text.at == '-')
            put_number(speller, text);
        else
            iso_text_put_bytes(speller->out, text.at, text.length);
        return true;
    }
}

bool spelling_spell_json(struct iso_json_text text, bool rounds, struct iso_text *out)
{
    struct speller speller = {.out = out, .rounds = rounds};
    struct iso_payload copy = {0};
    size_t start = out->used;
    iso_json_init(&speller.json);
    iso_json_start(&speller.json, iso_payload_copy(&copy, text.at, text.length), text.length);
    bool fine = put_value(&speller, 0) && iso_json_finish(&speller.json);
    if (!fine)
        out->used = start;
    iso_json_release(&speller.json);
    iso_payload_release(&copy);
    iso_free(speller.members);
    return fine;
}

bool spelling_compact_json(struct iso_json_text text, struct iso_text *out)
{
    struct iso_text canonical = {0};
    bool is_json = spelling_spell_json(text, false, &canonical) &&
                   (*canonical.bytes == '{' || *canonical.bytes == '[');
    iso_text_release(&canonical);
    if (is_json)
        iso_cell_put(out, &(struct iso_cell){.kind = ISO_CELL_JSON,
                                             .text = text.at,
                                             .length = (uint32_t)text.length});
    return is_json;
}

/* ---- comparing ---- */

static bool are_equal(struct iso_json_text one, struct iso_json_text other, bool rounds,
                      bool *readable)
{
    struct iso_text left = {0}, right = {0};
    *readable =
        spelling_spell_json(one, rounds, &left) && spelling_spell_json(other, rounds, &right);
    bool equal =
        *readable && left.used == right.used && !memcmp(left.bytes, right.bytes, left.used);
    iso_text_release(&left);
    iso_text_release(&right);
    return equal;
}

enum relation spelling_relate_json(struct iso_value_type type, struct iso_json_text one,
                                   struct iso_json_text other)
{
    bool readable;
    if (are_equal(one, other, false, &readable))
        return RELATION_SAME;
    if (!readable)
        return RELATION_UNREADABLE;
    if (are_equal(one, other, true, &readable)) /* a reader of JSON that has doubles only */
        return RELATION_SIMILAR;
    return type.kind == ISO_VALUE_NESTED ? RELATION_UNREADABLE : RELATION_OTHER;
}
