/* Who may have written what a read saw: one final write, the initial version, or one of several of one value.
 *
 * Those of one key and value are a *set*, kept once however many read it: a few values on hot keys make more pairs of a
 * read and a possible writer than memory has room for, nearly all of which clocks rule out before anybody lists them
 * (candidates.c).
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/order.h"
#include "polygraph/given.h"
#include "polygraph/placements.h"

/* Final writes by key and value. Of those of one value the first is their *head*. */
struct value_table {
    struct iso_index heads;
    uint32_t *next;    /* by write: the next one of the same key and value, or ISO_NONE */
    uint32_t *count;   /* by head: writes */
    uint32_t *set;     /* by head: their set, or ISO_NONE */
    uint32_t *initial; /* by key: the initial value */
    uint32_t *own;     /* by key: 1 + the last write of it by the transactions looked at so far */
    uint32_t set_capacity, member_capacity;
};

/* ISO_NONE: nobody wrote it, and `*at` is where its head may stand. */
static uint32_t find_head(const struct engine *engine, const struct iso_index *heads, uint32_t key, uint32_t value,
                          uint32_t *at)
{
    uint64_t hash = iso_hash_pair(key, value);
    uint32_t head;
    for (*at = iso_index_home(hash); iso_index_next(heads, at, hash, &head); ++*at) {
        if (engine->writes.key[head] == key && engine->writes.value[head] == value)
            return head;
    }
    return ISO_NONE;
}

uint32_t *read_from_initial_values(const struct iso_history *history)
{
    uint32_t *initial = iso_numbers(history->key_count);
    for (uint32_t key = 0; key < history->key_count; key++)
        initial[key] = history->initial_value;
    for (uint32_t i = 0; i < history->initial_count; i++)
        initial[history->initial_key[i]] = history->initial_of_key[i];
    return initial;
}

static void table_init(struct value_table *table, const struct engine *engine)
{
    uint32_t writes = engine->writes.count;
    *table = (struct value_table){.next = iso_numbers(writes),
                                  .count = iso_numbers(writes),
                                  .set = iso_numbers_none(writes),
                                  .initial = read_from_initial_values(engine->history),
                                  .own = iso_numbers_zero(engine->history->key_count)};
    iso_index_reserve(&table->heads, writes);
    for (uint32_t write = engine->writes.count; write-- > 0;) {
        if (iso_key_is_list(engine->history, engine->writes.key[write]))
            continue;
        uint32_t key = engine->writes.key[write], value = engine->writes.value[write], at;
        uint32_t next = table->next[write] = find_head(engine, &table->heads, key, value, &at);
        table->count[write] = next == ISO_NONE ? 1 : table->count[next] + 1;
        if (next == ISO_NONE)
            iso_index_fill(&table->heads, at, iso_hash_pair(key, value), write);
        else
            iso_index_replace(&table->heads, at, write);
    }
}

static void table_release(struct value_table *table)
{
    iso_index_release(&table->heads);
    iso_free(table->next);
    iso_free(table->count);
    iso_free(table->set);
    iso_free(table->initial);
    iso_free(table->own);
}

/* Room for one more set of as many members; where its first one goes. */
static uint32_t begin_set(struct engine *engine, struct value_table *table, uint32_t members)
{
    uint32_t end = engine->writer_sets.count ? engine->writer_sets.first[engine->writer_sets.count] : 0;
    if (engine->writer_sets.count + 2 > table->set_capacity) {
        table->set_capacity = (uint32_t)iso_column_capacity(table->set_capacity, engine->writer_sets.count + 2u);
        engine->writer_sets.first =
            iso_reallocate(engine->writer_sets.first, table->set_capacity * sizeof *engine->writer_sets.first);
        engine->writer_sets.first[0] = 0;
    }
    if (end + members > table->member_capacity) {
        table->member_capacity = (uint32_t)iso_column_capacity(table->member_capacity, (size_t)end + members);
        engine->writer_sets.member =
            iso_reallocate(engine->writer_sets.member, table->member_capacity * sizeof *engine->writer_sets.member);
    }
    return end;
}

static uint32_t end_set(struct engine *engine, uint32_t end)
{
    engine->writer_sets.first[engine->writer_sets.count + 1] = end;
    return engine->writer_sets.count++;
}

/* The set that starts with a head, made when it is first asked for. */
static uint32_t set_of(struct engine *engine, struct value_table *table, uint32_t head, bool initial)
{
    if (table->set[head] != ISO_NONE)
        return table->set[head];
    uint32_t end = begin_set(engine, table, table->count[head] + 1);
    for (uint32_t write = head; write != ISO_NONE; write = table->next[write])
        engine->writer_sets.member[end++] = write;
    if (initial)
        engine->writer_sets.member[end++] = INITIAL;
    return table->set[head] = end_set(engine, end);
}

/* The reader's own write of the key, or ISO_NONE. */
static uint32_t own_write(const struct engine *engine, const struct value_table *table, uint32_t read)
{
    uint32_t own = table->own[engine->reads.key[read]];
    return own && engine->writes.transaction[own - 1] == engine->reads.transaction[read] ? own - 1 : ISO_NONE;
}

/* Whether the reader itself wrote the value in the end: its read came first, so it did not see that. */
static bool writes_itself(const struct engine *engine, const struct value_table *table, uint32_t read)
{
    uint32_t own = own_write(engine, table, read);
    return own != ISO_NONE && engine->writes.value[own] == engine->reads.value[read];
}

static void find_writer(struct engine *engine, struct value_table *table, uint32_t read)
{
    uint32_t key = engine->reads.key[read], value = engine->reads.value[read];
    uint32_t at, head = find_head(engine, &table->heads, key, value, &at);
    bool found = head != ISO_NONE, initial = value == table->initial[key],
         own = found && writes_itself(engine, table, read);
    uint32_t count = (found ? table->count[head] : 0) + initial - own;
    if (count > 1)
        engine->reads.set[read] = set_of(engine, table, head, initial);
    else if (count == 1 && initial)
        engine->reads.writer[read] = INITIAL;
    else if (count == 1)
        engine->reads.writer[read] =
            engine->writes.transaction[head] == engine->reads.transaction[read] ? table->next[head] : head;
}

/* The writes whose appends may end a list of that length. */
static uint32_t set_of_length(struct engine *engine, struct value_table *table, const struct repeating_list *list,
                              uint32_t length)
{
    uint32_t *set = &list->set[length - list->start];
    const uint32_t *first = &list->first_ending[length - list->start];
    if (*set != ISO_NONE)
        return *set;
    uint32_t end = begin_set(engine, table, first[1] - first[0]);
    for (uint32_t i = first[0]; i < first[1]; i++)
        engine->writer_sets.member[end++] = engine->placements->items[list->ending[i]].write;
    return *set = end_set(engine, end);
}

/* Of a list whose elements repeat: whose appends may end what was read. */
static void find_list_writer(struct engine *engine, struct value_table *table, uint32_t read)
{
    const struct repeating_list *list = placements_of_key(engine, engine->reads.key[read]);
    if (!list || engine->reads.writer[read] != OPEN)
        return;
    uint32_t length = engine->reads.prefix[read], set = set_of_length(engine, table, list, length);
    const uint32_t *members = engine->writer_sets.member + engine->writer_sets.first[set];
    uint32_t count = engine->writer_sets.first[set + 1] - engine->writer_sets.first[set],
             own = own_write(engine, table, read);
    bool may_be_own = own != ISO_NONE && placements_has(list, own, length);
    if (count - may_be_own == 1)
        engine->reads.writer[read] = may_be_own && members[0] == own ? members[1] : members[0];
    else
        engine->reads.set[read] = set;
}

static void find_read_from(struct engine *engine, struct value_table *table, uint32_t read, const uint32_t *list_writer)
{
    if (iso_key_is_list(engine->history, engine->reads.key[read])) {
        engine->reads.writer[read] = list_writer[read];
        find_list_writer(engine, table, read);
    } else if (engine->given && engine->given->seen[read] != OPEN) {
        engine->reads.writer[read] = engine->given->seen[read];
    } else {
        find_writer(engine, table, read);
    }
}

bool read_from_find(struct engine *engine, const uint32_t *list_writer)
{
    struct value_table table;
    bool all = true;
    table_init(&table, engine);
    engine->reads.writer = iso_numbers_none(engine->reads.count);
    engine->reads.set = iso_numbers_none(engine->reads.count);
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        for (uint32_t write = engine->writes.first[t]; write < engine->writes.first[t + 1]; write++)
            table.own[engine->writes.key[write]] = write + 1;
        for (uint32_t read = engine->reads.first[t]; read < engine->reads.first[t + 1]; read++) {
            find_read_from(engine, &table, read, list_writer);
            all &= engine->reads.writer[read] != OPEN || engine->reads.set[read] != ISO_NONE;
        }
    }
    table_release(&table);
    return all;
}

/* Sets of lists share members, so each is sorted by itself: there are few. False: it is none. */
static bool sort_set_of_list(struct engine *engine, uint32_t set)
{
    uint32_t first = engine->writer_sets.first[set], count = engine->writer_sets.first[set + 1] - first;
    uint32_t *members = engine->writer_sets.member + first;
    if (members[0] == INITIAL || !iso_key_is_list(engine->history, engine->writes.key[members[0]]))
        return false;
    for (uint32_t i = 0; i < count; i++)
        members[i] = engine->writes.version[members[i]];
    qsort(members, count, sizeof *members, iso_order_u32);
    return true;
}

/* Sets from writes to versions, in their order: one walk over the versions puts each into its set. */
static void sort_sets(struct engine *engine)
{
    uint32_t *next = iso_numbers(engine->writer_sets.count);
    uint32_t *set_of_version = iso_numbers_none(engine->versions.count);
    for (uint32_t set = 0; set < engine->writer_sets.count; set++) {
        next[set] = engine->writer_sets.first[set];
        if (sort_set_of_list(engine, set))
            continue;
        for (uint32_t i = engine->writer_sets.first[set]; i < engine->writer_sets.first[set + 1]; i++) {
            if (engine->writer_sets.member[i] != INITIAL)
                set_of_version[engine->writes.version[engine->writer_sets.member[i]]] = set;
        }
    }
    for (uint32_t version = 0; version < engine->versions.count; version++) {
        if (set_of_version[version] != ISO_NONE)
            engine->writer_sets.member[next[set_of_version[version]]++] = version;
    }
    iso_free(next);
    iso_free(set_of_version);
}

void read_from_to_versions(struct engine *engine)
{
    sort_sets(engine);
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        uint32_t write = engine->reads.writer[read];
        engine->reads.open += write == OPEN;
        if (write == OPEN || write == INITIAL)
            continue;
        uint32_t version = engine->reads.writer[read] = engine->writes.version[write];
        engine->reads.next[read] = engine->versions.reader[version];
        engine->versions.reader[version] = read;
    }
}

uint32_t *reads_count_readers(const struct engine *engine)
{
    size_t slots = (size_t)engine->versions.count + engine->history->key_count;
    uint32_t *count = iso_allocate_zeroed(slots + 1, sizeof *count);
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        if (engine->reads.writer[read] != OPEN)
            count[version_slot(engine, engine->reads.writer[read], engine->reads.key[read])]++;
    }
    return count;
}

void read_from_release(struct engine *engine)
{
    iso_free(engine->reads.writer);
    iso_free(engine->reads.set);
    iso_free(engine->writer_sets.first);
    iso_free(engine->writer_sets.member);
}
