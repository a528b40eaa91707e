/* isochron-proxy's one command. */
#pragma once

#include "cli/options.h"

extern const struct app_command proxy_serve;
