/* A watermark among client records: {"watermark":"123"}, its first member; others are ignored.
 *
 * Threads: one at a time a scanner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native/native.h"
#include "base/error.h"

/* Whether the text (followed by ISO_JSON_PADDING readable bytes) is an object whose first member is
 * "watermark". */
bool iso_watermark_is(const char *text);

/* Whether a text's first member has this name; `name` stands with its quotes. */
bool iso_first_member_is(const char *text, const char *name);

/* Reads one: a number or a decimal string, from 0 to 2^64-1. `native` is a reader to read it
 * with. */
enum iso_status iso_watermark_read(struct iso_native *native, const char *text, size_t size,
                                   uint64_t *watermark, struct iso_error *error);
