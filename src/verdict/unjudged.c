#include "verdict/unjudged.h"

#include <string.h>

static const char *const names[ISO_UNJUDGED_REASONS] = {
    "unknown-writer", "before-start", "unknown-value", "schema", "ddl",
    "lossy",          "spelling",     "own-order",     "xa",     "scan-limit"};

const char *iso_unjudged_name(enum iso_unjudged reason)
{
    return names[reason];
}

const char *iso_unjudged_first(const uint64_t counts[ISO_UNJUDGED_REASONS])
{
    int reason = 0;
    while (reason < ISO_UNJUDGED_REASONS - 1 && !counts[reason])
        reason++;
    return names[reason];
}

static const char *text_of(const struct iso_atoms *atoms, iso_atom atom, size_t *length)
{
    static char none[ISO_ATOM_TEXT_MAX];
    *length = 0;
    if (!(atom & ISO_ATOM_TABLE) || atom == ISO_ABSENT || !iso_atom_is_string(atoms, atom))
        return "";
    return iso_atom_text(atoms, atom, none, length); /* strings stand in the table: nothing is written to `none` */
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

/* A canonical JSON object, member by member. */
struct members {
    const char *at, *end;
    const char *name, *value;
    size_t name_length;
    bool broken;
};

static void skip_string(struct members *members)
{
    for (members->at++; members->at < members->end && *members->at != '"'; members->at++)
        members->at += *members->at == '\\';
    members->at++;
}

static void skip_value(struct members *members)
{
    int depth = 0;
    for (; members->at < members->end; members->at++) {
        char byte = *members->at;
        if (byte == '"') {
            skip_string(members);
            members->at--;
        } else if (byte == '{' || byte == '[') {
            depth++;
        } else if (byte == '}' || byte == ']') {
            if (!depth--)
                return;
        } else if (byte == ',' && !depth) {
            return;
        }
    }
}

static bool open_members(struct members *members, const char *text, size_t length)
{
    *members = (struct members){.at = text + 1, .end = text + length};
    return length >= 2 && text[0] == '{' && text[length - 1] == '}';
}

static bool next_member(struct members *members)
{
    if (members->at >= members->end || *members->at == '}')
        return false;
    members->at += *members->at == ',';
    members->name = members->at;
    members->broken |= *members->at != '"';
    if (members->broken)
        return false;
    skip_string(members);
    members->name_length = (size_t)(members->at - members->name);
    members->broken |= members->at >= members->end || *members->at++ != ':' || members->at >= members->end;
    if (members->broken)
        return false;
    members->value = members->at;
    skip_value(members);
    return true;
}

/* 'n' null, 'b' boolean, '0' number, else the first byte. */
static char type_of(const char *value)
{
    return *value == 't' || *value == 'f' ? 'b' : *value == '-' || (*value >= '0' && *value <= '9') ? '0' : *value;
}

bool iso_rows_cannot_compare(const struct iso_atoms *one_of, iso_atom one, const struct iso_atoms *other_of,
                             iso_atom other)
{
    struct members left, right;
    size_t left_length, right_length;
    const char *left_text = text_of(one_of, one, &left_length), *right_text = text_of(other_of, other, &right_length);
    if (!open_members(&left, left_text, left_length) || !open_members(&right, right_text, right_length))
        return false;
    for (;;) {
        bool has_left = next_member(&left), has_right = next_member(&right);
        if (left.broken || right.broken)
            return false;
        if (!has_left || !has_right)
            return has_left != has_right;
        if (left.name_length != right.name_length || memcmp(left.name, right.name, left.name_length) != 0)
            return true; /* both are sorted by name */
        char one_type = type_of(left.value), other_type = type_of(right.value);
        if (one_type != other_type && one_type != 'n' && other_type != 'n')
            return true;
    }
}
