#include <inttypes.h>
#include <stdio.h>

#include "tests/support/carriage.h"

/* ---- records inside their transactions ---- */

static bool has_own_times(const struct plain_history *history)
{
    for (uint32_t t = 0; t < history->transaction_count; t++)
        for (uint32_t i = 0; i < history->transactions[t].operation_count; i++)
            if (history->transactions[t].operations[i].ots.given ||
                history->transactions[t].operations[i].lock ||
                history->transactions[t].operations[i].snapshot.given)
                return true;
    return false;
}

/* What did not commit leaves nothing behind. */
bool carriage_in_band(struct carriage *carriage)
{
    uint32_t kept = 0;
    if (has_own_times(&carriage->client))
        return false;
    carriage_spread_times(&carriage->client);
    carriage_spread_places(carriage);
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (carriage->client.transactions[t].status == ISO_COMMITTED)
            carriage->client.transactions[kept++] = carriage->client.transactions[t];
    carriage->client.transaction_count = kept;
    for (uint32_t t = 0; t < kept; t++) {
        const struct plain_transaction *transaction = &carriage->client.transactions[t];
        carriage->commits[t] =
            transaction->cts.given ? transaction->cts.physical : transaction->sts.physical;
        carriage->withheld[t] = false;
    }
    carriage->source = carriage->told = carriage->client;
    return true;
}

/* ---- by before images alone ---- */

/* Every row a read of what stood there, where it is told, and a write. */
static bool tell_rows(struct carriage *carriage, struct value_of_key *values, uint32_t *count,
                      uint32_t t)
{
    const struct plain_transaction *source = &carriage->source.transactions[t];
    char tid[PLAIN_TEXT];
    snprintf(tid, sizeof tid, carriage->format->binlog ? "cdc:0-1-%" PRIu64 : "cdc:%" PRIu64,
             (carriage->format->binlog ? carriage->commits[t] : carriage->first_xid + t) &
                 0xffffffff);
    struct plain_transaction *told = plain_history_begin(&carriage->told, tid, tid);
    told->tid.quoted = told->session.quoted = true;
    told->sts = plain_stamp(carriage->commits[t] - 1);
    told->cts = plain_stamp(carriage->commits[t]);
    for (uint32_t i = 0; i < source->operation_count; i++) {
        const struct plain_operation *write = &source->operations[i];
        if (!plain_writes(write))
            continue;
        struct value_of_key *value = carriage_value_of(values, count, carriage, &write->key);
        struct plain_text before = value->source;
        value->source = carriage_written(write);
        if (before.absent && value->source.absent)
            continue;
        if (told->operation_count + 2 > PLAIN_OPERATIONS)
            return false;
        if (!carriage->format->default_identity || before.absent) {
            told->operations[told->operation_count] = *write;
            told->operations[told->operation_count].kind = ISO_READ;
            told->operations[told->operation_count].value = before;
            told->operations[told->operation_count++].lock = true;
        }
        told->operations[told->operation_count] = *write;
        told->operations[told->operation_count++].lock = true;
    }
    if (!told->operation_count)
        carriage->told.transaction_count--;
    return true;
}

bool carriage_by_before_images(struct carriage *carriage)
{
    struct value_of_key values[PLAIN_TRANSACTIONS * PLAIN_OPERATIONS];
    uint32_t count = 0;
    bool done[PLAIN_TRANSACTIONS] = {false};
    carriage_spread_times(&carriage->client);
    carriage_draw_outcomes(carriage);
    for (uint32_t t = 0; t < carriage->source.transaction_count; t++)
        for (uint32_t i = 0; i < carriage->source.transactions[t].operation_count; i++) {
            carriage->source.transactions[t].operations[i].ots.given = false;
            carriage->source.transactions[t].operations[i].lock = false;
        }
    carriage->told = carriage->client;
    carriage->told.transaction_count = 0;
    for (;;) {
        uint32_t t = ISO_NONE;
        for (uint32_t i = 0; i < carriage->source.transaction_count; i++)
            if (!done[i] && carriage->commits[i] &&
                (t == ISO_NONE || carriage->commits[i] < carriage->commits[t]))
                t = i;
        if (t == ISO_NONE)
            break;
        done[t] = true;
        if (!tell_rows(carriage, values, &count, t))
            return false;
    }
    carriage->lost = carriage->format->encoding == FEED_JSON &&
                     carriage_is_of(carriage->format, "debezium") &&
                     random_percent(&carriage->random, 25);
    return carriage->told.transaction_count > 0;
}
