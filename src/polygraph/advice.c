/* The order of the input as advice: does it explain the history, taken as the order of commits?
 *
 * Histories are often recorded in about that order, and then nothing has to be searched: one pass places each
 * transaction's begin between what it read and what replaced that. Positions count commits: what commits as
 * number p is seen by begins at p + 1 and later. A read goes back over the versions of its key to the latest that it
 * may have seen, as far as its session lets it. Advice that does not work says nothing.
 */
#include "polygraph/placements.h"

struct advice {
    struct engine *engine;
    uint32_t *begin;    /* by transaction: the position of its begin */
    uint32_t *current;  /* by key: the newest write so far, or ISO_NONE */
    uint32_t *previous; /* by write: the one of its key that it replaced, or ISO_NONE */
    uint32_t *replaced; /* by write, and then by key for the initial one: the position of what replaced it */
    uint32_t *before;   /* by transaction: the one before it in its session */
    uint32_t *length;   /* by write: of a list whose elements repeat */
};

/* The place of a write, or with ISO_NONE of a key's initial value, in `replaced`. */
static uint32_t *replaced_at(const struct advice *advice, uint32_t write, uint32_t key)
{
    return &advice->replaced[write == ISO_NONE ? advice->engine->write_count + key : write];
}

/* The appends of a write stand in a list whose elements repeat behind those of the one before it, or behind all that
 * was read. */
static bool lengthen(struct advice *advice, uint32_t write)
{
    const struct engine *engine = advice->engine;
    uint32_t key = engine->write_key[write], last = advice->current[key];
    const struct repeating_list *list = placements_of_key(engine, key);
    if (!list)
        return true;
    uint32_t at = last == ISO_NONE ? list->start : advice->length[last];
    advice->length[write] = list->length + 1;
    const struct placement *items = engine->placements->items;
    for (uint32_t i = placements_at(engine, list, at); i < list->end && items[i].at == at; i++) {
        if (items[i].write != write)
            continue;
        advice->length[write] = items[i].end;
        return true;
    }
    return at >= list->length;
}

/* Whether a read may have seen a write, or with ISO_NONE the initial value. A list whose elements repeat has the length
 * that was read. */
static bool may_see(const struct advice *advice, uint32_t read, uint32_t write)
{
    const struct engine *engine = advice->engine;
    const struct repeating_list *list = placements_of_key(engine, engine->read_key[read]);
    uint32_t set = engine->read_set[read];
    if (list)
        return engine->read_prefix[read] == (write == ISO_NONE ? list->start : advice->length[write]);
    if (set == ISO_NONE)
        return engine->read_writer[read] == (write == ISO_NONE ? INITIAL : write);
    if (write == ISO_NONE)
        return engine->set_member[engine->set_first[set + 1] - 1] == INITIAL;
    return engine->write_value[write] == engine->read_value[read];
}

/* The last position from `low` up to `begin` at which a read sees what it may have seen; ISO_NONE: none. */
static uint32_t last_position(const struct advice *advice, uint32_t read, uint32_t low, uint32_t begin)
{
    const struct engine *engine = advice->engine;
    uint32_t key = engine->read_key[read];
    for (uint32_t write = advice->current[key];; write = advice->previous[write]) {
        uint32_t start = write == ISO_NONE ? 0 : engine->write_transaction[write] + 1;
        uint32_t last = *replaced_at(advice, write, key);
        if (last < low)
            return ISO_NONE;
        if (start <= begin && may_see(advice, read, write))
            return last < begin ? last : begin;
        if (write == ISO_NONE)
            return ISO_NONE;
    }
}

/* The last position at which all reads of a transaction see what they read; ISO_NONE: none from `low` on. */
static uint32_t place_reads(const struct advice *advice, uint32_t t, uint32_t low)
{
    const struct engine *engine = advice->engine;
    uint32_t begin = t;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1]; read++) {
            uint32_t last = last_position(advice, read, low, begin);
            if (last == ISO_NONE)
                return ISO_NONE;
            moved |= last < begin;
            begin = last;
        }
    }
    return begin;
}

static bool place(struct advice *advice, uint32_t t)
{
    const struct engine *engine = advice->engine;
    uint32_t low = 0;
    if (advice->before[t] != ISO_NONE) {
        if (advice->before[t] > t)
            return false;
        low = advice->before[t] + 1;
    }
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t last = advice->current[engine->write_key[write]];
        uint32_t start = last == ISO_NONE ? 0 : engine->write_transaction[last] + 1;
        low = start > low ? start : low;
    }
    advice->begin[t] = place_reads(advice, t, low);
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t key = engine->write_key[write];
        if (!lengthen(advice, write))
            return false;
        *replaced_at(advice, advice->current[key], key) = t;
        advice->previous[write] = advice->current[key];
        advice->current[key] = write;
    }
    return advice->begin[t] != ISO_NONE && (!engine->serial || advice->begin[t] == t);
}

static bool lists_agree(const struct engine *engine)
{
    for (uint32_t i = 0; i < engine->list_pair_count; i++) {
        if (engine->write_transaction[engine->list_pairs[i][0]] >= engine->write_transaction[engine->list_pairs[i][1]])
            return false;
    }
    return true;
}

/* Begins by their positions, each before the commit of that number. */
static void accept(const struct advice *advice)
{
    const struct engine *engine = advice->engine;
    struct iso_evidence *evidence = &engine->result->evidence;
    uint32_t *first = iso_allocate_zeroed((size_t)engine->count + 2, sizeof *first);
    uint32_t *sorted = iso_allocate(((size_t)engine->count + 1) * sizeof *sorted);
    for (uint32_t t = 0; t < engine->count; t++)
        first[advice->begin[t] + 1]++;
    for (uint32_t p = 0; p < engine->count; p++)
        first[p + 1] += first[p];
    for (uint32_t t = 0; t < engine->count; t++)
        sorted[first[advice->begin[t]]++] = t;
    for (uint32_t p = 0, i = 0; p < engine->count; p++) {
        for (; i < first[p]; i++)
            iso_evidence_event(evidence, event_of(engine, node_begin(engine, sorted[i])));
        if (!engine->serial)
            iso_evidence_event(evidence, event_of(engine, node_commit(engine, p)));
    }
    evidence->accepts = true;
    engine->result->outcome = ISO_HOLDS;
    engine->result->counters.by_advice = 1;
    iso_free(first);
    iso_free(sorted);
}

bool advice_decides(struct engine *engine)
{
    if (engine->options->no_advice || iso_model_needs_times(engine->options->model) || !lists_agree(engine))
        return false;
    size_t lists = ((size_t)engine->write_count + engine->history->key_count + 1) * sizeof(uint32_t);
    size_t keys = ((size_t)engine->history->key_count + 1) * sizeof(uint32_t);
    struct advice advice = {.engine = engine,
                            .begin = iso_allocate(((size_t)engine->count + 1) * sizeof(uint32_t)),
                            .current = memset(iso_allocate(keys), 0xff, keys),
                            .previous = iso_allocate(lists),
                            .replaced = memset(iso_allocate(lists), 0xff, lists),
                            .before = session_predecessors(engine),
                            .length = iso_allocate(lists)};
    bool fine = true;
    for (uint32_t t = 0; t < engine->count && fine; t++)
        fine = place(&advice, t);
    if (fine)
        accept(&advice);
    iso_free(advice.begin);
    iso_free(advice.current);
    iso_free(advice.previous);
    iso_free(advice.replaced);
    iso_free(advice.before);
    iso_free(advice.length);
    return fine;
}
