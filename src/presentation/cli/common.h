/* The options that every command has. */
#pragma once

#include "cli/option.h"

struct app_common {
    const char *config;
    int log_format; /* enum app_log_format */
    uint64_t log_limit;
    bool print_config, core, help, version;
};

/* As rows of their own, of a struct app_common. */
extern const struct app_option app_common_options[];
