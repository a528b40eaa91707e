/* Histories written as the feeds of YugabyteDB's connectors, and read again: with repeats left out,
 * each transaction has the changes that its writes make, at its commit time. */
#include <inttypes.h>

#include "connectors/yugabyte/yugabyte.h"
#include "tests/support/decoder_case.h"
#include "tests/support/feed_debezium.h"
#include "tests/support/feed_yugabyte.h"
#include "tests/support/random.h"

enum { KEYS = 7, HISTORIES = 200, LINES = 256, LINE = 160 };

static void build(struct iso_history *history, uint64_t seed)
{
    struct random random = {seed};
    uint32_t transactions = 1 + random_below(&random, 12), tables = 3;
    iso_history_init(history);
    history->clock = ISO_CLOCK_SCALAR;
    for (uint32_t t = 0; t < transactions; t++) {
        uint32_t operations = random_below(&random, 5);
        iso_history_begin(history, t, random_below(&random, 3),
                          random_percent(&random, 90) ? ISO_COMMITTED : ISO_ABORTED, t);
        /* some commit times are shared */
        iso_history_set_cts(
            history,
            (struct iso_stamp){random_percent(&random, 20) ? 500 : 1000 - (t * 7919) % 997, 0});
        for (uint32_t o = 0; o < operations; o++) {
            uint32_t kind = random_below(&random, 4);
            iso_history_operation(history,
                                  kind == 0   ? ISO_READ
                                  : kind == 1 ? ISO_DELETE
                                              : ISO_WRITE,
                                  random_below(&random, KEYS),
                                  kind == 1 ? ISO_ABSENT : random_below(&random, 5));
        }
    }
    feed_rename_keys(history, feed_debezium_name, &tables);
}

/* Lines, as a set. */
struct lines {
    uint32_t count, repeats;
    char text[LINES][LINE];
};

static void add_line(struct lines *lines, const char *line)
{
    for (uint32_t i = 0; i < lines->count; i++)
        if (!strcmp(lines->text[i], line)) {
            lines->repeats++;
            return;
        }
    assert_true(lines->count < LINES);
    snprintf(lines->text[lines->count++], LINE, "%s", line);
}

static bool has_line(const struct lines *lines, const char *line)
{
    for (uint32_t i = 0; i < lines->count; i++)
        if (!strcmp(lines->text[i], line))
            return true;
    return false;
}

static void text_of(const struct iso_atoms *atoms, iso_atom atom, char text[64])
{
    char digits[ISO_ATOM_TEXT_MAX];
    size_t length = 1;
    const char *at = atom == ISO_ABSENT ? "-" : iso_atom_text(atoms, atom, digits, &length);
    snprintf(text, 64, "%.*s", (int)length, at);
}

static void put_line(struct lines *lines, char op, const struct iso_atoms *atoms, iso_atom key,
                     const char *before, iso_atom after, const char *id, uint64_t cts,
                     uint64_t order)
{
    char line[LINE], keys[64], afters[64];
    text_of(atoms, key, keys);
    text_of(atoms, after, afters);
    snprintf(line, sizeof line, "%c %.40s %.20s %.20s of %.40s at %" PRIu64 " #%" PRIu64, op, keys,
             before, afters, id, cts, order);
    add_line(lines, line);
}

static uint32_t count_writes(const struct iso_history *history, uint32_t t)
{
    uint32_t writes = 0;
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
        writes += iso_kind_writes(history->ops.kind[o]);
    return writes;
}

/* What must be sent. gRPC: writes are numbered within a tablet, of which there is one here.
 * Logical: transactions are numbered from 2, all of one commit time are one. */
static void expect(const struct iso_history *history, const struct feed_yugabyte_options *options,
                   struct lines *lines)
{
    iso_atom now[KEYS];
    uint64_t number = 1, order = 0, last = 0;
    memset(now, 0xff, sizeof now);
    for (uint64_t cts = 0; cts <= 1000; cts++)
        for (uint32_t t = 0; t < history->txns.count; t++) {
            char id[FEED_YUGABYTE_ID], before[64];
            uint32_t writes = count_writes(history, t);
            if (history->txns.cts[t] != cts || iso_status_of(history, t) != ISO_COMMITTED ||
                !writes)
                continue;
            if (!options->logical || cts != last)
                number++, order = 0;
            last = cts;
            if (options->logical)
                snprintf(id, sizeof id, "%" PRIu64, number);
            else if (options->fast_path && writes == 1)
                snprintf(id, sizeof id, "-");
            else
                feed_yugabyte_id(t, id);
            for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
                uint32_t key = history->ops.key[o];
                iso_atom old = now[key];
                if (!iso_kind_writes(history->ops.kind[o]))
                    continue;
                now[key] = history->ops.value[o];
                if (old == ISO_ABSENT && now[key] == ISO_ABSENT)
                    continue;
                text_of(&history->atoms, old, before);
                put_line(lines,
                         old == ISO_ABSENT        ? 'c'
                         : now[key] == ISO_ABSENT ? 'd'
                                                  : 'u',
                         &history->atoms, history->keys.atom[key],
                         options->changes_only || old == ISO_ABSENT ? "?" : before, now[key], id,
                         options->sequence ? 0 : cts, ++order);
            }
        }
}

static void read_feed(const struct feed *feed, struct iso_decoder_options options, bool numbered,
                      struct lines *lines)
{
    struct decoder_case test;
    case_open(&test, &iso_yugabyte_decoder, options);
    for (uint32_t i = 0; i < feed->count; i++) {
        char id[64] = "-", before[64] = "?";
        iso_events_clear(&test.events);
        iso_yugabyte_decoder.decode(test.decoder, &feed->list[i], &test.events, &test.error);
        assert_string_equal(test.error.text, "");
        assert_int_equal(test.events.count, 1);
        const struct iso_event *event = &test.events.list[0];
        const struct iso_atoms *atoms = &test.events.block.atoms;
        if (event->type == ISO_EVENT_END)
            assert_int_equal(event->flags & ISO_EVENT_HAS_COUNT,
                             numbered ? ISO_EVENT_HAS_COUNT : 0);
        if (event->type != ISO_EVENT_ROW)
            continue;
        if (event->flags & ISO_EVENT_HAS_ID)
            text_of(atoms, event->transaction_id, id);
        if (event->flags & ISO_EVENT_HAS_BEFORE)
            text_of(atoms, event->before, before);
        assert_true(event->flags & ISO_EVENT_HAS_AFTER);
        uint64_t cts =
            event->flags & ISO_EVENT_HAS_CTS ? event->cts.physical - FEED_YUGABYTE_TIME : 0;
        put_line(lines, "cud"[event->operation], atoms, event -> key, before, event -> after, id,
                 cts, event -> order);
    }
    case_close(&test);
}

static uint32_t round_trip(uint64_t seed, struct feed_yugabyte_options options)
{
    static struct lines expected, found;
    struct iso_history history;
    struct feed feed;
    expected.count = expected.repeats = found.count = found.repeats = 0;
    build(&history, seed);
    options.seed = seed;
    options.metadata = true;
    feed_init(&feed);
    assert_true(feed_yugabyte_write(&feed, &history, &options));
    feed_finish(&feed);
    expect(&history, &options, &expected);
    read_feed(&feed,
              (struct iso_decoder_options){.value = "v",
                                           .identity = options.changes_only ? ISO_IDENTITY_LEARN
                                                                            : ISO_IDENTITY_FULL},
              options.logical, &found);
    assert_int_equal(found.count, expected.count);
    for (uint32_t i = 0; i < expected.count; i++)
        assert_true(has_line(&found, expected.text[i]));
    uint32_t repeats = found.repeats;
    feed_release(&feed);
    iso_history_release(&history);
    return repeats;
}

static void grpc_carries_the_history(void **state)
{
    (void)state;
    uint32_t repeats = 0;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++)
        repeats += round_trip(seed, (struct feed_yugabyte_options){.tablets = 1,
                                                                   .restarts = seed % 4,
                                                                   .changes_only = seed % 3 == 0,
                                                                   .fast_path = seed % 2});
    assert_true(repeats > HISTORIES);
}

static void logical_replication_carries_the_history(void **state)
{
    (void)state;
    uint32_t repeats = 0;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++)
        repeats += round_trip(seed, (struct feed_yugabyte_options){.logical = true,
                                                                   .cells = seed % 2,
                                                                   .sequence = seed % 3 == 0,
                                                                   .tablets = 1 + seed % 3,
                                                                   .restarts = seed % 4});
    assert_true(repeats > HISTORIES);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grpc_carries_the_history),
        cmocka_unit_test(logical_replication_carries_the_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
