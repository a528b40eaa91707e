/* What the history says (problem/problem.h), and how sessions chain its transactions. */
#include "weak/weak_private.h"

static void chain_session(struct weak *weak, uint32_t session)
{
    const struct iso_history *history = weak->history;
    uint32_t last = ISO_NONE, chain = weak->chain_count, place = 0;
    for (uint32_t i = history->session_first[session]; i < history->session_first[session + 1];
         i++) {
        uint32_t t = history->session_order[i];
        if (!weak->part[t] || is_unknown(weak, t))
            continue;
        weak->chain[t] = chain;
        weak->place[t] = place++;
        if (!weak->sessions)
            continue;
        weak->before[t] = last;
        if (last != ISO_NONE)
            weak->next[last] = t;
        last = t;
    }
    weak->chain_count += place > 0;
    last = ISO_NONE;
    for (uint32_t i = history->session_first[session]; i < history->session_first[session + 1];
         i++) {
        uint32_t t = history->session_order[i];
        if (!weak->part[t])
            continue;
        if (!is_unknown(weak, t)) {
            last = t;
            continue;
        }
        weak->chain[t] = weak->chain_count++;
        weak->place[t] = 0;
        weak->before[t] = weak->sessions ? last : ISO_NONE;
        if (weak->before[t] != ISO_NONE)
            weak_order_add_bond(weak, (struct bond){last, t, BOND_SIDE, ISO_NONE, ISO_NONE});
    }
}

static void chain_transactions(struct weak *weak)
{
    const struct iso_history *history = weak->history;
    uint32_t n = history->transaction_count;
    weak->part = iso_allocate_zeroed((size_t)n + 1, 1);
    weak->chain = iso_numbers(n);
    weak->place = iso_numbers(n);
    weak->before = iso_numbers_none(n);
    weak->next = iso_numbers_none(n);
    for (uint32_t t = 0; t < n; t++) {
        weak->part[t] = weak->problem.transactions.local[t] != ISO_NONE;
        weak->part_count += weak->part[t];
    }
    for (uint32_t session = 0; session < history->session_count; session++)
        chain_session(weak, session);
}

/* What lists show of the order of their writers. */
static void bind_lists(struct weak *weak)
{
    const struct list_orders *orders = &weak->problem.list_orders;
    for (uint32_t i = 0; i < orders->count; i++) {
        const uint32_t *pair = orders->pairs[i];
        weak_order_add_bond(weak,
                            (struct bond){weak->write_owner[pair[0]], weak->write_owner[pair[1]],
                                          BOND_LIST, pair[2], weak->write_key[pair[0]]});
    }
}

static void take_problem(struct weak *weak)
{
    const struct problem *problem = &weak->problem;
    weak->write_count = problem->writes.count;
    weak->write_first = problem->writes.first;
    weak->write_key = problem->writes.key;
    weak->write_value = problem->writes.value;
    weak->write_owner = problem->writes.transaction;
    weak->read_count = problem->reads.count;
    weak->read_first = problem->reads.first;
    weak->read_operation = problem->reads.operation;
    weak->read_writer = problem->reads.writer;
    weak->open_reads = problem->reads.open;
    weak->read_set = problem->reads.open ? problem->reads.set : NULL;
    weak->sets = problem->writer_sets;
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
    take_problem(weak);
    bind_lists(weak);
    if (weak->problem.has_repeats)
        weak->stopped = "repeated-elements";
    if (weak->level == ISO_PSI)
        problem_find_lost_updates(&weak->problem);
    problem_forget_reads(&weak->problem);
    return !problem_has_findings(&weak->problem);
}

void weak_problem_release(struct weak *weak)
{
    uint32_t *columns[] = {weak->chain, weak->place,    weak->before, weak->next,
                           weak->order, weak->position, weak->reader, weak->reader_first};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        iso_free(columns[i]);
    iso_free(weak->part);
    iso_free(weak->ww_pairs);
    iso_free(weak->used);
    iso_free(weak->hits);
    problem_release(&weak->problem);
}
