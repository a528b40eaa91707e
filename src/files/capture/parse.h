/* One line of a capture to one message. Pure: bytes in, message out; for the capture reader and its
 * fuzz target. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/message.h"

/* The kind of a line that is no message: see capture/capture.h. */
enum iso_capture_kind {
    ISO_CAPTURE_MESSAGE,
    ISO_CAPTURE_DECLARES, /* topic and partition */
    ISO_CAPTURE_ENDS,     /* topic and partition */
    ISO_CAPTURE_REACHES,  /* `number`: a message time */
    ISO_CAPTURE_RECORDING /* `number`: the version of what is not messages */
};

struct iso_capture_line {
    enum iso_capture_kind kind;
    /* without `input` and `headers`; its `topic` is the bytes below, no NUL */
    struct iso_message message;
    struct iso_bytes topic;
    uint64_t number;
    size_t used; /* bytes of `storage` that the message points into */
    struct iso_header
        *headers; /* a growing list, the caller's to free; the message's are from `first_header` */
    uint32_t first_header, header_count, header_capacity;
    struct iso_json json; /* the scanner, the caller's to release; of a line that is no message it
                             has the error */
};

/* The line is followed by ISO_JSON_PADDING readable bytes; `storage` must have room for `length`
 * bytes. Appends to parsed->headers; everything else is set. False: parsed->json says where and
 * why. */
bool iso_capture_parse(const char *line, size_t length, char *storage,
                       struct iso_capture_line *parsed);
