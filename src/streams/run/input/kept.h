/* A run's transactions kept as a history, to look things up in: of a replay that explains, or of
 * captures whose verdict is explained; and the verdict beside them.
 *
 * Memory: all transactions. Repeats are dropped at the end, as the engine drops them.
 */
#pragma once

#include "base/text.h"
#include "base/inputs.h"
#include "run/options.h"

struct run_kept {
    struct iso_history *history; /* in building; NULL: nothing is kept */
    struct iso_text verdict;     /* as JSON, once the run has concluded */
};

void run_kept_init(struct run_kept *kept);
void run_kept_release(struct run_kept *kept);

/* Adds transactions `first` to `first + count - 1` of a block to a history. */
void run_kept_add(struct iso_history *history, const struct iso_history *block, uint32_t first,
                  uint32_t count);

/* Names those inputs that no block has named: joined blocks name none. */
void run_kept_name_inputs(const struct iso_inputs *inputs, struct iso_history *history);

/* Ends keeping: initial values, no repeats, finished. */
enum iso_status run_kept_finish(struct run_kept *kept, const struct run_stream_options *options,
                                const struct iso_inputs *inputs, struct iso_error *error);
