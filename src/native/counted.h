/* How many records a session has had, among client records: {"session":"SID","records":3,"ended":true}, in this order;
 * "ended" may be left out, and other members are ignored. Of records whose `sno` counts without gaps from 0, those that were
 * dropped, too: so that a hole is known (pipeline/counted.h).
 *
 * Threads: one at a time a scanner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iso/error.h"
#include "native/native.h"

struct iso_counted {
    iso_atom session; /* of the history */
    uint64_t records;
    bool has_ended;
};

/* Whether the text (followed by ISO_JSON_PADDING readable bytes) is an object whose first member is "session". */
bool iso_counted_is(const char *text);

enum iso_status iso_counted_read(struct iso_native *native, const char *text, size_t size, struct iso_history *history,
                                 struct iso_counted *counted, struct iso_error *error);
