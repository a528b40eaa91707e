#include "tests/support/feed_debezium.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tests/support/feed_debezium_private.h"
#include "tests/support/random.h"

enum { KEY_MAX = 200, TRANSACTION_TOPIC = FEED_DEBEZIUM_TABLES, MESSAGE_TOPIC, TOPICS, COMMIT_BYTES = 48 };

static const char *const topics[TOPICS] = {"dbz.public.t0", "dbz.public.t1",   "dbz.public.t2",
                                           "dbz.public.t3", "dbz.transaction", "dbz.message"};
static const char *const tables[FEED_DEBEZIUM_TABLES] = {"t0", "t1", "t2", "t3"};

/* A message as the connector sent it; offsets into run->bytes. */
struct sent {
    uint32_t topic;
    int32_t partition;
    size_t key, key_size, payload, payload_size;
    bool is_tombstone, has_key;
};

struct run {
    const struct iso_history *history;
    const struct feed_debezium_options *options;
    struct random random;
    struct commit {
        uint64_t cts;
        uint32_t transaction;
        uint32_t first; /* of its messages */
    } *order;
    uint32_t count;
    iso_atom *now; /* a key's value */
    struct iso_text bytes;
    struct sent *sent;
    uint32_t sent_count, sent_capacity;
    uint64_t previous, lsn, events; /* of the transaction at hand */
    uint32_t written;               /* the key that it wrote last */
    uint32_t xid;
};

iso_atom feed_debezium_name(void *context, struct iso_history *history, uint32_t index)
{
    char text[KEY_MAX];
    int length = snprintf(text, sizeof text, "public.t%u/%u", index % *(const uint32_t *)context, index + 1);
    return iso_atoms_text(&history->atoms, text, (size_t)length);
}

/* ---- messages ---- */

static struct sent *add_sent(struct run *run, uint32_t topic)
{
    if (run->sent_count == run->sent_capacity) {
        run->sent_capacity = (uint32_t)iso_column_capacity(run->sent_capacity, run->sent_count + 1u);
        run->sent = iso_reallocate(run->sent, run->sent_capacity * sizeof *run->sent);
    }
    struct sent *sent = &run->sent[run->sent_count++];
    *sent = (struct sent){.topic = topic};
    return sent;
}

static void send_metadata(struct run *run, bool is_end)
{
    if (!run->options->metadata)
        return;
    struct sent *sent = add_sent(run, TRANSACTION_TOPIC);
    sent->payload = run->bytes.used;
    feed_encode_metadata(&run->bytes, run->options->format,
                         &(struct feed_metadata){is_end, run->options->binlog, run->xid, run->lsn, run->events});
    sent->payload_size = run->bytes.used - sent->payload;
}

static struct feed_text text_of(const struct iso_history *history, iso_atom atom, char buffer[ISO_ATOM_TEXT_MAX])
{
    struct feed_text text = {NULL, 0, false};
    if (atom == ISO_ABSENT)
        return text;
    text.at = iso_atom_text(&history->atoms, atom, buffer, &text.length);
    text.is_number = !iso_atom_is_string(&history->atoms, atom);
    return text;
}

/* The next position in the log: a little further on, or the same for what one statement did, never twice to one row. */
static void advance(struct run *run, bool further)
{
    run->lsn += !further && random_percent(&run->random, 15) && run->events ? 0 : 8 + 8 * random_below(&run->random, 30);
}

static void send_change(struct run *run, uint32_t topic, const struct feed_text *key, struct feed_change *change)
{
    bool streamed = !change->is_snapshot;
    change->binlog = run->options->binlog;
    change->xid = run->xid;
    change->previous = run->previous;
    change->lsn = run->lsn;
    change->order = streamed && run->options->metadata ? run->events : 0;
    struct sent *sent = add_sent(run, topic);
    if (key) {
        sent->has_key = true;
        sent->key = run->bytes.used;
        feed_encode_key(&run->bytes, run->options->format, key);
        sent->key_size = run->bytes.used - sent->key;
        uint32_t sum = 0;
        for (size_t i = 0; i < key->length; i++)
            sum = sum * 31 + (unsigned char)key->at[i];
        sent->partition = (int32_t)(sum % run->options->partitions);
    }
    sent->payload = run->bytes.used;
    feed_encode_change(&run->bytes, run->options->format, change);
    sent->payload_size = run->bytes.used - sent->payload;
    if (change->op == 'd') {
        struct sent deleted = *sent;
        deleted.is_tombstone = true;
        *add_sent(run, topic) = deleted;
    }
}

/* "public.t3/17" in its parts. */
static bool split_key(const struct iso_history *history, uint32_t key, char buffer[ISO_ATOM_TEXT_MAX],
                      struct feed_text *text, uint32_t *table)
{
    static const char prefix[] = "public.t";
    size_t length;
    const char *at = iso_atom_text(&history->atoms, history->key_atom[key], buffer, &length);
    if (length < sizeof prefix + 2 || memcmp(at, prefix, sizeof prefix - 1) || at[sizeof prefix] != '/')
        return false;
    *table = (uint32_t)(at[sizeof prefix - 1] - '0');
    *text = (struct feed_text){at + sizeof prefix + 1, length - sizeof prefix - 1, true};
    return *table < FEED_DEBEZIUM_TABLES;
}

static bool send_write(struct run *run, uint32_t key, iso_atom value, bool is_snapshot)
{
    const struct iso_history *history = run->history;
    char key_buffer[ISO_ATOM_TEXT_MAX], before_buffer[ISO_ATOM_TEXT_MAX], after_buffer[ISO_ATOM_TEXT_MAX];
    iso_atom before = run->now[key];
    struct feed_text text;
    uint32_t table;
    if (!split_key(history, key, key_buffer, &text, &table))
        return false;
    run->now[key] = value;
    if (before == ISO_ABSENT && value == ISO_ABSENT)
        return true;
    struct feed_change change = {
        .op = is_snapshot ? 'r' : before == ISO_ABSENT ? 'c' : value == ISO_ABSENT ? 'd' : 'u',
        .is_snapshot = is_snapshot,
        .table = tables[table],
        .before = {before == ISO_ABSENT || is_snapshot, false, text, text_of(history, before, before_buffer)},
        .after = {value == ISO_ABSENT, false, text, text_of(history, value, after_buffer)},
    };
    if (run->options->default_identity && !run->options->binlog) {
        change.before.is_null |= change.op == 'u';
        change.before.key_only = true;
    }
    if (!is_snapshot)
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

static void put_record(struct iso_text *text, const struct iso_history *history, uint32_t t, uint64_t xid)
{
    iso_text_put(text, "{\"tid\":");
    put_atom(text, &history->atoms, history->tid[t]);
    iso_text_put(text, ",\"sid\":");
    put_atom(text, &history->atoms, history->session_atom[history->session[t]]);
    put_member(text, ",\"xid\":", xid);
    if (history->flags[t] & ISO_HAS_SNO)
        put_member(text, ",\"sno\":", history->sno[t]);
    if (history->flags[t] & ISO_HAS_STS)
        put_member(text, ",\"sts\":", history->sts[t]);
    if (history->flags[t] & ISO_HAS_CTS)
        put_member(text, ",\"cts\":", history->cts[t]);
    iso_text_put(text, ",\"ops\":[");
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        uint8_t kind = iso_kind_of(history, o);
        iso_text_put(text, o > history->first_operation[t] ? ",{\"t\":\"" : "{\"t\":\"");
        iso_text_put(text, kind == ISO_READ ? "r\",\"k\":" : kind == ISO_DELETE ? "d\",\"k\":" : "w\",\"k\":");
        put_atom(text, &history->atoms, history->key_atom[history->key[o]]);
        if (kind != ISO_DELETE) {
            iso_text_put(text, ",\"v\":");
            put_atom(text, &history->atoms, history->value[o]);
        }
        iso_text_put(text, "}");
    }
    iso_text_put(text, "]}");
}

static void send_record(struct run *run, uint32_t transaction)
{
    struct iso_text record = {0};
    put_record(&record, run->history, transaction, run->options->first_xid + transaction);
    run->events++;
    advance(run, false);
    send_change(run, MESSAGE_TOPIC, NULL, &(struct feed_change){.op = 'm', .record = record.bytes,
                                                                .record_length = record.used});
    iso_text_release(&record);
}

/* ---- the stream ---- */

/* A transaction's changes lie in the log before its commit, and before the ends of others that ran beside it. */
static bool send_transaction(struct run *run, struct commit *commit)
{
    const struct iso_history *history = run->history;
    uint32_t t = commit->transaction;
    uint64_t back = random_below(&run->random, 300);
    bool fine = true;
    run->xid = (uint32_t)(run->options->first_xid + t);
    run->lsn = run->previous > back + 8 ? run->previous - back : run->lsn;
    run->events = 0;
    run->written = UINT32_MAX;
    commit->first = run->sent_count;
    send_metadata(run, false);
    for (uint32_t o = history->first_operation[t]; fine && o < history->first_operation[t + 1]; o++) {
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_WRITE || kind == ISO_DELETE)
            fine = send_write(run, history->key[o], kind == ISO_WRITE ? history->value[o] : ISO_ABSENT, false);
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

/* kill -9: some of the messages after a transaction's start were sent, and all of them are sent again, the BEGIN
 * sometimes without its message. */
static void restart(struct run *run, uint32_t done)
{
    if (!done)
        return;
    uint32_t first = run->order[done - 1 - random_below(&run->random, done < 4 ? done : 4)].first;
    first += run->options->metadata && random_percent(&run->random, 50);
    for (uint32_t end = run->sent_count, i = first; i < end; i++) {
        struct sent again = run->sent[i];
        *add_sent(run, again.topic) = again;
    }
}

static void send_snapshot(struct run *run)
{
    const struct iso_history *history = run->history;
    for (uint32_t i = 0; i < history->initial_count; i++)
        if (run->options->snapshot)
            send_write(run, history->initial_key[i], history->initial_of_key[i], true);
        else
            run->now[history->initial_key[i]] = history->initial_of_key[i];
    run->previous = 0; /* the first transaction of a slot knows of no other */
}

/* ---- the consumer's view ---- */

/* Topics and partitions keep their order, and come in any order beside each other. */
static void deliver(struct run *run, struct feed *feed)
{
    uint32_t window[8], held = 0, next = 0;
    while (next < run->sent_count || held) {
        while (held < 8 && next < run->sent_count)
            window[held++] = next++;
        uint32_t pick = random_below(&run->random, held);
        for (uint32_t i = 0; i < pick; i++) /* not before an earlier one of the same partition */
            if (run->sent[window[i]].topic == run->sent[window[pick]].topic &&
                run->sent[window[i]].partition == run->sent[window[pick]].partition)
                pick = i;
        const struct sent *sent = &run->sent[window[pick]];
        const uint8_t *bytes = (const uint8_t *)run->bytes.bytes;
        struct iso_bytes none = {NULL, 0};
        feed_add(feed, topics[sent->topic], sent->partition,
                 sent->has_key ? (struct iso_bytes){bytes + sent->key, (uint32_t)sent->key_size} : none,
                 sent->is_tombstone ? none : (struct iso_bytes){bytes + sent->payload, (uint32_t)sent->payload_size});
        memmove(window + pick, window + pick + 1, (--held - pick) * sizeof *window);
    }
}

static int compare_commits(const void *left, const void *right)
{
    const struct commit *one = left, *other = right;
    return one->cts != other->cts ? (one->cts < other->cts ? -1 : 1)
                                  : (one->transaction > other->transaction) - (one->transaction < other->transaction);
}

static void order_commits(struct run *run)
{
    const struct iso_history *history = run->history;
    run->order = iso_allocate_zeroed(history->transaction_count + 1u, sizeof *run->order);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        bool committed = iso_status_of(history, t) == ISO_COMMITTED;
        uint64_t cts = run->options->commits ? run->options->commits[t] : committed ? history->cts[t] : 0;
        bool writes = run->options->in_band;
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++)
            writes |= iso_kind_writes(history->kind[o]);
        if (cts && writes)
            run->order[run->count++] = (struct commit){cts, t, 0};
    }
    qsort(run->order, run->count, sizeof *run->order, compare_commits);
}

bool feed_debezium_write(struct feed *feed, const struct iso_history *history, const struct feed_debezium_options *options)
{
    struct run run = {.history = history, .options = options, .random = {options->seed}, .lsn = 26392688};
    uint32_t restarts = options->restarts;
    bool fine = true;
    run.now = iso_allocate(((size_t)history->key_count + 1) * sizeof *run.now);
    for (uint32_t k = 0; k < history->key_count; k++)
        run.now[k] = history->initial_value;
    order_commits(&run);
    send_snapshot(&run);
    for (uint32_t i = 0; i < run.count && fine; i++) {
        fine = send_transaction(&run, &run.order[i]);
        if (restarts && random_percent(&run.random, 30)) {
            restart(&run, i + 1);
            restarts--;
        }
    }
    if (fine)
        deliver(&run, feed);
    iso_free(run.now);
    iso_free(run.order);
    iso_free(run.sent);
    iso_text_release(&run.bytes);
    return fine;
}
