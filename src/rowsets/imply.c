/* What queries that returned rows say of the order of transactions, as reads and writes.
 *
 * Where an order of the transactions is sought, a query stands behind the last commit before its moment that changed its
 * result, and in front of the first one behind it: of each row. (Its own writes are its own affair, and so are cells that it
 * returned, which are reads.) For each such change of a row by a commit there is a key of its own, `ROW#?TID`, which that
 * commit writes, and which the query reads as written, or as absent. So whoever judges reads judges queries, too.
 *
 * An order is implied only where the result is known on both sides of the change. Queries of which not all is implied are
 * counted.
 */
#include "history/additions.h"
#include "rowsets/judge_private.h"

struct implying {
    struct judge judge; /* the first member: rows are visited with it */
    struct iso_history *history;
    struct history_additions additions;
    struct iso_number_map written; /* keys of changes whose write is among the additions */
    struct iso_number_map by_tid;  /* committed transactions */
    uint64_t *moments;             /* of a row's versions */
    uint32_t moment_count, moment_capacity;
    struct iso_text key;
    uint32_t left;  /* queries that were not looked at */
    bool is_unsure; /* of the query at hand: not all that it means is known */
};

/* Whether a row belongs to what the query asked for. */
enum { IS_OUT, IS_IN, NOBODY_KNOWS };

static unsigned standing_at(struct judge *judge, uint32_t row, iso_atom parts, uint64_t bound)
{
    judge->query->bound = bound;
    judge_see(judge, row, parts);
    struct judge_outcome outcome = judge_decide(judge, judge->row.there, judge->row.cells);
    bool is_out = outcome.there == ISO_TRUTH_FALSE || outcome.matches == ISO_TRUTH_FALSE;
    bool is_in = outcome.there == ISO_TRUTH_TRUE && outcome.matches == ISO_TRUTH_TRUE;
    return is_out ? IS_OUT : is_in ? IS_IN : NOBODY_KNOWS;
}

static int compare_moments(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

static void collect_moments(struct implying *implying, uint32_t row)
{
    const struct iso_rowsets *engine = implying->judge.engine;
    implying->moment_count = 0;
    for (uint32_t c = engine->rows[row].cells; c != ISO_NONE; c = engine->cells[c].next)
        for (uint32_t v = 0; v < engine->cells[c].count; v++) {
            ISO_GROW(implying->moments, implying->moment_count, implying->moment_capacity);
            implying->moments[implying->moment_count++] = engine->versions[engine->cells[c].first + v].cts;
        }
    if (implying->moment_count)
        qsort(implying->moments, implying->moment_count, sizeof *implying->moments, compare_moments);
}

/* `ROW#?TID`, as a key of the history. */
static uint32_t change_key(struct implying *implying, iso_atom parts, uint32_t writer)
{
    const struct iso_rowsets *engine = implying->judge.engine;
    struct iso_history *history = implying->history;
    char buffer[ISO_ATOM_TEXT_MAX];
    const struct iso_json_text texts[] = {rowsets_text(&engine->atoms, implying->judge.query->table, buffer),
                                          rowsets_text(&engine->atoms, parts, implying->judge.parts_buffer)};
    size_t length;
    implying->key.used = 0;
    iso_text_put_bytes(&implying->key, texts[0].at, texts[0].length);
    iso_text_put(&implying->key, "/");
    iso_text_put_bytes(&implying->key, texts[1].at, texts[1].length);
    iso_text_put(&implying->key, "#?");
    const char *tid = iso_atom_text(&history->atoms, history->tid[writer], buffer, &length);
    iso_text_put_bytes(&implying->key, tid, length);
    return iso_history_key(history, iso_atoms_text(&history->atoms, implying->key.bytes, implying->key.used));
}

/* Who wrote the row's versions of that moment; ISO_NUMBER_NONE: several did, since commits may share a place. */
static uint32_t writer_at(const struct implying *implying, uint32_t row, uint64_t cts)
{
    const struct iso_rowsets *engine = implying->judge.engine;
    char buffer[ISO_ATOM_TEXT_MAX];
    iso_atom tid = ISO_ABSENT;
    for (uint32_t c = engine->rows[row].cells; c != ISO_NONE; c = engine->cells[c].next)
        for (uint32_t v = 0; v < engine->cells[c].count; v++) {
            const struct rowsets_version *version = &engine->versions[engine->cells[c].first + v];
            if (version->cts != cts)
                continue;
            if (tid != ISO_ABSENT && tid != version->tid)
                return ISO_NUMBER_NONE;
            tid = version->tid;
        }
    struct iso_json_text text = rowsets_text(&engine->atoms, tid, buffer);
    bool is_known = text.at && iso_atoms_find(&implying->history->atoms, text.at, text.length, &tid);
    return is_known ? iso_number_map_get(&implying->by_tid, tid) : ISO_NUMBER_NONE;
}

/* The commit at `cts` changed the row in the query's result, which has seen that or not. */
static void imply(struct implying *implying, uint32_t row, iso_atom parts, uint64_t cts, bool has_seen)
{
    const struct rowsets_query *query = implying->judge.query;
    uint32_t writer = writer_at(implying, row, cts);
    implying->is_unsure |= writer == ISO_NUMBER_NONE;
    if (writer == ISO_NUMBER_NONE || writer == query->index)
        return;
    uint32_t key = change_key(implying, parts, writer);
    if (iso_number_map_get(&implying->written, key) == ISO_NUMBER_NONE) {
        iso_number_map_put(&implying->written, key, 0);
        history_additions_put(&implying->additions, (struct history_addition){writer, ISO_NONE, key, ISO_WRITE, 1});
    }
    uint32_t header = implying->history->first_operation[query->index] + query->operation;
    history_additions_put(&implying->additions,
                          (struct history_addition){query->index, header, key, ISO_READ, has_seen ? 1 : ISO_ABSENT});
}

/* The first change behind the query's moment (`step` 1), or the last one before it (-1), of versions from `i` on. */
static void imply_next(struct implying *implying, uint32_t row, iso_atom parts, unsigned now, uint32_t i, int step)
{
    bool is_later = step > 0;
    for (; i < implying->moment_count; i += (uint32_t)step) {
        unsigned other = standing_at(&implying->judge, row, parts, implying->moments[i] + is_later);
        implying->is_unsure |= other == NOBODY_KNOWS;
        if (other == now)
            continue;
        if (other != NOBODY_KNOWS)
            imply(implying, row, parts, implying->moments[i], !is_later);
        return;
    }
}

static void imply_of_row(struct judge *judge, uint32_t row, iso_atom parts)
{
    struct implying *implying = (struct implying *)judge;
    struct rowsets_query *query = judge->query;
    uint64_t bound = query->bound;
    uint32_t later = 0;
    unsigned now = standing_at(judge, row, parts, bound);
    implying->is_unsure |= now == NOBODY_KNOWS;
    if (judge->row.is_own || now == NOBODY_KNOWS)
        return;
    collect_moments(implying, row);
    while (later < implying->moment_count && implying->moments[later] < bound)
        later++;
    imply_next(implying, row, parts, now, later, 1);
    imply_next(implying, row, parts, now, later - 1, -1);
    query->bound = bound;
}

static void index_commits(struct implying *implying)
{
    const struct iso_history *history = implying->history;
    for (uint32_t t = 0; t < history->transaction_count; t++)
        if (iso_status_of(history, t) == ISO_COMMITTED)
            iso_number_map_put(&implying->by_tid, history->tid[t], t);
}

/* Aggregates and bags may be the same before and behind a change: of them nothing is implied. */
static void imply_of_query(struct implying *implying, struct iso_rowsets *engine, struct rowsets_query *query)
{
    implying->left--;
    struct judge *judge = &implying->judge;
    bool is_ready = judge_open(judge, engine, query) && !judge->has_aggregates && !judge->has_bag;
    implying->is_unsure = !is_ready;
    if (is_ready && !query->is_partial)
        judge_visit(judge, imply_of_row);
    implying->history->ranges.not_implied += implying->is_unsure && !query->is_partial;
    judge_close(judge);
    rowsets_free_query(query);
}

static bool is_sought(const struct iso_history *history)
{
    return iso_history_has_queries(history) && !history->ranges.are_implied && history->clock != ISO_CLOCK_NONE &&
           (history->snapshot || history->xid || history->without_sts != ISO_NONE);
}

/* Of a transaction that did not say what its snapshot was nothing is taken, and nothing implied. */
static uint32_t count_queries(const struct iso_history *history)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < history->ranges.count; i++)
        count += history->ranges.list[i].form == ISO_SET_QUERY &&
                 iso_status_of(history, history->ranges.list[i].transaction) == ISO_COMMITTED;
    return count;
}

void iso_rowsets_imply(struct iso_history *history)
{
    struct iso_rowsets_options options;
    struct implying implying = {.history = history};
    if (!is_sought(history))
        return;
    iso_rowsets_options_init(&options);
    options.scan_limit = history->ranges.limit;
    options.retention = ISO_ROWSETS_FOREVER;
    struct iso_rowsets *engine = iso_rowsets_new(&options);
    rowsets_take_all(engine, history);
    index_commits(&implying);
    implying.left = count_queries(history);
    while (engine->queue.count)
        imply_of_query(&implying, engine, (struct rowsets_query *)(uintptr_t)iso_heap_pop(&engine->queue).value);
    history->ranges.not_implied += implying.left;
    history_add(history, &implying.additions);
    history->ranges.are_implied = true;
    history_additions_release(&implying.additions);
    iso_number_map_release(&implying.written);
    iso_number_map_release(&implying.by_tid);
    iso_text_release(&implying.key);
    iso_free(implying.moments);
    iso_rowsets_free(engine);
}
