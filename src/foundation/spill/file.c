/* The spill's file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/memory.h"
#include "base/own.h"
#include "spill/spill_private.h"

enum iso_status spill_failed(const struct iso_spill *spill, struct iso_error *error,
                             const char *what)
{
    return iso_error_set(error, ISO_FAILED, "%s: the store of what does not fit into memory %s: %s",
                         spill->path, what, strerror(errno));
}

enum iso_status spill_make_unnamed(struct iso_spill *spill, struct iso_error *error)
{
    spill->file = iso_own_unnamed(spill->options.folder, "isochron-spill", error);
    if (spill->file < 0)
        spill_failed(spill, error, "cannot be made (--spill or TMPDIR names another folder)");
    else
        posix_fadvise(spill->file, 0, 0, POSIX_FADV_RANDOM);
    return error->status;
}

enum iso_status spill_open_named(struct iso_spill *spill, int flags, struct iso_error *error)
{
    ISO_FAULT(iso_fault_point("before-spill-opened"));
    spill->file = iso_own_open_in(AT_FDCWD, spill->path, flags);
    if (spill->file < 0)
        return spill_failed(spill, error, flags & O_CREAT ? "cannot be made" : "cannot be opened");
    ISO_FAULT(iso_fault_point("after-spill-opened"));
    posix_fadvise(spill->file, 0, 0, POSIX_FADV_RANDOM);
    return ISO_OK;
}

enum iso_status spill_read(struct iso_spill *spill, void *bytes, size_t size, uint64_t offset,
                           struct iso_error *error)
{
    for (size_t done = 0; done < size;) {
        ssize_t got =
            pread(spill->file, (uint8_t *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got ? errno : EIO; /* shorter than what was written */
            return spill_failed(spill, error, "cannot be read");
        }
        done += (size_t)got;
        spill->read += (uint64_t)got;
    }
    return ISO_OK;
}

/* A file that is made now and has a name may be one that was left there: no archive refers to
 * anything in it. */
enum iso_status spill_write_segment(struct iso_spill *spill, struct iso_error *error)
{
    memset(spill->buffer + spill->filled, 0, spill->segment - spill->filled);
    if (spill->file < 0 && spill_open_named(spill, O_RDWR | O_CREAT | O_TRUNC, error) != ISO_OK)
        return error->status;
    ISO_FAULT(iso_fault_point("before-spill-write"));
    for (size_t done = 0; done < spill->segment;) {
        off_t offset = (off_t)spill->active * spill->segment + (off_t)done;
        ssize_t put = pwrite(spill->file, spill->buffer + done, spill->segment - done, offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return spill_failed(spill, error, "cannot be written");
        done += (size_t)put;
        spill->written += (uint64_t)put;
    }
    ISO_FAULT(iso_fault_point("after-spill-write"));
    return ISO_OK;
}

enum iso_status spill_sync(struct iso_spill *spill, struct iso_error *error)
{
    if (spill->file < 0)
        return ISO_OK;
    ISO_FAULT(iso_fault_point("before-spill-sync"));
    if (fdatasync(spill->file))
        return spill_failed(spill, error, "cannot be synced");
    ISO_FAULT(iso_fault_point("after-spill-sync"));
    return ISO_OK;
}
