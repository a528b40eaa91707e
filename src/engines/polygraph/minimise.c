#include "polygraph/minimise.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "history/part.h"

struct minimiser {
    const struct iso_polygraph_options *options;
    iso_polygraph_judge *judge;
    double deadline; /* 0: none */
    uint32_t checks;
    const struct iso_history *history; /* the smallest part so far, finished; at first the whole */
    const struct iso_evidence *evidence; /* against it */
    struct iso_history *own_history;     /* NULL: the caller's */
    struct iso_evidence own_evidence;
    struct iso_part part; /* of `history`: the next to be tried */
    bool *named_keys;     /* by key of `history` */
};

static bool out_of_time(const struct minimiser *minimiser)
{
    return minimiser->deadline != 0 && iso_clock_seconds() >= minimiser->deadline;
}

/* ---- one step: a part of the part ---- */

static void set_history(struct minimiser *minimiser, const struct iso_history *history,
                        const struct iso_evidence *evidence)
{
    minimiser->history = history;
    minimiser->evidence = evidence;
    iso_part_init(&minimiser->part, history);
    minimiser->named_keys =
        iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *minimiser->named_keys);
}

static void release_history(struct minimiser *minimiser)
{
    iso_part_release(&minimiser->part);
    iso_free(minimiser->named_keys);
    if (minimiser->own_history)
        iso_history_release(minimiser->own_history);
    iso_free(minimiser->own_history);
    iso_evidence_release(&minimiser->own_evidence);
}

/* Owns both from now on. */
static void take_history(struct minimiser *minimiser, struct iso_history *history,
                         struct iso_evidence *evidence)
{
    release_history(minimiser);
    minimiser->own_history = history;
    minimiser->own_evidence = *evidence;
    iso_evidence_init(evidence);
    set_history(minimiser, history, &minimiser->own_evidence);
}

static bool is_violated(struct minimiser *minimiser, const struct iso_history *history,
                        struct iso_polygraph_result *result)
{
    struct iso_polygraph_options options = *minimiser->options;
    struct iso_error error = {0};
    options.max_findings = 1;
    if (minimiser->deadline != 0) {
        options.timeout = minimiser->deadline - iso_clock_seconds();
        if (options.timeout <= 0)
            return false;
    }
    minimiser->checks++;
    return minimiser->judge(history, &options, result, &error) == ISO_OK &&
           result->outcome == ISO_IS_VIOLATED;
}

/* Goes on with what `part` keeps, if that is violated. */
static bool try_part(struct minimiser *minimiser)
{
    struct iso_history *history = iso_allocate(sizeof *history);
    struct iso_polygraph_result result;
    struct iso_error error = {0};
    iso_history_init(history);
    iso_polygraph_result_init(&result);
    iso_part_build(&minimiser->part, history);
    bool violated =
        iso_history_finish(history, &error) == ISO_OK && is_violated(minimiser, history, &result);
    if (violated) {
        take_history(minimiser, history, &result.evidence);
    } else {
        iso_history_release(history);
        iso_free(history);
    }
    iso_polygraph_result_release(&result);
    return violated;
}

/* ---- the transactions and keys that the evidence names ---- */

static void name_transaction(struct minimiser *minimiser, uint32_t transaction)
{
    if (transaction < minimiser->history->txns.count)
        minimiser->part.transactions[transaction] = true;
}

static void name_key(struct minimiser *minimiser, uint32_t key)
{
    if (key < minimiser->history->keys.count)
        minimiser->named_keys[key] = true;
}

static void name_group(struct minimiser *minimiser, uint32_t group)
{
    const struct iso_part *part = &minimiser->part;
    if (group == ISO_NONE)
        return;
    ISO_EACH(i, part->first_write, group)
        name_transaction(minimiser, iso_history_owner(minimiser->history, part->writes[i]));
}

/* Everybody who wrote what the transaction read of a key: without them the reads would go. Of a
 * list, the elements that go are the named transactions' business. */
static void name_writers(struct minimiser *minimiser, uint32_t transaction, uint32_t key,
                         bool lists)
{
    const struct iso_history *history = minimiser->history;
    name_key(minimiser, key);
    if (transaction >= history->txns.count)
        return;
    ISO_EACH(o, history->txns.first_op, transaction) {
        uint32_t value = history->ops.value[o];
        if (history->ops.key[o] != key)
            continue;
        if (iso_kind_of(history, o) == ISO_READ)
            name_group(minimiser, minimiser->part.group[o]);
        if (iso_kind_of(history, o) != ISO_READ_LIST || !lists)
            continue;
        for (uint64_t i = history->lists.first[value]; i < history->lists.first[value + 1]; i++)
            name_group(minimiser, minimiser->part.element_group[i]);
    }
}

static void name_finding(struct minimiser *minimiser, const struct iso_finding *finding)
{
    uint32_t key = minimiser->history->ops.key[finding->operation];
    name_transaction(minimiser, finding->transaction);
    name_transaction(minimiser, finding->other);
    name_writers(minimiser, finding->transaction, key, true);
    name_writers(minimiser, finding->other, key, true);
}

static void name_literal(struct minimiser *minimiser, const struct iso_literal *literal)
{
    bool events = literal->kind == ISO_LITERAL_BEFORE;
    bool positions = literal->kind == ISO_LITERAL_PLACED || literal->kind == ISO_LITERAL_NOT_PLACED;
    name_transaction(minimiser, events ? literal->a / 2 : literal->a);
    if (!positions)
        name_transaction(minimiser, events ? literal->b / 2 : literal->b);
    name_key(minimiser, literal->key);
    if (literal->kind == ISO_LITERAL_READS || literal->kind == ISO_LITERAL_NOT_READS)
        name_writers(minimiser, literal->a, literal->key, false);
}

static void name_edge(struct minimiser *minimiser, const struct iso_edge *edge)
{
    uint32_t from = edge->from / 2, to = edge->to / 2;
    name_transaction(minimiser, from);
    name_transaction(minimiser, to);
    name_key(minimiser, edge->key);
    if (edge->kind == ISO_EDGE_WR)
        name_writers(minimiser, to, edge->key, false);
    if (edge->kind == ISO_EDGE_RW) {
        name_transaction(minimiser, edge->via);
        name_writers(minimiser, from, edge->key, false);
    }
}

static void name_evidence(struct minimiser *minimiser)
{
    const struct iso_evidence *evidence = minimiser->evidence;
    memset(minimiser->named_keys, false, minimiser->history->keys.count);
    iso_part_reset(&minimiser->part, false);
    if (evidence->finding.kind != ISO_FINDING_NONE) {
        name_finding(minimiser, &evidence->finding);
        return;
    }
    for (uint32_t i = 0; i < evidence->literal_count; i++)
        name_literal(minimiser, &evidence->literals[i]);
    for (uint32_t i = 0; i < evidence->edge_count; i++)
        name_edge(minimiser, &evidence->edges[i]);
    for (uint32_t i = 0; i < evidence->lemma_count; i++) {
        if (evidence->lemmas[i].kind == ISO_LEMMA_LIST)
            name_transaction(minimiser,
                             iso_history_owner(minimiser->history, evidence->lemmas[i].operation));
    }
}

/* Keeps the operations on named keys; false: that is everything. */
static bool keep_operations(struct minimiser *minimiser)
{
    const struct iso_history *history = minimiser->history;
    uint32_t kept = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        ISO_EACH(o, history->txns.first_op, t) {
            bool stays =
                minimiser->part.transactions[t] && minimiser->named_keys[history->ops.key[o]];
            minimiser->part.operations[o] = stays;
            kept += stays;
        }
    }
    return kept < history->ops.count;
}

/* As long as the evidence of the part names less than it has: only that. */
static void keep_named(struct minimiser *minimiser)
{
    do {
        name_evidence(minimiser);
    } while (keep_operations(minimiser) && try_part(minimiser));
}

/* ---- delta debugging ---- */

/* The units in which things are taken away. */
enum unit_kind { TRANSACTIONS, OPERATIONS };

/* Numbers the units of operations: a read alone, the writes of a key in a transaction together. */
static uint32_t number_operations(const struct iso_history *history, uint32_t *unit)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint32_t first = history->txns.first_op[t];
        for (uint32_t o = first; o < history->txns.first_op[t + 1]; o++) {
            uint32_t same = iso_kind_writes(history->ops.kind[o]) ? first : o;
            while (same < o && !(iso_kind_writes(history->ops.kind[same]) &&
                                 history->ops.key[same] == history->ops.key[o]))
                same++;
            unit[o] = same < o ? unit[same] : count++;
        }
    }
    return count;
}

static uint32_t count_units(const struct minimiser *minimiser, enum unit_kind kind, uint32_t *unit)
{
    return kind == TRANSACTIONS ? minimiser->history->txns.count
                                : number_operations(minimiser->history, unit);
}

/* Takes away the units from `first` to before `end`. */
static bool try_without(struct minimiser *minimiser, enum unit_kind kind, const uint32_t *unit,
                        uint32_t first, uint32_t end)
{
    iso_part_reset(&minimiser->part, true);
    if (kind == TRANSACTIONS) {
        memset(minimiser->part.transactions + first, false, end - first);
    } else {
        for (uint32_t o = 0; o < minimiser->history->ops.count; o++)
            minimiser->part.operations[o] = unit[o] < first || unit[o] >= end;
    }
    return try_part(minimiser);
}

/* One pass over all units, `size` at a time, last ones first. True: something went. */
static bool reduce_once(struct minimiser *minimiser, enum unit_kind kind, uint32_t *unit,
                        uint32_t size)
{
    uint32_t end = count_units(minimiser, kind, unit);
    bool reduced = false;
    while (end > 0 && !out_of_time(minimiser)) {
        uint32_t first = end > size ? end - size : 0;
        bool gone = try_without(minimiser, kind, unit, first, end);
        end = first;
        if (!gone)
            continue;
        reduced = true;
        if (kind == TRANSACTIONS)
            keep_named(minimiser);
        uint32_t count = count_units(minimiser, kind, unit);
        end = end < count ? end : count;
    }
    return reduced;
}

static bool reduce_units(struct minimiser *minimiser, enum unit_kind kind)
{
    uint32_t *unit = iso_allocate(((size_t)minimiser->history->ops.count + 1) * sizeof *unit);
    bool reduced = false, again = true;
    for (uint32_t size = count_units(minimiser, kind, unit) / 2; size > 1; size /= 2)
        reduced |= reduce_once(minimiser, kind, unit, size);
    while (again && !out_of_time(minimiser)) {
        again = reduce_once(minimiser, kind, unit, 1);
        reduced |= again;
    }
    iso_free(unit);
    return reduced;
}

uint32_t iso_polygraph_minimise(const struct iso_history *history,
                                const struct iso_polygraph_options *options,
                                iso_polygraph_judge *judge, const struct iso_evidence *evidence,
                                struct iso_history *smallest)
{
    struct minimiser minimiser = {.options = options, .judge = judge};
    minimiser.deadline = options->timeout > 0 ? iso_clock_seconds() + options->timeout : 0;
    set_history(&minimiser, history, evidence);
    keep_named(&minimiser);
    /* Transactions that lost all their operations may stand in the way no longer, and the other way
     * round. */
    for (bool reduced = true; reduced;) {
        reduced = reduce_units(&minimiser, TRANSACTIONS);
        reduced |= reduce_units(&minimiser, OPERATIONS);
    }
    iso_part_reset(&minimiser.part, true);
    iso_part_build(&minimiser.part, smallest);
    release_history(&minimiser);
    return minimiser.checks;
}
