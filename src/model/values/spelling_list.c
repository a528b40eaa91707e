/* An array as PostgreSQL's clients get it, beside the JSON that a stream makes of it.
 *
 *     {1,NULL,"a \"b\"",{t,f}}      [1,null,"a \"b\"",[true,false]]
 *     [0:1]={1,2}                   [1,2]
 *
 * Both become JSON of texts. Source: PostgreSQL's documentation, "Array Input and Output
 * Syntax". */
#include <string.h>
#include <strings.h>

#include "base/payload.h"
#include "values/spelling_private.h"

enum { DEPTH_MAX = 6 }; /* PostgreSQL's own bound */

/* The content of an array: how many values, however deep, and all of it as JSON of texts. */
struct listed {
    struct iso_text text;
    uint32_t values;
};

/* ---- PostgreSQL's ---- */

/* The bounds of an array that does not begin at 1 say nothing of its values. */
static struct iso_json_text behind_bounds(struct iso_json_text literal)
{
    const char *equals =
        literal.length && *literal.at == '[' ? memchr(literal.at, '=', literal.length) : NULL;
    if (!equals)
        return literal;
    size_t passed = (size_t)(equals + 1 - literal.at);
    return (struct iso_json_text){equals + 1, literal.length - passed};
}

static bool is_null(const char *from, const char *to)
{
    return to - from == 4 && !strncasecmp(from, "NULL", 4);
}

/* One value that is not an array; `at` stands on it, and then behind it. */
static bool put_literal_value(struct listed *listed, const char **at, const char *end)
{
    struct iso_text value = {0};
    const char *from = *at;
    bool quoted = from < end && *from == '"';
    const char *next = from + quoted;
    while (next < end && (quoted ? *next != '"' : !memchr(",{}\"", *next, 4))) {
        if (*next == '\\' && ++next == end)
            break;
        iso_text_put_bytes(&value, next++, 1);
    }
    bool fine = next < end && (quoted || next > from);
    if (fine && !quoted && is_null(from, next))
        iso_text_put(&listed->text, "null");
    else if (fine)
        iso_text_put_string(&listed->text, value.used ? value.bytes : "", value.used);
    iso_text_release(&value);
    listed->values++;
    *at = next + quoted;
    return fine;
}

static bool put_literal(struct listed *listed, const char **at, const char *end, int depth)
{
    if (depth == DEPTH_MAX || *at == end || **at != '{')
        return false;
    iso_text_put(&listed->text, "[");
    ++*at;
    bool is_empty = *at < end && **at == '}';
    while (!is_empty) {
        bool fine = *at < end && **at == '{' ? put_literal(listed, at, end, depth + 1)
                                             : put_literal_value(listed, at, end);
        if (!fine || *at == end || (**at != ',' && **at != '}'))
            return false;
        if (**at == '}')
            break;
        iso_text_put(&listed->text, ",");
        ++*at;
    }
    iso_text_put(&listed->text, "]");
    ++*at;
    return true;
}

static bool read_literal(struct iso_json_text text, struct listed *listed)
{
    struct iso_json_text literal = behind_bounds(text);
    const char *at = literal.at, *end = literal.at + literal.length;
    return put_literal(listed, &at, end, 0) && at == end;
}

/* ---- JSON's ---- */

static bool put_json(struct listed *listed, struct iso_json *json, int depth)
{
    struct iso_json_text text = {json->at, 0};
    listed->values += iso_json_peek(json) != ISO_JSON_ARRAY;
    switch (iso_json_peek(json)) {
    case ISO_JSON_OBJECT:
        return false;
    case ISO_JSON_STRING:
        if (!iso_json_string(json, &text))
            return false;
        break;
    case ISO_JSON_ARRAY:
        if (depth == DEPTH_MAX)
            return false;
        iso_text_put(&listed->text, "[");
        iso_json_enter_array(json);
        for (bool first = true; iso_json_element(json); first = false) {
            iso_text_put(&listed->text, first ? "" : ",");
            if (!put_json(listed, json, depth + 1))
                return false;
        }
        iso_text_put(&listed->text, "]");
        return json->code == ISO_JSON_FINE;
    default:
        text.at = json->at;
        if (!iso_json_skip(json))
            return false;
        text.length = (size_t)(json->at - text.at);
        if (iso_json_is(&text, "null")) {
            iso_text_put(&listed->text, "null");
            return true;
        }
        if (iso_json_is(&text, "true") || iso_json_is(&text, "false"))
            text.length = 1; /* as PostgreSQL prints them */
    }
    iso_text_put_string(&listed->text, text.at, text.length);
    return true;
}

static bool read_json(struct iso_json_text text, struct listed *listed)
{
    struct iso_payload copy = {0};
    struct iso_json json;
    iso_json_init(&json);
    iso_json_start(&json, iso_payload_copy(&copy, text.at, text.length), text.length);
    bool fine = iso_json_peek(&json) == ISO_JSON_ARRAY && put_json(listed, &json, 0) &&
                iso_json_finish(&json);
    iso_json_release(&json);
    iso_payload_release(&copy);
    return fine;
}

/* ---- comparing ---- */

static bool is_literal(struct iso_json_text text)
{
    struct iso_json_text behind = behind_bounds(text);
    return behind.length && *behind.at == '{';
}

enum relation spelling_relate_lists(bool plain, struct iso_json_text one,
                                    struct iso_json_text other)
{
    if (is_literal(one) == is_literal(other))
        return RELATION_UNREADABLE;
    struct listed literal = {0}, json = {0};
    enum relation relation = RELATION_UNREADABLE;
    if (read_literal(is_literal(one) ? one : other, &literal) &&
        read_json(is_literal(one) ? other : one, &json)) {
        bool same = literal.text.used == json.text.used &&
                    !memcmp(literal.text.bytes, json.text.bytes, json.text.used);
        /* other kinds of values are spelt in several ways themselves, and are as many all the
         * same */
        if (same)
            relation = RELATION_SAME;
        else if (plain || literal.values != json.values)
            relation = RELATION_OTHER;
    }
    iso_text_release(&literal.text);
    iso_text_release(&json.text);
    return relation;
}
