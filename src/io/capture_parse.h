/* One line of a capture to one message. Pure: bytes in, message out; for the capture reader and its fuzz target. */
#ifndef ISO_IO_CAPTURE_PARSE_H
#define ISO_IO_CAPTURE_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "iso/message.h"

struct iso_capture_line {
    struct iso_message message; /* without `input` and `headers`; its `topic` is the bytes below, no NUL */
    struct iso_bytes topic;
    bool declares;              /* nothing but topic and partition: it is no message */
    size_t used;                /* bytes of `storage` that the message points into */
    struct iso_header *headers; /* a growing list, the caller's to free; the message's are from `first_header` */
    uint32_t first_header, header_count, header_capacity;
    const char *fault; /* where parsing failed: what was expected; static text */
    size_t fault_at;   /* byte in the line, from 0 */
};

/* `storage` must have room for `length` bytes. Appends to parsed->headers; everything else is set. False: `fault`. */
bool iso_capture_parse(const char *line, size_t length, char *storage, struct iso_capture_line *parsed);

#endif
