/* Building histories: by calls, by appending blocks, taking back, clearing. */
#include "tests/support/test.h"

#include <stdio.h>
#include <unistd.h>

#include "history/archive.h"
#include "history/copy.h"
#include "tests/support/history.h"

/* A transaction with everything that can vary, from a stream of random numbers. */
static void add_random(struct iso_history *history, uint64_t *seed, uint32_t number, uint32_t line,
                       enum iso_clock clock)
{
    char text[32];
    uint64_t choice = test_random(seed);
    snprintf(text, sizeof text, number % 3 ? "%u" : "t%u", number);
    iso_atom tid = test_atom(history, text);
    iso_history_begin(history, tid, test_atom(history, choice & 1 ? "s" : "3000000000"), choice % 3,
                      iso_origin(0, line));
    if (choice & 0x10)
        iso_history_set_sts(
            history, (struct iso_stamp){choice >> 20, clock == ISO_CLOCK_PAIR ? choice & 7 : 0});
    if (choice & 0x20)
        iso_history_set_cts(
            history, (struct iso_stamp){choice >> 19, clock == ISO_CLOCK_PAIR ? choice & 3 : 0});
    if (choice & 0x40)
        iso_history_set_sno(history, choice >> 40);
    if (choice & 0x80)
        iso_history_set_xid(history, choice >> 50 | 1);
    uint32_t snapshot;
    if (choice & 0x100 && iso_history_snapshot(history, "5:9:6,8", 7, &snapshot))
        iso_history_set_snapshot(history, snapshot);
    if (choice & 0x200)
        iso_history_set_marks(history, ISO_MARK_CDC_WRITES);
    history->whole_rows |= choice % 64 == 0x3f;
    for (unsigned i = 0; i < choice >> 60; i++) {
        uint64_t what = test_random(seed);
        snprintf(text, sizeof text, what & 1 ? "k%u" : "%u", (unsigned)(what >> 60));
        iso_atom key = test_atom(history, text);
        if (what & 2) {
            uint32_t list = iso_history_list(history);
            for (unsigned e = 0; e < (what >> 58 & 3); e++)
                iso_history_element(history, iso_atoms_unsigned(&history->atoms, what >> (20 + e)));
            iso_history_operation(history, ISO_READ_LIST, key, list);
        } else {
            iso_history_operation(
                history, (enum iso_operation_kind)(what >> 4 & 3), key,
                what & 4 ? ISO_ABSENT : iso_atoms_unsigned(&history->atoms, what >> (what & 0x3f)));
        }
        if (what & 0x100)
            iso_history_set_ots(
                history, (struct iso_stamp){what >> 30, clock == ISO_CLOCK_PAIR ? what & 7 : 0});
        else if (what & 0x200 && iso_history_snapshot(history, "7:7:", 4, &snapshot))
            iso_history_set_operation_snapshot(history, snapshot);
        if (what & 0x400)
            iso_history_set_lock(history);
    }
}

/* Blocks of random sizes, appended, are the same as the whole built at once. */
static void appending_is_building(void **state)
{
    (void)state;
    enum { COUNT = 60 };
    for (uint64_t round = 1; round <= 300; round++) {
        uint64_t seed = round * 0x9e3779b97f4a7c15u, one_seed = seed, cuts = seed;
        enum iso_clock clock = round & 1 ? ISO_CLOCK_PAIR : ISO_CLOCK_SCALAR;
        struct iso_history whole, parts, block;
        char what[32];
        iso_history_init(&whole);
        iso_history_init(&parts);
        iso_history_init(&block);
        whole.clock = block.clock = clock;
        uint32_t base = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            add_random(&whole, &one_seed, i, i + 1, clock);
            add_random(&block, &seed, i, i + 1 - base, clock);
            if (test_random(&cuts) % 4 == 0 || i + 1 == COUNT) {
                iso_history_append(&parts, &block, 0, base);
                base = i + 1;
                iso_history_clear(&block);
                block.clock = clock;
            }
        }
        snprintf(what, sizeof what, "round %llu", (unsigned long long)round);
        test_same_history(&whole, &parts, what);
        iso_history_release(&block);
        iso_history_release(&parts);
        iso_history_release(&whole);
    }
}

static void origins_name_input_and_line(void **state)
{
    (void)state;
    struct iso_history history, block;
    char place[64];
    iso_history_init(&history);
    iso_history_init(&block);
    iso_history_input(&history, "a.jsonl");
    uint32_t input = iso_history_input(&history, "b.jsonl");
    iso_history_begin(&block, 1, 1, ISO_COMMITTED, iso_origin(0, 3));
    iso_history_append(&history, &block, input, 100);
    iso_history_location_text(&history, 0, place, sizeof place);
    assert_string_equal(place, "b.jsonl:103");
    iso_history_release(&block);
    iso_history_release(&history);
}

/* What was begun after the mark is gone, whatever it was, and does not show in what comes then. */
static void rewinding_takes_back(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 300; round++) {
        uint64_t seed = round, other = round * 77;
        struct iso_history plain, rewound;
        iso_history_init(&plain);
        iso_history_init(&rewound);
        /* atoms and keys stay, so both get the same names first */
        for (int i = 0; i < 2; i++) {
            uint64_t same = other;
            struct iso_history *history = i ? &rewound : &plain;
            struct iso_history_mark mark = iso_history_mark(history);
            add_random(history, &same, 1000, 1, ISO_CLOCK_SCALAR);
            iso_history_rewind(history, &mark);
        }
        uint64_t first = seed, second = seed, bad = other;
        for (uint32_t t = 0; t < 5; t++) {
            add_random(&plain, &first, t, 1, ISO_CLOCK_SCALAR);
            add_random(&rewound, &second, t, 1, ISO_CLOCK_SCALAR);
            struct iso_history_mark mark = iso_history_mark(&rewound);
            add_random(&rewound, &bad, 1000, 1, ISO_CLOCK_SCALAR);
            bad = other;
            iso_history_rewind(&rewound, &mark);
        }
        assert_int_equal(rewound.txns.count, 5);
        test_same_history(&plain, &rewound, "rewound");
        iso_history_release(&rewound);
        iso_history_release(&plain);
    }
}

static void copying_loses_nothing(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 50; round++) {
        uint64_t seed = round;
        struct iso_history history, copy;
        iso_history_init(&history);
        iso_history_init(&copy);
        history.clock = ISO_CLOCK_SCALAR;
        for (uint32_t t = 0; t < 20; t++)
            add_random(&history, &seed, t, t + 1, ISO_CLOCK_SCALAR);
        for (uint32_t t = 0; t < 20; t++)
            iso_history_copy_timed(&copy, &history, t);
        assert_int_equal(copy.whole_rows, history.whole_rows);
        for (uint32_t t = 0; t < 20; t++) {
            assert_int_equal(iso_marks_of(&copy, t), iso_marks_of(&history, t));
            assert_int_equal(copy.txns.flags[t], history.txns.flags[t]);
        }
        assert_int_equal(copy.snapshots.count, history.snapshots.count);
        assert_int_equal(copy.ops.count, history.ops.count);
        iso_history_release(&copy);
        iso_history_release(&history);
    }
}

static void an_archive_gives_all_back(void **state)
{
    (void)state;
    uint64_t seed = 5, later = 6, again = 6;
    struct iso_history history, restored;
    struct iso_archive archive;
    struct iso_error error = {.status = ISO_OK};
    FILE *file = tmpfile();
    iso_history_init(&history);
    iso_history_init(&restored);
    history.whole_rows = true;
    for (uint32_t t = 0; t < 40; t++)
        add_random(&history, &seed, t, 1, ISO_CLOCK_SCALAR);
    assert_non_null(file);
    iso_archive_save(&archive, fileno(file), "history", &error);
    iso_history_archive(&archive, &history);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    assert_int_equal(lseek(fileno(file), 0, SEEK_SET), 0);
    iso_archive_restore(&archive, fileno(file), "history", &error);
    iso_history_archive(&archive, &restored);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    test_same_history(&history, &restored, "restored");
    for (uint32_t t = 40; t < 80; t++) {
        add_random(&history, &later, t, 1, ISO_CLOCK_SCALAR);
        add_random(&restored, &again, t, 1, ISO_CLOCK_SCALAR);
    }
    test_same_history(&history, &restored, "restored and gone on");
    fclose(file);
    iso_history_release(&restored);
    iso_history_release(&history);
}

/* Columns filled by a reader, then closed, say the same as calls. */
static void closing_notes_what_calls_note(void **state)
{
    (void)state;
    struct iso_history calls, columns;
    iso_history_init(&calls);
    iso_history_init(&columns);
    static const enum iso_operation_kind kinds[] = {ISO_READ, ISO_WRITE, ISO_DELETE, ISO_APPEND,
                                                    ISO_READ};
    iso_history_begin(&calls, 5, 6, ISO_UNKNOWN, 1);
    for (uint32_t i = 0; i < 5; i++)
        iso_history_operation(&calls, kinds[i], i,
                              i == 4 || kinds[i] == ISO_DELETE ? ISO_ABSENT : i);
    uint32_t t = iso_history_open(&columns, 1);
    iso_history_reserve_operations(&columns, 5);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t o = columns.ops.count++;
        columns.ops.kind[o] = (uint8_t)kinds[i];
        columns.ops.key[o] = iso_history_key(&columns, i);
        columns.ops.value[o] = i == 4 || kinds[i] == ISO_DELETE ? ISO_ABSENT : i;
    }
    columns.txns.tid[t] = 5;
    columns.txns.session[t] = iso_history_session(&columns, 6);
    columns.txns.flags[t] |= ISO_UNKNOWN;
    iso_history_close(&columns);
    test_same_history(&calls, &columns, "columns");
    assert_int_equal(columns.txns.flags[t], ISO_UNKNOWN | ISO_WRITES);
    assert_int_equal(columns.keys.use[4], 0);
    iso_history_release(&columns);
    iso_history_release(&calls);
}

static void clearing_leaves_nothing(void **state)
{
    (void)state;
    struct iso_history used, fresh;
    iso_history_init(&used);
    iso_history_init(&fresh);
    uint64_t seed = 9;
    for (uint32_t t = 0; t < 40; t++)
        add_random(&used, &seed, t, 1, ISO_CLOCK_SCALAR);
    iso_history_initial(&used, 3, 4, false);
    iso_history_clear(&used);
    uint64_t one = 4711, other = 4711;
    for (uint32_t t = 0; t < 40; t++) {
        add_random(&used, &one, t, 1, ISO_CLOCK_SCALAR);
        add_random(&fresh, &other, t, 1, ISO_CLOCK_SCALAR);
    }
    test_same_history(&used, &fresh, "cleared");
    assert_int_equal(used.initial.count, 0);
    assert_int_equal(used.inputs.count, 0);
    iso_history_release(&fresh);
    iso_history_release(&used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appending_is_building),
        cmocka_unit_test(origins_name_input_and_line),
        cmocka_unit_test(rewinding_takes_back),
        cmocka_unit_test(closing_notes_what_calls_note),
        cmocka_unit_test(clearing_leaves_nothing),
        cmocka_unit_test(copying_loses_nothing),
        cmocka_unit_test(an_archive_gives_all_back),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
