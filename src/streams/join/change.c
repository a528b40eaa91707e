/* What statements do to whole tables, where they commit by themselves (MySQL, MariaDB).
 *
 * Such a change has a position in the log like any commit. It is a version of every key of its
 * table that had one before that position: a delete where the table was emptied, a value that
 * nobody knows where it was rewritten. Keys may arrive after the change was delivered, since
 * partitions are read in any order: then they get theirs when they arrive. A key is delivered in
 * the order of the log, so its first version says whether it was there.
 *
 * A table that another one's rows came into (RENAME), or whose rows have other keys now, has what
 * nobody delivered: also keys that had no version get one that nobody knows, if a client asks for
 * them, or if what changes them first finds something there. A name that ends in a dot is a
 * database's, of all of whose tables the change is; a dot alone is all databases.
 */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "history/gtid.h"
#include "join/join_private.h"
#include "verdict/unjudged.h"

static const char *name_of(const struct iso_join *join, uint32_t table, char *buffer,
                           size_t *length)
{
    return iso_atom_text(&join->keys.names.atoms, join->tables.list[table].name, buffer, length);
}

static bool concerns(const struct iso_join *join, const struct join_change *change, uint32_t table)
{
    char one[ISO_ATOM_TEXT_MAX], other[ISO_ATOM_TEXT_MAX];
    size_t one_length, other_length;
    if (change->table == table || !change->is_database)
        return change->table == table;
    const char *database = name_of(join, change->table, one, &one_length);
    const char *name = name_of(join, table, other, &other_length);
    return one_length == 1 || (one_length < other_length && !memcmp(database, name, one_length));
}

/* A row that is spelt otherwise is still there. */
static bool leaves(const struct join_change *change, const struct join_key *state)
{
    return change->kind == ISO_TABLE_RESPELT && state->part == JOIN_PART_ROW;
}

static void emit_change(struct iso_join *join, const struct join_change *change, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    iso_atom value = ISO_ABSENT;
    bool removes = change->kind == ISO_TABLE_EMPTIED || change->kind == ISO_TABLE_PARTLY_EMPTIED;
    if (join_is_carried(join, change, key) || leaves(change, &join->keys.list[key]))
        return;
    if (removes && join->keys.list[key].part == JOIN_PART_CELL)
        return; /* what was in a row that is gone is nobody's */
    if (change->kind != ISO_TABLE_EMPTIED)
        value = iso_value_unknown(&join->texts.atoms,
                                  change->kind == ISO_TABLE_PARTLY_EMPTIED ? ISO_UNJUDGED_DDL
                                  : change->kind == ISO_TABLE_LOST         ? ISO_UNJUDGED_INCOMPLETE
                                                                           : ISO_UNJUDGED_SCHEMA);
    if (join_carries_later(join, change, key,
                           value)) /* its row under the old name may still come */
        return;
    join_emit_table_version(join, key, value, change->position, change->origin);
    struct join_key *state = &join->keys.list[key];
    if (join->capability->net && state->last <= change->position) {
        state->value = value;
        state->last = change->position;
    }
}

/* RENAME TABLE a TO b, c TO a arrives as two statements at one position: what arrives later there
 * stands right behind. False: it came before. */
static bool find_position(const struct iso_join *join, struct join_change *found)
{
    /* In a log, snapshots that see the position stand there; commit timestamps are the statement's
     * own. */
    uint64_t position = found->position,
             most = join->capability->positions ? 1u << (ISO_GTID_BITS - 1) : 2;
    for (uint32_t i = 0; i < join->changes.count; i++) {
        const struct join_change *change = &join->changes.list[i];
        if (change->table != found->table || change->position < position ||
            change->position >= position + most)
            continue;
        if (change->kind == found->kind)
            return false;
        found->position = change->position + 1;
    }
    return found->position < position + most;
}

static bool ends_in_dot(const struct iso_join *join, uint32_t table)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *name = name_of(join, table, buffer, &length);
    return length && name[length - 1] == '.';
}

void join_take_table_change(struct iso_join *join, const struct iso_history *block,
                            const struct iso_event *event)
{
    struct join_changes *changes = &join->changes;
    struct join_table *table = join_table_named(join, &block->atoms, event->table);
    struct join_change change = {
        .table = (uint32_t)(table - join->tables.list),
        .kind = event->type == ISO_EVENT_DROP ? ISO_TABLE_EMPTIED : event->operation,
        .from = ISO_NONE,
        .position = join->capability->positions
                        ? join_commit_position((struct join_identity){0, JOIN_BY_TEXT}, event)
                        : event->cts.physical,
        .origin = event->origin,
    };
    if (event->key != ISO_ABSENT)
        change.from =
            (uint32_t)(join_table_named(join, &block->atoms, event->key) - join->tables.list);
    if (!find_position(join, &change)) {
        join->stats.repeats++;
        return;
    }
    ISO_GROW(changes->list, changes->count, changes->capacity);
    change.is_database = ends_in_dot(join, change.table);
    changes->list[changes->count++] = change;
    if (change.from != ISO_NONE) {
        join->carried.pending++;
        join_carry_table(join, &change);
    }
    for (uint32_t key = 0; key < join->keys.names.keys.count; key++) {
        const struct join_key *state = &join->keys.list[key];
        bool had =
            state->first ? state->first < change.position : change.kind == ISO_TABLE_REPLACED;
        if (had && concerns(join, &change, state->of_table))
            emit_change(join, &change, key);
    }
}

void join_note_version(struct iso_join *join, uint32_t key, uint64_t position, bool found_some)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    uint64_t before = state->first;
    if (!position || (before && before <= position))
        return;
    state->first = position;
    for (uint32_t i = 0; i < join->changes.count; i++) {
        const struct join_change *change = &join->changes.list[i];
        if (change->kind == ISO_TABLE_LOST)
            continue;
        bool had = change->position > position
                       ? !before || change->position <= before
                       : change->kind == ISO_TABLE_REPLACED && found_some && !before;
        if (had && concerns(join, change, state->of_table))
            emit_change(join, change, key);
    }
}

bool join_is_altered_between(const struct iso_join *join, uint32_t key, uint64_t after,
                             uint64_t before)
{
    const struct join_key *state = &join->keys.list[key];
    for (uint32_t i = 0; i < join->changes.count; i++) {
        const struct join_change *change = &join->changes.list[i];
        if (change->position > after && change->position < before &&
            change->kind != ISO_TABLE_LOST && !leaves(change, state) &&
            concerns(join, change, state->of_table))
            return true;
    }
    return false;
}

/* Whether something was there before the key's first version; of a cell, its row, which may have
 * gone before that. */
static bool was_there(const struct iso_join *join, const struct join_key *state)
{
    const struct join_key *row =
        state->part == JOIN_PART_CELL ? &join->keys.list[state->of_row] : state;
    return state->was_there || row->was_there || (row->first && row->first < state->first);
}

void join_note_asked(struct iso_join *join, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    struct join_key *state = &join->keys.list[key];
    if (state->asked)
        return;
    state->asked = true;
    for (uint32_t i = 0; i < join->changes.count; i++) {
        const struct join_change *change = &join->changes.list[i];
        bool lost = change->kind == ISO_TABLE_LOST && key >= change->keys;
        bool before = change->kind == ISO_TABLE_REPLACED &&
                      (!state->first ||
                       (state->first > change->position &&
                        (was_there(join, state) ||
                         join_is_altered_between(join, key, change->position, state->first))));
        if ((lost || before) && concerns(join, change, state->of_table))
            emit_change(join, change, key);
    }
}

void join_add_lost(struct iso_join *join, uint32_t table, uint64_t position, uint64_t origin)
{
    struct join_changes *changes = &join->changes;
    ISO_APPEND(*changes, (struct join_change){.table = table,
                                              .kind = ISO_TABLE_LOST,
                                              .from = ISO_NONE,
                                              .keys = join->keys.names.keys.count,
                                              .position = position,
                                              .origin = origin});
}

bool join_was_replaced(const struct iso_join *join, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    const struct join_key *state = &join->keys.list[key];
    for (uint32_t i = 0; i < join->changes.count; i++) {
        const struct join_change *change = &join->changes.list[i];
        if (change->kind == ISO_TABLE_REPLACED && change->position < state->first &&
            concerns(join, change, state->of_table))
            return true;
    }
    return false;
}
