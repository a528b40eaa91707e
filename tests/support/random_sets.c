#include "tests/support/random_sets.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* ---- keys ---- */

static void add_key(struct random_sets *drawing, const struct plain_text *key)
{
    uint32_t at = drawing->key_count;
    for (uint32_t i = 0; i < drawing->key_count; i++)
        if (!plain_compare(&drawing->keys[i], key))
            return;
    if (at == RANDOM_SETS_KEYS)
        return;
    for (; at && plain_compare(&drawing->keys[at - 1], key) > 0; at--)
        drawing->keys[at] = drawing->keys[at - 1];
    drawing->keys[at] = *key;
    drawing->key_count++;
}

static void find_keys(struct random_sets *drawing)
{
    const struct plain_history *plain = &drawing->plain;
    drawing->key_count = 0;
    for (uint32_t i = 0; i < plain->initial_count; i++)
        add_key(drawing, &plain->initials[i].key);
    for (uint32_t t = 0; t < plain->transaction_count; t++)
        for (uint32_t i = 0; i < plain->transactions[t].operation_count; i++)
            add_key(drawing, &plain->transactions[t].operations[i].key);
}

/* ---- reads of all keys between two bounds ---- */

static bool is_within(const struct random_set *set, const struct plain_text *key)
{
    return (set->from.absent || plain_compare(&set->from, key) <= 0) &&
           (set->to.absent || plain_compare(key, &set->to) <= 0);
}

/* A value that somebody wrote to the key; absent: nobody did. */
static struct plain_text some_value(struct random_sets *drawing, const struct plain_text *key)
{
    struct plain_text value = {.absent = true};
    for (uint32_t t = 0; t < drawing->plain.transaction_count; t++) {
        const struct plain_transaction *transaction = &drawing->plain.transactions[t];
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct plain_operation *operation = &transaction->operations[i];
            if (operation->kind == ISO_WRITE && !plain_compare(&operation->key, key) &&
                (value.absent || random_percent(&drawing->random, 50)))
                value = operation->value;
        }
    }
    return value;
}

static void choose_bounds(struct random_sets *drawing, struct random_set *set)
{
    struct plain_text one = drawing->keys[random_below(&drawing->random, drawing->key_count)];
    struct plain_text other = drawing->keys[random_below(&drawing->random, drawing->key_count)];
    bool in_order = plain_compare(&one, &other) <= 0;
    set->from = in_order ? one : other;
    set->to = in_order ? other : one;
    if (random_percent(&drawing->random, 20))
        set->from = plain_text(NULL);
    if (random_percent(&drawing->random, 20))
        set->to = plain_text(NULL);
}

/* Rows first, in the order in which they are drawn; then, unless the set is partial, what it lacks,
 * in the order of keys. */
static uint32_t spell_out(struct random_sets *drawing, struct random_set *set,
                          struct plain_operation *operations)
{
    bool returned[RANDOM_SETS_KEYS] = {false};
    uint32_t count = 0;
    for (uint32_t k = 0; k < drawing->key_count; k++) {
        struct plain_text value = some_value(drawing, &drawing->keys[k]);
        if (!is_within(set, &drawing->keys[k]) || value.absent ||
            random_percent(&drawing->random, 40))
            continue;
        returned[k] = true;
        operations[count] = set->time;
        operations[count].key = drawing->keys[k];
        operations[count++].value = value;
    }
    set->rows = count;
    set->time.snapshot.given &= count > 0; /* random_sets_add takes it from a row */
    for (uint32_t k = 0; k < drawing->key_count && !set->is_partial; k++) {
        if (returned[k] || !is_within(set, &drawing->keys[k]))
            continue;
        operations[count] = set->time;
        operations[count].key = drawing->keys[k];
        operations[count++].value = plain_text(NULL);
    }
    return set->count = count;
}

/* When the set was read: as one of the transaction's own reads was, or as the transaction. */
static struct plain_operation time_of(struct random_sets *drawing,
                                      const struct plain_transaction *transaction)
{
    struct plain_operation time = {.kind = ISO_READ};
    if (transaction->operation_count) {
        const struct plain_operation *like =
            &transaction->operations[random_below(&drawing->random, transaction->operation_count)];
        time.ots = like->ots;
        time.snapshot = like->snapshot;
        time.lock = like->lock;
    }
    return time;
}

/* Puts a set among the operations of transaction t, if there is room. Those of aborted and unknown
 * ones are not judged. */
static void add_set(struct random_sets *drawing, uint32_t t)
{
    struct plain_transaction *transaction = &drawing->plain.transactions[t];
    struct plain_operation operations[RANDOM_SETS_KEYS];
    struct random_set set = {.transaction = t,
                             .is_partial = random_percent(&drawing->random, 15),
                             .time = time_of(drawing, transaction)};
    uint32_t lowest = 0;
    for (uint32_t i = 0; i < drawing->set_count; i++) /* sets stand in their order */
        if (drawing->sets[i].transaction == t)
            lowest = drawing->sets[i].first + drawing->sets[i].count;
    set.first = lowest + random_below(&drawing->random, transaction->operation_count - lowest + 1);
    choose_bounds(drawing, &set);
    if (transaction->status != ISO_COMMITTED)
        set.is_partial = true;
    uint32_t count = spell_out(drawing, &set, operations),
             tail = transaction->operation_count - set.first;
    if (transaction->operation_count + count > PLAIN_OPERATIONS)
        return;
    memmove(&transaction->operations[set.first + count], &transaction->operations[set.first],
            tail * sizeof *transaction->operations);
    memcpy(&transaction->operations[set.first], operations, count * sizeof *operations);
    transaction->operation_count += count;
    drawing->sets[drawing->set_count++] = set;
    drawing->drawn.sets++;
    drawing->drawn.empty += !set.rows;
    drawing->drawn.partial += set.is_partial;
    drawing->drawn.open += set.from.absent || set.to.absent;
    drawing->drawn.timed += set.time.ots.given || set.time.snapshot.given || set.time.lock;
}

void random_sets_draw(struct random_sets *drawing)
{
    drawing->set_count = 0;
    find_keys(drawing);
    for (uint32_t t = 0; t < drawing->plain.transaction_count && drawing->key_count; t++)
        for (uint32_t n = random_below(&drawing->random, 3); n > 0; n--)
            add_set(drawing, t);
}

/* ---- the same with row sets ---- */

static iso_atom atom_of(struct iso_history *history, const struct plain_text *text)
{
    return text->absent ? ISO_ABSENT
                        : iso_atoms_text(&history->atoms, text->text, strlen(text->text));
}

/* Without what sets lack. */
void random_sets_take_back(const struct random_sets *drawing, struct plain_history *short_one)
{
    *short_one = drawing->plain;
    for (uint32_t i = drawing->set_count; i-- > 0;) {
        const struct random_set *set = &drawing->sets[i];
        struct plain_transaction *transaction = &short_one->transactions[set->transaction];
        uint32_t lacks = set->count - set->rows, behind = set->first + set->count;
        memmove(&transaction->operations[set->first + set->rows], &transaction->operations[behind],
                (transaction->operation_count - behind) * sizeof *transaction->operations);
        transaction->operation_count -= lacks;
    }
}

void random_sets_add(const struct random_sets *drawing, struct iso_history *history)
{
    uint32_t lacked = 0;
    history->ranges.capacity = history->ranges.count = drawing->set_count;
    ISO_COLUMN_RESIZE(history->ranges.list, 0, drawing->set_count);
    for (uint32_t i = 0; i < drawing->set_count; i++) {
        const struct random_set *set = &drawing->sets[i];
        lacked = i && set[-1].transaction == set->transaction ? lacked : 0;
        struct iso_range *range = &history->ranges.list[i];
        *range = (struct iso_range){.transaction = set->transaction,
                                    .first = set->first - lacked,
                                    .count = set->rows,
                                    .rows = set->rows,
                                    .from = atom_of(history, &set->from),
                                    .to = atom_of(history, &set->to),
                                    .is_partial = set->is_partial};
        lacked += set->count - set->rows;
        if (!set->rows) {
            range->kind = set->time.ots.given ? ISO_OPERATION_OTS
                          : set->time.lock    ? ISO_OPERATION_LOCK
                                              : 0;
            range->ots = set->time.ots.physical;
            range->ots_logical = set->time.ots.logical;
            if (range->kind)
                history->txns.flags[set->transaction] |= ISO_OWN_TIMES;
            continue;
        }
        uint32_t o = history->txns.first_op[set->transaction] + range->first;
        range->kind = history->ops.kind[o] & (uint8_t)~ISO_KIND_MASK;
        range->ots = history->ops.ots ? history->ops.ots[o] : 0;
        range->ots_logical = history->ops.ots_logical ? history->ops.ots_logical[o] : 0;
    }
}

void random_sets_print(const struct random_sets *drawing)
{
    for (uint32_t s = 0; s < drawing->set_count; s++) {
        const struct random_set *set = &drawing->sets[s];
        printf("# transaction %u: operations %u to %u, of which %u are rows, from %s to %s\n",
               set->transaction, set->first, set->first + set->count - 1, set->rows,
               set->from.absent ? "" : set->from.text, set->to.absent ? "" : set->to.text);
    }
}
