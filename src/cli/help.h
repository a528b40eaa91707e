/* What `--help` prints of a command. */
#ifndef ISO_CLI_HELP_H
#define ISO_CLI_HELP_H

#include "cli/command.h"

void app_help(struct iso_output *output, const struct app_command *command);

#endif
