/* Why an execution is none of a stronger level: a cycle of dependencies (Adya, 1999) among those
 * that committed and who looks at the end, or at the moment, when the rule is broken.
 *
 * wr: reads what the other wrote; ww: overwrites it; rw: reads what the other overwrites; session:
 * follows it there. Cells are rows, hidden ones (values of unique keys) included. The cycle is a
 * shortest one.
 *
 * Ownership: a cycle owns its list. Threads: any.
 */
#pragma once

#include "base/text.h"
#include "prove/prove.h"

enum prove_page_dependency { PROVE_PAGE_WR, PROVE_PAGE_WW, PROVE_PAGE_RW, PROVE_PAGE_SESSION };

struct prove_page_edge {
    uint32_t from, to; /* instances; who looks is the instance behind the last one */
    enum prove_page_dependency kind;
    uint32_t cell; /* not of a session */
};

struct prove_page_cycle {
    struct prove_page_edge
        *list; /* each begins where the one before it ends; none: there is no cycle */
    uint32_t count;
};

void prove_page_cycle_init(struct prove_page_cycle *cycle,
                           const struct iso_prove_execution *execution);
void prove_page_cycle_release(struct prove_page_cycle *cycle);

const char *prove_page_dependency_name(enum prove_page_dependency kind); /* "wr" */

/* "T1", or "who looks" */
void prove_page_put_node(const struct iso_prove_execution *execution, uint32_t node,
                         struct iso_text *text);

/* "T1 reads on[1] before T2 writes it" */
void prove_page_put_edge(const struct iso_prove_execution *execution,
                         const struct prove_page_edge *edge, struct iso_text *text);

/* Why it is no execution of `level`, a stronger one: "T2 comes behind T1 and does not see it".
 * False: nothing was put. */
bool prove_page_put_axiom(const struct iso_prove_execution *execution, enum iso_prove_level level,
                          struct iso_text *text);
