#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "tests/support/temporary.h"

char *test_padded(const char *text, size_t length, char filler)
{
    char *copy = malloc(length + ISO_JSON_PADDING);
    assert_non_null(copy);
    memcpy(copy, text, length);
    memset(copy + length, filler, ISO_JSON_PADDING);
    return copy;
}

void test_write_file(char path[TEST_PATH], const char *name, const void *bytes, size_t length)
{
    snprintf(path, TEST_PATH, "%s/isochron-%ld-%s", temporary_folder(), (long)getpid(), name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

char *test_read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *length, file), *length);
    text[*length] = 0;
    fclose(file);
    return text;
}
