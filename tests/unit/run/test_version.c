/* A state that another version of the program wrote is told by name, when a run begins with it and
 * when it is looked at. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/durable/durable_configuration.h"
#include "base/text.h"
#include "tests/support/test.h"

static const struct {
    uint32_t format, order;
    char version[24];
} another = {.format = 99, .order = 0x01020304, .version = "9.8.7"};

static void another_version_is_refused(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_text configuration = {0};
    struct iso_archive archive;
    int file = memfd_create("state", MFD_CLOEXEC);
    (void)state;
    iso_archive_save(&archive, file, "DIR/snapshot-1", &error);
    iso_archive_value(&archive, RUN_CONFIGURATION_VERSION, (void *)&another, sizeof another);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    lseek(file, 0, SEEK_SET);
    iso_archive_restore(&archive, file, "DIR/snapshot-1", &error);
    run_configuration_archive(&archive, &configuration);
    assert_int_equal(error.status, ISO_FAILED);
    assert_non_null(
        strstr(error.text, "DIR/snapshot-1: written by isochron 9.8.7 in format 99; this is "));
    iso_archive_release(&archive);
    close(file);
}

static void our_version_passes(void **state)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_text configuration = {0}, found = {0};
    struct iso_archive archive;
    char bytes[64];
    int file = memfd_create("state", MFD_CLOEXEC);
    (void)state;
    iso_text_put(&configuration, "level si\n");
    iso_archive_save(&archive, file, "ours", &error);
    run_configuration_archive(&archive, &configuration);
    assert_int_equal(iso_archive_close(&archive), ISO_OK);
    assert_int_equal(pread(file, bytes, 32, sizeof(struct iso_archive_item)), 32);
    run_configuration_check_version(bytes, 32, "ours", &error);
    assert_int_equal(error.status, ISO_OK);
    for (size_t size = 0; size < 32; size++) {
        error = (struct iso_error){.status = ISO_OK};
        run_configuration_check_version(bytes, size, "ours", &error);
        assert_int_equal(error.status, ISO_FAILED);
    }
    error = (struct iso_error){.status = ISO_OK};
    lseek(file, 0, SEEK_SET);
    iso_archive_restore(&archive, file, "ours", &error);
    iso_text_put(&found, "level ser\n");
    run_configuration_archive(&archive, &found);
    assert_int_equal(error.status, ISO_BAD_INPUT);
    assert_non_null(
        strstr(error.text,
               "ours: written with other options: it has level si where this run has level ser"));
    iso_archive_release(&archive);
    iso_text_release(&configuration);
    iso_text_release(&found);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_version_is_refused),
        cmocka_unit_test(our_version_passes),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
