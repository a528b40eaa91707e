/* Strongly connected components: Tarjan 1972, without recursion, in the time of the edges.
 *
 * The caller owns all columns. Threads: any; no shared state.
 */
#pragma once

#include <stdint.h>

/* Fills `component`, by node: the number of its component, from 0, sinks first. How many there are.
 * The edges of a node lead to edge_to[first_edge[node]] and on; first_edge: nodes + 1. */
uint32_t iso_components(uint32_t nodes, const uint32_t *first_edge, const uint32_t *edge_to,
                        uint32_t *component);
