/*
 * The order of locks, by class: a directed graph with an edge from the class of each lock that was held to the class
 * of each that was wanted then. As long as it has no cycle, no deadlock among these locks is possible; an edge that
 * would close one is reported when it is first seen, though nobody need be waiting for anybody. (So do FreeBSD's
 * witness(4) and Linux's lockdep.)
 *
 * Code without hardware: classes are numbers, and it takes no lock. Locking: lock_order_knows may be called at any
 * time; the caller lets one at a time add, and later edges do not disturb a look at earlier ones.
 */
#ifndef LOCK_LOCK_ORDER_H
#define LOCK_LOCK_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define LOCK_ORDER_CLASSES 160
#define LOCK_ORDER_EDGES 512
#define LOCK_ORDER_FRAMES 10 /* of a call path that are kept */

/* `from` was held, taken at `held_site`, when `to` was wanted on call path `path`, innermost first. */
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
 * Adds an edge between two different classes that it does not know. Where it would close a cycle, it is not added, and
 * `cycle` gets the fewest edges that lead from `to` back to `from`, in that order; `*length` is how many.
 */
enum lock_order_result lock_order_add(struct lock_order *g, const struct lock_order_edge *e,
                                      const struct lock_order_edge *cycle[LOCK_ORDER_CLASSES], unsigned *length);
#endif
