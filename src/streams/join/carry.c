/* Rows that a RENAME carries to another name.
 *
 * A row keeps its value, and gets another key: that of the new table, with what the old key had at
 * the statement's timestamp. Rows of the old name from before it may still arrive, in other
 * partitions, so that the values leave with the watermark that closes the statement. Keys of the
 * old name that nobody delivered are nobody's under the new one, too (change.c).
 */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "join/join_private.h"

/* The key of the same row, or cell, in the other table. */
static uint32_t key_in(struct iso_join *join, uint32_t key, uint32_t table)
{
    char buffers[2][ISO_ATOM_TEXT_MAX];
    struct iso_text name = {0};
    struct iso_atoms *atoms = &join->keys.names.atoms;
    size_t old_length, table_length, length;
    iso_atom_text(atoms, join->tables.list[join->keys.list[key].of_table].name, buffers[0],
                  &old_length);
    const char *text =
        iso_atom_text(atoms, join->tables.list[table].name, buffers[0], &table_length);
    iso_text_put_bytes(&name, text, table_length);
    text = iso_atom_text(atoms, join->keys.names.keys.atom[key], buffers[1], &length);
    iso_text_put_bytes(&name, text + old_length, length - old_length);
    uint32_t found = join_key_of(join, iso_atoms_add_string(atoms, name.bytes, name.used));
    iso_text_release(&name);
    return found;
}

static struct join_carried_row *find_carried(struct iso_join *join, uint32_t to, uint64_t position)
{
    for (uint32_t i = join->carried.count; i-- > 0;)
        if (join->carried.list[i].to == to && join->carried.list[i].position == position)
            return &join->carried.list[i];
    return NULL;
}

bool join_is_carried(struct iso_join *join, const struct join_change *change, uint32_t key)
{
    return change->from != ISO_NONE && find_carried(join, key, change->position);
}

/* The key's value just before the statement; `since`: from when. A key to which the statement
 * has already given rows had other ones before: in "a TO b, b TO a" each is the other's. */
static iso_atom value_before(struct iso_join *join, uint32_t key, const struct join_change *change,
                             uint64_t *since)
{
    const struct join_key *state = &join->keys.list[key];
    const struct join_carried_row *given = find_carried(join, key, change->position);
    *since = given ? given->was_since : state->last;
    return given ? given->was : state->value;
}

/* `to` has the value from the statement on; `since`: from when the old key had it, 0: nobody
 * delivered it. */
static void carry_to(struct iso_join *join, const struct join_change *change, uint32_t to,
                     iso_atom value, uint64_t since)
{
    assert(to < join->keys.names.keys.count);
    struct join_carried_row *row = find_carried(join, to, change->position);
    struct join_key *state = &join->keys.list[to];
    if (!row) {
        struct join_carried *carried = &join->carried;
        ISO_GROW(carried->list, carried->count, carried->capacity);
        row = &carried->list[carried->count++];
        *row = (struct join_carried_row){.to = to,
                                         .position = change->position,
                                         .origin = change->origin,
                                         .was = state->value,
                                         .was_since = state->last};
        if (!state->first || change->position < state->first)
            state->was_there = false;
        join_note_version(join, to, change->position,
                          false); /* statements behind this one change it, too */
        state = &join->keys.list[to];
    }
    row->value = value;
    row->since = since;
    if (state->last <= change->position) { /* else its own rows say what it has now */
        state->value = value;
        state->last = change->position;
    }
    join_carry_row(join, to, change->position, value, true);
}

static void carry(struct iso_join *join, const struct join_change *change, uint32_t key,
                  iso_atom value, uint64_t since)
{
    carry_to(join, change, key_in(join, key, change->table), value, since);
}

bool join_carries_later(struct iso_join *join, const struct join_change *change, uint32_t to,
                        iso_atom value)
{
    bool later = change->from != ISO_NONE && change->from != change->table && !change->is_over;
    if (later)
        carry_to(join, change, to, value, 0);
    return later;
}

void join_carry_table(struct iso_join *join, const struct join_change *change)
{
    uint32_t count = join->keys.names.keys.count;
    for (uint32_t key = 0; key < count; key++) {
        uint64_t since;
        if (join->keys.list[key].of_table != change->from || join->keys.list[key].is_header)
            continue;
        iso_atom value = value_before(join, key, change, &since);
        if (since && since <= change->position)
            carry(join, change, key, value, since);
    }
}

void join_carry_row(struct iso_join *join, uint32_t key, uint64_t position, iso_atom value,
                    bool again)
{
    assert(key < join->keys.names.keys.count);
    uint32_t table = join->keys.list[key].of_table;
    for (uint32_t i = 0; join->carried.pending && i < join->changes.count; i++) {
        struct join_change change = join->changes.list[i];
        if (change.from != table || change.is_over || position > change.position ||
            (position == change.position && find_carried(join, key, position)) ||
            join_is_altered_between(join, key, position, change.position))
            continue;
        uint32_t to = key_in(join, key, change.table);
        const struct join_carried_row *row = find_carried(join, to, change.position);
        if (!row || row->since < position || (row->since == position && again))
            carry(join, &change, key, value, position);
    }
}

void join_emit_carried(struct iso_join *join, uint64_t watermark)
{
    struct join_carried *carried = &join->carried;
    uint32_t left = 0;
    if (!carried->pending)
        return;
    for (uint32_t i = 0; i < carried->count; i++) {
        struct join_carried_row row = carried->list[i];
        if (row.position <= watermark)
            join_emit_table_version(join, row.to, row.value, row.position, row.origin);
        else
            carried->list[left++] = row;
    }
    carried->count = left;
    carried->pending = 0;
    for (uint32_t i = 0; i < join->changes.count; i++) {
        struct join_change *change = &join->changes.list[i];
        change->is_over |= change->position <= watermark;
        carried->pending += change->from != ISO_NONE && !change->is_over;
    }
}
