/* Histories written as TiCDC's feeds, in every protocol, and read again: the rows that come are the
 * changes that were made, each with the row before, whatever was repeated and however the
 * partitions interleave; and watermarks hold. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "connectors/ticdc/ticdc.h"
#include "tests/support/decoding.h"
#include "tests/support/feed_ticdc.h"
#include "tests/support/history.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

enum { KEYS = 6, HISTORIES = 60, TRANSACTIONS = 14, EVENTS = 4000 };

/* Commit timestamps in no order; every third is shared with a transaction that writes other
 * keys. */
static void build(struct iso_history *history, uint64_t seed, uint32_t tables)
{
    struct random random = {seed};
    iso_history_init(history);
    history->clock = ISO_CLOCK_SCALAR;
    for (uint32_t t = 0; t < TRANSACTIONS; t++) {
        uint32_t operations = random_below(&random, 5), slot = (t / 2 * 7919) % 997;
        iso_history_begin(history, t, random_below(&random, 3),
                          random_percent(&random, 90) ? ISO_COMMITTED : ISO_ABORTED, t);
        iso_history_set_sts(history, (struct iso_stamp){(1000 + 10 * slot) - 1 - t % 2, 0});
        iso_history_set_cts(history,
                            (struct iso_stamp){(UINT64_C(447984099186180098) + 10 * slot), 0});
        for (uint32_t o = 0; o < operations; o++) {
            uint32_t kind = random_below(&random, 6),
                     key = random_below(&random, KEYS / 2) * 2 + t % 2;
            iso_history_operation(history,
                                  kind == 0   ? ISO_READ
                                  : kind == 1 ? ISO_DELETE
                                              : ISO_WRITE,
                                  key,
                                  kind == 1   ? ISO_ABSENT
                                  : kind == 2 ? test_atom(history, "a\"\\,\n\xc3\xa9")
                                              : random_below(&random, 3));
        }
    }
    feed_rename_keys(history, feed_ticdc_name, &tables);
}

/* A change of a key, as the feed and as the history have it. */
struct change {
    char key[32], before[16], after[16];
    uint64_t sts, cts;
};

struct changes {
    uint32_t count;
    struct change list[EVENTS];
};

static void copy_atom(char *into, size_t size, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length = 1;
    const char *text = atom == ISO_ABSENT ? "-" : iso_atom_text(atoms, atom, buffer, &length);
    assert_in_range(length, 0, size - 1);
    memcpy(into, text, length);
    into[length] = 0;
}

static int by_key_and_cts(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    int order = strcmp(a->key, b->key);
    return order ? order : (a->cts > b->cts) - (a->cts < b->cts);
}

static const struct change *find_change(const struct changes *changes, const struct change *wanted)
{
    for (uint32_t i = 0; i < changes->count; i++)
        if (changes->list[i].cts == wanted->cts && !strcmp(changes->list[i].key, wanted->key))
            return &changes->list[i];
    return NULL;
}

/* Adds it unless it is there; what is there must be the same. csv sends an update as two halves:
 * the second one goes on from the first. */
static bool note(struct changes *changes, const struct change *change, bool halves)
{
    struct change *known = (struct change *)(uintptr_t)find_change(changes, change);
    if (!known) {
        assert_in_range(changes->count, 0, EVENTS - 1);
        changes->list[changes->count++] = *change;
        return true;
    }
    assert_true(known->sts == change->sts);
    if (halves && !strcmp(change->before, "-")) {
        assert_true(!strcmp(known->after, "-") || !strcmp(known->after, change->after));
        strcpy(known->after, change->after);
        return false;
    }
    assert_string_equal(known->before, change->before);
    if (!halves)
        assert_string_equal(known->after, change->after);
    return false;
}

/* What the history changed: the last write of each key in each committed transaction, in the order
 * of cts. */
static void expect(const struct iso_history *history, bool drops_unchanged, bool start_ts,
                   struct changes *expected)
{
    char current[KEYS][16];
    expected->count = 0;
    for (uint32_t k = 0; k < KEYS; k++)
        strcpy(current[k], "-");
    for (uint64_t slot = 0; slot < 1000; slot++)
        for (uint32_t t = 0; t < history->txns.count; t++) {
            if (history->txns.cts[t] != UINT64_C(447984099186180098) + 10 * slot ||
                iso_status_of(history, t) != ISO_COMMITTED)
                continue;
            for (uint32_t k = 0; k < history->keys.count; k++) {
                struct change change = {.cts = history->txns.cts[t],
                                        .sts = start_ts ? history->txns.sts[t] : 0};
                bool writes = false;
                for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
                    if (history->ops.key[o] == k && iso_kind_writes(history->ops.kind[o])) {
                        writes = true;
                        copy_atom(change.after, sizeof change.after, &history->atoms,
                                  history->ops.value[o]);
                    }
                copy_atom(change.key, sizeof change.key, &history->atoms, history->keys.atom[k]);
                strcpy(change.before, current[k]);
                bool same = !strcmp(change.before, change.after);
                if (!writes)
                    continue;
                strcpy(current[k], change.after);
                if (!same || (strcmp(change.after, "-") && !drops_unchanged))
                    expected->list[expected->count++] = change;
            }
        }
}

static void take(struct changes *found, const struct iso_events *events, uint64_t watermarks[],
                 const char *format)
{
    for (uint32_t i = 0; i < events->count; i++) {
        const struct iso_event *event = &events->list[i];
        struct change change = {.cts = event->cts.physical,
                                .sts = event->flags & ISO_EVENT_HAS_STS ? event->sts.physical : 0};
        uint64_t *watermark = &watermarks[iso_origin_input(event->origin)];
        if (event->type == ISO_EVENT_IGNORED || event->type == ISO_EVENT_SCHEMA)
            continue;
        if (event->type == ISO_EVENT_WATERMARK) {
            *watermark = event->cts.physical > *watermark ? event->cts.physical : *watermark;
            continue;
        }
        assert_int_equal(event->type, ISO_EVENT_ROW);
        assert_true(event->flags & ISO_EVENT_HAS_AFTER);
        bool known = event->flags & ISO_EVENT_HAS_BEFORE;
        copy_atom(change.key, sizeof change.key, &events->block.atoms, event->key);
        copy_atom(change.before, sizeof change.before, &events->block.atoms, event->before);
        copy_atom(change.after, sizeof change.after, &events->block.atoms, event->after);
        const struct change *before = find_change(found, &change);
        if (!known) { /* an open-protocol insert, which may be an update without its row before; csv
                         has that before it */
            assert_true(!strcmp(format, "open-protocol") || !strcmp(format, "csv"));
            assert_int_equal(event->operation, ISO_ROW_UPDATE);
        }
        note(found, &change, !strcmp(format, "csv"));
        assert_true(before || change.cts > *watermark); /* nothing new at or below it */
    }
}

static void round_trip(const char *format, const char *compression, uint64_t seed)
{
    bool start_ts = seed % 2 && (!strcmp(format, "simple") || !strcmp(format, "debezium"));
    struct iso_decoder_options decoder = {.compression = compression};
    struct feed_ticdc_options options = {.seed = seed,
                                         .format = format,
                                         .topic = "t",
                                         .partitions = 1 + (uint32_t)(seed % 3),
                                         .restarts = (uint32_t)(seed % 5),
                                         .every = (uint32_t)(seed % 4),
                                         .start_ts = start_ts,
                                         .drops_unchanged = seed % 2,
                                         .compression = compression};
    struct changes *expected = malloc(sizeof *expected), *found = malloc(sizeof *found);
    bool one_table = !strcmp(format, "avro") || !strcmp(format, "csv");
    uint64_t watermarks[4] = {0};
    struct iso_history history;
    struct decoding decoding;
    struct feed feed;
    assert_true(expected && found);
    build(&history, seed, one_table ? 1 : 2);
    feed_init(&feed);
    assert_true(feed_ticdc_write(&feed, &history, &options));
    feed_finish(&feed);
    expect(&history, options.drops_unchanged, start_ts, expected);
    feed_ticdc_decoder_options(format, &decoder);
    decoding_start(&decoding, &iso_ticdc_decoder, &decoder);
    found->count = 0;
    for (uint32_t i = 0; i < feed.count; i++) {
        iso_events_clear(&decoding.events);
        decoding.decoder->class->decode(decoding.decoder, &feed.list[i], &decoding.events,
                                        &decoding.error);
        assert_string_equal(decoding.error.text, "");
        take(found, &decoding.events, watermarks, format);
    }
    qsort(expected->list, expected->count, sizeof *expected->list, by_key_and_cts);
    qsort(found->list, found->count, sizeof *found->list, by_key_and_cts);
    assert_int_equal(found->count, expected->count);
    for (uint32_t i = 0; i < expected->count; i++) {
        assert_string_equal(found->list[i].key, expected->list[i].key);
        assert_true(found->list[i].cts == expected->list[i].cts &&
                    found->list[i].sts == expected->list[i].sts);
        assert_string_equal(found->list[i].before, expected->list[i].before);
        assert_string_equal(found->list[i].after, expected->list[i].after);
    }
    for (uint32_t p = 0; options.every && p < options.partitions; p++)
        assert_true(watermarks[p] >=
                    (expected->count ? expected->list[0].cts : 0)); /* the last one covers all */
    decoding_end(&decoding);
    feed_release(&feed);
    iso_history_release(&history);
    free(expected);
    free(found);
}

static void every_protocol(void **state)
{
    (void)state;
    for (const char *const *format = feed_ticdc_formats; *format; format++)
        for (uint64_t seed = 1; seed <= HISTORIES; seed++)
            round_trip(*format, NULL, seed);
}

static void compressed(void **state)
{
    (void)state;
    static const char *const formats[] = {"canal-json", "open-protocol", "simple", "debezium"};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (uint64_t seed = 1; seed <= HISTORIES / 4; seed++) {
            round_trip(formats[f], "lz4", seed);
            round_trip(formats[f], "snappy", seed);
        }
}

static void what_ticdc_cannot_carry(void **state)
{
    (void)state;
    struct feed feed;
    struct iso_history history;
    struct feed_ticdc_options options = {
        .seed = 1, .format = "canal-json", .topic = "t", .partitions = 1};
    build(&history, 1, 1);
    feed_init(&feed);
    iso_history_begin(&history, 99, 1, ISO_COMMITTED, 0);
    iso_history_set_cts(&history, (struct iso_stamp){5, 0});
    iso_history_operation(&history, ISO_WRITE, test_atom(&history, "no identity"), 1);
    assert_false(feed_ticdc_write(&feed, &history, &options));
    feed_release(&feed);
    iso_history_release(&history);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_protocol),
                                       cmocka_unit_test(compressed),
                                       cmocka_unit_test(what_ticdc_cannot_carry)};
    return cmocka_run_group_tests_name("ticdc feed", tests, NULL, NULL);
}
