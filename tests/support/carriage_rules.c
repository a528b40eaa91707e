#include "tests/support/carriage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writes ---- */

/* The last write of a key, or NULL. */
const struct plain_operation *carriage_final_write(const struct plain_transaction *transaction,
                                                   const struct plain_text *key)
{
    const struct plain_operation *last = NULL;
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        if (plain_writes(&transaction->operations[i]) &&
            plain_equal(&transaction->operations[i].key, key))
            last = &transaction->operations[i];
    return last;
}

bool carriage_same_value(const struct plain_operation *left, const struct plain_operation *right)
{
    bool left_absent = left->kind == ISO_DELETE, right_absent = right->kind == ISO_DELETE;
    return left_absent || right_absent ? left_absent == right_absent
                                       : plain_equal(&left->value, &right->value);
}

struct plain_text carriage_written(const struct plain_operation *write)
{
    return write->kind == ISO_DELETE ? plain_text(NULL) : write->value;
}

/* What stood there when transaction `t` of the source committed. */
static struct plain_text found_by(const struct carriage *carriage, uint32_t t,
                                  const struct plain_text *key)
{
    struct plain_text found = carriage->client.initial_value;
    uint64_t newest = 0;
    for (uint32_t i = 0; i < carriage->client.initial_count; i++)
        if (plain_equal(&carriage->client.initials[i].key, key))
            found = carriage->client.initials[i].value;
    for (uint32_t i = 0; i < carriage->source.transaction_count; i++) {
        const struct plain_operation *write =
            carriage_final_write(&carriage->source.transactions[i], key);
        if (!write || carriage->commits[i] >= carriage->commits[t] ||
            carriage->commits[i] < newest || !carriage->commits[i])
            continue;
        newest = carriage->commits[i];
        found = carriage_written(write);
    }
    return found;
}

/* Instances of CDC: final writes of one side that the other does not have, or has otherwise. */
void carriage_compare_writes(struct carriage *carriage, const struct plain_transaction *client,
                             const struct plain_transaction *source)
{
    const struct plain_transaction *sides[] = {client, source};
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < sides[side]->operation_count; i++) {
            const struct plain_operation *operation = &sides[side]->operations[i];
            const struct plain_operation *other =
                carriage_final_write(sides[!side], &operation->key);
            char text[FOUND_TEXT];
            if (!plain_writes(operation) ||
                carriage_final_write(sides[side], &operation->key) != operation ||
                (other && carriage_same_value(operation, other)))
                continue;
            if (side && !other && carriage->format->identity == BY_SHARED_COMMIT_TIMESTAMP)
                continue; /* it may be another transaction's */
            struct plain_text before = found_by(
                carriage, (uint32_t)(source - carriage->source.transactions), &operation->key);
            if (!side && !other && operation->kind == ISO_DELETE && before.absent)
                continue; /* nothing was there: no row */
            snprintf(text, sizeof text, "CDC %s %s", client->tid.text, operation->key.text);
            carriage_add_found(&carriage->expected, text);
        }
}

/* ---- before images ---- */

struct value_of_key *carriage_value_of(struct value_of_key *values, uint32_t *count,
                                       const struct carriage *carriage,
                                       const struct plain_text *key)
{
    struct plain_text initial = carriage->client.initial_value;
    for (uint32_t i = 0; i < *count; i++)
        if (plain_equal(&values[i].key, key))
            return &values[i];
    for (uint32_t i = 0; i < carriage->client.initial_count; i++)
        if (plain_equal(&carriage->client.initials[i].key, key))
            initial = carriage->client.initials[i].value;
    values[*count] = (struct value_of_key){*key, initial, initial};
    return &values[(*count)++];
}

bool carriage_same_text(const struct plain_text *left, const struct plain_text *right)
{
    return left->absent || right->absent ? left->absent == right->absent : plain_equal(left, right);
}

/* What the feed says was there before must be what the clients' versions say; so must what a delete
 * without a row found. */
void carriage_compare_before_images(struct carriage *carriage)
{
    struct value_of_key values[PLAIN_TRANSACTIONS * PLAIN_OPERATIONS];
    uint32_t count = 0;
    bool done[PLAIN_TRANSACTIONS] = {false};
    for (uint32_t step = 0; step < carriage->source.transaction_count; step++) {
        uint32_t t = ISO_NONE;
        for (uint32_t i = 0; i < carriage->source.transaction_count; i++)
            if (!done[i] && carriage->commits[i] &&
                (t == ISO_NONE || carriage->commits[i] < carriage->commits[t]))
                t = i;
        if (t == ISO_NONE)
            return;
        done[t] = true;
        const struct plain_transaction *source = &carriage->source.transactions[t],
                                       *client = &carriage->client.transactions[t];
        for (uint32_t i = 0; i < source->operation_count; i++) {
            const struct plain_operation *operation = &source->operations[i];
            if (!plain_writes(operation) ||
                carriage_final_write(source, &operation->key) != operation)
                continue;
            struct value_of_key *value =
                carriage_value_of(values, &count, carriage, &operation->key);
            char text[FOUND_TEXT];
            if (carriage->withheld[t] || carriage->told.transactions[t].status != ISO_COMMITTED ||
                carriage_same_text(&value->source, &value->client))
                continue;
            snprintf(text, sizeof text, "CDC %s %s", client->tid.text, operation->key.text);
            carriage_add_found(&carriage->expected, text);
        }
        for (uint32_t i = 0; i < PLAIN_OPERATIONS; i++) {
            if (i < source->operation_count && plain_writes(&source->operations[i]))
                carriage_value_of(values, &count, carriage, &source->operations[i].key)->source =
                    carriage_written(&source->operations[i]);
            if (i < client->operation_count && plain_writes(&client->operations[i]))
                carriage_value_of(values, &count, carriage, &client->operations[i].key)->client =
                    carriage_written(&client->operations[i]);
        }
    }
}

/* ---- what the join must make of it ---- */

void carriage_make_foreign(struct carriage *carriage, struct plain_transaction *told, uint32_t t)
{
    const struct plain_transaction *source = &carriage->source.transactions[t];
    *told = *source;
    told->operation_count = 0;
    told->status = ISO_COMMITTED;
    told->has_sno = false;
    told->xid = 0;
    told->snapshot.given = false;
    snprintf(told->tid.text, PLAIN_TEXT, "cdc:%" PRIu64,
             carriage->format->identity == BY_XID ? (carriage->first_xid + t) & 0xffffffff
             : carriage->format->identity == BY_START_TIMESTAMP ? source->sts.physical
                                                                : carriage->commits[t]);
    told->tid.quoted = true;
    snprintf(told->session.text, PLAIN_TEXT, "cdc-session-%u", t);
    told->session.quoted = true;
    told->sts = plain_stamp(carriage->commits[t] - 1);
    told->cts = plain_stamp(carriage->commits[t]);
    for (uint32_t i = 0; i < source->operation_count; i++)
        if (plain_writes(&source->operations[i])) {
            told->operations[told->operation_count] = source->operations[i];
            told->operations[told->operation_count].ots.given = false;
            told->operations[told->operation_count++].lock = true;
        }
}

/* Whether transaction `t` of the source is the one that record `u` may be. */
static bool fits(const struct carriage *carriage, uint32_t u, uint32_t t)
{
    const struct plain_transaction *record = &carriage->client.transactions[u];
    const struct plain_transaction *source = &carriage->source.transactions[t];
    bool valued = false;
    bool claimed =
        !carriage->withheld[t] && carriage->client.transactions[t].status == ISO_COMMITTED;
    if (!carriage->commits[t] || claimed || !record->sts.given ||
        carriage->commits[t] <= record->sts.physical)
        return false;
    for (uint32_t i = 0; i < record->operation_count; i++) {
        const struct plain_operation *write = &record->operations[i];
        if (!plain_writes(write) || carriage_final_write(record, &write->key) != write)
            continue;
        const struct plain_operation *row = carriage_final_write(source, &write->key);
        if (write->kind == ISO_DELETE ? row && row->kind != ISO_DELETE
                                      : !row || !carriage_same_value(write, row))
            return false;
        valued |= write->kind == ISO_WRITE;
    }
    return valued;
}

static bool has_value(const struct plain_transaction *record)
{
    for (uint32_t i = 0; i < record->operation_count; i++)
        if (record->operations[i].kind == ISO_WRITE &&
            carriage_final_write(record, &record->operations[i].key) == &record->operations[i])
            return true;
    return false;
}

/* By looking at all pairs: the transaction that resolves record `u`; ISO_NONE: none fits. False:
 * several do. */
static bool resolve(const struct carriage *carriage, uint32_t u, uint32_t *found)
{
    uint32_t count = carriage->client.transaction_count, ways = 0;
    *found = ISO_NONE;
    for (uint32_t t = 0; t < count; t++) {
        if (!fits(carriage, u, t))
            continue;
        *found = t;
        ways++;
        for (uint32_t other = 0; other < count; other++)
            ways += other != u && carriage->client.transactions[other].status == ISO_UNKNOWN &&
                    plain_transaction_writes(&carriage->client.transactions[other]) &&
                    fits(carriage, other, t);
    }
    return ways <= 1;
}

static bool leaves_row(const struct carriage *carriage, uint32_t t)
{
    const struct plain_transaction *source = &carriage->source.transactions[t];
    for (uint32_t i = 0; i < source->operation_count; i++) {
        const struct plain_operation *write = &source->operations[i];
        if (!plain_writes(write) || carriage_final_write(source, &write->key) != write)
            continue;
        struct plain_text before = found_by(carriage, t, &write->key),
                          after = carriage_written(write);
        if ((!before.absent || !after.absent) &&
            (!carriage_same_text(&before, &after) || !carriage->drops))
            return true;
    }
    return false;
}

/* Whether a commit of it would be told by its marker. */
static bool leaves_marker(const struct carriage *carriage, const struct plain_transaction *record)
{
    return carriage->format->marker == MARKER_ROWS ||
           (carriage->format->marker == MARKER_COLUMN && has_value(record));
}

void carriage_strip(struct carriage *carriage)
{
    for (uint32_t t = 0; carriage->places_left_out && t < carriage->client.transaction_count; t++)
        carriage->client.transactions[t].has_sno = false;
    for (uint32_t t = 0; carriage->format->marker && t < carriage->client.transaction_count; t++) {
        struct plain_transaction *record = &carriage->client.transactions[t];
        if (!plain_transaction_writes(record) || !leaves_marker(carriage, record))
            continue;
        record->xid = 0;
        /* promises go by what records say */
        bool inverted = carriage->commits[t] < record->sts.physical;
        if (carriage->commits[t] && !inverted && carriage->format->identity != BY_XID)
            record->cts.given = false;
    }
}

/* TiCDC sends final rows only; elsewhere one that was deleted again has told it. */
static bool shows_marker(const struct carriage *carriage, uint32_t t)
{
    const struct plain_transaction *source = &carriage->source.transactions[t];
    bool shows = leaves_marker(carriage, source);
    for (uint32_t i = 0; !carriage_is_of(carriage->format, "ticdc") && i < source->operation_count;
         i++)
        shows |= source->operations[i].kind == ISO_WRITE;
    return shows && carriage->commits[t];
}

/* A stream without any marker tells nothing. */
static bool resolve_by_marker(const struct carriage *carriage, uint32_t u, uint32_t *found)
{
    bool tells = false;
    *found = carriage->commits[u] ? u : ISO_NONE;
    for (uint32_t t = 0; t < carriage->source.transaction_count; t++)
        tells |= shows_marker(carriage, t);
    return tells && leaves_marker(carriage, &carriage->client.transactions[u]);
}

/* Where the id tells: `*found` is itself if it committed and left a trace. */
static bool resolve_by_id(const struct carriage *carriage, uint32_t u, uint32_t *found)
{
    *found = carriage->commits[u] && leaves_row(carriage, u) ? u : ISO_NONE;
    if (carriage->format->identity == BY_XID)
        return true;
    for (uint32_t t = 0; t < carriage->source.transaction_count;
         t++) /* a stream that has shown no start timestamp tells nothing */
        if (carriage->commits[t] && leaves_row(carriage, t))
            return carriage->client.transactions[u].sts.given;
    return false;
}

static void tell_unknown(struct carriage *carriage, uint32_t u, bool claimed[PLAIN_TRANSACTIONS])
{
    struct plain_transaction *told = &carriage->told.transactions[u];
    bool by_writes = carriage->format->identity == BY_COMMIT_TIMESTAMP;
    bool by_nothing = carriage->format->identity == BY_SHARED_COMMIT_TIMESTAMP;
    uint32_t t;
    if (carriage->format->marker) {
        if (!resolve_by_marker(carriage, u, &t)) {
            carriage->statistics->unresolved++;
            return;
        }
    } else if (by_nothing || (by_writes && !has_value(told)) ||
               !(by_writes ? resolve(carriage, u, &t) : resolve_by_id(carriage, u, &t))) {
        carriage->statistics->unresolved++;
        return;
    }
    if (t == ISO_NONE) {
        told->status = ISO_ABORTED;
        carriage->statistics->aborted++;
        return;
    }
    told->status = ISO_COMMITTED;
    told->cts = plain_stamp(carriage->commits[t]);
    claimed[t] = true;
    carriage->statistics->committed++;
    carriage_compare_writes(carriage, &carriage->client.transactions[u],
                            &carriage->source.transactions[t]);
}

void carriage_expect_by_timestamps(struct carriage *carriage)
{
    bool claimed[PLAIN_TRANSACTIONS] = {false};
    carriage->told = carriage->client;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        const struct plain_transaction *client = &carriage->client.transactions[t];
        if (client->status == ISO_UNKNOWN && plain_transaction_writes(client))
            tell_unknown(carriage, t, claimed);
        if (client->status != ISO_COMMITTED || !carriage->commits[t] || carriage->withheld[t])
            continue;
        claimed[t] = true;
        carriage_compare_writes(carriage, client, &carriage->source.transactions[t]);
    }
    if (!carriage_is_of(carriage->format, "dgraph"))
        carriage_compare_before_images(carriage);
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        if (!carriage->commits[t] || claimed[t])
            continue;
        uint32_t place = carriage->withheld[t] ? t : carriage->told.transaction_count;
        if (place >= PLAIN_TRANSACTIONS)
            abort();
        carriage->told.transaction_count += place == carriage->told.transaction_count;
        carriage_make_foreign(carriage, &carriage->told.transactions[place], t);
        carriage->statistics->foreign++;
    }
    for (uint32_t t = 0; t < carriage->client.transaction_count;
         t++) /* withheld, and resolved an unknown one */
        if (carriage->withheld[t] && claimed[t])
            carriage->told.transactions[t].operation_count = 0,
            carriage->told.transactions[t].status = ISO_ABORTED;
}
