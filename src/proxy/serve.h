/* isochron-proxy's one command. */
#ifndef ISO_PROXY_SERVE_H
#define ISO_PROXY_SERVE_H

#include "cli/options.h"

extern const struct app_command proxy_serve;

#endif
