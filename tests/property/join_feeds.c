/* Change streams against files: random histories are written as the feeds of databases (tests/support/feed_*.h), and the
 * pipeline must find in feed and client records what chronos finds in the history itself, as (axiom, transactions, key).
 *
 * What happens on the way: senders restart and repeat, cut transactions, interleave groups, topics and partitions; records
 * come before, between and after rows, from a topic or a file; some clients publish nothing (their transactions are
 * versions and nothing else), some do not know their outcome. Some feeds tell something else than the clients wrote: a
 * write left out, altered, or one too many. What the join must make of all that is worked out here from the rules alone,
 * by looking at everything.
 *
 * join_feeds [--histories N] [--seed S] [--format F]
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chronos/chronos.h"
#include "connectors/debezium/debezium.h"
#include "connectors/dgraph/dgraph.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "connectors/yugabyte/yugabyte.h"
#include "history/snapshot.h"
#include "pipeline/pipeline.h"
#include "tests/support/feed_debezium.h"
#include "tests/support/feed_dgraph.h"
#include "tests/support/feed_ticdc.h"
#include "tests/support/feed_yugabyte.h"
#include "tests/support/random.h"
#include "tests/support/random_history.h"

enum { DEFAULT_HISTORIES = 400, MAX_REPORTS = 3, MAX_FOUND = 400, FOUND_TEXT = 120, CLIENT_INPUTS = 1, LINE = 4096 };

/* Violations as texts, sorted: "EXT 3 x", "NOCONFLICT 3,4 x". */
struct found {
    uint32_t count;
    char list[MAX_FOUND][FOUND_TEXT];
};

enum mode { BY_TIMESTAMPS, BY_SNAPSHOTS, IN_BAND, BY_BEFORE_IMAGES };

/* How the stream and a client know a transaction to be the same. */
enum identity { BY_COMMIT_TIMESTAMP, BY_SHARED_COMMIT_TIMESTAMP, BY_START_TIMESTAMP, BY_XID };

struct format {
    const char *name, *changes, *keys;
    enum mode mode;
    enum identity identity;
    enum feed_debezium_format encoding;
    bool binlog, default_identity;
    const char *protocol; /* TiCDC's */
};

#define DGRAPH "dgraph", "p%u/0x%x"
#define DEBEZIUM "debezium", "public.t%u/%u"
#define TICDC "ticdc", "test.t%u/%u"
#define YUGABYTE "yugabyte", "public.t%u/%u"

static const struct format formats[] = {
    {"dgraph", DGRAPH, BY_TIMESTAMPS, BY_COMMIT_TIMESTAMP, FEED_JSON, false, false, NULL},
    {"debezium", DEBEZIUM, BY_TIMESTAMPS, BY_XID, FEED_JSON, false, false, NULL},
    {"debezium-snapshots", DEBEZIUM, BY_SNAPSHOTS, BY_XID, FEED_JSON, false, false, NULL},
    {"debezium-default-identity", DEBEZIUM, BY_SNAPSHOTS, BY_XID, FEED_JSON_SCHEMAS, false, true, NULL},
    {"debezium-in-band", DEBEZIUM, IN_BAND, BY_XID, FEED_JSON, false, false, NULL},
    {"debezium-alone", DEBEZIUM, BY_BEFORE_IMAGES, BY_XID, FEED_JSON, false, false, NULL},
    {"debezium-avro", DEBEZIUM, BY_SNAPSHOTS, BY_XID, FEED_AVRO, false, false, NULL},
    {"debezium-protobuf", DEBEZIUM, BY_BEFORE_IMAGES, BY_XID, FEED_PROTOBUF, false, false, NULL},
    {"binlog-alone", DEBEZIUM, BY_BEFORE_IMAGES, BY_XID, FEED_JSON, true, false, NULL},
    {"ticdc-canal-json", TICDC, BY_TIMESTAMPS, BY_SHARED_COMMIT_TIMESTAMP, FEED_JSON, false, false, "canal-json"},
    {"ticdc-open-protocol", TICDC, BY_TIMESTAMPS, BY_SHARED_COMMIT_TIMESTAMP, FEED_JSON, false, false, "open-protocol"},
    {"ticdc-simple", TICDC, BY_TIMESTAMPS, BY_START_TIMESTAMP, FEED_JSON, false, false, "simple"},
    {"ticdc-debezium", TICDC, BY_TIMESTAMPS, BY_START_TIMESTAMP, FEED_JSON, false, false, "debezium"},
    {"ticdc-alone", TICDC, BY_BEFORE_IMAGES, BY_SHARED_COMMIT_TIMESTAMP, FEED_JSON, false, false, "canal-json"},
    {"yugabyte-alone", YUGABYTE, BY_BEFORE_IMAGES, BY_COMMIT_TIMESTAMP, FEED_JSON, false, false, NULL},
};

static bool is_of(const struct format *format, const char *kind)
{
    return !strcmp(format->changes, kind);
}

struct statistics {
    uint64_t carried, foreign, committed, aborted, unresolved, altered, repeats, violated, online;
};

/* One history on its way through one format. */
struct carriage {
    const struct format *format;
    enum iso_level level;
    struct random random;
    struct plain_history client; /* what clients publish */
    struct plain_history source; /* what the database did, which the feed tells */
    struct plain_history told;   /* what the join must make of both */
    bool withheld[PLAIN_TRANSACTIONS];   /* its client publishes nothing */
    uint64_t commits[PLAIN_TRANSACTIONS]; /* cts as the feed is ordered by; 0: it never committed */
    uint64_t first_xid;
    bool snapshot_rows;
    bool drops;  /* the feed has no row where nothing changed */
    bool online; /* clients' promises come between their records */
    bool lost;   /* a row of the feed was left out: what is found is not told beforehand, but something must be */
    enum iso_status outcome;
    struct found expected, found;
    struct statistics *statistics;
    char failure[ISO_ERROR_TEXT];
};

/* ---- what was found ---- */

static void add_found(struct found *found, const char *text)
{
    if (found->count < MAX_FOUND)
        snprintf(found->list[found->count++], FOUND_TEXT, "%.*s", FOUND_TEXT - 1, text);
}

static int compare_found(const void *left, const void *right)
{
    return strcmp(left, right);
}

static void sort_found(struct found *found)
{
    qsort(found->list, found->count, FOUND_TEXT, compare_found);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < found->count; i++)
        if (!kept || strcmp(found->list[kept - 1], found->list[i]))
            memmove(found->list[kept++], found->list[i], FOUND_TEXT);
    found->count = kept;
}

static bool same_found(const struct found *left, const struct found *right)
{
    if (left->count != right->count)
        return false;
    for (uint32_t i = 0; i < left->count; i++)
        if (strcmp(left->list[i], right->list[i]))
            return false;
    return true;
}

static void print_found(const char *name, const struct found *found)
{
    printf("# %s:", name);
    for (uint32_t i = 0; i < found->count; i++)
        printf(" [%s]", found->list[i]);
    printf("\n");
}

static void put_atom(char *text, size_t size, const struct iso_history *history, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *bytes = iso_atom_text(&history->atoms, atom, buffer, &length);
    snprintf(text + strlen(text), size - strlen(text), "%.*s", (int)length, bytes);
}

static void chronos_found(struct carriage *carriage, const struct plain_history *plain, struct found *found)
{
    struct iso_check_options options = {.level = carriage->level, .session_order = true, .threads = 1};
    struct iso_history history;
    struct iso_verdict verdict;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    if (plain_history_build(plain, &history, &error) != ISO_OK)
        abort();
    iso_verdict_init(&verdict, &history, carriage->level, 0);
    if (iso_chronos_check(&history, &options, &verdict, &error) != ISO_OK) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    for (uint32_t i = 0; i < verdict.violation_count; i++) {
        const struct iso_violation *violation = &verdict.violations[i];
        char text[FOUND_TEXT];
        snprintf(text, sizeof text, "%s ", iso_axiom_name(violation->axiom));
        put_atom(text, sizeof text, &history, history.tid[violation->transaction]);
        if (violation->axiom == ISO_NOCONFLICT) {
            strcat(text, ",");
            put_atom(text, sizeof text, &history, history.tid[violation->other]);
        }
        strcat(text, " ");
        if (violation->key != ISO_NONE)
            put_atom(text, sizeof text, &history, history.key_atom[violation->key]);
        add_found(found, text);
    }
    iso_verdict_release(&verdict);
    iso_history_release(&history);
}

/* The text of a string member of a verdict line; *at moves behind it. */
static bool next_string(const char **at, const char *before, char *text, size_t size)
{
    const char *start = strstr(*at, before);
    if (!start)
        return false;
    start += strlen(before);
    const char *end = strchr(start, '"');
    snprintf(text, size, "%.*s", (int)(end - start), start);
    *at = end;
    return true;
}

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct carriage *carriage = context;
    char copy[LINE], axiom[32], tid[64], other[64], key[64] = "", text[FOUND_TEXT * 2];
    const char *at = copy;
    (void)error;
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    if (getenv("SHOW_LINES"))
        printf("# %s", copy);
    if (!strstr(copy, "\"state\":\"final\""))
        return ISO_OK;
    next_string(&at, "\"axiom\":\"", axiom, sizeof axiom);
    next_string(&at, "\"tids\":[\"", tid, sizeof tid);
    bool pair = !strcmp(axiom, "NOCONFLICT") && next_string(&at, ",\"", other, sizeof other);
    at = copy;
    next_string(&at, "\"key\":\"", key, sizeof key);
    snprintf(text, sizeof text, pair ? "%s %s,%s %s" : "%s %s%.0s %s", axiom, tid, pair ? other : "", key);
    add_found(&carriage->found, text);
    return ISO_OK;
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

static bool can_carry(const struct carriage *carriage, const struct plain_history *history)
{
    bool snapshots = carriage->format->mode == BY_SNAPSHOTS;
    if (history->pairs || (plain_clock(history) == ISO_CLOCK_SNAPSHOT) != snapshots || plain_clock(history) == ISO_CLOCK_NONE)
        return false;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        bool writes = plain_transaction_writes(transaction);
        if (transaction->status == ISO_COMMITTED && snapshots && (!transaction->snapshot.given || (writes && !transaction->xid)))
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

static void print_key(const struct format *format, char key[PLAIN_TEXT], uint32_t table, uint32_t number)
{
    snprintf(key, PLAIN_TEXT, format->keys, table, number);
}
static void rename_key(const struct carriage *carriage, struct plain_text *key, char names[][PLAIN_TEXT], uint32_t *count)
{
    uint32_t number = 0;
    while (number < *count && strcmp(names[number], key->text))
        number++;
    if (number == *count)
        memcpy(names[(*count)++], key->text, PLAIN_TEXT);
    print_key(carriage->format, key->text, number % 2, number + 1);
    key->quoted = true;
}

static void rename_keys(const struct carriage *carriage, struct plain_history *history)
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

/* Times with room between them, in the order in which they were; writers' commits are made unique. */
static uint64_t rank_of(const uint64_t *times, uint32_t count, uint64_t time)
{
    uint64_t rank = 0;
    for (uint32_t i = 0; i < count; i++)
        rank += times[i] < time;
    return 1000 + 64 * rank;
}

static void spread_times(struct plain_history *history)
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
            transaction->operations[i].ots.physical = rank_of(times, count, transaction->operations[i].ots.physical);
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
static void spread_places(struct plain_history *history)
{
    uint64_t places[PLAIN_TRANSACTIONS];
    for (uint32_t t = 0; t < history->transaction_count; t++)
        places[t] = plain_sno(history, t) * PLAIN_TRANSACTIONS + t;
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
static void draw_outcomes(struct carriage *carriage)
{
    bool ids = carriage->format->identity == BY_XID;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        struct plain_transaction *transaction = &carriage->client.transactions[t];
        bool writes = plain_transaction_writes(transaction);
        bool committed = transaction->status == ISO_COMMITTED;
        if (transaction->status == ISO_UNKNOWN && carriage->format->mode == BY_TIMESTAMPS)
            committed = !ids && random_percent(&carriage->random, 50) && transaction->cts.given;
        carriage->commits[t] = committed && writes ? cts_of(transaction) : 0;
        carriage->withheld[t] = committed && writes && carriage->format->mode == BY_TIMESTAMPS && !ids &&
                                transaction->status == ISO_COMMITTED && random_percent(&carriage->random, 15);
        if (transaction->status == ISO_UNKNOWN)
            transaction->cts.given = false;
    }
    carriage->source = carriage->client;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        carriage->source.transactions[t].status = carriage->commits[t] ? ISO_COMMITTED : ISO_ABORTED;
}

/* The last write of a key, or NULL. */
static const struct plain_operation *final_write(const struct plain_transaction *transaction, const struct plain_text *key)
{
    const struct plain_operation *last = NULL;
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        if (plain_writes(&transaction->operations[i]) && plain_equal(&transaction->operations[i].key, key))
            last = &transaction->operations[i];
    return last;
}

static bool same_value(const struct plain_operation *left, const struct plain_operation *right)
{
    bool left_absent = left->kind == ISO_DELETE, right_absent = right->kind == ISO_DELETE;
    return left_absent || right_absent ? left_absent == right_absent : plain_equal(&left->value, &right->value);
}

/* Instances of CDC: final writes of one side that the other does not have, or has otherwise. */
static void compare_writes(struct carriage *carriage, const struct plain_transaction *client,
                           const struct plain_transaction *source)
{
    const struct plain_transaction *sides[] = {client, source};
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < sides[side]->operation_count; i++) {
            const struct plain_operation *operation = &sides[side]->operations[i];
            const struct plain_operation *other = final_write(sides[!side], &operation->key);
            char text[FOUND_TEXT];
            if (!plain_writes(operation) || final_write(sides[side], &operation->key) != operation ||
                (other && same_value(operation, other)))
                continue;
            if (side && !other && carriage->format->identity == BY_SHARED_COMMIT_TIMESTAMP)
                continue; /* it may be another transaction's */
            snprintf(text, sizeof text, "CDC %s %s", client->tid.text, operation->key.text);
            add_found(&carriage->expected, text);
        }
}

/* ---- before images ---- */

struct value_of_key {
    struct plain_text key;
    struct plain_text source, client; /* newest version on either side */
};

static struct value_of_key *value_of(struct value_of_key *values, uint32_t *count, const struct carriage *carriage,
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

static struct plain_text written(const struct plain_operation *write)
{
    return write->kind == ISO_DELETE ? plain_text(NULL) : write->value;
}

static bool same_text(const struct plain_text *left, const struct plain_text *right)
{
    return left->absent || right->absent ? left->absent == right->absent : plain_equal(left, right);
}

/* What the feed says was there before must be what the clients' versions say; so must what a delete without a row found. */
static void compare_before_images(struct carriage *carriage)
{
    struct value_of_key values[PLAIN_TRANSACTIONS * PLAIN_OPERATIONS];
    uint32_t count = 0;
    bool done[PLAIN_TRANSACTIONS] = {false};
    for (uint32_t step = 0; step < carriage->source.transaction_count; step++) {
        uint32_t t = ISO_NONE;
        for (uint32_t i = 0; i < carriage->source.transaction_count; i++)
            if (!done[i] && carriage->commits[i] && (t == ISO_NONE || carriage->commits[i] < carriage->commits[t]))
                t = i;
        if (t == ISO_NONE)
            return;
        done[t] = true;
        const struct plain_transaction *source = &carriage->source.transactions[t], *client = &carriage->client.transactions[t];
        for (uint32_t i = 0; i < source->operation_count; i++) {
            const struct plain_operation *operation = &source->operations[i];
            if (!plain_writes(operation) || final_write(source, &operation->key) != operation)
                continue;
            struct value_of_key *value = value_of(values, &count, carriage, &operation->key);
            char text[FOUND_TEXT];
            if (carriage->withheld[t] || carriage->told.transactions[t].status != ISO_COMMITTED || same_text(&value->source, &value->client))
                continue;
            snprintf(text, sizeof text, "CDC %s %s", client->tid.text, operation->key.text);
            add_found(&carriage->expected, text);
        }
        for (uint32_t i = 0; i < PLAIN_OPERATIONS; i++) {
            if (i < source->operation_count && plain_writes(&source->operations[i]))
                value_of(values, &count, carriage, &source->operations[i].key)->source = written(&source->operations[i]);
            if (i < client->operation_count && plain_writes(&client->operations[i]))
                value_of(values, &count, carriage, &client->operations[i].key)->client = written(&client->operations[i]);
        }
    }
}

/* The feed tells something else: a value altered, or a write too many. */
static void alter(struct carriage *carriage)
{
    struct plain_history *source = &carriage->source;
    uint32_t t = random_below(&carriage->random, source->transaction_count);
    struct plain_transaction *transaction = &source->transactions[t];
    if (!carriage->commits[t] || carriage->withheld[t] || carriage->client.transactions[t].status != ISO_COMMITTED)
        return;
    if (random_percent(&carriage->random, 50) && transaction->operation_count < PLAIN_OPERATIONS) {
        char key[PLAIN_TEXT];
        print_key(carriage->format, key, 1, 60);
        struct plain_operation *extra = plain_history_operation(transaction, ISO_WRITE, key, "424242");
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

/* ---- what the join must make of it ---- */

static void make_foreign(struct carriage *carriage, struct plain_transaction *told, uint32_t t)
{
    const struct plain_transaction *source = &carriage->source.transactions[t];
    *told = *source;
    told->operation_count = 0;
    told->status = ISO_COMMITTED;
    told->has_sno = false;
    told->xid = 0;
    told->snapshot.given = false;
    snprintf(told->tid.text, PLAIN_TEXT, "cdc:%" PRIu64,
             carriage->format->identity == BY_XID               ? (carriage->first_xid + t) & 0xffffffff
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
    bool claimed = !carriage->withheld[t] && carriage->client.transactions[t].status == ISO_COMMITTED;
    if (!carriage->commits[t] || claimed || !record->sts.given || carriage->commits[t] <= record->sts.physical)
        return false;
    for (uint32_t i = 0; i < record->operation_count; i++) {
        const struct plain_operation *write = &record->operations[i];
        if (!plain_writes(write) || final_write(record, &write->key) != write)
            continue;
        const struct plain_operation *row = final_write(source, &write->key);
        if (write->kind == ISO_DELETE ? row && row->kind != ISO_DELETE : !row || !same_value(write, row))
            return false;
        valued |= write->kind == ISO_WRITE;
    }
    return valued;
}

static bool has_value(const struct plain_transaction *record)
{
    for (uint32_t i = 0; i < record->operation_count; i++)
        if (record->operations[i].kind == ISO_WRITE && final_write(record, &record->operations[i].key) == &record->operations[i])
            return true;
    return false;
}

/* By looking at all pairs: the transaction that resolves record `u`; ISO_NONE: none fits. False: several do. */
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
                    plain_transaction_writes(&carriage->client.transactions[other]) && fits(carriage, other, t);
    }
    return ways <= 1;
}

/* What stood there when transaction `t` of the source committed. */
static struct plain_text found_by(const struct carriage *carriage, uint32_t t, const struct plain_text *key)
{
    struct plain_text found = carriage->client.initial_value;
    uint64_t newest = 0;
    for (uint32_t i = 0; i < carriage->client.initial_count; i++)
        if (plain_equal(&carriage->client.initials[i].key, key))
            found = carriage->client.initials[i].value;
    for (uint32_t i = 0; i < carriage->source.transaction_count; i++) {
        const struct plain_operation *write = final_write(&carriage->source.transactions[i], key);
        if (!write || carriage->commits[i] >= carriage->commits[t] || carriage->commits[i] < newest || !carriage->commits[i])
            continue;
        newest = carriage->commits[i];
        found = written(write);
    }
    return found;
}

static bool leaves_row(const struct carriage *carriage, uint32_t t)
{
    const struct plain_transaction *source = &carriage->source.transactions[t];
    for (uint32_t i = 0; i < source->operation_count; i++) {
        const struct plain_operation *write = &source->operations[i];
        if (!plain_writes(write) || final_write(source, &write->key) != write)
            continue;
        struct plain_text before = found_by(carriage, t, &write->key), after = written(write);
        if ((!before.absent || !after.absent) && (!same_text(&before, &after) || !carriage->drops))
            return true;
    }
    return false;
}

/* Where the id tells: `*found` is itself if it committed and left a trace. */
static bool resolve_by_id(const struct carriage *carriage, uint32_t u, uint32_t *found)
{
    *found = carriage->commits[u] && leaves_row(carriage, u) ? u : ISO_NONE;
    if (carriage->format->identity == BY_XID)
        return true;
    for (uint32_t t = 0; t < carriage->source.transaction_count; t++) /* a stream that has shown no start timestamp tells nothing */
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
    if (by_nothing || (by_writes && !has_value(told)) ||
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
    compare_writes(carriage, &carriage->client.transactions[u], &carriage->source.transactions[t]);
}

static void expect_by_timestamps(struct carriage *carriage)
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
        compare_writes(carriage, client, &carriage->source.transactions[t]);
    }
    if (!is_of(carriage->format, "dgraph"))
        compare_before_images(carriage);
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        if (!carriage->commits[t] || claimed[t])
            continue;
        uint32_t place = carriage->withheld[t] ? t : carriage->told.transaction_count;
        if (place >= PLAIN_TRANSACTIONS)
            abort();
        carriage->told.transaction_count += place == carriage->told.transaction_count;
        make_foreign(carriage, &carriage->told.transactions[place], t);
        carriage->statistics->foreign++;
    }
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) /* withheld, and resolved an unknown one */
        if (carriage->withheld[t] && claimed[t])
            carriage->told.transactions[t].operation_count = 0, carriage->told.transactions[t].status = ISO_ABORTED;
}

/* ---- the run ---- */

struct client_lines {
    char *text;
    size_t size;
    uint32_t count;
    const char *start[PLAIN_TRANSACTIONS * 2];
    uint32_t length[PLAIN_TRANSACTIONS * 2];
};

/* The least xmin of the snapshots of transactions from `first` on: what clients can promise before them. */
static uint64_t least_xmin(const struct plain_history *history, uint32_t first)
{
    uint64_t least = UINT64_MAX - 1;
    for (uint32_t t = first; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        if (transaction->snapshot.given && transaction->snapshot.xmin < least)
            least = transaction->snapshot.xmin;
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            if (transaction->operations[i].snapshot.given && transaction->operations[i].snapshot.xmin < least)
                least = transaction->operations[i].snapshot.xmin;
    }
    return least;
}

static void print_records(struct carriage *carriage, struct client_lines *lines)
{
    struct plain_history records = carriage->client;
    records.transaction_count = 0;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (!carriage->withheld[t])
            records.transactions[records.transaction_count++] = carriage->client.transactions[t];
    records.initial_count = 0;
    records.initial_value = plain_text(NULL);
    FILE *file = open_memstream(&lines->text, &lines->size);
    for (uint32_t t = 0; t < records.transaction_count; t++) {
        struct plain_history one = records;
        one.transaction_count = 1;
        one.transactions[0] = records.transactions[t];
        plain_history_print(&one, file, "");
        uint64_t promise = carriage->online ? least_xmin(&records, t + 1) : 0;
        if (promise && random_percent(&carriage->random, 40)) {
            fprintf(file, "{\"watermark\":%" PRIu64 "}\n", promise);
            carriage->statistics->online++;
        }
    }
    fclose(file);
    lines->count = 0;
    for (char *at = lines->text; *at && lines->count < PLAIN_TRANSACTIONS * 2;) {
        char *end = strchr(at, '\n');
        lines->start[lines->count] = at;
        lines->length[lines->count++] = (uint32_t)(end - at);
        at = end + 1;
    }
}

static struct iso_pipeline *open_pipeline(struct carriage *carriage, bool file)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    bool clients = carriage->format->mode == BY_TIMESTAMPS || carriage->format->mode == BY_SNAPSHOTS;
    iso_pipeline_options_init(&options);
    options.level = carriage->level;
    options.changes = carriage->format->changes;
    options.clients = clients;
    options.records_first = file;
    options.sink = sink;
    options.sink_context = options.context = carriage;
    options.final_only = true;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    static const char *const topics[] = {"dbz.public.t0", "dbz.public.t1", "dbz.public.t2", "dbz.public.t3",
                                         "dbz.transaction", "dbz.message"};
    struct iso_decoder_options decoding = feed_debezium_decoding(carriage->format->encoding);
    decoding.identity = ISO_IDENTITY_LEARN;
    struct iso_decoder_options ticdc = {.format = carriage->format->protocol, .value = "v"};
    static const char *const yugabyte[] = {"yb.public.t0", "yb.public.t1", "yb.public.t2", "yb.public.t3", "yb.transaction"};
    if (is_of(carriage->format, "debezium"))
        for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
            iso_pipeline_route(pipeline, topics[i], iso_debezium_decoder.create(&decoding, &error));
    if (is_of(carriage->format, "yugabyte"))
        for (size_t i = 0; i < sizeof yugabyte / sizeof *yugabyte; i++)
            iso_pipeline_route(pipeline, yugabyte[i], iso_yugabyte_decoder.create(&(struct iso_decoder_options){
                .value = "v", .identity = ISO_IDENTITY_FULL}, &error));
    if (is_of(carriage->format, "ticdc")) {
        feed_ticdc_decoder_options(carriage->format->protocol, &ticdc);
        ticdc.format = carriage->format->protocol;
        iso_pipeline_route(pipeline, "ticdc", iso_ticdc_decoder.create(&ticdc, &error));
    }
    if (is_of(carriage->format, "dgraph"))
        iso_pipeline_route(pipeline, "dgraph-cdc", iso_dgraph_decoder.create(&(struct iso_decoder_options){0}, &error));
    iso_pipeline_route(pipeline, "clients", iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error));
    if (error.status != ISO_OK)
        abort();
    return pipeline;
}

static void set_initial(struct carriage *carriage, struct iso_pipeline *pipeline)
{
    struct iso_history history;
    struct plain_history plain = carriage->client;
    plain.transaction_count = 0;
    if (carriage->snapshot_rows)
        plain.initial_count = 0;
    iso_history_init(&history);
    plain_history_fill(&plain, &history);
    iso_pipeline_initial(pipeline, &history);
    iso_history_release(&history);
}

static void give_file(struct carriage *carriage, struct iso_pipeline *pipeline, struct iso_error *error)
{
    struct plain_history records = carriage->client;
    struct iso_history history;
    records.transaction_count = 0;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (!carriage->withheld[t])
            records.transactions[records.transaction_count++] = carriage->client.transactions[t];
    iso_history_init(&history);
    plain_history_fill(&records, &history);
    iso_pipeline_records(pipeline, &history, 0, error);
    iso_history_release(&history);
}

/* Feed and records, each in its own order, mixed; in batches of a few. */
static void give_messages(struct carriage *carriage, struct iso_pipeline *pipeline, struct feed *feed,
                          const struct client_lines *lines, struct iso_error *error)
{
    struct iso_message batch[8];
    uint32_t row = 0, record = 0, count = 0, lines_count = lines ? lines->count : 0;
    uint32_t bias = random_below(&carriage->random, 101);
    for (uint32_t i = 0; i < feed->count; i++) {
        struct iso_message *message = &feed->list[i];
        message->input = iso_inputs_number(iso_pipeline_inputs(pipeline), message->topic, strlen(message->topic),
                                           message->partition);
        iso_pipeline_declare(pipeline, message->input, 0);
    }
    for (uint32_t i = 0; getenv("SHOW_FEED") && i < feed->count; i++)
        printf("# %s %.*s\n", feed->list[i].topic, (int)feed->list[i].payload.size, (const char *)feed->list[i].payload.data);
    uint32_t client = iso_inputs_number(iso_pipeline_inputs(pipeline), "clients", 7, 0);
    if (lines_count)
        iso_pipeline_declare(pipeline, client, 0);
    while ((row < feed->count || record < lines_count) && error->status == ISO_OK) {
        bool is_row = row < feed->count && (record == lines_count || random_percent(&carriage->random, bias));
        if (is_row)
            batch[count++] = feed->list[row++];
        else {
            batch[count++] = (struct iso_message){.topic = "clients", .input = client, .offset = record,
                .payload = {(const uint8_t *)lines->start[record], lines->length[record]}};
            record++;
        }
        if (count == 8 || random_percent(&carriage->random, 25) || (row == feed->count && record == lines_count)) {
            iso_pipeline_feed(pipeline, batch, count, 0, error);
            count = 0;
        }
    }
}

static bool same_bytes(struct iso_bytes left, struct iso_bytes right)
{
    return left.size == right.size && !memcmp(left.data, right.data, left.size);
}

/* One row that comes once is left out. */
static void lose_row(struct carriage *carriage, struct feed *feed)
{
    uint32_t rows[4096], count = 0;
    for (uint32_t i = 0; i < feed->count && count < 4096; i++) {
        const struct iso_message *message = &feed->list[i];
        uint32_t copies = 0;
        if (strncmp(message->topic, "dbz.public", 10) || !message->payload.data ||
            memmem(message->payload.data, message->payload.size, "\"op\":\"r\"", 8))
            continue;
        for (uint32_t j = 0; j < feed->count; j++)
            copies += feed->list[j].payload.data && same_bytes(feed->list[j].payload, message->payload);
        if (copies == 1)
            rows[count++] = i;
    }
    carriage->lost = count > 0;
    if (!count)
        return;
    uint32_t gone = rows[random_below(&carriage->random, count)];
    memmove(feed->list + gone, feed->list + gone + 1, (--feed->count - gone) * sizeof *feed->list);
}

static bool write_feed(struct carriage *carriage, struct feed *feed)
{
    struct iso_history history;
    bool fits;
    iso_history_init(&history);
    plain_history_fill(&carriage->source, &history);
    if (is_of(carriage->format, "debezium"))
        fits = feed_debezium_write(feed, &history, &(struct feed_debezium_options){
            .seed = random_bits(&carriage->random), .format = carriage->format->encoding, .binlog = carriage->format->binlog,
            .default_identity = carriage->format->default_identity, .metadata = true,
            .in_band = carriage->format->mode == IN_BAND, .snapshot = carriage->snapshot_rows,
            .partitions = 1 + random_below(&carriage->random, 3), .restarts = random_below(&carriage->random, 3),
            .first_xid = carriage->first_xid, .commits = carriage->commits});
    else if (is_of(carriage->format, "ticdc"))
        fits = feed_ticdc_write(feed, &history, &(struct feed_ticdc_options){
            .seed = random_bits(&carriage->random), .format = carriage->format->protocol, .topic = "ticdc",
            .partitions = 1 + random_below(&carriage->random, 3), .restarts = random_below(&carriage->random, 3),
            .every = 1 + random_below(&carriage->random, 4), .start_ts = carriage->format->identity == BY_START_TIMESTAMP,
            .drops_unchanged = carriage->drops, .commits = carriage->commits});
    else if (is_of(carriage->format, "yugabyte"))
        fits = feed_yugabyte_write(feed, &history, &(struct feed_yugabyte_options){
            .seed = random_bits(&carriage->random), .tablets = 1 + random_below(&carriage->random, 3),
            .metadata = random_percent(&carriage->random, 50), .fast_path = random_percent(&carriage->random, 50),
            .restarts = random_below(&carriage->random, 3), .commits = carriage->commits});
    else
        fits = feed_dgraph_write(feed, &history, &(struct feed_dgraph_options){
            .seed = random_bits(&carriage->random), .topic = "dgraph-cdc", .groups = 1 + random_below(&carriage->random, 2),
            .restarts = random_below(&carriage->random, 4), .commits = carriage->commits});
    feed_finish(feed);
    if (carriage->lost)
        lose_row(carriage, feed);
    iso_history_release(&history);
    return fits;
}

static void run(struct carriage *carriage)
{
    struct feed feed;
    struct client_lines lines = {0};
    struct iso_error error = {.status = ISO_OK};
    bool clients = carriage->format->mode == BY_TIMESTAMPS || carriage->format->mode == BY_SNAPSHOTS;
    bool file = clients && random_percent(&carriage->random, 30);
    struct iso_pipeline_stats stats;
    feed_init(&feed);
    if (!write_feed(carriage, &feed))
        snprintf(carriage->failure, sizeof carriage->failure, "the feed cannot carry it");
    struct iso_pipeline *pipeline = open_pipeline(carriage, file);
    set_initial(carriage, pipeline);
    print_records(carriage, &lines);
    if (file)
        give_file(carriage, pipeline, &error);
    give_messages(carriage, pipeline, &feed, clients && !file ? &lines : NULL, &error);
    if (error.status == ISO_OK)
        iso_pipeline_end(pipeline, 0, &error);
    if (error.status != ISO_OK)
        snprintf(carriage->failure, sizeof carriage->failure, "%s", error.text);
    const char *reason;
    carriage->outcome = iso_pipeline_outcome(pipeline, true, &reason);
    iso_pipeline_stats(pipeline, &stats);
    carriage->statistics->repeats += stats.join.repeats;
    if (error.status == ISO_OK && (stats.join.waiting_rows || stats.join.waiting_records || stats.join.waiting_transactions))
        snprintf(carriage->failure, sizeof carriage->failure, "something still waits at the end");
    iso_pipeline_free(pipeline);
    feed_release(&feed);
    free(lines.text);
}

/* ---- one history ---- */

static bool prepare_by_timestamps(struct carriage *carriage)
{
    uint32_t added = 0;
    spread_times(&carriage->client);
    spread_places(&carriage->client);
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        struct plain_transaction *transaction = &carriage->client.transactions[t];
        transaction->xid = plain_transaction_writes(transaction) && carriage->format->identity == BY_XID ? carriage->first_xid + t : 0;
        transaction->snapshot.given = false;
        added += transaction->status == ISO_UNKNOWN;
    }
    if (carriage->client.transaction_count + added > PLAIN_TRANSACTIONS)
        return false;
    draw_outcomes(carriage);
    if (random_percent(&carriage->random, 20) && carriage->client.transaction_count)
        alter(carriage);
    expect_by_timestamps(carriage);
    return true;
}

/* ---- records inside their transactions ---- */

static bool has_own_times(const struct plain_history *history)
{
    for (uint32_t t = 0; t < history->transaction_count; t++)
        for (uint32_t i = 0; i < history->transactions[t].operation_count; i++)
            if (history->transactions[t].operations[i].ots.given || history->transactions[t].operations[i].lock ||
                history->transactions[t].operations[i].snapshot.given)
                return true;
    return false;
}

/* What did not commit leaves nothing behind. */
static bool prepare_in_band(struct carriage *carriage)
{
    uint32_t kept = 0;
    if (has_own_times(&carriage->client))
        return false;
    spread_times(&carriage->client);
    spread_places(&carriage->client);
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (carriage->client.transactions[t].status == ISO_COMMITTED)
            carriage->client.transactions[kept++] = carriage->client.transactions[t];
    carriage->client.transaction_count = kept;
    for (uint32_t t = 0; t < kept; t++) {
        const struct plain_transaction *transaction = &carriage->client.transactions[t];
        carriage->commits[t] = transaction->cts.given ? transaction->cts.physical : transaction->sts.physical;
        carriage->withheld[t] = false;
    }
    carriage->source = carriage->told = carriage->client;
    return true;
}

/* ---- by before images alone ---- */

/* Every row a read of what stood there, where it is told, and a write. */
static bool tell_rows(struct carriage *carriage, struct value_of_key *values, uint32_t *count, uint32_t t)
{
    const struct plain_transaction *source = &carriage->source.transactions[t];
    char tid[PLAIN_TEXT];
    snprintf(tid, sizeof tid, carriage->format->binlog ? "cdc:0-1-%" PRIu64 : "cdc:%" PRIu64,
             (carriage->first_xid + t) & 0xffffffff);
    struct plain_transaction *told = plain_history_begin(&carriage->told, tid, tid);
    told->tid.quoted = told->session.quoted = true;
    told->sts = plain_stamp(carriage->commits[t] - 1);
    told->cts = plain_stamp(carriage->commits[t]);
    for (uint32_t i = 0; i < source->operation_count; i++) {
        const struct plain_operation *write = &source->operations[i];
        if (!plain_writes(write))
            continue;
        struct value_of_key *value = value_of(values, count, carriage, &write->key);
        struct plain_text before = value->source;
        value->source = written(write);
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

static bool prepare_by_before_images(struct carriage *carriage)
{
    struct value_of_key values[PLAIN_TRANSACTIONS * PLAIN_OPERATIONS];
    uint32_t count = 0;
    bool done[PLAIN_TRANSACTIONS] = {false};
    spread_times(&carriage->client);
    draw_outcomes(carriage);
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
            if (!done[i] && carriage->commits[i] && (t == ISO_NONE || carriage->commits[i] < carriage->commits[t]))
                t = i;
        if (t == ISO_NONE)
            break;
        done[t] = true;
        if (!tell_rows(carriage, values, &count, t))
            return false;
    }
    carriage->lost = carriage->format->encoding == FEED_JSON && is_of(carriage->format, "debezium") && random_percent(&carriage->random, 25);
    return carriage->told.transaction_count > 0;
}

/* ---- by snapshots ---- */

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
        if (transaction->status == ISO_UNKNOWN && (!transaction->snapshot.given || !transaction->xid || !writes))
            transaction->status = ISO_ABORTED;
        bool committed = transaction->status == ISO_COMMITTED ||
                         (transaction->status == ISO_UNKNOWN && random_percent(&carriage->random, 50));
        carriage->statistics->committed += transaction->status == ISO_UNKNOWN && committed;
        carriage->statistics->aborted += transaction->status == ISO_UNKNOWN && !committed;
        carriage->commits[t] = committed && writes;
        carriage->withheld[t] = transaction->status == ISO_COMMITTED && writes && random_percent(&carriage->random, 15);
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
    for (uint32_t i = 0; i < history->breach_count; i++) {
        char text[FOUND_TEXT] = "TIMESTAMP ";
        put_atom(text, sizeof text, history, history->tid[history->breaches[i].transaction]);
        strcat(text, " ");
        add_found(&carriage->expected, text);
    }
}

/* Places as the snapshots that are known say; commits between two of them in the order of the log, which is drawn here. */
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
            carriage->commits[log[i]] = (history->cts[log[i]] + 1) * ROOM + i + 1;
}

static void tell_places(struct carriage *carriage, const struct iso_history *history)
{
    carriage->told = carriage->client;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) {
        struct plain_transaction *told = &carriage->told.transactions[t];
        if (carriage->withheld[t]) {
            make_foreign(carriage, told, t);
            carriage->statistics->foreign++;
            continue;
        }
        told->xid = 0;
        told->snapshot.given = false;
        if (told->status == ISO_UNKNOWN)
            told->status = carriage->commits[t] ? ISO_COMMITTED : ISO_ABORTED;
        if (told->status != ISO_COMMITTED)
            continue;
        told->sts = plain_stamp((history->sts[t] + 1) * ROOM);
        if (carriage->commits[t])
            told->cts = plain_stamp(carriage->commits[t]);
        else if (carriage->client.transactions[t].xid)
            told->cts = plain_stamp((history->cts[t] + 1) * ROOM + ROOM / 2 + t);
        for (uint32_t i = 0; i < told->operation_count; i++) {
            uint32_t o = history->first_operation[t] + i;
            if (told->operations[i].snapshot.given)
                told->operations[i].ots = plain_stamp((history->ots[o] + 1) * ROOM);
            told->operations[i].snapshot.given = false;
        }
    }
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (carriage->told.transactions[t].status != ISO_COMMITTED)
            for (uint32_t i = 0; i < carriage->told.transactions[t].operation_count; i++)
                carriage->told.transactions[t].operations[i].snapshot.given = false;
}

static bool prepare_by_snapshots(struct carriage *carriage)
{
    struct plain_history known;
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    if (!arrange_xids(carriage))
        return false;
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++) /* "just below the commit" is where places are next */
        for (uint32_t i = 0; i < carriage->client.transactions[t].operation_count; i++)
            carriage->client.transactions[t].operations[i].lock = false;
    spread_places(&carriage->client);
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
        alter(carriage);
    tell_places(carriage, &history);
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        if (carriage->commits[t] && !carriage->withheld[t])
            compare_writes(carriage, &carriage->client.transactions[t], &carriage->source.transactions[t]);
    if (!carriage->format->default_identity)
        compare_before_images(carriage);
    iso_history_release(&history);
    return true;
}

/* Initial values that a connector's snapshot may hold: one row a key. */
static bool has_snapshot(const struct plain_history *history)
{
    for (uint32_t i = 0; i < history->initial_count; i++) {
        if (history->initials[i].value.absent)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (plain_equal(&history->initials[i].key, &history->initials[j].key))
                return false;
    }
    return history->initial_value.absent;
}

static bool (*const prepare[])(struct carriage *carriage) = {
    [BY_TIMESTAMPS] = prepare_by_timestamps,
    [BY_SNAPSHOTS] = prepare_by_snapshots,
    [IN_BAND] = prepare_in_band,
    [BY_BEFORE_IMAGES] = prepare_by_before_images,
};

static bool carry(struct carriage *carriage, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    options.complete = true;
    carriage->random = (struct random){seed * 7919 + 17};
    carriage->expected.count = carriage->found.count = 0;
    carriage->failure[0] = 0;
    carriage->first_xid = random_percent(&carriage->random, 20) ? 0xfffffffa : 700;
    carriage->online = carriage->lost = false;
    carriage->drops = random_percent(&carriage->random, 50);
    random_history(seed, &options, &carriage->client);
    if (!can_carry(carriage, &carriage->client))
        return true;
    rename_keys(carriage, &carriage->client);
    carriage->snapshot_rows = is_of(carriage->format, "debezium") && has_snapshot(&carriage->client) &&
                              random_percent(&carriage->random, 50);
    if (!prepare[carriage->format->mode](carriage))
        return true;
    chronos_found(carriage, &carriage->told, &carriage->expected);
    run(carriage);
    if (carriage->lost) {
        carriage->statistics->carried++;
        carriage->statistics->altered++;
        return !carriage->failure[0] && carriage->outcome != ISO_OK;
    }
    sort_found(&carriage->expected);
    sort_found(&carriage->found);
    carriage->statistics->carried++;
    carriage->statistics->violated += carriage->expected.count > 0;
    return !carriage->failure[0] && same_found(&carriage->expected, &carriage->found);
}

static void report(const struct carriage *carriage, uint64_t seed)
{
    printf("not ok - %s, seed %" PRIu64 ", %s: %s\n", carriage->format->name, seed, iso_level_name(carriage->level),
           carriage->failure);
    print_found("expected", &carriage->expected);
    print_found("found", &carriage->found);
    printf("# clients:\n");
    plain_history_print(&carriage->client, stdout, "#   ");
    printf("# source (commits:");
    for (uint32_t t = 0; t < carriage->client.transaction_count; t++)
        printf(" %" PRIu64 "%s", carriage->commits[t], carriage->withheld[t] ? "w" : "");
    printf("):\n");
    plain_history_print(&carriage->source, stdout, "#   ");
    printf("# told:\n");
    plain_history_print(&carriage->told, stdout, "#   ");
}

static bool run_format(const struct format *format, uint64_t histories, uint64_t seed)
{
    struct statistics statistics = {0};
    struct carriage *carriage = iso_allocate_zeroed(1, sizeof *carriage);
    uint32_t failed = 0;
    uint64_t tried = 0;
    carriage->format = format;
    carriage->statistics = &statistics;
    for (; statistics.carried < histories && failed < MAX_REPORTS && tried < histories * 100; tried++) {
        carriage->level = tried % 3 ? ISO_SI : ISO_SER;
        if (carry(carriage, seed + tried))
            continue;
        report(carriage, seed + tried);
        failed++;
    }
    printf("# %s: %" PRIu64 " carried of %" PRIu64 ", %" PRIu64 " violated, %" PRIu64 " altered, %" PRIu64 " foreign, %" PRIu64
           " committed, %" PRIu64 " aborted and %" PRIu64 " unresolved of unknown outcome, %" PRIu64 " repeats\n",
           format->name, statistics.carried, tried, statistics.violated, statistics.altered, statistics.foreign,
           statistics.committed, statistics.aborted, statistics.unresolved, statistics.repeats);
    if (!failed)
        printf("ok - %s: what chronos finds in %" PRIu64 " histories\n", format->name, statistics.carried);
    iso_free(carriage);
    return !failed && statistics.carried == histories;
}

int main(int argc, char **argv)
{
    uint64_t histories = DEFAULT_HISTORIES, seed = 1;
    const char *only = NULL;
    bool good = true;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--histories"))
            histories = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--seed"))
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--format"))
            only = argv[i + 1];
        else {
            fputs("usage: join_feeds [--histories N] [--seed S] [--format F]\n", stderr);
            return 2;
        }
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!only || !strcmp(only, formats[i].name))
            good &= run_format(&formats[i], histories, seed);
    return good ? 0 : 1;
}
