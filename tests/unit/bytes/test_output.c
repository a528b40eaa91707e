/* Buffered output: what arrives, how errors are kept, which file is left. */
#define _GNU_SOURCE
#include "tests/support/temporary.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "bytes/output.h"
#include "tests/support/capture.h"

static void assert_prints(struct iso_output *output, const char *expected)
{
    char *text = test_capture_end(output);
    assert_string_equal(text, expected);
    free(text);
}

static void numbers(void **state)
{
    (void)state;
    struct iso_output output;
    test_capture_start(&output);
    static const uint64_t all[] = {0,         9, 10, (uint64_t)1 << 53, ((uint64_t)1 << 53) + 1,
                                   UINT64_MAX};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        iso_output_number(&output, all[i]);
        iso_output_char(&output, '=');
        iso_output_exact(&output, all[i]);
        iso_output_char(&output, ' ');
    }
    assert_prints(
        &output,
        "0=0 9=9 10=10 9007199254740992=9007199254740992 9007199254740993=\"9007199254740993\" "
        "18446744073709551615=\"18446744073709551615\" ");
}

static void strings_are_escaped(void **state)
{
    (void)state;
    struct iso_output output;
    test_capture_start(&output);
    iso_output_string(&output, "a\"b\\c\n\t\r\b\f\x01\x1f/\x7f\xc3\xa9\0z", 18);
    assert_prints(&output, "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u001f/\x7f\xc3\xa9\\u0000z\"");
}

static void atoms(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "7", "-7", "007", "9007199254740993", "-9007199254740993", "null", ""};
    struct iso_output output;
    struct iso_atoms table;
    iso_atoms_init(&table);
    test_capture_start(&output);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        iso_output_atom(&output, &table, iso_atoms_text(&table, texts[i], strlen(texts[i])));
        iso_output_char(&output, ' ');
    }
    iso_output_atom(&output, &table, ISO_ABSENT);
    iso_output_atom_string(&output, &table, 7);
    iso_output_atom_string(&output, &table, ISO_ABSENT);
    assert_prints(
        &output,
        "7 -7 \"007\" \"9007199254740993\" \"-9007199254740993\" \"null\" \"\" null\"7\"null");
    iso_atoms_release(&table);
}

/* Pieces of all sizes around the buffer's, in order and whole. */
static void larger_than_the_buffer(void **state)
{
    (void)state;
    struct iso_output output;
    size_t size = 3 * ISO_OUTPUT_BUFFER + 17, written = 0;
    char *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)('a' + i * 7 % 26);
    bytes[size] = 0;
    test_capture_start(&output);
    for (size_t piece = 1; written < size; piece = piece * 3 + 1) {
        size_t now = piece < size - written ? piece : size - written;
        iso_output_bytes(&output, bytes + written, now);
        written += now;
    }
    assert_prints(&output, bytes);
    test_capture_start(&output);
    iso_output_format(&output, "<%s>", bytes);
    char *text = test_capture_end(&output);
    assert_int_equal(strlen(text), size + 2);
    assert_memory_equal(text + 1, bytes, size);
    free(text);
    free(bytes);
}

static void write_errors_stay(void **state)
{
    (void)state;
    struct iso_output output;
    struct iso_error error = {.status = ISO_OK};
    int full = open("/dev/full", O_WRONLY);
    iso_output_to(&output, full, "the disk");
    for (int i = 0; i < 100000; i++)
        iso_output_text(&output, "more and more ");
    assert_int_equal(output.error, ENOSPC);
    assert_int_equal(iso_output_close(&output, &error), ISO_FAILED);
    assert_string_equal(error.text, "the disk: cannot be written: No space left on device");
    close(full);
}

static char folder[TEST_PATH];

static char *in_folder(const char *name)
{
    static char path[2 * TEST_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/isochron-output-XXXXXX", temporary_folder());
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"out", "out.zst", "link"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(in_folder(names[i]));
    return rmdir(folder); /* fails if a temporary file was left */
}

static void a_file_appears_whole(void **state)
{
    (void)state;
    struct iso_output output;
    struct iso_error error = {.status = ISO_OK};
    size_t length;
    assert_int_equal(iso_output_open(&output, in_folder("out"), &error), ISO_OK);
    iso_output_text(&output, "first");
    iso_output_flush(&output);
    assert_int_not_equal(access(in_folder("out"), F_OK), 0);
    assert_int_equal(iso_output_close(&output, &error), ISO_OK);
    assert_int_equal(iso_output_open(&output, in_folder("out"), &error), ISO_OK);
    iso_output_text(&output, "second");
    iso_output_discard(&output);
    iso_output_discard(&output);
    char *text = test_read_file(in_folder("out"), &length);
    assert_string_equal(text, "first");
    free(text);
}

static void expect_mode(const char *name, mode_t mode)
{
    struct stat status;
    assert_int_equal(lstat(in_folder(name), &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | mode);
}

/* Whatever the mask allows; one that is replaced keeps its mode. */
static void new_files_are_the_users_alone(void **state)
{
    (void)state;
    struct iso_output output;
    struct iso_error error = {.status = ISO_OK};
    mode_t mask = umask(0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(iso_output_open(&output, in_folder("out"), &error), ISO_OK);
        iso_output_text(&output, "people's");
        assert_int_equal(iso_output_close(&output, &error), ISO_OK);
        expect_mode("out", round ? 0640 : 0600);
        assert_int_equal(chmod(in_folder("out"), 0640), 0);
    }
    umask(mask);
}

static int link_in_folder(const char *name, const char *other)
{
    char path[2 * TEST_PATH];
    snprintf(path, sizeof path, "%s", in_folder(name));
    return link(path, in_folder(other));
}

static void expect_refused(const char *name, const char *why)
{
    struct iso_output output;
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_output_open(&output, in_folder(name), &error), ISO_BAD_INPUT);
    assert_non_null(strstr(error.text, why));
}

static void no_links_and_no_folders_of_all(void **state)
{
    (void)state;
    struct iso_output output;
    struct iso_error error = {.status = ISO_OK};
    size_t length;
    assert_int_equal(iso_output_open(&output, in_folder("out"), &error), ISO_OK);
    iso_output_text(&output, "mine");
    assert_int_equal(iso_output_close(&output, &error), ISO_OK);
    assert_int_equal(symlink("out", in_folder("link")), 0);
    expect_refused("link", "a symbolic link");
    assert_int_equal(chmod(folder, 0777), 0);
    expect_refused("out", "every user may write there");
    assert_int_equal(chmod(folder, 01777), 0);
    assert_int_equal(link_in_folder("out", "out.zst"), 0);
    expect_refused("out", "has another name");
    char *text = test_read_file(in_folder("out"), &length);
    assert_string_equal(text, "mine");
    free(text);
}

static void zst_is_packed(void **state)
{
    (void)state;
    struct iso_output output;
    struct iso_error error = {.status = ISO_OK};
    size_t length;
    assert_int_equal(iso_output_open(&output, in_folder("out.zst"), &error), ISO_OK);
    for (int i = 0; i < 100000; i++)
        iso_output_text(&output, "0123456789");
    assert_int_equal(iso_output_close(&output, &error), ISO_OK);
    char *packed = test_read_file(in_folder("out.zst"), &length), *plain = malloc(1000001);
    assert_true(length < 10000);
    ZSTD_DCtx *unpacker = ZSTD_createDCtx();
    assert_int_equal(ZSTD_decompressDCtx(unpacker, plain, 1000001, packed, length), 1000000);
    assert_memory_equal(plain + 999990, "0123456789", 10);
    ZSTD_freeDCtx(unpacker);
    free(packed);
    free(plain);
}

static void no_such_folder(void **state)
{
    (void)state;
    struct iso_output output;
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_output_open(&output, "/no/such/folder/out", &error), ISO_FAILED);
    assert_string_equal(error.text,
                        "/no/such/folder/out: cannot be written: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(atoms),
        cmocka_unit_test(larger_than_the_buffer),
        cmocka_unit_test(write_errors_stay),
        cmocka_unit_test_setup_teardown(a_file_appears_whole, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(new_files_are_the_users_alone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(no_links_and_no_folders_of_all, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(zst_is_packed, make_folder, remove_folder),
        cmocka_unit_test(no_such_folder),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
