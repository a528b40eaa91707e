/* The commands of the program. */
#ifndef ISO_APP_COMMANDS_H
#define ISO_APP_COMMANDS_H

#include "cli/options.h"

/* All commands, NULL after the last. */
extern const struct app_command *const app_commands[];

extern const struct app_command app_check, app_verify, app_gen, app_convert, app_bench, app_watch, app_capture,
    app_replay, app_state, app_probe, app_doctor, app_tick, app_explain_command, app_prove;

#endif
