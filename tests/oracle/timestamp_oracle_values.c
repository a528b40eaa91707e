/* One external read against what it should have seen, and in which way it is wrong. */
#include <string.h>

#include "tests/oracle/timestamp_oracle_private.h"

#define NONE ISO_NONE

static const struct plain_operation *operations_of(const struct oracle *oracle, uint32_t t)
{
    return oracle->history->transactions[t].operations;
}

static uint8_t status_of(const struct oracle *oracle, uint32_t t)
{
    return oracle->history->transactions[t].status;
}

/* U writes (or appends) the value to the key, at some point. */
static bool wrote(const struct oracle *oracle, uint32_t u, const struct plain_text *key,
                  const struct plain_text *value)
{
    for (uint32_t i = 0; i < oracle->history->transactions[u].operation_count; i++) {
        const struct plain_operation *operation = &operations_of(oracle, u)[i];
        if (plain_writes(operation) && plain_equal(&operation->key, key) &&
            plain_equal(&operation->value, value))
            return true;
    }
    return false;
}

/* Of all others of that status that wrote the value, the one with the smallest tid. */
static uint32_t smallest_writer(const struct oracle *oracle, const struct external_read *read,
                                uint8_t status, const struct plain_text *value)
{
    uint32_t found = NONE;
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++) {
        if (u != read->t && status_of(oracle, u) == status && wrote(oracle, u, read->key, value))
            found = smaller_tid(oracle, found, u);
    }
    return found;
}

/* ---- registers ---- */

static struct plain_text initial_value(const struct oracle *oracle, const struct plain_text *key)
{
    struct plain_text value = oracle->history->initial_value;
    for (uint32_t i = 0; i < oracle->history->initial_count; i++) {
        if (plain_equal(&oracle->history->initials[i].key, key))
            value = oracle->history->initials[i].value;
    }
    return value;
}

static struct plain_text final_value(const struct oracle *oracle, uint32_t w,
                                     const struct plain_text *key)
{
    return operations_of(oracle, w)[final_write(oracle, w, key)].value;
}

static bool ends_with_value(const struct oracle *oracle, uint32_t w, const struct plain_text *key,
                            const struct plain_text *value)
{
    if (final_write(oracle, w, key) == NONE)
        return false;
    struct plain_text final = final_value(oracle, w, key);
    return plain_equal(&final, value);
}

static bool rests_on_unknown(const struct oracle *oracle, const struct external_read *read,
                             const struct plain_text *value)
{
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++) {
        if (may_be_visible(oracle, read, u) && ends_with_value(oracle, u, read->key, value))
            return true;
    }
    return false;
}

/* A committed transaction wrote the value, but not last; smallest tid. */
static uint32_t intermediate_writer(const struct oracle *oracle, const struct external_read *read,
                                    const struct plain_text *value)
{
    uint32_t found = NONE;
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        if (has_version(oracle, read, w) && wrote(oracle, w, read->key, value) &&
            !ends_with_value(oracle, w, read->key, value))
            found = smaller_tid(oracle, found, w);
    }
    return found;
}

/* Among the versions with this value: the first that is not visible, or the last that is. */
static uint32_t version_with_value(const struct oracle *oracle, const struct external_read *read,
                                   bool visible, const struct plain_text *value)
{
    uint32_t found = NONE;
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        if (!has_version(oracle, read, w) || is_visible(oracle, read, w) != visible ||
            !ends_with_value(oracle, w, read->key, value))
            continue;
        if (found == NONE || version_below(oracle, read->key, found, w) == visible)
            found = w;
    }
    return found;
}

static void explain_register(const struct oracle *oracle, const struct external_read *read,
                             const struct plain_text *value, struct instance *wrong)
{
    struct plain_text initial = initial_value(oracle, read->key);
    uint32_t aborted = smallest_writer(oracle, read, ISO_ABORTED, value);
    uint32_t committed = smallest_writer(oracle, read, ISO_COMMITTED, value);
    uint32_t unknown = smallest_writer(oracle, read, ISO_UNKNOWN, value);
    uint32_t intermediate = intermediate_writer(oracle, read, value);
    uint32_t future = version_with_value(oracle, read, false, value);
    bool from_nobody = committed == NONE && !value->absent && !plain_equal(&initial, value);
    if (aborted != NONE || from_nobody) {
        wrong->kind = ISO_UNCOMMITTED;
        wrong->writer_actual = aborted != NONE ? aborted : unknown;
    } else if (intermediate != NONE) {
        wrong->kind = ISO_INTERMEDIATE;
        wrong->writer_actual = intermediate;
    } else if (future != NONE) {
        wrong->kind = ISO_FUTURE;
        wrong->writer_actual = future;
    } else {
        wrong->kind = value->absent ? ISO_ABSENT_READ : ISO_STALE;
        wrong->writer_actual = version_with_value(oracle, read, true, value);
    }
}

bool is_register_version(const struct oracle *oracle, const struct external_read *read,
                         uint32_t writer)
{
    struct plain_text value =
        writer == NONE ? initial_value(oracle, read->key) : final_value(oracle, writer, read->key);
    return plain_equal(&value, &operations_of(oracle, read->t)[read->operation].value);
}

enum read_verdict judge_register(const struct oracle *oracle, const struct external_read *read,
                                 struct instance *wrong)
{
    const struct plain_text *value = &operations_of(oracle, read->t)[read->operation].value;
    uint32_t writer = expected_writer(oracle, read);
    struct plain_text expected =
        writer == NONE ? initial_value(oracle, read->key) : final_value(oracle, writer, read->key);
    if (plain_equal(&expected, value))
        return READ_GOOD;
    if (rests_on_unknown(oracle, read, value))
        return READ_UNJUDGED;
    *wrong = instance_of(ISO_EXT, ISO_KIND_NONE, read->t);
    strcpy(wrong->key, read->key->text);
    wrong->operation = operation_number(oracle, read->t, read->operation);
    wrong->writer_expected = writer;
    value_text(&expected, wrong->expected);
    value_text(value, wrong->actual);
    explain_register(oracle, read, value, wrong);
    return READ_WRONG;
}

/* ---- lists ---- */

/* All appends there are, and the reader's own once more. */
enum { MAX_ELEMENTS = PLAIN_INITIALS + (PLAIN_TRANSACTIONS + 1) * PLAIN_OPERATIONS };

struct elements {
    uint32_t count;
    struct plain_text at[MAX_ELEMENTS];
};

static void add_initial(const struct oracle *oracle, const struct plain_text *key,
                        struct elements *list)
{
    for (uint32_t i = 0; i < oracle->history->initial_count; i++) {
        if (plain_equal(&oracle->history->initials[i].key, key))
            list->at[list->count++] = oracle->history->initials[i].value;
    }
}

static void add_appends(const struct oracle *oracle, uint32_t w, const struct plain_text *key,
                        struct elements *list)
{
    for (uint32_t i = 0; i < oracle->history->transactions[w].operation_count; i++) {
        const struct plain_operation *operation = &operations_of(oracle, w)[i];
        if (operation->kind == ISO_APPEND && plain_equal(&operation->key, key))
            list->at[list->count++] = operation->value;
    }
}

static bool is_writer(const struct oracle *oracle, uint32_t w, const struct plain_text *key)
{
    return is_committed(oracle, w) && first_write(oracle, w, key) != NONE;
}

/* The next version above `below` (ISO_NONE: the first one), or ISO_NONE. */
static uint32_t next_version(const struct oracle *oracle, const struct plain_text *key,
                             uint32_t below)
{
    uint32_t next = NONE;
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        if (!is_writer(oracle, w, key) || (below != NONE && !version_below(oracle, key, below, w)))
            continue;
        if (next == NONE || version_below(oracle, key, w, next))
            next = w;
    }
    return next;
}

/* The version that `newest` wrote: the one before it, and the writer's appends. */
static void list_version(const struct oracle *oracle, const struct plain_text *key, uint32_t newest,
                         struct elements *list)
{
    list->count = 0;
    add_initial(oracle, key, list);
    for (uint32_t w = NONE; newest != NONE && w != newest;) {
        w = next_version(oracle, key, w);
        add_appends(oracle, w, key, list);
    }
}

static bool holds(const struct plain_text *elements, uint32_t count,
                  const struct plain_text *element)
{
    for (uint32_t i = 0; i < count; i++) {
        if (plain_equal(&elements[i], element))
            return true;
    }
    return false;
}

static bool prefix_rests_on_unknown(const struct oracle *oracle, const struct external_read *read,
                                    const struct plain_text *prefix, uint32_t count)
{
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++) {
        for (uint32_t i = 0; i < count && may_be_visible(oracle, read, u); i++) {
            if (wrote(oracle, u, read->key, &prefix[i]))
                return true;
        }
    }
    return false;
}

static bool is_partly_in(const struct oracle *oracle, uint32_t w, const struct plain_text *key,
                         const struct plain_text *prefix, uint32_t count)
{
    struct elements own = {.count = 0};
    bool in = false, out = false;
    add_appends(oracle, w, key, &own);
    for (uint32_t i = 0; i < own.count; i++) {
        bool held = holds(prefix, count, &own.at[i]);
        in |= held;
        out |= !held;
    }
    return in && out;
}

/* The class of writers that make an element of the prefix wrong in the given way; its smallest
 * tid. */
static uint32_t wrong_writer(const struct oracle *oracle, const struct external_read *read,
                             enum iso_violation_kind kind, const struct plain_text *prefix,
                             uint32_t count, const struct plain_text *element)
{
    uint32_t found = NONE;
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        if (!has_version(oracle, read, w) || !wrote(oracle, w, read->key, element))
            continue;
        bool fits = kind == ISO_INTERMEDIATE ? is_partly_in(oracle, w, read->key, prefix, count)
                    : kind == ISO_FUTURE     ? !is_visible(oracle, read, w)
                                             : is_visible(oracle, read, w);
        if (fits)
            found = smaller_tid(oracle, found, w);
    }
    return found;
}

/* The first element that an aborted transaction appended, or nobody who committed. */
static bool find_uncommitted(const struct oracle *oracle, const struct external_read *read,
                             const struct plain_text *prefix, uint32_t count, uint32_t *writer)
{
    struct elements initial = {.count = 0};
    add_initial(oracle, read->key, &initial);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t aborted = smallest_writer(oracle, read, ISO_ABORTED, &prefix[i]);
        bool from_nobody = smallest_writer(oracle, read, ISO_COMMITTED, &prefix[i]) == NONE &&
                           !holds(initial.at, initial.count, &prefix[i]);
        if (aborted == NONE && !from_nobody)
            continue;
        *writer =
            aborted != NONE ? aborted : smallest_writer(oracle, read, ISO_UNKNOWN, &prefix[i]);
        return true;
    }
    return false;
}

static void explain_list(const struct oracle *oracle, const struct external_read *read,
                         const struct plain_text *prefix, uint32_t count, struct instance *wrong)
{
    static const enum iso_violation_kind kinds[] = {ISO_INTERMEDIATE, ISO_FUTURE};
    wrong->kind = ISO_UNCOMMITTED;
    if (find_uncommitted(oracle, read, prefix, count, &wrong->writer_actual))
        return;
    for (int k = 0; k < 2; k++) {
        wrong->kind = kinds[k];
        for (uint32_t i = 0; i < count; i++) {
            wrong->writer_actual = wrong_writer(oracle, read, kinds[k], prefix, count, &prefix[i]);
            if (wrong->writer_actual != NONE)
                return;
        }
    }
    wrong->kind = count ? ISO_STALE : ISO_ABSENT_READ;
    if (count)
        wrong->writer_actual =
            wrong_writer(oracle, read, ISO_STALE, prefix, count, &prefix[count - 1]);
}

bool is_list_version(const struct oracle *oracle, const struct external_read *read, uint32_t prefix,
                     uint32_t writer)
{
    struct elements version;
    list_version(oracle, read->key, writer, &version);
    bool equal = version.count == prefix;
    for (uint32_t i = 0; equal && i < prefix; i++)
        equal =
            plain_equal(&version.at[i], &operations_of(oracle, read->t)[read->operation].list[i]);
    return equal;
}

bool list_is_tied(const struct oracle *oracle, const struct plain_text *key)
{
    bool tied = false;
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        for (uint32_t u = 0; u < w; u++)
            tied |= is_writer(oracle, w, key) && is_writer(oracle, u, key) &&
                    oracle->times.transactions[w].cts == oracle->times.transactions[u].cts;
    }
    return tied && oracle->positions && !oracle->has_log;
}

enum read_verdict judge_list(const struct oracle *oracle, const struct external_read *read,
                             uint32_t prefix, struct instance *wrong)
{
    const struct plain_operation *operation = &operations_of(oracle, read->t)[read->operation];
    uint32_t writer = expected_writer(oracle, read);
    struct elements expected;
    list_version(oracle, read->key, writer, &expected);
    bool equal = expected.count == prefix;
    for (uint32_t i = 0; equal && i < prefix; i++)
        equal = plain_equal(&expected.at[i], &operation->list[i]);
    if (equal)
        return READ_GOOD;
    if (prefix_rests_on_unknown(oracle, read, operation->list, prefix))
        return READ_UNJUDGED;
    *wrong = instance_of(ISO_EXT, ISO_KIND_NONE, read->t);
    strcpy(wrong->key, read->key->text);
    wrong->operation = operation_number(oracle, read->t, read->operation);
    wrong->writer_expected = writer;
    explain_list(oracle, read, operation->list, prefix, wrong);
    for (uint32_t i = prefix; i < operation->list_count; i++)
        expected.at[expected.count++] = operation->list[i];
    list_text(expected.at, expected.count, wrong->expected);
    list_text(operation->list, operation->list_count, wrong->actual);
    return READ_WRONG;
}
