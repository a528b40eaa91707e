/* What is written from the option tables: the man page, the reference page, completion in shells. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "iso/error.h"

struct app_command;
struct app_option;

/* The commands that write them. */
extern const struct app_command app_completion, app_document;

/* The help of an option in one line: its first sentence, without its period. Released by the caller. */
struct iso_text app_first_sentence(const char *help);

/* Is its value the name of a file? */
bool app_option_takes_file(const struct app_option *option);
