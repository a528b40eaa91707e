/* Avro's binary encoding, value by value: what libavro would copy piece by piece is taken where it stands.
 *
 * The first failure stays: from then on everything reads as zero or empty, and a caller may check once, at the end.
 */
#ifndef ISO_TICDC_AVRO_BYTES_H
#define ISO_TICDC_AVRO_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

struct avro_bytes {
    const uint8_t *at, *end, *start;
    const char *wrong; /* NULL: nothing yet */
    size_t position;   /* where */
};

static inline void avro_start(struct avro_bytes *bytes, const uint8_t *data, size_t size)
{
    *bytes = (struct avro_bytes){.at = data, .end = data + size, .start = data};
}

static inline bool avro_fail(struct avro_bytes *bytes, const char *wrong)
{
    if (bytes->wrong)
        return false;
    bytes->wrong = wrong;
    bytes->position = (size_t)(bytes->at - bytes->start);
    bytes->at = bytes->end;
    return false;
}

/* A long or an int: a zig-zag varint. */
static inline int64_t avro_long(struct avro_bytes *bytes)
{
    uint64_t bits = 0;
    if (bytes->at < bytes->end && *bytes->at < 0x80) {
        bits = *bytes->at++;
        return (int64_t)(bits >> 1 ^ (0 - (bits & 1)));
    }
    for (unsigned shift = 0; bytes->at < bytes->end && shift < 64; shift += 7) {
        uint8_t byte = *bytes->at++;
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return (int64_t)(bits >> 1 ^ (0 - (bits & 1)));
    }
    avro_fail(bytes, "a number that is cut off or too long");
    return 0;
}

/* A union's branch or an enumeration's symbol, below `count`. */
static inline uint32_t avro_choice(struct avro_bytes *bytes, uint32_t count)
{
    int64_t choice = avro_long(bytes);
    if (choice >= 0 && choice < count)
        return (uint32_t)choice;
    avro_fail(bytes, "a union's branch or a symbol that the schema does not have");
    return 0;
}

/* Bytes, or a string that is not looked at. */
static inline struct iso_json_text avro_run(struct avro_bytes *bytes)
{
    int64_t length = avro_long(bytes);
    if (length < 0 || length > bytes->end - bytes->at) {
        avro_fail(bytes, "a length beyond the message's end");
        return (struct iso_json_text){"", 0};
    }
    struct iso_json_text run = {(const char *)bytes->at, (size_t)length};
    bytes->at += length;
    return run;
}

static inline struct iso_json_text avro_string(struct avro_bytes *bytes)
{
    struct iso_json_text run = avro_run(bytes);
    if (run.length && !iso_utf8_valid((const uint8_t *)run.at, run.length)) {
        avro_fail(bytes, "a string that is not UTF-8");
        return (struct iso_json_text){"", 0};
    }
    return run;
}

static inline bool avro_boolean(struct avro_bytes *bytes)
{
    if (bytes->at < bytes->end && *bytes->at <= 1)
        return *bytes->at++;
    return avro_fail(bytes, "not a boolean");
}

/* `size` bytes, low ones first, as floats (4) and doubles (8) have them. */
static inline uint64_t avro_word(struct avro_bytes *bytes, unsigned size)
{
    uint64_t bits = 0;
    if (bytes->end - bytes->at < (ptrdiff_t)size) {
        avro_fail(bytes, "a floating-point number that is cut off");
        return 0;
    }
    memcpy(&bits, bytes->at, size);
    bytes->at += size;
    return bits;
}

/* The next block of an array or map: how many items it has; 0 ends. */
static inline uint64_t avro_block(struct avro_bytes *bytes)
{
    int64_t count = avro_long(bytes);
    if (count < 0) {
        avro_long(bytes); /* the block's size in bytes */
        count = count == INT64_MIN ? INT64_MAX : -count;
    }
    if (count > bytes->end - bytes->at) { /* no item has less than a byte */
        avro_fail(bytes, "more items than bytes");
        return 0;
    }
    return (uint64_t)count;
}

#endif
