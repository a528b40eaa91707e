/* Records that are left out, or are judged and doubtful: each is reported with where it stands. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/pipeline_private.h"

/* "topic clients partition 0 offset 7", or "clients.jsonl line 7". */
void pipeline_put_location(const struct iso_pipeline *pipeline, uint64_t origin, char *text,
                           size_t size)
{
    uint32_t input = iso_origin_input(origin);
    const struct iso_inputs_entry *entry =
        input < pipeline->inputs.names.count ? &pipeline->inputs.names.list[input] : NULL;
    if (!entry)
        snprintf(text, size, "an unknown place");
    else if (entry->partition == ISO_PIPELINE_FILE)
        snprintf(text, size, "%s line %" PRIu64, entry->topic, iso_origin_offset(origin));
    else
        snprintf(text, size, "topic %s partition %" PRId32 " offset %" PRIu64, entry->topic,
                 entry->partition, iso_origin_offset(origin));
}

void iso_pipeline_location(const struct iso_pipeline *pipeline, uint64_t origin, char *text,
                           size_t size)
{
    pipeline_put_location(pipeline, origin, text, size);
}

enum iso_status pipeline_leave_out(struct iso_pipeline *pipeline, const struct iso_message *message,
                                   uint64_t origin, const char *reason, struct iso_error *error)
{
    char location[LOCATION_BYTES];
    pipeline->stats.bad_records++;
    pipeline_put_location(pipeline, origin, location, sizeof location);
    if (pipeline->options.on_bad_record == ISO_BAD_FAIL)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: %s", location, reason);
    if (pipeline->options.on_bad)
        pipeline->options.on_bad(pipeline->options.context, message, location, reason);
    return ISO_OK;
}

enum iso_status pipeline_bad_record(struct iso_pipeline *pipeline,
                                    const struct iso_message *message, uint64_t origin,
                                    const char *reason, struct iso_error *error)
{
    if (pipeline->options.on_bad_record != ISO_BAD_FAIL)
        pipeline_lacks(pipeline, iso_origin_input(origin));
    return pipeline_leave_out(pipeline, message, origin, reason, error);
}

void iso_pipeline_left_out_before(struct iso_pipeline *pipeline, uint32_t input, uint32_t count)
{
    pipeline->stats.bad_records += count;
    pipeline_lacks(pipeline, input);
}

void iso_pipeline_stop(struct iso_pipeline *pipeline)
{
    pipeline->is_stopped = true;
}

/* A record that is judged although another contradicts it: handed on as one that was left out
 * is. */
static void report_doubtful(struct iso_pipeline *pipeline, uint64_t origin, const char *reason)
{
    char location[LOCATION_BYTES];
    pipeline_put_location(pipeline, origin, location, sizeof location);
    if (pipeline->options.on_doubtful)
        pipeline->options.on_doubtful(pipeline->options.context,
                                      pipeline_batch_find(&pipeline->batch, origin), location,
                                      reason);
}

void pipeline_report_contradiction(struct iso_pipeline *pipeline, const struct iso_history *block,
                                   uint32_t t, uint64_t first)
{
    assert(t < block->txns.count);
    char location[LOCATION_BYTES], text[LOCATION_BYTES + 300], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *tid = iso_atom_text(&block->atoms, block->txns.tid[t], buffer, &length);
    pipeline_put_location(pipeline, first, location, sizeof location);
    snprintf(
        text, sizeof text,
        "transaction %.*s arrived before with other content, first at %s: findings that name it are doubtful. "
        "Give each session and each start of an application ids of its own",
        (int)(length < 100 ? length : 100), tid, location);
    report_doubtful(pipeline, block->txns.origin[t], text);
}

/* The reason begins with the location, as histories have it. */
enum iso_status pipeline_refuse(struct iso_pipeline *pipeline, const struct iso_history *block,
                                uint32_t t, const char *reason, struct iso_error *error)
{
    assert(t < block->txns.count);
    char location[512], first[LOCATION_BYTES], text[1700];
    uint64_t origin = block->txns.origin[t], other = iso_aion_contradicted(pipeline->engine);
    iso_history_location_text(block, t, location, sizeof location);
    size_t length = strlen(location);
    if (!strncmp(reason, location, length) && !strncmp(reason + length, ": ", 2))
        reason += length + 2;
    if (other != UINT64_MAX) {
        pipeline_put_location(pipeline, other, first, sizeof first);
        snprintf(
            text, sizeof text,
            "%s; it arrived first at %s. Give each session and each start of an application ids of its own, or "
            "leave such records out with --on-bad-record skip",
            reason, first);
        reason = text;
    }
    return pipeline_bad_record(pipeline, pipeline_batch_find(&pipeline->batch, origin), origin,
                               reason, error);
}

static bool is_of_list(const struct iso_history *block, uint32_t operation)
{
    uint8_t kind = iso_kind_of(block, operation);
    return kind == ISO_APPEND || kind == ISO_READ_LIST;
}

bool pipeline_split_key(struct iso_pipeline *pipeline, struct iso_history *block, uint32_t t)
{
    uint32_t misused = iso_aion_misused(pipeline->engine),
             key = misused == ISO_NONE ? 0 : block->ops.key[misused];
    char buffer[ISO_ATOM_TEXT_MAX], reason[300];
    size_t length;
    if (misused == ISO_NONE || pipeline->options.on_bad_record == ISO_BAD_FAIL)
        return false;
    assert(block->txns.first_op[t] <= misused && misused < block->txns.first_op[t + 1]);
    bool list = is_of_list(block, misused);
    struct iso_text name = {0};
    const char *text = iso_atom_text(&block->atoms, block->keys.atom[key], buffer, &length);
    iso_text_put_bytes(&name, text, length);
    iso_text_put(&name, list ? " (as a list)" : " (as a single value)");
    iso_atom other = iso_atoms_text(&block->atoms, name.bytes, name.used);
    pipeline_doubt_key(pipeline, &block->atoms, block->keys.atom[key]);
    pipeline_doubt_key(pipeline, &block->atoms, other);
    uint32_t moved = iso_history_key(block, other);
    ISO_EACH(o, block->txns.first_op, t)
        block->ops.key[o] =
            block->ops.key[o] == key && is_of_list(block, o) == list ? moved : block->ops.key[o];
    snprintf(reason, sizeof reason,
             "uses key %.*s as a %s, and others do not: what names it is doubtful",
             (int)(name.used < 100 ? length : 80), name.bytes, list ? "list" : "single value");
    pipeline->stats.contradictions++;
    report_doubtful(pipeline, block->txns.origin[t], reason);
    iso_text_release(&name);
    return true;
}
