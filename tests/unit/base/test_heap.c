/* The heap beside a sorted array, and components beside reachability. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/components.h"
#include "base/heap.h"
#include "tests/support/random.h"

enum { ROUNDS = 200, ITEMS = 100, NODES = 12 };

static void pops_in_the_order_of_keys(void **state)
{
    struct random random = {1};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct iso_heap heap = {0};
        uint32_t left[ITEMS] = {0}, count = 0; /* how many there are of each key */
        for (int i = 0; i < ITEMS; i++) {
            if (count && random_percent(&random, 40)) {
                struct iso_heap_item item = iso_heap_pop(&heap);
                uint32_t smallest = 0;
                while (!left[smallest])
                    smallest++;
                assert_int_equal(item.key, smallest);
                assert_int_equal(item.value, smallest + 1000);
                left[smallest]--;
                count--;
            } else {
                uint32_t key = random_below(&random, ITEMS);
                iso_heap_push(&heap, key, key + 1000);
                left[key]++;
                count++;
            }
            assert_int_equal(heap.count, count);
        }
        iso_heap_release(&heap);
    }
}

static void find_reachable(bool reaches[NODES][NODES])
{
    for (int via = 0; via < NODES; via++)
        for (int from = 0; from < NODES; from++)
            for (int to = 0; to < NODES; to++)
                reaches[from][to] |= reaches[from][via] && reaches[via][to];
}

static void components_are_what_reaches_one_another(void **state)
{
    struct random random = {2};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        bool reaches[NODES][NODES] = {{false}};
        uint32_t first[NODES + 1], to[NODES * NODES], component[NODES],
            end = 0, share = random_below(&random, 30);
        for (uint32_t a = 0; a < NODES; a++) {
            first[a] = end;
            for (uint32_t b = 0; b < NODES; b++) {
                reaches[a][b] = random_percent(&random, share);
                if (reaches[a][b])
                    to[end++] = b;
            }
        }
        first[NODES] = end;
        uint32_t count = iso_components(NODES, first, to, component), most = 0;
        find_reachable(reaches);
        for (uint32_t a = 0; a < NODES; a++) {
            most = component[a] > most ? component[a] : most;
            for (uint32_t b = 0; b < NODES; b++) {
                assert_int_equal(a == b || (reaches[a][b] && reaches[b][a]),
                                 component[a] == component[b]);
                assert_true(!reaches[a][b] || component[a] >= component[b]);
            }
        }
        assert_int_equal(count, most + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pops_in_the_order_of_keys),
                                       cmocka_unit_test(components_are_what_reaches_one_another)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("base_heap", tests, NULL, NULL);
}
