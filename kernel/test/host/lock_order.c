/* The graph of lock order. Sources: lock/lock_order.c. Options: LOCK_DEBUG=1 */
#include "lock/lock_order.h"

#include <string.h>

#include "lib/random.h"
#include "test/host/host.h"

static struct lock_order graph;
static const struct lock_order_edge *cycle[LOCK_ORDER_CLASSES];
static unsigned length;

static enum lock_order_result add(unsigned from, unsigned to)
{
    struct lock_order_edge e = {.from = (uint8_t)from, .to = (uint8_t)to, .frames = 1, .path = {from * 1000 + to}};
    return lock_order_add(&graph, &e, cycle, &length);
}

/* `cycle` leads from class `first` over edges that lie end to end to class `last`. */
static void check_cycle(unsigned first, unsigned last, unsigned edges)
{
    CHECK_EQUAL(length, edges);
    CHECK_EQUAL(cycle[0]->from, first);
    for (unsigned i = 0; i + 1 < length; i++)
        CHECK_EQUAL(cycle[i]->to, cycle[i + 1]->from);
    CHECK_EQUAL(cycle[length - 1]->to, last);
}

HOST_TEST(an_edge_is_known_in_its_direction_alone)
{
    CHECK_EQUAL(add(3, LOCK_ORDER_CLASSES - 1), LOCK_ORDER_ADDED);
    CHECK(lock_order_knows(&graph, 3, LOCK_ORDER_CLASSES - 1));
    CHECK(!lock_order_knows(&graph, LOCK_ORDER_CLASSES - 1, 3));
    CHECK(!lock_order_knows(&graph, 3, 4));
}

HOST_TEST(the_opposite_edge_closes_a_cycle_and_is_not_added)
{
    CHECK_EQUAL(add(1, 2), LOCK_ORDER_ADDED);
    CHECK_EQUAL(add(2, 1), LOCK_ORDER_CYCLE);
    check_cycle(1, 2, 1);
    CHECK_EQUAL(cycle[0]->path[0], 1002); /* where the order was seen first */
    CHECK(!lock_order_knows(&graph, 2, 1));
    CHECK_EQUAL(graph.edges, 1);
    CHECK_EQUAL(add(2, 3), LOCK_ORDER_ADDED);
}

HOST_TEST(a_cycle_goes_the_shortest_way)
{
    for (unsigned c = 0; c < 5; c++)
        add(c, c + 1);
    CHECK_EQUAL(add(0, 3), LOCK_ORDER_ADDED);
    CHECK_EQUAL(add(5, 0), LOCK_ORDER_CYCLE);
    check_cycle(0, 5, 3);
}

HOST_TEST(two_ways_to_one_class_are_no_cycle)
{
    CHECK_EQUAL(add(1, 2), LOCK_ORDER_ADDED);
    CHECK_EQUAL(add(1, 3), LOCK_ORDER_ADDED);
    CHECK_EQUAL(add(2, 4), LOCK_ORDER_ADDED);
    CHECK_EQUAL(add(3, 4), LOCK_ORDER_ADDED);
    CHECK_EQUAL(add(2, 3), LOCK_ORDER_ADDED);
}

HOST_TEST(a_chain_of_all_classes)
{
    for (unsigned c = 0; c + 1 < LOCK_ORDER_CLASSES; c++)
        CHECK_EQUAL(add(c, c + 1), LOCK_ORDER_ADDED);
    CHECK_EQUAL(add(LOCK_ORDER_CLASSES - 1, 0), LOCK_ORDER_CYCLE);
    check_cycle(0, LOCK_ORDER_CLASSES - 1, LOCK_ORDER_CLASSES - 1);
}

HOST_TEST(a_full_graph_says_so_and_still_finds_cycles)
{
    unsigned added = 0;
    for (unsigned from = 0; added < LOCK_ORDER_EDGES; from++)
        for (unsigned to = from + 1; to < LOCK_ORDER_CLASSES && added < LOCK_ORDER_EDGES; to++, added++)
            CHECK_EQUAL(add(from, to), LOCK_ORDER_ADDED);
    CHECK_EQUAL(add(LOCK_ORDER_CLASSES - 2, LOCK_ORDER_CLASSES - 1), LOCK_ORDER_FULL);
    CHECK(!lock_order_knows(&graph, LOCK_ORDER_CLASSES - 2, LOCK_ORDER_CLASSES - 1));
    CHECK_EQUAL(add(1, 0), LOCK_ORDER_CYCLE);
}

#define SMALL 12

/* Random edges against a model: the transitive closure, which says whether an edge closes a cycle. */
HOST_TEST(random_edges_agree_with_the_closure)
{
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct random r = random_from(seed, 0);
        bool reaches[SMALL][SMALL] = {{false}};
        memset(&graph, 0, sizeof graph);
        for (unsigned n = 0; n < 60; n++) {
            unsigned from = random_below(&r, SMALL), to = random_below(&r, SMALL);
            if (from == to || lock_order_knows(&graph, from, to))
                continue;
            bool closes = reaches[to][from];
            CHECK_EQUAL(add(from, to), closes ? LOCK_ORDER_CYCLE : LOCK_ORDER_ADDED);
            if (closes) {
                check_cycle(to, from, length);
                continue;
            }
            for (unsigned a = 0; a < SMALL; a++)
                for (unsigned b = 0; b < SMALL; b++)
                    if ((a == from || reaches[a][from]) && (b == to || reaches[to][b]))
                        reaches[a][b] = true;
        }
    }
}
