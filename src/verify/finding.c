/* A finding without a graph, looked up again. */
#include <string.h>

#include "verify/verify_private.h"

struct seen {
    bool final, intermediate, aborted;      /* somebody else wrote the value so */
    bool other_intermediate, other_aborted; /* `other` did */
};

/* Who but the reader wrote the value of a register read. */
static struct seen writers_of(const struct iso_history *history, uint32_t reader, uint32_t operation, uint32_t other)
{
    uint32_t key = history->key[operation], value = history->value[operation], last;
    struct seen seen = {.final = verify_initial_value(history, key) == value};
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (t == reader || !verify_final_write(history, t, key, &last))
            continue;
        bool aborted = iso_status_of(history, t) == ISO_ABORTED;
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            if (history->key[o] != key || !iso_kind_writes(history->kind[o]) || history->value[o] != value)
                continue;
            seen.aborted |= aborted;
            seen.intermediate |= !aborted;
            seen.other_aborted |= aborted && t == other;
            seen.other_intermediate |= !aborted && t == other;
        }
        seen.final |= !aborted && last == value;
    }
    return seen;
}

/* An element of the prefix of a list read; how often transactions of a kind append it. */
static uint32_t count_appends(const struct iso_history *history, uint32_t key, iso_atom element, bool aborted)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if ((iso_status_of(history, t) == ISO_ABORTED) != aborted)
            continue;
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++)
            count += history->key[o] == key && iso_kind_of(history, o) == ISO_APPEND && history->value[o] == element;
    }
    return count;
}

static bool appends(const struct iso_history *history, uint32_t t, uint32_t key, iso_atom element)
{
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        if (history->key[o] == key && iso_kind_of(history, o) == ISO_APPEND && history->value[o] == element)
            return true;
    }
    return false;
}

/* A list read that holds an element which only aborted transactions appended, `other` among them; or nobody,
 * and no other is named. */
static bool holds_foreign(const struct iso_history *history, uint32_t operation, uint32_t prefix, uint32_t other)
{
    uint32_t key = history->key[operation];
    const iso_atom *elements = history->element + history->list_first[history->value[operation]];
    for (uint32_t i = verify_initial_length(history, key); i < prefix; i++) {
        if (count_appends(history, key, elements[i], false))
            continue;
        if (other == ISO_NONE ? !count_appends(history, key, elements[i], true)
                              : other < history->transaction_count && appends(history, other, key, elements[i]))
            return true;
    }
    return false;
}

/* A list read whose prefix holds an element that only `other` appended, but not with all that it appended. */
static bool holds_part(const struct iso_history *history, uint32_t reader, uint32_t operation, uint32_t prefix,
                       uint32_t other)
{
    uint32_t key = history->key[operation], offset = 0;
    const iso_atom *elements = history->element + history->list_first[history->value[operation]];
    for (uint32_t o = history->first_operation[other]; o < history->first_operation[other + 1]; o++) {
        if (history->key[o] != key || iso_kind_of(history, o) != ISO_APPEND)
            continue;
        bool sure = count_appends(history, key, history->value[o], false) == 1;
        for (uint32_t i = verify_initial_length(history, key); sure && i < prefix; i++) {
            bool whole = i >= offset && lists_hold(history, operation, prefix, other, i - offset);
            if (elements[i] == history->value[o] && (other == reader || !whole))
                return true;
        }
        offset++;
    }
    return false;
}

/* Whether somebody's appends may stand in the prefix, whole and in one piece, so that they cover element `at`. */
static bool is_covered(const struct iso_history *history, uint32_t reader, uint32_t operation, uint32_t prefix,
                       uint32_t at)
{
    uint32_t key = history->key[operation];
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        uint32_t length = lists_appended(history, t, key);
        if (t == reader || iso_status_of(history, t) == ISO_ABORTED)
            continue;
        for (uint32_t place = at < length ? 0 : at - length + 1; length && place <= at; place++) {
            if (lists_hold(history, operation, prefix, t, place))
                return true;
        }
    }
    return false;
}

/* A list read whose prefix holds an element of `other`, which is no part of anybody's elements in one piece. */
static bool holds_scrap(const struct iso_history *history, uint32_t reader, uint32_t operation, uint32_t prefix,
                        uint32_t other)
{
    uint32_t key = history->key[operation];
    const iso_atom *elements = history->element + history->list_first[history->value[operation]];
    for (uint32_t at = verify_initial_length(history, key); at < prefix; at++) {
        if (appends(history, other, key, elements[at]) && !is_covered(history, reader, operation, prefix, at))
            return true;
    }
    return false;
}

/* An element stands in the prefix more often than all who did not abort appended it, but for the reader. */
static bool repeats(const struct iso_history *history, uint32_t reader, uint32_t operation, uint32_t prefix)
{
    uint32_t key = history->key[operation];
    const iso_atom *elements = history->element + history->list_first[history->value[operation]];
    for (uint32_t i = verify_initial_length(history, key); i < prefix; i++) {
        uint32_t seen = 0, appended = count_appends(history, key, elements[i], false);
        for (uint32_t o = history->first_operation[reader]; o < history->first_operation[reader + 1]; o++)
            appended -=
                history->key[o] == key && iso_kind_of(history, o) == ISO_APPEND && history->value[o] == elements[i];
        for (uint32_t j = 0; j < prefix; j++)
            seen += elements[j] == elements[i];
        for (uint32_t j = 0; j < history->initial_count; j++)
            appended += history->initial_key[j] == key && history->initial_of_key[j] == elements[i];
        if (seen > appended)
            return true;
    }
    return false;
}

static bool incompatible(const struct iso_history *history, uint32_t reader, uint32_t operation, uint32_t prefix,
                         uint32_t other)
{
    uint32_t key = history->key[operation], at = 0;
    const iso_atom *elements = history->element + history->list_first[history->value[operation]];
    if (prefix < verify_initial_length(history, key))
        return true;
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (history->initial_key[i] == key && history->initial_is_append[i] &&
            elements[at++] != history->initial_of_key[i])
            return true;
    }
    if (other == ISO_NONE)
        return repeats(history, reader, operation, prefix);
    if (other >= history->transaction_count || iso_status_of(history, other) != ISO_COMMITTED)
        return false;
    for (uint32_t o = history->first_operation[other]; o < history->first_operation[other + 1]; o++) {
        if (history->key[o] != key || iso_kind_of(history, o) != ISO_READ_LIST)
            continue;
        struct read_shape shape = verify_read_shape(history, other, o);
        uint32_t common = shape.prefix < prefix ? shape.prefix : prefix;
        if (shape.consistent &&
            memcmp(elements, history->element + history->list_first[history->value[o]], common * sizeof *elements) != 0)
            return true;
    }
    return false;
}

static bool list_finding(const struct iso_history *history, const struct iso_finding *finding, uint32_t prefix)
{
    switch (finding->kind) {
    case ISO_FINDING_G1A:
        return finding->other != ISO_NONE && holds_foreign(history, finding->operation, prefix, finding->other);
    case ISO_FINDING_THINAIR:
        return finding->other == ISO_NONE && holds_foreign(history, finding->operation, prefix, ISO_NONE);
    case ISO_FINDING_G1B:
        return finding->other < history->transaction_count && iso_status_of(history, finding->other) != ISO_ABORTED &&
               (holds_part(history, finding->transaction, finding->operation, prefix, finding->other) ||
                holds_scrap(history, finding->transaction, finding->operation, prefix, finding->other));
    case ISO_FINDING_INCOMPATIBLE:
        return incompatible(history, finding->transaction, finding->operation, prefix, finding->other);
    default:
        return false;
    }
}

static bool register_finding(const struct iso_history *history, const struct iso_finding *finding)
{
    struct seen seen = writers_of(history, finding->transaction, finding->operation, finding->other);
    switch (finding->kind) {
    case ISO_FINDING_G1A:
        return !seen.final && seen.other_aborted;
    case ISO_FINDING_G1B:
        return !seen.final && seen.other_intermediate;
    case ISO_FINDING_THINAIR:
        return !seen.final && !seen.intermediate && !seen.aborted && finding->other == ISO_NONE;
    default:
        return false;
    }
}

/* The one who may have written what a register read returned: ISO_NONE for the initial value; false: several
 * may. */
static bool only_writer(const struct iso_history *history, uint32_t reader, uint32_t operation, uint32_t *writer)
{
    uint32_t key = history->key[operation], value = history->value[operation], last;
    uint32_t count = verify_initial_value(history, key) == value;
    *writer = ISO_NONE;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (t == reader || iso_status_of(history, t) == ISO_ABORTED || !verify_final_write(history, t, key, &last) ||
            last != value)
            continue;
        *writer = t;
        count++;
    }
    return count == 1;
}

/* The external read of a key by a committed transaction that writes it too, or ISO_NONE. */
static uint32_t read_before_write(const struct iso_history *history, uint32_t t, uint32_t key)
{
    uint32_t value;
    if (t >= history->transaction_count || iso_status_of(history, t) != ISO_COMMITTED ||
        !verify_final_write(history, t, key, &value))
        return ISO_NONE;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        uint8_t kind = iso_kind_of(history, o);
        if (history->key[o] != key || (kind != ISO_READ && kind != ISO_READ_LIST))
            continue;
        struct read_shape shape = verify_read_shape(history, t, o);
        return shape.internal || !shape.consistent ? ISO_NONE : o;
    }
    return ISO_NONE;
}

/* Both read the same version of a key and write the key. A list only grows: equal prefixes are one version.
 */
static bool loses_update(const struct iso_history *history, const struct iso_finding *finding, uint32_t prefix)
{
    uint32_t t = finding->transaction, o = finding->operation, key = history->key[o], writer, writer_of_other;
    uint32_t other = finding->other == t ? ISO_NONE : read_before_write(history, finding->other, key);
    if (other == ISO_NONE || read_before_write(history, t, key) == ISO_NONE ||
        iso_kind_of(history, other) != iso_kind_of(history, o))
        return false;
    if (iso_kind_of(history, o) == ISO_READ)
        return only_writer(history, t, o, &writer) && only_writer(history, finding->other, other, &writer_of_other) &&
               writer == writer_of_other && history->value[o] == history->value[other];
    const iso_atom *elements = history->element + history->list_first[history->value[o]];
    const iso_atom *of_other = history->element + history->list_first[history->value[other]];
    return verify_read_shape(history, finding->other, other).prefix == prefix &&
           memcmp(elements, of_other, prefix * sizeof *elements) == 0;
}

enum iso_status verify_finding(const struct iso_history *history, const struct iso_finding *finding,
                               struct iso_error *error)
{
    uint32_t t = finding->transaction, o = finding->operation;
    bool fine = t < history->transaction_count && iso_status_of(history, t) == ISO_COMMITTED &&
                o >= history->first_operation[t] && o < history->first_operation[t + 1] &&
                (iso_kind_of(history, o) == ISO_READ || iso_kind_of(history, o) == ISO_READ_LIST);
    if (!fine)
        return iso_error_set(error, ISO_VIOLATED, "the finding names no read of a committed transaction");
    struct read_shape shape = verify_read_shape(history, t, o);
    if (finding->kind == ISO_FINDING_INT)
        fine = !shape.consistent && finding->other == ISO_NONE;
    else if (shape.internal || !shape.consistent)
        fine = false;
    else if (finding->kind == ISO_FINDING_LOSTUPDATE)
        fine = loses_update(history, finding, shape.prefix);
    else if (iso_kind_of(history, o) == ISO_READ_LIST)
        fine = list_finding(history, finding, shape.prefix);
    else
        fine = register_finding(history, finding);
    return fine ? ISO_OK
                : iso_error_set(error, ISO_VIOLATED, "%s: operation %u is no instance of %s",
                                history->inputs ? history->inputs[0] : "?", o - history->first_operation[t],
                                iso_finding_name(finding->kind));
}
