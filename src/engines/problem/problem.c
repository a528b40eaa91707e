#define _GNU_SOURCE
/* From a finished history to transactions, writes and external reads.
 *
 * One pass over the operations keeps, for each key that the current transaction has accessed, the
 * value it must see next: that checks internal reads and finds external ones.
 */
#include "problem/problem.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/order.h"

/* The current transaction's state of a key. */
struct own_access {
    uint32_t transaction; /* 1 + local number; other numbers: not of this one */
    /* what an internal read must return; lists: the external read so far, or ISO_NONE */
    uint32_t value;
    uint32_t write;  /* its final write so far, or ISO_NONE */
    uint32_t append; /* its last append so far, an operation, or ISO_NONE */
};

/* The state of a scan over the operations. */
struct scan {
    struct problem *problem;
    struct own_access *access; /* by key */
    uint32_t *previous_append; /* by operation of the current transaction: its append to the key
                                  before, or ISO_NONE */
    bool *unknown; /* by key: a write of it may have been of any value; NULL: none was */
};

void problem_finding(struct problem *problem, enum iso_finding_kind kind, uint32_t transaction,
                     uint32_t operation, uint32_t other)
{
    assert(kind < ISO_FINDINGS && transaction < problem->history->txns.count);
    struct iso_polygraph_result *result = problem->result;
    result->counts[kind]++;
    if (problem->options->max_findings && result->finding_count >= problem->options->max_findings)
        return;
    ISO_PUSH(result->findings, result->finding_count, result->finding_capacity,
             (struct iso_finding){kind, transaction, operation, other});
}

bool problem_has_findings(const struct problem *problem)
{
    for (int kind = 0; kind < ISO_FINDINGS; kind++)
        if (problem->result->counts[kind])
            return true;
    return false;
}

/* Internal reads take room, too, which nobody touches. */
static void make_room(struct problem *problem)
{
    const struct iso_history *history = problem->history;
    size_t writes = 0;
    for (uint32_t o = 0; o < history->ops.count; o++)
        writes += iso_kind_writes(history->ops.kind[o]);
    size_t reads = history->ops.count - writes;
    problem->writes.transaction = iso_numbers(writes);
    problem->writes.key = iso_numbers(writes);
    problem->writes.value = iso_numbers(writes);
    problem->reads.transaction = iso_numbers(reads);
    problem->reads.key = iso_numbers(reads);
    problem->reads.value = iso_numbers(reads);
    problem->reads.operation = iso_numbers(reads);
    problem->reads.prefix = iso_numbers(reads);
}

static uint32_t add_read(struct problem *problem, uint32_t transaction, uint32_t operation,
                         uint32_t prefix)
{
    uint32_t read = problem->reads.count++;
    problem->reads.transaction[read] = transaction;
    problem->reads.key[read] = problem->history->ops.key[operation];
    problem->reads.value[read] = problem->history->ops.value[operation];
    problem->reads.operation[read] = operation;
    problem->reads.prefix[read] = prefix;
    return read;
}

static uint32_t add_write(struct problem *problem, uint32_t transaction, uint32_t key)
{
    uint32_t write = problem->writes.count++;
    problem->writes.transaction[write] = transaction;
    problem->writes.key[write] = key;
    problem->writes.value[write] = ISO_NONE;
    return write;
}

static struct own_access *access_key(struct scan *scan, uint32_t local, uint32_t key, bool *known)
{
    struct own_access *access = &scan->access[key];
    *known = access->transaction == local + 1;
    if (!*known)
        *access = (struct own_access){local + 1, ISO_NONE, ISO_NONE, ISO_NONE};
    return access;
}

static void scan_register(struct scan *scan, uint32_t local, uint32_t operation, bool judged)
{
    struct problem *problem = scan->problem;
    const struct iso_history *history = problem->history;
    uint32_t key = history->ops.key[operation], value = history->ops.value[operation];
    bool known;
    struct own_access *access = access_key(scan, local, key, &known);
    if (iso_kind_writes(history->ops.kind[operation])) {
        if (access->write == ISO_NONE)
            access->write = add_write(problem, local, key);
        problem->writes.value[access->write] = access->value = value;
        return;
    }
    if (!judged)
        return; /* such reads say nothing */
    bool internal = access->write != ISO_NONE || (known && !problem->rules.each_read);
    bool open = scan->unknown && scan->unknown[key] &&
                (!internal || iso_atom_is_unknown(&history->atoms, access->value));
    problem->result->reads_left_out += open;
    if (!open && !internal)
        add_read(problem, local, operation, 0);
    else if (!open && access->value != value)
        problem_finding(problem, ISO_FINDING_INT, problem->transactions.in_history[local],
                        operation, ISO_NONE);
    access->value = value;
}

/* How many elements a list read has before the transaction's own appends, of which `append` is the
 * last; ISO_NONE if it does not end with those. */
static uint32_t own_prefix(const struct scan *scan, uint32_t local, uint32_t operation,
                           uint32_t append)
{
    const struct iso_history *history = scan->problem->history;
    uint32_t list = history->ops.value[operation],
             base = history->txns.first_op[scan->problem->transactions.in_history[local]];
    uint64_t first = history->lists.first[list], end = history->lists.first[list + 1];
    for (; append != ISO_NONE; append = scan->previous_append[append - base]) {
        if (end == first || history->lists.element[--end] != history->ops.value[append])
            return ISO_NONE;
    }
    return (uint32_t)(end - first);
}

static bool same_prefix(const struct problem *problem, uint32_t read, uint32_t list,
                        uint32_t length)
{
    const struct iso_history *history = problem->history;
    return problem->reads.prefix[read] == length &&
           !memcmp(history->lists.element + history->lists.first[list],
                   history->lists.element + history->lists.first[problem->reads.value[read]],
                   length * sizeof *history->lists.element);
}

/* At rc only those behind the transaction's first append must agree with one another. */
static void scan_list(struct scan *scan, uint32_t local, uint32_t operation)
{
    struct problem *problem = scan->problem;
    const struct iso_history *history = problem->history;
    uint32_t t = problem->transactions.in_history[local], list = history->ops.value[operation];
    bool known;
    struct own_access *access = access_key(scan, local, history->ops.key[operation], &known);
    uint32_t prefix = own_prefix(scan, local, operation, access->append);
    bool binds = !problem->rules.each_read || access->append != ISO_NONE;
    if (prefix == ISO_NONE || (binds && access->value != ISO_NONE &&
                               !same_prefix(problem, access->value, list, prefix))) {
        problem_finding(problem, ISO_FINDING_INT, t, operation, ISO_NONE);
    } else if (!binds || access->value == ISO_NONE) {
        uint32_t read = add_read(problem, local, operation, prefix);
        access->value = binds ? read : ISO_NONE;
    }
}

/* Lists: the write stands for all of the transaction's appends. */
static void scan_append(struct scan *scan, uint32_t local, uint32_t operation)
{
    struct problem *problem = scan->problem;
    uint32_t key = problem->history->ops.key[operation];
    assert(iso_key_is_list(problem->history, key));
    bool known;
    struct own_access *access = access_key(scan, local, key, &known);
    if (access->write == ISO_NONE)
        access->write = add_write(problem, local, key);
    scan->previous_append[operation - problem->history->txns
                                          .first_op[problem->transactions.in_history[local]]] =
        access->append;
    access->append = operation;
}

/* By key where they are many: a search among them is one by halves. */
static void sort_writes(struct problem *problem, uint32_t first)
{
    assert(first <= problem->writes.count);
    uint32_t count = problem->writes.count - first;
    if (count <= PROBLEM_MANY_WRITES)
        return;
    uint64_t *pairs = iso_allocate(count * sizeof *pairs);
    uint32_t *values = iso_numbers(count);
    for (uint32_t i = 0; i < count; i++) {
        pairs[i] = (uint64_t)problem->writes.key[first + i] << 32 | i;
        values[i] = problem->writes.value[first + i];
    }
    qsort(pairs, count, sizeof *pairs, iso_order_u64);
    for (uint32_t i = 0; i < count; i++) {
        problem->writes.key[first + i] = (uint32_t)(pairs[i] >> 32);
        problem->writes.value[first + i] = values[(uint32_t)pairs[i]];
    }
    ISO_FREE_ALL(pairs, values);
}

static void scan_transaction(struct scan *scan, uint32_t local)
{
    const struct iso_history *history = scan->problem->history;
    uint32_t t = scan->problem->transactions.in_history[local],
             first_write = scan->problem->writes.count;
    bool judged = iso_status_of(history, t) == ISO_COMMITTED;
    ISO_EACH(o, history->txns.first_op, t) {
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_APPEND)
            scan_append(scan, local, o);
        else if (kind == ISO_READ_LIST && judged)
            scan_list(scan, local, o);
        else if (kind != ISO_READ_LIST)
            scan_register(scan, local, o, judged);
    }
    if (scan->problem->rules.sorts_writes)
        sort_writes(scan->problem, first_write);
}

static uint32_t most_operations(const struct problem *problem)
{
    const struct iso_history *history = problem->history;
    uint32_t most = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint32_t count = history->txns.first_op[t + 1] - history->txns.first_op[t];
        most = count > most ? count : most;
    }
    return most;
}

static bool writes_unknown(const struct iso_history *history, uint32_t operation)
{
    return iso_kind_of(history, operation) == ISO_WRITE &&
           iso_atom_is_unknown(&history->atoms, history->ops.value[operation]);
}

/* The keys to which a value was written that nobody knows: what their reads saw is open. In commit
 * order a read's moment says which write it was, so there are none. */
static bool *find_unknown(const struct problem *problem)
{
    const struct iso_history *history = problem->history;
    bool *unknown = NULL;
    for (uint32_t o = 0; o < history->ops.count && !problem->options->versions_by_commit; o++) {
        if (!writes_unknown(history, o))
            continue;
        if (!unknown)
            unknown = iso_allocate_zeroed(history->keys.count, sizeof *unknown);
        unknown[history->ops.key[o]] = true;
    }
    return unknown;
}

static void scan_operations(struct problem *problem)
{
    struct scan scan = {.problem = problem, .unknown = find_unknown(problem)};
    scan.access =
        iso_allocate_zeroed((size_t)problem->history->keys.count + 1, sizeof *scan.access);
    scan.previous_append = iso_numbers(most_operations(problem));
    for (uint32_t local = 0; local < problem->transactions.count; local++) {
        problem->writes.first[local] = problem->writes.count;
        problem->reads.first[local] = problem->reads.count;
        if (problem->transactions.local[problem->transactions.in_history[local]] != ISO_NONE)
            scan_transaction(&scan, local);
    }
    problem->writes.first[problem->transactions.count] = problem->writes.count;
    problem->reads.first[problem->transactions.count] = problem->reads.count;
    assert(problem->reads.count + problem->writes.count <= problem->history->ops.count);
    ISO_FREE_ALL(scan.unknown, scan.access, scan.previous_append);
}

/* ---- two read-modify-writes of one version ---- */

/* The later of the two in any order would have seen the earlier one. Each is reported with the
 * first of its version. Of lists that differ only the graph can say so, also where they end with
 * the same appends. */
void problem_find_lost_updates(struct problem *problem)
{
    const struct iso_history *history = problem->history;
    uint32_t *writer = iso_numbers_zero(history->keys.count); /* by key: 1 + who writes it */
    uint32_t *first = iso_numbers_none((size_t)problem->writes.count + history->keys.count);
    for (uint32_t t = 0; t < problem->transactions.count; t++) {
        ISO_EACH(write, problem->writes.first, t)
            writer[problem->writes.key[write]] = t + 1;
        ISO_EACH(read, problem->reads.first, t) {
            uint32_t key = problem->reads.key[read], version = problem->reads.writer[read];
            if (writer[key] != t + 1 || version == OPEN)
                continue;
            assert(version == INITIAL || version < problem->writes.count);
            uint32_t *before = &first[version == INITIAL ? problem->writes.count + key : version];
            if (*before == ISO_NONE)
                *before = read;
            else if (problem->reads.prefix[read] == problem->reads.prefix[*before])
                problem_finding(
                    problem, ISO_FINDING_LOSTUPDATE, problem->transactions.in_history[t],
                    problem->reads.operation[read],
                    problem->transactions.in_history[problem->reads.transaction[*before]]);
        }
    }
    ISO_FREE_ALL(writer, first);
}

/* ---- versions by commit ---- */

/* By key and commit. */
static int compare_writes(const void *one, const void *other, void *context)
{
    const struct problem *problem = context;
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
    const uint64_t *cts = problem->history->txns.cts;
    const uint32_t *of = problem->writes.transaction, *in = problem->transactions.in_history;
    if (problem->writes.key[left] != problem->writes.key[right])
        return problem->writes.key[left] < problem->writes.key[right] ? -1 : 1;
    uint64_t earlier = cts[in[of[left]]], later = cts[in[of[right]]];
    return earlier < later ? -1 : earlier > later ? 1 : (left > right) - (left < right);
}

static bool has_place(const struct problem *problem, uint32_t write)
{
    uint32_t t = problem->transactions.in_history[problem->writes.transaction[write]];
    return iso_status_of(problem->history, t) == ISO_COMMITTED &&
           problem->history->txns.flags[t] & ISO_HAS_CTS;
}

/* `version` stands right before the other write of its key. What it says may be unknown. */
static void find_unread(struct problem *problem, uint32_t version, uint32_t write)
{
    const struct iso_history *history = problem->history;
    uint32_t t = problem->writes.transaction[write], other = problem->writes.transaction[version];
    const uint32_t *in = problem->transactions.in_history;
    if (t == other || history->txns.cts[in[t]] == history->txns.cts[in[other]] ||
        iso_atom_is_unknown(&history->atoms, problem->writes.value[version]))
        return;
    ISO_EACH(read, problem->reads.first, t)
        if (problem->reads.key[read] == problem->writes.key[write] &&
            iso_kind_of(history, problem->reads.operation[read]) == ISO_READ &&
            problem->reads.value[read] != problem->writes.value[version])
            problem_finding(problem, ISO_FINDING_LOSTUPDATE, in[t], problem->reads.operation[read],
                            in[other]);
}

/* Where values repeat, whom a read saw is not known; that it did not see the version which its
 * transaction replaced is. */
void problem_find_overwritten(struct problem *problem)
{
    uint32_t *order = iso_numbers(problem->writes.count);
    uint32_t count = 0;
    for (uint32_t write = 0; write < problem->writes.count; write++)
        if (has_place(problem, write))
            order[count++] = write;
    qsort_r(order, count, sizeof *order, compare_writes, problem);
    for (uint32_t i = 1; i < count; i++)
        if (problem->writes.key[order[i - 1]] == problem->writes.key[order[i]])
            find_unread(problem, order[i - 1], order[i]);
    iso_free(order);
}

/* ---- transactions ---- */

static void choose_transactions(struct problem *problem)
{
    const struct iso_history *history = problem->history;
    problem->transactions.in_history = iso_numbers(history->txns.count);
    problem->transactions.local = iso_numbers(history->txns.count);
    problem->writes.first = iso_numbers((size_t)history->txns.count + 1);
    problem->reads.first = iso_numbers((size_t)history->txns.count + 1);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint8_t status = iso_status_of(history, t);
        bool takes_part = status == ISO_COMMITTED ||
                          (status == ISO_UNKNOWN && (history->txns.flags[t] & ISO_WRITES));
        problem->transactions.local[t] = takes_part ? problem->transactions.count : ISO_NONE;
        if (takes_part || problem->rules.all_numbered)
            problem->transactions.in_history[problem->transactions.count++] = t;
    }
}

void problem_scan(struct problem *problem)
{
    assert(problem->history->finished);
    choose_transactions(problem);
    make_room(problem);
    scan_operations(problem);
}

void problem_find_writers(struct problem *problem)
{
    assert(!problem->reads.writer && !problem->reads.set);
    problem->reads.writer = iso_numbers_none(problem->reads.count);
    problem->reads.set = iso_numbers_none(problem->reads.count);
    problem_resolve_lists(problem);
    bool stopped = problem->rules.must_stop && problem->rules.must_stop(problem->rules.context);
    if (!stopped && !problem_find_registers(problem))
        problem_classify_unwritten(problem);
}

void problem_forget_reads(struct problem *problem)
{
    uint32_t **lists[] = {&problem->reads.transaction, &problem->reads.key, &problem->reads.value,
                          &problem->reads.prefix};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        iso_free(*lists[i]);
        *lists[i] = NULL;
    }
}

void problem_release(struct problem *problem)
{
    ISO_FREE_ALL(problem->transactions.in_history, problem->transactions.local,
                 problem->writes.transaction, problem->writes.key, problem->writes.value,
                 problem->writes.first, problem->reads.transaction, problem->reads.key,
                 problem->reads.value, problem->reads.operation, problem->reads.prefix,
                 problem->reads.writer, problem->reads.set, problem->reads.first,
                 problem->writer_sets.first, problem->writer_sets.member,
                 problem->list_orders.pairs);
    placements_release(problem->placements);
}

/* ---- what may be spent ---- */

struct budget budget_from(const struct iso_polygraph_options *options, double start)
{
    return (struct budget){.options = options,
                           .deadline = options->timeout > 0 ? start + options->timeout : 0};
}

bool budget_may_take(struct budget *budget, uint64_t bytes)
{
    const struct iso_polygraph_options *options = budget->options;
    uint64_t limit = options->memory ? options->memory : (uint64_t)1 << 34;
    uint64_t used = options->memory_in_use ? options->memory_in_use() : 0;
    if (!budget->stop_reason && used + bytes > limit)
        budget->stop_reason = "memory";
    return !budget->stop_reason;
}

/* Memory is asked for seldom: it takes a call into the system. */
bool budget_is_spent(struct budget *budget)
{
    const double between_looks = 0.002;
    double time = budget->stop_reason ? 0 : iso_clock_seconds();
    if (!budget->stop_reason && budget->deadline != 0 && time >= budget->deadline)
        budget->stop_reason = "timeout";
    if (!budget->stop_reason && time >= budget->next_check) {
        budget->next_check = time + between_looks;
        budget_may_take(budget, 0);
    }
    return budget->stop_reason;
}

void problem_undecided(struct iso_polygraph_result *result,
                       const struct iso_polygraph_options *options, const char *reason)
{
    struct iso_evidence *evidence = &result->evidence;
    result->outcome = ISO_IS_UNDECIDED;
    result->reason = reason;
    iso_evidence_release(evidence);
    evidence->level = options->level;
    evidence->drift = options->drift;
    evidence->versions_by_commit = options->versions_by_commit;
    result->cycle_lemma = ISO_NONE;
    result->cycles = 0;
}
