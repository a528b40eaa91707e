#include "history/part.h"

#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/number_map.h"
#include "history/history_private.h"
#include "history/index.h"

/* ---- who wrote what was read: writes in groups of equal key and value ---- */

static void group_writes(struct iso_part *part, struct iso_number_map *groups)
{
    const struct iso_history *history = part->history;
    for (uint32_t o = 0; o < history->ops.count; o++) {
        if (!iso_kind_writes(history->ops.kind[o]))
            continue;
        uint64_t pair = iso_number_pair(history->ops.key[o], history->ops.value[o]);
        part->group[o] = iso_number_map_add(groups, pair, part->group_count);
        part->group_count += part->group[o] == part->group_count;
    }
}

static void list_writes(struct iso_part *part)
{
    const struct iso_history *history = part->history;
    uint32_t count = part->group_count;
    part->kept = iso_allocate_zeroed(count + 1u, sizeof *part->kept);
    part->first_write = iso_allocate_zeroed(count + 2u, sizeof *part->first_write);
    part->writes = iso_allocate((history->ops.count + (size_t)1) * sizeof *part->writes);
    for (uint32_t o = 0; o < history->ops.count; o++) {
        if (part->group[o] != ISO_NONE)
            part->first_write[part->group[o] + 2]++;
    }
    iso_running_sums(part->first_write + 1, (size_t)count + 1);
    for (uint32_t o = 0; o < history->ops.count; o++) {
        if (part->group[o] != ISO_NONE)
            part->writes[part->first_write[part->group[o] + 1]++] = o;
    }
}

static void group_reads(struct iso_part *part, const struct iso_number_map *groups)
{
    const struct iso_history *history = part->history;
    for (uint32_t o = 0; o < history->ops.count; o++) {
        uint8_t kind = iso_kind_of(history, o);
        uint32_t key = history->ops.key[o], value = history->ops.value[o];
        if (kind == ISO_READ)
            part->group[o] = iso_number_map_get(groups, iso_number_pair(key, value));
        for (uint64_t i = kind == ISO_READ_LIST ? history->lists.first[value] : 1;
             kind == ISO_READ_LIST && i < history->lists.first[value + 1]; i++)
            part->element_group[i] =
                iso_number_map_get(groups, iso_number_pair(key, history->lists.element[i]));
    }
}

void iso_part_init(struct iso_part *part, const struct iso_history *history)
{
    size_t operations = (size_t)history->ops.count + 1;
    struct iso_number_map groups = {0};
    *part = (struct iso_part){.history = history};
    part->transactions = iso_allocate((size_t)history->txns.count + 1);
    part->operations = iso_allocate(operations);
    part->group = iso_allocate(operations * sizeof *part->group);
    memset(part->group, 0xff, operations * sizeof *part->group);
    part->element_group =
        iso_allocate((history->lists.element_count + 1) * sizeof *part->element_group);
    group_writes(part, &groups);
    list_writes(part);
    group_reads(part, &groups);
    iso_number_map_release(&groups);
    iso_part_reset(part, true);
}

void iso_part_release(struct iso_part *part)
{
    ISO_FREE_ALL(part->transactions, part->operations, part->group, part->element_group,
                 part->first_write, part->writes, part->kept);
    *part = (struct iso_part){0};
}

void iso_part_reset(struct iso_part *part, bool stays)
{
    memset(part->transactions, stays, part->history->txns.count);
    memset(part->operations, stays, part->history->ops.count);
}

/* ---- building ---- */

struct builder {
    const struct iso_history *from;
    struct iso_history *into;
    const struct iso_part *part; /* NULL: everything stays */
    iso_atom *initial; /* by key: changes with null; NULL: nothing does, and lists keep their
                          start */
    uint32_t
        *initial_length; /* by key: elements that lists start with, whoever else appends them */
};

static iso_atom copy_value(const struct builder *builder, uint32_t key, iso_atom value)
{
    if (builder->initial && value == builder->initial[key])
        value = ISO_ABSENT;
    else if (builder->initial && value == ISO_ABSENT)
        value = builder->initial[key];
    return iso_atoms_copy(&builder->into->atoms, &builder->from->atoms, value);
}

static bool writes_stay(const struct iso_part *part, uint32_t group)
{
    return group == ISO_NONE ||
           part->kept[group] == part->first_write[group + 1] - part->first_write[group];
}

/* False: an element goes of which another writer stays. */
static bool list_is_sure(const struct builder *builder, uint32_t key, uint32_t list)
{
    const struct iso_history *from = builder->from;
    for (uint64_t i = from->lists.first[list] + builder->initial_length[key];
         i < from->lists.first[list + 1]; i++) {
        uint32_t group = builder->part->element_group[i];
        if (!writes_stay(builder->part, group) && builder->part->kept[group])
            return false;
    }
    return true;
}

static uint32_t copy_list(const struct builder *builder, uint32_t key, uint32_t list)
{
    const struct iso_history *from = builder->from;
    uint32_t copy = iso_history_list(builder->into);
    uint64_t first = from->lists.first[list], written = first + builder->initial_length[key];
    for (uint64_t i = builder->initial ? written : first; i < from->lists.first[list + 1]; i++) {
        if (!builder->part || i < written ||
            writes_stay(builder->part, builder->part->element_group[i]))
            iso_history_element(builder->into, iso_atoms_copy(&builder->into->atoms, &from->atoms,
                                                              from->lists.element[i]));
    }
    return copy;
}

static bool operation_stays(const struct builder *builder, uint32_t operation)
{
    const struct iso_part *part = builder->part;
    uint8_t kind = iso_kind_of(builder->from, operation);
    if (!part)
        return true;
    if (!part->operations[operation])
        return false;
    if (kind == ISO_READ)
        return writes_stay(part, part->group[operation]);
    return kind != ISO_READ_LIST || list_is_sure(builder, builder->from->ops.key[operation],
                                                 builder->from->ops.value[operation]);
}

static void copy_operation(const struct builder *builder, uint32_t operation)
{
    const struct iso_history *from = builder->from;
    uint8_t kind = iso_kind_of(from, operation);
    uint32_t key = from->ops.key[operation];
    iso_atom name = iso_atoms_copy(&builder->into->atoms, &from->atoms, from->keys.atom[key]);
    uint32_t value;
    if (kind == ISO_READ_LIST)
        value = copy_list(builder, key, from->ops.value[operation]);
    else if (kind == ISO_APPEND)
        value = iso_atoms_copy(&builder->into->atoms, &from->atoms, from->ops.value[operation]);
    else
        value = copy_value(builder, key, from->ops.value[operation]);
    if (kind == ISO_WRITE || kind == ISO_DELETE)
        kind = value == ISO_ABSENT ? ISO_DELETE : ISO_WRITE;
    iso_history_operation(builder->into, kind, name, value);
}

static void copy_transaction(const struct builder *builder, uint32_t t)
{
    const struct iso_history *from = builder->from;
    history_copy_head(builder->into, from, t);
    ISO_EACH(o, from->txns.first_op, t) {
        if (operation_stays(builder, o))
            copy_operation(builder, o);
    }
}

/* Each session's transactions in its order, at the positions that it has in the input: so the order
 * of the part's input is the order of its sessions. */
static void copy_transactions(const struct builder *builder)
{
    const struct iso_history *from = builder->from;
    uint32_t *next = iso_allocate(((size_t)from->sessions.count + 1) * sizeof *next);
    memcpy(next, from->sessions.first, from->sessions.count * sizeof *next);
    for (uint32_t i = 0; i < from->inputs.count; i++)
        iso_history_input(builder->into, from->inputs.names[i]);
    for (uint32_t position = 0; position < from->txns.count; position++) {
        uint32_t t = from->sessions.order[next[from->txns.session[position]]++];
        if (!builder->part || builder->part->transactions[t])
            copy_transaction(builder, t);
    }
    iso_free(next);
}

/* The initial values of keys that the part knows. */
static void copy_initial(const struct iso_history *from, struct iso_history *into)
{
    into->initial.other_value =
        iso_atoms_copy(&into->atoms, &from->atoms, from->initial.other_value);
    for (uint32_t i = 0; i < from->initial.count; i++) {
        iso_atom key =
            iso_atoms_copy(&into->atoms, &from->atoms, from->keys.atom[from->initial.key[i]]);
        if (iso_atom_index_find(into->keys.index, key) != ISO_NONE)
            iso_history_initial(into, key,
                                iso_atoms_copy(&into->atoms, &from->atoms, from->initial.value[i]),
                                from->initial.is_append[i]);
    }
}

static uint32_t *measure_initial(const struct iso_history *history)
{
    uint32_t *length = iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *length);
    for (uint32_t i = 0; i < history->initial.count; i++)
        length[history->initial.key[i]] += history->initial.is_append[i];
    return length;
}

static void count_kept(struct iso_part *part)
{
    const struct iso_history *history = part->history;
    memset(part->kept, 0, part->group_count * sizeof *part->kept);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (!part->transactions[t])
            continue;
        ISO_EACH(o, history->txns.first_op, t) {
            if (part->operations[o] && iso_kind_writes(history->ops.kind[o]))
                part->kept[part->group[o]]++;
        }
    }
}

void iso_part_build(struct iso_part *part, struct iso_history *into)
{
    struct builder builder = {.from = part->history, .into = into, .part = part};
    builder.initial_length = measure_initial(part->history);
    count_kept(part);
    copy_transactions(&builder);
    copy_initial(part->history, into);
    iso_free(builder.initial_length);
}

/* ---- initial values ---- */

static bool begins_with_initial(const struct iso_history *history, uint32_t operation)
{
    uint32_t list = history->ops.value[operation];
    uint64_t at = history->lists.first[list], end = history->lists.first[list + 1];
    for (uint32_t i = 0; i < history->initial.count; i++) {
        if (history->initial.key[i] != history->ops.key[operation] ||
            !history->initial.is_append[i])
            continue;
        if (at == end || history->lists.element[at++] != history->initial.value[i])
            return false;
    }
    return true;
}

bool iso_part_without_initial(const struct iso_history *history, struct iso_history *into)
{
    struct builder builder = {.from = history, .into = into};
    for (uint32_t o = 0; o < history->ops.count; o++) {
        if (iso_kind_of(history, o) == ISO_READ_LIST && !begins_with_initial(history, o))
            return false;
    }
    builder.initial = iso_history_initial_values(builder.from, false);
    builder.initial_length = measure_initial(builder.from);
    copy_transactions(&builder);
    ISO_FREE_ALL(builder.initial, builder.initial_length);
    return true;
}
