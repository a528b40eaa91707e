/* The native format's values: ids, keys, numbers, timestamps, snapshots. */
#include <stdio.h>

#include "native/native_private.h"

/* ---- faults ---- */

bool native_refuse(struct iso_native *native, const char *at, const char *format, ...)
{
    va_list arguments;
    native->fault->kind = ISO_FAULT_TEXT;
    native->fault->position = (size_t)(at - native->json.start);
    va_start(arguments, format);
    vsnprintf(native->fault->text, sizeof native->fault->text, format, arguments);
    va_end(arguments);
    return false;
}

bool native_scanner_fault(struct iso_native *native)
{
    if (native->fault->kind != ISO_FAULT_NONE)
        return false;
    native->fault->kind = native->json.code == ISO_JSON_END ? ISO_FAULT_END : ISO_FAULT_TEXT;
    native->fault->position = native->json.position;
    iso_json_describe(&native->json, native->fault->text, sizeof native->fault->text);
    return false;
}

bool native_wrong_type(struct iso_native *native, const char *what, const char *expected)
{
    static const char *const names[] = {
        [ISO_JSON_NONE] = "nothing",    [ISO_JSON_OBJECT] = "an object",
        [ISO_JSON_ARRAY] = "a list",    [ISO_JSON_STRING] = "a string",
        [ISO_JSON_DIGITS] = "a number", [ISO_JSON_TRUE] = "true",
        [ISO_JSON_FALSE] = "false",     [ISO_JSON_NULL] = "null"};
    enum iso_json_type type = iso_json_peek(&native->json);
    if (type != ISO_JSON_NONE)
        return native_refuse(native, native->json.at, "%s is %s, expected %s", what, names[type],
                             expected);
    iso_json_fail(&native->json, ISO_JSON_UNEXPECTED, native->json.at, expected);
    return native_scanner_fault(native);
}

bool native_once(struct iso_native *native, unsigned *seen, unsigned bit,
                 const struct iso_json_text *name)
{
    if (*seen & bit)
        return native_refuse(native, native->json.at,
                             "member \"%.*s\" occurs here a second time, expected it once",
                             native_shown(name), name->at);
    *seen |= bit;
    return true;
}

/* ---- numbers and strings ---- */

static bool read_integer(struct iso_native *native, const char *what,
                         struct iso_json_number *number)
{
    const char *at = native->json.at;
    if (iso_json_integer(&native->json, number))
        return true;
    if (native->json.code == ISO_JSON_FRACTION)
        return native_refuse(
            native, at, "%s is a number with a fraction or exponent, expected an integer", what);
    if (native->json.code == ISO_JSON_RANGE)
        return native_refuse(
            native, at, "%s is a number beyond 64 bits, expected an integer from -2^63 to 2^64-1",
            what);
    return native_scanner_fault(native);
}

bool native_read_atom(struct iso_native *native, const char *what, iso_atom *atom)
{
    struct iso_json_number number;
    struct iso_json_text text;
    switch (iso_json_peek(&native->json)) {
    case ISO_JSON_DIGITS:
        if (!read_integer(native, what, &number))
            return false;
        if (!number.negative)
            *atom = iso_atoms_unsigned(&native->history->atoms, number.bits);
        else if (number.bits)
            *atom = iso_atoms_add_integer(&native->history->atoms, number.bits, true);
        else
            *atom = iso_atoms_add_string(&native->history->atoms, "-0", 2); /* not the text "0" */
        return true;
    case ISO_JSON_STRING:
        if (!iso_json_string(&native->json, &text))
            return native_scanner_fault(native);
        *atom = iso_atoms_text(&native->history->atoms, text.at, text.length);
        return true;
    default:
        return native_wrong_type(native, what, "an integer or a string");
    }
}

/* "123", the usual form of a timestamp. */
static bool read_quoted(struct iso_json *json, uint64_t *number)
{
    unsigned digits = iso_json_digits(json->at + 1, number);
    const char *behind = json->at + 1 + digits;
    if (!digits || behind >= json->end || *behind != '"')
        return false;
    json->at = behind + 1;
    return true;
}

bool native_read_unsigned(struct iso_native *native, const char *what, uint64_t *number)
{
    struct iso_json_number integer;
    struct iso_json_text text;
    enum iso_json_type type = iso_json_peek(&native->json);
    const char *at = native->json.at;
    if (type == ISO_JSON_STRING) {
        if (read_quoted(&native->json, number))
            return true;
        if (!iso_json_string(&native->json, &text))
            return native_scanner_fault(native);
        return iso_bytes_decimal(text.at, text.length, number) ||
               native_refuse(
                   native, at,
                   "%s is \"%.*s\", expected decimal digits for a number from 0 to 2^64-1", what,
                   native_shown(&text), text.at);
    }
    if (type != ISO_JSON_DIGITS)
        return native_wrong_type(native, what, "an integer or a decimal string");
    if (!read_integer(native, what, &integer))
        return false;
    *number = integer.bits;
    return !integer.negative ||
           native_refuse(native, at, "%s is negative, expected an integer from 0 to 2^64-1", what);
}

const char *native_read_word(struct iso_native *native, const char *what, const char *expected,
                             struct iso_json_text *word)
{
    bool is_string = iso_json_peek(&native->json) == ISO_JSON_STRING;
    const char *at = native->json.at;
    bool fine = is_string ? iso_json_string(&native->json, word) || native_scanner_fault(native)
                          : native_wrong_type(native, what, expected);
    return fine ? at : NULL;
}

bool native_read_boolean(struct iso_native *native, const char *what, bool *value)
{
    enum iso_json_type type = iso_json_peek(&native->json);
    if (type != ISO_JSON_TRUE && type != ISO_JSON_FALSE)
        return native_wrong_type(native, what, "true or false");
    return iso_json_boolean(&native->json, value) || native_scanner_fault(native);
}

/* ---- timestamps ---- */

/* {"p":..,"l":..} */
static bool read_pair(struct iso_native *native, const char *what, struct iso_stamp *stamp)
{
    struct iso_json_text name;
    unsigned seen = 0;
    const char *at = native->json.at;
    if (!iso_json_enter_object(&native->json))
        return native_scanner_fault(native);
    while (iso_json_member(&native->json, &name)) {
        bool physical = iso_json_is(&name, "p"), logical = iso_json_is(&name, "l");
        if (!physical && !logical) {
            if (!iso_json_skip(&native->json))
                return native_scanner_fault(native);
            continue;
        }
        if (!native_once(native, &seen, physical ? 1 : 2, &name) ||
            !native_read_unsigned(native, physical ? "p" : "l",
                                  physical ? &stamp->physical : &stamp->logical))
            return false;
    }
    if (native->json.code != ISO_JSON_FINE)
        return native_scanner_fault(native);
    return seen == 3 || native_refuse(native, at, "%s lacks \"%s\", expected {\"p\":..,\"l\":..}",
                                      what, seen & 1 ? "l" : "p");
}

bool native_read_stamp(struct iso_native *native, const char *what, struct iso_stamp *stamp,
                       enum iso_clock *clock)
{
    enum iso_json_type type = iso_json_peek(&native->json);
    enum iso_clock kind = type == ISO_JSON_OBJECT ? ISO_CLOCK_PAIR : ISO_CLOCK_SCALAR;
    stamp->logical = 0;
    if (type != ISO_JSON_OBJECT && type != ISO_JSON_DIGITS && type != ISO_JSON_STRING)
        return native_wrong_type(native, what,
                                 "an integer, a decimal string or {\"p\":..,\"l\":..}");
    if (*clock != ISO_CLOCK_NONE && *clock != kind)
        return native_refuse(native, native->json.at,
                             "%s is %s, expected the same kind of timestamp as before it", what,
                             kind == ISO_CLOCK_PAIR ? "a pair {p,l}" : "a single number");
    *clock = kind;
    if (kind == ISO_CLOCK_PAIR)
        return read_pair(native, what, stamp);
    return native_read_unsigned(native, what, &stamp->physical);
}

bool native_take_snapshot(struct iso_native *native, const char *at, struct iso_json_text text,
                          uint32_t *snapshot)
{
    return iso_history_snapshot(native->history, text.at, text.length, snapshot) ||
           native_refuse(native, at, "snapshot is \"%.*s\", expected \"xmin:xmax:xip,...\"",
                         native_shown(&text), text.at);
}

bool native_read_snapshot(struct iso_native *native, uint32_t *snapshot)
{
    struct iso_json_text text;
    const char *at = native_read_word(native, "snapshot", "a string \"xmin:xmax:xip,...\"", &text);
    return at && native_take_snapshot(native, at, text, snapshot);
}
