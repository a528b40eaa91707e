/* How many records a session has had, among client records, or all sessions of a recorder:
 *
 *     {"session":"SID","records":3,"ended":true}       in this order; "ended" may be left out
 *     {"session":"SID","records":0,"recorder":"ID"}    in front of its records: whose session it is
 *     {"recorder":"ID","records":70,"ended":true}
 *     {"recorder":"ID","records":0,"alive_ms":10000}   it will say so again within that time, as
 *                                                      long as it lives
 *     {"recorder":"ID","records":0,"writes":"cdc"}     its records mean something only beside a
 *                                                      change stream
 *     {"recorder":"ID","records":0,"line":1}           beside a file: in which lines (recorders.h)
 *
 * Other members are ignored. Of records whose `sno` counts without gaps from 0, those that were
 * dropped, too: so that a hole is known (pipeline/counted.h).
 *
 * Threads: one at a time a scanner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "native/native.h"

struct iso_counted {
    iso_atom session, recorder; /* of the history; ISO_ABSENT: not said */
    uint64_t records, alive_ms, line;
    bool has_ended;
    bool of_stream; /* what rows had before, and what else was written, a change stream says */
};

enum iso_status iso_counted_read(struct iso_native *native, const char *text, size_t size,
                                 struct iso_history *history, struct iso_counted *counted,
                                 struct iso_error *error);
