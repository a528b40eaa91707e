/* At which moments a transaction's reads were right: docs/semantics.md, weaker levels by
 * timestamps. */
#include <assert.h>

#include "aion/levels/deferred.h"

#include "base/memory.h"

static uint8_t own_time(const struct iso_aion *engine, const struct aion_deferred_read *read)
{
    return engine->deferred.history.ops.kind[read->operation] &
           (ISO_OPERATION_OTS | ISO_OPERATION_LOCK);
}

/* The moment of a read that brings it along. */
static uint64_t own_visible_below(const struct aion_moments *moments,
                                  const struct aion_deferred_read *read)
{
    const struct aion_holding *deferred = &moments->engine->deferred;
    const struct aion_times *times = &moments->member->times;
    uint8_t bits = own_time(moments->engine, read);
    if (bits & ISO_OPERATION_OTS)
        return aion_above(iso_boundaries_snapshot(&deferred->boundaries,
                                                  deferred->history.ops.ots[read->operation]));
    if (bits && times->point)
        return aion_above(iso_boundaries_snapshot(&deferred->boundaries, times->cts));
    return bits ? iso_boundaries_commit(&deferred->boundaries, times->cts)
                : aion_above(iso_boundaries_snapshot(&deferred->boundaries, times->sts));
}

static void accuse(const struct aion_moments *moments, struct aion_deferred_read *read,
                   uint64_t low, uint64_t high)
{
    const struct iso_boundaries *boundaries = &moments->engine->deferred.boundaries;
    read->outcome = AION_DEFERRED_WRONG;
    read->moment = aion_time_of_moment(boundaries, low);
    read->before = boundaries->is_on      ? aion_time_of_moment(boundaries, high)
                   : high == moments->end ? moments->last
                                          : high - 1;
}

/* No moment was found: is it wrong for sure? */
static void doubt(const struct aion_moments *moments, struct aion_deferred_read *read,
                  const struct aion_query *query, bool is_doubtful, uint64_t low, uint64_t high)
{
    uint64_t unsure;
    if (aion_first_unsure(query, low, high, &unsure, &read->reason))
        read->outcome = AION_DEFERRED_UNSURE;
    else if (is_doubtful || !moments->is_complete)
        read->outcome = AION_DEFERRED_LOST;
    else
        accuse(moments, read, low, high);
    aion_deferred_soften(moments->engine, read, query);
}

/* ---- rc ---- */

void aion_judge_committed(struct aion_moments *moments)
{
    assert(moments->engine->options.level == ISO_RC && moments->low <= moments->high);
    struct aion_deferred_reads *reads = &moments->engine->deferred.reads;
    bool is_doubtful = false;
    for (uint32_t i = 0; i < reads->count; i++) {
        struct aion_deferred_read *read = &reads->list[i];
        struct aion_query query;
        uint64_t low, high, found;
        low = moments->low;
        high = moments->high;
        bool moves = iso_read_moments(
            own_time(moments->engine, read), own_visible_below(moments, read),
            moments->member->times.point, moments->engine->deferred.are_positions, &low, &high);
        found = low;
        aion_deferred_query(moments->engine, moments->member, read, &query);
        enum aion_found is =
            low == high ? aion_right_at(&query, low) : aion_first_right(&query, low, high, &found);
        uint64_t unsure;
        if ((is != AION_FOUND || found != low) &&
            aion_first_unsure(&query, low, is == AION_FOUND ? found - 1 : high, &unsure,
                              &read->reason)) {
            read->outcome = AION_DEFERRED_UNSURE;
            moments->low = moves ? unsure : moments->low;
        } else if (is == AION_FOUND && moves)
            moments->low = found;
        else if (is == AION_LOST)
            read->outcome = AION_DEFERRED_LOST;
        else if (is == AION_NOT)
            doubt(moments, read, &query, is_doubtful, low, high);
        is_doubtful |=
            read->outcome == AION_DEFERRED_LOST ||
            (read->outcome == AION_DEFERRED_UNSURE && read->reason != ISO_UNJUDGED_VERSION_ORDER);
        if (moments->high < moments->low)
            moments->high = moments->low;
        aion_query_end(&query);
    }
}

/* ---- stale ---- */

/* The latest moment up to `high` that suits the last of the looks and those before it. */
static enum aion_found common_visible_below(const struct aion_query *looks, uint32_t count,
                                            uint64_t high, uint64_t *found)
{
    const struct aion_query *query = &looks[count];
    enum aion_found is = aion_last_right(query, high, found);
    for (uint32_t i = 0; is == AION_FOUND && i < count; i++) {
        uint64_t suits;
        is = aion_last_right(&looks[i], *found, &suits);
        if (is != AION_FOUND || suits == *found)
            continue;
        is = aion_last_right(query, suits, found);
        i = UINT32_MAX; /* from the first one again */
    }
    return is;
}

static void judge_fixed(const struct aion_moments *moments, struct aion_deferred_read *read,
                        const struct aion_query *query, bool is_doubtful)
{
    bool is_lock = !(own_time(moments->engine, read) & ISO_OPERATION_OTS);
    uint64_t visible_below =
        own_visible_below(moments, read) +
        (is_lock && !moments->member->times.point && moments->engine->deferred.are_positions);
    enum aion_found is = aion_right_at(query, visible_below);
    if (is == AION_LOST)
        read->outcome = AION_DEFERRED_LOST;
    else if (is == AION_NOT)
        doubt(moments, read, query, is_doubtful, visible_below, visible_below);
}

void aion_judge_stale(struct aion_moments *moments)
{
    assert(moments->engine->options.level == ISO_STALE_READS && moments->low == moments->high);
    struct aion_deferred_reads *reads = &moments->engine->deferred.reads;
    struct aion_query *looks = iso_allocate(((size_t)reads->count + 1) * sizeof *looks);
    uint64_t start = moments->high;
    uint32_t taken = 0;
    bool is_doubtful = false;
    for (uint32_t i = 0; i < reads->count; i++) {
        struct aion_deferred_read *read = &reads->list[i];
        struct aion_query *query = &looks[taken];
        uint64_t found;
        aion_deferred_query(moments->engine, moments->member, read, query);
        if (own_time(moments->engine, read)) {
            judge_fixed(moments, read, query, is_doubtful);
            aion_query_end(query);
            continue;
        }
        enum aion_found is = common_visible_below(looks, taken, moments->low, &found);
        if (is == AION_FOUND) {
            moments->low = found;
            taken++;
            continue;
        }
        if (is == AION_LOST)
            read->outcome = AION_DEFERRED_LOST;
        else
            doubt(moments, read, query, is_doubtful, moments->low, start);
        is_doubtful |=
            read->outcome == AION_DEFERRED_LOST ||
            (read->outcome == AION_DEFERRED_UNSURE && read->reason != ISO_UNJUDGED_VERSION_ORDER);
        aion_query_end(query);
    }
    while (taken)
        aion_query_end(&looks[--taken]);
    iso_free(looks);
}
