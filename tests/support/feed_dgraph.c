#include "tests/support/feed_dgraph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tests/support/random.h"

enum { KEY_MAX = 200 };

/* One group's sender: the transactions that wrote predicates of it, in commit order. */
struct sender {
    uint32_t group, next; /* the transaction to be sent next: into `order` */
};

struct run {
    struct feed *feed;
    const struct iso_history *history;
    const struct feed_dgraph_options *options;
    struct random random;
    struct commit {
        uint64_t cts;
        uint32_t transaction;
    } * order;
    uint32_t count;
    struct sender *senders;
    uint32_t restarts;
    struct iso_text text;
};

iso_atom feed_dgraph_name(void *context, struct iso_history *history, uint32_t index)
{
    char text[KEY_MAX];
    uint32_t predicates = *(const uint32_t *)context;
    int length = snprintf(text, sizeof text, "p%u/0x%x", index % predicates, index + 1);
    return iso_atoms_text(&history->atoms, text, (size_t)length);
}

/* "p3/0x1f" in its parts. */
static bool split_key(const struct iso_history *history, uint32_t key, char predicate[KEY_MAX],
                      uint64_t *uid)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&history->atoms, history->keys.atom[key], buffer, &length);
    if (length >= KEY_MAX)
        return false;
    memcpy(predicate, text, length);
    predicate[length] = 0;
    char *slash = strchr(predicate, '/');
    if (!slash || strncmp(slash, "/0x", 3))
        return false;
    *slash = 0;
    *uid = strtoull(slash + 3, NULL, 16);
    return *uid > 0;
}

static uint32_t group_of(const char *predicate, uint32_t groups)
{
    uint32_t sum = 0;
    for (; *predicate; predicate++)
        sum = sum * 31 + (unsigned char)*predicate;
    return sum % groups;
}

static void send(struct run *run)
{
    static const uint8_t namespace[8];
    feed_add(run->feed, run->options->topic, 0, (struct iso_bytes){namespace, sizeof namespace},
             (struct iso_bytes){(const uint8_t *)run->text.bytes, (uint32_t)run->text.used});
    run->text.used = 0;
}

static void put_value(struct run *run, uint32_t operation)
{
    const struct iso_atoms *atoms = &run->history->atoms;
    iso_atom value = run->history->ops.value[operation];
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(atoms, value, buffer, &length);
    bool large = value & ISO_ATOM_TABLE &&
                 atoms->entries[value & ~ISO_ATOM_TABLE].form == ISO_FORM_UNSIGNED &&
                 atoms->entries[value & ~ISO_ATOM_TABLE].payload > INT64_MAX;
    if (iso_atom_is_string(atoms, value) || large)
        iso_text_put_string(&run->text, text, length);
    else
        iso_text_put_bytes(&run->text, text, length);
    iso_text_put(&run->text, iso_atom_is_string(atoms, value) || large
                                 ? ",\"value_type\":\"string\"}}"
                                 : ",\"value_type\":\"int\"}}");
}

static void put_write(struct run *run, uint64_t cts, uint32_t operation, const char *predicate,
                      uint64_t uid)
{
    struct iso_text *text = &run->text;
    bool deletes = iso_kind_of(run->history, operation) == ISO_DELETE ||
                   run->history->ops.value[operation] == ISO_ABSENT;
    iso_text_put(text, "{\"meta\":{\"commit_ts\":");
    iso_text_put_unsigned(text, cts);
    iso_text_put(text, "},\"type\":\"mutation\",\"event\":{\"operation\":");
    iso_text_put(text, deletes ? "\"del\"" : "\"set\"");
    iso_text_put(text, ",\"uid\":");
    iso_text_put_unsigned(text, uid);
    iso_text_put(text, ",\"attr\":");
    iso_text_put_string(text, predicate, strlen(predicate));
    iso_text_put(text, ",\"value\":");
    if (deletes)
        iso_text_put(text, "\"_STAR_ALL\",\"value_type\":\"default\"}}");
    else
        put_value(run, operation);
}

static void put_marker(struct run *run, const struct commit *commit)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *tid = iso_atom_text(&run->history->atoms,
                                    run->history->txns.tid[commit->transaction], buffer, &length);
    iso_text_put(&run->text, "{\"meta\":{\"commit_ts\":");
    iso_text_put_unsigned(&run->text, commit->cts);
    iso_text_put(&run->text,
                 "},\"type\":\"mutation\",\"event\":{\"operation\":\"set\",\"uid\":77,\"attr\":");
    iso_text_put_string(&run->text, run->options->marker, strlen(run->options->marker));
    iso_text_put(&run->text, ",\"value\":");
    iso_text_put_string(&run->text, tid, length);
    iso_text_put(&run->text, ",\"value_type\":\"string\"}}");
}

/* Sends at most `limit` of the transaction's messages in this group; returns how many it has
 * there. */
static uint32_t send_transaction(struct run *run, const struct commit *commit, uint32_t group,
                                 uint32_t limit)
{
    const struct iso_history *history = run->history;
    uint32_t sent = 0;
    run->feed->tag = (struct feed_tag){.part = FEED_ROW,
                                       .transaction = commit->transaction,
                                       .key = ISO_NONE,
                                       .number = history->ops.count + commit->transaction};
    if (run->options->marker && group_of(run->options->marker, run->options->groups) == group &&
        sent++ < limit) {
        put_marker(run, commit);
        send(run);
    }
    for (uint32_t o = history->txns.first_op[commit->transaction];
         o < history->txns.first_op[commit->transaction + 1]; o++) {
        char predicate[KEY_MAX];
        uint64_t uid;
        if (!iso_kind_writes(history->ops.kind[o]) ||
            !split_key(history, history->ops.key[o], predicate, &uid) ||
            group_of(predicate, run->options->groups) != group)
            continue;
        run->feed->tag = (struct feed_tag){.part = FEED_ROW,
                                           .transaction = commit->transaction,
                                           .key = history->ops.key[o],
                                           .number = o};
        if (sent++ < limit) {
            put_write(run, commit->cts, o, predicate, uid);
            send(run);
        }
    }
    return sent;
}

/* The next transaction of one group, or, cut short and with some of those before it to be sent
 * again, a restart. */
static void step(struct run *run, struct sender *sender)
{
    const struct commit *commit = &run->order[sender->next];
    if (run->restarts && random_percent(&run->random, 20)) {
        uint32_t count = send_transaction(run, commit, sender->group, 0);
        send_transaction(run, commit, sender->group, random_below(&run->random, count + 1));
        sender->next -= random_below(&run->random, sender->next + 1);
        run->restarts--;
        return;
    }
    send_transaction(run, commit, sender->group, UINT32_MAX);
    sender->next++;
}

static int by_cts(const void *left, const void *right)
{
    const struct commit *a = left, *b = right;
    return (a->cts > b->cts) - (a->cts < b->cts);
}

/* The writers that are to be sent, by cts. */
static bool collect(struct run *run)
{
    const struct iso_history *history = run->history;
    char predicate[KEY_MAX];
    uint64_t uid;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        bool committed =
                 iso_status_of(history, t) == ISO_COMMITTED && history->txns.flags[t] & ISO_HAS_CTS,
             writes = false;
        uint64_t cts = run->options->commits ? run->options->commits[t]
                       : committed           ? history->txns.cts[t]
                                             : 0;
        for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
            if (!iso_kind_writes(history->ops.kind[o]))
                continue;
            writes = true;
            if (iso_kind_of(history, o) == ISO_APPEND ||
                !split_key(history, history->ops.key[o], predicate, &uid))
                return false;
        }
        if (cts && writes)
            run->order[run->count++] = (struct commit){cts, t};
    }
    qsort(run->order, run->count, sizeof *run->order, by_cts);
    for (uint32_t i = 1; i < run->count; i++)
        if (run->order[i].cts == run->order[i - 1].cts)
            return false;
    return true;
}

/* Senders take turns at random until each has sent all. */
static void interleave(struct run *run)
{
    uint32_t busy = run->count ? run->options->groups : 0;
    for (uint32_t g = 0; g < busy; g++)
        run->senders[g] = (struct sender){g, 0};
    while (busy) {
        uint32_t chosen = random_below(&run->random, busy);
        step(run, &run->senders[chosen]);
        if (run->senders[chosen].next == run->count)
            run->senders[chosen] = run->senders[--busy];
    }
}

bool feed_dgraph_write(struct feed *feed, const struct iso_history *history,
                       const struct feed_dgraph_options *options)
{
    struct run run = {.feed = feed,
                      .history = history,
                      .options = options,
                      .random = {options->seed},
                      .restarts = options->restarts};
    run.order = iso_allocate((history->txns.count + 1u) * sizeof *run.order);
    run.senders = iso_allocate(options->groups * sizeof *run.senders);
    bool fits = collect(&run);
    if (fits)
        interleave(&run);
    iso_free(run.order);
    iso_free(run.senders);
    iso_text_release(&run.text);
    return fits;
}

void feed_dgraph_drop(struct feed *feed, const char *topic, uint64_t commit_ts,
                      const char *predicate)
{
    struct feed_dgraph_options options = {.topic = topic};
    struct run run = {.feed = feed, .options = &options};
    iso_text_put(&run.text, "{\"meta\":{\"commit_ts\":");
    iso_text_put_unsigned(&run.text, commit_ts);
    iso_text_put(&run.text, "},\"type\":\"drop\",\"event\":{\"operation\":");
    iso_text_put(&run.text, predicate ? "\"predicate\",\"type\":\"\",\"pred\":"
                                      : "\"all\",\"type\":\"\",\"pred\":");
    iso_text_put_string(&run.text, predicate ? predicate : "", predicate ? strlen(predicate) : 0);
    iso_text_put(&run.text, "}}");
    send(&run);
    iso_text_release(&run.text);
}
