/* Transactions that only a change stream tells of: the join names them so, and nobody recorded what
 * they read.
 *
 * Threads: pure functions.
 */
#pragma once

#include "base/atom.h"

#define ISO_FOREIGN_PREFIX "cdc:" /* begins their tids */

bool iso_tid_is_foreign(const struct iso_atoms *atoms, iso_atom tid);
