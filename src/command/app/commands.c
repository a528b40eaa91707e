#include "app/commands.h"

#include "cli/options.h"

/* A new command is its file and its row here. */
const struct cli_command *const app_commands[] = {
    &app_check,   &app_probe,           &app_doctor, &app_tick,       &app_verify,   &app_gen,
    &app_convert, &app_bench,           &app_watch,  &app_run,        &app_capture,  &app_replay,
    &app_state,   &app_explain_command, &app_prove,  &cli_completion, &cli_document, NULL};
