/* Messages of PostgreSQL's protocol 3, taken out of a stream of bytes that comes in any pieces.
 *
 *     +------+----------------+-----------------+
 *     | type | length (4)     | body            |    length counts itself and the body
 *     +------+----------------+-----------------+
 *
 * A reader is shown bytes and says how many of them belong to the message that stands there:
 *
 *     while (at < end && wire_read(&reader, &at, end, &piece) != WIRE_BAD) ...
 *
 * Each call moves `at` over one *piece*: a whole message, or as much of one as is there. The piece
 * that ends a message has `ends`; its body is there (`body`, `size`) if the message was no larger
 * than the reader's limit, else NULL: a row of a gigabyte passes in pieces and is kept nowhere. The
 * first piece has `begins`.
 *
 * The body points into the caller's bytes, or, of a message that came in pieces, into the reader,
 * until the next call.
 *
 * Bad is a length below 4 or above WIRE_LONGEST, and a type that no letter has; nothing can be read
 * behind it.
 *
 * Ownership: a reader owns its copy of a split message. Threads: one at a time. Cost: one copy of
 * messages that are split.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum {
    WIRE_HEADER = 5,
    WIRE_LONGEST = 0x3fffffff + 64
}; /* what a server takes and sends at most, and a little */

enum wire_status { WIRE_PIECE, WIRE_BAD };

struct wire_piece {
    char type;
    bool begins, ends;
    const uint8_t *body; /* where it ends: the whole body, NULL if it was too large */
    uint32_t size;       /* of the whole body, once its length has been read */
};

struct wire_reader {
    uint32_t limit; /* of bodies that are kept */
    uint32_t seen;  /* bytes of the open message so far, 0: none is open */
    uint32_t size;  /* of its body, once 5 bytes are seen */
    uint8_t head[WIRE_HEADER];
    struct iso_text kept;
};

void wire_reader_init(struct wire_reader *reader, uint32_t limit);
void wire_reader_release(struct wire_reader *reader); /* a zeroed one is empty */

/* `*at` is below `end`. */
enum wire_status wire_read(struct wire_reader *reader, const uint8_t **at, const uint8_t *end,
                           struct wire_piece *piece);

/* Between two messages. */
static inline bool wire_is_between(const struct wire_reader *reader)
{
    return !reader->seen;
}

/* How many bytes the message that begins at `at` has, with its type; 0: its length is not there
 * yet. A length that cannot be is WIRE_HEADER. */
uint64_t wire_length(const uint8_t *at, const uint8_t *end);
