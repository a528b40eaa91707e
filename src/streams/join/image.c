/* Rows whose images are as of the start of their transaction.
 *
 * YugabyteDB reads a row's image, and the columns that an update left alone, as of just before its
 * transaction's commit time: what the transaction itself wrote before is in neither (but with
 * cdc_enable_intra_transactional_before_image, which no message tells). So of the second row of a
 * key in a transaction the row before says nothing, and a value is known where it was written, or
 * is what the row before it left whichever of both it may be.
 *
 * Rows are weighed once they are looked at, in the order of the writes, whatever order they arrived
 * in: each against the one right before it. Cost: a sort of the transaction's rows each time that
 * some have arrived behind others of their key.
 */
#define _GNU_SOURCE

#include "base/memory.h"
#include "join/join_private.h"
#include "verdict/unjudged.h"

/* The key of the row that a cell is of, or the row's own. */
static uint32_t row_key(const struct iso_join *join, uint32_t row)
{
    const struct join_key *state = &join->keys.list[join->rows.list[row].key];
    return state->part == JOIN_PART_CELL ? state->of_row : join->rows.list[row].key;
}

/* By row, by rank; the row itself stands before its cells, which have its rank. */
static int compare_rows(const void *left, const void *right, void *context)
{
    const struct iso_join *join = context;
    uint32_t one = *(const uint32_t *)left, other = *(const uint32_t *)right;
    const struct join_row *a = &join->rows.list[one], *b = &join->rows.list[other];
    uint32_t x = row_key(join, one), y = row_key(join, other);
    bool x_is_cell = x != a->key, y_is_cell = y != b->key;
    return x != y                   ? (x < y ? -1 : 1)
           : a->rank != b->rank     ? (a->rank < b->rank ? -1 : 1)
           : x_is_cell != y_is_cell ? (y_is_cell ? -1 : 1)
                                    : (one > other) - (one < other);
}

static void forget_after(struct iso_join *join, struct join_row *row)
{
    if (!(row->flags & JOIN_ROW_AFTER))
        return;
    row->flags &= (uint8_t)~JOIN_ROW_AFTER;
    row->after = iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_LOSSY);
    join->stats.unknown_values++;
}

static void weigh_row(struct iso_join *join, struct join_row *it, const struct join_row *earlier)
{
    bool found_earlier = it->flags & JOIN_ROW_BEFORE && earlier->flags & JOIN_ROW_AFTER &&
                         it->before == earlier->after,
         left_earlier = earlier->flags & JOIN_ROW_AFTER && it->after == earlier->after;
    it->flags &= (uint8_t)~JOIN_ROW_BEFORE;
    if (!(earlier->flags & JOIN_ROW_UNTOUCHED)) /* the transaction inserted the row */
        it->flags &= (uint8_t)~JOIN_ROW_UNTOUCHED;
    if (it->operation == ISO_ROW_UPDATE && !(it->flags & JOIN_ROW_WRITTEN) && !found_earlier &&
        !left_earlier)
        forget_after(join, it);
}

/* A cell that is not among those of a later update of its row may have been set back to what the
 * transaction found. */
static void weigh_cells(struct iso_join *join, const uint32_t *rows, uint32_t count, uint64_t rank)
{
    for (uint32_t i = 0; i < count; i++) {
        struct join_row *it = &join->rows.list[rows[i]];
        if (join->keys.list[it->key].part == JOIN_PART_CELL && it->rank < rank &&
            it->operation != ISO_ROW_DELETE)
            forget_after(join, it);
    }
}

static void weigh_sorted(struct iso_join *join, const uint32_t *rows, uint32_t count)
{
    uint32_t mark = ++join->counters.marks, fresh = 0; /* cells from there on were not weighed */
    for (uint32_t i = 0; i < count; i++) {
        struct join_row *it = &join->rows.list[rows[i]];
        struct join_key *state = &join->keys.list[it->key];
        bool is_cell = state->part == JOIN_PART_CELL;
        if (i && row_key(join, rows[i]) != row_key(join, rows[i - 1]))
            fresh = i;
        if (state->mark == mark)
            weigh_row(join, it, &join->rows.list[state->row]);
        state->mark = mark;
        state->row = rows[i];
        if (is_cell || it->operation != ISO_ROW_UPDATE || it->flags & JOIN_ROW_WRITTEN)
            continue;
        weigh_cells(join, rows + fresh, i - fresh, it->rank);
        fresh = i;
    }
}

void join_weigh_images(struct iso_join *join, struct join_transaction *transaction)
{
    if (!(transaction->flags & JOIN_UNWEIGHED))
        return;
    uint32_t count = transaction->rows.count, *rows = iso_allocate(count * sizeof *rows);
    for (uint32_t i = 0, r = transaction->rows.first; i < count; i++, r = join->rows.list[r].next)
        rows[i] = r;
    qsort_r(rows, count, sizeof *rows, compare_rows, join);
    weigh_sorted(join, rows, count);
    iso_free(rows);
    transaction->flags &= ~JOIN_UNWEIGHED;
}
