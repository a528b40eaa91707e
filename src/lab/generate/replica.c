/* Transactions of a replicated store: they read at their session's site, and write there first.
 */
#include "generate/generate_private.h"

static uint32_t site_of(const struct store *store, const struct transaction *transaction)
{
    return transaction->session % store->sites.count;
}

/* A key that the transaction may write. Without locks all may be. */
static bool choose_written(struct store *store, const struct transaction *transaction,
                           uint32_t *chosen)
{
    for (int i = 0; store->sites.locks && i < STORE_TRIES; i++) {
        if (!store_choose_written(store, transaction->tid, chosen))
            return false;
        if (sites_may_write(&store->sites, site_of(store, transaction), *chosen))
            return true;
        /* and it was not held before: who has written it has its newest version */
        store->slots[*chosen].held = 0;
    }
    *chosen = iso_draw_key(&store->draw, &store->rng);
    return !store->sites.locks;
}

void replica_begin(struct store *store, struct transaction *transaction)
{
    const struct iso_generate_options *options = store->options;
    for (uint32_t i = 0; i < options->operations; i++) {
        uint32_t at;
        bool reads = iso_rng_chance(&store->rng, options->read_share) ||
                     !choose_written(store, transaction, &at);
        if (reads)
            at = iso_draw_key(&store->draw, &store->rng);
        struct slot *slot = &store->slots[at];
        struct operation *operation =
            transaction_add(transaction, reads ? ISO_READ : ISO_WRITE, slot->key);
        if (slot->seen != transaction->tid)
            slot->current = sites_version(&store->sites, site_of(store, transaction), at)->value;
        slot->seen = transaction->tid;
        if (!reads)
            slot->current = store->next_value++;
        operation->slot = at;
        operation->value = slot->current;
    }
}

static bool is_final(const struct transaction *transaction, uint32_t at)
{
    for (uint32_t i = at + 1; i < transaction->operation_count; i++) {
        if (transaction->operations[i].kind == ISO_WRITE &&
            transaction->operations[i].slot == transaction->operations[at].slot)
            return false;
    }
    return true;
}

void replica_commit(struct store *store, const struct transaction *transaction)
{
    struct site_write *writes = NULL;
    uint32_t count = 0, capacity = 0;
    for (uint32_t i = 0; transaction->applies && i < transaction->operation_count; i++) {
        const struct operation *operation = &transaction->operations[i];
        if (operation->kind != ISO_WRITE || !is_final(transaction, i))
            continue;
        ISO_PUSH(writes, count, capacity, (struct site_write){operation->slot, operation->value});
    }
    if (count)
        sites_commit(&store->sites, site_of(store, transaction), writes, count);
}
