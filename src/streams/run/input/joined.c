#include "run/input/joined.h"

enum iso_status run_joined_open(struct run_joined *joined, const char *path,
                                struct iso_error *error)
{
    if (iso_output_open(&joined->output, path, error) != ISO_OK)
        return error->status;
    iso_history_writer_init(&joined->writer, &joined->output, ISO_FORMAT_NATIVE);
    joined->is_open = true;
    return ISO_OK;
}

void run_joined_forget_queries(struct iso_history *block)
{
    struct iso_ranges *sets = &block->ranges;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sets->count; i++)
        if (!(iso_marks_of(block, sets->list[i].transaction) & ISO_MARK_CDC_WRITES))
            sets->list[kept++] = sets->list[i];
    sets->count = kept;
    for (uint32_t t = 0; block->txns.marks && t < block->txns.count; t++)
        block->txns.marks[t] = 0;
}

void run_joined_write(struct run_joined *joined, const struct iso_history *block)
{
    if (joined->is_open)
        iso_history_writer_add(&joined->writer, block, &joined->error);
}

enum iso_status run_joined_close(struct run_joined *joined, bool concluded, struct iso_error *error)
{
    if (!joined->is_open)
        return error->status;
    joined->is_open = false;
    if (joined->error.status != ISO_OK)
        iso_error_set(error, joined->error.status, "%s", joined->error.text);
    if (error->status != ISO_OK || !concluded) {
        iso_output_discard(&joined->output);
        return error->status;
    }
    iso_history_writer_end(&joined->writer);
    return iso_output_close(&joined->output, error);
}
