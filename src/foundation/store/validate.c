/* Whether a store is what its files take it for: run in builds that validate (ISO_VALIDATE), after
 * each step. */
#include <assert.h>

#include "store/store_private.h"

#ifdef ISO_VALIDATE

/* A snapshot is under way from the fork on until its name is on the device: it ends the journal
 * before the one at hand. */
static void validate_snapshot(const struct iso_store *store)
{
    assert((store->progress == ISO_STORE_WRITING) == (store->child > 0));
    if (store->progress == ISO_STORE_IDLE)
        return;
    assert(store->base && store->base < store->pending && store->pending == store->generation);
}

/* The journal that is read and the one that is appended to follow each other; no journal is both.
 */
static void validate_journals(const struct iso_store *store)
{
    assert(store->out < 0 || !store->in.bytes);
    assert(store->in.at <= store->in.size);
    assert(store->out < 0 || (store->generation && store->generation >= store->base));
    assert(store->out >= 0 || store->progress == ISO_STORE_IDLE);
    assert(!store->at_end || store->out >= 0 || store->read_generation >= store->base);
}

void store_validate(const struct iso_store *store)
{
    assert(store->directory >= 0);
    validate_snapshot(store);
    validate_journals(store);
}
#endif
