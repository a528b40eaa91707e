/* At which moments a transaction's reads were right: docs/semantics.md, weaker levels by
 * timestamps. */
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
        return aion_above(aion_moment_of_snapshot(&deferred->snapshot_boundaries,
                                                  deferred->history.ops.ots[read->operation]));
    if (bits && times->point)
        return aion_above(aion_moment_of_snapshot(&deferred->snapshot_boundaries, times->cts));
    return bits ? aion_moment_of_commit(&deferred->snapshot_boundaries, times->cts)
                : aion_above(aion_moment_of_snapshot(&deferred->snapshot_boundaries, times->sts));
}

static void accuse(const struct aion_moments *moments, struct aion_deferred_read *read,
                   uint64_t low, uint64_t high)
{
    const struct aion_snapshot_boundaries *snapshot_boundaries =
        &moments->engine->deferred.snapshot_boundaries;
    read->outcome = AION_DEFERRED_WRONG;
    read->version_query = aion_time_of_moment(snapshot_boundaries, low);
    read->before = snapshot_boundaries->is_on ? aion_time_of_moment(snapshot_boundaries, high)
                   : high == moments->end     ? moments->last
                                              : high - 1;
}

/* No moment was found: is it wrong for sure? */
static void doubt(const struct aion_moments *moments, struct aion_deferred_read *read,
                  const struct aion_query *version_query, bool is_doubtful, uint64_t low,
                  uint64_t high)
{
    uint64_t unsure;
    if (aion_first_unsure(version_query, low, high, &unsure, &read->reason))
        read->outcome = AION_DEFERRED_UNSURE;
    else if (is_doubtful || !moments->is_complete)
        read->outcome = AION_DEFERRED_LOST;
    else
        accuse(moments, read, low, high);
    aion_deferred_soften(moments->engine, read, version_query);
}

/* ---- rc ---- */

/* The moments that a read may have; true: it moves the moment on. */
static bool bounds_of(const struct aion_moments *moments, const struct aion_deferred_read *read,
                      uint64_t *low, uint64_t *high)
{
    uint8_t bits = own_time(moments->engine, read);
    uint64_t own = own_visible_below(moments, read);
    *low = moments->low;
    *high = moments->high;
    if (bits & ISO_OPERATION_OTS)
        *low = own > *low ? own : *low;
    if (bits == ISO_OPERATION_OTS || *high < *low)
        *high = *low;
    if (bits == ISO_OPERATION_LOCK && !moments->member->times.point)
        *low = *high = own + moments->engine->deferred.are_positions;
    return !(bits & ISO_OPERATION_LOCK);
}

void aion_judge_committed(struct aion_moments *moments)
{
    struct aion_deferred_reads *reads = &moments->engine->deferred.reads;
    bool is_doubtful = false;
    for (uint32_t i = 0; i < reads->count; i++) {
        struct aion_deferred_read *read = &reads->list[i];
        struct aion_query version_query;
        uint64_t low, high, found;
        bool moves = bounds_of(moments, read, &low, &high);
        found = low;
        aion_deferred_version_query(moments->engine, moments->member, read, &version_query);
        enum aion_found is = low == high ? aion_right_at(&version_query, low)
                                         : aion_first_right(&version_query, low, high, &found);
        uint64_t unsure;
        if ((is != AION_FOUND || found != low) &&
            aion_first_unsure(&version_query, low, is == AION_FOUND ? found - 1 : high, &unsure,
                              &read->reason)) {
            read->outcome = AION_DEFERRED_UNSURE;
            moments->low = moves ? unsure : moments->low;
        } else if (is == AION_FOUND && moves)
            moments->low = found;
        else if (is == AION_LOST)
            read->outcome = AION_DEFERRED_LOST;
        else if (is == AION_NOT)
            doubt(moments, read, &version_query, is_doubtful, low, high);
        is_doubtful |=
            read->outcome == AION_DEFERRED_LOST ||
            (read->outcome == AION_DEFERRED_UNSURE && read->reason != ISO_UNJUDGED_VERSION_ORDER);
        if (moments->high < moments->low)
            moments->high = moments->low;
        aion_version_query_end(&version_query);
    }
}

/* ---- stale ---- */

/* The latest moment up to `high` that suits the last of the looks and those before it. */
static enum aion_found common_visible_below(const struct aion_query *looks, uint32_t count,
                                            uint64_t high, uint64_t *found)
{
    const struct aion_query *version_query = &looks[count];
    enum aion_found is = aion_last_right(version_query, high, found);
    for (uint32_t i = 0; is == AION_FOUND && i < count; i++) {
        uint64_t suits;
        is = aion_last_right(&looks[i], *found, &suits);
        if (is != AION_FOUND || suits == *found)
            continue;
        is = aion_last_right(version_query, suits, found);
        i = UINT32_MAX; /* from the first one again */
    }
    return is;
}

static void judge_fixed(const struct aion_moments *moments, struct aion_deferred_read *read,
                        const struct aion_query *version_query, bool is_doubtful)
{
    bool is_lock = !(own_time(moments->engine, read) & ISO_OPERATION_OTS);
    uint64_t visible_below =
        own_visible_below(moments, read) +
        (is_lock && !moments->member->times.point && moments->engine->deferred.are_positions);
    enum aion_found is = aion_right_at(version_query, visible_below);
    if (is == AION_LOST)
        read->outcome = AION_DEFERRED_LOST;
    else if (is == AION_NOT)
        doubt(moments, read, version_query, is_doubtful, visible_below, visible_below);
}

void aion_judge_stale(struct aion_moments *moments)
{
    struct aion_deferred_reads *reads = &moments->engine->deferred.reads;
    struct aion_query *looks = iso_allocate(((size_t)reads->count + 1) * sizeof *looks);
    uint64_t start = moments->high;
    uint32_t taken = 0;
    bool is_doubtful = false;
    for (uint32_t i = 0; i < reads->count; i++) {
        struct aion_deferred_read *read = &reads->list[i];
        struct aion_query *version_query = &looks[taken];
        uint64_t found;
        aion_deferred_version_query(moments->engine, moments->member, read, version_query);
        if (own_time(moments->engine, read)) {
            judge_fixed(moments, read, version_query, is_doubtful);
            aion_version_query_end(version_query);
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
            doubt(moments, read, version_query, is_doubtful, moments->low, start);
        is_doubtful |=
            read->outcome == AION_DEFERRED_LOST ||
            (read->outcome == AION_DEFERRED_UNSURE && read->reason != ISO_UNJUDGED_VERSION_ORDER);
        aion_version_query_end(version_query);
    }
    while (taken)
        aion_version_query_end(&looks[--taken]);
    iso_free(looks);
}
