/* chronos: does the order that the database claims explain every read and write of a finished
 * history?
 *
 * Start and commit events are sorted once and swept; reads look at the frontier (each key's newest
 * version), commits move it. Everything but SESSION and TIMESTAMP is local to a key, so the sweep
 * shards by key over threads. O(N log N) in transactions for the sort, O(M) in operations for the
 * sweep. Axioms: docs/semantics.md; the algorithm is after the Chronos/Aion paper.
 */
#pragma once

#include "verdict/verdict.h"

/* Judges a finished history. `verdict` is to be initialised with the options' level and limit;
 * violations and counts are added to it, it is not concluded. ISO_BAD_INPUT, with file and line, if
 * a committed transaction has no timestamps to judge it by. */
enum iso_status iso_chronos_check(const struct iso_history *history,
                                  const struct iso_check_options *options,
                                  struct iso_verdict *verdict, struct iso_error *error);
