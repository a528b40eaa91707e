/* What is written from the option tables: the man page, the reference page, completion in
 * shells. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "base/error.h"

struct cli_command;
struct cli_option;

/* The commands that write them. */
extern const struct cli_command cli_completion, cli_document;

/* The help of an option in one line: its first sentence, without its period. Released by the
 * caller. */
struct iso_text cli_first_sentence(const char *help);

/* Is its value the name of a file? */
bool cli_option_takes_file(const struct cli_option *option);
