/* The graph of lock order (lock_order.h). */
#include "lock/lock_order.h"

/* The edges of a shortest path from class `at` to class `goal`, found breadth first; 0: there is none. */
static unsigned find_way(const struct lock_order *g, unsigned at, unsigned goal, const struct lock_order_edge **way)
{
    const struct lock_order_edge *into[LOCK_ORDER_CLASSES] = {0}; /* the edge by which a class was first reached */
    uint8_t queue[LOCK_ORDER_CLASSES];
    unsigned reached = 0;
    queue[reached++] = (uint8_t)at;
    for (unsigned next = 0; next < reached && !into[goal]; next++)
        for (unsigned i = 0; i < g->edges; i++) {
            const struct lock_order_edge *e = &g->edge[i];
            if (e->from != queue[next] || e->to == at || into[e->to])
                continue;
            into[e->to] = e;
            queue[reached++] = e->to;
        }
    unsigned length = 0;
    for (unsigned c = goal; into[c]; c = into[c]->from)
        length++;
    for (unsigned c = goal, i = length; i--; c = into[c]->from)
        way[i] = into[c];
    return length;
}

enum lock_order_result lock_order_add(struct lock_order *g, const struct lock_order_edge *e,
                                      const struct lock_order_edge *cycle[LOCK_ORDER_CLASSES], unsigned *length)
{
    *length = find_way(g, e->to, e->from, cycle);
    if (*length)
        return LOCK_ORDER_CYCLE;
    if (g->edges == LOCK_ORDER_EDGES)
        return LOCK_ORDER_FULL;
    g->edge[g->edges++] = *e;
    g->known[e->from][e->to / 32] |= 1u << (e->to % 32);
    return LOCK_ORDER_ADDED;
}
