/* Confirms polygraph's evidence. Shares the history and the evidence's form with the engine, and no
 * code.
 *
 * Accept: the events are replayed against plain state, in linear time. Reject: a finding is looked
 * up; lemmas go through a clause checker, one after another. src/model/verdict/evidence.h says why
 * evidence is enough.
 */
#pragma once

#include "verdict/evidence.h"

enum iso_verification { ISO_CONFIRMED, ISO_REFUSED /* `error` says where it fails */ };

enum iso_verification iso_verify(const struct iso_history *history,
                                 const struct iso_evidence *evidence, struct iso_error *error);
