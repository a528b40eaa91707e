/* What a statement that changes a schema does to rows. Threads: any; no state. */
#ifndef ISO_IO_DDL_H
#define ISO_IO_DDL_H

#include "base/json.h"

/* Whether it drops or truncates a table; by its first words, as senders write it. */
bool iso_ddl_drops_rows(struct iso_json_text sql);

#endif
