/*
 * CLH lock: waiting harts form a queue; each puts a node at its tail and spins on the node before it. A hart that
 * releases clears its node with one store, whether or not a hart waits, and leaves it to its successor: nodes migrate.
 * First come, first served (Craig 1993; Magnusson, Landin and Hagersten 1994; here with the holder's node in the lock,
 * so that a caller need not keep it: Scott, Shared-Memory Synchronization, 2013).
 *
 * A lock that was used once keeps a node, its tail: the first user leaves its own. A hart has a few spare nodes, in
 * slots, one for each lock that it waits for: having acquired it, it puts the predecessor's node into the slot. A
 * slot is claimed before its node is read: a handler between two instructions here may exchange the nodes of free
 * slots.
 */
#include <stddef.h>

#include "lib/panic.h"

#define SPIN_FIFO 1
#define CLH_SLOTS 16 /* locks that a hart can wait for at a time: one a level of interrupts */

struct clh_node {
    volatile uint32_t waits;    /* the next hart in the queue must wait */
    struct hart *volatile hart; /* its present owner */
    struct clh_node *next_returned;
} __attribute__((aligned(64))); /* a cache line each */

struct clh_slot {
    struct clh_node *node;
    volatile uint32_t busy;
};

struct spin {
    volatile uint32_t tail;          /* last node of the queue; 0: never used */
    struct clh_node *volatile holder; /* the node of the holder */
};

typedef struct {
    struct clh_slot *slot; /* keeps the predecessor's node */
    struct clh_node *own;
} spin_place_t;

_Static_assert(CLH_SLOTS * sizeof(struct clh_slot) <= HART_SPIN_SPACE, "clh.h: slots");

struct clh_node *clh_fresh(void); /* an unused node; panics if there is none */
void clh_give_back(struct clh_node *n);

#define SPIN_COUNTS_NODES 1
unsigned spin_nodes_in_use(void); /* of locks and of harts: a test checks that it does not grow (init/main.c) */

static inline struct hart *spin_owner(const struct spin *s)
{
    struct clh_node *n = s->holder;
    return n ? n->hart : 0;
}

static inline bool spin_is_held(const struct spin *s)
{
    return spin_owner(s) == curhart;
}

/* A slot with a node that this hart is about to queue. */
static inline struct clh_slot *clh_claim(void)
{
    struct clh_slot *slot = (struct clh_slot *)lock_hart()->spin_space, *end = slot + CLH_SLOTS;
    while (slot->busy)
        if (++slot == end)
            panic("CLH: hart %u awaits %u locks", (unsigned)curhart->id, CLH_SLOTS);
    slot->busy = 1;
    barrier();
    if (!slot->node)
        slot->node = clh_fresh();
    slot->node->waits = 1;
    slot->node->hart = curhart;
    return slot;
}

static inline void clh_unclaim(struct clh_slot *slot)
{
    barrier();
    slot->busy = 0;
}

static inline bool spin_take(struct spin *s, spin_place_t *place)
{
    struct clh_slot *slot = place->slot = clh_claim();
    struct clh_node *own = place->own = slot->node;
    struct clh_node *before = (struct clh_node *)atomic_swap_acquire_release(&s->tail, (uint32_t)own);
    slot->node = before;
    if (before && before->waits)
        return false;
    fence_acquire();
    s->holder = own;
    clh_unclaim(slot);
    return true;
}

static inline void spin_wait(struct spin *s, spin_place_t place)
{
    while (place.slot->node->waits)
        spin_pause();
    fence_acquire();
    s->holder = place.own;
    clh_unclaim(place.slot);
}

/*
 * Replaces the tail if its node is clear, and only if no hart has replaced it since: a compare-and-swap would not do,
 * as the same node may have left the queue and come back. The specification does not promise that this loop ends,
 * because of the load between LR and SC; here it ends (hw/cpu/README.md, "Atomics").
 */
static inline __attribute__((always_inline)) bool clh_replace_clear_tail(struct spin *s, struct clh_slot *slot)
{
    struct clh_node *before;
    __asm__ goto("1: lr.w %0, (%1)\n beqz %0, 2f\n lw t0, (%0)\n bnez t0, %l[taken]\n"
                 "2: sc.w.rl t0, %2, (%1)\n bnez t0, 1b"
                 : "=&r"(before)
                 : "r"(&s->tail), "r"(slot->node)
                 : "t0", "memory"
                 : taken);
    slot->node = before;
    return true;
taken:
    return false;
}
_Static_assert(offsetof(struct clh_node, waits) == 0, "the load between LR and SC");

static inline bool spin_try(struct spin *s)
{
    struct clh_node *before = (struct clh_node *)s->tail;
    if (before && before->waits)
        return false;
    struct clh_slot *slot = clh_claim();
    struct clh_node *own = slot->node;
    bool taken = clh_replace_clear_tail(s, slot);
    fence_acquire();
    if (taken)
        s->holder = own;
    clh_unclaim(slot);
    return taken;
}

static inline bool spin_release(struct spin *s)
{
    struct clh_node *own = s->holder;
    if (unlikely(!own || own->hart != curhart))
        return false;
    s->holder = 0;
    fence_release();
    own->waits = 0;
    return true;
}

static inline void spin_destroy(struct spin *s)
{
    if (s->tail)
        clh_give_back((struct clh_node *)s->tail);
    s->tail = 0;
}

#ifdef SPIN_IMPLEMENTATION
#define CLH_NODES 512

static struct clh_node nodes[CLH_NODES] __attribute__((section(".noinit")));
static volatile uint32_t pool_taken; /* guards the next two; in a section, as handlers use them, too */
static struct clh_node *returned;
static unsigned given_out, in_use;

static crit_t pool_enter(void)
{
    crit_t saved = crit_sec_enter(SPL_HIGH);
    while (atomic_or(&pool_taken, 1))
        spin_pause();
    fence_acquire();
    return saved;
}

static void pool_leave(crit_t saved)
{
    fence_release();
    pool_taken = 0;
    crit_sec_leave(saved);
}

struct clh_node *clh_fresh(void)
{
    crit_t saved = pool_enter();
    struct clh_node *n = returned;
    if (n)
        returned = n->next_returned;
    else if (given_out < CLH_NODES)
        n = &nodes[given_out++];
    in_use += n != 0;
    pool_leave(saved);
    if (!n)
        panic("CLH: all %u nodes are in use: destroy locks that are used no more", CLH_NODES);
    return n;
}

void clh_give_back(struct clh_node *n)
{
    crit_t saved = pool_enter();
    n->next_returned = returned;
    returned = n;
    in_use--;
    pool_leave(saved);
}

unsigned spin_nodes_in_use(void)
{
    return in_use;
}
#endif
