/* aion with a store against aion without: every key and every old version leaves memory as soon as
 * it can, and what is told must be the same, event by event. With a retention besides, nothing may
 * be told as final that is not told without, and where less is told, reads, writes or sessions are
 * counted as undecided.
 *
 * Streams of some hundred transactions on few keys, so that there are many versions of each:
 * overlapping writers, reads of the right version, of an older one and of nothing that was ever
 * written, keys that are not written to any more, whose records are compacted in the spill file
 * (aion/compact.c), transactions that started long ago, aborted ones, unknown ones whose outcome is
 * reported later, values that are numbers and texts, a key that is a list. Arrival in groups, out
 * of order, or in order and a whole group at once, whose keys are looked up together; watermarks
 * that lag; a retention or none; one to three shards, some on threads.
 *
 * aion_spilling [--histories N] [--seed S]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aion/aion.h"
#include "base/team.h"
#include "tests/support/arguments.h"
#include "tests/support/random.h"
#include "tests/support/temporary.h"

enum {
    DEFAULT_HISTORIES = 400,
    TRANSACTIONS = 300,
    KEYS = 12,
    HOT = 5,
    VERSIONS = 2000,
    GROUP = 24,
    AT_ONCE = 200,
    REPORTS = 3
};

/* What one engine told: a digest of each event, in order. */
struct told {
    uint64_t *digests;
    uint32_t count, capacity;
    uint64_t *finals; /* ids, of the same capacity */
    uint32_t final_count;
};

struct engine {
    struct iso_aion *aion;
    struct told told;
    struct iso_aion_stats stats;
};

struct version {
    uint64_t cts;
    iso_atom value; /* of the block */
};

struct stream {
    struct random random;
    struct iso_history block;
    struct engine engines[2]; /* without a store, with one */
    struct version versions[KEYS][VERSIONS];
    uint32_t version_count[KEYS];
    uint32_t order[TRANSACTIONS];
    uint64_t sts[TRANSACTIONS], cts[TRANSACTIONS];
    bool unknown[TRANSACTIONS], arrived[TRANSACTIONS];
    uint64_t retention;
    struct iso_team *team; /* for the shards of the engine with a store */
    bool moves;            /* who is written to: not the same keys all the time */
    bool at_once;          /* groups come as a whole */
};

static uint64_t fold(uint64_t digest, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return digest;
}

static uint64_t fold_value(uint64_t digest, const struct iso_aion_value *value)
{
    for (uint32_t i = 0; i < value->count; i++) {
        char buffer[ISO_ATOM_TEXT_MAX];
        size_t length = 0;
        const char *text = "";
        if (value->elements[i] != ISO_ABSENT)
            text = iso_atom_text(value->atoms, value->elements[i], buffer, &length);
        digest = fold(fold(digest, text, length), &length, sizeof length);
    }
    return digest;
}

static void note(void *context, const struct iso_aion_event *event)
{
    struct told *told = context;
    const struct iso_aion_party *parties[] = {&event->transaction, &event->other,
                                              &event->writer_expected, &event->writer_actual,
                                              &event->cause};
    uint64_t digest = fold(event->id, &event->kind, sizeof event->kind);
    digest = fold(digest, &event->state, sizeof event->state);
    digest = fold(digest, &event->operation, sizeof event->operation);
    for (size_t i = 0; i < sizeof parties / sizeof *parties; i++) {
        digest = fold(digest, &parties[i]->tid, sizeof parties[i]->tid);
        digest = fold(digest, &parties[i]->origin, sizeof parties[i]->origin);
        digest = fold(digest, &parties[i]->sts, sizeof parties[i]->sts);
    }
    digest = fold_value(fold_value(digest, &event->expected), &event->actual);
    if (told->count == told->capacity) {
        told->capacity = told->capacity ? told->capacity * 2 : 256;
        told->digests = realloc(told->digests, told->capacity * sizeof *told->digests);
        told->finals = realloc(told->finals, told->capacity * sizeof *told->finals);
    }
    told->digests[told->count++] = digest;
    if (event->state == ISO_AION_FINAL)
        told->finals[told->final_count++] = event->id;
}

/* ---- a stream ---- */

static iso_atom new_value(struct stream *stream, uint32_t number)
{
    char text[80];
    if (random_percent(&stream->random, 40))
        return number;
    int length =
        snprintf(text, sizeof text, "value %*u", (int)random_below(&stream->random, 60), number);
    return iso_atoms_add_string(&stream->block.atoms, text, (size_t)length);
}

/* Of the version below `bound`, an older one, or none that was written. */
static iso_atom value_to_read(struct stream *stream, uint32_t key, uint64_t bound)
{
    const struct version *versions = stream->versions[key];
    uint32_t visible = 0;
    for (uint32_t i = 0; i < stream->version_count[key]; i++) {
        if (versions[i].cts < bound && (!visible || versions[i].cts >= versions[visible - 1].cts))
            visible = i + 1;
    }
    if (random_percent(&stream->random, 2))
        return 1000000 + random_below(&stream->random, 10);
    if (visible && random_percent(&stream->random, 2))
        visible = random_below(&stream->random, visible);
    return visible ? versions[visible - 1].value : ISO_ABSENT;
}

/* Whoever has been running for long reads any key that there may be. */
static uint32_t draw_key(struct stream *stream, uint32_t t, bool reader)
{
    uint32_t first = stream->moves ? t * (KEYS - HOT) / TRANSACTIONS : 0;
    return reader ? random_below(&stream->random, first + HOT)
                  : first + random_below(&stream->random, HOT);
}

static void add_operations(struct stream *stream, uint32_t t, uint8_t status, enum iso_level level)
{
    struct iso_history *block = &stream->block;
    uint64_t bound = level == ISO_SER ? stream->cts[t] : stream->sts[t] + 1;
    bool reader = stream->cts[t] - stream->sts[t] > 50;
    for (uint32_t left = 1 + random_below(&stream->random, 4); left; left--) {
        uint32_t key = draw_key(stream, t, reader);
        iso_atom name =
            key % 2 ? key : iso_atoms_add_string(&block->atoms, &"abcdefghijkl"[key], 1);
        if (reader || random_percent(&stream->random, 50)) {
            iso_history_operation(block, ISO_READ, name, value_to_read(stream, key, bound));
            continue;
        }
        iso_atom value = new_value(stream, t * 8 + left);
        iso_history_operation(block, ISO_WRITE, name, value);
        if (status == ISO_COMMITTED && stream->version_count[key] < VERSIONS)
            stream->versions[key][stream->version_count[key]++] =
                (struct version){stream->cts[t], value};
    }
    if (!reader && random_percent(&stream->random, 20))
        iso_history_operation(block, ISO_APPEND, iso_atoms_add_string(&block->atoms, "list", 4), t);
}

static void make_block(struct stream *stream, enum iso_level level)
{
    struct iso_history *block = &stream->block;
    uint64_t time = 100;
    for (uint32_t t = 0; t < TRANSACTIONS; t++) {
        bool old = random_percent(&stream->random, 5);
        uint8_t status = ISO_COMMITTED;
        time += 1 + random_below(&stream->random, 4);
        stream->cts[t] = time;
        stream->sts[t] = time - 1 - random_below(&stream->random, old ? (uint32_t)time - 1 : 12);
        stream->unknown[t] = !old && random_percent(&stream->random, 3);
        if (stream->unknown[t])
            status = ISO_UNKNOWN;
        else if (random_percent(&stream->random, 4))
            status = ISO_ABORTED;
        uint32_t number = iso_history_begin(block, t, t % 9, status, iso_origin(0, t));
        iso_history_set_sts(block, (struct iso_stamp){.physical = stream->sts[t]});
        if (status == ISO_COMMITTED)
            iso_history_set_cts(block, (struct iso_stamp){.physical = stream->cts[t]});
        if (old)
            block->txns.session[number] = ISO_NONE;
        add_operations(stream, t, stream->unknown[t] ? ISO_COMMITTED : status, level);
    }
}

static void open_engines(struct stream *stream, enum iso_level level)
{
    struct iso_aion_options options;
    iso_aion_options_init(&options);
    options.level = level;
    options.shards = 1 + random_below(&stream->random, 3);
    options.finality_timeout_ms = 0;
    options.settle_ms = random_percent(&stream->random, 50) ? 0 : 100;
    options.host.settle_untimed = true;
    options.forced.spill_segment_bits = 12; /* so that there are many, and some are cleaned */
    options.host.emit = note;
    bool threads = random_percent(&stream->random, 10);
    for (int i = 0; i < 2; i++) {
        options.host.context = &stream->engines[i].told;
        options.spill = i ? temporary_folder_in_memory() : NULL;
        options.forced.spill_all = i;
        options.host.run_shards = i && threads ? iso_team_run : NULL;
        options.host.runner = stream->team;
        options.retention = i ? stream->retention : ISO_AION_FOREVER;
        stream->engines[i].aion = iso_aion_new(&options);
        iso_aion_block(stream->engines[i].aion, &stream->block);
    }
}

static void take(struct stream *stream, uint32_t first, uint32_t count)
{
    struct iso_error error = {.status = ISO_OK};
    for (int i = 0; i < 2; i++) {
        if (iso_aion_add(stream->engines[i].aion, first, count, 0, NULL, &error) != ISO_OK) {
            printf("# add: %s\n", error.text);
            abort();
        }
    }
    for (uint32_t t = first; t < first + count; t++)
        stream->arrived[t] = true;
}

static void take_out_of_order(struct stream *stream, uint32_t first, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = first + random_below(&stream->random, i),
                 held = stream->order[first + i - 1];
        stream->order[first + i - 1] = stream->order[other];
        stream->order[other] = held;
    }
    for (uint32_t i = first; i < first + count; i++)
        take(stream, stream->order[i], 1);
}

static void resolve(struct stream *stream, uint32_t t)
{
    bool committed = t % 3;
    for (int i = 0; i < 2; i++)
        iso_aion_resolve(stream->engines[i].aion, &stream->block.atoms, t, committed,
                         stream->cts[t], 0);
    stream->unknown[t] = false;
}

/* Nothing that has not come commits at or below. */
static void pass_watermark(struct stream *stream)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t t = 0; t < TRANSACTIONS; t++) {
        if ((!stream->arrived[t] || stream->unknown[t]) && stream->cts[t] < least)
            least = stream->cts[t];
    }
    for (int i = 0; i < 2 && least != UINT64_MAX; i++)
        iso_aion_watermark(stream->engines[i].aion, least - 1, 0);
}

/* Groups arrive in order, their members do not, or all at once. */
static void stream_all(struct stream *stream)
{
    for (uint32_t first = 0, count; first < TRANSACTIONS; first += count) {
        count = 1 + random_below(&stream->random, stream->at_once ? AT_ONCE : GROUP);
        count = count < TRANSACTIONS - first ? count : TRANSACTIONS - first;
        if (stream->at_once)
            take(stream, first, count);
        else
            take_out_of_order(stream, first, count);
        for (uint32_t t = 0; t < first; t++) {
            if (stream->unknown[t] && random_percent(&stream->random, 30))
                resolve(stream, t);
        }
        pass_watermark(stream);
    }
    for (int i = 0; i < 2; i++) {
        iso_aion_end(stream->engines[i].aion, 0);
        iso_aion_stats(stream->engines[i].aion, &stream->engines[i].stats);
    }
}

static bool same(const struct engine *one, const struct engine *other)
{
    const struct iso_aion_stats *a = &one->stats, *b = &other->stats;
    return one->told.count == other->told.count &&
           (!one->told.count || !memcmp(one->told.digests, other->told.digests,
                                        one->told.count * sizeof *one->told.digests)) &&
           a->keys == b->keys && a->reads_judged == b->reads_judged &&
           a->reads_unjudged == b->reads_unjudged && a->reads_undecided == b->reads_undecided &&
           a->writes_undecided == b->writes_undecided && a->flipped == b->flipped &&
           !memcmp(a->counts, b->counts, sizeof a->counts);
}

static int compare_ids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void sort_finals(struct told *told)
{
    if (told->final_count)
        qsort(told->finals, told->final_count, sizeof *told->finals, compare_ids);
}

/* `other`, which lets things go, tells nothing final that `one` does not. */
static bool is_part(struct engine *one, struct engine *other)
{
    const struct iso_aion_stats *stats = &other->stats;
    uint64_t undecided = stats->reads_undecided + stats->writes_undecided +
                         stats->sessions_undecided + stats->beyond_retention +
                         stats->aged_unknown; /* what they may have written is unjudged */
    struct told *all = &one->told, *part = &other->told;
    uint32_t at = 0;
    sort_finals(all);
    sort_finals(part);
    for (uint32_t i = 0; i < part->final_count; i++, at++) {
        while (at < all->final_count && all->finals[at] < part->finals[i])
            at++;
        if (at == all->final_count || all->finals[at] != part->finals[i])
            return false;
    }
    return undecided || all->final_count == part->final_count;
}

/* ---- many ---- */

struct totals {
    struct iso_team *team;
    uint64_t events, evicted, misses, cut, joined, old_reads, expired, undecided;
};

static bool agree(uint64_t seed, enum iso_level level, struct totals *totals)
{
    struct stream *stream = calloc(1, sizeof *stream);
    stream->random = (struct random){seed * 2 + level};
    stream->team = totals->team;
    stream->moves = random_percent(&stream->random, 50);
    stream->at_once = random_percent(&stream->random, 25);
    stream->retention = ISO_AION_FOREVER;
    if (random_percent(&stream->random, 50))
        stream->retention = random_below(&stream->random, stream->moves ? 250 : 400);
    for (uint32_t t = 0; t < TRANSACTIONS; t++)
        stream->order[t] = t;
    iso_history_init(&stream->block);
    stream->block.clock = ISO_CLOCK_SCALAR;
    make_block(stream, level);
    open_engines(stream, level);
    stream_all(stream);
    bool good = stream->retention == ISO_AION_FOREVER
                    ? same(&stream->engines[0], &stream->engines[1])
                    : is_part(&stream->engines[0], &stream->engines[1]);
    const struct iso_aion_stats *stats = &stream->engines[1].stats;
    totals->events += stream->engines[1].told.count;
    totals->evicted += stats->spilt.evicted;
    totals->misses += stats->spilt.misses;
    totals->cut += stats->spilt.paged_out;
    totals->joined += stats->spilt.paged_in;
    totals->old_reads += stats->spilt.old_reads;
    totals->expired += stats->spilt.compacted;
    totals->undecided += stats->reads_undecided;
    if (!good)
        printf("# seed %" PRIu64 ": %u events without a store, %u with one\n", seed,
               stream->engines[0].told.count, stream->engines[1].told.count);
    for (int i = 0; i < 2; i++) {
        iso_aion_free(stream->engines[i].aion);
        free(stream->engines[i].told.digests);
        free(stream->engines[i].told.finals);
    }
    iso_history_release(&stream->block);
    free(stream);
    return good;
}

static bool run_level(enum iso_level level, uint64_t histories, uint64_t seed)
{
    struct totals totals = {.team = iso_team_new(3)};
    uint32_t differ = 0;
    for (uint64_t i = 0; i < histories && differ < REPORTS; i++)
        differ += !agree(seed + i, level, &totals);
    iso_team_free(totals.team);
    const char *name = level == ISO_SI ? "si" : "ser";
    printf("%s - %s: %" PRIu64 " streams are told of alike with and without a store\n",
           differ ? "not ok" : "ok", name, histories);
    printf("# %" PRIu64 " events, %" PRIu64 " keys went and %" PRIu64 " came back, %" PRIu64
           " segments went, %" PRIu64 " keys had theirs back, %" PRIu64
           " reads out of segments, %" PRIu64 " records cut where they lay, %" PRIu64
           " undecided\n",
           totals.events, totals.evicted, totals.misses, totals.cut, totals.joined,
           totals.old_reads, totals.expired, totals.undecided);
    bool occurred = totals.events && totals.evicted > histories && totals.misses > histories &&
                    totals.cut > histories && totals.joined && totals.expired > histories &&
                    (level == ISO_SER || (totals.old_reads && totals.undecided));
    printf("%s - %s: everything occurred\n", occurred ? "ok" : "not ok", name);
    return !differ && occurred;
}

int main(int count, char **arguments)
{
    uint64_t histories = DEFAULT_HISTORIES, seed = 1;
    const struct argument known[] = {
        {"--histories", .number = &histories}, {"--seed", .number = &seed}, {0}};
    if (!arguments_read(known, count, arguments))
        return 2;
    printf("1..4\n");
    bool si = run_level(ISO_SI, histories, seed), ser = run_level(ISO_SER, histories, seed);
    return si && ser ? 0 : 1;
}
