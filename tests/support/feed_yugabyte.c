#include "tests/support/feed_yugabyte.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tests/support/feed_stream.h"

enum { TABLES = 4, TEXT = 64 };

static const char *const topics[TABLES + 1] = {"yb.public.t0", "yb.public.t1", "yb.public.t2",
                                               "yb.public.t3", "yb.transaction"};

struct run {
    const struct iso_history *history;
    const struct feed_yugabyte_options *options;
    struct random random;
    struct feed_stream stream;
    iso_atom *now;   /* a key's value */
    iso_atom *start; /* ... as of the start of the transaction that `since` says */
    uint32_t *since;
    uint32_t transaction;                  /* how many were sent, this one among them */
    uint32_t *first;                       /* message of the transactions so far */
    uint64_t time;                         /* the commit's */
    uint64_t previous, lsn, order, number; /* of the logical connector */
    uint64_t writes[64];                   /* of the transaction in each tablet */
    char id[FEED_YUGABYTE_ID];
};

/* One row's change. */
struct change {
    char op;
    uint32_t table;
    int32_t tablet;
    const char *key;
    size_t key_length;
    iso_atom before, after; /* as they are sent */
    iso_atom left;          /* what the row had: its columns that are left alone are sent as ... */
    iso_atom start;         /* ... this has them */
};

/* "V|W" or "V" in its parts, of which `~` is null: at NULL. */
struct part {
    const char *at;
    size_t length;
};

void feed_yugabyte_id(uint32_t transaction, char id[FEED_YUGABYTE_ID])
{
    snprintf(id, FEED_YUGABYTE_ID, "00000000-0000-4000-8000-%012x", transaction);
}

/* ---- encoding ---- */

static void put(struct run *run, const char *text)
{
    iso_text_put(&run->stream.bytes, text);
}

static void put_number(struct run *run, const char *name, uint64_t number)
{
    put(run, name);
    iso_text_put_unsigned(&run->stream.bytes, number);
}

static bool has_cells(const struct run *run)
{
    return !run->options->logical || run->options->cells;
}

static void put_value(struct run *run, const char *at, size_t length, bool quoted)
{
    put(run, has_cells(run) ? "{\"value\":" : "");
    if (!at)
        put(run, "null");
    else if (quoted)
        iso_text_put_string(&run->stream.bytes, at, length);
    else
        iso_text_put_bytes(&run->stream.bytes, at, length);
    put(run, has_cells(run) ? ",\"set\":true}" : "");
}

static bool split(const struct run *run, iso_atom value, char digits[ISO_ATOM_TEXT_MAX],
                  struct part parts[2])
{
    size_t length;
    const char *at = iso_atom_text(&run->history->atoms, value, digits, &length);
    const char *bar = memchr(at, '|', length);
    parts[0] = (struct part){*at == '~' ? NULL : at, bar ? (size_t)(bar - at) : length};
    parts[1] = bar ? (struct part){bar[1] == '~' ? NULL : bar + 1, (size_t)(at + length - bar - 1)}
                   : (struct part){NULL, 0};
    return bar;
}

/* The columns that the change leaves alone as they stood when its transaction began. */
static void show_start(const struct run *run, const struct change *change, struct part parts[2])
{
    char digits[2][ISO_ATOM_TEXT_MAX];
    struct part left[2], start[2];
    if (change->start == ISO_ABSENT || change->left == ISO_ABSENT ||
        !split(run, change->left, digits[0], left) || !split(run, change->start, digits[1], start))
        return;
    for (int i = 0; i < 2; i++)
        if (!parts[i].at ? !left[i].at
                         : left[i].at && parts[i].length == left[i].length &&
                               !memcmp(parts[i].at, left[i].at, left[i].length))
            parts[i] = start[i];
}

static void put_row(struct run *run, const struct change *change, iso_atom value, bool key_only)
{
    char digits[ISO_ATOM_TEXT_MAX];
    struct part parts[2];
    if (value == ISO_ABSENT) {
        put(run, "null");
        return;
    }
    bool has_two = split(run, value, digits, parts);
    if (has_two && change->op == 'u' && value == change->after)
        show_start(run, change, parts);
    put(run, "{\"k\":");
    put_value(run, change->key, change->key_length, false);
    put(run, ",\"v\":");
    if (key_only)
        put(run, "null");
    else
        put_value(run, parts[0].at, parts[0].length,
                  iso_atom_is_string(&run->history->atoms, value));
    /* a column that no write changes; or "V|W", whose nulls are `~` */
    put(run, ",\"w\":");
    if (has_two)
        put_value(run, parts[1].at, parts[1].length, true);
    else if (key_only || (run->options->changes_only && change->op == 'u' && has_cells(run)))
        put(run, "null");
    else
        put_value(run, NULL, 0, false);
    put(run, "}");
}

static void put_grpc_source(struct run *run, const struct change *change)
{
    char lsn[TEXT];
    uint64_t write = run->writes[change->tablet]++;
    snprintf(lsn, sizeof lsn, "1:%llu:a2V5:%llu:%llu", (unsigned long long)run->lsn,
             (unsigned long long)write, (unsigned long long)run->time - 1);
    put(run,
        "\"source\":{\"version\":\"dz.1.9.5.yb.grpc\",\"connector\":\"yugabytedb\",\"name\":\"yb\",\"ts_ms\":1,"
        "\"snapshot\":\"false\",\"db\":\"yugabyte\",\"sequence\":\"[\\\"1:4::0:0\\\",\\\"1:6::0:1\\\"]\",\"schema\":\"public\",");
    put_number(run, "\"table\":\"t", change->table);
    put(run, "\",\"txId\":\"");
    put(run, run->id);
    put(run, "\",\"lsn\":\"");
    put(run, lsn);
    put_number(run, "\",\"commit_time\":", run->time);
    put_number(run, ",\"record_time\":", run->time - 1000 + run->order);
    put_number(run, ",\"tablet_id\":\"", (uint64_t)change->tablet);
    put_number(run, "\",\"partition_id\":\"0.", (uint64_t)change->tablet);
    put(run, "\"},\"transaction\":null");
}

static void put_logical_source(struct run *run, const struct change *change)
{
    put(run,
        "\"source\":{\"version\":\"2.5.2\",\"connector\":\"postgresql\",\"name\":\"yb\",\"ts_ms\":1,\"snapshot\":\"false\","
        "\"db\":\"yugabyte\",\"sequence\":\"[");
    if (run->previous)
        put_number(run, "\\\"", run->previous);
    put(run, run->previous ? "\\\"," : "null,");
    put_number(run, "\\\"", run->lsn);
    put_number(run, "\\\"]\",\"schema\":\"public\",\"table\":\"t", change->table);
    put_number(run, "\",\"txId\":", run->number);
    put_number(run, ",\"lsn\":", run->lsn);
    put(run, ",\"xmin\":null},\"transaction\":");
    if (!run->options->metadata) {
        put(run, "null");
        return;
    }
    put_number(run, "{\"id\":\"", run->number);
    put_number(run, ":", run->lsn);
    put_number(run, "\",\"total_order\":", run->order);
    put(run, ",\"data_collection_order\":1}");
}

static void send_change(struct run *run, const struct change *change)
{
    size_t key = run->stream.bytes.used;
    run->stream.tag.part = FEED_ROW;
    put(run, "{\"k\":");
    put_value(run, change->key, change->key_length, false);
    put(run, "}");
    size_t payload = run->stream.bytes.used;
    bool only = run->options->changes_only;
    put(run, "{\"before\":");
    put_row(run, change, only && change->op != 'd' ? ISO_ABSENT : change->before, only);
    put(run, ",\"after\":");
    put_row(run, change, change->after, false);
    put(run, ",");
    if (run->options->logical)
        put_logical_source(run, change);
    else
        put_grpc_source(run, change);
    put(run, ",\"op\":\"");
    iso_text_put_bytes(&run->stream.bytes, &change->op, 1);
    put(run, "\",\"ts_ms\":2}");
    feed_stream_add(&run->stream, topics[change->table], change->tablet, key, payload);
    if (change->op == 'd')
        feed_stream_add_tombstone(&run->stream);
}

/* `tablet` -1: the whole transaction's. */
static void send_metadata(struct run *run, bool is_end, int32_t tablet, uint64_t count)
{
    size_t payload = run->stream.bytes.used;
    if (!run->options->metadata)
        return;
    run->stream.tag.part = is_end ? FEED_END : FEED_BEGIN;
    put(run, is_end ? "{\"status\":\"END\",\"id\":\"" : "{\"status\":\"BEGIN\",\"id\":\"");
    if (tablet >= 0) {
        put(run, run->id);
    } else {
        put_number(run, "", run->number);
        put_number(run, ":", run->lsn);
    }
    if (is_end)
        put_number(run, "\",\"event_count\":", count);
    else
        put(run, "\",\"event_count\":null");
    put(run, ",\"data_collections\":null");
    if (tablet >= 0)
        put_number(run, ",\"partition_id\":\"0.", (uint64_t)tablet);
    put(run, tablet >= 0 ? "\"}" : ",\"ts_ms\":1}");
    feed_stream_add(&run->stream, topics[TABLES], 0, payload, payload);
}

/* ---- transactions ---- */

/* "public.t3/17" in its parts. */
static bool split_key(struct run *run, uint32_t key, char digits[ISO_ATOM_TEXT_MAX],
                      struct change *change)
{
    static const char prefix[] = "public.t";
    size_t length;
    const char *at =
        iso_atom_text(&run->history->atoms, run->history->keys.atom[key], digits, &length);
    if (length < sizeof prefix + 2 || memcmp(at, prefix, sizeof prefix - 1) ||
        at[sizeof prefix] != '/')
        return false;
    change->table = (uint32_t)(at[sizeof prefix - 1] - '0');
    change->key = at + sizeof prefix + 1;
    change->key_length = length - sizeof prefix - 1;
    change->tablet = feed_stream_partition(change->key, change->key_length, run->options->tablets);
    return change->table < TABLES;
}

static bool send_write(struct run *run, uint32_t key, iso_atom value)
{
    char digits[ISO_ATOM_TEXT_MAX];
    if (run->since[key] != run->transaction)
        run->start[key] = run->now[key];
    run->since[key] = run->transaction;
    struct change change = {.before = run->options->early ? run->start[key] : run->now[key],
                            .after = value,
                            .left = run->now[key],
                            .start = run->options->early ? run->start[key] : ISO_ABSENT};
    if (!split_key(run, key, digits, &change))
        return false;
    run->now[key] = value;
    run->stream.tag.key = key;
    if (change.left == ISO_ABSENT && value == ISO_ABSENT)
        return true;
    change.op = change.left == ISO_ABSENT ? 'c' : value == ISO_ABSENT ? 'd' : 'u';
    change.before = change.op == 'c' ? ISO_ABSENT : change.before;
    run->order++;
    if (run->options->logical && run->options->sequence)
        run->lsn++;
    if (!run->options->logical && !run->writes[change.tablet] && *run->id)
        send_metadata(run, false, change.tablet, 0);
    send_change(run, &change);
    return true;
}

static uint32_t count_writes(const struct iso_history *history, uint32_t t)
{
    uint32_t writes = 0;
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
        writes += iso_kind_writes(history->ops.kind[o]);
    return writes;
}

static bool send_writes(struct run *run, uint32_t t)
{
    const struct iso_history *history = run->history;
    bool fine = true;
    run->stream.tag.transaction = t;
    run->transaction++;
    for (uint32_t o = history->txns.first_op[t]; fine && o < history->txns.first_op[t + 1]; o++) {
        uint8_t kind = iso_kind_of(history, o);
        if (kind == ISO_WRITE || kind == ISO_DELETE)
            fine = send_write(run, history->ops.key[o],
                              kind == ISO_WRITE ? history->ops.value[o] : ISO_ABSENT);
        else
            fine = kind == ISO_READ;
    }
    return fine;
}

static bool send_grpc(struct run *run, uint32_t t)
{
    memset(run->writes, 0, sizeof run->writes);
    run->order = 0;
    run->lsn++;
    feed_yugabyte_id(t, run->id);
    if (run->options->fast_path && count_writes(run->history, t) == 1)
        *run->id = 0;
    bool fine = send_writes(run, t);
    for (uint32_t tablet = 0; tablet < run->options->tablets; tablet++)
        if (run->writes[tablet] && *run->id)
            send_metadata(run, true, (int32_t)tablet, run->writes[tablet]);
    return fine;
}

/* `begins`, `ends`: the first and the last transaction of this commit time. */
static bool send_logical(struct run *run, uint32_t t, bool begins, bool ends)
{
    if (begins) {
        run->number++;
        run->order = 0;
        run->lsn = run->options->sequence ? run->lsn + 1 : run->time;
        send_metadata(run, false, -1, 0);
    }
    bool fine = send_writes(run, t);
    if (ends) {
        run->lsn += run->options->sequence;
        send_metadata(run, true, -1, run->order);
        run->previous = run->lsn;
    }
    return fine;
}

bool feed_yugabyte_write(struct feed *feed, const struct iso_history *history,
                         const struct feed_yugabyte_options *options)
{
    struct run run = {
        .history = history, .options = options, .random = {options->seed}, .number = 1};
    uint32_t restarts = options->restarts, count;
    struct feed_commit *order = feed_commits(history, options->commits, false, &count);
    bool fine = options->tablets >= 1 && options->tablets <= 64;
    run.now = iso_allocate(((size_t)history->keys.count + 1) * sizeof *run.now);
    run.start = iso_allocate(((size_t)history->keys.count + 1) * sizeof *run.start);
    run.since = iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *run.since);
    run.first = iso_allocate(((size_t)count + 1) * sizeof *run.first);
    for (uint32_t k = 0; k < history->keys.count; k++)
        run.now[k] = history->initial.other_value;
    for (uint32_t i = 0; i < history->initial.count; i++)
        run.now[history->initial.key[i]] = history->initial.value[i];
    for (uint32_t i = 0; i < count && fine; i++) {
        bool begins = !i || order[i - 1].cts != order[i].cts,
             ends = i + 1 == count || order[i + 1].cts != order[i].cts;
        run.time = FEED_YUGABYTE_TIME + order[i].cts;
        run.first[i] = options->logical && !begins ? run.first[i - 1] : run.stream.count;
        fine = options->logical ? send_logical(&run, order[i].transaction, begins, ends)
                                : send_grpc(&run, order[i].transaction);
        if (restarts && (ends || !options->logical) && random_percent(&run.random, 30)) {
            feed_stream_repeat(&run.stream,
                               run.first[i - random_below(&run.random, i < 3 ? i + 1 : 4)]);
            restarts--;
        }
    }
    if (fine)
        feed_stream_deliver(&run.stream, &run.random, feed);
    iso_free(run.now);
    iso_free(run.start);
    iso_free(run.since);
    iso_free(run.first);
    iso_free(order);
    feed_stream_release(&run.stream);
    return fine;
}
