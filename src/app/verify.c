/* `isochron verify`: confirms polygraph's evidence by code that shares only the reader with the engine. */
#include "app/load.h"
#include "io/evidence.h"
#include "verify/verify.h"

#define PLACE(member) offsetof(struct app_load, member)

static const struct app_option options[] = {
    {.type = APP_GROUP, .help = "What the history means: as it was said to check"},
    APP_LOAD_ROWS(0, "What HISTORY is; else it is told by its content.", "What every key holds before the first write.",
                  "Initial values by key."),
    {.type = APP_GROUP, .help = "How to run"},
    {.type = APP_FLAG, .name = "quiet", .offset = PLACE(quiet), .help = "No progress line."},
    {.type = APP_NUMBER,
     .name = "threads",
     .argument = "N",
     .offset = PLACE(threads),
     .least = 1,
     .most = 1024,
     .help = "Threads to read with; as many as there are processors."},
    {.type = APP_END},
};

static enum iso_status parse(struct app *app, int count, char **arguments, struct app_load *load,
                             struct app_texts *files, bool *done)
{
    enum iso_status status = app_parse(app, count, arguments, load, files, done);
    if (status == ISO_OK && !*done && files->count < 2)
        status = iso_error_set(&app->error, ISO_BAD_INPUT, "verify: expected a history and, last, its evidence");
    return status;
}

/* The evidence is the last file, all before it are the history. */
static enum iso_status confirm(struct app *app, const struct app_load *load, const struct app_texts *files)
{
    struct iso_history history;
    struct iso_evidence evidence;
    struct app_texts histories = {.items = files->items, .count = files->count - 1};
    iso_history_init(&history);
    iso_evidence_init(&evidence);
    enum iso_status status = app_load_finished(app, load, &histories, NULL, &history);
    if (status == ISO_OK)
        status = iso_evidence_read(files->items[files->count - 1], &history, &evidence, &app->error);
    if (status == ISO_OK)
        status = iso_verify(&history, &evidence, &app->error);
    if (status == ISO_OK) {
        iso_output_format(&app->out, "confirmed: %s at %s\n", evidence.accepts ? "holds" : "violated",
                          iso_model_name(evidence.model));
    } else if (status == ISO_VIOLATED) {
        iso_output_format(&app->out, "not confirmed: %s\n", app->error.text);
        app->error.status = ISO_OK;
    }
    iso_evidence_release(&evidence);
    iso_history_release(&history);
    return status;
}

static enum iso_status run(struct app *app, int count, char **arguments)
{
    struct app_load load = {.format = APP_GUESS};
    struct app_texts files = {0};
    bool done;
    enum iso_status status = parse(app, count, arguments, &load, &files, &done);
    if (status == ISO_OK && !done)
        status = confirm(app, &load, &files);
    app_texts_release(&files);
    return status;
}

const struct app_command app_verify = {
    .name = "verify",
    .summary = "confirm a polygraph verdict independently",
    .usage = "[OPTIONS] HISTORY... EVIDENCE",
    .intro = "Confirms evidence that check --evidence wrote about a history, by code that\n"
             "shares nothing with the engine but the reader: an order is replayed, a proof\n"
             "is checked line by line. Evidence names transactions and keys, so the history\n"
             "may be in another format than the one that was judged. Exit status: 0\n"
             "confirmed, 1 not confirmed, 2 bad usage or input, 4 runtime failure.",
    .examples = "  isochron check --engine polygraph --evidence why.jsonl history.jsonl\n"
                "  isochron verify history.jsonl why.jsonl\n"
                "      Judge, and confirm the verdict.\n",
    .options = options,
    .run = run,
};
