#define _GNU_SOURCE
#include "run/durable/delivery.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"

/* The length of the output if it is a regular file; else false. */
static bool file_status(const struct run_output *output, struct stat *status)
{
    return !output->producer && !fstat(output->lines->descriptor, status) &&
           S_ISREG(status->st_mode);
}

void run_delivery_begin(struct run_delivery *delivery, const struct run_output *output)
{
    struct stat status;
    if (!file_status(output, &status))
        return;
    delivery->device = status.st_dev;
    delivery->inode = status.st_ino;
    delivery->begun = (uint64_t)status.st_size;
}

enum iso_status run_delivery_resume(struct run_delivery *delivery, const struct run_output *output,
                                    uint64_t noted, uint64_t least, struct iso_error *error)
{
    struct stat status;
    delivery->delivered = delivery->journaled = noted;
    if (!file_status(output, &status))
        return ISO_OK;
    bool same = delivery->inode == status.st_ino && delivery->device == status.st_dev;
    uint64_t length = (uint64_t)status.st_size;
    if (same && length >= delivery->begun + least)
        delivery->delivered = length - delivery->begun;
    else if (output->lines != output->standard)
        return iso_error_set(error, ISO_FAILED,
                             "%s: holds %" PRIu64 " bytes%s, expected at least %" PRIu64
                             ": verdicts that were reported are not there any more",
                             output->lines->name, length, same ? "" : " and is another file",
                             delivery->begun + least);
    /* another file: what its reader has is what was noted */
    else
        delivery->begun = delivery->inode = 0;
    return ISO_OK;
}

enum iso_status run_delivery_cut(struct run_delivery *delivery, const struct run_output *output,
                                 uint64_t position, struct iso_error *error)
{
    if (delivery->delivered > position && delivery->inode &&
        ftruncate(output->lines->descriptor, (off_t)(delivery->begun + position)))
        return iso_error_set(error, ISO_FAILED, "%s: cannot be cut: %s", output->lines->name,
                             strerror(errno));
    delivery->delivered = delivery->delivered < position ? delivery->delivered : position;
    delivery->journaled =
        delivery->journaled < delivery->delivered ? delivery->journaled : delivery->delivered;
    return ISO_OK;
}

size_t run_delivery_of_line(const struct run_delivery *delivery, uint64_t before, uint64_t position)
{
    assert(before <= position);
    if (position <= delivery->delivered)
        return (size_t)(position - before);
    return before < delivery->delivered ? (size_t)(delivery->delivered - before) : 0;
}

static enum iso_status advance_topic(struct run_delivery *delivery, struct run_output *output,
                                     uint64_t position)
{
    if (!iso_kafka_producer_reached_mark(output->producer))
        return ISO_OK;
    delivery->delivered =
        delivery->marked > delivery->delivered ? delivery->marked : delivery->delivered;
    if (position > delivery->marked)
        iso_kafka_producer_mark(output->producer);
    delivery->marked = position;
    return ISO_OK;
}

enum iso_status run_delivery_advance(struct run_delivery *delivery, struct run_output *output,
                                     uint64_t position, struct iso_error *error)
{
    if (output->producer)
        return advance_topic(delivery, output, position);
    ISO_FAULT(iso_fault_point("before-output"));
    iso_output_flush(output->lines);
    ISO_FAULT(iso_fault_point("after-output"));
    if (output->lines->error)
        return iso_error_set(error, ISO_FAILED, "%s: %s", output->lines->name,
                             strerror(output->lines->error));
    if (position > delivery->delivered)
        delivery->delivered = position;
    return ISO_OK;
}

/* The names are those of older snapshots. */
void run_delivery_archive(struct iso_archive *archive, struct run_delivery *delivery)
{
    iso_archive_value(archive, "durable->device", &delivery->device, sizeof delivery->device);
    iso_archive_value(archive, "durable->inode", &delivery->inode, sizeof delivery->inode);
    iso_archive_value(archive, "durable->begun", &delivery->begun, sizeof delivery->begun);
}

void run_delivery_sync(const struct run_delivery *delivery, const struct run_output *output,
                       struct iso_error *error)
{
    if (delivery->inode && fsync(output->lines->descriptor))
        iso_error_set(error, ISO_FAILED, "%s: cannot be synced: %s", output->lines->name,
                      strerror(errno));
}
