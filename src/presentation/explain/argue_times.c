/* TIMESTAMP, SESSION, NOCONFLICT: moments that cannot stand as they do. */
#include "explain/argument_private.h"

#include <string.h>

#include "base/memory.h"
#include "history/snapshot.h"

static uint32_t party(const struct iso_argument *argument, uint32_t index)
{
    if (index >= argument->claim->party_count)
        return ISO_NONE;
    return iso_claim_party(argument->facts->claims, argument->claim, index)->transaction;
}

static bool has(const struct iso_history *history, uint32_t transaction, uint8_t flag)
{
    return history->txns.flags[transaction] & flag;
}

/* ---- NOCONFLICT ---- */

static uint64_t open_from(const struct iso_history *history, uint32_t transaction, uint32_t write)
{
    return iso_moment_of(history, transaction, write, false).at;
}

static void add_holder(struct iso_argument *argument, uint32_t transaction, uint32_t write)
{
    const struct iso_history *history = argument->facts->history;
    uint64_t from = open_from(history, transaction, write), to = history->txns.cts[transaction];
    argue_step(argument, "%T %W in its %O. It was at work on %k from %M to %M.", transaction, write,
               transaction, write, history->ops.key[write], from, to);
    bool is_late =
        !has(history, transaction, ISO_HAS_STS) || from != history->txns.sts[transaction];
    uint32_t last = iso_history_last_write(history, transaction, history->ops.key[write]);
    argue_row(argument,
              argue_at(from, 1, ISO_MARK_NONE, transaction,
                       is_late ? argue_text(argument, "locks it") : 0),
              "%T begins", transaction);
    argue_row(argument, argue_at(to, 0, ISO_MARK_NONE, transaction, argue_written(argument, last)),
              "%T commits, and %W", transaction, last);
}

/* A read of the key before the reader's own first write of it, which found what the other wrote;
 * ISO_NONE: none. */
static uint32_t read_of_other(const struct iso_history *history, uint32_t reader, uint32_t other,
                              uint32_t key)
{
    uint32_t own = iso_history_first_write(history, reader, key);
    for (uint32_t o = history->txns.first_op[reader]; o < own; o++)
        if (history->ops.key[o] == key && argue_write_found(history, o, other) != ISO_NONE)
            return o;
    return ISO_NONE;
}

/* Whether one built on the other's write: snapshots that overlap forbid it, what was read may say
 * so all the same. */
static void put_visible(struct iso_argument *argument, uint32_t earlier, uint32_t later,
                        uint32_t key)
{
    const struct iso_history *history = argument->facts->history;
    const uint32_t pairs[][2] = {{earlier, later}, {later, earlier}};
    bool any = false;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        uint32_t reader = pairs[i][0], writer = pairs[i][1],
                 read = read_of_other(history, reader, writer, key);
        if (read == ISO_NONE)
            continue;
        argue_step(argument, "%T %W in its %O, which is what %T wrote: it saw that write.", reader,
                   read, reader, read, writer);
        any = true;
    }
    if (!any)
        argue_step(argument, "No read of %T or %T found what the other wrote to %k.", earlier,
                   later, key);
}

/* The first writes of the two: a row that is there again behind its deletion. */
static bool is_written_after_deletion(const struct iso_history *history, uint32_t earlier,
                                      uint32_t later)
{
    return history->snapshots.count && iso_kind_of(history, earlier) == ISO_DELETE &&
           iso_kind_of(history, later) == ISO_WRITE;
}

static void argue_conflict(struct iso_argument *argument)
{
    const struct iso_history *history = argument->facts->history;
    uint32_t later = party(argument, 0), earlier = party(argument, 1), key = argument->claim->key;
    if (later == ISO_NONE || earlier == ISO_NONE || key == ISO_NONE)
        return;
    uint32_t later_write = iso_history_first_write(history, later, key),
             write = iso_history_first_write(history, earlier, key);
    argue_title(argument, "%s of %K by transactions %A and %A", argument->claim->wrong->name, key,
                history->txns.tid[later], history->txns.tid[earlier]);
    if (later_write == ISO_NONE || write == ISO_NONE)
        return;
    argument->line_title = argue_text(argument, "%K over time", key);
    add_holder(argument, earlier, write);
    add_holder(argument, later, later_write);
    argue_step(argument, "%M is before %M and %M is before %M: the two overlap.",
               open_from(history, later, later_write), history->txns.cts[earlier],
               open_from(history, earlier, write), history->txns.cts[later]);
    uint64_t from = open_from(history, later, later_write),
             other = open_from(history, earlier, write);
    argument->overlap_from = from > other ? from : other;
    argument->overlap_to = history->txns.cts[later] < history->txns.cts[earlier]
                               ? history->txns.cts[later]
                               : history->txns.cts[earlier];
    put_visible(argument, earlier, later, key);
    if (is_written_after_deletion(history, write, later_write))
        argue_step(argument,
                   "%T wrote it again without seeing that %T had deleted it: of a row that "
                   "is inserted, PostgreSQL's REPEATABLE READ lets that pass.",
                   later, earlier);
    argue_step(
        argument,
        "However, snapshot isolation must abort one of two overlapping writers of the same key, and both "
        "committed: a contradiction.");
    argue_edge(argument, earlier, later, "ww", "%k: overlap", key);
}

/* ---- SESSION ---- */

static void argue_session(struct iso_argument *argument)
{
    const struct iso_history *history = argument->facts->history;
    uint32_t later = party(argument, 0), earlier = party(argument, 1);
    bool is_serial = argument->claim->is_serial;
    argue_title(argument, "%s: transaction %A does not follow its session's past",
                argument->claim->wrong->name, history->txns.tid[later]);
    if (earlier == ISO_NONE)
        return;
    uint64_t position = is_serial ? history->txns.cts[later] : history->txns.sts[later],
             before = history->txns.cts[earlier];
    argument->line_title = argue_text(argument, "session %A over time",
                                      history->sessions.atom[history->txns.session[later]]);
    argue_step(argument, "%T came before %T in session %A.", earlier, later,
               history->sessions.atom[history->txns.session[later]]);
    argue_step(argument,
               "%T committed at %M, so what follows it in its session has to %s at %M or later.",
               earlier, before, is_serial ? "commit" : "begin", before);
    argue_step(argument, "However, %T %s at %M, which is %s that: a contradiction.", later,
               is_serial ? "stands in commit order" : "took its snapshot", position,
               position < before ? "before" : "not after");
    argue_row(argument,
              argue_at(position, -1, ISO_MARK_READ, later,
                       argue_text(argument, is_serial ? "commits" : "takes its snapshot")),
              is_serial ? "%T commits" : "%T takes its snapshot", later);
    argue_row(argument,
              argue_at(before, 0, ISO_MARK_NONE, earlier, argue_text(argument, "commits")),
              "%T commits", earlier);
    argue_edge(argument, earlier, later, "so", "session");
}

/* ---- TIMESTAMP ---- */

static void argue_interval(struct iso_argument *argument, uint32_t transaction)
{
    const struct iso_history *history = argument->facts->history;
    uint64_t sts = history->txns.sts[transaction], cts = history->txns.cts[transaction];
    argument->line_title =
        argue_text(argument, "transaction %A over time", history->txns.tid[transaction]);
    argue_step(argument, "%T has sts %M and cts %M.", transaction, sts, cts);
    argue_row(argument,
              argue_at(sts, 0, ISO_MARK_NONE, transaction, argue_text(argument, "begins")),
              "%T begins (sts)", transaction);
    argue_row(argument,
              argue_at(cts, 1, ISO_MARK_NONE, transaction, argue_text(argument, "commits")),
              "%T commits (cts)", transaction);
    if (sts > cts)
        argue_step(argument, "However, it would have committed before it began: a contradiction.");
    else if (sts == cts && has(history, transaction, ISO_WRITES))
        argue_step(
            argument,
            "However, it writes, and what writes has to commit after its snapshot: a contradiction.");
    for (uint32_t o = history->txns.first_op[transaction];
         o < history->txns.first_op[transaction + 1]; o++) {
        uint64_t ots = history->ops.kind[o] & ISO_OPERATION_OTS ? history->ops.ots[o] : sts;
        if (ots >= sts && ots <= cts)
            continue;
        if (ots != sts) {
            argue_step(
                argument,
                "However, its %O has a timestamp of its own, %M, outside of that: a contradiction.",
                transaction, o, ots);
            argue_row(argument,
                      argue_at(ots, 2, ISO_MARK_ACTUAL, transaction,
                               argue_text(argument, "%O", transaction, o)),
                      "%T's %O (ots)", transaction, transaction, o);
        }
    }
}

/* When the transaction of an xid committed, as the positions have it. */
static void add_xid(struct iso_argument *argument, uint64_t xid)
{
    const struct iso_history *history = argument->facts->history;
    for (uint32_t t = 0; t < history->txns.count && xid; t++) {
        if (!history->txns.xid || history->txns.xid[t] != xid || !has(history, t, ISO_HAS_CTS))
            continue;
        argue_row(argument,
                  argue_at(history->txns.cts[t], 0, ISO_MARK_NONE, t,
                           argue_text(argument, "xid %u commits", xid)),
                  "transaction %A commits, xid %u", history->txns.tid[t], xid);
        return;
    }
}

static void add_snapshot(struct iso_argument *argument, uint32_t transaction, uint64_t unseen,
                         uint64_t seen)
{
    const char *format = seen ? "not xid %u, but xid %u" : "does not see xid %u";
    const struct iso_history *history = argument->facts->history;
    argument->line_title = argue_text(argument, "commits over time");
    add_xid(argument, unseen);
    add_xid(argument, seen);
    if (has(history, transaction, ISO_HAS_STS))
        argue_row(argument,
                  argue_at(history->txns.sts[transaction], 2, ISO_MARK_READ, transaction,
                           argue_text(argument, format, unseen, seen)),
                  seen ? "%T does not see xid %u, and sees xid %u" : "%T does not see xid %u",
                  transaction, unseen, seen);
}

static void argue_snapshots(struct iso_argument *argument, uint32_t transaction)
{
    const struct iso_history *history = argument->facts->history;
    enum { SNAPSHOT_TEXT = 240 };
    char right[SNAPSHOT_TEXT], wrong[SNAPSHOT_TEXT];
    for (uint32_t i = 0; i < history->snapshots.violation_count; i++) {
        const struct iso_snapshot_violation *violation = &history->snapshots.violations[i];
        if (violation->transaction != transaction)
            continue;
        iso_snapshot_text(history, &history->snapshots.list[violation->right], right, sizeof right);
        iso_snapshot_text(history, &history->snapshots.list[violation->wrong], wrong, sizeof wrong);
        argue_step(argument,
                   "%T read from snapshot %s (xmin:xmax:in progress). Of two snapshots of one "
                   "database the later one sees everything that the earlier one sees.",
                   transaction, wrong);
        argue_step(
            argument,
            "However, %T does not see xid %u, and sees xid %u, which snapshot %s does not: neither of "
            "the two can be the earlier one, a contradiction.",
            transaction, violation->only_right, violation->only_wrong, right);
        add_snapshot(argument, transaction, violation->only_right, violation->only_wrong);
        return;
    }
    argue_step(
        argument,
        "%T's snapshot neither contains all that the one before it sees nor comes before it: a "
        "contradiction.",
        transaction);
}

static void add_commit(struct iso_argument *argument, uint32_t transaction, uint32_t write)
{
    argue_row(argument,
              argue_at(argument->facts->history->txns.cts[transaction], 0, ISO_MARK_NONE,
                       transaction, argue_text(argument, "%W", write)),
              "%T commits, and %W", transaction, write);
}

static void argue_shared(struct iso_argument *argument, uint32_t transaction, uint32_t other)
{
    const struct iso_history *history = argument->facts->history;
    argument->line_title = argue_text(argument, "commits over time");
    for (uint32_t o = history->txns.first_op[transaction];
         o < history->txns.first_op[transaction + 1]; o++) {
        uint32_t key = history->ops.key[o];
        uint32_t theirs =
            other == ISO_NONE ? ISO_NONE : iso_history_last_write(history, other, key);
        if (theirs == ISO_NONE || !iso_kind_writes(history->ops.kind[o]) ||
            iso_history_last_write(history, transaction, key) != o)
            continue;
        argue_step(argument, "%T %W.", transaction, o);
        argue_step(argument, "%T %W.", other, theirs);
        argue_step(
            argument,
            "However, both committed at %M: nothing says which version of %k comes first, a contradiction.",
            history->txns.cts[transaction], key);
        add_commit(argument, transaction, o);
        add_commit(argument, other, theirs);
        argue_edge(argument, transaction, other, "ww", "%k: one cts", key);
        return;
    }
}

/* ---- a cycle at one commit timestamp: "before" is: reads externally a key that the other writes
 * ---- */

static uint32_t key_before(const struct iso_history *history, uint32_t reader, uint32_t writer)
{
    for (uint32_t o = history->txns.first_op[reader]; o < history->txns.first_op[reader + 1]; o++)
        if (iso_history_external_read(history, reader, history->ops.key[o]) == o &&
            iso_history_first_write(history, writer, history->ops.key[o]) != ISO_NONE)
            return history->ops.key[o];
    return ISO_NONE;
}

/* Those that share the cts, the blamed one first. The caller frees it. */
static uint32_t *find_equals(const struct iso_history *history, uint32_t transaction,
                             uint32_t *count)
{
    uint32_t *equals = iso_allocate((history->txns.count + (size_t)1) * sizeof *equals);
    equals[0] = transaction;
    *count = 1;
    for (uint32_t t = 0; t < history->txns.count; t++)
        if (t != transaction && has(history, t, ISO_HAS_CTS) &&
            history->txns.cts[t] == history->txns.cts[transaction] &&
            iso_status_of(history, t) == ISO_COMMITTED)
            equals[(*count)++] = t;
    return equals;
}

/* Breadth first from the first of them back to it: the shortest cycle. `from[i]`: who led to number
 * i. */
static uint32_t search_cycle(const struct iso_history *history, const uint32_t *equals,
                             uint32_t count, uint32_t *from)
{
    uint32_t *queue = iso_allocate(((size_t)count + 1) * sizeof *queue), head = 0, tail = 0,
             last = ISO_NONE;
    for (uint32_t i = 0; i < count; i++)
        from[i] = ISO_NONE;
    queue[tail++] = 0;
    while (head < tail && last == ISO_NONE) {
        uint32_t at = queue[head++];
        if (at && key_before(history, equals[at], equals[0]) != ISO_NONE)
            last = at;
        for (uint32_t next = 1; next < count && last == ISO_NONE; next++)
            if (next != at && from[next] == ISO_NONE &&
                key_before(history, equals[at], equals[next]) != ISO_NONE) {
                from[next] = at;
                queue[tail++] = next;
            }
    }
    iso_free(queue);
    return last;
}

static void put_tie(struct iso_argument *argument, uint32_t reader, uint32_t writer, bool is_last)
{
    const struct iso_history *history = argument->facts->history;
    uint32_t key = key_before(history, reader, writer);
    argue_step(
        argument,
        "%s%T < %T, because %T read %k and %T wrote it at the same commit timestamp, too late for %T to "
        "see%s.",
        is_last ? "However, " : "", reader, writer, reader, key, writer, reader,
        is_last ? ": a contradiction" : "");
    argue_edge(argument, reader, writer, "rw", "%k", key);
}

static void argue_ties(struct iso_argument *argument, uint32_t transaction)
{
    const struct iso_history *history = argument->facts->history;
    uint32_t count, *equals = find_equals(history, transaction, &count);
    uint32_t *from = iso_allocate(((size_t)count + 1) * sizeof *from),
             *path = iso_allocate(((size_t)count + 1) * sizeof *path);
    uint32_t length = 0;
    for (uint32_t at = search_cycle(history, equals, count, from); at != ISO_NONE;
         at = at ? from[at] : ISO_NONE)
        path[length++] = at;
    for (uint32_t i = length; i-- > 1;)
        put_tie(argument, equals[path[i]], equals[path[i - 1]], false);
    if (length)
        put_tie(argument, equals[path[0]], equals[0], true);
    ISO_FREE_ALL(path, from, equals);
}

void argue_times(struct iso_argument *argument)
{
    const struct iso_wrong *wrong = argument->claim->wrong;
    uint32_t transaction = party(argument, 0);
    if (!strcmp(wrong->axiom, "NOCONFLICT")) {
        argue_conflict(argument);
        return;
    }
    if (!strcmp(wrong->axiom, "SESSION")) {
        argue_session(argument);
        return;
    }
    argue_title(argument, "%s: transaction %A", wrong->name,
                argument->facts->history->txns.tid[transaction]);
    if (!strcmp(wrong->kind, "interval"))
        argue_interval(argument, transaction);
    else if (!strcmp(wrong->kind, "snapshot-order"))
        argue_snapshots(argument, transaction);
    else if (!strcmp(wrong->kind, "shared-cts"))
        argue_shared(argument, transaction, party(argument, 1));
    else
        argue_ties(argument, transaction);
}
