/* What is written from the option tables: the man page, the reference page, completion in shells. */
#ifndef ISO_APP_DOCUMENT_H
#define ISO_APP_DOCUMENT_H

#include <stdbool.h>

#include "base/text.h"
#include "iso/error.h"

struct app_option;

void app_document_man(struct iso_text *text);
void app_document_markdown(struct iso_text *text);

void app_complete_bash(struct iso_text *text);
void app_complete_zsh(struct iso_text *text);
void app_complete_fish(struct iso_text *text);

/* The help of an option in one line: its first sentence, without its period. Released by the caller. */
struct iso_text app_first_sentence(const char *help);

/* Is its value the name of a file? */
bool app_option_takes_file(const struct app_option *option);

#endif
