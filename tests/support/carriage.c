#include "tests/support/carriage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool carriage_is_of(const struct format *format, const char *kind)
{
    return !strcmp(format->changes, kind);
}

void carriage_add_found(struct found *found, const char *text)
{
    if (found->count < MAX_FOUND)
        snprintf(found->list[found->count++], FOUND_TEXT, "%.*s", FOUND_TEXT - 1, text);
}

void carriage_put_atom(char *text, size_t size, const struct iso_history *history, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *bytes = iso_atom_text(&history->atoms, atom, buffer, &length);
    snprintf(text + strlen(text), size - strlen(text), "%.*s", (int)length, bytes);
}

/* ---- making a history that a feed can carry ---- */

static bool is_list(const struct plain_operation *operation)
{
    return operation->kind == ISO_APPEND || operation->kind == ISO_READ_LIST;
}

/* No transaction's snapshot sees its own commit. */
static bool sees(const struct plain_snapshot *snapshot, uint64_t xid)
{
    bool seen = snapshot->given && xid && xid < snapshot->xmax;
    for (uint32_t i = 0; i < snapshot->xip_count && xid >= snapshot->xmin; i++)
        seen &= snapshot->xip[i] != xid;
    return seen;
}

static bool sees_itself(const struct plain_transaction *transaction)
{
    bool seen = sees(&transaction->snapshot, transaction->xid);
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        seen |= sees(&transaction->operations[i].snapshot, transaction->xid);
    return seen;
}

bool carriage_can_carry(const struct carriage *carriage, const struct plain_history *history)
{
    bool snapshots = carriage->format->mode == BY_SNAPSHOTS;
    if (history->pairs || (plain_clock(history) == ISO_CLOCK_SNAPSHOT) != snapshots ||
        plain_clock(history) == ISO_CLOCK_NONE)
        return false;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        bool writes = plain_transaction_writes(transaction);
        if (transaction->status == ISO_COMMITTED && snapshots &&
            (!transaction->snapshot.given || (writes && !transaction->xid)))
            return false;
        if (snapshots && sees_itself(transaction))
            return false;
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            if (is_list(&transaction->operations[i]))
                return false;
    }
    for (uint32_t i = 0; i < history->initial_count; i++)
        if (history->initials[i].is_append)
            return false;
    return true;
}

void carriage_print_key(const struct format *format, char key[PLAIN_TEXT], uint32_t table,
                        uint32_t number)
{
    snprintf(key, PLAIN_TEXT, format->keys, table, number);
}
static void rename_key(const struct carriage *carriage, struct plain_text *key,
                       char names[][PLAIN_TEXT], uint32_t *count)
{
    uint32_t number = 0;
    while (number < *count && strcmp(names[number], key->text))
        number++;
    if (number == *count)
        memcpy(names[(*count)++], key->text, PLAIN_TEXT);
    carriage_print_key(carriage->format, key->text, number % 2, number + 1);
    key->quoted = true;
}

void carriage_rename_keys(const struct carriage *carriage, struct plain_history *history)
{
    char names[PLAIN_TRANSACTIONS * PLAIN_OPERATIONS + PLAIN_INITIALS][PLAIN_TEXT];
    uint32_t count = 0;
    for (uint32_t t = 0; t < history->transaction_count; t++)
        for (uint32_t i = 0; i < history->transactions[t].operation_count; i++) {
            struct plain_operation *operation = &history->transactions[t].operations[i];
            rename_key(carriage, &operation->key, names, &count);
            if (operation->kind == ISO_WRITE && operation->value.absent)
                operation->kind = ISO_DELETE;
        }
    for (uint32_t i = 0; i < history->initial_count; i++)
        rename_key(carriage, &history->initials[i].key, names, &count);
}

/* Times with room between them, in the order in which they were; writers' commits are made
 * unique. */
static uint64_t rank_of(const uint64_t *times, uint32_t count, uint64_t time)
{
    uint64_t rank = 0;
    for (uint32_t i = 0; i < count; i++)
        rank += times[i] < time;
    return 1000 + 64 * rank;
}

void carriage_spread_times(struct plain_history *history)
{
    uint64_t times[PLAIN_TRANSACTIONS * (PLAIN_OPERATIONS + 2)], taken[PLAIN_TRANSACTIONS];
    uint32_t count = 0, taken_count = 0, writers = 0;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        times[count++] = transaction->sts.physical;
        times[count++] = transaction->cts.physical;
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            times[count++] = transaction->operations[i].ots.physical;
    }
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        struct plain_transaction *transaction = &history->transactions[t];
        transaction->sts.physical = rank_of(times, count, transaction->sts.physical);
        transaction->cts.physical = rank_of(times, count, transaction->cts.physical);
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            transaction->operations[i].ots.physical =
                rank_of(times, count, transaction->operations[i].ots.physical);
        if (!plain_transaction_writes(transaction))
            continue;
        transaction->sts.physical += ++writers; /* no two start at once */
        for (uint32_t i = 0; i < taken_count; i++)
            if (taken[i] == transaction->cts.physical) {
                transaction->cts.physical += 4;
                i = UINT32_MAX; /* from the beginning */
            }
        taken[taken_count++] = transaction->cts.physical;
    }
}

/* Two of a session at one place have the order of the file, or of arrival: let there be none. */
void carriage_spread_places(struct carriage *carriage)
{
    struct plain_history *history = &carriage->client;
    uint64_t places[PLAIN_TRANSACTIONS];
    for (uint32_t t = 0; t < history->transaction_count; t++)
        places[t] = carriage->places_left_out ? t : plain_sno(history, t) * PLAIN_TRANSACTIONS + t;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        history->transactions[t].has_sno = true;
        history->transactions[t].sno = places[t];
    }
}

/* ---- what the database did ---- */

static uint64_t cts_of(const struct plain_transaction *transaction)
{
    return transaction->cts.given ? transaction->cts.physical : 0;
}

/* Who committed, and when. An unknown transaction may have. */
void carriage_draw_outcomes(struct carriage *carriage)
{
    bool ids = carriage->format->identity == BY_XID;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        struct plain_transaction *transaction = &carriage->client.transactions[t];
        bool writes = plain_transaction_writes(transaction);
        bool committed = transaction->status == ISO_COMMITTED;
        if (transaction->status == ISO_UNKNOWN && carriage->format->mode == BY_TIMESTAMPS)
            committed = !ids && random_percent(&carriage->random, 50) && transaction->cts.given;
        carriage->commits[t] = committed && writes ? cts_of(transaction) : 0;
        carriage->withheld[t] = committed && writes && carriage->format->mode == BY_TIMESTAMPS &&
                                !ids && transaction->status == ISO_COMMITTED &&
                                random_percent(&carriage->random, 15);
        if (transaction->status == ISO_UNKNOWN)
            transaction->cts.given = false;
    }
    carriage->source = carriage->client;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        carriage->source.transactions[t].status =
            carriage->commits[t] ? ISO_COMMITTED : ISO_ABORTED;
}

/* The feed tells something else: a value altered, or a write too many. */
void carriage_alter(struct carriage *carriage)
{
    struct plain_history *source = &carriage->source;
    uint32_t t = random_below(&carriage->random, source->transaction_count);
    struct plain_transaction *transaction = &source->transactions[t];
    if (!carriage->commits[t] || carriage->withheld[t] ||
        carriage->client.transactions[t].status != ISO_COMMITTED)
        return;
    if (random_percent(&carriage->random, 50) && transaction->operation_count < PLAIN_OPERATIONS) {
        char key[PLAIN_TEXT];
        carriage_print_key(carriage->format, key, 1, 60);
        struct plain_operation *extra =
            plain_history_operation(transaction, ISO_WRITE, key, "424242");
        extra->ots.given = false;
        carriage->statistics->altered++;
        return;
    }
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        if (transaction->operations[i].kind == ISO_WRITE) {
            transaction->operations[i].value = plain_number(434343);
            carriage->statistics->altered++;
            return;
        }
}
