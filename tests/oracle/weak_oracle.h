/* The plainest answers to "does a weak level hold?", in two ways that share no idea:
 *
 * - by orders: every order of the transactions and every choice of writers is tried against the
 *   axiom, word for word: sessions, reads and list orders go forward, and of each external read no
 *   visible writer of its key stands behind the one it saw;
 * - by visibility: every order and every relation "is visible to" is tried against the definition
 *   of Cerone and others: an external read sees the last of the visible writers. For ra, cc, psi
 *   and pc;
 * - by versions: every order of each key's versions is tried, and there must be no cycle of
 *   sessions, reads and those orders with at most one rw. For psi on registers, and faster: for ten
 *   transactions.
 *
 * For histories of six transactions at most. Shares only the history with the engines.
 */
#ifndef ISO_TESTS_WEAK_ORACLE_H
#define ISO_TESTS_WEAK_ORACLE_H

#include "verdict/evidence.h"

enum { WEAK_ORACLE_TRANSACTIONS = 6, WEAK_ORACLE_MANY = 10 };

bool weak_oracle_by_orders(const struct iso_history *history, enum iso_level level);

/* True if the level is one of those that it knows. */
bool weak_oracle_knows_visibility(enum iso_level level);
bool weak_oracle_by_visibility(const struct iso_history *history, enum iso_level level);

bool weak_oracle_by_versions(const struct iso_history *history);

#endif
