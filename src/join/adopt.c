/* What a client wrote without listing it: its transaction's rows become its writes.
 *
 * A record with an id of the stream and no writes at all, or one that says "writes":"cdc", leaves them to the stream.
 * They stand behind its other operations, since nobody says when they were written; so a read of such a key may have
 * come after the write, and is not judged where it shows one of the transaction's own values.
 */
#include "history/copy.h"
#include "join/join_private.h"

bool join_takes_writes(const struct iso_history *block, uint32_t transaction)
{
    bool leaves_writes = block->marks && block->marks[transaction] & ISO_MARK_CDC_WRITES;
    bool has_id = block->xid && block->xid[transaction];
    return leaves_writes || (has_id && !(block->flags[transaction] & ISO_WRITES));
}

/* Whether a read shows what the transaction itself wrote, as far as the stream says. */
static bool shows_own(struct iso_join *join, const struct join_transaction *transaction, uint32_t key, iso_atom value)
{
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count; i++, r = join->rows.list[r].next)
        if (join->rows.list[r].key == key &&
            (join->rows.list[r].after == value || !(join->rows.list[r].flags & JOIN_ROW_AFTER)))
            return true;
    return false;
}

static void copy_operations(struct iso_join *join, struct join_record *record,
                            const struct join_transaction *transaction)
{
    const struct iso_history *kept = &join->records.kept;
    bool in_place = record->unplaced > 1; /* snapshots of its operations, by their number, still wait for a position */
    for (uint32_t o = kept->first_operation[record->kept]; o < kept->first_operation[record->kept + 1]; o++) {
        uint32_t key = join_key_find(join, &kept->atoms, kept->key_atom[kept->key[o]]);
        bool is_read = iso_kind_of(kept, o) == ISO_READ;
        iso_atom value = is_read ? iso_atoms_copy(&join->texts.atoms, &kept->atoms, kept->value[o]) : ISO_ABSENT;
        if (is_read && !in_place && shows_own(join, transaction, key, value)) {
            join->stats.reads_gone[ISO_READS_OWN_ORDER]++;
            record->reads--;
            continue;
        }
        iso_history_copy_operation(&join->scratch.adopted, kept, o, true);
    }
}

static bool is_listed(const struct iso_join *join, const struct join_record *record, uint32_t key)
{
    for (uint32_t i = 0, w = record->writes.first; i < record->writes.count; i++, w = join->rows.list[w].next)
        if (join->rows.list[w].key == key)
            return true;
    return false;
}

uint32_t join_adopt(struct iso_join *join, uint32_t number, uint32_t delivered)
{
    struct join_record *record = &join->records.list[number];
    if (!(record->flags & JOIN_RECORD_TAKES) || record->kept == ISO_NONE)
        return 0;
    const struct join_transaction *transaction = &join->open.list[delivered];
    struct iso_history *adopted = &join->scratch.adopted;
    join_spell_kept(join, record);
    iso_history_clear(adopted);
    adopted->clock = ISO_CLOCK_SCALAR;
    adopted->positions_known = true;
    join_copy_head(adopted, &join->records.kept, record->kept);
    copy_operations(join, record, transaction);
    uint32_t mark = join_mark_finals(join, transaction), count = 0;
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count; i++, r = join->rows.list[r].next) {
        const struct join_row *row = &join->rows.list[r];
        if (!join_is_final(join, r, mark) || row->flags & (JOIN_ROW_DROPPED | JOIN_ROW_UNREPORTED) ||
            is_listed(join, record, row->key))
            continue;
        iso_atom key = iso_atoms_copy(&adopted->atoms, &join->keys.names.atoms, join->keys.names.key_atom[row->key]);
        bool deletes = row->flags & JOIN_ROW_AFTER && row->after == ISO_ABSENT;
        iso_history_operation(adopted, deletes ? ISO_DELETE : ISO_WRITE, key,
                              iso_atoms_copy(&adopted->atoms, &join->texts.atoms, row->after));
        count++;
    }
    record->kept = join_copy_whole(&join->records.kept, adopted, 0);
    join->stats.adopted += count > 0;
    return count;
}
