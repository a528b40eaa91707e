/* A result as text and as JSON. Threads: any. */
#pragma once

#include "base/text.h"
#include "prove/prove.h"
#include "prove/schedule.h"

void iso_prove_report_text(const struct iso_prove_program *program,
                           const struct iso_prove_result *result, struct iso_text *text);
void iso_prove_report_json(const struct iso_prove_program *program,
                           const struct iso_prove_result *result, struct iso_text *text);

/* ---- pieces of the text, for who shows it in another way ---- */

/* The violation at another, stronger level that is shown is this one's, too. */
bool iso_prove_shown_above(const struct iso_prove_result *result, enum iso_prove_level level);

void iso_prove_put_scope(const struct iso_prove_program *program,
                         struct iso_text *text); /* "for these 2 transactions" */
void iso_prove_put_levels(const bool *levels, struct iso_text *text); /* "ser, rc" */
void iso_prove_put_rule(const struct iso_prove_execution *execution,
                        struct iso_text *text); /* "invariant x >= 0" */
void iso_prove_put_rule_location(const struct iso_prove_execution *execution,
                                 struct iso_text *text); /* "f.iso:4:11" */

/* ", sees T1, T2" */
void iso_prove_put_sees(const struct iso_prove_execution *execution, uint32_t instance,
                        struct iso_text *text);

/* The reads and writes of a statement: "reads x = 1 of T1, writes y = 2, waits for T3", behind
 * `before` if there is anything. */
void iso_prove_put_accesses(const struct iso_prove_execution *execution,
                            const struct iso_prove_item *item, const char *before,
                            struct iso_text *text);

/* Names the observer that finds the rule broken: "a transaction that sees T1, T2 finds", "at the
 * end". */
void iso_prove_put_moment(const struct iso_prove_execution *execution, struct iso_text *text);
