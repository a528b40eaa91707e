/* Lists of labels, as ENUM and SET have them in the schema of their column.
 *
 * A list is one text: each label, with ISO_LABELS_END behind it. Labels are numbered from 1; a SET
 * of them is a mask, whose lowest bit is the first. Threads: any; no state.
 */
#pragma once

#include "base/json.h"
#include "base/text.h"
#include "values/type.h"

enum { ISO_LABELS_END = 0x1f };

/* From a definition: "enum('a','it''s')", with what may stand behind it. False: it has none, or
 * they are not understood. */
bool iso_labels_of_sql(struct iso_json_text type, struct iso_text *labels);

/* From what connectors say is allowed: "a,b,c\\,d". */
bool iso_labels_of_allowed(struct iso_json_text allowed, struct iso_text *labels);

/* The number of a label, or of several, that the stream has by name. */
bool iso_labels_number(struct iso_value_type type, struct iso_json_text name, uint64_t *number);
