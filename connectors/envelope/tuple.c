#include "connectors/envelope/tuple.h"

#include <string.h>

#include "base/payload.h"

/* Behind the quoted text that begins at `at`; NULL: it does not end. */
static const char *skip_quoted(const char *at, const char *end, char quote)
{
    for (at++; at < end; at++)
        if (*at == quote && (++at == end || *at != quote))
            return at;
    return NULL;
}

/* The mark behind a name or a type, outside of quotes and of brackets; NULL: there is none. */
static const char *skip_name(const char *at, const char *end, char mark)
{
    for (uint32_t depth = 0; at && at < end;) {
        if (*at == mark && !depth)
            return at;
        if (*at == '"') {
            at = skip_quoted(at, end, '"');
            continue;
        }
        depth += *at == '[';
        depth -= *at == ']' && depth;
        at++;
    }
    return NULL;
}

static const char *take_value(const char *at, const char *end, struct tuple_column *column)
{
    const char *from = at;
    at += at < end && *at == 'B' && at + 1 < end && at[1] == '\''; /* bits: B'101' */
    if (at < end && *at == '\'') {
        from = at + 1;
        at = skip_quoted(at, end, '\'');
        if (!at)
            return NULL;
        column->is_quoted = true;
        column->value = (struct iso_json_text){from, (size_t)(at - from - 1)};
        return at;
    }
    const char *space = memchr(from, ' ', (size_t)(end - from));
    column->value = (struct iso_json_text){from, (size_t)((space ? space : end) - from)};
    column->is_null = ISO_PAYLOAD_IS(column->value, "null");
    column->is_unchanged = ISO_PAYLOAD_IS(column->value, "unchanged-toast-datum");
    return column->value.length ? from + column->value.length : NULL;
}

bool tuple_next(const char **at, const char *end, struct tuple_column *column)
{
    *column = (struct tuple_column){{"", 0}, {"", 0}, {"", 0}, false, false, false};
    const char *name = *at, *open = skip_name(name, end, '['),
               *close = open ? skip_name(open + 1, end, ']') : NULL;
    if (!close || open == name || end - close < 2 || close[1] != ':')
        return false;
    bool is_quoted = *name == '"' && open - name > 2;
    if (!is_quoted && memchr(name, ' ', (size_t)(open - name)))
        return false;
    column->name = (struct iso_json_text){name + is_quoted, (size_t)(open - name) - 2 * is_quoted};
    column->type = (struct iso_json_text){open + 1, (size_t)(close - open - 1)};
    const char *behind = take_value(close + 2, end, column);
    if (!behind || (behind < end && *behind != ' '))
        return false;
    *at = behind + (behind < end);
    return true;
}

struct iso_json_text tuple_name(const char *at, const char *end, char mark)
{
    const char *behind = skip_name(at, end, mark);
    return (struct iso_json_text){at, (size_t)((behind ? behind : end) - at)};
}

const char *tuple_end(const char *at, const char *end)
{
    struct tuple_column column;
    while (at < end && tuple_next(&at, end, &column))
        ;
    return at;
}

size_t tuple_undouble(struct iso_json_text text, char quote, char *into)
{
    size_t used = 0;
    for (size_t i = 0; i < text.length; i++) {
        into[used++] = text.at[i];
        i += text.at[i] == quote;
    }
    return used;
}
