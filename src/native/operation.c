/* One operation of the native format, members in any order. */
#include "native/native_private.h"

enum {
    SEEN_KIND = 1,
    SEEN_KEY = 2,
    SEEN_VALUE = 4,
    SEEN_OTS = 8,
    SEEN_LOCK = 16,
    SEEN_SNAPSHOT = 32,
    SEEN_UNKNOWN = 64,
    SEEN_FROM = 128,
    SEEN_TO = 256,
    SEEN_ROWS = 512,
    SEEN_PARTIAL = 1024,
    SEEN_OF_SET = SEEN_FROM | SEEN_TO | SEEN_ROWS | SEEN_PARTIAL,
    REASON_BYTES = 32 /* the most of why a value is not known */
};

static const char shape[] = "{\"t\":..,\"k\":..,\"v\":..}";

static bool equals_in_any_case(const struct iso_json_text *text, const char *word)
{
    if (text->length != strlen(word))
        return false;
    for (size_t i = 0; i < text->length; i++) {
        if ((text->at[i] | 0x20) != word[i])
            return false;
    }
    return true;
}

static bool read_kind(struct iso_native *native, struct native_operation *operation)
{
    static const struct {
        const char *letter, *word;
        enum iso_operation_kind kind;
    } kinds[] = {
        {"r", "read", ISO_READ}, {"w", "write", ISO_WRITE}, {"a", "append", ISO_APPEND}, {"d", "delete", ISO_DELETE}};
    static const char expected[] = "\"r\", \"w\", \"a\", \"d\" or \"q\"";
    struct iso_json_text text;
    const char *at = native_read_word(native, "t", expected, &text);
    if (!at)
        return false;
    operation->is_set = equals_in_any_case(&text, "q") || equals_in_any_case(&text, "query");
    if (operation->is_set)
        return native->of_file ||
               native_refuse(native, at, "a row set: they are judged in files, by check, not yet in streams");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        operation->kind = kinds[i].kind;
        if (equals_in_any_case(&text, kinds[i].letter) || equals_in_any_case(&text, kinds[i].word))
            return true;
    }
    return native_refuse(native, at, "t is \"%.*s\", expected %s", native_shown(&text), text.at, expected);
}

/* A boolean is its text, as change streams have it. */
static bool read_boolean(struct iso_native *native, const char *what, struct iso_history *history, iso_atom *value)
{
    bool yes;
    if (!native_read_boolean(native, what, &yes))
        return false;
    *value = iso_atoms_text(&history->atoms, yes ? "true" : "false", yes ? 4 : 5);
    return true;
}

static bool read_known(struct iso_native *native, const char *what, struct iso_history *history, iso_atom *value)
{
    iso_json_space(&native->json);
    const char *at = native->json.at;
    if (iso_json_peek(&native->json) == ISO_JSON_TRUE || iso_json_peek(&native->json) == ISO_JSON_FALSE)
        return read_boolean(native, what, history, value);
    if (!native_read_atom(native, what, history, value))
        return false;
    return !iso_atom_is_unknown(&history->atoms, *value) ||
           native_refuse(native, at, "%s begins with U+0002, which is reserved", what);
}

static bool read_list(struct iso_native *native, struct iso_history *history, uint32_t *list)
{
    iso_atom element;
    *list = iso_history_list(history);
    if (!iso_json_enter_array(&native->json))
        return native_scanner_fault(native);
    while (iso_json_element(&native->json)) {
        if (!read_known(native, "an element of v", history, &element))
            return false;
        iso_history_element(history, element);
    }
    return native->json.code == ISO_JSON_FINE || native_scanner_fault(native);
}

bool native_read_value(struct iso_native *native, struct iso_history *history, struct native_operation *operation)
{
    enum iso_json_type type = iso_json_peek(&native->json);
    if (type == ISO_JSON_NULL)
        return iso_json_null(&native->json) || native_scanner_fault(native);
    operation->has_value = true;
    operation->is_list = type == ISO_JSON_ARRAY;
    if (operation->is_list)
        return read_list(native, history, &operation->value);
    return read_known(native, "v", history, &operation->value);
}

static bool is_reason(const struct iso_json_text *text)
{
    for (size_t i = 0; i < text->length; i++)
        if ((text->at[i] < 'a' || text->at[i] > 'z') && text->at[i] != '-')
            return false;
    return text->length && text->length <= REASON_BYTES;
}

/* In place of a value: why nobody knows it. */
static bool read_unknown(struct iso_native *native, struct iso_history *history, struct native_operation *operation)
{
    char value[1 + REASON_BYTES] = {ISO_ATOM_UNKNOWN};
    struct iso_json_text text;
    const char *at = native_read_word(native, "unknown", "a word of a to z and -", &text);
    if (!at)
        return false;
    if (!native->of_file)
        return native_refuse(native, at, "unknown stands in joined histories only, expected \"v\"");
    if (!is_reason(&text))
        return native_refuse(native, at, "unknown is \"%.*s\", expected a word of a to z and -", native_shown(&text),
                             text.at);
    memcpy(value + 1, text.at, text.length);
    operation->value = iso_atoms_add_string(&history->atoms, value, 1 + text.length);
    operation->is_unknown = true;
    return true;
}

static unsigned known_member(const struct iso_json_text *name)
{
    if (name->length == 1)
        return name->at[0] == 't' ? SEEN_KIND : name->at[0] == 'k' ? SEEN_KEY : name->at[0] == 'v' ? SEEN_VALUE : 0;
    if (iso_json_is(name, "ots"))
        return SEEN_OTS;
    return iso_json_is(name, "lock")       ? SEEN_LOCK
           : iso_json_is(name, "snapshot") ? SEEN_SNAPSHOT
           : iso_json_is(name, "unknown")  ? SEEN_UNKNOWN
           : iso_json_is(name, "from")     ? SEEN_FROM
           : iso_json_is(name, "to")       ? SEEN_TO
           : iso_json_is(name, "rows")     ? SEEN_ROWS
           : iso_json_is(name, "partial")  ? SEEN_PARTIAL
                                           : 0;
}

static bool read_member(struct iso_native *native, struct iso_history *history, unsigned member,
                        struct native_operation *operation)
{
    if (member >= SEEN_OTS && native_is_null(native))
        return true;
    switch (member) {
    case SEEN_KIND:
        return read_kind(native, operation);
    case SEEN_KEY:
        return native_read_atom(native, "k", history, &operation->key);
    case SEEN_VALUE:
        return native_read_value(native, history, operation);
    case SEEN_OTS:
        operation->has_ots = true;
        return native_read_stamp(native, "ots", &operation->ots, &operation->clock);
    case SEEN_LOCK:
        return native_read_boolean(native, "lock", &operation->lock);
    case SEEN_SNAPSHOT:
        operation->has_snapshot = true;
        return native_read_snapshot(native, history, &operation->snapshot);
    case SEEN_UNKNOWN:
        return read_unknown(native, history, operation);
    case SEEN_FROM:
        return native_read_bound(native, "from", history, &operation->range.from);
    case SEEN_TO:
        return native_read_bound(native, "to", history, &operation->range.to);
    case SEEN_ROWS:
        return native_read_rows(native, history, operation);
    case SEEN_PARTIAL:
        return native_read_boolean(native, "partial", &operation->range.is_partial);
    default:
        return iso_json_skip(&native->json) || native_scanner_fault(native);
    }
}

static bool check_set_shape(struct iso_native *native, const char *at, unsigned seen)
{
    static const char set[] = "{\"t\":\"q\",\"from\":..,\"to\":..,\"rows\":{..}}";
    if (!(seen & SEEN_ROWS))
        return native_refuse(native, at, "a row set lacks \"rows\", expected %s", set);
    return !(seen & (SEEN_KEY | SEEN_VALUE | SEEN_UNKNOWN)) ||
           native_refuse(native, at, "a row set with \"%s\", expected %s", seen & SEEN_KEY ? "k" : "v", set);
}

static bool check_shape(struct iso_native *native, const char *at, unsigned seen,
                        const struct native_operation *operation)
{
    if (operation->is_set)
        return check_set_shape(native, at, seen);
    if (seen & SEEN_OF_SET)
        return native_refuse(native, at, "an operation on one key with members of a row set, expected \"t\":\"q\"");
    if (!(seen & SEEN_KIND) || !(seen & SEEN_KEY))
        return native_refuse(native, at, "an operation lacks \"%s\", expected %s", seen & SEEN_KIND ? "k" : "t", shape);
    if (operation->is_unknown && (operation->kind != ISO_WRITE || seen & SEEN_VALUE))
        return native_refuse(native, at, "%s of a value that nobody knows, expected a write without \"v\"",
                             operation->kind == ISO_WRITE ? "a write with \"v\"" : "an operation");
    if (operation->kind == ISO_DELETE && operation->has_value)
        return native_refuse(native, at, "a delete with a value, expected none");
    if (operation->kind == ISO_APPEND && (!operation->has_value || operation->is_list))
        return native_refuse(native, at, "an append of %s, expected one element",
                             operation->is_list ? "a list" : "nothing");
    return true;
}

bool native_read_operation(struct iso_native *native, struct iso_history *history, struct native_operation *operation)
{
    struct iso_json_text name;
    unsigned seen = 0;
    if (iso_json_peek(&native->json) != ISO_JSON_OBJECT)
        return native_wrong_type(native, "an operation", shape);
    const char *at = native->json.at;
    *operation = (struct native_operation){
        .clock = operation->clock, .value = ISO_ABSENT, .range = {.from = ISO_ABSENT, .to = ISO_ABSENT}};
    if (!iso_json_enter_object(&native->json))
        return native_scanner_fault(native);
    while (iso_json_member(&native->json, &name)) {
        unsigned member = known_member(&name);
        if ((member && !native_once(native, &seen, member, &name)) || !read_member(native, history, member, operation))
            return false;
    }
    if (native->json.code != ISO_JSON_FINE)
        return native_scanner_fault(native);
    return check_shape(native, at, seen, operation) &&
           (!operation->is_set || native_check_set(native, at, history, operation));
}
