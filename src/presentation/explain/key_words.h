/* Keys by name: "key x", and of a cell (base/cell_key.h) "column balance of row
 * public.acct/7". Threads: any; no state. */
#pragma once

#include "base/json.h"
#include "base/text.h"

bool explain_is_cell(struct iso_json_text key);

/* `put` adds a name. */
void explain_put_key(struct iso_text *text, struct iso_json_text key,
                     void (*put)(struct iso_text *text, const char *bytes, size_t length));
