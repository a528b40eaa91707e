/* Compresses as TiCDC does: LZ4 frames, Snappy blocks. */
#ifndef TESTS_SUPPORT_PACK_H
#define TESTS_SUPPORT_PACK_H

#include "base/text.h"

/* Adds `size` bytes to `text`, compressed by "lz4" or "snappy", or, with NULL, as they are. */
void pack(struct iso_text *text, const char *compression, const void *bytes, size_t size);

#endif
