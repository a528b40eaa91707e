/* The commands of the program. */
#pragma once

#include "cli/options.h"

/* All commands, NULL after the last. */
extern const struct cli_command *const app_commands[];

extern const struct cli_command app_check, app_verify, app_gen, app_convert, app_bench, app_watch,
    app_capture, app_replay, app_state, app_probe, app_doctor, app_tick, app_explain_command,
    app_prove, app_run;

struct iso_prove_program;

/* prove.c: a program in its language, its calls repeated, into an empty one. */
enum iso_status app_prove_read(struct app *app, struct iso_prove_program *program, const char *name,
                               const char *text, size_t length, uint32_t repeats);

/* verify_proof.c: the evidence of `isochron prove`, the last of the files, about the program, the
 * first. */
enum iso_status app_verify_proof(struct app *app, const struct cli_texts *files);
