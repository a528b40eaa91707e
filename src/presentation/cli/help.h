/* What `--help` prints of a command. */
#pragma once

#include "cli/command.h"

void cli_help(struct iso_output *output, const struct cli_command *command);
