/* Whether the engine's parts are whole. Asserted after steps of the route, where ISO_VALIDATE is
 * defined: in sanitized builds and under property programs. Each walks over its part once.
 */
#pragma once

#ifdef ISO_VALIDATE

struct engine;
struct topological;

/* transactions, writes, reads, sets of writers */
void problem_validate(const struct engine *engine);
void versions_validate(const struct engine *engine); /* versions, spans, readers, chains */
void graph_validate(const struct engine *engine);    /* a sorted graph: every fact leads forward */
void candidates_validate(const struct engine *engine);            /* once they are listed */
void topological_validate(const struct topological *topological); /* every edge leads forward */

#else

#define problem_validate(engine) ((void)(engine))
#define versions_validate(engine) ((void)(engine))
#define graph_validate(engine) ((void)(engine))
#define candidates_validate(engine) ((void)(engine))
#define topological_validate(topological) ((void)(topological))

#endif
