/* Captures: every published capture is read; what is written is read back; one bad line of each
 * kind is located. */
#define _GNU_SOURCE
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/text.h"
#include "capture/capture.h"
#include "bytes/input.h"
#include "bytes/stream.h"

static void write_file(const char *path, const char *text)
{
    struct iso_error error = {0};
    struct iso_stream_writer *writer = iso_stream_writer_new(path, &error);
    assert_non_null(writer);
    assert_int_equal(iso_stream_write(writer, text, strlen(text), &error), ISO_OK);
    assert_int_equal(iso_stream_writer_close(writer, &error), ISO_OK);
}

static uint64_t copy(const char *from, const char *to)
{
    struct iso_error error = {0};
    struct iso_inputs inputs;
    const struct iso_message *messages;
    uint32_t count;
    uint64_t total = 0;
    iso_inputs_init(&inputs);
    struct iso_capture_reader *reader = iso_capture_reader_new(from, &inputs, &error);
    struct iso_capture_writer *writer = iso_capture_writer_new(to, &error);
    assert_non_null(reader);
    assert_non_null(writer);
    while (iso_capture_read(reader, &messages, &count, &error) == ISO_OK && count) {
        total += count;
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(iso_capture_write(writer, &messages[i], &error), ISO_OK);
    }
    assert_string_equal(error.text, "");
    assert_int_equal(iso_capture_writer_close(writer, &error), ISO_OK);
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
    return total;
}

static void assert_equal_lines(const char *left, const char *right)
{
    struct iso_error error = {0};
    struct iso_stream_reader *a = iso_stream_reader_new(left, &error),
                             *b = iso_stream_reader_new(right, &error);
    const char *line_a, *line_b;
    size_t length_a, length_b;
    while (iso_stream_read_line(a, &line_a, &length_a, &error)) {
        assert_true(iso_stream_read_line(b, &line_b, &length_b, &error));
        assert_int_equal(length_a, length_b);
        assert_memory_equal(line_a, line_b, length_a);
    }
    assert_false(iso_stream_read_line(b, &line_b, &length_b, &error));
    assert_int_equal(error.status, ISO_OK);
    iso_stream_reader_free(a);
    iso_stream_reader_free(b);
}

/* kcat wrote most of these, byte for byte as our writer does. */
static void published_captures_come_back_byte_for_byte(void **state)
{
    (void)state;
    glob_t found;
    uint64_t total = 0;
    if (glob("../shared/captures/*/*.capture.jsonl*", 0, NULL, &found) != 0)
        skip();
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char path[] = "/tmp/isochron-capture-XXXXXX.zst";
        close(mkstemps(path, 4));
        total += copy(found.gl_pathv[i], path);
        assert_equal_lines(found.gl_pathv[i], path);
        unlink(path);
    }
    assert_true(total > 158000);
    globfree(&found);
}

static const struct iso_message *read_one(const char *text, struct iso_inputs *inputs,
                                          struct iso_capture_reader **reader,
                                          struct iso_error *error)
{
    char path[] = "/tmp/isochron-capture-XXXXXX";
    const struct iso_message *messages;
    uint32_t count;
    close(mkstemp(path));
    write_file(path, text);
    *reader = iso_capture_reader_new(path, inputs, error);
    enum iso_status status = iso_capture_read(*reader, &messages, &count, error);
    unlink(path);
    return status == ISO_OK && count == 1 ? messages : NULL;
}

static void any_order_and_unknown_members(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_inputs inputs;
    struct iso_capture_reader *reader;
    iso_inputs_init(&inputs);
    const struct iso_message *message = read_one(
        " {\"key_schema_id\":{\"a\":[1,-2.5e3,{}],\"b\":true}, \"payload\":{\"base64\":\"/wA=\"}, \"offset\":9223372036854775807,"
        "\"headers\":[\"h\",null,{\"base64\":\"gA==\"},\"\"],\"partition\":3,\"key\":\"\\u00e9\\ud83d\\ude00\\n\",\"topic\":\"t\"}\r\n",
        &inputs, &reader, &error);
    assert_non_null(message);
    assert_string_equal(message->topic, "t");
    assert_int_equal(message->partition, 3);
    assert_true(message->offset == INT64_MAX);
    assert_int_equal(message->broker, -1);
    assert_int_equal(message->timestamp_type, ISO_TIMESTAMP_NONE);
    assert_int_equal(message->payload.size, 2);
    assert_memory_equal(message->payload.data, "\xff\0", 2);
    assert_int_equal(message->key.size, 7);
    assert_memory_equal(message->key.data, "\xc3\xa9\xf0\x9f\x98\x80\n", 7);
    assert_int_equal(message->header_count, 2);
    assert_null(message->headers[0].value.data);
    assert_memory_equal(message->headers[1].name.data, "\x80", 1);
    assert_non_null(message->headers[1].value.data);
    assert_int_equal(message->headers[1].value.size, 0);
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
}

static void bad_lines_are_located(void **state)
{
    (void)state;
    static const struct {
        const char *line, *expected;
    } cases[] = {
        {"[]", "byte 1: found '[', expected an object: one message a line"},
        {"{\"topic\":\"t\"}",
         "byte 14: the text ends here, expected the members topic, partition and offset"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":-1}",
         "byte 39: found '}', expected an integer in range"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":1.5}",
         "byte 37: a number with a fraction or exponent, expected an integer"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":9223372036854775808}",
         "byte 56: found '}', expected an integer in range"},
        {"{\"topic\":\"t\",\"partition\":2147483648,\"offset\":0}",
         "byte 36: found ',', expected an integer in range"},
        {"{\"topic\":\"t\",\"partition\":0,\"payload\":\"a\"}",
         "expected the members topic, partition and offset"},
        {"{\"topic\":\"\",\"partition\":0,\"offset\":1}",
         "expected the members topic, partition and offset"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"payload\":\"a",
         "the text ends here, expected '\"'"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"payload\":\"\\ud800x\"}",
         "half of a surrogate pair"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"payload\":{\"base64\":\"A\"}}",
         "padded base64"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"payload\":{\"x\":\"\"}}",
         "expected {\"base64\":\"...\"}"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"payload\":7}",
         "a string, {\"base64\":\"...\"}"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"headers\":[\"a\"]}", "a header's value"},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"tstype\":\"x\"}",
         "\"create\", \"logappend\" or \"unknown\""},
        {"{\"topic\":\"t\",\"partition\":0,\"offset\":1} x", "expected nothing more"},
        {"{\"recording\":3}", "a recording of version 3, expected at most 2"},
        {"{\"reached\":1,\"partition\":0}", "expected the members topic, partition and offset"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_error error = {0};
        struct iso_inputs inputs;
        struct iso_capture_reader *reader;
        iso_inputs_init(&inputs);
        assert_null(read_one(cases[i].line, &inputs, &reader, &error));
        assert_int_equal(error.status, ISO_BAD_INPUT);
        assert_non_null(strstr(error.text, ":1: "));
        if (!strstr(error.text, cases[i].expected))
            fail_msg("'%s' gave '%s', expected '%s'", cases[i].line, error.text, cases[i].expected);
        iso_capture_reader_free(reader);
        iso_inputs_release(&inputs);
    }
}

static uint32_t batch_of(struct iso_capture_reader *reader)
{
    struct iso_error error = {0};
    const struct iso_message *messages;
    uint32_t count;
    assert_int_equal(iso_capture_read(reader, &messages, &count, &error), ISO_OK);
    return count;
}

/* Each batch as it was judged, longer than what a capture without marks is cut into; partitions
 * without a message. */
static void recorded_batches_come_back(void **state)
{
    (void)state;
    enum { LONG = 3000 };
    struct iso_error error = {0};
    struct iso_inputs inputs;
    char path[] = "/tmp/iso-capture-XXXXXX", text[400];
    close(mkstemp(path));
    memset(text, 1, sizeof text);
    struct iso_message messages[LONG];
    for (uint32_t i = 0; i < LONG; i++)
        messages[i] = (struct iso_message){
            .topic = "t", .offset = i, .payload = {(const uint8_t *)text, sizeof text}};
    struct iso_capture_writer *writer = iso_capture_writer_new(path, &error);
    iso_capture_mark(writer, &error);
    iso_capture_declare(writer, "t", 0, &error);
    iso_capture_declare(writer, "silent", 7, &error);
    assert_int_equal(iso_capture_batch(messages, LONG), LONG);
    static const uint32_t ends[] = {1, 2, LONG};
    for (uint32_t i = 0, batch = 0; i < LONG; i++) {
        iso_capture_write(writer, &messages[i], &error);
        if (i + 1 == ends[batch] && ++batch)
            iso_capture_mark(writer, &error);
    }
    assert_int_equal(iso_capture_writer_close(writer, &error), ISO_OK);
    iso_inputs_init(&inputs);
    struct iso_capture_reader *reader = iso_capture_reader_new(path, &inputs, &error);
    assert_int_equal(batch_of(reader), 1);
    assert_int_equal(inputs.count, 2);
    assert_string_equal(inputs.list[1].topic, "silent");
    assert_int_equal(inputs.list[1].partition, 7);
    assert_int_equal(batch_of(reader), 1);
    assert_int_equal(batch_of(reader), LONG - 2);
    assert_int_equal(batch_of(reader), 0);
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
    unlink(path);
}

static void assert_sign(struct iso_capture_reader *reader, uint32_t at,
                        struct iso_capture_sign expected)
{
    const struct iso_capture_sign *signs;
    assert_true(iso_capture_signs(reader, &signs) > at);
    assert_int_equal(signs[at].type, expected.type);
    assert_int_equal(signs[at].input, expected.input);
    assert_int_equal(signs[at].time, expected.time);
}

/* Ends and times stand before the batch that they were told before, in order; also behind all
 * batches. */
static void what_was_told_between_batches_comes_back(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_inputs inputs;
    const struct iso_capture_sign *signs;
    char path[] = "/tmp/iso-capture-XXXXXX";
    close(mkstemp(path));
    struct iso_capture_writer *writer = iso_capture_writer_new(path, &error);
    iso_capture_begin(writer, &error);
    iso_capture_declare(writer, "t", 0, &error);
    iso_capture_declare(writer, "u", 3, &error);
    iso_capture_end(writer, "u", 3, &error);
    for (int64_t i = 0; i < 3; i++) {
        iso_capture_write(writer, &(struct iso_message){.topic = "t", .offset = i}, &error);
        if (i == 1) { /* not where a batch ends: it ends the batch */
            iso_capture_reached(writer, 1795251884292, &error);
            iso_capture_end(writer, "t", 0, &error);
        }
    }
    iso_capture_mark(writer, &error);
    iso_capture_reached(writer, 1795251884293, &error);
    assert_int_equal(iso_capture_writer_close(writer, &error), ISO_OK);
    iso_inputs_init(&inputs);
    struct iso_capture_reader *reader = iso_capture_reader_new(path, &inputs, &error);
    assert_int_equal(batch_of(reader), 2);
    assert_int_equal(iso_capture_signs(reader, &signs), 1);
    assert_sign(reader, 0, (struct iso_capture_sign){.type = ISO_CAPTURE_SIGN_END, .input = 1});
    assert_int_equal(batch_of(reader), 1);
    assert_int_equal(iso_capture_signs(reader, &signs), 2);
    assert_sign(reader, 0,
                (struct iso_capture_sign){.type = ISO_CAPTURE_SIGN_REACHED, .time = 1795251884292});
    assert_sign(reader, 1, (struct iso_capture_sign){.type = ISO_CAPTURE_SIGN_END, .input = 0});
    assert_int_equal(batch_of(reader), 0);
    assert_int_equal(iso_capture_signs(reader, &signs), 1);
    assert_sign(reader, 0,
                (struct iso_capture_sign){.type = ISO_CAPTURE_SIGN_REACHED, .time = 1795251884293});
    assert_int_equal(batch_of(reader), 0);
    assert_int_equal(iso_capture_signs(reader, &signs), 0);
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
    unlink(path);
}

/* What a reader might have to cut is cut by the writer. */
static void large_batches_are_cut(void **state)
{
    (void)state;
    struct iso_message messages[5000] = {{0}};
    for (uint32_t i = 0; i < 5000; i++)
        messages[i].topic = "t";
    assert_int_equal(iso_capture_batch(messages, 5000), ISO_CAPTURE_BATCH);
    messages[2].payload.size = messages[3].payload.size = ISO_CAPTURE_BATCH_BYTES / 10;
    assert_int_equal(iso_capture_batch(messages, 5000), 3);
    messages[0].payload.size = ISO_CAPTURE_BATCH_BYTES;
    assert_int_equal(iso_capture_batch(messages, 5000), 1);
}

static void good_lines_before_a_bad_one_are_handed_out(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_inputs inputs;
    struct iso_capture_reader *reader;
    const struct iso_message *messages;
    uint32_t count;
    iso_inputs_init(&inputs);
    assert_non_null(read_one("{\"topic\":\"t\",\"partition\":0,\"offset\":1}\n\nx\n", &inputs,
                             &reader, &error));
    assert_int_equal(iso_capture_read(reader, &messages, &count, &error), ISO_BAD_INPUT);
    assert_int_equal(count, 0);
    assert_non_null(strstr(error.text, ":3: byte 1: found"));
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
}

/* What a reader makes of the first `size` bytes of a file: how many messages, and whether it is
 * cut. */
static uint32_t read_cut(const char *path, size_t size, bool *is_cut, uint64_t *lines)
{
    struct iso_error error = {0};
    struct iso_inputs inputs;
    const struct iso_message *messages;
    uint32_t count = 1, all = 0;
    iso_inputs_init(&inputs);
    assert_int_equal(truncate(path, (off_t)size), 0);
    struct iso_capture_reader *reader = iso_capture_reader_new(path, &inputs, &error);
    assert_non_null(reader);
    for (; count; all += count)
        assert_int_equal(iso_capture_read(reader, &messages, &count, &error), ISO_OK);
    *is_cut = iso_capture_is_cut(reader, lines);
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
    return all;
}

static void a_cut_file_is_read_to_its_last_whole_line(void **state)
{
    (void)state;
    static const char lines[] =
        "{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"payload\":\"a\"}\n"
        "{\"topic\":\"t\",\"partition\":0,\"offset\":2,\"payload\":\"\\ud83d\\ude00\xc3\xa4\","
        "\"headers\":[\"n\",null]}\n";
    size_t first = strcspn(lines, "\n"), whole = sizeof lines - 2;
    for (size_t size = first; size <= sizeof lines - 1; size++) {
        char path[] = "/tmp/isochron-capture-XXXXXX";
        bool is_cut;
        uint64_t count;
        close(mkstemp(path));
        write_file(path, lines);
        uint32_t messages = read_cut(path, size, &is_cut, &count);
        assert_int_equal(messages, (size >= first) + (size >= whole));
        assert_int_equal(is_cut, size < whole && size != first && size != first + 1);
        assert_int_equal(count, messages);
        unlink(path);
    }
}

/* Everywhere in the packed file: never more than was there, never an error. */
static void a_cut_packed_file_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    enum { LINES = 3000, STEPS = 40 };
    char path[] = "/tmp/isochron-capture-XXXXXX.zst";
    struct iso_text text = {0};
    char line[100];
    bool is_cut;
    uint64_t count;
    close(mkstemps(path, 4));
    for (int i = 0; i < LINES; i++) {
        snprintf(line, sizeof line,
                 "{\"topic\":\"t\",\"partition\":0,\"offset\":%d,\"payload\":\"%u\"}\n", i,
                 (unsigned)i * 2654435761u);
        iso_text_put(&text, line);
    }
    *iso_text_reserve(&text, 1) = 0;
    write_file(path, text.bytes);
    uint64_t size = iso_input_size(path);
    assert_int_equal(read_cut(path, size, &is_cut, &count), LINES);
    assert_false(is_cut);
    uint32_t before = LINES;
    for (int step = STEPS - 1; step > 0; step--) {
        size_t left = size * (size_t)step / STEPS;
        uint32_t messages = read_cut(path, left < 8 ? 8 : left, &is_cut, &count);
        assert_true(is_cut && messages <= before && messages == count);
        before = messages;
    }
    iso_text_release(&text);
    unlink(path);
}

static void what_is_wrong_before_its_end_stays_an_error(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_inputs inputs;
    struct iso_capture_reader *reader;
    iso_inputs_init(&inputs);
    assert_null(read_one("{\"topic\":7,\"partition\":0,\"offset\":1,\"payload\":\"", &inputs,
                         &reader, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
}

static void file_that_is_not_there(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_inputs inputs;
    iso_inputs_init(&inputs);
    assert_null(iso_capture_reader_new("/nowhere/x.jsonl", &inputs, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    assert_string_equal(error.text,
                        "/nowhere/x.jsonl: cannot be opened: No such file or directory");
}

/* ---- going on where a process died ---- */

static void put_lines(struct iso_stream_writer *writer, int first, int end)
{
    struct iso_error error = {0};
    char line[64];
    for (int i = first; i < end; i++) {
        int length = snprintf(line, sizeof line, "line %d of a file that is gone on with\n", i);
        assert_int_equal(iso_stream_write(writer, line, (size_t)length, &error), ISO_OK);
    }
}

/* As it stands on the disk when its writer dies: the writer itself is closed later, and what that
 * writes is cut off. */
static void died_and_gone_on_with(const char *path, const char *expected)
{
    enum { MARKED = 700, DIED = 1500, ALL = 2000 };
    struct iso_error error = {0};
    uint64_t length, again;
    struct iso_stream_writer *writer = iso_stream_writer_resume(path, 0, &error);
    assert_non_null(writer);
    put_lines(writer, 0, MARKED);
    assert_int_equal(iso_stream_writer_mark(writer, &length, &error), ISO_OK);
    assert_int_equal(iso_stream_writer_mark(writer, &again, &error),
                     ISO_OK); /* with nothing in between */
    assert_true(length > 0 && length == again);
    put_lines(writer, MARKED, DIED);
    assert_int_equal(iso_stream_writer_close(writer, &error), ISO_OK);
    writer = iso_stream_writer_resume(path, length, &error);
    assert_non_null(writer);
    put_lines(writer, MARKED, DIED / 2);
    assert_int_equal(iso_stream_writer_cut(writer, &error), ISO_OK);
    put_lines(writer, DIED / 2, ALL);
    assert_int_equal(iso_stream_writer_close(writer, &error), ISO_OK);
    assert_equal_lines(expected, path);
    writer = iso_stream_writer_resume(path, length * 1000, &error);
    assert_null(writer);
    assert_int_equal(error.status, ISO_FAILED);
    assert_non_null(strstr(error.text, "expected at least"));
    unlink(path);
}

static void a_file_is_gone_on_with(void **state)
{
    (void)state;
    struct iso_error error = {0};
    char folder[] = "/tmp/isochron-gone-on-XXXXXX", expected[64], plain[64], packed[64];
    assert_non_null(mkdtemp(folder));
    snprintf(expected, sizeof expected, "%s/expected", folder);
    snprintf(plain, sizeof plain, "%s/plain", folder);
    snprintf(packed, sizeof packed, "%s/packed.zst", folder);
    struct iso_stream_writer *whole = iso_stream_writer_new(expected, &error);
    put_lines(whole, 0, 2000);
    assert_int_equal(iso_stream_writer_close(whole, &error), ISO_OK);
    died_and_gone_on_with(plain, expected);
    died_and_gone_on_with(packed, expected);
    unlink(expected);
    rmdir(folder);
    assert_null(iso_stream_writer_resume("/dev/null", 0, &error));
    assert_non_null(strstr(error.text, "regular file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_captures_come_back_byte_for_byte),
        cmocka_unit_test(any_order_and_unknown_members),
        cmocka_unit_test(bad_lines_are_located),
        cmocka_unit_test(recorded_batches_come_back),
        cmocka_unit_test(what_was_told_between_batches_comes_back),
        cmocka_unit_test(large_batches_are_cut),
        cmocka_unit_test(good_lines_before_a_bad_one_are_handed_out),
        cmocka_unit_test(a_cut_file_is_read_to_its_last_whole_line),
        cmocka_unit_test(a_cut_packed_file_is_read_as_far_as_it_goes),
        cmocka_unit_test(what_is_wrong_before_its_end_stays_an_error),
        cmocka_unit_test(file_that_is_not_there),
        cmocka_unit_test(a_file_is_gone_on_with),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
