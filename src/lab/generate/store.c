/* The store: versioned keys, transactions that read and write them, and what each level makes of
 * their reads.
 */
#include <assert.h>

#include "generate/generate_private.h"

/* ---- choosing keys ---- */

bool store_choose_written(struct store *store, uint32_t tid, uint32_t *chosen)
{
    for (int i = 0; i < STORE_TRIES; i++) {
        uint32_t at = iso_draw_key(&store->draw, &store->rng);
        struct slot *slot = &store->slots[at];
        if (slot->held && slot->held != tid)
            continue;
        slot->held = tid;
        *chosen = at;
        return true;
    }
    return false;
}

static bool has_key(const struct transaction *transaction, uint32_t slot)
{
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        if (transaction->operations[i].slot == slot)
            return true;
    }
    return false;
}

/* A transaction of two statements has each key in one of them: else it would read a key twice, and
 * differ. */
static void choose_operations(struct store *store, struct transaction *transaction)
{
    const struct iso_generate_options *options = store->options;
    for (uint32_t i = 0; i < options->operations; i++) {
        uint32_t at;
        bool reads = iso_rng_chance(&store->rng, options->read_share) ||
                     !store_choose_written(store, transaction->tid, &at);
        if (reads)
            at = iso_draw_key(&store->draw, &store->rng);
        if (options->level == ISO_RC && has_key(transaction, at))
            continue;
        uint8_t kind = reads ? (options->lists ? ISO_READ_LIST : ISO_READ)
                             : (options->lists ? ISO_APPEND : ISO_WRITE);
        transaction_add(transaction, kind, 0)->slot = at;
    }
}

/* ---- running them ---- */

static void note_read(struct operation *operation, const struct slot *slot)
{
    operation->external = true;
    operation->taint = slot->taint;
    operation->version = slot->version_cts;
}

static void run_register(struct store *store, const struct transaction *transaction,
                         struct operation *operation)
{
    struct slot *slot = &store->slots[operation->slot];
    if (slot->seen != transaction->tid) {
        slot->seen = transaction->tid;
        slot->current = slot->value;
        if (operation->kind == ISO_READ)
            note_read(operation, slot);
    }
    if (operation->kind == ISO_WRITE)
        slot->current = store->next_value++;
    operation->value = slot->current;
}

/* Reads a list: the committed elements, then the transaction's own appends so far. */
static void read_list(struct store *store, struct transaction *transaction, uint32_t at)
{
    struct operation *operation = &transaction->operations[at];
    struct slot *slot = &store->slots[operation->slot];
    operation->first = transaction->element_count;
    for (uint32_t i = 0; i < slot->count; i++)
        transaction_element(transaction, slot->elements[i]);
    for (uint32_t i = 0; slot->held == transaction->tid && i < at; i++) {
        if (transaction->operations[i].slot == operation->slot &&
            transaction->operations[i].kind == ISO_APPEND)
            transaction_element(transaction, transaction->operations[i].value);
    }
    operation->count = (uint32_t)(transaction->element_count - operation->first);
    if (slot->seen != transaction->tid)
        note_read(operation, slot);
    slot->seen = transaction->tid;
}

static void run_operations(struct store *store, struct transaction *transaction, uint32_t from,
                           uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        struct operation *operation = &transaction->operations[i];
        operation->key = store->slots[operation->slot].key;
        if (operation->kind == ISO_READ_LIST)
            read_list(store, transaction, i);
        else if (operation->kind == ISO_APPEND)
            operation->value = store->next_value++;
        else
            run_register(store, transaction, operation);
    }
}

static void run_all(struct store *store, struct transaction *transaction)
{
    if (transaction->step_count)
        rows_run(store, transaction);
    else
        run_operations(store, transaction, 0, transaction->operation_count);
}

/* At rc: the first statement runs at the beginning, the second at the end. */
static uint32_t first_statement(const struct transaction *transaction)
{
    return transaction->operation_count / 2;
}

/* A transaction that only reads, at si, where it needs no cts of its own. */
bool store_is_point(const struct store *store, const struct transaction *transaction)
{
    if (store->options->level != ISO_SI)
        return false;
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        if (iso_kind_writes(transaction->operations[i].kind))
            return false;
    }
    for (uint32_t i = 0; i < transaction->step_count; i++) {
        if (transaction->steps[i].kind == STEP_WRITE || transaction->steps[i].kind == STEP_DELETE)
            return false;
    }
    return true;
}

static void choose_outcome(struct store *store, struct transaction *transaction)
{
    const struct iso_generate_options *options = store->options;
    uint64_t lot = iso_rng_next(&store->rng) >> 32;
    transaction->applies = true;
    if (lot < options->aborted_share) {
        transaction->status = ISO_ABORTED;
        transaction->applies = false;
    } else if (lot - options->aborted_share < options->unknown_share) {
        transaction->status = ISO_UNKNOWN;
        transaction->applies = iso_rng_below(&store->rng, 2);
    }
}

struct transaction *store_begin(struct store *store, uint32_t session)
{
    struct transaction *transaction = outlet_new(&store->outlet);
    transaction->tid = store->next_tid++;
    transaction->session = session + 1;
    transaction->sno = store->snos[session]++;
    transaction->sts = ++store->clock;
    choose_outcome(store, transaction);
    if (store->sites.count)
        replica_begin(store, transaction);
    else if (store->options->tables)
        rows_choose(store, transaction);
    else
        choose_operations(store, transaction);
    if (store->options->level == ISO_SI)
        run_all(store, transaction);
    if (store->options->level == ISO_RC)
        run_operations(store, transaction, 0, first_statement(transaction));
    return transaction;
}

/* ---- what each level makes of it ---- */

/* Called before the transaction's own writes take effect. */
static void judge(struct store *store, const struct transaction *transaction)
{
    struct iso_expectation *si = &store->generated->levels[ISO_SI],
                           *ser = &store->generated->levels[ISO_SER];
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        const struct operation *operation = &transaction->operations[i];
        if (!operation->external)
            continue;
        if (operation->taint != NEVER) {
            ser->reads_unjudged++;
            if (operation->taint < transaction->sts)
                si->reads_unjudged++;
            else
                si->counts[ISO_EXT]++;
            continue;
        }
        bool at_start = store->options->level == ISO_SI ||
                        (store->options->level == ISO_RC && i < first_statement(transaction));
        ser->counts[ISO_EXT] +=
            at_start && store->slots[operation->slot].changed > transaction->sts;
        si->counts[ISO_EXT] += operation->version > transaction->sts;
    }
}

/* ---- committing ---- */

static void append(struct slot *slot, uint64_t value)
{
    assert(value <= UINT32_MAX);
    if (slot->count == slot->capacity) {
        slot->capacity = slot->capacity ? slot->capacity * 2 : 8;
        slot->elements = iso_reallocate(slot->elements, slot->capacity * sizeof *slot->elements);
    }
    slot->elements[slot->count++] = (uint32_t)value;
}

static void apply(struct store *store, const struct transaction *transaction,
                  const struct operation *operation)
{
    struct slot *slot = &store->slots[operation->slot];
    bool list = operation->kind == ISO_APPEND, known = transaction->status == ISO_COMMITTED;
    if (list)
        append(slot, operation->value);
    else
        slot->value = operation->value;
    if (!known)
        slot->taint = list && slot->taint < transaction->sts ? slot->taint : transaction->sts;
    else if (!list)
        slot->taint = NEVER;
    if (known)
        slot->changed = slot->version_cts = transaction->cts;
}

static void move_on(struct store *store, struct slot *slot)
{
    slot->key = store->next_key++;
    slot->count = 0;
    slot->version_cts = 0;
    slot->taint = NEVER;
}

static void let_rows_go(struct store *store, const struct transaction *transaction)
{
    for (uint32_t i = 0; i < transaction->step_count; i++) {
        const struct row_step *step = &transaction->steps[i];
        if (step->kind == STEP_WRITE || step->kind == STEP_DELETE)
            store->slots[row_number(&store->tables, (uint32_t)step->table, step->key)].held = 0;
    }
}

/* Only a commit that is known moves a slot on: whoever read the former key before it then read a
 * stale list.
 */
static void let_go(struct store *store, const struct transaction *transaction)
{
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        struct slot *slot = &store->slots[transaction->operations[i].slot];
        if (slot->held != transaction->tid)
            continue;
        slot->held = 0;
        if (slot->count >= LIST_FULL && transaction->status == ISO_COMMITTED)
            move_on(store, slot);
    }
}

void store_commit(struct store *store, struct transaction *transaction)
{
    struct iso_generated *generated = store->generated;
    if (store->options->level == ISO_SER)
        run_all(store, transaction);
    if (store->options->level == ISO_RC)
        run_operations(store, transaction, first_statement(transaction),
                       transaction->operation_count);
    transaction->cts = store_is_point(store, transaction) ? transaction->sts : ++store->clock;
    transaction->has_cts = transaction->status == ISO_COMMITTED;
    if (store->sites.count)
        replica_commit(store, transaction);
    else if (transaction->status == ISO_COMMITTED)
        judge(store, transaction);
    for (uint32_t i = 0;
         !store->sites.count && transaction->applies && i < transaction->operation_count; i++) {
        if (iso_kind_writes(transaction->operations[i].kind))
            apply(store, transaction, &transaction->operations[i]);
    }
    if (transaction->step_count)
        rows_commit(store, transaction);
    let_rows_go(store, transaction);
    let_go(store, transaction);
    generated->operations += transaction->operation_count + rows_operations(transaction);
    generated->committed += transaction->status == ISO_COMMITTED;
    generated->aborted += transaction->status == ISO_ABORTED;
    generated->unknown += transaction->status == ISO_UNKNOWN;
    outlet_close(&store->outlet, transaction, &store->rng);
}
