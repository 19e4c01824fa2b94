/*
 * The order of locks, by class: a directed graph with an edge from the class of each held lock to the class of each
 * lock acquired meanwhile. As long as it has no cycle, no deadlock among these locks is possible; an edge that would
 * close one is reported when it is first seen, even if no thread waits at that time. (FreeBSD's witness(4) and Linux's
 * lockdep do the same.)
 *
 * Code without hardware: classes are numbers, and it takes no lock. Locking: lock_order_knows may be called at any
 * time; the caller serialises lock_order_add, and later edges do not disturb a search among earlier ones.
 */
#ifndef LOCK_LOCK_ORDER_H
#define LOCK_LOCK_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define LOCK_ORDER_CLASSES 160
#define LOCK_ORDER_EDGES 512
#define LOCK_ORDER_FRAMES 10 /* frames kept of a call path */

/* `from` was held, acquired at `held_site`, when call path `path`, innermost first, acquired `to`. */
struct lock_order_edge {
    uint8_t from, to, frames;
    uintptr_t held_site;
    uint32_t path[LOCK_ORDER_FRAMES];
};

struct lock_order {
    uint32_t known[LOCK_ORDER_CLASSES][LOCK_ORDER_CLASSES / 32]; /* [from], bit `to` */
    struct lock_order_edge edge[LOCK_ORDER_EDGES];
    unsigned edges;
};

enum lock_order_result { LOCK_ORDER_ADDED, LOCK_ORDER_CYCLE, LOCK_ORDER_FULL };

static inline bool lock_order_knows(const struct lock_order *g, unsigned from, unsigned to)
{
    return g->known[from][to / 32] >> (to % 32) & 1;
}

/*
 * Adds a new edge between two different classes. An edge that would close a cycle is not added, and `cycle` gets the
 * fewest edges that lead from `to` back to `from`, in that order; `*length` is their number.
 */
enum lock_order_result lock_order_add(struct lock_order *g, const struct lock_order_edge *e,
                                      const struct lock_order_edge *cycle[LOCK_ORDER_CLASSES], unsigned *length);
#endif
