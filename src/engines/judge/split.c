#include "polygraph/polygraph.h"
#include "judge/split.h"

#include <assert.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "history/copy.h"
#include "weak/weak.h"

/* The history of halves, and back from it. */
struct split {
    const struct iso_history *history;
    struct iso_history halves;
    uint32_t *event;     /* by half: the event that it is */
    uint32_t *operation; /* by operation of the halves: the history's */
    uint32_t half_count, half_capacity, operation_count, operation_capacity;
    uint32_t *key;      /* by key of the halves: the history's, where an operation has it */
    uint32_t *position; /* by transaction: in session_order */
    uint32_t *accessed; /* by key: 1 + the last transaction that accessed it */
    uint32_t *listed;   /* by key: 1 + the last one that read it as a list */
    uint32_t *last;     /* by key: 1 + the last write so far */
};

static iso_atom atom_of(struct split *split, iso_atom atom)
{
    return atom == ISO_ABSENT ? ISO_ABSENT
                              : iso_atoms_copy(&split->halves.atoms, &split->history->atoms, atom);
}

static void begin_half(struct split *split, uint32_t t, bool writes)
{
    const struct iso_history *history = split->history;
    struct iso_history *halves = &split->halves;
    iso_history_begin(halves, iso_atoms_unsigned(&halves->atoms, 2 * (uint64_t)t + writes),
                      iso_atoms_unsigned(&halves->atoms, history->txns.session[t]),
                      iso_status_of(history, t), iso_origin(0, 2 * (uint64_t)t + writes));
    iso_history_set_sno(halves, 2 * (uint64_t)split->position[t] + writes);
    ISO_PUSH(split->event, split->half_count, split->half_capacity, 2 * t + writes);
}

static void add_operation(struct split *split, uint32_t o, uint32_t value)
{
    const struct iso_history *history = split->history;
    iso_history_operation(&split->halves, (enum iso_operation_kind)iso_kind_of(history, o),
                          atom_of(split, history->keys.atom[history->ops.key[o]]), value);
    ISO_PUSH(split->operation, split->operation_count, split->operation_capacity, o);
}

/* The list without what the transaction appended itself. */
static uint32_t prefix_of(struct split *split, uint32_t t, uint32_t operation)
{
    const struct iso_history *history = split->history;
    uint32_t list = history->ops.value[operation], copy = iso_history_list(&split->halves);
    uint64_t end = history->lists.first[list + 1];
    for (uint32_t o = history->txns.first_op[t]; o < operation; o++)
        end -= iso_kind_of(history, o) == ISO_APPEND &&
               history->ops.key[o] == history->ops.key[operation];
    assert(end >= history->lists.first[list]);
    for (uint64_t i = history->lists.first[list]; i < end; i++)
        iso_history_element(&split->halves, atom_of(split, history->lists.element[i]));
    return copy;
}

static void add_reads(struct split *split, uint32_t t)
{
    const struct iso_history *history = split->history;
    begin_half(split, t, false);
    ISO_EACH(o, history->txns.first_op, t) {
        uint32_t key = history->ops.key[o];
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_READ_LIST && split->listed[key] != t + 1)
            add_operation(split, o, prefix_of(split, t, o));
        else if (kind == ISO_READ && split->accessed[key] != t + 1)
            add_operation(split, o, atom_of(split, history->ops.value[o]));
        split->listed[key] = kind == ISO_READ_LIST ? t + 1 : split->listed[key];
        split->accessed[key] = t + 1;
    }
}

static void add_writes(struct split *split, uint32_t t)
{
    const struct iso_history *history = split->history;
    begin_half(split, t, true);
    ISO_EACH(o, history->txns.first_op, t) {
        if (iso_kind_writes(history->ops.kind[o]))
            split->last[history->ops.key[o]] = o + 1;
    }
    ISO_EACH(o, history->txns.first_op, t) {
        if (iso_kind_of(history, o) == ISO_APPEND ||
            (iso_kind_writes(history->ops.kind[o]) && split->last[history->ops.key[o]] == o + 1))
            add_operation(split, o, atom_of(split, history->ops.value[o]));
    }
}

/* Halves in an order that explains the history, if there is one with commits in that of the input:
 * the engine tries that first, and is spared a search, which values written twice make long.
 * `begin` may be NULL.
 */
static void add_halves(struct split *split, const uint32_t *begin)
{
    const struct iso_history *history = split->history;
    uint32_t n = history->txns.count;
    uint32_t *first = iso_numbers_zero((size_t)n + 2), *sorted = iso_numbers(n);
    for (uint32_t t = 0; t < n; t++)
        first[(begin ? begin[t] : t) + 2]++;
    iso_running_sums(first + 1, (size_t)n + 1);
    for (uint32_t t = 0; t < n; t++)
        sorted[first[(begin ? begin[t] : t) + 1]++] = t;
    for (uint32_t t = 0; t < n; t++) {
        uint8_t status = iso_status_of(history, t);
        ISO_EACH(i, first, t) {
            if (iso_status_of(history, sorted[i]) == ISO_COMMITTED)
                add_reads(split, sorted[i]);
        }
        if (status == ISO_COMMITTED ||
            (status == ISO_UNKNOWN && history->txns.flags[t] & ISO_WRITES))
            add_writes(split, t);
    }
    ISO_FREE_ALL(first, sorted);
}

static enum iso_status split_history(struct split *split, bool advice, struct iso_error *error)
{
    const struct iso_history *history = split->history;
    iso_history_input(&split->halves, "halves");
    iso_history_copy_initial(&split->halves, history);
    split->accessed = iso_numbers_zero(history->keys.count);
    split->listed = iso_numbers_zero(history->keys.count);
    split->last = iso_numbers_zero(history->keys.count);
    split->position = iso_numbers(history->txns.count);
    for (uint32_t i = 0; i < history->txns.count; i++)
        split->position[history->sessions.order[i]] = i;
    uint32_t *begin = advice ? judge_begins(history) : NULL;
    add_halves(split, begin);
    assert(split->half_count == split->halves.txns.count &&
           split->operation_count == split->halves.ops.count);
    iso_free(begin);
    split->key = iso_numbers_none(split->halves.keys.count);
    for (uint32_t o = 0; o < split->operation_count; o++)
        split->key[split->halves.ops.key[o]] = history->ops.key[split->operation[o]];
    return iso_history_finish(&split->halves, error);
}

static void split_release(struct split *split)
{
    iso_history_release(&split->halves);
    ISO_FREE_ALL(split->event, split->operation, split->key, split->position, split->accessed,
                 split->listed, split->last);
}

/* ---- evidence ---- */

static uint32_t whole_of(const struct split *split, uint32_t half)
{
    assert(half == ISO_NONE || half < split->half_count);
    return half == ISO_NONE ? ISO_NONE : split->event[half] / 2;
}

static uint32_t key_of(const struct split *split, uint32_t key)
{
    assert(key == ISO_NONE || key < split->halves.keys.count);
    return key == ISO_NONE ? ISO_NONE : split->key[key];
}

static void add_edge(struct iso_evidence *whole, enum iso_edge_kind kind, uint32_t from,
                     uint32_t to, uint32_t key, uint32_t via)
{
    iso_evidence_edge(whole, (struct iso_edge){kind, from, to, key, via, 0});
}

static bool is_unknown(const struct split *split, uint32_t event)
{
    return iso_status_of(split->history, event / 2) == ISO_UNKNOWN;
}

/* From a half to a later one of its session, by way of begins and commits. */
static void add_session(struct iso_evidence *whole, uint32_t from, uint32_t to)
{
    assert(from / 2 != to / 2 || from < to);
    if (from / 2 == to / 2) {
        add_edge(whole, ISO_EDGE_OWN, from, to, ISO_NONE, ISO_NONE);
        return;
    }
    if (!(from & 1))
        add_edge(whole, ISO_EDGE_OWN, from, from + 1, ISO_NONE, ISO_NONE);
    add_edge(whole, ISO_EDGE_SESSION, from | 1, to & ~1u, ISO_NONE, ISO_NONE);
    if (to & 1)
        add_edge(whole, ISO_EDGE_OWN, to & ~1u, to, ISO_NONE, ISO_NONE);
}

/* Its own later write is no candidate of a read: a clause that says so says nothing. */
static bool is_own(const struct iso_literal *literal)
{
    return (literal->kind == ISO_LITERAL_READS || literal->kind == ISO_LITERAL_NOT_READS) &&
           literal->a == literal->b;
}

static struct iso_literal whole_literal(const struct split *split, struct iso_literal literal)
{
    if (literal.kind == ISO_LITERAL_BEFORE) {
        literal.a = split->event[literal.a / 2];
        literal.b = split->event[literal.b / 2];
        return literal;
    }
    literal.a = whole_of(split, literal.a);
    if (literal.kind != ISO_LITERAL_PLACED && literal.kind != ISO_LITERAL_NOT_PLACED)
        literal.b = whole_of(split, literal.b);
    literal.key = key_of(split, literal.key);
    return literal;
}

static void take_lemma(const struct split *split, const struct iso_evidence *of_halves,
                       uint32_t number, struct iso_evidence *whole)
{
    const struct iso_lemma *lemma = &of_halves->lemmas[number];
    for (uint32_t i = 0; i < lemma->literal_count; i++) {
        struct iso_literal literal =
            whole_literal(split, of_halves->literals[lemma->first_literal + i]);
        if (literal.kind == ISO_LITERAL_NOT_READS && is_own(&literal))
            return;
    }
    iso_evidence_lemma(whole, lemma->kind,
                       lemma->kind == ISO_LEMMA_LIST ? split->operation[lemma->operation]
                                                     : lemma->operation);
    for (uint32_t i = 0; i < lemma->literal_count; i++) {
        struct iso_literal literal =
            whole_literal(split, of_halves->literals[lemma->first_literal + i]);
        if (!is_own(&literal))
            iso_evidence_literal(whole, literal);
    }
    for (uint32_t i = 0; i < lemma->edge_count; i++) {
        const struct iso_edge *edge = &of_halves->edges[lemma->first_edge + i];
        uint32_t from = split->event[edge->from / 2], to = split->event[edge->to / 2];
        if (edge->kind == ISO_EDGE_SESSION ||
            from / 2 == to / 2) /* or it replaced itself what it had read */
            add_session(whole, from, to);
        else
            add_edge(whole, edge->kind, from, to, key_of(split, edge->key),
                     whole_of(split, edge->via));
    }
}

static void take_order(const struct split *split, const struct iso_evidence *of_halves,
                       struct iso_evidence *whole)
{
    for (uint32_t i = 0; i < of_halves->event_count; i++) {
        uint32_t event = split->event[of_halves->events[i] / 2];
        if (is_unknown(split, event)) /* it has no half that reads */
            iso_evidence_event(whole, event & ~1u);
        iso_evidence_event(whole, event);
    }
}

static struct iso_finding whole_finding(const struct split *split, struct iso_finding finding)
{
    assert(finding.operation < split->operation_count);
    finding.transaction = whole_of(split, finding.transaction);
    finding.operation = split->operation[finding.operation];
    finding.other = whole_of(split, finding.other);
    return finding;
}

static void take_evidence(const struct split *split, struct iso_polygraph_result *result)
{
    struct iso_evidence whole;
    const struct iso_evidence *of_halves = &result->evidence;
    iso_evidence_init(&whole);
    whole.level = ISO_PC;
    whole.accepts = of_halves->accepts;
    take_order(split, of_halves, &whole);
    uint32_t shown = ISO_NONE;
    for (uint32_t i = 0; i < of_halves->lemma_count; i++) {
        shown = i == result->cycle_lemma ? whole.lemma_count : shown;
        take_lemma(split, of_halves, i, &whole);
    }
    result->cycle_lemma = shown < whole.lemma_count ? shown : ISO_NONE;
    for (uint32_t i = 0; i < result->finding_count; i++)
        result->findings[i] = whole_finding(split, result->findings[i]);
    if (of_halves->finding.kind != ISO_FINDING_NONE)
        whole.finding = whole_finding(split, of_halves->finding);
    iso_evidence_release(&result->evidence);
    result->evidence = whole;
}

enum iso_status iso_split_check(const struct iso_history *history,
                                const struct iso_polygraph_options *options,
                                struct iso_polygraph_result *result, struct iso_error *error)
{
    assert(options->level == ISO_PC);
    struct split split = {.history = history};
    struct iso_polygraph_options asked = *options;
    if (iso_weak_findings(history, options, result) || history->totals.committed == 0)
        return ISO_OK;
    asked.level = ISO_SER;
    iso_history_init(&split.halves);
    enum iso_status status = split_history(&split, !options->no_advice, error);
    if (status == ISO_OK)
        status = iso_polygraph_check(&split.halves, &asked, result, error);
    if (status == ISO_OK)
        take_evidence(&split, result);
    split_release(&split);
    return status;
}
