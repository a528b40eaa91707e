#include "verdict/unjudged.h"

#include <inttypes.h>
#include <string.h>

#include "base/payload.h"

static const char *const names[ISO_UNJUDGED_REASONS] = {"unknown-writer",
                                                        "before-start",
                                                        "unknown-value",
                                                        "schema",
                                                        "ddl",
                                                        "lossy",
                                                        "spelling",
                                                        "own-order",
                                                        "xa",
                                                        "scan-limit",
                                                        "type",
                                                        "collation",
                                                        "sign",
                                                        "unknown-column",
                                                        "row-sets",
                                                        "version-order",
                                                        "repeated-value",
                                                        "memory",
                                                        "wrong-row",
                                                        "incomplete",
                                                        "no-stream"};

const char *iso_unjudged_name(enum iso_unjudged reason)
{
    return names[reason];
}

const char *iso_unjudged_largest(const uint64_t counts[ISO_UNJUDGED_REASONS])
{
    int largest = ISO_UNJUDGED_REASONS - 1;
    for (int reason = largest; reason-- > 0;)
        if (counts[reason] > counts[largest])
            largest = reason;
    return counts[largest] ? names[largest] : NULL;
}

void iso_unjudged_put(const uint64_t counts[ISO_UNJUDGED_REASONS], struct iso_text *text)
{
    uint64_t left[ISO_UNJUDGED_REASONS];
    const char *largest;
    memcpy(left, counts, sizeof left);
    for (const char *separator = ""; (largest = iso_unjudged_largest(left)); separator = ", ") {
        int reason = 0;
        while (names[reason] != largest)
            reason++;
        iso_text_format(text, "%s%" PRIu64 " %s", separator, left[reason], largest);
        left[reason] = 0;
    }
}

static const char *text_of(const struct iso_atoms *atoms, iso_atom atom, size_t *length)
{
    static char none[ISO_ATOM_TEXT_MAX];
    *length = 0;
    if (!(atom & ISO_ATOM_TABLE) || atom == ISO_ABSENT || !iso_atom_is_string(atoms, atom))
        return "";
    return iso_atom_text(atoms, atom, none,
                         length); /* strings stand in the table: nothing is written to `none` */
}

bool iso_value_is_unknown(const struct iso_atoms *atoms, iso_atom atom)
{
    size_t length;
    const char *text = text_of(atoms, atom, &length);
    return length && text[0] == ISO_UNKNOWN_VALUE_BYTE;
}

enum iso_unjudged iso_value_unjudged(const struct iso_atoms *atoms, iso_atom atom)
{
    size_t length;
    const char *text = text_of(atoms, atom, &length);
    for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++)
        if (length == strlen(names[reason]) + 1 && !memcmp(text + 1, names[reason], length - 1))
            return (enum iso_unjudged)reason;
    return iso_value_waits(atoms, atom) ? ISO_UNJUDGED_BEFORE_START : ISO_UNJUDGED_UNKNOWN_VALUE;
}

bool iso_value_waits(const struct iso_atoms *atoms, iso_atom atom)
{
    size_t length;
    const char *text = text_of(atoms, atom, &length);
    return length == sizeof ISO_UNKNOWN_INITIAL - 1 && !memcmp(text, ISO_UNKNOWN_INITIAL, length);
}

iso_atom iso_value_unknown(struct iso_atoms *atoms, enum iso_unjudged reason)
{
    char text[32] = {ISO_UNKNOWN_VALUE_BYTE};
    size_t length = strlen(names[reason]);
    memcpy(text + 1, names[reason], length);
    return iso_atoms_add_string(atoms, text, length + 1);
}

/* ---- whole rows ---- */

/* A row's object, entered; false: it is none. */
static bool enter_row(const struct iso_atoms *atoms, iso_atom atom, struct iso_payload *copy,
                      struct iso_json *json)
{
    size_t length;
    const char *text = text_of(atoms, atom, &length);
    if (!length || text[0] != '{')
        return false;
    iso_json_start(json, iso_payload_copy(copy, text, length), length);
    return iso_json_enter_object(json);
}

/* Whether values of such types may be of one column. */
static bool may_be_one_column(enum iso_json_type one, enum iso_json_type other)
{
    one = one == ISO_JSON_FALSE ? ISO_JSON_TRUE : one;
    other = other == ISO_JSON_FALSE ? ISO_JSON_TRUE : other;
    return one == other || one == ISO_JSON_NULL || other == ISO_JSON_NULL;
}

/* Member by member: both are sorted by name. */
static bool have_other_columns(struct iso_json *one, struct iso_json *other)
{
    struct iso_json_text name, other_name;
    for (;;) {
        bool has_one = iso_json_member(one, &name), has_other = iso_json_member(other, &other_name);
        if (one->code != ISO_JSON_FINE || other->code != ISO_JSON_FINE)
            return false;
        if (!has_one || !has_other)
            return has_one != has_other;
        if (!iso_payload_is(name, other_name.at, other_name.length) ||
            !may_be_one_column(iso_json_peek(one), iso_json_peek(other)))
            return true;
        iso_json_skip(one);
        iso_json_skip(other);
    }
}

bool iso_rows_cannot_compare(const struct iso_atoms *one_of, iso_atom one,
                             const struct iso_atoms *other_of, iso_atom other)
{
    struct iso_json left = {0}, right = {0};
    struct iso_payload copies[2] = {{0}, {0}};
    bool cannot = enter_row(one_of, one, &copies[0], &left) &&
                  enter_row(other_of, other, &copies[1], &right) &&
                  have_other_columns(&left, &right);
    for (int i = 0; i < 2; i++)
        iso_payload_release(&copies[i]);
    iso_json_release(&left);
    iso_json_release(&right);
    return cannot;
}
