/* The shapes of statements of which something may be recorded: a positive list over PostgreSQL's
 * parse tree. A node, a field, a function, an operator or a type that is not named in shape.c makes
 * its statement opaque: it is passed on, counted with the reason, none of its reads or writes is
 * listed, and it may have done anything.
 *
 * What the tree alone can't say the catalog has to (agree.c): which relation a name means, and that
 * no object of a user's is called by a name that is on the list. Which of the shapes of one table
 * it is, the catalog and the result say (reading.h).
 *
 * `shapes` says of each why it is true; an example and counterexamples that it keeps out are in
 * tests/unit/observe/test_shape.c.
 */
#pragma once

#include "observe/plan.h"

enum { SHAPE_TABLES_MOST = 64 };

struct shape {
    const char *name, *why;
};
extern const struct shape shapes[];

/* For people: the name of the shape that the statement can have, or "opaque". */
const char *shape_name(const struct plan_statement *statement);
/* For people: what would be recorded of each statement of a text, and why not. */
void shape_explain(const char *sql, struct iso_text *text);
