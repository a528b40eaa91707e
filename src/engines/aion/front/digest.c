/* Digests: of a transaction's content, to tell a repeat from a contradiction; of an event, as its
 * stable name. */
#include "aion/state_private.h"

static inline uint64_t value_digest(const struct iso_history *history, iso_atom atom)
{
    return aion_value_is_entry(atom) ? aion_atom_digest(&history->atoms, atom) : atom;
}

/* An operation that is more than a read or write of a small value. */
uint64_t aion_content_other(const struct iso_history *history, uint64_t digest, uint64_t key,
                            uint32_t operation)
{
    uint8_t kind = history->ops.kind[operation];
    uint32_t value = history->ops.value[operation];
    digest = aion_fold(digest, key + kind);
    if (kind & ISO_OPERATION_OTS)
        digest = aion_fold(digest, history->ops.ots[operation]);
    if ((kind & ISO_KIND_MASK) != ISO_READ_LIST)
        return aion_fold(digest, value_digest(history, value));
    digest = aion_fold(digest, history->lists.first[value + 1] - history->lists.first[value]);
    for (uint64_t i = history->lists.first[value]; i < history->lists.first[value + 1]; i++)
        digest = aion_fold(digest, value_digest(history, history->lists.element[i]));
    return digest;
}

uint64_t aion_tid_digest(const struct iso_history *history, uint32_t t)
{
    uint64_t digest = aion_atom_digest(&history->atoms, history->txns.tid[t]);
    return digest ? digest : 1;
}

/* The digest of all that stands before the operations. */
uint64_t aion_content_start(struct aion_key_cache *cache, uint32_t t)
{
    const struct iso_history *history = cache->history;
    uint8_t flags = history->txns.flags[t];
    uint64_t digest =
        aion_fold(flags & (ISO_STATUS_MASK | ISO_HAS_STS | ISO_HAS_CTS | ISO_HAS_SNO), 1);
    if (history->txns.session[t] != ISO_NONE)
        digest = aion_fold(digest, aion_cached_session_digest(cache, history->txns.session[t]));
    if (flags & ISO_HAS_SNO)
        digest = aion_fold(digest, history->txns.sno[t]);
    if (flags & ISO_HAS_STS)
        digest = aion_fold(digest, history->txns.sts[t]);
    if (flags & ISO_HAS_CTS)
        digest = aion_fold(digest, history->txns.cts[t]);
    return digest;
}

/* SESSION and TIMESTAMP stand once a transaction, the others once a transaction (NOCONFLICT: pair)
 * and key.
 */
uint64_t iso_aion_event_id(const struct iso_aion_event *event)
{
    uint64_t digest = aion_fold((uint64_t)event->level << 8 | event->axiom, 0x15075);
    digest = aion_fold(digest, aion_atom_digest(event->transaction.atoms, event->transaction.tid));
    if (event->axiom == ISO_NOCONFLICT)
        digest = aion_fold(digest, aion_atom_digest(event->other.atoms, event->other.tid));
    if (event->key != ISO_ABSENT)
        digest = aion_fold(digest, aion_atom_digest(event->key_atoms, event->key));
    return aion_mix(digest);
}
