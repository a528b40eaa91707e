#include "tests/support/pack.h"

#include <lz4frame.h>
#include <snappy-c.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void pack(struct iso_text *text, const char *compression, const void *bytes, size_t size)
{
    if (!compression) {
        iso_text_put_bytes(text, bytes, size);
        return;
    }
    bool snappy = !strcmp(compression, "snappy");
    size_t length =
        snappy ? snappy_max_compressed_length(size) : LZ4F_compressFrameBound(size, NULL);
    char *room = iso_text_reserve(text, length);
    if (snappy ? snappy_compress(bytes, size, room, &length) != SNAPPY_OK
               : LZ4F_isError(length = LZ4F_compressFrame(room, length, bytes, size, NULL)))
        abort();
    text->used += length;
}
