/* What reading and writing streams share. */
#ifndef ISO_IO_STREAM_PRIVATE_H
#define ISO_IO_STREAM_PRIVATE_H

#include <stdbool.h>

bool iso_stream_is_compressed(const char *path);

#endif
