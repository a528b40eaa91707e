#include "wire/reader.h"

#include <assert.h>

#include "wire/cursor.h"

enum { SMALL = 4096 };

void wire_reader_init(struct wire_reader *reader, uint32_t limit)
{
    *reader = (struct wire_reader){.limit = limit};
}

void wire_reader_release(struct wire_reader *reader)
{
    iso_text_release(&reader->kept);
}

static bool is_type(uint8_t byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '1' && byte <= '3');
}

static bool read_size(struct wire_reader *reader)
{
    uint32_t length = wire_number(reader->head + 1);
    if (length < 4 || length > WIRE_LONGEST)
        return false;
    reader->size = length - 4;
    return true;
}

uint64_t wire_length(const uint8_t *at, const uint8_t *end)
{
    if (end - at < WIRE_HEADER)
        return 0;
    uint32_t length = wire_number(at + 1);
    return length < 4 || length > WIRE_LONGEST ? WIRE_HEADER : (uint64_t)length + 1;
}

static void end_message(struct wire_reader *reader, struct wire_piece *piece, const uint8_t *body)
{
    piece->ends = true;
    piece->body = reader->size <= reader->limit ? body : NULL;
    reader->seen = 0;
}

enum wire_status wire_read(struct wire_reader *reader, const uint8_t **at, const uint8_t *end,
                           struct wire_piece *piece)
{
    assert(*at < end);
    const uint8_t *from = *at;
    *piece = (struct wire_piece){.begins = !reader->seen};
    if (!reader->seen) {
        reader->kept.used = 0;
        if (reader->kept.capacity > SMALL)
            iso_text_release(&reader->kept); /* what was needed once for one large message */
        if (!is_type(*from))
            return WIRE_BAD;
    }
    while (reader->seen < WIRE_HEADER && from < end) {
        reader->head[reader->seen++] = *from++;
        if (reader->seen == WIRE_HEADER && !read_size(reader))
            return WIRE_BAD;
    }
    *at = from;
    piece->type = (char)reader->head[0];
    if (reader->seen < WIRE_HEADER)
        return WIRE_PIECE;
    piece->size = reader->size;
    uint32_t left = reader->size - (reader->seen - WIRE_HEADER);
    bool whole = (size_t)(end - from) >= left;
    uint32_t take = whole ? left : (uint32_t)(end - from);
    *at = from + take;
    reader->seen += take;
    if (whole && piece->begins) {
        end_message(reader, piece, from);
        return WIRE_PIECE;
    }
    if (reader->size <= reader->limit)
        iso_text_put_bytes(&reader->kept, from, take);
    if (whole)
        end_message(reader, piece, reader->kept.bytes ? (const uint8_t *)reader->kept.bytes : from);
    return WIRE_PIECE;
}
