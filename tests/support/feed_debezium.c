#include "tests/support/feed_debezium.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tests/support/feed_debezium_private.h"
#include "tests/support/feed_stream.h"

enum {
    KEY_MAX = 200,
    TRANSACTION_TOPIC = FEED_DEBEZIUM_TABLES,
    MESSAGE_TOPIC,
    TOPICS,
    COMMIT_BYTES = 48
};

static const char *const topics[TOPICS] = {"dbz.public.t0", "dbz.public.t1",   "dbz.public.t2",
                                           "dbz.public.t3", "dbz.transaction", "dbz.message"};
static const char *const tables[FEED_DEBEZIUM_TABLES] = {"t0", "t1", "t2", "t3"};

struct run {
    const struct iso_history *history;
    const struct feed_debezium_options *options;
    struct random random;
    uint32_t *first; /* message of the commits so far */
    iso_atom *now;   /* a key's value */
    struct feed_stream stream;
    uint64_t previous, lsn, events; /* of the transaction at hand */
    uint32_t written;               /* the key that it wrote last */
    uint32_t xid;
};

iso_atom feed_debezium_name(void *context, struct iso_history *history, uint32_t index)
{
    char text[KEY_MAX];
    int length =
        snprintf(text, sizeof text, "public.t%u/%u", index % *(const uint32_t *)context, index + 1);
    return iso_atoms_text(&history->atoms, text, (size_t)length);
}

/* ---- messages ---- */

static void send_metadata(struct run *run, bool is_end)
{
    if (!run->options->metadata)
        return;
    size_t payload = run->stream.bytes.used;
    run->stream.tag.part = is_end ? FEED_END : FEED_BEGIN;
    feed_encode_metadata(
        &run->stream.bytes, run->options->format,
        &(struct feed_metadata){is_end, run->options->binlog, run->xid, run->lsn, run->events});
    feed_stream_add(&run->stream, topics[TRANSACTION_TOPIC], 0, payload, payload);
}

/* Of a column of text: a column has one type. */
static struct feed_text text_of(const struct iso_history *history, iso_atom atom,
                                char buffer[ISO_ATOM_TEXT_MAX])
{
    struct feed_text text = {NULL, 0, false};
    if (atom == ISO_ABSENT)
        return text;
    text.at = iso_atom_text(&history->atoms, atom, buffer, &text.length);
    return text;
}

/* The next position in the log: a little further on, or the same for what one statement did, never
 * twice to one row. */
static void advance(struct run *run, bool further)
{
    run->lsn += !further && random_percent(&run->random, 15) && run->events
                    ? 0
                    : 8 + 8 * random_below(&run->random, 30);
}

static void send_change(struct run *run, uint32_t topic, const struct feed_text *key,
                        struct feed_change *change)
{
    bool streamed = !change->snapshot;
    change->binlog = run->options->binlog;
    change->xid = run->xid;
    change->previous = run->previous;
    change->lsn = run->lsn;
    change->order = streamed && run->options->metadata ? run->events : 0;
    size_t start = run->stream.bytes.used;
    int32_t partition =
        key ? feed_stream_partition(key->at, key->length, run->options->partitions) : 0;
    if (key)
        feed_encode_key(&run->stream.bytes, run->options->format, key);
    size_t payload = run->stream.bytes.used;
    feed_encode_change(&run->stream.bytes, run->options->format, change);
    feed_stream_add(&run->stream, topics[topic], partition, start, payload);
    if (change->op == 'd')
        feed_stream_add_tombstone(&run->stream);
}

/* "public.t3/17" in its parts. */
static bool split_key(const struct iso_history *history, uint32_t key,
                      char buffer[ISO_ATOM_TEXT_MAX], struct feed_text *text, uint32_t *table)
{
    static const char prefix[] = "public.t";
    size_t length;
    const char *at = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &length);
    if (length < sizeof prefix + 2 || memcmp(at, prefix, sizeof prefix - 1) ||
        at[sizeof prefix] != '/')
        return false;
    *table = (uint32_t)(at[sizeof prefix - 1] - '0');
    *text = (struct feed_text){at + sizeof prefix + 1, length - sizeof prefix - 1, true};
    return *table < FEED_DEBEZIUM_TABLES;
}

/* "V|A" */
static void split_value(struct feed_row *row)
{
    const char *bar = row->value.at ? memchr(row->value.at, '|', row->value.length) : NULL;
    if (!bar)
        return;
    row->has_amount = true;
    row->is_amount_null = bar[1] == '~';
    for (const char *at = bar + 1; at < row->value.at + row->value.length && *at != '~'; at++)
        row->amount = (uint8_t)(row->amount * 10 + *at - '0');
    row->value.length = (size_t)(bar - row->value.at);
    if (*row->value.at == '~')
        row->value.at = NULL;
}

static bool send_write(struct run *run, uint32_t key, iso_atom value, iso_atom tid,
                       const char *snapshot)
{
    const struct iso_history *history = run->history;
    char key_buffer[ISO_ATOM_TEXT_MAX], before_buffer[ISO_ATOM_TEXT_MAX],
        after_buffer[ISO_ATOM_TEXT_MAX], tid_buffer[ISO_ATOM_TEXT_MAX];
    iso_atom before = run->now[key];
    struct feed_text text;
    uint32_t table;
    if (!split_key(history, key, key_buffer, &text, &table))
        return false;
    run->now[key] = value;
    if (before == ISO_ABSENT && value == ISO_ABSENT)
        return true;
    struct feed_change change = {
        .op = snapshot               ? 'r'
              : before == ISO_ABSENT ? 'c'
              : value == ISO_ABSENT  ? 'd'
                                     : 'u',
        .snapshot = snapshot,
        .table = tables[table],
        .before = {.is_null = before == ISO_ABSENT || snapshot,
                   .key = text,
                   .value = text_of(history, before, before_buffer)},
        .after = {.is_null = value == ISO_ABSENT,
                  .key = text,
                  .value = text_of(history, value, after_buffer)},
    };
    if (run->options->cells) {
        split_value(&change.before);
        split_value(&change.after);
    }
    change.before.has_marker = change.after.has_marker = run->options->marker;
    if (run->options->marker) {
        change.before.marker = (struct feed_text){"another", 7, false};
        change.after.marker = text_of(history, tid, tid_buffer);
    }
    if (run->options->default_identity && !run->options->binlog) {
        change.before.is_null |= change.op == 'u';
        change.before.key_only = true;
    }
    run->stream.tag.part = snapshot ? FEED_SNAPSHOT_ROW : FEED_ROW;
    run->stream.tag.ends = snapshot && !strncmp(snapshot, "last", 4);
    run->stream.tag.key = key;
    if (!snapshot)
        run->events++;
    advance(run, run->written != UINT32_MAX && key <= run->written);
    run->written = key;
    send_change(run, table, &text, &change);
    return true;
}

/* ---- records ---- */

static void put_atom(struct iso_text *text, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        iso_text_put(text, "null");
        return;
    }
    const char *at = iso_atom_text(atoms, atom, buffer, &length);
    if (iso_atom_is_string(atoms, atom))
        iso_text_put_string(text, at, length);
    else
        iso_text_put_bytes(text, at, length);
}

static void put_member(struct iso_text *text, const char *name, uint64_t number)
{
    iso_text_put(text, name);
    iso_text_put_unsigned(text, number);
}

static void put_record(struct iso_text *text, const struct iso_history *history, uint32_t t,
                       uint64_t xid)
{
    iso_text_put(text, "{\"tid\":");
    put_atom(text, &history->atoms, history->txns.tid[t]);
    iso_text_put(text, ",\"sid\":");
    put_atom(text, &history->atoms, history->sessions.atom[history->txns.session[t]]);
    put_member(text, ",\"xid\":", xid);
    if (history->txns.flags[t] & ISO_HAS_SNO)
        put_member(text, ",\"sno\":", history->txns.sno[t]);
    if (history->txns.flags[t] & ISO_HAS_STS)
        put_member(text, ",\"sts\":", history->txns.sts[t]);
    if (history->txns.flags[t] & ISO_HAS_CTS)
        put_member(text, ",\"cts\":", history->txns.cts[t]);
    iso_text_put(text, ",\"ops\":[");
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
        uint8_t kind = iso_kind_of(history, o);
        iso_text_put(text, o > history->txns.first_op[t] ? ",{\"t\":\"" : "{\"t\":\"");
        iso_text_put(text, kind == ISO_READ     ? "r\",\"k\":"
                           : kind == ISO_DELETE ? "d\",\"k\":"
                                                : "w\",\"k\":");
        put_atom(text, &history->atoms, history->keys.atom[history->ops.key[o]]);
        if (kind != ISO_DELETE) {
            iso_text_put(text, ",\"v\":");
            put_atom(text, &history->atoms, history->ops.value[o]);
        }
        iso_text_put(text, "}");
    }
    iso_text_put(text, "]}");
}

static void send_record(struct run *run, uint32_t transaction)
{
    struct iso_text record = {0};
    put_record(&record, run->history, transaction, run->options->first_xid + transaction);
    run->stream.tag.part = FEED_RECORD;
    run->events++;
    advance(run, false);
    send_change(
        run, MESSAGE_TOPIC, NULL,
        &(struct feed_change){.op = 'm', .record = record.bytes, .record_length = record.used});
    iso_text_release(&record);
}

/* ---- the stream ---- */

/* A transaction's changes lie in the log before its commit, and before the ends of others that ran
 * beside it. */
static bool send_transaction(struct run *run, uint32_t t)
{
    const struct iso_history *history = run->history;
    uint64_t back =
        run->options->binlog
            ? 0
            : random_below(&run->random, 300); /* in a binlog transactions do not interleave */
    bool fine = true;
    bool numbered = run->options->binlog && run->options->commits;
    run->xid = (uint32_t)(numbered ? run->options->commits[t] : run->options->first_xid + t);
    run->lsn = run->previous > back + 8 ? run->previous - back : run->lsn;
    run->stream.tag = (struct feed_tag){.transaction = t};
    run->events = 0;
    run->written = UINT32_MAX;
    send_metadata(run, false);
    for (uint32_t o = history->txns.first_op[t]; fine && o < history->txns.first_op[t + 1]; o++) {
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_WRITE || kind == ISO_DELETE)
            fine = send_write(run, history->ops.key[o],
                              kind == ISO_WRITE ? history->ops.value[o] : ISO_ABSENT,
                              history->txns.tid[t], NULL);
        else
            fine = kind == ISO_READ;
    }
    if (fine && run->options->in_band)
        send_record(run, t);
    run->lsn = (run->lsn > run->previous ? run->lsn : run->previous) + COMMIT_BYTES;
    send_metadata(run, true);
    run->previous = run->lsn;
    return fine;
}

/* kill -9: some of the messages after a transaction's start were sent, and all of them are sent
 * again, the BEGIN sometimes without its message. */
static void restart(struct run *run, uint32_t done)
{
    uint32_t first = run->first[done - 1 - random_below(&run->random, done < 4 ? done : 4)];
    feed_stream_repeat(&run->stream,
                       first + (run->options->metadata && random_percent(&run->random, 50)));
}

static uint32_t table_of(const struct iso_history *history, uint32_t key)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct feed_text text;
    uint32_t table = UINT32_MAX;
    split_key(history, key, buffer, &text, &table);
    return table;
}

/* Table by table; the first and the last row of each say so, and the last of all. */
static void send_snapshot(struct run *run)
{
    const struct iso_history *history = run->history;
    uint32_t count[FEED_DEBEZIUM_TABLES] = {0}, left = history->initial.count;
    for (uint32_t i = 0; i < history->initial.count; i++)
        if (!run->options->snapshot)
            run->now[history->initial.key[i]] = history->initial.value[i];
        else if (table_of(history, history->initial.key[i]) < FEED_DEBEZIUM_TABLES)
            count[table_of(history, history->initial.key[i])]++;
    run->stream.tag.transaction = ISO_NONE;
    for (uint32_t table = 0; table < FEED_DEBEZIUM_TABLES; table++)
        for (uint32_t i = 0, of_table = count[table]; i < history->initial.count && of_table; i++) {
            if (table_of(history, history->initial.key[i]) != table)
                continue;
            bool begins = of_table == count[table], starts = left == history->initial.count;
            of_table--, left--;
            const char *snapshot = !left       ? "last"
                                   : !of_table ? "last_in_data_collection"
                                   : starts    ? "first"
                                   : begins    ? "first_in_data_collection"
                                               : "true";
            send_write(run, history->initial.key[i], history->initial.value[i], ISO_ABSENT,
                       snapshot);
        }
    run->previous = 0; /* the first transaction of a slot knows of no other */
}

bool feed_debezium_write(struct feed *feed, const struct iso_history *history,
                         const struct feed_debezium_options *options)
{
    struct run run = {
        .history = history, .options = options, .random = {options->seed}, .lsn = 26392688};
    uint32_t restarts = options->restarts;
    bool fine = true;
    uint32_t count;
    struct feed_commit *order = feed_commits(history, options->commits, options->in_band, &count);
    run.now = iso_allocate(((size_t)history->keys.count + 1) * sizeof *run.now);
    run.first = iso_allocate(((size_t)count + 1) * sizeof *run.first);
    for (uint32_t k = 0; k < history->keys.count; k++)
        run.now[k] = history->initial.other_value;
    send_snapshot(&run);
    for (uint32_t i = 0; i < count && fine; i++) {
        run.first[i] = run.stream.count;
        fine = send_transaction(&run, order[i].transaction);
        if (restarts && random_percent(&run.random, 30)) {
            restart(&run, i + 1);
            restarts--;
        }
    }
    if (fine)
        feed_stream_deliver(&run.stream, &run.random, feed);
    iso_free(run.now);
    iso_free(run.first);
    iso_free(order);
    feed_stream_release(&run.stream);
    return fine;
}
