/* Who may have written what a read saw: one final write, the initial version, or one of several of one value.
 *
 * Writes and reads are dealt out by key first, each with its value, so that the table of values is a small one that stays in
 * the cache, and nothing is looked up far away.
 */
#include "base/hash.h"
#include "base/number_map.h"
#include "weak/weak_private.h"

uint32_t *weak_writers_initial(const struct iso_history *history)
{
    uint32_t *initial = iso_numbers(history->key_count);
    for (uint32_t key = 0; key < history->key_count; key++)
        initial[key] = history->initial_value;
    for (uint32_t i = 0; i < history->initial_count; i++)
        initial[history->initial_key[i]] = history->initial_of_key[i];
    return initial;
}

/* Items of each key, ascending: list[first[key]] to list[first[key + 1] - 1]. */
struct dealt {
    uint32_t *first;
    struct item {
        uint32_t number, value;
    } * list;
};

static void dealt_start(struct dealt *dealt, uint32_t keys, uint32_t count)
{
    dealt->first = iso_numbers_zero((size_t)keys + 2);
    dealt->list = iso_allocate(((size_t)count + 1) * sizeof *dealt->list);
}

/* Counts stand two places on; dealing moves them to their ends, which is where the next ones start. */
static void dealt_place(struct dealt *dealt, uint32_t keys)
{
    for (uint32_t key = 0; key < keys; key++)
        dealt->first[key + 2] += dealt->first[key + 1];
}

static void dealt_add(struct dealt *dealt, uint32_t key, uint32_t number, uint32_t value)
{
    dealt->list[dealt->first[key + 1]++] = (struct item){number, value};
}

static void dealt_release(struct dealt *dealt)
{
    iso_free(dealt->first);
    iso_free(dealt->list);
}

static void deal_writes(struct dealt *dealt, const struct weak *weak)
{
    dealt_start(dealt, weak->history->key_count, weak->write_count);
    for (uint32_t write = 0; write < weak->write_count; write++)
        dealt->first[weak->write_key[write] + 2]++;
    dealt_place(dealt, weak->history->key_count);
    for (uint32_t write = 0; write < weak->write_count; write++)
        dealt_add(dealt, weak->write_key[write], write, weak->write_value[write]);
}

static void deal_reads(struct dealt *dealt, const struct weak *weak)
{
    const uint32_t *value = weak->history->value;
    dealt_start(dealt, weak->history->key_count, weak->read_count);
    for (uint32_t read = 0; read < weak->read_count; read++)
        dealt->first[read_key(weak, read) + 2]++;
    dealt_place(dealt, weak->history->key_count);
    for (uint32_t read = 0; read < weak->read_count; read++)
        dealt_add(dealt, read_key(weak, read), read, value[weak->read_operation[read]]);
}

/* The values of one key. */
struct values {
    struct entry {
        uint32_t stamp; /* 1 + the key that uses it */
        uint32_t value, head, count, set;
    } * entries;
    uint32_t capacity, mask, seed;
    const struct item *writes;
    uint32_t *same, same_capacity; /* by place in `writes`: the next one of the same value */
};

static struct entry *find_entry(const struct values *values, uint32_t key, uint32_t value)
{
    uint32_t at = (uint32_t)iso_hash_pair(values->seed, value) & values->mask;
    while (values->entries[at].stamp == key + 1 && values->entries[at].value != value)
        at = (at + 1) & values->mask;
    return &values->entries[at];
}

static void enter_writes(struct values *values, uint32_t key, const struct item *writes, uint32_t count)
{
    uint32_t size = 4;
    while (size < 2 * (size_t)count)
        size *= 2;
    if (size > values->capacity) {
        iso_free(values->entries);
        values->entries = iso_allocate_zeroed(size, sizeof *values->entries);
        values->capacity = size;
    }
    ISO_RESERVE(values->same, count, values->same_capacity);
    values->mask = size - 1;
    values->writes = writes;
    for (uint32_t i = count; i-- > 0;) {
        struct entry *entry = find_entry(values, key, writes[i].value);
        if (entry->stamp != key + 1)
            *entry = (struct entry){key + 1, writes[i].value, ISO_NONE, 0, ISO_NONE};
        values->same[i] = entry->head;
        entry->head = i;
        entry->count++;
    }
}

static uint32_t make_set(struct weak *weak, const struct values *values, const struct entry *entry, bool initial)
{
    struct writer_sets *sets = &weak->sets;
    uint32_t end = sets->count ? sets->first[sets->count] : 0;
    ISO_RESERVE(sets->first, sets->count + 2, sets->capacity);
    ISO_RESERVE(sets->member, end + entry->count + 1, sets->member_capacity);
    sets->first[sets->count] = end;
    for (uint32_t i = entry->head; i != ISO_NONE; i = values->same[i])
        sets->member[end++] = values->writes[i].number;
    if (initial)
        sets->member[end++] = INITIAL;
    sets->first[++sets->count] = end;
    return sets->count - 1;
}

static uint32_t reader_of(const struct weak *weak, uint32_t read)
{
    return iso_history_owner(weak->history, weak->read_operation[read]);
}

/* A transaction cannot have seen its own later write. */
static bool is_own(const struct weak *weak, uint32_t read, uint32_t write)
{
    const uint32_t *range = &weak->history->first_operation[weak->write_owner[write]];
    return weak->read_operation[read] >= range[0] && weak->read_operation[read] < range[1];
}

/* Of one writer alone drop_own() finds whether it is the reader. */
static void find_writer(struct weak *weak, const struct values *values, uint32_t key, uint32_t initial_value,
                        const struct item *item)
{
    struct entry *entry = find_entry(values, key, item->value);
    bool found = entry->stamp == key + 1, initial = item->value == initial_value;
    uint32_t count = (found ? entry->count : 0) + initial, read = item->number, left = count, other = ISO_NONE;
    if (count == 1) {
        weak->read_writer[read] = initial ? INITIAL : values->writes[entry->head].number;
        return;
    }
    for (uint32_t i = count == 2 ? entry->head : ISO_NONE; i != ISO_NONE; i = values->same[i]) {
        if (is_own(weak, read, values->writes[i].number))
            left--;
        else
            other = values->writes[i].number;
    }
    if (count >= 3 || left == 2) {
        if (entry->set == ISO_NONE)
            entry->set = make_set(weak, values, entry, initial);
        if (!weak->read_set)
            weak->read_set = iso_numbers_none(weak->read_count);
        weak->read_set[read] = entry->set;
        weak->open_reads++;
    } else if (left == 1) {
        weak->read_writer[read] = initial ? INITIAL : other;
    }
}

static void drop_own(struct weak *weak)
{
    for (uint32_t t = 0; t < weak->history->transaction_count; t++) {
        for (uint32_t read = weak->read_first[t]; read < weak->read_first[t + 1]; read++) {
            if (weak->read_writer[read] >= weak->write_first[t] && weak->read_writer[read] < weak->write_first[t + 1])
                weak->read_writer[read] = OPEN;
        }
    }
}

/* ---- reads that nobody explains ---- */

struct unwritten {
    uint32_t aborted, other, second;
};

static bool has_no_writer(const struct weak *weak, uint32_t read)
{
    return weak->read_writer[read] == OPEN && (!weak->read_set || weak->read_set[read] == ISO_NONE) &&
           !iso_key_is_list(weak->history, read_key(weak, read));
}

static void note_writer(struct unwritten *item, uint32_t t, bool aborted)
{
    if (aborted && item->aborted == ISO_NONE)
        item->aborted = t;
    else if (!aborted && item->other == ISO_NONE)
        item->other = t;
    else if (!aborted && item->second == ISO_NONE && item->other != t)
        item->second = t;
}

static void classify(struct weak *weak)
{
    const struct iso_history *history = weak->history;
    struct iso_number_map map = {0};
    struct unwritten *items = NULL;
    uint32_t count = 0, capacity = 0;
    for (uint32_t read = 0; read < weak->read_count; read++) {
        uint64_t name = iso_number_pair(read_key(weak, read), history->value[weak->read_operation[read]]);
        if (!has_no_writer(weak, read) || iso_number_map_add(&map, name, count) != count)
            continue;
        ISO_GROW(items, count, capacity);
        items[count++] = (struct unwritten){ISO_NONE, ISO_NONE, ISO_NONE};
    }
    for (uint32_t t = 0; count && t < history->transaction_count; t++) {
        bool aborted = iso_status_of(history, t) == ISO_ABORTED;
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            if (!iso_kind_writes(history->kind[o]))
                continue;
            uint32_t item = iso_number_map_get(&map, iso_number_pair(history->key[o], history->value[o]));
            if (item != ISO_NUMBER_NONE)
                note_writer(&items[item], t, aborted);
        }
    }
    for (uint32_t read = 0; count && read < weak->read_count; read++) {
        if (!has_no_writer(weak, read))
            continue;
        uint32_t o = weak->read_operation[read], reader = reader_of(weak, read);
        const struct unwritten *item =
            &items[iso_number_map_get(&map, iso_number_pair(history->key[o], history->value[o]))];
        uint32_t between = item->other == reader ? item->second : item->other;
        if (item->aborted != ISO_NONE)
            weak_problem_finding(weak, ISO_FINDING_G1A, reader, o, item->aborted);
        else
            weak_problem_finding(weak, between == ISO_NONE ? ISO_FINDING_THINAIR : ISO_FINDING_G1B, reader, o, between);
    }
    iso_free(items);
    iso_number_map_release(&map);
}

void weak_writers_find(struct weak *weak)
{
    const struct iso_history *history = weak->history;
    uint32_t keys = history->key_count, *initial = weak_writers_initial(history);
    struct dealt writes, reads;
    struct values values = {.seed = 1};
    deal_writes(&writes, weak);
    deal_reads(&reads, weak);
    for (uint32_t key = 0; key < keys; key++) {
        uint32_t first = reads.first[key], end = reads.first[key + 1];
        if (first == end || iso_key_is_list(history, key))
            continue;
        enter_writes(&values, key, writes.list + writes.first[key], writes.first[key + 1] - writes.first[key]);
        for (uint32_t i = first; i < end; i++)
            find_writer(weak, &values, key, initial[key], &reads.list[i]);
    }
    iso_free(values.entries);
    iso_free(values.same);
    dealt_release(&writes);
    dealt_release(&reads);
    drop_own(weak);
    classify(weak);
    iso_free(initial);
}
