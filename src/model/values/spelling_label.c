/* Labels: by name, or by number. */
#include <strings.h>

#include "base/memory.h"
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

void iso_labels_release(struct iso_labels *labels)
{
    for (uint32_t i = 0; i < labels->count; i++)
        iso_free(labels->list[i]);
    iso_free(labels->list);
    iso_text_release(&labels->scratch);
    *labels = (struct iso_labels){0};
}

const char *iso_labels_of(const struct iso_labels *labels, struct iso_value_type type)
{
    uint32_t number = (uint32_t)(type.detail / ISO_LABELS_LIST);
    bool has = labels && type.kind == ISO_VALUE_LABEL && number && number <= labels->count;
    return has ? labels->list[number - 1] : NULL;
}

void iso_labels_add(struct iso_labels *labels, struct iso_value_type *type,
                    struct iso_json_text text, iso_labels_reader *read)
{
    struct iso_text *list = &labels->scratch;
    uint32_t number = 0;
    list->used = 0;
    if (!read(text, list))
        return;
    iso_text_put_bytes(list, "", 1);
    while (number < labels->count && strcmp(labels->list[number], list->bytes) != 0)
        number++;
    if (number >= INT16_MAX / ISO_LABELS_LIST - 1) /* it is not known */
        return;
    if (number == labels->count) {
        ISO_APPEND(*labels, iso_copy_text(list->bytes, list->used - 1));
    }
    type->detail = (int16_t)(type->detail % ISO_LABELS_LIST + (int)(number + 1) * ISO_LABELS_LIST);
}

struct iso_value_type iso_labels_join(const struct iso_labels *labels, struct iso_value_type known,
                                      struct iso_value_type said)
{
    const char *one = iso_labels_of(labels, known), *other = iso_labels_of(labels, said);
    size_t length = one ? strlen(one) : 0, others = other ? strlen(other) : 0;
    bool same_kind = known.detail % ISO_LABELS_DIFFER == said.detail % ISO_LABELS_DIFFER,
         differ = known.detail & ISO_LABELS_DIFFER || !same_kind;
    if (one && other)
        differ |= strncmp(one, other, length < others ? length : others) != 0;
    if (differ)
        known.detail = (int16_t)(known.detail % ISO_LABELS_DIFFER + ISO_LABELS_DIFFER);
    return !differ && others > length ? said : known;
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

static bool find_number(const char *list, bool is_set, struct iso_json_text name, uint64_t *number)
{
    if (is_set)
        return find_mask(list, name, number);
    *number = find_label(list, name);
    return *number || !name.length; /* none, of a row with an error */
}

bool iso_labels_number(const struct iso_labels *labels, struct iso_value_type type,
                       struct iso_json_text name, uint64_t *number)
{
    const char *list = iso_labels_of(labels, type);
    return list && find_number(list, type.detail & ISO_LABELS_SET, name, number);
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

static struct meant meaning_of(const char *list, bool is_set, struct iso_json_text text)
{
    struct meant meant = {.count = 0};
    uint64_t number = 0;
    if (find_number(list, is_set, text, &number))
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

enum relation spelling_relate_labels(const struct iso_labels *labels, struct iso_value_type type,
                                     struct iso_json_text one, struct iso_json_text other)
{
    const char *list = iso_labels_of(labels, type);
    bool is_set = type.detail & ISO_LABELS_SET;
    if (!list)
        return relate_unlisted(type, one, other);
    struct meant left = meaning_of(list, is_set, one), right = meaning_of(list, is_set, other);
    if (!left.count || !right.count)
        return RELATION_UNREADABLE;
    for (uint32_t i = 0; i < left.count; i++)
        for (uint32_t j = 0; j < right.count; j++)
            if (left.numbers[i] == right.numbers[j])
                return left.count == 1 && right.count == 1 ? RELATION_SAME : RELATION_SIMILAR;
    return RELATION_OTHER;
}
