/* Levels that ask which writers a read had to know of: ryw, mr, ra, cc and psi, with the order that
 * the commits claim.
 *
 * A read *is of* a writer: the one that made the version with its value. Where several did, or the
 * initial value is the same, it is of the newest that its start shows, else of the oldest (a
 * *guess*); a read with one writer only is *certain*. What the reader knows of is the level's V
 * (docs/semantics.md): earlier transactions of its session, writers of what it read, and at cc and
 * psi all that those know of. The read must be of no older version than the newest by somebody
 * known.
 *
 * Two things may be known: by certain reads alone, and by guesses too. A read is wrong if by the
 * former no writer of its value will do; it is unjudged (`repeated-value`) if by the latter the one
 * that it is of will not.
 *
 * Transactions are taken in the order of their commits, and those that only read in front of the
 * next writer of their session; so what a read is of came before it. At cc and psi each has a row:
 * how far into each session its knowledge goes. A row is freed when nobody asks for it any more:
 * the next of its session, readers of its versions, at psi who overwrites them. Where a session's
 * commits go back (SESSION), its order counts anew from there: a new *run*, which is a session
 * here.
 *
 * Costs: for each read the versions between the one it is of and the newest that is known, or where
 * these are many a search for each run that writes the key; at cc and psi a row of runs for each
 * transaction, few of them at a time.
 */
#include "chronos/version_index.h"

#include <assert.h>
#include <string.h>

#include "base/number_map.h"
#include "base/radix.h"
#include "base/sorted.h"

/* The version that a read is of. */
struct source {
    uint32_t operation, prefix;
    uint32_t version; /* a position in the index; ISO_NONE: the initial one, or `is_none` */
    uint32_t newest;  /* the newest version that it could be of */
    bool is_certain, is_none, is_tied;
};

/* A transaction's knowledge: `upto[run]` transactions of each run; `horizon` is no smaller than the
 * cts of any. */
struct row {
    uint32_t users; /* that will still ask */
    uint64_t horizon[2];
    uint32_t *upto[2]; /* by certain reads; by guesses, too: the same array where nobody guesses */
};

struct knowing {
    struct chronos_shard *shard;
    const struct iso_history *history;
    const struct chronos_index *index;
    enum iso_level level;
    uint32_t *run, *number; /* by transaction: its run, and its number there, from 1 */
    uint32_t run_count;
    uint32_t *last;  /* by run: the transaction taken last, or ISO_NONE */
    uint32_t *order; /* transactions as they are taken */
    uint32_t order_count;
    uint64_t *limit;  /* by transaction: no version at or above it is one that it could read */
    struct row *rows; /* by transaction; cc and psi */
    bool guesses;     /* some read does */
    uint32_t *first_source; /* by transaction */
    struct source *sources;
    uint32_t source_count, source_capacity;
    uint32_t *by_run; /* cc and psi: positions of versions, of each key by run */
    uint32_t *least;  /* beside them: the least number from there on in the run */
    /* mr: (run, writer) that a transaction of the run read, by certainty */
    struct iso_number_map seen[2];
    uint64_t *seen_upto[2]; /* mr: the newest cts among them, by run */
};

/* ---- runs ---- */

static bool is_writer(const struct iso_history *history, uint32_t t)
{
    return history->txns.flags[t] & ISO_WRITES;
}

/* SESSION: writers of a session commit in its order. */
static void find_runs(struct knowing *knowing)
{
    const struct iso_history *history = knowing->history;
    for (uint32_t s = 0; s < history->sessions.count; s++) {
        uint32_t latest = ISO_NONE, number = 0;
        ISO_EACH(i, history->sessions.first, s) {
            uint32_t t = history->sessions.order[i];
            if (iso_status_of(history, t) != ISO_COMMITTED)
                continue;
            bool goes_back = is_writer(history, t) && latest != ISO_NONE &&
                             history->txns.cts[t] < history->txns.cts[latest];
            if (goes_back)
                chronos_add_session(knowing->shard->verdict, t, latest);
            if (goes_back || !number) {
                number = 0;
                knowing->run_count++;
            }
            knowing->run[t] = knowing->run_count - 1;
            knowing->number[t] = ++number;
            if (is_writer(history, t) &&
                (latest == ISO_NONE || history->txns.cts[t] > history->txns.cts[latest]))
                latest = t;
        }
    }
}

/* A transaction that only reads comes before the next writer of its run, whose cts is its limit. */
static void find_limits(struct knowing *knowing)
{
    const struct iso_history *history = knowing->history;
    for (uint32_t s = 0; s < history->sessions.count; s++) {
        uint64_t limit = UINT64_MAX;
        uint32_t run = ISO_NONE;
        for (uint32_t i = history->sessions.first[s + 1]; i-- > history->sessions.first[s];) {
            uint32_t t = history->sessions.order[i];
            if (iso_status_of(history, t) != ISO_COMMITTED)
                continue;
            if (knowing->run[t] != run)
                limit = UINT64_MAX;
            run = knowing->run[t];
            limit = is_writer(history, t) ? history->txns.cts[t] : limit;
            knowing->limit[t] = limit;
        }
    }
}

/* By limit, and then as the sessions have them. */
static void find_order(struct knowing *knowing)
{
    const struct iso_history *history = knowing->history;
    struct iso_radix items = iso_radix_allocate(history->txns.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < history->txns.count; i++) {
        uint32_t t = history->sessions.order[i];
        if (iso_status_of(history, t) != ISO_COMMITTED)
            continue;
        items.keys[count] = knowing->limit[t];
        items.payloads[count++] = t;
    }
    knowing->order = iso_radix_order(items, count);
    knowing->order_count = count;
}

/* ---- of whom reads are ---- */

static uint64_t cts_of(const struct knowing *knowing, uint32_t version)
{
    /* the initial one is before all */
    return version == ISO_NONE ? 0 : knowing->index->versions[version].cts + 1;
}

/* The position behind all versions that are not above the limit. */
static uint32_t end_of_limit(const struct chronos_index *index, uint32_t key, uint64_t limit)
{
    return limit == UINT64_MAX ? index->first[key + 1] : chronos_position_of(index, key, limit + 1);
}

/* Where the transaction's own version is, among those `by_value`, or ISO_NONE: it has the last cts
 * of them. */
static uint32_t find_own(const struct chronos_index *index, uint32_t first, uint32_t end,
                         uint32_t t)
{
    for (uint32_t at = end; at-- > first;) {
        const struct chronos_version *version = &index->versions[index->by_value[at]];
        if (version->writer == t)
            return at;
        if (version->cts < index->check->history->txns.cts[t])
            break;
    }
    return ISO_NONE;
}

static struct source find_source(const struct knowing *knowing, uint32_t t,
                                 const struct chronos_extra *read)
{
    const struct chronos_index *index = knowing->index;
    struct chronos_look look = chronos_look_of(index, read);
    struct source source = {.operation = read->operation,
                            .prefix = read->prefix,
                            .version = ISO_NONE,
                            .newest = ISO_NONE};
    uint64_t start = knowing->history->txns.sts[t] + 1, limit = knowing->limit[t];
    source.is_none = look.is_of_nobody;
    if (look.is_of_nobody)
        return source;
    bool has_initial = look.value == chronos_initial_version(index, look.key);
    uint32_t first = chronos_find_value(index, &look, index->first[look.key]),
             shown = chronos_find_value(
                 index, &look, chronos_position_of(index, look.key, start < limit ? start : limit)),
             end = chronos_find_value(index, &look, end_of_limit(index, look.key, limit));
    uint32_t own = find_own(index, first, end, t);
    uint32_t found = end - first - (own != ISO_NONE), oldest = first + (own == first),
             newest = end - 1 - (own == end - 1);
    if (found)
        source.newest = index->by_value[newest];
    if (shown > first)
        source.version = index->by_value[shown - 1];
    else if (found && !has_initial)
        source.version = index->by_value[oldest];
    source.is_certain = found + has_initial == 1;
    source.is_none = !found && !has_initial;
    source.is_tied = source.version != ISO_NONE && index->versions[source.version].cts == limit;
    return source;
}

static void find_sources(struct knowing *knowing)
{
    struct chronos_shard *shard = knowing->shard;
    shard->deferring = true;
    for (uint32_t t = 0; t < knowing->history->txns.count; t++) {
        knowing->first_source[t] = knowing->source_count;
        shard->extra_count = 0;
        if (iso_status_of(knowing->history, t) == ISO_COMMITTED)
            chronos_judge_transaction(shard, t);
        chronos_sort_extras(shard);
        for (uint32_t i = 0; i < shard->extra_count; i++) {
            ISO_GROW_COLUMN(knowing->sources, knowing->source_count, knowing->source_capacity);
            struct source source = find_source(knowing, t, &shard->extras[i]);
            knowing->guesses |= !source.is_certain && !source.is_none;
            knowing->sources[knowing->source_count++] = source;
        }
    }
    knowing->first_source[knowing->history->txns.count] = knowing->source_count;
    shard->extra_count = 0;
    shard->deferring = false;
}

/* The writer that a read makes known: by certain reads, or by guesses too. */
static uint32_t writer_of(const struct knowing *knowing, const struct source *source, bool by_guess)
{
    bool counts =
        source->version != ISO_NONE && !source->is_tied && (by_guess || source->is_certain);
    return counts ? knowing->index->versions[source->version].writer : ISO_NONE;
}

/* ---- rows ---- */

static bool has_rows(const struct knowing *knowing)
{
    return knowing->level == ISO_CC || knowing->level == ISO_PSI;
}

typedef void visit_known(struct knowing *knowing, uint32_t t, uint32_t known, bool is_certain);

/* Calls for each whose row the transaction's is made of. */
static void for_each_known(struct knowing *knowing, uint32_t t, visit_known *visit)
{
    const struct iso_history *history = knowing->history;
    ISO_EACH(i, knowing->first_source, t) {
        uint32_t writer = writer_of(knowing, &knowing->sources[i], true);
        if (writer != ISO_NONE)
            visit(knowing, t, writer, knowing->sources[i].is_certain);
    }
    for (uint32_t o = history->txns.first_op[t];
         knowing->level == ISO_PSI && o < history->txns.first_op[t + 1]; o++) {
        const struct chronos_version *versions = knowing->index->versions;
        uint32_t key = history->ops.key[o], first = knowing->index->first[key],
                 before = iso_kind_writes(history->ops.kind[o])
                              ? chronos_position_of(knowing->index, key, history->txns.cts[t])
                              : first;
        for (uint32_t i = before; i-- > first && versions[i].cts == versions[before - 1].cts;)
            visit(knowing, t, versions[i].writer, true);
    }
}

static void add_user(struct knowing *knowing, uint32_t t, uint32_t known, bool is_certain)
{
    (void)t, (void)is_certain;
    knowing->rows[known].users++;
}

static void drop_user(struct knowing *knowing, uint32_t t)
{
    struct row *row = &knowing->rows[t];
    if (row->users && --row->users)
        return;
    if (row->upto[1] != row->upto[0])
        iso_free(row->upto[1]);
    iso_free(row->upto[0]);
    row->upto[0] = row->upto[1] = NULL;
}

static void join_row(struct row *row, const struct knowing *knowing, uint32_t known, bool by_guess)
{
    const struct row *other = &knowing->rows[known];
    uint32_t *upto = row->upto[by_guess];
    for (uint32_t run = 0; run < knowing->run_count; run++)
        upto[run] = other->upto[by_guess][run] > upto[run] ? other->upto[by_guess][run] : upto[run];
    if (knowing->number[known] > upto[knowing->run[known]])
        upto[knowing->run[known]] = knowing->number[known];
    uint64_t horizon = other->horizon[by_guess],
             cts = is_writer(knowing->history, known) ? knowing->history->txns.cts[known] : 0;
    horizon = horizon > cts ? horizon : cts;
    row->horizon[by_guess] = horizon > row->horizon[by_guess] ? horizon : row->horizon[by_guess];
}

static void join_known(struct knowing *knowing, uint32_t t, uint32_t known, bool is_certain)
{
    struct row *row = &knowing->rows[t];
    if (is_certain)
        join_row(row, knowing, known, false);
    if (row->upto[1] != row->upto[0])
        join_row(row, knowing, known, true);
    else
        row->horizon[1] = row->horizon[0];
}

static void make_row(struct knowing *knowing, uint32_t t)
{
    struct row *row = &knowing->rows[t];
    uint32_t before = knowing->last[knowing->run[t]];
    row->upto[0] = row->upto[1] =
        iso_allocate_zeroed((size_t)knowing->run_count + 1, sizeof *row->upto[0]);
    if (knowing->guesses)
        row->upto[1] = iso_allocate_zeroed((size_t)knowing->run_count + 1, sizeof *row->upto[1]);
    if (before != ISO_NONE)
        join_known(knowing, t, before, true);
    for_each_known(knowing, t, join_known);
}

static void drop_known(struct knowing *knowing, uint32_t t, uint32_t known, bool is_certain)
{
    (void)t, (void)is_certain;
    drop_user(knowing, known);
}

/* ---- what a read had to know ---- */

struct asked {
    uint32_t t, key;
    bool by_guess;
};

static bool knows(const struct knowing *knowing, const struct asked *asked, uint32_t writer)
{
    if (writer == asked->t)
        return false;
    if (has_rows(knowing))
        return knowing->rows[asked->t].upto[asked->by_guess][knowing->run[writer]] >=
               knowing->number[writer];
    if (knowing->level == ISO_MR)
        return iso_number_map_get(&knowing->seen[asked->by_guess],
                                  iso_number_pair(knowing->run[asked->t], writer)) !=
               ISO_NUMBER_NONE;
    bool earlier = knowing->run[writer] == knowing->run[asked->t] &&
                   knowing->number[writer] < knowing->number[asked->t];
    for (uint32_t i = knowing->first_source[asked->t];
         !earlier && knowing->level == ISO_RA && i < knowing->first_source[asked->t + 1]; i++)
        earlier = writer_of(knowing, &knowing->sources[i], asked->by_guess) == writer;
    return earlier;
}

static uint64_t horizon_of(const struct knowing *knowing, const struct asked *asked)
{
    uint64_t horizon = 0;
    if (has_rows(knowing))
        return knowing->rows[asked->t].horizon[asked->by_guess];
    if (knowing->level == ISO_MR)
        return knowing->seen_upto[asked->by_guess][knowing->run[asked->t]];
    uint32_t last = knowing->last[knowing->run[asked->t]];
    if (last != ISO_NONE)
        horizon = knowing->history->txns.cts[last];
    for (uint32_t i = knowing->first_source[asked->t];
         knowing->level == ISO_RA && i < knowing->first_source[asked->t + 1]; i++) {
        uint32_t writer = writer_of(knowing, &knowing->sources[i], asked->by_guess);
        if (writer != ISO_NONE && knowing->history->txns.cts[writer] > horizon)
            horizon = knowing->history->txns.cts[writer];
    }
    return horizon;
}

/* The newest version of a run that writes the key and is known, for all such runs. */
static uint32_t search_runs(const struct knowing *knowing, const struct asked *asked)
{
    const struct chronos_version *versions = knowing->index->versions;
    uint32_t newest = ISO_NONE, end = knowing->index->first[asked->key + 1];
    const uint32_t *upto = knowing->rows[asked->t].upto[asked->by_guess];
    for (uint32_t i = knowing->index->first[asked->key]; i < end;) {
        uint32_t run = knowing->run[versions[knowing->by_run[i]].writer], low = i, high = end;
        ISO_BISECT(low, high, middle,
                   knowing->run[versions[knowing->by_run[middle]].writer] == run &&
                       knowing->least[middle] <= upto[run]);
        if (low > i && (newest == ISO_NONE || knowing->by_run[low - 1] > newest))
            newest = knowing->by_run[low - 1];
        high = end;
        ISO_BISECT(low, high, middle,
                   knowing->run[versions[knowing->by_run[middle]].writer] == run);
        i = low;
    }
    return newest;
}

#ifdef ISO_VALIDATE
enum { LONG = 1 }; /* so that small histories search, too */
#else
enum { LONG = 64 };
#endif

/* The newest version of the key by somebody known, if it is newer than `than`; ISO_NONE: there is
 * none. */
static uint32_t newest_known(const struct knowing *knowing, const struct asked *asked,
                             uint32_t than)
{
    const struct chronos_index *index = knowing->index;
    uint32_t first = index->first[asked->key], low = first, high = index->first[asked->key + 1];
    uint64_t horizon = horizon_of(knowing, asked);
    ISO_BISECT(low, high, middle, index->versions[middle].cts <= horizon);
    uint32_t least = than == ISO_NONE ? first : than + 1;
    if (low > least && low - least > LONG && has_rows(knowing)) {
        uint32_t newest = search_runs(knowing, asked);
        return newest != ISO_NONE && newest >= least ? newest : ISO_NONE;
    }
    for (uint32_t i = low; i-- > least;) {
        if (knows(knowing, asked, index->versions[i].writer))
            return i;
    }
    return ISO_NONE;
}

static void doubt(struct knowing *knowing, uint32_t t, const struct source *source,
                  uint32_t expected, enum chronos_doubt kind)
{
    const struct chronos_index *index = knowing->index;
    uint32_t key = knowing->history->ops.key[source->operation];
    struct chronos_suspect suspect = {.transaction = t,
                                      .operation = source->operation,
                                      .expected = chronos_initial_version(index, key),
                                      .writer = ISO_NONE,
                                      .prefix = source->prefix,
                                      .bound = knowing->limit[t] + (knowing->limit[t] < UINT64_MAX),
                                      .doubt = kind};
    if (expected != ISO_NONE) {
        suspect.expected = index->versions[expected].value;
        suspect.writer = index->versions[expected].writer;
    }
    chronos_add_suspect(knowing->shard, &suspect);
}

static void judge_read(struct knowing *knowing, uint32_t t, const struct source *source)
{
    struct asked asked = {.t = t, .key = knowing->history->ops.key[source->operation]};
    uint32_t required = newest_known(knowing, &asked, source->newest);
    bool is_newer =
        required != ISO_NONE && cts_of(knowing, required) > cts_of(knowing, source->newest);
    if (source->is_none || is_newer) {
        doubt(knowing, t, source, required, CHRONOS_WRONG);
        return;
    }
    asked.by_guess = true;
    required = newest_known(knowing, &asked, source->version);
    if (source->is_tied)
        doubt(knowing, t, source, ISO_NONE, CHRONOS_TIED);
    else if (required != ISO_NONE && cts_of(knowing, required) > cts_of(knowing, source->version))
        doubt(knowing, t, source, ISO_NONE, CHRONOS_REPEATED);
}

/* mr: what the session has read from now on. */
static void note_seen(struct knowing *knowing, uint32_t t)
{
    assert(t < knowing->history->txns.count);
    uint32_t run = knowing->run[t];
    ISO_EACH(i, knowing->first_source, t) {
        for (int by_guess = 0; by_guess < 2; by_guess++) {
            uint32_t writer = writer_of(knowing, &knowing->sources[i], by_guess);
            if (writer == ISO_NONE)
                continue;
            iso_number_map_add(&knowing->seen[by_guess], iso_number_pair(run, writer), 0);
            if (knowing->history->txns.cts[writer] > knowing->seen_upto[by_guess][run])
                knowing->seen_upto[by_guess][run] = knowing->history->txns.cts[writer];
        }
    }
}

static void take(struct knowing *knowing, uint32_t t)
{
    uint32_t before = knowing->last[knowing->run[t]];
    if (has_rows(knowing))
        make_row(knowing, t);
    ISO_EACH(i, knowing->first_source, t)
        judge_read(knowing, t, &knowing->sources[i]);
    if (knowing->level == ISO_MR)
        note_seen(knowing, t);
    if (has_rows(knowing)) {
        for_each_known(knowing, t, drop_known);
        if (before != ISO_NONE)
            drop_user(knowing, before);
        if (!knowing->rows[t].users)
            drop_user(knowing, t);
    }
    if (is_writer(knowing->history, t) || has_rows(knowing))
        knowing->last[knowing->run[t]] = t;
}

/* ---- all ---- */

static void sort_by_run(struct knowing *knowing)
{
    const struct chronos_index *index = knowing->index;
    uint64_t *keys =
        iso_allocate(((size_t)index->first[knowing->history->keys.count] + 1) * sizeof *keys);
    uint32_t count = index->first[knowing->history->keys.count];
    knowing->by_run = iso_allocate(((size_t)count + 1) * sizeof *knowing->by_run);
    knowing->least = iso_allocate(((size_t)count + 1) * sizeof *knowing->least);
    /* Within a run versions have the order of their numbers, but for those of one cts. */
    for (uint32_t key = 0; key < knowing->history->keys.count; key++) {
        uint32_t first = index->first[key], end = index->first[key + 1];
        for (uint32_t i = first; i < end; i++)
            keys[i - first] = (uint64_t)knowing->run[index->versions[i].writer] << 32 | i;
        chronos_sort_numbers(keys, end - first);
        for (uint32_t i = end, run = ISO_NONE; i-- > first;) {
            uint32_t writer = index->versions[(uint32_t)keys[i - first]].writer,
                     number = knowing->number[writer];
            bool is_last = knowing->run[writer] != run || knowing->least[i + 1] > number;
            knowing->by_run[i] = (uint32_t)keys[i - first];
            knowing->least[i] = is_last ? number : knowing->least[i + 1];
            run = knowing->run[writer];
        }
    }
    iso_free(keys);
}

static void count_users(struct knowing *knowing)
{
    const struct iso_history *history = knowing->history;
    uint32_t *last = knowing->last;
    knowing->rows = iso_allocate_zeroed((size_t)history->txns.count + 1, sizeof *knowing->rows);
    for (uint32_t i = 0; i < knowing->order_count; i++) {
        uint32_t t = knowing->order[i], run = knowing->run[t];
        if (last[run] != ISO_NONE)
            knowing->rows[last[run]].users++;
        last[run] = t;
        for_each_known(knowing, t, add_user);
    }
    memset(last, 0xff, ((size_t)knowing->run_count + 1) * sizeof *last);
}

void chronos_judge_guarantees(struct chronos_shard *shard)
{
    const struct iso_history *history = shard->history;
    size_t room = (size_t)history->txns.count + 2;
    struct knowing knowing = {.shard = shard,
                              .history = history,
                              .index = shard->check->index,
                              .level = shard->check->options->level};
    knowing.run = iso_allocate_zeroed(room, sizeof *knowing.run);
    knowing.number = iso_allocate_zeroed(room, sizeof *knowing.number);
    knowing.limit = iso_allocate_zeroed(room, sizeof *knowing.limit);
    knowing.first_source = iso_allocate_zeroed(room, sizeof *knowing.first_source);
    find_runs(&knowing);
    find_limits(&knowing);
    find_order(&knowing);
    find_sources(&knowing);
    knowing.last = iso_allocate(((size_t)knowing.run_count + 1) * sizeof *knowing.last);
    memset(knowing.last, 0xff, ((size_t)knowing.run_count + 1) * sizeof *knowing.last);
    for (int by_guess = 0; by_guess < 2; by_guess++)
        knowing.seen_upto[by_guess] =
            iso_allocate_zeroed((size_t)knowing.run_count + 1, sizeof *knowing.seen_upto[by_guess]);
    if (has_rows(&knowing)) {
        sort_by_run(&knowing);
        count_users(&knowing);
    }
    for (uint32_t i = 0; i < knowing.order_count; i++)
        take(&knowing, knowing.order[i]);
    for (int by_guess = 0; by_guess < 2; by_guess++) {
        iso_number_map_release(&knowing.seen[by_guess]);
        iso_free(knowing.seen_upto[by_guess]);
    }
    ISO_FREE_ALL(knowing.run, knowing.number, knowing.limit, knowing.first_source, knowing.last,
                 knowing.order, knowing.rows, knowing.by_run, knowing.least);
    ISO_FREE_COLUMN(knowing.sources, knowing.source_capacity);
}
