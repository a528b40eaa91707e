/* An archive: state as a file of columns, written and read back by the same walk over it.
 *
 * A module describes its state once, by a function that names each value and column in turn;
 * whether that saves or restores is for the archive to know. So nothing can be saved and forgotten
 * when restoring. What is archived has no pointers except to columns: numbers, and indices into
 * columns, as all engine state is.
 *
 *   file: items, one behind the other item: a head of 64 bytes (name, size of an element, offset
 *   among the items, count, capacity, checksums),
 *         then count * size bytes
 *
 * Every byte is covered: the head by a checksum in it, the content by another in the head, order
 * and completeness by the items' numbers and the end item; and that all are of one archive by heads
 * that each sum up the one before. A restored item must have the name and the element size that the
 * walk expects: a file of another version of a struct is refused, not misread. Capacities come back
 * too, so that a restored column grows when the original would have.
 *
 * Errors: the first one stays in `error`, and everything later is a no-op; what the walk restored
 * until then is whole and can be released. Ownership: the archive owns its buffer, the descriptor
 * is the caller's. Threads: one at a time. After fork a child may save: nothing here takes a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/index.h"

enum { ISO_ARCHIVE_NAME = 24 };

/* As it stands in the file, in the machine's byte order. */
struct iso_archive_item {
    char name[ISO_ARCHIVE_NAME]; /* ended by zeros */
    uint32_t element;            /* bytes of one */
    uint32_t number;             /* from 0 */
    uint64_t count, capacity;    /* elements */
    uint64_t content;            /* checksum of the bytes that follow */
    uint64_t head; /* checksum of what stands before, and of the head before this one */
};

struct iso_archive {
    bool restoring;
    bool unchecked; /* for tests: checksums are not compared */
    int descriptor;
    const char *name; /* of the file, for messages; borrowed */
    struct iso_error *error;
    uint32_t number;      /* of the next item */
    uint64_t chain;       /* checksum of the last head; 0: none yet */
    uint64_t bytes, size; /* gone through; restoring: of the file */
    uint8_t *buffer;
    size_t at, used;
};

/* Opens an archive on a descriptor, at its present offset. */
void iso_archive_save(struct iso_archive *archive, int descriptor, const char *name,
                      struct iso_error *error);
void iso_archive_restore(struct iso_archive *archive, int descriptor, const char *name,
                         struct iso_error *error);

/* Writes, or expects, the end item, and releases the archive. */
enum iso_status iso_archive_close(struct iso_archive *archive);

/* Without an end: the walk met it (iso_archive_next), or gave up. */
void iso_archive_release(struct iso_archive *archive);

/* A value of fixed size. Restoring: left as it was if there is an error. */
void iso_archive_value(struct iso_archive *archive, const char *name, void *value, size_t size);

/* A column: `*count` elements of `*capacity`. Returns its place; restoring: a new one (NULL: none),
 * in place of `column`, which is lost. From iso_column_grow, or HEAP: from iso_reallocate. TWIN: it
 * shares count and capacity with one before, which an archive must confirm, and may be NULL all the
 * same. */
enum iso_archive_kind {
    ISO_ARCHIVE_COLUMN,
    ISO_ARCHIVE_HEAP,
    ISO_ARCHIVE_TWIN,
    ISO_ARCHIVE_HEAP_TWIN
};
void *iso_archive_column(struct iso_archive *archive, const char *name, enum iso_archive_kind kind,
                         void *column, uint64_t *count, uint64_t *capacity, size_t element);

#define ISO_ARCHIVE_VALUE(archive, value)                                                          \
    iso_archive_value((archive), #value, &(value), sizeof(value))
/* Under another name than it has in the code: the name is part of the format. */
#define ISO_ARCHIVE_AS(archive, name, value)                                                       \
    iso_archive_value((archive), (name), &(value), sizeof(value))

/* For columns whose count and capacity are lvalues of any unsigned type. */
#define ISO_ARCHIVE_ANY(archive, name, kind, column, count, capacity)                              \
    do {                                                                                           \
        uint64_t count_ = (count), capacity_ = (capacity);                                         \
        (column) = iso_archive_column((archive), (name), (kind), (column), &count_, &capacity_,    \
                                      sizeof *(column));                                           \
        (count) = count_;                                                                          \
        (capacity) = capacity_;                                                                    \
        iso_archive_expect((archive), (count) == count_ && (capacity) == capacity_);               \
    } while (0)

/* A list as ISO_LIST has it. */
#define ISO_ARCHIVE_LIST(archive, name, kind, of)                                                  \
    ISO_ARCHIVE_ANY(archive, name, kind, (of).list, (of).count, (of).capacity)

/* The slots of a table (base/index.h); how many are used is for the caller to say. */
void iso_archive_index(struct iso_archive *archive, const char *name, struct iso_index *table);

/* Restoring: what must hold of what was read, or the archive is damaged. */
void iso_archive_expect(struct iso_archive *archive, bool condition);

/* Reads an archive of anything, item by item: false at its end, and on an error. Content is
 * checked, and given in pieces to `take` (NULL: nobody). */
bool iso_archive_next(struct iso_archive *archive, struct iso_archive_item *item,
                      void (*take)(void *context, const void *bytes, size_t size), void *context);
