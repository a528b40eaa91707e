/* Of pairs of writers that overlap only so many are listed; the others are counted: how many there
 * are, how many are excused by an alteration of their table, and how many a contradicted tid makes
 * doubtful, when it comes or later. Here each pair is gone through, and what the engine tells is
 * added up as its caller does. */
#include <inttypes.h>

#include "aion/aion.h"
#include "base/rng.h"
#include "tests/support/test.h"

enum { MOST = 64, LISTED = 5, ROUNDS = 3000, NOBODY = 0 };

struct writer {
    uint32_t tid;
    uint64_t sts, cts;
};

struct world {
    struct writer writers[2 * MOST]; /* all that came, both sides of a contradiction among them */
    uint32_t count;
    bool doubted[2 * MOST];
    uint64_t altered[4];
    uint32_t altered_count;
    /* as the engine told them */
    struct {
        uint32_t tid, other;
        bool doubtful;
    } listed[4096];
    uint32_t listed_count;
    bool moved; /* the contradiction at hand: what is listed was counted with the rest */
    uint64_t violations, excused, doubtful;
};

static bool is_doubted(void *context, const struct iso_atoms *atoms, iso_atom tid)
{
    const struct world *world = context;
    (void)atoms;
    return world->doubted[tid];
}

static void window_of(void *context, const char *key, size_t length, uint64_t cts, uint64_t *from,
                      uint64_t *to)
{
    const struct world *world = context;
    assert_true(length == 1 && *key == '1');
    *from = 0;
    *to = UINT64_MAX;
    for (uint32_t i = 0; i < world->altered_count; i++) {
        uint64_t time = world->altered[i];
        *from = time < cts && time > *from ? time : *from;
        *to = time > cts && time < *to ? time : *to;
    }
}

static bool is_excused(const struct world *world, uint64_t one, uint64_t other)
{
    for (uint32_t i = 0; i < world->altered_count; i++) {
        uint64_t time = world->altered[i];
        if ((one < time && time < other) || (other < time && time < one))
            return true;
    }
    return false;
}

static void hear_pairs(void *context, const struct iso_atoms *atoms, iso_atom key, uint64_t pairs)
{
    struct world *world = context;
    (void)atoms;
    assert_int_equal(key, 1);
    world->doubtful += pairs;
    world->moved = true;
}

static void hear_contradiction(void *context, const struct iso_history *history, uint32_t t,
                               uint64_t first)
{
    struct world *world = context;
    uint32_t tid = history->txns.tid[t];
    (void)first;
    world->doubted[tid] = true;
    for (uint32_t i = 0; i < world->listed_count; i++) {
        if (world->listed[i].doubtful ||
            (world->listed[i].tid != tid && world->listed[i].other != tid))
            continue;
        world->listed[i].doubtful = true;
        world->doubtful += !world->moved;
    }
    world->moved = false;
}

static void hear(void *context, const struct iso_aion_event *event)
{
    struct world *world = context;
    if (event->axiom != ISO_NOCONFLICT)
        return;
    if (event->unlisted) {
        assert_true(event->excused + event->doubtful <= event->unlisted);
        world->violations += event->unlisted - event->excused;
        world->excused += event->excused;
        world->doubtful += event->doubtful;
        return;
    }
    if (is_excused(world, event->transaction.cts, event->other.cts)) {
        world->excused++;
        return;
    }
    bool doubtful = world->doubted[event->transaction.tid] || world->doubted[event->other.tid];
    world->violations++;
    world->doubtful += doubtful;
    world->listed[world->listed_count].tid = event->transaction.tid;
    world->listed[world->listed_count].other = event->other.tid;
    world->listed[world->listed_count++].doubtful = doubtful;
}

/* ---- by definition ---- */

static bool overlap(const struct writer *one, const struct writer *other)
{
    return one->cts > other->sts && other->cts > one->sts;
}

static void check(const struct world *world, const struct iso_aion_stats *stats)
{
    uint64_t violations = 0, excused = 0, doubtful = 0;
    for (uint32_t i = 0; i < world->count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const struct writer *one = &world->writers[i], *other = &world->writers[j];
            if (!overlap(one, other))
                continue;
            bool is_out = is_excused(world, one->cts, other->cts);
            excused += is_out;
            violations += !is_out;
            doubtful += !is_out && (world->doubted[one->tid] || world->doubted[other->tid]);
        }
    assert_int_equal(stats->counts[ISO_NOCONFLICT], violations + excused);
    assert_int_equal(world->violations, violations);
    assert_int_equal(world->excused, excused);
    assert_int_equal(world->doubtful, doubtful);
}

/* ---- random writers of one key ---- */

static struct iso_aion *open_engine(struct world *world, struct iso_history *block,
                                    bool throttles_soon)
{
    struct iso_aion_options options;
    iso_history_init(block);
    block->clock = ISO_CLOCK_SCALAR;
    iso_aion_options_init(&options);
    options.finality_timeout_ms = 0;
    options.max_per_key = LISTED;
    options.host.provenance = true;
    options.forced.throttles_soon = throttles_soon;
    options.host.emit = hear;
    options.host.is_doubted = is_doubted;
    options.host.conflict_window = window_of;
    options.host.on_doubted_pairs = hear_pairs;
    options.host.on_contradiction = hear_contradiction;
    options.host.context = world;
    struct iso_aion *engine = iso_aion_new(&options);
    iso_aion_block(engine, block);
    return engine;
}

static void add_writer(struct world *world, struct iso_history *block, struct iso_rng *rng,
                       uint32_t tid)
{
    uint64_t sts = 1 + iso_rng_below(rng, 100), cts = sts + 1 + iso_rng_below(rng, 40);
    iso_history_begin(block, tid, tid, ISO_COMMITTED, block->txns.count);
    block->txns.session[block->txns.count - 1] = ISO_NONE;
    iso_history_set_sts(block, (struct iso_stamp){.physical = sts});
    iso_history_set_cts(block, (struct iso_stamp){.physical = cts});
    iso_history_operation(block, ISO_WRITE, 1, block->txns.count);
    world->writers[world->count++] = (struct writer){tid, sts, cts};
}

static void test_pairs(void **state)
{
    (void)state;
    static struct world world;
    uint64_t seen_doubt = 0, seen_excuse = 0, seen_certain = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct iso_rng rng;
        struct iso_history block;
        struct iso_error error = {.status = ISO_OK};
        struct iso_aion_stats stats;
        world = (struct world){.count = 0};
        iso_rng_seed(&rng, 7700 + round);
        struct iso_aion *engine = open_engine(&world, &block, round & 1);
        for (uint32_t i = 0; i < round % 4; i++)
            world.altered[world.altered_count++] = 20 + iso_rng_below(&rng, 100);
        uint32_t most = 4 + (uint32_t)iso_rng_below(&rng, MOST - 4), next = 1;
        while (world.count < most) {
            uint32_t first = world.count, batch = 1 + (uint32_t)iso_rng_below(&rng, 8);
            for (uint32_t i = 0; i < batch; i++) {
                bool again = next > 1 && !iso_rng_below(&rng, 6);
                uint32_t tid = again ? 1 + (uint32_t)iso_rng_below(&rng, next - 1) : next++;
                add_writer(&world, &block, &rng, tid);
            }
            assert_int_equal(iso_aion_add(engine, first, batch, 0, NULL, &error), ISO_OK);
        }
        iso_aion_end(engine, 0);
        iso_aion_stats(engine, &stats);
        if (!stats.repeats)
            check(&world, &stats);
        seen_doubt += world.doubtful;
        seen_excuse += world.excused;
        seen_certain += world.violations - world.doubtful;
        iso_aion_free(engine);
        iso_history_release(&block);
    }
    print_message("# %" PRIu64 " certain, %" PRIu64 " doubtful, %" PRIu64 " excused\n",
                  seen_certain, seen_doubt, seen_excuse);
    assert_true(seen_doubt > ROUNDS && seen_excuse > ROUNDS && seen_certain > ROUNDS);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
