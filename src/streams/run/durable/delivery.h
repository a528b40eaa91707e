/* How far the output of a run with a state got: which bytes of its verdicts have reached their
 * reader.
 *
 * Of a regular file its own length says so, to the byte, even in the middle of a line. Of a topic,
 * what its broker acknowledged; of a pipe, what was written: a crash in the instant before that is
 * in the journal lets the last lines be emitted again, with the same ids.
 */
#pragma once

#include "base/archive.h"
#include "run/shown/output.h"

struct run_delivery {
    uint64_t delivered;            /* bytes of output that its reader has */
    uint64_t journaled;            /* that the journal says it has */
    uint64_t marked;               /* a topic: up to where it will have once its mark is reached */
    uint64_t device, inode, begun; /* a regular file, and where in it the output begins; 0: none */
};

/* A new run: its output begins where the file ends, if it is one. */
void run_delivery_begin(struct run_delivery *delivery, const struct run_output *output);

/* A restart: `noted` of its bytes are known to have arrived, of at least `least` that there were. A
 * file says more, or is an error: it holds less. */
enum iso_status run_delivery_resume(struct run_delivery *delivery, const struct run_output *output,
                                    uint64_t noted, uint64_t least, struct iso_error *error);

/* Cuts the file back to `position`: lines behind it will be emitted again, and differently. */
enum iso_status run_delivery_cut(struct run_delivery *delivery, const struct run_output *output,
                                 uint64_t position, struct iso_error *error);

/* Number of bytes of a line from `before` to `position` that its reader has already. */
size_t run_delivery_of_line(const struct run_delivery *delivery, uint64_t before,
                            uint64_t position);

/* Hands over what was made, up to `position`, and looks how far its reader has it. */
enum iso_status run_delivery_advance(struct run_delivery *delivery, struct run_output *output,
                                     uint64_t position, struct iso_error *error);

/* Where a file is; part of a snapshot. */
void run_delivery_archive(struct iso_archive *archive, struct run_delivery *delivery);
/* In a snapshot's child: a file goes to the device. */
void run_delivery_sync(const struct run_delivery *delivery, const struct run_output *output,
                       struct iso_error *error);
