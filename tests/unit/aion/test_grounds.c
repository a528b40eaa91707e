/* What a wrong read that is not listed says of itself, found by search, is what it says if it is
 * listed, found by a walk over its key: kind, values, and writers, but that of several aborted or
 * intermediate ones any may be named. */
#include <inttypes.h>

#include "aion/aion.h"
#include "base/memory.h"
#include "base/rng.h"
#include "tests/support/test.h"

enum { ROUNDS = 1500, TRANSACTIONS = 60, VALUES = 6, KEYS = 2 };

struct said {
    enum iso_violation_kind kind;
    iso_atom expected, actual, writer_expected, writer_actual;
    bool told;
};

struct world {
    struct said of[TRANSACTIONS + 1][KEYS];
    uint64_t told, unlisted, kinds[ISO_VIOLATION_KINDS];
};

static void hear(void *context, const struct iso_aion_event *event)
{
    struct world *world = context;
    if (event->axiom != ISO_EXT || event->state != ISO_AION_FINAL)
        return;
    struct said *said = &world->of[event->transaction.tid][event->key];
    assert_false(said->told);
    *said = (struct said){event->kind,
                          event->expected.count ? event->expected.elements[0] : ISO_ABSENT,
                          event->actual.count ? event->actual.elements[0] : ISO_ABSENT,
                          event->writer_expected.tid,
                          event->writer_actual.tid,
                          true};
    world->told++;
    world->unlisted += event->unlisted != 0;
    world->kinds[event->kind]++;
}

static void make(struct iso_history *block, struct iso_rng *rng)
{
    iso_history_init(block);
    block->clock = ISO_CLOCK_SCALAR;
    for (uint32_t tid = 1; tid <= TRANSACTIONS; tid++) {
        uint64_t sts = 1 + iso_rng_below(rng, 100), cts = sts + 1 + iso_rng_below(rng, 20);
        sts *= 100, cts = cts * 100 + tid; /* of two versions at one cts either may be named */
        uint8_t status = iso_rng_below(rng, 8)   ? ISO_COMMITTED
                         : iso_rng_below(rng, 4) ? ISO_ABORTED
                                                 : ISO_UNKNOWN;
        iso_history_begin(block, tid, tid, status, tid);
        iso_history_set_sts(block, (struct iso_stamp){.physical = sts});
        if (status == ISO_COMMITTED)
            iso_history_set_cts(block, (struct iso_stamp){.physical = cts});
        for (uint32_t key = 0; key < KEYS; key++) {
            if (iso_rng_below(rng, 2))
                iso_history_operation(block, ISO_READ, key, (iso_atom)iso_rng_below(rng, VALUES));
            for (uint64_t writes = iso_rng_below(rng, 3); writes; writes--)
                iso_history_operation(block, ISO_WRITE, key, (iso_atom)iso_rng_below(rng, VALUES));
        }
    }
}

/* One by one, with the watermark some way behind, so that verdicts become final as versions come
 * and go. */
static void sorted_chunks(struct world *world, const struct iso_history *block, uint32_t listed,
                          uint64_t retention)
{
    struct iso_aion_options options;
    struct iso_error error = {.status = ISO_OK};
    memset(world, 0, sizeof *world);
    iso_aion_options_init(&options);
    options.finality_timeout_ms = 0;
    options.session_order = false;
    options.max_per_key = listed;
    options.host.provenance = true;
    options.retention = retention;
    options.host.emit = hear;
    options.host.context = world;
    struct iso_aion *engine = iso_aion_new(&options);
    iso_aion_block(engine, block);
    for (uint32_t t = 0; t < TRANSACTIONS; t++) {
        assert_int_equal(iso_aion_add(engine, t, 1, 0, NULL, &error), ISO_OK);
        if (t % 10 == 9)
            iso_aion_watermark(engine, 200 * t, 0);
    }
    iso_aion_end(engine, 0);
    iso_aion_free(engine);
}

static bool wrote(const struct iso_history *block, uint32_t tid, uint32_t key, iso_atom value)
{
    for (uint32_t o = block->txns.first_op[tid - 1]; o < block->txns.first_op[tid]; o++)
        if (iso_kind_of(block, o) == ISO_WRITE && block->keys.atom[block->ops.key[o]] == key &&
            block->ops.value[o] == value)
            return true;
    return false;
}

static void compare(const struct iso_history *block, const struct said *walked,
                    const struct said *found, uint32_t key)
{
    assert_int_equal(walked->told, found->told);
    if (!walked->told)
        return;
    assert_int_equal(walked->kind, found->kind);
    assert_int_equal(walked->expected, found->expected);
    assert_int_equal(walked->actual, found->actual);
    assert_int_equal(walked->writer_expected, found->writer_expected);
    assert_int_equal(walked->writer_actual == ISO_ABSENT, found->writer_actual == ISO_ABSENT);
    if (walked->kind != ISO_UNCOMMITTED && walked->kind != ISO_INTERMEDIATE)
        assert_int_equal(walked->writer_actual, found->writer_actual);
    else if (found->writer_actual != ISO_ABSENT)
        assert_true(wrote(block, found->writer_actual, key, found->actual));
}

static void test_same(void **state)
{
    static struct world walked, found;
    uint64_t told = 0, kinds[ISO_VIOLATION_KINDS] = {0};
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct iso_rng rng;
        struct iso_history block;
        iso_rng_seed(&rng, 31 + round);
        make(&block, &rng);
        uint64_t retention = round & 1 ? 3000 : ISO_AION_FOREVER;
        sorted_chunks(&walked, &block, 0, retention);
        sorted_chunks(&found, &block, 1, retention);
        assert_int_equal(walked.unlisted, 0);
        for (uint32_t tid = 1; tid <= TRANSACTIONS; tid++)
            for (uint32_t key = 0; key < KEYS; key++)
                compare(&block, &walked.of[tid][key], &found.of[tid][key], key);
        told += found.unlisted;
        for (int kind = 0; kind < ISO_VIOLATION_KINDS; kind++)
            kinds[kind] += found.kinds[kind];
        iso_history_release(&block);
    }
    print_message("# %" PRIu64 " not listed: %" PRIu64 " uncommitted, %" PRIu64
                  " intermediate, %" PRIu64 " future, %" PRIu64 " stale\n",
                  told, kinds[ISO_UNCOMMITTED], kinds[ISO_INTERMEDIATE], kinds[ISO_FUTURE],
                  kinds[ISO_STALE]);
    assert_true(told > 10 * ROUNDS && kinds[ISO_UNCOMMITTED] && kinds[ISO_INTERMEDIATE] &&
                kinds[ISO_FUTURE] && kinds[ISO_STALE]);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
