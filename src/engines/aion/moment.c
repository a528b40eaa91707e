/* At which moments a transaction's reads were right: docs/semantics.md, weaker levels by timestamps. */
#include "aion/held.h"

#include "base/memory.h"

static uint8_t own_time(const struct iso_aion *engine, const struct aion_held_read *read)
{
    return engine->held.history.kind[read->operation] & (ISO_OPERATION_OTS | ISO_OPERATION_LOCK);
}

/* The moment of a read that brings it along. */
static uint64_t own_bound(const struct aion_moments *moments, const struct aion_held_read *read)
{
    const struct aion_holding *held = &moments->engine->held;
    const struct aion_times *times = &moments->member->times;
    uint8_t bits = own_time(moments->engine, read);
    if (bits & ISO_OPERATION_OTS)
        return aion_above(aion_moment_of_snapshot(&held->gaps, held->history.ots[read->operation]));
    if (bits && times->point)
        return aion_above(aion_moment_of_snapshot(&held->gaps, times->cts));
    return bits ? aion_moment_of_commit(&held->gaps, times->cts)
                : aion_above(aion_moment_of_snapshot(&held->gaps, times->sts));
}

static void accuse(const struct aion_moments *moments, struct aion_held_read *read, uint64_t low, uint64_t high)
{
    const struct aion_gaps *gaps = &moments->engine->held.gaps;
    read->outcome = AION_HELD_WRONG;
    read->look = aion_time_of_moment(gaps, low);
    read->before = gaps->is_on ? aion_time_of_moment(gaps, high) : high == moments->end ? moments->last : high - 1;
}

/* No moment was found: is it wrong for sure? */
static void doubt(const struct aion_moments *moments, struct aion_held_read *read, const struct aion_asked *look,
                  bool is_doubtful, uint64_t low, uint64_t high)
{
    uint64_t unsure;
    if (aion_first_unsure(look, low, high, &unsure, &read->reason))
        read->outcome = AION_HELD_UNSURE;
    else if (is_doubtful || !moments->is_complete)
        read->outcome = AION_HELD_LOST;
    else
        accuse(moments, read, low, high);
    aion_held_soften(moments->engine, read, look);
}

/* ---- rc ---- */

/* The moments that a read may have; true: it moves the moment on. */
static bool bounds_of(const struct aion_moments *moments, const struct aion_held_read *read, uint64_t *low,
                      uint64_t *high)
{
    uint8_t bits = own_time(moments->engine, read);
    uint64_t own = own_bound(moments, read);
    *low = moments->low;
    *high = moments->high;
    if (bits & ISO_OPERATION_OTS)
        *low = own > *low ? own : *low;
    if (bits == ISO_OPERATION_OTS || *high < *low)
        *high = *low;
    if (bits == ISO_OPERATION_LOCK && !moments->member->times.point)
        *low = *high = own + moments->engine->held.are_positions;
    return !(bits & ISO_OPERATION_LOCK);
}

void aion_judge_committed(struct aion_moments *moments)
{
    struct aion_held_reads *reads = &moments->engine->held.reads;
    bool is_doubtful = false;
    for (uint32_t i = 0; i < reads->count; i++) {
        struct aion_held_read *read = &reads->list[i];
        struct aion_asked look;
        uint64_t low, high, found;
        bool moves = bounds_of(moments, read, &low, &high);
        found = low;
        aion_held_look(moments->engine, moments->member, read, &look);
        enum aion_found is = low == high ? aion_right_at(&look, low) : aion_first_right(&look, low, high, &found);
        uint64_t unsure;
        if ((is != AION_FOUND || found != low) &&
            aion_first_unsure(&look, low, is == AION_FOUND ? found - 1 : high, &unsure, &read->reason)) {
            read->outcome = AION_HELD_UNSURE;
            moments->low = moves ? unsure : moments->low;
        } else if (is == AION_FOUND && moves)
            moments->low = found;
        else if (is == AION_LOST)
            read->outcome = AION_HELD_LOST;
        else if (is == AION_NOT)
            doubt(moments, read, &look, is_doubtful, low, high);
        is_doubtful |= read->outcome == AION_HELD_LOST ||
                       (read->outcome == AION_HELD_UNSURE && read->reason != ISO_UNJUDGED_VERSION_ORDER);
        if (moments->high < moments->low)
            moments->high = moments->low;
        aion_look_end(&look);
    }
}

/* ---- stale ---- */

/* The latest moment up to `high` that suits the last of the looks and those before it. */
static enum aion_found common_bound(const struct aion_asked *looks, uint32_t count, uint64_t high, uint64_t *found)
{
    const struct aion_asked *look = &looks[count];
    enum aion_found is = aion_last_right(look, high, found);
    for (uint32_t i = 0; is == AION_FOUND && i < count; i++) {
        uint64_t suits;
        is = aion_last_right(&looks[i], *found, &suits);
        if (is != AION_FOUND || suits == *found)
            continue;
        is = aion_last_right(look, suits, found);
        i = UINT32_MAX; /* from the first one again */
    }
    return is;
}

static void judge_fixed(const struct aion_moments *moments, struct aion_held_read *read, const struct aion_asked *look,
                        bool is_doubtful)
{
    bool is_lock = !(own_time(moments->engine, read) & ISO_OPERATION_OTS);
    uint64_t bound =
        own_bound(moments, read) + (is_lock && !moments->member->times.point && moments->engine->held.are_positions);
    enum aion_found is = aion_right_at(look, bound);
    if (is == AION_LOST)
        read->outcome = AION_HELD_LOST;
    else if (is == AION_NOT)
        doubt(moments, read, look, is_doubtful, bound, bound);
}

void aion_judge_stale(struct aion_moments *moments)
{
    struct aion_held_reads *reads = &moments->engine->held.reads;
    struct aion_asked *looks = iso_allocate(((size_t)reads->count + 1) * sizeof *looks);
    uint64_t start = moments->high;
    uint32_t taken = 0;
    bool is_doubtful = false;
    for (uint32_t i = 0; i < reads->count; i++) {
        struct aion_held_read *read = &reads->list[i];
        struct aion_asked *look = &looks[taken];
        uint64_t found;
        aion_held_look(moments->engine, moments->member, read, look);
        if (own_time(moments->engine, read)) {
            judge_fixed(moments, read, look, is_doubtful);
            aion_look_end(look);
            continue;
        }
        enum aion_found is = common_bound(looks, taken, moments->low, &found);
        if (is == AION_FOUND) {
            moments->low = found;
            taken++;
            continue;
        }
        if (is == AION_LOST)
            read->outcome = AION_HELD_LOST;
        else
            doubt(moments, read, look, is_doubtful, moments->low, start);
        is_doubtful |= read->outcome == AION_HELD_LOST ||
                       (read->outcome == AION_HELD_UNSURE && read->reason != ISO_UNJUDGED_VERSION_ORDER);
        aion_look_end(look);
    }
    while (taken)
        aion_look_end(&looks[--taken]);
    iso_free(looks);
}
