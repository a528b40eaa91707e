#define _GNU_SOURCE
#include "history/gtid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "history/history.h"

static bool take_number(const char **at, const char *end, uint64_t most, uint64_t *number)
{
    return iso_bytes_take_decimal(at, end, number) && *number <= most;
}

static bool take_dash(const char **at, const char *end)
{
    return *at < end && *(*at)++ == '-';
}

bool iso_gtid_read(const char *text, size_t length, struct iso_gtid *gtid)
{
    const char *at = text, *end = text + length;
    uint64_t domain, server, number;
    if (!take_number(&at, end, UINT32_MAX, &domain) || !take_dash(&at, end) ||
        !take_number(&at, end, UINT32_MAX, &server) || !take_dash(&at, end) ||
        !take_number(&at, end, (UINT64_MAX >> ISO_GTID_BITS) - 1, &number) || at != end)
        return false;
    *gtid = (struct iso_gtid){(uint32_t)domain, (uint32_t)server, number};
    return true;
}

static bool read_position(const char *text, size_t length, uint64_t *position)
{
    const char *end = text + length, *colon = memrchr(text, ':', length);
    const char *at = colon ? memrchr(text, '.', (size_t)(colon - text)) : NULL;
    uint64_t file, offset;
    if (!at || at++ == text ||
        !take_number(&at, colon, (UINT64_C(1) << (63 - ISO_BINLOG_OFFSET_BITS)) - 1, &file) ||
        at != colon)
        return false;
    at = colon + 1;
    if (!take_number(&at, end, (UINT64_C(1) << ISO_BINLOG_OFFSET_BITS) - 1, &offset) || at != end)
        return false;
    *position = iso_binlog_position(file, offset);
    return true;
}

bool iso_gtid_snapshot_read(const char *text, size_t length, uint64_t *start, uint8_t *marks)
{
    struct iso_gtid gtid;
    *marks = ISO_MARK_GTID_START;
    if (iso_gtid_read(text, length, &gtid)) {
        *start = iso_gtid_snapshot(gtid.number);
        return true;
    }
    *marks = ISO_MARK_LOG_START;
    return read_position(text, length, start);
}

size_t iso_binlog_position_text(uint64_t position, char text[ISO_BINLOG_POSITION_MAX])
{
    return (size_t)snprintf(text, ISO_BINLOG_POSITION_MAX, "binlog.%06" PRIu64 ":%" PRIu64,
                            position >> ISO_BINLOG_OFFSET_BITS,
                            position & ((UINT64_C(1) << ISO_BINLOG_OFFSET_BITS) - 1));
}
