/* What the name of a topic says of the tables in it.
 *
 * A connector sends a table's rows to `prefix.schema.table`, or `prefix.db.table`: the name as keys
 * have it, with `_` for each character that no topic's name may have, and maybe another delimiter
 * (topic.delimiter). Topics that do not end so carry no table, or several that were routed there:
 * then only `tables=` says which.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether rows of `table`, as it stands in keys, come through the topic. `tables`: the option, or
 * NULL. */
bool iso_topic_covers(const char *topic, const char *tables, const char *table, size_t length);
