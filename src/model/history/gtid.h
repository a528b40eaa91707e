/* MariaDB's GTIDs, DOMAIN-SERVER-NUMBER: numbers rise with commits within a domain, whichever
 * server's log they are read from. They stand for timestamps: a commit's is its number times
 * 2^ISO_GTID_BITS, and a snapshot that is known by the last commit that it sees lies between that
 * and the next. Threads: any; no state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ISO_GTID_BITS = 4 };

struct iso_gtid {
    uint32_t domain, server;
    uint64_t number;
};

/* False: it is none, or its number is too large to be a timestamp. */
bool iso_gtid_read(const char *text, size_t length, struct iso_gtid *gtid);

/* A record's `snapshot` as MariaDB tells it: the GTID of the last commit that it sees, or up to
 * which position in the binlog, FILE.NUMBER:OFFSET. `start` is what stands for its sts,
 * `marks` what the transaction is marked with. False: it is neither. */
bool iso_gtid_snapshot_read(const char *text, size_t length, uint64_t *start, uint8_t *marks);

/* A file's number and an offset in it as one number, which rises with the log. */
enum { ISO_BINLOG_OFFSET_BITS = 40 };
static inline uint64_t iso_binlog_position(uint64_t file, uint64_t offset)
{
    return file << ISO_BINLOG_OFFSET_BITS | offset;
}

/* As FILE.NUMBER:OFFSET, with `binlog` for the file, whose name means nothing: of the server that
 * the stream is of there is one log. Returns the length. */
enum { ISO_BINLOG_POSITION_MAX = 40 };
size_t iso_binlog_position_text(uint64_t position, char text[ISO_BINLOG_POSITION_MAX]);

static inline uint64_t iso_gtid_commit(uint64_t number)
{
    return number << ISO_GTID_BITS;
}

static inline uint64_t iso_gtid_snapshot(uint64_t number)
{
    return iso_gtid_commit(number) + (1u << (ISO_GTID_BITS - 1));
}
