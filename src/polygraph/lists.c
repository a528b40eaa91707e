/* Lists give their own version order: all reads of a key are prefixes of the longest one, and that one is a
 * row of blocks, each the appends of one transaction. So a list read has one possible writer, that of its
 * last block, and the writers of blocks stand in the order of the blocks, before all whose appends nobody
 * saw. Lists whose elements repeat are told of in repeats.c.
 */
#include "polygraph/lists.h"

static uint64_t hash_element(uint32_t key, uint32_t element)
{
    uint64_t hash = ((uint64_t)key << 32 | element) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static void index_appends(struct lists *lists)
{
    const struct iso_history *history = lists->engine->history;
    struct appends *appends = &lists->appends;
    for (uint32_t o = 0; o < history->operation_count; o++)
        appends->count += iso_kind_of(history, o) == ISO_APPEND;
    size_t slots = 64;
    while (slots < (size_t)appends->count * 2)
        slots *= 2;
    appends->mask = slots - 1;
    appends->slots = iso_allocate_zeroed(slots, sizeof *appends->slots);
    appends->entries = iso_allocate(((size_t)appends->count + 1) * sizeof *appends->entries);
    uint32_t entry = 0;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            if (iso_kind_of(history, o) != ISO_APPEND)
                continue;
            appends->entries[entry] = (struct append){history->key[o], history->value[o], t, o};
            uint64_t slot = hash_element(history->key[o], history->value[o]) & appends->mask;
            for (; appends->slots[slot]; slot = (slot + 1) & appends->mask) {
                const struct append *other = &appends->entries[appends->slots[slot] - 1];
                lists->repeats[history->key[o]] |= other->key == history->key[o] && other->element == history->value[o];
            }
            appends->slots[slot] = ++entry;
        }
    }
}

const struct append *lists_next_append(const struct lists *lists, uint32_t key, iso_atom element, uint64_t *slot)
{
    for (; lists->appends.slots[*slot & lists->appends.mask]; ++*slot) {
        const struct append *append = &lists->appends.entries[lists->appends.slots[*slot & lists->appends.mask] - 1];
        if (append->key == key && append->element == element)
            return append;
    }
    return NULL;
}

uint64_t lists_first_slot(const struct lists *lists, uint32_t key, iso_atom element)
{
    return hash_element(key, element) & lists->appends.mask;
}

const struct append *lists_find_append(const struct lists *lists, uint32_t key, iso_atom element, bool *several)
{
    const struct append *found = NULL, *append;
    uint64_t slot = lists_first_slot(lists, key, element);
    *several = false;
    for (; (append = lists_next_append(lists, key, element, &slot)); slot++) {
        bool alive = lists->engine->local[append->transaction] != ISO_NONE;
        bool found_alive = found && lists->engine->local[found->transaction] != ISO_NONE;
        *several |= alive && found_alive;
        if (!found || (alive && !found_alive))
            found = append;
    }
    return found;
}

const iso_atom *lists_elements(const struct lists *lists, uint32_t read)
{
    const struct iso_history *history = lists->engine->history;
    return history->element + history->list_first[lists->engine->read_value[read]];
}

void lists_report(struct lists *lists, enum iso_finding_kind kind, uint32_t read, uint32_t other)
{
    struct engine *engine = lists->engine;
    problem_finding(engine, kind, engine->transaction[engine->read_transaction[read]], engine->read_operation[read],
                    other);
}

static void collect_initial(struct lists *lists)
{
    const struct iso_history *history = lists->engine->history;
    uint32_t *first = iso_allocate_zeroed((size_t)history->key_count + 2, sizeof *first);
    lists->initial_elements = iso_allocate(((size_t)history->initial_count + 1) * sizeof *lists->initial_elements);
    for (uint32_t i = 0; i < history->initial_count; i++)
        first[history->initial_key[i] + 2] += history->initial_is_append[i];
    for (uint32_t key = 0; key < history->key_count; key++)
        first[key + 2] += first[key + 1];
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (history->initial_is_append[i])
            lists->initial_elements[first[history->initial_key[i] + 1]++] = history->initial_of_key[i];
    }
    lists->initial_first = first;
}

uint32_t lists_write_of(const struct engine *engine, uint32_t local, uint32_t key)
{
    uint32_t write = engine->first_write[local];
    while (engine->write_key[write] != key)
        write++;
    return write;
}

void lists_add_pair(struct engine *engine, uint32_t earlier, uint32_t later, uint32_t operation)
{
    if (engine->list_pair_count == engine->list_pair_capacity) {
        uint32_t next = (uint32_t)iso_column_capacity(engine->list_pair_capacity, engine->list_pair_count + 1u);
        engine->list_pairs = iso_reallocate(engine->list_pairs, next * sizeof *engine->list_pairs);
        engine->list_pair_capacity = next;
    }
    uint32_t *pair = engine->list_pairs[engine->list_pair_count++];
    pair[0] = earlier, pair[1] = later, pair[2] = operation;
}

uint32_t lists_block_length(const struct lists *lists, uint32_t transaction, uint32_t key, const iso_atom *at,
                            uint32_t left)
{
    const struct iso_history *history = lists->engine->history;
    uint32_t length = 0;
    for (uint32_t o = history->first_operation[transaction]; o < history->first_operation[transaction + 1]; o++) {
        if (history->key[o] != key || iso_kind_of(history, o) != ISO_APPEND)
            continue;
        if (length == left || at[length] != history->value[o])
            return 0;
        length++;
    }
    return length;
}

/* Cuts the longest prefix of a key into blocks; returns how far that went. */
static uint32_t cut_blocks(struct lists *lists, uint32_t key, uint32_t start, uint32_t *last)
{
    struct engine *engine = lists->engine;
    uint32_t read = lists->longest[key], length = engine->read_prefix[read], at = start;
    const iso_atom *elements = lists_elements(lists, read);
    *last = ISO_NONE;
    while (at < length) {
        bool several;
        const struct append *append = lists_find_append(lists, key, elements[at], &several);
        uint32_t local = append ? engine->local[append->transaction] : ISO_NONE;
        if (local == ISO_NONE) {
            lists_report(lists, append ? ISO_FINDING_G1A : ISO_FINDING_THINAIR, read,
                         append ? append->transaction : ISO_NONE);
            return at;
        }
        uint32_t block = lists_block_length(lists, append->transaction, key, elements + at, length - at);
        if (!block || local == engine->read_transaction[read]) {
            lists_report(lists, ISO_FINDING_G1B, read, append->transaction);
            return at;
        }
        uint32_t write = lists_write_of(engine, local, key);
        if (lists->observed[write]) { /* twice in one list */
            lists_report(lists, ISO_FINDING_INCOMPATIBLE, read, ISO_NONE);
            return at;
        }
        if (*last != ISO_NONE)
            lists_add_pair(engine, *last, write, engine->read_operation[read]);
        lists->observed[write] = 1;
        at += block;
        lists->boundary[at] = *last = write;
    }
    return at;
}

bool lists_agree(struct lists *lists, uint32_t read, uint32_t start)
{
    struct engine *engine = lists->engine;
    uint32_t length = engine->read_prefix[read], longest = lists->longest[engine->read_key[read]];
    if (length >= start &&
        !memcmp(lists_elements(lists, read), lists_elements(lists, longest), length * sizeof(iso_atom)))
        return true;
    lists_report(lists, ISO_FINDING_INCOMPATIBLE, read, engine->transaction[engine->read_transaction[longest]]);
    return false;
}

void lists_report_part(struct lists *lists, uint32_t read)
{
    bool several;
    uint32_t key = lists->engine->read_key[read], last = lists->engine->read_prefix[read] - 1;
    const struct append *append = lists_find_append(lists, key, lists_elements(lists, read)[last], &several);
    lists_report(lists, ISO_FINDING_G1B, read, append->transaction);
}

static void resolve_read(struct lists *lists, uint32_t read, uint32_t start, uint32_t cut)
{
    struct engine *engine = lists->engine;
    uint32_t length = engine->read_prefix[read];
    if (!lists_agree(lists, read, start))
        return;
    if (length == start) {
        lists->writer[read] = INITIAL;
    } else if (length <= cut) { /* beyond: the longest read's finding says it */
        uint32_t write = lists->boundary[length];
        if (write == ISO_NONE || engine->write_transaction[write] == engine->read_transaction[read])
            lists_report_part(lists, read);
        else
            lists->writer[read] = write;
    }
}

static void resolve_key(struct lists *lists, uint32_t key, const uint32_t *reads, uint32_t count,
                        const uint32_t *writes, uint32_t write_count)
{
    struct engine *engine = lists->engine;
    uint32_t longest = lists->longest[key], length = engine->read_prefix[longest], last;
    uint32_t initial = lists->initial_first[key + 1] - lists->initial_first[key];
    const iso_atom *given = lists->initial_elements + lists->initial_first[key];
    if (length < initial || memcmp(lists_elements(lists, longest), given, initial * sizeof *given)) {
        lists_report(lists, ISO_FINDING_INCOMPATIBLE, longest, ISO_NONE);
        return;
    }
    if (lists->repeats[key] && repeats_in(lists, key, initial)) {
        struct numbers of_reads = {reads, count}, of_writes = {writes, write_count};
        repeats_resolve(lists, key, initial, of_reads, of_writes);
        return;
    }
    lists->boundary = iso_reallocate(lists->boundary, ((size_t)length + 1) * sizeof *lists->boundary);
    memset(lists->boundary, 0xff, ((size_t)length + 1) * sizeof *lists->boundary);
    uint32_t cut = cut_blocks(lists, key, initial, &last);
    for (uint32_t i = 0; i < count; i++)
        resolve_read(lists, reads[i], initial, cut);
    for (uint32_t i = 0; i < write_count && last != ISO_NONE; i++) {
        if (!lists->observed[writes[i]])
            lists_add_pair(engine, last, writes[i], engine->read_operation[longest]);
    }
}

/* Numbers from 0 to count - 1 by key, for list keys: items[first[key]] to items[first[key + 1] - 1]. */
static uint32_t *by_list_key(const struct engine *engine, const uint32_t *keys, uint32_t count, uint32_t **items)
{
    uint32_t key_count = engine->history->key_count;
    uint32_t *first = iso_allocate_zeroed((size_t)key_count + 2, sizeof *first);
    *items = iso_allocate(((size_t)count + 1) * sizeof **items);
    for (uint32_t i = 0; i < count; i++)
        first[keys[i] + 2] += iso_key_is_list(engine->history, keys[i]) ? 1 : 0;
    for (uint32_t key = 0; key < key_count; key++)
        first[key + 2] += first[key + 1];
    for (uint32_t i = 0; i < count; i++) {
        if (iso_key_is_list(engine->history, keys[i]))
            (*items)[first[keys[i] + 1]++] = i;
    }
    return first;
}

static void resolve_keys(struct lists *lists)
{
    struct engine *engine = lists->engine;
    uint32_t *reads, *writes, key_count = engine->history->key_count;
    uint32_t *first_read = by_list_key(engine, engine->read_key, engine->read_count, &reads);
    uint32_t *first_write = by_list_key(engine, engine->write_key, engine->write_count, &writes);
    lists->longest = iso_allocate(((size_t)key_count + 1) * sizeof *lists->longest);
    for (uint32_t key = 0; key < key_count; key++) {
        uint32_t longest = ISO_NONE;
        for (uint32_t i = first_read[key]; i < first_read[key + 1]; i++) {
            if (longest == ISO_NONE || engine->read_prefix[reads[i]] > engine->read_prefix[longest])
                longest = reads[i];
        }
        lists->longest[key] = longest;
        if (longest != ISO_NONE)
            resolve_key(lists, key, reads + first_read[key], first_read[key + 1] - first_read[key],
                        writes + first_write[key], first_write[key + 1] - first_write[key]);
    }
    iso_free(first_read);
    iso_free(first_write);
    iso_free(reads);
    iso_free(writes);
}

uint32_t *lists_resolve(struct engine *engine)
{
    struct lists lists = {.engine = engine};
    bool any = false;
    for (uint32_t key = 0; key < engine->history->key_count && !any; key++)
        any = iso_key_is_list(engine->history, key);
    if (!any)
        return NULL;
    lists.writer = iso_allocate(((size_t)engine->read_count + 1) * sizeof *lists.writer);
    memset(lists.writer, 0xff, ((size_t)engine->read_count + 1) * sizeof *lists.writer);
    lists.repeats = iso_allocate_zeroed((size_t)engine->history->key_count + 1, sizeof *lists.repeats);
    lists.observed = iso_allocate_zeroed((size_t)engine->write_count + 1, 1);
    index_appends(&lists);
    collect_initial(&lists);
    resolve_keys(&lists);
    iso_free(lists.appends.entries);
    iso_free(lists.appends.slots);
    iso_free(lists.longest);
    iso_free(lists.repeats);
    iso_free(lists.place);
    iso_free(lists.initial_first);
    iso_free(lists.initial_elements);
    iso_free(lists.boundary);
    iso_free(lists.observed);
    return lists.writer;
}
