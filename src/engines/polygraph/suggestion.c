/* The order of the input as advice: does it explain the history, taken as the order of commits?
 *
 * Histories are often recorded in about that order, and then nothing has to be searched: one pass
 * positions each transaction's begin between what it read and what replaced that. Positions count
 * commits: what commits as number p is seen by begins at p + 1 and later. A read looks for the
 * latest version that it may have seen, as far back as its session lets it. Advice that does not
 * work says nothing.
 */
#include "polygraph/engine_private.h"
#include "problem/placements.h"

enum { PATIENCE = 1024 }; /* looks at a read, on average */

struct advice {
    struct engine *engine;
    uint32_t *begin;     /* by transaction: the position of its begin */
    uint32_t *current;   /* by key: the newest write so far, or ISO_NONE */
    uint32_t *replaced;  /* by write, and then by key for the initial one: the position of what
                            replaced it */
    uint32_t *before;    /* by transaction: the one before it in its session */
    uint32_t *length;    /* by write: of a list whose elements repeat */
    uint32_t *lists;     /* by such a list: where its own start in `of_length` */
    uint32_t *of_length; /* by list and length: the write that made it so long, or ISO_NONE */
    uint64_t patience;   /* looks at reads that are left */
};

/* The slot of a write, or with ISO_NONE of a key's initial value, in `replaced`. */
static uint32_t *replaced_at(const struct advice *advice, uint32_t write, uint32_t key)
{
    return &advice->replaced[write == ISO_NONE ? advice->engine->writes.count + key : write];
}

/* The slot of a length in `of_length`. */
static uint32_t *list_of_length(const struct advice *advice, const struct repeating_list *list,
                                uint32_t length)
{
    return &advice->of_length[advice->lists[list - advice->engine->placements->lists] + length -
                              list->start];
}

/* The appends of a write stand in a list whose elements repeat behind those of the one before it,
 * or behind all that was read. */
static bool lengthen_list(struct advice *advice, uint32_t write)
{
    const struct engine *engine = advice->engine;
    uint32_t key = engine->writes.key[write], last = advice->current[key];
    const struct repeating_list *list = placements_of_key(engine->placements, key);
    if (!list)
        return true;
    uint32_t at = last == ISO_NONE ? list->start : advice->length[last];
    advice->length[write] = list->length + 1;
    const struct placement *items = engine->placements->items;
    for (uint32_t i = placements_at(engine->placements, list, at);
         i < list->end && items[i].at == at; i++) {
        if (items[i].write != write)
            continue;
        advice->length[write] = items[i].end;
        *list_of_length(advice, list, items[i].end) = write;
        return true;
    }
    return at >= list->length;
}

/* The newest of a set of writes, in the order of the input, that a begin at `begin` sees; ISO_NONE:
 * none. */
static uint32_t newest_of_set(const struct engine *engine, uint32_t set, uint32_t begin)
{
    const uint32_t *members = engine->writer_sets.member + engine->writer_sets.first[set];
    uint32_t low = 0, high = engine->writer_sets.first[set + 1] - engine->writer_sets.first[set];
    high -= members[high - 1] == INITIAL;
    ISO_BISECT(low, high, middle, engine->writes.transaction[members[middle]] < begin);
    return low ? members[low - 1] : ISO_NONE;
}

/* The newest write that a read at `begin` may have seen; ISO_NONE: none, but `*initial`: the
 * initial value. A list whose elements repeat has the length that was read. */
static uint32_t newest_write(const struct advice *advice, uint32_t read, uint32_t begin,
                             bool *initial)
{
    const struct engine *engine = advice->engine;
    const struct repeating_list *list =
        placements_of_key(engine->placements, engine->reads.key[read]);
    uint32_t set = engine->reads.set[read], write = engine->reads.writer[read];
    if (list) {
        *initial = engine->reads.prefix[read] == list->start;
        write = *list_of_length(advice, list, engine->reads.prefix[read]);
    } else if (set == ISO_NONE) {
        *initial = write == INITIAL;
        write = write == INITIAL || write == OPEN ? ISO_NONE : write;
    } else {
        *initial = engine->writer_sets.member[engine->writer_sets.first[set + 1] - 1] == INITIAL;
        write = newest_of_set(engine, set, begin);
    }
    return write != ISO_NONE && engine->writes.transaction[write] < begin ? write : ISO_NONE;
}

/* The last position from `low` up to `begin` at which a read sees what it may have seen; ISO_NONE:
 * none. */
static uint32_t last_position(const struct advice *advice, uint32_t read, uint32_t low,
                              uint32_t begin)
{
    bool initial;
    uint32_t write = newest_write(advice, read, begin, &initial);
    if (write == ISO_NONE && !initial)
        return ISO_NONE;
    uint32_t last = *replaced_at(advice, write, advice->engine->reads.key[read]);
    return last < low ? ISO_NONE : last < begin ? last : begin;
}

/* The last position at which all reads of a transaction see what they read; ISO_NONE: none from
 * `low` on, or it takes too long to say. */
static uint32_t place_reads(struct advice *advice, uint32_t t, uint32_t low)
{
    const struct engine *engine = advice->engine;
    uint32_t begin = t, count = engine->reads.first[t + 1] - engine->reads.first[t];
    for (bool moved = true; moved; advice->patience -= count) {
        moved = false;
        if (advice->patience < count)
            return ISO_NONE;
        ISO_EACH(read, engine->reads.first, t) {
            uint32_t last = last_position(advice, read, low, begin);
            if (last == ISO_NONE)
                return ISO_NONE;
            moved |= last < begin;
            begin = last;
        }
    }
    return begin;
}

static bool place_transaction(struct advice *advice, uint32_t t)
{
    const struct engine *engine = advice->engine;
    uint32_t low = 0;
    if (advice->before[t] != ISO_NONE) {
        if (advice->before[t] > t)
            return false;
        low = advice->before[t] + 1;
    }
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t last = advice->current[engine->writes.key[write]];
        uint32_t start = last == ISO_NONE ? 0 : engine->writes.transaction[last] + 1;
        low = start > low ? start : low;
    }
    advice->begin[t] = place_reads(advice, t, low);
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t key = engine->writes.key[write];
        if (!lengthen_list(advice, write))
            return false;
        *replaced_at(advice, advice->current[key], key) = t;
        advice->current[key] = write;
    }
    return advice->begin[t] != ISO_NONE && (!engine->serial || advice->begin[t] == t);
}

static bool lists_agree(const struct engine *engine)
{
    for (uint32_t i = 0; i < engine->list_orders.count; i++) {
        if (engine->writes.transaction[engine->list_orders.pairs[i][0]] >=
            engine->writes.transaction[engine->list_orders.pairs[i][1]])
            return false;
    }
    return true;
}

/* Begins by their positions, each before the commit of that number. */
static void accept_suggestion(const struct advice *advice)
{
    const struct engine *engine = advice->engine;
    struct iso_evidence *evidence = &engine->result->evidence;
    uint32_t *first = iso_allocate_zeroed((size_t)engine->transactions.count + 2, sizeof *first);
    uint32_t *sorted = iso_numbers(engine->transactions.count);
    for (uint32_t t = 0; t < engine->transactions.count; t++)
        first[advice->begin[t] + 1]++;
    iso_running_sums(first, (size_t)engine->transactions.count + 1);
    for (uint32_t t = 0; t < engine->transactions.count; t++)
        sorted[first[advice->begin[t]]++] = t;
    for (uint32_t p = 0, i = 0; p < engine->transactions.count; p++) {
        for (; i < first[p]; i++)
            iso_evidence_event(evidence, event_of(engine, node_begin(engine, sorted[i])));
        if (!engine->serial)
            iso_evidence_event(evidence, event_of(engine, node_commit(engine, p)));
    }
    evidence->accepts = true;
    engine->result->outcome = ISO_HOLDS;
    engine->result->counters.by_advice = 1;
    ISO_FREE_ALL(first, sorted);
}

/* Room for the lengths of the lists whose elements repeat. */
static void list_lengths(struct advice *advice)
{
    const struct placements *placements = advice->engine->placements;
    uint32_t lists = placements ? placements->list_count : 0, end = 0;
    advice->lists = iso_numbers(lists);
    for (uint32_t i = 0; i < lists; i++) {
        advice->lists[i] = end;
        end += placements->lists[i].length - placements->lists[i].start + 1;
    }
    size_t size = ((size_t)end + 1) * sizeof *advice->of_length;
    advice->of_length = memset(iso_allocate(size), 0xff, size);
}

bool suggestion_decides(struct engine *engine)
{
    if (engine->options->no_advice || iso_level_needs_times(engine->options->level) ||
        !lists_agree(engine))
        return false;
    struct advice advice = {
        .engine = engine,
        .begin = iso_allocate(((size_t)engine->transactions.count + 1) * sizeof(uint32_t)),
        .current = iso_numbers_none(engine->history->keys.count),
        .replaced = iso_numbers_none((size_t)engine->writes.count + engine->history->keys.count),
        .before = session_predecessors(engine),
        .length = iso_numbers((size_t)engine->writes.count + engine->history->keys.count),
        .patience = PATIENCE * (uint64_t)engine->reads.count};
    list_lengths(&advice);
    bool fine = true;
    for (uint32_t t = 0; t < engine->transactions.count && fine; t++)
        fine = place_transaction(&advice, t);
    if (fine)
        accept_suggestion(&advice);
    ISO_FREE_ALL(advice.begin, advice.current, advice.replaced, advice.before, advice.length,
                 advice.lists, advice.of_length);
    return fine;
}
