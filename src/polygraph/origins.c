/* Who may have written what a read saw: one final write, the initial version, or one of several of one value.
 *
 * Those of one key and value are a *set*, kept once however many read it: a few values on hot keys make more pairs of a
 * read and a possible writer than memory holds, nearly all of which clocks rule out before anybody lists them
 * (candidates.c).
 */
#include <stdlib.h>

#include "polygraph/placements.h"

/* Final writes by key and value. Each has a head, the first of its writes. */
struct value_table {
    uint32_t *slots; /* 1 + a head */
    uint64_t mask;
    uint32_t *next;    /* by write: the next one of the same key and value, or ISO_NONE */
    uint32_t *count;   /* by head: writes */
    uint32_t *set;     /* by head: their set, or ISO_NONE */
    uint32_t *initial; /* by key: the initial value */
    uint32_t set_capacity, member_capacity;
};

static uint64_t hash_value(uint32_t key, uint32_t value)
{
    uint64_t hash = ((uint64_t)key << 32 | value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint32_t *find_slot(const struct engine *engine, const struct value_table *table, uint32_t key, uint32_t value)
{
    uint64_t slot = hash_value(key, value) & table->mask;
    for (;; slot = (slot + 1) & table->mask) {
        uint32_t write = table->slots[slot];
        if (!write || (engine->write_key[write - 1] == key && engine->write_value[write - 1] == value))
            return &table->slots[slot];
    }
}

static uint32_t *initial_values(const struct iso_history *history)
{
    uint32_t *initial = iso_allocate(((size_t)history->key_count + 1) * sizeof *initial);
    for (uint32_t key = 0; key < history->key_count; key++)
        initial[key] = history->initial_value;
    for (uint32_t i = 0; i < history->initial_count; i++)
        initial[history->initial_key[i]] = history->initial_of_key[i];
    return initial;
}

static void table_init(struct value_table *table, const struct engine *engine)
{
    size_t slots = 64, writes = ((size_t)engine->write_count + 1) * sizeof(uint32_t);
    while (slots < (size_t)engine->write_count * 2)
        slots *= 2;
    *table = (struct value_table){.slots = iso_allocate_zeroed(slots, sizeof *table->slots),
                                  .mask = slots - 1,
                                  .next = iso_allocate(writes),
                                  .count = iso_allocate(writes),
                                  .set = memset(iso_allocate(writes), 0xff, writes),
                                  .initial = initial_values(engine->history)};
    for (uint32_t write = engine->write_count; write-- > 0;) {
        if (iso_key_is_list(engine->history, engine->write_key[write]))
            continue;
        uint32_t *slot = find_slot(engine, table, engine->write_key[write], engine->write_value[write]);
        table->next[write] = *slot ? *slot - 1 : ISO_NONE;
        table->count[write] = *slot ? table->count[*slot - 1] + 1 : 1;
        *slot = write + 1;
    }
}

static void table_release(struct value_table *table)
{
    iso_free(table->slots);
    iso_free(table->next);
    iso_free(table->count);
    iso_free(table->set);
    iso_free(table->initial);
}

/* Room for one more set of as many members; where its first one goes. */
static uint32_t begin_set(struct engine *engine, struct value_table *table, uint32_t members)
{
    uint32_t end = engine->set_count ? engine->set_first[engine->set_count] : 0;
    if (engine->set_count + 2 > table->set_capacity) {
        table->set_capacity = (uint32_t)iso_column_capacity(table->set_capacity, engine->set_count + 2u);
        engine->set_first = iso_reallocate(engine->set_first, table->set_capacity * sizeof *engine->set_first);
        engine->set_first[0] = 0;
    }
    if (end + members > table->member_capacity) {
        table->member_capacity = (uint32_t)iso_column_capacity(table->member_capacity, (size_t)end + members);
        engine->set_member = iso_reallocate(engine->set_member, table->member_capacity * sizeof *engine->set_member);
    }
    return end;
}

static uint32_t end_set(struct engine *engine, uint32_t end)
{
    engine->set_first[engine->set_count + 1] = end;
    return engine->set_count++;
}

/* The set that starts with a head, made when it is first asked for. */
static uint32_t set_of(struct engine *engine, struct value_table *table, uint32_t head, bool initial)
{
    if (table->set[head] != ISO_NONE)
        return table->set[head];
    uint32_t end = begin_set(engine, table, table->count[head] + 1);
    for (uint32_t write = head; write != ISO_NONE; write = table->next[write])
        engine->set_member[end++] = write;
    if (initial)
        engine->set_member[end++] = INITIAL;
    return table->set[head] = end_set(engine, end);
}

/* Whether the reader itself wrote the value in the end: its read came first, so it did not see that. */
static bool writes_itself(const struct engine *engine, uint32_t read)
{
    uint32_t t = engine->read_transaction[read];
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        if (engine->write_key[write] == engine->read_key[read])
            return engine->write_value[write] == engine->read_value[read];
    }
    return false;
}

static void find_writer(struct engine *engine, struct value_table *table, uint32_t read)
{
    uint32_t key = engine->read_key[read], value = engine->read_value[read];
    uint32_t found = *find_slot(engine, table, key, value), head = found ? found - 1 : ISO_NONE;
    bool initial = value == table->initial[key], own = found && writes_itself(engine, read);
    uint32_t count = (found ? table->count[head] : 0) + initial - own;
    if (count > 1)
        engine->read_set[read] = set_of(engine, table, head, initial);
    else if (count == 1 && initial)
        engine->read_writer[read] = INITIAL;
    else if (count == 1)
        engine->read_writer[read] =
            engine->write_transaction[head] == engine->read_transaction[read] ? table->next[head] : head;
}

/* Of a list whose elements repeat: whose appends may end what was read. */
static void find_list_writer(struct engine *engine, struct value_table *table, uint32_t read)
{
    const struct repeating_list *list = placements_of_key(engine, engine->read_key[read]);
    if (!list || engine->read_writer[read] != OPEN)
        return;
    uint32_t *set = &list->set[engine->read_prefix[read] - list->start], own = 0, other = ISO_NONE;
    const uint32_t *first = &list->first_ending[engine->read_prefix[read] - list->start];
    uint32_t end = *set == ISO_NONE ? begin_set(engine, table, first[1] - first[0]) : 0;
    for (uint32_t i = first[0]; i < first[1]; i++) {
        uint32_t write = engine->placements->items[list->ending[i]].write;
        bool is_own = engine->write_transaction[write] == engine->read_transaction[read];
        own += is_own;
        other = is_own ? other : write;
        if (*set == ISO_NONE)
            engine->set_member[end++] = write;
    }
    if (*set == ISO_NONE)
        *set = end_set(engine, end);
    if (first[1] - first[0] - own == 1)
        engine->read_writer[read] = other;
    else
        engine->read_set[read] = *set;
}

bool origins_find(struct engine *engine, const uint32_t *list_writer)
{
    struct value_table table;
    size_t reads = ((size_t)engine->read_count + 1) * sizeof(uint32_t);
    bool all = true;
    table_init(&table, engine);
    engine->read_writer = memset(iso_allocate(reads), 0xff, reads);
    engine->read_set = memset(iso_allocate(reads), 0xff, reads);
    for (uint32_t read = 0; read < engine->read_count; read++) {
        if (iso_key_is_list(engine->history, engine->read_key[read])) {
            engine->read_writer[read] = list_writer[read];
            find_list_writer(engine, &table, read);
        } else {
            find_writer(engine, &table, read);
        }
        all &= engine->read_writer[read] != OPEN || engine->read_set[read] != ISO_NONE;
    }
    table_release(&table);
    return all;
}

static int compare_versions(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Sets of lists share members, so each is sorted by itself: there are few. False: it is none. */
static bool sort_set_of_list(struct engine *engine, uint32_t set)
{
    uint32_t first = engine->set_first[set], count = engine->set_first[set + 1] - first;
    uint32_t *members = engine->set_member + first;
    if (members[0] == INITIAL || !iso_key_is_list(engine->history, engine->write_key[members[0]]))
        return false;
    for (uint32_t i = 0; i < count; i++)
        members[i] = engine->version_of_write[members[i]];
    qsort(members, count, sizeof *members, compare_versions);
    return true;
}

/* Sets from writes to versions, in their order: one walk over the versions puts each into its set. */
static void sort_sets(struct engine *engine)
{
    uint32_t *next = iso_allocate(((size_t)engine->set_count + 1) * sizeof *next);
    uint32_t *set_of_version = iso_allocate(((size_t)engine->version_count + 1) * sizeof *set_of_version);
    memset(set_of_version, 0xff, ((size_t)engine->version_count + 1) * sizeof *set_of_version);
    for (uint32_t set = 0; set < engine->set_count; set++) {
        next[set] = engine->set_first[set];
        if (sort_set_of_list(engine, set))
            continue;
        for (uint32_t i = engine->set_first[set]; i < engine->set_first[set + 1]; i++) {
            if (engine->set_member[i] != INITIAL)
                set_of_version[engine->version_of_write[engine->set_member[i]]] = set;
        }
    }
    for (uint32_t version = 0; version < engine->version_count; version++) {
        if (set_of_version[version] != ISO_NONE)
            engine->set_member[next[set_of_version[version]]++] = version;
    }
    iso_free(next);
    iso_free(set_of_version);
}

void origins_to_versions(struct engine *engine)
{
    sort_sets(engine);
    for (uint32_t read = 0; read < engine->read_count; read++) {
        uint32_t write = engine->read_writer[read];
        engine->open_reads += write == OPEN;
        if (write == OPEN || write == INITIAL)
            continue;
        uint32_t version = engine->read_writer[read] = engine->version_of_write[write];
        engine->read_next[read] = engine->version_reader[version];
        engine->version_reader[version] = read;
    }
}

void origins_release(struct engine *engine)
{
    iso_free(engine->read_writer);
    iso_free(engine->read_set);
    iso_free(engine->set_first);
    iso_free(engine->set_member);
}
