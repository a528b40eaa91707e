/* What the history says (problem/problem.h), and how sessions chain its transactions. */
#include "weak/weak_private.h"

static void chain_session(struct weak *weak, uint32_t session)
{
    const struct iso_history *history = weak->history;
    uint32_t last = ISO_NONE, chain = weak->chains.count, position = 0;
    ISO_EACH(i, history->sessions.first, session) {
        uint32_t t = history->sessions.order[i];
        if (!weak->chains.part[t] || is_unknown(weak, t))
            continue;
        weak->chains.chain[t] = chain;
        weak->chains.position[t] = position++;
        if (!weak->sessions)
            continue;
        weak->chains.before[t] = last;
        if (last != ISO_NONE)
            weak->chains.next[last] = t;
        last = t;
    }
    weak->chains.count += position > 0;
    last = ISO_NONE;
    ISO_EACH(i, history->sessions.first, session) {
        uint32_t t = history->sessions.order[i];
        if (!weak->chains.part[t])
            continue;
        if (!is_unknown(weak, t)) {
            last = t;
            continue;
        }
        weak->chains.chain[t] = weak->chains.count++;
        weak->chains.position[t] = 0;
        weak->chains.before[t] = weak->sessions ? last : ISO_NONE;
        if (weak->chains.before[t] != ISO_NONE)
            weak_order_add_bond(weak, (struct bond){last, t, BOND_SIDE, ISO_NONE, ISO_NONE});
    }
}

static void chain_transactions(struct weak *weak)
{
    const struct iso_history *history = weak->history;
    uint32_t n = history->txns.count;
    weak->chains.part = iso_allocate_zeroed((size_t)n + 1, 1);
    weak->chains.chain = iso_numbers(n);
    weak->chains.position = iso_numbers(n);
    weak->chains.before = iso_numbers_none(n);
    weak->chains.next = iso_numbers_none(n);
    for (uint32_t t = 0; t < n; t++) {
        weak->chains.part[t] = weak->problem.transactions.local[t] != ISO_NONE;
        weak->chains.part_count += weak->chains.part[t];
    }
    for (uint32_t session = 0; session < history->sessions.count; session++)
        chain_session(weak, session);
}

/* Takes the order of writers that lists show. */
static void bind_lists(struct weak *weak)
{
    const struct list_orders *orders = &weak->problem.list_orders;
    for (uint32_t i = 0; i < orders->count; i++) {
        const uint32_t *pair = orders->pairs[i];
        weak_order_add_bond(weak,
                            (struct bond){weak->problem.writes.transaction[pair[0]],
                                          weak->problem.writes.transaction[pair[1]], BOND_LIST,
                                          pair[2], weak->problem.writes.key[pair[0]]});
    }
}

bool weak_problem_build(struct weak *weak)
{
    weak->problem = (struct problem){.history = weak->history,
                                     .options = weak->options,
                                     .result = weak->result,
                                     .rules = {.each_read = weak->each_read,
                                               .all_numbered = true,
                                               .sorts_writes = true,
                                               .needs_uniques = true}};
    problem_scan(&weak->problem);
    chain_transactions(weak);
    problem_find_writers(&weak->problem);
    bind_lists(weak);
    if (weak->problem.has_repeats)
        weak->budget.stop_reason = "repeated-elements";
    if (weak->level == ISO_PSI)
        problem_find_lost_updates(&weak->problem);
    problem_forget_reads(&weak->problem);
    return !problem_has_findings(&weak->problem);
}

void weak_problem_release(struct weak *weak)
{
    ISO_FREE_ALL(weak->chains.chain, weak->chains.position, weak->chains.before, weak->chains.next,
                 weak->chains.part, weak->order.list, weak->order.position, weak->order.reader,
                 weak->order.reader_first, weak->order.bonds, weak->found.used, weak->found.hits);
    problem_release(&weak->problem);
}
