/* Arguments as text for people. Write errors stay in the output. Threads: one at a time. */
#pragma once

#include "explain/argument.h"
#include "bytes/output.h"

/* A headline, every claim's argument, and what was not listed. */
void iso_explain_text(struct iso_output *output, const struct iso_facts *facts, enum iso_wall wall);

/* "violated at si: 10 violations, 10 of them listed" without its newline: the headline that all
 * reports share. */
void iso_explain_headline(const struct iso_claims *claims, struct iso_text *text);

/* Violations that the verdict counts and does not list. */
uint64_t iso_explain_unlisted(const struct iso_claims *claims);
