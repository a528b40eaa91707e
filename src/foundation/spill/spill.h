/* A file on disk for what does not fit into memory: records by 64-bit digest, written and read one
 * at a time.
 *
 * A log with an index in memory (Bitcask; the cleaning is that of log-structured file systems,
 * Rosenblum and Ousterhout 1991):
 *
 *   table    tag -> position             8 bytes a slot, 9 to 12 bytes a record: 32 bits of the
 *                                     digest, and where its
 *                                     record begins
 *   file     | segment | segment | ...  of 1 MiB, each filled from its start with records of 16 + n
 *                                       bytes, in units
 *                                     of 16
 *   buffer   the segment that is being filled: written at once when it is full
 *
 * A put goes to the end of the log; what the digest's record was before is garbage, and so is one
 * that is removed. When garbage outweighs living records, the segment with the least share of
 * living bytes is read, its living records go to the end of the log, and the segment is free. A get
 * is one pread (two if the record is long). Each record has a checksum over all of it, over its
 * position, and over the serial number that its segment has for as long as it is not free; no two
 * are equal in any spill. So what an earlier life of the segment left there, another spill's file
 * or a block that was written elsewhere is no record.
 *
 * A record may say that some of its bytes expire: nothing needs them once the *floor*, a number
 * that only rises, is above another one. What that means is its owner's. A segment sums up what
 * expires in it, and the highest of those numbers: once the floor is above that, the sum is garbage
 * like any other. The record that is moved then goes through `cut`, which leaves what is still
 * needed of it, or nothing. Sizes of records that have become garbage are not known any more: of a
 * segment's bytes that have not expired, the living share is that of its living records in all that
 * were put there.
 *
 *   all bytes of records <= 2 * living ones + SPILL_SLACK segments      whenever a segment has been
 *                                                                       filled
 *
 * What is cleaned, and when, follows from what was put, removed and cut, and from the floors; not
 * from where in the file segments lie, nor from when archives were committed. A restored spill
 * continues as the saved one would have.
 *
 * Why not LMDB or RocksDB: measured on this pattern (bench/spill_stores.c; figures:
 * bench/results/aion.md).
 *
 * A spill without a name has a file that is unlinked as soon as it is open, so that nothing is left
 * behind, however the process ends. One with a name can be saved and restored (archive.c): an
 * archive contains the table, the list of segments and the buffer, and refers to the segments in
 * the file. So it grows with the number of records, not with their bytes. What an archive refers to
 * must be there until a later one has taken its place on the device:
 *
 *   cleaned -> freed --iso_spill_fork--> waiting --iso_spill_commit--> free, written again
 *
 * iso_spill_fork is called at the moment for which the state is saved, and iso_spill_commit once
 * that archive is the one that a restart begins with; the one before it may need the segments until
 * then, and it itself counts them as free. An archive that is given up leaves them waiting. The
 * file is on the device before the archive is complete: the walk syncs it, in whatever process it
 * runs.
 *
 * Errors: ISO_FAILED, naming the file or its folder: it cannot be made, disk full, read or write
 * error, a record that is not what was written, a file that is shorter than its archive says. After
 * an error from put the spill must not be used any more; nothing that an archive refers to was
 * harmed. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/error.h"

struct iso_spill;

/* The record to put; `expiring` of its bytes are not needed once the floor is above `until`.
 * Cutting shrinks a record to what is left of it, and says when that expires; size 0: nothing is
 * left. */
struct iso_spill_record {
    const void *bytes;
    uint32_t size, expiring;
    uint64_t until;
};

struct iso_spill_options {
    const char *folder; /* which exists and can be written to */
    const char *name; /* of a file in it that stays, made when there is something to write; NULL: it
                         has none */
    unsigned segment_bits; /* for tests: a segment has 2^this bytes, 12 to 20; 0: 20. An archive's
                              own is kept */
    void (*cut)(void *owner, struct iso_spill_record *record); /* or NULL: nothing expires */
    void *owner;
};

enum iso_status iso_spill_open(const struct iso_spill_options *options, struct iso_spill **spill,
                               struct iso_error *error);
void iso_spill_free(struct iso_spill *spill);

/* Bytes that a record may have at most; that the buffers of a spill take once something is put. */
enum { ISO_SPILL_MOST = 1 << 18, ISO_SPILL_BUFFERS = (2 << 20) + ISO_SPILL_MOST };
/* a record of this one: a quarter of a segment */
uint32_t iso_spill_most(const struct iso_spill *spill);

/* `replaces`: there is a record of this digest, which this one replaces. Otherwise there must be
 * none. */
enum iso_status iso_spill_put(struct iso_spill *spill, uint64_t digest, bool replaces,
                              const struct iso_spill_record *record, struct iso_error *error);

/* The record of a digest, good until the next call; NULL if there is none. */
enum iso_status iso_spill_get(struct iso_spill *spill, uint64_t digest, const uint8_t **record,
                              uint32_t *size, struct iso_error *error);

/* Fetches the cache line that the next call for this digest looks at first. */
void iso_spill_fetch(const struct iso_spill *spill, uint64_t digest);

/* Forgets the record of a digest, which there is. */
enum iso_status iso_spill_remove(struct iso_spill *spill, uint64_t digest, struct iso_error *error);

/* From now on bytes that expire below `floor` may be dropped. A lower floor than before is
 * ignored. */
void iso_spill_advance(struct iso_spill *spill, uint64_t floor);

/* Says in `error` that the spill does not hold what was written to it; ISO_FAILED. */
enum iso_status iso_spill_altered(const struct iso_spill *spill, struct iso_error *error);

/* Archives a spill with a name. Restoring needs a new one of the same name. */
void iso_spill_archive(struct iso_archive *archive, struct iso_spill *spill);
void iso_spill_fork(struct iso_spill *spill);
void iso_spill_commit(struct iso_spill *spill);

struct iso_spill_stats {
    uint64_t records;
    uint64_t disk;   /* bytes of the file */
    uint64_t used;   /* bytes of records in it, living or not, when a segment was filled last */
    uint64_t living; /* bytes of that which somebody needed then, as far as is known (see above) */
    uint64_t archived; /* bytes of that in which nothing lives, but which an archive may refer to */
    uint64_t read, written; /* bytes so far; written: with what cleaning moved */
    uint64_t moved;         /* bytes of that */
    uint64_t cut;    /* records that lost what had expired, all of it perhaps; in this process */
    uint64_t memory; /* bytes of the table; they follow from what was put and removed */
};

/* Adds to what is there. */
void iso_spill_stats(const struct iso_spill *spill, struct iso_spill_stats *stats);
