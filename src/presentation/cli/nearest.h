/* Names: the option that has one, and which was probably meant. */
#pragma once

#include "cli/command.h"
#include "cli/option.h"

/* The name among `count` that `text` was probably meant to be, or NULL. */
const char *cli_nearest(const char *text, const char *const *names, size_t count);

/* The error "PLACE: expected one of CHOICES", words with bars between, and which of them was
 * probably meant. */
enum iso_status cli_wrong_choice(struct app *app, const char *location, const char *text,
                                 const char *choices);

/* The option of a command, or one that all have; NULL: none. */
const struct cli_option *cli_option_find(const struct cli_command *command, const char *name,
                                         size_t length, char letter);
/* The nearest name of such an option, or NULL. */
const char *cli_option_nearest(const struct cli_command *command, const char *name);
