#include "run/input/kept.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number_map.h"
#include "history/copy.h"
#include "pipeline/pipeline.h"

void run_kept_init(struct run_kept *kept)
{
    *kept = (struct run_kept){.history = iso_allocate(sizeof *kept->history)};
    iso_history_init(kept->history);
}

void run_kept_release(struct run_kept *kept)
{
    if (kept->history)
        iso_history_release(kept->history);
    iso_free(kept->history);
    kept->history = NULL;
    iso_text_release(&kept->verdict);
}

void run_kept_add(struct iso_history *history, const struct iso_history *block, uint32_t first,
                  uint32_t count)
{
    assert(first + count <= block->txns.count);
    for (uint32_t t = first; t < first + count; t++)
        iso_history_copy_timed(history, block, t);
}

void run_kept_name_inputs(const struct iso_inputs *inputs, struct iso_history *history)
{
    for (uint32_t i = history->inputs.count; i < inputs->count; i++) {
        char name[320];
        if (inputs->list[i].partition == ISO_PIPELINE_FILE)
            snprintf(name, sizeof name, "%s", inputs->list[i].topic);
        else
            snprintf(name, sizeof name, "%s[%" PRId32 "]", inputs->list[i].topic,
                     inputs->list[i].partition);
        iso_history_input(history, name);
    }
}

/* Where several transactions with one tid were judged, the later ones get names of their own. */
static void name_apart(struct iso_history *history)
{
    struct iso_number_map first = {0};
    for (uint32_t t = 0; t < history->txns.count; t++) {
        char name[ISO_ATOM_TEXT_MAX + 24], buffer[ISO_ATOM_TEXT_MAX];
        for (uint32_t again = 2; iso_number_map_add(&first, history->txns.tid[t], t) != t;
             again++) {
            size_t length;
            const char *tid = iso_atom_text(&history->atoms, history->txns.tid[t], buffer, &length);
            length = length < ISO_ATOM_TEXT_MAX ? length : ISO_ATOM_TEXT_MAX;
            int used = snprintf(name, sizeof name, "%.*s (%" PRIu32 ")", (int)length, tid, again);
            history->txns.tid[t] = iso_atoms_text(&history->atoms, name, (size_t)used);
        }
    }
    iso_number_map_release(&first);
}

enum iso_status run_kept_finish(struct run_kept *kept, const struct run_stream_options *options,
                                const struct iso_inputs *inputs, struct iso_error *error)
{
    assert(kept->history);
    if (run_stream_initial(options, kept->history, error) != ISO_OK)
        return error->status;
    run_kept_name_inputs(inputs, kept->history);
    kept->history->ranges.limit = options->pipeline.scan_limit;
    iso_history_drop_repeats(kept->history);
    name_apart(kept->history);
    return iso_history_finish(kept->history, error);
}
