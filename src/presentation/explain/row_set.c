#define _GNU_SOURCE
#include "explain/row_set.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/number_map.h"
#include "base/sorted.h"
#include "explain/argument_private.h"

/* One key of the range, as looked up in the history. */
struct found {
    uint32_t operation; /* ISO_NONE: a query that the claim is about did not find it */
    uint32_t key;
    iso_atom expected;
    bool is_compared, differs, is_claimed, is_shown;
};

struct search {
    const struct iso_argument *argument;
    const struct iso_history *history;
    const struct iso_range *range;
    struct iso_moment moment;
    bool is_of_query; /* the claim is about what a query found as a whole, not about one of its
                         reads */
    uint32_t claimed; /* among those found */
    uint32_t count;
    struct found *found;
    struct iso_number_map own; /* the reader's own last writes before it read, by key */
};

/* ---- what had to be there ---- */

static void note_own_writes(struct search *search)
{
    const struct iso_history *history = search->history;
    uint32_t first = history->txns.first_op[search->range->transaction];
    for (uint32_t o = first; o < first + search->range->first; o++)
        if (iso_kind_writes(history->ops.kind[o]))
            iso_number_map_put(&search->own, history->ops.key[o], o);
}

static uint32_t visible_write(const struct search *search, uint32_t key)
{
    uint32_t count, low = 0;
    const struct iso_key_version *versions =
        iso_facts_versions(search->argument->facts, key, &count);
    uint32_t high = count;
    ISO_BISECT(
        low, high, middle,
        iso_moment_sees(&search->moment, search->history->txns.cts[versions[middle].transaction]));
    while (low && versions[low - 1].transaction == search->range->transaction)
        low--;
    return low ? versions[low - 1].last_write : ISO_NONE;
}

static struct found find_row(const struct search *search, uint32_t operation)
{
    const struct iso_history *history = search->history;
    uint32_t key = history->ops.key[operation], own = iso_number_map_get(&search->own, key);
    uint32_t write = own == ISO_NUMBER_NONE ? visible_write(search, key) : own;
    iso_atom expected = write == ISO_NONE ? iso_facts_initial(search->argument->facts, key)
                                          : history->ops.value[write];
    bool is_compared =
        !iso_key_is_list(history, key) && !iso_atom_is_unknown(&history->atoms, expected);
    bool is_claimed = search->is_of_query ? key == search->argument->claim->key
                                          : operation == search->argument->claim->operation;
    return (struct found){.operation = operation,
                          .key = key,
                          .expected = expected,
                          .is_compared = is_compared,
                          .is_claimed = is_claimed,
                          .differs = is_claimed ||
                                     (is_compared && expected != history->ops.value[operation])};
}

/* Neither there nor found. */
static bool is_empty(const struct search *search, const struct found *found)
{
    const struct iso_history *history = search->history;
    return iso_kind_of(history, found->operation) == ISO_READ &&
           history->ops.value[found->operation] == ISO_ABSENT && found->expected == ISO_ABSENT;
}

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct iso_history *history = context;
    const struct found *a = left, *b = right;
    return iso_atom_compare(&history->atoms, history->keys.atom[a->key],
                            history->keys.atom[b->key]);
}

/* A query begins with its header, which is no row. What it did not find is known of the claim
 * alone. */
static void find_rows(struct search *search)
{
    const struct iso_range *range = search->range;
    uint32_t first = search->history->txns.first_op[range->transaction] + range->first;
    bool is_found = !search->is_of_query;
    search->found = iso_allocate(((size_t)range->count + 1) * sizeof *search->found);
    for (uint32_t i = range->form == ISO_SET_QUERY; i < range->count; i++) {
        struct found found = find_row(search, first + i);
        is_found = is_found || found.is_claimed;
        if (found.differs || !is_empty(search, &found))
            search->found[search->count++] = found;
    }
    if (!is_found)
        search->found[search->count++] = (struct found){.operation = ISO_NONE,
                                                        .key = search->argument->claim->key,
                                                        .is_claimed = true,
                                                        .differs = true};
    qsort_r(search->found, search->count, sizeof *search->found, compare_keys,
            (void *)search->history);
    for (uint32_t i = 0; i < search->count; i++)
        search->claimed = search->found[i].is_claimed ? i : search->claimed;
}

/* ---- what is shown ---- */

static void mark_shown(struct search *search, uint32_t i, uint32_t *room)
{
    if (i >= search->count || search->found[i].is_shown || !*room)
        return;
    search->found[i].is_shown = true;
    --*room;
}

/* Chooses the rows to show: the key that the claim is about, those that differ, and the neighbours
 * of both. */
static void choose_rows(struct search *search)
{
    uint32_t room = ISO_ROW_SET_SHOWN;
    mark_shown(search, search->claimed, &room);
    for (uint32_t i = 0; i < search->count; i++)
        if (search->found[i].differs)
            mark_shown(search, i, &room);
    for (uint32_t away = 1; away < search->count && room; away++) {
        mark_shown(search, search->claimed + away, &room);
        mark_shown(search, search->claimed - away, &room);
    }
}

static uint32_t put_atom(const struct search *search, struct iso_text *text, iso_atom atom)
{
    uint32_t start = (uint32_t)text->used;
    argue_put_atom(text, &search->history->atoms, atom);
    iso_text_put_bytes(text, "", 1);
    return start;
}

static uint32_t put_expected(const struct search *search, struct iso_text *text,
                             const struct found *found)
{
    const struct iso_claim *claim = search->argument->claim;
    uint32_t start = (uint32_t)text->used;
    if (found->is_claimed && claim->expected.given)
        argue_put_claim_value(text, search->argument, &claim->expected);
    else if (!found->is_compared)
        iso_text_put(text, iso_key_is_list(search->history, found->key) ? "a list" : "not known");
    else
        return put_atom(search, text, found->expected);
    iso_text_put_bytes(text, "", 1);
    return start;
}

static uint32_t put_actual(const struct search *search, struct iso_text *text,
                           const struct found *found)
{
    uint32_t start = (uint32_t)text->used;
    if (found->operation == ISO_NONE)
        argue_put_claim_value(text, search->argument, &search->argument->claim->actual);
    else
        argue_put_operation_value(text, search->history, found->operation);
    iso_text_put_bytes(text, "", 1);
    return start;
}

static void put_rows(const struct search *search, struct iso_row_set *set)
{
    for (uint32_t i = 0; i < search->count; i++) {
        const struct found *found = &search->found[i];
        set->left += !found->is_shown;
        set->left_differing += !found->is_shown && found->differs;
        if (!found->is_shown)
            continue;
        set->rows[set->row_count++] = (struct iso_row_set_row){
            .operation = found->operation,
            .key = put_atom(search, &set->text, search->history->keys.atom[found->key]),
            .expected = put_expected(search, &set->text, found),
            .actual = put_actual(search, &set->text, found),
            .differs = found->differs,
            .is_claimed = found->is_claimed};
    }
}

static void put_after(const struct search *search, struct iso_text *text, const char *before,
                      iso_atom what)
{
    if (what == ISO_ABSENT)
        return;
    iso_text_put(text, before);
    argue_put_atom(text, &search->history->atoms, what);
}

static void put_title(const struct search *search, struct iso_row_set *set)
{
    const struct iso_range *range = search->range;
    set->title = (uint32_t)set->text.used;
    if (range->form == ISO_SET_QUERY) {
        iso_text_put(&set->text, "rows of ");
        argue_put_atom(&set->text, &search->history->atoms, range->table);
    } else {
        iso_text_put(&set->text,
                     range->from == ISO_ABSENT && range->to == ISO_ABSENT ? "all keys" : "keys");
    }
    put_after(search, &set->text, " from ", range->from);
    put_after(search, &set->text, " to ", range->to);
    if (range->form == ISO_SET_QUERY)
        put_after(search, &set->text, " where ", range->where);
    iso_text_put(&set->text, " at ");
    iso_argument_put_stamp(search->argument, search->moment.at, &set->text);
    if (range->is_partial || range->is_skipped)
        iso_text_put(&set->text, ", of which only the rows that were found are judged");
    iso_text_put_bytes(&set->text, "", 1);
}

bool iso_row_set_init(struct iso_row_set *set, const struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    struct search search = {.argument = argument, .history = argument->facts->history};
    *set = (struct iso_row_set){.row_count = 0};
    if (claim->operation != ISO_NONE)
        search.range = iso_history_set_of(search.history, claim->operation);
    if (!search.range || search.range->form == ISO_SET_ROW)
        return false;
    search.is_of_query = argue_is_query(argument);
    search.moment = iso_moment_of(search.history, search.range->transaction, claim->operation,
                                  claim->is_serial);
    note_own_writes(&search);
    find_rows(&search);
    choose_rows(&search);
    put_title(&search, set);
    put_rows(&search, set);
    iso_free(search.found);
    iso_number_map_release(&search.own);
    return true;
}

void iso_row_set_release(struct iso_row_set *set)
{
    iso_text_release(&set->text);
}
