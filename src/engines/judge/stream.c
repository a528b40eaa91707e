/* Records that say only which rows were written: their values, and often other writers, stand in a
 * change stream.
 *
 * The same is true of all records of a recorder that says so: what rows had before nobody recorded.
 *
 * A finished history of such records has versions that nobody has shown, so no read of it can be
 * compared with any. Its reads are left out before it is judged and counted as unjudged
 * (`no-stream`); where snapshots and sessions stand, and which writers overlap, the records do say.
 */
#include <string.h>

#include "base/memory.h"
#include "base/number_map.h"
#include "base/text.h"
#include "judge/judge_private.h"

static uint32_t first_of(const struct iso_history *history, const struct iso_range *set)
{
    return history->txns.first_op[set->transaction] + set->first;
}

/* A record with a commit timestamp was joined with the stream: there a row without cells was
 * touched and not changed. One with "cells":{} was not joined. */
static bool leaves_out_cells(const struct iso_history *history, const struct iso_range *set)
{
    return set->form == ISO_SET_ROW && set->count == 1 &&
           iso_kind_of(history, first_of(history, set)) == ISO_WRITE &&
           (!(history->txns.flags[set->transaction] & ISO_HAS_CTS) ||
            iso_marks_of(history, set->transaction) & ISO_MARK_CELLS_OF_STREAM);
}

/* The table of a row, or of a cell if `of_cell`; ISO_ABSENT: it is none. */
static iso_atom table_of(struct iso_history *history, iso_atom key, bool of_cell)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&history->atoms, key, buffer, &length),
               *end = memchr(text, '/', length);
    if (!end || !memchr(end, '#', length - (size_t)(end - text)) == of_cell)
        return ISO_ABSENT;
    struct iso_text name = {0}; /* the table of atoms may move while it grows */
    iso_text_put_bytes(&name, text, (size_t)(end - text));
    iso_atom table = iso_atoms_text(&history->atoms, name.bytes, name.used);
    iso_text_release(&name);
    return table;
}

/* A row without cells is whole in a table that has nothing but its key: where nobody names a
 * cell. */
static uint32_t writer_without_cells(struct iso_history *history)
{
    struct iso_number_map writers = {0}; /* by table: the first */
    uint32_t writer = ISO_NONE;
    for (uint32_t i = 0; i < history->ranges.count; i++) {
        const struct iso_range *set = &history->ranges.list[i];
        if (!leaves_out_cells(history, set))
            continue;
        iso_atom key = history->keys.atom[history->ops.key[first_of(history, set)]];
        iso_number_map_add(&writers, table_of(history, key, false), set->transaction);
    }
    for (uint32_t key = 0; writers.count && key < history->keys.count; key++) {
        iso_atom table = table_of(history, history->keys.atom[key], true);
        uint32_t of_table =
            table == ISO_ABSENT ? ISO_NUMBER_NONE : iso_number_map_get(&writers, table);
        if (of_table != ISO_NUMBER_NONE && of_table < writer)
            writer = of_table;
    }
    iso_number_map_release(&writers);
    return writer;
}

static uint32_t find_writer(struct iso_history *history)
{
    for (uint32_t t = 0; history->txns.marks && t < history->txns.count; t++)
        if (history->txns.marks[t] & ISO_MARK_CDC_WRITES)
            return t;
    return writer_without_cells(history);
}

static void leave_out_reads(struct iso_history *history)
{
    bool *drops = iso_allocate_zeroed(history->ops.count + (size_t)1, sizeof *drops);
    uint32_t kept = 0, o = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint32_t end =
            t + 1 < history->txns.count ? history->txns.first_op[t + 1] : history->ops.count;
        bool counts = iso_status_of(history, t) == ISO_COMMITTED;
        for (; o < end; o++) {
            drops[o] = !iso_kind_writes(iso_kind_of(history, o));
            history->streamed.left_out += counts && drops[o];
        }
    }
    iso_history_drop_operations(history, drops);
    for (uint32_t i = 0; i < history->ranges.count; i++)
        if (history->ranges.list[i].count)
            history->ranges.list[kept++] = history->ranges.list[i];
    history->ranges.count = kept;
    iso_free(drops);
}

uint32_t iso_judge_needs_stream(struct iso_history *history)
{
    history->streamed.writer = find_writer(history);
    if (history->streamed.is_needed && history->streamed.writer == ISO_NONE && history->txns.count)
        history->streamed.writer = 0; /* its reader saw what others wrote */
    return history->streamed.writer;
}

void judge_leave_to_stream(struct iso_history *history)
{
    if (iso_judge_needs_stream(history) != ISO_NONE)
        leave_out_reads(history);
}
