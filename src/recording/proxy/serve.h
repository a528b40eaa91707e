/* isochron-proxy's one command. */
#pragma once

#include "cli/options.h"

extern const struct cli_command proxy_serve;
