/* What statements do to whole tables, where they commit by themselves (MySQL, MariaDB).
 *
 * Such a change has a place in the log like any commit. It is a version of every key of its table that had one before
 * that place: a delete where the table was emptied, a value that nobody knows where it was rewritten. Keys may come
 * after the change was heard of, since partitions are read in any order: then they get theirs when they come. A key is
 * told of in the order of the log, so its first version says whether it was there.
 *
 * A table that another one's rows came into (RENAME), or whose rows have other keys now, holds what nobody told: also
 * keys that had no version get one that nobody knows, if a client asks for them, or if what changes them first finds
 * something there. A name that ends in a dot is a database's, of all of whose tables the change is.
 */
#include <string.h>

#include "base/memory.h"
#include "history/gtid.h"
#include "join/join_private.h"
#include "verdict/unjudged.h"

static const char *name_of(const struct iso_join *join, uint32_t table, char *buffer, size_t *length)
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
    return one_length < other_length && !memcmp(database, name, one_length);
}

static void give(struct iso_join *join, const struct join_change *change, uint32_t key)
{
    iso_atom value = ISO_ABSENT;
    if (change->kind != ISO_TABLE_EMPTIED)
        value = iso_value_unknown(&join->texts,
                                  change->kind == ISO_TABLE_PARTLY_EMPTIED ? ISO_UNJUDGED_DDL : ISO_UNJUDGED_SCHEMA);
    join_give_table_version(join, key, value, change->place, change->origin);
}

/* RENAME TABLE a TO b, c TO a comes as two statements at one place: what comes later there stands right behind. False:
 * it came before. */
static bool find_place(const struct iso_join *join, struct join_change *found)
{
    enum { STATEMENTS_MOST = 1u << (ISO_GTID_BITS - 1) }; /* snapshots that see the place stand there */
    uint64_t place = found->place;
    for (uint32_t i = 0; i < join->changes.count; i++) {
        const struct join_change *change = &join->changes.list[i];
        if (change->table != found->table || change->place < place || change->place >= place + STATEMENTS_MOST)
            continue;
        if (change->kind == found->kind)
            return false;
        found->place = change->place + 1;
    }
    return found->place < place + STATEMENTS_MOST;
}

static bool ends_in_dot(const struct iso_join *join, uint32_t table)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *name = name_of(join, table, buffer, &length);
    return length && name[length - 1] == '.';
}

void join_take_table_change(struct iso_join *join, const struct iso_history *block, const struct iso_event *event)
{
    struct join_changes *changes = &join->changes;
    struct join_table *table = join_table_named(join, &block->atoms, event->table);
    struct join_change change = {
        .table = (uint32_t)(table - join->tables.list),
        .kind = event->type == ISO_EVENT_DROP ? ISO_TABLE_EMPTIED : event->operation,
        .place = join_commit_place((struct join_identity){0, JOIN_BY_TEXT}, event),
        .origin = event->origin,
    };
    if (!find_place(join, &change)) {
        join->stats.repeats++;
        return;
    }
    ISO_GROW(changes->list, changes->count, changes->capacity);
    change.is_database = ends_in_dot(join, change.table);
    changes->list[changes->count++] = change;
    for (uint32_t key = 0; key < join->keys.names.key_count; key++) {
        const struct join_key *state = &join->keys.list[key];
        bool had = state->first ? state->first < change.place : change.kind == ISO_TABLE_REPLACED;
        if (had && concerns(join, &change, state->of_table))
            give(join, &change, key);
    }
}

void join_note_version(struct iso_join *join, uint32_t key, uint64_t place, bool found_some)
{
    struct join_key *state = &join->keys.list[key];
    uint64_t before = state->first;
    if (!place || (before && before <= place))
        return;
    state->first = place;
    for (uint32_t i = 0; i < join->changes.count; i++) {
        const struct join_change *change = &join->changes.list[i];
        bool had = change->place > place ? !before || change->place <= before
                                         : change->kind == ISO_TABLE_REPLACED && found_some && !before;
        if (had && concerns(join, change, state->of_table))
            give(join, change, key);
    }
}

void join_note_asked(struct iso_join *join, uint32_t key)
{
    struct join_key *state = &join->keys.list[key];
    if (state->asked)
        return;
    state->asked = true;
    for (uint32_t i = 0; !state->first && i < join->changes.count; i++) {
        const struct join_change *change = &join->changes.list[i];
        if (change->kind == ISO_TABLE_REPLACED && concerns(join, change, state->of_table))
            give(join, change, key);
    }
}

bool join_was_replaced(const struct iso_join *join, uint32_t key)
{
    const struct join_key *state = &join->keys.list[key];
    for (uint32_t i = 0; i < join->changes.count; i++) {
        const struct join_change *change = &join->changes.list[i];
        if (change->kind == ISO_TABLE_REPLACED && change->place < state->first &&
            concerns(join, change, state->of_table))
            return true;
    }
    return false;
}
