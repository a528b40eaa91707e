/* `--history FILE` and `--to-history FILE` of `watch` and `replay`: client records in, the joined history out. */
#ifndef ISO_APP_JOINED_H
#define ISO_APP_JOINED_H

#include "app/stream.h"

/* Reads the file's transactions, and numbers it among the inputs; then gives them to the pipeline. Nothing without
 * --history. */
enum iso_status app_joined_read(struct app_stream *stream);
enum iso_status app_joined_give(struct app_stream *stream);

enum iso_status app_joined_open(struct app_stream *stream);

/* Takes a block of the joined history: `context` is the stream. */
void app_joined_write(void *context, const struct iso_history *block);

/* The file appears if the run came to its end. */
enum iso_status app_joined_close(struct app_stream *stream);

#endif
