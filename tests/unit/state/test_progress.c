/* The records of a run: what is put comes back, cut records are noticed, a digest sees every member
 * of a message. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "state/progress.h"
#include "tests/support/test.h"

static struct iso_message message(uint32_t input, int64_t offset, const char *key,
                                  const char *payload)
{
    return (struct iso_message){
        .topic = "t",
        .partition = (int32_t)input,
        .offset = offset,
        .timestamp = 1000 + offset,
        .input = input,
        .key = {(const uint8_t *)key, key ? (uint32_t)strlen(key) : 0},
        .payload = {(const uint8_t *)payload, payload ? (uint32_t)strlen(payload) : 0}};
}

static struct iso_progress_reader reader_of(const struct iso_text *record)
{
    return (struct iso_progress_reader){(const uint8_t *)record->bytes,
                                        (const uint8_t *)record->bytes + record->used};
}

static void test_numbers(void **state)
{
    static const uint64_t numbers[] = {
        0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct iso_text record = {0};
        uint64_t found;
        iso_progress_put_number(&record, numbers[i]);
        struct iso_progress_reader reader = reader_of(&record);
        assert_true(iso_progress_get_number(&reader, &found));
        assert_int_equal(found, numbers[i]);
        assert_ptr_equal(reader.at, reader.end);
        for (size_t cut = 0; cut < record.used; cut++) {
            reader = reader_of(&record);
            reader.end = reader.at + cut;
            assert_false(iso_progress_get_number(&reader, &found));
        }
        iso_text_release(&record);
    }
}

static void test_step(void **state)
{
    const struct iso_message batch[] = {message(0, 5, "k", "a"), message(0, 6, NULL, "b"),
                                        message(3, 900, NULL, "c"), message(0, 9, NULL, NULL)};
    static const uint64_t runs[][2] = {{0, 2}, {3, 1}, {0, 1}};
    struct iso_progress progress = {.time = 70, .messages = 10},
                        again = {.time = 70, .messages = 10};
    struct iso_text record = {0}, same = {0};
    uint64_t time, count, input, messages;
    (void)state;
    iso_progress_step(&progress, batch, 4, 75, &record);
    struct iso_progress_reader reader = reader_of(&record);
    assert_true(iso_progress_get_step(&again, &reader, &time, &count));
    assert_int_equal(time, 75);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        assert_true(iso_progress_get_run(&reader, &input, &messages));
        assert_int_equal(input, runs[i][0]);
        assert_int_equal(messages, runs[i][1]);
    }
    assert_false(iso_progress_get_run(&reader, &input, &messages));
    assert_int_equal(progress.time, 75);
    assert_int_equal(progress.messages, 14);
    assert_int_equal(progress.positions[0].next, 10);
    assert_int_equal(progress.positions[0].last, 9);
    assert_int_equal(progress.positions[1].next, -1);
    assert_int_equal(progress.positions[3].next, 901);
    iso_progress_step(&again, batch, 4, 75, &same);
    assert_int_equal(same.used, record.used);
    assert_memory_equal(same.bytes, record.bytes, record.used);
    iso_text_release(&record);
    iso_text_release(&same);
    iso_progress_release(&progress);
    iso_progress_release(&again);
}

/* The record of a batch is another once anything of any message is. */
static void test_digest(void **state)
{
    struct iso_message was = message(1, 7, "key", "payload"), is = was;
    (void)state;
    assert_true(iso_progress_digest(&was) == iso_progress_digest(&is));
    is.offset++;
    assert_true(iso_progress_digest(&was) != iso_progress_digest(&is));
    is = was;
    is.timestamp++;
    assert_true(iso_progress_digest(&was) != iso_progress_digest(&is));
    is = message(1, 7, "keypay", "load");
    assert_true(iso_progress_digest(&was) != iso_progress_digest(&is));
    is = message(1, 7, NULL, "payload");
    assert_true(iso_progress_digest(&was) != iso_progress_digest(&is));
    was = message(1, 7, "key", "");
    is = message(1, 7, "key", NULL);
    assert_true(iso_progress_digest(&was) != iso_progress_digest(&is));
}

static void test_partition_and_check(void **state)
{
    struct iso_progress progress = {.time = 1000};
    struct iso_progress_partition put = {1003, 7, 12, INT64_C(1) << 40, "orders.cdc", 10}, got;
    struct iso_text record = {0};
    uint64_t position, digest;
    (void)state;
    iso_progress_put_partition(&progress, &put, &record);
    assert_true(iso_progress_get_partition(&progress, reader_of(&record), &got));
    assert_int_equal(got.time, put.time);
    assert_int_equal(got.input, put.input);
    assert_int_equal(got.partition, put.partition);
    assert_int_equal(got.start, put.start);
    assert_int_equal(got.length, put.length);
    assert_memory_equal(got.topic, put.topic, put.length);
    record.used = 0;
    iso_progress_line(&progress, "one\n", 4);
    iso_progress_line(&progress, "two\n", 4);
    iso_progress_put_check(&progress, &record);
    assert_true(iso_progress_get_check(reader_of(&record), &position, &digest));
    assert_int_equal(position, 8);
    assert_true(digest == progress.digest);
    record.used--;
    assert_false(iso_progress_get_check(reader_of(&record), &position, &digest));
    iso_text_release(&record);
}

static void test_archive(void **state)
{
    struct iso_progress progress = {.time = 1, .messages = 2, .position = 3, .digest = 4},
                        found = {0};
    struct iso_archive archive;
    struct iso_error error = {.status = ISO_OK};
    int file = memfd_create("progress", MFD_CLOEXEC);
    (void)state;
    iso_progress_position(&progress, 2)->next = 99;
    iso_archive_save(&archive, file, "progress", &error);
    iso_progress_archive(&archive, &progress);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    iso_archive_restore(&archive, file, "progress", &error);
    iso_progress_archive(&archive, &found);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    assert_int_equal(found.time, 1);
    assert_int_equal(found.messages, 2);
    assert_int_equal(found.position, 3);
    assert_int_equal(found.digest, 4);
    assert_int_equal(found.position_count, 3);
    assert_int_equal(found.positions[2].next, 99);
    assert_int_equal(found.positions[0].next, -1);
    close(file);
    iso_progress_release(&progress);
    iso_progress_release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_step),
        cmocka_unit_test(test_digest),  cmocka_unit_test(test_partition_and_check),
        cmocka_unit_test(test_archive),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
