/* Rows whose images are as of the start of their transaction.
 *
 * YugabyteDB reads a row's image, and the columns that an update left alone, as of just before its
 * transaction's commit time: what the transaction itself wrote before is in neither (but with
 * cdc_enable_intra_transactional_before_image, which no message tells). So of the second row of a
 * key in a transaction the row before says nothing, and a value is known where it was written, or
 * is what the row before it left whichever of both it may be.
 */
#include <assert.h>

#include "join/join_private.h"
#include "verdict/unjudged.h"

/* The row of the key that the transaction had last before `row`, or ISO_NONE. */
static uint32_t earlier_of(const struct iso_join *join, const struct join_transaction *transaction,
                           uint32_t row)
{
    uint32_t found = ISO_NONE;
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next)
        if (r != row && join->rows.list[r].key == join->rows.list[row].key &&
            (found == ISO_NONE || join->rows.list[r].rank > join->rows.list[found].rank))
            found = r;
    return found;
}

static void forget_after(struct iso_join *join, struct join_row *row)
{
    row->flags &= (uint8_t)~JOIN_ROW_AFTER;
    row->after = iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_LOSSY);
    join->stats.unknown_values++;
}

void join_weigh_image(struct iso_join *join, uint32_t transaction, uint32_t row, bool written)
{
    uint32_t number = earlier_of(join, &join->open.list[transaction], row);
    struct join_row *it = &join->rows.list[row];
    assert(transaction < join->open.count);
    if (number == ISO_NONE)
        return;
    const struct join_row *earlier = &join->rows.list[number];
    bool found_earlier = it->flags & JOIN_ROW_BEFORE && earlier->flags & JOIN_ROW_AFTER &&
                         it->before == earlier->after,
         left_earlier = earlier->flags & JOIN_ROW_AFTER && it->after == earlier->after;
    it->flags &= (uint8_t)~JOIN_ROW_BEFORE;
    if (!(earlier->flags & JOIN_ROW_UNTOUCHED)) /* the transaction inserted the row */
        it->flags &= (uint8_t)~JOIN_ROW_UNTOUCHED;
    if (it->operation == ISO_ROW_UPDATE && it->flags & JOIN_ROW_AFTER && !written &&
        !found_earlier && !left_earlier)
        forget_after(join, it);
}

/* A cell that is not among those of `row` may have been set to what the transaction found. */
void join_weigh_cells(struct iso_join *join, uint32_t transaction, uint32_t row)
{
    const struct join_chain *rows = &join->open.list[transaction].rows;
    const struct join_row *whole = &join->rows.list[row];
    assert(transaction < join->open.count);
    for (uint32_t i = 0, r = rows->first; i < rows->count; i++, r = join->rows.list[r].next) {
        struct join_row *it = &join->rows.list[r];
        const struct join_key *state = &join->keys.list[it->key];
        if (state->part == JOIN_PART_CELL && state->of_row == whole->key &&
            it->rank < whole->rank && it->flags & JOIN_ROW_AFTER && it->operation != ISO_ROW_DELETE)
            forget_after(join, it);
    }
}
