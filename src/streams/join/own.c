#include "join/own.h"

#include <assert.h>

#include "base/memory.h"

uint32_t join_own_unit(const struct iso_join *join, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    const struct join_key *state = &join->keys.list[key];
    return state->part == JOIN_PART_CELL ? state->of_row : key;
}

/* ---- the states of rows ---- */

static uint32_t unit_of(const struct iso_join *join, const struct join_row *row)
{
    return join_own_unit(join, row->key);
}

/* Chains what changes left of a row. */
static void link_to_unit(struct iso_join *join, uint32_t unit, uint32_t number)
{
    struct join_tally *tally = join_tally_of(join, unit);
    if (tally->end)
        join->scratch.own.changes[tally->end - 1].next = number;
    else
        tally->next = number;
    tally->end = number;
}

/* Numbers the changes of each row. */
static void number_states(struct iso_join *join, const struct join_chain *rows)
{
    struct join_own *own = &join->scratch.own;
    own->change_count = 0;
    for (uint32_t i = 0, r = rows->first; i < rows->count; i++, r = join->rows.list[r].next) {
        const struct join_row *row = &join->rows.list[r];
        uint32_t unit = unit_of(join, row);
        struct join_tally *tally = join_tally_of(join, unit);
        tally->states += unit == row->key;
        tally->is_mixed |=
            !tally->states || (row->flags & (JOIN_ROW_DROPPED | JOIN_ROW_UNREPORTED));
        struct join_own_change change = {.row = r, .state = tally->states};
        tally = join_tally_of(join, row->key);
        change.previous = tally->latest;
        tally->latest = own->change_count + 1;
        ISO_GROW(own->changes, own->change_count, own->change_capacity);
        own->changes[own->change_count++] = change;
        link_to_unit(join, unit, own->change_count);
    }
}

/* A row that the record writes as often as it was changed, or more often, stands where the record
 * has it. */
static bool is_loose(struct iso_join *join, uint32_t unit, bool takes)
{
    const struct join_tally *tally = join_tally_of(join, unit);
    if (!tally->states || tally->is_mixed || tally->changes == UINT32_MAX)
        return false;
    return tally->writes ? tally->changes > tally->writes &&
                               (takes || join->keys.list[unit].part == JOIN_PART_ROW)
                         : takes;
}

static bool find_loose(struct iso_join *join, bool takes)
{
    struct join_own *own = &join->scratch.own;
    bool is_any = false;
    for (uint32_t i = 0; i < own->change_count; i++) {
        uint32_t key = join->rows.list[own->changes[i].row].key;
        if (join_own_unit(join, key) != key || !is_loose(join, key, takes))
            continue;
        struct join_tally *tally = join_tally_of(join, key);
        tally->is_loose = is_any = true;
        tally->bound = tally->states;
    }
    return is_any;
}

/* ---- what was seen of them ---- */

/* Whether the key can have the value in that state. What it had before its first change the engine
 * knows; the join only where a change says what it replaced, and that is what the snapshot has. */
static bool admits(struct iso_join *join, uint32_t key, iso_atom value, uint32_t state)
{
    const struct join_own *own = &join->scratch.own;
    const struct join_row *first = NULL;
    for (uint32_t i = join_tally_of(join, key)->latest; i; i = own->changes[i - 1].previous) {
        first = &join->rows.list[own->changes[i - 1].row];
        if (own->changes[i - 1].state <= state)
            return !(first->flags & JOIN_ROW_AFTER) ||
                   join_may_equal(join, key, first->after, value);
    }
    return !first || !own->has_snapshot || !(first->flags & JOIN_ROW_BEFORE) ||
           join_may_equal(join, key, first->before, value);
}

/* How many reads of the unit in operations `first` to `end` - 1 cannot be of that state. */
static uint32_t count_misfits(struct iso_join *join, uint32_t first, uint32_t end, uint32_t unit,
                              uint32_t state)
{
    const struct iso_history *kept = &join->records.kept;
    uint32_t misfits = 0;
    for (uint32_t o = first; o < end; o++) {
        uint32_t key = join_key_kept(join, o);
        if (iso_kind_of(kept, o) != ISO_READ || join_own_unit(join, key) != unit)
            continue;
        iso_atom value = iso_atoms_copy(&join->texts.atoms, &kept->atoms, kept->ops.value[o]);
        misfits += !admits(join, key, value, state);
    }
    return misfits;
}

/* Finds the one state of a unit that operations `first` to `end` - 1, of one statement, can have
 * read: the newest that fits all of them, or else the newest that fits most. */
static void look_at_unit(struct iso_join *join, uint32_t first, uint32_t end, uint32_t unit)
{
    uint32_t bound = join_tally_of(join, unit)->bound, best = bound, least = UINT32_MAX;
    for (uint32_t state = bound + 1; state-- > 0 && least;) {
        uint32_t misfits = count_misfits(join, first, end, unit, state);
        best = misfits < least ? state : best;
        least = misfits < least ? misfits : least;
    }
    join_tally_of(join, unit)->bound = best;
}

/* Reads of one row stand one behind the other. */
static void look_at_statement(struct iso_join *join, uint32_t first, uint32_t end)
{
    for (uint32_t o = end, unit; o > first; end = o) {
        unit = join_own_unit(join, join_key_kept(join, --o));
        while (o > first && join_own_unit(join, join_key_kept(join, o - 1)) == unit)
            o--;
        if (join_own_is_loose(join, unit))
            look_at_unit(join, o, end, unit);
    }
}

static void note_statement(struct iso_join *join, uint32_t origin, uint32_t first, uint32_t end)
{
    for (uint32_t o = first; o < end; o++) {
        uint32_t unit = join_own_unit(join, join_key_kept(join, o));
        if (join_own_is_loose(join, unit))
            join->scratch.own.seen[o - origin] = join_tally_of(join, unit)->bound;
    }
}

/* Where a record lists all rows that it writes, none was changed before its first write of it. */
static void note_writes(struct iso_join *join, uint32_t first, uint32_t end)
{
    const struct iso_history *kept = &join->records.kept;
    for (uint32_t o = end; o-- > first;) {
        uint32_t key = join_key_kept(join, o);
        struct join_tally *tally = join_tally_of(join, key);
        if (iso_kind_writes(kept->ops.kind[o]) && tally->is_loose &&
            ++tally->passed == tally->writes)
            tally->bound = 0;
    }
}

static void look_at_statements(struct iso_join *join, uint32_t transaction, bool takes)
{
    const struct iso_history *kept = &join->records.kept;
    uint32_t origin = kept->txns.first_op[transaction], end = kept->txns.first_op[transaction + 1];
    uint32_t first_set, sets;
    struct join_own *own = &join->scratch.own;
    first_set = iso_history_sets_of(kept, transaction, &sets);
    if (end - origin > own->seen_capacity) {
        own->seen_capacity = end - origin;
        own->seen = iso_reallocate(own->seen, own->seen_capacity * sizeof *own->seen);
    }
    while (end > origin) {
        while (sets > first_set && !kept->ranges.list[sets - 1].count)
            sets--;
        const struct iso_range *set = sets > first_set ? &kept->ranges.list[sets - 1] : NULL;
        bool is_set = set && origin + set->first + set->count == end;
        uint32_t first = is_set ? origin + set->first : end - 1;
        look_at_statement(join, first, end);
        note_statement(join, origin, first, end);
        if (!takes)
            note_writes(join, first, end);
        sets -= is_set;
        end = first;
    }
}

bool join_own_find(struct iso_join *join, const struct join_record *record,
                   const struct join_chain *rows, bool takes)
{
    join->scratch.own.has_snapshot = record->flags & JOIN_RECORD_PLACED;
    number_states(join, rows);
    bool is_any = find_loose(join, takes);
    if (is_any)
        look_at_statements(join, record->kept, takes);
    return is_any;
}

bool join_own_is_loose(struct iso_join *join, uint32_t unit)
{
    return join_tally_of(join, unit)->is_loose;
}

uint32_t join_own_seen(const struct iso_join *join, const struct join_record *record, uint32_t o)
{
    assert(join->records.kept.txns.first_op[record->kept] <= o &&
           o < join->records.kept.txns.first_op[record->kept + 1]);
    return join->scratch.own.seen[o - join->records.kept.txns.first_op[record->kept]];
}
