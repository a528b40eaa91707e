/* External reads: judged when they come, kept while a late version may change the verdict, judged
 * again then.
 */

#include <assert.h>

#include "aion/shard/shard_private.h"
#include "base/memory.h"
#include "verdict/unjudged.h"

enum { WRITERS = 64 }; /* versions that are looked through for a value's */

static bool started_below(const struct aion_entry *nonversion, uint64_t before)
{
    return !nonversion->start || nonversion->start - 1 < before;
}

static bool is_not_final(const void *context, const struct aion_entry *nonversion)
{
    (void)context;
    return nonversion->detail == AION_NONVERSION_UNKNOWN;
}

/* True if a transaction of unknown outcome that started below `before` wrote `value`, as its final
 * value or, to a list, at all. Non-version writes of unknown ones stand at the end of their run in
 * the order of their values, and of one value those that are not final first, each by when they
 * started (stands_among_unknown in write.c): two looks suffice.
 */
static bool may_be_written(const struct iso_aion_shard *shard,
                           const struct aion_sorted_chunks *nonversions, bool list, uint32_t value,
                           uint64_t before)
{
    uint64_t time = aion_unknown_time(value);
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, nonversions, time);
    const struct aion_entry *nonversion = aion_chunks_get(&shard->pool, nonversions, cursor);
    if (!nonversion || nonversion->time != time)
        return false;
    if (nonversion->detail == AION_NONVERSION_UNKNOWN) {
        if (list && started_below(nonversion, before))
            return true;
        nonversion =
            aion_chunks_get(&shard->pool, nonversions,
                            aion_chunks_among(&shard->pool, nonversions, time, is_not_final, NULL));
    }
    return nonversion && nonversion->time == time && started_below(nonversion, before);
}

/* Whether what is kept of the key says who wrote the value: versions down to the newest below the
 * floor, and a bounded number of them. */
static bool has_writer(const struct iso_aion_shard *shard, const struct aion_key *key,
                       uint32_t value)
{
    struct aion_cursor cursor = aion_chunks_end(&shard->pool, &key->versions);
    for (int left = WRITERS; left && aion_chunks_before(&shard->pool, &key->versions, &cursor);
         left--) {
        const struct aion_entry *version = aion_chunks_get(&shard->pool, &key->versions, cursor);
        if (version->value == value)
            return true;
        if (version->time < shard->time.floor)
            return false;
    }
    return false;
}

/* True if one that was forgotten may have: where nobody else did; or where it may have ended after
 * the newest version that the read had to see. A list shows all of them. */
static bool is_aged(const struct iso_aion_shard *shard, const struct aion_key *key,
                    const struct aion_observed *observed)
{
    uint64_t aged = key->cold ? shard->cold.list[key->cold].aged : 0;
    if (shard->options.level == ISO_STALE_READS) /* any moment of the past will do */
        return aged;
    if (!aged || aion_key_is_list(key) || !has_writer(shard, key, observed->value))
        return aged;
    if (key->newest_time < observed->visible_below)
        return key->newest_time <= aged;
    struct aion_cursor cursor =
        aion_chunks_lower(&shard->pool, &key->versions, observed->visible_below);
    if (!aion_chunks_before(&shard->pool, &key->versions, &cursor))
        return true;
    return aion_chunks_get(&shard->pool, &key->versions, cursor)->time <= aged;
}

/* True if a transaction of unknown outcome may have written what was read. */
static bool is_deferred(const struct iso_aion_shard *shard, const struct aion_key *key,
                        const struct aion_observed *observed)
{
    if (is_aged(shard, key, observed))
        return true;
    const struct aion_sorted_chunks *nonversions =
        key->cold ? &shard->cold.list[key->cold].nonversions : NULL;
    if (!nonversions || !nonversions->count ||
        !aion_is_unknown(aion_chunks_last(&shard->pool, nonversions)))
        return false;
    if (!aion_key_is_list(key))
        return may_be_written(shard, nonversions, false, observed->value, observed->before);
    if (observed->value == ISO_ABSENT)
        return false;
    const struct aion_list *list = aion_pool_at(&shard->pool, observed->value);
    for (uint32_t i = 0; i < list->count; i++) {
        if (may_be_written(shard, nonversions, true, list->elements[i], observed->before))
            return true;
    }
    return false;
}

static bool is_whole_row(const struct iso_aion_shard *shard, const struct aion_key *key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!shard->options.host.is_whole_row)
        return false;
    const char *name = iso_atom_text(&shard->values.atoms, key->atom, buffer, &length);
    return shard->options.host.is_whole_row(shard->options.host.context, name, length);
}

bool aion_is_unknown_value(const struct iso_aion_shard *shard, const struct aion_key *key,
                           const struct aion_observed *observed, uint32_t transaction,
                           enum iso_unjudged *reason, bool *waits)
{
    assert(transaction == ISO_NONE || transaction < shard->transactions.count);
    const struct iso_atoms *atoms = &shard->values.atoms;
    *waits = false;
    if (aion_key_is_list(key))
        return false;
    uint32_t expected = aion_expected(shard, key, observed, transaction);
    *reason = ISO_UNJUDGED_SCHEMA;
    if (!iso_value_is_unknown(atoms, expected))
        return is_whole_row(shard, key) &&
               iso_rows_cannot_compare(atoms, expected, atoms, observed->value);
    *reason = iso_value_unjudged(atoms, expected);
    *waits = iso_value_waits(atoms, expected);
    return true;
}

/* A read that does not agree with what it had to see. */
static enum aion_state state_of_wrong(const struct iso_aion_shard *shard,
                                      const struct aion_key *key,
                                      const struct aion_observed *observed, uint32_t transaction)
{
    enum iso_unjudged reason;
    bool waits;
    if (is_deferred(shard, key, observed) ||
        aion_is_unknown_value(shard, key, observed, transaction, &reason, &waits))
        return AION_DEFERRED;
    return AION_WRONG;
}

enum aion_state aion_judge(struct iso_aion_shard *shard, const struct aion_key *key,
                           const struct aion_observed *observed, uint32_t transaction)
{
    enum aion_state state = aion_compare(shard, key, observed, transaction);
    return state == AION_WRONG ? state_of_wrong(shard, key, observed, transaction) : state;
}

/* The case of a part's read that is one of several. */
static uint32_t group_pending(struct iso_aion_shard *shard, uint32_t key, uint32_t transaction,
                              const struct aion_observed *observed)
{
    uint32_t cold = shard->keys.list[key].cold,
             latest = cold ? shard->cold.list[cold].first_pending : 0;
    if (latest && shard->pending.list[latest - 1].transaction ==
                      transaction) { /* all reads of the key are of the group */
        aion_pending_add(shard, latest - 1, observed);
        return latest - 1;
    }
    ISO_GROW(shard->pending.groups, shard->pending.group_count, shard->pending.group_capacity);
    uint32_t number = aion_pending_new(shard, key, transaction, observed);
    shard->pending.groups[shard->pending.group_count++] = number;
    return number;
}

/* The run of reads has a chunk. */
static inline void open_reads(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (key->reads.at)
        return;
    aion_chunks_open(&shard->pool, &key->reads);
    ISO_APPEND(shard->keys.reading, (uint32_t)(key - shard->keys.list));
}

static void keep_read(struct iso_aion_shard *shard, struct aion_key *key,
                      const struct aion_observed *observed, uint32_t transaction, uint32_t detail)
{
    struct aion_entry entry = {.time = observed->visible_below,
                               .start = observed->before,
                               .value = observed->value,
                               .transaction = transaction,
                               .detail = detail,
                               .operation =
                                   observed->operation | (observed->own ? AION_READ_OWN : 0)};
    open_reads(shard, key);
    if (aion_chunks_full(&shard->pool, &key->reads)) {
        aion_trim_reads(shard, key);
        aion_chunks_make_room(&shard->pool, &key->reads);
    }
    struct aion_cursor cursor =
        observed->visible_below >= key->last_read
            ? aion_chunks_end(&shard->pool, &key->reads)
            : aion_chunks_lower(&shard->pool, &key->reads, observed->visible_below);
    aion_chunks_insert(&shard->pool, &key->reads, cursor, &entry);
    key->last_read =
        observed->visible_below > key->last_read ? observed->visible_below : key->last_read;
    if (observed->own)
        key->flags |= AION_KEY_OWN;
    if (aion_key_is_list(key) || aion_value_is_entry(observed->value))
        key->flags |= AION_KEY_ENTRIES;
    aion_note_reader(shard, observed->visible_below);
    shard->stats.open_reads++;
}

/* SER: a writer of the key at the reader's own cts makes an edge. */
static void note_tie(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t transaction)
{
    const struct aion_transaction *reader = &shard->transactions.list[transaction];
    if (shard->options.level != ISO_SER || (reader->flags & ISO_POINT) ||
        key->newest_time < reader->cts)
        return;
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, &key->versions, reader->cts);
    for (;; aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        const struct aion_entry *version = aion_chunks_get(&shard->pool, &key->versions, cursor);
        if (!version || version->time != reader->cts)
            return;
        if (version->transaction != transaction) {
            aion_tie_note(shard, key, reader->cts);
            return;
        }
    }
}

/* Whether a register was read with the value of its newest version. */
static inline bool is_newest(const struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                             const struct aion_key *key, iso_atom value)
{
    if (!aion_value_is_entry(value) || atoms == &shard->values.atoms)
        return value == key->newest_value;
    return !aion_key_is_list(key) &&
           aion_atoms_same(&shard->values.atoms, key->newest_value, atoms, value);
}

/* A read of the newest version, the last of those that are kept, stands at `*entry` from now on. */
static inline void keep_newest(struct iso_aion_shard *shard, const struct aion_part *part,
                               const struct aion_step *step, struct aion_key *key,
                               uint32_t transaction, struct aion_entry *entry)
{
    *entry = (struct aion_entry){.time = part->visible_below,
                                 .start = part->before,
                                 .value = key->newest_value,
                                 .transaction = transaction,
                                 .operation = step->operation};
    key->last_read = part->visible_below;
    aion_note_reader(shard, part->visible_below);
    shard->stats.open_reads++;
}

/* The short way of nearly every read: of the newest version, right, in order, and there is room to
 * keep it. False: nothing was done that counts. */
static inline bool read_newest(struct iso_aion_shard *shard, const struct aion_batch *batch,
                               const struct aion_part *part, const struct aion_step *step,
                               struct aion_key *key, uint32_t transaction)
{
    bool is_entry = aion_value_is_entry(step->value), here = batch->atoms == &shard->values.atoms;
    if (step->kind != AION_READ || step->detail || key->newest_time >= part->visible_below ||
        !is_newest(shard, batch->atoms, key, step->value))
        return false;
    if (aion_may_drop_read(shard, part->visible_below)) {
        if (here)
            aion_values_drop(&shard->values, step->value);
        return true;
    }
    aion_drop_reads(shard, key);
    if (part->visible_below < key->last_read)
        return false;
    open_reads(shard, key);
    struct aion_entry *entry = aion_chunks_append(&shard->pool, &key->reads, part->before);
    if (!entry)
        return false;
    keep_newest(shard, part, step, key, transaction, entry);
    if (is_entry)
        key->flags |= AION_KEY_ENTRIES;
    if (!here)
        aion_values_reference(&shard->values, key->newest_value);
    return true;
}

/* The value that a register was read with: mostly that of the newest version, which is cheaper to
 * compare with than to look up. */
static uint32_t value_read(struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                           const struct aion_key *key, iso_atom value)
{
    bool here = atoms == &shard->values.atoms;
    if (!here && aion_value_is_entry(value) && !aion_key_is_list(key) &&
        aion_atoms_same(&shard->values.atoms, key->newest_value, atoms, value))
        return aion_values_reference(&shard->values, key->newest_value);
    return aion_values_take(&shard->values, atoms, value);
}

static struct aion_observed observed_read_of(struct iso_aion_shard *shard,
                                             const struct aion_batch *batch,
                                             const struct aion_part *part,
                                             const struct aion_step *step,
                                             const struct aion_key *key)
{
    const struct aion_detail *detail = step->detail ? &batch->details[step->detail - 1] : NULL;
    struct aion_observed observed = {.visible_below = detail ? detail->time : part->visible_below,
                                     .before = detail ? detail->before : part->before,
                                     .operation = step->operation,
                                     .own = step->flags & AION_OWN,
                                     .newer = !shard->defers ? 0 : step->newer};
    if (step->kind == AION_READ)
        observed.value = value_read(shard, batch->atoms, key, step->value);
    else /* no elements in the whole batch: no column */
        observed.value = aion_list_new(shard, batch->atoms,
                                       batch->elements ? batch->elements + step->value : NULL,
                                       detail->count, detail->tail);
    return observed;
}

/* The value of the version that a read of a register sees, if that stands near the end of the
 * versions. */
static inline bool value_near(const struct iso_aion_shard *shard, const struct aion_key *key,
                              uint64_t visible_below, uint32_t *value)
{
    struct aion_near near;
    *value = key->newest_value;
    if (key->newest_time < visible_below)
        return true;
    if (!key->versions.count ||
        !aion_chunks_near(&shard->pool, &key->versions, visible_below, &near) || !near.index)
        return false;
    *value = near.entries[near.index - 1].value;
    return true;
}

/* The way of most others: right, of one of the last versions, among the last reads. False: nothing
 * was done that counts. */
static inline bool read_near(struct iso_aion_shard *shard, const struct aion_part *part,
                             const struct aion_step *step, struct aion_key *key,
                             uint32_t transaction)
{
    uint32_t expected;
    struct aion_near near;
    if (step->kind != AION_READ || step->detail || aion_value_is_entry(step->value) ||
        aion_key_is_list(key) ||
        (shard->options.level == ISO_SER && key->newest_time >= part->cts) ||
        !value_near(shard, key, part->visible_below, &expected) || step->value != expected)
        return false;
    if (aion_may_drop_read(shard, part->visible_below))
        return true;
    if (!key->reads.count ||
        !aion_chunks_near(&shard->pool, &key->reads, part->visible_below, &near) || !near.has_room)
        return false;
    struct aion_entry entry = {.time = part->visible_below,
                               .start = part->before,
                               .value = step->value,
                               .transaction = transaction,
                               .operation = step->operation};
    aion_chunks_put_near(&shard->pool, &key->reads, &near, &entry);
    key->last_read = part->visible_below > key->last_read ? part->visible_below : key->last_read;
    aion_note_reader(shard, part->visible_below);
    shard->stats.open_reads++;
    return true;
}

/* The way of a read from long ago, right, of a version that is in the spill file and stays there.
 * False: nothing was done that counts, and all versions that the read looks at are in memory. */
static bool read_paged(struct iso_aion_shard *shard, const struct aion_batch *batch,
                       const struct aion_part *part, const struct aion_step *step,
                       struct aion_key *key)
{
    if (!(key->flags & AION_KEY_PAGED))
        return false;
    uint64_t visible_below =
        step->detail ? batch->details[step->detail - 1].time : part->visible_below;
    bool alone = step->kind == AION_READ && !(step->flags & (AION_OWN | AION_GROUP)) &&
                 !(shard->options.level == ISO_SER && key->newest_time >= part->cts);
    if (alone && aion_may_drop_read(shard, visible_below) &&
        aion_reads_paged(shard, key, visible_below, batch->atoms, step->value))
        return true;
    aion_page_in(shard, key,
                 step->flags & AION_OWN      ? 0
                 : visible_below < part->cts ? visible_below
                                             : part->cts);
    return false;
}

__attribute__((noinline)) static void
read_with_care(struct iso_aion_shard *shard, const struct aion_batch *batch,
               const struct aion_part *part, const struct aion_step *step, uint32_t transaction)
{
    struct aion_key *key = &shard->keys.list[step->key];
    if (read_near(shard, part, step, key, transaction) || read_paged(shard, batch, part, step, key))
        return;
    struct aion_observed observed = observed_read_of(shard, batch, part, step, key);
    uint32_t detail = 0;
    observed.state = aion_judge(shard, key, &observed, transaction);
    if (observed.state == AION_UNDECIDED)
        shard->stats.reads_undecided++;
    if (key->versions.count)
        note_tie(shard, key, transaction);
    if (step->flags & AION_GROUP) {
        detail = group_pending(shard, step->key, transaction, &observed) + 1;
    } else if (observed.state != AION_RIGHT &&
               (observed.state != AION_UNDECIDED || shard->keys.have_cells)) {
        detail = aion_pending_new(shard, step->key, transaction, &observed) + 1;
        aion_pending_start(shard, detail - 1, ISO_NONE);
    }
    if (aion_may_drop_read(shard, observed.visible_below) || observed.state == AION_UNDECIDED)
        aion_value_drop(shard, key, observed.value);
    else
        keep_read(shard, key, &observed, transaction, detail);
}

/* The reader of a key that it has a version of, as that names it. */
static uint32_t find_reader(const struct iso_aion_shard *shard, const struct aion_key *key,
                            uint32_t transaction)
{
    const struct aion_transaction *reader = &shard->transactions.list[transaction];
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, &key->versions, reader->cts);
    const struct aion_entry *version;
    for (; (version = aion_chunks_get(&shard->pool, &key->versions, cursor)) &&
           version->time == reader->cts;
         aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        if (shard->transactions.list[version->transaction].tid == reader->tid)
            return version->transaction;
    }
    return transaction;
}

/* Below SI: one that the front has judged (deferred.h). No version to come changes that. */
static void read_flagged(struct iso_aion_shard *shard, const struct aion_batch *batch,
                         const struct aion_part *part, const struct aion_step *step,
                         uint32_t transaction)
{
    assert(transaction == ISO_NONE || transaction < shard->transactions.count);
    struct aion_key *key = &shard->keys.list[step->key];
    if (key->flags & AION_KEY_PAGED)
        aion_page_in_all(shard, key);
    struct aion_observed observed = observed_read_of(shard, batch, part, step, key);
    if (observed.own)
        transaction = find_reader(shard, key, transaction);
    observed.state = aion_judge(shard, key, &observed, transaction);
    if (observed.state == AION_UNDECIDED)
        shard->stats.reads_undecided++;
    if (step->flags & AION_GROUP)
        group_pending(shard, step->key, transaction, &observed);
    else if (observed.state != AION_RIGHT &&
             (observed.state != AION_UNDECIDED || shard->keys.have_cells))
        aion_pending_start(shard, aion_pending_new(shard, step->key, transaction, &observed),
                           ISO_NONE);
    aion_value_drop(shard, key, observed.value);
}

void aion_read(struct iso_aion_shard *shard, const struct aion_batch *batch,
               const struct aion_part *part, const struct aion_step *step, uint32_t transaction)
{
    AION_LOG(shard, transaction, "reads key %" PRIu32 " of the shard, below %" PRIu64, step->key,
             part->visible_below);
    if (shard->defers)
        read_flagged(shard, batch, part, step, transaction);
    else if (!read_newest(shard, batch, part, step, &shard->keys.list[step->key], transaction))
        read_with_care(shard, batch, part, step, transaction);
}

/* ---- judging again ---- */

/* A read of a pending verdict was judged again. */
static void recheck_pending(struct iso_aion_shard *shard, struct aion_entry *read,
                            uint32_t operation, enum aion_state state, uint32_t cause)
{
    aion_pending_set(shard, read->detail - 1, operation, state, cause);
    if (state == AION_RIGHT && !shard->pending.list[read->detail - 1].rechecks &&
        aion_pending_end(shard, read->detail - 1))
        read->detail = 0;
}

/* `version`: the read, of a register, sees it now; NULL: what it sees is looked up. */
static void recheck_read(struct iso_aion_shard *shard, struct aion_key *key,
                         struct aion_entry *read, const struct aion_entry *version, uint32_t cause)
{
    uint32_t number = (uint32_t)(key - shard->keys.list);
    struct aion_observed observed = {.visible_below = read->time,
                                     .before = read->start,
                                     .value = read->value,
                                     .operation = read->operation & ~AION_READ_OWN,
                                     .own = read->operation & AION_READ_OWN};
    enum aion_state state;
    shard->stats.rechecks++;
    shard->stats.steps++;
    if (version && read->value == version->value)
        state = AION_RIGHT;
    else if (version)
        state = state_of_wrong(shard, key, &observed, read->transaction);
    else
        state = aion_judge(shard, key, &observed, read->transaction);
    if (read->detail) {
        recheck_pending(shard, read, observed.operation, state, cause);
        return;
    }
    if (state == AION_RIGHT)
        return;
    observed.state = (uint8_t)state;
    read->detail = aion_pending_new(shard, number, read->transaction, &observed) + 1;
    shard->transactions.list[read->transaction].flips += state == AION_WRONG;
    shard->stats.reads_undecided += state == AION_UNDECIDED;
    aion_pending_start(shard, read->detail - 1, cause);
}

/* The reads that see a version of a register now, where they stand near the end. */
static void recheck_near(struct iso_aion_shard *shard, struct aion_key *key,
                         const struct aion_near *near, const struct aion_entry *version,
                         uint64_t successor)
{
    for (uint32_t i = near->index; i < near->count && near->entries[i].time <= successor; i++) {
        if (near->entries[i].transaction != version->transaction)
            recheck_read(shard, key, &near->entries[i], version, version->transaction);
    }
}

/* A version has come: of registers, the reads between it and its successor see it now; of lists all
 * above it do. */
void aion_recheck_version(struct iso_aion_shard *shard, struct aion_key *key,
                          const struct aion_entry *version, uint64_t successor)
{
    if (key->last_read <= version->time || !key->reads.count)
        return;
    bool all = aion_key_is_list(key) || (key->flags & AION_KEY_OWN);
    uint64_t from = version->time < shard->time.passed ? shard->time.passed : version->time;
    uint32_t cause = version->transaction;
    struct aion_near near;
    if (!all && aion_chunks_near(&shard->pool, &key->reads, aion_above(from), &near)) {
        recheck_near(shard, key, &near, version, successor);
        return;
    }
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, &key->reads, aion_above(from));
    for (uint32_t scanned = 0;; scanned++, aion_chunks_next(&shard->pool, &key->reads, &cursor)) {
        struct aion_entry *read = aion_chunks_get(&shard->pool, &key->reads, cursor);
        if (!read || (!all && read->time > successor)) {
            if (scanned > aion_many(shard))
                aion_note_rechecks(shard, key, cursor, scanned);
            return;
        }
        if (read->transaction != cause || (read->operation & AION_READ_OWN))
            recheck_read(shard, key, read, all ? NULL : version, cause);
    }
}

/* The writes of transactions of unknown outcome have changed. */
void aion_recheck_pending(struct iso_aion_shard *shard, struct aion_key *key, uint32_t cause)
{
    if (!key->cold)
        return;
    struct aion_cold *cold = &shard->cold.list[key->cold];
    if (cold->pending > aion_many(shard) &&
        (uint64_t)++cold->stale * aion_many(shard) < cold->pending)
        return; /* a look at all of them for so many changes; each looks by itself when it is final
                   (throttled.c) */
    cold->stale = 0;
    if (key->flags & AION_KEY_PAGED && cold->first_pending)
        aion_page_in_all(shard, key);
    for (uint32_t at = shard->cold.list[key->cold].first_pending, next; at; at = next) {
        next = shard->pending.list[at - 1].next;
        for (uint32_t i = 0; i < shard->pending.list[at - 1].observed_count; i++) {
            struct aion_pending *subject = &shard->pending.list[at - 1];
            const struct aion_observed *observed =
                subject->more ? &subject->more[i] : &subject->observed;
            if (observed->state != AION_WRONG && observed->state != AION_DEFERRED)
                continue;
            enum aion_state state = aion_judge(shard, key, observed, subject->transaction);
            shard->stats.rechecks++;
            shard->stats.steps++;
            aion_pending_set(shard, at - 1, observed->operation, state, cause);
        }
    }
}

void aion_recheck_initial(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (key->flags & AION_KEY_PAGED)
        aion_page_in_all(shard, key);
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *first = aion_chunks_get(&shard->pool, &key->versions, cursor);
    uint64_t until = first && !(key->flags & AION_KEY_OWN) ? first->time : UINT64_MAX;
    for (;; aion_chunks_next(&shard->pool, &key->reads, &cursor)) {
        struct aion_entry *read = aion_chunks_get(&shard->pool, &key->reads, cursor);
        if (!read || read->time > until)
            break;
        if (!aion_may_drop_read(shard, read->time))
            recheck_read(shard, key, read, NULL, ISO_NONE);
    }
    aion_recheck_pending(shard, key, ISO_NONE);
}
