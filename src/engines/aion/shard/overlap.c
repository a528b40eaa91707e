#include "aion/shard/overlap.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "base/sorted.h"

enum { LATEST = 64, LEVELS = 32, WORD = 64 };

struct point {
    uint64_t start_bound, time;
};

/* One bit of each rank, in the order in which the bits above have left the points. */
struct bits {
    uint64_t word;
    uint32_t ones; /* in the words before */
};

struct level {
    struct point *points; /* by `opened` */
    uint64_t *times;      /* sorted; the rank of a point is where its time begins */
    struct bits *bits;    /* `depth` rows of `words` */
    uint32_t *zeros;      /* by row */
    uint32_t count, depth, words;
};

struct aion_overlaps {
    struct point latest[LATEST];
    uint32_t latest_count, size;
    struct level levels[LEVELS]; /* the longest first */
    uint32_t level_count;
    uint64_t *steps; /* not in the struct, since looking counts, too */
};

struct aion_overlaps *aion_overlaps_new(void)
{
    struct aion_overlaps *overlaps = iso_allocate_zeroed(1, sizeof *overlaps);
    overlaps->steps = iso_allocate_zeroed(1, sizeof *overlaps->steps);
    return overlaps;
}

static void free_level(struct level *level)
{
    ISO_FREE_ALL(level->points, level->times, level->bits, level->zeros);
}

void aion_overlaps_free(struct aion_overlaps *overlaps)
{
    if (!overlaps)
        return;
    for (uint32_t i = 0; i < overlaps->level_count; i++)
        free_level(&overlaps->levels[i]);
    ISO_FREE_ALL(overlaps->steps, overlaps);
}

uint32_t aion_overlaps_size(const struct aion_overlaps *overlaps)
{
    return overlaps->size;
}

uint64_t aion_overlaps_steps(const struct aion_overlaps *overlaps)
{
    return *overlaps->steps;
}

/* ---- one array ---- */

/* The first of sorted times that is not below `time`. */
static uint32_t rank_of(const struct level *level, uint64_t time)
{
    uint32_t low = 0, high = level->count;
    ISO_BISECT(low, high, middle, level->times[middle] < time);
    return low;
}

/* How many points begin at or below `time`. */
static uint32_t begun_by(const struct level *level, uint64_t time)
{
    uint32_t low = 0, high = level->count;
    ISO_BISECT(low, high, middle, level->points[middle].start_bound <= time);
    return low;
}

static uint32_t ones_before(const struct bits *row, uint32_t bit)
{
    const struct bits *bits = &row[bit / WORD];
    uint64_t below = bit % WORD ? bits->word & (UINT64_MAX >> (WORD - bit % WORD)) : 0;
    return bits->ones + (uint32_t)__builtin_popcountll(below);
}

/* How many of the first `count` points have a rank that is not below `rank`. */
static uint64_t count_from(const struct level *level, uint32_t count, uint32_t rank)
{
    uint32_t low = 0, high = count;
    uint64_t found = 0;
    if (rank >= level->count)
        return 0;
    for (uint32_t depth = 0; depth < level->depth && low < high; depth++) {
        const struct bits *row = level->bits + (size_t)depth * level->words;
        uint32_t ones_low = ones_before(row, low), ones_high = ones_before(row, high);
        if (rank >> (level->depth - 1 - depth) & 1) {
            low = level->zeros[depth] + ones_low;
            high = level->zeros[depth] + ones_high;
        } else {
            found += ones_high - ones_low;
            low -= ones_low;
            high -= ones_high;
        }
    }
    return found + (high - low);
}

/* A row of bits, by which ranks are then parted in place of `ranks`. */
static void add_row(struct level *level, uint32_t depth, uint32_t *ranks, uint32_t *room)
{
    struct bits *row = level->bits + (size_t)depth * level->words;
    uint32_t shift = level->depth - 1 - depth, zeros = 0, ones = 0;
    for (uint32_t i = 0; i < level->count; i++) {
        if (i % WORD == 0)
            row[i / WORD] = (struct bits){0, ones};
        if (ranks[i] >> shift & 1) {
            row[i / WORD].word |= (uint64_t)1 << i % WORD;
            room[ones++] = ranks[i];
        } else {
            ranks[zeros++] = ranks[i];
        }
    }
    if (level->count % WORD == 0)
        row[level->count / WORD] = (struct bits){0, ones};
    memcpy(ranks + zeros, room, ones * sizeof *ranks);
    level->zeros[depth] = zeros;
}

/* `points` and `times` are there, sorted. */
static void finish_level(struct level *level)
{
    while (level->count > (uint32_t)1 << level->depth)
        level->depth++;
    level->words = level->count / WORD + 1;
    level->bits = iso_allocate(((size_t)level->depth * level->words + 1) * sizeof *level->bits);
    level->zeros = iso_allocate((level->depth + 1) * sizeof *level->zeros);
    uint32_t *ranks = iso_allocate(2 * (size_t)level->count * sizeof *ranks);
    for (uint32_t i = 0; i < level->count; i++)
        ranks[i] = rank_of(level, level->points[i].time);
    for (uint32_t depth = 0; depth < level->depth; depth++)
        add_row(level, depth, ranks, ranks + level->count);
    iso_free(ranks);
}

/* ---- the set ---- */

static struct level merge_levels(struct level *left, struct level *right)
{
    struct level both = {.count = left->count + right->count};
    both.points = iso_allocate(both.count * sizeof *both.points);
    both.times = iso_allocate(both.count * sizeof *both.times);
    for (uint32_t i = 0, l = 0, r = 0; i < both.count; i++) {
        bool from_left = r == right->count || (l < left->count && left->points[l].start_bound <=
                                                                      right->points[r].start_bound);
        both.points[i] = from_left ? left->points[l++] : right->points[r++];
    }
    for (uint32_t i = 0, l = 0, r = 0; i < both.count; i++) {
        bool from_left =
            r == right->count || (l < left->count && left->times[l] <= right->times[r]);
        both.times[i] = from_left ? left->times[l++] : right->times[r++];
    }
    free_level(left);
    free_level(right);
    return both;
}

static struct level sorted_latest(const struct aion_overlaps *overlaps)
{
    struct level level = {.count = overlaps->latest_count};
    level.points = iso_allocate(level.count * sizeof *level.points);
    level.times = iso_allocate(level.count * sizeof *level.times);
    for (uint32_t i = 0; i < level.count; i++) { /* insertion: they are few */
        uint32_t at = i;
        for (; at && level.points[at - 1].start_bound > overlaps->latest[i].start_bound; at--)
            level.points[at] = level.points[at - 1];
        level.points[at] = overlaps->latest[i];
        for (at = i; at && level.times[at - 1] > overlaps->latest[i].time; at--)
            level.times[at] = level.times[at - 1];
        level.times[at] = overlaps->latest[i].time;
    }
    return level;
}

static void put_latest_away(struct aion_overlaps *overlaps)
{
    struct level level = sorted_latest(overlaps);
    while (overlaps->level_count &&
           overlaps->levels[overlaps->level_count - 1].count < 2 * level.count) {
        level = merge_levels(&overlaps->levels[overlaps->level_count - 1], &level);
        overlaps->level_count--;
        *overlaps->steps += level.count;
    }
    finish_level(&level);
    *overlaps->steps += (uint64_t)level.count * (level.depth + 1);
    overlaps->levels[overlaps->level_count++] = level;
    overlaps->latest_count = 0;
}

void aion_overlaps_add(struct aion_overlaps *overlaps, uint64_t start_bound, uint64_t time,
                       int counts)
{
    overlaps->size++;
    if (!counts)
        return;
    overlaps->latest[overlaps->latest_count++] = (struct point){start_bound, time};
    if (overlaps->latest_count == LATEST)
        put_latest_away(overlaps);
}

uint64_t aion_overlaps_count(const struct aion_overlaps *overlaps, uint64_t start_bound,
                             uint64_t time, uint64_t from, uint64_t to)
{
    uint64_t found = 0;
    from = from > start_bound ? from : start_bound;
    if (from > to)
        return 0;
    for (uint32_t i = 0; i < overlaps->latest_count; i++) {
        const struct point *latest = &overlaps->latest[i];
        found += latest->start_bound <= time && latest->time >= from && latest->time <= to;
    }
    *overlaps->steps += overlaps->latest_count;
    for (uint32_t i = 0; i < overlaps->level_count; i++) {
        const struct level *level = &overlaps->levels[i];
        uint32_t begun = begun_by(level, time);
        uint32_t above = to == UINT64_MAX ? level->count : rank_of(level, to + 1);
        found += count_from(level, begun, rank_of(level, from)) - count_from(level, begun, above);
        *overlaps->steps += 5 * (uint64_t)level->depth;
    }
    return found;
}
