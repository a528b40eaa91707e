/* Histories written as Debezium's feed in every format, and read again: each transaction has the
 * changes that its writes make of the rows there were, once repeats are left out. And every message
 * of a real connector's captures decodes. */
#include <inttypes.h>

#include "base/memory.h"
#include "connectors/debezium/debezium.h"
#include "capture/capture.h"
#include "tests/support/decoder_case.h"
#include "tests/support/feed_debezium.h"
#include "tests/support/random.h"

enum { KEYS = 7, HISTORIES = 200, FIRST_XID = 700, ROWS_MAX = 64, LINE = 256 };

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
        iso_history_set_cts(history, (struct iso_stamp){1000 - (t * 7919) % 997, 0});
        for (uint32_t o = 0; o < operations; o++) {
            uint32_t kind = random_below(&random, 4);
            iso_atom value =
                kind == 1 ? ISO_ABSENT
                : kind == 2
                    ? iso_atoms_text(&history->atoms, "caf\xc3\xa9 \"18446744073709551615\"", 29)
                    : random_below(&random, 5);
            iso_history_operation(history,
                                  kind == 0   ? ISO_READ
                                  : kind == 1 ? ISO_DELETE
                                              : ISO_WRITE,
                                  random_below(&random, KEYS), value);
        }
    }
    for (uint32_t k = 0; k < 3; k++)
        iso_history_initial(history, k, 100 + k, false);
    feed_rename_keys(history, feed_debezium_name, &tables);
}

/* What a transaction must hold, as "c public.t1/2 - 5" lines in the order of its operations. */
struct expected {
    uint32_t count;
    char lines[ROWS_MAX][LINE];
};

static void text_of(const struct iso_atoms *atoms, iso_atom atom, char text[LINE])
{
    char digits[ISO_ATOM_TEXT_MAX];
    size_t length = 1;
    const char *at = atom == ISO_ABSENT ? "-" : iso_atom_text(atoms, atom, digits, &length);
    snprintf(text, LINE, "%.*s", (int)length, at);
}

static void put_line(char line[LINE], char op, const struct iso_atoms *atoms, iso_atom key,
                     bool has_before, iso_atom before, iso_atom after)
{
    char texts[3][LINE];
    text_of(atoms, key, texts[0]);
    text_of(atoms, before, texts[1]);
    text_of(atoms, after, texts[2]);
    snprintf(line, LINE, "%c %.60s %.60s %.60s", op, texts[0], has_before ? texts[1] : "?",
             texts[2]);
}

/* Replays the committed transactions in the order of cts. */
static void expect(const struct iso_history *history, bool default_identity,
                   struct expected *expected)
{
    iso_atom now[KEYS];
    memset(now, 0xff, sizeof now);
    for (uint32_t i = 0; i < history->initial.count; i++)
        now[history->initial.key[i]] = history->initial.value[i];
    for (uint64_t cts = 0; cts <= 1000; cts++)
        for (uint32_t t = 0; t < history->txns.count; t++) {
            if (history->txns.cts[t] != cts || iso_status_of(history, t) != ISO_COMMITTED)
                continue;
            expected[t].count = 0;
            for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++) {
                uint32_t key = history->ops.key[o];
                iso_atom before = now[key];
                if (!iso_kind_writes(history->ops.kind[o]))
                    continue;
                now[key] = history->ops.value[o];
                if (before == ISO_ABSENT && now[key] == ISO_ABSENT)
                    continue;
                char op = before == ISO_ABSENT ? 'c' : now[key] == ISO_ABSENT ? 'd' : 'u';
                put_line(expected[t].lines[expected[t].count++], op, &history->atoms,
                         history->keys.atom[key], op == 'c' || !default_identity, before, now[key]);
            }
        }
}

struct found {
    struct expected rows[16];
    bool ended[16];
    uint32_t claimed[16], begun, repeated, snapshots, tombstones, in_band;
    uint64_t last[2]; /* of the END before, and whether positions of later transactions are above */
};

static void take_event(const struct iso_events *events, const struct iso_event *event,
                       struct found *found)
{
    const struct iso_atoms *atoms = &events->block.atoms;
    if (event->type == ISO_EVENT_IGNORED) {
        found->tombstones++;
        return;
    }
    if (event->type == ISO_EVENT_ROW && event->operation == ISO_ROW_SNAPSHOT) {
        found->snapshots++;
        return;
    }
    assert_true(event->flags & ISO_EVENT_HAS_ID);
    char id[LINE];
    text_of(atoms, event->transaction_id, id);
    uint32_t t = (uint32_t)strtoul(strncmp(id, "0-1-", 4) ? id : id + 4, NULL, 10) - FIRST_XID;
    assert_true(t < 16);
    if (event->type == ISO_EVENT_BEGIN) {
        found->begun++;
    } else if (event->type == ISO_EVENT_END) {
        assert_true(event->flags & ISO_EVENT_HAS_COUNT);
        assert_true(!found->ended[t] || found->claimed[t] == event->count);
        found->ended[t] = true;
        found->claimed[t] = event->count;
    } else if (event->type == ISO_EVENT_TRANSACTIONS) {
        assert_true(event->flags & ISO_EVENT_IN_BAND);
        assert_int_equal(event->count, 1);
        found->in_band++;
    } else {
        assert_int_equal(event->type, ISO_EVENT_ROW);
        assert_true(event->order > 0 && event->order <= ROWS_MAX);
        char *line = found->rows[t].lines[event->order - 1];
        found->repeated += *line != 0;
        found->rows[t].count += *line == 0;
        put_line(line, "cud"[event->operation], atoms, event -> key,
                 event -> flags &ISO_EVENT_HAS_BEFORE, event -> before, event -> after);
    }
}

static void read_feed(const struct feed *feed, struct iso_decoder_options options,
                      struct found *found)
{
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, options);
    for (uint32_t i = 0; i < feed->count; i++) {
        iso_events_clear(&test.events);
        iso_debezium_decoder.decode(test.decoder, &feed->list[i], &test.events, &test.error);
        assert_string_equal(test.error.text, "");
        bool epoch = test.events.list[0].flags & ISO_EVENT_EPOCH; /* values are numbers and texts */
        assert_int_equal(test.events.count, 1 + epoch);
        take_event(&test.events, &test.events.list[epoch], found);
    }
    case_close(&test);
}

static struct found totals;

static void round_trip(uint64_t seed, struct feed_debezium_options options)
{
    struct iso_history history;
    struct expected expected[16] = {0};
    struct found found = {0};
    struct feed feed;
    build(&history, seed);
    expect(&history, options.default_identity && !options.binlog, expected);
    options.seed = seed;
    options.first_xid = FIRST_XID;
    options.metadata = true;
    feed_init(&feed);
    assert_true(feed_debezium_write(&feed, &history, &options));
    feed_finish(&feed);
    struct iso_decoder_options decoding = feed_debezium_decoding(options.format);
    decoding.identity = options.default_identity ? ISO_IDENTITY_DEFAULT : ISO_IDENTITY_FULL;
    if (options.default_identity && options.binlog)
        decoding.identity = ISO_IDENTITY_LEARN; /* the source sends whole rows */
    read_feed(&feed, decoding, &found);
    for (uint32_t t = 0; t < history.txns.count; t++) {
        assert_int_equal(found.rows[t].count, expected[t].count);
        for (uint32_t i = 0; i < expected[t].count; i++)
            assert_string_equal(found.rows[t].lines[i], expected[t].lines[i]);
        assert_int_equal(found.claimed[t],
                         found.ended[t] ? expected[t].count + options.in_band : 0);
    }
    assert_int_equal(found.snapshots, options.snapshot ? 3 : 0);
    totals.repeated += found.repeated;
    totals.begun += found.begun;
    totals.tombstones += found.tombstones;
    totals.in_band += found.in_band;
    feed_release(&feed);
    iso_history_release(&history);
}

static void every_format_carries_the_history(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        totals = (struct found){0};
        for (int format = FEED_JSON; format <= FEED_PROTOBUF; format++)
            round_trip(seed,
                       (struct feed_debezium_options){.format = (enum feed_debezium_format)format,
                                                      .partitions = 1 + seed % 3,
                                                      .restarts = seed % 4,
                                                      .snapshot = seed % 2,
                                                      .default_identity = seed % 5 == 0,
                                                      .binlog = seed % 7 == 0,
                                                      .in_band = seed % 6 == 1});
    }
}

/* The encoder does what it is for. */
static void feeds_repeat_and_tell_records(void **state)
{
    (void)state;
    totals = (struct found){0};
    for (uint64_t seed = 1; seed <= 50; seed++)
        round_trip(seed,
                   (struct feed_debezium_options){.partitions = 2, .restarts = 3, .in_band = true});
    assert_true(totals.repeated > 50);
    assert_true(totals.tombstones > 20);
    assert_true(totals.in_band > 200);
}

static void what_debezium_cannot_carry(void **state)
{
    (void)state;
    struct iso_history history;
    struct feed feed;
    build(&history, 1);
    feed_init(&feed);
    iso_history_begin(&history, 99, 1, ISO_COMMITTED, 0);
    iso_history_set_cts(&history, (struct iso_stamp){5, 0});
    iso_history_operation(&history, ISO_WRITE, iso_atoms_text(&history.atoms, "no identity", 11),
                          1);
    assert_false(feed_debezium_write(&feed, &history,
                                     &(struct feed_debezium_options){.seed = 1, .partitions = 1}));
    feed_release(&feed);
    iso_history_release(&history);
}

/* ---- captures ---- */

struct tally {
    uint32_t rows[4], whole, begins, ends, claimed, collected, tombstones, other;
};

/* What the collections before an END sum up to. */
static uint32_t collected(const struct iso_events *events)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i + 1 < events->count; i++) {
        assert_int_equal(events->list[i].type, ISO_EVENT_COLLECTION);
        sum += events->list[i].count;
    }
    return sum;
}

static void take_capture(const char *name, struct iso_decoder_options options, struct tally *tally)
{
    char path[100];
    struct decoder_case test;
    struct iso_inputs inputs;
    const struct iso_message *messages;
    uint32_t count;
    *tally = (struct tally){0};
    snprintf(path, sizeof path, "tests/data/recordings/debezium-postgres/%s.capture.jsonl.zst",
             name);
    case_open(&test, &iso_debezium_decoder, options);
    iso_inputs_init(&inputs);
    struct iso_capture_reader *reader = iso_capture_reader_new(path, &inputs, &test.error);
    assert_string_equal(test.error.text, "");
    while (iso_capture_read(reader, &messages, &count, &test.error) == ISO_OK && count)
        for (uint32_t i = 0; i < count; i++) {
            iso_events_clear(&test.events);
            iso_debezium_decoder.decode(test.decoder, &messages[i], &test.events, &test.error);
            assert_string_equal(test.error.text, "");
            const struct iso_event *event = &test.events.list[test.events.count - 1];
            tally->collected += event->type == ISO_EVENT_END ? collected(&test.events) : 0;
            tally->begins += event->type == ISO_EVENT_BEGIN;
            tally->ends += event->type == ISO_EVENT_END;
            tally->claimed += event->type == ISO_EVENT_END ? event->count : 0;
            tally->tombstones +=
                event->type == ISO_EVENT_IGNORED && !strcmp(event->reason, "tombstone");
            if (event->type != ISO_EVENT_ROW)
                continue;
            tally->rows[event->operation]++;
            tally->whole +=
                event->operation != ISO_ROW_INSERT && (event->flags & ISO_EVENT_HAS_BEFORE);
            assert_true(event->flags & ISO_EVENT_HAS_AFTER &&
                        event->flags & (ISO_EVENT_HAS_POSITION | ISO_EVENT_SNAPSHOT_XID));
            assert_true(event->key != ISO_ABSENT &&
                        (event->operation == ISO_ROW_DELETE) == (event->after == ISO_ABSENT));
            assert_true((event->operation == ISO_ROW_SNAPSHOT) ==
                        !(event->flags & ISO_EVENT_HAS_ID));
            assert_true((event->operation == ISO_ROW_SNAPSHOT) == !event->order);
        }
    assert_string_equal(test.error.text, "");
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
    case_close(&test);
}

/* Two tables of identity FULL, one of identity DEFAULT (138 updates and 24 deletes). No column of
 * theirs is ever null, and without schemas nothing else tells that it may be: identity=full has to
 * be said. */
static void the_bank_is_read(void **state)
{
    (void)state;
    struct tally tally;
    take_capture("bank", (struct iso_decoder_options){.value = "v"}, &tally);
    assert_int_equal(tally.rows[ISO_ROW_SNAPSHOT], 3 + 2 + 1);
    assert_int_equal(tally.rows[ISO_ROW_INSERT], 151 + 37 + 32);
    assert_int_equal(tally.rows[ISO_ROW_UPDATE], 601 + 130 + 138);
    assert_int_equal(tally.rows[ISO_ROW_DELETE], 106 + 29 + 24);
    assert_int_equal(tally.whole, 0);
    assert_int_equal(tally.tombstones, 106 + 29 + 24);
    assert_int_equal(tally.begins, 465);
    assert_int_equal(tally.ends, 465);
    assert_int_equal(tally.claimed, 151 + 37 + 32 + 601 + 130 + 138 + 106 + 29 + 24);
    assert_int_equal(tally.collected, tally.claimed);
    take_capture("bank",
                 (struct iso_decoder_options){.value = "v",
                                              .identity = ISO_IDENTITY_FULL,
                                              .tables = "public.kv;public.acct"},
                 &tally);
    assert_int_equal(tally.whole, 601 + 130 + 106 + 29);
}

static void other_captures_are_read(void **state)
{
    (void)state;
    struct tally tally;
    take_capture("schemas", (struct iso_decoder_options){0}, &tally);
    assert_int_equal(tally.rows[ISO_ROW_SNAPSHOT] + tally.rows[ISO_ROW_INSERT] +
                         tally.rows[ISO_ROW_UPDATE] + tally.rows[ISO_ROW_DELETE],
                     6 + 57 + 88 + 15);
    assert_int_equal(tally.whole, 31 + 16 + 8 + 4); /* by schemas; not those of identity DEFAULT */
    take_capture("kill", (struct iso_decoder_options){0}, &tally);
    assert_int_equal(tally.ends, 31);
    take_capture("message", (struct iso_decoder_options){0}, &tally);
    assert_int_equal(tally.tombstones + tally.rows[ISO_ROW_INSERT], 0);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_carries_the_history),
        cmocka_unit_test(feeds_repeat_and_tell_records),
        cmocka_unit_test(what_debezium_cannot_carry),
        cmocka_unit_test(the_bank_is_read),
        cmocka_unit_test(other_captures_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
