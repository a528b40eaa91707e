/* The state of a spill, for its own files. */
#pragma once

#include "spill/spill.h"
#include "spill/table.h"

enum { SPILL_BITS = 20, SPILL_LEAST_BITS = 12, SPILL_UNIT = 16, SPILL_SLACK = 1 };

/* Before each record. */
struct spill_header {
    uint32_t size, check; /* of what follows; of all of it */
    uint64_t digest;
};

/* Part of an archive. */
struct spill_segment {
    uint32_t records,
        live; /* all; those that are not garbage. No records: the segment is free, or active */
    uint32_t used, expiring; /* bytes of all records; of that, what nobody needs once the floor is
                                above `until` */
    uint64_t until;
    uint64_t order; /* segments were begun in this one; the same in every run, as serial numbers are
                       not */
    uint64_t serial;
};

/* Bytes of a segment that are needed. */
static inline uint64_t spill_living_of(const struct spill_segment *segment, uint64_t floor)
{
    uint32_t stays = segment->used - (segment->until < floor ? segment->expiring : 0);
    return segment->records ? (uint64_t)segment->live * stays / segment->records : 0;
}

/* Numbers of segments, a stack, of the list's capacity. */
struct spill_stack {
    uint32_t *list, count;
};

struct iso_spill {
    struct iso_spill_options options; /* folder and name are the spill's own */
    char *path;       /* for messages: the file's, or if it has no name, the folder's */
    int file;         /* -1: there is none yet */
    uint32_t segment; /* bytes of one */
    struct spill_table table;
    struct spill_segment *list;
    struct spill_stack free, freed, waiting;
    uint32_t segments, segment_capacity;
    uint64_t serial, order; /* of the next segment */
    uint64_t floor;
    uint32_t active, filled;  /* the segment that is in `buffer`, and its bytes */
    uint8_t *buffer;          /* NULL: nothing was ever put */
    uint8_t *found;           /* the record that was asked for last */
    uint8_t *victim;          /* the segment that is being cleaned */
    bool cleaning, unchecked; /* unchecked: of an archive whose checksums were not compared, so that
                                 nothing is sure */
    uint64_t read, written, moved, cut;
    uint64_t used, living; /* bytes, when a segment was filled last */
#ifdef ISO_VALIDATE
    uint64_t calls; /* since it was validated last */
#endif
};

static inline uint32_t spill_space_of(uint32_t size)
{
    return ((uint32_t)sizeof(struct spill_header) + size + SPILL_UNIT - 1) / SPILL_UNIT *
           SPILL_UNIT;
}

static inline uint64_t spill_offset_of(const struct spill_slot *slot)
{
    return ((uint64_t)slot->position - 1) * SPILL_UNIT;
}

/* A size that a segment may have. */
static inline bool spill_is_segment(uint32_t bytes)
{
    return bytes >= 1u << SPILL_LEAST_BITS && bytes <= 1u << SPILL_BITS && !(bytes & (bytes - 1));
}

/* The checksum of a record `within` bytes into the segment of this serial number. */
uint32_t spill_check_of(uint64_t serial, uint32_t within, uint64_t digest, const void *record,
                        uint32_t size);

/* Does a whole record stand there in the bytes of a segment? */
bool spill_is_record(const uint8_t *segment, uint32_t bytes, uint32_t within, uint64_t serial,
                     struct spill_header *header);

void spill_allocate_buffers(struct iso_spill *spill);
void spill_widen_list(struct iso_spill *spill, uint32_t capacity);

/* validate.c. Whether what the table names is in a segment that has something, and as much of it as
 * the list says lives there. */
bool spill_agrees(const struct iso_spill *spill);
#ifdef ISO_VALIDATE
void spill_validate(struct iso_spill *spill);
#else
static inline void spill_validate(struct iso_spill *spill)
{
    (void)spill;
}
#endif

/* file.c */
enum iso_status spill_failed(const struct iso_spill *spill, struct iso_error *error,
                             const char *what);
enum iso_status spill_make_unnamed(struct iso_spill *spill, struct iso_error *error);
enum iso_status spill_open_named(struct iso_spill *spill, int flags, struct iso_error *error);
enum iso_status spill_read(struct iso_spill *spill, void *bytes, size_t size, uint64_t offset,
                           struct iso_error *error);
enum iso_status spill_write_segment(struct iso_spill *spill, struct iso_error *error);
enum iso_status spill_sync(struct iso_spill *spill, struct iso_error *error);
