/* A source of bytes: a file, stdin ("-"), either of them compressed by zstd.
 *
 * Compressed input is recognized by its first bytes; a file named .zst must be compressed. Any
 * number of frames, one after another. Errors are one line that starts with the input's name. What
 * a user can repair (no such file, a directory, no permission, not zstd, cut off) is ISO_BAD_INPUT;
 * a device that fails is ISO_FAILED. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct iso_input;

/* On success the caller frees `*input`. */
enum iso_status iso_input_open(struct iso_input **input, const char *path, struct iso_error *error);
void iso_input_free(struct iso_input *input); /* NULL is fine */

/* Reads until `capacity` bytes are there or the input ends; `*length` below `capacity` is the
 * end. */
enum iso_status iso_input_read(struct iso_input *input, char *buffer, size_t capacity,
                               size_t *length, struct iso_error *error);

/* From now on an input that ends inside a packed frame is no error, but ends there: _is_cut tells
 * it. */
void iso_input_may_be_cut(struct iso_input *input);
bool iso_input_is_cut(const struct iso_input *input);

/* Bytes taken from the file (compressed, if it is), for progress. */
uint64_t iso_input_consumed(const struct iso_input *input);

/* The size of the file at `path`, 0 if unknown. */
uint64_t iso_input_size(const char *path);

/* "<stdin>" for "-". */
const char *iso_input_name(const char *path);
