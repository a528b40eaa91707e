/* `isochron verify`: confirms polygraph's evidence by code that shares only the reader with the
 * engine. */
#include "app/commands.h"
#include "app/load.h"
#include "evidence/evidence.h"
#include "judge/judge.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

#define PLACE(member) offsetof(struct app_load, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("What the history means: as given to check"),
    APP_LOAD_ROWS(0, "The format of HISTORY; by default its content decides.",
                  "The value of every key before the first write.", "Initial values by key."),
    CLI_ROW_GROUP("How to run"),
    CLI_ROW_FLAG("quiet", PLACE(quiet), "Print no progress line."),
    CLI_ROW_NUMBER("threads", "N", PLACE(threads), 1, 1024,
                   "Number of threads that read; by default one for each processor."),
    {.type = CLI_END},
};

/* The evidence is the last file, all before it are the history. */
static enum iso_status confirm_evidence(struct app *app, const struct app_load *load,
                                        const struct cli_texts *files)
{
    struct iso_history history;
    struct iso_evidence evidence;
    struct cli_texts histories = {.items = files->items, .count = files->count - 1};
    iso_history_init(&history);
    iso_evidence_init(&evidence);
    enum iso_status status = app_load_finished(app, load, &histories, NULL, &history);
    if (status == ISO_OK)
        status =
            iso_evidence_read(files->items[files->count - 1], &history, &evidence, &app->error);
    if (status == ISO_OK && evidence.versions_by_commit)
        iso_history_read_touches(&history);
    if (status == ISO_OK)
        status =
            iso_verify(&history, &evidence, &app->error) == ISO_CONFIRMED ? ISO_OK : ISO_VIOLATED;
    if (status == ISO_OK) {
        bool is_all = !evidence.accepts || !iso_history_leaves_queries(&history) ||
                      iso_judge_order_answers(&history, &evidence);
        iso_output_format(&app->out, "confirmed: %s at %s%s\n",
                          evidence.accepts ? "holds" : "violated", iso_level_name(evidence.level),
                          is_all ? "" : ", but for queries that the order does not answer");
    } else if (status == ISO_VIOLATED) {
        iso_output_format(&app->out, "not confirmed: %s\n", app->error.text);
        app->error.status = ISO_OK;
    }
    iso_evidence_release(&evidence);
    iso_history_release(&history);
    return status;
}

/* The evidence of `isochron prove`: one program, one proof. */
static bool is_proof(const struct cli_texts *files)
{
    char line[16] = "";
    FILE *file = fopen(files->items[files->count - 1], "rb");
    size_t size = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file)
        fclose(file);
    return size >= 14 && !memcmp(line, "isochron-proof", 14);
}

static enum iso_status confirm(struct app *app, void *target, const struct cli_texts *files)
{
    if (files->count < 2)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "verify: expected a history and, last, its evidence");
    return is_proof(files) ? app_verify_proof(app, files) : confirm_evidence(app, target, files);
}

static enum iso_status run_verify(struct app *app, int count, char **arguments)
{
    struct app_load load = {.format = APP_GUESS};
    return cli_run(app, count, arguments, &load, confirm);
}

const struct cli_command app_verify = {
    .name = "verify",
    .summary = "confirm a polygraph verdict independently",
    .usage = "[OPTIONS] HISTORY... EVIDENCE",
    .intro =
        "Confirms the evidence that check --evidence wrote about a history: it replays an\n"
        "order, or checks a proof line by line. It shares no code with the engine except\n"
        "the reader, and what adds the reads that follow from queries, which is not\n"
        "confirmed a second time. What prove --evidence wrote about a program it checks\n"
        "likewise, given the program. Evidence names transactions and keys, so the history may\n"
        "be in another format than the one that was judged. Exit status: 0 confirmed, 1\n"
        "not confirmed, 2 bad usage or input, 4 runtime failure.",
    .examples = "  isochron check --engine polygraph --evidence why.jsonl history.jsonl\n"
                "  isochron verify history.jsonl why.jsonl\n"
                "      Judge, and confirm the verdict.\n",
    .options = options,
    .run = run_verify,
};
