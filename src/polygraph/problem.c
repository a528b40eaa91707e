/* From a finished history to transactions, writes and external reads with their possible writers.
 *
 * One pass over the operations keeps, for each key that the current transaction has touched, the value it
 * must see next: that checks internal reads and tells external ones. Who may have written what those saw, origins.c
 * tells; what nobody wrote is classified by one more look at the history.
 */
#include "polygraph/polygraph_private.h"

/* What the current transaction knows of a key. */
struct touched {
    uint32_t transaction; /* 1 + local number; other numbers: untouched */
    uint32_t value;       /* what an internal read must return; lists: the external read so far, or ISO_NONE */
    uint32_t write;       /* its final write so far, or ISO_NONE */
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

static void grow(uint32_t **column, uint32_t old, uint32_t next)
{
    *column = iso_column_grow(*column, (size_t)old * sizeof **column, (size_t)next * sizeof **column);
}

static uint32_t add_read(struct engine *engine, uint32_t transaction, uint32_t key, uint32_t value, uint32_t operation,
                         uint32_t prefix)
{
    if (engine->read_count == engine->read_capacity) {
        uint32_t old = engine->read_capacity, next = (uint32_t)iso_column_capacity(old, old + 1u);
        grow(&engine->read_transaction, old, next);
        grow(&engine->read_key, old, next);
        grow(&engine->read_value, old, next);
        grow(&engine->read_operation, old, next);
        grow(&engine->read_prefix, old, next);
        engine->read_capacity = next;
    }
    uint32_t read = engine->read_count++;
    engine->read_transaction[read] = transaction;
    engine->read_key[read] = key;
    engine->read_value[read] = value;
    engine->read_operation[read] = operation;
    engine->read_prefix[read] = prefix;
    return read;
}

static uint32_t add_write(struct engine *engine, uint32_t transaction, uint32_t key)
{
    if (engine->write_count == engine->write_capacity) {
        uint32_t old = engine->write_capacity, next = (uint32_t)iso_column_capacity(old, old + 1u);
        grow(&engine->write_transaction, old, next);
        grow(&engine->write_key, old, next);
        grow(&engine->write_value, old, next);
        engine->write_capacity = next;
    }
    uint32_t write = engine->write_count++;
    engine->write_transaction[write] = transaction;
    engine->write_key[write] = key;
    return write;
}

static void scan_register(struct engine *engine, uint32_t local, uint32_t operation, struct touched *touched,
                          bool judged)
{
    const struct iso_history *history = engine->history;
    uint32_t key = history->key[operation], value = history->value[operation];
    bool known = touched->transaction == local + 1;
    if (!known)
        *touched = (struct touched){local + 1, value, ISO_NONE};
    if (iso_kind_writes(history->kind[operation])) {
        if (touched->write == ISO_NONE)
            touched->write = add_write(engine, local, key);
        engine->write_value[touched->write] = touched->value = value;
    } else if (!judged) {
        return;
    } else if (!known) {
        add_read(engine, local, key, value, operation, 0);
    } else if (touched->value != value) {
        problem_finding(engine, ISO_FINDING_INT, engine->transaction[local], operation, ISO_NONE);
        touched->value = value;
    }
}

/* How many elements a list read has before the transaction's own appends; ISO_NONE if it does not end with
 * those. */
static uint32_t own_prefix(const struct iso_history *history, uint32_t transaction, uint32_t operation)
{
    uint32_t list = history->value[operation];
    uint64_t first = history->list_first[list], end = history->list_first[list + 1];
    for (uint32_t o = operation; o-- > history->first_operation[transaction];) {
        if (history->key[o] != history->key[operation] || iso_kind_of(history, o) != ISO_APPEND)
            continue;
        if (end == first || history->element[--end] != history->value[o])
            return ISO_NONE;
    }
    return (uint32_t)(end - first);
}

static bool same_prefix(const struct iso_history *history, uint32_t list, uint32_t other, uint32_t length)
{
    return memcmp(history->element + history->list_first[list], history->element + history->list_first[other],
                  length * sizeof *history->element) == 0;
}

static void scan_list(struct engine *engine, uint32_t local, uint32_t operation, struct touched *touched)
{
    const struct iso_history *history = engine->history;
    uint32_t t = engine->transaction[local], list = history->value[operation];
    uint32_t prefix = own_prefix(history, t, operation);
    if (touched->transaction != local + 1)
        *touched = (struct touched){local + 1, ISO_NONE, ISO_NONE};
    if (prefix == ISO_NONE)
        problem_finding(engine, ISO_FINDING_INT, t, operation, ISO_NONE);
    else if (touched->value == ISO_NONE)
        touched->value = add_read(engine, local, history->key[operation], list, operation, prefix);
    else if (engine->read_prefix[touched->value] != prefix ||
             !same_prefix(history, engine->read_value[touched->value], list, prefix))
        problem_finding(engine, ISO_FINDING_INT, t, operation, ISO_NONE);
}

/* Lists: the write stands for all of the transaction's appends. */
static void scan_append(struct engine *engine, uint32_t local, uint32_t key, struct touched *touched)
{
    if (touched->transaction != local + 1)
        *touched = (struct touched){local + 1, ISO_NONE, ISO_NONE};
    if (touched->write == ISO_NONE) {
        touched->write = add_write(engine, local, key);
        engine->write_value[touched->write] = ISO_NONE;
    }
}

static void scan_operations(struct engine *engine)
{
    const struct iso_history *history = engine->history;
    struct touched *touched = iso_allocate_zeroed((size_t)history->key_count + 1, sizeof *touched);
    for (uint32_t local = 0; local < engine->count; local++) {
        uint32_t t = engine->transaction[local];
        bool judged = iso_status_of(history, t) == ISO_COMMITTED;
        engine->first_write[local] = engine->write_count;
        engine->first_read[local] = engine->read_count;
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            uint8_t kind = iso_kind_of(history, o);
            if (kind == ISO_APPEND)
                scan_append(engine, local, history->key[o], &touched[history->key[o]]);
            else if (kind == ISO_READ_LIST && judged)
                scan_list(engine, local, o, &touched[history->key[o]]);
            else if (kind == ISO_READ_LIST)
                continue;
            else
                scan_register(engine, local, o, &touched[history->key[o]], judged);
        }
    }
    engine->first_write[engine->count] = engine->write_count;
    engine->first_read[engine->count] = engine->read_count;
    iso_free(touched);
}

/* ---- reads without a writer ---- */

/* Who else wrote the value: an aborted transaction, or one that overwrote it itself. */
static void classify_read(struct engine *engine, uint32_t read)
{
    const struct iso_history *history = engine->history;
    uint32_t key = engine->read_key[read], value = engine->read_value[read];
    uint32_t reader = engine->transaction[engine->read_transaction[read]], intermediate = ISO_NONE;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            if (history->key[o] != key || history->value[o] != value || !iso_kind_writes(history->kind[o]) ||
                t == reader)
                continue;
            if (iso_status_of(history, t) == ISO_ABORTED) {
                problem_finding(engine, ISO_FINDING_G1A, reader, engine->read_operation[read], t);
                return;
            }
            intermediate = intermediate == ISO_NONE ? t : intermediate;
        }
    }
    problem_finding(engine, intermediate == ISO_NONE ? ISO_FINDING_THINAIR : ISO_FINDING_G1B, reader,
                    engine->read_operation[read], intermediate);
}

static void classify_reads(struct engine *engine)
{
    for (uint32_t read = 0; read < engine->read_count; read++) {
        if (engine->read_writer[read] == OPEN && engine->read_set[read] == ISO_NONE &&
            !iso_key_is_list(engine->history, engine->read_key[read]))
            classify_read(engine, read);
    }
}

/* ---- two read-modify-writes of one version ---- */

/* The later of the two in any order would have seen the earlier one. Each is reported with the first of its
 * version. Of lists that differ only the graph can say so, also where they end with the same appends. */
static void find_lost_updates(struct engine *engine)
{
    const struct iso_history *history = engine->history;
    uint32_t *writer =
        iso_allocate_zeroed((size_t)history->key_count + 1, sizeof *writer); /* by key: 1 + who writes it */
    size_t versions = (size_t)engine->write_count + history->key_count + 1;
    uint32_t *first = memset(iso_allocate(versions * sizeof *first), 0xff, versions * sizeof *first);
    for (uint32_t t = 0; t < engine->count; t++) {
        for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++)
            writer[engine->write_key[write]] = t + 1;
        for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1]; read++) {
            uint32_t key = engine->read_key[read], version = engine->read_writer[read];
            if (writer[key] != t + 1 || version == OPEN)
                continue;
            uint32_t *before = &first[version == INITIAL ? engine->write_count + key : version];
            if (*before == ISO_NONE)
                *before = read;
            else if (engine->read_prefix[read] == engine->read_prefix[*before])
                problem_finding(engine, ISO_FINDING_LOSTUPDATE, engine->transaction[t], engine->read_operation[read],
                                engine->transaction[engine->read_transaction[*before]]);
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
    engine->transaction = iso_allocate(size);
    engine->local = iso_allocate(size);
    engine->first_write = iso_allocate(size);
    engine->first_read = iso_allocate(size);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        uint8_t status = iso_status_of(history, t);
        bool takes_part = status == ISO_COMMITTED || (status == ISO_UNKNOWN && (history->flags[t] & ISO_WRITES));
        engine->local[t] = takes_part ? engine->count : ISO_NONE;
        if (takes_part)
            engine->transaction[engine->count++] = t;
    }
}

enum iso_status problem_build(struct engine *engine)
{
    choose_transactions(engine);
    scan_operations(engine);
    uint32_t *list_writer = lists_resolve(engine);
    if (engine->stop_reason) {
        iso_free(list_writer);
        return ISO_UNDECIDED;
    }
    if (!origins_find(engine, list_writer))
        classify_reads(engine);
    find_lost_updates(engine);
    iso_free(list_writer);
    for (int kind = 0; kind < ISO_FINDINGS; kind++) {
        if (engine->result->counts[kind])
            return ISO_VIOLATED;
    }
    return ISO_OK;
}

void problem_release(struct engine *engine)
{
    size_t writes = engine->write_capacity * sizeof(uint32_t), reads = engine->read_capacity * sizeof(uint32_t);
    iso_free(engine->transaction);
    iso_free(engine->local);
    iso_free(engine->first_write);
    iso_free(engine->first_read);
    iso_column_free(engine->write_transaction, writes);
    iso_column_free(engine->write_key, writes);
    iso_column_free(engine->write_value, writes);
    iso_column_free(engine->read_transaction, reads);
    iso_column_free(engine->read_key, reads);
    iso_column_free(engine->read_value, reads);
    iso_column_free(engine->read_operation, reads);
    iso_column_free(engine->read_prefix, reads);
}
