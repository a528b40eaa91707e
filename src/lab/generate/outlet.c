/* Transactions on their way out: kept until their turn comes, put into blocks, used again. */
#include <assert.h>

#include "generate/generate_private.h"

enum { BLOCK_TRANSACTIONS = 4096, BAG = 1 << 14 };

void outlet_init(struct outlet *outlet, enum iso_generate_order order, iso_generate_sink *sink,
                 void *context)
{
    *outlet = (struct outlet){.order = order, .sink = sink, .context = context};
    iso_history_init(&outlet->block);
}

void outlet_release(struct outlet *outlet)
{
    for (uint32_t i = 0; i < outlet->spare_count; i++)
        ISO_FREE_ALL(outlet->spare[i]->operations, outlet->spare[i]->steps,
                     outlet->spare[i]->elements, outlet->spare[i]);
    ISO_FREE_ALL(outlet->spare, outlet->waiting);
    iso_history_release(&outlet->block);
}

/* ---- transactions ---- */

struct operation *transaction_add(struct transaction *transaction, uint8_t kind, uint64_t key)
{
    ISO_GROW(transaction->operations, transaction->operation_count,
             transaction->operation_capacity);
    struct operation *operation = &transaction->operations[transaction->operation_count++];
    *operation = (struct operation){.kind = kind, .key = key, .taint = NEVER};
    return operation;
}

struct row_step *transaction_step(struct transaction *transaction, enum row_step_kind kind,
                                  uint64_t table)
{
    ISO_GROW(transaction->steps, transaction->step_count, transaction->step_capacity);
    struct row_step *step = &transaction->steps[transaction->step_count++];
    *step = (struct row_step){.kind = (uint8_t)kind, .table = table};
    return step;
}

void transaction_element(struct transaction *transaction, uint64_t element)
{
    ISO_PUSH(transaction->elements, transaction->element_count, transaction->element_capacity,
             element);
}

/* ---- blocks ---- */

static void hand_over(struct outlet *outlet)
{
    if (outlet->block.txns.count && !outlet->ended)
        outlet->ended = !outlet->sink(outlet->context, &outlet->block);
    iso_history_clear(&outlet->block);
    outlet->block.clock = ISO_CLOCK_SCALAR;
}

static uint32_t value_of(struct iso_history *block, const struct transaction *transaction,
                         const struct operation *operation)
{
    if (operation->kind == ISO_READ_LIST) {
        uint32_t list = iso_history_list(block);
        for (uint32_t i = 0; i < operation->count; i++)
            iso_history_element(
                block,
                iso_atoms_unsigned(&block->atoms, transaction->elements[operation->first + i]));
        return list;
    }
    return operation->value ? iso_atoms_unsigned(&block->atoms, operation->value) : ISO_ABSENT;
}

static void put_into_block(struct outlet *outlet, const struct transaction *transaction)
{
    struct iso_history *block = &outlet->block;
    block->clock = outlet->timeless ? ISO_CLOCK_NONE : ISO_CLOCK_SCALAR;
    iso_history_begin(block, iso_atoms_unsigned(&block->atoms, transaction->tid),
                      iso_atoms_unsigned(&block->atoms, transaction->session), transaction->status,
                      0);
    if (outlet->order == ISO_ORDER_RANDOM)
        iso_history_set_sno(block, transaction->sno);
    if (!outlet->timeless)
        iso_history_set_sts(block, (struct iso_stamp){.physical = transaction->sts});
    if (transaction->has_cts && !outlet->timeless)
        iso_history_set_cts(block, (struct iso_stamp){.physical = transaction->cts});
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        const struct operation *operation = &transaction->operations[i];
        iso_atom key = iso_atoms_unsigned(&block->atoms, operation->key);
        iso_history_operation(block, (enum iso_operation_kind)operation->kind, key,
                              value_of(block, transaction, operation));
    }
    rows_put(block, transaction);
}

static void leave(struct outlet *outlet, struct transaction *transaction)
{
    put_into_block(outlet, transaction);
    if (outlet->block.txns.count == BLOCK_TRANSACTIONS)
        hand_over(outlet);
    ISO_PUSH(outlet->spare, outlet->spare_count, outlet->spare_capacity, transaction);
}

/* ---- the order ---- */

static struct transaction **ring(struct outlet *outlet, uint32_t at)
{
    return &outlet->waiting[(outlet->head + at) & (outlet->capacity - 1)];
}

/* Doubles the ring, its head moved to the front. */
static void grow(struct outlet *outlet)
{
    uint32_t capacity = outlet->capacity ? outlet->capacity * 2 : 64;
    struct transaction **waiting = iso_allocate(capacity * sizeof *waiting);
    for (uint32_t i = 0; i < outlet->count; i++)
        waiting[i] = *ring(outlet, i);
    iso_free(outlet->waiting);
    outlet->waiting = waiting;
    outlet->capacity = capacity;
    outlet->head = 0;
}

static void wait(struct outlet *outlet, struct transaction *transaction)
{
    if (outlet->count == outlet->capacity)
        grow(outlet);
    *ring(outlet, outlet->count++) = transaction;
}

struct transaction *outlet_new(struct outlet *outlet)
{
    struct transaction *transaction = outlet->spare_count
                                          ? outlet->spare[--outlet->spare_count]
                                          : iso_allocate_zeroed(1, sizeof *transaction);
    *transaction = (struct transaction){.operations = transaction->operations,
                                        .operation_capacity = transaction->operation_capacity,
                                        .steps = transaction->steps,
                                        .step_capacity = transaction->step_capacity,
                                        .elements = transaction->elements,
                                        .element_capacity = transaction->element_capacity};
    if (outlet->order == ISO_ORDER_START)
        wait(outlet, transaction);
    return transaction;
}

static void take_from_bag(struct outlet *outlet, struct iso_rng *rng)
{
    struct transaction **chosen = ring(outlet, (uint32_t)iso_rng_below(rng, outlet->count));
    leave(outlet, *chosen);
    *chosen = *ring(outlet, --outlet->count);
}

void outlet_close(struct outlet *outlet, struct transaction *transaction, struct iso_rng *rng)
{
    transaction->closed = true;
    switch (outlet->order) {
    case ISO_ORDER_COMMIT:
        leave(outlet, transaction);
        break;
    case ISO_ORDER_START:
        for (; outlet->count && (*ring(outlet, 0))->closed; outlet->count--, outlet->head++)
            leave(outlet, *ring(outlet, 0));
        break;
    case ISO_ORDER_RANDOM:
        wait(outlet, transaction);
        if (outlet->count == BAG)
            take_from_bag(outlet, rng);
    }
}

void outlet_finish(struct outlet *outlet, struct iso_rng *rng)
{
    while (outlet->order == ISO_ORDER_RANDOM && outlet->count)
        take_from_bag(outlet, rng);
    assert(outlet->count == 0);
    hand_over(outlet);
}
