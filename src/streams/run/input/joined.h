/* `--to-history FILE` of `watch` and `replay`: the joined history, as a file that every engine can
 * check. */
#pragma once

#include "bytes/output.h"
#include "formats/write_history.h"

struct run_joined {
    struct iso_output output;
    struct iso_history_writer writer;
    struct iso_error error; /* of a block, met inside the pipeline's callback */
    bool is_open;
};

enum iso_status run_joined_open(struct run_joined *joined, const char *path,
                                struct iso_error *error);

/* In a file nothing says that the order of a transaction's own writes is not known: of its queries
 * only what they returned stays. Where it is known the block stays as it is. */
void run_joined_forget_queries(struct iso_history *block);

/* Takes a block of the joined history, if the file is open. */
void run_joined_write(struct run_joined *joined, const struct iso_history *block);

/* The file appears if the run came to its end: `concluded`. */
enum iso_status run_joined_close(struct run_joined *joined, bool concluded,
                                 struct iso_error *error);
