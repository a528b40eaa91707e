/* Records of unknown outcome from sources that share no id with the client (Dgraph).
 *
 * Such a record is the one transaction of the stream that no client claims, that has its whole
 * final write set and that commits after it started. Where several fit, or one fits several
 * records, it stays unknown.
 */
#include <assert.h>

#include "base/memory.h"
#include "join/join_private.h"

enum { SEVERAL = ISO_NONE - 1 };

struct candidate {
    uint32_t record;
    uint32_t found; /* the transaction that fits, ISO_NONE, or SEVERAL */
};

/* A record is looked for under the first of its final writes that has a value. */
static struct join_identity anchor_of(const struct join_row *row)
{
    return (struct join_identity){(uint64_t)row->key << 32 | row->after, JOIN_BY_CTS};
}

static bool fits(struct iso_join *join, const struct join_transaction *transaction,
                 const struct join_record *record)
{
    if (!(transaction->flags & JOIN_HAS_CTS) || !(record->flags & JOIN_RECORD_STS) ||
        transaction->cts <= record->sts)
        return false;
    uint32_t mark = join_mark_finals(join, transaction);
    for (uint32_t i = 0, w = record->writes.first; i < record->writes.count;
         i++, w = join->rows.list[w].next) {
        const struct join_key *state = &join->keys.list[join->rows.list[w].key];
        bool there = state->mark == mark;
        if (there ? join->rows.list[state->row].after != join->rows.list[w].after
                  : join->rows.list[w].after != ISO_ABSENT)
            return false;
    }
    return true;
}

/* By anchor: the first candidate; the rest are chained by `next`. */
static uint32_t collect(struct iso_join *join, struct candidate *candidates, uint32_t *next,
                        struct join_map *anchors)
{
    uint32_t count = 0;
    for (uint32_t i = join->records.oldest; i != ISO_NONE; i = join->records.list[i].newer) {
        const struct join_record *record = &join->records.list[i];
        uint32_t w = record->writes.first, left = record->writes.count;
        if (record->status != ISO_UNKNOWN || record->identity_count)
            continue;
        while (left && join->rows.list[w].after == ISO_ABSENT) {
            w = join->rows.list[w].next;
            left--;
        }
        if (!left) { /* deletes leave no trace where there was nothing */
            next[count] = ISO_NONE;
            candidates[count++] = (struct candidate){i, SEVERAL};
            continue;
        }
        candidates[count] = (struct candidate){i, ISO_NONE};
        next[count] = join_map_get(anchors, anchor_of(&join->rows.list[w]));
        join_map_put(anchors, anchor_of(&join->rows.list[w]), count++);
    }
    return count;
}

static void match_transaction(struct iso_join *join, uint32_t number, struct candidate *candidates,
                              const uint32_t *next, const struct join_map *anchors)
{
    assert(number < join->open.count);
    const struct join_transaction *transaction = &join->open.list[number];
    uint32_t fitting = ISO_NONE;
    if (join_map_get(&join->records.by_claim, transaction->identity) != ISO_NONE)
        return;
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next) {
        uint32_t candidate = join_map_get(anchors, anchor_of(&join->rows.list[r]));
        for (; candidate != ISO_NONE; candidate = next[candidate]) {
            if (candidate == fitting ||
                !fits(join, transaction, &join->records.list[candidates[candidate].record]))
                continue;
            if (fitting != ISO_NONE)
                candidates[fitting].found = SEVERAL;
            candidates[candidate].found =
                fitting != ISO_NONE || candidates[candidate].found != ISO_NONE ? SEVERAL : number;
            fitting = candidate;
        }
    }
}

static void conclude(struct iso_join *join, const struct candidate *candidate)
{
    struct join_record *record = &join->records.list[candidate->record];
    if (candidate->found == SEVERAL) {
        join->stats.unresolved++;
        if (record->kept != ISO_NONE)
            join_emit_joined(join, &join->records.kept, record->kept,
                             join->records.kept.txns.sno[record->kept]);
        join_forget_record(join, candidate->record);
        return;
    }
    if (candidate->found == ISO_NONE)
        return;
    record->identity[0] = join->open.list[candidate->found].identity;
    record->identity_count = 1;
    join_enter_claim(join, candidate->record);
}

void join_match_unknown(struct iso_join *join)
{
    struct join_map anchors = {0};
    if (!join->records.unknown || !join->capability->unique_cts)
        return;
    struct candidate *candidates = iso_allocate(join->records.waiting * sizeof *candidates);
    uint32_t *next = iso_allocate(join->records.waiting * sizeof *next);
    uint32_t count = collect(join, candidates, next, &anchors);
    for (uint32_t number = join->open.oldest; count && number != ISO_NONE;
         number = join->open.list[number].newer)
        match_transaction(join, number, candidates, next, &anchors);
    for (uint32_t i = 0; i < count; i++)
        conclude(join, &candidates[i]);
    join->records.unknown = 0;
    join_map_release(&anchors);
    iso_free(candidates);
    iso_free(next);
}
