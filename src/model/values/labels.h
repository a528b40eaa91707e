/* Lists of labels, as ENUM and SET have them in the schema of their column.
 *
 * A list is one text: each label, with ISO_LABELS_END behind it. Labels are numbered from 1; a SET
 * of them is a mask, whose lowest bit is the first. A decoder keeps each list once and saves all of
 * them in their order, so that the `detail` of a column's type says which one it is by number, and
 * may be saved, too. Threads: one at a time for each struct.
 */
#pragma once

#include "base/json.h"
#include "base/text.h"
#include "values/type.h"

enum { ISO_LABELS_END = 0x1f };

/* The `detail` of ISO_VALUE_LABEL: with these the list's number, from 1, if it is known. */
enum {
    ISO_LABELS_SET = 1,    /* several at a time */
    ISO_LABELS_NAMED = 2,  /* the stream has names */
    ISO_LABELS_DIFFER = 4, /* schemas did not agree on the list */
    ISO_LABELS_LIST = 8,   /* times the number of the list */
};

/* The `detail` of ISO_VALUE_UNKNOWN and ISO_VALUE_ANY: schemas disagree, or none came, so that
 * what clients write may be a label, by name or by number. */
enum { ISO_MAY_BE_LABEL = 1 };

struct iso_labels {
    char **list;
    uint32_t count, capacity;
    struct iso_text scratch;
};

void iso_labels_release(struct iso_labels *labels); /* zeroed ones are empty */

/* Whether `read` finds a list in the text; the type, of a label, refers to it then. */
typedef bool iso_labels_reader(struct iso_json_text text, struct iso_text *list);
void iso_labels_add(struct iso_labels *labels, struct iso_value_type *type,
                    struct iso_json_text text, iso_labels_reader *read);

/* From a definition: "enum('a','it''s')", with what may stand behind it. False: it has none, or
 * they are not understood. */
iso_labels_reader iso_labels_of_sql;

/* From what connectors say is allowed: "a,b,c\\,d". */
iso_labels_reader iso_labels_of_allowed;

/* What is said of one column twice: one list may have grown to be the other; of two that differ
 * otherwise nothing says which one a client's name is of. */
struct iso_value_type iso_labels_join(const struct iso_labels *labels, struct iso_value_type known,
                                      struct iso_value_type said);

/* The list that a type refers to; NULL: it is not known. */
const char *iso_labels_of(const struct iso_labels *labels, struct iso_value_type type);

/* The number of a label, or of several, that the stream has by name. */
bool iso_labels_number(const struct iso_labels *labels, struct iso_value_type type,
                       struct iso_json_text name, uint64_t *number);
