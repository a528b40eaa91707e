/* The stages in order, and the first of them: who runs when and does what. */
#include "tests/support/random_history.h"

#include <string.h>

#include "tests/support/random_history_private.h"

struct random_history_options random_history_defaults(void)
{
    return (struct random_history_options){.max_transactions = 10,
                                           .max_keys = 4,
                                           .max_sessions = 4,
                                           .max_operations = 5,
                                           .timestamps = true};
}

struct plain_text draft_value(struct draft *draft)
{
    return plain_number(random_below(&draft->random, draft->values));
}

static struct plain_text written_value(struct draft *draft)
{
    return draft->unique_values ? plain_number(draft->values + draft->next_value++)
                                : draft_value(draft);
}

static enum iso_operation_kind random_kind(struct draft *draft, uint32_t key, bool read_only)
{
    bool read = read_only || random_percent(&draft->random, 50);
    if (draft->list[key])
        return !read ? ISO_APPEND : random_percent(&draft->random, 90) ? ISO_READ_LIST : ISO_READ;
    if (read)
        return ISO_READ;
    return random_percent(&draft->random, 15) ? ISO_DELETE : ISO_WRITE;
}

static void add_operations(struct draft *draft, uint32_t t)
{
    struct plain_transaction *transaction = &draft->history->transactions[t];
    struct draft_transaction *times = &draft->transactions[t];
    bool read_only = random_percent(&draft->random, 25);
    uint32_t count = random_below(&draft->random, draft->operations + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = random_below(&draft->random, draft->keys);
        enum iso_operation_kind kind = random_kind(draft, key, read_only);
        struct plain_operation *operation = plain_history_operation(transaction, kind, "0", NULL);
        operation->key = plain_number(key);
        if (kind == ISO_APPEND || (kind == ISO_WRITE && !random_percent(&draft->random, 3)))
            operation->value = written_value(draft);
        operation->lock = draft->locks && random_percent(&draft->random, 25);
        times->own[i] = draft->own_times && random_percent(&draft->random, 30);
        uint32_t width = times->cts > times->sts ? times->cts - times->sts : 0;
        times->ots[i] = times->sts + random_below(&draft->random, width + !plain_writes(operation));
    }
}

static struct plain_transaction *add_transaction(struct draft *draft, uint32_t session)
{
    struct plain_transaction *transaction = plain_history_begin(draft->history, "0", "0");
    struct draft_transaction *times = &draft->transactions[draft->history->transaction_count - 1];
    uint32_t fate = random_below(&draft->random, 100);
    memset(times, 0, sizeof *times);
    transaction->session = plain_number(session);
    transaction->status = fate < 10 ? ISO_ABORTED : fate < 20 ? ISO_UNKNOWN : ISO_COMMITTED;
    times->took_place = transaction->status == ISO_COMMITTED || (fate & 1 && fate >= 10);
    return transaction;
}

/* Sessions run one transaction after another; `now` moves on slowly, so that transactions overlap
 * and times tie. */
void draft_simulated(struct draft *draft)
{
    uint32_t clock[DRAFT_KEYS] = {0}, now = random_below(&draft->random, 2);
    uint32_t count = 1 + random_below(&draft->random, draft->options->max_transactions);
    uint32_t length = 1 + random_below(&draft->random, 5),
             spread = 1 + random_below(&draft->random, 4);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t session = random_below(&draft->random, draft->sessions);
        add_transaction(draft, session);
        struct draft_transaction *times = &draft->transactions[t];
        times->sts = now > clock[session] ? now : clock[session];
        times->cts = times->sts + 1 + random_below(&draft->random, length);
        clock[session] = times->cts;
        now += random_below(&draft->random, spread + 1);
        add_operations(draft, t);
        if (!plain_transaction_writes(&draft->history->transactions[t]) &&
            random_percent(&draft->random, 60))
            times->cts = clock[session] = times->sts;
    }
}

void draft_random(struct draft *draft)
{
    uint32_t count = 1 + random_below(&draft->random, draft->options->max_transactions);
    uint32_t times = 2 + random_below(&draft->random, 20);
    for (uint32_t t = 0; t < count; t++) {
        add_transaction(draft, random_below(&draft->random, draft->sessions));
        struct draft_transaction *of = &draft->transactions[t];
        of->sts = random_below(&draft->random, times);
        of->cts = random_percent(&draft->random, 80) ? of->sts + random_below(&draft->random, times)
                                                     : random_below(&draft->random, times);
        add_operations(draft, t);
        for (uint32_t i = 0; i < PLAIN_OPERATIONS; i++) {
            if (random_percent(&draft->random, 20))
                of->ots[i] = random_below(&draft->random, times);
        }
    }
}

static void give_initials(struct draft *draft)
{
    struct plain_history *history = draft->history;
    uint32_t count = random_percent(&draft->random, 30) ? 1 + random_below(&draft->random, 4) : 0;
    if (random_percent(&draft->random, 35))
        history->initial_value = draft_value(draft);
    for (; count > 0; count--) {
        struct plain_initial *initial = &history->initials[history->initial_count++];
        uint32_t key = random_below(&draft->random, draft->keys);
        initial->key = plain_number(key);
        initial->is_append = draft->list[key];
        initial->value = draft->list[key] || random_percent(&draft->random, 80) ? draft_value(draft)
                                                                                : plain_text(NULL);
    }
}

/* Another order of the file, with snos; sometimes wrong or missing ones. */
static void shuffle(struct draft *draft)
{
    struct plain_history *history = draft->history;
    uint32_t order[PLAIN_TRANSACTIONS], count = history->transaction_count;
    if (draft->options->plain_sessions || random_percent(&draft->random, 50))
        return;
    for (uint32_t t = 0; t < count; t++) {
        uint32_t other = random_below(&draft->random, t + 1);
        order[t] = order[other];
        order[other] = t;
    }
    plain_history_permute(history, order);
    for (uint32_t t = 0; t < count && random_percent(&draft->random, 60); t++) {
        struct plain_transaction *transaction =
            &history->transactions[random_below(&draft->random, count)];
        transaction->has_sno = random_percent(&draft->random, 60);
        transaction->sno = random_below(&draft->random, 5);
    }
}

/* Distinct, and not in the order of the file. */
static void give_tids(struct draft *draft)
{
    enum { PRIME = 13 };
    _Static_assert((int)PLAIN_TRANSACTIONS < (int)PRIME, "t * step + offset must not repeat");
    uint32_t step = 1 + random_below(&draft->random, PRIME - 1),
             offset = random_below(&draft->random, PRIME);
    for (uint32_t t = 0; t < draft->history->transaction_count; t++)
        draft->history->transactions[t].tid = plain_number((t * step + offset) % PRIME);
}

static void choose_shape(struct draft *draft)
{
    struct random *random = &draft->random;
    const struct random_history_options *options = draft->options;
    draft->keys = 1 + random_below(random, options->max_keys);
    draft->sessions = 1 + random_below(random, options->max_sessions);
    draft->operations = 1 + random_below(random, options->max_operations);
    draft->values = 2 + random_below(random, 5);
    draft->unique_values = random_percent(random, 60);
    draft->serial = random_percent(random, 50);
    draft->own_times = options->timestamps && random_percent(random, 40);
    draft->locks = options->timestamps && random_percent(random, 25);
    for (uint32_t k = 0; k < draft->keys; k++)
        draft->list[k] = random_percent(random, 30);
}

void random_history(uint64_t seed, const struct random_history_options *options,
                    struct plain_history *history)
{
    struct draft draft = {.random = {seed}, .options = options, .history = history};
    random_bits(&draft.random);
    plain_history_clear(history);
    choose_shape(&draft);
    give_initials(&draft);
    uint32_t faults = random_percent(&draft.random, 40) ? 0 : 1 + random_below(&draft.random, 3);
    if (random_percent(&draft.random, 65)) {
        draft_simulated(&draft);
        draft_fill_reads(&draft);
    } else {
        draft_random(&draft);
        if (random_percent(&draft.random, 50))
            draft_fill_reads(&draft);
        else
            draft_random_reads(&draft);
    }
    for (; faults > 0; faults--)
        draft_plant_fault(&draft);
    draft_give_times(&draft);
    give_tids(&draft);
    shuffle(&draft);
    draft_dress(&draft);
}
