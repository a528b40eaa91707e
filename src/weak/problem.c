/* From a finished history to transactions, writes and external reads.
 *
 * One pass over the operations keeps, of each key that the transaction at hand has accessed, what it must see next:
 * that judges internal reads and finds external ones.
 */
#include "weak/weak_private.h"

/* What the transaction at hand knows of a key. */
struct own {
    uint32_t transaction; /* 1 + the transaction */
    uint32_t value;       /* what an internal read must return; lists: the external read, or ISO_NONE */
    uint32_t write;       /* its final write so far, or ISO_NONE */
    uint32_t append;      /* its last append so far, or ISO_NONE */
};

struct scan {
    struct weak *weak;
    struct own *own;           /* by key */
    uint32_t *previous_append; /* by operation of the transaction at hand */
    uint32_t previous_capacity;
};

void weak_problem_finding(struct weak *weak, enum iso_finding_kind kind, uint32_t transaction, uint32_t operation,
                          uint32_t other)
{
    struct iso_polygraph_result *result = weak->result;
    result->counts[kind]++;
    if (weak->options->max_findings && result->finding_count >= weak->options->max_findings)
        return;
    ISO_GROW(result->findings, result->finding_count, result->finding_capacity);
    result->findings[result->finding_count++] = (struct iso_finding){kind, transaction, operation, other};
}

/* ---- room ---- */

static void count_accesses(const struct iso_history *history, size_t *reads, size_t *writes, bool *lists)
{
    *reads = *writes = 0;
    *lists = false;
    for (uint32_t o = 0; o < history->operation_count; o++) {
        bool writing = iso_kind_writes(history->kind[o]);
        *writes += writing;
        *reads += !writing;
        *lists |= iso_kind_of(history, o) == ISO_READ_LIST || iso_kind_of(history, o) == ISO_APPEND;
    }
}

static void make_room(struct weak *weak)
{
    size_t reads, writes, n = weak->history->transaction_count;
    bool lists;
    count_accesses(weak->history, &reads, &writes, &lists);
    weak->read_capacity = (uint32_t)reads + 1;
    weak->write_capacity = (uint32_t)writes + 1;
    weak->write_first = iso_numbers(n + 1);
    weak->read_first = iso_numbers(n + 1);
    weak->write_key = iso_numbers(writes);
    weak->write_value = iso_numbers(writes);
    weak->write_owner = iso_numbers(writes);
    weak->read_operation = iso_numbers(reads);
    weak->read_prefix = lists ? iso_numbers(reads) : NULL;
}

/* ---- operations ---- */

static struct own *own_of(struct scan *scan, uint32_t t, uint32_t key, bool *known)
{
    struct own *own = &scan->own[key];
    *known = own->transaction == t + 1;
    if (!*known)
        *own = (struct own){t + 1, ISO_NONE, ISO_NONE, ISO_NONE};
    return own;
}

static uint32_t add_read(struct weak *weak, uint32_t operation, uint32_t prefix)
{
    uint32_t read = weak->read_count++;
    weak->read_operation[read] = operation;
    if (weak->read_prefix)
        weak->read_prefix[read] = prefix;
    return read;
}

static uint32_t add_write(struct weak *weak, uint32_t t, uint32_t key)
{
    uint32_t write = weak->write_count++;
    weak->write_key[write] = key;
    weak->write_owner[write] = t;
    weak->write_value[write] = ISO_NONE;
    return write;
}

static void scan_register(struct scan *scan, uint32_t t, uint32_t operation, bool judged)
{
    struct weak *weak = scan->weak;
    const struct iso_history *history = weak->history;
    uint32_t value = history->value[operation], key = history->key[operation];
    bool known;
    struct own *own = own_of(scan, t, key, &known);
    if (iso_kind_writes(history->kind[operation])) {
        if (own->write == ISO_NONE)
            own->write = add_write(weak, t, key);
        weak->write_value[own->write] = own->value = value;
        return;
    }
    if (!judged)
        return; /* such reads say nothing */
    bool internal = own->write != ISO_NONE || (known && !weak->each_read);
    if (!internal)
        add_read(weak, operation, 0);
    else if (own->value != value)
        weak_problem_finding(weak, ISO_FINDING_INT, t, operation, ISO_NONE);
    own->value = value;
}

/* How many elements a list read has before the transaction's own appends; ISO_NONE if it does not end with those. */
static uint32_t own_prefix(const struct scan *scan, uint32_t t, uint32_t operation, uint32_t append)
{
    const struct iso_history *history = scan->weak->history;
    uint32_t list = history->value[operation], first = history->first_operation[t];
    uint64_t start = history->list_first[list], at = history->list_first[list + 1];
    for (; append != ISO_NONE; append = scan->previous_append[append - first]) {
        if (at == start || history->element[--at] != history->value[append])
            return ISO_NONE;
    }
    return (uint32_t)(at - start);
}

static bool same_prefix(const struct weak *weak, uint32_t read, uint32_t operation, uint32_t prefix)
{
    const struct iso_history *history = weak->history;
    uint32_t list = history->value[operation], before = history->value[weak->read_operation[read]];
    return weak->read_prefix[read] == prefix &&
           !memcmp(history->element + history->list_first[list], history->element + history->list_first[before],
                   prefix * sizeof *history->element);
}

/* At rc only those behind the transaction's first append must agree with one another. */
static void scan_list(struct scan *scan, uint32_t t, uint32_t operation)
{
    struct weak *weak = scan->weak;
    bool known;
    struct own *own = own_of(scan, t, weak->history->key[operation], &known);
    uint32_t prefix = own_prefix(scan, t, operation, own->append);
    bool binds = !weak->each_read || own->append != ISO_NONE;
    if (prefix == ISO_NONE || (binds && own->value != ISO_NONE && !same_prefix(weak, own->value, operation, prefix))) {
        weak_problem_finding(weak, ISO_FINDING_INT, t, operation, ISO_NONE);
    } else if (!binds || own->value == ISO_NONE) {
        uint32_t read = add_read(weak, operation, prefix);
        own->value = binds ? read : ISO_NONE;
    }
}

static void scan_append(struct scan *scan, uint32_t t, uint32_t operation)
{
    bool known;
    struct own *own = own_of(scan, t, scan->weak->history->key[operation], &known);
    if (own->write == ISO_NONE)
        own->write = add_write(scan->weak, t, scan->weak->history->key[operation]);
    scan->previous_append[operation - scan->weak->history->first_operation[t]] = own->append;
    own->append = operation;
}

/* By key where they are many: a search among them is one by halves. */
static void sort_writes(struct weak *weak, uint32_t first)
{
    uint32_t count = weak->write_count - first;
    if (count <= MANY)
        return;
    uint64_t *pairs = iso_allocate(count * sizeof *pairs);
    uint32_t *values = iso_numbers(count);
    for (uint32_t i = 0; i < count; i++) {
        pairs[i] = (uint64_t)weak->write_key[first + i] << 32 | i;
        values[i] = weak->write_value[first + i];
    }
    for (uint32_t half = count / 2, end = count; end > 1;) { /* heap sort: nothing recurses */
        uint64_t item;
        if (half) {
            item = pairs[--half];
        } else {
            item = pairs[--end];
            pairs[end] = pairs[0];
        }
        uint32_t at = half;
        for (uint32_t child; (child = 2 * at + 1) < end; at = child) {
            child += child + 1 < end && pairs[child + 1] > pairs[child];
            if (pairs[child] <= item)
                break;
            pairs[at] = pairs[child];
        }
        pairs[at] = item;
    }
    for (uint32_t i = 0; i < count; i++) {
        weak->write_key[first + i] = (uint32_t)(pairs[i] >> 32);
        weak->write_value[first + i] = values[(uint32_t)pairs[i]];
    }
    iso_free(pairs);
    iso_free(values);
}

static void scan_transaction(struct scan *scan, uint32_t t)
{
    struct weak *weak = scan->weak;
    const struct iso_history *history = weak->history;
    bool judged = iso_status_of(history, t) == ISO_COMMITTED;
    uint32_t first = history->first_operation[t], end = history->first_operation[t + 1],
             first_write = weak->write_count;
    ISO_RESERVE(scan->previous_append, end - first, scan->previous_capacity);
    for (uint32_t o = first; o < end; o++) {
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_APPEND)
            scan_append(scan, t, o);
        else if (kind != ISO_READ_LIST)
            scan_register(scan, t, o, judged);
        else if (judged)
            scan_list(scan, t, o);
    }
    sort_writes(weak, first_write);
}

static void scan_operations(struct weak *weak)
{
    struct scan scan = {.weak = weak};
    uint32_t n = weak->history->transaction_count;
    scan.own = iso_allocate_zeroed((size_t)weak->history->key_count + 1, sizeof *scan.own);
    make_room(weak);
    for (uint32_t t = 0; t < n; t++) {
        weak->write_first[t] = weak->write_count;
        weak->read_first[t] = weak->read_count;
        if (weak->part[t])
            scan_transaction(&scan, t);
    }
    weak->write_first[n] = weak->write_count;
    weak->read_first[n] = weak->read_count;
    iso_free(scan.own);
    iso_free(scan.previous_append);
}

/* ---- transactions ---- */

static void chain_session(struct weak *weak, uint32_t session)
{
    const struct iso_history *history = weak->history;
    uint32_t last = ISO_NONE, chain = weak->chain_count, place = 0;
    for (uint32_t i = history->session_first[session]; i < history->session_first[session + 1]; i++) {
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
    for (uint32_t i = history->session_first[session]; i < history->session_first[session + 1]; i++) {
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

static void choose_transactions(struct weak *weak)
{
    const struct iso_history *history = weak->history;
    uint32_t n = history->transaction_count;
    weak->part = iso_allocate_zeroed((size_t)n + 1, 1);
    weak->chain = iso_numbers(n);
    weak->place = iso_numbers(n);
    weak->before = iso_numbers_none(n);
    weak->next = iso_numbers_none(n);
    for (uint32_t t = 0; t < n; t++) {
        uint8_t status = iso_status_of(history, t);
        weak->part[t] = status == ISO_COMMITTED || (status == ISO_UNKNOWN && (history->flags[t] & ISO_WRITES));
        weak->part_count += weak->part[t];
    }
    for (uint32_t session = 0; session < history->session_count; session++)
        chain_session(weak, session);
}

bool weak_problem_build(struct weak *weak)
{
    choose_transactions(weak);
    scan_operations(weak);
    weak->read_writer = iso_numbers_none(weak->read_count);
    weak_lists_resolve(weak);
    weak_writers_find(weak);
    if (weak->level == ISO_PSI)
        weak_psi_lost_updates(weak);
    for (int kind = 0; kind < ISO_FINDINGS; kind++) {
        if (weak->result->counts[kind])
            return false;
    }
    return true;
}

void weak_problem_release(struct weak *weak)
{
    uint32_t *columns[] = {weak->chain,       weak->place,       weak->before,      weak->next,
                           weak->write_first, weak->write_key,   weak->write_value, weak->write_owner,
                           weak->read_first,  weak->read_prefix, weak->read_writer, weak->read_operation,
                           weak->read_set,    weak->sets.first,  weak->sets.member, weak->order,
                           weak->position,    weak->reader,      weak->reader_first};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        iso_free(columns[i]);
    iso_free(weak->part);
    iso_free(weak->bonds);
    iso_free(weak->used);
    iso_free(weak->hits);
}
