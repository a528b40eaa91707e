/* What reads return: in a correct multi-version store, in none, and after a fault. */
#include "tests/support/random_history_private.h"

/* Whether the store would let the reader see W's version. */
static bool store_shows(const struct draft *draft, uint32_t reader, uint32_t i, uint32_t w)
{
    const struct draft_transaction *r = &draft->transactions[reader],
                                   *writer = &draft->transactions[w];
    if (w == reader || !writer->took_place)
        return false;
    bool late =
        draft->serial || (!r->own[i] && draft->history->transactions[reader].operations[i].lock);
    if (late)
        return r->sts == r->cts ? writer->cts <= r->cts : writer->cts < r->cts;
    return writer->cts <= (r->own[i] ? r->ots[i] : r->sts);
}

static void push(struct plain_operation *read, const struct plain_text *element)
{
    if (read->list_count < PLAIN_LIST)
        read->list[read->list_count++] = *element;
}

static bool same_key(const struct plain_operation *left, const struct plain_operation *right)
{
    return plain_equal(&left->key, &right->key);
}

/* Applies all of a transaction's first `count` operations on the read's key to what the read
 * returns. */
static void apply(const struct plain_transaction *writer, uint32_t count,
                  struct plain_operation *read)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct plain_operation *operation = &writer->operations[i];
        if (!plain_writes(operation) || !same_key(operation, read))
            continue;
        if (read->kind == ISO_READ_LIST)
            push(read, &operation->value);
        else
            read->value = operation->value;
    }
}

static void apply_initials(const struct draft *draft, struct plain_operation *read)
{
    if (read->kind == ISO_READ)
        read->value = draft->history->initial_value;
    read->list_count = 0;
    for (uint32_t i = 0; i < draft->history->initial_count; i++) {
        const struct plain_initial *initial = &draft->history->initials[i];
        if (!plain_equal(&initial->key, &read->key))
            continue;
        if (read->kind == ISO_READ_LIST)
            push(read, &initial->value);
        else
            read->value = initial->value;
    }
}

static void fill_read(struct draft *draft, uint32_t t, uint32_t i, const uint32_t *by_cts)
{
    struct plain_transaction *transaction = &draft->history->transactions[t];
    struct plain_operation *read = &transaction->operations[i];
    bool null_of_list = read->kind == ISO_READ && draft->list[read->key.text[0] - '0'];
    if (null_of_list)
        return;
    apply_initials(draft, read);
    for (uint32_t w = 0; w < draft->history->transaction_count; w++) {
        const struct plain_transaction *writer = &draft->history->transactions[by_cts[w]];
        if (store_shows(draft, t, i, by_cts[w]))
            apply(writer, writer->operation_count, read);
    }
    apply(transaction, i, read);
}

static void sort_by_cts(const struct draft *draft, uint32_t *by_cts)
{
    for (uint32_t t = 0; t < draft->history->transaction_count; t++) {
        uint32_t at = t;
        for (; at > 0 && draft->transactions[by_cts[at - 1]].cts > draft->transactions[t].cts; at--)
            by_cts[at] = by_cts[at - 1];
        by_cts[at] = t;
    }
}

/* First committer wins: of two overlapping writers the later one in the file reads instead. */
static void resolve_conflict(struct draft *draft, uint32_t t, uint32_t i)
{
    struct plain_transaction *transactions = draft->history->transactions;
    struct plain_operation *write = &transactions[t].operations[i];
    for (uint32_t u = 0; u < t; u++) {
        const struct draft_transaction *a = &draft->transactions[t], *b = &draft->transactions[u];
        if (!a->took_place || !b->took_place || a->cts <= b->sts || b->cts <= a->sts)
            continue;
        for (uint32_t j = 0; j < transactions[u].operation_count; j++) {
            const struct plain_operation *other = &transactions[u].operations[j];
            if (!plain_writes(other) || !same_key(other, write))
                continue;
            write->kind = write->kind == ISO_APPEND ? ISO_READ_LIST : ISO_READ;
            return;
        }
    }
}

void draft_fill_reads(struct draft *draft)
{
    struct plain_transaction *transactions = draft->history->transactions;
    uint32_t by_cts[PLAIN_TRANSACTIONS];
    bool resolve = random_percent(&draft->random, 80);
    for (uint32_t t = 0; resolve && t < draft->history->transaction_count; t++) {
        for (uint32_t i = 0; i < transactions[t].operation_count; i++) {
            if (plain_writes(&transactions[t].operations[i]))
                resolve_conflict(draft, t, i);
        }
    }
    sort_by_cts(draft, by_cts);
    for (uint32_t t = 0; t < draft->history->transaction_count; t++) {
        for (uint32_t i = 0; i < transactions[t].operation_count; i++) {
            if (!plain_writes(&transactions[t].operations[i]))
                fill_read(draft, t, i, by_cts);
        }
    }
}

/* A write of the same key, of any transaction, or NULL. */
static const struct plain_operation *random_write(struct draft *draft,
                                                  const struct plain_operation *read)
{
    struct plain_transaction *transactions = draft->history->transactions;
    for (int attempt = 0; attempt < 8; attempt++) {
        uint32_t t = random_below(&draft->random, draft->history->transaction_count);
        if (!transactions[t].operation_count)
            continue;
        uint32_t i = random_below(&draft->random, transactions[t].operation_count);
        if (plain_writes(&transactions[t].operations[i]) &&
            same_key(&transactions[t].operations[i], read))
            return &transactions[t].operations[i];
    }
    return NULL;
}

static struct plain_text random_read_value(struct draft *draft, const struct plain_operation *read)
{
    const struct plain_operation *write = random_write(draft, read);
    if (write && !write->value.absent && random_percent(&draft->random, 75))
        return write->value;
    return draft_value(draft);
}

/* Elements go, come, change places, or all go. */
static void disturb_list(struct draft *draft, struct plain_operation *read)
{
    uint32_t at = read->list_count ? random_below(&draft->random, read->list_count) : 0;
    uint32_t way = random_below(&draft->random, 5);
    if (way == 0 && read->list_count) {
        for (read->list_count--; at < read->list_count; at++)
            read->list[at] = read->list[at + 1];
    } else if (way == 1 && read->list_count > 1) {
        struct plain_text first = read->list[0];
        read->list[0] = read->list[at];
        read->list[at] = first;
    } else if (way == 2) {
        read->list_count = at;
    } else if (way == 3 && read->list_count) {
        read->list[at] = random_read_value(draft, read);
    } else {
        struct plain_text element = random_read_value(draft, read);
        push(read, &element);
    }
}

static void disturb_read(struct draft *draft, struct plain_operation *read)
{
    if (read->kind == ISO_READ_LIST)
        disturb_list(draft, read);
    else if (!draft->list[read->key.text[0] - '0'])
        read->value =
            random_percent(&draft->random, 15) ? plain_text(NULL) : random_read_value(draft, read);
}

void draft_random_reads(struct draft *draft)
{
    for (uint32_t t = 0; t < draft->history->transaction_count; t++) {
        struct plain_transaction *transaction = &draft->history->transactions[t];
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            uint32_t times = transaction->operations[i].kind == ISO_READ_LIST
                                 ? random_below(&draft->random, 4)
                                 : 1;
            for (; times > 0 && !plain_writes(&transaction->operations[i]); times--)
                disturb_read(draft, &transaction->operations[i]);
        }
    }
}

static void disturb_times(struct draft *draft, uint32_t t)
{
    struct draft_transaction *times = &draft->transactions[t];
    const struct draft_transaction *other =
        &draft->transactions[random_below(&draft->random, draft->history->transaction_count)];
    uint32_t i = random_below(&draft->random, PLAIN_OPERATIONS);
    switch (random_below(&draft->random, 6)) {
    case 0:
        times->cts = other->cts;
        break;
    case 1:
        times->sts = times->cts;
        break;
    case 2:
        times->sts = times->cts + 1 + random_below(&draft->random, 3);
        break;
    case 3:
        times->sts = other->cts > 0 ? other->cts - 1 : 0;
        break;
    case 4:
        times->cts += 1 + random_below(&draft->random, 4);
        break;
    default:
        times->own[i] = true;
        times->ots[i] = random_below(&draft->random, times->cts + 3);
    }
}

void draft_plant_fault(struct draft *draft)
{
    uint32_t t = random_below(&draft->random, draft->history->transaction_count);
    struct plain_transaction *transaction = &draft->history->transactions[t];
    uint32_t way = random_below(&draft->random, 10);
    if (way < 3) {
        disturb_times(draft, t);
    } else if (way < 4) {
        transaction->status = (uint8_t)random_below(&draft->random, 3);
    } else if (transaction->operation_count) {
        struct plain_operation *operation =
            &transaction->operations[random_below(&draft->random, transaction->operation_count)];
        if (!plain_writes(operation))
            disturb_read(draft, operation);
        else if (operation->kind != ISO_DELETE)
            operation->value = draft_value(draft);
    }
}
