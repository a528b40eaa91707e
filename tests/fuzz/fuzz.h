/* What fuzz targets share: a check that stays in every build, padded copies, and a plain main over
 * files. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy with the padding that the scanner may read, filled with what the text itself holds. */
static inline char *fuzz_padded(const uint8_t *data, size_t size)
{
    char *text = malloc(size + ISO_JSON_PADDING);
    FUZZ_CHECK(text);
    if (size)
        memcpy(text, data, size);
    for (size_t i = 0; i < ISO_JSON_PADDING; i++)
        text[size + i] = size ? text[i % size] : '"';
    return text;
}

#ifdef ISO_FUZZ_MAIN
int main(int count, char **paths)
{
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(paths[i], "rb");
        FUZZ_CHECK(file);
        fseek(file, 0, SEEK_END);
        size_t size = (size_t)ftell(file);
        rewind(file);
        uint8_t *data = malloc(size ? size : 1);
        FUZZ_CHECK(data && fread(data, 1, size, file) == size);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    printf("ok: %d files\n", count - 1);
    return 0;
}
#endif

#endif
