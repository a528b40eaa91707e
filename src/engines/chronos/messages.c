/* What clients and server said to each other bounds what a statement may have seen: of each key at
 * least the last version whose commit was answered before the statement was sent, and none whose
 * commit was sent after it was answered. Between them any moment will do.
 *
 * It is asked key by key: versions of one key are in the order of their commits, those of several
 * keys become visible in one that nobody knows.
 */
#include "chronos/version_index.h"

#include "base/memory.h"
#include "base/sorted.h"

/* The answer of a later version says that this one is visible, too, and the sending of an earlier
 * one that this one is not yet. */
void chronos_messages_add(struct chronos_index *index)
{
    const struct iso_history *history = index->check->history;
    const struct iso_history_messages *messages = history->messages;
    uint32_t count = index->first[history->keys.count];
    if (!messages)
        return;
    index->visible_by = iso_allocate(((size_t)count + 1) * sizeof *index->visible_by);
    index->hidden_until = iso_allocate(((size_t)count + 1) * sizeof *index->hidden_until);
    for (uint32_t key = 0; key < history->keys.count; key++) {
        uint64_t answered = UINT64_MAX, sent = 0;
        ISO_EACH(i, index->first, key) {
            uint64_t own = messages->commit_sent[index->versions[i].writer];
            index->hidden_until[i] = sent = own > sent ? own : sent;
        }
        for (uint32_t i = index->first[key + 1]; i-- > index->first[key];) {
            uint64_t own = messages->commit_answered[index->versions[i].writer];
            index->visible_by[i] = answered = own && own < answered ? own : answered;
        }
    }
}

/* Of the key's versions it sees the one before `seen` at least, and none from `hidden` on. False:
 * nobody knows when the messages went. */
static bool find_bounds(const struct chronos_index *index, const struct chronos_look *look,
                        uint32_t operation, uint32_t *seen, uint32_t *hidden)
{
    const struct iso_history_messages *messages = index->check->history->messages;
    uint32_t end = index->first[look->key + 1], high = end;
    uint64_t sent = messages ? messages->sent[operation] : 0;
    if (!sent)
        return false;
    *seen = *hidden = index->first[look->key];
    ISO_BISECT(*seen, high, middle, index->visible_by[middle] < sent);
    high = end;
    ISO_BISECT(*hidden, high, middle, index->hidden_until[middle] <= messages->answered[operation]);
    return true;
}

enum chronos_sight chronos_messages_allow(const struct chronos_index *index,
                                          const struct chronos_look *look, uint32_t operation,
                                          uint32_t *expected, uint32_t *last, uint32_t *unclear)
{
    uint32_t first = index->first[look->key], seen, hidden;
    if (!find_bounds(index, look, operation, &seen, &hidden) || hidden < seen)
        return CHRONOS_SEEN;
    *expected = seen > first ? seen - 1 : ISO_NONE;
    *last = hidden > first ? hidden - 1 : ISO_NONE;
    return chronos_may_see(index, look, *expected, hidden, unclear);
}

bool chronos_messages_exclude(const struct chronos_index *index, const struct chronos_look *look,
                              uint32_t operation, uint32_t version)
{
    uint32_t seen, hidden;
    if (!find_bounds(index, look, operation, &seen, &hidden))
        return false;
    return version == ISO_NONE ? seen > index->first[look->key]
                               : version + 1 < seen || version >= hidden;
}
