#include "tests/support/shrink.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct shrink {
    struct plain_history *history;   /* fails */
    struct plain_history *candidate; /* one step further */
    shrink_fails *fails;
    void *context;
    bool progress;
};

/* Takes the candidate if it fails too; true also where it is no different. */
static bool accept(struct shrink *shrink)
{
    if (memcmp(shrink->candidate, shrink->history, sizeof *shrink->history) == 0)
        return true;
    if (!shrink->fails(shrink->candidate, shrink->context))
        return false;
    *shrink->history = *shrink->candidate;
    shrink->progress = true;
    return true;
}

static struct plain_history *retry(struct shrink *shrink)
{
    *shrink->candidate = *shrink->history;
    return shrink->candidate;
}

/* ---- dropping ---- */

static void drop_transactions(struct shrink *shrink)
{
    for (uint32_t t = shrink->history->transaction_count; t-- > 0;) {
        struct plain_history *candidate = retry(shrink);
        candidate->transaction_count--;
        for (uint32_t u = t; u < candidate->transaction_count; u++)
            candidate->transactions[u] = candidate->transactions[u + 1];
        accept(shrink);
    }
}

static void drop_operations(struct shrink *shrink, uint32_t t)
{
    for (uint32_t i = shrink->history->transactions[t].operation_count; i-- > 0;) {
        struct plain_transaction *transaction = &retry(shrink)->transactions[t];
        transaction->operation_count--;
        for (uint32_t j = i; j < transaction->operation_count; j++)
            transaction->operations[j] = transaction->operations[j + 1];
        accept(shrink);
    }
}

static void drop_elements(struct shrink *shrink, uint32_t t, uint32_t i)
{
    for (uint32_t e = shrink->history->transactions[t].operations[i].list_count; e-- > 0;) {
        struct plain_operation *read = &retry(shrink)->transactions[t].operations[i];
        read->list_count--;
        for (uint32_t f = e; f < read->list_count; f++)
            read->list[f] = read->list[f + 1];
        accept(shrink);
    }
}

static void drop_initials(struct shrink *shrink)
{
    for (uint32_t i = shrink->history->initial_count; i-- > 0;) {
        struct plain_history *candidate = retry(shrink);
        candidate->initial_count--;
        for (uint32_t j = i; j < candidate->initial_count; j++)
            candidate->initials[j] = candidate->initials[j + 1];
        accept(shrink);
    }
    retry(shrink)->initial_value = plain_text(NULL);
    accept(shrink);
}

static void drop_xips(struct shrink *shrink, struct plain_snapshot *in_candidate)
{
    /* the same place in the candidate, however often that is copied anew */
    for (uint32_t x = in_candidate->xip_count; x-- > 0;) {
        retry(shrink);
        in_candidate->xip_count--;
        for (uint32_t y = x; y < in_candidate->xip_count; y++)
            in_candidate->xip[y] = in_candidate->xip[y + 1];
        accept(shrink);
    }
    retry(shrink);
    in_candidate->given = false;
    accept(shrink);
    retry(shrink);
}

static void drop_attributes(struct shrink *shrink, uint32_t t)
{
    struct plain_transaction *transaction = &retry(shrink)->transactions[t];
    drop_xips(shrink, &transaction->snapshot);
    transaction->has_sno = false;
    transaction->sno = 0;
    accept(shrink);
    retry(shrink);
    transaction->cts.given = false;
    accept(shrink);
    retry(shrink);
    transaction->sts.given = false;
    accept(shrink);
    retry(shrink);
    transaction->xid = 0;
    accept(shrink);
    retry(shrink);
    transaction->status = ISO_COMMITTED;
    accept(shrink);
    for (uint32_t i = 0; i < shrink->history->transactions[t].operation_count; i++) {
        struct plain_operation *operation = &retry(shrink)->transactions[t].operations[i];
        operation->ots.given = false;
        accept(shrink);
        retry(shrink);
        operation->lock = false;
        accept(shrink);
        retry(shrink);
        drop_xips(shrink, &operation->snapshot);
    }
}

/* ---- simplifying ---- */

typedef void visit_text(struct plain_text *text, void *context);

static void visit_operation(struct plain_operation *operation, visit_text *visit, void *context)
{
    visit(&operation->value, context);
    for (uint32_t e = 0; e < operation->list_count; e++)
        visit(&operation->list[e], context);
}

static void visit_values(struct plain_history *history, visit_text *visit, void *context)
{
    visit(&history->initial_value, context);
    for (uint32_t i = 0; i < history->initial_count; i++)
        visit(&history->initials[i].value, context);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        for (uint32_t i = 0; i < history->transactions[t].operation_count; i++)
            visit_operation(&history->transactions[t].operations[i], visit, context);
    }
}

static void visit_keys(struct plain_history *history, visit_text *visit, void *context)
{
    for (uint32_t i = 0; i < history->initial_count; i++)
        visit(&history->initials[i].key, context);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        for (uint32_t i = 0; i < history->transactions[t].operation_count; i++)
            visit(&history->transactions[t].operations[i].key, context);
    }
}

static void visit_tids(struct plain_history *history, visit_text *visit, void *context)
{
    for (uint32_t t = 0; t < history->transaction_count; t++)
        visit(&history->transactions[t].tid, context);
}

static void visit_sessions(struct plain_history *history, visit_text *visit, void *context)
{
    for (uint32_t t = 0; t < history->transaction_count; t++)
        visit(&history->transactions[t].session, context);
}

enum { MAX_TEXTS = 512 };

struct renaming {
    uint32_t count;
    struct plain_text seen[MAX_TEXTS];
};

/* Each distinct text becomes 1, 2, ... in the order of appearance. */
static void rename_text(struct plain_text *text, void *context)
{
    struct renaming *renaming = context;
    uint32_t i = 0;
    if (text->absent)
        return;
    while (i < renaming->count && !plain_equal(&renaming->seen[i], text))
        i++;
    if (i == renaming->count && i < MAX_TEXTS)
        renaming->seen[renaming->count++] = *text;
    *text = plain_number(i + 1);
}

static void rename_all(struct shrink *shrink)
{
    void (*const visits[])(struct plain_history *, visit_text *,
                           void *) = {visit_values, visit_keys, visit_tids, visit_sessions};
    for (size_t i = 0; i < sizeof visits / sizeof visits[0]; i++) {
        struct renaming renaming = {.count = 0};
        visits[i](retry(shrink), rename_text, &renaming);
        accept(shrink);
    }
}

static void visit_stamps(struct plain_history *history, void (*visit)(struct plain_stamp *, void *),
                         void *context)
{
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        struct plain_transaction *transaction = &history->transactions[t];
        visit(&transaction->sts, context);
        visit(&transaction->cts, context);
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            visit(&transaction->operations[i].ots, context);
    }
}

enum { MAX_STAMPS = PLAIN_TRANSACTIONS * (PLAIN_OPERATIONS + 2) };

struct ranking {
    uint32_t count;
    uint64_t step;
    struct plain_stamp stamps[MAX_STAMPS]; /* distinct, in order */
};

static bool above(const struct plain_stamp *left, const struct plain_stamp *right)
{
    return left->physical != right->physical ? left->physical > right->physical
                                             : left->logical > right->logical;
}

/* How many of the stamps lie below. */
static uint32_t rank_of(const struct ranking *ranking, const struct plain_stamp *stamp)
{
    uint32_t rank = 0;
    while (rank < ranking->count && above(stamp, &ranking->stamps[rank]))
        rank++;
    return rank;
}

static void collect_stamp(struct plain_stamp *stamp, void *context)
{
    struct ranking *ranking = context;
    uint32_t rank = rank_of(ranking, stamp);
    if (!stamp->given || (rank < ranking->count && !above(&ranking->stamps[rank], stamp)))
        return;
    for (uint32_t i = ranking->count++; i > rank; i--)
        ranking->stamps[i] = ranking->stamps[i - 1];
    ranking->stamps[rank] = *stamp;
}

static void replace_stamp(struct plain_stamp *stamp, void *context)
{
    const struct ranking *ranking = context;
    if (stamp->given)
        *stamp = plain_stamp((rank_of(ranking, stamp) + 1) * ranking->step);
}

/* The distinct times become 1, 2, 3, ... steps, as numbers. */
static bool rank_times(struct shrink *shrink, uint64_t step)
{
    struct ranking ranking = {.step = step};
    struct plain_history *candidate = retry(shrink);
    visit_stamps(candidate, collect_stamp, &ranking);
    visit_stamps(candidate, replace_stamp, &ranking);
    candidate->pairs = false;
    return accept(shrink);
}

enum { MAX_ROUNDS = 50 }; /* steps are not ordered by size, so nothing else rules out a circle */

static void simplify_operations(struct shrink *shrink, uint32_t t)
{
    for (uint32_t i = 0; i < shrink->history->transactions[t].operation_count; i++) {
        drop_elements(shrink, t, i);
        struct plain_operation *operation = &retry(shrink)->transactions[t].operations[i];
        if (operation->kind == ISO_DELETE) {
            operation->kind = ISO_WRITE;
            operation->value = plain_number(9);
        }
        accept(shrink);
        retry(shrink);
        if (operation->kind == ISO_READ)
            operation->value = plain_text(NULL);
        accept(shrink);
    }
}

void shrink_history(struct plain_history *history, shrink_fails *fails, void *context)
{
    struct shrink shrink = {history, malloc(sizeof *history), fails, context, true};
    assert(shrink.candidate);
    for (int round = 0; shrink.progress && round < MAX_ROUNDS; round++) {
        shrink.progress = false;
        drop_transactions(&shrink);
        for (uint32_t t = 0; t < history->transaction_count; t++) {
            drop_operations(&shrink, t);
            drop_attributes(&shrink, t);
            simplify_operations(&shrink, t);
        }
        drop_initials(&shrink);
        rename_all(&shrink);
        if (!rank_times(&shrink, 10))
            rank_times(&shrink, 1);
    }
    free(shrink.candidate);
}
