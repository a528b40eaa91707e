/* Labels: by name, or by number. */
#include <inttypes.h>
#include <strings.h>

#include "values/labels.h"
#include "values/spelling_private.h"

enum { MASK_BITS = 64 };

/* ---- lists ---- */

static bool add_byte(struct iso_text *labels, char byte)
{
    iso_text_put_bytes(labels, &byte, 1);
    return byte && byte != ISO_LABELS_END;
}

static void end_label(struct iso_text *labels)
{
    char end = ISO_LABELS_END;
    iso_text_put_bytes(labels, &end, 1);
}

bool iso_labels_of_allowed(struct iso_json_text allowed, struct iso_text *labels)
{
    bool fine = allowed.length;
    for (size_t i = 0; fine && i < allowed.length; i++) {
        if (allowed.at[i] == ',') {
            end_label(labels);
            continue;
        }
        i += allowed.at[i] == '\\' && i + 1 < allowed.length && allowed.at[i + 1] == ',';
        fine = add_byte(labels, allowed.at[i]);
    }
    end_label(labels);
    return fine;
}

/* What stands behind a backslash, which is left out. */
static char unescape(char byte)
{
    static const char letters[] = "nrtbZ", meant[] = "\n\r\t\b\x1a";
    const char *found = byte ? strchr(letters, byte) : NULL;
    return found ? meant[found - letters] : byte;
}

/* One in quotes; NULL: it is none, or has a wildcard's escape. */
static const char *take_quoted(const char *at, const char *end, struct iso_text *labels)
{
    char quote = at < end ? *at : 0;
    if (quote != '\'' && quote != '"')
        return NULL;
    while (++at < end) {
        bool doubled = *at == quote && at + 1 < end && at[1] == quote;
        bool escaped = *at == '\\' && at + 1 < end;
        if (*at == quote && !doubled) {
            end_label(labels);
            return at + 1;
        }
        at += doubled || escaped;
        if ((escaped && (*at == '0' || *at == '%' || *at == '_')) ||
            !add_byte(labels, escaped ? unescape(*at) : *at))
            return NULL;
    }
    return NULL;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

bool iso_labels_of_sql(struct iso_json_text type, struct iso_text *labels)
{
    const char *end = type.at + type.length, *at = memchr(type.at, '(', type.length);
    while (at && at < end && *at != ')') {
        at = take_quoted(skip_space(at + 1, end), end, labels);
        at = at ? skip_space(at, end) : NULL;
        if (at && at < end && *at != ',' && *at != ')')
            at = NULL;
    }
    return at && at < end;
}

/* ---- numbers of names ---- */

/* 0: none has the name. By another case if only one has it so. */
static uint32_t find_label(const char *labels, struct iso_json_text name)
{
    uint32_t number = 1, found = 0, alike = 0;
    for (const char *end; (end = strchr(labels, ISO_LABELS_END)); labels = end + 1, number++) {
        if ((size_t)(end - labels) != name.length || strncasecmp(labels, name.at, name.length) != 0)
            continue;
        if (!memcmp(labels, name.at, name.length))
            return number;
        found = number;
        alike++;
    }
    return alike == 1 ? found : 0;
}

static bool find_mask(const char *labels, struct iso_json_text names, uint64_t *mask)
{
    *mask = 0;
    for (size_t from = 0; from < names.length;) {
        const char *comma = memchr(names.at + from, ',', names.length - from);
        size_t end = comma ? (size_t)(comma - names.at) : names.length;
        uint32_t number = find_label(labels, (struct iso_json_text){names.at + from, end - from});
        if (!number || number > MASK_BITS)
            return false;
        *mask |= (uint64_t)1 << (number - 1);
        from = end + 1;
    }
    return true;
}

bool iso_labels_number(struct iso_value_type type, struct iso_json_text name, uint64_t *number)
{
    if (!type.labels)
        return false;
    if (type.detail & ISO_LABELS_SET)
        return find_mask(type.labels, name, number);
    *number = find_label(type.labels, name);
    return *number || !name.length; /* none, of a row with an error */
}

/* ---- a client's text: a number, or a name that may look like one ---- */

struct meant {
    uint64_t numbers[3];
    uint32_t count;
};

static void add_number(struct meant *meant, uint64_t number)
{
    for (uint32_t i = 0; i < meant->count; i++)
        if (meant->numbers[i] == number)
            return;
    meant->numbers[meant->count++] = number;
}

static struct meant meaning_of(struct iso_value_type type, struct iso_json_text text)
{
    struct meant meant = {.count = 0};
    uint64_t number = 0;
    if (iso_labels_number(type, text, &number))
        add_number(&meant, number);
    if (!text.length)
        add_number(&meant, 0);
    if (!spelling_is_integer(text) || *text.at == '-' || text.length > 20)
        return meant;
    number = 0;
    for (size_t i = 0; i < text.length; i++)
        number = number * 10 + (uint64_t)(text.at[i] - '0');
    add_number(&meant, number);
    return meant;
}

bool spelling_spell_label(struct iso_value_type type, struct iso_json_text text,
                          struct iso_text *out)
{
    if (!type.labels)
        return false;
    struct meant meant = meaning_of(type, text);
    if (meant.count == 1)
        iso_text_format(out, "%" PRIu64, meant.numbers[0]);
    return meant.count == 1;
}

/* ---- comparing ---- */

static bool has_names(struct iso_json_text list, struct iso_json_text names)
{
    for (size_t from = 0; from <= names.length;) {
        struct iso_json_text rest = {names.at + from, names.length - from};
        const char *comma = rest.length ? memchr(rest.at, ',', rest.length) : NULL;
        size_t length = comma ? (size_t)(comma - rest.at) : rest.length;
        bool found = false;
        for (size_t at = 0; !found && at + length <= list.length; at++)
            found = !strncasecmp(list.at + at, rest.at, length) &&
                    (!at || list.at[at - 1] == ',') &&
                    (at + length == list.length || list.at[at + length] == ',');
        if (!found)
            return false;
        from += length + 1;
    }
    return true;
}

/* Which number a name has says the list alone. Names that the server takes for one differ in case,
 * and in order where they are several. */
static enum relation relate_unlisted(struct iso_value_type type, struct iso_json_text one,
                                     struct iso_json_text other)
{
    bool numbers = spelling_is_integer(one), others = spelling_is_integer(other);
    if (numbers && others && !(type.detail & ISO_LABELS_NAMED))
        return RELATION_OTHER;
    bool may_be = numbers || others || (has_names(one, other) && has_names(other, one));
    return may_be ? RELATION_SIMILAR : RELATION_OTHER;
}

enum relation spelling_relate_labels(struct iso_value_type type, struct iso_json_text one,
                                     struct iso_json_text other)
{
    if (!type.labels)
        return relate_unlisted(type, one, other);
    struct meant left = meaning_of(type, one), right = meaning_of(type, other);
    if (!left.count || !right.count)
        return RELATION_UNREADABLE;
    for (uint32_t i = 0; i < left.count; i++)
        for (uint32_t j = 0; j < right.count; j++)
            if (left.numbers[i] == right.numbers[j])
                return left.count == 1 && right.count == 1 ? RELATION_SAME : RELATION_SIMILAR;
    return RELATION_OTHER;
}
