#include <stdlib.h>
#include <string.h>

#include "history/snapshot.h"
#include "tests/support/carriage.h"

static void shift_snapshot(struct plain_snapshot *snapshot, uint64_t by)
{
    snapshot->xmin += by;
    snapshot->xmax += by;
    for (uint32_t i = 0; i < snapshot->xip_count; i++)
        snapshot->xip[i] += by;
}

/* The encoder's xids are numbers of transactions: those that have one move to their places. */
static bool arrange_xids(struct carriage *carriage)
{
    enum { FIRST = 100 }; /* of the generator */
    struct plain_history *history = &carriage->client;
    uint32_t order[PLAIN_TRANSACTIONS] = {0}, count = history->transaction_count;
    bool taken[PLAIN_TRANSACTIONS] = {false};
    for (uint32_t i = 0; i < count; i++)
        order[i] = ISO_NONE;
    for (uint32_t t = 0; t < count; t++) {
        uint64_t xid = history->transactions[t].xid;
        if (!xid)
            continue;
        if (xid < FIRST || xid - FIRST >= count || order[xid - FIRST] != ISO_NONE)
            return false;
        order[xid - FIRST] = t;
        taken[t] = true;
    }
    for (uint32_t i = 0, t = 0; i < count; i++)
        if (order[i] == ISO_NONE) {
            while (taken[t])
                t++;
            order[i] = t++;
        }
    plain_history_permute(history, order);
    uint64_t by = carriage->first_xid - FIRST;
    for (uint32_t t = 0; t < count; t++) {
        struct plain_transaction *transaction = &history->transactions[t];
        transaction->xid += transaction->xid ? by : 0;
        shift_snapshot(&transaction->snapshot, by);
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            shift_snapshot(&transaction->operations[i].snapshot, by);
    }
    return true;
}

/* Whose outcome nobody knows has a record that can be placed, or has no outcome to be told. */
static void draw_snapshot_outcomes(struct carriage *carriage)
{
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        struct plain_transaction *transaction = &carriage->client.transactions[t];
        bool writes = plain_transaction_writes(transaction);
        if (transaction->status == ISO_UNKNOWN &&
            (!transaction->snapshot.given || !transaction->xid || !writes))
            transaction->status = ISO_ABORTED;
        bool committed =
            transaction->status == ISO_COMMITTED ||
            (transaction->status == ISO_UNKNOWN && random_percent(&carriage->random, 50));
        carriage->statistics->committed += transaction->status == ISO_UNKNOWN && committed;
        carriage->statistics->aborted += transaction->status == ISO_UNKNOWN && !committed;
        carriage->commits[t] = committed && writes;
        carriage->withheld[t] =
            transaction->status == ISO_COMMITTED && writes && random_percent(&carriage->random, 15);
    }
    carriage->source = carriage->client;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        struct plain_transaction *source = &carriage->source.transactions[t];
        if (source->status != ISO_COMMITTED || plain_transaction_writes(source))
            source->status = carriage->commits[t] ? ISO_COMMITTED : ISO_ABORTED;
    }
}

static void find_breaches(struct carriage *carriage, const struct iso_history *history)
{
    for (uint32_t i = 0; i < history->snapshots.violation_count; i++) {
        char text[FOUND_TEXT] = "TIMESTAMP ";
        carriage_put_atom(text, sizeof text, history,
                          history->txns.tid[history->snapshots.violations[i].transaction]);
        strcat(text, " ");
        carriage_add_found(&carriage->expected, text);
    }
}

/* Places as the snapshots that are known say; commits between two of them in the order of the log,
 * which is drawn here.
 */
enum { ROOM = 1000 };

static void place_commits(struct carriage *carriage, const struct iso_history *history)
{
    uint32_t log[PLAIN_TRANSACTIONS], count = carriage->client.transaction_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = random_below(&carriage->random, i + 1);
        log[i] = log[j];
        log[j] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        if (carriage->commits[log[i]])
            carriage->commits[log[i]] = (history->txns.cts[log[i]] + 1) * ROOM + i + 1;
}

static void tell_places(struct carriage *carriage, const struct iso_history *history)
{
    carriage->told = carriage->client;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        struct plain_transaction *told = &carriage->told.transactions[t];
        if (carriage->withheld[t]) {
            carriage_make_foreign(carriage, told, t);
            carriage->statistics->foreign++;
            continue;
        }
        told->xid = 0;
        told->snapshot.given = false;
        if (told->status == ISO_UNKNOWN)
            told->status = carriage->commits[t] ? ISO_COMMITTED : ISO_ABORTED;
        if (told->status != ISO_COMMITTED)
            continue;
        told->sts = plain_stamp((history->txns.sts[t] + 1) * ROOM);
        if (carriage->commits[t])
            told->cts = plain_stamp(carriage->commits[t]);
        else if (carriage->client.transactions[t].xid)
            told->cts = plain_stamp((history->txns.cts[t] + 1) * ROOM + ROOM / 2 + t);
        for (uint32_t i = 0; i < told->operation_count; i++) {
            uint32_t o = history->txns.first_op[t] + i;
            if (told->operations[i].snapshot.given)
                told->operations[i].ots = plain_stamp((history->ops.ots[o] + 1) * ROOM);
            told->operations[i].snapshot.given = false;
        }
    }
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (carriage->told.transactions[t].status != ISO_COMMITTED)
            for (uint32_t i = 0; i < carriage->told.transactions[t].operation_count; i++)
                carriage->told.transactions[t].operations[i].snapshot.given = false;
}

bool carriage_by_snapshots(struct carriage *carriage)
{
    struct plain_history known;
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    if (!arrange_xids(carriage))
        return false;
    for (uint32_t t = 0; t < carriage->client.transaction_count;
         t++) /* "just below the commit" is where places are next */
        for (uint32_t i = 0; i < carriage->client.transactions[t].operation_count; i++)
            carriage->client.transactions[t].operations[i].lock = false;
    carriage_spread_places(carriage);
    draw_snapshot_outcomes(carriage);
    known = carriage->source;
    for (uint32_t t = 0; t < known.transaction_count; t++)
        if (carriage->withheld[t]) { /* nobody tells its snapshots */
            known.transactions[t].snapshot.given = false;
            for (uint32_t i = 0; i < known.transactions[t].operation_count; i++)
                known.transactions[t].operations[i].snapshot.given = false;
        }
    if (plain_clock(&known) != ISO_CLOCK_SNAPSHOT)
        return false;
    iso_history_init(&history);
    if (plain_history_build(&known, &history, &error) != ISO_OK)
        abort();
    place_commits(carriage, &history);
    uint32_t before = carriage->expected.count;
    find_breaches(carriage, &history);
    carriage->online = carriage->expected.count == before && random_percent(&carriage->random, 50);
    if (random_percent(&carriage->random, 20))
        carriage_alter(carriage);
    tell_places(carriage, &history);
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (carriage->commits[t] && !carriage->withheld[t])
            carriage_compare_writes(carriage, &carriage->client.transactions[t],
                                    &carriage->source.transactions[t]);
    if (!carriage->format->default_identity)
        carriage_compare_before_images(carriage);
    iso_history_release(&history);
    return true;
}
