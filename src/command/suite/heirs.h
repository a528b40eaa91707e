/* Tables that got their keys once they were filled, as pgbench and restored dumps make them: which
 * rows they have is known from their making on, and by which keys only later. So what is written
 * to a table without a key goes to a topic of its own (run.keyless), and when all is there a
 * capture is written again, in which these are changes of the table that it became.
 */
#pragma once

#include "suite/changes.h"

enum iso_status suite_heirs_write(const struct suite_changes *changes, const char *path,
                                  struct iso_error *error);
