/* What the timestamp axioms say about a history, straight from their definitions
 * (docs/semantics.md).
 *
 * Quadratic and worse on purpose: no sweep, no frontier, no sorting of events. Every version that a
 * read may see is looked up among all transactions, every pair of writers is compared. It works on
 * the plain history and shares with the engines only the words of include/iso.
 */
#ifndef TESTS_TIMESTAMP_ORACLE_H
#define TESTS_TIMESTAMP_ORACLE_H

#include "tests/oracle/instances.h"

/* Judges a well-formed history and fills `instances`, sorted. False if committed transactions lack
 * the timestamps that the level needs, those with `refused` set: then nothing is judged. */
bool timestamp_oracle(const struct plain_history *history, enum iso_level level, bool session_order,
                      struct instances *instances, bool refused[PLAIN_TRANSACTIONS]);

#endif
