/* What is missing behind the extent (extent.h): which collections a transaction lacks rows of, and
 * what follows.
 *
 * END counts the events of each collection. Where fewer came once no more can, the rest is lost:
 * what they wrote is of unknown value right behind the transaction's commit, for as long as nobody
 * writes it again. Which keys that are, its client's record may say; else it may be every key of
 * the collection. A transaction whose END itself was lost may lack rows of any collection. Where
 * positions rise (PostgreSQL) a key that is of unknown value already is not given one again: a
 * partition that lags by thousands costs no more than one that lags by one.
 */
#include <assert.h>

#include "base/memory.h"
#include "join/join_private.h"
#include "verdict/unjudged.h"

/* ---- what END counts ---- */

void join_count_collection(struct iso_join *join, const struct join_table *table, uint64_t count)
{
    struct join_end *end = &join->end;
    ISO_GROW(end->counted, end->counted_count, end->counted_capacity);
    end->counted[end->counted_count++] =
        (struct join_counted){(uint32_t)(table - join->tables.list), count};
}

/* The entry of the table's events in the transaction. */
static uint32_t entry_of(struct iso_join *join, uint32_t number, uint32_t table)
{
    assert(number < join->open.count);
    struct join_chain *counted = &join->open.list[number].counted;
    uint32_t row = counted->first;
    for (uint32_t i = 0; i < counted->count; i++, row = join->rows.list[row].next)
        if (join->rows.list[row].key == table)
            return row;
    row = join_new_row(join, counted);
    join->rows.list[row].key = table;
    return row;
}

void join_note_collections(struct iso_join *join, uint32_t number)
{
    const struct join_end *end = &join->end;
    for (uint32_t i = 0; i < end->counted_count; i++) {
        uint32_t row = entry_of(join, number, end->counted[i].table); /* rows move */
        struct join_row *entry = &join->rows.list[row];
        entry->ordinal =
            end->counted[i].count > entry->ordinal ? end->counted[i].count : entry->ordinal;
    }
}

void join_count_other(struct iso_join *join, uint32_t number, const struct join_table *table)
{
    uint32_t row = entry_of(join, number, (uint32_t)(table - join->tables.list)); /* rows move */
    join->rows.list[row].rank++;
}

/* Whether a message is about the row, and not about one that it is a column of, or about its whole
 * table. */
static bool is_message_of(const struct iso_join *join, const struct join_row *row, uint32_t table)
{
    const struct join_key *state = &join->keys.list[row->key];
    return state->of_table == table && state->part != JOIN_PART_CELL &&
           !(row->flags & JOIN_ROW_DROPPED);
}

void join_tell_lost(const struct iso_join *join, const struct join_transaction *transaction,
                    uint32_t table, struct iso_join_lost *lost)
{
    if (!transaction)
        return;
    lost->end = transaction->flags & JOIN_ENDED ? transaction->ended : UINT64_MAX;
    for (uint32_t i = 0, r = transaction->counted.first; i < transaction->counted.count;
         i++, r = join->rows.list[r].next)
        if (join->rows.list[r].key == table) {
            lost->counted = join->rows.list[r].ordinal;
            lost->came = join->rows.list[r].rank;
        }
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next) {
        const struct join_row *row = &join->rows.list[r];
        if (!is_message_of(join, row, table))
            continue;
        lost->came++;
        lost->first = row->origin < lost->first ? row->origin : lost->first;
        lost->last =
            lost->last == UINT64_MAX || row->origin > lost->last ? row->origin : lost->last;
    }
}

/* ---- what is lacking ---- */

static uint64_t rows_of(const struct iso_join *join, const struct join_transaction *transaction,
                        uint32_t table)
{
    uint64_t rows = 0;
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next)
        rows += is_message_of(join, &join->rows.list[r], table);
    return rows;
}

/* Events of the table, which is not covered any more, are not waited for: neither what ENDs counted
 * of it nor what came says whether a transaction is whole. */
void join_count_uncovered(struct iso_join *join, uint32_t table)
{
    for (uint32_t i = join->open.oldest, next; i != ISO_NONE; i = next) {
        struct join_transaction *transaction = &join->open.list[i];
        const struct join_chain *counted = &transaction->counted;
        uint32_t r = counted->first, left = counted->count;
        next = transaction->newer;
        transaction->uncovered += (uint32_t)rows_of(join, transaction, table);
        for (; left && join->rows.list[r].key != table; left--)
            r = join->rows.list[r].next;
        if (left) {
            struct join_row *entry = &join->rows.list[r];
            assert(transaction->expected >= entry->ordinal &&
                   transaction->covered_others >= entry->rank);
            transaction->expected -= entry->ordinal;
            transaction->covered_others -= (uint32_t)entry->rank;
            entry->ordinal = entry->rank = 0;
        }
        join_check_complete(join, i);
    }
}

static void mark(struct iso_join *join, uint32_t table)
{
    join->tables.list[table].lacks = join->counters.lacks;
}

static void mark_counted(struct iso_join *join, const struct join_transaction *transaction)
{
    const struct join_chain *counted = &transaction->counted;
    for (uint32_t i = 0, r = counted->first; i < counted->count; i++, r = join->rows.list[r].next) {
        const struct join_row *entry = &join->rows.list[r];
        if (rows_of(join, transaction, entry->key) + entry->rank < entry->ordinal)
            mark(join, entry->key);
    }
}

static void mark_all(struct iso_join *join)
{
    for (uint32_t table = 0; table < join->tables.count; table++)
        if (!join->tables.list[table].is_column && join_is_covered(join, &join->tables.list[table]))
            mark(join, table);
}

/* Its END was lost, where ENDs come. */
static bool lacks_end(const struct iso_join *join, const struct join_transaction *transaction)
{
    return join->capability->closing == JOIN_CLOSES_AT_END && join->source.has_ends &&
           !(transaction->flags & (JOIN_ENDED | JOIN_COMPLETE)) &&
           (transaction->rows.count || transaction->identity.tag == JOIN_BY_XID);
}

static bool lacks_rows(const struct join_transaction *transaction)
{
    return transaction->flags & JOIN_ENDED && join_events_of(transaction) < transaction->expected;
}

bool join_mark_lacking(struct iso_join *join, const struct join_transaction *transaction)
{
    join->counters.lacks++;
    if (lacks_rows(transaction) && transaction->flags & JOIN_COLLECTED)
        mark_counted(join, transaction);
    else if (lacks_rows(transaction) || lacks_end(join, transaction))
        mark_all(join);
    else
        return false;
    return true;
}

bool join_is_table_lacking(const struct iso_join *join, uint32_t table)
{
    uint32_t lacks = join->tables.list[table].lacks;
    return lacks && lacks == join->counters.lacks;
}

bool join_is_lacking(const struct iso_join *join, uint32_t key)
{
    return join_is_table_lacking(join, join->keys.list[key].of_table);
}

/* ---- what follows ---- */

static void lose_key(struct iso_join *join, uint32_t key, uint64_t position, uint64_t origin)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    bool rises = join->positions.active;
    if (state->is_header || (rises && state->lost))
        return;
    state->lost = true;
    join_unlearn(join, key);
    join_emit_table_version(join, key,
                            iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_INCOMPLETE),
                            position, origin);
}

/* One that clients ask for, or the stream names, is a key; others get their version when they
 * become one (change.c). */
static void lose_table(struct iso_join *join, uint32_t table, uint64_t position, uint64_t origin)
{
    join->tables.list[table].has_lost = true;
    for (uint32_t key = 0; key < join->keys.names.keys.count; key++)
        if (join->keys.list[key].of_table == table)
            lose_key(join, key, position, origin);
    join_add_lost(join, table, position, origin);
}

/* Nothing more arrives. PostgreSQL: the last changes of a table, which were lost, may have shown
 * that its columns are others (join_emit_respelt). */
void join_lose_columns(struct iso_join *join)
{
    const struct join_changes *changes = &join->changes;
    iso_atom unknown = iso_value_unknown(&join->texts.atoms, ISO_UNJUDGED_INCOMPLETE);
    uint32_t *lost = iso_numbers_none(join->tables.count); /* by table: a change behind its rows */
    for (uint32_t i = 0; join->positions.active && i < changes->count; i++) {
        const struct join_change *change = &changes->list[i];
        uint64_t newest = join->tables.list[change->table].newest;
        if (change->kind == ISO_TABLE_LOST && newest && newest < change->position)
            lost[change->table] = i;
    }
    for (uint32_t key = 0; key < join->keys.names.keys.count; key++) {
        const struct join_key *state = &join->keys.list[key];
        uint32_t table = state->of_table;
        if (lost[table] != ISO_NONE && state->part != JOIN_PART_ROW && !state->is_header)
            join_emit_table_version(join, key, unknown, join->tables.list[table].newest + 1,
                                    changes->list[lost[table]].origin);
    }
    iso_free(lost);
}

/* Whether as many changes of the row came as the record says it made. */
static bool is_whole(struct iso_join *join, uint32_t row, uint32_t finals)
{
    const struct join_tally *tally = join_tally_of(join, row);
    return tally->writes ? tally->changes >= tally->writes : join->keys.list[row].mark == finals;
}

/* Loses the keys that the record lists and whose rows lack, or came in part; of rows whose columns
 * are cells all cells.
 */
static void lose_listed(struct iso_join *join, const struct join_record *record,
                        const struct join_transaction *transaction, uint64_t position)
{
    uint32_t finals = join_mark_finals(join, transaction), listed = ++join->counters.marks;
    join_tally(join, record, transaction);
    for (uint32_t i = 0, w = record->writes.first; i < record->writes.count;
         i++, w = join->rows.list[w].next) {
        uint32_t key = join->rows.list[w].key;
        const struct join_key *state = &join->keys.list[key];
        if (!join_is_lacking(join, key) ||
            is_whole(join, state->part == JOIN_PART_CELL ? state->of_row : key, finals))
            continue;
        join->keys.list[key].mark = listed;
        lose_key(join, key, position, record->origin);
    }
    for (uint32_t key = 0; key < join->keys.names.keys.count; key++) {
        const struct join_key *state = &join->keys.list[key];
        if (state->part == JOIN_PART_CELL && join->keys.list[state->of_row].mark == listed)
            lose_key(join, key, position, record->origin);
    }
}

/* Whether clients list all that they write there. */
static bool is_listed(const struct iso_join *join, const struct join_record *record, uint32_t table)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!record || record->flags & (JOIN_RECORD_TAKES | JOIN_RECORD_LISTS))
        return false;
    const char *name =
        iso_atom_text(&join->keys.names.atoms, join->tables.list[table].name, buffer, &length);
    return !join->options.is_unreported ||
           !join->options.is_unreported(join->options.context, name, length);
}

/* Whether the record or the stream says that the transaction wrote there: of the tables that it may
 * lack rows of only those are named. */
static bool is_named(struct iso_join *join, const struct join_transaction *transaction,
                     const struct join_record *record, uint32_t table)
{
    if (lacks_rows(transaction) || rows_of(join, transaction, table))
        return true;
    for (uint32_t i = 0, w = record ? record->writes.first : 0; record && i < record->writes.count;
         i++, w = join->rows.list[w].next)
        if (join->keys.list[join->rows.list[w].key].of_table == table)
            return true;
    return false;
}

void join_lose(struct iso_join *join, uint32_t number, uint32_t of, uint64_t cts)
{
    assert(number < join->open.count);
    const struct join_transaction *transaction = &join->open.list[number];
    const struct join_record *record = of == ISO_NONE ? NULL : &join->records.list[of];
    uint64_t behind = cts + join->capability->positions;
    if (!join_mark_lacking(join, transaction))
        return;
    join->stats.incomplete++;
    for (uint32_t i = 0, r = transaction->rows.first; cts && i < transaction->rows.count;
         i++, r = join->rows.list[r].next)
        if (join_is_lacking(join, join->rows.list[r].key))
            join_unlearn(join, join->rows.list[r].key);
    if (cts && record && !(record->flags & JOIN_RECORD_TAKES))
        lose_listed(join, record, transaction, behind);
    for (uint32_t table = 0; table < join->tables.count; table++) {
        if (!join_is_table_lacking(join, table))
            continue;
        bool unknown = cts && !is_listed(join, record, table),
             named = is_named(join, transaction, record, table);
        if (unknown)
            lose_table(join, table, behind, transaction->origin);
        if (unknown || named)
            join_emit_lost(join, transaction, record ? record->tid : ISO_ABSENT, table,
                           unknown ? behind : 0, named);
    }
}

void join_find_again(struct iso_join *join, const struct join_transaction *transaction,
                     uint32_t record)
{
    const struct join_chain *writes =
        record == ISO_NONE ? NULL : &join->records.list[record].writes;
    for (uint32_t i = 0, w = writes ? writes->first : 0; writes && i < writes->count;
         i++, w = join->rows.list[w].next)
        join->keys.list[join->rows.list[w].key].lost = false;
    for (uint32_t i = 0, r = transaction->rows.first; i < transaction->rows.count;
         i++, r = join->rows.list[r].next)
        join->keys.list[join->rows.list[r].key].lost = false;
}

static void lose_all(struct iso_join *join, const struct join_record *record, uint64_t cts)
{
    static const struct join_transaction nothing = {.rows = {ISO_NONE, ISO_NONE, 0}};
    join->counters.lacks++;
    for (uint32_t i = 0, w = record->writes.first; i < record->writes.count;
         i++, w = join->rows.list[w].next)
        mark(join, join->keys.list[join->rows.list[w].key].of_table);
    lose_listed(join, record, &nothing, cts + join->capability->positions);
}

void join_lose_whole(struct iso_join *join, uint32_t number, uint64_t cts)
{
    assert(number < join->records.count);
    const struct join_record *record = &join->records.list[number];
    join->stats.incomplete++;
    lose_all(join, record, cts);
    for (uint32_t table = 0; table < join->tables.count; table++)
        if (join_is_table_lacking(join, table))
            join_emit_lost(join, NULL, record->tid, table, 0, true);
}

void join_lose_moment(struct iso_join *join, uint32_t number, uint64_t from)
{
    assert(number < join->records.count);
    const struct join_record *record = &join->records.list[number];
    if (from)
        lose_all(join, record, from);
    for (uint32_t i = 0, w = record->writes.first; !from && i < record->writes.count;
         i++, w = join->rows.list[w].next)
        join->keys.list[join->rows.list[w].key].is_misplaced = true;
}
