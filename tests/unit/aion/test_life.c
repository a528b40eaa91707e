/* The life of a verdict: tentative, final, retracted; watermarks, deadlines, unknown outcomes,
 * repeats, memory. */
#include "aion/aion.h"
#include "base/rng.h"
#include "tests/support/brief_history.h"
#include "tests/support/history.h"
#include "tests/support/test.h"

#include <stdio.h>

enum { MOST_EVENTS = 64 };

struct told {
    enum iso_aion_state state;
    enum iso_axiom axiom;
    enum iso_violation_kind kind;
    bool by_deadline;
    uint64_t id;
    uint32_t tid, other, cause, expected, actual, writer_expected, writer_actual;
};

struct fixture {
    struct iso_history block;
    struct iso_aion_options options;
    struct iso_aion *engine;
    struct told events[MOST_EVENTS];
    uint32_t count;
    uint64_t now;
};

static void note(void *context, const struct iso_aion_event *event)
{
    struct fixture *fixture = context;
    assert_in_range(fixture->count, 0, MOST_EVENTS - 1);
    fixture->events[fixture->count++] =
        (struct told){event->state,
                      event->axiom,
                      event->kind,
                      event->by_deadline,
                      event->id,
                      event->transaction.tid,
                      event->other.tid,
                      event->cause.tid,
                      event->expected.count ? event->expected.elements[0] : ISO_ABSENT,
                      event->actual.count ? event->actual.elements[0] : ISO_ABSENT,
                      event->writer_expected.tid,
                      event->writer_actual.tid};
}

static void start(struct fixture *fixture, enum iso_level level, uint64_t timeout)
{
    memset(fixture, 0, sizeof *fixture);
    iso_history_init(&fixture->block);
    fixture->block.clock = ISO_CLOCK_SCALAR;
    iso_history_input(&fixture->block, "topic[0]");
    iso_aion_options_init(&fixture->options);
    fixture->options.level = level;
    fixture->options.finality_timeout_ms = timeout;
    fixture->options.host.emit = note;
    fixture->options.host.context = fixture;
}

static void open_engine(struct fixture *fixture)
{
    fixture->engine = iso_aion_new(&fixture->options);
    iso_aion_block(fixture->engine, &fixture->block);
}

static void stop(struct fixture *fixture)
{
    iso_aion_free(fixture->engine);
    iso_history_release(&fixture->block);
}

static void begin(struct fixture *fixture, uint32_t tid, uint64_t sts, uint64_t cts, uint8_t status)
{
    struct iso_history *block = &fixture->block;
    iso_history_begin(block, tid, tid, status, iso_origin(0, tid));
    iso_history_set_sts(block, (struct iso_stamp){.physical = sts});
    if (cts)
        iso_history_set_cts(block, (struct iso_stamp){.physical = cts});
}

static enum iso_status arrive(struct fixture *fixture)
{
    struct iso_error error = {.status = ISO_OK};
    return iso_aion_add(fixture->engine, fixture->block.txns.count - 1, 1, fixture->now, NULL,
                        &error);
}

/* Lines of tests/support/brief_history.h. */
static void arrives(struct fixture *fixture, const char *lines)
{
    brief_history_add(&fixture->block, lines);
    assert_int_equal(arrive(fixture), ISO_OK);
}

/* tid writes `value` to `key`: one of many. */
static void writer(struct fixture *fixture, uint32_t tid, uint64_t sts, uint64_t cts, uint32_t key,
                   uint32_t value)
{
    begin(fixture, tid, sts, cts, ISO_COMMITTED);
    iso_history_operation(&fixture->block, ISO_WRITE, key, value);
    assert_int_equal(arrive(fixture), ISO_OK);
}

static struct iso_aion_stats stats_of(const struct fixture *fixture)
{
    struct iso_aion_stats stats;
    iso_aion_stats(fixture->engine, &stats);
    return stats;
}

static void test_late_version_sets_right(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    open_engine(&f);
    arrives(&f, "2 2 20 - | r 7 100");
    assert_int_equal(f.count, 1);
    assert_int_equal(f.events[0].state, ISO_AION_TENTATIVE);
    assert_int_equal(f.events[0].axiom, ISO_EXT);
    assert_int_equal(f.events[0].kind, ISO_KIND_NONE);
    f.now = 30;
    arrives(&f, "1 1 5 10 | w 7 100");
    assert_int_equal(f.count, 2);
    assert_int_equal(f.events[1].state, ISO_AION_RETRACTED);
    assert_int_equal(f.events[1].cause, 1);
    assert_true(f.events[1].id == f.events[0].id);
    iso_aion_watermark(f.engine, 50, 40);
    iso_aion_end(f.engine, 50);
    assert_int_equal(f.count, 2);
    struct iso_aion_stats stats = stats_of(&f);
    assert_int_equal(stats.flipped, 1);
    assert_int_equal(stats.flips[0], 1);
    assert_int_equal(stats.wrong_for[2], 1); /* 30 ms */
    assert_int_equal(stats.counts[ISO_EXT], 0);
    stop(&f);
}

/* Wrong for less than it takes is told to nobody, but is final with a watermark, as ever. */
static void test_tentative_is_told_later(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 100);
    f.options.emit_after_ms = 40;
    open_engine(&f);
    arrives(&f, "2 2 20 - | r 7 100");
    iso_aion_tick(f.engine, 39);
    f.now = 39;
    arrives(&f, "1 1 5 10 | w 7 100");
    iso_aion_tick(f.engine, 60);
    assert_int_equal(f.count, 0);
    f.now = 60;
    arrives(&f, "3 3 30 - | r 7 101");
    iso_aion_watermark(f.engine, 30, 61);
    assert_int_equal(f.count, 1);
    assert_int_equal(f.events[0].state, ISO_AION_FINAL);
    f.now = 70;
    arrives(&f, "4 4 40 - | r 7 102");
    iso_aion_tick(f.engine, 109);
    assert_int_equal(f.count, 1);
    iso_aion_tick(f.engine, 110);
    assert_int_equal(f.count, 2);
    assert_int_equal(f.events[1].state, ISO_AION_TENTATIVE);
    assert_int_equal(stats_of(&f).standing, 1);
    iso_aion_tick(f.engine, 170);
    assert_int_equal(f.count, 3);
    assert_int_equal(f.events[2].state, ISO_AION_FINAL);
    assert_true(f.events[2].by_deadline);
    stop(&f);
}

static void test_final_at_the_watermark(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    open_engine(&f);
    arrives(&f, "1 1 1 10 | w 7 100");
    arrives(&f, "2 2 11 15 | w 7 200");
    arrives(&f, "3 3 20 - | r 7 100");
    iso_aion_watermark(f.engine, 19, 0);
    assert_int_equal(f.count, 1);
    iso_aion_watermark(f.engine, 20, 0);
    assert_int_equal(f.count, 2);
    assert_int_equal(f.events[1].state, ISO_AION_FINAL);
    assert_false(f.events[1].by_deadline);
    assert_int_equal(f.events[1].kind, ISO_STALE);
    assert_int_equal(f.events[1].writer_expected, 2);
    assert_int_equal(f.events[1].writer_actual, 1);
    assert_int_equal(f.events[1].expected, 200);
    assert_int_equal(f.events[1].actual, 100);
    iso_aion_end(f.engine, 0);
    assert_int_equal(f.count, 2);
    stop(&f);
}

static void test_deadline_and_retraction(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 1000);
    open_engine(&f);
    f.now = 100;
    arrives(&f, "2 2 20 - | r 7 100");
    iso_aion_tick(f.engine, 1099);
    assert_int_equal(f.count, 1);
    iso_aion_tick(f.engine, 1100);
    assert_int_equal(f.count, 2);
    assert_int_equal(f.events[1].state, ISO_AION_FINAL);
    assert_true(f.events[1].by_deadline);
    assert_int_equal(stats_of(&f).counts[ISO_EXT], 1);
    f.now = 2000;
    arrives(&f, "1 1 5 10 | w 7 100");
    assert_int_equal(f.count, 3);
    assert_int_equal(f.events[2].state, ISO_AION_RETRACTED);
    assert_int_equal(f.events[2].cause, 1);
    assert_int_equal(stats_of(&f).counts[ISO_EXT], 0);
    f.now = 2500; /* and wrong again, past the deadline: at once */
    arrives(&f, "3 3 12 15 | w 7 300");
    assert_int_equal(f.count, 4);
    assert_int_equal(f.events[3].state, ISO_AION_FINAL);
    assert_int_equal(f.events[3].cause, 3);
    stop(&f);
}

static void test_late_writer_meets_only_overlaps(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    open_engine(&f);
    arrives(&f, "1 1 10 20 | w 7 1");
    arrives(&f, "2 2 20 30 | w 7 2");
    arrives(&f, "3 3 40 50 | w 7 3");
    assert_int_equal(f.count, 0);
    arrives(&f, "4 4 25 35 | w 7 4");
    assert_int_equal(f.count, 1);
    assert_int_equal(f.events[0].axiom, ISO_NOCONFLICT);
    assert_int_equal(f.events[0].state, ISO_AION_FINAL);
    assert_int_equal(f.events[0].tid, 4);
    assert_int_equal(f.events[0].other, 2);
    stop(&f);
}

static void test_unknown_outcome(void **state)
{
    static const bool outcomes[] = {true, false};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        start(&f, ISO_SI, 0);
        open_engine(&f);
        arrives(&f, "1 1 5 - unknown | w 7 100");
        arrives(&f, "2 2 20 - | r 7 100");
        assert_int_equal(f.count, 0); /* held: no alarm */
        assert_int_equal(stats_of(&f).open_unknown, 1);
        uint64_t operations = stats_of(&f).operations;
        assert_true(iso_aion_resolve(f.engine, &f.block.atoms, 1, outcomes[i], 10, 0));
        assert_int_equal(stats_of(&f).operations, operations); /* it did no more of them */
        assert_false(iso_aion_resolve(f.engine, &f.block.atoms, 1, outcomes[i], 10, 0));
        iso_aion_watermark(f.engine, 100, 0);
        assert_int_equal(stats_of(&f).counts[ISO_EXT], outcomes[i] ? 0 : 1);
        if (!outcomes[i]) {
            assert_int_equal(f.events[f.count - 1].kind, ISO_UNCOMMITTED);
            assert_int_equal(f.events[f.count - 1].writer_actual, 1);
        }
        assert_int_equal(stats_of(&f).open_unknown, 0);
        stop(&f);
    }
}

static void test_unknown_at_the_end(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    open_engine(&f);
    arrives(&f, "1 1 5 - unknown | w 7 100");
    arrives(&f, "2 2 20 - | r 7 100");
    iso_aion_watermark(f.engine, 100, 0);
    iso_aion_end(f.engine, 0);
    assert_int_equal(f.count, 0);
    assert_int_equal(stats_of(&f).reads_unjudged, 1);
    assert_int_equal(stats_of(&f).reads_judged, 0);
    stop(&f);
}

static void test_repeats(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    open_engine(&f);
    arrives(&f, "1 1 1 10 | w 7 100");
    arrives(&f, "1 1 1 10 | w 7 100");
    assert_int_equal(stats_of(&f).repeats, 1);
    assert_int_equal(stats_of(&f).transactions, 1);
    begin(&f, 1, 1, 10, ISO_COMMITTED);
    iso_history_operation(&f.block, ISO_WRITE, 7, 101);
    assert_int_equal(iso_aion_add(f.engine, 2, 1, 0, NULL, &error), ISO_BAD_INPUT);
    assert_non_null(
        strstr(error.text, "topic[0]:1: transaction 1 arrived before with other content"));
    assert_int_equal(f.count, 0);
    stop(&f);
}

static void test_list_and_register(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    struct fixture f;
    uint32_t taken = 99;
    (void)state;
    start(&f, ISO_SI, 0);
    open_engine(&f);
    arrives(&f, "1 1 1 10 | w 7 100");
    begin(&f, 2, 1, 11, ISO_COMMITTED);
    iso_history_operation(&f.block, ISO_APPEND, 7, 101);
    assert_int_equal(iso_aion_add(f.engine, 1, 1, 0, &taken, &error), ISO_BAD_INPUT);
    assert_int_equal(taken, 0);
    assert_non_null(strstr(error.text, "topic[0]:2: transaction 2 uses a key as a list"));
    stop(&f);
}

static void test_session_told_once(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    open_engine(&f);
    for (uint32_t i = 0; i < 3;
         i++) { /* snos 3, 1, 2 of one session; starts 5, commits 10, 20, 30 */
        begin(&f, i + 1, 5 + i, 10 * (i + 1), ISO_COMMITTED);
        f.block.txns.session[i] = iso_history_session(&f.block, 77);
        iso_history_set_sno(&f.block, i ? i : 3);
        iso_history_operation(&f.block, ISO_WRITE, 7 + i, 1);
        assert_int_equal(arrive(&f), ISO_OK);
    }
    assert_int_equal(f.count, 2);
    assert_int_equal(f.events[0].tid, 1);
    assert_int_equal(f.events[0].other, 2); /* 3 shows it, too, and came later */
    assert_int_equal(f.events[1].tid, 3);
    assert_int_equal(stats_of(&f).counts[ISO_SESSION], 2);
    stop(&f);
}

static void member(struct fixture *fixture, uint32_t tid, uint64_t sno, uint64_t sts, uint64_t cts,
                   uint8_t status)
{
    begin(fixture, tid, sts, cts, status);
    fixture->block.txns.session[fixture->block.txns.count - 1] =
        iso_history_session(&fixture->block, 77);
    iso_history_set_sno(&fixture->block, sno);
    iso_history_operation(&fixture->block, ISO_WRITE, tid, 1);
    assert_int_equal(arrive(fixture), ISO_OK);
}

/* The later predecessor was told of and has been let go, and one of unknown outcome with it: that
 * it committed after all, told when a watermark had excluded it, adds nothing, and is counted. */
static void test_session_not_told_again_for_an_earlier_predecessor(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    f.options.retention = 10;
    open_engine(&f);
    member(&f, 1, 1, 5, 1000, ISO_COMMITTED);
    member(&f, 2, 2, 20, 0, ISO_UNKNOWN);
    member(&f, 3, 3, 20, 30, ISO_COMMITTED);
    assert_int_equal(f.count, 1);
    assert_int_equal(f.events[0].tid, 3);
    assert_int_equal(f.events[0].other, 1);
    iso_aion_watermark(f.engine, 2000, 0);
    member(&f, 4, 4, 2001, 2002, ISO_COMMITTED);
    assert_int_equal(stats_of(&f).aged_unknown, 1);
    assert_false(iso_aion_resolve(f.engine, &f.block.atoms, 2, true, 25, 0));
    assert_int_equal(stats_of(&f).outcomes_lost, 1);
    assert_int_equal(f.count, 1);
    assert_int_equal(stats_of(&f).counts[ISO_SESSION], 1);
    stop(&f);
}

/* The last two timestamps of all have one bound; reads at them are two external reads all the
 * same. */
static void test_reads_at_the_last_two_timestamps(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    open_engine(&f);
    begin(&f, 1, UINT64_MAX - 1, 0, ISO_COMMITTED);
    iso_history_operation(&f.block, ISO_READ, 7, ISO_ABSENT);
    iso_history_operation(&f.block, ISO_READ, 7, 100);
    iso_history_set_ots(&f.block, (struct iso_stamp){.physical = UINT64_MAX});
    assert_int_equal(arrive(&f), ISO_OK);
    iso_aion_end(f.engine, 0);
    assert_int_equal(stats_of(&f).counts[ISO_INT], 0);
    assert_int_equal(stats_of(&f).counts[ISO_EXT], 1);
    assert_int_equal(f.events[f.count - 1].axiom, ISO_EXT);
    assert_int_equal(f.events[f.count - 1].actual, 100);
    stop(&f);
}

static void test_what_was_dropped_is_undecided(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    f.options.retention = 10;
    open_engine(&f);
    for (uint32_t i = 1; i <= 200; i++) {
        writer(&f, i, 10 * i, 10 * i + 5, 7, i);
        iso_aion_watermark(f.engine, 10 * i + 5, 0);
    }
    assert_in_range(stats_of(&f).versions, 1, 16);
    arrives(&f, "1000 1000 100 5000 | r 7 9 | w 7 9999");
    iso_aion_end(f.engine, 0);
    assert_int_equal(stats_of(&f).reads_undecided, 1);
    assert_int_equal(stats_of(&f).writes_undecided, 1);
    assert_int_equal(stats_of(&f).counts[ISO_EXT], 0);
    stop(&f);
}

/* Where the list of a key's conflicts is full, too. */
static void test_what_was_dropped_is_undecided_beyond_the_list(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    f.options.retention = 10;
    f.options.max_per_key = 1;
    open_engine(&f);
    for (uint32_t i = 1; i <= 3; i++)
        writer(&f, 1000 + i, i, 10 + i, 7, i); /* three pairs */
    for (uint32_t i = 2; i <= 200; i++) {
        writer(&f, i, 10 * i, 10 * i + 5, 7, 1000 + i);
        iso_aion_watermark(f.engine, 10 * i + 5, 0);
    }
    assert_int_equal(stats_of(&f).counts[ISO_NOCONFLICT], 3);
    assert_int_equal(stats_of(&f).writes_undecided, 0);
    arrives(&f, "2000 2000 100 5000 | w 7 9999"); /* began long ago */
    iso_aion_end(f.engine, 0);
    assert_int_equal(stats_of(&f).writes_undecided, 1);
    stop(&f);
}

/* A key that nobody touches any more lets go as well, whichever it is. */
static void test_keys_let_go_without_being_touched(void **state)
{
    enum { KEYS = 3, VERSIONS = 100, ROUNDS = 20000 };
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    f.options.retention = 10;
    open_engine(&f);
    for (uint32_t key = 0; key < KEYS; key++)
        for (uint32_t i = 0; i < VERSIONS; i++)
            writer(&f, 1 + key * VERSIONS + i, 10 * i, 10 * i + 1, key, i);
    assert_int_equal(stats_of(&f).versions, KEYS * VERSIONS);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint64_t sts = 10 * (uint64_t)(VERSIONS + i);
        iso_history_clear(&f.block);
        f.block.clock = ISO_CLOCK_SCALAR;
        iso_history_input(&f.block, "topic[0]");
        iso_aion_block(f.engine, &f.block);
        writer(&f, 1000 + i, sts, sts + 1, KEYS, i);
        if (i % 10 == 0)
            iso_aion_watermark(f.engine, sts, 0);
    }
    assert_in_range(stats_of(&f).versions, 1, VERSIONS - 1);
    stop(&f);
}

/* Reads that wait for the outcome of who may have written what they saw are counted, each of
 * them. */
static void test_reads_that_wait_for_an_outcome_are_counted(void **state)
{
    struct fixture f;
    struct iso_aion_waiting waiting;
    (void)state;
    start(&f, ISO_SI, 0);
    f.options.host.foreign = true;
    open_engine(&f);
    arrives(&f, "1 1 5 - unknown | w 7 100");
    arrives(&f, "2 2 20 - | r 7 100");
    arrives(&f, "3 3 21 - | r 7 100");
    iso_aion_count_waiting(f.engine, &waiting);
    assert_int_equal(waiting.reads, 2);
    assert_int_equal(waiting.for_outcome, 0);
    iso_aion_watermark(f.engine, 30, 0);
    iso_aion_count_waiting(f.engine, &waiting);
    assert_int_equal(waiting.reads, 0);
    assert_int_equal(waiting.for_outcome, 2);
    iso_aion_resolve(f.engine, &f.block.atoms, 1, true, 10, 0);
    iso_aion_watermark(f.engine, 40, 0);
    iso_aion_count_waiting(f.engine, &waiting);
    assert_int_equal(waiting.for_outcome, 0);
    stop(&f);
}

/* Without watermarks, and without memory, half of the way to what came lately is closed, and half
 * of the rest. */
static void test_half_is_closed_where_memory_is_short(void **state)
{
    struct fixture f;
    uint32_t i = 0;
    (void)state;
    start(&f, ISO_SI, 0);
    f.options.memory_limit = 4 << 20;
    open_engine(&f);
    while (!iso_aion_closed_early(f.engine)) {
        i++;
        assert_in_range(i, 0, 1000000);
        writer(&f, i, 10 * (uint64_t)i, 10 * (uint64_t)i + 1, i % 1000, i);
    }
    assert_in_range(iso_aion_closed_early(f.engine), 10 * (uint64_t)i * 70 / 100,
                    10 * (uint64_t)i * 80 / 100);
    stop(&f);
}

/* Of a session; its write overlaps no other of its key. */
static void in_session(struct fixture *fixture, uint32_t tid, uint32_t session, uint64_t sts,
                       uint64_t cts, uint8_t status)
{
    iso_history_begin(&fixture->block, tid, session, status, iso_origin(0, tid));
    iso_history_set_sts(&fixture->block, (struct iso_stamp){.physical = sts});
    if (cts)
        iso_history_set_cts(&fixture->block, (struct iso_stamp){.physical = cts});
    iso_history_operation(&fixture->block, ISO_WRITE, cts == sts + 1 ? tid % 16 : 16 + tid % 4,
                          tid);
    assert_int_equal(arrive(fixture), ISO_OK);
}

enum { LASTING = 1, FIRST_SHORT };

/* Sessions that end after so many transactions, beside one that has every second; the most bytes in
 * between. */
static uint64_t pass_sessions(struct fixture *fixture, uint32_t from, uint32_t to, uint32_t lasts)
{
    uint64_t most = 0;
    for (uint32_t tid = from; tid < to; tid++) {
        uint32_t session = tid % 2 ? LASTING : FIRST_SHORT + tid / lasts;
        in_session(fixture, tid, session, 10ull * tid, 10ull * tid + 1, ISO_COMMITTED);
        if (tid % lasts)
            continue;
        iso_aion_watermark(fixture->engine, 10ull * tid, 0);
        uint64_t bytes = stats_of(fixture).bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* A session that has ended is forgotten; only the last of them are remembered. */
static void test_sessions_that_ended_are_forgotten(void **state)
{
    enum { ROUND = 100000, ENOUGH = 5 * ROUND };
    static const uint32_t lasts[] = {400, 20, 2};
    struct fixture f;
    (void)state;
    for (int i = 0; i < 3; i++) {
        start(&f, ISO_SI, 0);
        f.options.retention = 1000 + 10 * lasts[i];
        open_engine(&f);
        pass_sessions(&f, 1, ROUND, lasts[i]);
        uint64_t bytes = pass_sessions(&f, ROUND, 2 * ROUND, lasts[i]),
                 sessions = stats_of(&f).sessions;
        uint64_t more = pass_sessions(&f, 2 * ROUND, ENOUGH, lasts[i]);
        assert_int_equal(stats_of(&f).sessions - sessions, (ENOUGH - 2 * ROUND) / lasts[i]);
        assert_in_range(more, 1,
                        bytes + (lasts[i] > 2 ? (2 << 20) : 4096)); /* what is remembered */
        assert_int_equal(f.count, 0);
        assert_int_equal(stats_of(&f).sessions_undecided, 0);
        stop(&f);
    }
}

/* One of session `session` with a place, that commits at `cts`. */
static void placed(struct fixture *fixture, uint32_t tid, uint32_t session, uint64_t sno,
                   uint64_t sts, uint64_t cts)
{
    iso_history_begin(&fixture->block, tid, session, ISO_COMMITTED, iso_origin(0, tid));
    iso_history_set_sts(&fixture->block, (struct iso_stamp){.physical = sts});
    iso_history_set_cts(&fixture->block, (struct iso_stamp){.physical = cts});
    iso_history_set_sno(&fixture->block, sno);
    iso_history_operation(&fixture->block, ISO_WRITE, tid, 1);
    assert_int_equal(arrive(fixture), ISO_OK);
}

/* Sessions 77 and 78 end at 20 and 25, and are forgotten by 1000. */
static void start_with_the_past(struct fixture *fixture)
{
    start(fixture, ISO_SI, 0);
    fixture->options.retention = 100;
    open_engine(fixture);
    placed(fixture, 1, 77, 5, 10, 20);
    placed(fixture, 2, 78, 5, 15, 25);
    iso_aion_watermark(fixture->engine, 1000, 0);
}

/* What comes late in a session that ended is right, or undecided where it may be wrong or make
 * others wrong. */
static void test_a_session_comes_back(void **state)
{
    static const struct late {
        uint64_t sno, sts;
        bool undecided;
    } lates[] = {
        {6, 950, false}, /* behind it, above the floor */
        {6, 20, false},  /* below the floor, but not below its end */
        {6, 19, true},   /* too early */
        {5, 950, false}, /* came behind its equal */
        {4, 950, true},  /* too early for the one that stands behind it */
    };
    (void)state;
    for (size_t i = 0; i < sizeof lates / sizeof *lates; i++) {
        struct fixture f;
        start_with_the_past(&f);
        placed(&f, 3, 77, lates[i].sno, lates[i].sts, 1001);
        assert_int_equal(stats_of(&f).sessions_undecided, lates[i].undecided);
        assert_int_equal(stats_of(&f).sessions, 2);
        placed(&f, 4, 77, 7, 1001, 1002);
        placed(&f, 5, 77, 8, 950, 1003); /* and what it is judged by then is known */
        assert_int_equal(stats_of(&f).sessions_undecided, lates[i].undecided);
        assert_int_equal(f.count, 1);
        assert_int_equal(f.events[0].tid, 5);
        assert_int_equal(f.events[0].other, 4);
        stop(&f);
    }
}

/* A session of which nothing is known may be one that was forgotten long ago. */
static void test_a_session_that_is_not_known(void **state)
{
    enum { OTHERS = 600000, END = 1000 + 10 * OTHERS };
    struct fixture f;
    (void)state;
    start_with_the_past(&f);
    placed(&f, 3, 79, 1, 901, 1001);
    assert_int_equal(stats_of(&f).sessions_undecided, 0);
    placed(&f, 4, 80, 1, 900, 1002);
    assert_int_equal(stats_of(&f).sessions_undecided, 1);
    for (uint32_t i = 0; i < OTHERS; i++) {
        iso_history_clear(&f.block);
        f.block.clock = ISO_CLOCK_SCALAR;
        iso_history_input(&f.block, "topic[0]");
        iso_aion_block(f.engine, &f.block);
        placed(&f, 100 + i, 100 + i, 1, 1000 + 10 * i, 1001 + 10 * i);
        iso_aion_watermark(f.engine, 1000 + 10 * i, 0);
    }
    assert_int_equal(stats_of(&f).sessions, OTHERS + 4);
    assert_int_equal(stats_of(&f).sessions_undecided, 1);
    placed(&f, 5, 77, 6, 20, END);
    assert_int_equal(stats_of(&f).sessions_undecided, 2);
    placed(&f, 6, 78, 1, END - 50, END + 1); /* its name is new */
    assert_int_equal(stats_of(&f).sessions_undecided, 2);
    assert_int_equal(stats_of(&f).sessions, OTHERS + 6);
    /* Whether there was one before this place nobody knows any more, until it shows its first. */
    placed(&f, 7, 81, 3, END - 50, END + 2);
    assert_int_equal(stats_of(&f).sessions_undecided, 3);
    placed(&f, 8, 81, 1, END - 60, END - 55);
    assert_int_equal(stats_of(&f).sessions_undecided, 2);
    assert_int_equal(f.count, 0);
    stop(&f);
}

/* A member that waits for its turn keeps its session, though memory is so short that the floor has
 * passed it. */
static void test_who_waits_keeps_the_session(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 1000);
    f.options.retention = 500;
    f.options.memory_limit = 1;
    f.options.settle_ms = 1000;
    f.options.forced.settle_distance = 100000;
    f.options.host.settle_untimed = true;
    open_engine(&f);
    placed(&f, 1, 77, 1, 600, 700);
    placed(&f, 2, 78, 1, 900, 1000);
    iso_aion_tick(f.engine, 1000);
    assert_int_equal(stats_of(&f).waiting, 2);
    f.now = 1000;
    placed(&f, 3, 79, 1, 1001, 1002);
    placed(&f, 4, 77, 2, 650, 1100);
    iso_aion_end(f.engine, 1000);
    assert_int_equal(f.count, 1);
    assert_int_equal(f.events[0].tid, 4);
    assert_int_equal(f.events[0].other, 1);
    assert_int_equal(stats_of(&f).sessions, 3);
    assert_int_equal(stats_of(&f).sessions_undecided, 0);
    stop(&f);
}

/* A repeat is one also where its session was forgotten, and another has its place. */
static void test_a_repeat_outlives_its_session(void **state)
{
    struct fixture f;
    (void)state;
    start_with_the_past(&f);
    in_session(&f, 7, 90, 500, 0, ISO_ABORTED);
    iso_aion_watermark(f.engine, 2000, 0);
    in_session(&f, 8, 91, 2001, 2002, ISO_COMMITTED);
    in_session(&f, 7, 90, 500, 0, ISO_ABORTED);
    assert_int_equal(stats_of(&f).repeats, 1);
    stop(&f);
}

/* Keys that have some versions in the retention, by chance now more, now fewer: each has many at
 * some time, and it must not keep the room for them. */
static void test_a_steady_stream_takes_steady_memory(void **state)
{
    enum {
        KEYS = 400,
        VERSIONS = 17,
        WINDOW = KEYS * VERSIONS,
        VERSION_QUERY = 3 * WINDOW,
        UNTIL = 80 * WINDOW
    };
    struct fixture f;
    uint64_t first = 0, last = 0;
    struct iso_rng random;
    (void)state;
    start(&f, ISO_SI, 0);
    f.options.retention = 10 * WINDOW;
    open_engine(&f);
    iso_rng_seed(&random, 1);
    for (uint32_t i = 1; i <= UNTIL; i++) {
        iso_history_clear(&f.block);
        f.block.clock = ISO_CLOCK_SCALAR;
        iso_history_input(&f.block, "topic[0]");
        iso_aion_block(f.engine, &f.block);
        begin(&f, i, 10ull * i, 10ull * i + 1, ISO_COMMITTED);
        f.block.txns.session[0] = ISO_NONE;
        iso_history_operation(&f.block, ISO_WRITE, (uint32_t)iso_rng_below(&random, KEYS), i);
        assert_int_equal(arrive(&f), ISO_OK);
        if (i % 100)
            continue;
        iso_aion_watermark(f.engine, 10ull * i, 0);
        if (i > VERSION_QUERY && i <= 2 * VERSION_QUERY)
            first = stats_of(&f).bytes > first ? stats_of(&f).bytes : first;
        if (i > UNTIL - VERSION_QUERY)
            last = stats_of(&f).bytes > last ? stats_of(&f).bytes : last;
    }
    assert_in_range(last, 1, first + first / 10);
    stop(&f);
}

static void test_memory_limit(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SI, 0);
    f.options.memory_limit = 3 << 20;
    open_engine(&f);
    for (uint32_t i = 1; i <= 30000; i++) {
        iso_history_clear(&f.block);
        f.block.clock = ISO_CLOCK_SCALAR;
        iso_aion_block(f.engine, &f.block);
        begin(&f, i, 10 * i, 10 * i + 5, ISO_COMMITTED);
        f.block.txns.session[0] = iso_history_session(&f.block, 1);
        iso_history_operation(&f.block, ISO_WRITE, i % 50, i);
        assert_int_equal(arrive(&f), ISO_OK);
        if (i % 100 == 0) {
            iso_aion_watermark(f.engine, 10 * i + 5, 0);
            assert_in_range(stats_of(&f).bytes, 1, 3 << 20);
        }
    }
    assert_int_equal(f.count, 0);
    stop(&f);
}

static void test_shared_cts_waits_for_the_watermark(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, ISO_SER, 0);
    open_engine(&f);
    arrives(&f, "5 5 1 10 | w 7 1");
    arrives(&f, "3 3 2 10 | w 7 2");
    assert_int_equal(f.count, 0);
    iso_aion_watermark(f.engine, 9, 0);
    assert_int_equal(f.count, 0);
    iso_aion_watermark(f.engine, 10, 0);
    assert_int_equal(f.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(f.events[i].axiom, ISO_TIMESTAMP);
        assert_int_equal(f.events[i].kind, ISO_SHARED_CTS);
        assert_int_equal(f.events[i].other, f.events[i].tid == 5 ? 3 : 5);
    }
    stop(&f);
}

static void start_settling(struct fixture *fixture, uint64_t ms, uint64_t distance)
{
    start(fixture, ISO_SI, 0);
    fixture->options.settle_ms = ms;
    fixture->options.forced.settle_distance = distance;
    open_engine(fixture);
}

/* A reader that overtook the writer of what it read waits for it: nothing is told, nothing
 * flips. */
static void test_overtaken_writer_is_waited_for(void **state)
{
    struct fixture f;
    (void)state;
    start_settling(&f, 50, 100);
    arrives(&f, "2 2 20 - | r 7 100");
    assert_int_equal(stats_of(&f).waiting, 1);
    assert_int_equal(stats_of(&f).waiting_from, 20);
    f.now = 30;
    arrives(&f, "1 1 5 10 | w 7 100");
    assert_int_equal(stats_of(&f).waiting, 2);
    assert_int_equal(stats_of(&f).waiting_from, 10);
    f.now = 40;
    arrives(&f,
            "3 3 121 - | r 7 100"); /* 101 above the first reader, which goes, as the writer does */
    assert_int_equal(stats_of(&f).waiting, 1);
    assert_int_equal(stats_of(&f).waiting_from, 121);
    iso_aion_end(f.engine, 40);
    assert_int_equal(f.count, 0);
    assert_int_equal(stats_of(&f).waiting, 0);
    assert_true(stats_of(&f).waiting_from == UINT64_MAX);
    assert_int_equal(stats_of(&f).flipped, 0);
    assert_int_equal(stats_of(&f).rechecks, 0);
    stop(&f);
}

static void test_no_wait_is_longer_than_was_allowed(void **state)
{
    struct fixture f;
    (void)state;
    start_settling(&f, 50, UINT64_MAX);
    f.now = 100;
    arrives(&f, "2 2 20 - | r 7 100");
    iso_aion_tick(f.engine, 149);
    assert_int_equal(f.count, 0);
    iso_aion_tick(f.engine, 150);
    assert_int_equal(f.count, 1);
    assert_int_equal(f.events[0].state, ISO_AION_TENTATIVE);
    assert_int_equal(stats_of(&f).waiting, 0);
    f.now = 151; /* where time stands still, arrivals bound it */
    for (uint32_t i = 0; i < 20000; i++) {
        writer(&f, 10 + i, 100 + i, 101 + i, 8, i);
        assert_in_range(stats_of(&f).waiting, 0, 8192);
    }
    assert_in_range(stats_of(&f).waiting, 7000, 8192);
    stop(&f);
}

/* What a watermark reaches is judged before it is final: by cts, and by sts alone. */
static void test_watermark_waits_for_nobody(void **state)
{
    struct fixture f;
    (void)state;
    start_settling(&f, 1000, 1000);
    arrives(&f, "1 1 1 10 | w 7 100");
    arrives(&f, "2 2 15 40 | r 7 55 | w 9 1");
    arrives(&f, "3 3 30 - | r 7 66");
    assert_int_equal(stats_of(&f).waiting, 3);
    iso_aion_watermark(f.engine, 14, 0);
    assert_int_equal(stats_of(&f).waiting, 2);
    assert_int_equal(f.count, 0);
    iso_aion_watermark(f.engine, 15, 0);
    assert_int_equal(f.count, 1); /* final at once, without having been tentative */
    assert_int_equal(f.events[0].state, ISO_AION_FINAL);
    assert_int_equal(f.events[0].tid, 2);
    assert_int_equal(f.events[0].writer_expected, 1);
    stop(&f);
}

/* A violation is explained with what is known, even if that waits. */
static void test_kind_knows_writers_that_wait(void **state)
{
    struct fixture f;
    (void)state;
    start_settling(&f, 1000, 1000);
    arrives(&f, "1 1 20 - | r 7 100");
    arrives(&f, "2 2 25 30 | w 7 100");
    iso_aion_watermark(f.engine, 20, 0);
    assert_int_equal(f.count, 1);
    assert_int_equal(f.events[0].kind, ISO_FUTURE);
    assert_int_equal(f.events[0].writer_actual, 2);
    stop(&f);
}

static void test_nothing_waits_in_order(void **state)
{
    struct fixture f;
    (void)state;
    start_settling(&f, 1000, 0);
    for (uint32_t i = 0; i < 2000; i++) {
        writer(&f, 1 + i, 10 * i, 10 * i + 5, 7, i);
        assert_int_equal(stats_of(&f).waiting, 0);
    }
    stop(&f);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_version_sets_right),
        cmocka_unit_test(test_tentative_is_told_later),
        cmocka_unit_test(test_final_at_the_watermark),
        cmocka_unit_test(test_deadline_and_retraction),
        cmocka_unit_test(test_late_writer_meets_only_overlaps),
        cmocka_unit_test(test_unknown_outcome),
        cmocka_unit_test(test_unknown_at_the_end),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_list_and_register),
        cmocka_unit_test(test_session_told_once),
        cmocka_unit_test(test_session_not_told_again_for_an_earlier_predecessor),
        cmocka_unit_test(test_reads_at_the_last_two_timestamps),
        cmocka_unit_test(test_what_was_dropped_is_undecided),
        cmocka_unit_test(test_sessions_that_ended_are_forgotten),
        cmocka_unit_test(test_a_session_comes_back),
        cmocka_unit_test(test_a_session_that_is_not_known),
        cmocka_unit_test(test_who_waits_keeps_the_session),
        cmocka_unit_test(test_a_repeat_outlives_its_session),
        cmocka_unit_test(test_a_steady_stream_takes_steady_memory),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_what_was_dropped_is_undecided_beyond_the_list),
        cmocka_unit_test(test_keys_let_go_without_being_touched),
        cmocka_unit_test(test_reads_that_wait_for_an_outcome_are_counted),
        cmocka_unit_test(test_half_is_closed_where_memory_is_short),
        cmocka_unit_test(test_shared_cts_waits_for_the_watermark),
        cmocka_unit_test(test_overtaken_writer_is_waited_for),
        cmocka_unit_test(test_no_wait_is_longer_than_was_allowed),
        cmocka_unit_test(test_watermark_waits_for_nobody),
        cmocka_unit_test(test_kind_knows_writers_that_wait),
        cmocka_unit_test(test_nothing_waits_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
