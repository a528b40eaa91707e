/* Tables, as keys name them, and which of them the sources deliver.
 *
 * An application attaches some of its tables. Of a key whose table no source covers the stream says
 * nothing: operations on it are left out and counted by table. Sources may grow: a table gets its
 * topic with its first row. Where the stream names the collections of its transactions, a table
 * that is neither covered nor among them is nobody's: a misspelt key.
 */
#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "join/join_private.h"

uint32_t join_add_table(struct iso_join *join, iso_atom name)
{
    struct join_tables *tables = &join->tables;
    struct join_identity identity = {name, JOIN_BY_TEXT};
    uint32_t number = join_map_get(&tables->by_name, identity);
    if (number != ISO_NONE)
        return number;
    ISO_GROW(tables->list, tables->count, tables->capacity);
    tables->list[tables->count] = (struct join_table){.name = name};
    join_map_put(&tables->by_name, identity, tables->count);
    return tables->count++;
}

uint32_t join_table_of_key(struct iso_join *join, iso_atom key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&join->keys.names.atoms, key, buffer, &length);
    const char *slash = memchr(text, '/', length);
    size_t name_length =
        slash ? (size_t)(slash - text) : length - iso_history_is_header(text, length);
    char *name = iso_copy_text(text, name_length); /* adding an atom may move the text */
    uint32_t number =
        join_add_table(join, iso_atoms_add_string(&join->keys.names.atoms, name, name_length));
    iso_free(name);
    return number;
}

struct join_table *join_table_named(struct iso_join *join, const struct iso_atoms *atoms,
                                    iso_atom name)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(atoms, name, buffer, &length);
    uint32_t number = join_add_table(
        join, iso_atoms_add_string(&join->keys.names.atoms, text, length)); /* may move the list */
    return &join->tables.list[number];
}

bool join_is_covered(struct iso_join *join, struct join_table *table)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!join->options.covers)
        return true;
    if (table->coverage == JOIN_NOT_ASKED) {
        const char *text = iso_atom_text(&join->keys.names.atoms, table->name, buffer, &length);
        table->coverage = join->options.covers(join->options.context, text, length)
                              ? JOIN_COVERED
                              : JOIN_UNCOVERED;
    }
    return table->coverage == JOIN_COVERED;
}

bool join_is_key_covered(struct iso_join *join, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    const struct join_key *state = &join->keys.list[key];
    return join_is_covered(join, &join->tables.list[state->of_table]) &&
           (state->part != JOIN_PART_CELL ||
            join_column_is_covered(join, &join->tables.list[state->of_column]));
}

bool join_is_judged(struct iso_join *join, uint32_t key)
{
    return !join->options.covers || join->options.judge_uncovered || join_is_key_covered(join, key);
}

void join_leave_out(struct iso_join *join, uint32_t key)
{
    assert(key < join->keys.names.keys.count);
    const struct join_key *state = &join->keys.list[key];
    struct join_table *table = &join->tables.list[state->of_table];
    bool by_column = state->part == JOIN_PART_CELL && join_is_covered(join, table);
    join->tables.list[by_column ? state->of_column : state->of_table].left_out++;
}

void join_note_rows(struct iso_join *join, struct join_table *table)
{
    if (join_is_covered(join, table) || table->asked_again)
        return;
    table->has_rows = true;
    table->collected = true;
}

bool iso_join_ask_coverage_again(struct iso_join *join, const struct iso_atoms *atoms,
                                 iso_atom name)
{
    struct join_table *table = join_table_named(join, atoms, name);
    bool was_covered = table->coverage == JOIN_COVERED;
    table->asked_again = table->collected = true; /* the stream knows it */
    if (table->coverage != JOIN_UNCOVERED)        /* it cannot become covered */
        table->coverage = JOIN_NOT_ASKED;
    if (join_is_covered(join, table) || !was_covered)
        return false;
    join_count_uncovered(join, (uint32_t)(table - join->tables.list));
    return true;
}

void iso_join_sources_may_grow(struct iso_join *join)
{
    join->tables.grow = true;
}

void iso_join_sources_grew(struct iso_join *join)
{
    bool is_any = false;
    for (uint32_t i = 0; i < join->tables.count; i++) {
        struct join_table *table = &join->tables.list[i];
        if (table->is_column || table->coverage != JOIN_UNCOVERED || table->asked_again)
            continue;
        table->coverage = JOIN_NOT_ASKED;
        if (!join_is_covered(join, table))
            continue;
        table->since = join->counters.taken;
        table->cells = JOIN_NOT_ASKED;
        is_any = true;
    }
    for (uint32_t key = 0; is_any && key < join->keys.names.keys.count; key++)
        if (join->keys.list[key].part == JOIN_PART_ALL)
            join_note_part(join, key); /* of a table without a source it was not asked */
}

void join_tables_release(struct join_tables *tables)
{
    iso_free(tables->list);
    join_map_release(&tables->by_name);
}

/* A name that a hand may have meant: the same but for case, one more or one less letter, or two in
 * the other order. */
static bool is_near(const char *one, size_t length, const char *other, size_t other_length)
{
    size_t next_equal = 0, end = 0, least = length < other_length ? length : other_length;
    if (length == other_length && !strncasecmp(one, other, length))
        return true;
    while (next_equal < least && one[next_equal] == other[next_equal])
        next_equal++;
    while (end < least - next_equal && one[length - 1 - end] == other[other_length - 1 - end])
        end++;
    size_t left = length - next_equal - end, right = other_length - next_equal - end;
    bool swapped = left == 2 && right == 2 && one[next_equal] == other[next_equal + 1] &&
                   one[next_equal + 1] == other[next_equal];
    bool schema_missing = length < other_length && other[other_length - length - 1] == '.' &&
                          !memcmp(other + other_length - length, one, length);
    return swapped || schema_missing || (left + right == 1 && least > 1);
}

static bool is_near_covered(const struct iso_join *join, const char *name, size_t length)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t other_length;
    for (uint32_t i = 0; i < join->tables.count; i++) {
        const struct join_table *table = &join->tables.list[i];
        const char *other =
            iso_atom_text(&join->keys.names.atoms, table->name, buffer, &other_length);
        if (table->coverage == JOIN_COVERED && !table->is_column &&
            is_near(name, length, other, other_length))
            return true;
    }
    return false;
}

bool iso_join_left_out(const struct iso_join *join, uint32_t number,
                       struct iso_join_left_out *left_out)
{
    char buffer[ISO_ATOM_TEXT_MAX]; /* of a number; names are strings */
    while (number < join->tables.count && !join->tables.list[number].left_out)
        number++;
    if (number == join->tables.count)
        return false;
    const struct join_table *table = &join->tables.list[number];
    left_out->name = iso_atom_text(&join->keys.names.atoms, table->name, buffer, &left_out->length);
    left_out->operations = table->left_out;
    left_out->number = number;
    left_out->has_rows = table->has_rows;
    left_out->is_column = table->is_column;
    left_out->is_unknown = !table->is_column && table->coverage != JOIN_COVERED &&
                           (join->tables.collections && !join->tables.grow
                                ? !table->collected
                                : is_near_covered(join, left_out->name, left_out->length));
    return true;
}
