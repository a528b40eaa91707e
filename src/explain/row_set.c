#define _GNU_SOURCE
#include "explain/row_set.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/number_map.h"
#include "base/sorted.h"
#include "explain/argument_private.h"

/* What is looked up of one key of the range. */
struct found {
    uint32_t operation;
    iso_atom expected;
    bool is_compared, differs, is_shown;
};

struct looking {
    const struct iso_argument *argument;
    const struct iso_history *history;
    const struct iso_range *range;
    struct iso_moment moment;
    uint32_t claimed; /* among those found */
    uint32_t count;
    struct found *found;
    struct iso_number_map own; /* the reader's own last writes before it read, by key */
};

/* ---- what had to be there ---- */

static void note_own_writes(struct looking *looking)
{
    const struct iso_history *history = looking->history;
    uint32_t first = history->first_operation[looking->range->transaction];
    for (uint32_t o = first; o < first + looking->range->first; o++)
        if (iso_kind_writes(history->kind[o]))
            iso_number_map_put(&looking->own, history->key[o], o);
}

static uint32_t visible_write(const struct looking *looking, uint32_t key)
{
    uint32_t count, low = 0;
    const struct iso_key_version *versions = iso_facts_versions(looking->argument->facts, key, &count);
    uint32_t high = count;
    ISO_BISECT(low, high, middle,
               iso_moment_sees(&looking->moment, looking->history->cts[versions[middle].transaction]));
    while (low && versions[low - 1].transaction == looking->range->transaction)
        low--;
    return low ? versions[low - 1].last_write : ISO_NONE;
}

static struct found look_up(const struct looking *looking, uint32_t operation)
{
    const struct iso_history *history = looking->history;
    uint32_t key = history->key[operation], own = iso_number_map_get(&looking->own, key);
    uint32_t write = own == ISO_NUMBER_NONE ? visible_write(looking, key) : own;
    iso_atom expected = write == ISO_NONE ? iso_facts_initial(looking->argument->facts, key) : history->value[write];
    bool is_compared = !iso_key_is_list(history, key) && !iso_atom_is_unknown(&history->atoms, expected);
    return (struct found){.operation = operation,
                          .expected = expected,
                          .is_compared = is_compared,
                          .differs = is_compared && expected != history->value[operation]};
}

/* Neither there nor found. */
static bool is_empty(const struct looking *looking, const struct found *found)
{
    const struct iso_history *history = looking->history;
    return iso_kind_of(history, found->operation) == ISO_READ && history->value[found->operation] == ISO_ABSENT &&
           found->expected == ISO_ABSENT;
}

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct iso_history *history = context;
    const struct found *a = left, *b = right;
    return iso_atom_compare(&history->atoms, history->key_atom[history->key[a->operation]],
                            history->key_atom[history->key[b->operation]]);
}

static void look_up_all(struct looking *looking)
{
    const struct iso_range *range = looking->range;
    uint32_t claimed = looking->argument->claim->operation;
    uint32_t first = looking->history->first_operation[range->transaction] + range->first;
    looking->found = iso_allocate(((size_t)range->count + 1) * sizeof *looking->found);
    for (uint32_t i = 0; i < range->count; i++) {
        struct found found = look_up(looking, first + i);
        found.differs = found.differs || first + i == claimed;
        if (found.differs || !is_empty(looking, &found))
            looking->found[looking->count++] = found;
    }
    qsort_r(looking->found, looking->count, sizeof *looking->found, compare_keys, (void *)looking->history);
    for (uint32_t i = 0; i < looking->count; i++)
        looking->claimed = looking->found[i].operation == claimed ? i : looking->claimed;
}

/* ---- what is shown ---- */

static void show(struct looking *looking, uint32_t i, uint32_t *room)
{
    if (i >= looking->count || looking->found[i].is_shown || !*room)
        return;
    looking->found[i].is_shown = true;
    --*room;
}

/* What it is about, what differs, and of the rest its neighbours. */
static void choose(struct looking *looking)
{
    uint32_t room = ISO_ROW_SET_SHOWN;
    show(looking, looking->claimed, &room);
    for (uint32_t i = 0; i < looking->count; i++)
        if (looking->found[i].differs)
            show(looking, i, &room);
    for (uint32_t away = 1; away < looking->count && room; away++) {
        show(looking, looking->claimed + away, &room);
        show(looking, looking->claimed - away, &room);
    }
}

static uint32_t put_atom(const struct looking *looking, struct iso_text *text, iso_atom atom)
{
    uint32_t start = (uint32_t)text->used;
    argue_put_atom(text, &looking->history->atoms, atom);
    iso_text_put_bytes(text, "", 1);
    return start;
}

static uint32_t put_expected(const struct looking *looking, struct iso_text *text, const struct found *found)
{
    const struct iso_claim *claim = looking->argument->claim;
    uint32_t start = (uint32_t)text->used;
    if (found->operation == claim->operation && claim->expected.given)
        argue_put_claim_value(text, looking->argument, &claim->expected);
    else if (!found->is_compared)
        iso_text_put(text, iso_key_is_list(looking->history, looking->history->key[found->operation]) ? "a list"
                                                                                                      : "not known");
    else
        return put_atom(looking, text, found->expected);
    iso_text_put_bytes(text, "", 1);
    return start;
}

static uint32_t put_actual(const struct looking *looking, struct iso_text *text, const struct found *found)
{
    uint32_t start = (uint32_t)text->used;
    argue_put_operation_value(text, looking->history, found->operation);
    iso_text_put_bytes(text, "", 1);
    return start;
}

static void put_rows(const struct looking *looking, struct iso_row_set *set)
{
    for (uint32_t i = 0; i < looking->count; i++) {
        const struct found *found = &looking->found[i];
        set->left += !found->is_shown;
        set->left_differing += !found->is_shown && found->differs;
        if (!found->is_shown)
            continue;
        set->rows[set->row_count++] = (struct iso_row_set_row){
            .operation = found->operation,
            .key = put_atom(looking, &set->text, looking->history->key_atom[looking->history->key[found->operation]]),
            .expected = put_expected(looking, &set->text, found),
            .actual = put_actual(looking, &set->text, found),
            .differs = found->differs,
            .is_claimed = i == looking->claimed};
    }
}

static void put_bound(const struct looking *looking, struct iso_text *text, const char *before, iso_atom bound)
{
    if (bound == ISO_ABSENT)
        return;
    iso_text_put(text, before);
    argue_put_atom(text, &looking->history->atoms, bound);
}

static void put_title(const struct looking *looking, struct iso_row_set *set)
{
    const struct iso_range *range = looking->range;
    set->title = (uint32_t)set->text.used;
    iso_text_put(&set->text, range->from == ISO_ABSENT && range->to == ISO_ABSENT ? "all keys" : "keys");
    put_bound(looking, &set->text, " from ", range->from);
    put_bound(looking, &set->text, " to ", range->to);
    iso_text_put(&set->text, " at ");
    iso_argument_put_stamp(looking->argument, looking->moment.at, &set->text);
    if (range->is_partial || range->is_skipped)
        iso_text_put(&set->text, ", of which only the rows that were found are judged");
    iso_text_put_bytes(&set->text, "", 1);
}

bool iso_row_set_init(struct iso_row_set *set, const struct iso_argument *argument)
{
    const struct iso_claim *claim = argument->claim;
    struct looking looking = {.argument = argument, .history = argument->facts->history};
    *set = (struct iso_row_set){.row_count = 0};
    if (claim->operation != ISO_NONE)
        looking.range = iso_history_range_of(looking.history, claim->operation);
    if (!looking.range)
        return false;
    looking.moment = iso_moment_of(looking.history, looking.range->transaction, claim->operation, claim->is_serial);
    note_own_writes(&looking);
    look_up_all(&looking);
    choose(&looking);
    put_title(&looking, set);
    put_rows(&looking, set);
    iso_free(looking.found);
    iso_number_map_release(&looking.own);
    return true;
}

void iso_row_set_release(struct iso_row_set *set)
{
    iso_text_release(&set->text);
}
