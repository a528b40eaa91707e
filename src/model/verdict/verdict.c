#define _GNU_SOURCE
#include "verdict/verdict.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "verdict/unjudged.h"

void iso_verdict_init(struct iso_verdict *verdict, const struct iso_history *history,
                      enum iso_level level, uint32_t limit)
{
    memset(verdict, 0, sizeof *verdict);
    verdict->history = history;
    verdict->level = level;
    verdict->limit = limit;
    iso_atoms_init(&verdict->texts);
}

void iso_verdict_release(struct iso_verdict *verdict)
{
    ISO_FREE_ALL(verdict->violations, verdict->elements);
    iso_atoms_release(&verdict->texts);
    memset(verdict, 0, sizeof *verdict);
}

/* Keys, or transactions, by their names; none comes first. */
static int compare_named(const struct iso_history *history, const iso_atom *names, uint32_t left,
                         uint32_t right)
{
    if (left == right)
        return 0;
    if (left == ISO_NONE || right == ISO_NONE)
        return left == ISO_NONE ? -1 : 1;
    return iso_atom_compare(&history->atoms, names[left], names[right]);
}

int iso_violation_compare(const struct iso_history *history, const struct iso_violation *left,
                          const struct iso_violation *right)
{
    int order = compare_named(history, history->txns.tid, left->transaction, right->transaction);
    if (!order && left->axiom != right->axiom)
        order = left->axiom < right->axiom ? -1 : 1;
    if (!order)
        order = compare_named(history, history->keys.atom, left->key, right->key);
    return order ? order : compare_named(history, history->txns.tid, left->other, right->other);
}

static bool comes_before(const struct iso_verdict *verdict, const struct iso_violation *left,
                         const struct iso_violation *right)
{
    return iso_violation_compare(verdict->history, left, right) < 0;
}

/* The last of those that are kept is the heap's first. */
#define IS_LATER(left, right) comes_before(verdict, right, left)

bool iso_verdict_keeps(const struct iso_verdict *verdict, const struct iso_violation *violation)
{
    return !verdict->limit || verdict->violation_count < verdict->limit ||
           comes_before(verdict, violation, &verdict->violations[0]);
}

static bool is_own_list(const struct iso_verdict *verdict, const struct iso_value *value)
{
    return value->is_list && value->elements == (const iso_atom *const *)&verdict->elements;
}

static void move_list(const struct iso_verdict *verdict, struct iso_value *value, iso_atom *to,
                      uint64_t *count)
{
    if (!is_own_list(verdict, value))
        return;
    if (value->count)
        memcpy(to + *count, verdict->elements + value->first, value->count * sizeof *to);
    value->first = *count;
    *count += value->count;
}

/* Gives up the lists that no violation has. */
static void compact_lists(struct iso_verdict *verdict)
{
    uint64_t capacity = verdict->element_count - verdict->elements_unused, count = 0;
    iso_atom *elements = iso_allocate((capacity + 1) * sizeof *elements);
    for (uint32_t i = 0; i < verdict->violation_count; i++) {
        move_list(verdict, &verdict->violations[i].expected, elements, &count);
        move_list(verdict, &verdict->violations[i].actual, elements, &count);
    }
    assert(count <= capacity);
    iso_free(verdict->elements);
    verdict->elements = elements;
    verdict->element_count = count;
    verdict->element_capacity = capacity + 1;
    verdict->elements_unused = 0;
}

/* In place of the last one that is kept; its lists are given up once they are most of all. */
static void replace_last(struct iso_verdict *verdict, const struct iso_violation *violation)
{
    const struct iso_violation *last = &verdict->violations[0];
    verdict->elements_unused += is_own_list(verdict, &last->expected) ? last->expected.count : 0;
    verdict->elements_unused += is_own_list(verdict, &last->actual) ? last->actual.count : 0;
    ISO_HEAP_POP(verdict->violations, verdict->violation_count, IS_LATER);
    ISO_HEAP_PUSH(verdict->violations, verdict->violation_count, *violation, IS_LATER);
    if (verdict->elements_unused > verdict->element_count / 2)
        compact_lists(verdict);
}

void iso_verdict_keep(struct iso_verdict *verdict, const struct iso_violation *violation)
{
    assert(!verdict->sorted);
    if (!iso_verdict_keeps(verdict, violation))
        return;
    if (verdict->limit && verdict->violation_count == verdict->limit) {
        replace_last(verdict, violation);
        return;
    }
    ISO_GROW(verdict->violations, verdict->violation_count, verdict->violation_capacity);
    if (verdict->limit)
        ISO_HEAP_PUSH(verdict->violations, verdict->violation_count, *violation, IS_LATER);
    else
        verdict->violations[verdict->violation_count++] = *violation;
}

void iso_verdict_add(struct iso_verdict *verdict, const struct iso_violation *violation)
{
    verdict->counts[violation->axiom]++;
    iso_verdict_keep(verdict, violation);
}

struct iso_value iso_verdict_list(struct iso_verdict *verdict, const iso_atom *elements,
                                  uint32_t count)
{
    uint64_t need = verdict->element_count + count;
    ISO_RESERVE(verdict->elements, need, verdict->element_capacity);
    if (count)
        memcpy(verdict->elements + verdict->element_count, elements, count * sizeof *elements);
    verdict->element_count = need;
    return (struct iso_value){.is_list = true,
                              .first = need - count,
                              .count = count,
                              .elements = (const iso_atom *const *)&verdict->elements};
}

struct iso_value iso_verdict_text(struct iso_verdict *verdict, const char *text, size_t length)
{
    return (struct iso_value){.atom =
                                  text ? iso_atoms_text(&verdict->texts, text, length) : ISO_ABSENT,
                              .atoms = &verdict->texts};
}

struct iso_value iso_value_of_list(const struct iso_history *history, uint32_t list)
{
    uint64_t first = history->lists.first[list];
    return (struct iso_value){.is_list = true,
                              .first = first,
                              .count = (uint32_t)(history->lists.first[list + 1] - first),
                              .elements = (const iso_atom *const *)&history->lists.element};
}

static void adopt_value(struct iso_verdict *verdict, const struct iso_verdict *from,
                        struct iso_value *value)
{
    if (!value->is_list && value->atoms == &from->texts) {
        value->atom = iso_atoms_copy(&verdict->texts, &from->texts, value->atom);
        value->atoms = &verdict->texts;
    }
    if (is_own_list(from, value))
        *value = iso_verdict_list(verdict, value->count ? from->elements + value->first : NULL,
                                  value->count);
}

void iso_verdict_merge(struct iso_verdict *verdict, struct iso_verdict *from)
{
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        verdict->counts[axiom] += from->counts[axiom];
    verdict->reads_judged += from->reads_judged;
    verdict->reads_unjudged += from->reads_unjudged;
    for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++)
        verdict->unjudged[reason] += from->unjudged[reason];
    verdict->writes_unjudged += from->writes_unjudged;
    verdict->per_operation |= from->per_operation;
    for (uint32_t i = 0; i < from->violation_count; i++) {
        struct iso_violation violation = from->violations[i];
        if (!iso_verdict_keeps(verdict, &violation))
            continue;
        adopt_value(verdict, from, &violation.expected);
        adopt_value(verdict, from, &violation.actual);
        iso_verdict_keep(verdict, &violation);
    }
    iso_verdict_release(from);
}

static int compare_in_history(const void *left, const void *right, void *history)
{
    return iso_violation_compare(history, left, right);
}

static bool is_cell(const struct iso_history *history, uint32_t key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &length);
    return memchr(text, '#', length);
}

/* Engines judge row sets as reads; of what a set lacks, or has too much, the words are others. */
static void name_row_sets(struct iso_verdict *verdict)
{
    const struct iso_history *history = verdict->history;
    for (uint32_t i = 0; history->ranges.count && i < verdict->violation_count; i++) {
        struct iso_violation *violation = &verdict->violations[i];
        bool is_row;
        if (violation->axiom != ISO_EXT || violation->kind > ISO_STALE ||
            violation->operation == ISO_NONE ||
            !iso_history_in_range(history, violation->operation, &is_row))
            continue;
        bool of_query = iso_history_set_of(history, violation->operation)->form == ISO_SET_QUERY;
        if (of_query && is_cell(history, violation->key))
            continue;
        if (!is_row)
            violation->kind = ISO_MISSING_ROW;
        else if (violation->expected.is_list ? !violation->expected.count
                                             : violation->expected.atom == ISO_ABSENT)
            violation->kind = ISO_EXTRA_ROW;
    }
    verdict->reads_unjudged += history->ranges.skipped + history->streamed.left_out;
    verdict->unjudged[ISO_UNJUDGED_NO_STREAM] += history->streamed.left_out;
    verdict->unjudged[ISO_UNJUDGED_SCAN_LIMIT] += history->ranges.skipped;
}

/* Whether committed transactions read anything. */
static bool has_reads(const struct iso_history *history)
{
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (iso_status_of(history, t) != ISO_COMMITTED)
            continue;
        ISO_EACH(o, history->txns.first_op, t)
            if (history->ops.kind[o] == ISO_READ || history->ops.kind[o] == ISO_READ_LIST)
                return true;
    }
    return false;
}

/* Whether there is nothing that a verdict could rest on: no committed transaction, or such that
 * read, and not one of their reads was judged. A history without reads has its writes. */
static bool iso_verdict_judged_nothing(const struct iso_history *history, uint64_t reads_judged)
{
    return !history->totals.committed ||
           (!reads_judged && (history->streamed.writer != ISO_NONE || has_reads(history)));
}

/* Reads that a record which is missing may explain are unjudged; false: there are none. */
static bool leave_to_lost(struct iso_verdict *verdict)
{
    uint64_t left = verdict->counts[ISO_EXT];
    size_t kept = 0;
    if (!left || !iso_history_lacks(verdict->history))
        return false;
    for (uint32_t i = 0; i < verdict->violation_count; i++)
        if (verdict->violations[i].axiom != ISO_EXT)
            verdict->violations[kept++] = verdict->violations[i];
    verdict->violation_count = kept;
    verdict->counts[ISO_EXT] = 0;
    verdict->unjudged[ISO_UNJUDGED_UNKNOWN_WRITER] += left;
    verdict->reads_unjudged += left;
    verdict->reads_judged -= left < verdict->reads_judged ? left : verdict->reads_judged;
    return true;
}

void iso_verdict_conclude(struct iso_verdict *verdict, bool allow_unjudged)
{
    uint64_t found = 0;
    bool left = leave_to_lost(verdict);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        found += verdict->counts[axiom];
    if (verdict->violation_count)
        qsort_r(verdict->violations, verdict->violation_count, sizeof *verdict->violations,
                compare_in_history, (void *)verdict->history);
    name_row_sets(verdict);
    verdict->sorted = true;
    verdict->reason = NULL;
    if (found) {
        verdict->outcome = ISO_IS_VIOLATED;
    } else if (left) {
        verdict->outcome = ISO_IS_UNDECIDED;
        verdict->reason = ISO_RECORDS_LOST;
    } else if (verdict->history->totals.committed && verdict->reads_unjudged && !allow_unjudged) {
        verdict->outcome = ISO_IS_UNDECIDED;
        verdict->reason = iso_unjudged_largest(verdict->unjudged);
    } else if (iso_verdict_judged_nothing(verdict->history, verdict->reads_judged)) {
        verdict->outcome = ISO_IS_UNDECIDED;
        verdict->reason = "nothing-judged";
    } else if (iso_history_lacks(verdict->history)) {
        verdict->outcome = ISO_IS_UNDECIDED;
        verdict->reason = ISO_RECORDS_LOST;
    } else {
        verdict->outcome = ISO_HOLDS;
    }
}

void iso_verdict_cut(struct iso_verdict *verdict, uint32_t per_key)
{
    const struct iso_history *history = verdict->history;
    uint32_t kept = 0;
    if (!per_key || verdict->violation_count <= per_key)
        return;
    uint32_t *of_key = iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *of_key);
    uint32_t *of_session = iso_numbers_zero(history->sessions.count);
    for (uint32_t i = 0; i < verdict->violation_count; i++) {
        const struct iso_violation *violation = &verdict->violations[i];
        uint32_t session = history->txns.session[violation->transaction], none = 0, *count = &none;
        if (violation->key != ISO_NONE)
            count = &of_key[violation->key];
        else if (violation->axiom == ISO_SESSION && session != ISO_NONE)
            count = &of_session[session];
        if ((*count)++ < per_key)
            verdict->violations[kept++] = *violation;
    }
    verdict->violation_count = kept;
    ISO_FREE_ALL(of_key, of_session);
}

const char *iso_axiom_name(enum iso_axiom axiom)
{
    static const char *const names[] = {"TIMESTAMP", "SESSION", "INT", "EXT", "NOCONFLICT", "CDC"};
    return names[axiom];
}

const char *iso_violation_kind_name(enum iso_violation_kind kind)
{
    static const char *const names[] = {
        NULL,         "uncommitted", "intermediate",   "future",
        "absent",     "stale",       "snapshot-order", "interval",
        "shared-cts", "cts-cycle",   "missing",        "unwritten",
        "value",      "aborted",     "before-image",   "other-content",
        "gap",        "missing-row", "extra-row",      "aggregate"};
    return names[kind];
}

const char *iso_outcome_name(enum iso_outcome outcome)
{
    static const char *const names[] = {"holds", "violated", "undecided"};
    return names[outcome];
}

enum iso_status iso_outcome_status(enum iso_outcome outcome)
{
    static const enum iso_status statuses[] = {ISO_OK, ISO_VIOLATED, ISO_UNDECIDED};
    return statuses[outcome];
}
