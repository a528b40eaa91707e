#define _GNU_SOURCE
#include "tests/support/capture.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/test.h"

void test_capture_start(struct iso_output *output)
{
    int descriptor = memfd_create("capture", MFD_CLOEXEC);
    assert_true(descriptor >= 0);
    iso_output_to(output, descriptor, "capture");
}

char *test_capture_end(struct iso_output *output)
{
    int descriptor = output->descriptor;
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_output_close(output, &error), ISO_OK);
    off_t size = lseek(descriptor, 0, SEEK_END);
    char *text = malloc((size_t)size + 1);
    assert_int_equal(pread(descriptor, text, (size_t)size, 0), size);
    text[size] = 0;
    close(descriptor);
    return text;
}
