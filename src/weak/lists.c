/* Lists show the order of their writers: all reads of a key are prefixes of the longest one, and that one is a row of blocks,
 * each the appends of one transaction. Writers whose appends nobody saw come after all those.
 *
 * Lists in which an element stands that several transactions appended are left open.
 */
#include "base/number_map.h"
#include "weak/weak_private.h"

struct lists {
    struct weak *weak;
    struct iso_number_map
        by_element;    /* of a key and an element: 1 + the append operation of who takes part, as an entry */
    uint32_t *longest; /* by key: the read with the most elements before its own, or ISO_NONE */
    uint8_t *repeats;  /* by key: an element was appended twice by those that take part */
    uint32_t *boundary, boundary_capacity; /* by place of the longest read: the write that ends there, or ISO_NONE */
    uint8_t *observed;                     /* by write */
};

static const iso_atom *elements_of(const struct weak *weak, uint32_t read)
{
    const struct iso_history *history = weak->history;
    return history->element + history->list_first[history->value[weak->read_operation[read]]];
}

static uint32_t reader_of(const struct weak *weak, uint32_t read)
{
    return iso_history_owner(weak->history, weak->read_operation[read]);
}

static void report(struct lists *lists, enum iso_finding_kind kind, uint32_t read, uint32_t other)
{
    weak_problem_finding(lists->weak, kind, reader_of(lists->weak, read), lists->weak->read_operation[read], other);
}

static uint32_t write_of(const struct weak *weak, uint32_t t, uint32_t key)
{
    uint32_t write = weak->write_first[t];
    while (write < weak->write_first[t + 1] && weak->write_key[write] != key)
        write++;
    return write;
}

/* Those that take part win over those that aborted. */
static void index_appends(struct lists *lists)
{
    const struct iso_history *history = lists->weak->history;
    for (int aborted = 0; aborted < 2; aborted++) {
        for (uint32_t t = 0; t < history->transaction_count; t++) {
            for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
                if (iso_kind_of(history, o) != ISO_APPEND || lists->weak->part[t] == aborted)
                    continue;
                uint32_t before =
                    iso_number_map_add(&lists->by_element, iso_number_pair(history->key[o], history->value[o]), o);
                lists->repeats[history->key[o]] |= !aborted && before != o && before != ISO_NUMBER_NONE;
            }
        }
    }
}

/* How many elements from `at` are all the appends of a transaction to a key, in order; 0: they are not. */
static uint32_t block_length(const struct weak *weak, uint32_t t, uint32_t key, const iso_atom *at, uint32_t left)
{
    const struct iso_history *history = weak->history;
    uint32_t length = 0;
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        if (iso_kind_of(history, o) != ISO_APPEND || history->key[o] != key)
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
    struct weak *weak = lists->weak;
    uint32_t read = lists->longest[key], length = weak->read_prefix[read], at = start;
    const iso_atom *elements = elements_of(weak, read);
    *last = ISO_NONE;
    while (at < length) {
        uint32_t append = iso_number_map_get(&lists->by_element, iso_number_pair(key, elements[at]));
        uint32_t t = append == ISO_NUMBER_NONE ? ISO_NONE : iso_history_owner(weak->history, append);
        if (t == ISO_NONE || !weak->part[t]) {
            report(lists, t == ISO_NONE ? ISO_FINDING_THINAIR : ISO_FINDING_G1A, read, t);
            return at;
        }
        uint32_t block = block_length(weak, t, key, elements + at, length - at);
        if (!block || t == reader_of(weak, read)) {
            report(lists, ISO_FINDING_G1B, read, t);
            return at;
        }
        uint32_t write = write_of(weak, t, key);
        if (lists->observed[write]) {
            report(lists, ISO_FINDING_INCOMPATIBLE, read, ISO_NONE);
            return at;
        }
        if (*last != ISO_NONE)
            weak_order_add_bond(weak,
                                (struct bond){weak->write_owner[*last], t, BOND_LIST, weak->read_operation[read], key});
        lists->observed[write] = 1;
        at += block;
        lists->boundary[at] = *last = write;
    }
    return at;
}

static void resolve_read(struct lists *lists, uint32_t read, uint32_t start, uint32_t cut)
{
    struct weak *weak = lists->weak;
    uint32_t length = weak->read_prefix[read], longest = lists->longest[read_key(weak, read)];
    const iso_atom *elements = elements_of(weak, read);
    if (length < start || memcmp(elements, elements_of(weak, longest), length * sizeof *elements)) {
        report(lists, ISO_FINDING_INCOMPATIBLE, read, reader_of(weak, longest));
        return;
    }
    if (length == start) {
        weak->read_writer[read] = INITIAL;
    } else if (length <= cut) { /* beyond: the longest read's finding says it */
        uint32_t write = lists->boundary[length];
        if (write == ISO_NONE || weak->write_owner[write] == reader_of(weak, read))
            report(lists, ISO_FINDING_G1B, read,
                   iso_history_owner(weak->history,
                                     iso_number_map_get(&lists->by_element,
                                                        iso_number_pair(read_key(weak, read), elements[length - 1]))));
        else
            weak->read_writer[read] = write;
    }
}

static uint32_t initial_length(const struct weak *weak, uint32_t key, const iso_atom *elements, uint32_t length)
{
    const struct iso_history *history = weak->history;
    uint32_t start = 0;
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (history->initial_key[i] != key || !history->initial_is_append[i])
            continue;
        if (start == length || elements[start] != history->initial_of_key[i])
            return ISO_NONE;
        start++;
    }
    return start;
}

static void resolve_keys(struct lists *lists)
{
    struct weak *weak = lists->weak;
    uint32_t keys = weak->history->key_count;
    uint32_t *start = iso_numbers(keys), *cut = iso_numbers(keys), *last = iso_numbers_none(keys);
    uint32_t *base = iso_numbers(keys); /* where the key's boundaries begin */
    uint32_t room = 0;
    for (uint32_t key = 0; key < keys; key++) {
        base[key] = room;
        if (lists->longest[key] != ISO_NONE)
            room += weak->read_prefix[lists->longest[key]] + 1;
    }
    uint32_t *boundaries = iso_numbers_none(room);
    for (uint32_t key = 0; key < keys; key++) {
        uint32_t longest = lists->longest[key];
        if (longest == ISO_NONE)
            continue;
        start[key] = initial_length(weak, key, elements_of(weak, longest), weak->read_prefix[longest]);
        if (start[key] == ISO_NONE) {
            report(lists, ISO_FINDING_INCOMPATIBLE, longest, ISO_NONE);
            continue;
        }
        if (lists->repeats[key]) {
            weak->stopped = "repeated-elements";
            continue;
        }
        lists->boundary = boundaries + base[key];
        cut[key] = cut_blocks(lists, key, start[key], &last[key]);
    }
    for (uint32_t read = 0; read < weak->read_count; read++) {
        uint32_t key = read_key(weak, read);
        if (!iso_key_is_list(weak->history, key) || start[key] == ISO_NONE || lists->repeats[key])
            continue;
        lists->boundary = boundaries + base[key];
        resolve_read(lists, read, start[key], cut[key]);
    }
    for (uint32_t write = 0; write < weak->write_count; write++) {
        uint32_t key = weak->write_key[write];
        if (iso_key_is_list(weak->history, key) && last[key] != ISO_NONE && !lists->observed[write])
            weak_order_add_bond(weak, (struct bond){weak->write_owner[last[key]], weak->write_owner[write], BOND_LIST,
                                                    weak->read_operation[lists->longest[key]], key});
    }
    iso_free(start);
    iso_free(cut);
    iso_free(last);
    iso_free(base);
    iso_free(boundaries);
}

void weak_lists_resolve(struct weak *weak)
{
    uint32_t keys = weak->history->key_count;
    struct lists lists = {.weak = weak};
    if (!weak->read_prefix)
        return;
    lists.longest = iso_numbers_none(keys);
    lists.repeats = iso_allocate_zeroed((size_t)keys + 1, 1);
    lists.observed = iso_allocate_zeroed((size_t)weak->write_count + 1, 1);
    for (uint32_t read = 0; read < weak->read_count; read++) {
        uint32_t key = read_key(weak, read);
        uint32_t *longest = &lists.longest[key];
        if (iso_key_is_list(weak->history, key) &&
            (*longest == ISO_NONE || weak->read_prefix[read] > weak->read_prefix[*longest]))
            *longest = read;
    }
    index_appends(&lists);
    resolve_keys(&lists);
    iso_number_map_release(&lists.by_element);
    iso_free(lists.longest);
    iso_free(lists.repeats);
    iso_free(lists.observed);
}
