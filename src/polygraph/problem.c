/* From a finished history to transactions, writes and external reads with their possible writers.
 *
 * One pass over the operations keeps, for each key that the current transaction has accessed, the value it
 * must see next: that checks internal reads and finds external ones. Who may have written what those saw, read_from.c
 * finds, and unwritten.c who wrote what nobody left behind.
 */
#include "polygraph/given.h"
#include "polygraph/validate.h"

/* What the current transaction knows of a key. */
struct own_access {
    uint32_t transaction; /* 1 + local number; other numbers: not of this one */
    uint32_t value;       /* what an internal read must return; lists: the external read so far, or ISO_NONE */
    uint32_t write;       /* its final write so far, or ISO_NONE */
    uint32_t append;      /* its last append so far, an operation, or ISO_NONE */
};

/* What a scan over the operations keeps. */
struct scan {
    struct engine *engine;
    struct own_access *access; /* by key */
    uint32_t
        *previous_append; /* by operation of the current transaction: its append to the same key before, or ISO_NONE */
};

void problem_finding(struct engine *engine, enum iso_finding_kind kind, uint32_t transaction, uint32_t operation,
                     uint32_t other)
{
    struct iso_polygraph_result *result = engine->result;
    result->counts[kind]++;
    if (engine->options->max_findings && result->finding_count >= engine->options->max_findings)
        return;
    if (result->finding_count == result->finding_capacity) {
        size_t next = iso_column_capacity(result->finding_capacity, result->finding_capacity + 1u);
        result->findings = iso_reallocate(result->findings, next * sizeof *result->findings);
        result->finding_capacity = (uint32_t)next;
    }
    result->findings[result->finding_count++] = (struct iso_finding){kind, transaction, operation, other};
}

static void grow_column(uint32_t **column, uint32_t old, uint32_t next)
{
    *column = iso_column_grow(*column, (size_t)old * sizeof **column, (size_t)next * sizeof **column);
}

static uint32_t add_read(struct engine *engine, uint32_t transaction, uint32_t key, uint32_t value, uint32_t operation,
                         uint32_t prefix)
{
    if (engine->reads.count == engine->reads.capacity) {
        uint32_t old = engine->reads.capacity, next = (uint32_t)iso_column_capacity(old, old + 1u);
        grow_column(&engine->reads.transaction, old, next);
        grow_column(&engine->reads.key, old, next);
        grow_column(&engine->reads.value, old, next);
        grow_column(&engine->reads.operation, old, next);
        grow_column(&engine->reads.prefix, old, next);
        engine->reads.capacity = next;
    }
    uint32_t read = engine->reads.count++;
    engine->reads.transaction[read] = transaction;
    engine->reads.key[read] = key;
    engine->reads.value[read] = value;
    engine->reads.operation[read] = operation;
    engine->reads.prefix[read] = prefix;
    return read;
}

static uint32_t add_write(struct engine *engine, uint32_t transaction, uint32_t key)
{
    if (engine->writes.count == engine->writes.capacity) {
        uint32_t old = engine->writes.capacity, next = (uint32_t)iso_column_capacity(old, old + 1u);
        grow_column(&engine->writes.transaction, old, next);
        grow_column(&engine->writes.key, old, next);
        grow_column(&engine->writes.value, old, next);
        engine->writes.capacity = next;
    }
    uint32_t write = engine->writes.count++;
    engine->writes.transaction[write] = transaction;
    engine->writes.key[write] = key;
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
    struct engine *engine = scan->engine;
    const struct iso_history *history = engine->history;
    uint32_t key = history->key[operation], value = history->value[operation];
    bool known;
    struct own_access *access = access_key(scan, local, key, &known);
    if (!known)
        access->value = value;
    if (iso_kind_writes(history->kind[operation])) {
        if (access->write == ISO_NONE)
            access->write = add_write(engine, local, key);
        engine->writes.value[access->write] = access->value = value;
    } else if (!judged) {
        return;
    } else if (!known) {
        add_read(engine, local, key, value, operation, 0);
    } else if (access->value != value) {
        problem_finding(engine, ISO_FINDING_INT, engine->transactions.in_history[local], operation, ISO_NONE);
        access->value = value;
    }
}

/* How many elements a list read has before the transaction's own appends, of which `append` is the last; ISO_NONE if it
 * does not end with those. */
static uint32_t own_prefix(const struct scan *scan, uint32_t local, uint32_t operation, uint32_t append)
{
    const struct iso_history *history = scan->engine->history;
    uint32_t list = history->value[operation],
             base = history->first_operation[scan->engine->transactions.in_history[local]];
    uint64_t first = history->list_first[list], end = history->list_first[list + 1];
    for (; append != ISO_NONE; append = scan->previous_append[append - base]) {
        if (end == first || history->element[--end] != history->value[append])
            return ISO_NONE;
    }
    return (uint32_t)(end - first);
}

static bool same_prefix(const struct iso_history *history, uint32_t list, uint32_t other, uint32_t length)
{
    return memcmp(history->element + history->list_first[list], history->element + history->list_first[other],
                  length * sizeof *history->element) == 0;
}

static void scan_list(struct scan *scan, uint32_t local, uint32_t operation)
{
    struct engine *engine = scan->engine;
    const struct iso_history *history = engine->history;
    uint32_t t = engine->transactions.in_history[local], list = history->value[operation];
    bool known;
    struct own_access *access = access_key(scan, local, history->key[operation], &known);
    uint32_t prefix = own_prefix(scan, local, operation, access->append);
    if (prefix == ISO_NONE)
        problem_finding(engine, ISO_FINDING_INT, t, operation, ISO_NONE);
    else if (access->value == ISO_NONE)
        access->value = add_read(engine, local, history->key[operation], list, operation, prefix);
    else if (engine->reads.prefix[access->value] != prefix ||
             !same_prefix(history, engine->reads.value[access->value], list, prefix))
        problem_finding(engine, ISO_FINDING_INT, t, operation, ISO_NONE);
}

/* Lists: the write stands for all of the transaction's appends. */
static void scan_append(struct scan *scan, uint32_t local, uint32_t operation)
{
    struct engine *engine = scan->engine;
    uint32_t key = engine->history->key[operation];
    bool known;
    struct own_access *access = access_key(scan, local, key, &known);
    if (access->write == ISO_NONE) {
        access->write = add_write(engine, local, key);
        engine->writes.value[access->write] = ISO_NONE;
    }
    scan->previous_append[operation - engine->history->first_operation[engine->transactions.in_history[local]]] =
        access->append;
    access->append = operation;
}

static void scan_transaction(struct scan *scan, uint32_t local)
{
    const struct iso_history *history = scan->engine->history;
    uint32_t t = scan->engine->transactions.in_history[local];
    bool judged = iso_status_of(history, t) == ISO_COMMITTED;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_APPEND)
            scan_append(scan, local, o);
        else if (kind == ISO_READ_LIST && judged)
            scan_list(scan, local, o);
        else if (kind != ISO_READ_LIST)
            scan_register(scan, local, o, judged);
    }
}

static uint32_t most_operations(const struct engine *engine)
{
    const struct iso_history *history = engine->history;
    uint32_t most = 0;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        uint32_t count = history->first_operation[t + 1] - history->first_operation[t];
        most = count > most ? count : most;
    }
    return most;
}

static void scan_operations(struct engine *engine)
{
    struct scan scan = {.engine = engine};
    scan.access = iso_allocate_zeroed((size_t)engine->history->key_count + 1, sizeof *scan.access);
    scan.previous_append = iso_numbers(most_operations(engine));
    for (uint32_t local = 0; local < engine->transactions.count; local++) {
        engine->writes.first[local] = engine->writes.count;
        engine->reads.first[local] = engine->reads.count;
        scan_transaction(&scan, local);
    }
    engine->writes.first[engine->transactions.count] = engine->writes.count;
    engine->reads.first[engine->transactions.count] = engine->reads.count;
    iso_free(scan.access);
    iso_free(scan.previous_append);
}

/* ---- two read-modify-writes of one version ---- */

/* The later of the two in any order would have seen the earlier one. Each is reported with the first of its
 * version. Of lists that differ only the graph can say so, also where they end with the same appends. */
static void find_lost_updates(struct engine *engine)
{
    const struct iso_history *history = engine->history;
    uint32_t *writer = iso_numbers_zero(history->key_count); /* by key: 1 + who writes it */
    size_t versions = (size_t)engine->writes.count + history->key_count + 1;
    uint32_t *first = memset(iso_allocate(versions * sizeof *first), 0xff, versions * sizeof *first);
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        for (uint32_t write = engine->writes.first[t]; write < engine->writes.first[t + 1]; write++)
            writer[engine->writes.key[write]] = t + 1;
        for (uint32_t read = engine->reads.first[t]; read < engine->reads.first[t + 1]; read++) {
            uint32_t key = engine->reads.key[read], version = engine->reads.writer[read];
            if (writer[key] != t + 1 || version == OPEN)
                continue;
            uint32_t *before = &first[version == INITIAL ? engine->writes.count + key : version];
            if (*before == ISO_NONE)
                *before = read;
            else if (engine->reads.prefix[read] == engine->reads.prefix[*before])
                problem_finding(engine, ISO_FINDING_LOSTUPDATE, engine->transactions.in_history[t],
                                engine->reads.operation[read],
                                engine->transactions.in_history[engine->reads.transaction[*before]]);
        }
    }
    iso_free(writer);
    iso_free(first);
}

/* ---- transactions ---- */

static void choose_transactions(struct engine *engine)
{
    const struct iso_history *history = engine->history;
    size_t size = ((size_t)history->transaction_count + 2) * sizeof(uint32_t);
    engine->transactions.in_history = iso_allocate(size);
    engine->transactions.local = iso_allocate(size);
    engine->writes.first = iso_allocate(size);
    engine->reads.first = iso_allocate(size);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        uint8_t status = iso_status_of(history, t);
        bool takes_part = status == ISO_COMMITTED || (status == ISO_UNKNOWN && (history->flags[t] & ISO_WRITES));
        engine->transactions.local[t] = takes_part ? engine->transactions.count : ISO_NONE;
        if (takes_part)
            engine->transactions.in_history[engine->transactions.count++] = t;
    }
}

enum step_result problem_build(struct engine *engine)
{
    choose_transactions(engine);
    scan_operations(engine);
    if (engine->options->versions_by_commit)
        given_build(engine);
    uint32_t *list_writer = lists_resolve(engine);
    if (engine->budget.stop_reason) {
        iso_free(list_writer);
        return STEP_STOPPED;
    }
    if (!read_from_find(engine, list_writer))
        unwritten_classify(engine);
    if (!engine->given) /* else the graph decides: a read's version is known by more than its value */
        find_lost_updates(engine);
    iso_free(list_writer);
    for (int kind = 0; kind < ISO_FINDINGS; kind++) {
        if (engine->result->counts[kind])
            return STEP_CONTRADICTION;
    }
    problem_validate(engine);
    return STEP_DONE;
}

void problem_release(struct engine *engine)
{
    size_t writes = engine->writes.capacity * sizeof(uint32_t), reads = engine->reads.capacity * sizeof(uint32_t);
    iso_free(engine->transactions.in_history);
    iso_free(engine->transactions.local);
    iso_free(engine->writes.first);
    iso_free(engine->reads.first);
    iso_column_free(engine->writes.transaction, writes);
    iso_column_free(engine->writes.key, writes);
    iso_column_free(engine->writes.value, writes);
    iso_column_free(engine->reads.transaction, reads);
    iso_column_free(engine->reads.key, reads);
    iso_column_free(engine->reads.value, reads);
    iso_column_free(engine->reads.operation, reads);
    iso_column_free(engine->reads.prefix, reads);
}
