/* Reading a saved spill without restoring it: what an archive's items say of it, item by item as
 * they come (iso_archive_next), and every record that they refer to in its file. A segment of it is
 * in memory at a time. Threads: one at a time.
 */
#pragma once

#include "base/archive.h"
#include "base/text.h"

struct spill_segment;

/* Items of the walk in archive.c. */
#define SPILL_ITEM_NAME "spill name"
#define SPILL_ITEM_SEGMENTS "spill segments"
#define SPILL_ITEM_STATE "spill state"

struct spill_state {
    uint32_t active, filled, segment, zero;
    uint64_t order, floor, used, living;
};

struct iso_spill_inspection {
    const char *folder; /* of the files; the caller's */
    struct iso_text name, segments;
    /* bytes of the file that the archive refers to; what is behind them nobody reads */
    uint64_t needed;
    uint64_t live, living; /* records that can be got; bytes that are needed (spill.h: living) */
    uint64_t checked,
        length; /* records in the file that were read, garbage too; bytes of the file */
};

void iso_spill_inspection_release(struct iso_spill_inspection *inspection);

/* Whether the content of an item is wanted, however long it is. */
bool iso_spill_inspects(const struct iso_archive_item *item);

/* The next item, with its content; true: it completes what there is to know of a spill, whose file
 * has been read and whose figures stand here until the next item. ISO_FAILED in `error`: its file
 * is missing, too short, cannot be read, or holds something else. */
bool iso_spill_inspect(struct iso_spill_inspection *inspection, const struct iso_archive_item *item,
                       const struct iso_text *content, struct iso_error *error);

/* Cuts off what nobody reads; how many bytes that were. Not while a run uses the spill. */
enum iso_status iso_spill_cut(const char *folder, const char *name, uint64_t needed,
                              uint64_t *freed, struct iso_error *error);

/* For archive.c. */
uint32_t spill_segments_needed(const struct spill_segment *list, uint32_t count, uint32_t active);
enum iso_status spill_is_short(const char *path, uint64_t length, uint64_t needed,
                               struct iso_error *error);
