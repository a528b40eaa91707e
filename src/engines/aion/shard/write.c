/* Versions: their position, the writers they overlap, the reads they change. And writes that are no
 * version. */
#include "aion/shard/shard_private.h"

/* Order of versions at one cts: by when the writer took the key, then by tid. */
static bool stands_before(const struct iso_aion_shard *shard, const struct aion_entry *left,
                          const struct aion_entry *right)
{
    if (left->start != right->start)
        return left->start < right->start;
    return iso_atom_compare(&shard->values.atoms, shard->transactions.list[left->transaction].tid,
                            shard->transactions.list[right->transaction].tid) < 0;
}

struct standing {
    const struct iso_aion_shard *shard;
    const struct aion_entry *version;
};

static bool stands_before_it(const void *context, const struct aion_entry *other)
{
    const struct standing *standing = context;
    return !stands_before(standing->shard, standing->version, other);
}

struct aion_cursor aion_cursor_of_version(const struct iso_aion_shard *shard,
                                          const struct aion_key *key,
                                          const struct aion_entry *version)
{
    if (!key->versions.count || key->newest_time < version->time)
        return aion_chunks_end(&shard->pool, &key->versions);
    struct standing standing = {shard, version};
    return aion_chunks_among(&shard->pool, &key->versions, version->time, stands_before_it,
                             &standing);
}

/* ---- NOCONFLICT ---- */

/* Two that overlap. `unlisted`: NULL, or pairs of `one` over what is listed, of which this is one
 * (NULL: not known with whom). */
static void emit_conflict(struct iso_aion_shard *shard, const struct aion_key *key,
                          const struct aion_entry *one, const struct aion_entry *other,
                          const struct aion_pairs *unlisted)
{
    bool later = !other || (one->time != other->time ? one->time > other->time
                                                     : stands_before(shard, other, one));
    struct aion_finding *finding =
        aion_finding_new(shard, AION_FOUND_CONFLICT, (uint32_t)(key - shard->keys.list));
    finding->state = ISO_AION_FINAL;
    finding->operation = later ? one->operation : other->operation;
    finding->transaction = aion_party_of(shard, later ? one->transaction : other->transaction);
    finding->other = aion_party_of(shard, !other  ? ISO_NONE
                                          : later ? other->transaction
                                                  : one->transaction);
    if (unlisted)
        finding->unlisted = *unlisted;
}

static bool is_overlap(const struct aion_entry *one, const struct aion_entry *other)
{
    return !(other->detail & AION_VERSION_UNJUDGED) && other->time >= one->start &&
           one->time >= other->start;
}

/* Writers that a version overlaps, as they are met. */
struct meeting {
    struct iso_aion_shard *shard;
    struct aion_key *key;
    const struct aion_entry *version;
    struct aion_pairs unlisted;
    struct aion_commits window; /* once some are not listed */
    bool doubted;
    uint32_t wasted;        /* looks at those that it does not overlap */
    struct aion_entry last; /* of the unlisted */
};

static void count_unlisted(struct meeting *meeting, const struct aion_entry *other)
{
    struct iso_aion_shard *shard = meeting->shard;
    if (!meeting->unlisted.count++) {
        meeting->window = aion_window_of(shard, meeting->key, meeting->version->time);
        meeting->doubted = aion_is_doubted(shard, meeting->version);
    }
    if (other->time < meeting->window.from || other->time > meeting->window.to)
        meeting->unlisted.excused++;
    else if (meeting->doubted || aion_is_doubted(shard, other))
        meeting->unlisted.doubtful++;
    meeting->last = *other;
}

static void meet_writer(struct meeting *meeting, const struct aion_entry *other)
{
    struct iso_aion_shard *shard = meeting->shard;
    shard->stats.steps++;
    if (!is_overlap(meeting->version, other)) {
        meeting->wasted++;
        return;
    }
    shard->stats.counts[ISO_NOCONFLICT]++;
    if (aion_list(shard, meeting->key, 1))
        emit_conflict(shard, meeting->key, meeting->version, other, NULL);
    else
        count_unlisted(meeting, other);
}

/* The writers whose intervals overlap that of a version about to stand at `cursor`: before it those
 * that committed after it took the key; after it those that took the key before it committed, no
 * further away than the longest interval of the key. */
static void meet_around(struct meeting *meeting, struct aion_cursor cursor)
{
    struct iso_aion_shard *shard = meeting->shard;
    struct aion_key *key = meeting->key;
    const struct aion_entry *version = meeting->version, *other;
    struct aion_cursor at = cursor;
    for (;;) {
        if (!aion_chunks_before(&shard->pool, &key->versions, &at)) {
            shard->stats.writes_undecided += (key->flags & AION_KEY_DROPPED) != 0;
            break;
        }
        other = aion_chunks_get(&shard->pool, &key->versions, at);
        if (other->time < version->start)
            break;
        meet_writer(meeting, other);
    }
    if (key->newest_time < version->time)
        return;
    uint64_t last =
        version->time + key->span < version->time ? UINT64_MAX : version->time + key->span;
    for (at = cursor;; aion_chunks_next(&shard->pool, &key->versions, &at)) {
        uint32_t skipped =
            aion_chunks_skip(&shard->pool, &key->versions, &at, aion_above(version->time));
        meeting->wasted += skipped;
        shard->stats.steps += skipped;
        other = aion_chunks_get(&shard->pool, &key->versions, at);
        if (!other || other->time > last)
            return;
        meet_writer(meeting, other);
    }
}

/* True if some of those that it overlaps are still listed: then they have to be met. */
static bool meet_by_counting(const struct meeting *meeting, struct aion_cursor cursor)
{
    struct iso_aion_shard *shard = meeting->shard;
    struct aion_key *key = meeting->key;
    const struct aion_entry *version = meeting->version, *first, *newest;
    struct aion_pairs met = aion_count_pairs(shard, key, version);
    if (met.count && !aion_list_is_full(shard, key))
        return true;
    first = aion_chunks_get(&shard->pool, &key->versions, aion_chunks_begin());
    if (key->flags & AION_KEY_DROPPED &&
        (first->time >= version->start || (!cursor.chunk && !cursor.index)))
        shard->stats.writes_undecided++;
    shard->stats.counts[ISO_NOCONFLICT] += met.count;
    newest = aion_chunks_last(&shard->pool, &key->versions);
    if (met.count) {
        aion_note_unlisted(shard, key);
        emit_conflict(shard, key, version, is_overlap(version, newest) ? newest : NULL, &met);
    }
    return false;
}

static void meet_writers(struct iso_aion_shard *shard, struct aion_key *key,
                         const struct aion_entry *version, struct aion_cursor cursor)
{
    struct meeting meeting = {.shard = shard, .key = key, .version = version};
    if (!key->versions.count || key->newest_time < version->start)
        return; /* all were there before: the newest's time stands in the key, no entry is touched
                 */
    if (aion_is_crowded(shard, key) && !meet_by_counting(&meeting, cursor))
        return;
    meet_around(&meeting, cursor);
    aion_note_overlap_count(shard, key, meeting.wasted);
    if (meeting.unlisted.count) {
        aion_note_unlisted(shard, key);
        emit_conflict(shard, key, version, &meeting.last, &meeting.unlisted);
    }
}

/* ---- SER: transactions that share a cts ---- */

static bool reader_shares(const struct iso_aion_shard *shard, const struct aion_key *key,
                          const struct aion_entry *version)
{
    const struct aion_entry *rested;
    if (key->cold && shard->cold.list[key->cold].idle.count) {
        const struct aion_sorted_chunks *idle = &shard->cold.list[key->cold].idle;
        rested = aion_chunks_get(&shard->pool, idle,
                                 aion_chunks_lower(&shard->pool, idle, version->time));
        if (rested && rested->time == version->time)
            return true; /* maybe: whoever reports the tie looks */
    }
    if (key->last_read < version->time || version->time < shard->readers.passed ||
        !key->reads.count)
        return false;
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, &key->reads, version->time);
    for (uint32_t looked = 0;; looked++, aion_chunks_next(&shard->pool, &key->reads, &cursor)) {
        const struct aion_entry *read = aion_chunks_get(&shard->pool, &key->reads, cursor);
        if (!read || read->time != version->time)
            return false;
        if (looked == aion_many(shard))
            return true;
        const struct aion_transaction *reader = &shard->transactions.list[read->transaction];
        if (read->transaction != version->transaction && reader->cts == version->time &&
            !(reader->flags & ISO_POINT))
            return true;
    }
}

static void note_ties(struct iso_aion_shard *shard, const struct aion_key *key,
                      const struct aion_entry *version, struct aion_cursor cursor)
{
    struct aion_cursor before = cursor;
    const struct aion_entry *next = aion_chunks_get(&shard->pool, &key->versions, cursor),
                            *previous = NULL;
    if (key->versions.count && aion_chunks_before(&shard->pool, &key->versions, &before))
        previous = aion_chunks_get(&shard->pool, &key->versions, before);
    if ((next && next->time == version->time) || (previous && previous->time == version->time) ||
        reader_shares(shard, key, version))
        aion_tie_note(shard, key, version->time);
}

/* ---- versions ---- */

static bool is_dropped_ground(const struct aion_key *key, struct aion_cursor cursor)
{
    return (key->flags & AION_KEY_DROPPED) && !cursor.chunk && !cursor.index;
}

static struct aion_entry version_of(struct iso_aion_shard *shard, const struct aion_batch *batch,
                                    const struct aion_part *part, const struct aion_step *step,
                                    uint32_t transaction)
{
    const struct aion_detail *detail = step->detail ? &batch->details[step->detail - 1] : NULL;
    struct aion_entry version = {.time = part->cts,
                                 .start = detail ? detail->time : part->start_bound,
                                 .transaction = aion_transaction_reference(shard, transaction),
                                 .detail = step->flags & AION_UNJUDGED ? AION_VERSION_UNJUDGED : 0,
                                 .operation = step->operation};
    if (step->kind == AION_VERSION)
        version.value = aion_values_take(&shard->values, batch->atoms, step->value);
    else
        version.value =
            aion_list_new(shard, batch->atoms, batch->elements + step->value, detail->count, 0);
    return version;
}

/* Keys with many violations have more than their runs. */
static inline void note_version(struct iso_aion_shard *shard, const struct aion_key *key,
                                const struct aion_entry *version)
{
    if (!key->cold)
        return;
    aion_overlap_count_add(shard, key, version);
    aion_value_writers_add(shard, key, version, true);
}

static inline bool judges_overlaps(const struct iso_aion_shard *shard)
{
    return shard->options.level != ISO_SER && !shard->options.overlaps;
}

/* The short way of nearly every version: newer than all versions and reads of its key, it overlaps
 * none of them, and there is room. False: nothing was done. */
static inline bool append_version(struct iso_aion_shard *shard, const struct aion_part *part,
                                  const struct aion_step *step, struct aion_key *key,
                                  uint32_t transaction)
{
    uint64_t time = part->cts;
    bool overlaps = judges_overlaps(shard) && key->newest_time >= part->start_bound;
    if (step->kind != AION_VERSION || step->detail || aion_value_is_entry(step->value) ||
        overlaps || !key->versions.count || key->newest_time >= time || key->last_read >= time)
        return false;
    struct aion_entry *entry = aion_chunks_append(&shard->pool, &key->versions, part->start_bound);
    if (!entry)
        return false;
    *entry = (struct aion_entry){.time = time,
                                 .start = part->start_bound,
                                 .value = step->value,
                                 .transaction = aion_transaction_reference(shard, transaction),
                                 .operation = step->operation};
    if (time > part->start_bound && time - part->start_bound > key->span)
        key->span = time - part->start_bound;
    key->newest_time = time;
    key->newest_value = step->value;
    key->flags |= AION_KEY_CHANGED;
    shard->stats.versions++;
    note_version(shard, key, entry);
    return true;
}

/* The way of most late versions: among the last of its key, and it overlaps none of them. False:
 * nothing was done. */
static inline bool insert_version_near(struct iso_aion_shard *shard, const struct aion_part *part,
                                       const struct aion_step *step, struct aion_key *key,
                                       uint32_t transaction)
{
    struct aion_near near, ties;
    if (step->kind != AION_VERSION || step->detail || aion_value_is_entry(step->value) ||
        aion_key_is_list(key) || !key->versions.count ||
        !aion_chunks_near(&shard->pool, &key->versions, part->cts, &near) || !near.has_room ||
        !near.index)
        return false;
    bool met = judges_overlaps(shard) && near.entries[near.index - 1].time >= part->start_bound;
    for (uint32_t i = near.index; i < near.count; i++)
        met |= near.entries[i].time == part->cts ||
               (judges_overlaps(shard) && near.entries[i].start <= part->cts);
    if (met)
        return false;
    if (shard->options.level == ISO_SER && key->last_read >= part->cts && key->reads.count &&
        (!aion_chunks_near(&shard->pool, &key->reads, part->cts, &ties) ||
         (ties.index < ties.count && ties.entries[ties.index].time == part->cts)))
        return false;
    struct aion_entry version = {.time = part->cts,
                                 .start = part->start_bound,
                                 .value = step->value,
                                 .transaction = aion_transaction_reference(shard, transaction),
                                 .operation = step->operation};
    aion_chunks_put_near(&shard->pool, &key->versions, &near, &version);
    note_version(shard, key, &version);
    key->flags |= AION_KEY_CHANGED;
    shard->stats.versions++;
    if (part->cts > part->start_bound && part->cts - part->start_bound > key->span)
        key->span = part->cts - part->start_bound;
    bool last = near.index == near.count;
    if (last) {
        key->newest_time = part->cts;
        key->newest_value = step->value;
    }
    aion_recheck_version(shard, key, &version,
                         last ? UINT64_MAX : near.entries[near.index + 1].time);
    return true;
}

__attribute__((noinline)) static void
insert_version(struct iso_aion_shard *shard, const struct aion_batch *batch,
               const struct aion_part *part, const struct aion_step *step, uint32_t transaction)
{
    struct aion_key *key = &shard->keys.list[step->key];
    if (insert_version_near(shard, part, step, key, transaction))
        return;
    struct aion_entry version = version_of(shard, batch, part, step, transaction);
    aion_page_in(shard, key, version.start < version.time ? version.start : version.time);
    if (aion_chunks_full(&shard->pool, &key->versions))
        aion_trim(shard, key);
    struct aion_cursor cursor = aion_cursor_of_version(shard, key, &version);
    if (judges_overlaps(shard) && !(version.detail & AION_VERSION_UNJUDGED))
        meet_writers(shard, key, &version, cursor);
    if (shard->options.level == ISO_SER)
        note_ties(shard, key, &version, cursor);
    if (is_dropped_ground(key, cursor)) {
        aion_value_drop(shard, key, version.value);
        aion_transaction_drop(shard, transaction);
        return;
    }
    cursor = aion_chunks_insert(&shard->pool, &key->versions, cursor, &version);
    note_version(shard, key, &version);
    key->flags |= AION_KEY_CHANGED;
    shard->stats.versions++;
    if (version.time > version.start && version.time - version.start > key->span)
        key->span = version.time - version.start;
    aion_chunks_next(&shard->pool, &key->versions, &cursor);
    const struct aion_entry *successor = aion_chunks_get(&shard->pool, &key->versions, cursor);
    if (!successor) {
        key->newest_time = version.time;
        key->newest_value = version.value;
    }
    aion_recheck_version(shard, key, &version, successor ? successor->time : UINT64_MAX);
    if (version.time <= ISO_AION_START) /* reads that waited for it are below the watermark */
        aion_recheck_pending(shard, key, version.transaction);
}

void aion_version(struct iso_aion_shard *shard, const struct aion_batch *batch,
                  const struct aion_part *part, const struct aion_step *step, uint32_t transaction)
{
    AION_LOG(shard, transaction, "version of key %" PRIu32 " of the shard, at %" PRIu64, step->key,
             part->cts);
    if (!append_version(shard, part, step, &shard->keys.list[step->key], transaction))
        insert_version(shard, batch, part, step, transaction);
}

/* ---- writes that are no version ---- */

static enum aion_nonversion nonversion_of(const struct aion_step *step, uint8_t status)
{
    if (status == ISO_ABORTED)
        return AION_NONVERSION_ABORTED;
    if (status == ISO_COMMITTED)
        return AION_NONVERSION_INTERMEDIATE;
    return step->flags & AION_FINAL_VALUE ? AION_NONVERSION_UNKNOWN_FINAL : AION_NONVERSION_UNKNOWN;
}

/* The order of the non-version writes of one value by unknown transactions: see may_be_written in
 * read.c. The tid tells apart writes that are equal otherwise. */
static bool stands_among_unknown(const void *context, const struct aion_entry *other)
{
    const struct standing *standing = context;
    const struct aion_entry *nonversion = standing->version;
    const struct aion_transaction *transactions = standing->shard->transactions.list;
    if (other->detail != nonversion->detail)
        return other->detail < nonversion->detail;
    if (other->start != nonversion->start)
        return other->start < nonversion->start;
    return transactions[other->transaction].tid < transactions[nonversion->transaction].tid;
}

static struct aion_cursor cursor_of_nonversion(const struct iso_aion_shard *shard,
                                               const struct aion_sorted_chunks *nonversions,
                                               const struct aion_entry *nonversion)
{
    struct standing standing = {shard, nonversion};
    if (!aion_is_unknown(nonversion))
        return aion_chunks_lower(&shard->pool, nonversions, nonversion->time);
    return aion_chunks_among(&shard->pool, nonversions, nonversion->time, stands_among_unknown,
                             &standing);
}

void aion_nonversion(struct iso_aion_shard *shard, const struct aion_batch *batch,
                     const struct aion_step *step, uint32_t number)
{
    struct aion_key *key = &shard->keys.list[step->key];
    struct aion_sorted_chunks *nonversions = &aion_cold_of(shard, key)->nonversions;
    const struct aion_transaction *transaction = &shard->transactions.list[number];
    uint8_t status = transaction->flags & ISO_STATUS_MASK;
    bool has_sts = transaction->flags & ISO_HAS_STS;
    struct aion_entry nonversion = {.start = has_sts ? transaction->sts + 1 : 0,
                                    .detail = nonversion_of(step, status),
                                    .value =
                                        aion_values_take(&shard->values, batch->atoms, step->value),
                                    .transaction = aion_transaction_reference(shard, number),
                                    .operation = step->operation};
    if (status == ISO_UNKNOWN)
        nonversion.time = aion_unknown_time(nonversion.value);
    else if (status == ISO_COMMITTED)
        nonversion.time = transaction->cts;
    else
        nonversion.time = has_sts ? transaction->sts : shard->time.passed;
    if (status != ISO_UNKNOWN && nonversion.time >= aion_unknown_time(0))
        nonversion.time = aion_unknown_time(0) - 1;
    if (aion_chunks_full(&shard->pool, nonversions))
        aion_trim(shard, key);
    aion_chunks_insert(&shard->pool, nonversions,
                       cursor_of_nonversion(shard, nonversions, &nonversion), &nonversion);
    aion_value_writers_add(shard, key, &nonversion, false);
    key->flags |= AION_KEY_CHANGED;
    if (status == ISO_UNKNOWN)
        aion_recheck_pending(shard, key, number);
}

/* A non-version write of an unknown transaction that is to be found again: as stands_among_unknown
 * has them. */
struct forgotten {
    const struct iso_aion_shard *shard;
    uint64_t start;
    uint32_t detail, tid;
};

static bool stands_before_forgotten(const void *context, const struct aion_entry *other)
{
    const struct forgotten *nonversion = context;
    if (other->detail != nonversion->detail)
        return other->detail < nonversion->detail;
    if (other->start != nonversion->start)
        return other->start < nonversion->start;
    return nonversion->shard->transactions.list[other->transaction].tid < nonversion->tid;
}

/* Takes back one non-version write of an unknown transaction. */
static void forget_write(struct iso_aion_shard *shard, struct aion_key *key,
                         const struct forgotten *forgotten, uint32_t value)
{
    if (!key->cold)
        return;
    struct aion_sorted_chunks *nonversions = &shard->cold.list[key->cold].nonversions;
    uint64_t time = aion_unknown_time(value);
    struct aion_cursor cursor =
        aion_chunks_among(&shard->pool, nonversions, time, stands_before_forgotten, forgotten);
    const struct aion_entry *nonversion = aion_chunks_get(&shard->pool, nonversions, cursor);
    if (nonversion && nonversion->time == time && nonversion->detail == forgotten->detail &&
        nonversion->start == forgotten->start &&
        shard->transactions.list[nonversion->transaction].tid == forgotten->tid) {
        uint32_t transaction = nonversion->transaction;
        aion_values_drop(&shard->values, value);
        aion_chunks_remove(&shard->pool, nonversions, cursor);
        aion_transaction_drop(shard, transaction);
    }
    aion_recheck_pending(shard, key, ISO_NONE);
}

/* The writes of an unknown transaction are forgotten: one may be what a read saw that found nothing
 * newer (read.c). */
static void note_aged(struct iso_aion_shard *shard, struct aion_key *key, uint64_t until)
{
    if (key->flags & AION_KEY_PAGED)
        aion_page_in_all(shard, key); /* and none go there from now on (paging.c) */
    struct aion_cold *cold = aion_cold_of(shard, key);
    cold->aged = until > cold->aged ? until : cold->aged;
    key->flags |= AION_KEY_CHANGED;
}

void aion_forget(struct iso_aion_shard *shard, const struct aion_batch *batch,
                 const struct aion_part *part)
{
    uint32_t tid = aion_values_take(&shard->values, batch->atoms, part->tid);
    struct forgotten forgotten = {
        .shard = shard, .tid = tid, .start = part->flags & ISO_HAS_STS ? part->sts + 1 : 0};
    for (uint32_t i = part->first_step; i < part->first_step + part->step_count; i++) {
        const struct aion_step *step = &batch->steps[i];
        uint32_t value = aion_values_take(&shard->values, batch->atoms, step->value);
        if (part->flags & AION_AGED)
            note_aged(shard, &shard->keys.list[step->key], part->cts);
        forgotten.detail = nonversion_of(step, ISO_UNKNOWN);
        forget_write(shard, &shard->keys.list[step->key], &forgotten, value);
        aion_values_drop(&shard->values, value);
        if (part->flags & AION_AGED)
            aion_pending_age(shard, &shard->keys.list[step->key]);
    }
    aion_values_drop(&shard->values, tid);
}
