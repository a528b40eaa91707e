/* `isochron state`: looking into the directory that `watch --state` keeps, and tidying it up. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/commands.h"
#include "aion/aion.h"
#include "cli/command.h"
#include "run/durable/durable_configuration.h"
#include "cli/options.h"
#include "base/memory.h"
#include "base/redact.h"
#include "base/text.h"
#include "spill/inspect.h"
#include "state/progress.h"
#include "store/store.h"

static const struct cli_option options[] = {{.type = CLI_END}};

/* State of one reading of a snapshot's items. */
struct view {
    struct app *app;
    bool shows;
    uint64_t items, bytes;
    struct iso_text content, configuration, positions;
    int32_t partition; /* of the input at hand */
    uint32_t inputs;
    uint64_t position, messages;
    uint64_t waiting_transactions, waiting_records; /* of change streams */
    uint64_t record, dead_letter;                   /* bytes of files */
    struct iso_archive_item item;                   /* at hand */
    struct iso_spill_inspection spill;
    struct stored {
        char name[24];
        uint64_t live, living, length, needed;
    } stores[ISO_AION_SHARDS];
    uint32_t store_count;
};

static void collect_items(void *context, const void *bytes, size_t size)
{
    struct view *view = context;
    if (view->content.used + size <= 1 << 20 || iso_spill_inspects(&view->item))
        iso_text_put_bytes(&view->content, bytes, size);
}

static bool is_item(const struct iso_archive_item *item, const char *name)
{
    return !strncmp(item->name, name, sizeof item->name);
}

static uint64_t number_in(const struct iso_text *content)
{
    uint64_t number = 0;
    memcpy(&number, content->bytes, content->used < sizeof number ? content->used : sizeof number);
    return number;
}

static void show_input(struct view *view)
{
    struct iso_progress_position position = {.next = -1};
    size_t at = view->inputs++ * sizeof position;
    if (at + sizeof position <= view->positions.used)
        memcpy(&position, view->positions.bytes + at, sizeof position);
    iso_output_format(&view->app->out,
                      "topic %.*s partition %" PRId32 ": continues at offset %" PRId64 "\n",
                      (int)view->content.used, view->content.bytes, view->partition, position.next);
}

/* Items are known by their names in the walks of durable/durable.c, input/recording.c,
 * state/progress.c, pipeline/archive.c and join/archive.c. */
static void take_item(struct view *view, const struct iso_archive_item *item)
{
    view->items++;
    view->bytes += item->count * item->element;
    if (is_item(item, "configuration"))
        iso_text_put_bytes(&view->configuration, view->content.bytes, view->content.used);
    else if (is_item(item, "places"))
        iso_text_put_bytes(&view->positions, view->content.bytes, view->content.used);
    else if (is_item(item, "progress->messages"))
        view->messages = number_in(&view->content);
    else if (is_item(item, "progress->position"))
        view->position = number_in(&view->content);
    else if (is_item(item, "join->open_count"))
        view->waiting_transactions = number_in(&view->content);
    else if (is_item(item, "join->waiting_records"))
        view->waiting_records = number_in(&view->content);
    else if (is_item(item, "mark->record"))
        view->record = number_in(&view->content);
    else if (is_item(item, "mark->dead_letter"))
        view->dead_letter = number_in(&view->content);
    else if (is_item(item, "input.partition"))
        view->partition = (int32_t)number_in(&view->content);
    else if (is_item(item, "input.topic") && view->shows)
        show_input(view);
}

static void note_store(struct view *view)
{
    const struct iso_spill_inspection *spill = &view->spill;
    if (view->store_count == ISO_AION_SHARDS)
        return;
    struct stored *stored = &view->stores[view->store_count++];
    snprintf(stored->name, sizeof stored->name, "%.*s", (int)spill->name.used, spill->name.bytes);
    stored->live = spill->live;
    stored->living = spill->living;
    stored->length = spill->length;
    stored->needed = spill->needed;
}

static void look_into_state(void *context, struct iso_archive *archive)
{
    struct view *view = context;
    while (iso_archive_next(archive, &view->item, collect_items, view)) {
        if (is_item(&view->item, RUN_CONFIGURATION_VERSION))
            run_configuration_check_version(view->content.bytes, view->content.used, archive->name,
                                            archive->error);
        take_item(view, &view->item);
        if (iso_spill_inspect(&view->spill, &view->item, &view->content, archive->error))
            note_store(view);
        view->content.used = 0;
    }
}

static void show_option(struct view *view, const char *option, size_t length)
{
    char *copy = iso_copy_text(option, length), *shown = iso_redacted(copy);
    iso_output_format(&view->app->out, "configuration: %s\n", shown);
    ISO_FREE_ALL(shown, copy);
}

static void show_configuration(struct view *view)
{
    const char *at = view->configuration.bytes, *end = at + view->configuration.used;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        if (length && at[length - 1] != '=')
            show_option(view, at, length);
        at += length + 1;
    }
}

static void show_rest(const struct view *view)
{
    struct iso_output *out = &view->app->out;
    if (view->waiting_transactions || view->waiting_records)
        iso_output_format(out,
                          "waiting to be joined: %" PRIu64 " transactions, %" PRIu64 " records\n",
                          view->waiting_transactions, view->waiting_records);
    if (view->record)
        iso_output_format(out, "recording: %" PRIu64 " bytes\n", view->record);
    if (view->dead_letter)
        iso_output_format(out, "dead letters: %" PRIu64 " bytes\n", view->dead_letter);
}

/* Nothing of it was ever needed: nothing is said. */
static void show_stores(const struct view *view)
{
    for (uint32_t i = 0; i < view->store_count; i++) {
        const struct stored *stored = &view->stores[i];
        if (stored->live || stored->length)
            iso_output_format(&view->app->out,
                              "%s: %" PRIu64 " records out of memory, %" PRIu64 " bytes; %" PRIu64
                              " bytes on disk, %" PRIu64 " needed\n",
                              stored->name, stored->live, stored->living, stored->length,
                              stored->needed);
    }
}

static void count_records(struct view *view, struct iso_store *store)
{
    static const char *const names[] = {
        "other records",      "steps",        "partitions",       "notes of what was reported",
        "checkpoints",        "ends",         "files of records", "readings of memory",
        "ends of partitions", "message times"};
    enum { NAMES = sizeof names / sizeof *names };
    uint64_t counts[NAMES] = {0};
    struct iso_store_record record;
    while (iso_store_next(store, &record, &view->app->error))
        counts[record.type < NAMES ? record.type : 0]++;
    iso_output_format(&view->app->out, "journal: %" PRIu64 " bytes",
                      iso_store_journal_bytes(store));
    for (int i = 1; i < NAMES; i++)
        if (counts[i])
            iso_output_format(&view->app->out, ", %" PRIu64 " %s", counts[i], names[i]);
    iso_output_text(&view->app->out, "\n");
    if (iso_store_is_altered(store))
        iso_error_set(
            &view->app->error, ISO_FAILED,
            "state %s: damaged: the journal's last record, of %" PRIu64
            " bytes, is whole, and its checksum does not fit; a run leaves it out, and reads again what it was of",
            view->spill.folder, iso_store_torn(store));
    else if (iso_store_torn(store))
        iso_output_format(&view->app->out,
                          "torn: %" PRIu64 " bytes at its end, which the next run leaves out\n",
                          iso_store_torn(store));
}

struct freed {
    struct app *app;
    uint64_t files, bytes;
};

static void report_freed(void *context, const char *name, uint64_t bytes)
{
    struct freed *freed = context;
    iso_output_format(&freed->app->out, "%s: %" PRIu64 " bytes freed\n", name, bytes);
    freed->files++;
    freed->bytes += bytes;
}

/* Drops the bytes behind the last segment that a restart may read. */
static enum iso_status cut_stores(struct view *view, const char *path, struct freed *freed)
{
    struct app *app = view->app;
    for (uint32_t i = 0; i < view->store_count && app->error.status == ISO_OK; i++) {
        uint64_t bytes;
        if (iso_spill_cut(path, view->stores[i].name, view->stores[i].needed, &bytes,
                          &app->error) == ISO_OK &&
            bytes)
            report_freed(freed, view->stores[i].name, bytes);
    }
    return app->error.status;
}

/* Only of a state that is whole: whoever looks into a damaged one needs all of it. */
static void compact_state(struct view *view, const char *path, struct iso_store *store)
{
    struct app *app = view->app;
    struct freed freed = {.app = app};
    uint64_t stores = 0;
    for (uint32_t i = 0; i < view->store_count; i++)
        stores += view->stores[i].needed;
    if (iso_store_compact(store, report_freed, &freed, &app->error) == ISO_OK &&
        cut_stores(view, path, &freed) == ISO_OK)
        iso_output_format(
            &app->out, "freed: %" PRIu64 " bytes of %" PRIu64 " file%s; kept: %" PRIu64 " bytes\n",
            freed.bytes, freed.files, cli_plural(freed.files),
            iso_store_snapshot_bytes(store) + iso_store_journal_bytes(store) + stores);
}

static enum iso_status run_on(struct app *app, const char *verb, const char *path)
{
    struct view view = {.app = app, .shows = !strcmp(verb, "show"), .spill.folder = path};
    struct iso_store *store =
        iso_store_open(&(struct iso_store_options){.path = path, .must_exist = true}, &app->error);
    if (store && iso_store_examine(store, look_into_state, &view, &app->error) == ISO_OK) {
        iso_output_format(&app->out,
                          "snapshot-%" PRIu64 ": %" PRIu64 " bytes, %" PRIu64 " items; %" PRIu64
                          " messages read, %" PRIu64 " bytes of verdicts\n",
                          iso_store_generation(store), iso_store_snapshot_bytes(store), view.items,
                          view.messages, view.position);
        if (view.shows)
            show_configuration(&view);
        if (view.shows)
            show_rest(&view);
        show_stores(&view);
        count_records(&view, store);
    }
    if (app->error.status == ISO_OK)
        iso_output_text(&app->out, "every checksum fits\n");
    if (app->error.status == ISO_OK && !strcmp(verb, "compact"))
        compact_state(&view, path, store);
    iso_store_close(store);
    iso_text_release(&view.content);
    iso_text_release(&view.configuration);
    iso_text_release(&view.positions);
    iso_spill_inspection_release(&view.spill);
    return app->error.status;
}

static enum iso_status state_as_asked(struct app *app, void *target, const struct cli_texts *words)
{
    const char *verb = words->count == 2 ? words->items[0] : "";
    (void)target;
    if (strcmp(verb, "show") && strcmp(verb, "verify") && strcmp(verb, "compact"))
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "expected show DIR, verify DIR or compact DIR");
    return run_on(app, verb, words->items[1]);
}

static enum iso_status run_state(struct app *app, int count, char **arguments)
{
    return cli_run(app, count, arguments, NULL, state_as_asked);
}

const struct cli_command app_state = {
    .name = "state",
    .summary = "inspect the directory that watch --state keeps, or tidy it up",
    .usage = "show|verify|compact DIR",
    .intro = "show prints who wrote the state, how far the run has come, and what a restart\n"
             "repeats; verify prints whether the state is intact; compact removes what\n"
             "crashes left behind and no restart needs, and prints how much it freed. All\n"
             "three read every byte, spilled keys included, and compare every checksum. They\n"
             "refuse a directory that a run uses. Exit status 4: damaged, or in use.",
    .examples = "  isochron state show /var/lib/isochron\n"
                "      Where each partition goes on, and with which options.\n",
    .options = options,
    .run = run_state,
};
