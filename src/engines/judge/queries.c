/* Queries of a finished history (rowsets/rowsets.h): what they did not return, as violations of the
 * verdict. */
#include <assert.h>

#include "judge/judge_private.h"

#include "base/number_map.h"
#include "history/index.h"
#include "rowsets/rowsets.h"

static uint32_t key_of(const struct iso_history *history, struct iso_json_text text)
{
    iso_atom atom;
    return iso_atoms_find(&history->atoms, text.at, text.length, &atom)
               ? iso_atom_index_find(history->keys.index, atom)
               : ISO_NONE;
}

/* An instance is a transaction and a key, whichever of its queries shows it. */
struct asking {
    struct iso_verdict *verdict;
    struct iso_number_map found[ISO_AXIOMS]; /* by transaction and key */
    struct iso_number_map by_tid;            /* transactions, once a writer is to be named */
};

static uint32_t writer_of(struct asking *asking, struct iso_json_text tid)
{
    const struct iso_history *history = asking->verdict->history;
    iso_atom atom;
    if (!tid.at || !iso_atoms_find(&history->atoms, tid.at, tid.length, &atom))
        return ISO_NONE;
    bool is_made = asking->by_tid.count;
    for (uint32_t t = 0; !is_made && t < history->txns.count; t++)
        iso_number_map_put(&asking->by_tid, history->txns.tid[t], t);
    return iso_number_map_get(&asking->by_tid, atom);
}

static bool is_new(struct asking *asking, const struct iso_violation *violation)
{
    struct iso_number_map *found = &asking->found[violation->axiom];
    uint64_t instance = iso_number_pair(violation->transaction, violation->key);
    if (iso_number_map_get(found, instance) != ISO_NUMBER_NONE)
        return false;
    iso_number_map_put(found, instance, 0);
    return true;
}

static void take_finding(void *context, const struct iso_rowsets_finding *finding)
{
    struct asking *asking = context;
    struct iso_verdict *verdict = asking->verdict;
    const struct iso_history *history = verdict->history;
    uint32_t t = finding->transaction.index;
    assert(t < history->txns.count);
    struct iso_violation violation = iso_violation_of(finding->axiom, t);
    violation.kind = finding->kind;
    violation.key = key_of(history, finding->key);
    violation.operation = history->txns.first_op[t] + finding->operation;
    if (!is_new(asking, &violation))
        return;
    verdict->counts[violation.axiom]++;
    if (!iso_verdict_keeps(verdict, &violation))
        return;
    violation.writer_expected = writer_of(asking, finding->writer);
    violation.expected = iso_verdict_text(verdict, finding->expected.at, finding->expected.length);
    violation.actual = iso_verdict_text(verdict, finding->actual.at, finding->actual.length);
    iso_verdict_keep(verdict, &violation);
}

/* A file has no schema: texts are equal if their bytes are, and only keys have an order
 * (FORMATS.md). */
static struct iso_scalar_type type_of(void *context, struct iso_json_text table,
                                      struct iso_json_text column)
{
    (void)context;
    (void)table;
    (void)column;
    return (struct iso_scalar_type){.text = ISO_TEXT_DISTINCT};
}

void judge_know_columns(struct iso_rowsets_options *options)
{
    iso_rowsets_options_init(options);
    options->texts = ISO_TEXT_ORDERED;
    options->type_of = type_of;
}

/* Where the rows of one query may be of several moments, or of none in particular, nothing is said
 * of rows that it did not return; unless its messages bound these moments. */
static void leave_queries(struct iso_verdict *verdict)
{
    const struct iso_ranges *ranges = &verdict->history->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (ranges->list[i].form != ISO_SET_QUERY ||
            iso_status_of(verdict->history, ranges->list[i].transaction) != ISO_COMMITTED)
            continue;
        verdict->unjudged[ISO_UNJUDGED_ROW_SETS]++;
        verdict->reads_unjudged++;
    }
}

void judge_queries(const struct iso_judge_options *options, const struct iso_check_options *times,
                   struct iso_verdict *verdict)
{
    enum iso_level level = times->level;
    bool by_messages = level == ISO_RC && verdict->history->messages;
    if (level != ISO_SI && level != ISO_SER && level != ISO_PC && !by_messages) {
        leave_queries(verdict);
        return;
    }
    struct iso_rowsets_options asked;
    struct iso_rowsets_stats stats;
    struct asking asking = {.verdict = verdict};
    judge_know_columns(&asked);
    if (options->columns)
        asked = *options->columns;
    asked.level = level == ISO_SER || by_messages ? level : ISO_SI;
    asked.shards = times->threads;
    asked.scan_limit = verdict->history->ranges.limit;
    asked.scans = options->scans;
    asked.on_finding = take_finding;
    asked.reports = &asking;
    iso_rowsets_check(verdict->history, &asked, &stats);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        iso_number_map_release(&asking.found[axiom]);
    iso_number_map_release(&asking.by_tid);
    for (int reason = 0; reason < ISO_UNJUDGED_REASONS; reason++) {
        verdict->unjudged[reason] += stats.reasons[reason];
        verdict->reads_unjudged += stats.reasons[reason];
    }
}

/* The header of each query is a read that engines count as judged: it stands for the query, which
 * is not. */
void judge_count_queries(struct iso_verdict *verdict, const struct iso_verdict *asked)
{
    uint64_t unjudged = asked->reads_unjudged;
    verdict->reads_judged -= unjudged < verdict->reads_judged ? unjudged : verdict->reads_judged;
}

void judge_leave_queries(const struct iso_history *history, bool allow_unjudged,
                         struct iso_polygraph_result *result)
{
    if (!iso_history_leaves_queries(history) || result->outcome != ISO_HOLDS || allow_unjudged ||
        judge_order_answers(history, &result->evidence))
        return;
    result->outcome = ISO_IS_UNDECIDED;
    result->reason = iso_unjudged_name(ISO_UNJUDGED_ROW_SETS);
}
