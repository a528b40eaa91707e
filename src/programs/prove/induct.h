/* Any number of transactions, by induction: at ser, si and pc.
 *
 * A snapshot S and the current state C both satisfy the rules, and agree on what the transaction T
 * claims (si; at ser S is C; at pc they need not agree): then C, overwritten by what T writes
 * having read S, satisfies them, too. And the initial state does. One question for each template;
 * its parameters have the ranges that the calls give them, and every value of the state lies within
 * 32 bits. A failure says "not inductive", and never "violated": S and C may be states that nothing
 * reaches.
 */
#pragma once

#include "prove/solve.h"

/* HOLDS: inductive. Else undecided, and a reason, which the caller frees. */
enum iso_outcome prove_induct(const struct iso_prove_program *program, enum iso_prove_level level,
                              uint32_t unroll, struct iso_prove_stop stop, char **reason,
                              struct iso_error *error);
