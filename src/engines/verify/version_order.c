/* The order of versions, where it is that of commit timestamps. */
#include <assert.h>

#include "verify/verify_private.h"

static bool has_cts(const struct iso_history *history, uint32_t t)
{
    return iso_status_of(history, t) == ISO_COMMITTED && (history->txns.flags[t] & ISO_HAS_CTS);
}

bool versions_order(const struct iso_history *history, const struct iso_literal *literal)
{
    uint32_t value;
    return literal->kind == ISO_LITERAL_ORDER && literal->a < history->txns.count &&
           literal->b < history->txns.count && has_cts(history, literal->a) &&
           has_cts(history, literal->b) &&
           verify_final_write(history, literal->a, literal->key, &value) &&
           verify_final_write(history, literal->b, literal->key, &value) &&
           history->txns.cts[literal->a] < history->txns.cts[literal->b];
}

/* The timestamp up to which a read sees what was committed; false: it does not say. */
static bool looks_until(const struct iso_history *history, uint32_t reader, uint32_t operation,
                        uint64_t *until)
{
    assert(operation < history->ops.count);
    uint8_t kind = history->ops.kind[operation], flags = history->txns.flags[reader];
    if (kind & ISO_OPERATION_OTS) {
        *until = history->ops.ots[operation];
        return true;
    }
    if (!(kind & ISO_OPERATION_LOCK)) {
        *until = flags & ISO_HAS_STS ? history->txns.sts[reader] : 0;
        return flags & ISO_HAS_STS;
    }
    bool below = !(flags & ISO_POINT); /* just below its own commit */
    *until = flags & ISO_HAS_CTS ? history->txns.cts[reader] : 0;
    if (!(flags & ISO_HAS_CTS) || (below && !*until))
        return false;
    *until -= below;
    return true;
}

bool versions_seen(const struct finals *finals, uint32_t reader, uint32_t operation,
                   uint32_t *writer)
{
    assert(operation < finals->history->ops.count);
    const struct iso_history *history = finals->history;
    uint32_t key = history->ops.key[operation], end;
    uint64_t until;
    bool twice = false;
    *writer = ISO_NONE;
    if (iso_kind_of(history, operation) != ISO_READ ||
        !looks_until(history, reader, operation, &until))
        return false;
    for (uint32_t i = finals_of_key(finals, key, &end); i < end; i++) {
        uint32_t t = finals->items[i].transaction;
        if (t == reader || t == *writer || !has_cts(history, t) || history->txns.cts[t] > until ||
            (*writer != ISO_NONE && history->txns.cts[t] < history->txns.cts[*writer]))
            continue;
        twice = *writer != ISO_NONE && history->txns.cts[t] == history->txns.cts[*writer];
        *writer = t;
    }
    uint32_t value = finals->initial_value[key];
    if (*writer != ISO_NONE)
        verify_final_write(history, *writer, key, &value);
    return !twice && value == history->ops.value[operation];
}
