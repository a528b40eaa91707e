/* Versions: their place, the writers they overlap, the reads they change. And writes that are no version. */
#include "aion/shard_private.h"

/* Order of versions at one cts: by when the writer took the key, then by tid. */
static bool stands_before(const struct iso_aion_shard *shard, const struct aion_entry *left,
                          const struct aion_entry *right)
{
    if (left->hold != right->hold)
        return left->hold < right->hold;
    return iso_atom_compare(&shard->values.atoms, shard->transactions[left->transaction].tid,
                            shard->transactions[right->transaction].tid) < 0;
}

static struct aion_place place_of(const struct iso_aion_shard *shard, const struct aion_key *key,
                                  const struct aion_entry *version)
{
    if (!key->versions.count || key->newest_time < version->time)
        return aion_run_end(&shard->pool, &key->versions);
    struct aion_place place = aion_run_lower(&shard->pool, &key->versions, version->time);
    for (;; aion_run_next(&shard->pool, &key->versions, &place)) {
        const struct aion_entry *other = aion_run_get(&shard->pool, &key->versions, place);
        if (!other || other->time != version->time || stands_before(shard, version, other))
            return place;
    }
}

/* ---- NOCONFLICT ---- */

static void meet(struct iso_aion_shard *shard, struct aion_key *key, const struct aion_entry *one,
                 const struct aion_entry *other)
{
    if ((other->detail & AION_VERSION_UNJUDGED) || other->time < one->hold || one->time < other->hold)
        return;
    bool later = one->time != other->time ? one->time > other->time : stands_before(shard, other, one);
    struct aion_finding *finding = aion_finding_new(shard, AION_FOUND_CONFLICT, (uint32_t)(key - shard->keys));
    finding->state = ISO_AION_FINAL;
    finding->operation = later ? one->operation : other->operation;
    finding->transaction = aion_party_of(shard, later ? one->transaction : other->transaction);
    finding->other = aion_party_of(shard, later ? other->transaction : one->transaction);
    shard->stats.counts[ISO_NOCONFLICT]++;
}

/* The writers whose intervals overlap that of a version about to stand at `place`: before it those that
 * committed after it took the key; after it those that took the key before it committed, no further away than
 * the longest interval of the key. */
static void meet_writers(struct iso_aion_shard *shard, struct aion_key *key, const struct aion_entry *version,
                         struct aion_place place)
{
    struct aion_place at = place;
    const struct aion_entry *other;
    if (!key->versions.count || key->newest_time < version->hold)
        return; /* all were there before: the newest's time stands in the key, no entry is touched */
    for (;;) {
        if (!aion_run_before(&shard->pool, &key->versions, &at)) {
            shard->stats.writes_undecided += (key->flags & AION_KEY_DROPPED) != 0;
            break;
        }
        other = aion_run_get(&shard->pool, &key->versions, at);
        if (other->time < version->hold)
            break;
        meet(shard, key, version, other);
    }
    if (key->newest_time < version->time)
        return;
    uint64_t last = version->time + key->span < version->time ? UINT64_MAX : version->time + key->span;
    for (at = place;; aion_run_next(&shard->pool, &key->versions, &at)) {
        aion_run_skip(&shard->pool, &key->versions, &at, aion_above(version->time));
        other = aion_run_get(&shard->pool, &key->versions, at);
        if (!other || other->time > last)
            return;
        meet(shard, key, version, other);
    }
}

/* ---- SER: transactions that share a cts ---- */

static bool reader_shares(const struct iso_aion_shard *shard, const struct aion_key *key,
                          const struct aion_entry *version)
{
    if (key->last_read < version->time || version->time < shard->readers_passed || !key->reads.count)
        return false;
    struct aion_place place = aion_run_lower(&shard->pool, &key->reads, version->time);
    for (;; aion_run_next(&shard->pool, &key->reads, &place)) {
        const struct aion_entry *read = aion_run_get(&shard->pool, &key->reads, place);
        if (!read || read->time != version->time)
            return false;
        const struct aion_transaction *reader = &shard->transactions[read->transaction];
        if (read->transaction != version->transaction && reader->cts == version->time && !(reader->flags & ISO_POINT))
            return true;
    }
}

static void note_ties(struct iso_aion_shard *shard, const struct aion_key *key, const struct aion_entry *version,
                      struct aion_place place)
{
    struct aion_place before = place;
    const struct aion_entry *next = aion_run_get(&shard->pool, &key->versions, place), *previous = NULL;
    if (key->versions.count && aion_run_before(&shard->pool, &key->versions, &before))
        previous = aion_run_get(&shard->pool, &key->versions, before);
    if ((next && next->time == version->time) || (previous && previous->time == version->time) ||
        reader_shares(shard, key, version))
        aion_tie_note(shard, key, version->time);
}

/* ---- versions ---- */

static bool is_dropped_ground(const struct aion_key *key, struct aion_place place)
{
    return (key->flags & AION_KEY_DROPPED) && !place.chunk && !place.index;
}

static struct aion_entry version_of(struct iso_aion_shard *shard, const struct aion_batch *batch,
                                    const struct aion_part *part, const struct aion_step *step, uint32_t transaction)
{
    const struct aion_detail *detail = step->detail ? &batch->details[step->detail - 1] : NULL;
    struct aion_entry version = {.time = part->cts,
                                 .hold = detail ? detail->time : part->opened,
                                 .transaction = aion_transaction_hold(shard, transaction),
                                 .detail = step->flags & AION_UNJUDGED ? AION_VERSION_UNJUDGED : 0,
                                 .operation = step->operation};
    if (step->kind == AION_VERSION)
        version.value = aion_values_take(&shard->values, batch->atoms, step->value);
    else
        version.value = aion_list_new(shard, batch->atoms, batch->elements + step->value, detail->count, 0);
    return version;
}

/* The short way of nearly every version: newer than all versions and reads of its key, it overlaps none of
 * them, and there is room. False: nothing was done. */
static inline bool append_version(struct iso_aion_shard *shard, const struct aion_part *part,
                                  const struct aion_step *step, struct aion_key *key, uint32_t transaction)
{
    uint64_t time = part->cts;
    bool overlaps = shard->level == ISO_SI && key->newest_time >= part->opened;
    if (step->kind != AION_VERSION || step->detail || aion_value_is_entry(step->value) || overlaps ||
        !key->versions.count || key->newest_time >= time || key->last_read >= time)
        return false;
    struct aion_entry *entry = aion_run_append(&shard->pool, &key->versions, part->opened);
    if (!entry)
        return false;
    *entry = (struct aion_entry){.time = time,
                                 .hold = part->opened,
                                 .value = step->value,
                                 .transaction = aion_transaction_hold(shard, transaction),
                                 .operation = step->operation};
    if (time > part->opened && time - part->opened > key->span)
        key->span = time - part->opened;
    key->newest_time = time;
    key->newest_value = step->value;
    shard->stats.versions++;
    return true;
}

/* The way of most late versions: among the last of its key, and it overlaps none of them. False: nothing was
 * done. */
static inline bool insert_near(struct iso_aion_shard *shard, const struct aion_part *part, const struct aion_step *step,
                               struct aion_key *key, uint32_t transaction)
{
    struct aion_near near, ties;
    if (step->kind != AION_VERSION || step->detail || aion_value_is_entry(step->value) || aion_key_is_list(key) ||
        !key->versions.count || !aion_run_near(&shard->pool, &key->versions, part->cts, &near) || !near.has_room ||
        !near.index)
        return false;
    bool met = shard->level == ISO_SI && near.entries[near.index - 1].time >= part->opened;
    for (uint32_t i = near.index; i < near.count; i++)
        met |= near.entries[i].time == part->cts || (shard->level == ISO_SI && near.entries[i].hold <= part->cts);
    if (met)
        return false;
    if (shard->level == ISO_SER && key->last_read >= part->cts && key->reads.count &&
        (!aion_run_near(&shard->pool, &key->reads, part->cts, &ties) ||
         (ties.index < ties.count && ties.entries[ties.index].time == part->cts)))
        return false;
    struct aion_entry version = {.time = part->cts,
                                 .hold = part->opened,
                                 .value = step->value,
                                 .transaction = aion_transaction_hold(shard, transaction),
                                 .operation = step->operation};
    aion_run_put_near(&shard->pool, &key->versions, &near, &version);
    shard->stats.versions++;
    if (part->cts > part->opened && part->cts - part->opened > key->span)
        key->span = part->cts - part->opened;
    bool last = near.index == near.count;
    if (last) {
        key->newest_time = part->cts;
        key->newest_value = step->value;
    }
    aion_recheck_version(shard, key, &version, last ? UINT64_MAX : near.entries[near.index + 1].time);
    return true;
}

__attribute__((noinline)) static void insert_version(struct iso_aion_shard *shard, const struct aion_batch *batch,
                                                     const struct aion_part *part, const struct aion_step *step,
                                                     uint32_t transaction)
{
    struct aion_key *key = &shard->keys[step->key];
    if (insert_near(shard, part, step, key, transaction))
        return;
    struct aion_entry version = version_of(shard, batch, part, step, transaction);
    if (aion_run_full(&shard->pool, &key->versions))
        aion_trim(shard, key);
    struct aion_place place = place_of(shard, key, &version);
    if (shard->level == ISO_SI && !(version.detail & AION_VERSION_UNJUDGED))
        meet_writers(shard, key, &version, place);
    if (shard->level == ISO_SER)
        note_ties(shard, key, &version, place);
    if (is_dropped_ground(key, place)) {
        aion_value_drop(shard, key, version.value);
        aion_transaction_drop(shard, transaction);
        return;
    }
    place = aion_run_insert(&shard->pool, &key->versions, place, &version);
    shard->stats.versions++;
    if (version.time > version.hold && version.time - version.hold > key->span)
        key->span = version.time - version.hold;
    aion_run_next(&shard->pool, &key->versions, &place);
    const struct aion_entry *successor = aion_run_get(&shard->pool, &key->versions, place);
    if (!successor) {
        key->newest_time = version.time;
        key->newest_value = version.value;
    }
    aion_recheck_version(shard, key, &version, successor ? successor->time : UINT64_MAX);
}

void aion_version(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part,
                  const struct aion_step *step, uint32_t transaction)
{
    if (!append_version(shard, part, step, &shard->keys[step->key], transaction))
        insert_version(shard, batch, part, step, transaction);
}

/* ---- writes that are no version ---- */

static enum aion_spare spare_of(const struct aion_step *step, uint8_t status)
{
    if (status == ISO_ABORTED)
        return AION_SPARE_ABORTED;
    if (status == ISO_COMMITTED)
        return AION_SPARE_INTERMEDIATE;
    return step->flags & AION_FINAL_VALUE ? AION_SPARE_UNKNOWN_FINAL : AION_SPARE_UNKNOWN;
}

void aion_spare(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_step *step,
                uint32_t number)
{
    struct aion_key *key = &shard->keys[step->key];
    struct aion_run *spares = &aion_rare_of(shard, key)->spares;
    const struct aion_transaction *transaction = &shard->transactions[number];
    uint8_t status = transaction->flags & ISO_STATUS_MASK;
    bool has_sts = transaction->flags & ISO_HAS_STS;
    struct aion_entry spare = {.hold = has_sts ? transaction->sts + 1 : 0,
                               .detail = spare_of(step, status),
                               .value = aion_values_take(&shard->values, batch->atoms, step->value),
                               .transaction = aion_transaction_hold(shard, number),
                               .operation = step->operation};
    if (status == ISO_UNKNOWN)
        spare.time = aion_unknown_time(spare.value);
    else if (status == ISO_COMMITTED)
        spare.time = transaction->cts;
    else
        spare.time = has_sts ? transaction->sts : shard->passed;
    if (status != ISO_UNKNOWN && spare.time >= aion_unknown_time(0))
        spare.time = aion_unknown_time(0) - 1;
    if (aion_run_full(&shard->pool, spares))
        aion_trim(shard, key);
    aion_run_insert(&shard->pool, spares, aion_run_lower(&shard->pool, spares, spare.time), &spare);
    if (status == ISO_UNKNOWN)
        aion_recheck_cases(shard, key, number);
}

/* Takes back one spare write of an unknown transaction. */
static void forget_write(struct iso_aion_shard *shard, struct aion_key *key, uint32_t tid, uint32_t value)
{
    if (!key->rare)
        return;
    struct aion_run *spares = &shard->rares[key->rare].spares;
    struct aion_place place = aion_run_lower(&shard->pool, spares, aion_unknown_time(value));
    for (;; aion_run_next(&shard->pool, spares, &place)) {
        const struct aion_entry *spare = aion_run_get(&shard->pool, spares, place);
        if (!spare || spare->time != aion_unknown_time(value))
            break;
        uint32_t transaction = spare->transaction;
        if (shard->transactions[transaction].tid == tid) {
            aion_values_drop(&shard->values, value);
            aion_run_remove(&shard->pool, spares, place);
            aion_transaction_drop(shard, transaction);
            break;
        }
    }
    aion_recheck_cases(shard, key, ISO_NONE);
}

void aion_forget(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part)
{
    uint32_t tid = aion_values_take(&shard->values, batch->atoms, part->tid);
    for (uint32_t i = part->first_step; i < part->first_step + part->step_count; i++) {
        const struct aion_step *step = &batch->steps[i];
        uint32_t value = aion_values_take(&shard->values, batch->atoms, step->value);
        forget_write(shard, &shard->keys[step->key], tid, value);
        aion_values_drop(&shard->values, value);
    }
    aion_values_drop(&shard->values, tid);
}
