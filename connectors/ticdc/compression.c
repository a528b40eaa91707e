/* Payloads that TiCDC compressed: LZ4 frames, and Snappy's raw blocks, which say how long they will
 * be. */
#include <lz4frame.h>
#include <snappy-c.h>

#include "connectors/ticdc/decoder_private.h"

enum { LZ4_STEP = 64 << 10 };

static enum iso_status too_large(struct iso_error *error)
{
    return iso_error_set(error, ISO_BAD_INPUT, "a payload of more than %d bytes when unpacked",
                         TICDC_PAYLOAD_MAX);
}

static enum iso_status unpack_snappy(struct iso_payload *room, struct iso_bytes packed,
                                     struct iso_bytes *unpacked, struct iso_error *error)
{
    size_t size;
    const char *from = (const char *)packed.data;
    if (snappy_uncompressed_length(from, packed.size, &size) != SNAPPY_OK)
        return iso_error_set(error, ISO_BAD_INPUT, "not a Snappy block");
    if (size > TICDC_PAYLOAD_MAX)
        return too_large(error);
    char *into = iso_payload_reserve(room, size);
    if (snappy_uncompress(from, packed.size, into, &size) != SNAPPY_OK)
        return iso_error_set(error, ISO_BAD_INPUT, "a damaged Snappy block");
    *unpacked = (struct iso_bytes){(const uint8_t *)into, (uint32_t)size};
    return ISO_OK;
}

static enum iso_status unpack_lz4(LZ4F_dctx *inflater, struct iso_payload *room,
                                  struct iso_bytes packed, struct iso_bytes *unpacked,
                                  struct iso_error *error)
{
    size_t used = 0, done = 0, left = 1;
    char *into = iso_payload_reserve(room, LZ4_STEP);
    while (left && done < packed.size) {
        size_t given = packed.size - done;
        size_t space = room->capacity - ISO_JSON_PADDING - used;
        left = LZ4F_decompress(inflater, into + used, &space, packed.data + done, &given, NULL);
        if (LZ4F_isError(left))
            return iso_error_set(error, ISO_BAD_INPUT, "a damaged LZ4 frame: %s",
                                 LZ4F_getErrorName(left));
        used += space;
        done += given;
        if (used > TICDC_PAYLOAD_MAX)
            return too_large(error);
        if (left && used == room->capacity - ISO_JSON_PADDING)
            into = iso_payload_reserve(room, 2 * used);
        else if (!given && !space)
            break;
    }
    if (left || done != packed.size)
        return iso_error_set(error, ISO_BAD_INPUT,
                             left ? "an LZ4 frame that is cut off" : "bytes behind an LZ4 frame");
    into = iso_payload_reserve(room, used); /* the padding behind it */
    *unpacked = (struct iso_bytes){(const uint8_t *)into, (uint32_t)used};
    return ISO_OK;
}

enum iso_status ticdc_unpack(struct ticdc *ticdc, struct iso_payload *room, struct iso_bytes packed,
                             struct iso_bytes *unpacked, struct iso_error *error)
{
    LZ4F_dctx *inflater = ticdc->inflater;
    *unpacked = packed;
    if (ticdc->compression == TICDC_PLAIN || !packed.data)
        return ISO_OK;
    if (ticdc->compression == TICDC_SNAPPY)
        return unpack_snappy(room, packed, unpacked, error);
    if (!inflater && LZ4F_isError(LZ4F_createDecompressionContext(&inflater, LZ4F_VERSION)))
        return iso_error_set(error, ISO_FAILED, "LZ4 could not be started");
    ticdc->inflater = inflater;
    LZ4F_resetDecompressionContext(inflater);
    return unpack_lz4(inflater, room, packed, unpacked, error);
}

void ticdc_compression_release(struct ticdc *ticdc)
{
    LZ4F_freeDecompressionContext(ticdc->inflater);
}
