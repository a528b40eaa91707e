/* What `--help` prints of a command. */
#pragma once

#include "cli/command.h"

void app_help(struct iso_output *output, const struct app_command *command);
