/* A finding without a graph, looked up again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/sorted.h"
#include "verify/verify_private.h"

static uint32_t initial_value(const struct iso_history *history, uint32_t key)
{
    assert(key < history->keys.count);
    uint32_t value = history->initial.other_value;
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (history->initial.key[i] == key)
            value = history->initial.value[i];
    }
    return value;
}

struct seen {
    bool final, intermediate, aborted;      /* somebody else wrote the value so */
    bool other_intermediate, other_aborted; /* `other` did */
};

/* The transactions other than the reader that wrote the value of a register read. */
static struct seen writers_of(const struct iso_history *history, uint32_t reader,
                              uint32_t operation, uint32_t other)
{
    assert(operation < history->ops.count);
    uint32_t key = history->ops.key[operation], value = history->ops.value[operation], last;
    struct seen seen = {.final = initial_value(history, key) == value};
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (t == reader || !verify_final_write(history, t, key, &last))
            continue;
        bool aborted = iso_status_of(history, t) == ISO_ABORTED;
        ISO_EACH(o, history->txns.first_op, t) {
            if (history->ops.key[o] != key || !iso_kind_writes(history->ops.kind[o]) ||
                history->ops.value[o] != value)
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

/* ---- lists ---- */

/* A list read, of which a finding is to be confirmed. */
struct said {
    const struct iso_history *history;
    struct finals finals, aborted;
    bool each_read;
    uint32_t reader, operation, key, prefix;
    const iso_atom *elements;
};

static void said_init(struct said *said, const struct iso_history *history,
                      const struct iso_finding *finding, uint32_t prefix, bool each_read)
{
    *said = (struct said){.history = history,
                          .each_read = each_read,
                          .reader = finding->transaction,
                          .operation = finding->operation,
                          .key = history->ops.key[finding->operation],
                          .prefix = prefix,
                          .elements = history->lists.element +
                                      history->lists.first[history->ops.value[finding->operation]]};
    finals_init(&said->finals, history);
    finals_init_aborted(&said->aborted, history);
}

static void said_release(struct said *said)
{
    finals_release(&said->finals);
    finals_release(&said->aborted);
}

/* How often transactions append an element, of those that aborted or of the others. */
static uint32_t count_appends(const struct said *said, const struct finals *finals,
                              iso_atom element)
{
    uint32_t end, first = finals_find(finals, said->key, element, &end);
    return end - first;
}

static bool appends_element(const struct said *said, uint32_t t, iso_atom element)
{
    return finals_has(&said->finals, said->key, element, t) ||
           finals_has(&said->aborted, said->key, element, t);
}

/* A list read that holds an element which only aborted transactions appended, `other` among them;
 * or nobody, and no other is named. */
static bool holds_foreign(const struct said *said, uint32_t other)
{
    for (uint32_t i = said->finals.initial_length[said->key]; i < said->prefix; i++) {
        if (count_appends(said, &said->finals, said->elements[i]))
            continue;
        if (other == ISO_NONE ? !count_appends(said, &said->aborted, said->elements[i])
                              : other < said->history->txns.count &&
                                    appends_element(said, other, said->elements[i]))
            return true;
    }
    return false;
}

/* The prefix's elements, each with its position in the lower half, in the order of elements and
 * places. */
static uint64_t *sort_elements(const struct said *said)
{
    uint64_t *sorted = iso_allocate(((size_t)said->prefix + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < said->prefix; i++)
        sorted[i] = (uint64_t)said->elements[i] << 32 | i;
    qsort(sorted, said->prefix, sizeof *sorted, iso_order_u64);
    return sorted;
}

/* Where the positions of an element begin. */
static uint32_t first_position(const struct said *said, const uint64_t *sorted, iso_atom element)
{
    uint32_t low = 0, high = said->prefix;
    ISO_BISECT(low, high, middle, sorted[middle] >> 32 < element);
    return low;
}

/* Marks where the appends of a transaction may stand in the prefix, whole and in one piece: by
 * position, how many begin less how many have ended. */
static void cover_by(const struct said *said, const uint64_t *sorted, uint32_t t, int32_t *cover)
{
    const struct iso_history *history = said->history;
    uint32_t first = history->txns.first_op[t], length = lists_appended(history, t, said->key);
    if (!length || t == said->reader || iso_status_of(history, t) == ISO_ABORTED)
        return;
    while (history->ops.key[first] != said->key || iso_kind_of(history, first) != ISO_APPEND)
        first++;
    iso_atom element = history->ops.value[first];
    for (uint32_t i = first_position(said, sorted, element);
         i < said->prefix && sorted[i] >> 32 == element; i++) {
        uint32_t position = (uint32_t)sorted[i];
        if (!lists_hold(&said->finals, said->operation, said->prefix, t, position))
            continue;
        cover[position]++;
        cover[position + length]--;
    }
}

/* A list read whose prefix holds an element of `other`, which is no part of anybody's elements in
 * one piece: so is one that `other` alone appended and that stands there without all the others of
 * its. */
static bool holds_scrap(const struct said *said, uint32_t other)
{
    int32_t *cover = iso_allocate_zeroed((size_t)said->prefix + 1, sizeof *cover), covered = 0;
    uint64_t *sorted = sort_elements(said);
    bool found = false;
    for (uint32_t t = 0; t < said->history->txns.count; t++)
        cover_by(said, sorted, t, cover);
    for (uint32_t at = 0; at < said->prefix && !found; at++) {
        covered += cover[at];
        found = at >= said->finals.initial_length[said->key] && !covered &&
                appends_element(said, other, said->elements[at]);
    }
    ISO_FREE_ALL(sorted, cover);
    return found;
}

/* An element stands in the prefix more often than all who did not abort appended it, but for the
 * reader. */
static bool has_too_many(const struct said *said)
{
    uint64_t *sorted = sort_elements(said);
    bool found = false;
    for (uint32_t i = 0, next; i < said->prefix && !found; i = next) {
        iso_atom element = (iso_atom)(sorted[i] >> 32);
        uint32_t end, available = count_appends(said, &said->finals, element);
        for (uint32_t f = finals_find(&said->finals, said->key, element, &end); f < end; f++)
            available -= said->finals.items[f].transaction == said->reader;
        for (next = i; next < said->prefix && sorted[next] >> 32 == element;
             next++) /* the prefix begins as the list did */
            available += (uint32_t)sorted[next] < said->finals.initial_length[said->key];
        found = next - i > available;
    }
    iso_free(sorted);
    return found;
}

static bool is_incompatible(const struct said *said, uint32_t other)
{
    const struct iso_history *history = said->history;
    uint32_t key = said->key, prefix = said->prefix, at = 0;
    const iso_atom *elements = said->elements;
    if (prefix < said->finals.initial_length[key])
        return true;
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (history->initial.key[i] == key && history->initial.is_append[i] &&
            elements[at++] != history->initial.value[i])
            return true;
    }
    if (other == ISO_NONE)
        return has_too_many(said);
    if (other >= history->txns.count || iso_status_of(history, other) != ISO_COMMITTED)
        return false;
    struct own_list own = {.each_read = said->each_read};
    bool found = false;
    for (uint32_t o = history->txns.first_op[other];
         o < history->txns.first_op[other + 1] && !found; o++) {
        if (history->ops.key[o] != key)
            continue;
        if (iso_kind_of(history, o) == ISO_APPEND)
            own_list_append(&own, history->ops.value[o]);
        if (iso_kind_of(history, o) != ISO_READ_LIST)
            continue;
        struct read_shape shape = own_list_read(&own, history, o);
        uint32_t common = shape.prefix < prefix ? shape.prefix : prefix;
        found =
            shape.consistent &&
            memcmp(elements, history->lists.element + history->lists.first[history->ops.value[o]],
                   common * sizeof *elements) != 0;
    }
    iso_free(own.elements);
    return found;
}

static bool list_finding(const struct iso_history *history, const struct iso_finding *finding,
                         uint32_t prefix, bool each_read)
{
    struct said said;
    bool fine = false;
    said_init(&said, history, finding, prefix, each_read);
    if (finding->kind == ISO_FINDING_G1A)
        fine = finding->other != ISO_NONE && holds_foreign(&said, finding->other);
    else if (finding->kind == ISO_FINDING_THINAIR)
        fine = finding->other == ISO_NONE && holds_foreign(&said, ISO_NONE);
    else if (finding->kind == ISO_FINDING_G1B)
        fine = finding->other < history->txns.count &&
               iso_status_of(history, finding->other) != ISO_ABORTED &&
               holds_scrap(&said, finding->other);
    else if (finding->kind == ISO_FINDING_INCOMPATIBLE)
        fine = is_incompatible(&said, finding->other);
    said_release(&said);
    return fine;
}

static bool register_finding(const struct iso_history *history, const struct iso_finding *finding)
{
    struct seen seen =
        writers_of(history, finding->transaction, finding->operation, finding->other);
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

#define INITIALLY (ISO_NONE - 1) /* nobody wrote it: the initial value */

/* The one who may have written what a register read returned: INITIALLY for the initial value,
 * ISO_NONE if several may, or nobody. */
static uint32_t only_writer(const struct iso_history *history, uint32_t reader, uint32_t operation)
{
    assert(operation < history->ops.count);
    uint32_t key = history->ops.key[operation], value = history->ops.value[operation], last;
    uint32_t count = initial_value(history, key) == value, writer = INITIALLY;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (t == reader || iso_status_of(history, t) == ISO_ABORTED ||
            !verify_final_write(history, t, key, &last) || last != value)
            continue;
        writer = t;
        count++;
    }
    return count == 1 ? writer : ISO_NONE;
}

/* The external read of a key by a committed transaction that writes it too, or ISO_NONE. */
static uint32_t read_before_write(const struct iso_history *history, uint32_t t, uint32_t key)
{
    assert(key < history->keys.count);
    uint32_t value;
    if (t >= history->txns.count || iso_status_of(history, t) != ISO_COMMITTED ||
        !verify_final_write(history, t, key, &value))
        return ISO_NONE;
    ISO_EACH(o, history->txns.first_op, t) {
        uint8_t kind = iso_kind_of(history, o);
        if (history->ops.key[o] != key || (kind != ISO_READ && kind != ISO_READ_LIST))
            continue;
        struct read_shape shape = verify_read_shape(history, t, o, false);
        return shape.internal || !shape.consistent ? ISO_NONE : o;
    }
    return ISO_NONE;
}

/* Both read the same version of a key and write the key. A list only grows: equal prefixes are one
 * version.
 */
static bool loses_update(const struct iso_history *history, const struct iso_finding *finding,
                         uint32_t prefix)
{
    uint32_t t = finding->transaction, o = finding->operation, key = history->ops.key[o];
    uint32_t other =
        finding->other == t ? ISO_NONE : read_before_write(history, finding->other, key);
    if (other == ISO_NONE || read_before_write(history, t, key) == ISO_NONE ||
        iso_kind_of(history, other) != iso_kind_of(history, o))
        return false;
    if (iso_kind_of(history, o) == ISO_READ) {
        uint32_t writer = only_writer(history, t, o);
        return writer != ISO_NONE && writer == only_writer(history, finding->other, other) &&
               history->ops.value[o] == history->ops.value[other];
    }
    const iso_atom *elements = history->lists.element + history->lists.first[history->ops.value[o]];
    const iso_atom *of_other =
        history->lists.element + history->lists.first[history->ops.value[other]];
    return verify_read_shape(history, finding->other, other, false).prefix == prefix &&
           memcmp(elements, of_other, prefix * sizeof *elements) == 0;
}

/* Two read-modify-writes of one version are allowed below psi, and at pc. */
static bool forbids_lost_updates(enum iso_level level)
{
    return iso_level_implies(level, ISO_PSI) || level == ISO_ADYA_SI || level == ISO_GSI;
}

enum iso_verification verify_finding(const struct iso_history *history,
                                     const struct iso_evidence *evidence, struct iso_error *error)
{
    const struct iso_finding *finding = &evidence->finding;
    bool each_read = iso_level_has_each_read(evidence->level);
    uint32_t t = finding->transaction, o = finding->operation;
    bool fine = t < history->txns.count && iso_status_of(history, t) == ISO_COMMITTED &&
                o >= history->txns.first_op[t] && o < history->txns.first_op[t + 1] &&
                (iso_kind_of(history, o) == ISO_READ || iso_kind_of(history, o) == ISO_READ_LIST);
    if (!fine)
        return VERIFY_REFUSE(error, "the finding names no read of a committed transaction");
    struct read_shape shape = verify_read_shape(history, t, o, each_read);
    if (finding->kind == ISO_FINDING_INT)
        fine = !shape.consistent && finding->other == ISO_NONE;
    else if (shape.internal || !shape.consistent)
        fine = false;
    else if (finding->kind == ISO_FINDING_LOSTUPDATE)
        fine =
            forbids_lost_updates(evidence->level) && loses_update(history, finding, shape.prefix);
    else if (iso_kind_of(history, o) == ISO_READ_LIST)
        fine = list_finding(history, finding, shape.prefix, each_read);
    else
        fine = register_finding(history, finding);
    return fine ? ISO_CONFIRMED
                : VERIFY_REFUSE(error, "%s: operation %u is no instance of %s",
                                history->inputs.names ? history->inputs.names[0] : "?",
                                o - history->txns.first_op[t], iso_finding_name(finding->kind));
}
