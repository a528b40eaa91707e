/* One sweep over the proposed order: of each read, the versions of its key that stand between the
 * one that was read and the reader. Where one of them is visible to the reader, it must come before
 * the version that was read: a note.
 *
 * What is visible follows from sessions and reads alone, so a note holds in every order. Which
 * versions are visible:
 *
 *   rc               those of the transactions that the reader read from at an earlier operation
 *   ra               of those that it read from, and of its session before it
 *   ryw              of its session before it
 *   cc, pram, mw     those that a *row* contains: by chain, how many of its transactions are
 *                    visible
 *   psi              those that a row contains, which knows what writers overwrote, too: that
 *                    follows from the order
 *   mr, wfr          of those that the session (the source's session) read from: its *seen* log
 *
 * A walk between the two positions is bounded: where they lie far apart, versions are searched by
 * session, or by source.
 */
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/sorted.h"
#include "weak/weak_private.h"

/* ---- rows of clocks ---- */

/* Rows stand in one block, and are used again when the last successor of their transaction has
 * passed. Where no chain is longer than LONGEST_NARROW, their numbers have 16 bits, else 32. */
struct rows {
    bool narrow;
    uint32_t width; /* chains, to whole vectors; 0: there are no rows */
    size_t bytes;   /* of a row */
    char *block;
    uint32_t count, capacity;
    uint32_t *free, free_count, free_capacity;
    uint32_t *of;   /* by transaction, or ISO_NONE */
    uint32_t *left; /* by transaction: successors that have not passed */
};

/* Versions that sessions saw, by chain and key: an entry for each version of what they read from,
 * once. */
struct seen {
    uint64_t *name; /* chain, key; ascending */
    uint32_t *position, *write,
        *best; /* best: of those of the name so far, the write that stands last in the order */
    uint32_t count;
};

struct sweeping {
    struct weak *weak;
    struct rows rows;
    char *row;          /* cc: of the reader at hand; pram, mw: put together for it */
    char *chain_row;    /* pram: by chain, what its session may see */
    uint32_t *mark;     /* by transaction: 1 + the reader that read from it already */
    uint32_t *told;     /* by transaction: who was last noted to come before it */
    uint32_t *of_chain; /* by chain: 1 + the read for which it is done */
    struct seen seen;
    uint32_t noted;
};

static char *row_at(const struct rows *rows, uint32_t index)
{
    return rows->block + index * rows->bytes;
}

static uint32_t row_new(struct rows *rows)
{
    if (rows->free_count)
        return rows->free[--rows->free_count];
    if (rows->count == rows->capacity) {
        size_t next = iso_column_capacity(rows->capacity, (size_t)rows->count + 1);
        rows->block = iso_column_grow(rows->block, rows->capacity * rows->bytes,
                                      iso_list_bytes(next, rows->bytes));
        rows->capacity = (uint32_t)next;
    }
    return rows->count++;
}

static void row_free(struct rows *rows, uint32_t t)
{
    ISO_PUSH(rows->free, rows->free_count, rows->free_capacity, rows->of[t]);
    rows->of[t] = ISO_NONE;
}

/* How many transactions of the chain are visible. */
static inline uint32_t row_get(const struct rows *rows, const char *row, uint32_t chain)
{
    return rows->narrow ? (uint32_t)((const int16_t *)(const void *)row)[chain]
                        : ((const uint32_t *)(const void *)row)[chain];
}

static inline void row_raise(const struct rows *rows, char *row, uint32_t chain, uint32_t least)
{
    if (row_get(rows, row, chain) >= least)
        return;
    if (rows->narrow)
        ((int16_t *)(void *)row)[chain] = (int16_t)least;
    else
        ((uint32_t *)(void *)row)[chain] = least;
}

static void join_wide(uint32_t *restrict row, const uint32_t *restrict other, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++)
        row[i] = row[i] > other[i] ? row[i] : other[i];
}

static void join_narrow(int16_t *restrict row, const int16_t *restrict other, uint32_t width)
{
#if defined(__SSE2__)
    for (uint32_t i = 0; i < width; i += 8) {
        __m128i *to = (__m128i *)(void *)(row + i);
        __m128i more = _mm_loadu_si128((const __m128i *)(const void *)(other + i));
        _mm_storeu_si128(to, _mm_max_epi16(_mm_loadu_si128(to), more));
    }
#else
    for (uint32_t i = 0; i < width; i++)
        row[i] = row[i] > other[i] ? row[i] : other[i];
#endif
}

static void row_join(const struct rows *rows, char *row, const char *other)
{
    if (rows->narrow)
        join_narrow((void *)row, (const void *)other, rows->width);
    else
        join_wide((void *)row, (const void *)other, rows->width);
}

/* ---- notes ---- */

static void note(struct sweeping *sweeping, uint32_t read, uint32_t write)
{
    struct weak *weak = sweeping->weak;
    uint32_t visible = weak->problem.writes.transaction[write], source = read_source(weak, read);
    if (weak->level == ISO_PSI) {
        ISO_PUSH(weak->found.hits, weak->found.hit_count, weak->found.hit_capacity,
                 (struct hit){read, write});
        sweeping->noted++;
        return;
    }
    if (source == ISO_NONE) {
        weak->found.broken_read = read;
        weak->found.broken_by = visible;
        return;
    }
    if (sweeping->told[source] == visible || source == visible)
        return;
    sweeping->told[source] = visible;
    sweeping->noted++;
    weak_order_add_bond(weak,
                        (struct bond){visible, source, BOND_NOTE, read, read_key(weak, read)});
}

/* Versions of the read's key that stand behind the one it saw. */
static uint32_t first_behind(const struct weak *weak, uint32_t read)
{
    uint32_t write = weak->problem.reads.writer[read];
    return write == INITIAL ? 0 : weak->versions.slot[write] + 1;
}

static bool is_behind(const struct weak *weak, uint32_t read, uint32_t write)
{
    return weak->versions.slot[write] != ISO_NONE &&
           weak->versions.slot[write] >= first_behind(weak, read) &&
           weak->versions.slot[write] < weak->versions.filled[read_key(weak, read)];
}

/* ---- by session ---- */

/* Chains one after another, each in the order of its positions. */
static uint32_t *sort_by_chain(const struct weak *weak)
{
    uint32_t n = weak->history->txns.count;
    uint32_t *start = iso_numbers_zero((size_t)weak->chains.count + 1), *sorted = iso_numbers(n);
    for (uint32_t t = 0; t < n; t++) {
        if (weak->chains.part[t])
            start[weak->chains.chain[t] + 1]++;
    }
    iso_running_sums(start, (size_t)weak->chains.count + 1);
    for (uint32_t t = 0; t < n; t++) {
        if (weak->chains.part[t])
            sorted[start[weak->chains.chain[t]] + weak->chains.position[t]] = t;
    }
    iso_free(start);
    return sorted;
}

static void weak_sweep_spans(struct weak *weak)
{
    if (weak->versions.span)
        return;
    uint32_t *sorted = sort_by_chain(weak);
    weak->versions.span = iso_numbers(weak->problem.writes.count);
    uint32_t *end = iso_numbers_copy(weak->versions.key_first, weak->history->keys.count);
    for (uint32_t i = 0; i < weak->chains.part_count; i++) {
        ISO_EACH(write, weak->problem.writes.first, sorted[i])
            weak->versions.span[end[weak->problem.writes.key[write]]++] = write;
    }
    weak->versions.span_end = iso_numbers(weak->problem.writes.count);
    for (uint32_t i = weak->problem.writes.count; i-- > 0;) {
        bool last =
            i + 1 == weak->problem.writes.count ||
            weak->problem.writes.key[weak->versions.span[i]] !=
                weak->problem.writes.key[weak->versions.span[i + 1]] ||
            weak->chains.chain[weak->problem.writes.transaction[weak->versions.span[i]]] !=
                weak->chains.chain[weak->problem.writes.transaction[weak->versions.span[i + 1]]];
        weak->versions.span_end[i] = last ? i + 1 : weak->versions.span_end[i + 1];
    }
    ISO_FREE_ALL(end, sorted);
}

static uint64_t span_name(const struct weak *weak, uint32_t index)
{
    uint32_t t = weak->problem.writes.transaction[weak->versions.span[index]];
    return (uint64_t)weak->chains.chain[t] << 32 | weak->chains.position[t];
}

/* How many of a key's writes, from `low` on, come before that position of a chain. */
static uint32_t span_below(const struct weak *weak, uint32_t key, uint32_t low, uint32_t chain,
                           uint32_t position)
{
    uint32_t high = weak->versions.key_first[key + 1];
    uint64_t name = (uint64_t)chain << 32 | position;
    ISO_BISECT(low, high, middle, span_name(weak, middle) < name);
    return low;
}

/* The last write of the key in a chain, of its first `positions` transactions; ISO_NONE: none. */
static uint32_t latest_of_chain(struct weak *weak, uint32_t key, uint32_t chain, uint32_t positions)
{
    weak_sweep_spans(weak);
    uint32_t at = span_below(weak, key, weak->versions.key_first[key], chain, positions);
    if (at == weak->versions.key_first[key])
        return ISO_NONE;
    uint32_t write = weak->versions.span[at - 1];
    return weak->chains.chain[weak->problem.writes.transaction[write]] == chain ? write : ISO_NONE;
}

static void note_if_behind(struct sweeping *sweeping, uint32_t read, uint32_t write)
{
    if (write != ISO_NONE && is_behind(sweeping->weak, read, write))
        note(sweeping, read, write);
}

/* By row: of each chain the latest visible version. */
static void check_row(struct sweeping *sweeping, uint32_t read, uint32_t low, uint32_t high)
{
    struct weak *weak = sweeping->weak;
    const struct rows *rows = &sweeping->rows;
    const char *row = sweeping->row;
    uint32_t key = read_key(weak, read), first = weak->versions.key_first[key];
    if (high - low <= MANY + CHAIN_WORTH * weak->chains.count) {
        for (uint32_t i = high; i-- > low;) {
            uint32_t write = weak->versions.list[first + i],
                     t = weak->problem.writes.transaction[write], chain = weak->chains.chain[t];
            if (row_get(rows, row, chain) <= weak->chains.position[t] ||
                sweeping->of_chain[chain] == read + 1)
                continue;
            sweeping->of_chain[chain] = read + 1;
            note(sweeping, read, write);
        }
        return;
    }
    weak_sweep_spans(weak);
    for (uint32_t at = first, end = weak->versions.key_first[key + 1]; at < end;
         at = weak->versions.span_end[at]) {
        uint32_t visible =
            row_get(rows, row,
                    weak->chains.chain[weak->problem.writes.transaction[weak->versions.span[at]]]);
        uint32_t low = at, high = weak->versions.span_end[at];
        if (!visible)
            continue;
        ISO_BISECT(
            low, high, middle,
            weak->chains.position[weak->problem.writes.transaction[weak->versions.span[middle]]] <
                visible);
        if (low > at)
            note_if_behind(sweeping, read, weak->versions.span[low - 1]);
    }
}

/* ---- by source ---- */

/* The transaction's write of a key, or ISO_NONE. session_chains.c has sorted them where they are
 * many. */
static uint32_t write_of(const struct weak *weak, uint32_t t, uint32_t key)
{
    uint32_t low = weak->problem.writes.first[t], end = weak->problem.writes.first[t + 1],
             high = end;
    if (high - low > MANY)
        ISO_BISECT(low, high, middle, weak->problem.writes.key[middle] < key);
    while (low < end && weak->problem.writes.key[low] != key && end - low <= MANY)
        low++;
    return low < end && weak->problem.writes.key[low] == key ? low : ISO_NONE;
}

/* Checks the latest version before the reader in its own session. */
static void check_session(struct sweeping *sweeping, uint32_t t, uint32_t read, uint32_t low,
                          uint32_t high)
{
    struct weak *weak = sweeping->weak;
    uint32_t key = read_key(weak, read);
    if (high - low > MANY) {
        note_if_behind(sweeping, read,
                       latest_of_chain(weak, key, weak->chains.chain[t], weak->chains.position[t]));
        return;
    }
    for (uint32_t i = high; i-- > low;) {
        uint32_t write = weak->versions.list[weak->versions.key_first[key] + i];
        if (is_session_before(weak, weak->problem.writes.transaction[write], t)) {
            note(sweeping, read, write);
            return;
        }
    }
}

/* Checks the writers whose mark says that the reader read from them: at rc before this read. */
static void check_sources(struct sweeping *sweeping, uint32_t t, uint32_t read, uint32_t low,
                          uint32_t high)
{
    struct weak *weak = sweeping->weak;
    uint32_t key = read_key(weak, read), first = weak->problem.reads.first[t],
             end = weak->each_read ? read : weak->problem.reads.first[t + 1];
    if (high - low <= MANY || high - low <= end - first) {
        for (uint32_t i = low; i < high; i++) {
            uint32_t write = weak->versions.list[weak->versions.key_first[key] + i];
            if (sweeping->mark[weak->problem.writes.transaction[write]] == t + 1)
                note(sweeping, read, write);
        }
        return;
    }
    for (uint32_t other = first; other < end; other++) {
        uint32_t source = read_source(weak, other);
        if (source != ISO_NONE)
            note_if_behind(sweeping, read, write_of(weak, source, key));
    }
}

/* ---- by what sessions saw ---- */

struct named {
    uint64_t name;
    uint32_t position, write;
};

/* Chains one after another, each in the order of positions; stable counting sorts by key and by
 * chain then. */
static void seen_build(struct seen *seen, struct weak *weak)
{
    uint32_t n = weak->history->txns.count;
    uint32_t *stamp = iso_numbers_zero(n);
    struct named *items = NULL;
    size_t count = 0, capacity = 0;
    uint32_t *sorted = sort_by_chain(weak);
    for (uint32_t i = 0; i < weak->chains.part_count; i++) {
        uint32_t t = sorted[i];
        ISO_EACH(read, weak->problem.reads.first, t) {
            uint32_t source = read_source(weak, read);
            if (source == ISO_NONE || stamp[source] == weak->chains.chain[t] + 1)
                continue;
            stamp[source] = weak->chains.chain[t] + 1;
            ISO_EACH(write, weak->problem.writes.first, source) {
                if (count == capacity) {
                    capacity = 2 * capacity + 1024;
                    items = iso_reallocate(items, capacity * sizeof *items);
                }
                items[count++] = (struct named){(uint64_t)weak->chains.chain[t] << 32 |
                                                    weak->problem.writes.key[write],
                                                weak->chains.position[t], write};
            }
        }
    }
    /* by key, stable, then by chain: two passes of a counting sort */
    struct named *other = iso_allocate((count + 1) * sizeof *other);
    uint32_t *first = iso_numbers_zero((size_t)weak->history->keys.count + weak->chains.count + 1);
    for (int pass = 0; pass < 2; pass++) {
        uint32_t kinds = pass ? weak->chains.count : weak->history->keys.count;
        memset(first, 0, ((size_t)kinds + 1) * sizeof *first);
        for (size_t i = 0; i < count; i++)
            first[(pass ? (uint32_t)(items[i].name >> 32) : (uint32_t)items[i].name) + 1]++;
        iso_running_sums(first, (size_t)kinds + 1);
        for (size_t i = 0; i < count; i++)
            other[first[pass ? (uint32_t)(items[i].name >> 32) : (uint32_t)items[i].name]++] =
                items[i];
        struct named *swapped = items;
        items = other;
        other = swapped;
    }
    seen->count = (uint32_t)count;
    seen->name = iso_allocate((count + 1) * sizeof *seen->name);
    seen->position = iso_numbers(count);
    seen->write = iso_numbers(count);
    seen->best = iso_numbers(count);
    for (size_t i = 0; i < count; i++) {
        const struct named *item = &items[i];
        uint32_t best = item->write;
        if (i && items[i - 1].name == item->name &&
            weak->order.position[weak->problem.writes.transaction[seen->best[i - 1]]] >
                weak->order.position[weak->problem.writes.transaction[best]])
            best = seen->best[i - 1];
        seen->name[i] = item->name;
        seen->position[i] = item->position;
        seen->write[i] = item->write;
        seen->best[i] = best;
    }
    ISO_FREE_ALL(items, other, first, sorted, stamp);
}

/* Checks the versions of the key that the first `positions` transactions of a chain saw. */
static void check_seen(struct sweeping *sweeping, uint32_t read, uint32_t chain, uint32_t positions)
{
    const struct seen *seen = &sweeping->seen;
    uint64_t name = (uint64_t)chain << 32 | read_key(sweeping->weak, read);
    uint32_t low = 0, high = seen->count;
    ISO_BISECT(low, high, middle,
               seen->name[middle] < name ||
                   (seen->name[middle] == name && seen->position[middle] < positions));
    if (low && seen->name[low - 1] == name)
        note_if_behind(sweeping, read, seen->best[low - 1]);
}

/* ---- levels ---- */

static void mark_source(struct sweeping *sweeping, uint32_t t, uint32_t read)
{
    uint32_t source = read_source(sweeping->weak, read);
    if (source != ISO_NONE)
        sweeping->mark[source] = t + 1;
}

static void check_read(struct sweeping *sweeping, uint32_t t, uint32_t read)
{
    struct weak *weak = sweeping->weak;
    if (weak->problem.reads.writer[read] == OPEN)
        return;
    uint32_t low = first_behind(weak, read), high = weak->versions.filled[read_key(weak, read)];
    if (low >= high)
        return;
    switch (weak->level) {
    case ISO_RC:
        check_sources(sweeping, t, read, low, high);
        break;
    case ISO_RA:
        check_session(sweeping, t, read, low, high);
        check_sources(sweeping, t, read, low, high);
        break;
    case ISO_RYW:
        check_session(sweeping, t, read, low, high);
        break;
    case ISO_MR:
        check_seen(sweeping, read, weak->chains.chain[t], weak->chains.position[t]);
        break;
    case ISO_WFR:
        ISO_EACH(other, weak->problem.reads.first, t) {
            uint32_t source = read_source(weak, other);
            uint32_t last = source != ISO_NONE && is_unknown(weak, source)
                                ? weak->chains.before[source]
                                : source;
            if (last != ISO_NONE)
                check_seen(sweeping, read, weak->chains.chain[last],
                           weak->chains.position[last] + 1);
        }
        break;
    default:
        check_row(sweeping, read, low, high);
    }
}

/* Raises the row by the transactions before the sources in their sessions, and by the sources
 * themselves if `inclusive`. */
static void raise_by_sources(const struct sweeping *sweeping, uint32_t t, char *row, bool inclusive)
{
    const struct weak *weak = sweeping->weak;
    ISO_EACH(read, weak->problem.reads.first, t) {
        uint32_t source = read_source(weak, read);
        if (source == ISO_NONE)
            continue;
        if (is_unknown(weak, source) && weak->chains.before[source] != ISO_NONE)
            row_raise(&sweeping->rows, row, weak->chains.chain[weak->chains.before[source]],
                      weak->chains.position[weak->chains.before[source]] + 1);
        row_raise(&sweeping->rows, row, weak->chains.chain[source],
                  weak->chains.position[source] + inclusive);
    }
}

/* Each transaction has a row of its own, until nobody asks for it. */
static bool has_row_each(const struct weak *weak)
{
    return weak->level == ISO_CC || weak->level == ISO_PSI;
}

static void join_from(struct sweeping *sweeping, uint32_t from)
{
    const struct weak *weak = sweeping->weak;
    struct rows *rows = &sweeping->rows;
    char *row = sweeping->row;
    if (row_get(rows, row, weak->chains.chain[from]) <=
        weak->chains.position[from]) { /* else it was visible, and what it saw */
        row_join(rows, row, row_at(rows, rows->of[from]));
        row_raise(rows, row, weak->chains.chain[from], weak->chains.position[from] + 1);
    }
    if (!--rows->left[from])
        row_free(rows, from);
}

/* psi: whose versions the transaction overwrites. The last one saw those before. */
static void join_overwritten(struct sweeping *sweeping, uint32_t t)
{
    const struct weak *weak = sweeping->weak;
    ISO_EACH(write, weak->problem.writes.first, t) {
        uint32_t key = weak->problem.writes.key[write], count = weak->versions.filled[key];
        if (count)
            join_from(
                sweeping,
                weak->problem.writes
                    .transaction[weak->versions.list[weak->versions.key_first[key] + count - 1]]);
    }
}

/* The row of the reader: whoever passes on what it is visible to is done with it. */
static void enter_row(struct sweeping *sweeping, uint32_t t)
{
    struct weak *weak = sweeping->weak;
    struct rows *rows = &sweeping->rows;
    if (weak->level == ISO_PRAM) {
        memcpy(sweeping->row, sweeping->chain_row + weak->chains.chain[t] * rows->bytes,
               rows->bytes);
        raise_by_sources(sweeping, t, sweeping->row, false);
        return;
    }
    if (weak->level == ISO_MW) {
        memset(sweeping->row, 0, rows->bytes);
        raise_by_sources(sweeping, t, sweeping->row, false);
        return;
    }
    uint32_t index = row_new(rows), before = weak->chains.before[t];
    char *row = row_at(rows, index);
    rows->of[t] = index;
    sweeping->row = row;
    if (before == ISO_NONE) {
        memset(row, 0, rows->bytes);
    } else {
        memcpy(row, row_at(rows, rows->of[before]), rows->bytes);
        row_raise(rows, row, weak->chains.chain[before], weak->chains.position[before] + 1);
        if (!--rows->left[before])
            row_free(rows, before);
    }
    ISO_EACH(read, weak->problem.reads.first, t) {
        uint32_t source = read_source(weak, read);
        if (source != ISO_NONE)
            join_from(sweeping, source);
    }
    if (weak->level == ISO_PSI)
        join_overwritten(sweeping, t);
}

static void leave_row(struct sweeping *sweeping, uint32_t t)
{
    struct weak *weak = sweeping->weak;
    struct rows *rows = &sweeping->rows;
    if (weak->level == ISO_PRAM && !is_unknown(weak, t)) {
        char *row = sweeping->chain_row + weak->chains.chain[t] * rows->bytes;
        row_raise(rows, row, weak->chains.chain[t], weak->chains.position[t] + 1);
        raise_by_sources(sweeping, t, row, true);
    } else if (has_row_each(weak) && !rows->left[t]) {
        row_free(rows, t);
    }
}

/* Where the versions stand that a transaction further on read from: far apart in memory, so they
 * are fetched meanwhile. */
static void fetch_ahead(const struct weak *weak, uint32_t t)
{
    ISO_EACH(read, weak->problem.reads.first, t) {
        if (has_source(weak, read)) {
            __builtin_prefetch(&weak->versions.slot[weak->problem.reads.writer[read]]);
            __builtin_prefetch(&weak->problem.writes.transaction[weak->problem.reads.writer[read]]);
        }
    }
}

static void check_transaction(struct sweeping *sweeping, uint32_t t)
{
    struct weak *weak = sweeping->weak;
    uint32_t first = weak->problem.reads.first[t], end = weak->problem.reads.first[t + 1];
    if (sweeping->rows.width)
        enter_row(sweeping, t);
    for (uint32_t read = first; read < end && weak->level == ISO_RA; read++)
        mark_source(sweeping, t, read);
    for (uint32_t read = first; read < end; read++) {
        check_read(sweeping, t, read);
        if (weak->level == ISO_RC)
            mark_source(sweeping, t, read);
    }
    ISO_EACH(write, weak->problem.writes.first, t) {
        uint32_t key = weak->problem.writes.key[write];
        weak->versions.slot[write] = weak->versions.filled[key];
        weak->versions.list[weak->versions.key_first[key] + weak->versions.filled[key]++] = write;
        if (weak->level == ISO_PSI &&
            weak->versions.filled[key] <
                weak->versions.key_first[key + 1] - weak->versions.key_first[key])
            sweeping->rows.left[t]++; /* whoever overwrites it */
    }
    if (sweeping->rows.width)
        leave_row(sweeping, t);
}

/* ---- the whole ---- */

static void versions_start(struct weak *weak)
{
    uint32_t keys = weak->history->keys.count;
    if (!weak->versions.key_first) {
        weak->versions.key_first = iso_numbers_zero((size_t)keys + 1);
        weak->versions.filled = iso_numbers(keys);
        weak->versions.list = iso_numbers(weak->problem.writes.count);
        weak->versions.slot = iso_numbers(weak->problem.writes.count);
        for (uint32_t write = 0; write < weak->problem.writes.count; write++)
            weak->versions.key_first[weak->problem.writes.key[write] + 1]++;
        iso_running_sums(weak->versions.key_first, (size_t)keys + 1);
    }
    memset(weak->versions.filled, 0, ((size_t)keys + 1) * sizeof *weak->versions.filled);
    memset(weak->versions.slot, 0xff,
           ((size_t)weak->problem.writes.count + 1) * sizeof *weak->versions.slot);
}

static void start_rows(struct sweeping *sweeping)
{
    struct weak *weak = sweeping->weak;
    struct rows *rows = &sweeping->rows;
    uint32_t n = weak->history->txns.count;
    rows->width = (weak->chains.count + 7) & ~7u;
    rows->narrow = true;
    for (uint32_t t = 0; t < n && rows->narrow; t++)
        rows->narrow = !weak->chains.part[t] || weak->chains.position[t] < LONGEST_NARROW;
    rows->bytes = rows->width * (rows->narrow ? sizeof(int16_t) : sizeof(uint32_t));
    sweeping->of_chain = iso_numbers_zero(weak->chains.count);
    if (weak->level == ISO_PRAM)
        sweeping->chain_row = iso_allocate_zeroed((size_t)weak->chains.count + 1, rows->bytes);
    if (!has_row_each(weak)) {
        sweeping->row = iso_allocate(rows->bytes);
        return;
    }
    rows->of = iso_numbers_none(n);
    rows->left = iso_numbers_zero(n);
    for (uint32_t t = 0; t < n; t++) {
        if (!weak->chains.part[t])
            continue;
        rows->left[t] += weak->order.reader_first[t + 1] - weak->order.reader_first[t];
        if (weak->chains.before[t] != ISO_NONE)
            rows->left[weak->chains.before[t]]++;
    }
}

static void release_sweeping(struct sweeping *sweeping)
{
    if (!has_row_each(sweeping->weak))
        iso_free(sweeping->row);
    iso_column_free(sweeping->rows.block, sweeping->rows.capacity * sweeping->rows.bytes);
    ISO_FREE_ALL(sweeping->rows.free, sweeping->rows.of, sweeping->rows.left, sweeping->chain_row,
                 sweeping->mark, sweeping->told, sweeping->of_chain, sweeping->seen.name,
                 sweeping->seen.position, sweeping->seen.write, sweeping->seen.best);
}

bool weak_sweep(struct weak *weak)
{
    enum { LOOK_EVERY = 4096, AHEAD = 6, MANY_HITS = 1 << 16 };
    uint32_t n = weak->history->txns.count;
    struct sweeping sweeping = {.weak = weak};
    weak->found.hit_count = 0;
    bool by_row = has_row_each(weak) || weak->level == ISO_PRAM || weak->level == ISO_MW;
    if (weak->level == ISO_ADYA_RC)
        return false;
    versions_start(weak);
    sweeping.told = iso_numbers_none(n);
    if (weak->level == ISO_RC || weak->level == ISO_RA)
        sweeping.mark = iso_numbers_zero(n);
    if (weak->level == ISO_MR || weak->level == ISO_WFR)
        seen_build(&sweeping.seen, weak);
    if (by_row)
        start_rows(&sweeping);
    for (uint32_t i = 0; i < weak->chains.part_count && weak->found.broken_read == ISO_NONE &&
                         weak->found.hit_count < MANY_HITS;
         i++) {
        if (i % LOOK_EVERY == 0 && budget_is_spent(&weak->budget))
            break;
        if (i + AHEAD < weak->chains.part_count)
            fetch_ahead(weak, weak->order.list[i + AHEAD]);
        check_transaction(&sweeping, weak->order.list[i]);
    }
    release_sweeping(&sweeping);
    return sweeping.noted || weak->found.broken_read != ISO_NONE;
}

void weak_sweep_release(struct weak *weak)
{
    ISO_FREE_ALL(weak->versions.key_first, weak->versions.filled, weak->versions.list,
                 weak->versions.slot, weak->versions.span, weak->versions.span_end);
}
