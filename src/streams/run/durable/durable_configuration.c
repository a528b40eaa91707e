#include "run/durable/durable_configuration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "iso/version.h"

/* Up with any change to what any module archives, together with docs/compatibility.md. */
enum { FORMAT = 36 };

static void put_line(struct iso_text *text, const char *name, const char *value)
{
    iso_text_format(text, "%s=%s\n", name, value ? value : "");
}

static void put_number(struct iso_text *text, const char *name, uint64_t number)
{
    iso_text_format(text, "%s=%" PRIu64 "\n", name, number);
}

static void put_seconds(struct iso_text *text, const char *name, uint64_t milliseconds)
{
    char number[32];
    snprintf(number, sizeof number, milliseconds % 1000 ? "%" PRIu64 ".%03" PRIu64 : "%" PRIu64,
             milliseconds / 1000, milliseconds % 1000);
    put_line(text, name, number);
}

/* Everything that decides what verdicts are, and where they go. How bad records are treated may
 * change, and --memory: its changes are in the journal. */
void run_configuration_put(struct iso_text *text, const struct run_stream_options *options,
                           const char *record)
{
    for (uint32_t i = 0; i < options->sources.count; i++)
        put_line(text, "source", options->sources.items[i]);
    put_line(text, "level",
             options->level < 0 ? "default" : iso_level_name(run_stream_level(options)));
    put_number(text, "uncovered", (uint64_t)options->uncovered);
    put_number(text, "no-session-order", options->no_session_order);
    put_number(text, "hlc-bits", options->pipeline.hlc_bits);
    put_line(text, "initial", options->initial);
    put_line(text, "initial-file", options->initial_file);
    put_number(text, "settle", options->pipeline.engine.settle_ms);
    put_number(text, "retention", options->pipeline.engine.retention);
    put_number(text, "scan-limit", options->pipeline.scan_limit);
    put_number(text, "max-ahead", options->pipeline.max_ahead);
    put_seconds(text, "finality-timeout", options->pipeline.engine.finality_timeout_ms);
    put_seconds(text, "idle-timeout", options->pipeline.idle_timeout_ms);
    put_seconds(text, "grace", run_stream_grace(options));
    put_number(text, "threads", options->pipeline.engine.shards);
    put_line(text, "out", options->out);
    put_number(text, "final-only", options->final_only);
    put_number(text, "json", options->json);
    put_number(text, "max-violations", options->pipeline.max_violations);
    put_number(text, "max-per-key", options->pipeline.engine.max_per_key);
    put_line(text, "history", options->history);
    put_number(text, "any-order", options->any_order);
    put_number(text, "round", options->round);
    put_line(text, "record", record);
}

/* The first line of `a` that `b` has not in its place. */
static void first_difference(const struct iso_text *a, const struct iso_text *b, char *line,
                             size_t size)
{
    size_t at = 0, start = 0;
    for (; at < a->used && at < b->used && a->bytes[at] == b->bytes[at]; at++)
        start = a->bytes[at] == '\n' ? at + 1 : start;
    size_t end = start;
    while (end < a->used && a->bytes[end] != '\n' && end - start + 1 < size)
        end++;
    if (end > start)
        memcpy(line, a->bytes + start, end - start);
    line[end - start] = 0;
}

struct version {
    uint32_t format, order;
    char version[24];
};
static const struct version ours = {.format = FORMAT, .order = 0x01020304, .version = ISO_VERSION};

void run_configuration_check_version(const void *bytes, size_t size, const char *name,
                                     struct iso_error *error)
{
    struct version found = {0};
    memcpy(&found, bytes, size < sizeof found ? size : sizeof found);
    if (size != sizeof found || memcmp(&found, &ours, sizeof found))
        iso_error_set(
            error, ISO_FAILED,
            "%s: written by isochron %.23s in format %u; this is " ISO_VERSION
            " with format %u: end its run with that version, or begin with a new directory",
            name, found.version, found.format, ours.format);
}

static void archive_version(struct iso_archive *archive)
{
    struct version found = ours;
    iso_archive_value(archive, RUN_CONFIGURATION_VERSION, &found, sizeof found);
    if (archive->error->status == ISO_OK)
        run_configuration_check_version(&found, sizeof found, archive->name, archive->error);
}

void run_configuration_archive(struct iso_archive *archive, const struct iso_text *configuration)
{
    struct iso_text found = *configuration;
    char was[200], is[200];
    archive_version(archive);
    ISO_ARCHIVE_ANY(archive, "configuration", ISO_ARCHIVE_HEAP, found.bytes, found.used,
                    found.capacity);
    if (!archive->restoring || archive->error->status != ISO_OK)
        return;
    if (found.used != configuration->used ||
        memcmp(found.bytes, configuration->bytes, found.used)) {
        first_difference(&found, configuration, was, sizeof was);
        first_difference(configuration, &found, is, sizeof is);
        iso_error_set(
            archive->error, ISO_BAD_INPUT,
            "%s: written with other options: it has %s where this run has %s; expected the same options, "
            "or a new directory",
            archive->name, *was ? was : "nothing", *is ? is : "nothing");
    }
    iso_free(found.bytes);
}
