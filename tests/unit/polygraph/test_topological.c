/* An order that is kept while edges come and go, against a search over all edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "history/history.h"
#include "polygraph/order/topological.h"

enum { NODES = 40, STAY = 30, STEPS = 400, ROUNDS = 200 };

struct edges {
    uint32_t count, ends[STAY + STEPS][2];
};

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % below;
}

/* Whether a path leads from one node to another, an edge at a time until nothing is new. */
static bool leads(const struct edges *edges, uint32_t from, uint32_t to)
{
    bool reached[NODES] = {false};
    reached[from] = true;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t i = 0; i < edges->count; i++) {
            if (reached[edges->ends[i][0]] && !reached[edges->ends[i][1]])
                any = reached[edges->ends[i][1]] = true;
        }
    }
    return reached[to];
}

static void add_end(struct edges *edges, uint32_t from, uint32_t to)
{
    edges->ends[edges->count][0] = from;
    edges->ends[edges->count++][1] = to;
}

/* Edges that stay lead from lower to higher numbers, so that these are an order to start from. */
static void make_staying(uint64_t *random, struct edges *edges, uint32_t *first, uint32_t *to)
{
    uint32_t end = 0;
    for (uint32_t node = 0; node < NODES; node++) {
        first[node] = end;
        for (uint32_t i = 0; i < 2 && node + 1 < NODES && end < STAY; i++) {
            if (draw(random, 2))
                continue;
            to[end] = node + 1 + draw(random, NODES - node - 1);
            add_end(edges, node, to[end++]);
        }
    }
    first[NODES] = end;
}

static void assert_order(const struct topological *topological, const struct edges *edges)
{
    bool seen[NODES] = {false};
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(topological->position[topological->order[i]], i);
        assert_false(seen[topological->order[i]]);
        seen[topological->order[i]] = true;
    }
    for (uint32_t i = 0; i < edges->count; i++)
        assert_true(topological->position[edges->ends[i][0]] <
                    topological->position[edges->ends[i][1]]);
}

/* What a refusal tells: a path from the new edge's head back to its tail, each step an edge. */
static void assert_cycle(const struct topological *topological, const struct edges *edges,
                         uint32_t staying, uint32_t from, uint32_t to)
{
    uint32_t steps = 0;
    for (uint32_t node = from; node != to; node = topological->came_from[node]) {
        uint32_t by = topological->came_by[node], before = topological->came_from[node];
        bool found = false;
        assert_true(++steps < NODES);
        if (by != ISO_NONE) {
            assert_int_equal(edges->ends[staying + by][0], before);
            assert_int_equal(edges->ends[staying + by][1], node);
            continue;
        }
        for (uint32_t i = 0; i < staying; i++)
            found |= edges->ends[i][0] == before && edges->ends[i][1] == node;
        assert_true(found);
    }
}

static void run_round(uint64_t seed, uint32_t *refused)
{
    uint64_t random = seed;
    struct edges edges = {0};
    uint32_t first[NODES + 1], to[STAY + 1], numbers[NODES];
    struct topological topological;
    for (uint32_t node = 0; node < NODES; node++)
        numbers[node] = node;
    make_staying(&random, &edges, first, to);
    uint32_t staying = edges.count;
    topological_init(&topological, NODES, numbers, first, to);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t a = draw(&random, NODES), b = draw(&random, NODES);
        if (draw(&random, 8) == 0) {
            uint32_t left = draw(&random, topological.added_count + 1);
            topological_take_back(&topological, left);
            edges.count = staying + left;
        } else if (a != b) {
            bool closes = leads(&edges, b, a);
            assert_int_equal(topological_add(&topological, a, b), !closes);
            *refused += closes;
            if (closes)
                assert_cycle(&topological, &edges, staying, a, b);
            else
                add_end(&edges, a, b);
        }
        assert_int_equal(topological.added_count, edges.count - staying);
        assert_order(&topological, &edges);
    }
    topological_release(&topological);
}

static void test_order_is_kept(void **state)
{
    uint32_t refused = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        run_round(seed, &refused);
    assert_true(refused > ROUNDS);
}

static void test_edge_to_itself_is_refused(void **state)
{
    uint32_t first[3] = {0}, to[1] = {0};
    struct topological topological;
    (void)state;
    topological_init(&topological, 2, (uint32_t[]){1, 0}, first, to);
    assert_false(topological_add(&topological, 1, 1));
    assert_true(topological_add(&topological, 0, 1));
    assert_int_equal(topological.order[0], 0);
    assert_false(topological_add(&topological, 1, 0));
    topological_take_back(&topological, 0);
    assert_true(topological_add(&topological, 1, 0));
    topological_release(&topological);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_kept),
        cmocka_unit_test(test_edge_to_itself_is_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("polygraph_topological", tests, NULL, NULL);
}
