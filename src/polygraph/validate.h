/* Whether the engine's parts are whole. Asserted after steps of the route, where ISO_VALIDATE is defined: in sanitized
 * builds and under property programs. Each walks over its part once.
 */
#ifndef ISO_POLYGRAPH_VALIDATE_H
#define ISO_POLYGRAPH_VALIDATE_H

#include "polygraph/polygraph_private.h"

#ifdef ISO_VALIDATE

void problem_validate(const struct engine *engine);    /* transactions, writes, reads, sets of writers */
void versions_validate(const struct engine *engine);   /* versions, spans, readers, chains */
void graph_validate(const struct engine *engine);      /* a sorted graph: every fact leads forward */
void candidates_validate(const struct engine *engine); /* once they are listed */

#else

static inline void problem_validate(const struct engine *engine)
{
    (void)engine;
}

static inline void versions_validate(const struct engine *engine)
{
    (void)engine;
}

static inline void graph_validate(const struct engine *engine)
{
    (void)engine;
}

static inline void candidates_validate(const struct engine *engine)
{
    (void)engine;
}

#endif

#endif
