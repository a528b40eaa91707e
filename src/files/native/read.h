/* Reading a whole history from files in the native format, in pieces, on several threads.
 *
 * A file is JSON Lines (one transaction a line; blank lines are passed over) or one JSON array in
 * any layout, recognized by its first byte; either may be compressed, and "-" is stdin. Several
 * files are one history, in their order. A byte order mark at the start of a file is skipped, CR
 * before LF is white space.
 *
 * Workers take turns at the input: under its lock a worker fills a piece of a chunk's size, cuts it
 * behind the last whole transaction and leaves the rest for the next piece. It parses the piece
 * into a block of its own and, in the order of the pieces, blocks are appended to the history. So
 * the result is the same whatever the number of threads and the size of chunks: the numbers of
 * transactions, keys and sessions follow the input, and the first error in the input wins. Memory
 * beside the history: a few chunks. A transaction of more than 64 MiB (native/piece.h) is an error.
 */
#pragma once

#include <stddef.h>

#include "history/history.h"

enum { ISO_INPUTS_LIMIT = 65535 };

struct iso_read_options {
    unsigned threads;  /* 0 is 1 */
    size_t chunk_size; /* bytes; 0: a good one. For tests */
    void (*progress)(void *context, uint64_t bytes_done,
                     uint64_t bytes_total); /* or NULL; total 0: unknown. Called
                                               by any thread, one at a time */
    void *progress_context;
};

/* Adds the transactions of all files to a history in building; iso_history_finish is left to the
 * caller. */
enum iso_status iso_read_history(const char *const *paths, size_t count,
                                 const struct iso_read_options *options,
                                 struct iso_history *history, struct iso_error *error);

/* Adds the writes of an initial transaction, one object {"ops":[...]} in a file. */
enum iso_status iso_read_initial(const char *path, struct iso_history *history,
                                 struct iso_error *error);
