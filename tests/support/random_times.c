/* The draft's small times as a file would give them: numbers, pairs, snapshots; and the draft's
 * numbers as texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random_history_private.h"

/* ---- timestamps ---- */

/* How times become numbers; order-preserving, but `LARGEST` lets several times be the largest
 * number. */
enum scale { FROM_ZERO, SPREAD, ORACLE, LARGEST, SCALES };

static struct plain_stamp stamp_of(const struct draft *draft, enum scale scale, uint32_t time)
{
    struct plain_stamp stamp = {.given = true};
    uint64_t base = time;
    if (scale == SPREAD)
        base = 1000 + 7 * (uint64_t)time;
    else if (scale == ORACLE)
        base = 467257846263971800u + time;
    else if (scale == LARGEST)
        base = time < 12 ? UINT64_MAX - 12 + time : UINT64_MAX;
    stamp.physical = draft->history->pairs && scale != LARGEST ? base / 3 : base;
    stamp.logical = draft->history->pairs && scale != LARGEST ? base % 3 : 0;
    return stamp;
}

/* A read-only transaction may do without a cts; another one is then not judged by timestamps. */
static void give_stamps(struct draft *draft, bool incomplete)
{
    enum scale scale = (enum scale)random_below(&draft->random, SCALES);
    for (uint32_t t = 0; t < draft->history->transaction_count; t++) {
        struct plain_transaction *transaction = &draft->history->transactions[t];
        const struct draft_transaction *times = &draft->transactions[t];
        bool committed = transaction->status == ISO_COMMITTED;
        uint32_t lack_sts = committed ? (incomplete ? 10 : 0) : 30, lack_cts = lack_sts;
        if (committed && !plain_transaction_writes(transaction))
            lack_cts = 40;
        transaction->sts = stamp_of(draft, scale, times->sts);
        transaction->cts = stamp_of(draft, scale, times->cts);
        transaction->sts.given = !random_percent(&draft->random, lack_sts);
        transaction->cts.given = !random_percent(&draft->random, lack_cts);
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            transaction->operations[i].ots = stamp_of(draft, scale, times->ots[i]);
            transaction->operations[i].ots.given = times->own[i];
            transaction->operations[i].lock &= !times->own[i];
        }
    }
}

/* ---- snapshots ---- */

/* What a snapshot taken at `time` says: an xid is in progress from its transaction's sts until its
 * cts. */
static struct plain_snapshot snapshot_at(const struct draft *draft, uint32_t time)
{
    struct plain_snapshot snapshot = {.given = true, .xmax = 100};
    for (uint32_t t = 0; t < draft->history->transaction_count; t++) {
        uint64_t xid = draft->history->transactions[t].xid;
        if (xid && draft->transactions[t].sts <= time && xid >= snapshot.xmax)
            snapshot.xmax = xid + 1;
    }
    snapshot.xmin = snapshot.xmax;
    for (uint32_t t = 0; t < draft->history->transaction_count; t++) {
        uint64_t xid = draft->history->transactions[t].xid;
        if (!xid || xid >= snapshot.xmax || draft->transactions[t].cts <= time)
            continue;
        snapshot.xip[snapshot.xip_count++] = xid;
        if (xid < snapshot.xmin)
            snapshot.xmin = xid;
    }
    return snapshot;
}

/* Hides an xid, shows one, or moves the ends. */
static void disturb_snapshot(struct draft *draft, struct plain_snapshot *snapshot)
{
    uint32_t way = random_below(&draft->random, 6);
    uint64_t xid =
        draft->history
            ->transactions[random_below(&draft->random, draft->history->transaction_count)]
            .xid;
    if (way < 2 && xid && snapshot->xip_count < PLAIN_XIPS) {
        snapshot->xip[snapshot->xip_count++] = xid;
        snapshot->xmin = xid < snapshot->xmin ? xid : snapshot->xmin;
        snapshot->xmax = xid < snapshot->xmax ? snapshot->xmax : xid + 1;
    } else if (way < 4 && snapshot->xip_count) {
        uint32_t at = random_below(&draft->random, snapshot->xip_count--);
        snapshot->xip[at] = snapshot->xip[snapshot->xip_count];
    } else if (way == 4) {
        snapshot->xmax += random_below(&draft->random, 4);
    } else if (snapshot->xmax > snapshot->xmin) {
        snapshot->xmax--;
    }
    if (random_percent(&draft->random, 30))
        snapshot->xmin -= random_below(&draft->random, 3);
}

/* xids in the order of the starts. */
static void give_xids(struct draft *draft, bool incomplete)
{
    for (uint32_t t = 0; t < draft->history->transaction_count; t++) {
        struct plain_transaction *transaction = &draft->history->transactions[t];
        uint64_t xid = 100;
        for (uint32_t u = 0; u < draft->history->transaction_count; u++) {
            uint32_t here = draft->transactions[t].sts, there = draft->transactions[u].sts;
            xid += there < here || (there == here && u < t);
        }
        bool wanted = plain_transaction_writes(transaction)
                          ? !(incomplete && random_percent(&draft->random, 10))
                          : random_percent(&draft->random, 15);
        transaction->xid = wanted ? xid : 0;
    }
}

static void give_snapshots(struct draft *draft, bool incomplete)
{
    uint32_t snapshot_violations = random_percent(&draft->random, 50) ? 40 : 0;
    give_xids(draft, incomplete);
    for (uint32_t t = 0; t < draft->history->transaction_count; t++) {
        struct plain_transaction *transaction = &draft->history->transactions[t];
        const struct draft_transaction *times = &draft->transactions[t];
        transaction->snapshot = snapshot_at(draft, times->sts);
        if (random_percent(&draft->random, snapshot_violations))
            disturb_snapshot(draft, &transaction->snapshot);
        uint32_t lack = transaction->status != ISO_COMMITTED ? 30 : incomplete ? 10 : 0;
        transaction->snapshot.given = !random_percent(&draft->random, lack);
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            struct plain_operation *operation = &transaction->operations[i];
            if (!times->own[i])
                continue;
            operation->snapshot = snapshot_at(draft, times->ots[i]);
            if (random_percent(&draft->random, snapshot_violations))
                disturb_snapshot(draft, &operation->snapshot);
        }
    }
}

void draft_give_times(struct draft *draft)
{
    uint32_t clock = random_below(&draft->random, 100);
    bool incomplete = !draft->options->complete && random_percent(&draft->random, 6);
    if (!draft->options->timestamps)
        return;
    draft->history->pairs = clock >= 50 && clock < 70;
    if (clock >= 70)
        give_snapshots(draft, incomplete);
    if (clock < 75) /* from 70 both: the timestamps win */
        give_stamps(draft, incomplete);
}

/* ---- texts ---- */

enum dress { NUMBERS, SOMETIMES_QUOTED, NAMES, ODD, DRESSES };

static void dress(struct draft *draft, enum dress style, struct plain_text *text)
{
    static const char *const odd[] = {"0",
                                      "7",
                                      "007",
                                      "-1",
                                      "18446744073709551616",
                                      "18446744073709551615",
                                      "-0",
                                      "null",
                                      "2147483648",
                                      "4294967295",
                                      "a b",
                                      "B",
                                      "aa",
                                      "9",
                                      "10",
                                      "-9223372036854775808",
                                      "2147483647",
                                      "1.0",
                                      "-2"};
    static const char *const ambiguous[][2] = {{"-1", "-3"}, {"-0", "-x"}};
    uint32_t number = 0;
    char changed[PLAIN_TEXT];
    if (text->absent)
        return;
    for (const char *digit = text->text; *digit; digit++)
        number = number * 10 + (uint32_t)(*digit - '0');
    if (style == NAMES)
        snprintf(changed, sizeof changed, "n%u", number);
    else if (style == ODD && number < sizeof odd / sizeof odd[0])
        strcpy(changed, odd[number]);
    else
        snprintf(changed, sizeof changed, "%u", number + (style == ODD ? 100 : 0));
    for (size_t i = 0; draft->options->unsigned_streams && i < 2; i++)
        if (!strcmp(changed, ambiguous[i][0]))
            strcpy(changed, ambiguous[i][1]);
    *text = plain_text(changed);
    text->quoted |= style >= SOMETIMES_QUOTED && random_percent(&draft->random, 50);
}

static void dress_operation(struct draft *draft, enum dress keys, enum dress values,
                            struct plain_operation *operation)
{
    dress(draft, keys, &operation->key);
    dress(draft, values, &operation->value);
    for (uint32_t i = 0; i < operation->list_count; i++)
        dress(draft, values, &operation->list[i]);
}

/* Each third key is a row's, and those behind it are its cells. */
static void name_cell(struct plain_text *key)
{
    unsigned number = (unsigned)strtoul(key->text, NULL, 10) % 100;
    key->quoted = true;
    snprintf(key->text, sizeof key->text, number % 3 ? "t/%u#c%u" : "t/%u", number / 3, number % 3);
}

static void name_cells(struct plain_history *history)
{
    for (uint32_t i = 0; i < history->initial_count; i++)
        name_cell(&history->initials[i].key);
    for (uint32_t t = 0; t < history->transaction_count; t++)
        for (uint32_t i = 0; i < history->transactions[t].operation_count; i++)
            name_cell(&history->transactions[t].operations[i].key);
}

void draft_dress(struct draft *draft)
{
    struct plain_history *history = draft->history;
    enum dress ids = (enum dress)random_below(&draft->random, DRESSES);
    enum dress keys = (enum dress)random_below(&draft->random, DRESSES);
    enum dress values = (enum dress)random_below(&draft->random, DRESSES);
    bool cells = draft->options->cells && random_percent(&draft->random, 35);
    keys = cells ? NUMBERS : keys;
    dress(draft, values, &history->initial_value);
    for (uint32_t i = 0; i < history->initial_count; i++) {
        dress(draft, keys, &history->initials[i].key);
        dress(draft, values, &history->initials[i].value);
    }
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        struct plain_transaction *transaction = &history->transactions[t];
        dress(draft, ids, &transaction->tid);
        dress(draft, ids, &transaction->session);
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            dress_operation(draft, keys, values, &transaction->operations[i]);
    }
    if (cells)
        name_cells(history);
}
