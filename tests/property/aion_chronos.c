/* aion against chronos and the definitions, on random small histories.
 *
 * Three comparisons a history, each at all levels of streams:
 *  - the file: iso_aion_check in the history's own order (now and then with shards on threads) must
 *    give what
 * the oracle gives: the exact set with kinds, values, writers and counts;
 *  - a stream: a random order of arrival, one by one or several at once, repeats, a random number
 *    of shards,
 * settling off, by what it learns, or at a random distance, half of them with every key put into
 * the store as soon as it can go, watermarks as they become true, unknown outcomes as they were or
 * told on the way; the final violations must be chronos's on what was told in the end, as (axiom,
 * transactions, key), and with kinds where the only watermark is the end;
 *  - a stream with a short retention: nothing may be told that chronos does not tell, and what is
 *    missing is
 * counted. A disagreement is shrunk and printed.
 *
 * aion_chronos [--histories N] [--seed S] [--level si|ser|pc|rc|ryw|mr|stale]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aion/aion.h"
#include "base/cell_key.h"
#include "chronos/chronos.h"
#include "history/index.h"
#include "tests/oracle/timestamp_oracle.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"
#include "tests/support/random_history.h"
#include "tests/support/shrink.h"
#include "tests/support/temporary.h"

enum { DEFAULT_HISTORIES = 12000, MAX_REPORTS = 3, STREAMS = 3, MAX_EVENTS = 4096 };

struct row {
    enum iso_axiom axiom;
    enum iso_violation_kind kind;
    uint32_t transaction, other, key, writer_expected, writer_actual;
    uint64_t id;
};

struct rows {
    uint32_t count;
    struct row rows[MAX_EVENTS];
};

struct statistics {
    uint64_t histories, judged, streams, watermarks, repeats, resolved, tentative, retracted,
        undecided, flipped, waited, evicted, brought_back;
};

struct comparison {
    enum iso_level level;
    bool session_order;
    uint64_t seed;
    struct iso_history history, told; /* as generated; with the outcomes that the stream tells */
    struct instances expected, actual;
    struct rows finals, wanted;
    bool refused;
    bool lacks_times[PLAIN_TRANSACTIONS];
    struct statistics *statistics;
    char text[ISO_ERROR_TEXT + 128];
};

/* ---- the file ---- */

static bool check_agrees(struct comparison *comparison, unsigned threads)
{
    struct iso_check_options options = {
        .level = comparison->level, .session_order = comparison->session_order, .threads = threads};
    struct iso_error error = {.status = ISO_OK};
    struct iso_verdict verdict;
    unsigned line = 0;
    iso_verdict_init(&verdict, &comparison->history, comparison->level, 0);
    enum iso_status status = iso_aion_check(&comparison->history, &options, &verdict, &error);
    instances_clear(&comparison->actual);
    snprintf(comparison->text, sizeof comparison->text, "check with %u threads: status %d %s",
             threads, status, error.text);
    bool agrees = (status == ISO_BAD_INPUT) == comparison->refused;
    if (agrees && comparison->refused)
        agrees = sscanf(error.text, PLAIN_INPUT ":%u: ", &line) == 1 && line >= 1 &&
                 line <= PLAIN_TRANSACTIONS && comparison->lacks_times[line - 1];
    if (agrees && !comparison->refused) {
        instances_of_verdict(&comparison->actual, &verdict);
        agrees = status == ISO_OK && instances_equal(&comparison->expected, &comparison->actual);
    }
    iso_verdict_release(&verdict);
    return agrees;
}

/* ---- rows ---- */

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->axiom != b->axiom)
        return a->axiom < b->axiom ? -1 : 1;
    if (a->transaction != b->transaction)
        return a->transaction < b->transaction ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->other < b->other ? -1 : a->other > b->other;
}

static bool same_rows(const struct row *a, const struct row *b, bool kinds)
{
    if (a->axiom != b->axiom || a->transaction != b->transaction || a->key != b->key)
        return false;
    /* A stream tells SESSION with whoever showed it first. */
    if ((a->axiom == ISO_NOCONFLICT || (kinds && a->axiom != ISO_SESSION)) && a->other != b->other)
        return false;
    return !kinds || (a->kind == b->kind && a->writer_expected == b->writer_expected &&
                      a->writer_actual == b->writer_actual);
}

static void chronos_rows(struct comparison *comparison)
{
    struct iso_check_options options = {
        .level = comparison->level, .session_order = comparison->session_order, .threads = 1};
    struct iso_error error = {.status = ISO_OK};
    struct iso_verdict verdict;
    iso_verdict_init(&verdict, &comparison->told, comparison->level, 0);
    if (iso_chronos_check(&comparison->told, &options, &verdict, &error) != ISO_OK)
        abort();
    comparison->wanted.count = 0;
    for (uint32_t i = 0; i < verdict.violation_count; i++) {
        const struct iso_violation *violation = &verdict.violations[i];
        comparison->wanted.rows[comparison->wanted.count++] =
            (struct row){violation->axiom,         violation->kind,
                         violation->transaction,   violation->other,
                         violation->key,           violation->writer_expected,
                         violation->writer_actual, 0};
    }
    iso_verdict_release(&verdict);
    qsort(comparison->wanted.rows, comparison->wanted.count, sizeof comparison->wanted.rows[0],
          compare_rows);
}

static bool is_same_text(const struct iso_atoms *left, iso_atom one, const struct iso_atoms *right,
                         iso_atom other)
{
    char buffers[2][ISO_ATOM_TEXT_MAX];
    size_t lengths[2];
    const char *text = iso_atom_text(left, one, buffers[0], &lengths[0]);
    return !memcmp(text, iso_atom_text(right, other, buffers[1], &lengths[1]), lengths[0]) &&
           lengths[0] == lengths[1];
}

/* The transaction that a party names: its times are those of the history. */
static uint32_t party(const struct comparison *comparison, const struct iso_aion_party *party)
{
    const struct iso_history_txns *txns = &comparison->history.txns;
    uint32_t t = (uint32_t)party->origin;
    if (party->tid == ISO_ABSENT)
        return ISO_NONE;
    if (t >= txns->count ||
        !is_same_text(party->atoms, party->tid, &comparison->history.atoms, txns->tid[t]) ||
        (txns->flags[t] & ISO_HAS_STS && party->sts != txns->sts[t]) ||
        (txns->flags[t] & ISO_HAS_CTS && party->cts != txns->cts[t]))
        abort();
    return t;
}

static uint32_t key_of(const struct iso_history *history, const struct iso_aion_event *event)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    iso_atom atom;
    if (event->key == ISO_ABSENT)
        return ISO_NONE;
    const char *text = iso_atom_text(event->key_atoms, event->key, buffer, &length);
    if (!iso_atoms_find(&history->atoms, text, length, &atom))
        abort();
    return iso_atom_index_find(history->keys.index, atom);
}

/* Levels at which who is earlier in a session is needed by who is later. */
static bool is_about_sessions(enum iso_level level)
{
    return level == ISO_RYW || level == ISO_MR;
}

/* Levels at which a transaction is judged once, when the watermark is there. */
static bool is_held(enum iso_level level)
{
    return is_about_sessions(level) || level == ISO_RC || level == ISO_STALE_READS;
}

static void collect(void *context, const struct iso_aion_event *event)
{
    struct comparison *comparison = context;
    struct rows *finals = &comparison->finals;
    party(comparison, &event->cause);
    struct row row = {event->axiom,
                      event->kind,
                      party(comparison, &event->transaction),
                      party(comparison, &event->other),
                      key_of(&comparison->history, event),
                      party(comparison, &event->writer_expected),
                      party(comparison, &event->writer_actual),
                      event->id};
    uint32_t at = 0;
    while (at < finals->count && finals->rows[at].id != event->id)
        at++;
    if (event->axiom == ISO_SESSION) {
        bool earlier = is_about_sessions(comparison->level)
                           ? event->transaction.cts < event->other.cts
                       : event->level == ISO_SI ? event->transaction.sts < event->other.cts
                                                : event->transaction.cts <= event->other.cts;
        if (at < finals->count || !earlier)
            abort(); /* told twice, or for nothing */
    }
    if (event->state == ISO_AION_RETRACTED && at < finals->count)
        finals->rows[at] = finals->rows[--finals->count];
    if (event->state != ISO_AION_FINAL)
        return;
    if (at == finals->count && finals->count < MAX_EVENTS)
        finals->count++;
    finals->rows[at] = row;
}

/* ---- a stream ---- */

struct stream {
    struct comparison *comparison;
    struct iso_aion *engine;
    struct random random;
    uint32_t order[PLAIN_TRANSACTIONS], count;
    bool arrived[PLAIN_TRANSACTIONS], resolve[PLAIN_TRANSACTIONS];
    bool watermarks, deadlines;
    bool groups; /* several arrive at once, in the order of the history, which is random too */
    uint64_t now;
    bool shortage; /* what is kept is short */
    bool outlived; /* one committed that had been given up: it took longer than what is kept, and
                      its versions lack */
};

static void shuffle(struct stream *stream)
{
    const struct iso_history *history = &stream->comparison->history;
    stream->count = history->txns.count;
    stream->groups = random_percent(&stream->random, 40);
    for (uint32_t i = 0; i < stream->count; i++)
        stream->order[i] = i;
    for (uint32_t i = stream->count; !stream->groups && i > 1; i--) {
        uint32_t other = random_below(&stream->random, i), held = stream->order[i - 1];
        stream->order[i - 1] = stream->order[other];
        stream->order[other] = held;
    }
}

/* The least commit of it and of those behind it in its session. */
static uint64_t needed_at(const struct iso_history *history, uint32_t t)
{
    uint32_t session = history->txns.session[t], end = history->sessions.first[session + 1],
             i = end;
    uint64_t least = UINT64_MAX;
    while (i-- > history->sessions.first[session]) {
        uint32_t member = history->sessions.order[i];
        bool has_time = history->txns.flags[member] & (ISO_HAS_STS | ISO_HAS_CTS | ISO_WRITES);
        uint64_t time = has_time ? history->txns.cts[member] : UINT64_MAX;
        if (has_time && history->txns.flags[member] & ISO_HAS_STS &&
            history->txns.sts[member] > time)
            time = history->txns.sts[member];
        if (iso_status_of(history, member) == ISO_COMMITTED)
            least = time < least ? time : least;
        if (member == t)
            break;
    }
    return least;
}

/* The earliest time at which something may still come: committed ones count by cts, others as soon
 * as they start. */
static uint64_t earliest_to_come(const struct stream *stream)
{
    const struct iso_history *history = &stream->comparison->told;
    uint64_t earliest = UINT64_MAX;
    for (uint32_t t = 0; t < stream->count; t++) {
        uint8_t flags = history->txns.flags[t];
        bool unknown_now = iso_status_of(&stream->comparison->history, t) == ISO_UNKNOWN;
        uint64_t time = flags & ISO_HAS_STS ? history->txns.sts[t] : 0;
        bool committed = (flags & ISO_STATUS_MASK) == ISO_COMMITTED;
        if (committed && (!unknown_now || stream->arrived[t] || history->txns.cts[t] < time))
            time = history->txns.cts[t];
        bool open = !stream->arrived[t] || (unknown_now && stream->resolve[t]);
        if (committed && is_held(stream->comparison->level)) {
            uint64_t needed = needed_at(history, t);
            time = needed < time || !(flags & (ISO_HAS_STS | ISO_HAS_CTS | ISO_WRITES)) ? needed
                                                                                        : time;
        }
        if (open && time < earliest)
            earliest = time;
    }
    return earliest;
}

static void let_time_pass(struct stream *stream)
{
    uint64_t earliest = earliest_to_come(stream);
    stream->now += random_below(&stream->random, 20);
    if (stream->deadlines)
        iso_aion_tick(stream->engine, stream->now);
    if (!stream->watermarks || !earliest || random_percent(&stream->random, 50))
        return;
    uint64_t back = random_percent(&stream->random, 50) ? 1 : 1 + random_below(&stream->random, 5);
    if (earliest >= back) {
        iso_aion_watermark(stream->engine, earliest - back, stream->now);
        stream->comparison->statistics->watermarks++;
    }
}

static void resolve(struct stream *stream, uint32_t t)
{
    const struct iso_history *told = &stream->comparison->told;
    bool committed = iso_status_of(told, t) == ISO_COMMITTED;
    if (!iso_aion_resolve(stream->engine, &told->atoms, told->txns.tid[t], committed,
                          told->txns.cts[t], stream->now)) {
        if (!stream->shortage)
            abort();
        stream->outlived |= committed;
    }
    stream->resolve[t] = false;
    stream->comparison->statistics->resolved++;
}

static bool arrive(struct stream *stream, uint32_t t, uint32_t count)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_aion_stats stats;
    for (uint32_t i = t; i < t + count; i++)
        stream->arrived[i] = true;
    enum iso_status status = iso_aion_add(stream->engine, t, count, stream->now, NULL, &error);
    iso_aion_stats(stream->engine, &stats);
    stream->comparison->statistics->waited += stats.waiting;
    if (status == ISO_OK)
        return true;
    snprintf(stream->comparison->text, sizeof stream->comparison->text, "add: %s", error.text);
    return false;
}

/* Some unknown outcomes are told later: the history that chronos judges has them. */
static void decide_outcomes(struct stream *stream, const struct plain_history *plain)
{
    struct plain_history *told = malloc(sizeof *told);
    struct iso_error error = {.status = ISO_OK};
    *told = *plain;
    for (uint32_t t = 0; t < plain->transaction_count; t++) {
        struct plain_transaction *transaction = &told->transactions[t];
        bool timed = transaction->sts.given && !transaction->snapshot.given && !plain->pairs;
        stream->resolve[t] = false;
        if (transaction->status != ISO_UNKNOWN || !timed || random_percent(&stream->random, 40))
            continue;
        transaction->status = random_percent(&stream->random, 50) && transaction->cts.given
                                  ? ISO_COMMITTED
                                  : ISO_ABORTED;
        stream->resolve[t] = true;
    }
    if (plain_history_build(told, &stream->comparison->told, &error) != ISO_OK)
        abort();
    free(told);
}

static bool stream_all(struct stream *stream)
{
    for (uint32_t i = 0, count; i < stream->count; i += count) {
        count = stream->groups ? 1 + random_below(&stream->random, stream->count - i) : 1;
        let_time_pass(stream);
        if (!arrive(stream, stream->order[i], count))
            return false;
        if (random_percent(&stream->random, 20)) {
            uint32_t again = stream->order[random_below(&stream->random, i + 1)];
            if (!arrive(stream, again, 1))
                return false;
        }
        for (uint32_t u = 0; u < stream->count; u++) {
            if (stream->arrived[u] && stream->resolve[u] && random_percent(&stream->random, 50))
                resolve(stream, u);
        }
    }
    for (uint32_t u = 0; u < stream->count; u++) {
        if (stream->resolve[u])
            resolve(stream, u);
    }
    iso_aion_end(stream->engine, stream->now);
    return true;
}

/* Whether one of unknown outcome writes the key. */
static bool may_write(const struct iso_history *history, uint32_t key)
{
    for (uint32_t t = 0; t < history->txns.count; t++) {
        for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
            if (iso_status_of(history, t) == ISO_UNKNOWN && history->ops.key[o] == key &&
                iso_kind_of(history, o) != ISO_READ)
                return true;
    }
    return false;
}

/* Who is open for longer than what is kept is taken to have ended (unknown.c), here by chance
 * untruly: what it wrote then accuses who reads it. */
static void leave_outlived(struct comparison *comparison)
{
    struct rows *finals = &comparison->finals;
    for (uint32_t i = 0; i < finals->count;) {
        if (finals->rows[i].axiom == ISO_EXT && may_write(&comparison->told, finals->rows[i].key))
            finals->rows[i] = finals->rows[--finals->count];
        else
            i++;
    }
}

/* What is counted is what was reported and not taken back. */
static bool counts_agree(const struct comparison *comparison, const struct iso_aion_stats *stats)
{
    uint64_t reported[ISO_AXIOMS] = {0};
    for (uint32_t i = 0; i < comparison->finals.count; i++)
        reported[comparison->finals.rows[i].axiom]++;
    return !memcmp(reported, stats->counts, sizeof reported);
}

static bool compare_sets(struct comparison *comparison, bool kinds, bool subset)
{
    struct rows *wanted = &comparison->wanted, *finals = &comparison->finals;
    qsort(finals->rows, finals->count, sizeof finals->rows[0], compare_rows);
    uint32_t w = 0;
    for (uint32_t i = 0; i < finals->count; i++, w++) {
        while (subset && w < wanted->count && !same_rows(&wanted->rows[w], &finals->rows[i], false))
            w++;
        if (w >= wanted->count || !same_rows(&wanted->rows[w], &finals->rows[i], kinds))
            return false;
    }
    return subset || w == wanted->count;
}

static void count_stream(struct comparison *comparison, const struct iso_aion_stats *stats)
{
    struct statistics *statistics = comparison->statistics;
    statistics->streams++;
    statistics->repeats += stats->repeats;
    statistics->tentative += stats->tentative;
    statistics->retracted += stats->retracted;
    statistics->flipped += stats->flipped;
    statistics->evicted += stats->spilt.evicted;
    statistics->brought_back += stats->spilt.misses;
    statistics->undecided +=
        stats->reads_undecided + stats->writes_undecided + stats->sessions_undecided;
}

/* Time passes by up to 20 ms a step, and timestamps are small: some wait to the end, some for
 * nothing. */
static void choose_settling(struct stream *stream, struct iso_aion_options *options)
{
    options->settle_ms =
        random_percent(&stream->random, 30) ? 0 : 1 + random_below(&stream->random, 200);
    options->forced.settle_distance =
        random_percent(&stream->random, 20) ? 0 : random_below(&stream->random, 40);
}

/* How far all timestamps can be raised: to the last one there is, but for who writes, who must stay
 * below it (aion_above in aion/shard.h). */
static uint64_t headroom(const struct iso_history *history)
{
    uint64_t most = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint64_t last = history->txns.sts[t] > history->txns.cts[t] ? history->txns.sts[t]
                                                                    : history->txns.cts[t];
        last += !(history->txns.flags[t] & ISO_POINT);
        most = last > most ? last : most;
        for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
            if (history->ops.kind[o] & ISO_OPERATION_OTS)
                most = history->ops.ots[o] > most ? history->ops.ots[o] : most;
    }
    return UINT64_MAX - most;
}

static uint64_t least_time(const struct iso_history *history)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint64_t sts = history->txns.flags[t] & ISO_HAS_STS ? history->txns.sts[t] : UINT64_MAX;
        least = sts < least ? sts : least;
        least = history->txns.flags[t] & ISO_WRITES && history->txns.cts[t] < least
                    ? history->txns.cts[t]
                    : least;
    }
    return least;
}

static void raise_times(struct iso_history *history, uint64_t by)
{
    for (uint32_t t = 0; t < history->txns.count; t++) {
        bool has_time =
            history->txns.flags[t] & (ISO_HAS_STS | ISO_HAS_CTS | ISO_WRITES | ISO_OWN_TIMES);
        history->txns.sts[t] += history->txns.flags[t] & ISO_HAS_STS ? by : 0;
        history->txns.cts[t] += has_time ? by : 0;
        for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
            if (history->ops.kind[o] & ISO_OPERATION_OTS)
                history->ops.ots[o] += by;
    }
}

static bool has_cells(const struct iso_history *history)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text key, row;
    for (uint32_t k = 0; k < history->keys.count; k++) {
        key.at = iso_atom_text(&history->atoms, history->keys.atom[k], buffer, &key.length);
        if (iso_cell_key_row(key, &row))
            return true;
    }
    return false;
}

/* A quarter of the streams ends at the end of time; chronos has small numbers, as in every finished
 * history. */
static uint64_t raise_stream(struct stream *stream)
{
    struct comparison *comparison = stream->comparison;
    uint64_t by = headroom(&comparison->history), other = headroom(&comparison->told);
    if (has_cells(&comparison->history)) /* at the last moment of all, two moments of a row's reads
                                            are one */
        by = by < 2 ? 0 : by - 2;
    if (is_held(comparison->level)) { /* not the very last ones; and positions are small, nor is 0
                                         what it was */
        bool is_whole =
            comparison->history.clock == ISO_CLOCK_SNAPSHOT || !least_time(&comparison->history);
        by = is_whole || by < 4 ? 0 : by - 4;
        other = other < 4 ? 0 : other - 4;
    }
    by = random_percent(&stream->random, 25) ? by < other ? by : other : 0;
    raise_times(&comparison->history, by);
    raise_times(&comparison->told, by);
    return by;
}

/* `plain` has been built as comparison->history. */
static bool stream_agrees(struct comparison *comparison, const struct plain_history *plain,
                          uint32_t number)
{
    struct stream stream = {.comparison = comparison, .random = {comparison->seed * 31 + number}};
    struct iso_aion_options options;
    struct iso_aion_stats stats;
    bool shortage = number == STREAMS - 1;
    shuffle(&stream);
    decide_outcomes(&stream, plain);
    chronos_rows(comparison);
    uint64_t raised = raise_stream(&stream);
    comparison->finals.count = 0;
    stream.watermarks = number > 0;
    stream.deadlines = number == 1;
    iso_aion_options_init(&options);
    options.level = comparison->level;
    options.session_order = comparison->session_order;
    options.host.are_positions = comparison->history.clock == ISO_CLOCK_SNAPSHOT;
    options.host.has_snapshot_boundaries = comparison->history.clock == ISO_CLOCK_SCALAR &&
                                           comparison->history.txns.xid &&
                                           !comparison->history.ranks.physical;
    if (is_held(comparison->level) &&
        (options.host.are_positions || options.host.has_snapshot_boundaries))
        stream.watermarks = false; /* snapshots that are still to come tell commits apart, and lists
                                      that share a place */
    options.shards = 1 + random_below(&stream.random, 3);
    options.finality_timeout_ms = stream.deadlines ? 1 + random_below(&stream.random, 100) : 0;
    choose_settling(&stream, &options);
    options.retention = shortage ? random_below(&stream.random, 6) : ISO_AION_FOREVER;
    options.forced.spill_all = random_percent(&stream.random, 50);
    options.spill = options.forced.spill_all ? temporary_folder_in_memory() : NULL;
    options.forced.throttles_soon = random_percent(&stream.random, 50);
    options.host.origin_is_index = true;
    options.host.emit = collect;
    options.host.context = comparison;
    stream.engine = iso_aion_new(&options);
    iso_aion_initial(stream.engine, &comparison->history);
    iso_aion_block(stream.engine, &comparison->history);
    stream.shortage = shortage;
    bool agrees = stream_all(&stream);
    iso_aion_stats(stream.engine, &stats);
    iso_aion_free(stream.engine);
    raise_times(&comparison->history, 0 - raised);
    count_stream(comparison, &stats);
    if (!agrees)
        return false;
    if (!counts_agree(comparison, &stats)) {
        snprintf(comparison->text, sizeof comparison->text,
                 "stream %u: others are counted than were reported", number);
        return false;
    }
    if (stream.outlived)
        return stats.outcomes_lost > 0;
    uint64_t undecided = stats.reads_undecided + stats.writes_undecided + stats.sessions_undecided +
                         stats.beyond_retention +
                         stats.aged_unknown; /* what they may have written is unjudged */
    snprintf(comparison->text, sizeof comparison->text,
             "stream %u (%u shards, %s, settling %" PRIu64 " ms, %" PRIu64
             "): aion %u, chronos %u; %" PRIu64 " undecided",
             number, options.shards, options.spill ? "spilling" : "in memory", options.settle_ms,
             options.forced.settle_distance, comparison->finals.count, comparison->wanted.count,
             undecided);
    if (shortage && stats.aged_unknown)
        leave_outlived(comparison);
    return compare_sets(comparison, number == 0, shortage && undecided);
}

/* ---- one history ---- */

/* In a stream the order of arrival says nothing about the session's: the snos must be explicit. */
static bool streams_differ(struct comparison *comparison, const struct plain_history *plain)
{
    struct plain_history *explicit = malloc(sizeof *explicit);
    struct iso_error error = {.status = ISO_OK};
    uint32_t order[PLAIN_TRANSACTIONS];
    bool differ = false;
    *explicit = *plain;
    for (uint32_t t = 0; t < PLAIN_TRANSACTIONS; t++)
        order[t] = t;
    plain_history_permute(explicit, order);
    if (plain_history_build(explicit, &comparison->history, &error) != ISO_OK)
        abort();
    for (uint32_t number = 0; !differ && number < STREAMS; number++)
        differ = !stream_agrees(comparison, explicit, number);
    free(explicit);
    return differ;
}

static bool disagrees(const struct plain_history *plain, void *context)
{
    struct comparison *comparison = context;
    struct iso_error error = {.status = ISO_OK};
    if (plain_history_build(plain, &comparison->history, &error) != ISO_OK)
        return false;
    comparison->refused = !timestamp_oracle(plain, comparison->level, comparison->session_order,
                                            &comparison->expected, comparison->lacks_times);
    if (!check_agrees(comparison, 1) || (comparison->seed % 4 == 0 && !check_agrees(comparison, 2)))
        return true;
    if (comparison->refused)
        return false;
    comparison->statistics->judged++;
    return streams_differ(comparison, plain);
}

static void print_rows(const struct rows *rows, const struct plain_history *plain)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->rows[i];
        const char *kind = iso_violation_kind_name(row->kind);
        printf("#   %s %s tid=%s", iso_axiom_name(row->axiom), kind ? kind : "",
               plain->transactions[row->transaction].tid.text);
        if (row->other != ISO_NONE)
            printf(" other=%s", plain->transactions[row->other].tid.text);
        if (row->key != ISO_NONE)
            printf(" key=#%u", row->key);
        printf(" writers %d %d\n", (int)row->writer_expected, (int)row->writer_actual);
    }
}

static void report(struct plain_history *plain, struct comparison *comparison)
{
    printf("not ok - %s: aion disagrees, seed %" PRIu64 "\n", iso_level_name(comparison->level),
           comparison->seed);
    shrink_history(plain, disagrees, comparison);
    disagrees(plain, comparison);
    printf("# level %s%s, %s\n", iso_level_name(comparison->level),
           comparison->session_order ? "" : ", --no-session-order", comparison->text);
    plain_history_print(plain, stdout, "#   ");
    printf("# oracle:\n");
    instances_print(&comparison->expected, plain, stdout, "#   ");
    printf("# aion, as a file:\n");
    instances_print(&comparison->actual, plain, stdout, "#   ");
    printf("# aion, as a stream:\n");
    print_rows(&comparison->finals, plain);
    printf("# chronos:\n");
    print_rows(&comparison->wanted, plain);
    fflush(stdout);
}

/* ---- many ---- */

static bool occurred(uint64_t times, uint64_t histories, const char *what)
{
    bool enough = times >= histories / 1000;
    printf("# %s: %" PRIu64 "%s\n", what, times, enough ? "" : ": too few");
    return enough;
}

static bool covers(const struct statistics *statistics, bool held)
{
    uint64_t histories = statistics->histories;
    bool good = occurred(statistics->streams, histories, "streams");
    good &= occurred(statistics->judged, histories, "histories that can be judged");
    good &= occurred(statistics->watermarks, histories, "watermarks");
    good &= occurred(statistics->repeats, histories, "repeats");
    good &= occurred(statistics->resolved, histories, "outcomes told later");
    if (!held) { /* else a verdict is told once */
        good &= occurred(statistics->tentative, histories, "tentative verdicts");
        good &= occurred(statistics->retracted, histories, "retracted verdicts");
        good &= occurred(statistics->flipped, histories, "transactions that flipped");
    }
    good &= occurred(statistics->waited, histories, "transactions that waited");
    good &= occurred(statistics->evicted, histories, "keys that went to the store");
    good &= occurred(statistics->brought_back, histories, "keys that came back");
    return occurred(statistics->undecided, histories, "undecided for want of memory") && good;
}

static bool run_level(enum iso_level level, uint64_t histories, uint64_t seed)
{
    struct random_history_options options = random_history_defaults();
    options.cells = true;
    struct comparison *comparison = calloc(1, sizeof *comparison);
    struct plain_history *plain = calloc(1, sizeof *plain);
    struct statistics statistics = {.histories = histories};
    uint32_t failed = 0;
    if (!comparison || !plain)
        abort();
    comparison->level = level;
    comparison->statistics = &statistics;
    iso_history_init(&comparison->history);
    iso_history_init(&comparison->told);
    for (uint64_t i = 0; i < histories && failed < MAX_REPORTS; i++) {
        random_history(seed + i, &options, plain);
        comparison->session_order = (seed + i) % 8 != 0 || is_about_sessions(level);
        comparison->seed = seed + i;
        if (!disagrees(plain, comparison))
            continue;
        failed++;
        report(plain, comparison);
    }
    if (!failed)
        printf("ok - %s: aion agrees with the oracle and with chronos on %" PRIu64 " histories\n",
               iso_level_name(level), histories);
    bool covered = covers(&statistics, is_held(level));
    printf("%s - %s: everything occurred\n", covered ? "ok" : "not ok", iso_level_name(level));
    iso_history_release(&comparison->history);
    iso_history_release(&comparison->told);
    free(comparison);
    free(plain);
    return !failed && covered;
}

int main(int argc, char **argv)
{
    uint64_t histories = DEFAULT_HISTORIES, seed = 1;
    const char *level = NULL;
    const struct argument known[] = {{"--histories", .number = &histories},
                                     {"--seed", .number = &seed},
                                     {"--level", .text = &level},
                                     {0}};
    bool good = true, any = false;
    if (!arguments_read(known, argc, argv))
        return 2;
    printf("# seed %" PRIu64 ", %" PRIu64 " histories a level\n", seed, histories);
    for (int i = 0; i < ISO_LEVELS; i++) {
        if (!iso_level_judged_by((enum iso_level)i, ISO_BY_AION))
            continue;
        if (level && strcmp(level, iso_level_name((enum iso_level)i)))
            continue;
        good &= run_level((enum iso_level)i, histories, seed);
        any = true;
    }
    return good && any ? 0 : 1;
}
