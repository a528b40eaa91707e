/* External reads: judged when they come, kept while a late version may change the verdict, judged again then.
 */
#include <assert.h>

#include "aion/shard_private.h"
#include "base/memory.h"

/* True if a transaction of unknown outcome that started below `before` wrote `value`, as its final value or,
 * to a list, at all. Spare writes of unknown ones stand at the end of their run in the order of their values.
 */
static bool may_be_written(const struct iso_aion_shard *shard, const struct aion_run *spares, bool list, uint32_t value,
                           uint64_t before)
{
    struct aion_place place = aion_run_lower(&shard->pool, spares, aion_unknown_time(value));
    for (;; aion_run_next(&shard->pool, spares, &place)) {
        const struct aion_entry *spare = aion_run_get(&shard->pool, spares, place);
        if (!spare || spare->time != aion_unknown_time(value))
            return false;
        bool counts = spare->detail == AION_SPARE_UNKNOWN_FINAL || (spare->detail == AION_SPARE_UNKNOWN && list);
        if (counts && (!spare->hold || spare->hold - 1 < before))
            return true;
    }
}

/* True if a transaction of unknown outcome may have written what was read. */
static bool is_held(const struct iso_aion_shard *shard, const struct aion_key *key, const struct aion_look *look)
{
    const struct aion_run *spares = key->rare ? &shard->rares[key->rare].spares : NULL;
    if (!spares || !spares->count || !aion_is_unknown(aion_run_last(&shard->pool, spares)))
        return false;
    if (!aion_key_is_list(key))
        return may_be_written(shard, spares, false, look->value, look->before);
    if (look->value == ISO_ABSENT)
        return false;
    const struct aion_list *list = aion_pool_at(&shard->pool, look->value);
    for (uint32_t i = 0; i < list->count; i++) {
        if (may_be_written(shard, spares, true, list->elements[i], look->before))
            return true;
    }
    return false;
}

enum aion_state aion_judge(struct iso_aion_shard *shard, const struct aion_key *key, const struct aion_look *look,
                           uint32_t transaction)
{
    enum aion_state state = aion_compare(shard, key, look, transaction);
    return state == AION_WRONG && is_held(shard, key, look) ? AION_HELD : state;
}

/* The case of a part's read that is one of several. */
static uint32_t group_case(struct iso_aion_shard *shard, uint32_t key, uint32_t transaction,
                           const struct aion_look *look)
{
    for (uint32_t i = 0; i < shard->group_count; i++) {
        if (shard->cases[shard->groups[i]].key == key) {
            aion_case_add(shard, shard->groups[i], look);
            return shard->groups[i];
        }
    }
    if (shard->group_count == shard->group_capacity) {
        shard->group_capacity = shard->group_capacity ? shard->group_capacity * 2 : 16;
        shard->groups = iso_reallocate(shard->groups, shard->group_capacity * sizeof *shard->groups);
    }
    uint32_t number = aion_case_new(shard, key, transaction, look);
    shard->groups[shard->group_count++] = number;
    return number;
}

static void keep_read(struct iso_aion_shard *shard, struct aion_key *key, const struct aion_look *look,
                      uint32_t transaction, uint32_t detail)
{
    struct aion_entry entry = {.time = look->bound,
                               .hold = look->before,
                               .value = look->value,
                               .transaction = transaction,
                               .detail = detail,
                               .operation = look->operation | (look->own ? AION_READ_OWN : 0)};
    if (aion_run_full(&shard->pool, &key->reads)) {
        aion_trim_reads(shard, key);
        aion_run_make_room(&shard->pool, &key->reads);
    }
    struct aion_place place = look->bound >= key->last_read ? aion_run_end(&shard->pool, &key->reads)
                                                            : aion_run_lower(&shard->pool, &key->reads, look->bound);
    aion_run_insert(&shard->pool, &key->reads, place, &entry);
    key->last_read = look->bound > key->last_read ? look->bound : key->last_read;
    if (look->own)
        key->flags |= AION_KEY_OWN;
    if (aion_key_is_list(key) || aion_value_is_entry(look->value))
        key->flags |= AION_KEY_ENTRIES;
    aion_note_reader(shard, look->bound);
    shard->stats.open_reads++;
}

/* SER: a writer of the key at the reader's own cts makes an edge. */
static void note_tie(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t transaction)
{
    const struct aion_transaction *reader = &shard->transactions[transaction];
    if (shard->level != ISO_SER || (reader->flags & ISO_POINT) || key->newest_time < reader->cts)
        return;
    struct aion_place place = aion_run_lower(&shard->pool, &key->versions, reader->cts);
    for (;; aion_run_next(&shard->pool, &key->versions, &place)) {
        const struct aion_entry *version = aion_run_get(&shard->pool, &key->versions, place);
        if (!version || version->time != reader->cts)
            return;
        if (version->transaction != transaction) {
            aion_tie_note(shard, key, reader->cts);
            return;
        }
    }
}

/* Empties the run of reads if no version to come can change the latest of them: asked of the key's line only.
 */
static inline void drop_all_reads(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (!key->reads.count || !aion_may_drop_read(shard, key->last_read) || (key->flags & AION_KEY_ENTRIES) ||
        aion_run_chunks(&key->reads) > 1)
        return;
    shard->stats.open_reads -= key->reads.count;
    key->reads.count = 0;
    key->last_read = 0;
    key->flags &= ~AION_KEY_OWN;
}

/* The short way of nearly every read: of the newest version, right, in order, and there is room to keep it.
 * False: nothing was done that counts. */
static inline bool read_newest(struct iso_aion_shard *shard, const struct aion_part *part, const struct aion_step *step,
                               struct aion_key *key, uint32_t transaction)
{
    if (step->kind != AION_READ || step->detail || aion_value_is_entry(step->value) ||
        key->newest_time >= part->bound || step->value != key->newest_value)
        return false;
    if (aion_may_drop_read(shard, part->bound))
        return true;
    drop_all_reads(shard, key);
    if (part->bound < key->last_read)
        return false;
    struct aion_entry *entry = aion_run_append(&shard->pool, &key->reads, part->before);
    if (!entry)
        return false;
    *entry = (struct aion_entry){.time = part->bound,
                                 .hold = part->before,
                                 .value = step->value,
                                 .transaction = transaction,
                                 .operation = step->operation};
    key->last_read = part->bound;
    aion_note_reader(shard, part->bound);
    shard->stats.open_reads++;
    return true;
}

/* The value that a register was read with: mostly that of the newest version, which is cheaper to compare with than to
 * look up. */
static uint32_t value_read(struct iso_aion_shard *shard, const struct iso_atoms *atoms, const struct aion_key *key,
                           iso_atom value)
{
    bool here = atoms == &shard->values.atoms;
    if (!here && aion_value_is_entry(value) && !aion_key_is_list(key) &&
        aion_atoms_same(&shard->values.atoms, key->newest_value, atoms, value))
        return aion_values_hold(&shard->values, key->newest_value);
    return aion_values_take(&shard->values, atoms, value);
}

static struct aion_look look_of(struct iso_aion_shard *shard, const struct aion_batch *batch,
                                const struct aion_part *part, const struct aion_step *step, const struct aion_key *key)
{
    const struct aion_detail *detail = step->detail ? &batch->details[step->detail - 1] : NULL;
    struct aion_look look = {.bound = detail ? detail->time : part->bound,
                             .before = detail ? detail->before : part->before,
                             .operation = step->operation,
                             .own = step->flags & AION_OWN};
    if (step->kind == AION_READ)
        look.value = value_read(shard, batch->atoms, key, step->value);
    else /* no elements in the whole batch: no column */
        look.value = aion_list_new(shard, batch->atoms, batch->elements ? batch->elements + step->value : NULL,
                                   detail->count, detail->tail);
    return look;
}

/* The value of the version that a read of a register sees, if that stands near the end of the versions. */
static inline bool value_near(const struct iso_aion_shard *shard, const struct aion_key *key, uint64_t bound,
                              uint32_t *value)
{
    struct aion_near near;
    *value = key->newest_value;
    if (key->newest_time < bound)
        return true;
    if (!key->versions.count || !aion_run_near(&shard->pool, &key->versions, bound, &near) || !near.index)
        return false;
    *value = near.entries[near.index - 1].value;
    return true;
}

/* The way of most others: right, of one of the last versions, among the last reads. False: nothing was done
 * that counts. */
static inline bool read_near(struct iso_aion_shard *shard, const struct aion_part *part, const struct aion_step *step,
                             struct aion_key *key, uint32_t transaction)
{
    uint32_t expected;
    struct aion_near near;
    if (step->kind != AION_READ || step->detail || aion_value_is_entry(step->value) || aion_key_is_list(key) ||
        (shard->level == ISO_SER && key->newest_time >= part->cts) || !value_near(shard, key, part->bound, &expected) ||
        step->value != expected)
        return false;
    if (aion_may_drop_read(shard, part->bound))
        return true;
    if (!key->reads.count || !aion_run_near(&shard->pool, &key->reads, part->bound, &near) || !near.has_room)
        return false;
    struct aion_entry entry = {.time = part->bound,
                               .hold = part->before,
                               .value = step->value,
                               .transaction = transaction,
                               .operation = step->operation};
    aion_run_put_near(&shard->pool, &key->reads, &near, &entry);
    key->last_read = part->bound > key->last_read ? part->bound : key->last_read;
    aion_note_reader(shard, part->bound);
    shard->stats.open_reads++;
    return true;
}

/* The way of a read from long ago, right, of a version that is in the store and stays there. False: nothing was done
 * that counts, and all versions that the read looks at are in memory. */
static bool read_cut(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part,
                     const struct aion_step *step, struct aion_key *key)
{
    if (!(key->flags & AION_KEY_CUT))
        return false;
    uint64_t bound = step->detail ? batch->details[step->detail - 1].time : part->bound;
    bool alone = step->kind == AION_READ && !(step->flags & (AION_OWN | AION_GROUP)) &&
                 !(shard->level == ISO_SER && key->newest_time >= part->cts);
    if (alone && aion_may_drop_read(shard, bound) && aion_reads_cut(shard, key, bound, batch->atoms, step->value))
        return true;
    aion_join(shard, key, step->flags & AION_OWN ? 0 : bound < part->cts ? bound : part->cts);
    return false;
}

__attribute__((noinline)) static void read_with_care(struct iso_aion_shard *shard, const struct aion_batch *batch,
                                                     const struct aion_part *part, const struct aion_step *step,
                                                     uint32_t transaction)
{
    struct aion_key *key = &shard->keys[step->key];
    if (read_near(shard, part, step, key, transaction) || read_cut(shard, batch, part, step, key))
        return;
    struct aion_look look = look_of(shard, batch, part, step, key);
    uint32_t detail = 0;
    look.state = aion_judge(shard, key, &look, transaction);
    if (look.state == AION_UNDECIDED)
        shard->stats.reads_undecided++;
    if (key->versions.count)
        note_tie(shard, key, transaction);
    if (step->flags & AION_GROUP) {
        detail = group_case(shard, step->key, transaction, &look) + 1;
    } else if (look.state == AION_WRONG || look.state == AION_HELD) {
        detail = aion_case_new(shard, step->key, transaction, &look) + 1;
        aion_case_start(shard, detail - 1, ISO_NONE);
    }
    if (aion_may_drop_read(shard, look.bound) || look.state == AION_UNDECIDED)
        aion_value_drop(shard, key, look.value);
    else
        keep_read(shard, key, &look, transaction, detail);
}

void aion_read(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part,
               const struct aion_step *step, uint32_t transaction)
{
    if (!read_newest(shard, part, step, &shard->keys[step->key], transaction))
        read_with_care(shard, batch, part, step, transaction);
}

/* ---- judging again ---- */

/* What a case says of a read that was judged again. */
static void recheck_case(struct iso_aion_shard *shard, struct aion_entry *read, uint32_t operation,
                         enum aion_state state, uint32_t cause)
{
    aion_case_set(shard, read->detail - 1, operation, state, cause);
    if (state == AION_RIGHT && aion_case_end(shard, read->detail - 1))
        read->detail = 0;
}

/* `version`: the read, of a register, sees it now; NULL: what it sees is looked up. */
static void recheck(struct iso_aion_shard *shard, struct aion_key *key, struct aion_entry *read,
                    const struct aion_entry *version, uint32_t cause)
{
    uint32_t number = (uint32_t)(key - shard->keys);
    struct aion_look look = {.bound = read->time,
                             .before = read->hold,
                             .value = read->value,
                             .operation = read->operation & ~AION_READ_OWN,
                             .own = read->operation & AION_READ_OWN};
    enum aion_state state;
    shard->stats.rechecks++;
    if (version && read->value == version->value)
        state = AION_RIGHT;
    else if (version)
        state = is_held(shard, key, &look) ? AION_HELD : AION_WRONG;
    else
        state = aion_judge(shard, key, &look, read->transaction);
    if (read->detail) {
        recheck_case(shard, read, look.operation, state, cause);
        return;
    }
    if (state == AION_RIGHT)
        return;
    look.state = (uint8_t)state;
    read->detail = aion_case_new(shard, number, read->transaction, &look) + 1;
    shard->transactions[read->transaction].flips += state == AION_WRONG;
    shard->stats.reads_undecided += state == AION_UNDECIDED;
    aion_case_start(shard, read->detail - 1, cause);
}

/* The reads that see a version of a register now, where they stand near the end. */
static void recheck_near(struct iso_aion_shard *shard, struct aion_key *key, const struct aion_near *near,
                         const struct aion_entry *version, uint64_t successor)
{
    for (uint32_t i = near->index; i < near->count && near->entries[i].time <= successor; i++) {
        if (near->entries[i].transaction != version->transaction)
            recheck(shard, key, &near->entries[i], version, version->transaction);
    }
}

/* A version has come: of registers, the reads between it and its successor see it now; of lists all above it
 * do. */
void aion_recheck_version(struct iso_aion_shard *shard, struct aion_key *key, const struct aion_entry *version,
                          uint64_t successor)
{
    if (key->last_read <= version->time || !key->reads.count)
        return;
    bool all = aion_key_is_list(key) || (key->flags & AION_KEY_OWN);
    uint64_t from = version->time < shard->passed ? shard->passed : version->time;
    uint32_t cause = version->transaction;
    struct aion_near near;
    if (!all && aion_run_near(&shard->pool, &key->reads, aion_above(from), &near)) {
        recheck_near(shard, key, &near, version, successor);
        return;
    }
    struct aion_place place = aion_run_lower(&shard->pool, &key->reads, aion_above(from));
    for (;; aion_run_next(&shard->pool, &key->reads, &place)) {
        struct aion_entry *read = aion_run_get(&shard->pool, &key->reads, place);
        if (!read || (!all && read->time > successor))
            return;
        if (read->transaction != cause || (read->operation & AION_READ_OWN))
            recheck(shard, key, read, all ? NULL : version, cause);
    }
}

/* What transactions of unknown outcome wrote has changed. */
void aion_recheck_cases(struct iso_aion_shard *shard, struct aion_key *key, uint32_t cause)
{
    if (!key->rare)
        return;
    if (key->flags & AION_KEY_CUT && shard->rares[key->rare].first_case)
        aion_join_all(shard, key);
    for (uint32_t at = shard->rares[key->rare].first_case, next; at; at = next) {
        next = shard->cases[at - 1].next;
        for (uint32_t i = 0; i < shard->cases[at - 1].look_count; i++) {
            struct aion_case *subject = &shard->cases[at - 1];
            const struct aion_look *look = subject->more ? &subject->more[i] : &subject->look;
            if (look->state != AION_WRONG && look->state != AION_HELD)
                continue;
            enum aion_state state = aion_judge(shard, key, look, subject->transaction);
            shard->stats.rechecks++;
            aion_case_set(shard, at - 1, look->operation, state, cause);
        }
    }
}
