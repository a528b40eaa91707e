/* A topological order that is kept while edges come and go.
 *
 * Every edge leads from a lower position to a higher one. A new edge that leads back moves what its
 * end reaches, as far as its start's position, behind the tail: only the nodes between the two are
 * looked at (as in Pearce and Kelly, A dynamic topological sort algorithm for directed acyclic
 * graphs, 2006, of whose two searches this needs the forward one: positions of its own for the
 * start's predecessors would bring them forward, and here the later node is the one to wait). If
 * its end reaches its start, the edge would close a cycle; it is refused. Edges that came last are
 * taken back first; the order stays as it is, which is right without them too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct topological {
    uint32_t count;                       /* of nodes */
    uint32_t *order, *position;           /* nodes as they stand; inverse */
    const uint32_t *first_edge, *edge_to; /* by node, count + 1: edges that stay; the caller's */
    uint32_t *first_added;                /* by node, or ISO_NONE */
    struct added_edge {
        uint32_t from, to, next;
    } * added;
    uint32_t added_count, added_capacity;
    uint32_t *reached, *moved; /* by node: the last search that came there; a queue */
    uint32_t *came_from,
        *came_by; /* by node that was reached: the node before it; the added edge, or ISO_NONE */
    uint32_t search;
};

/* Copies `order`, a topological order of the edges that stay. */
void topological_init(struct topological *topological, uint32_t count, const uint32_t *order,
                      const uint32_t *first_edge, const uint32_t *edge_to);
void topological_release(struct topological *topological);
/* False: a cycle. Then nothing has changed, and came_from and came_by lead from `from` back to
 * `to`. */
bool topological_add(struct topological *topological, uint32_t from, uint32_t to);
void topological_take_back(struct topological *topological, uint32_t added_count);
